"""Emulated X servos: what is asked of several at once, or of all."""

from dynamixel_rig import reg
from framed_servos import MS, dynamixel

from drivers.dynamixel.codec import BULK_READ, BULK_WRITE, DIALECT, FAST_SYNC_READ, split_fast
from drivers.dynamixel.table import DEFAULT_TURNAROUND_NS
from drivers.framed.emulation.groups import FAST_BULK_READ
from drivers.framed.packet import BROADCAST, PING
from drivers.port import wire_ns


def test_several_answer_one_after_the_other_or_in_one_packet():
    host = dynamixel(1, 2)
    host.plant.put(0, ticks=166)
    host.plant.put(1, ticks=2079)
    assert host.sync_read((1, 2), reg("present_position")) == {1: 166, 2: 2079}
    reply = host.send(bytes.fromhex("FF FF FD 00 FE 09 00 8A 84 00 04 00 01 02 4D 72"))
    assert reply == bytes.fromhex("FF FF FD 00 FE 11 00 55 00 01 A6 00 00 00 74 3B 00 02 1F 08 00 00 1C 36")


def test_a_packet_of_all_breaks_off_behind_who_is_missing():
    host = dynamixel(1, 2)
    request = DIALECT.instruction(BROADCAST, FAST_SYNC_READ, host.number(132, 4) + bytes((1, 2)))
    whole = host.send(request)
    host.emulator.unplug(1)
    assert host.send(request) == whole[:16]
    host.emulator.unplug(0)
    assert host.send(request) == b""


def test_two_with_one_id_spoil_the_packet_of_all():
    host = dynamixel(1, 2, 3)
    for servo, ticks in enumerate((0x155, 0x2AA, 5)):
        host.plant.put(servo, ticks=ticks)
    host.emulator.answer_as(1, 1)
    request = DIALECT.instruction(BROADCAST, FAST_SYNC_READ, host.number(132, 4) + bytes((1, 3)))
    parser = DIALECT.parser(status=True)
    assert parser.feed(host.send(request)) == []
    assert parser.bad_checksums == 1


def test_bulk_requests_ask_and_tell_each_its_own():
    host = dynamixel(1, 2)
    host.plant.put(1, ticks=77)
    params = b"\x02" + host.number(132, 4) + b"\x01" + host.number(0, 2)
    statuses = host.ask(BROADCAST, BULK_READ, params)
    assert [(status.bus_id, status.params) for status in statuses] == [(2, b"\x4d\0\0\0"), (1, b"\xfc\x03")]
    (whole,) = host.ask(BROADCAST, FAST_BULK_READ, params)
    assert whole.bus_id == BROADCAST
    led, gain = reg("led"), reg("position_p_gain")
    params = b"\x01" + host.number(led.address, 1) + b"\x01" + b"\x02" + host.number(gain.address, 2) + b"\x64\x00"
    assert host.ask(BROADCAST, BULK_WRITE, params) == []
    assert (host.read(1, led), host.read(2, gain)) == (1, 100)
    host.ask(BROADCAST, BULK_WRITE, params[:-1])
    host.ask(BROADCAST, BULK_READ, params[:4])
    assert split_fast(whole, 4, 2) == []


def test_a_ping_for_all_is_answered_in_the_order_of_ids():
    host = dynamixel(20, 3, 9)
    statuses = host.ask(BROADCAST, PING, wait_ns=1000 * MS)
    assert [status.bus_id for status in statuses] == [3, 9, 20]
    now = host.now_ns
    host.port.write(DIALECT.instruction(BROADCAST, PING), now)
    slot = wire_ns(14, 1_000_000) + 508_000
    begins = now + wire_ns(10, 1_000_000) + 500_000 + DEFAULT_TURNAROUND_NS
    assert host.port.ready_ns(14) == begins + 3 * slot + wire_ns(14, 1_000_000)
    assert host.port.ready_ns(42) == begins + 20 * slot + wire_ns(14, 1_000_000)
    host.now_ns += 1000 * MS
    host.port.read(host.now_ns)
    host.emulator.answer_as(0, 3)
    reply = host.send(DIALECT.instruction(BROADCAST, PING), 1000 * MS)
    assert [packet.bus_id for _, packet in DIALECT.parser(status=True).feed(reply)] == [3, 9]


def test_an_answer_no_packet_could_hold_is_not_given():
    host = dynamixel(1)
    request = DIALECT.instruction(BROADCAST, FAST_SYNC_READ, host.number(132, 5000) + bytes((1, 254)))
    assert host.send(request) == b""
    request = DIALECT.instruction(BROADCAST, FAST_SYNC_READ, host.number(132, 4) + bytes((1, 254)))
    assert len(host.send(request)) == 16
