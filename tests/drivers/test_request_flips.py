"""Which single bits of a request may be turned over without the servo noticing: all of them, found by trying each.

The checksum has seven bits. What it lets through stands in `docs/resynchronisation.md`; here every form of request that
a bus sends is taken through every flip, and what a servo's ear makes of it is compared with what stands there.
"""

from collections import Counter
from pathlib import Path

import pytest

from drivers.aimotor import codec
from drivers.aimotor.codec import Op
from drivers.aimotor.table import SET_COMMANDS, Family

PAGE = Path(__file__).parents[2] / "docs" / "resynchronisation.md"
FOLLOWING = codec.encode_read(29, 17)


def received(data):
    """Return what an ear makes of these bytes, when a request to somebody else follows."""
    requests = [request for _, request in codec.RequestParser().feed(data + FOLLOWING)]
    assert requests[-1].bus_id == 29
    assert requests[-1].op is Op.POSITION_READ
    return requests[:-1]


def flips(frame):
    """Return ((byte, bit), what is heard) for every flip that lets something else be heard than was said."""
    (said,) = received(frame)
    found = []
    for place in range(8 * len(frame)):
        byte, bit = divmod(place, 8)
        data = bytearray(frame)
        data[byte] ^= 1 << bit
        found += [((byte, bit), request) for request in received(bytes(data)) if request != said]
    return found


def test_a_position_send_is_unprotected_in_bit_7_of_its_first_two_bytes_only():
    outcomes = Counter()
    for bus_id in range(31):
        for level in range(5):
            for target in (0, 1, 16, 48, 63, 64, 79, 126, 127, 128, 200, 254):
                for (byte, bit), request in flips(codec.encode_position(bus_id, level, target)):
                    assert (byte, bit) in ((1, 7), (2, 7))
                    assert request.bus_id == bus_id
                    if byte == 2:
                        assert (request.op, request.level, request.value) == (Op.POSITION_SEND, level, target ^ 128)
                    outcomes[level if byte == 1 else "target", request.op, request.level] += 1
    kinds = set(outcomes)
    assert {kind for kind in kinds if kind[0] == 0} == {(0, Op.POSITION_SEND, 4)}
    assert {kind for kind in kinds if kind[0] == 1} == {(1, Op.POSITION_READ, -1)}
    assert {kind for kind in kinds if kind[0] == 2} == {(2, Op.PASSIVE, -1), (2, Op.WHEEL, -1), (2, Op.UNKNOWN, -1)}
    # The beginning of a longer frame, which the next request cuts short.
    assert {kind for kind in kinds if kind[0] == 3} == set()
    assert {kind for kind in kinds if kind[0] == 4} == {(4, Op.POSITION_SEND, 0)}


def test_all_targets_of_a_send():
    for target in range(255):
        found = dict(flips(codec.encode_position(5, 3, target)))
        # 127 becomes 255, which is no target but the beginning of a frame.
        assert set(found) == ({(2, 7)} if target != 127 else set())


def test_a_read_becomes_a_send_to_where_the_shaft_is():
    for bus_id in range(31):
        for aim in (0, 1, 100, 127, 128, 254):
            found = dict(flips(codec.encode_read(bus_id, aim)))
            send = found.pop((1, 7))
            assert (send.op, send.bus_id, send.level, send.value) == (Op.POSITION_SEND, bus_id, 1, aim)
            for place, request in found.items():
                # The place it names means nothing in a read.
                assert place == (2, 7)
                assert (request.op, request.bus_id) == (Op.POSITION_READ, bus_id)


def test_a_torque_off_becomes_a_send_to_16_or_nothing():
    for bus_id in range(31):
        found = dict(flips(codec.encode_passive(bus_id)))
        assert set(found) == {(1, 7), (2, 7)}
        send, nothing = found[1, 7], found[2, 7]
        assert (send.op, send.bus_id, send.level, send.value) == (Op.POSITION_SEND, bus_id, 2, 16)
        assert (nothing.op, nothing.bus_id) == (Op.UNKNOWN, bus_id)


