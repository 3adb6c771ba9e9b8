"""What the servos are believed to have said: a reply is taken only where the shaft can have gone.

That is within `v_max T + 1 tick` of the last believed position, T being the time since. A shaft that is pushed may be
faster: up to `OVERSPEED` times that is believed of a second reply in a row that agrees with the first. What lies beyond
is refused, however often it is said: two servos with one id say the same wrong thing again and again. It is believed
once the shaft can have got there. Only a first reply that nothing has borne out yet gives way to any two in a row that
agree with each other: those are two against one.

A servo whose reply was missed, late or refused counts again after two replies in a row that agree within what a shaft
can do in one cycle: `v_max T + 1 tick`, T being no more than a cycle however long ago the first of them came.
"""

from __future__ import annotations

from typing import Final

from drivers.port import NEVER
from drivers.servo import ReplyStatus, count_misses

_OK, _MISSED, _IMPLAUSIBLE = int(ReplyStatus.OK), int(ReplyStatus.MISSED), int(ReplyStatus.IMPLAUSIBLE)
_UNSURE, _SILENT = int(ReplyStatus.UNSURE), int(ReplyStatus.SILENT)
_ROUNDING_TICKS: Final = 1
_ODD_PASSIVES: Final = 3

OVERSPEED: Final = 1.5
"""How many times faster than assumed a shaft may turn if two replies say so. Assumed."""


