"""A Dynamixel that obeys a second id: what an emulated one does, and who is not driven beside it."""

import pytest
from framed_rig import OK, START, Leg
from framed_servos import dynamixel

from drivers.bus import READ_ONLY
from drivers.dynamixel.codec import BULK_WRITE
from drivers.dynamixel.layout import LAYOUT
from drivers.framed.packet import READ, SYNC_WRITE, WRITE


def reg(name):
    return LAYOUT.register(name)


# --- what an emulated servo does ---


def obeying(second):
    """Return a host of servos 1 and 2, the second one with a second id."""
    host = dynamixel(1, 2)
    host.emulator.servos[1].memory.restore({"secondary_id": second})
    return host


def led(host):
    return [servo.memory["led"] for servo in host.emulator.servos]


def test_it_obeys_what_its_second_id_is_told_and_says_nothing():
    host = obeying(1)
    assert [status.bus_id for status in host.ask(1, WRITE, host.number(65) + b"\x01")] == [1]
    assert led(host) == [1, 1]
    assert host.ask(0xFE, SYNC_WRITE, host.number(65, 1) + b"\x01\x00") == []
    assert led(host) == [0, 0]
    assert host.ask(0xFE, BULK_WRITE, b"\x01" + host.number(65, 1) + b"\x01") == []
    assert led(host) == [1, 1]
    assert [status.bus_id for status in host.ask(1, READ, host.number(65, 1))] == [1]
    assert host.ping(1)[0].bus_id == 1


def test_it_counts_from_when_it_is_written():
    host = dynamixel(1, 2)
    for second, obeyed in ((1, 1), (255, 0)):
        host.write(1, reg("led"), 0)
        host.write(2, reg("led"), 0)
        host.write(2, reg("secondary_id"), second)
        host.write(1, reg("led"), 1)
        assert led(host) == [1, obeyed]


def test_nobody_answers_an_id_that_is_only_a_second_one():
    host = obeying(9)
    assert host.ask(9, WRITE, host.number(65) + b"\x01") == []
    assert led(host) == [0, 1]
    assert host.ping(9) == []


def test_settings_are_not_reached_through_it():
    host = obeying(1)
    host.write(1, reg("homing_offset"), 50)
    assert [servo.memory["homing_offset"] for servo in host.emulator.servos] == [50, 0]


def test_a_part_of_its_own_goes_before_one_for_its_second_id():
    host = obeying(1)
    host.ask(0xFE, SYNC_WRITE, host.number(65, 1) + b"\x02\x00\x01\x01")
    assert led(host) == [1, 0]


@pytest.mark.parametrize("second", [2, 253, 254, 255])
def test_its_own_id_and_what_is_none_are_no_second_ids(second):
    host = obeying(second)
    assert len(host.ask(2, WRITE, host.number(65) + b"\x01")) == 1
    assert led(host) == [0, 1]
    assert host.emulator.servos[1].second_id == -1


def test_one_that_is_not_on_the_line_obeys_nobody():
    host = obeying(1)
    host.emulator.unplug(1)
    host.write(1, reg("led"), 1)
    assert led(host) == [1, 0]


# --- who is driven beside it ---


def pair(second=1, at=1, **changed):
    """Return a leg in which the servo at place `at` obeys a second id, and has other settings that were changed."""
    leg = Leg()
    leg.memory(at).restore({"secondary_id": second, **changed})
    return leg


def cycles(leg, goals, count):
    """Run cycles; nobody may get torque whose place is not in the list of those driven in the end."""
    on = [0] * 4
    for _ in range(count):
        leg.cycle(goals)
        on = [was + leg.memory(k)["torque_enable"] for k, was in enumerate(on)]
    return on


