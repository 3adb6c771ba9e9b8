"""A family of servos with registers: URLs, and a bus on an open port; emulated servos are loaded when asked for.

What a family gives is its `Layout`, the names of its instructions, a few figures, and where its emulated servos are:

    FAMILY = FramedFamily(LAYOUT, INSTRUCTIONS, baud=1_000_000, timeout_ns=..., turnaround_ns=..., v_max_deg_s=...,
                          emulation=_emulation)

Options follow from the layout: all have `single`; `fast` is there where servos can answer in one packet, `watchdog_ms`
where they have a bus watchdog.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from drivers.bus import Bus
from drivers.clock import WaitingClock
from drivers.errors import BusUrlError
from drivers.family import Emulator
from drivers.framed.bus import DEFAULT_WATCHDOG_NS, FramedBus
from drivers.framed.layout import ID, FamilyLayout
from drivers.framed.sniffer import FramedSniffer
from drivers.port import Port
from drivers.serial.lineoptions import (
    LINE_OPTIONS,
    check_common,
    check_switches,
    late_ns_of,
    open_on_emulator,
    timeout_ns_of,
)
from drivers.servo import ServoAddress, ServoModel, ServoPlant
from drivers.url import LineSpec, device_path, parse_url

if TYPE_CHECKING:
    from drivers.bench.budget import Form
    from drivers.bench.settings import Settings

    # Needed by emulated servos only, and slow to load: it needs numpy.
    from drivers.framed.emulation.from_url import Emulation

LATE_NS: Final = 12_000_000
"""How late a status may be, unless it is said, beside what the adapter holds back. Less than where replies have no
names: a later one is never another servo's, and a silent servo is to be known within a tenth of a second. Assumed."""


