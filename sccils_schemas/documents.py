"""Typed, frozen SCCILS documents: what the four document kinds say, free of any engine.

Every class mirrors one element of SCCILS 0.1 (dissertation appendix 10.2, section 2). Attributes keep the
field's names in snake case. `line` is where the element starts in its file; it is not part of equality, so
`parse(write(document)) == document` can be tested. References to HDSOs are `Ref`: an id number, or a name
(the addition of section 9.5.2.3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from sccils_schemas.by_hand import PlantEntry

Ref = int | str


@dataclass(frozen=True, slots=True)
class Delayed:
    """An operand as it was so long ago: `TC1_current@0.03` (since 0.2)."""

    ref: Ref
    delay_us: int

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"{self.ref}@{seconds_text(self.delay_us)}"


Operand = Ref | Delayed


def ref_of(operand: Operand) -> Ref:
    """Return the HDSO that an operand reads, now or before."""
    return operand.ref if isinstance(operand, Delayed) else operand


def seconds_text(microseconds: int) -> str:
    """Return a delay as it is written: in seconds, with as many decimals as it takes."""
    whole, rest = divmod(microseconds, 1_000_000)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")


DataType = Literal["float", "double", "int", "lint", "llint", "char", "uchar"]
Version = Literal["0.1", "0.2"]
ControlMode = Literal["position", "force", "muscle", "none"]
ActivationFunction = Literal["constant", "linear", "bilinear"]
FunctionType = Literal["constant", "linear", "parabolic", "hyperbolic", "other"]
InfluenceFunction = Literal["constant", "linear", "rectified", "parabolic", "hyperbolic"]
FunctionUse = Literal["passive_stiffness", "force-length", "force-velocity"]
CurrentSign = Literal["reading", "drive"]
SignalType = Literal[
    "sum",
    "product",
    "gain",
    "threshold",
    "abs",
    "min",
    "max",
    "derivative",
    "integral",
    "lowpass",
    "highpass",
    "iir",
    "ratelimit",
    "noise",
    "delay",
    "table",
    "rawload",
    "other",
    "state",
    "action",
    "time_in_action",
    "decay",
    "switching",
    "weight",
]
DecayShape = Literal["linear", "exponential", "power"]
Counted = Literal["all", "sensory"]
SenseMode = Literal["off", "hold", "value"]
RangeType = Literal["suggested", "valid", "normal", "invalid"]
Representation = Literal["text", "HDSO"]
Direction = Literal[1, -1]
CommandType = Literal["run", "stop", "log", "stoplog", "extended"]
Destination = Literal["local", "network"]
Status = Literal["success", "fail", "conditional", "other"]
ResponseType = Literal["ack_only", "withdata"]
ConfigType = Literal["available", "start", "parameter"]

HDSO_ALL, HDSO_NONE, HDSO_BLANK, HDSO_INVALID = -1, -2, -3, -4
"""Special id numbers (hdso.dtd comment): every HDSO, none, initialised but unused, explicitly invalid."""


def _line() -> int:
    return field(default=0, compare=False, repr=False, kw_only=True)


class _Referring:
    """What hdsoMod and hdsoSpec have in common."""

    __slots__ = ()
    id_num: int
    name: str | None
    id_by_name: bool

    @property
    def ref(self) -> Ref:
        """The HDSO this element means: its name where `idByName` says so, else its id."""
        return self.name if self.id_by_name and self.name is not None else self.id_num


@dataclass(frozen=True, slots=True)
class HdsoMod(_Referring):
    """`hdsoMod`: a write of HDSO data, optionally timed; with no elements, a reference.

    `data` holds numbers in row-major order, or one string when `datatype` is `char`. `time_s` is seconds since
    engine start.
    """

    id_num: int
    num_elts: int = 0
    data: tuple[int | float, ...] | str = ()
    name: str | None = None
    id_by_name: bool = False
    datatype: DataType = "float"
    time_s: Decimal = Decimal(0)
    line: int = _line()


@dataclass(frozen=True, slots=True)
class HdsoSpec(_Referring):
    """`hdsoSpec`: a request for HDSO data. `num_elts` 0 asks for every element; id -1 for every HDSO."""

    id_num: int
    num_elts: int = 0
    name: str | None = None
    id_by_name: bool = False
    datatype: DataType = "float"
    time_s: Decimal = Decimal(0)
    line: int = _line()


@dataclass(frozen=True, slots=True)
class Gradual:
    """`gradual`: values reached in `steps` equal steps, the k-th at time + duration * k / steps, from those in force.

    The writes have no times of their own. Not in SCCILS 0.1, as are the entries of
    `sccils_schemas.by_hand`.
    """

    time_s: Decimal
    duration_s: Decimal
    steps: int
    mods: tuple[HdsoMod, ...]
    line: int = _line()


@dataclass(frozen=True, slots=True)
class SenseClamp:
    """`sense`: what is sensed of a sensor from now on: a value, what is sensed now, or what is measured (since 0.2)."""

    time_s: Decimal
    sensor: Ref
    mode: SenseMode
    value: float | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class When:
    """`when`: writes that are made once a rule has been true for a while (since 0.2).

    The rule counts from `time_s` to `until_s`. The writes come `after_s` later; so many times, 0 for as often as it is,
    the next time not before `refractory_s` have passed since it was found true.
    """

    rule: str
    mods: tuple[HdsoMod, ...]
    holds_s: Decimal = Decimal(0)
    after_s: Decimal = Decimal(0)
    time_s: Decimal = Decimal(0)
    until_s: Decimal | None = None
    times: int = 1
    refractory_s: Decimal = Decimal(0)
    line: int = _line()


ScriptEntry = HdsoMod | HdsoSpec | Gradual | SenseClamp | When | PlantEntry


@dataclass(frozen=True, slots=True)
class Range:
    """`range`: bounds (inclusive) and quantum of an HDSO's elements. `valid` is enforced, `suggested` is for people."""

    type: RangeType
    lower: float | None = None
    upper: float | None = None
    quantum: float | None = None
    line: int = _line()

    @property
    def bounded(self) -> bool:
        """Whether there is a bound at all."""
        return self.lower is not None or self.upper is not None


