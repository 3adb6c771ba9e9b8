"""What a host's bytes mean on lines of servos with registers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.dynamixel.family import FAMILY as DYNAMIXEL
from drivers.dynamixel.layout import LAYOUT as DYNAMIXEL_LAYOUT
from drivers.family import EVERYBODY
from drivers.feetech.family import FAMILY as FEETECH
from drivers.feetech.layout import LAYOUT as FEETECH_LAYOUT
from drivers.framed import requests
from drivers.framed.packet import BROADCAST, PING, REBOOT, WRITE, Packet

FUZZ = settings(max_examples=60, deadline=None, derandomize=True)
BOTH = pytest.mark.parametrize(
    ("family", "layout"), [(DYNAMIXEL, DYNAMIXEL_LAYOUT), (FEETECH, FEETECH_LAYOUT)], ids=["dynamixel", "feetech"]
)


def hear(family, *frames):
    return [heard for _, heard in family.sniffer().feed(b"".join(frames))]


@BOTH
def test_goals_and_torque_by_id(family, layout):
    dialect, goal, torque = layout.dialect, layout.register("goal_position"), layout.register("torque_enable")
    heard = hear(
        family,
        requests.sync_write(dialect, goal, [(3, 100), (5, 4000)]),
        requests.write(dialect, 3, torque, 1),
        requests.write(dialect, 3, torque, 0),
        requests.write(dialect, BROADCAST, torque, 0),
        requests.sync_write(dialect, torque, [(3, 0), (5, 1)]),
    )
    assert [(h.goals, h.releases, h.arms, h.asks) for h in heard] == [
        ({3: 100, 5: 4000}, (), (), ()),
        ({}, (), (3,), (3,)),
        ({}, (3,), (), (3,)),
        ({}, (EVERYBODY,), (), ()),
        ({}, (3,), (5,), ()),
    ]
    assert [h.kind for h in heard] == ["sync write", "write", "write", "write", "sync write"]


@BOTH
def test_who_is_asked(family, layout):
    dialect = layout.dialect
    heard = hear(
        family,
        requests.ping(dialect, 4),
        requests.ping(dialect, BROADCAST),
        requests.read(dialect, 4, *layout.block),
        requests.sync_read(dialect, (6, 4), *layout.block),
        dialect.instruction(4, REBOOT),
        dialect.instruction(4, 0x7D, b"\x01"),
        dialect.instruction(4, 0x02, b"\x01"),
    )
    assert [h.asks for h in heard] == [(4,), (), (4,), (6, 4), (4,), (4,), (4,)]
    assert heard[4].releases == (4,)
    assert heard[5].kind == "instruction 0x7d"


@BOTH
def test_a_write_for_later_counts_at_the_action(family, layout):
    dialect, goal = layout.dialect, layout.register("goal_position")
    later = [
        dialect.instruction(bus_id, 0x04, goal.address.to_bytes(dialect.address_bytes, "little") + goal.encode(bus_id))
        for bus_id in (1, 2, 3)
    ]
    heard = hear(family, *later, dialect.instruction(2, 0x05), dialect.instruction(BROADCAST, 0x05))
    assert [h.goals for h in heard] == [{}, {}, {}, {2: 2}, {1: 1, 3: 3}]
    assert hear(family, dialect.instruction(BROADCAST, 0x05))[0].goals == {}


@BOTH
def test_positions_of_the_answers(family, layout):
    dialect, sniffer = layout.dialect, family.sniffer()
    first, count = layout.block
    position = layout.register("present_position")
    at = position.address - first
    data = {k: bytes(at) + position.encode(100 * k) + bytes(count - at - position.size) for k in (1, 2, 3)}
    ((_, heard),) = sniffer.feed(requests.sync_read(dialect, (1, 2), first, count))
    reply = b"".join(dialect.status(k, 0, data[k]) for k in (1, 2, 3))
    assert sniffer.positions(heard, reply) == {1: 100, 2: 200}
    assert sniffer.positions(heard, reply[:-1] + b"\x00" + reply[:20]) == {1: 100, 2: 200}
    assert sniffer.positions(heard, dialect.status(1, 0, data[1][:-1])) == {}
    ((_, heard),) = sniffer.feed(requests.ping(dialect, 1))
    assert sniffer.positions(heard, reply) == {}
    ((_, heard),) = sniffer.feed(requests.read(dialect, 1, 0, count))
    assert sniffer.positions(heard, reply) == {}


def test_positions_of_an_answer_in_one_packet():
    sniffer, dialect, fast = DYNAMIXEL.sniffer(), DYNAMIXEL_LAYOUT.dialect, DYNAMIXEL_LAYOUT.fast
    ((_, heard),) = sniffer.feed(requests.sync_read(dialect, (1, 2), 132, 4, fast.instruction))
    reply = bytes.fromhex("FF FF FD 00 FE 11 00 55 00 01 A6 00 00 00 74 3B 00 02 1F 08 00 00 1C 36")
    assert sniffer.positions(heard, reply) == {1: 166, 2: 2079}
    assert sniffer.positions(heard, dialect.status(1, 0, b"\x07\0\0\0")) == {1: 7}


def test_a_bulk_read_of_different_bytes_is_heard_and_not_understood():
    sniffer, dialect = DYNAMIXEL.sniffer(), DYNAMIXEL_LAYOUT.dialect
    params = b"\x01\x84\x00\x04\x00\x02\x00\x00\x02\x00"
    ((_, heard),) = sniffer.feed(dialect.instruction(BROADCAST, 0x92, params))
    assert (heard.kind, heard.asks) == ("bulk read", (1, 2))
    assert sniffer.positions(heard, dialect.status(1, 0, b"\x07\0\0\0")) == {}
    ((_, heard),) = sniffer.feed(dialect.instruction(BROADCAST, 0x92, params[:5]))
    assert sniffer.positions(heard, dialect.status(1, 0, b"\x07\0\0\0")) == {1: 7}


@BOTH
def test_what_is_no_request_is_counted(family, layout):
    sniffer, frame = family.sniffer(), requests.ping(layout.dialect, 1)
    assert sniffer.feed(b"\x01\x02" + frame[:-1] + bytes((frame[-1] ^ 1,)) + frame) != []
    assert sniffer.bad_checksums == 1
    assert sniffer.stray_bytes >= 2


@BOTH
def test_half_of_a_register_is_no_goal(family, layout):
    dialect, goal = layout.dialect, layout.register("goal_position")
    address = goal.address.to_bytes(dialect.address_bytes, "little")
    behind = (goal.address + 1).to_bytes(dialect.address_bytes, "little")
    for params in (address + b"\x01", behind + bytes(goal.size)):
        assert hear(family, dialect.instruction(1, WRITE, params))[0].goals == {}


@FUZZ
@given(st.binary(max_size=80), st.integers(0, 255), st.integers(0, 250), st.binary(max_size=40))
def test_any_request_and_any_answer_are_survived(reply, instruction, bus_id, params):
    for family, layout in ((DYNAMIXEL, DYNAMIXEL_LAYOUT), (FEETECH, FEETECH_LAYOUT)):
        sniffer = family.sniffer()
        frame = layout.dialect.instruction(bus_id, PING if instruction in (0, 0x55) else instruction, params)
        sniffer.feed(reply)
        for _, heard in sniffer.feed(frame + reply):
            sniffer.positions(heard, reply)


def test_statuses_are_no_packets_of_the_host():
    assert hear(DYNAMIXEL, DYNAMIXEL_LAYOUT.dialect.status(1, 0, b"\x01")) == []
    assert Packet(1, 1) == Packet(1, 1, b"")
