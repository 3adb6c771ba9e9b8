"""The places in the daemon that children fill: what they run, and when a place may be filled again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from nuc_engine.daemon.launch import Launch
from nuc_engine.daemon.spawn import Child

RESTART_DELAYS_NS = (0, 500_000_000, 1_000_000_000, 2_000_000_000, 5_000_000_000)
"""Delays before a process is restarted: after the free restarts, after the next death, and so on."""

SERVICE_PAUSE_NS = 500_000_000
"""The longest of these for the service: strangers can end one again and again, and nobody else is to wait for that."""

STABLE_NS = 10_000_000_000
"""A process that ran this long is stable: its death counts as the first in a row."""

MOST_STARTS = 3
"""An emulator that died so often in a row, and has no bus to show, is given up: another restart would not help."""


class Programs(Protocol):
    """What the children run; each returns its exit status."""

    def core(self, launch: Launch) -> int:
        """Run the tasks."""
        ...

    def guardian(self, launch: Launch, ends: Sequence[int]) -> int:
        """Watch over the core. `ends`: pidfds of what must not outlive this process."""
        ...

    def service(self, launch: Launch) -> int:
        """Talk and write."""
        ...


class Fork(Protocol):
    """Starts a child, as `nuc_engine.daemon.spawn.fork` does."""

    def __call__(
        self,
        name: str,
        program: Callable[[], int],
        *,
        urgent: bool = True,
        close: Sequence[int] = (),
        death_signal: int | None = None,
    ) -> Child:
        """Run `program` in a child."""
        ...


@dataclass(slots=True)
class ChildSlot:
    """A place in the daemon that a child fills, and when it may be filled again."""

    name: str
    child: Child | None = None
    started_ns: int = 0
    due_ns: int = 0
    deaths: int = 0
    free_restarts: int = 1
    """How many deaths in a row are followed by an immediate restart."""
    longest_ns: int = RESTART_DELAYS_NS[-1]
    """How long to wait at most."""
    killed: bool = False
    """The child gave no heartbeat and has been killed."""

    def fill(self, child: Child, now_ns: int) -> None:
        """Take a new child."""
        self.child, self.started_ns, self.killed = child, now_ns, False

    def reap(self, now_ns: int) -> str:
        """Reap the child; return how it ended."""
        if self.child is None:
            return ""
        self.child.reap()
        how, self.child = self.child.exit_text(), None
        self.deaths = 1 if now_ns - self.started_ns > STABLE_NS else self.deaths + 1
        pause_ns = RESTART_DELAYS_NS[min(max(self.deaths - self.free_restarts, 0), len(RESTART_DELAYS_NS) - 1)]
        self.due_ns = now_ns + min(pause_ns, self.longest_ns)
        return how

    def end(self) -> None:
        """Kill and reap the child; this does not count as a crash."""
        if self.child is not None:
            self.child.send(signal.SIGKILL)
            self.child.reap()
            self.child = None
        self.due_ns = 0

    def may_start(self, now_ns: int) -> bool:
        """Say whether it is empty and may be filled."""
        return self.child is None and now_ns >= self.due_ns
