"""What a servo is set to, one thing after the other: looked at and changed at the bench, by a person who wants it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from drivers.clock import WaitingClock
from drivers.errors import BusError
from drivers.port import Port


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing a servo can be asked for.

    `where` is its address, or the command that reads it; `size` is in bytes. One that is `kept` outlasts the supply.
    `low` and `high` bound what may be written where it is `writable`, `unit` is in words. `instead` says why it is not
    written with the others, and what does it; "" where it is.
    """

    name: str
    where: str
    size: int
    kept: bool
    writable: bool
    low: int = 0
    high: int = 0
    unit: str = ""
    instead: str = ""


class Settings(Protocol):
    """The settings of one servo that answers. All of it raises `BusError`, and `PortError` when the port fails."""

    model: str
    """What it is; several names where it does not tell them apart."""
    settings: Mapping[str, Setting]
    """What it can be asked for by name, in the order of their places."""

    @property
    def torque(self) -> bool | None:
        """Whether its torque is on; None where its wire does not tell."""
        ...

    def read(self, name: str) -> int | None:
        """Return a value; None for one that it does not have, though it answers."""
        ...

    def check(self, name: str, value: int, found: int) -> None:
        """Raise `BusError` for what is not written to it from here where it is `found`, saying what may be."""
        ...

    def objection(self, name: str, value: int) -> str:
        """Say why a servo on which it is `value` would not be driven; "" where nothing is against it."""
        ...

    def weakens(self, name: str, value: int, found: int) -> str:
        """Say what no longer protects the servo, or guides it, once it is `value` where it is `found`; "" for nothing.

        May ask the servo for what goes with it.
        """
        ...

    def already(self, name: str, value: int, found: int) -> bool:
        """Say whether it is kept as `value` already where it is `found`, so that writing it would only wear.

        False where what is read may be what counts until the supply goes.
        """
        ...

    def remark(self, name: str) -> str:
        """Say who sets it besides, "" for nobody."""
        ...

    def write(self, name: str, value: int, stop: Callable[[], bool] | None = None) -> bool:
        """Take the torque off, set it, for good where it is kept, and see by reading that it is so.

        Return False where `stop` says so before it is written. From then on it is done to the end, so that no lock is
        left open; whatever is open all the same, and whatever is not known, is in the error.
        """
        ...


@runtime_checkable
class WithSettings(Protocol):
    """What a family has besides a `drivers.family.BusFamily`, so that its servos can be looked at and set."""

    def settings(
        self, port: Port, pace: WaitingClock, options: Mapping[str, float], bus_id: int, *, model: str, assumed: bool
    ) -> Settings:
        """Return the settings of the servo that answers to `bus_id`; `options` are those of the line's URL.

        `model` is what it should be, "" for whatever it is. With `assumed`, commands may be used that nobody has
        confirmed. Raises `BusError` when no servo answers, or one of another model.
        """
        ...


def check_setting(setting: Setting, value: int) -> None:
    """Raise `BusError` where a setting is not written, or not to that value."""
    if setting.instead:
        raise BusError(f"{setting.name} is not written here: {setting.instead}")
    if not setting.writable:
        raise BusError(f"{setting.name} can only be read")
    if not setting.low <= value <= setting.high:
        raise BusError(f"{setting.name} = {value}: expected {setting.low} to {setting.high}")
