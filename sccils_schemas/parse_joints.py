"""Building joint lists from a checked tree."""

from __future__ import annotations

from typing import Any

from sccils_schemas.documents import (
    ActivationFunction,
    AiMotor,
    ControlMode,
    CurrentSign,
    FunctionSpec,
    FunctionType,
    FunctionUse,
    Geometry,
    Joint,
    JointList,
    Motor,
    Muscle,
    MuscleActivation,
    SenseOrgan,
    SensorSpec,
    State,
    TransitionRule,
)
from sccils_schemas.grammar import SPACE
from sccils_schemas.names import shorten
from sccils_schemas.reader import Reader
from sccils_schemas.xmlread import Node

USES: tuple[FunctionUse, ...] = ("passive_stiffness", "force-length", "force-velocity")
"""What a muscle's three functions are for (equation 6-5)."""

FUNCTION_TYPES: tuple[FunctionType, ...] = ("constant", "linear", "parabolic", "hyperbolic", "other")
ACTIVATIONS: tuple[ActivationFunction, ...] = ("constant", "linear", "bilinear")
SIGNS: tuple[CurrentSign, ...] = ("reading", "drive")
MODES: tuple[ControlMode, ...] = ("muscle", "position", "force", "none")


def build_jointlist(node: Node, reader: Reader, file: str) -> JointList:
    """Return a joint list; joints inside `endpoint` are marked as such."""
    joints: list[Joint] = []
    for child in node.children:
        if child.tag == "joint":
            joints.append(_joint(child, reader, endpoint=False))
        elif child.tag == "endpoint":
            joints += [_joint(inner, reader, endpoint=True) for inner in child.children]
    return JointList(
        joints=tuple(joints),
        name=reader.optional(node, "name"),
        fullname=reader.optional(node, "fullname"),
        description=reader.description(node),
        source=file,
    )


def _joint(node: Node, reader: Reader, *, endpoint: bool) -> Joint:
    motor = reader.child(node, "aimotor")
    return Joint(
        id_num=reader.id_num(node, least=1),
        name=node.attributes.get("name", ""),
        parent=reader.integer(node, "parent"),
        start_state=reader.integer(node, "start_state_idNum", -1),
        control_mode=reader.word(node, "control_mode", MODES),
        endpoint=endpoint,
        muscles=tuple(_muscle(child, reader) for child in reader.children(node, "muscle")),
        states=tuple(_state(child, reader) for child in reader.children(node, "state")),
        sense_organs=tuple(_sense_organ(child, reader) for child in reader.children(node, "sense_organ")),
        motor=None if motor is None else _motor(motor, reader),
        motors=tuple(_general_motor(child, reader) for child in reader.children(node, "motor")),
        geometry=_geometry(node, reader),
        plotstyle=reader.plotstyle(node),
        fullname=reader.optional(node, "fullname"),
        description=reader.description(node),
        line=node.line,
    )


def _muscle(node: Node, reader: Reader) -> Muscle:
    return Muscle(
        id_num=reader.id_num(node),
        name=node.attributes.get("name", ""),
        l_naught=reader.number(node, "Lnaught"),
        r=reader.number(node, "r"),
        alpha_deg=reader.number(node, "alpha"),
        fmax=reader.number(node, "fmax"),
        functions=_functions(node, reader),
        fullname=reader.optional(node, "fullname"),
        description=reader.description(node),
        line=node.line,
    )


def _functions(muscle: Node, reader: Reader) -> tuple[FunctionSpec, ...]:
    nodes = reader.children(muscle, "function_spec")
    given: list[FunctionUse | None] = [_use(node, reader) for node in nodes]
    # A bad use stands for one that is missing, so that it is not reported a second time as missing.
    missing: list[FunctionUse] = [use for use in USES if given.count(use) == 0]
    uses: list[FunctionUse] = [use or (missing.pop(0) if missing else "force-length") for use in given]
    return tuple(
        FunctionSpec(reader.word(node, "type", FUNCTION_TYPES), use, reader.mods(node), line=node.line)
        for node, use in zip(nodes, uses, strict=True)
    )


def _use(node: Node, reader: Reader) -> FunctionUse | None:
    given = node.attributes.get("use", "").strip(SPACE)
    known: dict[str, FunctionUse] = {use: use for use in USES}
    if given in known:
        return known[given]
    what = f"use='{shorten(given, 30)}' of <function_spec>" if given else "<function_spec> without a use"
    reader.attribute_error(node, "use", what, "one of " + ", ".join(USES), reader.guess(given, USES))
    return None