class FramedFamily:
    """One family (a `drivers.family.BusFamily`).

    `single`: each servo is written to and read by itself; `fast`: all answer in one packet; `watchdog_ms`: how long
    servos go on without hearing anything (0: for ever; not given: longer on a slow line).
    """

    def __init__(
        self,
        layout: FamilyLayout,
        instructions: Mapping[int, str],
        *,
        baud: int,
        timeout_ns: int,
        turnaround_ns: int,
        v_max_deg_s: float,
        emulation: Callable[[], Emulation],
    ) -> None:
        """Make the family of `layout`.

        `instructions` are their names, for people. `baud` is the rate where a URL gives none, `timeout_ns` how much
        later than its wire time a reply may be complete, `turnaround_ns` what an emulated servo needs to its answer,
        `v_max_deg_s` the fastest a shaft is believed to turn. `emulation` loads what emulated servos are made of.
        """
        self.layout = layout
        self.name: str = layout.family
        self.bauds: tuple[int, ...] = tuple(sorted(layout.bauds.values()))
        self.models: Mapping[str, ServoModel] = {name: kind.model for name, kind in layout.kinds.items()}
        fast = {"fast": 0.0} if layout.fast is not None else {}
        watchdog = {"watchdog_ms": DEFAULT_WATCHDOG_NS / 1e6} if layout.watchdog else {}
        self.line_options: Mapping[str, float] = {
            "baud": float(baud),
            "timeout_us": timeout_ns / 1000,
            "v_max_deg_s": v_max_deg_s,
            **fast,
            "single": 0.0,
            **watchdog,
            **LINE_OPTIONS,
        }
        self.emulator_options: Mapping[str, float] = {"turnaround_us": turnaround_ns / 1000, "jitter_us": 0.0}
        self._instructions, self._emulation = instructions, emulation
        self._baud, self._timeout_ns, self._v_max_deg_s = baud, timeout_ns, v_max_deg_s

    def parse_line(self, url: str) -> LineSpec:
        """Read `NAME:///dev/...[?options]`; the options are `line_options`."""
        options = parse_url(url, tuple(self.line_options)).options
        self.check_options({**self.line_options, **options})
        return LineSpec(self.name, device_path(url), int(options.pop("baud", self._baud)), options)

    def check_options(self, values: Mapping[str, float]) -> None:
        """Check a value for each of `line_options`, and what else there is. Raises `BusUrlError`."""
        check_common(values, self.bauds)
        check_switches(values, ("fast", "single"))
        if values.get("fast") and values["single"]:
            raise BusUrlError("fast=1 and single=1: expected one of them, servos answer together or each by itself")
        if watchdog_ms := values.get("watchdog_ms"):
            layout = self.layout
            step_ms = layout.watchdog_step_ns / 1e6
            longest_ms = step_ms * layout.register(layout.watchdog).high
            if not step_ms <= watchdog_ms <= longest_ms:
                raise BusUrlError(
                    f"watchdog_ms={watchdog_ms:g}: expected 0 for none, or {step_ms:g} to {longest_ms:g} "
                    f"in steps of {step_ms:g}"
                )

    def bus_on_port(self, spec: LineSpec, port: Port, servos: Sequence[ServoAddress]) -> FramedBus:
        """Build the bus; a timeout that was not given is lengthened by what the port holds back."""
        options = spec.options
        watchdog_ms = options.get("watchdog_ms")
        return FramedBus(
            port,
            servos,
            replace(self.layout, line=spec.url),
            baud=spec.baud,
            timeout_ns=timeout_ns_of(options, port, self._timeout_ns),
            late_ns=late_ns_of(options, port, LATE_NS + port.hold_ns),
            v_max_deg_s=options.get("v_max_deg_s", self._v_max_deg_s),
            single=bool(options.get("single")),
            fast=bool(options.get("fast")),
            watchdog_ns=None if watchdog_ms is None else round(watchdog_ms * 1e6),
        )

    def any_servo(self) -> ServoAddress:
        """Return the id that servos are delivered with."""
        return _servo(self.layout.register(ID).default)

    def every_servo(self) -> tuple[ServoAddress, ...]:
        """Return every id from 0 to the highest."""
        return tuple(_servo(bus_id) for bus_id in range(self.layout.dialect.max_id + 1))

    def sniffer(self) -> FramedSniffer:
        """Return an ear for what hosts say."""
        return FramedSniffer(self.layout, self._instructions)

    def forms(self) -> tuple[Form, ...]:
        """Return what cycles cost in each form of exchange (`drivers.bench.budget.WithForms`)."""
        from drivers.framed.forms import forms_of_layout

        return forms_of_layout(self.layout)

    def write_id(self, port: Port, pace: WaitingClock, bus_id: int, new_id: int) -> None:
        """Give a servo another id for good, and see that it answers to it."""
        from drivers.framed.bench.blocking import write_id

        write_id(port, pace, self.layout, bus_id, new_id)

    def write_baud(self, port: Port, pace: WaitingClock, bus_id: int, baud: int) -> None:
        """Set a servo to another rate for good, and see that it left the present one."""
        from drivers.framed.bench.blocking import write_baud

        write_baud(port, pace, self.layout, bus_id, baud)

    def settings(
        self, port: Port, pace: WaitingClock, options: Mapping[str, float], bus_id: int, *, model: str, assumed: bool
    ) -> Settings:
        """Return the settings of a servo (`drivers.bench.settings.WithSettings`)."""
        from drivers.framed.bench.settings import FramedSettings

        return FramedSettings(port, pace, self.layout, bus_id, model)

    def emulator(self, url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Emulator:
        """Power emulated servos up."""
        from drivers.framed.emulation.from_url import make_emulator

        return make_emulator(self, self._emulation(), url, servos, plant, seed)

    def open_emulated(self, url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Bus:
        """Open a bus with emulated servos."""
        return open_on_emulator(self, url, self.emulator(url, servos, plant, seed), servos)


def _servo(bus_id: int) -> ServoAddress:
    return ServoAddress(bus_id, f"id {bus_id}")
