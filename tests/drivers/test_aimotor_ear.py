"""What a host says, understood from its bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.aimotor import FAMILY, codec
from drivers.aimotor.table import SET_COMMANDS, Family
from drivers.family import EVERYBODY, DecodedRequest

quick = settings(max_examples=60, deadline=None, derandomize=True)


def understood(frame):
    ear = FAMILY.sniffer()
    ((index, heard),) = ear.feed(frame)
    assert index == len(frame) - 1
    return ear, heard


@pytest.mark.parametrize(
    ("frame", "heard"),
    [
        (codec.encode_position(5, 2, 200), DecodedRequest("position send", {5: 200}, asks=(5,))),
        (codec.encode_read(5), DecodedRequest("position read", {}, asks=(5,))),
        (codec.encode_passive(5), DecodedRequest("passive", {}, releases=(5,), asks=(5,))),
        (codec.encode_break(), DecodedRequest("break", {}, releases=(EVERYBODY,))),
        (codec.encode_wheel(5, clockwise=True, speed=2), DecodedRequest("wheel", {}, arms=(5,), asks=(5,))),
        (codec.encode_sync(1, [9, 8, 7]), DecodedRequest("sync send", {0: 9, 1: 8, 2: 7})),
        (codec.encode_move_10bit(77, 100, 700), DecodedRequest("ten-bit move", {77: 700}, asks=(77,))),
        (codec.encode_read_10bit(77), DecodedRequest("ten-bit read", {}, asks=(77,))),
        (codec.encode_set(5, 0x0B, 9, 9, family=Family.WCK), DecodedRequest("runtime P, D set", {}, asks=(5,))),
        (codec.set_frame(5, SET_COMMANDS[0x17], 9, 30), DecodedRequest("runtime speed, acceleration set", {})),
        (bytes.fromhex("FF E0 42 00 00 22"), DecodedRequest("set", {})),
        (bytes.fromhex("FF C5 00 45"), DecodedRequest("unknown", {})),
    ],
)
def test_what_a_request_means_for_torque(frame, heard):
    assert understood(frame)[1] == heard


@pytest.mark.parametrize(
    ("frame", "reply", "positions"),
    [
        (codec.encode_position(5, 2, 200), b"\x0a\x64", {5: 100}),
        (codec.encode_read(5), b"\x0a\x64", {5: 100}),
        (codec.encode_passive(5), b"\x64\x64", {5: 100}),
        (codec.encode_wheel(5, clockwise=True, speed=2), b"\x00\x64", {5: 100}),
        (codec.encode_move_10bit(77, 100, 700), b"\x05\x3c", {77: 700}),
        (codec.encode_read_10bit(77), b"\x05\x3c", {77: 700}),
        (codec.encode_read_10bit(77), b"\x09\x3c", {}),
        (codec.encode_read(5), b"\x0a\xff", {}),
        (codec.encode_read(5), b"\x0a", {}),
        (codec.encode_read(5), b"\x0a\x64\x64", {}),
        (codec.encode_break(), b"\x05\x00", {}),
        (codec.encode_sync(1, [9]), b"\x05\x00", {}),
        (codec.encode_set(5, 0x0A, 0, 0, family=Family.WCK), b"\x0a\x64", {}),
    ],
)
def test_what_a_reply_reports(frame, reply, positions):
    ear, heard = understood(frame)
    assert ear.positions(heard, reply) == positions


def test_a_servo_driven_in_ten_bits_is_reported_in_ten_bits_when_it_lets_go():
    ear = FAMILY.sniffer()
    for frame in (codec.encode_move_10bit(5, 254, 700), codec.encode_read(6)):
        ear.feed(frame)
    (_, passive), (_, other) = ear.feed(codec.encode_passive(5) + codec.encode_passive(6))
    assert ear.positions(passive, b"\x64\x64") == {5: 403}
    assert ear.positions(other, b"\x64\x64") == {6: 100}


def test_what_is_no_request_is_counted():
    ear = FAMILY.sniffer()
    assert ear.feed(b"\x01\x02\xff\xa5\x00\x24" + codec.encode_read(5)[:2]) == []
    assert (ear.stray_bytes, ear.bad_checksums, ear.idle) == (2, 1, False)
    assert [index for index, _ in ear.feed(codec.encode_read(5)[2:])] == [1]
    assert ear.idle


@quick
@given(st.lists(st.binary(max_size=30), max_size=6), st.binary(max_size=4))
def test_no_bytes_raise_anything(pieces, reply):
    ear = FAMILY.sniffer()
    for piece in pieces:
        for index, heard in ear.feed(piece):
            assert 0 <= index < len(piece)
            assert set(ear.positions(heard, reply)) <= set(heard.asks)
    ear.feed(b"\xff")
    assert ear.feed(codec.encode_passive(3)) == [(3, DecodedRequest("passive", {}, releases=(3,), asks=(3,)))]
