"""Every element and attribute of SCCILS, once: which field of which dataclass it is. Reading and writing go by this.

What may stand where, and what an attribute may hold, is for the grammars in `rng/`. A new element is a dataclass in
`documents`, an `Element` here, a definition in its grammar and in its DTD, and its name where it may stand; what
SCCILS 0.1 has not got says since when it is there.
"""

from __future__ import annotations

import math
from dataclasses import replace

from sccils_schemas import by_hand
from sccils_schemas import documents as doc
from sccils_schemas.lines import ElementLine, with_data, with_parts
from sccils_schemas.mapping import (
    Attribute,
    Children,
    Element,
    ElementPart,
    ElementToWrite,
    Fields,
    OneChild,
    TextChild,
    TextPart,
    WrittenBy,
    attributes,
    read,
    required,
    tag_of,
    write_element,
)
from sccils_schemas.names import counted, shorten
from sccils_schemas.numbers import SPACE, read_whole, split_words, write_number
from sccils_schemas.reader import MAX_HDSO_ELEMENTS, Reader
from sccils_schemas.rules import DEFAULT_WIDTH
from sccils_schemas.values import (
    COLOUR,
    FLAG,
    FORCE,
    LABEL,
    NUMBER,
    ONE_NUMBER,
    OPERANDS,
    POSITIVE,
    REF,
    REFS,
    SECONDS,
    SPAN,
    STRIPPED,
    TEXT,
    ValueKind,
    whole,
    words,
    write_data,
)
from sccils_schemas.xmlread import Node

__all__ = ["read", "tag_of", "write_element"]

MAX_DIMENSIONS = 8
"""Most dimensions of one HDSO."""
USES: tuple[doc.FunctionUse, ...] = ("passive_stiffness", "force-length", "force-velocity")
"""What a muscle's three functions are for (equation 6-5)."""
ACTIVATIONS: tuple[doc.ActivationFunction, ...] = ("constant", "linear", "bilinear")

DATATYPE = words(doc.DataType)
COUNT = whole(0, least=0)
NAME = Attribute("name", "name", LABEL)
FULLNAME = Attribute("fullname", "fullname", TEXT)
DESCRIPTION = TextChild("description", "description")
MODS = Children("mods", ("hdsoMod",))
ID = Attribute("idNum", "id_num", whole(smallest=0))
LABELS = (NAME, ID, FULLNAME)
VERSION = Attribute("version", "version", words(doc.Version))
TIME = Attribute("time", "time_s", SECONDS)
DURATION = Attribute("duration", "duration_s", SECONDS)


class _ReferenceElement(Element):
    """An element that means an HDSO, by number or by name."""

    def fields(self, reader: Reader, node: Node) -> Fields:
        """Report a reference by a name that is not there; it then means nothing else either."""
        if node.attributes.get("idByName", "").strip(SPACE) == "y" and not node.attributes.get("name"):
            what = f"idByName='y' of <{node.tag}> without a name"
            reader.attribute_error(node, "idByName", what, "the HDSO's name in the attribute name")
            node.attributes.pop("idNum", None)
        return super().fields(reader, node)


class _Mod(_ReferenceElement):
    """An hdsoMod; the number of its data is held against NumElts."""

    def fields(self, reader: Reader, node: Node) -> Fields:
        """Add the data and where they stand."""
        found = super().fields(reader, node)
        datatype, count = found["datatype"], found["num_elts"]
        as_text = datatype == "char" and count != 0
        data = _characters(reader, node, count) if as_text else _values(reader, node, datatype, count)
        line = with_data(node.line, node.line, data) if data else node.line
        return {**found, "num_elts": len(data), "data": data, "line": line}


class _Gradual(Element):
    """A gradual change, or a trigger, whose hdsoMods have no times of their own."""

    def fields(self, reader: Reader, node: Node) -> Fields:
        """Report times inside."""
        for child in node.children:
            if "time" in child.attributes:
                steps = "the times of its steps follow from time, duration and steps"
                hint = steps if node.tag == "gradual" else "it comes after the rule has held"
                reader.attribute_error(child, "time", f"an hdsoMod inside <{node.tag}> has a time", "no time", hint)
                del child.attributes["time"]
        return super().fields(reader, node)


