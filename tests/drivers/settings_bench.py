"""Servos on a bench, whose settings are looked at and changed."""

import pytest
from emulated import ScriptedPlant
from framed_servos import dynamixel, feetech

from drivers.aimotor import FAMILY as AIMOTOR
from drivers.aimotor.emulation.emulator import AiMotorEmulator
from drivers.clock import VirtualPace
from drivers.dynamixel.family import FAMILY as DYNAMIXEL
from drivers.dynamixel.table import XM430_W350
from drivers.feetech.family import FAMILY as FEETECH
from drivers.feetech.table import STS3215
from drivers.inprocess import InProcessPort
from drivers.servo import ServoAddress

BOTH = pytest.mark.parametrize(
    ("family", "build", "table"), [(DYNAMIXEL, dynamixel, XM430_W350), (FEETECH, feetech, STS3215)], ids=["dxl", "sts"]
)


def settings_of(family, host, bus_id=1, model=""):
    pace = VirtualPace()
    pace.now_ns = host.now_ns
    return family.settings(host.port, pace, {}, bus_id, model=model, assumed=False)


class Bench:
    def __init__(self, model="wCK-1108", faults=None, wrap=lambda end: end, **how):
        self.plant = ScriptedPlant(1)
        self.emulator = AiMotorEmulator([ServoAddress(3, "a", model)], self.plant, **how)
        self.written = []
        bench = self

        class Tapped(InProcessPort):
            def write(self, data, now_ns):
                bench.written.append(bytes(data))
                super().write(data, now_ns)

        self.port = Tapped(wrap(self.emulator), 57_600)

    def settings(self, *, wck=1.0, assumed=False, bus_id=3):
        return AIMOTOR.settings(self.port, VirtualPace(), {"wck": wck}, bus_id, model="", assumed=assumed)
