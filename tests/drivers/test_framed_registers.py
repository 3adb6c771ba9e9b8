"""How registers are coded, one by one and two out of a block."""

import pytest
from framed_rig import FAMILIES, both
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.errors import FrameError
from drivers.framed.registers import Register, pair_reader

FUZZ = settings(max_examples=100, deadline=None, derandomize=True)
PLAIN = Register("plain", 10, 2, "ram")
TWOS = Register("twos", 12, 4, "ram", sign_bit=32)
MAGNITUDE = Register("magnitude", 20, 2, "ram", sign_bit=10)
TOP = Register("top", 22, 1, "ram", sign_bit=7)
ALL = (PLAIN, TWOS, MAGNITUDE, TOP)
REACH = {"plain": (0, 65_535), "twos": (-(2**31), 2**31 - 1), "magnitude": (-1023, 1023), "top": (-127, 127)}

any_register = st.sampled_from(ALL)


@pytest.mark.parametrize("register", ALL, ids=lambda register: register.name)
def test_registers_hold_what_they_can_and_say_what_that_is(register):
    low, high = REACH[register.name]
    for value in (low, high):
        assert register.decode(register.encode(value)) == value
    for value in (low - 1, high + 1, 10**12, -(10**12)):
        with pytest.raises(FrameError, match=f"{register.name} = {value} .*expected {low} to {high}$"):
            register.encode(value)
    for size in (0, register.size - 1, register.size + 1):
        if size != register.size:
            with pytest.raises(FrameError, match=f"of {size} bytes: expected {register.size}"):
                register.decode(bytes(size))


def test_the_bytes_of_registers_are_little_endian_and_negatives_as_the_register_has_them():
    assert PLAIN.encode(0x1234) == b"\x34\x12"
    assert TWOS.encode(-2) == b"\xfe\xff\xff\xff"
    assert MAGNITUDE.encode(-2) == b"\x02\x04"
    assert TOP.encode(-1) == b"\x81"


def test_bits_above_the_sign_of_registers_are_left_out():
    assert MAGNITUDE.decode(b"\x05\xf8") == 5
    assert MAGNITUDE.decode(b"\x05\xfc") == -5


@given(any_register, any_register, st.binary(min_size=16, max_size=16))
@FUZZ
def test_two_registers_out_of_a_block_are_what_each_is_by_itself(one, other, block):
    if one is other:
        return
    first = 9
    found = pair_reader(one, other, first, len(block))(block)
    assert found == tuple(r.decode(block[r.address - first : r.address - first + r.size]) for r in (one, other))


@both
def test_the_blocks_of_the_families_hold_their_registers(family):
    layout = FAMILIES[family][0]
    first, length = layout.block
    for kind in layout.kinds.values():
        load, position = kind.table[kind.load], kind.table["present_position"]
        block = bytearray(length)
        for register, value in ((load, -3), (position, 2000)):
            block[register.address - first : register.address - first + register.size] = register.encode(value)
        assert pair_reader(load, position, first, length)(bytes(block)) == (-3, 2000)


@pytest.mark.parametrize(
    ("one", "other", "first", "length"),
    [
        (PLAIN, PLAIN, 10, 8),
        (PLAIN, Register("across", 11, 2, "ram"), 10, 8),
        (PLAIN, TWOS, 11, 8),
        (PLAIN, TWOS, 10, 5),
        (TWOS, PLAIN, 10, 5),
    ],
)
def test_registers_that_do_not_lie_side_by_side_in_a_block_are_no_pair(one, other, first, length):
    with pytest.raises(ValueError, match=f"{one.name} and {other.name} do not lie apart"):
        pair_reader(one, other, first, length)