def _geometry(joint: Node, reader: Reader) -> Geometry:
    node = reader.child(joint, "geometry")
    if node is None:
        return Geometry()
    return Geometry(
        reader.only_mod(node, "amatrix"), reader.only_mod(node, "DHline"), reader.description(node), line=node.line
    )


def _state(node: Node, reader: Reader) -> State:
    rule = reader.child(node, "transition_rule")
    return State(
        id_num=reader.id_num(node),
        name=node.attributes.get("name", ""),
        activations=tuple(_activation(child, reader) for child in reader.children(node, "muscle_activation")),
        rule=TransitionRule(None, ()) if rule is None else _rule(rule, reader),
        dwell_time=reader.only_mod(node, "dwell_time"),
        fullname=reader.optional(node, "fullname"),
        description=reader.description(node),
        plotstyle=reader.plotstyle(node),
        line=node.line,
    )


def _activation(node: Node, reader: Reader) -> MuscleActivation:
    sensors = reader.refs(node, "activation_sensors")
    # Where the function is missing or bad the number of sensors tells which was meant.
    likely = ACTIVATIONS[min(len(sensors), len(ACTIVATIONS) - 1)]
    return MuscleActivation(
        muscle=reader.integer(node, "muscle", reader.stand_in()),
        function=reader.word(node, "activation_function", (likely, *ACTIVATIONS)),
        sensors=sensors,
        parameters=reader.refs(node, "activation_parameters"),
        mods=reader.mods(node),
        name=reader.optional(node, "name"),
        description=reader.description(node),
        line=node.line,
    )


def _rule(node: Node, reader: Reader) -> TransitionRule:
    return TransitionRule(
        boolstring=reader.optional(node, "boolstring"),
        mods=reader.mods(node),
        representation=reader.word(node, "representation_type", ("text", "HDSO")),
        description=reader.description(node),
        line=node.line,
    )


def _sense_organ(node: Node, reader: Reader) -> SenseOrgan:
    return SenseOrgan(
        id_num=reader.id_num(node),
        name=node.attributes.get("name", ""),
        mods=reader.mods(node),
        fullname=reader.optional(node, "fullname"),
        description=reader.description(node),
        line=node.line,
    )


def _motor(node: Node, reader: Reader) -> AiMotor:
    return AiMotor(**_servo(node, reader), modelnum=reader.optional(node, "modelnum"))


def _general_motor(node: Node, reader: Reader) -> Motor:
    return Motor(
        **_servo(node, reader),
        model=node.attributes.get("model", "").strip(SPACE),
        delta_torque_n_m=_quantity(node, "deltaTorque", reader),
        stiffness_n_m_deg=_quantity(node, "stiffness", reader),
        torque_limit_n_m=_quantity(node, "torqueLimit", reader),
        current_scale=_quantity(node, "currentScale", reader),
        current_per_speed=_quantity(node, "currentPerSpeed", reader),
        current_dead=_quantity(node, "currentDead", reader),
        current_sign=reader.word(node, "currentSign", SIGNS),
        position_min=_position(node, "positionMin", reader),
        position_max=_position(node, "positionMax", reader),
        torque_table=reader.optional(node, "torqueTable"),
        cycle_min_ms=_quantity(node, "cycleMin", reader),
    )


def _servo(node: Node, reader: Reader) -> dict[str, Any]:
    """Return what an `aimotor` and a `motor` have in common, as fields of `Servo`."""
    return {
        "id_num": reader.id_num(node),
        "name": node.attributes.get("name", ""),
        "serial_id": reader.integer(node, "serialID", reader.stand_in()),
        "dir": -1 if reader.word(node, "dir", ("1", "-1")) == "-1" else 1,
        "angle_cal1": reader.number(node, "angleCal1"),
        "angle_cal2": reader.number(node, "angleCal2"),
        "bus": reader.optional(node, "bus"),
        "sensorspecs": tuple(
            SensorSpec(reader.mods(child), reader.description(child), line=child.line)
            for child in reader.children(node, "sensorspec")
        ),
        "force_command": reader.only_mod(node, "forceCommand"),
        "position_command": reader.only_mod(node, "positionCommand"),
        "fullname": reader.optional(node, "fullname"),
        "description": reader.description(node),
        "line": node.line,
    }


def _quantity(node: Node, name: str, reader: Reader) -> float | None:
    """Return a number that may be left out; one that the grammar refused is as good as left out."""
    return reader.number(node, name) if name in node.attributes else None


def _position(node: Node, name: str, reader: Reader) -> int | None:
    return reader.integer(node, name) if name in node.attributes else None
