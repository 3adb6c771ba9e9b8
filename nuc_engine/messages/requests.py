"""Every request of the command channel: what a client calls, what the daemon checks, what the documentation says.

A request is one class; its name, without `Request`, is the method's. Its docstring says what it does, its fields what
may be given and what stands for what is left out, `Request[...]` what it is answered with. `messages.checked` reads
one that somebody sent.

Names of HDSOs may be given as ids wherever a name is asked for; `NAME[k]` is one element of an HDSO, counted from 0 in
row-major order. Times and delays are seconds; angles are degrees.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, TypeVar, get_args

from msgspec import Struct

from nuc_engine.messages.answers import (
    Acknowledgement,
    ArmAnswer,
    ConfigurationAnswer,
    ConfiguredAnswer,
    ControlAnswer,
    Documents,
    Event,
    FilePart,
    ForgottenAnswer,
    FoundProblem,
    Greeting,
    HistoryAnswer,
    KeptAnswer,
    LabelsAnswer,
    Log,
    MarkAnswer,
    Model,
    NoAnswer,
    NotesAnswer,
    OffAnswer,
    ParkAnswer,
    Pending,
    PoseAnswer,
    Poses,
    Reading,
    RecordedAnswer,
    RecordingAnswer,
    RuleAnswer,
    SavedAnswer,
    ScriptAnswer,
    ScriptTextAnswer,
    ShutdownAnswer,
    Started,
    Status,
    StoppedAnswer,
    StoredBout,
    StoredFile,
    StreamAnswer,
    SubscribeAnswer,
    Tasks,
    Value,
)
from nuc_engine.messages.limits import (
    Angles,
    Changes,
    Count,
    Document,
    End,
    Number,
    OneRef,
    Rate,
    Ref,
    Refs,
    RoleName,
    SampleRate,
    Text,
    Texts,
    Ticks,
    Time,
)

T = TypeVar("T")

SLOW_S = 20.0
"""Documents are checked whole and a new core is started: that takes seconds on a small machine."""

_EDIT_S = 6.0
"""The daemon itself waits for its core, and says so when that does not answer: that is the better message."""


class Request(Struct, Generic[T], forbid_unknown_fields=True, omit_defaults=True):
    """One request: the least role that may make it, whether it needs control, how long its answer may take."""

    method: ClassVar[str] = ""
    answer: ClassVar[Any] = None
    """The type of its answer."""
    needs: ClassVar[RoleName] = "watch"
    control: ClassVar[bool] = False
    at_least_s: ClassVar[float] = 0.0
    as_sent: ClassVar[frozenset[str]] = frozenset()
    """Fields that are read and checked before anything shows them; the texts of all others become printable."""

    def __init_subclass__(cls) -> None:
        """Take the answer's type, and the method's name unless it is said, from how the class is written."""
        if "method" not in vars(cls):
            cls.method = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__.removesuffix("Request")).lower()
        (cls.answer,) = get_args(cls.__orig_bases__[0])  # pyright: ignore[reportAttributeAccessIssue]


class _Change(Request[T], Generic[T]):
    """A request that changes something: whoever makes it has control."""

    needs: ClassVar[RoleName] = "operate"
    control: ClassVar[bool] = True
    at_least_s: ClassVar[float] = _EDIT_S


class HelloRequest(Request[Greeting]):
    """Say who one is; `role` asks for less than one is allowed."""

    name: Text
    role: RoleName | None = None


class StatusRequest(Request[Status]):
    """Ask how the daemon is."""


class TasksRequest(Request[Tasks]):
    """Ask for period, lateness, execution time and overruns of every task."""


class ConfigurationsRequest(Request[tuple[ConfigurationAnswer, ...]]):
    """Ask which configurations can be chosen."""

    at_least_s: ClassVar[float] = SLOW_S


class ConfigureRequest(_Change[ConfiguredAnswer]):
    """Choose a configuration, or send one: `documents` are texts by file name (joints.xml, ...).

    Answered once a core runs the model.
    """

    at_least_s: ClassVar[float] = SLOW_S
    as_sent: ClassVar[frozenset[str]] = frozenset({"documents"})

    name: Text
    documents: Texts | None = None


class DocumentsRequest(Request[Documents]):
    """Ask for the XML texts of the configuration in force, or of one that can be chosen."""

    at_least_s: ClassVar[float] = SLOW_S

    name: Text | None = None


class StoreConfigurationRequest(_Change[SavedAnswer]):
    """Write documents as a configuration that can be chosen; what could not be loaded is refused."""

    at_least_s: ClassVar[float] = SLOW_S
    as_sent: ClassVar[frozenset[str]] = frozenset({"documents"})

    name: Text
    documents: Texts
    overwrite: bool = False


class ValidateRequest(Request[tuple[FoundProblem, ...]]):
    """Ask what is wrong with a configuration (`documents`), or with an hdsoscript (`text`) for it, without loading it.

    An hdsoscript without documents is held against the model in force.
    """

    at_least_s: ClassVar[float] = SLOW_S
    as_sent: ClassVar[frozenset[str]] = frozenset({"text", "documents"})

    text: Document | None = None
    documents: Texts | None = None


class ModelRequest(Request[Model]):
    """Ask for the model in force, explained: joints, muscles, states, rules, HDSOs."""


class RunRequest(_Change[Started]):
    """Begin a bout after `delay_s`; it stops by itself at engine time `stop_s` (negative: not).

    `out` names its directory in the daemon's data folder; one that exists is refused. `labels` and `notes` are of this
    bout alone.
    """

    delay_s: Time = 0.0
    stop_s: End | None = None
    labels: Texts | None = None
    notes: Text | None = None
    out: Text | None = None


class StopRequest(_Change[StoppedAnswer]):
    """End the bout; without a policy, as the daemon was told to when it was started."""

    policy: Literal["off", "hold", "park"] | None = None


class ArmRequest(_Change[ArmAnswer]):
    """Allow driving again after a fault, or after `off`: the joints start from where they are."""


class OffRequest(Request[OffAnswer]):
    """Take the torque off at once, latched until `arm`. Any client may, with or without control."""

    at_least_s: ClassVar[float] = _EDIT_S

    why: Text = "asked for"


class LogRequest(_Change[Log]):
    """Log from engine time `start_s` to `stop_s` (without: until `stoplog`), to a directory named `out`.

    For `--log command`.
    """

    start_s: Time = 0.0
    stop_s: End | None = None
    out: Text | None = None


class StoplogRequest(_Change[Log]):
    """End what `log` began, at once or at engine time `stop_s`."""

    stop_s: End | None = None


class GetRequest(Request[Reading]):
    """Ask for values by name or id, all of the same whole cycle; the id -1 stands for every HDSO."""

    names: Refs


class SetRequest(_Change[Acknowledgement]):
    """Write values; they take effect together, at once or at engine time `time_s`.

    With `back_after_s`, in a bout, they are what they were before once so much engine time has gone by, or the bout has
    ended. With `merge`, the number of one's last edit that took effect, both are undone as one.
    """

    as_sent: ClassVar[frozenset[str]] = frozenset({"changes"})

    changes: Changes
    time_s: Time | None = None
    back_after_s: Time | None = None
    merge: Count = 0


class ScriptRequest(Request[Acknowledgement]):
    """Send an hdsoscript; its times count from the bout's start, or from now.

    One that changes something needs the role operate, and control. Gradual changes begin from the values at its
    arrival; what is done to a leg by hand is refused. `answers` are to requests of time 0.
    """

    at_least_s: ClassVar[float] = 10.0
    as_sent: ClassVar[frozenset[str]] = frozenset({"text"})

    text: Document
    offset: Literal["start", "now"] = "start"


class ScriptsRequest(Request[tuple[ScriptAnswer, ...]]):
    """Ask which hdsoscripts lie beside the daemon."""

    at_least_s: ClassVar[float] = SLOW_S


class ScriptTextRequest(Request[ScriptTextAnswer]):
    """Ask for the text of one of them."""

    at_least_s: ClassVar[float] = SLOW_S

    name: Text


class StoreScriptRequest(_Change[SavedAnswer]):
    """Write an hdsoscript beside the daemon, as it is; one that the model in force could not carry out is refused."""

    at_least_s: ClassVar[float] = 10.0
    as_sent: ClassVar[frozenset[str]] = frozenset({"text"})

    name: Text
    text: Document
    overwrite: bool = False


class PendingRequest(Request[tuple[Pending, ...]]):
    """Ask which edits wait for their time."""


class ForgetRequest(_Change[ForgottenAnswer]):
    """Withdraw an edit that waits for its time, or all of them."""

    request: int | Literal["all"]


class UndoRequest(_Change[Acknowledgement]):
    """Take back the last edit that took effect, whoever made it."""


class RedoRequest(_Change[Acknowledgement]):
    """Make the edit again that was undone last."""


class HistoryRequest(Request[HistoryAnswer]):
    """Ask which edits can be undone and made again, and whose they are."""


class KeepValuesRequest(_Change[KeptAnswer]):
    """Keep all values in force under a name, until another configuration is put in force or the service dies."""

    name: Text


class KeptValuesRequest(Request[tuple[KeptAnswer, ...]]):
    """Ask under which names values are kept."""


class RecallValuesRequest(_Change[Acknowledgement]):
    """Write the values that were kept under a name, together, as one edit; those that are the same are left alone."""

    name: Text


class RulesRequest(Request[tuple[RuleAnswer, ...]]):
    """Ask for every entry rule, or those of one joint, taken apart: which comparisons are true, and how nearly."""

    joint: OneRef | None = None


class JointModeRequest(_Change[Acknowledgement]):
    """Choose what commands a joint: its muscles, a force, a position; it can hold where it is, or be limp."""

    joint: OneRef
    mode: Literal["muscle", "force", "position", "hold", "limp"]


class TweakRequest(_Change[Acknowledgement]):
    """Add a torque to what a joint's muscles ask for, in raw ticks of its servo; 0 ends it. Logged."""

    joint: OneRef
    ticks: Ticks


