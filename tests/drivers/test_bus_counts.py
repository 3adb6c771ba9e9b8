"""What buses count: every name documented, every family's own ones on the way up, several buses' together."""

from __future__ import annotations

import pytest
from framed_rig import Leg
from framed_servos import StillPlant

from drivers.bus import COUNTS, READ_ONLY, all_counts
from drivers.factory import find_family, open_bus
from drivers.group import BusGroup
from drivers.servo import ServoAddress

FAR = 10**15
COMMON = {"missed", "implausible", "stray_bytes"}
FAMILIES = ("aimotor", "dynamixel", "feetech")


def opened(url, ids=(1, 2)):
    family = find_family(url.removeprefix("emulated:").split("?")[0] or "aimotor")
    model = next(iter(family.models))
    return open_bus(url, [ServoAddress(i, f"servo {i}", model) for i in ids], StillPlant(len(ids), 0.1), seed=1)


def cycle(bus, now_ns, goals):
    bus.start(now_ns, goals)
    return bus.run_until(FAR)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("options", ["", "?echo=1"])
def test_every_count_has_a_name_that_is_explained_and_is_0_on_a_good_line(family, options):
    bus = opened(f"emulated:{family}{options}")
    now_ns = 0
    for _ in range(10):
        now_ns = cycle(bus, now_ns, [READ_ONLY] * 2)
    counts = all_counts(bus)
    assert set(counts) >= COMMON
    assert set(counts) <= set(COUNTS)
    assert ("echo_errors" in counts) == bool(options)
    assert not any(counts.values())


def test_only_what_can_happen_on_the_line_is_counted():
    assert "trips" in opened("emulated:dynamixel").counts
    assert "trips" not in opened("emulated:dynamixel?watchdog_ms=0").counts
    assert "trips" not in opened("emulated:feetech").counts


@pytest.mark.parametrize("family", ["dynamixel", "feetech"])
def test_a_servo_that_was_found_without_its_torque_is_counted_once(family):
    leg = Leg(family)
    leg.go(2100)
    assert leg.bus.counts["restarts"] == 0
    leg.emulator.brown_out(2)
    leg.go(2100, most=200)
    for _ in range(200):
        leg.cycle(2100)
    assert leg.bus.counts["restarts"] == 1
    assert leg.driven()[2] == 2100


def test_one_released_on_purpose_has_not_started_anew():
    leg = Leg()
    leg.go(2100)
    leg.release()
    leg.go(2100)
    assert leg.bus.counts["restarts"] == 0


def test_replies_that_were_spoilt_are_counted():
    leg = Leg()
    leg.cycle()
    clean = leg.bus.counts["bad_checksums"]
    leg.port.receive = lambda data: data[:-1] + bytes((data[-1] ^ 1,)) if data else data
    leg.cycle()
    assert clean == 0
    assert leg.bus.counts["bad_checksums"] >= 1


def test_buses_of_different_families_count_together_by_name():
    buses = [opened("emulated:dynamixel?echo=1"), opened("emulated:feetech?echo=1"), opened("emulated:")]
    group = BusGroup(buses, [(b, k) for b in range(3) for k in range(2)])
    assert set(group.counts) == {"restarts", "trips", "bad_checksums", "echo_errors"}
    ports = [buses[0]._port, buses[1]._port]
    ports[0].echo_errors, ports[1].echo_errors = 2, 3
    assert all_counts(group)["echo_errors"] == 5
