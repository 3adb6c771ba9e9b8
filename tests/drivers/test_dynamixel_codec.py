"""Packets of Protocol 2.0: the maker's examples, stuffing both ways, and a parser nothing throws off for long."""

import itertools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drivers.dynamixel.codec import (
    BULK_READ,
    DIALECT,
    FAST_SYNC_READ,
    MAX_ID,
    MAX_LENGTH,
    STATUS,
    crc16,
    fast_status,
    split_fast,
)
from drivers.errors import FrameError
from drivers.framed.packet import BROADCAST, PING, READ, REBOOT, SYNC_READ, SYNC_WRITE, WRITE, Packet

FUZZ = settings(max_examples=150, deadline=None, derandomize=True)

INSTRUCTION_EXAMPLES = [
    (1, PING, "", "FF FF FD 00 01 03 00 01 19 4E"),
    (1, WRITE, "40 00 01", "FF FF FD 00 01 06 00 03 40 00 01 DB 66"),
    (1, WRITE, "0B 00 05", "FF FF FD 00 01 06 00 03 0B 00 05 5C E3"),
    (1, WRITE, "09 00 00", "FF FF FD 00 01 06 00 03 09 00 00 69 63"),
    (1, WRITE, "62 00 05", "FF FF FD 00 01 06 00 03 62 00 05 68 E4"),
    (1, WRITE, "74 00 00 02 00 00", "FF FF FD 00 01 09 00 03 74 00 00 02 00 00 CA 89"),
    (1, READ, "84 00 04 00", "FF FF FD 00 01 07 00 02 84 00 04 00 1D 15"),
    (BROADCAST, SYNC_READ, "84 00 04 00 01 02", "FF FF FD 00 FE 09 00 82 84 00 04 00 01 02 CE FA"),
    (
        BROADCAST,
        SYNC_WRITE,
        "74 00 04 00 01 96 00 00 00 02 AA 00 00 00",
        "FF FF FD 00 FE 11 00 83 74 00 04 00 01 96 00 00 00 02 AA 00 00 00 82 87",
    ),
    (BROADCAST, FAST_SYNC_READ, "84 00 04 00 01 02", "FF FF FD 00 FE 09 00 8A 84 00 04 00 01 02 4D 72"),
    (1, WRITE, "74 00 FF FF FD 00", "FF FF FD 00 01 0A 00 03 74 00 FF FF FD FD 00 21 E7"),
]
STATUS_EXAMPLES = [
    (1, 0, "", "FF FF FD 00 01 04 00 55 00 A1 0C"),
    (1, 0, "A6 00 00 00", "FF FF FD 00 01 08 00 55 00 A6 00 00 00 8C C0"),
]
FAST_REPLY = bytes.fromhex("FF FF FD 00 FE 11 00 55 00 01 A6 00 00 00 74 3B 00 02 1F 08 00 00 1C 36")

stuffy = st.lists(st.sampled_from([0xFF, 0xFF, 0xFD, 0x00, 0x55]), max_size=40).map(bytes)
data_bytes = st.one_of(stuffy, st.binary(max_size=40))
ids = st.integers(0, MAX_ID)
instructions = st.sampled_from([PING, READ, WRITE, REBOOT, SYNC_READ, SYNC_WRITE, BULK_READ, 0xFF])


def feed_all(data, *, status, cuts=()):
    """Feed `data` cut at `cuts`; return [(position of the last byte in all of it, packet)], and the parser."""
    parser = DIALECT.parser(status=status)
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    found = []
    for start, end in itertools.pairwise(edges):
        found += [(start + index, packet) for index, packet in parser.feed(data[start:end])]
    return found, parser


@pytest.mark.parametrize(("bus_id", "instruction", "params", "frame"), INSTRUCTION_EXAMPLES)
def test_instructions_are_those_of_the_maker(bus_id, instruction, params, frame):
    data, params = bytes.fromhex(frame), bytes.fromhex(params)
    assert DIALECT.instruction(bus_id, instruction, params) == data
    found, parser = feed_all(data, status=False)
    assert found == [(len(data) - 1, Packet(bus_id, instruction, params))]
    assert (parser.idle, parser.stray_bytes, parser.bad_checksums) == (True, 0, 0)


@pytest.mark.parametrize(("bus_id", "error", "params", "frame"), STATUS_EXAMPLES)
def test_statuses_are_those_of_the_maker(bus_id, error, params, frame):
    data, params = bytes.fromhex(frame), bytes.fromhex(params)
    assert DIALECT.status(bus_id, error, params) == data
    assert len(data) == DIALECT.status_bytes(len(params))
    found, parser = feed_all(data, status=True)
    assert found == [(len(data) - 1, Packet(bus_id, -1, params, error))]
    assert (parser.idle, parser.stray_bytes, parser.bad_checksums) == (True, 0, 0)