class SenseRequest(_Change[Acknowledgement]):
    """Say what is sensed of a sensor: this number, what is sensed now (`hold`), or what is measured (`off`). Logged."""

    sensor: OneRef
    value: Number | Literal["off", "hold"]


class PoseRequest(_Change[Acknowledgement]):
    """Move joints slowly: to these angles (joint to degrees), or to a pose that was saved. They move on their own.

    With `merge`, the number of one's last edit that took effect, both are undone as one.
    """

    angles: Angles | None = None
    rate_deg_s: Rate | None = None
    name: Text | None = None
    merge: Count = 0


class ParkRequest(_Change[ParkAnswer]):
    """Choose the pose that a stop with the policy `park` moves to: angles, or a pose that was saved.

    Without a rate, at 20 degrees a second.
    """

    angles: Angles | None = None
    name: Text | None = None
    rate_deg_s: Rate | None = None


class PoseSaveRequest(_Change[PoseAnswer]):
    """Save the pose the leg is in."""

    name: Text


class PosesRequest(Request[Poses]):
    """Ask for the poses that were saved for this configuration."""


class SaveRequest(_Change[SavedAnswer]):
    """Write the values in force as a configuration or as an hdsoscript; answers with where."""

    at_least_s: ClassVar[float] = 10.0

    name: Text
    kind: Literal["configuration", "script"] = "configuration"
    description: Text | None = None
    overwrite: bool = False


