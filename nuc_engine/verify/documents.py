"""A bout's documents, read into what the equations need (D 10.2; readings A to C)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_DOWN, Decimal
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from nuc_engine.verify.acting import OF_ACTIONS, ActionDescribed, ControlDescribed
from nuc_engine.verify.rules import RuleFault, code_of, tokens_of
from nuc_engine.verify.servos import Servo, Unverifiable, pick_servo
from nuc_engine.verify.signals import LIMITS, Described
from nuc_engine.verify.store import ENGINE_LEAST, ENGINE_MOST, INTEGERS, Cell, Hdso, Number, Store, Values

MOST_ELEMENTS = 65_536
"""Elements of one HDSO (docs/readings.md, limits)."""
_CUT = "\f"  # no character of XML: stands where a comment cut a text in two


def nanoseconds(seconds: str | Decimal) -> int:
    """Return whole nanoseconds; what is finer is cut off (reading C1)."""
    return int(Decimal(seconds).quantize(Decimal("1e-9"), rounding=ROUND_DOWN).scaleb(9))


def read_xml(path: Path) -> Element:
    """Return a document's root. Raises Unverifiable for what is no XML, or has entities of its own."""
    builder = TreeBuilder()
    parser = expat.ParserCreate()

    def entity(*_: object) -> None:
        raise Unverifiable(f"{path.name}: declares an entity; none is expanded here")

    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler = builder.data
    parser.CommentHandler = lambda _: builder.data(_CUT)
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(path.read_bytes(), True)
        return builder.close()
    except (OSError, ValueError, expat.ExpatError) as error:
        raise Unverifiable(f"{path.name}: cannot be read ({error})") from error


def words(text: str) -> list[str]:
    """Cut a list at white space, commas and comments (reading B17)."""
    return [word for word in re.split(r"[\s,]+", text) if word]


@dataclass(frozen=True, slots=True)
class Muscle:
    """One muscle of equations 6-5 and 6-6; each function is its type and its parameters.

    `lags` are the HDSOs of its activation's time constants, rising and falling; `nerve` that of its efferent delay.
    """

    name: str
    joint: int
    l0: float
    r: float
    alpha_deg: float
    fmax: float
    functions: Mapping[str, tuple[str, tuple[Cell, ...]]]
    lags: tuple[int | None, int | None] = (None, None)
    nerve: int | None = None


@dataclass(frozen=True, slots=True)
class Activation:
    """How a state drives one muscle (equations 7-1 to 7-4); its sensors with how many microseconds ago.

    Each of its influences is signal, gain and function; its bounds are two cells, or none for 0 and 1.
    """

    muscle: int
    function: str
    sensors: tuple[Cell, ...]
    parameters: tuple[Cell, ...]
    influences: tuple[tuple[int, int, tuple[str, tuple[Cell, ...]]], ...] = ()
    bounds: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """One action, with the HDSO of its entry rule.

    `central` is the HDSO of its central rule, `hold` that of how long sensory entries wait after an entry by it;
    `writes` are made on entering it.
    """

    number: int
    name: str
    rule: int
    dwell: int | None
    activations: tuple[Activation, ...]
    central: int | None = None
    hold: int | None = None
    writes: tuple[tuple[int, Values], ...] = ()


@dataclass(frozen=True, slots=True)
class Motor:
    """The servo of a joint that is driven, with its HDSOs."""

    name: str
    bus_id: str
    joint: int
    angle: int
    current: int
    position_command: int | None
    force_command: int | None
    turn: int
    servo: Servo


