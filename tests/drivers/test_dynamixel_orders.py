"""What an emulated X servo does beside reading and writing, and what it says where something is wrong with that."""

import pytest
from dynamixel_rig import driven, reg
from framed_servos import MS, dynamixel

from drivers.dynamixel.codec import DIALECT
from drivers.dynamixel.emulator_orders import BACKUP, CLEAR, FACTORY_RESET, INSTRUCTION, LENGTH, RANGE, RESULT
from drivers.framed.packet import BROADCAST, PING, READ, REBOOT, WRITE

REG_WRITE, ACTION = 0x04, 0x05
TURNS = bytes((0x01, 0x44, 0x58, 0x4C, 0x22))
KEEP_ASIDE = bytes((0x01, 0x43, 0x54, 0x52, 0x4C))
TAKE_BACK = bytes((0x02, 0x43, 0x54, 0x52, 0x4C))
RATES = {1: 57_600, 3: 1_000_000}


def told(host, instruction, params=b"", bus_id=1):
    """Return the error of the status, None without one."""
    statuses = host.ask(bus_id, instruction, params)
    return statuses[0].error if statuses else None


def test_the_manuals_packets_are_answered_as_printed():
    done = bytes.fromhex("FF FF FD 00 01 04 00 55 00 A1 0C")
    for request in (
        "FF FF FD 00 01 04 00 06 01 A1 E6",
        "FF FF FD 00 01 03 00 08 2F 4E",
        "FF FF FD 00 01 08 00 10 01 44 58 4C 22 B1 DC",
        "FF FF FD 00 01 08 00 20 01 43 54 52 4C 16 F5",
    ):
        assert dynamixel(1, baud=57_600).send(bytes.fromhex(request)) == done, request


@pytest.mark.parametrize(
    ("instruction", "params", "error"),
    [
        (0x77, b"", INSTRUCTION),
        (0x21, KEEP_ASIDE, INSTRUCTION),
        (ACTION, b"", INSTRUCTION),
        (ACTION, b"\x01", LENGTH),
        (PING, b"\x01", LENGTH),
        (READ, b"", LENGTH),
        (READ, b"\x84\x00\x04", LENGTH),
        (READ, b"\x84\x00\x04\x00\x00", LENGTH),
        (WRITE, b"", LENGTH),
        (WRITE, b"\x74\x00", LENGTH),
        (WRITE, b"\x74\x00\x00\x02", LENGTH),
        (REG_WRITE, b"\x74\x00", LENGTH),
        (REBOOT, b"\x01", LENGTH),
        (FACTORY_RESET, b"", LENGTH),
        (FACTORY_RESET, b"\x05", RANGE),
        (CLEAR, b"", LENGTH),
        (CLEAR, TURNS[:4], LENGTH),
        (CLEAR, b"\x02" + TURNS[1:], RANGE),
        (CLEAR, TURNS[:4] + b"\x23", RANGE),
        (BACKUP, b"\x01", LENGTH),
        (BACKUP, b"\x03" + KEEP_ASIDE[1:], RANGE),
        (BACKUP, TURNS, RANGE),
        (BACKUP, TAKE_BACK, RESULT),
    ],
)
def test_what_is_wrong_with_an_instruction_is_said_and_nothing_is_done(instruction, params, error):
    host = driven(dynamixel(1))
    host.write(1, reg("torque_enable"), 0)
    before = dict(host.emulator.servos[0].memory)
    assert told(host, instruction, params) == error
    assert dict(host.emulator.servos[0].memory) == before


@pytest.mark.parametrize(("what", "bus_id", "rate"), [(0x02, 4, 3), (0x01, 4, 1), (0xFF, 1, 1)])
@pytest.mark.parametrize("to", [4, BROADCAST])
def test_a_factory_reset_of_everything_is_not_done_by_all_at_once(what, bus_id, rate, to):
    host = dynamixel(4)
    host.write(4, reg("return_delay"), 3)
    host.write(4, reg("current_limit"), 700)
    assert told(host, FACTORY_RESET, bytes((what,)), to) == (None if to == BROADCAST else 0)
    ignored = (what, to) == (0xFF, BROADCAST)
    if ignored:
        bus_id, rate = 4, 3
    host.emulator.baud = RATES[rate]
    replies = host.send(DIALECT.instruction(bus_id, READ, host.number(0, 40)), 100 * MS)
    ((_, status),) = DIALECT.parser(status=True).feed(replies)
    assert (status.params[7], status.params[8], status.params[9]) == (bus_id, rate, 3 if ignored else 250)
    assert int.from_bytes(status.params[38:40], "little") == (700 if ignored else 1193)


@pytest.mark.parametrize(("ticks", "left"), [(0, 0), (4095, 4095), (4096, 0), (10_000, 1808), (-1, 4095)])
@pytest.mark.parametrize("offset", [0, -300])
def test_clear_takes_whole_turns_off_a_shaft_that_stands_still(ticks, left, offset):
    host = dynamixel(1)
    host.write(1, reg("homing_offset"), offset)
    host.plant.put(0, ticks=ticks)
    assert host.read(1, reg("present_position")) == ticks + offset
    assert told(host, CLEAR, TURNS) == 0
    assert host.read(1, reg("present_position")) == left + offset
    host.emulator.brown_out(0)
    assert told(host, CLEAR, TURNS) == 0
    assert host.read(1, reg("present_position")) == left + offset


def test_clear_is_refused_while_the_shaft_moves_and_leaves_it_where_it_is_driven_to():
    host = dynamixel(1)
    host.write(1, reg("operating_mode"), 4)
    host.plant.put(0, ticks=9000, deg_s=20.0)
    host.write(1, reg("torque_enable"), 1)
    host.write(1, reg("goal_position"), 9100)
    assert told(host, CLEAR, TURNS) == RESULT
    assert host.read(1, reg("present_position")) == 9000
    host.plant.put(0, ticks=9100, deg_s=1.0)
    assert told(host, CLEAR, TURNS) == 0
    assert host.read(1, reg("present_position")) == host.read(1, reg("goal_position")) == 9100 - 2 * 4096
    host.write(1, reg("goal_position"), 1000)
    assert host.plant.goals()[-1] == ("drive", 0, 1000 + 2 * 4096)


def test_settings_are_kept_aside_and_taken_back_without_torque():
    host = driven(dynamixel(1))
    assert told(host, BACKUP, KEEP_ASIDE) == RESULT
    assert host.read(1, reg("backup_ready")) == 0
    host.write(1, reg("torque_enable"), 0)
    host.write(1, reg("current_limit"), 700)
    assert told(host, BACKUP, KEEP_ASIDE) == 0
    assert host.read(1, reg("backup_ready")) == 1
    host.write(1, reg("current_limit"), 300)
    host.write(1, reg("return_delay"), 9)
    host.write(1, reg("torque_enable"), 1)
    assert told(host, BACKUP, TAKE_BACK) == RESULT
    host.write(1, reg("torque_enable"), 0)
    host.write(1, reg("status_level"), 1)
    host.emulator.brown_out(0)
    assert told(host, BACKUP, TAKE_BACK) == 0
    assert [host.read(1, reg(name)) for name in ("current_limit", "goal_current", "return_delay")] == [700, 700, 250]
    # It has restarted.
    assert host.read(1, reg("status_level")) == 2
    assert host.plant.taken()[-1] == ("release", 0)