@dataclass(frozen=True, slots=True)
class Hdso:
    """`hdso`: a typed, dimensioned, named, numbered value.

    `initial_data` is numbers in row-major order, or one string when `xmltype` is `char`, or None when the file
    gives none. `abstract_type` is None when the file leaves it to the list's `DataSetType`.
    """

    id_num: int
    name: str
    dims: tuple[int, ...]
    fullname: str | None = None
    description: str | None = None
    abstract_type: str | None = None
    units: str | None = None
    datatype: DataType = "float"
    xmltype: DataType = "float"
    overflow_correction: int = 0
    ranges: tuple[Range, ...] = ()
    initial_data: tuple[int | float, ...] | str | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class Signal(Hdso):
    """`signal`: a sensor HDSO that the engine computes, from `inputs` by a block of this type (section 9.2.2.8).

    `inputs` are sensors, other signals, parameters or constants; `parameters` are read whenever it is computed, so that
    they can change in flight. `per_sample`: the block counts samples instead of the time between them. `of` is the
    state, joint or module that the last five types are about, `shape` how a decay falls, `counted` what counts.
    """

    dims: tuple[int, ...] = (1,)
    abstract_type: str | None = "sensor"
    datatype: DataType = "double"
    type: SignalType = field(kw_only=True)
    inputs: tuple[Ref, ...] = field(default=(), kw_only=True)
    parameters: tuple[Ref, ...] = field(default=(), kw_only=True)
    per_sample: bool = field(default=False, kw_only=True)
    of: str | None = field(default=None, kw_only=True)
    shape: DecayShape = field(default="linear", kw_only=True)
    counted: Counted = field(default="all", kw_only=True)


@dataclass(frozen=True, slots=True)
class ControlMap:
    """`map`: what an element of an HDSO is at points of a control's range, and on straight lines between them."""

    hdso: Ref
    points: tuple[float, ...]
    element: int = 0
    line: int = _line()


@dataclass(frozen=True, slots=True)
class Control(Hdso):
    """`control`: a parameter HDSO that other values follow (section 9.5.2.6); its one range is what is valid."""

    dims: tuple[int, ...] = (1,)
    abstract_type: str | None = "parameter"
    datatype: DataType = "double"
    maps: tuple[ControlMap, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, slots=True)
class HdsoList:
    """`hdsolist`: parameters.xml or sensors.xml."""

    hdsos: tuple[Hdso, ...]
    name: str | None = None
    fullname: str | None = None
    description: str | None = None
    data_set_type: str | None = None
    version: Version = "0.1"
    source: str = field(default="", compare=False)
    line: int = _line()


@dataclass(frozen=True, slots=True)
class PlotStyle:
    """`plotstyle`: MATLAB-style line specification, and an (r, g, b) colour in 0..1."""

    linespec: str | None = None
    colorspec: tuple[float, float, float] | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """`function_spec`: a generic function of one argument; `mods` name (and may initialise) its parameter HDSOs."""

    type: FunctionType
    use: FunctionUse
    mods: tuple[HdsoMod, ...]
    line: int = _line()


