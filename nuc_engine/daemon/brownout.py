"""Finds out that the servos of a bus were without supply for a moment: all of them were silent, and answer again.

A servo that comes back from that is limp and knows no goal any more, so the bout must not go on as if nothing had been.
Where it is the computer that was held up, the replies that were missed come too, late and at once: then nothing was
lost, and no servo is blamed. A bus that stays silent is found by its servos one by one (`motor_silent`).
"""

from __future__ import annotations

from collections.abc import Sequence

from drivers.servo import ReplyStatus

FEWEST = 5
"""Unanswered requests in a row that a silence has at least: on a bad line, two or three follow each other by chance."""

LATE_NS = 1_000_000
"""A wake-up later than this: what was missed in that cycle may be the machine's doing."""

_MISSED = (int(ReplyStatus.MISSED), int(ReplyStatus.SILENT))
_ANSWERED = (int(ReplyStatus.OK), int(ReplyStatus.UNSURE))


class BrownOutDetector:
    """Counts requests in a row that no servo of a bus answered, over the ends of cycles.

    `buses` are the servos of each bus, in the order in which they are asked; a silence is one of as many requests as
    `cycles` of the bus's cycles have, and not less than `FEWEST`.
    """

    def __init__(self, buses: Sequence[Sequence[int]], cycles: int, stray_bytes: int = 0) -> None:
        self._buses = tuple(tuple(bus) for bus in buses)
        self._limits = [max(FEWEST, cycles * len(bus)) for bus in self._buses]
        self._run = [0] * len(self._buses)
        # Bytes that came unasked, in all: up to the last cycle, and when each silence began.
        self._stray = stray_bytes
        self._before = [stray_bytes] * len(self._buses)

    def motors(self, bus: int) -> tuple[int, ...]:
        """Return the servos of a bus."""
        return self._buses[bus]

    def look(self, status: Sequence[int], stray_bytes: int, *, late: bool) -> tuple[int, int] | None:
        """Take the `ReplyStatus` of a finished cycle and the bus's count of stray bytes.

        Returns a bus that was silent and answers again, and how many requests it did not answer. With `late`, replies
        that did not come are not counted, and those that came are.
        """
        found: tuple[int, int] | None = None
        for b, motors in enumerate(self._buses):
            run, before = self._run[b], self._before[b]
            for motor in motors:
                if status[motor] in _MISSED:
                    before = before if run else self._stray
                    run = run if late else run + 1
                    continue
                # Half of what was missed is enough to show that it was sent: a reply has two bytes.
                if status[motor] in _ANSWERED and run >= self._limits[b] and stray_bytes - before < run:
                    found = (b, run)
                run = 0
            self._run[b], self._before[b] = run, before
        self._stray = stray_bytes
        return found
