"""Stand-ins that take one part out of a bout, so that its cost is what is left over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nuc_engine.plan import ActivationPlan, HdsoPlan, InitialWrite, JointPlan, MotorPlan, MusclePlan, Plan, Slot


class SilentRecorder:
    """Takes everything and keeps nothing."""

    def nothing(self, *_: Any) -> None:
        pass

    motor = sensors = states = muscles = applied = answer = event = nothing


class StillPlant:
    """Shafts that stand at 85 degrees and draw half an ampere, at no cost."""

    def advance(self, now_ns: int) -> None:
        pass

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        pass

    def release(self, servo: int) -> None:
        pass

    def sample(self, servo: int) -> tuple[float, float]:
        return 85.0, 0.5


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


def _append(plan: Plan, joint: JointPlan, out: dict[str, list[Any]], copy: int) -> None:
    base, ids = copy * len(plan.hdsos), copy * 1000
    motors, muscles, states = len(out["motors"]), len(out["muscles"]), len(out["states"])

    def slot(old: Slot) -> Slot:
        return Slot(old.hdso + base, old.element)

    def hdso(old: HdsoPlan) -> HdsoPlan:
        offset = old.offset + copy * plan.store_size
        return replace(old, index=old.index + base, id_num=old.id_num + ids, name=f"{old.name}_{copy}", offset=offset)

    def function(old: Any) -> Any:
        return replace(old, parameters=tuple(slot(item) for item in old.parameters))

    def muscle(k: int, old: MusclePlan) -> MusclePlan:
        uses = ("passive_stiffness", "force_length", "force_velocity")
        shapes = {use: function(getattr(old, use)) for use in uses}
        return replace(old, index=muscles + k, joint=copy, **shapes)

    def activation(old: ActivationPlan) -> ActivationPlan:
        return replace(
            old,
            muscle=muscles + joint.muscles.index(old.muscle),
            sensors=tuple(slot(item) for item in old.sensors),
            parameters=tuple(slot(item) for item in old.parameters),
        )

    def code(write: InitialWrite) -> tuple[int | float, ...]:
        if plan.hdsos[write.hdso].kind != "boolstring":
            return write.values
        half = len(write.values) // 2
        flags, values = write.values[:half], write.values[half:]
        return (*flags, *(v + ids if f == 0 else v for f, v in zip(flags, values, strict=True)))

    out["hdsos"] += [hdso(old) for old in plan.hdsos]
    out["initial"] += [InitialWrite(write.hdso + base, code(write)) for write in plan.initial]
    out["muscles"] += [muscle(k, plan.muscles[old]) for k, old in enumerate(joint.muscles)]
    out["states"] += [
        replace(
            plan.states[old],
            index=states + k,
            joint=copy,
            rule=plan.states[old].rule + base,
            dwell=None if (dwell := plan.states[old].dwell) is None else slot(dwell),
            activations=tuple(activation(item) for item in plan.states[old].activations),
        )
        for k, old in enumerate(joint.states)
    ]
    motor: MotorPlan = plan.motors[joint.motor]
    out["motors"].append(
        replace(
            motor,
            index=motors,
            bus_id=copy,
            joint=copy,
            angle=motor.angle + base,
            current=motor.current + base,
            position_command=-1,
            force_command=-1,
        )
    )
    out["joints"].append(
        replace(
            joint,
            index=copy,
            parent=copy - 1,
            motor=motors,
            muscles=tuple(muscles + k for k in range(len(joint.muscles))),
            states=tuple(states + k for k in range(len(joint.states))),
            start_state=states,
        )
    )
