"""Options that the URLs of all families have, and the check of them: rates, times, and what the line is like.

    echo=1          the adapter hears itself (TX and RX tied): the host's own bytes come back before the reply
    latency_ms=16   the adapter holds bytes back as an FTDI does: a full packet, or the end of its timer
    late_us=40000   how late a reply may come at the most, from when it could have been complete on the wire

On a serial port they say what the adapter does; of an emulated line they make it do so. A family adds `LINE_OPTIONS` to
its `line_options` and leaves their values alone but for `check_common`: `host_port` puts before a port what it takes,
and `open_on_emulator` builds the whole bus in front of an emulator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from drivers.errors import BusUrlError
from drivers.injection import FAULT_OPTIONS, LineFaults
from drivers.inprocess import InProcessPort
from drivers.port import NEVER, Port
from drivers.serial.echo import EchoingLine, EchoPort
from drivers.serial.held import DeclaredHoldPort, HeldPort
from drivers.servo import ServoAddress
from drivers.url import LineSpec, parse_url

if TYPE_CHECKING:
    from drivers.bus import Bus
    from drivers.family import BusFamily, Emulator

LINE_OPTIONS: Final[Mapping[str, float]] = {"echo": 0.0, "latency_ms": 0.0, "late_us": 0.0}
"""Options of every line, with their defaults."""

LONGEST_LATENCY_MS: Final = 255.0
"""The longest timer an FTDI can be set to."""

LONGEST_LATE_US: Final = 200_000.0
"""The latest a reply may be allowed to come: what is held up for longer than a quarter of a second is limp."""

LONGEST_US: Final = 1e6
"""The most that any of `TIMES` may be."""

TIMES: Final = ("turnaround_us", "jitter_us", "timeout_us")
"""Options that are times; which of them there are is the family's matter, and the side's of the line."""


def check_common(values: Mapping[str, float], bauds: Sequence[int]) -> None:
    """Check `baud`, the times there are, `v_max_deg_s`, and the options of the line.

    `bauds` are the family's rates in rising order. Raises `BusUrlError` saying what was expected.
    """
    if values["baud"] not in bauds:
        raise BusUrlError(f"baud={values['baud']:g}: expected one of {', '.join(map(str, bauds))}")
    for name in TIMES:
        if not 0.0 <= values.get(name, 0.0) <= LONGEST_US:
            raise BusUrlError(f"{name}={values[name]:g}: expected 0 to {LONGEST_US:g} microseconds")
    if not values["v_max_deg_s"] > 0.0:
        raise BusUrlError(f"v_max_deg_s={values['v_max_deg_s']:g}: expected more than 0")
    check_line(values)


def check_switches(values: Mapping[str, float], names: Iterable[str]) -> None:
    """Check that those of `values` that are switches are 0 or 1. Raises `BusUrlError`."""
    for name in names:
        if values.get(name, 0.0) not in (0.0, 1.0):
            raise BusUrlError(f"{name}={values[name]:g}: expected 0 or 1")


def timeout_ns_of(options: Mapping[str, float], port: Port, default_ns: int) -> int:
    """Return the timeout that was given; otherwise the default, lengthened by what the port holds back."""
    timeout_us = options.get("timeout_us")
    return default_ns + port.hold_ns if timeout_us is None else round(timeout_us * 1000)


def late_ns_of(options: Mapping[str, float], port: Port, most_ns: int = NEVER) -> int:
    """Return how late a reply may come: what was given, otherwise what ports of this class need, up to `most_ns`."""
    late_us = options.get("late_us")
    return min(port.late_ns, most_ns) if late_us is None else round(late_us * 1000)


def check_line(values: Mapping[str, float]) -> None:
    """Check the options of the line among `values`. Raises `BusUrlError` saying what was expected."""
    if values.get("echo", 0.0) not in (0.0, 1.0):
        raise BusUrlError(f"echo={values['echo']:g}: expected 1 for an adapter that hears itself, else 0")
    if not 0.0 <= values.get("latency_ms", 0.0) <= LONGEST_LATENCY_MS:
        raise BusUrlError(f"latency_ms={values['latency_ms']:g}: expected 0 to {LONGEST_LATENCY_MS:g} milliseconds")
    if not 0.0 <= values.get("late_us", 0.0) <= LONGEST_LATE_US:
        raise BusUrlError(f"late_us={values['late_us']:g}: expected 0 to {LONGEST_LATE_US:g} microseconds")


def latency_ns(values: Mapping[str, float]) -> int:
    """Return the adapter's timer in ns, 0 for an adapter without one."""
    return round(values.get("latency_ms", 0.0) * 1e6)


def host_port(port: Port, values: Mapping[str, float]) -> Port:
    """Return the port as a bus is to see it, where an adapter does what the options say. Raises `BusUrlError`."""
    check_line(values)
    if period_ns := latency_ns(values):
        port = DeclaredHoldPort(port, period_ns)
    return EchoPort(port) if values.get("echo") else port


def emulated_port(emulator: Emulator, values: Mapping[str, float]) -> Port:
    """Return the host's end of a line in this process with `emulator` at the other. Raises `BusUrlError`."""
    check_line(values)
    end = EchoingLine(emulator) if values.get("echo") else emulator
    port: Port = InProcessPort(end, emulator.baud)
    if period_ns := latency_ns(values):
        port = HeldPort(port, period_ns)
    return EchoPort(port) if values.get("echo") else port


def given_options(family: BusFamily, url: str) -> dict[str, float]:
    """Return the options that a URL of the family's emulated bus gives. Raises `BusUrlError` for unknown ones."""
    return parse_url(
        url, tuple(dict.fromkeys((*family.line_options, *family.emulator_options, *FAULT_OPTIONS)))
    ).options


def all_options(family: BusFamily, url: str) -> tuple[Mapping[str, float], LineFaults]:
    """Return the options of a URL of the family's emulated bus, with defaults and unchecked, and its line's faults.

    Raises `BusUrlError` for unknown ones.
    """
    given = given_options(family, url)
    faults = LineFaults(**{name: value for name, value in given.items() if name in FAULT_OPTIONS})
    return {**family.line_options, **family.emulator_options, **given}, faults


def option_text(values: Mapping[str, float]) -> str:
    """Return options as they stand in a URL; `parse_url` reads the very same numbers."""
    return "&".join(
        f"{name}={int(value) if float(value).is_integer() else float(value)!r}" for name, value in values.items()
    )


def open_on_emulator(family: BusFamily, url: str, emulator: Emulator, servos: Sequence[ServoAddress]) -> Bus:
    """Open the family's bus on the virtual clock in front of `emulator`, which was made from the same URL.

    Options that concern only the servos' side are passed over; a timeout that was not given allows for what the line
    holds back. Raises `BusUrlError`.
    """
    given = given_options(family, url)
    own = {name: value for name, value in given.items() if name in family.line_options and name != "baud"}
    return family.bus_on_port(LineSpec(family.name, "", emulator.baud, own), emulated_port(emulator, given), servos)