class _Hdso(Element):
    """An hdso, the number of whose initial data is held against its dimensions."""

    def fields(self, reader: Reader, node: Node) -> Fields:
        """Add dimensions, initial data, and where they stand."""
        found = super().fields(reader, node)
        is_rule = found["abstract_type"] == "boolstring"
        dims, sound = _dims(reader, node)
        initial = next((child for child in node.children if child.tag == "initial_data"), None)
        data: tuple[int | float, ...] | str | None = None
        if initial is not None and (found["xmltype"] == "char" or is_rule):
            data = initial.text.strip(SPACE)
        elif initial is not None:
            data = reader.numbers(initial, found["datatype"], "initial_data")
            if data is not None and sound and len(data) != math.prod(dims):
                what = f"initial_data has {counted(len(data), 'value')}"
                reader.text_error(initial, what, f"{math.prod(dims)}, the product of the dimension sizes")
        if not sound:
            dims = (2, DEFAULT_WIDTH) if is_rule else (max(len(data or ""), 1),)
        line = node.line if initial is None else with_data(node.line, initial.line, data)
        return {**found, "dims": dims, "initial_data": data, "line": line}


class _MapElement(Element):
    """A map of a control, whose points are its text."""

    def fields(self, reader: Reader, node: Node) -> Fields:
        """Add the points."""
        points = reader.numbers(node, "double", "map")
        return {**super().fields(reader, node), "points": tuple(map(float, points or ()))}


class _Bounds(ElementPart):
    """The bounds of a range, and its quantum."""

    def read(self, reader: Reader, node: Node) -> Fields:
        """Return lower, upper and quantum, and where they stand."""
        found: dict[str, float] = {}
        lines: dict[str, ElementLine] = {}
        for child in node.children:
            side = child.attributes.get("type", "").strip(SPACE) if child.tag == "bound" else child.tag
            if side in found:
                reader.error(child, f"a second {side} bound in one range", "one upper and one lower bound")
            if child.text:
                found[side], lines[side] = reader.number_in(child, child.tag), child.line
        sides = {side: found.get(side) for side in ("lower", "upper", "quantum")}
        return {**sides, "line": with_parts(node.line, lines)}

    def write(self, document: doc.Range, out: ElementToWrite) -> None:
        """Add what there is of them."""
        for side, value in (("upper", document.upper), ("lower", document.lower)):
            if value is not None:
                out.children.append(ElementToWrite("bound", {"type": side}, text=write_number(value)))
        if document.quantum is not None:
            out.children.append(ElementToWrite("quantum", text=write_number(document.quantum)))


class _Functions(Children):
    """The functions of a muscle, which has one for each use."""

    def read(self, reader: Reader, node: Node) -> Fields:
        """Return the functions. A bad use stands for one that is missing, so that it is not reported as missing too."""
        functions = [child for child in node.children if child.tag in self.tags]
        given = [_use(reader, function) for function in functions]
        missing = [use for use in USES if use not in given]
        for function, use in zip(functions, given, strict=True):
            function.attributes["use"] = use or (missing.pop(0) if missing else "force-length")
        return super().read(reader, node)


class _Joints(ElementPart):
    """The joints of a list; those that stand inside an endpoint are the ends of its chain."""

    def read(self, reader: Reader, node: Node) -> Fields:
        """Return the joints."""
        found: list[doc.Joint] = []
        for child in node.children:
            if child.tag == "joint":
                found.append(read(reader, child))
            elif child.tag == "endpoint":
                found += [replace(read(reader, inner), endpoint=True) for inner in child.children]
        return {"joints": tuple(found)}

    def write(self, document: doc.JointList, out: ElementToWrite) -> None:
        """Add the joints."""
        for joint in document.joints:
            written = write_element(joint)
            out.children.append(ElementToWrite("endpoint", children=[written]) if joint.endpoint else written)


def _write_points(item: doc.ControlMap, out: ElementToWrite) -> None:
    out.text = write_data(item.points)


def _write_mod_data(mod: doc.HdsoMod, out: ElementToWrite) -> None:
    out.text = write_data(mod.data)


