"""Values in force as documents: a configuration, or an hdsoscript, that give the same store back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from nuc_engine.model.motors import is_driven
from nuc_engine.model.plan import HdsoPlan, Plan
from nuc_engine.model.store import refusal
from nuc_engine.model.values import Values, plain_number, rule_tokens
from nuc_engine.service.configuration import Configuration
from nuc_engine.service.edits import Recorded
from sccils_schemas.documents import DataType, Hdso, HdsoList, HdsoMod, HdsoScript, Servo, TransitionRule
from sccils_schemas.model import MODEL_FILES
from sccils_schemas.rules import format_tokens
from sccils_schemas.writer import write

Held = Mapping[int, Values]
"""Elements of each HDSO that has a value, by index in the plan."""


def out_of_reach(plan: Plan, configuration: Configuration | None) -> dict[int, str]:
    """Return the HDSOs whose writing serves nothing, by index, each with the reason.

    Geometry is read once; commands are written by the engine, all but that of the joint's own control mode (B20);
    what a control or a module writes has no other writer.
    """
    reasons = {hdso.index: reason for hdso in plan.hdsos if hdso.owner and (reason := refusal(hdso, ()))}
    if configuration is not None:
        indices = {ref: hdso.index for hdso in plan.hdsos for ref in (hdso.id_num, hdso.name)}
        for joint in configuration.model.jointlist.joints:
            for mod in (joint.geometry.amatrix, joint.geometry.dh_line):
                if mod is not None and mod.ref in indices:
                    reasons[indices[mod.ref]] = "geometry is read when a configuration is loaded"
    for motor in plan.motors:
        joint = plan.joints[motor.joint]
        for mode, index in (("position", motor.position_command), ("force", motor.force_command)):
            if index >= 0 and joint.control_mode != mode:
                reasons[index] = f"the engine writes it while {joint.name} is not in {mode} mode"
    return reasons


def configuration_files(configuration: Configuration, held: Held, description: str | None = None) -> dict[str, bytes]:
    """Return the three documents with the values in force as initial data.

    What the joint list itself initialises is brought up to date too, since it comes after the initial data (B13).
    Sensors keep what their documents say: the engine measures them anew. Raises SccilsError.
    """
    plan, model = configuration.plan, configuration.model
    by_ref = {ref: hdso for hdso in plan.hdsos for ref in (hdso.id_num, hdso.name)}
    # What the joints' other motors would be sent to is in units of their own.
    servos = [servo for joint in model.jointlist.joints for servo in joint.servos]
    others = [servo for servo in servos if not any(is_driven(servo, motor) for motor in plan.motors)]
    joints = _renew(model.jointlist, by_ref, held, others)
    if description is not None:
        joints = dataclasses.replace(joints, description=description)
    documents = (joints, _renew_list(model.parameters, by_ref, held), _renew_list(model.sensors, by_ref, held))
    return {file: write(document) for file, document in zip(MODEL_FILES, documents, strict=True)}


def store_script(configuration: Configuration, held: Held, name: str, description: str | None = None) -> bytes:
    """Return an hdsoscript that writes every value in force at time 0, as far as scripts may. Raises SccilsError."""
    plan = configuration.plan
    closed = out_of_reach(plan, configuration)
    writable = [hdso for hdso in plan.hdsos if hdso.kind in ("parameter", "boolstring") and hdso.index not in closed]
    # Rules last: they may use numbers that have no value before.
    ordered = sorted(writable, key=lambda hdso: hdso.kind == "boolstring")
    entries = [mod_of(hdso, held[hdso.index], 0) for hdso in ordered if hdso.index in held]
    return write(HdsoScript(tuple(entries), name=name, description=description))


def recorded_script(plan: Plan, recorded: Sequence[Recorded], name: str, description: str | None = None) -> bytes:
    """Return a recording as a timed hdsoscript. Raises SccilsError."""
    merged: dict[tuple[int, int], Values] = {}
    for entry in recorded:
        before = merged.get((entry.time_ns, entry.hdso), ())
        merged[entry.time_ns, entry.hdso] = entry.values + before[len(entry.values) :]
    entries = [mod_of(plan.hdsos[index], values, time_ns) for (time_ns, index), values in merged.items()]
    entries.sort(key=lambda mod: mod.time_s)
    return write(HdsoScript(tuple(entries), name=name, description=description))


def mod_of(hdso: HdsoPlan, values: Values, time_ns: int) -> HdsoMod:
    """Return the hdsoMod that writes these elements."""
    data, datatype = _data(hdso, values, whole=False)
    return HdsoMod(
        id_num=hdso.id_num,
        num_elts=len(data),
        data=data,
        name=hdso.name,
        datatype=datatype,
        time_s=seconds(time_ns),
    )


def seconds(time_ns: int) -> Decimal:
    """Return nanoseconds as seconds, exactly."""
    whole, rest = divmod(time_ns, 1_000_000_000)
    return Decimal(f"{whole}.{rest:09d}".rstrip("0").rstrip("."))


def _data(hdso: HdsoPlan, values: Values, *, whole: bool) -> tuple[tuple[int | float, ...] | str, DataType]:
    """Return elements as a document says them: rules and readable characters as text.

    `whole`: zeros at the end may be left out, because what is written to is empty.
    """
    if hdso.kind == "boolstring" and len(values) == hdso.count:
        return format_tokens(rule_tokens(hdso, values)), "char"
    if hdso.datatype == "char":
        text = _text(values, whole=whole)
        return (text, "char") if text is not None else (values, "uchar")
    return tuple(plain_number(value, hdso.datatype) for value in values), cast(DataType, hdso.datatype)


def _text(values: Values, *, whole: bool) -> str | None:
    data = bytes(int(value) for value in values)
    if whole:
        data = data.rstrip(b"\0")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    # What a document's reader would strip or refuse is written as numbers.
    return text if text and text == text.strip() and text.isascii() and text.isprintable() else None


def _renew_list(hdsos: HdsoList, by_ref: Mapping[int | str, HdsoPlan], held: Held) -> HdsoList:
    return dataclasses.replace(hdsos, hdsos=tuple(_renew_hdso(hdso, by_ref, held) for hdso in hdsos.hdsos))


def _renew_hdso(hdso: Hdso, by_ref: Mapping[int | str, HdsoPlan], held: Held) -> Hdso:
    plan = by_ref[hdso.id_num]
    values = held.get(plan.index)
    if values is None or plan.kind == "sensor":
        return hdso
    data, datatype = _data(plan, values, whole=True)
    xmltype = hdso.xmltype
    if hdso.datatype == "char" and plan.kind != "boolstring":
        xmltype = datatype
    return dataclasses.replace(hdso, initial_data=data, xmltype=xmltype)


def _renew(element: Any, by_ref: Mapping[int | str, HdsoPlan], held: Held, others: Sequence[Servo]) -> Any:
    """Return an element of a joint list with every hdsoMod that carries data brought up to date, but in `others`."""
    if any(element is other for other in others):
        return element
    if isinstance(element, HdsoMod):
        return _renew_mod(element, by_ref, held)
    if isinstance(element, tuple):
        items = cast(Iterable[Any], element)
        return tuple(_renew(item, by_ref, held, others) for item in items)
    if not dataclasses.is_dataclass(element) or isinstance(element, type):
        return element
    changed = {
        field.name: new
        for field in dataclasses.fields(element)
        if (new := _renew(old := getattr(element, field.name), by_ref, held, others)) is not old
    }
    if isinstance(element, TransitionRule) and element.boolstring is not None:
        rule = by_ref[element.mods[0].ref]
        if rule.index in held:
            changed["boolstring"] = format_tokens(rule_tokens(rule, held[rule.index]))
    return dataclasses.replace(element, **changed) if changed else element


def _renew_mod(mod: HdsoMod, by_ref: Mapping[int | str, HdsoPlan], held: Held) -> HdsoMod:
    hdso = by_ref.get(mod.ref)
    if hdso is None or not mod.data or hdso.kind == "sensor" or hdso.index not in held:
        return mod
    values = held[hdso.index]
    if hdso.kind != "boolstring" and not isinstance(mod.data, str):
        values = values[: len(mod.data)]
    data, datatype = _data(hdso, values, whole=False)
    return dataclasses.replace(mod, data=data, num_elts=len(data), datatype=datatype)
