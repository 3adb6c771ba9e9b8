"""Emulated AI motors and wCKs from a URL: the emulator, and a bus on the virtual clock in front of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from drivers.aimotor.emulation.emulator import AiMotorEmulator
from drivers.aimotor.family import FAMILY, NAME, are_wcks, check_options
from drivers.aimotor.models import check_models, check_servos
from drivers.aimotor.table import LOW_RESOLUTION_TICK_DEG, TICK_DEG
from drivers.bus import Bus
from drivers.errors import BusUrlError
from drivers.injection import FaultLayer
from drivers.serial.lineoptions import all_options, open_on_emulator
from drivers.servo import ServoAddress, ServoPlant
from drivers.url import split_url


def make_emulator(url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> AiMotorEmulator:
    """Power up the servos of `emulated:[aimotor][?options]` in front of `plant`.

    Options: `baud`, `turnaround_us`, `jitter_us`, `low_resolution`, `wck`, and the line faults of
    `drivers.injection.LineFaults`; those of the host's side are checked too. `seed` decides jitter and faults, also
    those set later. Raises `BusUrlError`.
    """
    if split_url(url)[:2] not in (("emulated", ""), ("emulated", NAME)):
        raise BusUrlError(f"{url!r}: expected emulated:[{NAME}][?options]")
    values, faults = all_options(FAMILY, url)
    check_options(values)
    wck = are_wcks(values)
    jitter_seed, fault_seed = np.random.SeedSequence(seed).spawn(2)
    fault_rng = np.random.default_rng(fault_seed)
    return AiMotorEmulator(
        check_servos(check_models(servos, wck=wck)),
        plant,
        baud=int(values["baud"]),
        turnaround_ns=round(values["turnaround_us"] * 1000),
        jitter_ns=round(values["jitter_us"] * 1000),
        rng=np.random.default_rng(jitter_seed),
        faults=FaultLayer(faults, fault_rng) if faults.any else None,
        fault_rng=fault_rng,
        tick_deg=LOW_RESOLUTION_TICK_DEG if values["low_resolution"] else TICK_DEG,
        wck=wck,
    )


def open_emulated(url: str, servos: Sequence[ServoAddress], plant: ServoPlant, seed: int) -> Bus:
    """Open a bus on the virtual clock whose servos are those of `make_emulator`. Raises `BusUrlError`."""
    return open_on_emulator(FAMILY, url, make_emulator(url, servos, plant, seed), servos)