def _write_numdims(hdso: doc.Hdso, out: ElementToWrite) -> None:
    out.attributes["numdims"] = str(len(hdso.dims))


def _write_sizes(hdso: doc.Hdso, out: ElementToWrite) -> None:
    out.children += [
        ElementToWrite("dimsize", {"dimNr": str(at)}, text=str(size)) for at, size in enumerate(hdso.dims, 1)
    ]


def _write_initial_data(hdso: doc.Hdso, out: ElementToWrite) -> None:
    if hdso.initial_data is not None:
        out.children.append(ElementToWrite("initial_data", text=write_data(hdso.initial_data)))


def _characters(reader: Reader, node: Node, count: int) -> str:
    # White space around the text belongs to it only where NumElts counts it.
    text = node.text if len(node.text) == count else node.text.strip(SPACE)
    if count >= 0 and len(text) != count:
        hint = "NumElts of char data is the number of characters"
        what = f"hdsoMod has {counted(len(text), 'character')} but NumElts='{count}'"
        reader.attribute_error(node, "NumElts", what, counted(count, "character"), hint)
    return text


def _values(reader: Reader, node: Node, datatype: doc.DataType, count: int) -> tuple[int | float, ...]:
    if count == 0 and node.text.strip(SPACE):
        hint = "NumElts='0' only names an HDSO; set it to the number of values to write them"
        what = f"hdsoMod has data '{shorten(node.text.strip(SPACE), 30)}' but NumElts='0'"
        reader.text_error(node, what, "no data", hint)
        return ()
    values = reader.numbers(node, datatype, "hdsoMod")
    if values is not None and count >= 0 and len(values) != count:
        what = f"hdsoMod has {counted(len(values), 'value')} but NumElts='{count}'"
        reader.attribute_error(node, "NumElts", what, counted(count, "value"))
    return (values or ())[: count if count >= 0 else None]


def _dims(reader: Reader, node: Node) -> tuple[tuple[int, ...], bool]:
    """Return the sizes of an HDSO, and whether they are as the document means them, or stand in for bad ones."""
    sizes = [child for child in node.children if child.tag == "dimsize" and "dimNr" in child.attributes]
    numbered = {read_whole(child.attributes["dimNr"]): read_whole(child.text or "1") for child in sizes}
    wanted = read_whole(node.attributes.get("numdims") or str(len(sizes)))
    checked = [_check_size(reader, child) for child in sizes]
    sound = all(checked)
    if not 1 <= wanted <= MAX_DIMENSIONS:
        what = f"numdims='{shorten(node.attributes['numdims'].strip(), 30)}'"
        reader.attribute_error(node, "numdims", what, f"1 to {MAX_DIMENSIONS}", "a single value has numdims='1'")
    elif sorted(numbered) != list(range(1, wanted + 1)) or len(sizes) != len(numbered):
        have = shorten(", ".join(child.attributes["dimNr"] for child in sizes)) or "none"
        expected = f"one dimsize for each dimNr from 1 to {wanted}"
        reader.attribute_error(node, "numdims", f"numdims='{wanted}' but dimsize is given for {have}", expected)
    dims = tuple(numbered[number] for number in sorted(numbered)) or (1,)
    if sound and math.prod(dims) > MAX_HDSO_ELEMENTS:
        sound = False
        shown = " x ".join(map(str, dims))
        reader.error(node, f"{shown} is {math.prod(dims)} elements", f"at most {MAX_HDSO_ELEMENTS} in one HDSO")
    return (dims, True) if sound else ((1,), False)


def _check_size(reader: Reader, node: Node) -> bool:
    """Report a size of a dimension that none can have."""
    text = node.text.strip()
    size = read_whole(text or "1")
    if 1 <= size <= MAX_HDSO_ELEMENTS:
        return True
    expected = f"at most {MAX_HDSO_ELEMENTS} elements in one HDSO" if size else "1 or more"
    reader.text_error(node, f"a dimension of size {shorten(text, 30)}", expected)
    return False


def _use(reader: Reader, node: Node) -> str:
    given = node.attributes.get("use", "").strip(SPACE)
    if given in USES:
        return given
    what = f"use='{shorten(given, 30)}' of <function_spec>" if given else "<function_spec> without a use"
    reader.attribute_error(node, "use", what, "one of " + ", ".join(USES), reader.guess(given, USES))
    return ""


