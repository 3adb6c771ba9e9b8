"""Finds a bus on which nobody answers: servos that lost their supply together, if only for a moment.

A servo that comes back from that is limp and knows no goal any more, so the bout must not go on as if nothing had
been. Single servos are waited for longer (`motor_silent`); here it counts that all of a bus are silent together.
"""

from __future__ import annotations

from collections.abc import Sequence

from drivers.servo import ReplyStatus

FEWEST = 5
"""Unanswered requests in a row that are the least a bus of few servos is called silent for: on a bad line, two or three
follow each other by chance."""

LATE_NS = 1_000_000
"""A wake-up later than this: what was missed in that cycle may be the machine's doing."""

_MISSED = int(ReplyStatus.MISSED)


class Silence:
    """Counts requests in a row that no servo of a bus answered, over the ends of cycles.

    `buses` are the servos of each bus, in the order in which they are asked; a bus is silent after as many unanswered
    requests as `cycles` of its cycles have, and not before `FEWEST`.
    """

    def __init__(self, buses: Sequence[Sequence[int]], cycles: int) -> None:
        self._buses = tuple(tuple(bus) for bus in buses)
        self._limits = [max(FEWEST, cycles * len(bus)) for bus in self._buses]
        self._run = [0] * len(self._buses)

    def motors(self, bus: int) -> tuple[int, ...]:
        """Return the servos of a bus."""
        return self._buses[bus]

    def look(self, status: Sequence[int], *, late: bool) -> tuple[int, int] | None:
        """Take the `ReplyStatus` of a finished cycle; return a silent bus and its unanswered requests in a row.

        With `late`, replies that did not come are not counted, and those that came are.
        """
        found: tuple[int, int] | None = None
        for b, motors in enumerate(self._buses):
            run = self._run[b]
            for motor in motors:
                run = 0 if status[motor] != _MISSED else run if late else run + 1
                if run >= self._limits[b]:
                    found = (b, run)
            self._run[b] = run
        return found
