"""Stand-ins that take one part out of a bout, so that its cost is what is left over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from nuc_engine.model.plan import (
    ActivationPlan,
    HdsoPlan,
    InitialWrite,
    JointPlan,
    MotorPlan,
    MusclePlan,
    Plan,
    Slot,
    StatePlan,
)


class SilentRecorder:
    """Takes everything and keeps nothing."""

    def nothing(self, *_: Any) -> None:
        pass

    started = motor = sensors = states = muscles = applied = controlled = done = answer = event = nothing


class HeardRecorder(SilentRecorder):
    """Keeps what the bus is told: (begin in ns, torque level, goals)."""

    def __init__(self) -> None:
        self.exchanges: list[tuple[int, int, list[int]]] = []

    def started(self, now_ns: int, level: int, goals: Sequence[int]) -> None:
        self.exchanges.append((now_ns, level, list(goals)))


class HeardPlant:
    """A MuJoCo leg, and what passes between it and the bus.

    `calls` is all it was asked and told, `samples` what it answered, `goals` (steps done, servo, goal in degrees).
    """

    def __init__(self, plant: Any) -> None:
        self._plant = plant
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.samples: list[tuple[float, float]] = []
        self.goals: list[tuple[int, int, float]] = []

    def advance(self, now_ns: int) -> None:
        self.calls.append(("advance", (now_ns,)))
        self._plant.advance(now_ns)

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        self.calls.append(("command", (servo, goal_deg, level)))
        self.goals.append((self._plant._done, servo, goal_deg))
        self._plant.command(servo, goal_deg, level)

    def release(self, servo: int) -> None:
        self.calls.append(("release", (servo,)))
        self._plant.release(servo)

    def sample(self, servo: int) -> tuple[float, float]:
        self.calls.append(("sample", (servo,)))
        self.samples.append(self._plant.sample(servo))
        return self.samples[-1]


class PlayedPlant:
    """A leg that moves as one was heard to move, at no cost: its samples played back."""

    def __init__(self, heard: HeardPlant) -> None:
        self._samples = iter(heard.samples)

    def advance(self, now_ns: int) -> None:
        pass

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        pass

    def release(self, servo: int) -> None:
        pass

    def sample(self, servo: int) -> tuple[float, float]:
        return next(self._samples)


def repeat_joint(plan: Plan, joint: int, copies: int) -> Plan:
    """Return a plan of `copies` of one muscle-driven joint, each with HDSOs, rules, muscles and motor of its own."""
    out: dict[str, list[Any]] = {"hdsos": [], "joints": [], "motors": [], "muscles": [], "states": [], "initial": []}
    for copy in range(copies):
        _append(plan, plan.joints[joint], out, copy)
    size = len(out["hdsos"]) // copies
    pick = {name: getattr(plan, name) for name in ("motor_speed", "motor_control_delay", "statetrans_period")}
    return replace(
        plan,
        **{name: tuple(items) for name, items in out.items()},
        **pick,
        store_size=plan.store_size * copies,
        sensor_columns=tuple(index + size * copy for copy in range(copies) for index in plan.sensor_columns),
    )


@dataclass(slots=True)
class _Copy:
    """One more copy of a joint, with all that belongs to it; everything in it is counted on from the copies before."""

    plan: Plan
    joint: JointPlan
    number: int
    motor: int
    first_muscle: int
    first_state: int

    def slot(self, old: Slot) -> Slot:
        return Slot(self._hdso(old.hdso), old.element)

    def hdso(self, old: HdsoPlan) -> HdsoPlan:
        offset = old.offset + self.number * self.plan.store_size
        name = f"{old.name}_{self.number}"
        return replace(old, index=self._hdso(old.index), id_num=old.id_num + self._ids, name=name, offset=offset)

    def muscle(self, k: int, old: MusclePlan) -> MusclePlan:
        uses = ("passive_stiffness", "force_length", "force_velocity")
        shapes = {use: self._function(getattr(old, use)) for use in uses}
        return replace(old, index=self.first_muscle + k, joint=self.number, **shapes)

    def state(self, k: int, old: StatePlan) -> StatePlan:
        return replace(
            old,
            index=self.first_state + k,
            joint=self.number,
            rule=self._hdso(old.rule),
            dwell=None if old.dwell is None else self.slot(old.dwell),
            activations=tuple(self._activation(item) for item in old.activations),
        )

    def written(self, old: InitialWrite) -> InitialWrite:
        values = old.values
        if self.plan.hdsos[old.hdso].kind == "boolstring":
            # Flags first; where a flag is 0 its value is an id.
            half = len(values) // 2
            flags, values = values[:half], values[half:]
            values = (*flags, *(v + self._ids if f == 0 else v for f, v in zip(flags, values, strict=True)))
        return InitialWrite(self._hdso(old.hdso), values)

    def motor_plan(self, old: MotorPlan) -> MotorPlan:
        angle, current = self._hdso(old.angle), self._hdso(old.current)
        new = replace(old, index=self.motor, bus_id=self.number, joint=self.number, angle=angle, current=current)
        return replace(new, position_command=-1, force_command=-1)

    def joint_plan(self) -> JointPlan:
        return replace(
            self.joint,
            index=self.number,
            parent=self.number - 1,
            motor=self.motor,
            muscles=tuple(self.first_muscle + k for k in range(len(self.joint.muscles))),
            states=tuple(self.first_state + k for k in range(len(self.joint.states))),
            start_state=self.first_state,
        )

    @property
    def _ids(self) -> int:
        return self.number * 1000

    def _hdso(self, old: int) -> int:
        return old + self.number * len(self.plan.hdsos)

    def _function(self, old: Any) -> Any:
        return replace(old, parameters=tuple(self.slot(item) for item in old.parameters))

    def _activation(self, old: ActivationPlan) -> ActivationPlan:
        return replace(
            old,
            muscle=self.first_muscle + self.joint.muscles.index(old.muscle),
            sensors=tuple(self.slot(item) for item in old.sensors),
            parameters=tuple(self.slot(item) for item in old.parameters),
        )


def _append(plan: Plan, joint: JointPlan, out: dict[str, list[Any]], number: int) -> None:
    copy = _Copy(plan, joint, number, len(out["motors"]), len(out["muscles"]), len(out["states"]))
    out["hdsos"] += [copy.hdso(old) for old in plan.hdsos]
    out["initial"] += [copy.written(old) for old in plan.initial]
    out["muscles"] += [copy.muscle(k, plan.muscles[old]) for k, old in enumerate(joint.muscles)]
    out["states"] += [copy.state(k, plan.states[old]) for k, old in enumerate(joint.states)]
    out["motors"].append(copy.motor_plan(plan.motors[joint.motor]))
    out["joints"].append(copy.joint_plan())
