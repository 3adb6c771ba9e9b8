"""A model explained, as plain data: joints, muscles, states, rules, motors, geometry, senses and parameters.

`describe_model` is what `nuc show --json` prints, and what `describe_text` lays out. Everything is in JSON's own types.
What is described elsewhere is named by an object of `id` and `name`; what is not there (value, text, unit) is null.
Source: the toolbox's fullprint (appendix 10.3, section 5.1.3), with what a biologist needs beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from nuc_engine.configurations.describe_uses import hdso_uses
from nuc_engine.model.changes import Changeset
from nuc_engine.model.extensions import ADDED, installed
from nuc_engine.model.motors import is_driven
from nuc_engine.model.plan import (
    ActivationPlan,
    CentralPlan,
    ControlPlan,
    DynamicsPlan,
    FunctionPlan,
    HdsoPlan,
    JointPlan,
    ModulePlan,
    MotorPlan,
    Plan,
    Slot,
    SoftPlan,
)
from nuc_engine.model.planning import build_plan
from nuc_engine.model.values import (
    Values,
    current_rule_text,
    initial_values,
    plain_number,
    plain_value,
    same_value,
    value_text,
)
from sccils_schemas.by_hand import PlantEntry
from sccils_schemas.documents import Hdso, Joint, Motor, Muscle, SenseClamp, Servo, Signal, State, When, seconds_text
from sccils_schemas.model import Model
from sccils_schemas.names import printable
from sccils_schemas.ranges import both_ways
from sccils_schemas.servos import label_of, model_of
from sccils_schemas.signals import form_of
from sccils_schemas.writer import write_entry

Data = dict[str, Any]


class _Named(Protocol):
    """What has an id and a name."""

    @property
    def id_num(self) -> int: ...

    @property
    def name(self) -> str: ...


_ARGUMENT = {"passive_stiffness": "l'", "force-length": "l'", "force-velocity": "rate"}
"""What each use of a function is a function of: relative length, and its rate in 1/s (equations 6-5 and 6-6)."""


def describe_model(model: Model, plan: Plan | None = None) -> Data:
    """Return a checked model as plain data; `plan` is the one for its buses, where they are known."""
    return _Describer(model, build_plan(model) if plan is None else plan).model_data()


def describe_changes(
    plan: Plan,
    changesets: Sequence[Changeset],
    by_hand: Sequence[PlantEntry] = (),
    nerves: Sequence[SenseClamp | When] = (),
) -> list[Data]:
    """Return what a script does, one entry per moment: every HDSO it writes, with the values before and after.

    A request for every HDSO is None. What is done to the leg by hand, or its senses (`senses`), and what waits for a
    rule (`triggers`) stand as the script has them.
    """
    names = {hdso.id_num: hdso.name for hdso in plan.hdsos}
    values = list(initial_values(plan))
    moments: dict[float, Data] = {}
    for changeset in changesets:
        before: dict[int, Values | None] = {}
        for write in changeset.writes:
            old = values[write.hdso]
            before.setdefault(write.hdso, old)
            values[write.hdso] = write.values + (old or ())[len(write.values) :]
        changes = [_change(plan.hdsos[index], old, values[index], names) for index, old in before.items()]
        requests = [_named(plan.hdsos[r.hdso]) if r.hdso >= 0 else None for r in changeset.requests]
        time_s = changeset.time_ns / 1e9
        moments[time_s] = {"time_s": time_s, "changes": changes, "requests": requests, "by_hand": []}
    for entry in (*by_hand, *nerves):
        time_s = float(entry.time_s)
        moment = moments.setdefault(time_s, {"time_s": time_s, "changes": [], "requests": [], "by_hand": []})
        kind = "senses" if isinstance(entry, SenseClamp) else "triggers" if isinstance(entry, When) else "by_hand"
        moment.setdefault(kind, []).append(write_entry(entry))
    return [moments[time_s] for time_s in sorted(moments)]


def _change(hdso: HdsoPlan, before: Values | None, after: Values | None, names: Mapping[int, str]) -> Data:
    return {
        "id": hdso.id_num,
        "name": hdso.name,
        "kind": hdso.kind,
        "unit": hdso.units or None,
        "before": plain_value(hdso, before, names),
        "after": plain_value(hdso, after, names),
        "changes": not same_value(hdso, before, after),
    }


class _Describer:
    def __init__(self, model: Model, plan: Plan) -> None:
        self.model, self.plan = model, plan
        self.values = initial_values(self.plan)
        self.names = {hdso.id_num: hdso.name for hdso in self.plan.hdsos}
        self.pushing = {motor.force_command for motor in plan.motors}
        self.uses = hdso_uses(model, self.plan, self.values)

    def model_data(self) -> Data:
        model, plan = self.model, self.plan
        joints = [self._joint(joint) for joint in model.jointlist.joints]
        return {
            "name": model.name,
            "label": model.jointlist.name,
            "fullname": _text(model.jointlist.fullname),
            "description": _text(model.jointlist.description),
            "counts": {
                "joints": len(plan.joints),
                "motors": len(plan.motors),
                "muscles": len(plan.muscles),
                "states": len(plan.states),
                "parameters": sum(hdso.kind != "sensor" for hdso in plan.hdsos),
                "sensors": sum(hdso.kind == "sensor" for hdso in plan.hdsos),
            },
            **({} if model.jointlist.scale is None else {"scale": model.jointlist.scale}),
            **({"extensions": installed(plan.extensions)} if plan.extensions else {}),
            **({} if plan.muscle_period < 0 else {"muscle_period": self._value(plan.muscle_period)}),
            "joints": joints,
            **({"modules": [self._module(module) for module in plan.modules]} if plan.modules else {}),
            **({"controls": [self._control(control) for control in plan.controls]} if plan.controls else {}),
            "parameters": [self._hdso(hdso) for hdso in model.hdsos if model.kind(hdso) != "sensor"],
            "sensors": [self._hdso(hdso) for hdso in model.hdsos if model.kind(hdso) == "sensor"],
        }

    def _joint(self, joint: Joint) -> Data:
        parent = next((other for other in self.model.jointlist.joints if other.id_num == joint.parent), None)
        plan = next((item for item in self.plan.joints if item.id_num == joint.id_num), None)
        start = -1 if plan is None or not plan.states else plan.start_state
        return {
            "id": joint.id_num,
            "name": joint.name,
            "fullname": _text(joint.fullname),
            "description": _text(joint.description),
            "parent": None if parent is None else {"id": parent.id_num, "name": parent.name},
            "endpoint": joint.endpoint,
            "control_mode": None if joint.endpoint else joint.control_mode,
            "start_state": _named(self.plan.states[start]) if start >= 0 else None,
            "linespec": None if joint.plotstyle is None else joint.plotstyle.linespec,
            "geometry": self._geometry(joint, plan),
            "motor": self._motor(joint),
            "muscles": [self._muscle(muscle) for muscle in joint.muscles],
            "states": [self._state(state) for state in joint.states],
            **({} if plan is None or plan.soft is None else {"soft_switching": self._soft(plan.soft)}),
            "sense_organs": [
                {
                    "id": organ.id_num,
                    "name": organ.name,
                    "fullname": _text(organ.fullname),
                    "description": _text(organ.description),
                    "sensors": [_named(self.model.hdso(mod.ref)) for mod in organ.mods],
                }
                for organ in joint.sense_organs
            ],
        }

    def _geometry(self, joint: Joint, plan: JointPlan | None) -> Data:
        dh_line = None if plan is None else plan.dh_line
        amatrix = None if plan is None or plan.amatrix is None else plan.amatrix
        return {
            "description": _text(joint.geometry.description),
            "amatrix": None if amatrix is None else [list(amatrix[4 * row : 4 * row + 4]) for row in range(4)],
            "dh_line": None
            if dh_line is None
            else {
                "a_cm": dh_line[0],
                "d_cm": dh_line[1],
                "alpha_deg": math.degrees(dh_line[2]),
                "rad_per_unit": dh_line[3],
            },
        }

    def _motor(self, joint: Joint) -> Data | None:
        if not joint.servos:
            return None
        plan = next(item for item in self.plan.motors if item.id_num == joint.servos[0].id_num)
        motor = next(servo for servo in joint.servos if is_driven(servo, plan))
        ends = sorted((raw - plan.cal1) / plan.cal2 for raw in plan.goals)
        commands = {"position_command": plan.position_command, "force_command": plan.force_command}
        return {
            "id": motor.id_num,
            "name": motor.name,
            "fullname": _text(motor.fullname),
            "description": _text(motor.description),
            "bus_id": motor.serial_id,
            "model": model_of(motor) or None,
            **(_units(motor, plan) if isinstance(motor, Motor) else {}),
            **self._others(joint, motor),
            "angle_cal1": motor.angle_cal1,
            "angle_cal2": motor.angle_cal2,
            "dir": motor.dir,
            "range_deg": ends,
            "angle_sensor": _named(self.plan.hdsos[plan.angle]),
            "load_sensor": _named(self.plan.hdsos[plan.current]),
            **{key: self._value(index) if index >= 0 else None for key, index in commands.items()},
        }

    def _others(self, joint: Joint, driven: Servo) -> Data:
        others = [label_of(servo) for servo in joint.servos if servo is not driven]
        return {"others": others} if others else {}

    def _muscle(self, muscle: Muscle) -> Data:
        plan = next(item for item in self.plan.muscles if item.id_num == muscle.id_num)
        functions = {
            "passive_stiffness": plan.passive_stiffness,
            "force-length": plan.force_length,
            "force-velocity": plan.force_velocity,
        }
        return {
            "id": muscle.id_num,
            "name": muscle.name,
            "fullname": _text(muscle.fullname),
            "description": _text(muscle.description),
            "l_naught": muscle.l_naught,
            "r": muscle.r,
            "alpha_deg": muscle.alpha_deg,
            "fmax": muscle.fmax,
            "functions": {use: self._function(use, function) for use, function in functions.items()},
            **({} if plan.dynamics is None else {"dynamics": self._dynamics(plan.dynamics)}),
            **({} if plan.efferent_delay is None else {"efferent_delay": self._value(plan.efferent_delay.hdso)}),
        }

    def _soft(self, soft: SoftPlan) -> Data:
        widths = [(self.plan.hdsos[of], self._value(slot.hdso)) for of, slot in soft.widths]
        return {"widths": [{"name": hdso.name, "width": width} for hdso, width in widths]}

    def _dynamics(self, dynamics: DynamicsPlan) -> Data:
        slots = {"rise": dynamics.rise, "fall": dynamics.fall}
        return {way: self._value(slot.hdso) for way, slot in slots.items() if slot is not None}

    def _central(self, central: CentralPlan) -> Data:
        rule = self.plan.hdsos[central.rule]
        hold = None if central.hold is None else self._value(central.hold.hdso)
        return {"id": rule.id_num, "name": rule.name, **self._rule(rule), "hold": hold}

    def _module(self, module: ModulePlan) -> Data:
        document = self.model.jointlist.modules[module.index]
        return {
            "id": module.id_num,
            "name": module.name,
            "fullname": _text(document.fullname),
            "description": _text(document.description),
            "start_state": self.plan.every_state[module.start_state].name,
            "states": [
                {
                    "id": state.id_num,
                    "name": state.name,
                    "fullname": _text(told.fullname),
                    "description": _text(told.description),
                    "rule": {"id": rule.id_num, "name": rule.name, **self._rule(rule)},
                    **({} if state.central is None else {"central": self._central(state.central)}),
                    "writes": [
                        {"id": hdso.id_num, "name": hdso.name, "text": value_text(hdso, write.values, self.names)}
                        for write in state.writes
                        for hdso in (self.plan.hdsos[write.hdso],)
                    ],
                }
                for state, told in zip(module.states, document.states, strict=True)
                for rule in (self.plan.hdsos[state.rule],)
            ],
        }

    def _control(self, control: ControlPlan) -> Data:
        hdsos = [self.plan.hdsos[slot.hdso] for slot, _ in control.maps]
        return {
            "name": control.name,
            "value": self._value(control.value.hdso)["value"],
            "range": list(self.plan.hdsos[control.value.hdso].valid),
            "maps": [
                {"id": hdso.id_num, "name": f"{hdso.name}[{slot.element}]", "points": list(points)}
                for hdso, (slot, points) in zip(hdsos, control.maps, strict=True)
            ],
        }

    def _function(self, use: str, function: FunctionPlan) -> Data:
        numbers = [number for slot in function.parameters if (number := self._number(slot)) is not None]
        known = len(numbers) == len(function.parameters)
        texts = [f"{number:.10g}" for number in numbers]
        return {
            "type": function.type,
            "formula": _formula(function.type, texts, _ARGUMENT[use]) if known else None,
            "parameters": self._slot_hdsos(function.parameters),
        }

    def _state(self, state: State) -> Data:
        plan = next(item for item in self.plan.states if item.id_num == state.id_num)
        rule = self.plan.hdsos[plan.rule]
        style = state.plotstyle
        descriptions = {activation.muscle: _text(activation.description) for activation in state.activations}
        return {
            "id": state.id_num,
            "code": plan.index,
            "name": state.name,
            "fullname": _text(state.fullname),
            "description": _text(state.description),
            "color": None if style is None or style.colorspec is None else list(style.colorspec),
            "rule": {
                "id": rule.id_num,
                "name": rule.name,
                "description": _text(state.rule.description),
                **self._rule(rule),
            },
            "dwell": None if plan.dwell is None else self._value(plan.dwell.hdso),
            **({} if plan.central is None else {"central": self._central(plan.central)}),
            "activations": [
                {
                    "muscle": _named(self.plan.muscles[activation.muscle]),
                    "function": activation.function,
                    "value": [self._number(slot) for slot in activation.parameters],
                    "parameters": self._slot_hdsos(activation.parameters),
                    "sensors": [self._operand(slot) for slot in activation.sensors],
                    **self._influences(activation),
                    "description": descriptions.get(self.plan.muscles[activation.muscle].id_num),
                }
                for activation in plan.activations
            ],
        }

    def _influences(self, activation: ActivationPlan) -> Data:
        if not activation.influences:
            return {}
        bounds = [self._number(slot) for slot in activation.bounds] or [0, 1]
        influences: list[Data] = []
        for item in activation.influences:
            signal, gain = (self.plan.hdsos[slot.hdso] for slot in (item.signal, item.gain))
            function = None if item.function is None else item.function.type
            numbers = [] if item.function is None else [self._number(slot) for slot in item.function.parameters]
            described = {"name": signal.name, "gain": self._value(gain.index)}
            influences.append({**described, "function": function, "parameters": numbers})
        return {"influences": influences, "bounds": bounds}

    def _rule(self, rule: HdsoPlan) -> Data:
        values = self.values[rule.index]
        if values is None:
            return dict.fromkeys(("by_id", "by_name", "at_start"))
        return {
            "by_id": value_text(rule, values),
            "by_name": value_text(rule, values, self.names),
            "at_start": current_rule_text(self.plan, rule, self.values),
        }

    def _hdso(self, hdso: Hdso) -> Data:
        plan = self.plan.hdso(hdso.id_num)
        data: Data = {
            "id": hdso.id_num,
            "name": hdso.name,
            "kind": plan.kind,
            "fullname": _text(hdso.fullname),
            "description": _text(hdso.description),
            "datatype": hdso.datatype,
            "dims": list(hdso.dims),
            "unit": hdso.units or None,
            "value": plain_value(plan, self.values[plan.index], self.names),
            "ranges": {
                span.type: {"lower": span.lower, "upper": span.upper, "quantum": span.quantum}
                for span in (map(both_ways, hdso.ranges) if plan.index in self.pushing else hdso.ranges)
            },
            "used_by": self.uses.get(plan.index, []),
            **({"owner": plan.owner} if plan.owner else {}),
        }
        if plan.kind == "boolstring":
            data |= self._rule(plan)
        if isinstance(hdso, Signal):
            data |= self._signal(hdso)
        return data

    def _signal(self, signal: Signal) -> Data:
        added = next((item.added for item in self.plan.signals if item.name == signal.name), "")
        return {
            "signal": added or signal.type,
            **({} if signal.of is None else {"of": signal.of}),
            **({"shape": signal.shape} if signal.type == "decay" else {}),
            **({"counted": signal.counted} if signal.type == "switching" else {}),
            "per_sample": signal.per_sample,
            "inputs": [_named(self.model.hdso(ref)) for ref in signal.inputs],
            "signal_parameters": [self._value(self.plan.hdso(ref).index) for ref in signal.parameters],
            "parameter_names": [parameter.name for parameter in form_of(signal).parameters[: len(signal.parameters)]],
        }

    def _value(self, index: int) -> Data:
        hdso = self.plan.hdsos[index]
        return {
            "id": hdso.id_num,
            "name": hdso.name,
            "value": plain_value(hdso, self.values[index], self.names),
            "unit": hdso.units or None,
        }

    def _number(self, slot: Slot) -> int | float | None:
        values, hdso = self.values[slot.hdso], self.plan.hdsos[slot.hdso]
        return None if values is None else plain_number(values[slot.element], hdso.datatype)

    def _operand(self, slot: Slot) -> Data:
        named = _named(self.plan.hdsos[slot.hdso])
        return {**named, "name": f"{named['name']}@{seconds_text(slot.delay_us)}"} if slot.delay_us else named

    def _slot_hdsos(self, slots: Sequence[Slot]) -> list[Data]:
        return [_named(self.plan.hdsos[index]) for index in dict.fromkeys(slot.hdso for slot in slots)]


def _units(motor: Motor, plan: MotorPlan) -> Data:
    """Return what a motor says of its units besides its calibration."""
    return {
        "family": plan.family,
        "tick_deg": plan.tick_deg,
        "positions": list(plan.positions),
        "goals": list(plan.goals),
        "delta_torque_n_m": plan.delta_torque_n_m,
        "delta_ticks": plan.delta_ticks,
        "torque_table": motor.torque_table,
        "stiffness_n_m_deg": plan.stiffness_n_m_deg,
        "torque_limit_n_m": plan.torque_limit_n_m or None,
        "current_scale": plan.load_scale,
    }


def _formula(kind: str, numbers: Sequence[str], argument: str) -> str:
    if kind.startswith(ADDED):
        return f"{kind.removeprefix(ADDED)}({', '.join((argument, *numbers))})"
    if kind == "constant":
        return numbers[0]
    if kind == "linear":
        return f"{numbers[0]} {argument} {_signed(numbers[1])}"
    if kind == "parabolic":
        return f"({argument} {_signed(numbers[1], -1)})^2 / (4 x {numbers[0]}) {_signed(numbers[2])}"
    return f"{numbers[0]} / ({argument} {_signed(numbers[1], -1)}) {_signed(numbers[2])}"


def _signed(number: str, factor: int = 1) -> str:
    negative = number.startswith("-") != (factor < 0)
    return f"{'-' if negative else '+'} {number.lstrip('-')}"


def _named(item: _Named) -> Data:
    return {"id": item.id_num, "name": item.name}


def _text(text: str | None) -> str | None:
    return printable(" ".join((text or "").split())) or None