def test_a_fast_reply_is_split_into_statuses():
    found, _ = feed_all(FAST_REPLY, status=True)
    ((last, packet),) = found
    assert last == len(FAST_REPLY) - 1
    statuses = [Packet(1, -1, bytes.fromhex("A6 00 00 00"), 0), Packet(2, -1, bytes.fromhex("1F 08 00 00"), 0)]
    assert split_fast(packet, 4, 2) == statuses
    assert fast_status(statuses) == FAST_REPLY


@given(st.lists(st.tuples(ids, st.integers(0, 255), st.binary(min_size=3, max_size=3)), min_size=1, max_size=6))
@example([(1, 0, b"\xff\xff\xfd"), (2, 0, b"\xfd\xff\xff")])
@FUZZ
def test_fast_replies_come_back_as_they_were_said_without_stuffing(parts):
    statuses = [Packet(bus_id, -1, data, error) for bus_id, error, data in parts]
    ((_, packet),) = feed_all(fast_status(statuses), status=True)[0]
    assert split_fast(packet, 3, len(parts)) == statuses


def test_what_looks_like_stuffing_in_a_fast_reply_is_left_as_it_is():
    statuses = [Packet(1, -1, b"\xff\xff\xfd\xfd", 0), Packet(2, -1, b"\xff\xff\xfd\x00", 0)]
    ((_, packet),) = feed_all(fast_status(statuses), status=True)[0]
    assert split_fast(packet, 4, 2) == statuses


def test_a_fast_reply_that_was_stuffed_is_understood_too():
    statuses = [Packet(1, -1, b"\xff\xff\xfd\x07", 0), Packet(2, -1, bytes(4), 0)]
    plain = fast_status(statuses)
    stuffed = bytearray(plain[:-2].replace(b"\xff\xff\xfd\x07", b"\xff\xff\xfd\xfd\x07"))
    stuffed[5] += 1
    stuffed += crc16(stuffed).to_bytes(2, "little")
    ((_, packet),) = feed_all(bytes(stuffed), status=True)[0]
    assert split_fast(packet, 4, 2) == statuses


@pytest.mark.parametrize(("length", "count"), [(4, 3), (3, 2), (5, 2), (4, 1)])
def test_a_fast_reply_of_another_size_is_none(length, count):
    ((_, packet),) = feed_all(FAST_REPLY, status=True)[0]
    assert split_fast(packet, length, count) == []


def test_what_is_no_fast_reply_is_not_split():
    assert split_fast(Packet(1, -1, bytes(9), 0), 4, 1) == []
    assert split_fast(Packet(BROADCAST, READ, bytes(9)), 4, 1) == []


@pytest.mark.parametrize("statuses", [[], [Packet(1, -1, bytes(MAX_LENGTH), 0)]])
def test_a_fast_reply_that_does_not_fit_is_refused(statuses):
    with pytest.raises(FrameError):
        fast_status(statuses)


def bit_by_bit(data):
    """Divide by the polynomial as on paper."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = crc << 1 ^ 0x18005 if crc & 0x8000 else crc << 1
    return crc


@pytest.mark.parametrize(
    "size", [0, 1, 2, 15, 16, 29, 30, 31, 60, 127, 128, 255, 256, 1023, MAX_LENGTH, MAX_LENGTH + 7]
)
@pytest.mark.parametrize("start", [0x00, 0x01, 0x80, 0xFF])
def test_the_crc_is_the_published_one_whatever_the_length(size, start):
    step = 0 if start in (0x00, 0xFF) else 37
    data = bytes((start + step * k) % 256 for k in range(size))
    assert crc16(data) == crc16(bytearray(data)) == bit_by_bit(data)


@given(st.binary(max_size=300))
@FUZZ
def test_the_crc_of_any_bytes_is_the_published_one(data):
    assert crc16(data) == bit_by_bit(data)


@given(ids, instructions, data_bytes)
@FUZZ
def test_instructions_come_back(bus_id, instruction, params):
    frame = DIALECT.instruction(bus_id, instruction, params)
    found, parser = feed_all(frame, status=False)
    assert found == [(len(frame) - 1, Packet(bus_id, instruction, params))]
    assert (parser.idle, parser.stray_bytes) == (True, 0)


@given(ids, st.integers(0, 255), data_bytes)
@FUZZ
def test_statuses_come_back(bus_id, error, params):
    frame = DIALECT.status(bus_id, error, params)
    found, parser = feed_all(frame, status=True)
    assert found == [(len(frame) - 1, Packet(bus_id, -1, params, error))]
    assert (parser.idle, parser.stray_bytes) == (True, 0)


@given(data_bytes)
@FUZZ
def test_no_header_is_within_a_packet(params):
    frame = DIALECT.instruction(1, WRITE, params)
    body = frame[7:-2]
    assert all(body[at + 3 : at + 4] == b"\xfd" for at in range(len(body)) if body[at : at + 3] == b"\xff\xff\xfd")


def unstuffed(bus_id, instruction, params):
    """An instruction as the maker's Python SDK sends it: nothing is stuffed, length and CRC are right for that."""
    body = bytes((instruction,)) + params
    frame = b"\xff\xff\xfd\x00" + bytes((bus_id,)) + (len(body) + 2).to_bytes(2, "little") + body
    return frame + crc16(frame).to_bytes(2, "little")