@dataclass(frozen=True, slots=True)
class Joint:
    """One action switching module; indices of muscles and states are those of the whole joint list (reading E3).

    `soft` are the HDSOs of its widths, by what is compared; None where it does not switch softly.
    """

    number: int
    name: str
    mode: str
    motor: int
    muscles: tuple[int, ...]
    states: tuple[int, ...]
    start: int
    amatrix: Values
    dh_line: Values
    soft: Mapping[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ModuleDescribed:
    """An action switching module without a motor; its states are behind those of all joints."""

    name: str
    states: tuple[int, ...]
    start: int


@dataclass(slots=True)
class Model:
    """A configuration. `initial` are the writes before the start, in their order (reading B13).

    `read` are the files it was read from; `states` those of all joints, then those of modules without a motor;
    `muscle_period` the HDSO of the period of muscles, None where they go with the rules.
    """

    hdsos: dict[int, Hdso]
    ids: dict[str, int]
    read: set[str] = field(default_factory=set[str])
    initial: list[tuple[int, Values]] = field(default_factory=list[tuple[int, Values]])
    joints: list[Joint] = field(default_factory=list[Joint])
    motors: list[Motor] = field(default_factory=list[Motor])
    muscles: list[Muscle] = field(default_factory=list[Muscle])
    states: list[State] = field(default_factory=list[State])
    signals: list[Described] = field(default_factory=list[Described])
    modules: list[ModuleDescribed] = field(default_factory=list[ModuleDescribed])
    of_actions: list[ActionDescribed] = field(default_factory=list[ActionDescribed])
    controls: list[ControlDescribed] = field(default_factory=list[ControlDescribed])
    muscle_period: int | None = None

    def number(self, ref: str) -> int:
        """Return the HDSO that a number or a name means."""
        return int(ref) if ref.isdigit() else self.ids[ref]

    def target(self, mod: Element) -> int:
        """Return the HDSO an hdsoMod or hdsoSpec means (readings C3, C4)."""
        return self.ids[mod.attrib["name"]] if mod.get("idByName") == "y" else int(mod.attrib["idNum"])

    def data(self, mod: Element) -> Values:
        """Return what an hdsoMod writes, nothing where it only names an HDSO (reading B17)."""
        hdso, text = self.hdsos[self.target(mod)], mod.text or ""
        if mod.attrib["NumElts"].strip() == "0":
            return ()
        datatype = mod.get("datatype", "float")
        if datatype != "char":
            return self.stored(hdso, [_number(word, datatype) for word in words(text)])
        text = text.replace(_CUT, "")
        return self.stored(hdso, text if len(text) == int(mod.attrib["NumElts"]) else text.strip(" \t\r\n"))

    def stored(self, hdso: Hdso, data: Sequence[Number] | str) -> Values:
        """Return data as a store takes it: a rule as its code, characters as bytes, whole numbers as integers."""
        if isinstance(data, str):
            return code_of(tokens_of(data, self.ids), hdso.width) if hdso.kind == "boolstring" else tuple(data.encode())
        whole = hdso.datatype in INTEGERS
        return tuple(int(v) if whole and not isinstance(v, int) and v.is_integer() else v for v in data)

    @property
    def columns(self) -> list[int]:
        """Return the HDSOs SensData.txt shows (reading E2)."""
        return [n for n, h in self.hdsos.items() if h.kind == "sensor" and h.datatype in ("float", "double")]


def _number(word: str, datatype: str) -> Number:
    return int(word) if datatype in INTEGERS else float(word)


def read_model(folder: Path, families: Mapping[str, str]) -> Model:
    """Return the configuration in a data directory, driven by servos of these families (by the name of their bus)."""
    try:
        return _Reader(folder, families).model
    except (KeyError, ValueError, IndexError, AttributeError, RuleFault) as error:
        raise Unverifiable(f"the configuration cannot be read: {type(error).__name__} {error}") from error


class _Reader:
    def __init__(self, folder: Path, families: Mapping[str, str]) -> None:
        self.folder, self.families = folder, families
        lists = [("parameter", read_xml(folder / "parameters.xml")), ("sensor", read_xml(folder / "sensors.xml"))]
        hdsos = [
            _hdso(item, home, kind)
            for kind, home in lists
            for item in home.iter()
            if item.tag in ("hdso", "signal", "control")
        ]
        self.model = Model({hdso.number: hdso for hdso in hdsos}, {hdso.name: hdso.number for hdso in hdsos})
        self.sensors = [int(item.attrib["idNum"]) for item in lists[1][1].iter("hdso")]
        root = read_xml(folder / "joints.xml")
        self.model.muscle_period = self._ref(root, "muscle_period")
        if self.model.muscle_period is not None:
            self._narrow(self.model.muscle_period, ENGINE_LEAST["statetrans_period_ns"], math.inf)
        self.all = list(root.iter("joint"))
        self.joints = root.findall("joint")  # an endpoint's joint is a place only (B24)
        self.modules = root.findall("module")
        self.state_ids = {int(state.attrib["idNum"]): k for k, state in enumerate(self._each("state"))}
        self.muscle_ids = {int(muscle.attrib["idNum"]): k for k, muscle in enumerate(self._each("muscle"))}
        self.driven = [pick_servo(joint, families, folder) for joint in self.joints]
        tables = [picked[0].get("torqueTable") for picked in self.driven if picked is not None]
        self.model.read |= {
            "joints.xml",
            "parameters.xml",
            "sensors.xml",
            *(Path(name).name for name in tables if name),
        }
        self._signals(lists[1][1])
        for command in root.iter("forceCommand"):
            self._push(self.model.target(command.findall("hdsoMod")[0]))
        for lag in root.iter("activation_dynamics"):
            for number in filter(None, (self._ref(lag, name) for name in ("rise", "fall"))):
                self._narrow(number, 0.0, math.inf)
        for number in filter(None, (self._ref(muscle, "efferent_delay") for muscle in root.iter("muscle"))):
            self._narrow(number, *LIMITS["delay"][0])
        for width in root.iterfind("joint/soft_switching/width"):
            self._narrow(self._refs(width, "hdso")[0], 0.0, math.inf)
        self._controls(lists[0][1])
        self._initial()
        for joint, picked in zip(self.joints, self.driven, strict=True):
            self._joint(joint, picked)
        self._modules()
        self._signals_of_actions(lists[1][1])

    def _signals(self, sensors: Element) -> None:
        model = self.model
        for item in sensors.iter("signal"):
            inputs = tuple(model.number(word) for word in words(item.get("inputs", "")))
            cells = tuple(self._cells([model.number(word)]) for word in words(item.get("parameters", "")))
            counts = item.get("per_sample", "n").strip() == "y"
            kind = item.attrib["type"].strip()
            if kind in OF_ACTIONS:
                limits = LIMITS.get(kind, ())
                for ((number, _), *_), (low, high) in zip(cells, limits, strict=False):
                    self._narrow(number, low, high)
                continue
            signal = Described(int(item.attrib["idNum"]), item.attrib["name"], kind, inputs, cells, counts)
            model.signals.append(signal)
            for ((number, _), *_), (low, high) in zip(cells, signal.limits, strict=False):
                self._narrow(number, low, high)

    def _narrow(self, number: int, low: float, high: float) -> None:
        hdso = self.model.hdsos[number]
        self.model.hdsos[number] = replace(hdso, valid=(max(hdso.valid[0], low), min(hdso.valid[1], high)))

    def _own(self, number: int) -> None:
        self.model.hdsos[number] = replace(self.model.hdsos[number], owned=True)

    def _controls(self, parameters: Element) -> None:
        for item in parameters.iter("control"):
            maps: list[tuple[Cell, tuple[float, ...]]] = []
            for line in item.findall("map"):
                number = self.model.number(line.attrib["hdso"].strip())
                self._own(number)
                points = tuple(float(word) for word in words((line.text or "").replace(_CUT, " ")))
                maps.append(((number, int(line.get("element", "0"))), points))
            self.model.controls.append(ControlDescribed(int(item.attrib["idNum"]), tuple(maps)))

    def _modules(self) -> None:
        model = self.model
        for module in self.modules:
            states = module.findall("state")
            first = len(model.states)
            numbers = [int(state.attrib["idNum"]) for state in states]
            start = numbers.index(int(module.get("start_state_idNum", numbers[0])))
            model.states += [self._state(state) for state in states]
            places = tuple(range(first, len(model.states)))
            model.modules.append(ModuleDescribed(module.attrib["name"], places, first + start))

    def _signals_of_actions(self, sensors: Element) -> None:
        model = self.model
        owners = {owner.name: (k, -1) for k, owner in enumerate((*model.joints, *model.modules))}
        for k, owner in enumerate((*model.joints, *model.modules)):
            owners |= {model.states[state].name: (k, state) for state in owner.states}
        for item in sensors.iter("signal"):
            if (kind := item.attrib["type"].strip()) not in OF_ACTIONS:
                continue
            switch, state = owners[item.attrib["of"]]
            rate = [model.number(word) for word in words(item.get("inputs", ""))]
            cells = self._cells([model.number(word) for word in words(item.get("parameters", ""))])
            model.of_actions.append(
                ActionDescribed(
                    number=int(item.attrib["idNum"]),
                    kind=kind,
                    switch=switch,
                    state=state,
                    shape=item.get("shape", "linear").strip(),
                    sensory=item.get("counted", "all").strip() == "sensory",
                    rate=rate[0] if rate else None,
                    parameters=cells,
                )
            )

    def _push(self, number: int) -> None:
        """Let the range of a force command limit its size, whatever its sign (reading B20)."""
        hdso = self.model.hdsos[number]
        if 0.0 <= hdso.valid[0] <= hdso.valid[1]:
            self.model.hdsos[number] = replace(hdso, valid=(-hdso.valid[1], hdso.valid[1]))

    def _each(self, tag: str) -> Iterator[Element]:
        return (element for joint in self.joints for element in joint.findall(tag))

    def _initial(self) -> None:
        """Collect what is written before the start: initial_data, texts of rules, the joint list's hdsoMods (B13)."""
        model = self.model
        for hdso in model.hdsos.values():
            if hdso.initial is not None:
                text = hdso.kind == "boolstring" or hdso.datatype == "char"
                data = hdso.initial if text else [_number(word, hdso.datatype) for word in words(hdso.initial)]
                model.initial.append((hdso.number, model.stored(hdso, data)))
        for rule in (rule for owner in (*self.all, *self.modules) for rule in owner.iter("transition_rule")):
            if "boolstring" in rule.attrib:
                hdso = model.hdsos[model.target(rule.findall("hdsoMod")[0])]
                model.initial.append((hdso.number, model.stored(hdso, rule.attrib["boolstring"])))
        chosen = [picked[0] for picked in self.driven if picked is not None]
        for joint in self.all:
            idle = [m for m in (*joint.findall("aimotor"), *joint.findall("motor")) if not any(m is c for c in chosen)]
            skipped = [id(mod) for motor in idle for mod in motor.iter("hdsoMod")]
            for mod in joint.iter("hdsoMod"):
                # Geometry may stand in the joint list alone (B11).
                if id(mod) not in skipped and model.target(mod) in model.hdsos and (data := model.data(mod)):
                    model.initial.append((model.target(mod), data))
        for module in self.modules:
            self._begin_module(module)
        self._follow()

    def _begin_module(self, module: Element) -> None:
        """Collect what a module writes before the start: the action of its start state is in force from then on."""
        states = module.findall("state")
        start = module.get("start_state_idNum", states[0].attrib["idNum"]).strip()
        for state in states:
            for mod in (*state.findall("dwell_time/hdsoMod"), *state.findall("transition_rule/hdsoMod")):
                if data := self.model.data(mod):
                    self.model.initial.append((self.model.target(mod), data))
        self.model.initial += [
            w for state in states if state.attrib["idNum"].strip() == start for w in self._writes(state)
        ]
        for number in {number for state in states for number, _ in self._writes(state)}:
            self._own(number)

    def _writes(self, state: Element) -> tuple[tuple[int, Values], ...]:
        model = self.model
        return tuple((model.target(mod), model.data(mod)) for mod in state.findall("action/hdsoMod"))

    def _follow(self) -> None:
        """Let what follows controls begin where these do."""
        held = Store(self.model.hdsos)
        for number, values in self.model.initial:
            held.write(number, values)
        before = {number: held.values(number) for number in held.given}
        for control in self.model.controls:
            control.lead(held)
        self.model.initial += [(n, held.values(n)) for n, values in before.items() if values != held.values(n)]

    def _joint(self, joint: Element, picked: tuple[Element, Servo] | None) -> None:
        model, index = self.model, len(self.model.joints)
        states = tuple(self.state_ids[int(state.attrib["idNum"])] for state in joint.findall("state"))
        muscles = tuple(self.muscle_ids[int(muscle.attrib["idNum"])] for muscle in joint.findall("muscle"))
        start = self.state_ids.get(int(joint.get("start_state_idNum", "-1")), -1)
        motor = -1
        if picked is not None:
            motor = len(model.motors)
            model.motors.append(self._motor(picked, index, motor))
        model.muscles += [self._muscle(muscle, index) for muscle in joint.findall("muscle")]
        model.states += [self._state(state) for state in joint.findall("state")]
        model.joints.append(
            Joint(
                int(joint.attrib["idNum"]),
                joint.attrib["name"],
                joint.get("control_mode", "muscle"),
                motor,
                muscles,
                states,
                start if start in states or not states else states[0],
                self._geometry(joint.find("geometry/amatrix/hdsoMod")),
                self._geometry(joint.find("geometry/DHline/hdsoMod")),
                self._soft(joint.find("soft_switching")),
            )
        )

    def _soft(self, soft: Element | None) -> Mapping[int, int] | None:
        if soft is None:
            return None
        return {self._refs(width, "of")[0]: self._refs(width, "hdso")[0] for width in soft.findall("width")}

    def _geometry(self, mod: Element | None) -> Values:
        if mod is None:
            return ()
        given = [float(word) for word in words(mod.text or "")]
        held = [values for number, values in self.model.initial if number == self.model.target(mod)]
        return tuple(given) or held[-1]

    def _motor(self, picked: tuple[Element, Servo], joint: int, index: int) -> Motor:
        element, servo = picked
        mods = [element.find(f"{name}/hdsoMod") for name in ("positionCommand", "forceCommand")]
        position, force = (None if mod is None else self.model.target(mod) for mod in mods)
        # Without a sensorspec the first 2 N sensors are angle and current of each motor (reading B12).
        named = [self.model.target(mod) for mod in element.findall("sensorspec/hdsoMod")]
        angle, current = named or self.sensors[2 * index : 2 * index + 2]
        turn = self.model.hdsos[angle].turn if servo.wraps else 0
        bus_id = element.attrib["serialID"].strip()
        return Motor(element.attrib["name"], bus_id, joint, angle, current, position, force, turn, servo)

    def _cells(self, refs: Sequence[int]) -> tuple[Cell, ...]:
        return tuple((number, k) for number in refs for k in range(self.model.hdsos[number].count))

    def _muscle(self, muscle: Element, joint: int) -> Muscle:
        l0, r, alpha, fmax = (float(muscle.attrib[name]) for name in ("Lnaught", "r", "alpha", "fmax"))
        functions = {
            spec.attrib["use"].strip(): (
                spec.attrib["type"].strip(),
                self._cells([self.model.target(mod) for mod in spec.findall("hdsoMod")]),
            )
            for spec in muscle.findall("function_spec")
        }
        lags = (self._ref(muscle.find("activation_dynamics"), name) for name in ("rise", "fall"))
        nerve = self._ref(muscle, "efferent_delay")
        return Muscle(muscle.attrib["name"], joint, l0, r, alpha, fmax, functions, (next(lags), next(lags)), nerve)

    def _ref(self, item: Element | None, name: str) -> int | None:
        ref = "" if item is None else item.get(name, "").strip()
        return self.model.number(ref) if ref else None

    def _state(self, state: Element) -> State:
        rule, dwell = state.find("transition_rule/hdsoMod"), state.find("dwell_time/hdsoMod")
        if rule is None:
            raise Unverifiable(f"state {state.get('name')} has no rule")
        number, central = self.model.target, state.find("central")
        return State(
            int(state.attrib["idNum"]),
            state.attrib["name"],
            number(rule),
            None if dwell is None else number(dwell),
            tuple(self._activation(item) for item in state.findall("muscle_activation")),
            self._ref(central, "rule"),
            self._ref(central, "hold"),
            self._writes(state),
        )

    def _activation(self, item: Element) -> Activation:
        model = self.model
        refs = self._refs(item, "activation_parameters")
        mods = [model.target(mod) for mod in item.findall("hdsoMod")]
        refs = refs or [number for number in mods if model.hdsos[number].kind != "sensor"]
        named = [word.partition("@") for word in words(item.get("activation_sensors", ""))]
        sensors = tuple((model.number(name), int(Decimal(late or 0).scaleb(6))) for name, _, late in named)
        muscle = self.muscle_ids[int(item.attrib["muscle"])]
        bounds = self._refs(item, "bounds")
        influences = tuple(
            (
                self._refs(each, "signal")[0],
                self._refs(each, "gain")[0],
                (each.get("function", "").strip(), self._cells(self._refs(each, "parameters"))),
            )
            for each in item.findall("influence")
        )
        kind = item.attrib["activation_function"].strip()
        return Activation(muscle, kind, sensors, self._cells(refs), influences, self._cells(bounds))

    def _refs(self, item: Element, name: str) -> list[int]:
        return [self.model.number(word) for word in words(item.get(name, ""))]


def _hdso(item: Element, home: Element, home_kind: str) -> Hdso:
    kinds = ("parameter", "sensor", "constant", "boolstring")
    of_list = {"parameterList": "parameter", "sensorList": "sensor"}.get(home.get("DataSetType", ""), home_kind)
    kind, name = item.get("abstractType", ""), item.attrib["name"]
    kind = "sensor" if item.tag == "signal" else kind if kind in kinds else of_list
    dims = [int(size.text or "1") for size in sorted(item.findall("dimsize"), key=lambda s: int(s.attrib["dimNr"]))]
    spans = [(span.get("type", "").strip(), _bounds(span)) for span in item.findall("range") if kind != "boolstring"]
    if item.tag == "control":
        ends = [float(word) for word in words(item.attrib["range"])]
        spans = [("valid", (ends[0], ends[1]))]
    low, high = dict(spans).get("valid", (-math.inf, math.inf))
    bottom, top = dict(spans).get("normal", (-math.inf, math.inf))
    wraps = int(item.get("overflowCorrection", "0")) and math.isfinite(top - bottom)
    if not 0 < math.prod(dims) <= MOST_ELEMENTS:
        raise Unverifiable(f"HDSO {name} has {math.prod(dims)} elements; at most {MOST_ELEMENTS} are read")
    initial = item.find("initial_data")
    text = item.get("initial", "") if initial is None else (initial.text or "").strip()
    return Hdso(
        number=int(item.attrib["idNum"]),
        name=name,
        kind=kind,
        datatype=item.get("datatype", "float" if item.tag == "hdso" else "double").strip(),
        count=math.prod(dims),
        width=dims[1] if len(dims) > 1 else 0,
        valid=(max(low, ENGINE_LEAST.get(name, low)), min(high, ENGINE_MOST.get(name, high))),
        invalid=tuple(b for t, b in spans if t == "invalid" and b != (-math.inf, math.inf)),
        turn=int(top - bottom) + 1 if wraps else 0,
        initial=text or None,
    )


def _bounds(span: Element) -> tuple[float, float]:
    found = {bound.get("type", "").strip(): float(bound.text) for bound in span.findall("bound") if bound.text}
    return found.get("lower", -math.inf), found.get("upper", math.inf)
