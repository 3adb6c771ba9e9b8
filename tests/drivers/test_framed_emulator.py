"""Emulated servos with registers: who answers when, and what is heard (here with STS servos)."""

import numpy as np
import pytest
from framed_servos import MS, dynamixel, feetech
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.errors import BusError
from drivers.feetech.codec import DIALECT
from drivers.feetech.table import STS3215, TICK_DEG
from drivers.framed.emulation.emulator import DEFAULT_TURNAROUND_NS
from drivers.framed.packet import BROADCAST, PING, READ
from drivers.injection import LineFaults
from drivers.port import wire_ns
from drivers.servo import Motion

POSITION, TORQUE, GOAL, LEVEL = (
    STS3215[name] for name in ("present_position", "torque_enable", "goal_position", "status_level")
)
READ_POSITION = DIALECT.instruction(1, READ, bytes((56, 2)))

FUZZ = settings(max_examples=150, deadline=None, derandomize=True)
KNOWN = (*range(1, 12), 0x10, 0x20, 0x82, 0x83, 0x8A, 0x92, 0x93, 0x9A)


def test_servos_power_up_limp():
    host = feetech(1, 2)
    assert host.plant.taken() == [("release", 0), ("release", 1)]
    host.ping(1)
    host.read(2, POSITION)
    assert host.plant.taken() == []


@pytest.mark.parametrize("baud", [57_600, 1_000_000])
@pytest.mark.parametrize("delay", [0, 25])
def test_a_status_leaves_after_return_delay_and_turnaround(baud, delay):
    host = feetech(1, baud=baud, turnaround_ns=70_000)
    host.write(1, STS3215["return_delay"], delay)
    now = host.now_ns
    host.port.write(READ_POSITION, now)
    received = now + wire_ns(8, baud)
    start = received + delay * 2000 + 70_000
    assert host.port.ready_ns(1) == start + wire_ns(1, baud)
    assert host.port.ready_ns(8) == start + wire_ns(8, baud)
    assert host.plant.now_ns == received


