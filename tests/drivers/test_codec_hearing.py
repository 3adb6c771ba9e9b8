"""What emulated servos hear of damaged bytes: they wait for what a length announces, and no longer than that."""

from itertools import pairwise

import pytest
from framed_rig import FAMILIES
from framed_servos import Host
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.aimotor import table as aimotor
from drivers.aimotor.codec import RequestParser, encode_read, encode_sync
from drivers.aimotor.emulation.emulator import AiMotorEmulator
from drivers.dynamixel import table as dynamixel
from drivers.feetech import table as feetech
from drivers.framed.packet import PING, WRITE, Packet
from drivers.inprocess import InProcessPort
from drivers.port import wire_ns
from drivers.servo import ServoAddress

MS = 1_000_000
FUZZ = settings(max_examples=150, deadline=None, derandomize=True)
TABLES = {"dynamixel": dynamixel, "feetech": feetech}
HEADERS = {"dynamixel": b"\xff\xff\xfd\x00", "feetech": b"\xff\xff"}
both = pytest.mark.parametrize("family", TABLES)


def listener(family):
    return FAMILIES[family][0].dialect.listener()


def announcing(family, size):
    """Return the head of a packet of `size` bytes in all."""
    if family == "feetech":
        return bytes((0xFF, 0xFF, 1, size - 4))
    return HEADERS[family] + b"\x01" + (size - 7).to_bytes(2, "little")


def feed(family, data, cuts=()):
    """Feed `data` cut at `cuts`; return the packets with the place of their last byte in all of it, and the ear."""
    ear, found = listener(family), []
    for start, end in pairwise([0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]):
        found += [(start + index, packet) for index, packet in ear.feed(data[start:end])]
    return found, ear


@both
def test_the_longest_packet_of_the_table_is_waited_for_and_one_that_is_longer_is_none(family):
    longest = TABLES[family].LONGEST_PACKET
    ear = listener(family)
    head = announcing(family, longest)
    assert ear.feed(head + bytes(longest - len(head) - 1)) == []
    assert not ear.idle
    ear.feed(b"\0")
    assert (ear.idle, ear.bad_checksums) == (True, 1)
    if family == "dynamixel":
        assert listener(family).feed(announcing(family, longest + 1)) == []
        ear.feed(announcing(family, longest + 1))
        assert ear.idle


