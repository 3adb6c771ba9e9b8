"""Time as a parameter: the executive is handed a clock and never looks at another."""

from __future__ import annotations


class VirtualClock:
    """A discrete-event clock: time passes only when the executive waits or a task is charged for its work."""

    def __init__(self, start_ns: int = 0) -> None:
        self.now_ns = start_ns

    def wait_until(self, time_ns: int) -> None:
        """Let time pass until `time_ns`."""
        self.now_ns = max(self.now_ns, time_ns)

    def charge(self, cost_ns: int) -> None:
        """Let a task's execution take `cost_ns`."""
        self.now_ns += cost_ns
