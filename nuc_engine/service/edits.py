"""Edits that took effect: what was before them, for undo and redo, and the recording of a timed script.

Everything is followed from the core's records, whoever made the edit and however it came. Pure, without sockets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from nuc_engine.control.clamps import HOLD, OFF
from nuc_engine.control.controls import SENSE
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.wire import RecordKind
from nuc_engine.messages.errors import Refused
from nuc_engine.model.plan import Plan
from nuc_engine.model.values import Values

UNDO_DEPTH = 1000


@dataclass(frozen=True, slots=True)
class EditPart:
    """One HDSO, or one control, of an edit: before and after.

    `what` is `write` (elements of HDSO `index`; None: it had no value), `tweak` or `rate` (of joint `index`), `sense`
    (of HDSO `index`), or `drive`: what moves joint `index`, as a control and its value (`mode`, "muscle") or
    (`target`, 30.0).
    """

    what: str
    index: int
    before: Any
    after: Any

    @property
    def back(self) -> EditPart:
        """Return what takes this part back."""
        return EditPart(self.what, self.index, self.after, self.before)


Edited = tuple[EditPart, ...]


@dataclass(frozen=True, slots=True)
class MadeEdit:
    """An edit that took effect, when (ns) and in which cycle; no author where an earlier service took it."""

    request: int
    author: str
    time_ns: int
    cycle: int
    parts: Edited

    def after(self, earlier: MadeEdit) -> MadeEdit:
        """Return this edit and the one before it as one."""
        parts = {(part.what, part.index): part for part in earlier.parts}
        for part in self.parts:
            first = parts.get((part.what, part.index), part)
            parts[part.what, part.index] = replace(part, before=first.before)
        return replace(self, parts=tuple(parts.values()))


@dataclass(frozen=True, slots=True)
class KeptValues:
    """Values that were kept: whose they are, since when (seconds since 1970), and the elements of each HDSO."""

    author: str
    unix_time_s: float
    values: Mapping[int, Values]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One write as a recording keeps it: engine time in ns (0: before the bout), HDSO index, elements."""

    time_ns: int
    hdso: int
    values: Values


class ControlBook:
    """What each joint's controls are now, as far as the core has said."""

    def __init__(self, plan: Plan, approach_deg_s: float) -> None:
        self._joints, self._rate = plan.joints, approach_deg_s
        self._values: dict[tuple[str, int], Any] = {}
        self._default: str | None = "limp"

    def value(self, what: str, joint: int) -> Any:
        """Return what drives a joint (`drive`), its rate in deg/s or its tweak in ticks; what is sensed of an HDSO."""
        if what == "drive":
            default = ("mode", self._default or self._joints[joint].control_mode)
        else:
            default = {"tweak": 0.0, SENSE: OFF}.get(what, self._rate)
        return self._values.get((what, joint), default)

    def mode(self, joint: int) -> str:
        """Return the joint's mode; a joint that goes to a target holds positions."""
        what, value = self.value("drive", joint)
        return "hold" if what == "target" else str(value)

    @property
    def clamped(self) -> list[int]:
        """Return the HDSOs that are sensed otherwise than they are measured."""
        return [index for (what, index), value in self._values.items() if what == SENSE and value != OFF]

    def put(self, what: str, joint: int, value: float | str) -> None:
        """Note a control that was made."""
        if what in ("mode", "target"):
            self._values["drive", joint] = (what, value)
        else:
            self._values[what, joint] = value

    def all(self, mode: str | None) -> None:
        """Let every joint be in one mode, or (None) in that of the configuration; tweaks and rates are forgotten."""
        self._values.clear()
        self._default = mode