def test_a_break_is_heard_or_not():
    assert [(place, request.op) for place, request in flips(codec.encode_break())] == [((2, 7), Op.UNKNOWN)]


TARGETS = ([100, 120, 140, 160], [0, 1, 2, 3], [254] * 4, [100], [5, 5], list(range(31)), [64 + k for k in range(18)])


def test_a_sync_send_is_unprotected_in_its_levels_and_in_bit_7_of_its_targets():
    outcomes = set()
    for level in range(5):
        for targets in TARGETS:
            for (byte, bit), request in flips(codec.encode_sync(level, targets)):
                if byte >= 3:
                    assert bit == 7
                    expected = bytes(t ^ 128 if k == byte - 3 else t for k, t in enumerate(targets))
                    assert (request.op, request.level, request.payload) == (Op.SYNC_SEND, level, expected)
                elif byte == 1 and bit >= 5 and request.op is Op.SYNC_SEND:
                    assert request.level == level ^ 1 << bit - 5
                    assert request.payload == bytes(targets)
                else:
                    outcomes.add((byte, request.op))
    # By chance a target is the checksum of a shorter frame.
    assert outcomes <= {(1, Op.POSITION_SEND), (1, Op.UNKNOWN), (2, Op.SYNC_SEND)}
    assert (2, Op.SYNC_SEND) in outcomes


def test_a_ten_bit_move_is_unprotected_in_bit_7_of_its_id_and_torque():
    strange = Counter()
    for bus_id in range(31):
        for torque in (48, 81, 124, 127, 185, 254):
            for target in (0, 1, 127, 128, 400, 512, 1023):
                for place, request in flips(codec.encode_move_10bit(bus_id, torque, target)):
                    if place == (3, 7):
                        assert (request.op, request.bus_id, request.value) == (Op.MOVE_10BIT, bus_id + 128, target)
                    elif place == (4, 7):
                        assert (request.op, request.bus_id, request.value) == (Op.MOVE_10BIT, bus_id, target)
                        assert request.payload == bytes((torque ^ 128,))
                    elif place in ((5, 7), (6, 7)):
                        assert request.op is Op.UNKNOWN
                    else:
                        strange[place, request.op] += 1
    # Half of a move may be the whole of a set frame that does not exist, or of a request that says nothing.
    assert {op for _, op in strange} <= {Op.SET, Op.UNKNOWN}
    assert all(byte in (1, 2) for (byte, _), _ in strange)


def test_a_ten_bit_read_says_its_id_twice():
    for bus_id in range(31):
        for place, request in flips(codec.encode_read_10bit(bus_id)):
            # Bits 0 to 6 by chance: where the id is the checksum of a shorter frame, which says nothing.
            assert place[1] == 7 or place == (1, 5)
            assert request.op is Op.UNKNOWN or (request.op is Op.SET and request.value not in SET_COMMANDS)


@pytest.mark.parametrize("row", SET_COMMANDS.values(), ids=lambda row: row.name)
def test_a_set_or_read_command_is_unprotected_in_bit_7_of_what_it_says_once(row):
    d3, d4 = row.d3[0] + (row.d3[1] > row.d3[0]), row.d4[1] - 1 if row.d4[1] > row.d4[0] else row.d4[0]
    if row.repeated:
        d4 = d3
    try:
        frame = codec.encode_set(5, row.code, d3, d4, family=Family.WCK)
    except codec.FrameError:
        pytest.skip("has a function of its own")
    for (byte, bit), request in flips(frame):
        assert bit == 7
        if byte in (3, 4):
            assert (request.op, request.value) == (Op.SET, row.code)
            changed = bytearray((d3, d4))
            changed[byte - 3] ^= 128
            assert request.payload == bytes(changed)
        elif byte == 2:
            assert request.value == row.code ^ 128
            # 17 sets speed and acceleration until the supply is lost, 97 asks for a count.
            assert request.value not in SET_COMMANDS or {row.code, request.value} == {0x17, 0x97}


def test_the_page_names_what_was_found():
    page = PAGE.read_text()
    for words in ("bit 7 of the first byte", "bit 7 of the target", "level", "torque"):
        assert words in page
