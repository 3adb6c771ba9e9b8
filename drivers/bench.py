"""What one does with a bus at the bench: who is there, how long an exchange takes, torque off until all confirm.

Works on a real clock and on a virtual one: the caller passes in a `Pace`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from drivers.bus import READ_ONLY, Bus
from drivers.errors import PortError
from drivers.servo import ReplyStatus

ROUNDS_WHEN_UNKNOWN: Final = 2
"""How often everybody is told to go limp where it is not known who is there: one request may be lost."""

ROUNDS_TO_ANSWER: Final = 5
"""How often one is asked before it counts as not there: a reply may be lost, or not be believed."""

_OK = int(ReplyStatus.OK)


class Pace(Protocol):
    """A clock that can wait."""

    @property
    def now_ns(self) -> int:
        """The time now."""
        ...

    def wait(self, until_ns: int, filenos: Sequence[int]) -> None:
        """Come back at `until_ns`, or as soon as one of the descriptors is readable."""
        ...


class VirtualPace:
    """A clock on which waiting takes no time."""

    def __init__(self) -> None:
        self.now_ns = 0

    def wait(self, until_ns: int, filenos: Sequence[int]) -> None:
        """Let it be `until_ns`."""
        self.now_ns = max(self.now_ns, until_ns)


def finish(bus: Bus, pace: Pace) -> None:
    """Run the cycle that is under way to its end. Raises `PortError`."""
    while not bus.proceed(pace.now_ns):
        pace.wait(bus.wake_ns, bus.filenos())


def discover(bus: Bus, pace: Pace) -> tuple[int, ...]:
    """Return the ids that answer. Raises `PortError`."""
    bus.discover(pace.now_ns)
    finish(bus, pace)
    return bus.found


def read_all(bus: Bus, pace: Pace) -> None:
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


def measure(bus: Bus, pace: Pace, rounds: int) -> Iterator[tuple[RoundTrips, ...]]:
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
                trip.untimed += status == _OK
            trip.missed += status == int(ReplyStatus.MISSED)
            trip.implausible += status == int(ReplyStatus.IMPLAUSIBLE)
            begin_ns = stamp_ns if status == _OK else None
        yield trips


@dataclass(slots=True)
class Releasing:
    """One bus whose servos are to go limp.

    `expected` are the ids that have to confirm, in which order does not matter; None where it is not known who is
    there. `failure` says why a bus could not be released to the end.
    """

    name: str
    bus: Bus
    expected: tuple[int, ...] | None
    confirmed: set[int] = field(default_factory=set[int])
    rounds: int = 0
    failure: str = ""

    @property
    def missing(self) -> tuple[int, ...]:
        """Expected ids that have not confirmed."""
        return tuple(bus_id for bus_id in self.expected or () if bus_id not in self.confirmed)

    @property
    def confirmed_all(self) -> bool:
        """Whether everybody has confirmed who must, and anybody at all."""
        return bool(self.confirmed) and not self.missing and not self.failure

    @property
    def over(self) -> bool:
        """Whether there is nothing left to try."""
        enough = 1 if self.expected is not None else ROUNDS_WHEN_UNKNOWN
        return bool(self.failure) or (self.confirmed_all and self.rounds >= enough)


def release(lines: Sequence[Releasing], pace: Pace, until_ns: int) -> None:
    """Take the torque off on all lines at once, again and again until every servo confirms, or `until_ns`."""
    for line in lines:
        _attempt(line, pace, begin=True)
    while pace.now_ns < until_ns and (busy := [line for line in lines if not line.over]):
        filenos = [fileno for line in busy for fileno in line.bus.filenos()]
        pace.wait(min(until_ns, *(line.bus.wake_ns for line in busy)), filenos)
        for line in busy:
            _attempt(line, pace, begin=False)


def _attempt(line: Releasing, pace: Pace, *, begin: bool) -> None:
    bus = line.bus
    try:
        if not begin and not bus.proceed(pace.now_ns):
            return
        if not begin:
            line.rounds += 1
            both = zip(bus.servos, bus.status, strict=True)
            line.confirmed.update(servo.bus_id for servo, status in both if status == _OK)
        if not line.over:
            bus.torque_off(pace.now_ns)
    except PortError as error:
        line.failure = str(error)


def answers(bus: Bus, pace: Pace, rounds: int = ROUNDS_TO_ANSWER) -> bool:
    """Say whether any servo of the bus can be read within so many cycles; nothing moves. Raises `PortError`."""
    for _ in range(rounds):
        read_all(bus, pace)
        if _OK in bus.status:
            return True
    return False
