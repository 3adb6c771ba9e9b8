"""Requests that do not wait for replies: how fast, how it begins, what ends it."""

import numpy as np
import pytest
from emulated import EXCHANGE_NS, MS, REPLY_NS, REQUEST_NS, TURN_NS, Polled, ScriptedPlant, addresses, rig
from pipelines import (
    BAUD,
    CYCLE_NS,
    FAR,
    IMPLAUSIBLE,
    MISSED,
    OK,
    PIPELINE,
    at_bytes,
    crowd,
    cycle,
    faulty_rig,
    warm_up,
)

from drivers.aimotor import AiMotorBus
from drivers.aimotor.emulator import AiMotorEmulator
from drivers.aimotor.pipelined import GOOD_CYCLES
from drivers.bus import LIMP
from drivers.errors import BusUrlError
from drivers.factory import open_bus, parse_line
from drivers.faults import LineFaults
from drivers.inprocess import InProcessPort
from drivers.port import NEVER
from drivers.servo import PlantFault


def test_a_cycle_is_as_long_as_its_requests_and_one_reply():
    bus, _, plant = rig(bus_options=PIPELINE)
    now = warm_up(bus)
    assert now == GOOD_CYCLES * 4 * EXCHANGE_NS
    for _ in range(20):
        plant.calls.clear()
        end = cycle(bus, now, [10, 20, 30, 40])
        assert end - now == CYCLE_NS
        assert bus.stamp_ns == [now + (k + 1) * REQUEST_NS + TURN_NS + REPLY_NS for k in range(4)]
        assert bus.status == [OK] * 4
        assert plant.commands() == [("command", k, 10 * (k + 1), 3) for k in range(4)]
        now = end
    assert (bus.fallbacks, bus.missed, bus.implausible, bus.stray_bytes) == (0, 0, 0, 0)
    # Nine tenths of what the wire could do without turnarounds, and a half more than one by one.
    assert 1e9 / CYCLE_NS > 0.9 * BAUD / (40 * 4 + 20)
    assert CYCLE_NS * 3 < 4 * EXCHANGE_NS * 2.01


@pytest.mark.parametrize("baud", [57_600, 115_200, 460_800])
@pytest.mark.parametrize("count", [1, 4, 18])
def test_85_percent_of_the_limit_whatever_the_number_of_servos(baud, count):
    bus, _, _ = rig(tuple(range(count)), bus_options=PIPELINE, baud=baud, turnaround_ns=50_000)
    now = warm_up(bus)
    end = cycle(bus, now)
    limit_ns = 1e9 * (40 * count + 20) / baud
    assert limit_ns < end - now
    assert (end - now - 50_000) < 1.001 * limit_ns


def test_off_by_default():
    bus, _, _ = rig()
    now = warm_up(bus)
    assert cycle(bus, now) - now == 4 * EXCHANGE_NS
    assert bus.fallbacks == 0


def test_only_one_form_at_a_time():
    for forms in ({"sync": True}, {"ten_bit": True}):
        with pytest.raises(BusUrlError, match="one at most"):
            rig(bus_options={**PIPELINE, **forms})


def test_not_on_one_wire():
    for url in ("emulated:?pipeline=1&echo=1", "emulated:?pipeline=1&sync=1"):
        with pytest.raises(BusUrlError, match="pipeline"):
            open_bus(url, addresses(0, 1), ScriptedPlant(2), seed=0)
    with pytest.raises(BusUrlError, match="one wire"):
        parse_line("aimotor:///dev/ttyUSB0?pipeline=1&echo=1")


def wiggle(servo, now_ns):
    return 60 + 3 * servo + 8 * np.sin(now_ns / (40 * MS) + servo)


def run(drive, wrap, cycles, **options):
    plant = ScriptedPlant()
    plant.path = wiggle
    emulator = AiMotorEmulator(addresses(0, 1, 2, 3), plant, rng=np.random.default_rng(5), **options)
    port = InProcessPort(emulator, BAUD)
    bus = AiMotorBus(wrap(port), addresses(0, 1, 2, 3), pipeline=True)
    now, seen = 0, []
    for _ in range(cycles):
        bus.start(now, [90 if status == OK else -1 for status in bus.status])
        now = drive(bus, port, now)
        seen.append((now, bus.position_raw[:], bus.current_raw[:], bus.status[:], bus.stamp_ns[:], bus.misses[:]))
    return seen, plant.calls, (bus.missed, bus.implausible, bus.stray_bytes, bus.fallbacks)


def run_ahead(bus, port, now_ns):
    return bus.run_until(FAR)


def at_wakes(bus, port, now_ns):
    while not bus.proceed(now_ns):
        now_ns = bus.wake_ns
    return now_ns