class EditBook:
    """Follows what is in force, and can say how to go back.

    `known` holds every HDSO's elements as the service began to listen. `stopped` is the mode a joint is in once a bout
    was stopped. What the core does by itself (request 0) is followed and cannot be undone. `made` counts the
    edits that took effect. `sensed` returns what has been sensed of an HDSO since a time (ns), if anything.
    """

    def __init__(
        self,
        plan: Plan,
        controls: ControlBook,
        known: Mapping[int, Values],
        stopped: str = "limp",
        sensed: Callable[[int, int], float | None] = lambda _, __: None,
    ) -> None:
        self.plan, self.controls, self._stopped, self._sensed = plan, controls, stopped, sensed
        self._held_ns: dict[int, int] = {}
        self.known: dict[int, Values] = dict(known)
        self._open: dict[int, dict[tuple[str, int], EditPart]] = {}
        self._done: deque[MadeEdit] = deque(maxlen=UNDO_DEPTH)
        self._undone: deque[MadeEdit] = deque(maxlen=UNDO_DEPTH)
        self._going: dict[int, tuple[MadeEdit, deque[MadeEdit], deque[MadeEdit]]] = {}
        self._merging = (0, 0)
        self.made = 0
        self._start_ns: int | None = None
        self.recording: str | None = None
        self._recorded: list[Recorded] = []
        self._left_out = 0

    @property
    def depth(self) -> tuple[int, int]:
        """Return how many edits can be undone, and redone."""
        return len(self._done), len(self._undone)

    def history(self, most: int) -> tuple[list[MadeEdit], list[MadeEdit]]:
        """Return the newest edits that can be undone, and those that can be made again, in the order of their turn."""
        return [*islice(reversed(self._done), most)], [*islice(reversed(self._undone), most)]

    def began(self, start_ns: int) -> None:
        """Say when the bout under way began, for a book opened in the middle of one."""
        self._start_ns = start_ns
        self.controls.all(None)

    def resume(self, controls: ControlBook, known: Mapping[int, Values]) -> None:
        """Go on with a new core of the same plan: what was in force is, what was on its way is not."""
        self.controls = controls
        self.known = dict(known)
        self._open.clear()
        self._going.clear()
        self._merging = (0, 0)
        self._start_ns = None

    def take(self, kind: int, fields: Sequence[Any], author: str = "") -> None:
        """Follow one record of the core; `author` is whose edit a DONE ends."""
        match kind, fields:
            case RecordKind.APPLIED, [time_ns, _, index, values, _, "", request, *_]:
                self._written(time_ns, index, tuple(values), request)
            case RecordKind.CONTROL, [time_ns, _, what, joint, value, "", request]:
                self._controlled(time_ns, what, joint, value, request)
            case RecordKind.DONE, [request, time_ns, cycle, _]:
                self._finish(request, author, time_ns, cycle)
            case RecordKind.BOUT_BEGIN, [start_ns, *_]:
                self._begin(start_ns)
            case RecordKind.BOUT_END, _:
                self._start_ns = None
            case RecordKind.MODE, [_, mode, *_]:
                self._change_mode(mode)
            case _:
                pass

    def undo(self) -> Edited:
        """Return what takes back the last edit. Raises Refused when there is none, or no way back."""
        return self._back(self._done, "undone")

    def redo(self) -> Edited:
        """Return what repeats the edit that was undone last. Raises Refused."""
        return self._back(self._undone, "redone")

    def sent_back(self, request: int, *, undo: bool) -> None:
        """Say that a request carries the last edit back, or (redo) forth: it then goes from one pile to the other."""
        source, target = (self._done, self._undone) if undo else (self._undone, self._done)
        self._going[request] = source[-1], source, target

    def merge(self, request: int, earlier: int) -> None:
        """Say that a request goes on with an edit, so that both are undone as one: if that is the last, by the same.

        One at a time: what is sent before it is done begins anew.
        """
        self._merging = (request, earlier)

    def record(self, name: str) -> None:
        """Begin a recording. Raises Refused when one is under way."""
        if self.recording is not None:
            raise Refused("refused", f"recording {self.recording!r} is under way", "stop it first")
        self.recording, self._recorded, self._left_out = name, [], 0

    def recorded(self) -> tuple[str, tuple[Recorded, ...], int]:
        """Return name and writes of the recording, and how many controls it leaves out: no script can say them."""
        return self.recording or "", tuple(self._recorded), self._left_out

    def end_recording(self) -> None:
        """End the recording and forget it."""
        self.recording, self._recorded, self._left_out = None, [], 0

    def _written(self, time_ns: int, index: int, values: Values, request: int) -> None:
        before = self.known.get(index)
        after = values if before is None else values + before[len(values) :]
        self.known[index] = after
        if request <= 0:
            return
        self._note(request, EditPart("write", index, before, after))
        if self.recording is not None:
            engine_ns = 0 if self._start_ns is None else max(0, time_ns - self._start_ns)
            self._recorded.append(Recorded(engine_ns, index, values))

    def _controlled(self, time_ns: int, what: str, joint: int, value: float | str, request: int) -> None:
        key = "drive" if what in ("mode", "target") else what
        before = self.controls.value(key, joint)
        if what == SENSE and before == HOLD and (held := self._sensed(joint, self._held_ns[joint])) is not None:
            # The way back is to what it was held at: by then something else will be there.
            before = held
        if what == SENSE and value == HOLD:
            self._held_ns[joint] = time_ns
        self.controls.put(what, joint, value)
        if request > 0:
            self._note(request, EditPart(key, joint, before, self.controls.value(key, joint)))
            self._left_out += self.recording is not None

    def _note(self, request: int, part: EditPart) -> None:
        parts = self._open.setdefault(request, {})
        first = parts.get((part.what, part.index), part)
        parts[part.what, part.index] = EditPart(part.what, part.index, first.before, part.after)

    def _finish(self, request: int, author: str, time_ns: int, cycle: int) -> None:
        parts = self._open.pop(request, None)
        sent_back, source, target = self._going.pop(request, (None, None, self._done))
        earlier = self._merging[1] if self._merging[0] == request else 0
        if not parts:
            return
        self.made += 1
        made = MadeEdit(request, author, time_ns, cycle, tuple(parts.values()))
        if sent_back is None or source is None:
            self._undone.clear()
            last = target[-1] if target else None
            if last is not None and last.request == earlier and last.author == author:
                made = made.after(target.pop())
        elif sent_back in source:
            source.remove(sent_back)
        elif all(part.before == part.after for part in made.parts):
            return  # asked for twice before it was done
        target.append(made)

    def _begin(self, start_ns: int) -> None:
        self._start_ns = start_ns
        # What was changed before a bout is what the bout starts with.
        self._recorded = [Recorded(0, entry.hdso, entry.values) for entry in self._recorded]
        # Controls begin anew with a bout: there is no way back to those before it.
        for pile in (self._done, self._undone):
            kept = [edit for edit in pile if all(part.what == "write" for part in edit.parts)]
            pile.clear()
            pile.extend(kept)

    def _change_mode(self, mode: int) -> None:
        self.controls.all({Mode.RUNNING: None, Mode.STOPPED: self._stopped}.get(Mode(mode), "limp"))

    def _back(self, pile: deque[MadeEdit], word: str) -> Edited:
        if not pile:
            raise Refused("refused", f"there is nothing to be {word}")
        for part in pile[-1].parts:
            if part.before is None:
                hdso = self.plan.hdsos[part.index]
                raise Refused("refused", f"{hdso.name} had no value before", "no value can be taken away again")
        return tuple(part.back for part in reversed(pile[-1].parts))
