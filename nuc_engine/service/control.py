"""Who is in control: one client at a time, as long as it says something now and then. Pure, on a clock passed in."""

from __future__ import annotations

from drivers.units import NS_PER_S
from nuc_engine.messages.errors import Refused


class ControlLease:
    """Holds the key of the client in control, or None. After `timeout_s` without a message from it the lease ends."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_ns = round(timeout_s * NS_PER_S)
        self._holder: bytes | None = None
        self._seen_ns = 0

    def holder(self, now_ns: int) -> bytes | None:
        """Return who has control now."""
        if self._holder is not None and now_ns - self._seen_ns > self._timeout_ns:
            self._holder = None
        return self._holder

    def note_message(self, client: bytes, now_ns: int) -> None:
        """Note a message of a client: whatever it says keeps its control alive."""
        if self.holder(now_ns) == client:
            self._seen_ns = now_ns

    def take(self, client: bytes, now_ns: int, *, force: bool = False) -> bytes | None:
        """Give control to a client; return who had it before. Raises Refused where another has it, force apart."""
        before = self.holder(now_ns)
        if before is not None and before != client and not force:
            raise Refused("no_control", "another client has control", "ask it to hand over, or take it with force")
        self._holder, self._seen_ns = client, now_ns
        return before

    def hand_over(self, client: bytes, to: bytes, now_ns: int) -> None:
        """Give control from one client to another. Raises Refused when it was not this client's to give."""
        if self.holder(now_ns) != client:
            raise Refused("no_control", "control is not yours to hand over", "take it first")
        self._holder, self._seen_ns = to, now_ns

    def release(self, client: bytes) -> bool:
        """Take control from a client that has it; say whether it had."""
        had = self._holder == client
        if had:
            self._holder = None
        return had
