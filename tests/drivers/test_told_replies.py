"""A line in this process tells replies before they have crossed it; nothing else is different from reading them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.aimotor.bus import AiMotorBus
from drivers.aimotor.emulator import AiMotorEmulator
from drivers.bus import LIMP, READ_ONLY
from drivers.errors import PortError
from drivers.inprocess import InProcessPort
from drivers.port import NEVER, PortAround
from tests.drivers.emulated import EXCHANGE_NS, ScriptedPlant, addresses

IDS = (0, 1, 2, 3)


class Leg:
    """A bus in front of an emulator; `told`: by the port itself, else by one that only passes bytes on."""

    def __init__(self, *, told: bool, turnaround_ns: int = 230_000, jitter_ns: int = 0) -> None:
        self.plant = ScriptedPlant(len(IDS))
        rng = np.random.default_rng(3)
        self.emulator = AiMotorEmulator(
            addresses(*IDS), self.plant, turnaround_ns=turnaround_ns, jitter_ns=jitter_ns, rng=rng
        )
        self.port = InProcessPort(self.emulator, self.emulator.baud)
        port = self.port if told else PortAround(self.port)
        self.bus = AiMotorBus(port, addresses(*IDS), baud=self.emulator.baud)
        self.now_ns = 0
        self.done_ns = 0

    def change(self, what: str, servo: int) -> None:
        match what:
            case "jump":
                self.plant.angles[servo] += 60.0 if self.plant.angles[servo] < 90 else -60.0
            case "stick":
                self.emulator.stick(servo)
            case "free":
                self.emulator.stick(servo, stuck=False)
            case "unplug":
                self.emulator.unplug(servo)
            case "plug":
                self.emulator.plug(servo)
            case _:
                pass

    def go(self, gap_ns: int, goals: list[int]) -> tuple[object, ...]:
        """Go on so far, with a new cycle where there is none under way; return all that can be seen."""
        if self.done_ns != NEVER:
            self.bus.start(max(self.now_ns, self.done_ns), goals)
        self.now_ns += gap_ns
        self.done_ns = self.bus.run_until(self.now_ns)
        bus = self.bus
        lists = (bus.position_raw, bus.current_raw, bus.stamp_ns, bus.status, bus.misses)
        counts = (bus.missed, bus.implausible, bus.stray_bytes, self.emulator.collisions)
        return self.done_ns, bus.wake_ns, *map(tuple, lists), *counts, tuple(self.plant.calls)


TROUBLES = ("jump", "stick", "free", "unplug", "plug")
GOALS = ([100] * 4, [99, 100, 101, READ_ONLY], [100, 100, LIMP, 100])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(0, 10**9),
    st.sampled_from((0.0, 0.05, 0.2)),
    st.sampled_from((0, 230_000)),
    st.sampled_from((0, 40_000, 4_500_000)),
)
def test_a_bus_that_is_told_does_what_one_that_reads_does(seed, often, turnaround_ns, jitter_ns) -> None:
    draw = np.random.default_rng(seed)
    legs = [Leg(told=told, turnaround_ns=turnaround_ns, jitter_ns=jitter_ns) for told in (True, False)]
    for _ in range(40):
        what, servo = str(draw.choice(TROUBLES)) if draw.random() < often else "", int(draw.integers(4))
        for leg in legs:
            leg.change(what, servo)
        gap_ns, goals = int(draw.integers(1, 6 * EXCHANGE_NS)), GOALS[draw.integers(len(GOALS))]
        told, read = (leg.go(gap_ns, goals) for leg in legs)
        assert told == read


def test_replies_are_told_once_their_requests_are_known() -> None:
    leg, asked = Leg(told=True), []
    tell = leg.port.teller()
    leg.port._tell = lambda data, now_ns: asked.append(now_ns) or tell(data, now_ns)
    for _ in range(3):
        leg.go(20 * EXCHANGE_NS, [100] * 4)
    # The first request of each cycle is always written.
    assert len(asked) == 9


def test_nothing_is_told_while_a_reply_is_on_its_way_or_once_the_port_is_closed() -> None:
    port = Leg(told=True).port
    assert port.teller() is not None
    port.deliver(b"\x01\x02", 0)
    assert port.teller() is None
    port.read(NEVER)
    assert port.teller() is not None
    port.close()
    assert port.teller() is None
    with pytest.raises(PortError):
        port.write(b"\x01", 0)


def test_an_unknown_request_and_one_to_a_servo_in_trouble_are_not_told() -> None:
    leg = Leg(told=True)
    leg.go(20 * EXCHANGE_NS, [100] * 4)
    tell = leg.port.teller()
    assert tell is not None
    request = leg.bus._requests[0]
    assert tell(b"\x00" * 4, 10**9) is None
    calls = len(leg.plant.calls)
    assert tell(request, 10**9) is not None
    assert len(leg.plant.calls) > calls
    leg.emulator.stick(2)
    calls = len(leg.plant.calls)
    assert tell(request, 2 * 10**9) is None
    assert len(leg.plant.calls) == calls
