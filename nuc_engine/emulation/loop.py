"""The loop of an emulator process: the emulator says when bytes cross the wire, the loop makes those instants real.

A request is handed to the emulator as soon as its bytes are here, with the instant its first bit starts; plant and
servos are worked out at once, in the time the wire still needs, and the reply waits for its own instant. So nothing is
computed between the end of a request and its reply. Between exchanges the plant is kept up with the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from drivers.family import Sniffer
from drivers.port import NEVER, wire_ns
from drivers.servo import ServoPlant
from nuc_engine.emulation.delays import DelayStatistics
from nuc_engine.emulation.line import ECHOED, ReplyLine
from nuc_engine.emulation.rawlog import LONGEST, RawEvent, RawKind, RawLog, pieces

SPIN_NS: Final = 50_000
"""The clock is watched this long before a reply is due: sleeping ends some 10 us late, and not always the same."""

QUIET_NS: Final = 2_000_000
"""On a bus in use the next request comes sooner than this; before that the plant waits for it."""

CHUNK_NS: Final = 1_000_000
"""The plant is stepped by this much at a time, so that a request waits no longer for it than a step or two; and what
the host says is received so much at a time, so that the plant is no further ahead of the clock."""

BEHIND_NS: Final = 5_000_000
"""A plant that is further behind the clock than this is called late: the physics is too slow, or was not run."""

LATE_NS: Final = 100_000
"""A reply later than this is counted as late."""

CHORE_PERIOD_NS: Final = 25_000_000
_SLACK_NS: Final = 300_000
# Chores and visitors need that much time before the next reply.
_VISIT_NS: Final = 10_000_000
_CHORE_LATEST_NS: Final = 1_000_000_000
_READ: Final = 1024
# Replies that follow so closely that there is no time to look elsewhere in between are handed over in one go.
_MOST_IN_ONE_GO: Final = 32


class WaitCall(Protocol):
    """Waits."""

    def __call__(self, deadline_ns: int, descriptors: Sequence[int], /) -> Sequence[int]:
        """Return the readable ones of `descriptors`, as soon as there are any, or none at `deadline_ns`."""
        ...


class RequestHandler(Protocol):
    """What receives requests and answers them into a `ReplyLine`."""

    def receive(self, data: bytes, now_ns: int) -> None:
        """Take bytes whose first bit starts at `now_ns` of the plant's clock."""
        ...

    def chatter(self, now_ns: int, until_ns: int) -> None:
        """Send what servos say without being asked from `now_ns` to `until_ns`."""
        ...


class Tty(Protocol):
    """The servos' end of the terminal, see `nuc_engine.emulation.pseudo_terminal`."""

    def fileno(self) -> int:
        """Return its descriptor, -1 while there is none."""
        ...

    def read(self, count: int) -> bytes:
        """Return what the host wrote."""
        ...

    def write(self, data: bytes) -> int:
        """Give the host bytes; return how many it could take."""
        ...


class DescriptorHandler(Protocol):
    """Others who may have something to say: the control socket."""

    def filenos(self) -> Sequence[int]:
        """Return the descriptors to listen on."""
        ...

    def handle(self, descriptor: int) -> None:
        """Deal with what came; must not wait."""
        ...


class NoHandler:
    """No control socket."""

    def filenos(self) -> Sequence[int]:
        """Return none."""
        return ()

    def handle(self, descriptor: int) -> None:
        """Never called."""