def _likely(_: Reader, node: Node) -> str:
    """Return the activation function that was probably meant: the number of sensors tells."""
    return ACTIVATIONS[min(len(split_words(node.attributes.get("activation_sensors", ""))), len(ACTIVATIONS) - 1)]


REFERENCE = (
    Attribute("idNum", "id_num", whole(smallest=-4)),
    Attribute("name", "name", LABEL),
    Attribute("idByName", "id_by_name", FLAG),
)
_Mod(
    "hdsoMod",
    doc.HdsoMod,
    *REFERENCE,
    required("NumElts", "num_elts", whole(-1, least=0)),
    Attribute("datatype", "datatype", DATATYPE),
    TIME,
    WrittenBy(_write_mod_data),
)
_ReferenceElement(
    "hdsoSpec",
    doc.HdsoSpec,
    *REFERENCE,
    Attribute("NumElts", "num_elts", COUNT),
    Attribute("datatype", "datatype", DATATYPE),
    TIME,
)
_Gradual("gradual", doc.Gradual, TIME, DURATION, Attribute("steps", "steps", whole(1, least=0)), MODS)

Element("kick", by_hand.KickEntry, TIME, Attribute("force", "force_n", FORCE), DURATION)
Element("ground", by_hand.GroundEntry, TIME, Attribute("present", "present", FLAG))
Element("height", by_hand.HeightEntry, TIME, Attribute("cm", "cm", NUMBER))
Element("load", by_hand.LoadEntry, TIME, Attribute("newton", "newton", NUMBER), DURATION)
Element("disconnect", by_hand.DisconnectEntry, TIME, Attribute("joint", "joint", TEXT), DURATION)
Element("reconnect", by_hand.ReconnectEntry, TIME, DURATION)
Element(
    "sense",
    doc.SenseClamp,
    TIME,
    Attribute("sensor", "sensor", REF),
    Attribute("mode", "mode", words(doc.SenseMode)),
    Attribute("value", "value", NUMBER),
    since="0.2",
)
_Gradual(
    "when",
    doc.When,
    Attribute("rule", "rule", TEXT),
    Attribute("holds", "holds_s", SECONDS),
    Attribute("after", "after_s", SECONDS),
    Attribute("from", "time_s", SECONDS),
    Attribute("until", "until_s", SECONDS),
    Attribute("times", "times", COUNT),
    Attribute("refractory", "refractory_s", SECONDS),
    MODS,
    since="0.2",
)
ENTRIES = (
    "hdsoMod",
    "hdsoSpec",
    "gradual",
    "sense",
    "when",
    "kick",
    "ground",
    "height",
    "load",
    "disconnect",
    "reconnect",
)
Element(
    "hdsoscript",
    doc.HdsoScript,
    NAME,
    FULLNAME,
    VERSION,
    Attribute("ScriptType", "script_type", TEXT),
    DESCRIPTION,
    Children("entries", ENTRIES),
)

_Hdso(
    "hdso",
    doc.Hdso,
    ID,
    NAME,
    FULLNAME,
    *attributes(TEXT, abstractType="abstract_type", units="units"),
    Attribute("datatype", "datatype", DATATYPE),
    Attribute("xmltype", "xmltype", DATATYPE),
    WrittenBy(_write_numdims),
    Attribute("overflowCorrection", "overflow_correction", whole(0)),
    DESCRIPTION,
    WrittenBy(_write_sizes),
    Children("ranges", ("range",)),
    WrittenBy(_write_initial_data),
)
Element(
    "signal",
    doc.Signal,
    ID,
    NAME,
    FULLNAME,
    Attribute("type", "type", words(doc.SignalType)),
    *attributes(REFS, inputs="inputs", parameters="parameters"),
    Attribute("per_sample", "per_sample", FLAG),
    Attribute("units", "units", TEXT),
    Attribute("datatype", "datatype", DATATYPE),
    Attribute("of", "of", LABEL),
    Attribute("shape", "shape", words(doc.DecayShape)),
    Attribute("counted", "counted", words(doc.Counted)),
    DESCRIPTION,
    since="0.2",
)
Element(
    "control",
    doc.Control,
    ID,
    NAME,
    FULLNAME,
    Attribute("units", "units", TEXT),
    required("range", "ranges", SPAN),
    Attribute("initial", "initial_data", ONE_NUMBER),
    DESCRIPTION,
    Children("maps", ("map",)),
    since="0.2",
)
_MapElement(
    "map",
    doc.ControlMap,
    Attribute("hdso", "hdso", REF),
    Attribute("element", "element", whole(0, least=0)),
    WrittenBy(_write_points),
    since="0.2",
)
Element("range", doc.Range, Attribute("type", "type", words(doc.RangeType)), _Bounds())
Element(
    "hdsolist",
    doc.HdsoList,
    NAME,
    FULLNAME,
    VERSION,
    Attribute("DataSetType", "data_set_type", TEXT),
    DESCRIPTION,
    Children("hdsos", ("hdso", "signal", "control")),
)

