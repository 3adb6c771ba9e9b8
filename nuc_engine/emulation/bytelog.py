"""The byte log, decoded: what the host asked and when, what it got, and what that says about its care for the leg.

    log = read(path)
    log.frames[0].kind, log.frames[0].end_ns, log.frames[0].positions
    torque_off_ns(log)          # per servo: since when it is limp
    commands_beyond(log, {0: 40})   # goals further than 40 ticks from the servo's last reply

The sniffer of the servo family that the log names decodes them. All instants are CLOCK_MONOTONIC in ns,
comparable with stamps of other processes on the machine.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from drivers.factory import find_family
from drivers.family import EVERYBODY, DecodedRequest, Sniffer
from drivers.port import wire_ns
from nuc_engine.emulation.rawlog import LogHeader, RawEvent, RawKind, RawRecord, read_header, read_records


@dataclass(frozen=True, slots=True)
class LoggedExchange:
    """One request with a right checksum, and what came back for it.

    `start_ns` is its first bit, `end_ns` its last byte complete on the wire; `reply` the bytes handed to the host, and
    `reply_ns` when the last of them had been, -1 for no reply. `positions` are those the reply reported, by bus id.
    """

    heard: DecodedRequest
    start_ns: int
    end_ns: int
    reply: bytes = b""
    reply_ns: int = -1
    positions: Mapping[int, int] = field(default_factory=dict[int, int])

    @property
    def kind(self) -> str:
        """What the request is, in the family's words."""
        return self.heard.kind

    @property
    def position_raw(self) -> int:
        """The position that a reply reports of one servo; -1 without one, or with several."""
        return next(iter(self.positions.values())) if len(self.positions) == 1 else -1

    def goals(self) -> Mapping[int, int]:
        """Return the goal of each servo this frame drives, or may drive, by bus id."""
        return self.heard.goals

    def drives(self, bus_id: int) -> bool:
        """Say whether this frame drives that servo, or may: a goal may come to a servo without torque."""
        return bus_id in self.heard.goals or _among(bus_id, self.heard.arms)

    def releases(self, bus_id: int) -> bool:
        """Say whether this frame takes the torque off that servo."""
        return _among(bus_id, self.heard.releases)


class LoggedEvent(NamedTuple):
    """Something done to the emulator: when, what, and the bus id or number that goes with it."""

    at_ns: int
    event: RawEvent
    number: int


@dataclass(frozen=True, slots=True)
class ByteLog:
    """A decoded log. `stray_bytes` and `bad_checksums` count what the host sent that is no request.

    `unasked` are bytes the host got without having asked; `echoed` its own that it got back; `lost` replies that nobody
    could take.
    """

    header: LogHeader
    frames: tuple[LoggedExchange, ...]
    events: tuple[LoggedEvent, ...]
    stray_bytes: int
    bad_checksums: int
    unasked: int
    echoed: int
    lost: int

    def when(self, event: RawEvent) -> list[int]:
        """Return the instants of one kind of event."""
        return [happening.at_ns for happening in self.events if happening.event is event]


class LimitExceeded(NamedTuple):
    """A goal further from the last reply than allowed; `position_raw` is -1 when there was no reply before it."""

    at_ns: int
    bus_id: int
    goal_raw: int
    position_raw: int


def read(path: Path) -> ByteLog:
    """Read and decode a byte log, also one that is still being written.

    Raises `ByteLogError`, `OSError`, or `BusUrlError` for one of a family there is not.
    """
    data = path.read_bytes()
    header = read_header(data, str(path))
    decoder = _Decoder(header.baud, find_family(header.family).sniffer())
    for record in read_records(data):
        decoder.take(record)
    return ByteLog(
        header=header,
        frames=decoder.answered(),
        events=tuple(decoder.events),
        stray_bytes=decoder.sniffer.stray_bytes,
        bad_checksums=decoder.sniffer.bad_checksums,
        unasked=decoder.unasked,
        echoed=decoder.echoed,
        lost=decoder.lost,
    )


