"""Emulated STS servos from a URL: the emulator, and a bus on the virtual clock in front of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from drivers.bus import Bus
from drivers.errors import BusUrlError
from drivers.faults import FAULT_OPTIONS, FaultLayer, LineFaults
from drivers.feetech.emulator import feetech_emulator
from drivers.feetech.family import EMULATOR_OPTIONS, FAMILY, LINE_OPTIONS, NAME, check_options, check_servos
from drivers.framed.emulator import FramedEmulator
from drivers.lineoptions import emulated_port
from drivers.servo import ServoAddress, ServoPlant
from drivers.url import LineSpec, parse_url

_OPTIONS: Final[Mapping[str, float]] = {**LINE_OPTIONS, **EMULATOR_OPTIONS}


def make_emulator(url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> FramedEmulator:
    """Power up the servos of `emulated:feetech[?options]` in front of `plant`.

    Options: `baud`, `turnaround_us`, `jitter_us`, and the line faults of `drivers.faults.LineFaults`; those of the
    host's side are checked too. `seed` decides jitter and faults, also those set later. Raises `BusUrlError`.
    """
    values, _, faults = _parse(url)
    jitter_seed, fault_seed = np.random.SeedSequence(seed).spawn(2)
    return feetech_emulator(
        check_servos(servos),
        plant,
        baud=int(values["baud"]),
        turnaround_ns=round(values["turnaround_us"] * 1000),
        jitter_ns=round(values["jitter_us"] * 1000),
        rng=np.random.default_rng(jitter_seed),
        faults=FaultLayer(faults, np.random.default_rng(fault_seed)) if faults.any else None,
    )


def open_emulated(url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Bus:
    """Open a bus on the virtual clock whose servos are those of `make_emulator`. Raises `BusUrlError`."""
    values, given, _ = _parse(url)
    emulator = make_emulator(url, servos, plant, seed)
    own = {name: value for name, value in given.items() if name in LINE_OPTIONS and name != "baud"}
    spec = LineSpec(NAME, "", emulator.baud, own)
    return FAMILY.bus_on_port(spec, emulated_port(emulator, values), servos)


def _parse(url: str) -> tuple[Mapping[str, float], Mapping[str, float], LineFaults]:
    """Return all options, those that were given, and the faults."""
    parsed = parse_url(url, (*_OPTIONS, *FAULT_OPTIONS))
    if parsed.scheme != "emulated" or parsed.family != NAME:
        raise BusUrlError(f"{url!r}: expected emulated:{NAME}[?options]")
    given = {name: value for name, value in parsed.options.items() if name in _OPTIONS}
    values = {**_OPTIONS, **given}
    check_options(values)
    return values, given, LineFaults(**{name: parsed.options[name] for name in parsed.options if name in FAULT_OPTIONS})