Element(
    "jointlist",
    doc.JointList,
    NAME,
    FULLNAME,
    VERSION,
    Attribute("scale", "scale", POSITIVE, since="0.2"),
    Attribute("muscle_period", "muscle_period", REF, since="0.2"),
    DESCRIPTION,
    _Joints(),
    Children("modules", ("module",)),
)
Element(
    "module",
    doc.UpperModule,
    *LABELS,
    Attribute("start_state_idNum", "start_state", whole()),
    DESCRIPTION,
    Children("states", ("state",)),
    since="0.2",
)
Element(
    "joint",
    doc.Joint,
    NAME,
    Attribute("idNum", "id_num", whole(smallest=1)),
    FULLNAME,
    Attribute("parent", "parent", whole(0)),
    Attribute("start_state_idNum", "start_state", whole(-1)),
    Attribute("control_mode", "control_mode", words(doc.ControlMode)),
    DESCRIPTION,
    OneChild("plotstyle", "plotstyle"),
    Children("muscles", ("muscle",)),
    OneChild("geometry", "geometry"),
    Children("states", ("state",)),
    OneChild("soft", "soft_switching"),
    Children("sense_organs", ("sense_organ",)),
    OneChild("motor", "aimotor"),
    Children("motors", ("motor",)),
)
Element(
    "plotstyle", doc.PlotStyle, Attribute("linespec", "linespec", TEXT), Attribute("colorspec", "colorspec", COLOUR)
)
Element(
    "muscle",
    doc.Muscle,
    *LABELS,
    *attributes(NUMBER, Lnaught="l_naught", r="r", alpha="alpha_deg", fmax="fmax"),
    Attribute("efferent_delay", "efferent_delay", REF, since="0.2"),
    DESCRIPTION,
    _Functions("functions", ("function_spec",)),
    OneChild("dynamics", "activation_dynamics"),
)
Element("activation_dynamics", doc.ActivationDynamics, *attributes(REF, rise="rise", fall="fall"), since="0.2")
Element(
    "function_spec",
    doc.FunctionSpec,
    Attribute("type", "type", words(doc.FunctionType)),
    Attribute("use", "use", TEXT, default=None),
    MODS,
)
Element(
    "geometry",
    doc.Geometry,
    DESCRIPTION,
    OneChild("amatrix", "hdsoMod", holder="amatrix"),
    OneChild("dh_line", "hdsoMod", holder="DHline"),
)
Element(
    "state",
    doc.State,
    *LABELS,
    DESCRIPTION,
    OneChild("plotstyle", "plotstyle"),
    OneChild("dwell_time", "hdsoMod", holder="dwell_time"),
    Children("activations", ("muscle_activation",)),
    OneChild("action", "action"),
    OneChild("rule", "transition_rule", stand_in=doc.TransitionRule(None, ())),
    OneChild("central", "central"),
)
Element("soft_switching", doc.SoftSwitching, Children("widths", ("width",)), since="0.2")
Element("width", doc.SwitchingWidth, *attributes(REF, of="of", hdso="hdso"), since="0.2")
Element("action", doc.Action, DESCRIPTION, MODS, since="0.2")
Element("central", doc.Central, *attributes(REF, rule="rule", hold="hold"), DESCRIPTION, since="0.2")
Element(
    "muscle_activation",
    doc.MuscleActivation,
    NAME,
    Attribute("muscle", "muscle", whole()),
    Attribute("activation_function", "function", ValueKind(STRIPPED.read, str, _likely)),
    Attribute("activation_sensors", "sensors", OPERANDS),
    Attribute("activation_parameters", "parameters", REFS),
    Attribute("bounds", "bounds", REFS, since="0.2"),
    DESCRIPTION,
    MODS,
    Children("influences", ("influence",)),
)
Element(
    "influence",
    doc.Influence,
    *attributes(REF, signal="signal", gain="gain"),
    Attribute("function", "function", words(doc.InfluenceFunction)),
    Attribute("parameters", "parameters", REFS),
    since="0.2",
)
Element(
    "transition_rule",
    doc.TransitionRule,
    Attribute("representation_type", "representation", words(doc.Representation), always=True),
    Attribute("boolstring", "boolstring", TEXT, default=None),
    DESCRIPTION,
    MODS,
)
Element("sense_organ", doc.SenseOrgan, *LABELS, DESCRIPTION, MODS)

