"""Which of the servos' readings are plausible: a position is taken only where the shaft can have gone."""

from __future__ import annotations

from typing import Final

from drivers.servo import ReplyStatus

_UNSURE: Final = int(ReplyStatus.UNSURE)
_OK, _MISSED, _IMPLAUSIBLE = int(ReplyStatus.OK), int(ReplyStatus.MISSED), int(ReplyStatus.IMPLAUSIBLE)
_ROUNDING_TICKS: Final = 1
DOUBT_NS: Final = 5_000_000
"""How much longer than the stamps say two readings may lie apart: a servo looks before it answers, an adapter hands
over in frames of a millisecond, a host is late. Cycles of these families are short, so that matters."""


class FramedReadings:
    """One element per servo in each list, which are changed in place; `missed` and `implausible` count in all.

    A checksum of eight bits lets one wrong status of 256 through, so position and age are weighed: what is further away
    than `ticks_per_s` and one tick of rounding allow, in that time and `DOUBT_NS`, is refused, and believed when a
    second reading agrees with it.
    """

    __slots__ = (
        "_doubtful", "_tick_per_ns", "current_raw", "implausible", "missed", "misses", "position_raw", "stamp_ns",
        "status",
    )  # fmt: skip

    def __init__(self, count: int, ticks_per_s: float) -> None:
        """Start with nothing heard of `count` servos."""
        self.position_raw = [-1] * count
        self.current_raw = [-1] * count
        self.status = [int(ReplyStatus.NONE)] * count
        self.stamp_ns = [-1] * count
        self.misses = [0] * count
        self.missed = self.implausible = 0
        self._tick_per_ns = ticks_per_s * 1e-9
        # Per servo the refused (position, stamp) that a second reading may confirm.
        self._doubtful: list[tuple[int, int] | None] = [None] * count

    def take(self, k: int, position: int, load: int, at_ns: int, *, alarm: bool) -> None:
        """Believe or refuse a reading; one with an `alarm` is believed, but the exchange is not a good one."""
        last = self.position_raw[k]
        # As `_near` has it: this is said of every servo in every cycle.
        reach = _ROUNDING_TICKS + self._tick_per_ns * (at_ns - self.stamp_ns[k] + DOUBT_NS)
        if last >= 0 and abs(position - last) > reach:
            refused = self._doubtful[k]
            if refused is None or not self._near(position, refused[0], at_ns - refused[1]):
                self.refuse(k)
                self._doubtful[k] = position, at_ns
                return
        self.position_raw[k], self.current_raw[k], self.stamp_ns[k] = position, load, at_ns
        if alarm:
            self.refuse(k)
        else:
            self.settle(k)

    def settle(self, k: int) -> None:
        """Note that servo `k` has answered well."""
        self.status[k] = _OK
        self.misses[k] = 0
        self._doubtful[k] = None

    def answer(self, k: int) -> None:
        """Note that a status of servo `k` came, but too late to be believed."""
        self.status[k] = _UNSURE
        self.misses[k] = 0

    def miss(self, k: int) -> None:
        """Note that no status of servo `k` came."""
        self.status[k] = _MISSED
        self.misses[k] += 1
        self.missed += 1

    def refuse(self, k: int) -> None:
        """Note that what came from servo `k` is not what was asked for."""
        self.status[k] = _IMPLAUSIBLE
        self.misses[k] += 1
        self.implausible += 1
        self._doubtful[k] = None

    def _near(self, position: int, other: int, age_ns: int) -> bool:
        return abs(position - other) <= _ROUNDING_TICKS + self._tick_per_ns * (age_ns + DOUBT_NS)