class RecordStartRequest(_Change[RecordingAnswer]):
    """Begin to write down every edit that takes effect, with its time."""

    name: Text


class RecordStopRequest(_Change[RecordedAnswer]):
    """End it; answers with the hdsoscript's path."""

    at_least_s: ClassVar[float] = 10.0

    overwrite: bool = False


class MarkRequest(Request[MarkAnswer]):
    """Log this text with the time and one's name."""

    needs: ClassVar[RoleName] = "operate"

    text: Text


class NotesRequest(Request[NotesAnswer]):
    """Add a note to the bout's data directory."""

    needs: ClassVar[RoleName] = "operate"

    text: Text


class LabelsRequest(_Change[LabelsAnswer]):
    """Label this bout and those that follow, until they are given anew: operator, leg, surface, body_height, ..."""

    labels: Texts


class BoutsRequest(Request[tuple[StoredBout, ...]]):
    """Ask which bouts lie in the daemon's data folder, newest first."""

    at_least_s: ClassVar[float] = SLOW_S


class BoutFilesRequest(Request[tuple[StoredFile, ...]]):
    """Ask for the files of a bout's data directory."""

    at_least_s: ClassVar[float] = SLOW_S

    bout: Text


class FetchRequest(Request[FilePart]):
    """Ask for a piece of a file of a bout's data directory: at most 512 KiB from `offset` on."""

    at_least_s: ClassVar[float] = SLOW_S

    bout: Text
    file: Text
    offset: Count = 0


class SubscribeRequest(Request[SubscribeAnswer]):
    """Ask for a stream of values; `Client.subscribe` also opens it."""

    names: Refs
    rate_hz: SampleRate = 30.0


class UnsubscribeRequest(Request[StreamAnswer]):
    """End a stream."""

    topic: Text


class EventsRequest(Request[tuple[Event, ...]]):
    """Ask for the last events, or for those after the one with this number (`seq`)."""

    since: Count = 0


class TakeControlRequest(Request[ControlAnswer]):
    """Ask for control; with `force` also from somebody who has it."""

    needs: ClassVar[RoleName] = "operate"

    force: bool = False


class HandOverRequest(Request[ControlAnswer]):
    """Give control to another client."""

    needs: ClassVar[RoleName] = "operate"

    to: Text


class ReleaseControlRequest(Request[ControlAnswer]):
    """Give control back; no client has it then."""


class LeaveRequest(Request[NoAnswer]):
    """Say goodbye: control is given back, and the client is no longer listed. Clients send it when they are closed."""


class ShutdownRequest(Request[ShutdownAnswer]):
    """End the daemon: a commanded stop, torque off, data flushed."""

    needs: ClassVar[RoleName] = "admin"
    at_least_s: ClassVar[float] = 5.0


def set_values(
    changes: Sequence[tuple[Ref, Value]] | Mapping[str, Any],
    time_s: float | None = None,
    back_after_s: float | None = None,
    merge: int = 0,
) -> SetRequest:
    """Write values; they take effect together, at once or at engine time `time_s`; see `SetRequest`."""
    pairs: Any = changes.items() if isinstance(changes, Mapping) else changes
    return SetRequest([*pairs], time_s, back_after_s, merge)


def pose_named(name: str, rate_deg_s: float | None = None) -> PoseRequest:
    """Move joints to a pose that was saved, slowly."""
    return PoseRequest(name=name, rate_deg_s=rate_deg_s)


REQUESTS: Mapping[str, type[Request[Any]]] = MappingProxyType(
    {kind.method: kind for name, kind in list(vars().items()) if name.endswith("Request") and kind is not Request}
)
"""Every request by the name of its method, in the order in which they stand here."""
