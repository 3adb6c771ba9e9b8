"""Taking the torque off every servo, as the only writer on the bus: first fast, then until all have confirmed.

Requests go out back to back. The AI motor's bus has a line for each direction, so nobody has to wait for replies: with
18 servos at 57,600 baud the last one is limp 12.5 ms after the first byte; asked one by one, with a servo or two that
do not answer, it could take three times as long. Where host and servos share a wire, what is said while servos answer
the dead core is lost: there one request for all is repeated for as long as they may talk. Then every servo is asked
again, one by one or in a group, and its reply counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from drivers.bus import Bus
from drivers.clock import WaitingClock
from drivers.errors import PortError
from drivers.port import NEVER, Port, wire_ns
from drivers.servo import ReplyStatus
from nuc_engine.daemon.block import Word

FRAME_BYTES = 4
"""What is waited for before the volley: a frame of the AI motor's, which is not to be cut in two. Whatever longer ones
of others are cut, a volley that is repeated begins anew behind them."""

SETTLE_NS = 2_000_000
"""How long after the last request of the volley replies may still come."""

FAST_ROUNDS = 10
"""Rounds of asking that follow each other at once."""

PAUSE_NS = 100_000_000
"""Pause between the rounds after those."""

LAST_NS = 5_000_000_000
"""How long servos that do not answer are asked after the main process has died, when no other process can take over."""

BEAT_NS = 4_000_000
"""How often the heart beats meanwhile."""


@dataclass(slots=True)
class GuardedBus:
    """One bus as the guardian uses it. `motors` are the plan's numbers of the bus's servos, in their order.

    `port` says how long the adapter may hold replies back, and takes the `volley`: the bytes that take the torque off
    all of them. `discard` throws away what waits to be sent; what can not be thrown away may hold the volley back by
    `behind_ns`. What came in is left for later: reading may have to wait for a worker of the kernel. Both raise
    PortError when the device is gone.
    """

    name: str
    baud: int
    port: Port
    bus: Bus
    motors: tuple[int, ...]
    release_burst: bytes
    discard: Callable[[], None]
    behind_ns: int = 0
    lost: bool = False


class Release:
    """Takes the torque off on all lines; `words` are the block's, `beat` is called at every wake-up."""

    def __init__(
        self, lines: Sequence[GuardedBus], words: memoryview, clock: WaitingClock, beat: Callable[[], None]
    ) -> None:
        self.lines = tuple(lines)
        self._words, self._clock, self._beat = words, clock, beat

    @property
    def lost(self) -> tuple[str, ...]:
        """Names of the buses whose port is gone."""
        return tuple(line.name for line in self.lines if line.lost)

    def run(self, until_ns: int = NEVER) -> bool:
        """Repeat until every servo has confirmed, or `until_ns`; False when some have not, or a port is gone.

        `Word.UNCONFIRMED` has a bit for each motor that has not confirmed yet, `Word.LIMP_SINCE` when each did;
        `Word.BUS_LOST` is set for a lost port.
        """
        self._words[Word.UNCONFIRMED] = sum(1 << motor for line in self.lines for motor in line.motors)
        for line in self.lines:
            for motor in line.motors:
                self._words[Word.LIMP_SINCE + motor] = 0
        self._fire()
        rounds = 0
        while any(self._open(line) for line in self.lines) and self._clock.now_ns < until_ns:
            if rounds >= FAST_ROUNDS:
                self._pause(self._clock.now_ns + PAUSE_NS)
            self._ask(until_ns)
            rounds += 1
        return not self._words[Word.UNCONFIRMED]

    def _open(self, line: GuardedBus) -> bool:
        return not line.lost and any(self._words[Word.UNCONFIRMED] >> motor & 1 for motor in line.motors)

    def _fire(self) -> None:
        """Send every request back to back, behind what was under way."""
        for line in self.lines:
            self._attempt(line, line.discard)
        self._pause(self._clock.now_ns + max(wire_ns(FRAME_BYTES, line.baud) for line in self.lines))
        now_ns = self._clock.now_ns
        for line in self.lines:
            self._attempt(line, lambda line=line: line.port.write(line.release_burst, now_ns))
        # A reply that came later than that could be taken for the answer to what is asked next.
        last = max(
            line.behind_ns + wire_ns(len(line.release_burst), line.baud) + line.port.hold_ns for line in self.lines
        )
        self._pause(now_ns + last + SETTLE_NS)

    def _ask(self, until_ns: int) -> None:
        """Ask every servo of the buses where one has not confirmed, and note which do."""
        asking = [line for line in self.lines if self._open(line)]
        for line in asking:
            self._attempt(line, lambda line=line: line.bus.torque_off(self._clock.now_ns))
        busy = [line for line in asking if not line.lost]
        while busy and self._clock.now_ns < until_ns:
            filenos = [fileno for line in busy for fileno in line.bus.filenos()]
            self._pause(min(until_ns, *(line.bus.wake_ns for line in busy)), filenos)
            busy = [line for line in busy if not self._proceed(line)]

    def _proceed(self, line: GuardedBus) -> bool:
        """Go on with one line; True when its round is over."""
        done: list[bool] = []
        self._attempt(line, lambda: done.append(line.bus.proceed(self._clock.now_ns)))
        if line.lost or not done[0]:
            return line.lost
        for motor, status in zip(line.motors, line.bus.status, strict=True):
            if status == ReplyStatus.OK:
                self._words[Word.UNCONFIRMED] &= ~(1 << motor)
                self._words[Word.LIMP_SINCE + motor] = self._words[Word.LIMP_SINCE + motor] or self._clock.now_ns
        return True

    def _attempt(self, line: GuardedBus, action: Callable[[], None]) -> None:
        """Do something with a line; one that is gone must not keep the torque on the others."""
        if line.lost:
            return
        try:
            action()
        except PortError:
            line.lost = True
            self._words[Word.BUS_LOST] = 1

    def _pause(self, deadline_ns: int, filenos: Sequence[int] = ()) -> None:
        """Let time pass, and beat every few milliseconds; a readable descriptor ends it."""
        readable: Sequence[int] = ()
        while not readable and (now_ns := self._clock.now_ns) < deadline_ns:
            self._beat()
            readable = self._clock.wait(min(deadline_ns, now_ns + BEAT_NS), filenos)
        self._beat()
