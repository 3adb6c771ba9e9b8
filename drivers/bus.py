"""What every servo bus offers, whatever its servos and wherever they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

from drivers.servo import ServoAddress

READ_ONLY: Final = -1
"""Goal that asks for position and current and commands nothing."""

LIMP: Final = -2
"""Goal that takes the servo's torque off and asks for its position; the current is then 0."""

COUNTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "missed": "exchanges without a complete reply in time",
        "implausible": "exchanges whose reply was not believed, or was taken back",
        "stray_bytes": "bytes that came when no reply could, or that were left of one",
        "restarts": "servos found without the torque they had, or without the gain, bound or watchdog they were told",
        "trips": "servos found stopped by their bus watchdog",
        "bad_checksums": "replies thrown away for their checksum",
        "echo_errors": "messages whose echo never came as they were sent",
        "unsent_bytes": "bytes of requests that the line did not take",
    }
)
"""What `all_counts` of the families here has, by name. A bus of another family may have more, named like these."""


class ServoBus(Protocol):
    """What commands servos and has their replies, in the order of the servos.

    A bus changes its lists in place, or puts others there; they are the caller's to read, not to write.
    """

    @property
    def position_raw(self) -> list[int]:
        """Last position that was believed; -1 before the first."""
        ...

    @property
    def current_raw(self) -> list[int]:
        """Load of the same reply, with a sign where the model's reading has one; -1 before the first."""
        ...

    @property
    def status(self) -> list[int]:
        """`ReplyStatus` of the last finished exchange. Anything but OK: the next exchange should be a read."""
        ...

    @property
    def stamp_ns(self) -> list[int]:
        """When the last believed reply was complete; the age of a value is now minus this. -1 before the first."""
        ...

    @property
    def misses(self) -> list[int]:
        """Exchanges in a row without a believed reply; 0 after a good one."""
        ...

    def start(self, now_ns: int, goals: list[int]) -> None:
        """Begin one exchange with every servo: `goals` in raw units, or `READ_ONLY`, or `LIMP`.

        Raises `BusError` within a cycle, `FrameError` for a goal the wire cannot carry.
        """
        ...

    def set_level(self, level: int) -> None:
        """Set the torque level of later goals, in the family's own scale. Raises `FrameError`."""
        ...


class CycledBus(ServoBus, Protocol):
    """One whose cycles can be run on a virtual clock: a bus of servos, or what was recorded of one."""

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why servos cannot be driven as they were given: another model, a setting that does not take.

        Empty when all is well, or not known yet: what there is to set up is set up in the first cycles, in which
        nothing is driven. A servo with a refusal is read, and goals for it are not sent.
        """
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


class Bus(CycledBus, Protocol):
    """Servos that are exchanged with one after the other, without waiting inside a call.

    A cycle is begun by `start`, `torque_off` or `discover`; then the caller calls `proceed` at `wake_ns`, and earlier
    whenever one of `filenos` is readable, until it says True. Between cycles too a readable descriptor is answered by
    `proceed`: it throws away what was not asked for, and raises `PortGoneError` when the device is gone.
    """

    servos: tuple[ServoAddress, ...]

    @property
    def wake_ns(self) -> int:
        """When `proceed` next has something to do; `NEVER` between cycles."""
        ...

    @property
    def found(self) -> tuple[int, ...]:
        """Bus ids that answered the last `discover`."""
        ...

    @property
    def held_since_ns(self) -> int:
        """Since when replies come late, so that no servo is driven; -1 when all is well, or nothing comes at all."""
        ...

    @property
    def owed_bytes(self) -> int:
        """Bytes of replies that are late and may still come."""
        ...

    @property
    def missed(self) -> int:
        """Exchanges without a complete reply in time, in all."""
        ...

    @property
    def implausible(self) -> int:
        """Exchanges whose reply was not believed, or was taken back when more bytes followed it, in all."""
        ...

    @property
    def stray_bytes(self) -> int:
        """Bytes that came when no reply could, or that were left of one, in all."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """What the family and its port count besides those three, in all, by name; see `COUNTS`.

        The names are always the same, lower case with underscores; what cannot happen on this line is left out.
        """
        ...

    def discover(self, now_ns: int, ids: Sequence[int] = ()) -> None:
        """Begin a cycle that asks these ids (none: every id the family has) whether they are there; see `found`."""
        ...

    def proceed(self, now_ns: int) -> bool:
        """Do what is due; True when no cycle is under way. Early and repeated calls do no harm."""
        ...

    def filenos(self) -> tuple[int, ...]:
        """Return the descriptors that become readable when replies arrive; none on a virtual clock."""
        ...

    def close(self) -> None:
        """Give the port back; torque stays as it is. Closing twice is allowed."""
        ...


def all_counts(bus: Bus) -> dict[str, int]:
    """Return everything a bus counts, in all since it was opened: what every bus does, then what its family adds."""
    common = {"missed": bus.missed, "implausible": bus.implausible, "stray_bytes": bus.stray_bytes}
    return {**common, **bus.counts}
