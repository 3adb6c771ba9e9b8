"""Servos that heard a wrong length wait for the rest: what the bus does so that it is none of what it says next."""

from itertools import pairwise, product

import pytest
from framed_rig import FAR, OK, START, Leg, both
from framed_servos import MS

from drivers.bus import LIMP, READ_ONLY
from drivers.dynamixel.table import BYTE_GAP_NS
from drivers.factory import parse_line
from drivers.feetech import layout as feetech
from drivers.feetech.codec import DIALECT
from drivers.framed.packet import PING, READ, SYNC_READ, SYNC_WRITE, WRITE
from drivers.inprocess import InProcessPort
from drivers.port import wire_ns
from drivers.servo import ServoAddress
from nuc_engine.daemon.lines import release_burst_of, release_bytes_of

STIFFNESS = 0.03
LENGTH_AT = {"dynamixel": (5, 6), "feetech": (3,)}


def frames_of(data):
    """Return the packets in what a bus wrote, as they were written."""
    found, at = [], 0
    while (start := data.find(b"\xff\xff", at)) >= 0:
        at = start + 4 + data[start + 3]
        found.append(data[start:at])
    return found


def stiff_leg(family, ids, **options):
    addresses = [ServoAddress(bus_id, f"servo {bus_id}", "", STIFFNESS) for bus_id in ids]
    return Leg(family, ids, addresses=addresses, **options)


def everything_said(count, *, single):
    """Return a packet of each sort that a bus ever says: set-up, cycles, retries, watch, torque-off, search."""
    leg = stiff_leg("feetech", tuple(range(1, count + 1)), single=single)
    leg.go(START + 5)
    leg.bus.set_level(1)
    for cycle in range(140):
        leg.cycle(START + cycle % 100)
    leg.emulator.unplug(0)
    leg.cycle(START)
    leg.emulator.plug(0)
    for _ in range(30):
        leg.cycle(START)
    leg.cycle(LIMP)
    leg.release()
    leg.bus.discover(leg.now_ns, leg.ids)
    leg.bus.run_until(FAR)
    sorts = {(frame[2] == 0xFE, frame[4], frame[5], len(frame)): frame for frame in frames_of(leg.port.written)}
    assert {key[1] for key in sorts} == {PING, READ, WRITE, SYNC_READ, SYNC_WRITE}
    return list(sorts.values())


def swallowed(frame, bit, following, padding):
    """Return where packets end in the padding, and whether the servo hears what follows that.

    The servo hears `frame` with a bit of its length turned over, what follows it, and the padding.
    """
    said = bytearray(frame)
    said[3] ^= 1 << bit
    said += b"".join(following)
    ear = DIALECT.listener()
    ends = [index for index, _ in ear.feed(bytes(said) + padding) if index >= len(said)]
    return ends, [packet.bus_id for _, packet in ear.feed(DIALECT.instruction(7, PING))] == [7]


@pytest.mark.parametrize(("count", "single"), [(1, False), (4, False), (4, True), (18, False)])
def test_zeros_complete_no_packet_whatever_bit_of_its_length_was_wrong_and_whatever_followed_it(count, single):
    frames = everything_said(count, single=single)
    # What follows are packets of the same cycle: its question, then its retries.
    retry, other, *_ = (frame for frame in frames if frame[4] == READ)
    chains = [(), *((one,) for one in frames), *((one, retry) for one in frames), (retry, retry, other, other)]
    for frame in frames:
        for bit in range(8):
            for chain in chains:
                assert swallowed(frame, bit, chain, feetech.PADDING) == ([], True), (frame.hex(" "), bit, chain)


def test_bytes_of_255_would():
    frames = everything_said(4, single=False)
    completed = {bit for frame in frames for bit in range(8) if swallowed(frame, bit, (), b"\xff" * 128)[0]}
    assert len(completed) > 4


