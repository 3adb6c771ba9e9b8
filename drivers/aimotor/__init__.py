"""AI motors (AI-601, 701, 1001) and their successor's framing (wCK): tables, codec, bus, emulator.

    table.py      models, units, set commands, as data
    codec.py      bytes <-> requests and replies
    bus.py        the host's side: one exchange per servo and cycle
    emulator.py   the servos' side, in front of a plant

`open_bus` is what the entry point names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from drivers.aimotor.addresses import check_servos
from drivers.aimotor.bus import AiMotorBus
from drivers.aimotor.emulator import DEFAULT_TURNAROUND_NS, AiMotorEmulator
from drivers.aimotor.table import BAUD_CODES, DEFAULT_BAUD, DEFAULT_TIMEOUT_NS, MODELS, V_MAX_DEG_S
from drivers.errors import BusUrlError
from drivers.faults import FAULT_OPTIONS, FaultLayer, LineFaults
from drivers.inprocess import InProcessPort
from drivers.servo import ServoAddress, ServoPlant
from drivers.url import parse_url

__all__ = ["AiMotorBus", "AiMotorEmulator", "open_bus"]

_OPTIONS: Final = {
    "baud": float(DEFAULT_BAUD),
    "turnaround_us": DEFAULT_TURNAROUND_NS / 1000,
    "jitter_us": 0.0,
    "timeout_us": DEFAULT_TIMEOUT_NS / 1000,
    "v_max_deg_s": V_MAX_DEG_S,
}
_LONGEST_US: Final = 1e6


def open_bus(url: str, servos: Sequence[ServoAddress], plant: ServoPlant | None, seed: int) -> AiMotorBus:
    """Open `emulated:[aimotor][?options]`: a bus with emulated servos in front of `plant`.

    Options: `baud`, `turnaround_us`, `jitter_us`, `timeout_us` (beyond the wire time), `v_max_deg_s`, and the line
    faults of `drivers.faults.LineFaults`. `seed` decides jitter and faults. Raises `BusUrlError`.
    """
    parsed = parse_url(url, (*_OPTIONS, *FAULT_OPTIONS))
    if parsed.scheme != "emulated":
        raise BusUrlError(f"{url!r}: the AI motor bus opens emulated:[aimotor][?options] only")
    if plant is None:
        raise BusUrlError(f"{url!r}: an emulated bus needs a plant behind its servos")
    return _open_emulated(parsed.options, check_servos(_known_models(servos)), plant, seed)


def _open_emulated(
    options: dict[str, float], servos: tuple[ServoAddress, ...], plant: ServoPlant, seed: int
) -> AiMotorBus:
    values = _OPTIONS | {name: value for name, value in options.items() if name in _OPTIONS}
    baud = int(values["baud"])
    if baud != values["baud"] or baud not in BAUD_CODES.values():
        rates = ", ".join(map(str, sorted(BAUD_CODES.values())))
        raise BusUrlError(f"baud={values['baud']:g}: expected one of {rates}")
    for name in ("turnaround_us", "jitter_us", "timeout_us"):
        if not 0.0 <= values[name] <= _LONGEST_US:
            raise BusUrlError(f"{name}={values[name]:g}: expected 0 to {_LONGEST_US:g} microseconds")
    if not values["v_max_deg_s"] > 0.0:
        raise BusUrlError(f"v_max_deg_s={values['v_max_deg_s']:g}: expected more than 0")
    faults = LineFaults(**{name: value for name, value in options.items() if name in FAULT_OPTIONS})
    jitter_seed, fault_seed = np.random.SeedSequence(seed).spawn(2)
    emulator = AiMotorEmulator(
        servos,
        plant,
        baud=baud,
        turnaround_ns=round(values["turnaround_us"] * 1000),
        jitter_ns=round(values["jitter_us"] * 1000),
        rng=np.random.default_rng(jitter_seed),
        faults=FaultLayer(faults, np.random.default_rng(fault_seed)) if faults.any else None,
    )
    return AiMotorBus(
        InProcessPort(emulator, baud),
        servos,
        baud=baud,
        timeout_ns=round(values["timeout_us"] * 1000),
        v_max_deg_s=values["v_max_deg_s"],
    )


def _known_models(servos: Sequence[ServoAddress]) -> Sequence[ServoAddress]:
    for servo in servos:
        if servo.model and servo.model not in MODELS:
            raise BusUrlError(f"servo {servo.name!r} is of unknown model {servo.model!r}: expected {', '.join(MODELS)}")
    return servos
