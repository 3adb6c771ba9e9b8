"""The places in the daemon that children fill: what they run, and when a place may be filled again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from nuc_engine.daemon.launch import Launch
from nuc_engine.daemon.spawn import Child

PAUSES_NS = (0, 500_000_000, 1_000_000_000, 2_000_000_000, 5_000_000_000)
"""How long to wait before a process is started again: after deaths that are answered at once, the next, and so on."""

WELL_NS = 10_000_000_000
"""A process that lived so long died for the first time."""

STARTS = 3
"""An emulator that died so often in a row, and has no bus to show, is given up: to try again mends nothing."""


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
class Post:
    """A place in the daemon that a child fills, and when it may be filled again."""

    name: str
    child: Child | None = None
    born_ns: int = 0
    due_ns: int = 0
    deaths: int = 0
    eager: int = 1
    """How many deaths in a row are answered at once."""
    condemned: bool = False
    """The child shows no life and has been killed."""

    def fill(self, child: Child, now_ns: int) -> None:
        """Take a new child."""
        self.child, self.born_ns, self.condemned = child, now_ns, False

    def died(self, now_ns: int) -> str:
        """Bury the child; return how it ended."""
        if self.child is None:
            return ""
        self.child.bury()
        how, self.child = self.child.how(), None
        self.deaths = 1 if now_ns - self.born_ns > WELL_NS else self.deaths + 1
        self.due_ns = now_ns + PAUSES_NS[min(max(self.deaths - self.eager, 0), len(PAUSES_NS) - 1)]
        return how

    def end(self) -> None:
        """Kill and bury the child, which is no death."""
        if self.child is not None:
            self.child.send(signal.SIGKILL)
            self.child.bury()
            self.child = None
        self.due_ns = 0

    def missing(self, now_ns: int) -> bool:
        """Say whether it is empty and may be filled."""
        return self.child is None and now_ns >= self.due_ns