class AiMotorReadings:
    """One element per servo in each list, which are changed in place; `missed` and `implausible` count in all.

    `ticks_per_s` is the fastest a shaft is believed to turn; `cycle_ns` how long a round of exchanges takes. `unsure`
    are the servos that do not count until two of their replies agree, and `doubted` says how many they are.
    """

    __slots__ = (
        "_before",
        "_cycle_ns",
        "_doubtful",
        "_first_ns",
        "_odd_passives",
        "_tick_per_ns",
        "current_raw",
        "doubted",
        "implausible",
        "missed",
        "misses",
        "position_raw",
        "stamp_ns",
        "status",
        "unsure",
    )

    def __init__(self, count: int, ticks_per_s: float, cycle_ns: int = NEVER) -> None:
        """Start with nothing heard of `count` servos."""
        self.position_raw = [-1] * count
        self.current_raw = [-1] * count
        self.status = [int(ReplyStatus.NONE)] * count
        self.stamp_ns = [-1] * count
        self.misses = [0] * count
        self.missed = self.implausible = 0
        self.unsure = [False] * count
        self.doubted = 0
        self._tick_per_ns = ticks_per_s * 1e-9
        self._cycle_ns = cycle_ns
        # Per servo when its first believed reply came; -1 before.
        self._first_ns = [-1] * count
        # Per servo its last position that was not believed, refused or unsure, and its stamp.
        self._doubtful: list[tuple[int, int] | None] = [None] * count
        self._odd_passives = [0] * count
        self._before = (self.position_raw, self.current_raw, self.stamp_ns, self.misses)

    def begin(self) -> None:
        """Keep what is believed now, for replies of the coming cycle that have to be taken back."""
        self._before = (self.position_raw[:], self.current_raw[:], self.stamp_ns[:], self.misses[:])

    def take(self, k: int, current: int | None, position: int, at_ns: int) -> bool:
        """Believe or refuse a reply of servo `k`; a `current` of None leaves the last one in force."""
        reachable = self.reachable(k, position, at_ns)
        if not (reachable or self._confirms(k, position, at_ns)):
            self.refuse(k)
            self._doubtful[k] = (position, at_ns)
            return False
        if self.unsure[k]:
            if reachable and not self._agrees(k, position, at_ns):
                self.answer(k)
                self._doubtful[k] = (position, at_ns)
                return True
            self.unsure[k] = False
            self.doubted -= 1
        self.position_raw[k] = position
        self.stamp_ns[k] = at_ns
        if current is not None:
            self.current_raw[k] = current
        self.settle(k)
        return True

    def confirms_passive(self, k: int, looks_right: bool) -> bool:
        """Whether servo `k` has confirmed that its torque is off; refuses the reply if not.

        What a real servo says is not established. One that never says what the sources expect is believed from the
        third time in a row on, until it does say it.
        """
        # An odd answer may be that of another servo, come late, or the answer to a send: that is what a torque-off
        # becomes if bit 7 is turned over. Either befalls one answer now and then, and a servo that answers as expected
        # loses this trust at once. Three in a row are this servo's way to answer; its position must be one the shaft
        # can have got to all the same. What is left: of such a servo the last torque-off before it counts as limp may
        # have been heard as a send. That lasts until it is told again, as limp servos are from time to time.
        self._odd_passives[k] = 0 if looks_right else self._odd_passives[k] + 1
        if looks_right or self._odd_passives[k] >= _ODD_PASSIVES:
            return True
        self.refuse(k)
        return False

    def answer(self, k: int) -> None:
        """Note that servo `k` has answered, and that nothing is believed of it before another answer agrees."""
        self.status[k] = _UNSURE
        self.misses[k] = 0
        self._doubt(k)

    def distrust_all(self) -> None:
        """Let no servo count until it has answered twice: for some time replies could not be assigned to servos."""
        for k, status in enumerate(self.status):
            self._doubt(k)
            if status == _OK:
                self.status[k] = _UNSURE

    def _doubt(self, k: int) -> None:
        self._doubtful[k] = None
        self.doubted += not self.unsure[k]
        self.unsure[k] = True

    def settle(self, k: int) -> None:
        """Note that servo `k` has given a good reply."""
        self.status[k] = _OK
        self.misses[k] = 0
        self._doubtful[k] = None
        if self._first_ns[k] < 0:
            self._first_ns[k] = self.stamp_ns[k]

    def miss(self, k: int) -> None:
        """Note that no reply of servo `k` came."""
        self._fail(k, _MISSED)
        self.missed += 1

    def silence(self, k: int) -> None:
        """Note that servo `k` did not answer after all retries."""
        self._fail(k, _SILENT)
        self.missed += 1

    def _fail(self, k: int, status: int) -> None:
        self.status[k] = status
        self.misses[k] = count_misses(status, self.misses[k])
        self._doubt(k)

    def refuse(self, k: int) -> None:
        """Note that what came was not a valid reply of servo `k`."""
        self._fail(k, _IMPLAUSIBLE)
        self.implausible += 1

    def take_back(self, k: int) -> None:
        """Refuse a reply of this cycle after all; what was believed before the cycle stands again."""
        if self.status[k] not in (_OK, _UNSURE):
            return
        positions, currents, stamps, misses = self._before
        self.position_raw[k], self.current_raw[k], self.stamp_ns[k] = positions[k], currents[k], stamps[k]
        self.misses[k] = misses[k]
        if self.stamp_ns[k] < 0:
            self._first_ns[k] = -1
        self.refuse(k)

    def reachable(self, k: int, position: int, at_ns: int) -> bool:
        """Whether the shaft can have come to `position` since the last believed reply; the first is always believed."""
        last = self.position_raw[k]
        return last < 0 or abs(position - last) <= _ROUNDING_TICKS + self._tick_per_ns * (at_ns - self.stamp_ns[k])

    def _agrees(self, k: int, position: int, at_ns: int) -> bool:
        """Whether the reply before this one says the same, as far as a shaft can turn in one cycle."""
        other = self._doubtful[k]
        if other is None:
            return False
        cycle_ns = min(at_ns - other[1], self._cycle_ns)
        return abs(position - other[0]) <= _ROUNDING_TICKS + self._tick_per_ns * cycle_ns

    def _confirms(self, k: int, position: int, at_ns: int) -> bool:
        """Whether the reply before this one was refused and agrees with it, and what they say is possible at all."""
        refused = self._doubtful[k]
        if self.status[k] != _IMPLAUSIBLE or refused is None:
            return False
        if not self._at_most(position - refused[0], at_ns - refused[1]):
            return False
        stamp_ns = self.stamp_ns[k]
        return stamp_ns == self._first_ns[k] or self._at_most(position - self.position_raw[k], at_ns - stamp_ns)

    def _at_most(self, ticks: int, time_ns: int) -> bool:
        """Whether even a fast shaft can turn by so many ticks in this time."""
        return abs(ticks) <= _ROUNDING_TICKS + OVERSPEED * self._tick_per_ns * time_ns