class _Decoder:
    def __init__(self, baud: int, sniffer: Sniffer) -> None:
        self.sniffer = sniffer
        self.frames: list[LoggedExchange] = []
        self.events: list[LoggedEvent] = []
        self.unasked = self.echoed = self.lost = 0
        self._baud = baud
        # When each byte began that came since the last request ended, and what was stray and spoilt by then.
        self._begun: list[int] = []
        self._before = (0, 0)
        self._link = self._piece_ns = -1
        # The host's piece that completed a frame -> the frame's number.
        self._asked: dict[int, int] = {}

    def take(self, record: RawRecord) -> None:
        if record.kind is RawKind.HOST:
            self._request(record)
        elif record.kind is RawKind.SERVO:
            self._reply(record)
        elif record.kind is RawKind.ECHO:
            self.echoed += len(record.data)
        elif record.kind is RawKind.LOST:
            self.lost += 1
        else:
            self.events.append(LoggedEvent(record.stamp_ns, RawEvent(record.event), record.link))

    def answered(self) -> tuple[LoggedExchange, ...]:
        """Return the frames, with what their replies reported."""
        return tuple(
            replace(frame, positions=self.sniffer.positions(frame.heard, frame.reply)) if frame.reply else frame
            for frame in self.frames
        )

    def _request(self, record: RawRecord) -> None:
        if record.link != self._link:
            self._link, self._piece_ns = record.link, record.wire_ns
        done = 0
        for index, heard in self.sniffer.feed(record.data):
            self._note(record, done, index + 1)
            done = index + 1
            end_ns = record.wire_ns + wire_ns(done, self._baud)
            self._asked[record.link] = len(self.frames)
            self.frames.append(LoggedExchange(heard, self._start_ns(), end_ns))
        self._note(record, done, len(record.data))

    def _note(self, record: RawRecord, first: int, end: int) -> None:
        self._begun += [record.wire_ns + wire_ns(k, self._baud) for k in range(first, end)]

    def _start_ns(self) -> int:
        """Return when the request began that has just ended: all that came since the last one, but what is stray."""
        stray, spoilt = self._before
        self._before = self.sniffer.stray_bytes, self.sniffer.bad_checksums
        begun, self._begun = self._begun, []
        # The length of a frame with a wrong checksum is unknown.
        if self.sniffer.bad_checksums > spoilt:
            return self._piece_ns
        return begun[min(max(self.sniffer.stray_bytes - stray, 0), len(begun) - 1)]

    def _reply(self, record: RawRecord) -> None:
        number = self._asked.get(record.link)
        if number is None:
            self.unasked += len(record.data)
            return
        frame = self.frames[number]
        self.frames[number] = replace(frame, reply=frame.reply + record.data, reply_ns=record.stamp_ns)


def _among(bus_id: int, ids: Collection[int]) -> bool:
    return bus_id in ids or EVERYBODY in ids


def last_drive_ns(log: ByteLog, ids: Collection[int] | None = None) -> int:
    """Return when the last command that drives one of the servos (all by default) was complete; -1 for never."""
    wanted = log.header.ids if ids is None else ids
    return max((f.end_ns for f in log.frames if any(f.drives(bus_id) for bus_id in wanted)), default=-1)


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
        for bus_id, instant in off.items():
            if frame.drives(bus_id):
                off[bus_id] = None
            elif instant is None and frame.releases(bus_id):
                off[bus_id] = frame.end_ns
    return off


def commands_beyond(log: ByteLog, limits: Mapping[int, int]) -> list[LimitExceeded]:
    """Return the goals that are more than `limits[id]` ticks from the position the host had last been told.

    A servo commanded before any reply of it was handed over is listed too. Replies count once the host has them.
    """
    found: list[LimitExceeded] = []
    replies = sorted(
        (frame.reply_ns, bus_id, position) for frame in log.frames for bus_id, position in frame.positions.items()
    )
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
                found.append(LimitExceeded(frame.end_ns, bus_id, goal, position))
    return found