@pytest.mark.parametrize(
    "params", ["74 00 FF FF FD 00", "74 00 FF FF FD 00 01 03 00 01", "74 00 FF FF FD 00 FF FF 0F 00"]
)
def test_a_packet_whose_sender_did_not_stuff_is_understood(params):
    params = bytes.fromhex(params)
    frame = unstuffed(1, WRITE, params)
    found, parser = feed_all(frame, status=False)
    assert found == [(len(frame) - 1, Packet(1, WRITE, params))]
    assert parser.idle


def test_a_packet_within_one_that_was_not_stuffed_comes_first():
    inner = DIALECT.instruction(2, PING)
    frame = unstuffed(1, WRITE, b"\x74\x00" + inner)
    for cuts in ((), range(1, len(frame))):
        found, parser = feed_all(frame, status=False, cuts=cuts)
        assert [packet for _, packet in found] == [Packet(2, PING)]
        assert parser.stray_bytes == len(frame) - len(inner)


def test_a_packet_with_a_wrong_crc_is_thrown_away_and_counted():
    frame = bytearray(DIALECT.status(1, 0, b"abcd"))
    frame[-3] ^= 1
    found, parser = feed_all(bytes(frame), status=True)
    assert found == []
    assert (parser.bad_checksums, parser.stray_bytes, parser.idle) == (1, 0, True)


def test_a_bad_packet_does_not_take_the_next_one_with_it():
    good = DIALECT.status(2, 0, b"abcd")
    for cut in range(1, 15):
        # A status that lost its end: its length reaches into the next one.
        data = DIALECT.status(1, 0, b"abcd")[:-cut] + good
        found, parser = feed_all(data, status=True)
        assert found == [(len(data) - 1, Packet(2, -1, b"abcd", 0))], cut
        # The bytes of the bad one are strays, unless it ended in a whole frame that was wrong.
        assert parser.stray_bytes == len(data) - len(good) or (parser.bad_checksums == 1 and parser.stray_bytes == 0)


def test_a_damaged_length_swallows_nothing():
    bad = bytearray(DIALECT.instruction(1, PING))
    bad[6] = 0x0F
    good = DIALECT.instruction(2, PING)
    parser = DIALECT.parser(status=False)
    assert parser.feed(bytes(bad)) == []
    for _ in range(3):
        # At once, not when the wrong length is over.
        assert parser.feed(good) == [(len(good) - 1, Packet(2, PING))]
    assert parser.stray_bytes == len(bad)


@pytest.mark.parametrize("length", [0, 1, 2, 3, MAX_LENGTH + 1, 0xFFFF])
def test_a_length_that_can_not_be_is_passed_over(length):
    data = b"\xff\xff\xfd\x00\x01" + length.to_bytes(2, "little") + b"\x55"
    found, parser = feed_all(data, status=True)
    assert found == []
    assert parser.idle
    assert parser.stray_bytes == len(data)


@pytest.mark.parametrize("status", [True, False])
@pytest.mark.parametrize("length", [4097, 8190, 8191, 65_535])
def test_a_packet_that_is_too_long_is_none_also_where_it_comes_at_once(length, status):
    head = b"\xff\xff\xfd\x00\x01" + length.to_bytes(2, "little") + (b"\x55" if status else b"\x03")
    body = head + bytes(length - 3)
    frame = body + bit_by_bit(body).to_bytes(2, "little")
    for cuts in ((), (1000,)):
        assert feed_all(frame, status=status, cuts=cuts)[0] == []


def test_hosts_hear_statuses_only_and_servos_instructions_only():
    ask, answer = DIALECT.instruction(1, READ, bytes(4)), DIALECT.status(1, 0, bytes(4))
    found, parser = feed_all(ask + answer, status=True)
    assert [packet for _, packet in found] == [Packet(1, -1, bytes(4), 0)]
    assert parser.stray_bytes == len(ask)
    found, parser = feed_all(answer + ask, status=False)
    assert [packet for _, packet in found] == [Packet(1, READ, bytes(4))]
    assert parser.stray_bytes == 0


