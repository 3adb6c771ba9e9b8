"""The byte log, decoded: what the host asked and when, what it got, and what that says about its care for the leg.

    log = read(path)
    log.frames[0].op, log.frames[0].end_ns, log.frames[0].position_raw
    torque_off_ns(log)          # per servo: since when it is limp
    commands_beyond(log, {0: 40})   # goals further than 40 ticks from the servo's last reply

All instants are CLOCK_MONOTONIC in ns, comparable with stamps of other processes on the machine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from drivers.aimotor.codec import GROUP_ID, REPLY_BYTES, Op, Request, RequestParser
from drivers.port import wire_ns
from nuc_engine.emulation.rawlog import Event, Kind, LogHeader, Record, read_header, read_records

_OFF: Final = (Op.PASSIVE, Op.BREAK)
_ANSWERED_WITH_A_POSITION: Final = (Op.POSITION_SEND, Op.POSITION_READ, Op.PASSIVE)


@dataclass(frozen=True, slots=True)
class Frame:
    """One request with a right checksum, and what came back for it.

    `start_ns` is its first bit, `end_ns` its last byte complete on the wire; `reply` the bytes handed to the host, and
    `reply_ns` when the last of them had been, -1 for no reply. `goal_raw` is -1 where nothing is commanded.
    """

    op: Op
    bus_id: int
    level: int
    goal_raw: int
    payload: bytes
    start_ns: int
    end_ns: int
    reply: bytes = b""
    reply_ns: int = -1

    @property
    def position_raw(self) -> int:
        """The position the reply reported; -1 without a whole reply."""
        whole = len(self.reply) == REPLY_BYTES and self.op in _ANSWERED_WITH_A_POSITION
        return self.reply[1] if whole else -1

    @property
    def current_raw(self) -> int:
        """The current the reply reported; -1 without a whole reply, and for a torque-off, which reports none."""
        whole = len(self.reply) == REPLY_BYTES and self.op in _ANSWERED_WITH_A_POSITION[:2]
        return self.reply[0] if whole else -1

    def goals(self) -> dict[int, int]:
        """Return the goal of each servo this frame drives, by bus id."""
        if self.op is Op.POSITION_SEND:
            return {self.bus_id: self.goal_raw}
        return dict(enumerate(self.payload)) if self.op is Op.SYNC_SEND else {}

    def releases(self, bus_id: int) -> bool:
        """Say whether this frame takes the torque off that servo."""
        return self.op in _OFF and self.bus_id in (bus_id, GROUP_ID)


class Happening(NamedTuple):
    """Something done to the emulator: when, what, and the bus id or number that goes with it."""

    at_ns: int
    event: Event
    number: int


@dataclass(frozen=True, slots=True)
class ByteLog:
    """A decoded log. `stray_bytes` and `bad_checksums` count what the host sent that is no request.

    `unasked` are bytes the host got without having asked; `lost` replies that nobody could take.
    """

    header: LogHeader
    frames: tuple[Frame, ...]
    events: tuple[Happening, ...]
    stray_bytes: int
    bad_checksums: int
    unasked: int
    lost: int

    def when(self, event: Event) -> list[int]:
        """Return the instants of one kind of event."""
        return [happening.at_ns for happening in self.events if happening.event is event]


class Beyond(NamedTuple):
    """A goal further from the last reply than allowed; `position_raw` is -1 when there was no reply before it."""

    at_ns: int
    bus_id: int
    goal_raw: int
    position_raw: int


def read(path: Path) -> ByteLog:
    """Read and decode a byte log, also one that is still being written. Raises `ByteLogError`, `OSError`."""
    data = path.read_bytes()
    header = read_header(data, str(path))
    decoder = _Decoder(header.baud)
    for record in read_records(data):
        decoder.take(record)
    return ByteLog(
        header=header,
        frames=tuple(decoder.frames),
        events=tuple(decoder.events),
        stray_bytes=decoder.parser.stray_bytes,
        bad_checksums=decoder.parser.bad_checksums,
        unasked=decoder.unasked,
        lost=decoder.lost,
    )


class _Decoder:
    def __init__(self, baud: int) -> None:
        self.parser = RequestParser()
        self.frames: list[Frame] = []
        self.events: list[Happening] = []
        self.unasked = self.lost = 0
        self._baud = baud
        self._started_ns = 0
        # The host's piece that completed a frame -> the frame's number.
        self._asked: dict[int, int] = {}

    def take(self, record: Record) -> None:
        if record.kind is Kind.HOST:
            self._request(record)
        elif record.kind is Kind.SERVO:
            self._reply(record)
        elif record.kind is Kind.LOST:
            self.lost += 1
        else:
            self.events.append(Happening(record.stamp_ns, Event(record.event), record.link))

    def _request(self, record: Record) -> None:
        # Frames begin at the beginning of a piece: the loop cuts in front of each header.
        if self.parser.idle or record.data[:1] == b"\xff":
            self._started_ns = record.wire_ns
        for index, request in self.parser.feed(record.data):
            self._asked[record.link] = len(self.frames)
            end_ns = record.wire_ns + wire_ns(index + 1, self._baud)
            self.frames.append(_frame(request, self._started_ns, end_ns))

    def _reply(self, record: Record) -> None:
        number = self._asked.get(record.link)
        if number is None:
            self.unasked += len(record.data)
            return
        frame = self.frames[number]
        self.frames[number] = replace(frame, reply=frame.reply + record.data, reply_ns=record.stamp_ns)


def _frame(request: Request, start_ns: int, end_ns: int) -> Frame:
    goal_raw = request.value if request.op is Op.POSITION_SEND else -1
    return Frame(request.op, request.bus_id, request.level, goal_raw, request.payload, start_ns, end_ns)


def last_drive_ns(log: ByteLog, ids: Collection[int] | None = None) -> int:
    """Return when the last command that drives one of the servos (all by default) was complete; -1 for never."""
    wanted = log.header.ids if ids is None else ids
    return max((f.end_ns for f in log.frames if any(bus_id in wanted for bus_id in f.goals())), default=-1)


def torque_off_ns(
    log: ByteLog, ids: Collection[int] | None = None, *, since_ns: int = 0, until_ns: int | None = None
) -> dict[int, int | None]:
    """Return for each servo when the torque-off that lasts was complete on the wire; None: it is driven, or may be.

    Only frames complete in `since_ns` to `until_ns` count. "That lasts" means that no later one of them drives the
    servo: of several torque-offs in a row it is the first.
    """
    off: dict[int, int | None] = dict.fromkeys(log.header.ids if ids is None else ids)
    for frame in log.frames:
        if frame.end_ns < since_ns or (until_ns is not None and frame.end_ns > until_ns):
            continue
        driven = frame.goals()
        for bus_id, instant in off.items():
            if bus_id in driven:
                off[bus_id] = None
            elif instant is None and frame.releases(bus_id):
                off[bus_id] = frame.end_ns
    return off


def commands_beyond(log: ByteLog, limits: Mapping[int, int]) -> list[Beyond]:
    """Return the goals that are more than `limits[id]` ticks from the position the host had last been told.

    A servo commanded before any reply of it was handed over is listed too. Replies count once the host has them.
    """
    found: list[Beyond] = []
    replies = sorted((f.reply_ns, f.bus_id, f.position_raw) for f in log.frames if f.position_raw >= 0)
    known: dict[int, int] = {}
    at = 0
    for frame in log.frames:
        while at < len(replies) and replies[at][0] <= frame.start_ns:
            _, bus_id, position = replies[at]
            known[bus_id] = position
            at += 1
        for bus_id, goal in frame.goals().items():
            position = known.get(bus_id, -1)
            if bus_id in limits and (position < 0 or abs(goal - position) > limits[bus_id]):
                found.append(Beyond(frame.end_ns, bus_id, goal, position))
    return found