def test_however_it_is_driven_it_comes_to_the_same():
    for jitter_ns in (0, 150_000):
        results = [
            run(drive, wrap, 60, jitter_ns=jitter_ns)
            for drive, wrap in ((run_ahead, lambda p: p), (at_wakes, lambda p: p), (at_bytes, Polled))
        ]
        seen, calls, counts = results[0]
        assert counts == (0, 0, 0, 0)
        assert seen[-1][0] - seen[-2][0] < CYCLE_NS + 200_000
        for others, other_calls, other_counts in results[1:]:
            assert (others, other_counts) == (seen, counts)
            assert [c for c in other_calls if c[0] != "advance"] == [c for c in calls if c[0] != "advance"]


def test_on_a_port_that_knows_nothing_requests_are_written_one_ahead():
    bus, _, _ = rig(bus_options=PIPELINE)
    port = bus._port
    bus = AiMotorBus(Polled(port), addresses(0, 1, 2, 3), pipeline=True)
    now = 0
    for _ in range(GOOD_CYCLES):
        bus.start(now, [-1] * 4)
        now = at_bytes(bus, port, now)
    written = []
    write = port.write
    bus._pipe._port.write = lambda data, at_ns: (written.append(at_ns - now), write(data, at_ns))
    bus.start(now, [-1] * 4)
    end = at_bytes(bus, port, now)
    assert written == [0, 0, REQUEST_NS, 2 * REQUEST_NS]
    assert end - now == CYCLE_NS


def test_uneven_turnarounds_keep_it_from_beginning():
    for jitter_ns, begins in ((300_000, True), (900_000, False)):
        bus, _, _ = rig(bus_options=PIPELINE, jitter_ns=jitter_ns, rng=np.random.default_rng(3))
        now, lengths = 0, []
        for _ in range(120):
            end = cycle(bus, now)
            lengths.append(end - now)
            now = end
        assert (min(lengths) < 3.6 * MS) is begins
        assert bus.fallbacks == 0
        assert bus.status == [OK] * 4


@pytest.mark.parametrize(
    "faults", [{"drop": 1.0}, {"truncate": 1.0}, {"babble": 1.0}, {"delay": 1.0, "delay_us": 5000}, {"insert": 1.0}]
)
def test_anything_odd_ends_it_and_the_rest_of_the_cycle_is_made_one_by_one(faults):
    bus, _, _, layer = faulty_rig()
    now = warm_up(bus)
    layer.faults = LineFaults(**faults)
    bus.start(now, [50, 95, 145, 215])
    bus.run_until(now + REQUEST_NS + 1)
    layer.faults = LineFaults()
    end = bus.run_until(FAR)
    assert bus.fallbacks == 1
    assert bus.status == [OK] * 4
    assert bus.position_raw == [40, 90, 140, 220]
    assert bus.misses == [0] * 4
    assert end - now < 30 * MS
    # It is tried again after a while, no sooner.
    now, lengths = end, []
    for _ in range(GOOD_CYCLES + 2):
        end = cycle(bus, now)
        lengths.append(end - now)
        now = end
    assert lengths[-1] == CYCLE_NS
    assert [length == CYCLE_NS for length in lengths].index(True) == GOOD_CYCLES
    assert bus.fallbacks == 1


def test_who_was_not_sent_to_when_it_ended_is_still_sent_to_and_who_was_is_only_asked():
    bus, emulator, plant, _ = faulty_rig()
    now = warm_up(bus)
    emulator.unplug(0)
    plant.calls.clear()
    cycle(bus, now, [50, 95, 145, 215])
    # When the first byte of servo 0's reply is overdue, three requests have been sent.
    assert plant.commands() == [("command", 1, 95, 3), ("command", 2, 145, 3), ("command", 3, 215, 3)]
    assert bus.status == [MISSED, OK, OK, OK]
    assert bus.position_raw == [40, 90, 140, 220]
    assert bus.fallbacks == 1


def test_a_missing_servo_keeps_it_from_beginning_again():
    bus, emulator, _, _ = faulty_rig()
    now = warm_up(bus)
    emulator.unplug(2)
    for _ in range(3 * GOOD_CYCLES):
        now = cycle(bus, now)
    assert bus.fallbacks == 1
    assert bus.status == [OK, OK, MISSED, OK]


def test_a_jump_is_refused_as_ever_and_ends_it():
    bus, _, plant, _ = faulty_rig()
    now = warm_up(bus)
    stamp = bus.stamp_ns[2]
    plant.angles[2] = 160 * 0.654
    while bus.position_raw[2] == 140:
        now = cycle(bus, now)
        assert bus.status[2] in (OK, IMPLAUSIBLE)
    assert bus.stamp_ns[2] - stamp >= 19 / (1.5 * 600 / 0.654) * 1e9
    assert (bus.position_raw, bus.status) == ([40, 90, 160, 220], [OK] * 4)
    assert bus.fallbacks == 1