@dataclass(frozen=True, slots=True)
class ActivationDynamics:
    """`activation_dynamics`: seconds in which a muscle's activation follows, rising and falling (D 9.2.2.9)."""

    rise: Ref | None = None
    fall: Ref | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class Muscle:
    """`muscle`: resting length `l_naught`, pulley radius `r`, rest angle `alpha_deg`, `fmax` (eq. 6-5, 6-6).

    `efferent_delay` is how many seconds an activation takes to it (D 9.2.4).
    """

    id_num: int
    name: str
    l_naught: float
    r: float
    alpha_deg: float
    fmax: float
    functions: tuple[FunctionSpec, ...]
    dynamics: ActivationDynamics | None = None
    efferent_delay: Ref | None = None
    fullname: str | None = None
    description: str | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class Influence:
    """`influence`: gain x f(signal), added to an activation; f is the signal itself where none is named."""

    signal: Ref
    gain: Ref
    function: InfluenceFunction | None = None
    parameters: tuple[Ref, ...] = ()
    line: int = _line()


@dataclass(frozen=True, slots=True)
class MuscleActivation:
    """`muscle_activation`: how one state drives one muscle. `bounds` limit what its influences make of it."""

    muscle: int
    function: ActivationFunction
    sensors: tuple[Operand, ...] = ()
    parameters: tuple[Ref, ...] = ()
    mods: tuple[HdsoMod, ...] = ()
    influences: tuple[Influence, ...] = ()
    bounds: tuple[Ref, ...] = ()
    name: str | None = None
    description: str | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class TransitionRule:
    """`transition_rule`: entry rule of its state; `mods[0]` names the boolstring HDSO, others initialise operands."""

    boolstring: str | None
    mods: tuple[HdsoMod, ...]
    representation: Representation = "text"
    description: str | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class Action:
    """`action`: what a module without a motor writes to values of other modules when it enters a state."""

    mods: tuple[HdsoMod, ...]
    description: str | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class Central:
    """`central`: entry without a sensory event, by a rule's HDSO; sensory entries then wait for `hold`."""

    rule: Ref
    hold: Ref | None = None
    description: str | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class State:
    """`state`: one action of a module. `action` is what a module without a motor does on entering it."""

    id_num: int
    name: str
    activations: tuple[MuscleActivation, ...]
    rule: TransitionRule
    dwell_time: HdsoMod | None = None
    action: Action | None = None
    central: Central | None = None
    fullname: str | None = None
    description: str | None = None
    plotstyle: PlotStyle | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class SenseOrgan:
    """`sense_organ`: a biological sense organ and the sensor HDSOs that stand for it."""

    id_num: int
    name: str
    mods: tuple[HdsoMod, ...] = ()
    fullname: str | None = None
    description: str | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class SensorSpec:
    """`sensorspec`: sensors of a motor; all of a motor together name its angle, then its current (reading B12)."""

    mods: tuple[HdsoMod, ...] = ()
    description: str | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class Servo:
    """What all motors say: raw = angle_cal1 + angle_cal2 * angle_deg, sign of torque, bus (not in SCCILS 0.1)."""

    id_num: int
    name: str
    serial_id: int
    dir: Direction
    angle_cal1: float
    angle_cal2: float
    bus: str | None = None
    sensorspecs: tuple[SensorSpec, ...] = ()
    force_command: HdsoMod | None = None
    position_command: HdsoMod | None = None
    fullname: str | None = None
    description: str | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class AiMotor(Servo):
    """`aimotor`: a servo of the AI series, by the number of its model."""

    modelnum: str | None = None


@dataclass(frozen=True, slots=True)
class Motor(Servo):
    """`motor`: a servo of any family, by its model. An addition to SCCILS 0.1, of the kind section 9.7 asks for.

    Raw positions are the model's own. docs/servos.md says what each attribute means, and what is meant without it.
    """

    model: str = field(kw_only=True)
    delta_torque_n_m: float | None = None
    stiffness_n_m_deg: float | None = None
    torque_limit_n_m: float | None = None
    current_scale: float | None = None
    current_per_speed: float | None = None
    current_dead: float | None = None
    current_sign: CurrentSign = "reading"
    position_min: int | None = None
    position_max: int | None = None
    torque_table: str | None = None
    cycle_min_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Geometry:
    """`geometry`: `amatrix` (4 x 4, stands before the joint's own rotation) and `dh_line` (a, d, alpha, scale)."""

    amatrix: HdsoMod | None = None
    dh_line: HdsoMod | None = None
    description: str | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class SwitchingWidth:
    """`width`: over how much, by this HDSO, comparisons with `of` go from false to true."""

    of: Ref
    hdso: Ref
    line: int = _line()


