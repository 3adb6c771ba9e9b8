"""Adapters that hear themselves: a port that takes its own bytes out, and a wire that both ends share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.aimotor.codec import encode_position, encode_read
from drivers.aimotor.emulation.emulator import AiMotorEmulator
from drivers.bench.release import read_all
from drivers.clock import VirtualPace
from drivers.errors import BusUrlError
from drivers.factory import bus_on_port, open_bus, parse_line
from drivers.inprocess import InProcessPort, PacedLine
from drivers.port import NEVER, wire_ns
from drivers.serial.echo import EchoingLine, EchoPort
from drivers.serial.held import DeclaredHoldPort, HeldPort
from drivers.serial.lineoptions import emulated_port, host_port, option_text
from drivers.servo import ReplyStatus
from drivers.url import parse_url
from tests.drivers.emulated import EXCHANGE_NS, MS, REQUEST_NS, TURN_NS, ScriptedPlant, addresses, rig, wired

BYTE = wire_ns(1, 57_600)
READ = encode_read(0)
REPLY = b"\x0a\x64"


class Adapter:
    """A port whose other end is the test."""

    hold_ns = late_ns = 7

    def __init__(self):
        self.written, self.there, self.closed = [], b"", False

    def write(self, data, now_ns):
        self.written.append(data)

    def read(self, now_ns):
        data, self.there = self.there, b""
        return data

    def flush_input(self, now_ns):
        return len(self.read(now_ns))

    def ready_ns(self, expected):
        return 1000 * expected

    def filenos(self):
        return (5,)

    def close(self):
        self.closed = True


def coming(port, adapter, *pieces):
    """Return what a bus sees of bytes that come in these pieces."""
    seen = b""
    for piece in pieces:
        adapter.there += piece
        seen += port.read(0)
    return seen


def test_what_was_sent_is_taken_out_and_nothing_else():
    port = EchoPort(adapter := Adapter())
    port.write(READ, 0)
    assert coming(port, adapter, READ + REPLY) == REPLY
    port.write(READ, 0)
    assert coming(port, adapter, *[bytes((byte,)) for byte in READ + REPLY]) == REPLY
    assert coming(port, adapter, READ) == READ, "nothing was sent: this is somebody else"
    assert adapter.written == [READ, READ]
    assert port.echo_errors == 0


def test_everything_else_is_the_ports():
    port = EchoPort(adapter := Adapter())
    assert (port.hold_ns, port.filenos()) == (7, (5,))
    port.close()
    assert adapter.closed


def test_flushing_leaves_the_echo_that_is_still_to_come_alone():
    port = EchoPort(adapter := Adapter())
    port.write(READ, 0)
    adapter.there = READ[:2]
    assert port.flush_input(0) == 0
    adapter.there = READ[2:] + b"xy"
    assert port.flush_input(0) == 2
    port.write(READ, 0)
    assert coming(port, adapter, READ + REPLY) == REPLY


def test_a_reply_is_ready_after_its_echo():
    port = EchoPort(adapter := Adapter())
    assert port.ready_ns(2) == 2000
    port.write(READ, 0)
    assert port.ready_ns(2) == 6000
    adapter.there = READ[:3]
    port.read(0)
    assert port.ready_ns(2) == 3000


SPOILT = [b"\xff\xa5\x01\x25", b"\xff\xa5\x25", b"\xa5\x00\x25", b"\xff\xa5\x00\x00\x25", b""]


@pytest.mark.parametrize("spoilt", SPOILT)
def test_an_echo_that_differs_is_handed_on_and_the_reply_with_it_and_counted_when_it_never_comes(spoilt):
    port = EchoPort(adapter := Adapter())
    port.write(READ, 0)
    assert coming(port, adapter, spoilt, REPLY) == spoilt + REPLY
    assert port.echo_errors == 0, "what came may have been late for something else"
    other = encode_read(1)
    port.write(other, 0)
    assert coming(port, adapter, other + REPLY) == REPLY
    assert port.echo_errors == 1


def test_an_echo_that_does_not_come_within_a_second_is_not_waited_for():
    port = EchoPort(adapter := Adapter())
    port.write(READ, 0)
    adapter.there = b"\x07" + READ[:2]
    assert port.read(1000 * MS) == b"\x07"
    assert port.read(1001 * MS) == READ[:2]
    assert (port.echo_errors, port.ready_ns(1)) == (1, 1000)


def test_a_late_reply_between_two_echoes_leaves_the_second_where_it_is():
    port = EchoPort(adapter := Adapter())
    first, second = b"\xff\xff\x01\x04\x02\x38\x02\xbe", b"\xff\xff\x02\x04\x02\x38\x02\xbd"
    late, reply = b"\xff\xff\x01\x04\x00\x18\x05\xdd", b"\xff\xff\x02\x04\x00\x18\x05\xdc"
    port.write(first, 0)
    port.write(second, 0)
    assert coming(port, adapter, first + late[:3], late[3:] + second[:5], second[5:] + reply) == late + reply
    assert port.echo_errors == 0


def test_the_beginning_of_a_longer_echo_is_kept_although_a_shorter_one_is_owed_first():
    port = EchoPort(adapter := Adapter())
    short, long = b"\x01", encode_read(5)
    port.write(short, 0)
    port.write(long, 0)
    # The first echo is lost, the second comes in two pieces.
    assert coming(port, adapter, long[:3]) == b""
    assert coming(port, adapter, long[3:] + REPLY) == REPLY
    assert port.echo_errors == 1


def test_a_reply_that_looks_like_an_echo_that_was_lost_is_a_reply():
    port = EchoPort(adapter := Adapter())
    lost, taken = b"\xff\xff\x01\x02\x01\xfb", b"\xff\xff\x01\x04\x02\x38\x02\xbe"
    port.write(lost, 0)
    port.write(taken, 0)
    assert coming(port, adapter, taken + lost) == lost
    assert port.echo_errors == 1


def test_an_adapter_that_does_not_echo_after_all_loses_no_reply():
    port = EchoPort(adapter := Adapter())
    reply = b"\xff\xff\x01\x04\x00\x18\x05\xdd"
    for count in range(100):
        port.write(b"\xff\xff\x01\x04\x02\x38\x02" + bytes((count,)), 0)
        assert coming(port, adapter, reply[:4], reply[4:]) == reply
    assert port.echo_errors == 100 - 32


MESSAGES = st.lists(st.binary(min_size=1, max_size=8), min_size=1, max_size=4)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(MESSAGES, st.binary(max_size=6), st.lists(st.integers(1, 9), min_size=40, max_size=40))
def test_however_echoes_and_reply_are_cut_the_reply_is_left(messages, reply, cuts):
    port = EchoPort(adapter := Adapter())
    for message in messages:
        port.write(message, 0)
    line, seen = b"".join(messages) + reply, b""
    for cut in cuts:
        seen += coming(port, adapter, line[:cut])
        line = line[cut:]
    assert (seen, port.echo_errors) == (reply, 0)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 7), st.integers(0, 255), st.sampled_from(["flip", "drop", "insert", "lose"]))
def test_the_echo_of_one_message_may_be_spoilt_and_the_next_is_still_taken_out(at, value, harm):
    first, second = b"\xff\xff\xfe\x06\x83\x2a\x02\x10", b"\xff\xff\x01\x04\x02\x38\x02\xbe"
    spoilt = bytearray(first)
    if harm == "flip":
        spoilt[at] ^= value or 1
    elif harm == "drop":
        del spoilt[at]
    elif harm == "insert":
        spoilt.insert(at, value)
    else:
        spoilt.clear()
    port = EchoPort(adapter := Adapter())
    port.write(first, 0)
    port.write(second, 0)
    reply = b"\xff\xff\x01\x04\x00\x18\x05\xdd"
    seen = coming(port, adapter, bytes(spoilt) + second + reply)
    left = bytes(spoilt).replace(first, b"")
    assert seen == left + reply, "an echo handed on could be taken for a status of Feetech's"
    assert port.echo_errors == (first not in spoilt)


def test_a_write_that_fails_expects_no_echo():
    class Broken(Adapter):
        def write(self, data, now_ns):
            raise OSError

    port = EchoPort(adapter := Broken())
    with pytest.raises(OSError):  # noqa: PT011
        port.write(READ, 0)
    assert coming(port, adapter, READ) == READ


# the servos' side


def echoing(*ids, **options):
    plant = ScriptedPlant(len(ids) or 1)
    emulator = AiMotorEmulator(addresses(*(ids or (0,))), plant, **options)
    line = EchoingLine(emulator)
    return InProcessPort(line, emulator.baud), line, emulator, plant


def test_the_host_hears_itself_in_the_time_of_the_wire_and_then_the_servo():
    port, line, _, _ = echoing()
    port.write(READ, 1000)
    assert [port.ready_ns(k) for k in range(1, 5)] == [1000 + wire_ns(k, 57_600) for k in range(1, 5)]
    assert port.ready_ns(6) == 1000 + EXCHANGE_NS
    assert port.read(1000 + REQUEST_NS) == READ
    assert port.read(MS * 10) == REPLY
    assert line.collisions == 0


def test_requests_that_are_written_at_once_are_heard_one_after_the_other():
    port, line, _, _ = echoing(turnaround_ns=2 * REQUEST_NS)
    port.write(encode_position(0, 3, 90), 0)
    port.write(READ, 0)
    assert port.ready_ns(8) == 2 * REQUEST_NS
    assert port.read(2 * REQUEST_NS) == encode_position(0, 3, 90) + READ
    assert line.collisions == 0


def test_a_request_that_meets_a_reply_spoils_both():
    port, line, emulator, plant = echoing()
    port.write(READ, 0)
    assert port.read(REQUEST_NS) == READ
    # The reply's first byte is on the wire then, 0x0a: the header of the second request becomes that.
    port.write(encode_position(0, 3, 90), REQUEST_NS + TURN_NS)
    assert line.collisions == 1
    assert emulator.stray_bytes + emulator.bad_checksums > 0
    assert [call for call in plant.commands() if call[0] == "command"] == []
    heard = port.read(100 * MS)
    assert heard == bytes((0xFF & 0x0A, encode_position(0, 3, 90)[1] & 0x64)) + encode_position(0, 3, 90)[2:]


def test_a_reply_that_begins_while_the_host_sends_spoils_both():
    port, line, _, _ = echoing(turnaround_ns=0)
    port.write(READ + b"\x01\x02", 0)
    assert line.collisions == 1
    assert port.read(100 * MS) == READ + bytes((REPLY[0] & 1, REPLY[1] & 2))


def test_a_reply_that_is_over_is_not_touched():
    port, line, _, _ = echoing()
    port.write(READ, 0)
    port.write(READ, EXCHANGE_NS)
    assert line.collisions == 0
    assert port.read(100 * MS) == (READ + REPLY) * 2


def test_servos_that_talk_without_being_asked_are_heard_on_one_wire_too():
    port, line, emulator, _ = echoing(rng=np.random.default_rng(3))
    emulator.babble(0)
    line.chatter(0, 5 * wire_ns(1, 57_600))
    said = port.read(100 * MS)
    assert len(said) == 5
    assert said == np.random.default_rng(3).bytes(5)


PIECES = st.lists(st.tuples(st.binary(min_size=1, max_size=5), st.integers(0, 40)), min_size=1, max_size=4)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(PIECES, st.binary(min_size=1, max_size=6), st.integers(0, 60), st.integers(0, 60))
def test_on_a_wire_that_two_talk_on_zeros_win_and_what_does_not_meet_is_not_touched(pieces, data, at, read_at):
    line, byte = PacedLine(1_000_000), wire_ns(1, 1_000_000)
    slots, free = {}, 0
    for piece, wanted in pieces:
        start = max(wanted, free)
        line.deliver(piece, start * byte)
        slots |= {start + k: value for k, value in enumerate(piece)}
        free = start + len(piece)
    early = line.read(min(read_at, at) * byte)
    mixed = line.collide(data, at * byte)
    assert mixed == bytes(value & slots.get(at + k, 0xFF) for k, value in enumerate(data))
    expected = {**slots, **{at + k: value for k, value in enumerate(mixed)}}
    assert early + line.read(NEVER - 1) == bytes(expected[slot] for slot in sorted(expected))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(PIECES, st.binary(min_size=1, max_size=6), st.integers(0, 60))
def test_after_a_collision_bytes_still_come_one_by_one_in_their_time(pieces, data, at):
    line, byte = PacedLine(1_000_000), wire_ns(1, 1_000_000)
    slots, free = set(), 0
    for piece, wanted in pieces:
        start = max(wanted, free)
        line.deliver(piece, start * byte)
        free = start + len(piece)
        slots |= set(range(start, free))
    line.collide(data, at * byte)
    slots |= set(range(at, at + len(data)))
    ends = [(slot + 1) * byte for slot in sorted(slots)]
    assert [line.ready_ns(k + 1) for k in range(len(ends))] == ends
    for count, end in enumerate(ends):
        assert line.read(end - 1) == b""
        assert line.ready_ns(1) == end
        assert len(line.read(end)) == 1, count


# both together, through the URL


def test_a_bus_on_a_line_that_echoes_sees_what_it_sees_without():
    plain, _, _ = rig()
    plant = ScriptedPlant(4)
    bus = open_bus("emulated:?echo=1", addresses(0, 1, 2, 3), plant, seed=0)
    for each in (plain, bus):
        pace = VirtualPace()
        for _ in range(3):
            read_all(each, pace)
        each.start(pace.now_ns, [90, 91, 92, 93])
        while not each.proceed(pace.now_ns):
            pace.wait(each.wake_ns, ())
    assert bus.position_raw == plain.position_raw
    assert bus.status == [ReplyStatus.OK] * 4
    assert bus.stamp_ns == plain.stamp_ns
    assert (bus.missed, bus.implausible, bus.stray_bytes) == (0, 0, 0)
    assert [call for call in plant.commands() if call[0] == "command"] == [("command", k, 90 + k, 3) for k in range(4)]


def test_only_a_bus_that_knows_of_the_echo_finds_nothing_strange_in_it():
    port, _, _, _ = echoing()
    bus = bus_on_port(parse_line("aimotor:///dev/x"), port, addresses(0))
    read_all(bus, VirtualPace())
    assert bus.stray_bytes >= len(READ)
    port, _, _, _ = echoing()
    bus = bus_on_port(parse_line("aimotor:///dev/x?echo=1"), port, addresses(0))
    read_all(bus, VirtualPace())
    assert bus.status == [ReplyStatus.OK]
    assert bus.stray_bytes == 0


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("aimotor:///dev/x?echo=2", "echo=2: expected 1"),
        ("aimotor:///dev/x?latency_ms=256", "latency_ms=256: expected 0 to 255"),
        ("aimotor:///dev/x?latency_ms=-1", "latency_ms=-1: expected 0 to 255"),
    ],
)
def test_options_of_the_line_are_checked(url, message):
    with pytest.raises(BusUrlError, match=message):
        bus_on_port(parse_line(url), Adapter(), addresses(0))


def test_a_port_is_what_its_options_say():
    port = Adapter()
    assert host_port(port, {}) is port
    assert host_port(port, {"echo": 0.0, "latency_ms": 0.0}) is port
    assert isinstance(host_port(port, {"echo": 1.0}), EchoPort)
    told = host_port(port, {"latency_ms": 16.0})
    assert isinstance(told, DeclaredHoldPort)
    assert told.hold_ns == 15 * MS
    assert host_port(port, {"latency_ms": 1.0}).hold_ns == 7
    emulator = AiMotorEmulator(addresses(0), ScriptedPlant(1))
    assert isinstance(emulated_port(emulator, {}), InProcessPort)
    assert isinstance(emulated_port(emulator, {"latency_ms": 2.0}), HeldPort)
    assert emulated_port(emulator, {"latency_ms": 2.0, "echo": 1.0}).hold_ns == MS


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.dictionaries(st.sampled_from("abc"), st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 10**6))
)
def test_options_come_back_from_a_url_as_they_were(values):
    assert parse_url(f"emulated:?{option_text(values)}" if values else "emulated:", "abc").options == values


def test_the_wired_port_is_the_plain_one():
    port, _, _ = wired(0)
    port.write(READ, 0)
    assert port.read(10 * MS) == REPLY