def test_forgetting_drops_what_is_half_received():
    parser = DIALECT.parser(status=True)
    frame = DIALECT.status(1, 0, b"abcd")
    parser.feed(frame[:9])
    assert not parser.idle
    parser.reset()
    assert parser.idle
    assert parser.stray_bytes == 9
    assert parser.feed(frame[9:]) == []
    assert parser.feed(frame) == [(len(frame) - 1, Packet(1, -1, b"abcd", 0))]


@pytest.mark.parametrize(
    "noise", [b"", b"\x00", b"\xff", b"\xff\xff", b"\xff\xff\xfd", b"\xff\xff\xfd\xfd", b"\xff" * 9, b"U" * 30]
)
def test_noise_before_a_packet_is_stray(noise):
    frame = DIALECT.status(7, 0x80, b"xy")
    found, parser = feed_all(noise + frame, status=True)
    assert found == [(len(noise) + len(frame) - 1, Packet(7, -1, b"xy", 0x80))]
    assert parser.stray_bytes == len(noise)


messages = st.one_of(
    st.binary(max_size=12),
    stuffy,
    st.builds(DIALECT.instruction, ids, instructions, data_bytes),
    st.builds(DIALECT.status, ids, st.integers(0, 255), data_bytes),
    st.builds(
        lambda frame, cut: frame[:cut], st.builds(DIALECT.status, ids, st.just(0), data_bytes), st.integers(0, 14)
    ),
    st.builds(
        lambda frame, at, bit: bytes(b ^ (1 << bit if k == at % len(frame) else 0) for k, b in enumerate(frame)),
        st.builds(DIALECT.status, ids, st.just(0), data_bytes),
        st.integers(0, 50),
        st.integers(0, 7),
    ),
)
lines = st.lists(messages, max_size=8).map(b"".join)


@given(lines, st.sets(st.integers(1, 200)), st.booleans())
@FUZZ
def test_in_pieces_a_parser_hears_what_it_hears_at_once(data, cuts, status):
    whole, parser = feed_all(data, status=status)
    pieces, other = feed_all(data, status=status, cuts=cuts)
    assert pieces == whole
    assert (other.stray_bytes, other.bad_checksums, other.idle) == (
        parser.stray_bytes,
        parser.bad_checksums,
        parser.idle,
    )


@given(lines, st.booleans())
@FUZZ
def test_byte_by_byte_too(data, status):
    whole, parser = feed_all(data, status=status)
    single, other = feed_all(data, status=status, cuts=range(1, len(data)))
    assert single == whole
    assert (other.stray_bytes, other.bad_checksums) == (parser.stray_bytes, parser.bad_checksums)


@given(lines, st.booleans())
@FUZZ
def test_every_byte_is_of_a_packet_or_stray_or_waits(data, status):
    found, parser = feed_all(data, status=status)
    parser.reset()
    heard = sum(len(DIALECT.status(p.bus_id, p.error, p.params)) for _, p in found if status and p.bus_id != BROADCAST)
    assert parser.stray_bytes + heard <= len(data)


@given(
    st.lists(st.tuples(ids, data_bytes), min_size=1, max_size=5),
    st.binary(max_size=20).filter(lambda b: b"\xff" not in b),
)
@FUZZ
def test_packets_are_found_between_noise(statuses, noise):
    frames = [DIALECT.status(bus_id, 0, data) for bus_id, data in statuses]
    found, parser = feed_all(noise + noise.join(frames) + noise, status=True)
    assert [packet for _, packet in found] == [Packet(bus_id, -1, data, 0) for bus_id, data in statuses]
    assert parser.stray_bytes == len(noise) * (len(frames) + 1)


@given(st.binary(max_size=300), st.booleans())
@FUZZ
def test_no_bytes_are_too_much(data, status):
    feed_all(data, status=status)


@pytest.mark.parametrize(
    "make",
    [
        lambda: DIALECT.instruction(253, PING),
        lambda: DIALECT.instruction(-1, PING),
        lambda: DIALECT.instruction(255, PING),
        lambda: DIALECT.instruction(1, 0),
        lambda: DIALECT.instruction(1, 256),
        lambda: DIALECT.instruction(1, STATUS),
        lambda: DIALECT.instruction(1, WRITE, bytes(MAX_LENGTH - 2)),
        lambda: DIALECT.status(BROADCAST, 0),
        lambda: DIALECT.status(1, 256),
        lambda: DIALECT.status(1, -1),
    ],
)
def test_what_the_wire_can_not_carry_is_refused(make):
    with pytest.raises(FrameError):
        make()


def test_the_longest_packet_goes_through():
    params = bytes(MAX_LENGTH - 3)
    frame = DIALECT.instruction(1, WRITE, params)
    assert feed_all(frame, status=False)[0] == [(len(frame) - 1, Packet(1, WRITE, params))]