class EmulatorLoop:
    """Serves one line until `stop`. What the host says is handed on where `sniffer` finds a request end.

    `chores` is called with the time every 25 ms or so, where it disturbs least.

    `exchanges` counts pieces received (mostly one request each), `lost` replies that had no reader. `replies` is
    how late they were, `plant_behind` how far the plant was behind the clock each time it was let run: up to 3 ms in
    between exchanges is meant to be, see `QUIET_NS`.
    """

    def __init__(
        self,
        emulator: RequestHandler,
        plant: ServoPlant,
        tty: Tty,
        line: ReplyLine,
        *,
        baud: int,
        start_ns: int,
        now: Callable[[], int],
        wait: WaitCall,
        sniffer: Sniffer | None = None,
        log: RawLog | None = None,
    ) -> None:
        """Start with plant time 0 at `start_ns` of the clock."""
        self.exchanges = 0
        self.lost = 0
        self.stopped = False
        self.visitor: DescriptorHandler = NoHandler()
        self.chores: Callable[[int], None] = _nothing
        self.replies = DelayStatistics(LATE_NS)
        self.plant_behind = DelayStatistics(BEHIND_NS)
        self._emulator, self._plant, self._tty, self._line = emulator, plant, tty, line
        self._start_ns, self._now, self._wait = start_ns, now, wait
        self._sniffer, self._log = sniffer, log
        self._baud = baud
        self._most = max(LONGEST, CHUNK_NS // wire_ns(1, baud))
        # What was read and is not all handed on yet, how much of it is, and where requests end in it.
        self._backlog = b""
        self._at = 0
        self._ends: list[int] = []
        self._received_ns = 0
        self._rx_free_ns = 0
        self._plant_ns = self._rest_ns = start_ns
        self._chore_ns = start_ns + CHORE_PERIOD_NS
        self._stall_ns = self._visited_ns = 0

    def run(self) -> None:
        """Serve until `stop` is called. Raises `PlantFault` when the physics diverges, `OSError` of the log's disk."""
        while not self.stopped:
            self.turn()

    def stop(self) -> None:
        """End `run` within a few milliseconds; may be called by a signal handler."""
        self.stopped = True

    def stall(self, duration_ns: int) -> None:
        """Let no byte in or out for this long; the plant goes on."""
        self._stall_ns = self._now() + duration_ns
        self.event(RawEvent.STALLED, duration_ns // 1_000_000)

    def event(self, event: RawEvent, number: int = 0) -> None:
        """Put what was done to the emulator into the byte log."""
        if self._log is not None:
            now_ns = self._now()
            self._log.put(RawKind.EVENT, number, now_ns, now_ns, b"", event)

    def turn(self) -> None:
        """Wait for the next thing and do it."""
        due_ns, feed_ns = self._line.due_ns, self._feed_ns()
        if self._stall_ns > min(due_ns, feed_ns):
            due_ns, feed_ns = max(due_ns, self._stall_ns), max(feed_ns, self._stall_ns)
        deadline_ns = min(due_ns - SPIN_NS, feed_ns, self._rest_ns)
        ready = self._wait(deadline_ns, self._listened_to(due_ns))
        now_ns = self._now()
        for descriptor in ready:
            if descriptor == self._tty.fileno():
                self._receive(now_ns)
            else:
                self.visitor.handle(descriptor)
        if now_ns >= feed_ns:
            self._feed()
        if now_ns >= due_ns - SPIN_NS:
            self._speak(due_ns)
        elif now_ns >= self._rest_ns:
            self._rest(now_ns)

    def _feed_ns(self) -> int:
        return max(self._received_ns, self._rx_free_ns) if self._backlog else NEVER

    def _listened_to(self, due_ns: int) -> Sequence[int]:
        """Return the descriptors to wait for: visitors only where a reply is not near, or they have waited for long.

        A host that is ahead of its own line, or whose line is stalled, waits in the kernel.
        """
        now_ns = self._now()
        tty = self._tty.fileno()
        deaf = tty < 0 or self._backlog or self._stall_ns > now_ns
        if due_ns - now_ns < _SLACK_NS and now_ns - self._visited_ns < _VISIT_NS:
            return () if deaf else (tty,)
        self._visited_ns = now_ns
        others = self.visitor.filenos()
        return others if deaf else (tty, *others)

    def _receive(self, now_ns: int) -> None:
        self._backlog = self._tty.read(_READ)
        self._received_ns, self._at = now_ns, 0
        if self._sniffer is not None:
            self._ends = [index + 1 for index, _ in self._sniffer.feed(self._backlog)]
        if self._backlog and now_ns >= self._rx_free_ns:
            self._feed()

    def _feed(self) -> None:
        """Give the emulator the next piece: one request, as far as the bytes go, and time allows."""
        piece = self._next_piece()
        start_ns = max(self._received_ns, self._rx_free_ns)
        self._rx_free_ns = end_ns = start_ns + wire_ns(len(piece), self._baud)
        self._line.request = number = self.exchanges
        self.exchanges += 1
        self.plant_behind.note(start_ns - self._plant_ns)
        self._emulator.receive(piece, start_ns - self._start_ns)
        now_ns = self._now()
        self._plant_ns = max(self._plant_ns, end_ns)
        self._rest_ns = end_ns + QUIET_NS
        if self._log is not None:
            for offset in range(0, len(piece), LONGEST):
                part = piece[offset : offset + LONGEST]
                self._log.put(RawKind.HOST, number, self._received_ns, start_ns + wire_ns(offset, self._baud), part)
        self._use_time(now_ns)

    def _next_piece(self) -> bytes:
        """Return the next bytes for the emulator; there must be some."""
        begin, end = self._at, min(len(self._backlog), self._at + self._most)
        if self._ends and self._ends[0] <= end:
            end = self._ends.pop(0)
        piece = self._backlog[begin:end]
        self._at = end
        if end == len(self._backlog):
            self._backlog = b""
        return piece

    def _speak(self, due_ns: int) -> None:
        """Hand the next message over when it is due, and those that follow on its heels."""
        for _ in range(_MOST_IN_ONE_GO):
            self._say(due_ns)
            due_ns = self._line.due_ns
            if due_ns - self._now() >= SPIN_NS:
                return

    def _say(self, due_ns: int) -> None:
        now = self._now
        wire_ns_, data, request = self._line.take()
        while now() < due_ns:
            pass
        taken = self._tty.write(data)
        stamp_ns = now()
        self.replies.note(stamp_ns - due_ns)
        if taken < len(data):
            self.lost += 1
        if self._log is not None:
            kind = RawKind.ECHO if request == ECHOED else RawKind.SERVO
            for piece in pieces(data[:taken]):
                self._log.put(kind, request, stamp_ns, wire_ns_, piece)
            for piece in pieces(data[taken:]):
                self._log.put(RawKind.LOST, request, stamp_ns, wire_ns_, piece)

    def _rest(self, now_ns: int) -> None:
        """Let the plant catch up, a chunk at a time, and do what can wait."""
        target_ns = min(now_ns, self._plant_ns + QUIET_NS)
        if target_ns > self._plant_ns:
            self.plant_behind.note(now_ns - self._plant_ns)
            self._plant.advance(target_ns - self._start_ns)
            self._plant_ns = target_ns
            now_ns = self._now()
        self._emulator.chatter(now_ns - self._start_ns, now_ns - self._start_ns + QUIET_NS)
        self._rest_ns = self._plant_ns + CHUNK_NS
        self._use_time(now_ns)

    def _use_time(self, now_ns: int) -> None:
        """Do what can wait, if there is time for it before the next reply."""
        if self._log is not None:
            self._log.flush()
        if now_ns < self._chore_ns:
            return
        if self._line.due_ns - now_ns > _SLACK_NS or now_ns - self._chore_ns > _CHORE_LATEST_NS:
            self._chore_ns = now_ns + CHORE_PERIOD_NS
            self.chores(now_ns)


def _nothing(now_ns: int) -> None:
    """No chores."""
