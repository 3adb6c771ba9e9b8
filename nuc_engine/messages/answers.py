"""What the daemon answers, typed. Times are seconds of engine time unless a name says otherwise.

Fields nobody asked for are left alone: a newer daemon may say more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

Value = str | int | float | bool | list[int | float] | None
"""A value of an HDSO or of another name: a number, a list in row-major order, a text (rules), or None (no value)."""

Data = dict[str, Any]

Documents = Annotated[dict[str, str], Meta(description="file name to text")]
Model = Annotated[Data, Meta(description="the model explained, as `nuc show --json`")]
Poses = Annotated[dict[str, dict[str, float]], Meta(description="name to joint to degrees")]
Tasks = Annotated[
    dict[str, Data],
    Meta(
        description="per task: `runs`, `overruns`, `skipped`, `period_ns`, `since_start` and `last_second` with "
        "`lateness_ns` and `execution_ns` (p50, p99, max)"
    ),
]
Log = Annotated[Data, Meta(description="state of the log: `state`, `folder`, ...")]
Event = Annotated[Data, Meta(description="`seq`, `unix_time_s`, `name`, `text`, ...")]


class Answer(Struct):
    """One answer: its fields are attributes, and can be asked for by name as in a map."""

    def __getitem__(self, name: str) -> Any:
        """Return a field."""
        return getattr(self, name)


class Greeting(Answer):
    """Who is there, what it runs, and as whom one is known to it."""

    engine: str
    configuration: str
    mode: str
    author: str
    verified: bool
    control: str
    name: str = ""
    role: str = ""


class Connected(TypedDict, total=False):
    """One client of the daemon; `rubbish` and `too_fast` count its messages that were none, or too many."""

    name: str
    role: str
    verified: bool
    in_control: bool
    silent_s: float
    rubbish: int
    too_fast: int


class Status(Answer):
    """How the daemon is. `bout` 0: none; `control` empty: nobody has it; `data` is the whole answer.

    `latched`: nothing drives before `arm`, since there was a fault (mode FAULT) or somebody asked for it
    (`latch_reason` is "off"). `refusals` say which servos cannot be driven as they were given, and why; `bus_counts`
    is what went wrong on the buses since the core began, by names as in `drivers.bus.COUNTS`. `edits` counts those that
    took effect, undoing too. `clamps` are sensors that are sensed as another number than is measured, and as which.
    `unix_time_s` is the daemon's clock, which stamps telemetry and events too; 0: not told.
    """

    mode: str
    configuration: str = ""
    ready: bool = False
    bout: int = 0
    engine_time_s: float | None = None
    cycle: int = 0
    torque: bool = False
    latched: bool = False
    latch_reason: str = ""
    unconfirmed: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    bus_counts: dict[str, int] = {}
    bus_lost: bool = False
    buses: dict[str, str] = {}
    control: str = ""
    clients: tuple[Connected, ...] = ()
    losses: dict[str, int] = {}
    rings: dict[str, dict[str, int]] = {}
    connections: dict[str, int] = {}
    logging: Data = {}
    deaths: dict[str, int] = {}
    edits_refused: int = 0
    latches: int = 0
    guardian_acts: int = 0
    recording: str = ""
    undo: int = 0
    redo: int = 0
    edits: int = 0
    privileges_missing: tuple[str, ...] = ()
    clamps: dict[str, float] = {}
    tasks: Tasks = {}
    unix_time_s: float = 0.0

    @property
    def data(self) -> Data:
        """All of it as a map."""
        return msgspec.to_builtins(self)


class ConfigurationAnswer(Answer):
    """A configuration that can be chosen, or cannot because of a `problem`."""

    name: str
    fullname: str = ""
    description: str = ""
    problem: str | UnsetType = UNSET


class ConfiguredAnswer(Answer):
    """What is in force now."""

    name: str
    warnings: tuple[str, ...]


class Started(Answer):
    """A bout that was begun; `folder` is empty where nothing is logged yet."""

    bout: int
    folder: str


class StoppedAnswer(Answer):
    """A bout that has ended."""

    bout: int
    mode: str
    policy: str


class ArmAnswer(Answer):
    """Whether anything may drive."""

    mode: str
    latched: bool


class OffAnswer(Answer):
    """Whether the torque is off, how long after the request each motor confirmed it, and those that have not."""

    mode: str
    torque: bool
    unconfirmed: tuple[str, ...]
    confirmed_ms: dict[str, float] = {}


class Reading(Answer):
    """Values of one whole cycle; a name the daemon does not know is in `unknown`, not in `values`."""

    values: dict[str, Value]
    cycle: int
    time_s: float | None
    unknown: tuple[str, ...] = ()


class Written(TypedDict):
    """A value that is in force now."""

    name: str
    value: Value


class NotWritten(TypedDict):
    """What was not written, and why."""

    name: str
    reason: str


class Acknowledgement(Answer, omit_defaults=True):
    """What became of an edit. `pending` is a request number while it waits for its time, 0 once it is in effect.

    `cycle` and `time_s` are when it took effect. `replaced` is what a later entry of the same time wrote again. A
    script of several times is as many requests; what of it is not yet due is in `requests`. `back` is the request that
    puts back what was set for a while only; withdrawn (`forget`), the values stay.
    """

    cycle: int
    time_s: float | None
    applied: tuple[Written, ...]
    not_written: tuple[NotWritten, ...] = msgspec.field(name="refused")
    pending: int = 0
    requests: tuple[int, ...] = ()
    replaced: tuple[Written, ...] = ()
    request: int = 0
    back: int = 0
    answers: tuple[Data, ...] = ()

    @property
    def refused(self) -> tuple[str, ...]:
        """What was not written, and why, as sentences."""
        return tuple(f"{item['name']}: {item['reason']}" for item in self.not_written)


class ScriptAnswer(Answer):
    """An hdsoscript that lies beside the daemon."""

    name: str
    description: str
    duration_s: float | None
    problem: str = ""


class ScriptTextAnswer(Answer):
    """An hdsoscript as it is written."""

    name: str
    text: str


class FoundProblem(TypedDict):
    """What is wrong with a document: on which line of which file, what was expected instead, what to do about it."""

    severity: str
    file: str
    line: int
    what: str
    expected: str
    hint: str


class ChangedValue(TypedDict):
    """One part of an edit: `write` of an HDSO; `mode`, `target`, `rate`, `tweak` of a joint; `sense` of a sensor."""

    what: str
    name: str
    before: Value
    after: Value


class HistoryEdit(TypedDict):
    """An edit that took effect; `time_s` is null outside of the bout under way.

    Of one with many changes the first are told, and how many are `left_out`.
    """

    request: int
    author: str
    time_s: float | None
    cycle: int
    changes: list[ChangedValue]
    left_out: int


class HistoryAnswer(Answer):
    """Edits that can be undone, and those that can be made again: the newest first, in the order of their turn."""

    done: tuple[HistoryEdit, ...]
    undone: tuple[HistoryEdit, ...]


class KeptAnswer(Answer):
    """Values that were kept under a name, and the HDSOs that have others now."""

    name: str
    author: str
    unix_time_s: float
    differing: tuple[str, ...]


class RuleComparison(TypedDict):
    """One comparison of a rule; `op` and `right` are empty where an operand stands alone.

    `distance` is how far the left one is from where the comparison turns, positive while it is true.
    """

    left: str
    op: str
    right: str
    left_value: Value
    right_value: Value
    true: bool | None
    distance: float | None


class RuleAnswer(Answer):
    """The entry rule of an action, taken apart, with the values of one cycle; `inside`: the joint does that now."""

    joint: str
    action: str
    inside: bool
    rule: str
    text: str
    true: bool | None
    comparisons: tuple[RuleComparison, ...]


class StoredBout(Answer):
    """A bout's data directory. `state` is its manifest's: running, complete, interrupted, fault or torn."""

    name: str
    configuration: str
    script: str
    started: str
    duration_s: float | None
    state: str
    labels: dict[str, str]
    problem: str


class StoredFile(Answer):
    """A file of a bout's data directory; `name` is its path in there, `size` is in bytes."""

    name: str
    size: int


