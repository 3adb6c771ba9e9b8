"""Time as a parameter: what is handed a clock looks at no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Clock(Protocol):
    """Shows the time, in ns since an arbitrary instant."""

    @property
    def now_ns(self) -> int:
        """The time now."""
        ...


class WaitingClock(Clock, Protocol):
    """A clock that can wait: in the kernel, or by letting it be later."""

    def wait(self, deadline_ns: int, filenos: Sequence[int], /) -> Sequence[int]:
        """Wait for the deadline, or until a descriptor is readable; return those that are."""
        ...


class VirtualPace:
    """A clock on which waiting takes no time."""

    def __init__(self) -> None:
        self.now_ns = 0

    def wait(self, deadline_ns: int, filenos: Sequence[int]) -> Sequence[int]:
        """Let it be `deadline_ns`."""
        self.now_ns = max(self.now_ns, deadline_ns)
        return ()
