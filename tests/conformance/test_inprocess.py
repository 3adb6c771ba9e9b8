"""The conformance suite on the virtual clock, for every family and model."""

import pytest

from tests.conformance.rig import InProcess
from tests.conformance.suite import *  # noqa: F403  the tests themselves

RIGS = {
    "AI-1001": ("emulated:aimotor", "1001"),
    "AI-701, 115200": ("emulated:aimotor?baud=115200", "701"),
    "AI-1001, sync": ("emulated:aimotor?sync=1", "1001"),
    "wCK-1108, ten bits": ("emulated:aimotor?ten_bit=1&baud=115200", "wCK-1108-10bit"),
    "XL330": ("emulated:dynamixel", "XL330-M288"),
    "XL430": ("emulated:dynamixel?baud=1000000", "XL430-W250"),
    "XM430, fast": ("emulated:dynamixel?baud=1000000&fast=1", "XM430-W350"),
    "XM430, single": ("emulated:dynamixel?baud=1000000&single=1", "XM430-W350"),
    "STS3215": ("emulated:feetech", "STS3215"),
    "STS3215, single": ("emulated:feetech?single=1", "STS3215"),
}


@pytest.fixture(params=RIGS.values(), ids=RIGS.keys())
def rig(request):
    found = InProcess(*request.param)
    yield found
    found.bus.close()
