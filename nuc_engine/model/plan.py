"""The plan: everything the executive needs of a model, as plain tables without documents.

A plan is frozen, picklable and small; it is built once from a checked model (`nuc_engine.model.planning`) and handed to
the executive, in the same process or another. All cross references are indices into the plan's own tuples; a `Slot`
is one element of one HDSO.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

HdsoKind = Literal["parameter", "sensor", "constant", "boolstring"]


class PlanError(Exception):
    """A model the engine cannot run, or not on the buses it is to run on; the message says why.

    `line` is where that stands in joints.xml, 0 where it stands at no one place.
    """

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Slot:
    """One element (row-major) of one HDSO: `plan.hdsos[hdso]`, element `element`; of an operand, so long ago."""

    hdso: int
    element: int = 0
    delay_us: int = 0


@dataclass(frozen=True, slots=True)
class HdsoPlan:
    """One HDSO of the store: where it lies and what may be written to it.

    `offset` is bytes from the start of the data area, `count` the number of elements (row-major). `valid` bounds are
    inclusive and always enforced; `invalid` intervals are excluded (reading B15). `normal` bounds are raw units and
    serve overflow correction only. `owner` says which control or module writes it, so that nobody else does.
    """

    index: int
    id_num: int
    name: str
    kind: HdsoKind
    datatype: str
    dims: tuple[int, ...]
    offset: int
    count: int
    units: str = ""
    valid: tuple[float | None, float | None] = (None, None)
    invalid: tuple[tuple[float | None, float | None], ...] = ()
    normal: tuple[float | None, float | None] = (None, None)
    owner: str = ""


@dataclass(frozen=True, slots=True)
class MotorPlan:
    """One servo: raw = cal1 + cal2 * angle_deg; `dir` turns servo deltas into raw direction (readings B16, B19).

    `family` and `model` say what it is; `tick_deg` is a raw position in degrees of its shaft, `positions` what it can
    report (lowest, highest), `goals` what it may be sent to. `stiffness_n_m_deg` and `torque_limit_n_m` are what the
    servo itself is set to, 0 for leaving it.

    A unit of muscle output is `delta_torque_n_m` at the shaft and `delta_ticks` raw ticks of goal minus position; where
    `torque_table` is not empty, it says instead how many ticks (first) give which torque in N m (second), rising.

    A count of the load reading, in `load_range`, is `load_scale` units of the current sensor; a reading whose range has
    no negatives has no direction. `load_per_deg_s` is taken off it for every deg/s that the shaft turns;
    `load_with_drive` makes it a magnitude with the sign of the drive, less `load_dead`, as an AI motor's is. It is
    filtered once a sample, or, where `sample_ns` is not 0, as if samples came at that interval; or by the `filter` of
    that name, which was added to the engine.

    Exchanges with all servos do not begin sooner than `cycle_min_ns` after the last ones began.
    """

    index: int
    id_num: int
    name: str
    bus_id: int
    model: str
    dir: int
    cal1: float
    cal2: float
    joint: int
    angle: int
    current: int
    position_command: int = -1
    force_command: int = -1
    overflow_correction: bool = False
    bus: str = ""
    family: str = "aimotor"
    tick_deg: float = 0.654
    positions: tuple[int, int] = (0, 254)
    goals: tuple[int, int] = (0, 254)
    delta_torque_n_m: float = 0.0
    delta_ticks: float = 1.0
    torque_table: tuple[tuple[float, float], ...] = ()
    load_range: tuple[int, int] = (0, 254)
    load_scale: float = 1.0
    load_per_deg_s: float = 0.0
    load_dead: float = 0.0
    load_with_drive: bool = False
    sample_ns: int = 0
    stiffness_n_m_deg: float = 0.0
    torque_limit_n_m: float = 0.0
    cycle_min_ns: int = 0
    filter: str = ""


@dataclass(frozen=True, slots=True)
class FunctionPlan:
    """A generic function (utility.c): its type and the slots of its parameters, in the order the equations use."""

    type: str
    parameters: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class DynamicsPlan:
    """The slots of the time constants, in seconds, with which an activation rises and falls; None: at once."""

    rise: Slot | None
    fall: Slot | None


@dataclass(frozen=True, slots=True)
class MusclePlan:
    """One muscle of eq. 6-5 and 6-6: `l0`, `r`, `alpha_deg`, `fmax` as printed; three functions.

    With `dynamics` its activation follows what states and influences ask for; `efferent_delay` is the slot of the
    seconds that this takes to it.
    """

    index: int
    id_num: int
    name: str
    joint: int
    l0: float
    r: float
    alpha_deg: float
    fmax: float
    passive_stiffness: FunctionPlan
    force_length: FunctionPlan
    force_velocity: FunctionPlan
    dynamics: DynamicsPlan | None = None
    efferent_delay: Slot | None = None


@dataclass(frozen=True, slots=True)
class InfluencePlan:
    """What a signal adds to an activation: gain x f(signal), or gain x signal without a function (section 9.3.1)."""

    signal: Slot
    gain: Slot
    function: FunctionPlan | None


@dataclass(frozen=True, slots=True)
class ActivationPlan:
    """How a state drives one muscle: function, sensor HDSO indices, parameter slots (eq. 7-1 to 7-4).

    `influences` are added to it, up to `bounds`: two slots, or none for 0 and 1.
    """

    muscle: int
    function: str
    sensors: tuple[Slot, ...]
    parameters: tuple[Slot, ...]
    influences: tuple[InfluencePlan, ...] = ()
    bounds: tuple[Slot, ...] = ()


@dataclass(frozen=True, slots=True)
class InitialWrite:
    """A write before the start: initial_data first, then the hdsoMods of the joint list, in document order."""

    hdso: int
    values: tuple[int | float, ...]


@dataclass(frozen=True, slots=True)
class CentralPlan:
    """Entry of a state without a sensory event (section 9.4.1): the rule's HDSO, and how long sensory ones wait, ns."""

    rule: int
    hold: Slot | None


