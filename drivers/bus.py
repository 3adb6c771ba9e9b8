"""What every servo bus offers, whatever its servos and wherever they are."""

from __future__ import annotations

from typing import Protocol

from drivers.servo import ServoAddress


class Bus(Protocol):
    """Servos that are exchanged with one after the other, without waiting inside a call.

    A cycle is begun by `start`, `torque_off` or `discover`; then the caller calls `proceed` at `wake_ns` (or earlier
    when `fileno` is readable) until it says True. The lists have one element per servo, in the order of `servos`; a
    bus changes them in place and they are the caller's to read, not to write.
    """

    servos: tuple[ServoAddress, ...]
    position_raw: list[int]
    """Last position that was believed; -1 before the first."""
    current_raw: list[int]
    """Current of the same reply, without sign; -1 before the first."""
    status: list[int]
    """`ReplyStatus` of the last finished exchange. Anything but OK: the next exchange should be a read."""
    stamp_ns: list[int]
    """When the last believed reply was complete; the age of a value is now minus this. -1 before the first."""
    misses: list[int]
    """Exchanges in a row without a believed reply; 0 after a good one."""
    wake_ns: int
    """When `proceed` next has something to do; `NEVER` between cycles."""
    found: tuple[int, ...]
    """Bus ids that answered the last `discover`."""

    def discover(self, now_ns: int) -> None:
        """Begin a cycle that asks every id the family has whether it is there; the answer is `found`."""
        ...

    def start(self, now_ns: int, goals: list[int]) -> None:
        """Begin one exchange with every servo: `goals` in raw units, -1 only reads.

        Raises `BusError` within a cycle, `FrameError` for a goal the wire cannot carry.
        """
        ...

    def proceed(self, now_ns: int) -> bool:
        """Do what is due; True when no cycle is under way. Early and repeated calls do no harm."""
        ...

    def run_until(self, horizon_ns: int) -> int:
        """Run the cycle as far as `horizon_ns`; return the instant it was complete, `NEVER` if it is not, or none runs.

        For a virtual clock on which nothing else happens before the horizon: the same as `proceed` at each `wake_ns`.
        A caller that is late (`wake_ns` in its past) calls `proceed` first.
        """
        ...

    def torque_off(self, now_ns: int) -> None:
        """Begin a cycle that takes every servo's torque off, once the exchange under way is over.

        What is left of that cycle is dropped. A servo whose `status` is not OK at the end has not confirmed.
        """
        ...

    def set_level(self, level: int) -> None:
        """Set the torque level of later goals, in the family's own scale. Raises `FrameError`."""
        ...

    def fileno(self) -> int | None:
        """Return the descriptor that becomes readable when a reply arrives; None on a virtual clock."""
        ...

    def close(self) -> None:
        """Give the port back; torque stays as it is. Closing twice is allowed."""
        ...
