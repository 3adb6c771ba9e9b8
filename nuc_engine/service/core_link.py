"""The service's end of the rings: commands to the core, and what became of each of them.

The data logger alone gives records back to the core; this reads along with a cursor of its own. The core may be gone at
any moment: who waits is then told so, and a new core begins with a clean slate.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nuc_engine.daemon.block import Block, Word
from nuc_engine.daemon.ring import Ring, RingError
from nuc_engine.daemon.wire import MOST_AT_ONCE, MOST_WAITING, CoreCommand, RecordKind, pack, unpack
from nuc_engine.messages.errors import Refused
from nuc_engine.model.changes import JointControl, Trigger, Write
from nuc_engine.service.waiting import Awaited, Waiting

AT_ONCE = -1
"""Engine time of a change that is to take effect as soon as it arrives."""

ACK_TIMEOUT_S = 2.0
EACH_CYCLE = frozenset(
    {
        int(RecordKind.MOTOR),
        int(RecordKind.SENSORS),
        int(RecordKind.SENSED),
        int(RecordKind.STATES),
        int(RecordKind.MUSCLES),
    }
)
"""Kinds of which only the newest matters here."""

_LIFE_BITS = 32
_LARGEST = (1 << 63) - 1
SLICE = 64
"""Edits that are sent, or told of, before others have their turn."""

MOST_READ = 256
"""Records that are read in one step of the service, those of each cycle apart."""


@dataclass(frozen=True, slots=True)
class Ack:
    """The core has taken a command."""

    request: int
    time_ns: int
    cycle: int
    detail: Any


@dataclass(frozen=True, slots=True)
class PartOutcome:
    """What became of one write or control of an edit.

    A write may be `replaced` by a later one of it; `element` is there where one element alone was written.
    """

    what: str
    index: int
    values: tuple[Any, ...]
    refused: str = ""
    replaced: bool = False
    element: int | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """A change has taken effect: when, in which cycle, and what became of its parts."""

    request: int
    time_ns: int
    cycle: int
    outcomes: tuple[PartOutcome, ...]


@dataclass(slots=True)
class Edit:
    """A change on its way: `due_ns` is the engine time it waits for, or AT_ONCE; `armed`: from then on for a rule.

    `elements` are those that its writes name, of the writes that are not answered yet: the core tells of them in order.
    """

    request: int
    author: str
    due_ns: int
    names: tuple[str, ...]
    elements: deque[int | None] = field(default_factory=deque[int | None])
    ack: Awaited[Ack] = field(default_factory=Awaited[Ack])
    done: Awaited[Done] = field(default_factory=Awaited[Done])
    outcomes: list[PartOutcome] = field(default_factory=list[PartOutcome])
    withdrawn: bool = False
    armed: bool = False


@dataclass(frozen=True, slots=True)
class ChangeParts:
    """What takes effect together: writes and controls; and triggers that are armed."""

    writes: tuple[Write, ...] = ()
    controls: tuple[JointControl, ...] = ()
    triggers: tuple[Trigger, ...] = ()

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.writes) + len(self.controls) + sum(1 + len(trigger.writes) for trigger in self.triggers)


@dataclass(frozen=True, slots=True)
class ScheduledChange:
    """What is to take effect together: when (engine time in ns, or AT_ONCE), what it is called, and its parts."""

    due_ns: int
    names: tuple[str, ...]
    parts: ChangeParts


@dataclass(frozen=True, slots=True)
class Admitted:
    """A change, what a CHANGESET says of it after its request's number, and the bytes it takes in the ring."""

    change: ScheduledChange
    fields: tuple[Any, ...]
    size: int


RecordListener = Callable[[int, list[Any]], None]
"""Told (kind, fields) of every record that does not come with each cycle."""


