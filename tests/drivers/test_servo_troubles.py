"""What can go wrong with emulated servos while they run, each against a bus."""

import numpy as np
import pytest
from emulated import EXCHANGE_NS, MS, TURN_NS, rig, wired
from fault_table import fault_table

from drivers.aimotor import codec
from drivers.aimotor.emulation.injection import LineRecord
from drivers.errors import BusError
from drivers.injection import FaultLayer, LineFaults
from drivers.port import NEVER
from drivers.servo import ReplyStatus

OK, MISSED, IMPLAUSIBLE = ReplyStatus.OK, ReplyStatus.MISSED, ReplyStatus.IMPLAUSIBLE
FAR = 10**15


def cycle(bus, now, goal=50):
    bus.start(now, [goal if status == OK else -1 for status in bus.status])
    return bus.run_until(FAR)


def cycles(bus, now, count, goal=50):
    for _ in range(count):
        now = cycle(bus, now, goal)
    return now


def commands(plant):
    return [call for call in plant.commands() if call[0] == "command"]


def noisy_rig(ids=(0, 1, 2, 3)):
    bus, emulator, plant = rig(ids, rng=np.random.default_rng(5))
    plant.angles = [raw * 0.654 for raw in (40, 90, 140, 220)[: len(ids)]]
    return bus, emulator, plant, cycles(bus, 0, 2)


def test_a_babbling_servo_drowns_every_reply_but_not_the_requests():
    bus, emulator, plant, now = noisy_rig()
    plant.calls.clear()
    emulator.babble(2)
    for missed in range(1, 6):
        now = cycle(bus, now)
        assert OK not in bus.status
        assert bus.misses == [missed] * 4
        assert bus.position_raw == [40, 90, 140, 220]
    assert len(commands(plant)) == 4
    assert emulator.collisions == 20
    assert bus.stray_bytes > 40
    bus.torque_off(now)
    assert bus.run_until(FAR) - now < 30 * MS
    assert [call for call in plant.commands() if call[0] == "release"] == [("release", k) for k in range(4)]


def test_when_it_falls_silent_all_is_well_again_within_two_cycles():
    bus, emulator, _, now = noisy_rig()
    emulator.babble(2)
    now = cycles(bus, now, 4)
    emulator.babble(2, talking=False)
    now = cycles(bus, now, 2)
    start, now = now, cycle(bus, now)
    assert (bus.status, bus.position_raw) == ([OK] * 4, [40, 90, 140, 220])
    assert cycle(bus, now) - now == 4 * EXCHANGE_NS
    assert now - start < 5 * EXCHANGE_NS


def test_chatter_fills_the_line_without_gaps_and_never_twice():
    port, emulator, _ = wired(0, rng=np.random.default_rng(5))
    emulator.chatter(0, 10 * MS)
    assert port.ready_ns(1) == NEVER
    emulator.babble(0)
    for until in (3 * MS, 3 * MS, 10 * MS):
        emulator.chatter(1 * MS, until)
    byte_ns = 173_611
    assert len(port.read(10 * MS)) == 9 * MS // byte_ns
    emulator.unplug(0)
    emulator.chatter(20 * MS, 30 * MS)
    assert port.read(40 * MS) != b""
    assert port.ready_ns(1) == NEVER


def test_a_babbling_servo_needs_a_generator():
    _, emulator, _ = rig((0,))
    with pytest.raises(BusError, match="generator"):
        emulator.babble(0)


def test_without_supply_servos_are_limp_and_silent_then_passive_and_answering():
    bus, emulator, plant = rig()
    now = cycles(bus, 0, 2)
    plant.calls.clear()
    emulator.supply(on=False)
    assert plant.commands() == [("release", k) for k in range(4)]
    now = cycles(bus, now, 3)
    assert (bus.status, bus.misses) == ([MISSED] * 4, [3] * 4)
    assert len(plant.commands()) == 4
    # Physics goes on meanwhile.
    assert plant.now_ns > now - 10 * MS
    plant.calls.clear()
    emulator.supply(on=True)
    for status in (ReplyStatus.UNSURE, OK):
        bus.start(now, [-1] * 4)
        now = bus.run_until(FAR)
        assert bus.status == [status] * 4
    assert {call[0] for call in plant.commands()} == {"release"}
    cycle(bus, now)
    assert len(commands(plant)) == 4


