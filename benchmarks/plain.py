"""What a user would write in place of the project: `lin_roach` as one loop over `mujoco`, same rules and muscles.

The same model of the leg, the same servos and the same numbers of the configuration, read once; exchanges and rules at
the same rates. No bytes on a line, no logs, no checks, no noise: as few statements as let the leg step. `step_kind`
asks the project's own classifier whether it does.
"""

# MuJoCo's bindings come without a description of their functions.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.log_columns import PLANT_COLUMNS, joints_of, states_of
from nuc_engine.analysis.outcome import classify
from nuc_engine.analysis.series import Series
from nuc_engine.bout.run import Prepared
from nuc_engine.model.plan import Plan, Slot
from nuc_engine.plants import open_plant

CYCLE_STEPS = 5
"""Steps of a millisecond between two exchanges: the bus of the project needs 5.07 ms for four servos."""
RULES_EVERY = 5
"""Exchanges between two evaluations of the rules."""
LEVEL = 3
TICK_A = 0.0184

Note = Callable[[int, list[float], list[float], tuple[str, ...], Any], None]


def run(  # noqa: PLR0912  a loop as one would write it
    plan: Plan, spec_path: Path, seconds: float, note: Note | None = None
) -> None:
    """Let the leg step for so long. `note` is told of every exchange: milliseconds, angles, loads, actions, MuJoCo."""
    leg: Any = open_plant(plan, spec_path, "mujoco", 0)
    model, data, motors = leg._model, leg._data, plan.motors
    value = {plan.hdsos[item.hdso].name: item.values[0] for item in plan.initial}
    place = [readout[0] for readout in leg._readout]
    scale, offset = leg._goal_scale, leg._goal_offset
    stall_a = [readout[5] for readout in leg._readout]
    per_torque, per_speed = [r[3] for r in leg._readout], [r[4] for r in leg._readout]
    dead_a = leg._readout[0][7]
    cal = [(motor.cal1, motor.cal2, motor.dir, motor.tick_deg) for motor in motors]
    muscles = [pull for k in range(len(plan.muscles)) for pull in _pulls(plan, k)]
    for motor in motors:
        leg.command(motor.index, 0.0, LEVEL)
    raw, load, drive = [0] * 4, [0.0] * 4, [0] * 4
    thorax, trochanter, knee = "TC1_protractionDEP", "CTr_LevationPRO", "FT_Extension"
    delta = [0.0] * 4
    for cycle in range(round(seconds * 1000 / CYCLE_STEPS)):
        mujoco.mj_step(model, data, CYCLE_STEPS)
        qpos, qvel, torque = data.qpos, data.qvel, data.actuator_force
        for k in range(4):
            shaft_deg = (qpos[place[k]] - offset[k]) / scale[k]
            raw[k] = int(shaft_deg / cal[k][3] + 0.5)
            current_a = abs(stall_a[k] * (torque[k] * per_torque[k] - qvel[place[k]] * per_speed[k])) + dead_a
            load[k] = 0.05 * drive[k] * int(max(current_a, 0.0) / TICK_A) + 0.95 * load[k]
        angle = [(raw[k] - cal[k][0]) / cal[k][1] for k in range(4)]
        if cycle % RULES_EVERY == 0:
            tc1, ctr, ft = load[0], angle[2], angle[3]
            if thorax == "TC1_protractionDEP":
                if ft < value["TC1_retLEV_FTang"] or ctr < value["TC1_retLEV_CTang"]:
                    thorax = "TC1_retractionLEV"
            elif ft > value["TC1_proDEP_FTang"]:
                thorax = "TC1_protractionDEP"
            if trochanter == "CTr_LevationPRO":
                if tc1 > value["CTr_dep_TC1_load"]:
                    trochanter = "CTr_DepressionRET"
            elif tc1 < value["CTr_lev_TC1_load"]:
                trochanter = "CTr_LevationPRO"
            if knee == "FT_Extension":
                if tc1 < value["FT_flux_TC1_load"] or ft < value["FT_flux_FTang"]:
                    knee = "FT_Flexion"
            elif tc1 > value["FT_ext_TC1_load"] and ft > value["FT_ext_FTang"]:
                knee = "FT_Extension"
            actions = (thorax, trochanter, knee)
            delta = [0.0] * 4
            for joint, action, activation, alpha, r, l0, fmax, slope, intercept in muscles:
                if action in actions:
                    length = ((alpha - angle[joint]) * math.radians(r) + l0) / l0
                    delta[joint] += r * activation * (slope * length + intercept) * fmax
        for k in (0, 2, 3):
            goal = min(max(raw[k] + cal[k][2] * round(delta[k]), 0), 254)
            drive[k] = (goal > raw[k]) - (goal < raw[k])
            data.ctrl[k] = goal * cal[k][3] * scale[k] + offset[k]
        data.ctrl[1] = value["ThC2_positionCommand"] * cal[1][3] * scale[1] + offset[1]
        if note is not None:
            note((cycle + 1) * CYCLE_STEPS, angle, load, (thorax, trochanter, knee), leg)


