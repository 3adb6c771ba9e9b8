"""Frames against the fact sheets, and the parser fed every way."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.aimotor import codec
from drivers.aimotor.codec import AiMotorRequest, Op, RequestParser
from drivers.aimotor.table import AI_MOTOR_COMMANDS, BAUD_SET, ID_SET, SET_COMMANDS, Family
from drivers.errors import FrameError

quick = settings(max_examples=60, deadline=None, derandomize=True)


def wck(command, d3, d4):
    return codec.encode_set(0, command, d3, d4, family=Family.WCK)


# Frames as published for the wCK and its clients.
GOLDEN = [
    (codec.encode_position(0, 0, 127), "FF 00 7F 7F"),
    (codec.encode_position(5, 2, 200), "FF 45 C8 0D"),
    (codec.encode_read(5), "FF A5 00 25"),
    (codec.encode_read(5, 200), "FF A5 C8 6D"),
    (codec.encode_passive(5), "FF C5 10 55"),
    (codec.encode_wheel(5, clockwise=False, speed=10), "FF C5 3A 7F"),
    (codec.encode_wheel(5, clockwise=True, speed=10), "FF C5 4A 0F"),
    (codec.encode_break(), "FF DF 20 7F"),
    (codec.encode_sync(0, [100, 120, 140, 160]), "FF 1F 04 64 78 8C A0 30"),
    (codec.set_frame(0, SET_COMMANDS[BAUD_SET], 0x0F, 0x0F), "FF E0 08 0F 0F 68"),
    (wck(0x09, 0x14, 0x1E), "FF E0 09 14 1E 63"),
    (wck(0x0A, 0, 0), "FF E0 0A 00 00 6A"),
    (wck(0x0B, 100, 100), "FF E0 0B 64 64 6B"),
    (codec.set_frame(0, SET_COMMANDS[ID_SET], 30, 30), "FF E0 0C 1E 1E 6C"),
    (wck(0x0D, 30, 100), "FF E0 0D 1E 64 17"),
    (wck(0x0E, 0, 0), "FF E0 0E 00 00 6E"),
    (wck(0x0F, 0x50, 0x50), "FF E0 0F 50 50 6F"),
    (wck(0x10, 0, 0), "FF E0 10 00 00 70"),
    (wck(0x11, 1, 253), "FF E0 11 01 FD 0D"),
    (wck(0x12, 0, 0), "FF E0 12 00 00 72"),
    (wck(0x15, 0, 0), "FF E0 15 00 00 75"),
    (wck(0x16, 0, 0), "FF E0 16 00 00 76"),
    (wck(0x17, 30, 100), "FF E0 17 1E 64 0D"),
    (wck(0x18, 0, 0), "FF E0 18 00 00 78"),
    (wck(0x64, 1, 1), "FF E0 64 01 01 04"),
    (wck(0x65, 0, 0), "FF E0 65 00 00 05"),
    (wck(0x97, 0, 0), "FF E0 97 00 00 77"),
    (codec.encode_move_10bit(3, 100, 512), "FF E0 C8 03 64 04 00 4B"),
    (codec.encode_read_10bit(3), "FF E0 C9 03 03 29"),
]


@pytest.mark.parametrize(("frame", "published"), GOLDEN, ids=[published for _, published in GOLDEN])
def test_encoders_give_the_published_bytes_and_the_parser_takes_them(frame, published):
    assert frame == bytes.fromhex(published)
    parser = RequestParser()
    requests = parser.feed(frame)
    assert [index for index, _ in requests] == [len(frame) - 1]
    assert requests[0][1].op is not Op.UNKNOWN
    assert (parser.bad_checksums, parser.stray_bytes, parser.idle) == (0, 0, True)


def test_the_misprinted_runtime_gain_frame_is_thrown_away():
    parser = RequestParser()
    assert parser.feed(bytes.fromhex("FF E0 0B 64 64 69")) == []
    assert parser.bad_checksums == 1


bus_ids = st.integers(0, 30)
raws = st.integers(0, 254)


@st.composite
def any_request(draw):
    """One valid frame and what it must be decoded to."""
    bus_id, level, raw = draw(bus_ids), draw(st.integers(0, 4)), draw(raws)
    kinds = ["send", "read", "passive", "wheel", "break", "sync", "set", "move", "fine read"]
    kind = draw(st.sampled_from(kinds))
    if kind == "send":
        return codec.encode_position(bus_id, level, raw), AiMotorRequest(Op.POSITION_SEND, bus_id, level, raw)
    if kind == "read":
        return codec.encode_read(bus_id), AiMotorRequest(Op.POSITION_READ, bus_id, -1, 0)
    if kind == "passive":
        return codec.encode_passive(bus_id), AiMotorRequest(Op.PASSIVE, bus_id, -1, 0x10)
    if kind == "wheel":
        clockwise, speed = draw(st.booleans()), draw(st.integers(0, 15))
        frame = codec.encode_wheel(bus_id, clockwise=clockwise, speed=speed)
        return frame, AiMotorRequest(Op.WHEEL, bus_id, -1, (4 if clockwise else 3) << 4 | speed)
    if kind == "break":
        return codec.encode_break(), AiMotorRequest(Op.BREAK, 31, -1, 0x20)
    if kind == "sync":
        targets = draw(st.lists(raws, min_size=1, max_size=31))
        return codec.encode_sync(level, targets), AiMotorRequest(Op.SYNC_SEND, 31, level, len(targets), bytes(targets))
    if kind == "set":
        return any_set(draw, bus_id)
    fine_id = draw(st.integers(0, 253))
    if kind == "fine read":
        return codec.encode_read_10bit(fine_id), AiMotorRequest(
            Op.READ_10BIT, fine_id, -1, 0xC9, bytes((fine_id, fine_id))
        )
    target = draw(st.integers(0, 1023))
    return codec.encode_move_10bit(fine_id, raw, target), AiMotorRequest(
        Op.MOVE_10BIT, fine_id, -1, target, bytes((raw,))
    )


def any_set(draw, bus_id):
    """A set or read command of the wCK, with any values it can carry."""
    row = draw(st.sampled_from(list(SET_COMMANDS.values())))
    d3 = draw(st.integers(*row.d3))
    d4 = d3 if row.repeated else draw(st.integers(*row.d4))
    return codec.set_frame(bus_id, row, d3, d4), AiMotorRequest(Op.SET, bus_id, -1, row.code, bytes((d3, d4)))


def feed_in_pieces(parser, data, cuts):
    """Feed `data` cut at `cuts`; return [(index in the whole of the last byte, request)]."""
    bounds = [0, *sorted(cut for cut in cuts if cut <= len(data)), len(data)]
    found = []
    for start, end in itertools.pairwise(bounds):
        found += [(start + index, request) for index, request in parser.feed(data[start:end])]
    return found


@quick
@given(st.lists(any_request(), min_size=1, max_size=4), st.sets(st.integers(0, 80)))
def test_frames_are_found_however_the_bytes_are_cut(frames, cuts):
    data = b"".join(frame for frame, _ in frames)
    expected, end = [], 0
    for frame, request in frames:
        end += len(frame)
        expected.append((end - 1, request))
    parser = RequestParser()
    assert feed_in_pieces(parser, data, cuts) == expected
    assert (parser.bad_checksums, parser.stray_bytes, parser.idle) == (0, 0, True)


@quick
@given(any_request())
def test_a_frame_cut_at_every_byte(pair):
    frame, request = pair
    for cut in range(len(frame) + 1):
        assert feed_in_pieces(RequestParser(), frame, {cut}) == [(len(frame) - 1, request)]
    parser = RequestParser()
    assert [r for byte in frame for _, r in parser.feed(bytes((byte,)))] == [request]


noise = st.binary(max_size=12).map(lambda data: data.replace(b"\xff", b""))


@quick
@given(noise, any_request(), noise, any_request(), noise)
def test_garbage_between_frames_is_counted_and_nothing_else(before, first, between, second, after):
    parser = RequestParser()
    found = parser.feed(before + first[0] + between + second[0] + after)
    assert [request for _, request in found] == [first[1], second[1]]
    assert parser.stray_bytes == len(before + between + after)


@quick
@given(any_request(), any_request(), st.data())
def test_a_torn_frame_does_not_take_the_next_with_it(torn, whole, data):
    keep = data.draw(st.integers(1, len(torn[0]) - 1))
    parser = RequestParser()
    found = parser.feed(torn[0][:keep] + whole[0])
    assert [request for _, request in found] == [whole[1]]
    assert parser.stray_bytes == keep


@quick
@given(st.binary(max_size=60), any_request())
def test_any_garbage_leaves_the_next_frame_readable(garbage, pair):
    parser = RequestParser()
    found = parser.feed(garbage + pair[0])
    assert found[-1] == (len(garbage) + len(pair[0]) - 1, pair[1])


@quick
@given(any_request(), st.data())
def test_one_flipped_bit_in_a_checksum_is_always_noticed(pair, data):
    frame = bytearray(pair[0])
    frame[-1] ^= 1 << data.draw(st.integers(0, 7))
    parser = RequestParser()
    assert parser.feed(bytes(frame)) == []
    assert parser.bad_checksums + parser.stray_bytes > 0


@pytest.mark.parametrize("raw", [0, 100, 126])
def test_bit_seven_of_a_target_is_not_covered_by_the_checksum(raw):
    frame = bytearray(codec.encode_position(3, 3, raw))
    for bit in range(7):
        damaged = bytearray(frame)
        damaged[2] ^= 1 << bit
        assert RequestParser().feed(bytes(damaged)) == []
    frame[2] ^= 0x80
    assert [r.value for _, r in RequestParser().feed(bytes(frame))] == [raw + 128]


@pytest.mark.parametrize(
    "frame",
    [
        "FF BF 00 3F",
        "FF C5 00 45",
        "FF DF 10 4F",
        "FF C5 5A 1F",
        # Ten bits: two ids that differ, an id that is none, a target that is none.
        "FF E0 C9 03 04 2E",
        "FF E0 C9 FE FE 29",
        "FF E0 C8 FE 64 04 00 36",
        "FF E0 C8 03 64 08 00 47",
        "FF E0 C8 03 64 04 80 4B",
    ],
)
def test_frames_that_mean_nothing_are_told_apart(frame):
    parser = RequestParser()
    assert [r.op for _, r in parser.feed(bytes.fromhex(frame))] == [Op.UNKNOWN]
    assert (parser.bad_checksums, parser.stray_bytes, parser.idle) == (0, 0, True)


def test_a_group_send_has_at_most_31_targets():
    parser = RequestParser()
    assert parser.feed(bytes((0xFF, 0x1F, 32, 1, 2, 3))) == []
    assert (parser.stray_bytes, parser.idle) == (6, True)


def test_a_ten_bit_request_behind_another_id_is_a_set_frame():
    # The ten-bit forms have their id in D3 and none in D1.
    (pair,) = RequestParser().feed(bytes.fromhex("FF E5 C9 03 03 2C"))
    assert pair[1] == AiMotorRequest(Op.SET, 5, -1, 0xC9, b"\x03\x03")


@quick
@given(st.lists(st.binary(max_size=40), max_size=5), any_request())
def test_bytes_of_any_kind_raise_nothing_and_leave_the_next_frame_readable(pieces, pair):
    parser = RequestParser()
    for piece in pieces:
        for index, request in parser.feed(piece):
            assert 0 <= index < len(piece)
            assert 0 <= request.bus_id <= 254
    assert parser.feed(pair[0])[-1] == (len(pair[0]) - 1, pair[1])
    assert parser.idle


@pytest.mark.parametrize(
    "call",
    [
        lambda: codec.encode_position(31, 0, 0),
        lambda: codec.encode_position(-1, 0, 0),
        lambda: codec.encode_position(0, 5, 0),
        lambda: codec.encode_position(0, -1, 0),
        lambda: codec.encode_position(0, 0, 255),
        lambda: codec.encode_position(0, 0, -1),
        lambda: codec.encode_read(31),
        lambda: codec.encode_read(0, 255),
        lambda: codec.encode_passive(31),
        lambda: codec.encode_wheel(0, clockwise=True, speed=16),
        lambda: codec.encode_wheel(31, clockwise=True, speed=1),
        lambda: codec.encode_sync(0, []),
        lambda: codec.encode_sync(0, [0] * 32),
        lambda: codec.encode_sync(0, [255]),
        lambda: codec.encode_sync(5, [0]),
        lambda: codec.encode_move_10bit(254, 0, 0),
        lambda: codec.encode_move_10bit(0, 255, 0),
        lambda: codec.encode_move_10bit(0, 0, 1024),
        lambda: codec.encode_read_10bit(254),
        lambda: codec.set_frame(31, SET_COMMANDS[0x0A], 0, 0),
        lambda: codec.set_frame(0, SET_COMMANDS[ID_SET], 30, 29),
        lambda: codec.set_frame(0, SET_COMMANDS[ID_SET], 31, 31),
        lambda: wck(0x0F, 32, 32),
        lambda: wck(0x09, 0, 0),
        lambda: wck(0x11, 255, 0),
        lambda: wck(0x99, 0, 0),
    ],
)
def test_values_the_wire_cannot_carry_are_refused(call):
    with pytest.raises(FrameError):
        call()


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (0x0C, "rename the servo to id 0.*reads its gains with 0x0a.*write_id"),
        (0x08, "only write_baud"),
        (0x96, "not established"),
        (0xC8, "encode_move_10bit"),
        (0xC9, "encode_read_10bit"),
    ],
)
def test_what_must_not_be_sent_as_a_set_command_says_why(command, hint):
    with pytest.raises(FrameError, match=hint):
        wck(command, 0, 0)


@pytest.mark.parametrize("command", sorted({*SET_COMMANDS, *AI_MOTOR_COMMANDS, 0x42}))
def test_no_set_command_is_sent_to_an_ai_motor_unasked(command):
    row = SET_COMMANDS.get(command, SET_COMMANDS[0x0A])
    with pytest.raises(FrameError, match="not established for the AI motor"):
        codec.encode_set(0, command, row.d3[0], row.d4[0], family=Family.AI_MOTOR)


def test_who_accepts_the_risk_may_try_what_an_ai_motor_probably_has_but_not_its_id():
    def tried(command, d3=0, d4=0):
        return codec.encode_set(0, command, d3, d4, family=Family.AI_MOTOR, accepted=True)

    assert tried(0x0C) == bytes.fromhex("FF E0 0C 00 00 6C")
    assert tried(0x0E) == bytes.fromhex("FF E0 0E 00 00 6E")
    assert tried(0x09, 10, 35) == bytes.fromhex("FF E0 09 0A 23 40")
    for command in {*SET_COMMANDS, 0x96, 0xC8, 0xC9, 0x42} - set(AI_MOTOR_COMMANDS):
        with pytest.raises(FrameError, match="0x0a probably sets its id"):
            tried(command)


def test_replies():
    assert codec.decode_reply(b"\x0b\x7f") == (11, 127)
    assert codec.decode_reply(b"\x0b\xfe").position_raw == 254
    for bad in (b"", b"\x01", b"\x01\x02\x03", b"\x01\xff", b"\xff\x01"):
        with pytest.raises(FrameError):
            codec.decode_reply(bad)


@pytest.mark.parametrize(("reply", "is_one"), [(b"\x64\x64", True), (b"\x10\x64", True), (b"\x0b\x64", False)])
def test_what_a_torque_off_is_answered_with(reply, is_one):
    assert codec.is_passive_reply(reply) is is_one


def test_a_table_of_requests_ends_with_torque_off_and_read():
    table = codec.request_table(7, 2)
    assert table[100] == codec.encode_position(7, 2, 100)
    assert (table[-2], table[-1]) == (codec.encode_passive(7), codec.encode_read(7))
    assert len(table) == 257


def test_what_is_half_heard_can_be_forgotten():
    parser = RequestParser()
    assert parser.feed(codec.encode_read(3)[:3]) == []
    parser.reset()
    assert (parser.stray_bytes, parser.idle) == (3, True)
    assert [request.bus_id for _, request in parser.feed(codec.encode_read(4))] == [4]
