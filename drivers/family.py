"""What a family of servos brings with it: its bus on a real line, its bus without a device, its emulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from drivers.bus import Bus
from drivers.clock import WaitingClock
from drivers.injection import LineFaults
from drivers.inprocess import WireEnd
from drivers.port import Port
from drivers.servo import ServoAddress, ServoModel, ServoPlant
from drivers.url import LineSpec

EVERYBODY: Final = -1
"""In `Heard.releases`: all servos of the line."""


@dataclass(frozen=True, slots=True)
class DecodedRequest:
    """What one whole request means for the torque of the servos that hear it.

    `kind` names the request in the family's own words. `goals` are raw positions it sends servos to, by bus id, of
    which only those with torque on will move; `releases` the ids whose torque it takes off (`EVERYBODY`: all),
    `arms` those whose torque it turns on without a goal. `asks` are the ids that will answer, in their order.
    """

    kind: str
    goals: Mapping[int, int]
    releases: tuple[int, ...] = ()
    arms: tuple[int, ...] = ()
    asks: tuple[int, ...] = ()


class Sniffer(Protocol):
    """Decodes a host's requests on a line of the family, from the bytes alone (for byte logs).

    `stray_bytes` belong to no request, `bad_checksums` counts whole requests nobody obeys.
    """

    stray_bytes: int
    bad_checksums: int

    def feed(self, data: bytes) -> list[tuple[int, DecodedRequest]]:
        """Return each request that `data` completes, with the index in `data` of its last byte."""
        ...

    def positions(self, heard: DecodedRequest, reply: bytes) -> Mapping[int, int]:
        """Return the raw positions that a reply reports, by bus id; what is not understood is left out."""
        ...


class Emulator(WireEnd, Protocol):
    """Emulated servos behind one line, for whoever carries the bytes. Servos are counted from 0 in the order given.

    All raise `BusError` for an unknown servo, or where the family's servos cannot do it.
    """

    @property
    def baud(self) -> int:
        """The rate of the line, bit/s; servos that are set to another one neither hear nor answer."""
        ...

    @baud.setter
    def baud(self, baud: int) -> None: ...

    def set_faults(self, faults: LineFaults) -> None:
        """Let the line fail like this from now on."""
        ...

    def unplug(self, servo: int) -> None:
        """Take the servo off the line: no power, no torque, no answer."""
        ...

    def plug(self, servo: int) -> None:
        """Put it back; it powers up without torque."""
        ...

    def supply(self, *, on: bool) -> None:
        """Take the supply of all servos away, or give it back; what they keep only while powered is forgotten."""
        ...

    def brown_out(self, servo: int) -> None:
        """Let one servo's supply dip: it starts anew, without torque and with what it keeps, and answers again."""
        ...

    def stick(self, servo: int, *, stuck: bool = True) -> None:
        """Freeze (or free) what the servo reports: it still moves, its replies stay the same."""
        ...

    def babble(self, servo: int, *, talking: bool = True) -> None:
        """Let the servo talk without being asked, or stop it; meanwhile no reply gets through."""
        ...

    def answer_as(self, servo: int, bus_id: int) -> None:
        """Let the servo listen to another id."""
        ...

    def trip(self, servo: int, *, tripped: bool = True) -> None:
        """Let the servo shut its torque off by itself, as if overloaded, or recover."""
        ...

    def set_overload(self, limit_a: float | None, after_ns: int = 0) -> None:
        """Let servos trip after `after_ns` above `limit_a`; None: as their registers say, or never."""
        ...

    def chatter(self, now_ns: int, until_ns: int) -> None:
        """Put on the line what is said without being asked from `now_ns` to `until_ns`."""
        ...

    def counts(self) -> Mapping[str, object]:
        """Return what was heard that was no request, and what the line's faults did, ready for JSON."""
        ...


class BusFamily(Protocol):
    """One family of servos. What the entry-point group `nuc_engine.buses` names under the family's name.

    All of it raises `BusUrlError` for a URL, an option or a servo that the family does not have.
    """

    name: str
    bauds: tuple[int, ...]
    """The rates its servos can be set to, bit/s, in rising order."""
    models: Mapping[str, ServoModel]
    """What is known of its models, by the name configurations use."""
    line_options: Mapping[str, float]
    """Options of the URL of a bus on a port, with their defaults."""
    emulator_options: Mapping[str, float]
    """What `emulated:[NAME]?` takes besides those: the servos' side of the line, without `drivers.injection`."""

    def parse_line(self, url: str) -> LineSpec:
        """Read `NAME:///dev/...[?options]`."""
        ...

    def bus_on_port(self, spec: LineSpec, port: Port, servos: Sequence[ServoAddress]) -> Bus:
        """Build the bus on a port that is open at the rate of `spec`, with what the port holds back allowed for."""
        ...

    def any_servo(self) -> ServoAddress:
        """Return an address a bus can be built with when it is not known yet who is there."""
        ...

    def every_servo(self) -> tuple[ServoAddress, ...]:
        """Return every address of the family, for requests that must reach whoever is there."""
        ...

    def emulator(self, url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Emulator:
        """Power emulated servos up in front of `plant`, as `emulated:[NAME][?options]` says; `seed` decides chance."""
        ...

    def sniffer(self) -> Sniffer:
        """Return a sniffer that decodes a host's requests."""
        ...

    def write_id(self, port: Port, pace: WaitingClock, bus_id: int, new_id: int) -> None:
        """Give a servo another id for good, and see that it answers to it. Raises `BusError` when it does not.

        The caller has made sure that no other servo has either id, and that the user has confirmed it.
        """
        ...

    def write_baud(self, port: Port, pace: WaitingClock, bus_id: int, baud: int) -> None:
        """Set a servo to another rate for good. Raises `BusError` when it can not be set to it, or refuses.

        The port keeps its rate: the caller opens it anew at the other one and looks whether the servo is there.
        """
        ...

    def open_emulated(self, url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Bus:
        """Open a bus on the virtual clock with that emulator at its other end."""
        ...
