"""From typed documents to bytes: UTF-8, a DOCTYPE, two spaces per level, the same bytes for the same document.

`parse(write(document))` gives the document back. Numbers are written in their shortest exact form.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from sccils_schemas.by_hand import (
    DisconnectEntry,
    GroundEntry,
    HeightEntry,
    KickEntry,
    LoadEntry,
    PlantEntry,
    ReconnectEntry,
)
from sccils_schemas.documents import (
    Command,
    CommandResponse,
    CommandScript,
    ConfigCommand,
    Document,
    FunctionSpec,
    Geometry,
    Gradual,
    Hdso,
    HdsoList,
    HdsoMod,
    HdsoScript,
    HdsoSpec,
    Joint,
    JointList,
    Muscle,
    MuscleActivation,
    PlotStyle,
    Range,
    Ref,
    ScriptEntry,
    SenseOrgan,
    Servo,
    State,
    TransitionRule,
)
from sccils_schemas.names import shorten
from sccils_schemas.numbers import write_number
from sccils_schemas.problems import SccilsError
from sccils_schemas.servos import attributes_of, tag_of
from sccils_schemas.xmlread import DTD_OF_ROOT

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)

Value = str | int | float | Decimal | bool | None


@dataclass(slots=True)
class _Element:
    """An element to be written: attributes that are None are left out; `text` keeps children on the same line."""

    tag: str
    attributes: Mapping[str, Value] = field(default_factory=dict[str, Value])
    children: Sequence[_Element | None] = ()
    text: str = ""


def write(document: Document) -> bytes:
    """Return a document as bytes. Raises SccilsError for values XML can not hold: control characters, infinities."""
    match document:
        case JointList():
            root = _jointlist(document)
        case HdsoList():
            root = _hdsolist(document)
        case HdsoScript():
            root = _hdsoscript(document)
        case CommandScript():
            root = _commandscript(document)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<!DOCTYPE {root.tag} SYSTEM "{DTD_OF_ROOT[root.tag]}">']
    _lay_out(root, 0, lines)
    return ("\n".join(lines) + "\n").encode()


def _lay_out(element: _Element, depth: int, lines: list[str]) -> None:
    indent = "  " * depth
    given = ((name, value) for name, value in element.attributes.items() if value is not None)
    attributes = "".join(f' {name}="{_value(value).translate(_IN_ATTRIBUTE)}"' for name, value in given)
    children = [child for child in element.children if child is not None]
    text = _legal(element.text).translate(_IN_TEXT)
    if not children:
        end = f">{text}</{element.tag}>" if text else "/>"
        lines.append(f"{indent}<{element.tag}{attributes}{end}")
        return
    lines.append(f"{indent}<{element.tag}{attributes}>{text}")
    for child in children:
        _lay_out(child, depth + 1, lines)
    lines.append(f"{indent}</{element.tag}>")


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "y" if value else "n"
    if isinstance(value, int | float):
        return _number(value)
    return _legal(str(value))


def _number(value: int | float) -> str:
    try:
        return write_number(value)
    except ValueError as error:
        raise SccilsError(str(error)) from error


def _legal(text: str) -> str:
    wrong = _ILLEGAL.search(text)
    if wrong:
        raise SccilsError(f"{wrong.group()!r} in '{shorten(text, 30)}' can not stand in XML")
    return text


def _data(data: Sequence[int | float] | str) -> str:
    return data if isinstance(data, str) else " ".join(_number(value) for value in data)


def _unless(value: Value, default: Value) -> Value:
    """Return a value, or None, which leaves the attribute out, where it is the default."""
    return None if value == default else value


def _description(text: str | None) -> _Element | None:
    return None if text is None else _Element("description", text=text)


def _mod(mod: HdsoMod) -> _Element:
    attributes: dict[str, Value] = {
        "idNum": mod.id_num,
        "name": mod.name,
        "idByName": _unless(mod.id_by_name, False),
        "NumElts": mod.num_elts,
        "datatype": _unless(mod.datatype, "float"),
        "time": _unless(mod.time_s, Decimal(0)),
    }
    return _Element("hdsoMod", attributes, text=_data(mod.data))


def _spec(spec: HdsoSpec) -> _Element:
    attributes: dict[str, Value] = {
        "idNum": spec.id_num,
        "name": spec.name,
        "idByName": _unless(spec.id_by_name, False),
        "NumElts": _unless(spec.num_elts, 0),
        "datatype": _unless(spec.datatype, "float"),
        "time": _unless(spec.time_s, Decimal(0)),
    }
    return _Element("hdsoSpec", attributes)


def _holder(tag: str, mod: HdsoMod | None) -> _Element | None:
    return None if mod is None else _Element(tag, children=(_mod(mod),))


def _hdsoscript(script: HdsoScript) -> _Element:
    entries = [_script_entry(entry) for entry in script.entries]
    attributes: dict[str, Value] = {
        "name": script.name,
        "fullname": script.fullname,
        "ScriptType": script.script_type,
    }
    return _Element("hdsoscript", attributes, (_description(script.description), *entries))


def write_entry(entry: ScriptEntry) -> str:
    """Return one entry of a script as a line of XML. Raises SccilsError for values XML can not hold."""
    lines: list[str] = []
    _lay_out(_script_entry(entry), 0, lines)
    return "".join(lines)


def _script_entry(entry: ScriptEntry) -> _Element:
    if isinstance(entry, HdsoMod):
        return _mod(entry)
    if isinstance(entry, HdsoSpec):
        return _spec(entry)
    if isinstance(entry, Gradual):
        times: dict[str, Value] = {"time": entry.time_s, "duration": entry.duration_s, "steps": entry.steps}
        return _Element("gradual", times, [_mod(mod) for mod in entry.mods])
    return _by_hand(entry)


def _by_hand(entry: PlantEntry) -> _Element:
    more: Mapping[str, Value]
    match entry:
        case KickEntry():
            tag, more = "kick", {"force": None if entry.force_n is None else _data(entry.force_n)}
        case GroundEntry():
            tag, more = "ground", {"present": entry.present}
        case HeightEntry():
            tag, more = "height", {"cm": entry.cm}
        case LoadEntry():
            tag, more = "load", {"newton": entry.newton}
        case DisconnectEntry():
            tag, more = "disconnect", {"joint": entry.joint}
        case ReconnectEntry():
            tag, more = "reconnect", {}
    duration = None if isinstance(entry, GroundEntry | HeightEntry) else entry.duration_s
    return _Element(tag, {"time": entry.time_s, **more, "duration": duration})


def _commandscript(script: CommandScript) -> _Element:
    return _Element(
        "sccils_commandscript", {"ScriptType": script.script_type}, [_entry(entry) for entry in script.entries]
    )


def _entry(entry: Command | CommandResponse | ConfigCommand) -> _Element:
    match entry:
        case Command():
            return _command(entry)
        case CommandResponse():
            attributes: dict[str, Value] = {
                "responsetype": _unless(entry.response_type, "ack_only"),
                "responsestatus": entry.status,
                "responsetime": entry.response_time,
            }
            inner = () if entry.command is None else (_command(entry.command),)
            return _Element("sccils_command_response", attributes, inner, entry.text)
        case ConfigCommand():
            parameters = [_Element("sccils_config_parameter", text=value) for value in entry.parameters]
            names: dict[str, Value] = {"configtype": entry.config_type, "configname": entry.config_name}
            return _Element("sccils_config_command", names, parameters, entry.text)


def _command(command: Command) -> _Element:
    attributes: dict[str, Value] = {
        "commandtype": command.command_type,
        "extendedcommand": command.extended_command,
        "starttime": _unless(command.start_time_s, Decimal(0)),
        "stoptime": _unless(command.stop_time_s, Decimal(-1)),
        "data_destination": _unless(command.data_destination, "network"),
    }
    script = () if command.script is None else (_hdsoscript(command.script),)
    return _Element("sccils_command", attributes, script, command.text)


def _hdsolist(hdsos: HdsoList) -> _Element:
    attributes: dict[str, Value] = {
        "name": hdsos.name,
        "fullname": hdsos.fullname,
        "DataSetType": hdsos.data_set_type,
    }
    return _Element("hdsolist", attributes, (_description(hdsos.description), *[_hdso(hdso) for hdso in hdsos.hdsos]))


def _hdso(hdso: Hdso) -> _Element:
    attributes: dict[str, Value] = {
        "idNum": hdso.id_num,
        "name": hdso.name,
        "fullname": hdso.fullname,
        "abstractType": hdso.abstract_type,
        "units": hdso.units,
        "datatype": _unless(hdso.datatype, "float"),
        "xmltype": _unless(hdso.xmltype, "float"),
        "numdims": len(hdso.dims),
        "overflowCorrection": _unless(hdso.overflow_correction, 0),
    }
    sizes = [_Element("dimsize", {"dimNr": at}, text=str(size)) for at, size in enumerate(hdso.dims, 1)]
    data = None if hdso.initial_data is None else _Element("initial_data", text=_data(hdso.initial_data))
    return _Element("hdso", attributes, (_description(hdso.description), *sizes, *map(_range, hdso.ranges), data))


def _range(span: Range) -> _Element:
    bounds = (("upper", span.upper), ("lower", span.lower))
    children = [_Element("bound", {"type": side}, text=_number(value)) for side, value in bounds if value is not None]
    if span.quantum is not None:
        children.append(_Element("quantum", text=_number(span.quantum)))
    return _Element("range", {"type": span.type}, children)


def _jointlist(jointlist: JointList) -> _Element:
    joints = [_Element("endpoint", children=(_joint(j),)) if j.endpoint else _joint(j) for j in jointlist.joints]
    attributes: dict[str, Value] = {"name": jointlist.name, "fullname": jointlist.fullname}
    return _Element("jointlist", attributes, (_description(jointlist.description), *joints))


def _labels(element: Joint | Muscle | State | SenseOrgan | Servo) -> dict[str, Value]:
    return {"name": element.name, "idNum": element.id_num, "fullname": element.fullname}


def _joint(joint: Joint) -> _Element:
    attributes = _labels(joint) | {
        "parent": joint.parent,
        "start_state_idNum": _unless(joint.start_state, -1),
        "control_mode": _unless(joint.control_mode, "muscle"),
    }
    children = (
        _description(joint.description),
        _plotstyle(joint.plotstyle),
        *map(_muscle, joint.muscles),
        _geometry(joint.geometry),
        *map(_state, joint.states),
        *map(_sense_organ, joint.sense_organs),
        *map(_motor, joint.servos),
    )
    return _Element("joint", attributes, children)


def _plotstyle(style: PlotStyle | None) -> _Element | None:
    if style is None:
        return None
    colour = None if style.colorspec is None else _data(style.colorspec)
    return _Element("plotstyle", {"linespec": style.linespec, "colorspec": colour})


def _muscle(muscle: Muscle) -> _Element:
    attributes = _labels(muscle) | {
        "Lnaught": muscle.l_naught,
        "r": muscle.r,
        "alpha": muscle.alpha_deg,
        "fmax": muscle.fmax,
    }
    return _Element("muscle", attributes, (_description(muscle.description), *map(_function, muscle.functions)))


def _function(spec: FunctionSpec) -> _Element:
    return _Element("function_spec", {"type": spec.type, "use": spec.use}, [_mod(mod) for mod in spec.mods])


def _geometry(geometry: Geometry) -> _Element:
    children = (
        _description(geometry.description),
        _holder("amatrix", geometry.amatrix),
        _holder("DHline", geometry.dh_line),
    )
    return _Element("geometry", children=children)


def _state(state: State) -> _Element:
    children = (
        _description(state.description),
        _plotstyle(state.plotstyle),
        _holder("dwell_time", state.dwell_time),
        *map(_activation, state.activations),
        _rule(state.rule),
    )
    return _Element("state", _labels(state), children)


def _activation(activation: MuscleActivation) -> _Element:
    attributes: dict[str, Value] = {
        "name": activation.name,
        "muscle": activation.muscle,
        "activation_function": activation.function,
        "activation_sensors": _refs(activation.sensors),
        "activation_parameters": _refs(activation.parameters),
    }
    children = (_description(activation.description), *map(_mod, activation.mods))
    return _Element("muscle_activation", attributes, children)


def _refs(refs: Sequence[Ref]) -> str | None:
    return " ".join(str(ref) for ref in refs) if refs else None


def _rule(rule: TransitionRule) -> _Element:
    attributes: dict[str, Value] = {"representation_type": rule.representation, "boolstring": rule.boolstring}
    return _Element("transition_rule", attributes, (_description(rule.description), *map(_mod, rule.mods)))


def _sense_organ(organ: SenseOrgan) -> _Element:
    return _Element("sense_organ", _labels(organ), (_description(organ.description), *map(_mod, organ.mods)))


def _motor(motor: Servo) -> _Element:
    specs = [
        _Element("sensorspec", children=(_description(spec.description), *map(_mod, spec.mods)))
        for spec in motor.sensorspecs
    ]
    children = (
        _description(motor.description),
        *specs,
        _holder("forceCommand", motor.force_command),
        _holder("positionCommand", motor.position_command),
    )
    return _Element(tag_of(motor), _labels(motor) | attributes_of(motor), children)
