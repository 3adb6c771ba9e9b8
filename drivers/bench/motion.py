"""Turning servos at the bench: slowly to a place, or with a constant servo delta, never further than was allowed.

Both begin with readings and refuse to drive without them. Both end when they are asked to, when a servo falls silent or
does what it should not; taking the torque off afterwards (`drivers.bench.release.release`) is up to the caller, always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from drivers.bench.release import finish, read_all
from drivers.bus import LIMP, READ_ONLY, Bus
from drivers.clock import WaitingClock
from drivers.errors import BusError
from drivers.servo import ReplyStatus, ServoModel

READINGS: Final = 200
"""Cycles within which every servo must have been read: some are set up first, and one reply may be lost."""

MISSES: Final = 5
"""So many exchanges without a reply in a row, and a servo counts as silent."""

STILL_CYCLES: Final = 8
"""For so many cycles per servo it is told to stay where it is: some are set up when the first goal comes, and a goal
that had crept away meanwhile would be jumped to."""

MOTION_TIMEOUT_NS: Final = 1_000_000_000
"""How long a servo may lag behind, or take to arrive."""

_FARTHEST: Final = 2.0
"""A goal is never further ahead of its shaft than so many times the lag at which it waits."""

_OK = int(ReplyStatus.OK)
StopRequested = Callable[[], bool]


class Ending(Enum):
    """Why a motion ended."""

    DONE = "done"
    SHORT = "stopped short of its goal"
    STOPPED = "stopped when asked to"
    BLOCKED = "did not follow: something is in its way, or the torque level is too weak"
    RAN_AWAY = "went further than it was allowed to"
    SILENT = "no longer answers"
    REFUSED = "can not be driven"


@dataclass(frozen=True, slots=True)
class CycleReadings:
    """One cycle of a motion: when it was complete (ns since the start), and what was read and sent, raw."""

    time_ns: int
    positions: tuple[int, ...]
    loads: tuple[int, ...]
    statuses: tuple[int, ...]
    goals: tuple[int, ...]

    @property
    def good(self) -> bool:
        """Whether every reply of the cycle was believed."""
        return all(status == _OK for status in self.statuses)


def exchange(bus: Bus, pace: WaitingClock, goals: Sequence[int], begun_ns: int) -> CycleReadings:
    """Exchange once with everybody. Raises `PortError`."""
    bus.start(pace.now_ns, list(goals))
    finish(bus, pace)
    positions, loads, statuses = tuple(bus.position_raw), tuple(bus.current_raw), tuple(bus.status)
    return CycleReadings(pace.now_ns - begun_ns, positions, loads, statuses, tuple(goals))


def read_first(bus: Bus, pace: WaitingClock, rounds: int = READINGS) -> None:
    """Read until every servo's last reply was believed. Raises `BusError` naming those that were not; `PortError`."""
    for _ in range(rounds):
        read_all(bus, pace)
        if all(status == _OK for status in bus.status) or bus.refusals:
            break
    if bus.refusals:
        raise BusError("; ".join(bus.refusals))
    both = zip(bus.servos, bus.status, strict=True)
    if silent := [f"id {servo.bus_id}" for servo, status in both if status != _OK]:
        raise BusError(f"no believable reading from {', '.join(silent)}: nothing is driven blind; try `nuc bus ping`")


def watch(bus: Bus, pace: WaitingClock, period_ns: int, stop: StopRequested) -> Iterator[CycleReadings]:
    """Read everybody every `period_ns`, 0 for as fast as it goes, until asked to stop. Raises `PortError`."""
    begun_ns = due_ns = pace.now_ns
    while not stop():
        look = exchange(bus, pace, [READ_ONLY] * len(bus.servos), begun_ns)
        yield look
        due_ns = wait_for_next(pace, due_ns, period_ns, stop)