class FilePart(Answer):
    """A piece of a file, and how many bytes the file has in all now."""

    data: bytes
    size: int


class Pending(TypedDict):
    """An edit that waits for its time."""

    request: int
    author: str
    time_s: float
    names: list[str]


class ForgottenAnswer(Answer):
    """How many edits were withdrawn."""

    forgotten: int


class ParkAnswer(Answer):
    """The pose of the stop policy `park`."""

    angles: dict[str, float]
    rate_deg_s: float


class PoseAnswer(Answer):
    """A pose that was saved, and where."""

    name: str
    angles: dict[str, float]
    path: str


class SavedAnswer(Answer):
    """Where the values in force were written."""

    path: str
    kind: str


class RecordingAnswer(Answer):
    """What the recording is called."""

    name: str


class RecordedAnswer(Answer):
    """Where a recording was written, how many writes are in it, and how many edits a script cannot say."""

    path: str
    writes: int
    left_out: int


class MarkAnswer(Answer):
    """When the mark was made."""

    time_s: float | None


class NotesAnswer(Answer):
    """The note as it is kept."""

    text: str


class LabelsAnswer(Answer):
    """The labels as they are kept."""

    labels: dict[str, str]


class SubscribeAnswer(Answer):
    """What was subscribed to: the topic its messages carry, and where."""

    topic: str
    found: Mapping[str, Data | str] = msgspec.field(name="fields")
    rate_hz: float = 0.0
    address: str = ""

    @property
    def fields(self) -> dict[str, Data | None]:
        """Per name its type, its unit and what it is called in the messages, or None: not found."""
        return {name: what if isinstance(what, dict) else None for name, what in self.found.items()}


class StreamAnswer(Answer):
    """The stream that has ended."""

    topic: str


class ControlAnswer(Answer):
    """Who has control now, or nobody."""

    control: str


class ShutdownAnswer(Answer):
    """The mode in which the daemon begins to end."""

    mode: str


class NoAnswer(Answer):
    """Nothing but that it was done."""


class Sample(Struct):
    """One message of the telemetry: `unix_time_s` is seconds since 1970 on the daemon's clock."""

    topic: str
    values: Mapping[str, Value]
    unix_time_s: float