def test_a_request_torn_by_the_loss_of_supply_is_forgotten():
    port, emulator, plant = wired(0)
    frame = codec.encode_position(0, 3, 77)
    port.write(frame[:3], 0)
    emulator.supply(on=False)
    emulator.supply(on=True)
    port.write(frame[3:], 1 * MS)
    assert commands(plant) == []
    assert emulator.stray_bytes == 4


def test_a_servo_with_a_wrong_id_is_missed_at_its_own_and_found_at_the_other():
    bus, emulator, plant = rig((1, 2))
    now = cycles(bus, 0, 2)
    emulator.answer_as(0, 9)
    now = cycle(bus, now)
    assert bus.status == [MISSED, OK]
    bus.discover(now)
    now = bus.run_until(FAR)
    assert bus.found == (2, 9)
    emulator.answer_as(0, 1)
    plant.calls.clear()
    now = cycles(bus, now, 3, goal=77)
    assert bus.status == [OK, OK]
    assert commands(plant)[0:1] == [("command", 1, 77, 3)]
    assert ("command", 0, 77, 3) in commands(plant)


def test_two_servos_with_one_id_both_obey_and_answer_on_top_of_each_other():
    port, emulator, plant = wired(1, 2)
    plant.angles = [0b1100 * 0.654, 0b1010 * 0.654]
    for k in range(3):
        port.write(codec.encode_read(1), k * 50 * MS)
        assert port.read(k * 50 * MS + 40 * MS)[1] == 0b1100
    emulator.answer_as(1, 1)
    plant.calls.clear()
    port.write(codec.encode_position(1, 3, 30), 200 * MS)
    assert port.read(240 * MS)[1] == 0b1000
    assert commands(plant) == [("command", 0, 30, 3), ("command", 1, 30, 3)]
    port.write(codec.encode_position(2, 3, 31), 300 * MS)
    assert port.read(340 * MS) == b""


@pytest.mark.parametrize(("servo", "bus_id"), [(0, 31), (0, -1), (2, 5), (-1, 5)])
def test_ids_and_servos_are_checked(servo, bus_id):
    _, emulator, _ = rig((0, 1))
    with pytest.raises(BusError):
        emulator.answer_as(servo, bus_id)


def test_an_overloaded_servo_goes_limp_by_itself_and_answers_on():
    bus, emulator, plant = rig((0, 1))
    emulator.set_overload(1.0, 20 * MS)
    now = cycles(bus, 0, 3)
    plant.currents[1] = 1.5
    plant.calls.clear()
    since = now
    while ("release", 1) not in plant.commands():
        now = cycle(bus, now)
    assert 20 * MS <= now - since < 20 * MS + 3 * 2 * EXCHANGE_NS
    plant.calls.clear()
    plant.currents[1] = 0.0
    now = cycles(bus, now, 4)
    assert bus.status == [OK, OK]
    assert {call[1] for call in commands(plant)} == {0}
    bus.torque_off(now)
    now = bus.run_until(FAR)
    cycle(bus, now)
    assert ("command", 1, 50, 3) in commands(plant)


def test_a_short_peak_of_current_is_no_overload():
    bus, emulator, plant = rig((0,))
    emulator.set_overload(1.0, 20 * MS)
    now = cycles(bus, 0, 2)
    plant.calls.clear()
    for _ in range(6):
        plant.currents[0] = 1.5
        now = cycles(bus, now, 10)
        plant.currents[0] = 0.9
        now = cycle(bus, now)
    assert ("release", 0) not in plant.commands()