@both
def test_what_a_damaged_length_announces_is_swallowed_and_what_begins_behind_it_is_heard(family):
    dialect = FAMILIES[family][0].dialect
    ping = dialect.instruction(2, PING)
    at = len(HEADERS[family]) + 1
    damaged = bytearray(dialect.instruction(1, PING))
    damaged[at] |= 0x40
    for swallowed in range(64 // len(ping) + 1):
        assert feed(family, bytes(damaged) + ping * swallowed)[0] == []
    # The one that is cut through by the end of the wait is lost as well.
    found, ear = feed(family, bytes(damaged) + ping * 20)
    assert [packet for _, packet in found] == [Packet(2, PING)] * (20 - 64 // len(ping) - 1)
    assert (ear.idle, ear.bad_checksums) == (True, 1)


@both
def test_a_packet_within_another_one_is_data(family):
    dialect = FAMILIES[family][0].dialect
    frame = dialect.instruction(1, WRITE, dialect.instruction(2, PING))
    ((end, packet),) = feed(family, frame)[0]
    assert (end, packet.bus_id, packet.instruction) == (len(frame) - 1, 1, WRITE)


def test_a_dynamixel_passes_over_what_others_answer():
    dialect = FAMILIES["dynamixel"][0].dialect
    ping = dialect.instruction(1, PING)
    found, ear = feed("dynamixel", dialect.status(2, 0, bytes(4)) + ping)
    assert [packet for _, packet in found] == [Packet(1, PING)]
    assert (ear.idle, ear.stray_bytes, ear.bad_checksums) == (True, 0, 0)


streams = st.lists(
    st.one_of(
        st.binary(max_size=12),
        st.sampled_from([b"\xff\xff", b"\xff\xff\xfd\x00", b"\xff\xff\x01\x20", b"\xff\xff\xfd\x00\x01\x20\x00"]),
        st.tuples(st.integers(0, 252), st.sampled_from([PING, WRITE, 0x82]), st.binary(max_size=12)),
    ),
    max_size=12,
)


def spelt(family, chunks):
    dialect = FAMILIES[family][0].dialect
    return b"".join(chunk if isinstance(chunk, bytes) else dialect.instruction(*chunk) for chunk in chunks)


@both
@FUZZ
@given(streams, st.sets(st.integers(1, 200)))
def test_in_pieces_a_servo_hears_what_it_hears_at_once(family, chunks, cuts):
    data = spelt(family, chunks)
    whole, ear = feed(family, data)
    for cut in (cuts, range(1, len(data))):
        pieces, other = feed(family, data, cut)
        assert pieces == whole
        assert (other.idle, other.stray_bytes, other.bad_checksums) == (ear.idle, ear.stray_bytes, ear.bad_checksums)


@both
@FUZZ
@given(streams, st.lists(st.tuples(st.integers(0, 252), st.just(PING), st.just(b"")), min_size=1, max_size=4))
def test_whatever_was_heard_a_servo_waits_for_no_more_than_its_longest_packet(family, chunks, good):
    ear = listener(family)
    ear.feed(spelt(family, chunks))
    ear.feed(bytes(TABLES[family].LONGEST_PACKET))
    assert ear.idle
    assert [packet.bus_id for _, packet in ear.feed(spelt(family, good))] == [bus_id for bus_id, _, _ in good]


@both
@FUZZ
@given(streams)
def test_whatever_was_heard_a_silence_makes_a_servo_hear_again(family, chunks):
    layout, emulation = FAMILIES[family]
    host = Host(layout, emulation, (1,), layout.first.model.name)
    ping = layout.dialect.instruction(1, PING)
    data = spelt(family, chunks)
    host.port.write(data, 0)
    said = wire_ns(len(data), 1_000_000)
    quiet = said + TABLES[family].BYTE_GAP_NS + 1
    while (ready := host.port.ready_ns(1)) < quiet:
        host.port.read(ready)
        quiet = max(quiet, ready + TABLES[family].BYTE_GAP_NS + 1)
    host.port.write(ping, quiet)
    assert host.port.read(quiet + 20 * MS) != b""


@both
def test_it_is_the_silence_within_a_packet_that_counts_to_the_nanosecond(family):
    layout, emulation = FAMILIES[family]
    gap_ns, ping = TABLES[family].BYTE_GAP_NS, layout.dialect.instruction(1, PING)
    torn = layout.dialect.instruction(1, WRITE, bytes(30))[:9]
    for wait_ns, answers in ((gap_ns, False), (gap_ns + 1, True)):
        host = Host(layout, emulation, (1,), layout.first.model.name)
        host.port.write(torn, 0)
        host.port.write(ping, wire_ns(len(torn), 1_000_000) + wait_ns)
        assert (host.port.read(10**12) != b"") is answers
        assert host.emulator.counts()["stray_bytes"] == (len(torn) if answers else 0)


class Still:
    """A plant of one shaft that never moves."""

    def __getattr__(self, name):
        return lambda *_: (0.0, 0.0)


def test_an_ai_motor_waits_for_its_longest_request_and_gives_a_torn_one_up_after_a_silence():
    longest = encode_sync(2, [100] * 31)
    assert len(longest) == aimotor.LONGEST_REQUEST
    ear = RequestParser()
    assert ear.feed(longest[:-1]) == []
    assert len(ear.feed(longest[-1:])) == 1
    read = encode_read(0)
    for wait_ns, strays in ((aimotor.BYTE_GAP_NS, 0), (aimotor.BYTE_GAP_NS + 1, 2)):
        emulator = AiMotorEmulator([ServoAddress(0, "one", "1001")], Still())
        port = InProcessPort(emulator, 57_600)
        port.write(read[:2], 0)
        port.write(read[2:], wire_ns(2, 57_600) + wait_ns)
        assert (port.read(10**12) == b"") is bool(strays)
        # The rest of a request that was given up is of none.
        assert emulator.stray_bytes == 2 * strays


@FUZZ
@given(st.binary(max_size=80))
def test_whatever_an_ai_motor_heard_it_waits_for_no_more_than_its_longest_request(data):
    ear = RequestParser()
    ear.feed(data)
    ear.feed(bytes(aimotor.LONGEST_REQUEST))
    assert ear.idle
