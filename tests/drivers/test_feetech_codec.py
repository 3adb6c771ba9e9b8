"""Feetech's packets: the maker's examples, and a parser nothing throws off for long."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.errors import FrameError
from drivers.feetech.codec import (
    ACTION,
    BACKUP,
    CALIBRATE,
    DIALECT,
    INSTRUCTIONS,
    MAX_ID,
    MAX_PARAMS,
    RECOVER,
    REG_WRITE,
    RESET,
)
from drivers.framed.packet import BROADCAST, PING, READ, REBOOT, SYNC_READ, SYNC_WRITE, WRITE, Packet

FUZZ = settings(max_examples=150, deadline=None, derandomize=True)
GOAL_AND_SPEED = bytes.fromhex("00 08 00 00 E8 03")

# Maker's page, sections 4.1 to 4.12.
INSTRUCTION_EXAMPLES = [
    (1, PING, b"", "FF FF 01 02 01 FB"),
    (1, READ, bytes((0x38, 2)), "FF FF 01 04 02 38 02 BE"),
    (BROADCAST, WRITE, bytes((5, 1)), "FF FF FE 04 03 05 01 F4"),
    (1, WRITE, b"\x2a" + GOAL_AND_SPEED, "FF FF 01 09 03 2A 00 08 00 00 E8 03 D5"),
    (1, REG_WRITE, b"\x2a" + GOAL_AND_SPEED, "FF FF 01 09 04 2A 00 08 00 00 E8 03 D4"),
    (10, REG_WRITE, b"\x2a" + GOAL_AND_SPEED, "FF FF 0A 09 04 2A 00 08 00 00 E8 03 CB"),
    (BROADCAST, ACTION, b"", "FF FF FE 02 05 FA"),
    (
        BROADCAST,
        SYNC_WRITE,
        bytes((0x2A, 6)) + b"".join(bytes((k,)) + GOAL_AND_SPEED for k in (1, 2, 3, 4)),
        "FF FF FE 20 83 2A 06 01 00 08 00 00 E8 03 02 00 08 00 00 E8 03 03 00 08 00 00 E8 03 04 00 08 00 00 E8 03 58",
    ),
    (
        BROADCAST,
        SYNC_WRITE,
        bytes.fromhex("2A 02 01 00 08 02 00 08"),
        "FF FF FE 0A 83 2A 02 01 00 08 02 00 08 35",
    ),
    (BROADCAST, SYNC_READ, bytes((0x38, 8, 1, 2)), "FF FF FE 06 82 38 08 01 02 36"),
    (1, RESET, b"", "FF FF 01 02 0A F2"),
    (1, CALIBRATE, b"", "FF FF 01 02 0B F1"),
    (1, CALIBRATE, bytes((0, 4)), "FF FF 01 04 0B 00 04 EB"),
    (1, RECOVER, b"", "FF FF 01 02 06 F6"),
    (1, BACKUP, b"", "FF FF 01 02 09 F3"),
    (1, REBOOT, b"", "FF FF 01 02 08 F4"),
]
STATUS_EXAMPLES = [
    (1, 0, b"", "FF FF 01 02 00 FC"),
    (10, 0, b"", "FF FF 0A 02 00 F3"),
    (1, 0, bytes.fromhex("18 05"), "FF FF 01 04 00 18 05 DD"),
    (1, 0, bytes.fromhex("00 08 00 00 00 00 79 1E"), "FF FF 01 0A 00 00 08 00 00 00 00 79 1E 55"),
    (2, 0, bytes.fromhex("FF 07 00 00 00 00 77 23"), "FF FF 02 0A 00 FF 07 00 00 00 00 77 23 53"),
]


def feed_all(data, *, status, cuts=()):
    """Feed `data` cut at `cuts`; return (position of the last byte in all of it, packet), and the parser."""
    parser = DIALECT.parser(status=status)
    edges = [0, *sorted(cuts), len(data)]
    found = []
    for start, end in pairwise(edges):
        found += [(start + index, packet) for index, packet in parser.feed(data[start:end])]
    return found, parser


@pytest.mark.parametrize(("bus_id", "instruction", "params", "frame"), INSTRUCTION_EXAMPLES)
def test_instructions_are_those_of_the_makers_page(bus_id, instruction, params, frame):
    data = bytes.fromhex(frame)
    assert DIALECT.instruction(bus_id, instruction, params) == data
    found, parser = feed_all(data, status=False)
    assert found == [(len(data) - 1, Packet(bus_id, instruction, params))]
    assert parser.idle
    assert instruction in INSTRUCTIONS


@pytest.mark.parametrize(("bus_id", "error", "params", "frame"), STATUS_EXAMPLES)
def test_statuses_are_those_of_the_makers_page(bus_id, error, params, frame):
    data = bytes.fromhex(frame)
    assert DIALECT.status(bus_id, error, params) == data
    assert len(data) == DIALECT.status_bytes(len(params))
    assert feed_all(data, status=True)[0] == [(len(data) - 1, Packet(bus_id, -1, params, error))]


@pytest.mark.parametrize("bus_id", [-1, MAX_ID + 2, 256])
def test_ids_the_wire_has_not_are_refused(bus_id):
    assert (DIALECT.name, DIALECT.max_id, DIALECT.address_bytes) == ("feetech", 253, 1)
    with pytest.raises(FrameError, match="bus id"):
        DIALECT.instruction(bus_id, PING)
    with pytest.raises(FrameError, match="bus id"):
        DIALECT.status(bus_id, 0)


def test_a_status_of_all_servos_is_refused():
    with pytest.raises(FrameError):
        DIALECT.status(BROADCAST, 0)


@pytest.mark.parametrize("kind", [-1, 256])
def test_instructions_and_errors_of_more_than_a_byte_are_refused(kind):
    with pytest.raises(FrameError, match="0 to 255"):
        DIALECT.instruction(1, kind)
    with pytest.raises(FrameError, match="0 to 255"):
        DIALECT.status(1, kind)


def test_the_longest_packet_goes_through_and_a_longer_one_is_refused():
    data = DIALECT.instruction(1, WRITE, bytes(MAX_PARAMS))
    assert feed_all(data, status=False)[0][0][1].params == bytes(MAX_PARAMS)
    with pytest.raises(FrameError, match="at most"):
        DIALECT.instruction(1, WRITE, bytes(MAX_PARAMS + 1))


@pytest.mark.parametrize("at", range(2, 8))
def test_a_flipped_bit_costs_the_packet_and_is_counted(at):
    data = bytearray(bytes.fromhex("FF FF 01 04 00 18 05 DD"))
    data[at] ^= 0x08
    found, parser = feed_all(bytes(data), status=True)
    assert found == []
    assert parser.bad_checksums == (0 if at == 3 else 1)
    # A longer length waits for more.
    assert parser.idle != (at == 3)


def test_bytes_of_no_packet_are_strays():
    good = DIALECT.status(3, 0, b"\x01")
    found, parser = feed_all(b"\x00\x12" + good + b"\x77\xff\x01", status=True)
    assert [packet.bus_id for _, packet in found] == [3]
    assert parser.stray_bytes == 5
    assert parser.bad_checksums == 0


def test_a_third_ff_is_no_id():
    good = DIALECT.status(3, 0, b"\x01")
    found, parser = feed_all(b"\xff" + good, status=True)
    assert found == [(len(good), Packet(3, -1, b"\x01", 0))]
    assert parser.stray_bytes == 1


def test_a_length_that_can_not_be_is_no_packet():
    good = DIALECT.status(3, 0, b"\x01")
    found, parser = feed_all(bytes.fromhex("FF FF 03 01") + good, status=True)
    assert [packet.bus_id for _, packet in found] == [3]
    assert parser.stray_bytes == 4


def test_forgetting_drops_what_is_half_received():
    good = DIALECT.status(3, 0, b"\x01")
    parser = DIALECT.parser(status=True)
    assert parser.feed(good[:5]) == []
    assert not parser.idle
    parser.reset()
    assert parser.idle
    assert parser.stray_bytes == 5
    assert parser.feed(good[5:]) == []
    assert parser.feed(good) == [(6, Packet(3, -1, b"\x01", 0))]


def longer(frame: bytes, by: int) -> bytes:
    """The frame with a length that is too long by so much."""
    return frame[:3] + bytes((frame[3] + by,)) + frame[4:]


def test_a_host_finds_what_a_wrong_length_has_swallowed():
    first, second = DIALECT.status(1, 0, b"\x01\x02"), DIALECT.status(2, 0, b"\x03\x04")
    data = longer(first, len(second)) + second
    found, parser = feed_all(data, status=True)
    assert found == [(len(data) - 1, Packet(2, -1, b"\x03\x04", 0))]
    assert parser.bad_checksums == 1
    assert parser.stray_bytes == 0


@FUZZ
@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_survived(data, status):
    found, parser = feed_all(data, status=status)
    indices = [index for index, _ in found]
    assert indices == sorted(indices)
    assert all(0 <= index < len(data) for index in indices)
    assert parser.stray_bytes >= 0


def packets():
    return st.builds(DIALECT.instruction, st.integers(0, MAX_ID), st.integers(0, 255), st.binary(max_size=12))


@FUZZ
@given(
    st.lists(
        st.one_of(packets(), st.binary(max_size=12), st.sampled_from((b"\xff\xff", b"\xff\xff\x01\x20"))), max_size=12
    ),
    st.booleans(),
    st.data(),
)
def test_the_pieces_bytes_come_in_do_not_matter(chunks, status, data):
    stream = b"".join(chunks)
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8))
    whole, one = feed_all(stream, status=status)
    pieces, other = feed_all(stream, status=status, cuts=cuts)
    single, third = feed_all(stream, status=status, cuts=range(1, len(stream)))
    assert whole == pieces == single
    assert (one.stray_bytes, one.bad_checksums) == (other.stray_bytes, other.bad_checksums)
    assert (one.stray_bytes, one.bad_checksums) == (third.stray_bytes, third.bad_checksums)


@FUZZ
@given(st.integers(0, MAX_ID), st.integers(0, 255), st.binary(max_size=MAX_PARAMS))
def test_what_was_packed_is_unpacked(bus_id, kind, params):
    frame = DIALECT.instruction(bus_id, kind, params)
    assert [packet for _, packet in feed_all(frame, status=False)[0]] == [Packet(bus_id, kind, params)]
    frame = DIALECT.status(bus_id, kind, params)
    assert [packet for _, packet in feed_all(frame, status=True)[0]] == [Packet(bus_id, -1, params, kind)]


@FUZZ
@given(st.binary(max_size=60), st.lists(packets(), min_size=1, max_size=4))
def test_garbage_costs_no_more_than_a_packets_length(garbage, good):
    quiet = b"\x00" * 260
    stream = garbage + quiet + b"".join(good)
    found, _ = feed_all(stream, status=True)
    assert [packet for _, packet in found][-len(good) :] == [
        packet for frame in good for _, packet in feed_all(frame, status=True)[0]
    ]


def test_strays_are_counted_anew_behind_what_was_forgotten():
    parser = DIALECT.parser(status=True)
    parser.feed(longer(DIALECT.status(1, 0, b"\x01"), 3) + b"\xff\xff\x02")
    assert (parser.bad_checksums, parser.stray_bytes) == (1, 0)
    parser.reset()
    assert parser.stray_bytes == 0
    parser.feed(b"\x01\x02")
    assert parser.stray_bytes == 2
    parser.feed(b"\xff\xff\x01")
    parser.reset()
    assert parser.stray_bytes == 5