def test_tripping_by_hand_and_what_ends_it():
    bus, emulator, plant = rig((0,))
    now = cycles(bus, 0, 2)
    for recover in (
        lambda: emulator.trip(0, tripped=False),
        lambda: (emulator.supply(on=False), emulator.supply(on=True)),
    ):
        emulator.trip(0)
        plant.calls.clear()
        now = cycles(bus, now, 2)
        assert commands(plant) == []
        recover()
        now = cycles(bus, now, 2)
        assert commands(plant)


def test_every_trouble_over_the_quick_path_is_back():
    bus, emulator, plant = rig((0, 1), rng=np.random.default_rng(1))
    now = cycles(bus, 0, 3)
    emulator.babble(0)
    emulator.babble(0, talking=False)
    emulator.trip(1)
    emulator.trip(1, tripped=False)
    emulator.stick(1)
    emulator.stick(1, stuck=False)
    emulator.set_overload(1.0)
    emulator.set_overload(None)
    plant.angles[1] = 0.0
    assert cycle(bus, now) - now == 2 * EXCHANGE_NS
    assert bus.status == [OK, IMPLAUSIBLE]


LOST = {"drop": 0.01, "truncate": 0.01}
FLIPPED = {"flip": 0.01}
ALL = {"drop": 0.02, "flip": 0.02, "insert": 0.02, "truncate": 0.02, "delay": 0.02, "babble": 0.02, "delay_us": 6000}


@pytest.mark.parametrize("faults", [LOST, FLIPPED, ALL], ids=["lost", "flipped", "all"])
def test_every_fault_that_can_be_noticed_is_counted(faults):
    layer = FaultLayer(LineFaults(**faults), np.random.default_rng(8))
    bus, emulator, plant = rig(faults=layer)
    plant.angles = [raw * 0.654 for raw in (40, 90, 140, 220)]
    cycles(bus, 0, 1500)
    table = fault_table(emulator.record, emulator.injected, bus, reach_ticks=6, margin_ns=4 * MS - TURN_NS)
    assert table.exchanges == 6000
    assert sum(table.injected.values()) > 50
    assert {kind for kind, count in table.injected.items() if count} == set(faults) - {"delay_us"}
    assert table.detectable + table.undetectable + table.harmless == emulator.record.touched > 50
    assert table.unnoticed == 0
    assert table.detected >= table.detectable * 0.95
    assert (table.undetectable > 0) == ("flip" in faults)


def test_a_bus_that_noticed_nothing_is_found_out():
    class Blind:
        missed = implausible = stray_bytes = 0

    record = LineRecord()
    note = lambda **more: record.note(  # noqa: E731
        **(
            {
                "asked": b"\xff\xa5\x00\x25",
                "received": b"\xff\xa5\x00\x25",
                "meant": b"\x0a\x64",
                "sent": b"\x0a\x64",
                "delay_ns": 0,
            }
            | more
        )
    )
    note()
    note(sent=b"")
    note(sent=b"\x0a\xff")
    note(sent=b"\x0a\x64\x64")
    note(received=b"", meant=b"", sent=b"")
    note(received=b"\xff\x25\x00\x25")
    note(received=b"\xff\xa5\x00\x25\x07")
    note(received=b"\xff\xa5\x00\x25\x07", sent=b"\x0b\x64")
    note(sent=b"\x0b\x64")
    note(sent=b"\x0a\x66")
    note(sent=b"\x0a\x24")
    note(delay_ns=1 * MS)
    note(delay_ns=9 * MS)
    note(meant=b"", sent=b"")
    table = fault_table(record, {"drop": 1}, Blind(), reach_ticks=3, margin_ns=4 * MS)
    assert table.exchanges == 14
    assert (table.detectable, table.undetectable, table.harmless) == (4 + 1 + 1, 4, 2)
    assert table.unnoticed == 6
    assert table.injected == {"drop": 1}