@pytest.mark.parametrize(("second", "at"), [(1, 1), (4, 0), (2, 3)])
def test_neither_of_two_that_obey_one_id_gets_torque(second, at):
    leg = pair(second, at)
    on = cycles(leg, START, 60)
    two = {at, second - 1}
    assert [k for k in range(4) if not on[k]] == sorted(two)
    assert leg.driven() == {k: START for k in range(4) if k not in two}
    assert leg.bus.status == [OK] * 4
    why = next(why for why in leg.bus.refusals if why.startswith(f"servo 'servo {second}' "))
    assert f"(bus id {second}) is not driven: servo 'servo {at + 1}' (bus id {at + 1}) holds {second} in" in why
    assert why.endswith(f"told. Set it for good with `nuc bus set URL {at + 1} secondary_id 255`")
    assert len(leg.bus.refusals) == 2
    assert not {bus_id for bus_id, _, _ in leg.writes()} & {k + 1 for k in two}


def test_one_that_is_only_read_is_looked_at_before_anybody_is_driven():
    leg = pair()
    on = cycles(leg, [START, READ_ONLY, START, START], 60)
    assert [bool(count) for count in on] == [False, False, True, True]


def test_nobody_is_driven_while_it_is_not_known_whom_one_obeys():
    leg = pair()
    parser = leg.layout.dialect.parser

    def deaf(data):
        packets = [packet for _, packet in parser(status=False).feed(data)]
        return bytes(len(data)) if any(p.bus_id == 2 and p.instruction == READ for p in packets) else data

    leg.port.change = deaf
    assert cycles(leg, [START, READ_ONLY, START, START], 10) == [0] * 4
    leg.port.change = None
    on = cycles(leg, [START, READ_ONLY, START, START], 60)
    assert [bool(count) for count in on] == [False, False, True, True]


def test_servos_that_were_set_up_before_wait_for_one_that_is_not_known():
    leg = Leg()
    leg.go(START)
    leg.release()
    leg.emulator.unplug(1)
    leg.cycle()
    leg.memory(1).restore({"secondary_id": 1})
    leg.emulator.plug(1)
    asked = leg.layout.dialect.instruction(2, READ, b"\x00\x00\x02\x00")
    leg.port.change = lambda data: data.replace(asked, bytes(len(asked)))
    cycles(leg, READ_ONLY, 3)
    assert cycles(leg, [START, READ_ONLY, START, START], 10) == [0] * 4
    leg.port.change = None
    on = cycles(leg, [START, READ_ONLY, START, START], 60)
    assert [bool(count) for count in on] == [False, False, True, True]


@pytest.mark.parametrize("second", [2, 253, 254, 255])
def test_its_own_id_and_what_is_none_are_driven(second):
    leg = pair(second)
    leg.go(START)
    assert leg.bus.refusals == ()


@pytest.mark.parametrize("changed", [{"model_number": 1060}, {"hardware_error": 1}, {"drive_mode": 1}])
def test_one_that_is_refused_for_something_else_obeys_all_the_same(changed):
    leg = Leg()
    leg.memory(1).restore({"secondary_id": 1})
    for name, value in changed.items():
        leg.memory(1)[name] = value
    on = cycles(leg, START, 60)
    assert [bool(count) for count in on] == [False, False, True, True]
    assert len(leg.bus.refusals) == 2


@pytest.mark.parametrize("drive_mode", [0, 8])
def test_one_that_comes_under_way_ends_the_torque_of_both(drive_mode):
    leg = Leg()
    leg.emulator.unplug(1)
    leg.go([START, READ_ONLY, START, START])
    leg.memory(1).restore({"secondary_id": 1, "drive_mode": drive_mode})
    leg.emulator.plug(1)
    came = 0
    while not leg.bus.refusals:
        leg.cycle(START)
        came += 1
    # It is known who obeys whom, and at once both are limp.
    assert came < 20
    assert sorted(leg.driven()) == [2, 3]
    assert [leg.memory(k)["torque_enable"] for k in range(4)] == [0, 0, 1, 1]
    on = cycles(leg, START, 60)
    assert [bool(count) for count in on] == [False, False, True, True]
    assert len(leg.bus.refusals) == 2


def test_once_it_is_mended_both_are_driven():
    leg = pair()
    cycles(leg, START, 40)
    leg.emulator.unplug(1)
    cycles(leg, START, 3)
    leg.memory(1).restore({"secondary_id": 255})
    leg.emulator.plug(1)
    # One register in a cycle, since others are driven.
    leg.go(START, most=150)
    assert leg.bus.refusals == ()