class Move:
    """Servos on their way to raw positions, with goals that creep there from where the shafts are.

    `rates` are raw positions per second, `lags` how far a shaft may be behind its goal before that waits for it;
    `ending` says how it went once `run` is over. Raises `BusError` where a position is out of a servo's scale.
    """

    def __init__(
        self,
        bus: Bus,
        pace: WaitingClock,
        targets: Sequence[int],
        rates: Sequence[float],
        lags: Sequence[float],
        tolerances: Sequence[float],
        period_ns: int,
    ) -> None:
        self._bus, self._pace, self._period_ns = bus, pace, period_ns
        self._targets, self._rates, self._lags, self._tolerances = targets, rates, lags, tolerances
        self._late_ns = 0
        self.ending = Ending.DONE

    def run(self, stop: StopRequested) -> Iterator[CycleReadings]:
        """Yield each cycle until everybody has arrived, or something ends it. Raises `BusError`, `PortError`."""
        bus, pace = self._bus, self._pace
        read_first(bus, pace)
        goals = [float(position) for position in bus.position_raw]
        _keep_still(bus, pace, self._period_ns, stop)
        begun_ns = due_ns = last_ns = pace.now_ns
        while (ending := self._ended(goals, stop)) is None:
            now_ns = pace.now_ns
            self._creep(goals, (now_ns - last_ns) * 1e-9, now_ns - last_ns)
            last_ns = now_ns
            both = zip(goals, bus.status, strict=True)
            sent = [round(goal) if status == _OK else READ_ONLY for goal, status in both]
            yield exchange(bus, pace, sent, begun_ns)
            due_ns = wait_for_next(pace, due_ns, self._period_ns, stop)
        self.ending = ending

    def _creep(self, goals: list[float], passed_s: float, passed_ns: int) -> None:
        """Take every goal on by what its rate allows, unless its shaft lags behind; note how long nothing got on."""
        on = False
        for k, (target, rate, lag) in enumerate(zip(self._targets, self._rates, self._lags, strict=True)):
            at = self._bus.position_raw[k]
            # A shaft that fell while its servo started anew is not torn back to where the goal was.
            goals[k] = min(max(goals[k], at - _FARTHEST * lag), at + _FARTHEST * lag)
            left, ahead = target - goals[k], goals[k] - at
            if left and not (abs(ahead) > lag and ahead * left > 0):
                goals[k] += max(-rate * passed_s, min(left, rate * passed_s))
                on = True
        self._late_ns = 0 if on else self._late_ns + passed_ns

    def _ended(self, goals: Sequence[float], stop: StopRequested) -> Ending | None:
        if (ending := _interrupted(self._bus, stop)) is not None:
            return ending
        there = all(goal == target for goal, target in zip(goals, self._targets, strict=True))
        near = zip(self._bus.position_raw, self._targets, self._tolerances, strict=True)
        if there and all(abs(position - target) <= tolerance for position, target, tolerance in near):
            return Ending.DONE
        if self._late_ns >= MOTION_TIMEOUT_NS:
            return Ending.SHORT if there else Ending.BLOCKED
        return None


class Push:
    """One servo with a constant servo delta: its goal is always so far from where it is, as when muscles drive it.

    `most` is how far (raw) the shaft may go from where it was; beyond it is made limp at once. `ending` says how it
    went once `run` is over, `begun_raw` where it began.
    """

    def __init__(
        self,
        bus: Bus,
        pace: WaitingClock,
        delta: int,
        duration_ns: int,
        most: float,
        scale: tuple[int, int],
        period_ns: int,
    ) -> None:
        self._bus, self._pace, self._period_ns = bus, pace, period_ns
        self._delta, self._duration_ns, self._most, self._scale = delta, duration_ns, most, scale
        self.begun_raw = -1
        self.ending = Ending.DONE

    def run(self, stop: StopRequested) -> Iterator[CycleReadings]:
        """Yield each cycle until the time is over, or something ends it. Raises `BusError`, `PortError`."""
        bus, pace = self._bus, self._pace
        read_first(bus, pace)
        self.begun_raw = bus.position_raw[0]
        _keep_still(bus, pace, self._period_ns, stop)
        begun_ns = due_ns = pace.now_ns
        low, high = self._scale
        while (ending := self._ended(pace.now_ns - begun_ns, stop)) is None:
            goal = min(max(bus.position_raw[0] + self._delta, low), high)
            yield exchange(bus, pace, [goal if bus.status[0] == _OK else READ_ONLY], begun_ns)
            due_ns = wait_for_next(pace, due_ns, self._period_ns, stop)
        if ending is Ending.RAN_AWAY:
            exchange(bus, pace, [LIMP], begun_ns)
        self.ending = ending

    def _ended(self, passed_ns: int, stop: StopRequested) -> Ending | None:
        if (ending := _interrupted(self._bus, stop)) is not None:
            return ending
        if abs(self._bus.position_raw[0] - self.begun_raw) > self._most:
            return Ending.RAN_AWAY
        return Ending.DONE if passed_ns >= self._duration_ns else None


def check_raw(model: ServoModel, raw: int) -> None:
    """Raise `BusError` for a position that the model can not be sent to."""
    low, high = model.positions
    if not low <= raw <= high:
        ends = f"{low * model.tick_deg:.1f} to {high * model.tick_deg:.1f} degrees"
        raise BusError(
            f"{raw} ({raw * model.tick_deg:.1f} degrees) is no position of {model.name}: {low} to {high}, {ends}"
        )


def _keep_still(bus: Bus, pace: WaitingClock, period_ns: int, stop: StopRequested) -> None:
    """Tell everybody for a few cycles to stay where they were read to be."""
    begun_ns = due_ns = pace.now_ns
    places = list(bus.position_raw)
    for _ in range(STILL_CYCLES * len(places)):
        if _interrupted(bus, stop) is not None:
            return
        both = zip(places, bus.status, strict=True)
        exchange(bus, pace, [place if status == _OK else READ_ONLY for place, status in both], begun_ns)
        due_ns = wait_for_next(pace, due_ns, period_ns, stop)


def _interrupted(bus: Bus, stop: StopRequested) -> Ending | None:
    """Return what ends any motion at once."""
    if stop():
        return Ending.STOPPED
    if max(bus.misses) >= MISSES:
        return Ending.SILENT
    return Ending.REFUSED if bus.refusals else None


def wait_for_next(pace: WaitingClock, due_ns: int, period_ns: int, stop: StopRequested) -> int:
    """Wait for the next cycle, due a period after the last; return when that was. One that is late begins at once."""
    due_ns = max(due_ns + period_ns, pace.now_ns)
    while pace.now_ns < due_ns and not stop():
        pace.wait(min(due_ns, pace.now_ns + MOTION_TIMEOUT_NS // 10), ())
    return due_ns