WIRING = (
    Attribute("serialID", "serial_id", whole()),
    Attribute("dir", "dir", words(doc.Direction, of=int)),
    *attributes(NUMBER, angleCal1="angle_cal1", angleCal2="angle_cal2"),
)
BUS = Attribute("bus", "bus", TEXT)
OF_MOTORS = (
    DESCRIPTION,
    Children("sensorspecs", ("sensorspec",)),
    OneChild("force_command", "hdsoMod", holder="forceCommand"),
    OneChild("position_command", "hdsoMod", holder="positionCommand"),
)
Element("aimotor", doc.AiMotor, *LABELS, *WIRING, Attribute("modelnum", "modelnum", TEXT), BUS, *OF_MOTORS)
Element(
    "motor",
    doc.Motor,
    *LABELS,
    Attribute("model", "model", STRIPPED),
    *WIRING,
    BUS,
    *attributes(
        NUMBER,
        deltaTorque="delta_torque_n_m",
        stiffness="stiffness_n_m_deg",
        torqueLimit="torque_limit_n_m",
        currentScale="current_scale",
        currentPerSpeed="current_per_speed",
        currentDead="current_dead",
    ),
    Attribute("currentSign", "current_sign", words(doc.CurrentSign)),
    Attribute("positionMin", "position_min", whole(0)),
    Attribute("positionMax", "position_max", whole(0)),
    Attribute("torqueTable", "torque_table", TEXT),
    Attribute("cycleMin", "cycle_min_ms", NUMBER),
    *OF_MOTORS,
)
Element("sensorspec", doc.SensorSpec, DESCRIPTION, MODS)

Element(
    "sccils_commandscript",
    doc.CommandScript,
    Attribute("ScriptType", "script_type", TEXT),
    VERSION,
    Children("entries", ("sccils_command", "sccils_command_response", "sccils_config_command")),
)
Element(
    "sccils_command",
    doc.Command,
    Attribute("commandtype", "command_type", words(doc.CommandType, "stop")),
    Attribute("extendedcommand", "extended_command", TEXT),
    Attribute("starttime", "start_time_s", SECONDS),
    Attribute("stoptime", "stop_time_s", SECONDS),
    Attribute("data_destination", "data_destination", words(doc.Destination)),
    OneChild("script", "hdsoscript", more=("a second <hdsoscript> in one command", "at most one", "send two commands")),
    TextPart(),
)
Element(
    "sccils_command_response",
    doc.CommandResponse,
    Attribute("responsetype", "response_type", words(doc.ResponseType)),
    Attribute("responsestatus", "status", words(doc.Status, "other")),
    Attribute("responsetime", "response_time", TEXT),
    OneChild("command", "sccils_command", more=("a second <sccils_command> in one response", "at most one")),
    TextPart(),
)
Element(
    "sccils_config_command",
    doc.ConfigCommand,
    Attribute("configtype", "config_type", words(doc.ConfigType)),
    Attribute("configname", "config_name", TEXT),
    TextChild("sccils_config_parameter", "parameters", several=True),
    TextPart(),
)