@dataclass(frozen=True, slots=True)
class StatePlan:
    """One action. `index` counts all states of joints in document order (reading E3), then those of modules.

    Those of a module without a motor have joint -1, and make their `writes` when it enters them.
    """

    index: int
    id_num: int
    name: str
    joint: int
    rule: int
    dwell: Slot | None
    activations: tuple[ActivationPlan, ...]
    central: CentralPlan | None = None
    writes: tuple[InitialWrite, ...] = ()


@dataclass(frozen=True, slots=True)
class SoftPlan:
    """How a joint's actions are blended (section 4.2.2.2): of each HDSO with a width its index and the width's slot."""

    widths: tuple[tuple[int, Slot], ...]


@dataclass(frozen=True, slots=True)
class JointPlan:
    """One action switching module. `parent` is a joint index or -1 for the body; `start_state` a state index or -1.

    `amatrix` is 16 numbers row-major or None; `dh_line` is (a cm, d cm, alpha rad, rad per degree) or None. With `soft`
    its actions are blended.
    """

    index: int
    id_num: int
    name: str
    parent: int
    control_mode: str
    motor: int
    muscles: tuple[int, ...]
    states: tuple[int, ...]
    start_state: int
    amatrix: tuple[float, ...] | None = None
    dh_line: tuple[float, float, float, float] | None = None
    soft: SoftPlan | None = None


@dataclass(frozen=True, slots=True)
class ModulePlan:
    """An action switching module without a motor (section 9.6.7); `start_state` is a state index."""

    index: int
    id_num: int
    name: str
    states: tuple[StatePlan, ...]
    start_state: int


@dataclass(frozen=True, slots=True)
class SignalPlan:
    """A sensor that is computed (section 9.2.2.8), of the plan's signals, which stand in the order of computing.

    `parameters` are the elements of each parameter. `sources` are where its samples come from: a motor by its index,
    a signal by its place after the motors; without any it has one with every exchange. `added` names the block that
    was added to the engine, of type `other`.
    """

    name: str
    type: str
    output: Slot
    inputs: tuple[Slot, ...]
    parameters: tuple[tuple[Slot, ...], ...]
    sources: tuple[int, ...]
    per_sample: bool = False
    added: str = ""


@dataclass(frozen=True, slots=True)
class ActionSignalPlan:
    """A sensor that is about a state, or about the actions of a joint or module (section 9.4.1).

    `switch` is the joint's index, or that of a module after all joints; `state` the state's index there, or -1. `rate`
    is what makes a decay's time pass faster or slower, `parameters` a time constant in s and an exponent.
    """

    name: str
    type: str
    output: Slot
    switch: int
    state: int = -1
    shape: str = "linear"
    sensory: bool = False
    rate: Slot | None = None
    parameters: tuple[Slot, ...] = ()