def _pulls(plan: Plan, k: int) -> list[tuple[int, str, float, float, float, float, float, float, float]]:
    """Return a muscle in each action that drives it: motor, action, activation, and the numbers of its force."""
    muscle = plan.muscles[k]
    values = {item.hdso: item.values for item in plan.initial}

    def parameter(slot: Slot) -> float:
        return values[slot.hdso][slot.element]

    slope, intercept = map(parameter, muscle.force_length.parameters)
    numbers = muscle.alpha_deg, muscle.r, muscle.l0, muscle.fmax, slope, intercept
    return [
        (plan.joints[muscle.joint].motor, state.name, parameter(activation.parameters[0]), *numbers)
        for state in plan.states
        for activation in state.activations
        if activation.muscle == k
    ]


def step_kind(prepared: Prepared, spec_path: Path, seconds: float) -> str:
    """Return what the project's classifier calls what this loop's leg does, as `nuc stats` would."""
    plan = prepared.plan
    code = {state.name: state.index for state in plan.states}
    modules = [joint.index for joint in plan.joints if joint.states]
    times: list[float] = []
    sensors: list[list[float]] = []
    states: list[list[float]] = []
    feet: list[list[float]] = []
    force = np.zeros(6)

    def note(now_ms: int, angle: list[float], load: list[float], actions: tuple[str, ...], leg: Any) -> None:
        times.append(now_ms / 1000)
        sensors.append([*angle, *load])
        now = dict(zip(modules, (code[action] for action in actions), strict=True))
        states.append([now.get(joint.index, -1) for joint in plan.joints])
        if leg._data.ncon:
            mujoco.mj_contactForce(leg._model, leg._data, 0, force)
        feet.append([*(100 * leg._data.geom_xpos[leg._foot]), force[0] if leg._data.ncon else 0.0])

    run(plan, spec_path, seconds, note)

    def series(rows: list[list[float]], columns: tuple[str, ...]) -> Series:
        return Series(np.array(times), np.array(rows), columns, ("",) * len(columns))

    hdsos = [motor.angle for motor in plan.motors] + [motor.current for motor in plan.motors]
    nothing = Series(np.zeros(0), np.zeros((0, 0)), (), ())
    bout = Bout(
        folder=Path(),
        label=plan.name,
        joints=joints_of(plan, prepared.model),
        states_of=states_of(prepared.model, plan),
        motor=nothing,
        sensors=series(sensors, tuple(plan.hdsos[index].name for index in hdsos)),
        states=series(states, tuple(f"{joint.name}.state" for joint in plan.joints)),
        muscles=nothing,
        plant=series(feet, PLANT_COLUMNS),
    )
    return classify(bout.tracks(), (0.0, times[-1])).kind
