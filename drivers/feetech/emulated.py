"""Emulated STS servos from a URL: the emulator, and a bus on the virtual clock in front of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from drivers.bus import Bus
from drivers.errors import BusUrlError
from drivers.faults import FAULT_OPTIONS, FaultLayer, LineFaults
from drivers.feetech.emulator import feetech_emulator
from drivers.feetech.family import EMULATOR_OPTIONS, FAMILY, LINE_OPTIONS, NAME, check_options
from drivers.feetech.layout import LAYOUT
from drivers.framed.emulator import FramedEmulator
from drivers.framed.slots import make_slots
from drivers.lineoptions import open_on_emulator
from drivers.servo import ServoAddress, ServoPlant
from drivers.url import parse_url


def make_emulator(url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> FramedEmulator:
    """Power up the servos of `emulated:feetech[?options]` in front of `plant`.

    Options: `baud`, `turnaround_us`, `jitter_us`, and the line faults of `drivers.faults.LineFaults`; those of the
    host's side are checked too. `seed` decides jitter and faults, also those set later. Raises `BusUrlError`.
    """
    parsed = parse_url(url, (*LINE_OPTIONS, *EMULATOR_OPTIONS, *FAULT_OPTIONS))
    if parsed.scheme != "emulated" or parsed.family != NAME:
        raise BusUrlError(f"{url!r}: expected emulated:{NAME}[?options]")
    values = {**LINE_OPTIONS, **EMULATOR_OPTIONS, **parsed.options}
    check_options(values)
    faults = LineFaults(**{name: value for name, value in parsed.options.items() if name in FAULT_OPTIONS})
    make_slots(servos, LAYOUT)
    jitter_seed, fault_seed = np.random.SeedSequence(seed).spawn(2)
    return feetech_emulator(
        servos,
        plant,
        baud=int(values["baud"]),
        turnaround_ns=round(values["turnaround_us"] * 1000),
        jitter_ns=round(values["jitter_us"] * 1000),
        rng=np.random.default_rng(jitter_seed),
        faults=FaultLayer(faults, np.random.default_rng(fault_seed)) if faults.any else None,
    )


def open_emulated(url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Bus:
    """Open a bus on the virtual clock whose servos are those of `make_emulator`. Raises `BusUrlError`."""
    return open_on_emulator(FAMILY, url, make_emulator(url, servos, plant, seed), servos)
