"""What each HDSO of a model serves: entry rules, activations, muscle functions, motors, geometry, the engine itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nuc_engine.model.plan import CentralPlan, Plan
from nuc_engine.model.values import Values, rule_tokens
from sccils_schemas.model import Model


def hdso_uses(model: Model, plan: Plan, values: Sequence[Values | None]) -> dict[int, list[str]]:
    """Return what each HDSO serves, by index in the plan: entry rules, activations, muscle functions, motors, ..."""
    uses: dict[int, list[str]] = {}
    everything = (
        *((index, "engine") for index in (plan.motor_speed, plan.motor_control_delay, plan.statetrans_period)),
        (plan.muscle_period, "engine"),
        *_uses_by_states(plan, values),
        *_uses_by_muscles(plan),
        *_uses_by_modules(plan, values),
        *_uses_by_nerves(plan),
        *_uses_by_motors(plan),
        *_uses_by_signals(plan),
        *_uses_by_dynamics(plan),
        *_uses_by_geometry(model, plan),
    )
    for index, use in everything:
        if index >= 0 and use not in uses.setdefault(index, []):
            uses[index].append(use)
    return uses


_Uses = Iterator[tuple[int, str]]


def _uses_by_states(plan: Plan, values: Sequence[Values | None]) -> _Uses:
    for state in plan.states:
        for index in (state.rule, *_operands(plan, state.rule, values)):
            yield index, f"entry rule of {state.name}"
        for activation in state.activations:
            muscle = plan.muscles[activation.muscle].name
            for slot in (*activation.parameters, *activation.sensors, *activation.bounds):
                yield slot.hdso, f"activation of {muscle} in {state.name}"
            for item in activation.influences:
                for slot in (item.signal, item.gain, *(() if item.function is None else item.function.parameters)):
                    yield slot.hdso, f"influence on {muscle} in {state.name}"
        if state.central is not None:
            yield from _uses_by_central(plan, state.name, state.central, values)
        if state.dwell is not None:
            yield state.dwell.hdso, f"dwell time of {state.name}"


def _uses_by_muscles(plan: Plan) -> _Uses:
    for muscle in plan.muscles:
        functions = {
            "passive stiffness": muscle.passive_stiffness,
            "force-length": muscle.force_length,
            "force-velocity": muscle.force_velocity,
        }
        for use, function in functions.items():
            for slot in function.parameters:
                yield slot.hdso, f"{use} of {muscle.name}"


def _uses_by_central(plan: Plan, name: str, central: CentralPlan, values: Sequence[Values | None]) -> _Uses:
    for index in (central.rule, *_operands(plan, central.rule, values)):
        yield index, f"central entry of {name}"
    if central.hold is not None:
        yield central.hold.hdso, f"hold of {name}"


def _uses_by_modules(plan: Plan, values: Sequence[Values | None]) -> _Uses:
    for module in plan.modules:
        for state in module.states:
            for index in (state.rule, *_operands(plan, state.rule, values)):
                yield index, f"entry rule of {state.name}"
            if state.central is not None:
                yield from _uses_by_central(plan, state.name, state.central, values)
            if state.dwell is not None:
                yield state.dwell.hdso, f"dwell time of {state.name}"
            for write in state.writes:
                yield write.hdso, f"written by {state.name} of {module.name}"
    for control in plan.controls:
        for slot, _ in control.maps:
            yield control.value.hdso, f"leads {plan.hdsos[slot.hdso].name}"
            yield slot.hdso, f"follows {control.name}"


def _uses_by_nerves(plan: Plan) -> _Uses:
    for joint in plan.joints:
        for of, slot in () if joint.soft is None else joint.soft.widths:
            yield slot.hdso, f"width of {plan.hdsos[of].name} in {joint.name}"


def _uses_by_dynamics(plan: Plan) -> _Uses:
    for muscle in plan.muscles:
        if muscle.efferent_delay is not None:
            yield muscle.efferent_delay.hdso, f"efferent delay of {muscle.name}"
        if muscle.dynamics is not None:
            for slot in (muscle.dynamics.rise, muscle.dynamics.fall):
                if slot is not None:
                    yield slot.hdso, f"activation dynamics of {muscle.name}"


def _uses_by_motors(plan: Plan) -> _Uses:
    for motor in plan.motors:
        yield motor.angle, f"angle of {motor.name}"
        yield motor.current, f"load of {motor.name}"
        yield motor.position_command, f"position command of {motor.name}"
        yield motor.force_command, f"force command of {motor.name}"


def _uses_by_signals(plan: Plan) -> _Uses:
    for signal in plan.signals:
        for slot in signal.inputs:
            yield slot.hdso, f"signal {signal.name}"
        for slots in signal.parameters:
            for slot in slots:
                yield slot.hdso, f"parameter of the signal {signal.name}"
    for told in plan.action_signals:
        for slot in told.parameters:
            yield slot.hdso, f"parameter of the signal {told.name}"
        if told.rate is not None:
            yield told.rate.hdso, f"signal {told.name}"


def _uses_by_geometry(model: Model, plan: Plan) -> _Uses:
    by_ref = {hdso.id_num: hdso.index for hdso in plan.hdsos} | {hdso.name: hdso.index for hdso in plan.hdsos}
    for joint in model.jointlist.joints:
        for mod in (joint.geometry.amatrix, joint.geometry.dh_line):
            if mod is not None:
                # Geometry may name an HDSO that is declared nowhere (reading B11).
                yield by_ref.get(mod.ref, -1), f"geometry of {joint.name}"


def _operands(plan: Plan, rule: int, values: Sequence[Values | None]) -> list[int]:
    held = values[rule]
    tokens = () if held is None else rule_tokens(plan.hdsos[rule], held)
    return [plan.hdso(token.ref).index for token in tokens if token.ref is not None]
