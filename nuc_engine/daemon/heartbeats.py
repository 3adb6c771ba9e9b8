"""Heartbeats of all processes, as the main process sees them.

Counted in its own ticks, so that a machine that stands still makes nobody late.
"""

from __future__ import annotations

from collections.abc import Sequence

from nuc_engine.control.tasks import TASKS
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.modes import Mode

FRESH_NS = 500_000_000
"""How old the last sign of core and guardian may be for systemd to be told that all is well."""

SERVICE_TIMEOUT_NS = 5_000_000_000
"""Heartbeat timeout of the service, after which it is killed: longer than a disk may stall (2 s)."""

FIRST_BEAT_TIMEOUT_NS = 10_000_000_000
"""How long a process may take until its first heartbeat."""

GUARDIAN_TIMEOUT_NS = 100_000_000
"""Heartbeat timeout of the guardian, after which another one takes its place: at least twice the core's limit."""

UNWATCHED_NS = 20_000_000
"""How long, beyond the core's own limit, the guardian may show no life where it is needed: the core shows none either,
or has died."""

_STEADY = tuple(Word.TASK_LAST + TASKS.index(name) for name in ("motor_reply", "motor_conversion", "state_transition"))
"""Tasks that run again and again while a bout runs, whatever the model."""


class Heartbeat:
    """How long one heartbeat has not changed. A process whose word is 0 is still starting."""

    def __init__(self, words: Sequence[int], word: int) -> None:
        self._words, self._word = words, word
        self._beat = 0
        self.silent_ns = 0

    def look(self, passed_ns: int) -> None:
        """Take note of the word; `passed_ns` is the time since the last look, a tick at most."""
        beat = self._words[self._word]
        if beat != self._beat:
            self._beat, self.silent_ns = beat, 0
        else:
            self.silent_ns += passed_ns

    def begin(self) -> None:
        """Watch a new process; the word is 0 until its heart beats."""
        self._beat, self.silent_ns = 0, 0

    @property
    def still(self) -> bool:
        """Whether it has had a heartbeat, but none since the last check."""
        return self._beat != 0 and self.silent_ns > 0

    def stopped(self, limit_ns: int) -> bool:
        """Say whether there has been no heartbeat for longer than `limit_ns`, or none at all."""
        return self.silent_ns > (limit_ns if self._beat else FIRST_BEAT_TIMEOUT_NS)


class Heartbeats:
    """The hearts of all processes and, in a bout, of its tasks."""

    def __init__(self, words: Sequence[int]) -> None:
        self._words = words
        self.core = Heartbeat(words, Word.CORE_BEAT)
        self.guardian = Heartbeat(words, Word.GUARDIAN_BEAT)
        self.service = Heartbeat(words, Word.SERVICE_BEAT)
        self._tasks = tuple(Heartbeat(words, word) for word in _STEADY)
        self._unwatched_ns = 0  # how long the guardian has been needed and stood still, in looks that came in time

    def look(self, passed_ns: int, *, on_time: bool = True) -> None:
        """Take note of every word."""
        running = self._words[Word.MODE] == Mode.RUNNING
        for heart in (self.core, self.guardian, self.service):
            heart.look(passed_ns)
        self._unwatched_ns = self._unwatched_ns + passed_ns * on_time if self._unwatched else 0
        for task in self._tasks:
            task.look(passed_ns if running else 0)
            if not running:
                task.silent_ns = 0

    @property
    def _unwatched(self) -> bool:
        """Whether the guardian stands still while the core does too, or one has died and not been dealt with."""
        words = self._words
        dead = words[Word.GUARDIAN_WATCHES] not in (0, words[Word.CORE_GENERATION])
        return self.guardian.still and (self.core.still or dead)

    def stalled(self) -> tuple[bool, bool, bool]:
        """Say for core, guardian and service whether its heartbeat has timed out.

        Beside a guardian that lives the core is the guardian's to judge.
        """
        limit_ns = self._words[Word.STALL_LIMIT_MS] * 1_000_000
        unwatched = self._unwatched and self._unwatched_ns >= limit_ns + UNWATCHED_NS
        core = self.core.stopped(0 if unwatched else SERVICE_TIMEOUT_NS)
        guardian = unwatched or self.guardian.stopped(max(GUARDIAN_TIMEOUT_NS, 2 * limit_ns))
        return core, guardian, self.service.stopped(SERVICE_TIMEOUT_NS)

    def fresh(self, *, engine: bool, task_ns: int = 2 * FRESH_NS) -> bool:
        """Say whether all live; `engine`: there should be core and guardian.

        The service may be away for as long as it takes to notice and to start another one.
        """
        alive = self.service.silent_ns <= 2 * SERVICE_TIMEOUT_NS
        if not engine:
            return alive
        tasks = all(task.silent_ns <= task_ns for task in self._tasks)
        return alive and tasks and max(self.core.silent_ns, self.guardian.silent_ns) <= FRESH_NS