def test_the_sum_that_padding_rests_on_for_any_packets_there_may_ever_be():
    """A packet sums up to 255 with its checksum, and its header takes 3 off: no contents matter."""
    shortest, longest = 6, 255
    for bit, packets in product(range(8), range(longest // shortest + 1)):
        heard = (0xFF + (1 << bit) - 3 * packets) & 0xFF
        assert ~heard & 0xFF != 0


@pytest.mark.parametrize(("count", "single"), [(1, False), (1, True), (4, False), (4, True), (18, False)])
def test_the_guardians_volley_completes_no_packet_either_and_what_follows_it_is_heard(count, single):
    spec = parse_line("feetech:///dev/x?single=1" if single else "feetech:///dev/x")
    servos = [ServoAddress(bus_id, f"servo {bus_id}") for bus_id in range(1, count + 1)]
    volley, _ = release_burst_of(spec, servos)
    said, padding = release_bytes_of(spec, servos)
    said_whole = set(frames_of(volley + said))
    (off,) = set(frames_of(volley))
    for frame, bit in product(everything_said(count, single=single), range(8)):
        damaged_frame = bytearray(frame)
        damaged_frame[3] ^= 1 << bit
        ear = DIALECT.listener()
        # What a shorter length ends is heard before the volley.
        list(ear.feed(bytes(damaged_frame)))
        heard = [DIALECT.instruction(*packet[:3]) for _, packet in ear.feed(volley + said + padding + off)]
        assert set(heard) <= said_whole, (frame.hex(" "), bit)
        assert heard[-1] == off


class Damage:
    """Turns a bit over in the length of a packet that `wanted` names, once; `done` is what it was."""

    def __init__(self, leg, bit, wanted):
        self.leg, self.bit, self.wanted, self.done = leg, bit, wanted, None

    def __call__(self, data):
        if self.done is not None:
            return data
        at = 0
        parser = self.leg.layout.dialect.parser(status=False)
        for end, packet in parser.feed(data):
            if self.wanted(packet):
                self.done = packet
                # Packets follow one another, behind the padding if there is any.
                head = data.index(b"\xff\xff", at)
                place = head + LENGTH_AT[self.leg.layout.family][self.bit // 8]
                return data[:place] + bytes((data[place] ^ 1 << self.bit % 8,)) + data[place + 1 :]
            at = end + 1
        return data


def damaged(leg, bit, wanted):
    leg.port.change = damage = Damage(leg, bit, wanted)
    return damage


def ways_to_damage(size):
    """Yield what may become of a message, at each of its last bytes: its end lost, a bit turned over, a byte put in."""
    for back in range(1, size + 1):
        yield lambda data, back=back: data[:-back]
        for bit in range(8):
            yield lambda data, back=back, bit=bit: spoilt(data, back, lambda byte, bit=bit: (byte ^ 1 << bit,))
        for more in (0x00, 0x02, 0x55, 0xFE, 0xFF):
            yield lambda data, back=back, more=more: spoilt(data, back, lambda byte, more=more: (more, byte))


def spoilt(data, back, change):
    at = max(len(data) - back, 0)
    return data[:at] + bytes(change(data[at])) + data[at + 1 :]


@both
def test_whatever_becomes_of_one_message_all_answer_two_cycles_later_and_go_where_they_were_sent(family):
    leg = Leg(family)
    leg.go(START)
    leg.requests()
    leg.cycle(START)
    first = len(leg.port.written)
    for number, size in ((0, first), (1, 8 if family == "feetech" else 14)):
        for change in ways_to_damage(size):
            # The second message of a cycle is a retry: nobody answers the first.
            messages = iter((change,) if not number else (lambda _: b"", change))
            leg.port.change = lambda data, messages=messages: next(messages, bytes)(data)
            leg.plant.taken()
            leg.cycle(START + 1)
            for cycle in (2, 3):
                leg.cycle([START + cycle if status == OK else READ_ONLY for status in leg.bus.status])
            assert leg.cycle(START + 4) == [OK] * 4
            goals = {goal[2] for goal in leg.plant.goals() if goal[0] == "drive"}
            assert goals <= {START + 1, START + 2, START + 3, START + 4}


@both
def test_the_begin_of_a_retry_does_not_take_the_header_of_the_next_one_for_its_length(family):
    leg = Leg(family)
    leg.go(START)
    for size in range(8):
        messages = iter((lambda _: b"", lambda data, size=size: data[: len(leg.layout.padding) + size]))
        leg.port.change = lambda data, messages=messages: next(messages, bytes)(data)
        assert leg.cycle(START)[2:] == [OK] * 2, size
        for _ in range(3):
            leg.cycle(START)


BITS = {"dynamixel": 10, "feetech": 8}
CASES = [(family, bit) for family, count in BITS.items() for bit in range(count)]


@pytest.mark.parametrize(("family", "bit"), CASES)
@pytest.mark.parametrize("instruction", [SYNC_WRITE, SYNC_READ])
def test_a_wrong_length_costs_who_was_asked_first_a_cycle_and_the_others_none(family, bit, instruction):
    leg = Leg(family)
    leg.go(START)
    damage = damaged(leg, bit, lambda packet: packet.instruction == instruction)
    first = leg.cycle(START + 1)
    assert damage.done is not None
    # One that is too short ends at once, and the next packet is heard.
    assert sum(status == OK for status in first) >= 3
    for _ in range(3):
        leg.cycle(START + 2)
    assert leg.cycle(START + 2) == [OK] * 4
    assert leg.bus.counts["restarts"] == 0


@pytest.mark.parametrize(("family", "bit"), CASES)
def test_torque_off_is_heard_by_servos_that_wait_for_the_rest_of_a_packet(family, bit):
    leg = Leg(family)
    leg.go(START)
    damaged(leg, bit, lambda packet: packet.instruction == SYNC_WRITE)
    leg.bus.start(leg.now_ns, [START + 1] * 4)
    leg.bus.torque_off(leg.now_ns)
    leg.now_ns = leg.bus.run_until(FAR)
    assert leg.bus.status == [OK] * 4
    assert leg.driven() == {}


@pytest.mark.parametrize(("family", "bit"), CASES)
def test_a_wrong_length_in_what_torque_off_says_is_made_up_for_at_once(family, bit):
    leg = Leg(family)
    leg.go(START)
    damaged(leg, bit, lambda packet: packet.instruction == WRITE)
    leg.release()
    assert leg.driven() == {}


def settings_of(leg, k):
    return {name: value for name, value in leg.memory(k).items() if leg.memory(k).table[name].access != "read"}


@pytest.mark.parametrize(("family", "bit"), CASES)
def test_no_register_beside_the_one_that_was_meant_is_written(family, bit):
    """The header of what comes next would complete the write of a length that is 1 or 2 too much."""
    whole = stiff_leg(family, (1,))
    whole.go(START)
    writes = [packet for packet in whole.requests() if packet.instruction == WRITE]
    assert writes
    for number in range(len(writes)):
        leg = stiff_leg(family, (1,))
        seen = iter(range(len(writes)))
        damage = damaged(
            leg, bit, lambda packet, seen=seen, number=number: packet.instruction == WRITE and next(seen, -1) == number
        )
        leg.go(START)
        assert damage.done == writes[number]
        assert settings_of(leg, 0) == settings_of(whole, 0)


@both
def test_who_is_not_there_costs_one_padding_in_a_cycle_at_most_and_a_clean_line_none(family):
    leg = Leg(family)
    padding = leg.layout.padding
    leg.go(START)
    leg.requests()
    for _ in range(130):
        leg.cycle(START)
    assert not padding or padding not in leg.port.written
    leg.emulator.supply(on=False)
    for _ in range(4):
        leg.port.written = b""
        leg.cycle(READ_ONLY)
        assert leg.port.written.count(padding or b"\0" * 128) == bool(padding)
    leg.emulator.supply(on=True)
    leg.cycle(READ_ONLY)
    assert leg.cycle(READ_ONLY) == [OK] * 4


@pytest.mark.parametrize("timeout_ns", [0, MS // 10, MS, 4 * MS])
def test_a_line_without_padding_is_silent_for_as_long_as_dynamixels_wait(timeout_ns):
    leg = Leg("dynamixel", timeout_ns=timeout_ns)
    said = []

    class Clock(InProcessPort):
        def write(self, data, now_ns):
            said.append((now_ns, now_ns + wire_ns(len(data), leg.baud)))
            super().write(data, now_ns)

    leg.port = Clock(leg.emulator, leg.baud)
    leg.bus = leg.another(timeout_ns=timeout_ns)
    leg.emulator.supply(on=False)
    for _ in range(3):
        leg.cycle(READ_ONLY)
    assert len(said) > 8
    assert all(start - over > BYTE_GAP_NS for (_, over), (start, _) in pairwise(said))
