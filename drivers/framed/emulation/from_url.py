"""Emulated servos of a family with registers, powered up, alone or from a URL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from drivers.errors import BusUrlError
from drivers.framed.emulation.emulator import DEFAULT_TURNAROUND_NS, FramedEmulator, LineBehaviour
from drivers.framed.emulation.servo import FramedServo
from drivers.framed.family import FramedFamily
from drivers.framed.layout import FamilyLayout
from drivers.framed.servos import make_servos
from drivers.injection import FaultLayer
from drivers.serial.lineoptions import all_options
from drivers.servo import ServoAddress, ServoModel, ServoPlant
from drivers.url import split_url


class ServoMaker(Protocol):
    """Powers one servo up; mostly the family's subclass of `FramedServo` itself."""

    def __call__(
        self, number: int, address: ServoAddress, model: ServoModel, plant: ServoPlant, *, baud: int
    ) -> FramedServo:
        """Return the servo, without torque, set to `baud`. Raises `BusUrlError` for a rate it does not have."""
        ...


@dataclass(frozen=True, slots=True)
class Emulation:
    """What a family's emulated servos are made of: one servo, and how they behave on the line."""

    servo: ServoMaker
    behaviour: LineBehaviour

    def power_up(
        self,
        layout: FamilyLayout,
        servos: Sequence[ServoAddress],
        plant: ServoPlant,
        *,
        baud: int,
        turnaround_ns: int = DEFAULT_TURNAROUND_NS,
        jitter_ns: int = 0,
        rng: np.random.Generator | None = None,
        faults: FaultLayer | None = None,
    ) -> FramedEmulator:
        """Power servos up in front of `plant`; one without a model is the layout's first. Raises `BusError`."""
        emulated = [
            self.servo(slot.number, slot.address, slot.kind.model, plant, baud=baud)
            for slot in make_servos(servos, layout)
        ]
        return FramedEmulator(
            layout.dialect,
            self.behaviour,
            emulated,
            plant,
            baud=baud,
            turnaround_ns=turnaround_ns,
            jitter_ns=jitter_ns,
            rng=rng,
            faults=faults,
        )


def make_emulator(
    family: FramedFamily,
    emulation: Emulation,
    url: str,
    servos: Sequence[ServoAddress],
    plant: ServoPlant,
    seed: int,
) -> FramedEmulator:
    """Power up the servos of `emulated:NAME[?options]` in front of `plant`.

    Options: `baud`, `turnaround_us`, `jitter_us`, and the line faults of `drivers.injection.LineFaults`; those of the
    host's side are checked too. `seed` decides jitter and faults, also those set later. Raises `BusUrlError`.
    """
    if split_url(url)[:2] != ("emulated", family.name):
        raise BusUrlError(f"{url!r}: expected emulated:{family.name}[?options]")
    values, faults = all_options(family, url)
    family.check_options(values)
    jitter_seed, fault_seed = np.random.SeedSequence(seed).spawn(2)
    return emulation.power_up(
        family.layout,
        servos,
        plant,
        baud=int(values["baud"]),
        turnaround_ns=round(values["turnaround_us"] * 1000),
        jitter_ns=round(values["jitter_us"] * 1000),
        rng=np.random.default_rng(jitter_seed),
        faults=FaultLayer(faults, np.random.default_rng(fault_seed)) if faults.any else None,
    )
