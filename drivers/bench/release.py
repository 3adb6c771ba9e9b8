"""What one does with a bus at the bench: who is there, how long an exchange takes, torque off until all confirm.

Works on a real clock and on a virtual one: the caller passes in a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from drivers.bus import READ_ONLY, Bus
from drivers.clock import WaitingClock
from drivers.errors import PortError
from drivers.port import NEVER
from drivers.servo import ReplyStatus

ROUNDS_WHEN_UNKNOWN: Final = 2
"""How often all servos are told to go limp where it is not known who is there: one request may be lost."""

ROUNDS_TO_ANSWER: Final = 5
"""How often one is asked before it counts as not there: a reply may be lost, or not be believed."""

_CHANGE_NS: Final = 20_000_000
"""How long a line is left alone before another bus speaks on it: what one's servos still say is no answer to the other.
Assumed; more than an adapter as delivered holds a reply back."""

_OK, _UNSURE = int(ReplyStatus.OK), int(ReplyStatus.UNSURE)
_MISSED, _SILENT = int(ReplyStatus.MISSED), int(ReplyStatus.SILENT)


def finish(bus: Bus, pace: WaitingClock) -> None:
    """Run the cycle that is under way to its end. Raises `PortError`."""
    while not bus.proceed(pace.now_ns):
        pace.wait(bus.wake_ns, bus.filenos())


def discover(bus: Bus, pace: WaitingClock, ids: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the ids that answer, of these or of all. Raises `PortError`."""
    bus.discover(pace.now_ns, ids)
    finish(bus, pace)
    return bus.found


def read_all(bus: Bus, pace: WaitingClock) -> None:
    """Read every servo once; nothing moves. Raises `PortError`."""
    bus.start(pace.now_ns, [READ_ONLY] * len(bus.servos))
    finish(bus, pace)


@dataclass(slots=True)
class RoundTrips:
    """Exchanges with one servo: how long the good ones took (ns), how many more were good, and how many were not."""

    bus_id: int
    times_ns: list[int] = field(default_factory=list[int])
    untimed: int = 0
    missed: int = 0
    implausible: int = 0

    @property
    def exchanges(self) -> int:
        """How many there were in all."""
        return len(self.times_ns) + self.untimed + self.missed + self.implausible

    @property
    def answered(self) -> bool:
        """Whether there was a good one."""
        return bool(self.times_ns) or self.untimed > 0


def measure(bus: Bus, pace: WaitingClock, rounds: int) -> Iterator[tuple[RoundTrips, ...]]:
    """Read every servo `rounds` times; yield what is known after each round, in the order of the bus.

    A good exchange that follows a bad one is not timed, since the bus waited in between; nor is one that was made up
    for after others. Raises `PortError`.
    """
    trips = tuple(RoundTrips(servo.bus_id) for servo in bus.servos)
    for _ in range(rounds):
        begin_ns: int | None = pace.now_ns
        bus.start(begin_ns, [READ_ONLY] * len(bus.servos))
        finish(bus, pace)
        for trip, status, stamp_ns in zip(trips, bus.status, bus.stamp_ns, strict=True):
            if status == _OK and begin_ns is not None and stamp_ns > begin_ns:
                trip.times_ns.append(stamp_ns - begin_ns)
            else:
                trip.untimed += status in (_OK, _UNSURE)
            trip.missed += status in (_MISSED, _SILENT)
            trip.implausible += status == int(ReplyStatus.IMPLAUSIBLE)
            begin_ns = stamp_ns if status == _OK else None
        yield trips


@dataclass(slots=True)
class Releasing:
    """One bus whose servos are to go limp.

    `expected` are the ids that have to confirm, in which order does not matter; None where it is not known who is
    there. `others` is a bus on the same port for servos that may be there beside them: they are told once, after the
    first round of `bus`, and their confirmation is not waited for. `failure` says why a bus could not be released to
    the end.
    """

    name: str
    bus: Bus
    expected: tuple[int, ...] | None
    others: Bus | None = None
    confirmed: set[int] = field(default_factory=set[int])
    rounds: int = 0
    others_told: bool = False
    failure: str = ""
    resume_ns: int = NEVER
    since_ns: int = NEVER

    @property
    def talking(self) -> Bus:
        """The bus whose turn it is."""
        return self.others if self.others is not None and self.rounds and not self.others_told else self.bus

    @property
    def wake_ns(self) -> int:
        """When there next is something to do."""
        return min(self.resume_ns, self.talking.wake_ns)

    @property
    def missing(self) -> tuple[int, ...]:
        """Expected ids that have not confirmed."""
        return tuple(bus_id for bus_id in self.expected or () if bus_id not in self.confirmed)

    @property
    def confirmed_all(self) -> bool:
        """Whether all servos have confirmed that must, and at least one has."""
        return bool(self.confirmed) and not self.missing and not self.failure

    @property
    def over(self) -> bool:
        """Whether there is nothing left to try."""
        enough = 1 if self.expected is not None else ROUNDS_WHEN_UNKNOWN
        told = self.others is None or self.others_told
        return bool(self.failure) or (self.confirmed_all and self.rounds >= enough and told)


def release(lines: Sequence[Releasing], pace: WaitingClock, until_ns: int) -> None:
    """Take the torque off on all lines at once, again and again until every servo confirms, or `until_ns`."""
    for line in lines:
        _attempt(line, lambda line=line: _begin(line, pace.now_ns))
    while pace.now_ns < until_ns and (busy := [line for line in lines if not line.over]):
        filenos = [fileno for line in busy for fileno in line.talking.filenos()]
        pace.wait(min(until_ns, *(line.wake_ns for line in busy)), filenos)
        for line in busy:
            _attempt(line, lambda line=line: _go_on(line, pace.now_ns))


def _attempt(line: Releasing, work: Callable[[], None]) -> None:
    try:
        work()
    except PortError as error:
        line.failure = str(error)


def _begin(line: Releasing, now_ns: int) -> None:
    line.resume_ns = NEVER
    # The reply to an exchange that is still under way confirms nothing.
    line.since_ns = now_ns if line.talking.wake_ns == NEVER else NEVER
    line.talking.torque_off(now_ns)


def _go_on(line: Releasing, now_ns: int) -> None:
    bus = line.talking
    whole = bus.proceed(now_ns)
    if line.resume_ns != NEVER:
        if now_ns >= line.resume_ns:
            _begin(line, now_ns)
        return
    for servo, status, at_ns in zip(bus.servos, bus.status, bus.stamp_ns, strict=True):
        if status == _OK and (whole or at_ns > line.since_ns):
            line.confirmed.add(servo.bus_id)
    if not whole:
        return
    if bus is line.others:
        line.others_told = True
    else:
        line.rounds += 1
    if line.over:
        return
    if line.talking is bus:
        _begin(line, now_ns)
    else:
        line.resume_ns = now_ns + _CHANGE_NS


def answers(bus: Bus, pace: WaitingClock, rounds: int = ROUNDS_TO_ANSWER) -> bool:
    """Say whether any servo of the bus can be read within so many cycles; nothing moves. Raises `PortError`."""
    for _ in range(rounds):
        read_all(bus, pace)
        if _OK in bus.status:
            return True
    return False