@dataclass(frozen=True, slots=True)
class ControlPlan:
    """A parameter that other values follow: of each its slot, and places in the control's range and values in turn."""

    name: str
    value: Slot
    maps: tuple[tuple[Slot, tuple[float, ...]], ...]


@dataclass(frozen=True, slots=True)
class LinkPlan:
    """What turns with one joint, as far as the next one, for the torque that carries its weight.

    `frame` is the joint's own frame in that of the link before it at angle 0, 12 numbers (3 x 4, row-major, metres);
    `mass_kg` and `centre_m` are the link's, the latter in its own frame. `angle` is the HDSO of the joint's angle,
    `motor` its motor where muscles drive it, else -1, and `unit_n_m` the torque of a unit of muscle output there
    (negative where that turns the joint towards falling angles).
    """

    frame: tuple[float, ...]
    mass_kg: float
    centre_m: tuple[float, float, float]
    angle: int
    motor: int
    unit_n_m: float


@dataclass(frozen=True, slots=True)
class GravityPlan:
    """The share of a leg's weight that its motors carry besides what muscles do; links from the body outwards."""

    share: float
    links: tuple[LinkPlan, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole model. `store_size` is the data area's bytes; `sensor_columns` what SensData.txt logs (reading E2).

    `signals` are what is computed after each exchange. With `gravity` the weight of the links is made up for. `tasks`
    are those that were added, in the order in which they run; `extensions` is all that was added, as `functions.NAME`
    (`nuc_engine.model.extensions`). `muscle_period` is the HDSO of the period of muscles, -1 where they go with rules.
    """

    name: str
    hdsos: tuple[HdsoPlan, ...]
    joints: tuple[JointPlan, ...]
    motors: tuple[MotorPlan, ...]
    muscles: tuple[MusclePlan, ...]
    states: tuple[StatePlan, ...]
    initial: tuple[InitialWrite, ...]
    store_size: int
    motor_speed: int
    motor_control_delay: int
    statetrans_period: int
    engine_start_time: int
    engine_stop_time: int
    sensor_columns: tuple[int, ...]
    signals: tuple[SignalPlan, ...] = ()
    gravity: GravityPlan | None = None
    tasks: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    modules: tuple[ModulePlan, ...] = ()
    action_signals: tuple[ActionSignalPlan, ...] = ()
    controls: tuple[ControlPlan, ...] = ()
    muscle_period: int = -1
    _by_ref: Mapping[int | str, HdsoPlan] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Index the HDSOs by id and by name."""
        by_name = {hdso.name: hdso for hdso in reversed(self.hdsos)}
        object.__setattr__(self, "_by_ref", by_name | {hdso.id_num: hdso for hdso in reversed(self.hdsos)})

    @property
    def acts_newly(self) -> bool:
        """Whether anything is in it that SCCILS 0.2 adds to acting, influences apart: activations have these."""
        states = any(state.central is not None for state in self.states)
        muscles = any(muscle.dynamics is not None or muscle.efferent_delay is not None for muscle in self.muscles)
        soft = any(joint.soft is not None for joint in self.joints)
        return bool(self.modules or self.action_signals or self.controls or states or muscles or soft)

    @property
    def entry_rules(self) -> tuple[int, ...]:
        """The HDSOs of all rules by which states are entered, each once, rising."""
        rules = {state.rule for state in self.every_state}
        return tuple(sorted(rules | {s.central.rule for s in self.every_state if s.central is not None}))

    @property
    def every_state(self) -> tuple[StatePlan, ...]:
        """The states of all joints, then those of modules without a motor."""
        return (*self.states, *(state for module in self.modules for state in module.states))

    @property
    def cycle_min_ns(self) -> int:
        """The longest `cycle_min_ns` of the motors: they are exchanged with together."""
        return max((motor.cycle_min_ns for motor in self.motors), default=0)

    def hdso(self, ref: int | str) -> HdsoPlan:
        """Return the HDSO with this id or name. Raises KeyError when there is none."""
        return self._by_ref[ref]