@dataclass(frozen=True, slots=True)
class SoftSwitching:
    """`soft_switching`: the actions of a joint are blended by how true their entry rules are (D 4.2.2.2)."""

    widths: tuple[SwitchingWidth, ...] = ()
    line: int = _line()


@dataclass(frozen=True, slots=True)
class Joint:
    """`joint`: one action switching module, or, inside `endpoint`, the end of the chain.

    `motor` is its `aimotor`; `motors` are the same joint on servos of other families, one of each at most.
    """

    id_num: int
    name: str
    parent: int
    start_state: int = -1
    control_mode: ControlMode = "muscle"
    endpoint: bool = False
    muscles: tuple[Muscle, ...] = ()
    states: tuple[State, ...] = ()
    soft: SoftSwitching | None = None
    sense_organs: tuple[SenseOrgan, ...] = ()
    motor: AiMotor | None = None
    motors: tuple[Motor, ...] = ()
    geometry: Geometry = Geometry()
    plotstyle: PlotStyle | None = None
    fullname: str | None = None
    description: str | None = None
    line: int = _line()

    @property
    def servos(self) -> tuple[Servo, ...]:
        """All of its motors: a bus drives the one that is of its family."""
        return self.motors if self.motor is None else (self.motor, *self.motors)


@dataclass(frozen=True, slots=True)
class UpperModule:
    """`module`: an action switching module without joint and motor; its states write values of others (D 9.6.7)."""

    id_num: int
    name: str
    start_state: int
    states: tuple[State, ...] = ()
    fullname: str | None = None
    description: str | None = None
    line: int = _line()


@dataclass(frozen=True, slots=True)
class JointList:
    """`jointlist`: the model, a chain of joints. Nested joint lists are refused with a clear message.

    `muscle_period` is the period in which muscles are computed; without it they are whenever rules are (D 9.2.4).
    `scale` is how many times as large as the animal the leg is (since 0.2, section 9.2.2.5).
    """

    joints: tuple[Joint, ...]
    modules: tuple[UpperModule, ...] = ()
    muscle_period: Ref | None = None
    name: str | None = None
    fullname: str | None = None
    description: str | None = None
    version: Version = "0.1"
    scale: float | None = None
    source: str = field(default="", compare=False)
    line: int = _line()


@dataclass(frozen=True, slots=True)
class HdsoScript:
    """`hdsoscript`: a timed list of writes (and requests) of HDSO data, in document order.

    In between stands what changes gradually, and what is done to the leg by hand.
    """

    entries: tuple[ScriptEntry, ...]
    name: str | None = None
    fullname: str | None = None
    script_type: str | None = None
    description: str | None = None
    version: Version = "0.1"
    source: str = field(default="", compare=False)
    line: int = _line()


@dataclass(frozen=True, slots=True)
class Command:
    """`sccils_command`: run, stop, log, stoplog or an extended command. Times in seconds; negative stop = none."""

    command_type: CommandType
    extended_command: str | None = None
    start_time_s: Decimal = Decimal(0)
    stop_time_s: Decimal = Decimal(-1)
    data_destination: Destination = "network"
    script: HdsoScript | None = None
    text: str = ""
    line: int = _line()


@dataclass(frozen=True, slots=True)
class CommandResponse:
    """`sccils_command_response`: acknowledgement; encloses the command it answers when there is one."""

    status: Status
    response_type: ResponseType = "ack_only"
    response_time: str | None = None
    command: Command | None = None
    text: str = ""
    line: int = _line()


@dataclass(frozen=True, slots=True)
class ConfigCommand:
    """`sccils_config_command`: which configuration is offered, chosen or described; `parameters` are its children."""

    config_type: ConfigType
    config_name: str
    parameters: tuple[str, ...] = ()
    text: str = ""
    line: int = _line()


@dataclass(frozen=True, slots=True)
class CommandScript:
    """`sccils_commandscript`: commands and responses in document order."""

    entries: tuple[Command | CommandResponse | ConfigCommand, ...]
    script_type: str | None = None
    version: Version = "0.1"
    source: str = field(default="", compare=False)


Document = JointList | HdsoList | HdsoScript | CommandScript