class CoreLink:
    """Sends commands and reads records. `wake` wakes the core up; `life` tells this service from earlier ones."""

    def __init__(self, block: Block, wake: Callable[[], None], waiting: Waiting, life: int) -> None:
        self._block, self._wake, self._waiting = block, wake, waiting
        self._ring = block.rings["records"]
        self._others = [block.rings["guardian"], block.rings["supervisor"]]
        self._cursor = self._ring.written
        self._cursors = [ring.written for ring in self._others]
        self._number = life << _LIFE_BITS
        self._generation = block.words[Word.CORE_GENERATION]
        self._acks: dict[int, Awaited[Ack]] = {}
        self.edits: dict[int, Edit] = {}
        self._timed: set[int] = set()
        self._unsent: set[int] = set()
        self._reserved = 0
        self.listeners: list[RecordListener] = []
        # An earlier service may have left changes that wait for their time.
        self._all_mine = life == 0
        self.announce: Callable[[int, str, Callable[[], int]], None] = _to_nobody
        self.latest: dict[int, bytes] = {}
        self.overtaken = 0
        self.answers_soon = False

    @property
    def ready(self) -> bool:
        """Whether a core of the newest plan runs its tasks."""
        words = self._block.words
        generation = words[Word.CORE_GENERATION]
        return (
            words[Word.CORE_PID] != 0
            and words[Word.CORE_READY] == generation != 0
            and words[Word.CORE_PLAN] == words[Word.PLAN_GENERATION]
        )

    @property
    def behind(self) -> bool:
        """Whether there are records that were not read yet."""
        return self._ring.written > self._cursor

    def send(self, command: CoreCommand, *fields: Any) -> tuple[int, Awaited[Ack]]:
        """Send a command; return its number, and its acknowledgement once there is one. Raises Refused."""
        self._number += 1
        return self._send(self._number, command, *fields)

    def _check_ready(self) -> None:
        if self._block.words[Word.PLAN_GENERATION] == 0:
            raise Refused("refused", "nothing is configured", "choose a configuration first")
        if not self.ready:
            raise Refused("core_gone", "the core is being restarted", "try again in a second")

    def _send(self, request: int, command: CoreCommand, *fields: Any) -> tuple[int, Awaited[Ack]]:
        self._check_ready()
        if not self._block.rings["commands"].put(command, pack(request, *fields)):
            raise Refused("core_gone", "the core takes no commands: too many wait, or this one is too long")
        answer: Awaited[Ack] = Awaited()
        self._acks[request] = answer
        self._wake()
        late = Refused("timeout", "the core did not acknowledge in time", "see `status` for what it does")
        return request, self._waiting.within(answer, ACK_TIMEOUT_S, late)

    def _oldest(self) -> int:
        """Return the number of the first edit that is not done yet, or of the next one."""
        return min(*self.edits, *self._unsent, self._number + 1, self._number + 1) if self._all_mine else 0

    def edit(self, author: str, due_ns: int, names: Sequence[str], parts: ChangeParts) -> Edit:
        """Send a change of HDSOs and controls. Raises Refused."""
        (admitted,) = admit([ScheduledChange(due_ns, tuple(names), parts)])
        request = self.reserve(author, [admitted])
        try:
            return self.send_edit(author, request, admitted)
        except Refused:
            self.release(request, [admitted])
            raise

    def reserve(self, author: str, admitted: Sequence[Admitted]) -> int:
        """Keep room for changes, tell whose they are and return the first of their numbers: all of them can be sent.

        Each is to be sent, or given up by `release`. Raises Refused.
        """
        timed = sum(one.change.due_ns != AT_ONCE for one in admitted)
        if timed and len(self._timed) + timed > MOST_WAITING:
            what = f"{len(self._timed)} changes wait for their time, and {timed} more would; at most {MOST_WAITING}"
            raise Refused("refused", what, "`forget` some, or send the others later")
        size = sum(one.size for one in admitted)
        # At the end of the ring's data a record may be moved to the beginning.
        most = max((one.size for one in admitted), default=0)
        if self._reserved + size + most > self._block.rings["commands"].room:
            raise Refused("core_gone", "the core takes no commands: too many wait, or these are too long")
        self._check_ready()
        first = self._number + 1
        # Before the core can do it: records of it may be read by others at once.
        self.announce(first, author, self._oldest)
        self._number += len(admitted)
        self._reserved += size
        self._unsent.update(range(first, first + len(admitted)))
        return first

    def release(self, first: int, admitted: Sequence[Admitted]) -> None:
        """Give up changes for which room was kept: their numbers are never used."""
        self._reserved -= sum(one.size for one in admitted)
        self._unsent.difference_update(range(first, first + len(admitted)))

    def send_edit(self, author: str, request: int, admitted: Admitted) -> Edit:
        """Send a change for which there is room under its number. Raises Refused."""
        change = admitted.change
        _, ack = self._send(request, CoreCommand.CHANGESET, *admitted.fields)
        self.release(request, [admitted])
        elements = deque(write.element for write in change.parts.writes)
        edit = Edit(request, author, change.due_ns, change.names, elements, ack, armed=bool(change.parts.triggers))
        self.answers_soon = self.answers_soon or change.due_ns == AT_ONCE
        self.edits[request] = edit
        if change.due_ns != AT_ONCE:
            self._timed.add(request)
        # A change that was refused as a whole never takes effect.
        ack.tell(lambda: self._acknowledged(edit))
        return edit

    def _done_with(self, request: int) -> Edit | None:
        self._timed.discard(request)
        return self.edits.pop(request, None)

    def forget(self, request: int) -> Awaited[Ack]:
        """Withdraw a timed change, or all (-1), that are not yet due."""
        gone = [self.edits[number] for number in (self._timed if request == -1 else self._timed & {request})]
        _, ack = self.send(CoreCommand.FORGET, request)
        ack.tell(lambda: self._forgotten(ack, gone))
        return ack

    def pump(self, most: int | None = None) -> None:
        """Read every record that has come, or so many, and notice a core that is no longer the same."""
        generation = self._block.words[Word.CORE_GENERATION]
        if generation != self._generation:
            self._generation = generation
            self._lose(Refused("core_gone", "the core was restarted before it was done", "look at what is in force"))
        for kind, content in self._records():
            if kind in EACH_CYCLE:
                self.latest[kind] = content
            elif kind != RecordKind.START:
                self._take(kind, unpack(content))
                if most is not None and (most := most - 1) <= 0:
                    break
        for k, ring in enumerate(self._others):
            for kind, cursor, content in ring.read(max(self._cursors[k], ring.kept)):
                self._cursors[k] = cursor
                self._tell(kind, unpack(content))

    def _records(self) -> Iterator[tuple[int, bytes]]:
        ring = self._ring
        if ring.written - self._cursor > ring.capacity:
            # The logger has read further: the records in between are in the files, but are lost to this process.
            self.overtaken += 1
            self._cursor = ring.kept
        try:
            for kind, cursor, content in ring.read(self._cursor):
                self._cursor = cursor
                yield kind, content
        except RingError:
            self.overtaken += 1
            self._cursor = ring.written

    def _take(self, kind: int, fields: list[Any]) -> None:
        match kind, fields:
            case RecordKind.ACK, [request, ok, time_ns, cycle, detail]:
                self._acknowledge(Ack(request, time_ns, cycle, detail), bool(ok))
            case RecordKind.APPLIED, [_, _, index, values, replaced, refused, request, *_]:
                self._note(request, PartOutcome("write", index, tuple(values), refused, bool(replaced)))
            case RecordKind.CONTROL, [_, _, what, joint, value, refused, request]:
                self._note(request, PartOutcome(what, joint, (value,), refused))
            case _:
                pass
        # Listeners see a change before the request that waits for it continues.
        self._tell(kind, fields)
        if kind == RecordKind.DONE:
            request, time_ns, cycle, _ = fields
            edit = self._done_with(request)
            if edit is not None:
                edit.done.give(Done(request, time_ns, cycle, tuple(edit.outcomes)))
        elif kind == RecordKind.BOUT_END:
            self._drop_timed()

    def _drop_timed(self) -> None:
        self._all_mine = True
        # The core drops what was to come in the bout that has ended.
        self._end(
            [self.edits[request] for request in self._timed], Refused("forgotten", "the bout ended before its time")
        )

    def _end(self, gone: Sequence[Edit], error: Refused) -> None:
        """Tell those who wait for edits that these will not be; of many, some in each step."""
        left = [edit for edit in gone if self._done_with(edit.request) is not None]

        async def tell() -> None:
            for k, edit in enumerate(left):
                if k and k % SLICE == 0:
                    await asyncio.sleep(0)
                edit.done.refuse(error)

        self._waiting.start(tell(), lambda _, __: None)

    def _tell(self, kind: int, fields: list[Any]) -> None:
        for listener in tuple(self.listeners):
            listener(kind, fields)

    def _note(self, request: int, outcome: PartOutcome) -> None:
        edit = self.edits.get(request)
        if edit is None:
            return
        element = edit.elements.popleft() if outcome.what == "write" and edit.elements else None
        if element is not None:
            # Of a write that was made, all from the first element on is told: it is what the logs can say.
            outcome = replace(outcome, element=element, values=outcome.values[-1:])
        edit.outcomes.append(outcome)

    def _acknowledge(self, ack: Ack, ok: bool) -> None:
        answer = self._acks.pop(ack.request, None)
        if answer is None:
            return
        if ok:
            answer.give(ack)
        else:
            answer.refuse(Refused("refused", str(ack.detail) or "the core refused"))

    def _acknowledged(self, edit: Edit) -> None:
        try:
            edit.ack.result()
        except Refused as error:
            self._done_with(edit.request)
            edit.done.refuse(error)

    def _forgotten(self, ack: Awaited[Ack], gone: Sequence[Edit]) -> None:
        try:
            ack.result()
        except Refused:
            return
        for edit in gone:
            edit.withdrawn = True
        self._end(gone, Refused("forgotten", "withdrawn before its time"))

    def _lose(self, error: Refused) -> None:
        self._all_mine = True
        acks, self._acks = self._acks, {}
        for answer in acks.values():
            answer.refuse(error)
        self._end(list(self.edits.values()), error)


def admit(changes: Sequence[ScheduledChange]) -> list[Admitted]:
    """Return changes as they are sent. Pure; raises Refused where too much is to take effect together."""
    size = max((change.parts.size for change in changes), default=0)
    if size > MOST_AT_ONCE:
        hint = "spread them over several times"
        raise Refused("refused", f"{size} changes at one time; at most {MOST_AT_ONCE} take effect together", hint)
    return [_admitted(change) for change in changes]


def _admitted(change: ScheduledChange) -> Admitted:
    parts = change.parts
    writes = [(w.hdso, w.values, *(() if w.element is None else (w.element,))) for w in parts.writes]
    controls = [(control.what, control.joint, control.value) for control in parts.controls]
    triggers = [
        (t.rule, t.holds_ns, t.after_ns, t.until_ns, t.times, t.refractory_ns, [(w.hdso, w.values) for w in t.writes])
        for t in parts.triggers
    ]
    fields = (change.due_ns, writes, controls, *([triggers] if triggers else ()))
    return Admitted(change, fields, Ring.needs(pack(_LARGEST, *fields)))


def _to_nobody(request: int, author: str, oldest: Callable[[], int]) -> None:
    del request, author, oldest
