"""The conformance suite over a real pty, for every family: the same tests as in `tests/conformance`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from drivers.bench.release import finish
from drivers.bus import LIMP, READ_ONLY
from drivers.factory import bus_on_port, find_family, parse_line
from drivers.serial.port import open_port
from drivers.servo import ReplyStatus
from nuc_engine.cli.bus.lines import RealPace
from tests.conformance import suite
from tests.conformance.rig import addresses
from tests.conformance.suite import *  # noqa: F403  the tests themselves
from tests.realtime.pty_servos import IDS, Servos

LINES = {
    "AI-1001": ("aimotor", "1001", 115_200),
    "XL430": ("dynamixel", "XL430-W250", 1_000_000),
    "XM430": ("dynamixel", "XM430-W350", 1_000_000),
    "STS3215": ("feetech", "STS3215", 1_000_000),
}
TIMEOUT_US = 60_000
"""A machine that stands still for a while is not what is tested."""

IN_VAIN_US = 15_000
IN_VAIN = {
    suite.test_it_finds_exactly_who_is_there,
    suite.test_flipped_bits_end_nothing,
    suite.test_a_line_that_loses_and_garbles_never_moves_a_shaft_that_is_only_read,
}
"""Tests in which hundreds of replies are waited for that do not come: there the time that is waited is shorter."""

STILL_CYCLES = 50


class OverPty:
    """The rig whose servos are another process; made afresh for each test, on a terminal that stays."""

    def __init__(self, servos: Servos, timeout_us: int = TIMEOUT_US) -> None:
        self.servos = servos
        self.model = find_family(servos.family).models[servos.model]
        self.pace = RealPace()
        spec = parse_line(f"{servos.url}&timeout_us={timeout_us}&late_us=0")
        self.bus = bus_on_port(spec, open_port(str(servos.pty), servos.baud), addresses(servos.model))

    def tell(self, command: str, **parameters: Any) -> None:
        self.servos.tell(command, **parameters)


def as_it_was(servos: Servos) -> None:
    """Undo what a test did: everybody plugged in, well, limp, in the middle of the scale."""
    servos.tell("faults")
    for bus_id in IDS:
        servos.tell("wrong_id", servo=bus_id, id=bus_id)
        servos.tell("unstick", servo=bus_id)
        servos.tell("babble", servo=bus_id, on=False)
        servos.tell("trip", servo=bus_id, on=False)
        servos.tell("plug", servo=bus_id)
    servos.tell("supply", on=True)
    rig = OverPty(servos)
    middle = round(sum(rig.model.positions) / 2)
    tick = max(1, round(0.654 / rig.model.tick_deg))
    at_rest = 0
    for cycle in range(3000):
        known = all(status == ReplyStatus.OK for status in rig.bus.status)
        before = rig.bus.position_raw[:]
        rig.bus.start(rig.pace.now_ns, [middle if known and cycle > 5 else READ_ONLY] * len(IDS))
        finish(rig.bus, rig.pace)
        there = all(abs(at - middle) <= max(1, tick // 2) for at in rig.bus.position_raw)
        at_rest = at_rest + 1 if there and rig.bus.position_raw == before else 0
        if at_rest > STILL_CYCLES:
            break
    for _ in range(3):
        rig.bus.start(rig.pace.now_ns, [LIMP] * len(IDS))
        finish(rig.bus, rig.pace)
    rig.bus.close()


@pytest.fixture(scope="module", params=LINES.values(), ids=LINES.keys())
def servos(request, tmp_path_factory) -> Iterator[Servos]:
    family, model, baud = request.param
    leg = Servos(family, model, tmp_path_factory.mktemp(family), baud=baud)
    yield leg
    leg.end()


@pytest.fixture
def rig(servos: Servos, request) -> Iterator[OverPty]:
    as_it_was(servos)
    found = OverPty(servos, IN_VAIN_US if request.function in IN_VAIN else TIMEOUT_US)
    yield found
    found.bus.close()
