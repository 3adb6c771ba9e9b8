"""One adapter with emulated servos on a bench, as the bench tools find it."""

from __future__ import annotations

import json
from typing import Any

from click.testing import Result

from drivers.bench.plant import BenchPlant
from drivers.clock import VirtualPace
from drivers.errors import PortGoneError
from drivers.factory import find_family
from drivers.inprocess import InProcessPort
from drivers.serial.latency import Latency
from drivers.servo import ServoAddress

URL = "aimotor:///dev/ttyUSB0"
FRAMED = [("dynamixel", "XM430-W350"), ("dynamixel", "XL330-M288"), ("feetech", "STS3215")]
WCK = "aimotor:///dev/ttyUSB0?wck=1"


class Device(InProcessPort):
    latency = Latency(True, True, 1, "latency timer 1 ms")


class Table:
    """One adapter with emulated servos on a bench; `baud` is the rate they understand."""

    def __init__(self, *ids: int, model: str = "1001", baud: int = 57_600, family: str = "aimotor") -> None:
        servos = [ServoAddress(k, f"id {k}", model) for k in ids]
        found = find_family(family)
        self.plant = BenchPlant([found.models[model]] * len(ids))
        wck = "&wck=1" if model.startswith("wCK") else ""
        self.emulator: Any = found.emulator(f"emulated:{family}?baud={baud}{wck}", servos, self.plant, 0)
        self.pace = VirtualPace()
        self.opened: list[int] = []

    def open_port(self, path: str, baud: int) -> Device:
        if path != "/dev/ttyUSB0":
            raise PortGoneError(f"{path}: no such device")
        self.opened.append(baud)
        self.emulator.baud = baud
        return Device(self.emulator, baud)


def data(result: Result) -> dict[str, Any]:
    return json.loads(result.stdout)