def test_torque_off_in_the_middle_comes_behind_what_is_on_the_wire_already():
    for after_ns in range(0, CYCLE_NS, 100_000):
        bus, _, plant, _ = faulty_rig()
        now = warm_up(bus)
        plant.calls.clear()
        bus.start(now, [50, 95, 145, 215])
        bus.run_until(now + after_ns)
        driven = len(plant.commands())
        bus.torque_off(now + after_ns)
        assert bus.run_until(FAR) <= now + after_ns + 2 * REQUEST_NS + TURN_NS + REPLY_NS + 4 * EXCHANGE_NS
        commands = plant.commands()
        assert commands[driven:] == [("release", k) for k in range(4)]
        assert bus.status == [OK] * 4
        assert bus.fallbacks == 0
        # And all is as before afterwards.
        end = cycle(bus, 100 * MS, [-1] * 4)
        assert bus.status == [OK] * 4
        assert end - 100 * MS == CYCLE_NS


def test_torque_off_does_not_wait_until_what_went_wrong_has_passed():
    bus, emulator, plant, _ = faulty_rig()
    now = warm_up(bus)
    emulator.unplug(0)
    bus.start(now, [50, 95, 145, 215])
    bus.run_until(now + 2 * MS)
    assert bus.fallbacks == 1
    plant.calls.clear()
    bus.torque_off(now + 2 * MS)
    assert bus.run_until(FAR) < now + 2 * MS + 4 * (REQUEST_NS + REPLY_NS + 4 * MS + 1 * MS)
    assert plant.commands() == [("release", k) for k in (1, 2, 3)]
    assert bus.status[0] == MISSED


def test_nor_does_it_when_that_goes_wrong_after_it_was_asked_for():
    bus, emulator, plant, _ = faulty_rig()
    now = warm_up(bus)
    emulator.unplug(0)
    bus.start(now, [50, 95, 145, 215])
    bus.torque_off(now + MS // 2)
    # Overdue at 1.45 ms; then servo 0 has its 5 ms to confirm, and the second torque-off is heard at 7.2 ms.
    bus.run_until(now + 8 * MS)
    assert plant.commands()[-1] == ("release", 1)
    bus.run_until(FAR)
    assert [call for call in plant.commands() if call[0] == "release"][-3:] == [("release", k) for k in (1, 2, 3)]


def test_a_load_of_255_is_no_reply():
    bus, servos, _ = crowd()
    now = warm_up(bus)
    servos.plan[servos.count + 2] = lambda reply: (0, b"\xff" + reply[1:])
    cycle(bus, now)
    assert bus.fallbacks == 1
    assert bus.implausible == 1
    assert bus.current_raw == [10] * 4


def test_limp_goals_are_exchanged_one_by_one():
    bus, _, plant, _ = faulty_rig()
    now = warm_up(bus)
    plant.calls.clear()
    assert cycle(bus, now, [LIMP, 95, LIMP, 215]) - now == 4 * EXCHANGE_NS
    assert plant.commands() == [("release", 0), ("command", 1, 95, 3), ("release", 2), ("command", 3, 215, 3)]
    now += 4 * EXCHANGE_NS
    assert cycle(bus, now, [-1, 95, -1, 215]) - now == CYCLE_NS


def test_reads_are_pipelined_too():
    bus, _, plant, _ = faulty_rig()
    now = warm_up(bus)
    plant.calls.clear()
    assert cycle(bus, now, [-1] * 4) - now == CYCLE_NS
    assert plant.commands() == []
    assert bus.position_raw == [40, 90, 140, 220]


def test_a_plant_that_fails_leaves_the_bus_usable():
    bus, _, plant, _ = faulty_rig()
    now = warm_up(bus)
    good = plant.advance

    def advance(now_ns):
        raise PlantFault("diverged")

    bus.start(now, [-1] * 4)
    plant.advance = advance
    with pytest.raises(PlantFault):
        bus.run_until(FAR)
    plant.advance = good
    bus.torque_off(now + 2 * MS)
    assert bus.run_until(FAR) < now + 100 * MS
    assert bus.status == [OK] * 4


def test_wake_ns_is_never_in_the_past_of_a_step_and_the_cycle_ends():
    bus, _, _ = rig(bus_options=PIPELINE)
    now = warm_up(bus)
    bus.start(now, [-1] * 4)
    while not bus.proceed(now):
        assert bus.wake_ns > now
        now = bus.wake_ns
    assert bus.wake_ns == NEVER