def test_a_status_reports_the_shaft_when_the_checksum_arrived():
    host = feetech(1, baud=57_600)
    host.plant.path = lambda servo, now: Motion(TICK_DEG * (now // 1000), 0.0, 0.0, 0.0)
    assert host.read(1, POSITION) == wire_ns(8, 57_600) // 1000


def test_answers_to_one_request_for_several_follow_each_other():
    host = feetech(1, 2, 3)
    for servo, ticks in enumerate((100, 200, 300)):
        host.plant.put(servo, ticks=ticks)
    assert host.sync_read((3, 1), POSITION) == {3: 300, 1: 100}
    host.port.write(DIALECT.instruction(BROADCAST, 0x82, bytes((56, 2, 3, 1))), host.now_ns)
    received = host.now_ns + wire_ns(10, 1_000_000)
    both = 2 * (DEFAULT_TURNAROUND_NS + wire_ns(8, 1_000_000))
    assert host.port.ready_ns(16) == received + both


def test_behind_a_servo_that_is_silent_nobody_answers():
    host = feetech(1, 2, 3)
    host.emulator.unplug(1)
    assert list(host.sync_read((1, 2, 3), POSITION)) == [1]
    assert host.sync_read((2, 1, 3), POSITION) == {}
    assert list(host.sync_read((1, 3, 2), POSITION)) == [1, 3]


def test_one_write_for_several_moves_each_and_is_not_answered():
    host = feetech(1, 2, 3)
    host.sync_write(TORQUE, {1: 1, 2: 1, 3: 1})
    host.plant.taken()
    host.sync_write(GOAL, {3: 2000, 1: 1500})
    assert host.plant.goals() == [("drive", 2, 2000), ("drive", 0, 1500)]


def test_a_write_to_all_is_done_by_all_and_not_answered():
    host = feetech(1, 2)
    assert host.write(BROADCAST, TORQUE, 1) is None
    assert host.plant.goals() == [("release", 0), ("release", 1), ("drive", 0, 1000), ("drive", 1, 1000)]


def test_a_packet_of_several_that_does_not_come_out_even_is_passed_over():
    host = feetech(1, 2)
    host.sync_write(TORQUE, {1: 1, 2: 1})
    host.plant.taken()
    for params in (b"", b"\x2a", b"\x2a\x02\x01\x00\x08\x02\x00", b"\x2a\x02\x01\x00\x08\x02"):
        assert host.ask(BROADCAST, 0x83, params) == []
        assert host.ask(BROADCAST, 0x82, params[:1]) == []
    assert host.plant.taken() == []


def test_status_level_0_answers_ping_and_read_only():
    host = feetech(1)
    assert host.write(1, LEVEL, 0) == 0
    assert host.write(1, TORQUE, 1) is None
    assert host.read(1, TORQUE) == 1
    assert len(host.ping(1)) == 1
    assert host.sync_read((1,), TORQUE) == {1: 1}


def test_the_ping_for_all_is_answered_by_all_at_once():
    host = feetech(6)
    assert [status.bus_id for status in host.ping(BROADCAST)] == [6]
    host = feetech(1, 2)
    reply = host.send(DIALECT.instruction(BROADCAST, PING))
    both = zip(DIALECT.status(1, 0), DIALECT.status(2, 0), strict=True)
    assert reply == bytes(a & b for a, b in both)
    assert feetech(1).emulator.receive(b"", 0) is None
    host.emulator.supply(on=False)
    assert host.send(DIALECT.instruction(BROADCAST, PING)) == b""


@pytest.mark.parametrize("bus_id", [-1, 254])
def test_an_id_the_wire_has_not_is_refused(bus_id):
    with pytest.raises(BusError, match="id"):
        feetech(1).emulator.answer_as(0, bus_id)


def test_id_0_is_one_like_others():
    host = feetech(1)
    host.emulator.answer_as(0, 0)
    assert len(host.ping(0)) == 1


def test_the_hosts_bytes_are_lost_while_a_servo_talks():
    host = feetech(1, 2)
    frame = DIALECT.instruction(1, PING)
    host.port.write(frame, 0)
    talks = wire_ns(6, 1_000_000) + DEFAULT_TURNAROUND_NS
    host.port.write(DIALECT.instruction(2, 0x03, b"\x28\x01"), talks + 10_000)
    assert host.port.read(20 * MS) == DIALECT.status(1, 0)
    assert host.emulator.collisions == 1
    host.now_ns = 20 * MS
    assert host.read(2, TORQUE) == 0


def test_a_request_right_behind_another_is_lost_when_the_first_is_answered_meanwhile():
    host = feetech(1, 2, turnaround_ns=0)
    ping, write = DIALECT.instruction(1, PING), DIALECT.instruction(2, 0x03, b"\x28\x01")
    assert host.send(ping + write) == DIALECT.status(1, 0)
    assert host.emulator.collisions == 1
    host = feetech(1, 2, turnaround_ns=100_000)
    assert host.send(ping + write) == DIALECT.status(1, 0) + DIALECT.status(2, 0)
    assert host.emulator.collisions == 0


@pytest.mark.parametrize(("turnaround_ns", "lost"), [(79_999, 1), (80_000, 0)])
def test_a_request_that_is_over_when_the_answer_begins_is_heard(turnaround_ns, lost):
    host = feetech(1, 2, turnaround_ns=turnaround_ns)
    host.send(DIALECT.instruction(1, PING) + DIALECT.instruction(2, 0x03, b"\x28\x01"))
    assert host.emulator.collisions == lost


def test_a_request_as_soon_as_the_answer_is_over_is_heard():
    host = feetech(1, 2)
    host.port.write(DIALECT.instruction(1, PING), 0)
    over = host.port.ready_ns(6)
    host.port.write(DIALECT.instruction(2, PING), over)
    assert host.port.read(20 * MS) == DIALECT.status(1, 0) + DIALECT.status(2, 0)
    assert host.emulator.collisions == 0


def test_servos_at_another_rate_hear_nothing():
    host = feetech(1, 2)
    assert host.write(1, STS3215["baud_rate"], 4) == 0
    assert host.ping(1) == []
    assert len(host.ping(2)) == 1
    host.emulator.baud = 115_200
    assert host.emulator.baud == 115_200
    reply = host.send(DIALECT.instruction(1, PING))
    assert reply == DIALECT.status(1, 0)


def test_a_rate_servos_do_not_have_is_refused():
    with pytest.raises(BusError, match="1000000"):
        feetech(1, baud=9_600)


@FUZZ
@given(st.data())
@pytest.mark.parametrize("build", [feetech, dynamixel])
def test_whatever_a_host_says_is_survived_and_answered_in_whole_statuses(build, data):
    host = build(1, 2, 3)
    ids = st.sampled_from((1, 2, 3, 7, BROADCAST))
    params = st.one_of(
        st.binary(max_size=30),
        st.lists(st.sampled_from((0, 1, 2, 3, 5, 9, 40, 64, 98, 116, 168, 224, 255)), max_size=20).map(bytes),
    )
    for _ in range(data.draw(st.integers(1, 12))):
        bus_id, instruction = data.draw(ids), data.draw(st.sampled_from(KNOWN))
        reply = host.send(host.dialect.instruction(bus_id, instruction, data.draw(params)), 3000 * MS)
        servos = {servo.bus_id for servo in host.emulator.servos}
        if bus_id != BROADCAST and len(servos) == 3:
            parser = host.dialect.parser(status=True)
            packets = parser.feed(reply)
            assert parser.idle
            assert parser.bad_checksums == parser.stray_bytes == 0
            assert len(packets) <= 1
        host.emulator.baud = host.emulator.servos[0].baud
    host.plant.taken()


@FUZZ
@given(st.lists(st.binary(max_size=40), max_size=8))
@pytest.mark.parametrize("build", [feetech, dynamixel])
def test_any_bytes_are_survived(build, pieces):
    host = build(1, 2, rng=np.random.default_rng(7))
    host.emulator.set_faults(LineFaults(drop=0.1, flip=0.3, insert=0.3, truncate=0.2, delay=0.2, babble=0.2))
    for piece in pieces:
        host.send(piece, 100_000)
        host.send(host.dialect.instruction(1, PING), 100_000)


def test_a_part_for_everybody_is_for_nobody():
    host = feetech(1, 2)
    host.plant.taken()
    host.sync_write(TORQUE, {BROADCAST: 1})
    assert host.plant.taken() == []
    assert host.sync_read((BROADCAST, 1), TORQUE) == {}


def test_a_message_a_reply_breaks_into_is_lost():
    host = feetech(1, 2)
    host.write(1, STS3215["return_delay"], 50)
    host.port.write(DIALECT.instruction(1, PING), host.now_ns)
    # The reply begins 140 us after the request, in the middle of this.
    host.port.write(DIALECT.instruction(2, 0x03, b"\x28\x01"), host.now_ns + 150_000)
    host.now_ns += 20 * MS
    assert host.port.read(host.now_ns) == DIALECT.status(1, 0)
    assert host.emulator.collisions == 1
    assert host.read(2, TORQUE) == 0
