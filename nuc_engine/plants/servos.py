"""What a leg's exchanges need to know of its servos, worked out once: plain lists, which are fast to index."""

from __future__ import annotations

from dataclasses import dataclass

from nuc_engine.model.plan import Plan
from nuc_engine.plants.mjcf import braking_n_m_s, coordinates, kind_of, servo_gain
from nuc_engine.plants.shaft import ShaftConversion
from nuc_engine.plants.spec import PlantSpec
from nuc_engine.plants.variation import Variation

Readout = tuple[int, float, float, float, float, float, float, float]
"""How a servo's meters read its joint. A plain tuple, because it is taken apart at every exchange:

place of the joint among the model's coordinates; a and b of shaft angle [deg] = a * joint [rad] + b; duty per N m of
torque, and what the motor's speed costs of it per rad/s; current of full duty at standstill (A); noise of the angle in
units of that of the plant's own servo; and what this meter sees of a current that the plant's own does not (A).
"""


@dataclass(frozen=True, slots=True)
class CurrentLoop:
    """A motor whose electronics regulate its current: while it is driven, its own voltage does not brake it.

    Only the supply's voltage bounds what it gives: the stall torque at standstill, nothing at its no-load speed, more
    when it is turned against that. `joint` is the place of the joint it turns, `damping_n_m_s` what brakes that when
    nobody drives it.
    """

    joint: int
    stall_n_m: float
    no_load_rad_s: float
    damping_n_m_s: float

    def bounds(self, cap_n_m: float, speed_rad_s: float) -> tuple[float, float]:
        """Return the lowest and the highest torque there can be at this speed, within a cap both ways (N m)."""
        lost = self.stall_n_m * speed_rad_s / self.no_load_rad_s
        low = min(max(-self.stall_n_m - lost, -cap_n_m), cap_n_m)
        return low, max(min(self.stall_n_m - lost, cap_n_m), low)


@dataclass(frozen=True, slots=True)
class Servos:
    """By the plan's motors: goals to joint angles (rad), meters, position loops (N m/rad), torque caps (N m).

    `caps` are those of the levels, `stall` is the most there is at standstill. `loops` are the current loops, None for
    motors that have none.
    """

    goal_scale: list[float]
    goal_offset: list[float]
    readout: list[Readout]
    gain: list[float]
    caps: list[list[float]]
    stall: list[float]
    loops: list[CurrentLoop | None]


def servos_of(plan: Plan, spec: PlantSpec) -> Servos:
    """Work the numbers out. Raises PlantSpecError for a motor that nobody describes."""
    servo = spec.servo
    kinds = [kind_of(motor, spec) for motor in plan.motors]
    places = coordinates(plan, spec)
    shafts = [ShaftConversion.of_motor(motor) for motor in plan.motors]
    # Dead ticks are those of the meter that the description is of; of other servos' meters no such thing is known.
    readout = [
        (
            places[motor.joint],
            shaft.shaft_per_joint,
            shaft.shaft_offset,
            1 / kind.stall_torque_n_m,
            0.0 if kind.current_loop else 1 / kind.omega0_rad_s,
            kind.stall_current_a,
            motor.tick_deg / servo.tick_deg,
            0.0 if motor.model in spec.motors else servo.dead_ticks * servo.current_tick_a,
        )
        for motor, shaft, kind in zip(plan.motors, shafts, kinds, strict=True)
    ]
    return Servos(
        goal_scale=[shaft.joint_per_shaft for shaft in shafts],
        goal_offset=[shaft.joint_offset for shaft in shafts],
        readout=readout,
        gain=[servo_gain(kind, spec) for kind in kinds],
        caps=[[cap * kind.stall_torque_n_m for cap in servo.torque_cap_by_level] for kind in kinds],
        stall=[kind.stall_torque_n_m for kind in kinds],
        loops=[
            CurrentLoop(places[motor.joint], kind.stall_torque_n_m, kind.omega0_rad_s, braking_n_m_s(kind, spec))
            if kind.current_loop
            else None
            for motor, kind in zip(plan.motors, kinds, strict=True)
        ],
    )


def noise_of(variation: Variation, spec: PlantSpec) -> list[tuple[float, float]]:
    """Return per sample the noise of the angle (degrees), and of the current less what the meter does not see (A)."""
    servo = spec.servo
    angles = variation.position_noise_ticks * servo.tick_deg
    currents = (variation.current_noise_ticks - servo.dead_ticks) * servo.current_tick_a
    return list(zip(angles.tolist(), currents.tolist(), strict=True))
