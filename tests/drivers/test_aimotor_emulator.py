"""Emulated AI motors: what they answer, when, and what they do to the plant."""

import json

import numpy as np
import pytest
from emulated import MS, REPLY_NS, REQUEST_NS, TURN_NS
from emulated import wired as make

from drivers.aimotor import codec
from drivers.aimotor.table import TICK_A
from drivers.errors import BusError
from drivers.injection import FaultLayer, LineFaults
from drivers.port import NEVER, wire_ns

SOON = 50 * MS
BYTE_NS = wire_ns(1, 57_600)


def ask(port, frame, now_ns=0):
    """Write `frame` and return all that comes back within 50 ms."""
    port.write(frame, now_ns)
    return port.read(now_ns + SOON)


def test_servos_power_up_passive_and_stay_so_until_the_first_send():
    port, _, plant = make(0, 7)
    assert plant.commands() == [("release", 0), ("release", 1)]
    for now in (0, SOON):
        ask(port, codec.encode_read(7), now)
    assert len(plant.commands()) == 2
    ask(port, codec.encode_position(7, 2, 30), 2 * SOON)
    assert plant.commands()[2:] == [("command", 1, 30, 2)]


@pytest.mark.parametrize(
    ("baud", "request_ns", "reply_ns"), [(57_600, REQUEST_NS, REPLY_NS), (115_200, 347_222, 173_611)]
)
def test_reply_times(baud, request_ns, reply_ns):
    port, _, plant = make(0, baud=baud, turnaround_ns=150_000)
    for repeat in range(3):
        now = repeat * 10 * MS + 123
        port.write(codec.encode_position(0, 1, 20), now)
        assert plant.calls[-2:] == [("advance", now + request_ns), ("command", 0, 20, 1)]
        assert port.ready_ns(2) == now + request_ns + 150_000 + reply_ns
        assert port.ready_ns(1) == now + request_ns + 150_000 + wire_ns(1, baud)
        assert port.read(port.ready_ns(1)) == b"\x0a"
        assert port.read(now + SOON) == b"\x64"


def test_a_reply_reports_the_shaft_when_the_checksum_arrived_not_what_the_request_did():
    port, _, plant = make(0)
    plant.path = lambda servo, now: 0.654 * (now / MS)
    # Checksum at 10.694 ms: the last completed step ended at 10 ms.
    for _ in range(2):
        assert ask(port, codec.encode_position(0, 3, 200), 10 * MS)[1] == 10
        plant.calls.clear()
        port, _, plant = make(0)
        plant.path = lambda servo, now: 0.654 * (now / MS)


@pytest.mark.parametrize(
    ("angle_deg", "raw"),
    [
        (-40.0, 0),
        (-0.4, 0),
        (0.0, 0),
        (0.32, 0),
        (0.33, 1),
        (65.4, 100),
        (65.72, 100),
        (65.74, 101),
        (166.2, 254),
        (400, 254),
    ],
)
def test_positions_are_rounded_to_ticks_and_stop_at_the_ends(angle_deg, raw):
    port, _, plant = make(0)
    plant.angles[0] = angle_deg
    frame = codec.encode_read(0)
    assert [ask(port, frame, k * SOON)[1] for k in range(3)] == [raw] * 3


@pytest.mark.parametrize(("current_a", "raw"), [(0.0, 0), (0.0183, 0), (0.0185, 1), (1.0, 54), (4.69, 254), (9.0, 254)])
def test_currents_are_cut_to_ticks(current_a, raw):
    port, _, plant = make(0)
    plant.currents[0] = current_a
    frame = codec.encode_read(0)
    assert [ask(port, frame, k * SOON)[0] for k in range(3)] == [raw] * 3


def test_whole_ticks_of_current_survive():
    port, _, plant = make(0)
    for raw in range(255):
        plant.currents[0] = raw * TICK_A
        assert ask(port, codec.encode_read(0), raw * SOON)[0] == raw


def test_passive_takes_the_torque_off_and_answers_the_position_twice():
    port, _, plant = make(0, 1)
    ask(port, codec.encode_position(1, 0, 90))
    assert ask(port, codec.encode_passive(1), SOON) == b"\x64\x64"
    assert plant.commands()[-1] == ("release", 1)
    assert ask(port, codec.encode_read(1), 2 * SOON) == b"\x0a\x64"


def test_break_releases_all_and_is_answered_once():
    port, _, plant = make(4, 9)
    plant.calls.clear()
    assert ask(port, codec.encode_break()) == b"\x04\x00"
    assert plant.commands() == [("release", 0), ("release", 1)]


def test_sync_send_moves_the_ids_it_covers_and_is_not_answered():
    port, _, plant = make(0, 2, 5)
    plant.calls.clear()
    assert ask(port, codec.encode_sync(1, [10, 20, 30, 40])) == b""
    assert plant.commands() == [("command", 0, 10, 1), ("command", 1, 30, 1)]
    assert plant.calls[0] == ("advance", wire_ns(8, 57_600))


@pytest.mark.parametrize(
    "frame",
    ["FF C0 3A 7A", "FF E0 09 14 1E 63", "FF E0 0C 1E 1E 6C", "FF E0 0A 00 00 6A", "FF C0 00 40"],
    ids=["wheel", "gains", "id", "gain read or id set", "undefined"],
)
def test_what_is_not_known_of_the_ai_motor_is_refused_in_silence(frame):
    port, emulator, plant = make(0)
    plant.calls.clear()
    assert ask(port, bytes.fromhex(frame)) == b""
    assert plant.commands() == []
    assert emulator.refused == 1
    assert len(ask(port, codec.encode_read(0), SOON)) == 2


def test_the_ten_bit_move_is_swallowed_whole():
    port, emulator, plant = make(0)
    plant.calls.clear()
    assert ask(port, codec.encode_move_10bit(0, 100, 512)) == b""
    assert (plant.commands(), emulator.stray_bytes, emulator.bad_checksums, emulator.refused) == ([], 0, 0, 1)


def test_other_ids_and_bad_checksums_are_met_with_silence():
    port, emulator, plant = make(0)
    plant.calls.clear()
    assert ask(port, codec.encode_position(1, 0, 5)) == b""
    frame = bytearray(codec.encode_position(0, 0, 5))
    frame[3] ^= 1
    assert ask(port, bytes(frame), SOON) == b""
    assert plant.commands() == []
    assert emulator.bad_checksums == 1


def test_requests_in_pieces_and_in_one_write_are_paced_on_the_wire():
    frame = codec.encode_read(0)
    port, _, plant = make(0)
    port.write(frame[:2], 0)
    assert port.ready_ns(1) == NEVER
    port.write(frame[2:], 2 * MS)
    received = 2 * MS + wire_ns(2, 57_600)
    assert plant.calls[-1] == ("advance", received)
    assert port.ready_ns(2) == received + TURN_NS + REPLY_NS
    port, _, plant = make(0, 1)
    for now in (0, SOON):
        port.write(frame, now)
        port.write(codec.encode_read(1), now)
        assert plant.calls[-1] == ("advance", now + 2 * REQUEST_NS)
        assert len(port.read(now + SOON)) == 4
    port, _, plant = make(0, 1)
    port.write(frame + codec.encode_read(1), 0)
    assert [c[1] for c in plant.calls[-2:]] == [REQUEST_NS, wire_ns(8, 57_600)]
    assert port.read(SOON) == b"\x0a\x64\x0a\x64"


def test_a_known_frame_after_a_torn_one_is_still_heard_and_ends_it():
    port, emulator, plant = make(0)
    frame = codec.encode_position(0, 3, 77)
    for now in (0, SOON):
        ask(port, frame, now)
    plant.calls.clear()
    port.write(b"\xff\x60", 2 * SOON)
    assert len(ask(port, frame, 3 * SOON)) == 2
    assert ask(port, frame[2:], 4 * SOON) == b""
    assert plant.commands() == [("command", 0, 77, 3)]
    assert emulator.stray_bytes == 4


def test_unplugged_servos_are_limp_and_silent_until_plugged_again():
    port, emulator, plant = make(0, 1)
    frame = codec.encode_position(1, 3, 50)
    ask(port, frame)
    plant.calls.clear()
    emulator.unplug(1)
    for now in (1, 2):
        assert ask(port, frame, now * SOON) == b""
    ask(port, codec.encode_sync(3, [1, 2]), 3 * SOON)
    assert plant.commands() == [("release", 1), ("command", 0, 1, 3)]
    emulator.plug(1)
    assert ask(port, codec.encode_read(1), 4 * SOON) == b"\x0a\x64"
    assert plant.commands()[-1] == ("command", 0, 1, 3)
    assert ask(port, frame, 5 * SOON) == b"\x0a\x64"
    assert plant.commands()[-1] == ("command", 1, 50, 3)


def test_a_stuck_servo_repeats_itself_but_still_moves():
    port, emulator, plant = make(0)
    ask(port, codec.encode_position(0, 3, 50))
    emulator.stick(0)
    plant.angles[0] = 0.0
    assert ask(port, codec.encode_position(0, 3, 50), SOON) == b"\x0a\x64"
    assert len(plant.commands()) == 3
    emulator.stick(0, stuck=False)
    assert ask(port, codec.encode_position(0, 3, 50), 2 * SOON) == b"\x0a\x00"


def turnarounds(seed, count=200):
    port, _, _ = make(0, jitter_ns=50_000, rng=np.random.default_rng(seed))
    delays = []
    for k in range(count):
        port.write(codec.encode_read(0), k * SOON)
        delays.append(port.ready_ns(2) - k * SOON - REQUEST_NS - REPLY_NS)
        port.read(k * SOON + SOON)
    return delays


def test_jitter_lengthens_the_turnaround_within_its_bound_and_by_its_seed():
    delays = turnarounds(1)
    assert TURN_NS <= min(delays) < TURN_NS + 5_000
    assert TURN_NS + 45_000 < max(delays) <= TURN_NS + 50_000
    assert turnarounds(1) == delays
    assert turnarounds(2) != delays
    with pytest.raises(BusError, match="generator"):
        make(0, jitter_ns=1)


class Turnarounds:
    """Stands for a generator: what is to be added to the turnarounds, one after the other."""

    def __init__(self, *jitters):
        self._jitters = jitters

    def integers(self, low, high, size, endpoint):
        return np.array((*[0] * size, *reversed(self._jitters)))


@pytest.mark.parametrize(
    ("jitter_ns", "wait_ns", "said", "collisions"),
    [
        # Evenly; and the first so late that its second byte meets the first of the other, or both meet both.
        (0, 0, [10, 0x6D, 10, 0x5B], 0),
        (4 * BYTE_NS - 2 * BYTE_NS, 0, [10, 0x6D, 10, 0x5B], 0),
        (3 * BYTE_NS, 0, [10, 0x6D & 10, 0x5B], 1),
        (4 * BYTE_NS, 0, [10, 0x6D & 0x5B], 1),
        # To a host that waited long enough for the first they come one after the other.
        (4 * BYTE_NS, 7 * BYTE_NS + TURN_NS, [10, 0x6D, 10, 0x5B], 0),
    ],
)
def test_emulated_replies_spoil_each_other_where_the_host_did_not_wait(jitter_ns, wait_ns, said, collisions):
    port, emulator, plant = make(0, 1, jitter_ns=2 * MS, rng=Turnarounds(jitter_ns, 0))
    plant.angles = [0x6D * 0.654, 0x5B * 0.654]
    port.write(codec.encode_read(0), 0)
    port.write(codec.encode_read(1), REQUEST_NS + wait_ns)
    assert list(port.read(10**15)) == said
    assert emulator.collisions == collisions
    # The same for frames that are known already.
    later = 100 * MS
    emulator._jitters = [0, jitter_ns]
    port.write(codec.encode_read(0), later)
    port.write(codec.encode_read(1), later + REQUEST_NS + wait_ns)
    assert list(port.read(10**15)) == said
    assert emulator.collisions == 2 * collisions


def faulty(**faults):
    return make(0, faults=FaultLayer(LineFaults(**faults), np.random.default_rng(3)))


def answers(port, count=300):
    return [ask(port, codec.encode_position(0, 3, 50), k * SOON) for k in range(count)]


def test_without_faults_a_fault_layer_changes_nothing():
    assert answers(faulty()[0], 20) == answers(make(0)[0], 20) == [b"\x0a\x64"] * 20


def test_dropped_messages_are_requests_and_replies():
    port, _, plant = faulty(drop=0.5)
    got = answers(port)
    assert set(got) == {b"", b"\x0a\x64"}
    acted = len([c for c in plant.calls if c[0] == "command"])
    assert 120 < acted < 180
    assert 50 < len([g for g in got if g]) < 100


def test_flipped_bits_are_one_per_message():
    port, emulator, _plant = faulty(flip=0.3)
    got = answers(port)
    assert emulator.bad_checksums > 0
    damaged = [g for g in got if g not in (b"", b"\x0a\x64")]
    assert len(damaged) > 30
    for reply in damaged:
        assert sum((a ^ b).bit_count() for a, b in zip(reply, b"\x0a\x64", strict=True)) == 1


def test_inserted_and_truncated_bytes_change_lengths():
    assert {len(g) for g in answers(faulty(insert=0.3)[0])} >= {2, 3}
    assert {len(g) for g in answers(faulty(truncate=0.5)[0])} == {0, 1, 2}


def test_delay_holds_whole_replies_back():
    port, _, _ = faulty(delay=0.5, delay_us=3000)
    late = set()
    for k in range(50):
        port.write(codec.encode_read(0), k * SOON)
        late.add(port.ready_ns(2) - k * SOON - REQUEST_NS - TURN_NS - REPLY_NS)
        port.read(k * SOON + SOON)
    assert late == {0, 3 * MS}


def test_babble_comes_before_the_reply():
    got = answers(faulty(babble=0.5)[0])
    assert {len(g) for g in got} == {2, 3, 4, 5, 6}
    assert all(g.endswith(b"\x0a\x64") for g in got)


def test_faults_are_the_seeds():
    assert answers(faulty(drop=0.2, flip=0.2)[0], 60) == answers(faulty(drop=0.2, flip=0.2)[0], 60)


def test_faults_may_be_brought_later_and_taken_away_again():
    port, emulator, _ = make(0, fault_rng=np.random.default_rng(3))
    assert answers(port, 20) == [b"\x0a\x64"] * 20
    assert emulator.injected == {}
    emulator.set_faults(LineFaults())
    assert emulator.injected == {}
    emulator.set_faults(LineFaults(drop=1.0))
    port.flush_input(10**12)
    port.write(codec.encode_read(0), 10**12)
    assert port.read(2 * 10**12) == b""
    assert emulator.injected["drop"] == 1
    emulator.set_faults(LineFaults())
    assert ask(port, codec.encode_read(0), 3 * 10**12) == b"\x0a\x64"
    with pytest.raises(BusError, match="generator"):
        make(0)[1].set_faults(LineFaults(drop=0.1))


def test_faults_that_come_later_are_those_that_were_there_from_the_start():
    early = answers(faulty(drop=0.2, flip=0.2)[0], 60)
    port, emulator, _ = make(0, fault_rng=np.random.default_rng(3))
    emulator.set_faults(LineFaults(drop=0.2, flip=0.2))
    assert answers(port, 60) == early


def test_a_dip_of_the_supply_takes_the_torque_off_and_nothing_else():
    port, emulator, plant = make(0, 1)
    for now in (0, SOON):
        ask(port, codec.encode_position(1, 3, 50), now)
    emulator.trip(1)
    plant.calls.clear()
    emulator.brown_out(1)
    assert plant.commands() == [("release", 1)]
    assert ask(port, codec.encode_read(1), 2 * SOON) == b"\x0a\x64"
    assert plant.commands() == [("release", 1)]
    ask(port, codec.encode_position(1, 3, 50), 3 * SOON)
    assert plant.commands()[-1] == ("command", 1, 50, 3)
    with pytest.raises(BusError, match="no servo 2"):
        emulator.brown_out(2)


def test_counts_are_ready_for_json():
    port, emulator, _ = faulty(drop=0.3, flip=0.3, delay=0.3)
    answers(port, 100)
    ask(port, b"\x01", 200 * SOON)
    counts = json.loads(json.dumps(emulator.counts()))
    assert counts["stray_bytes"] == emulator.stray_bytes > 0
    assert counts["bad_checksums"] == emulator.bad_checksums > 0
    assert (counts["refused"], counts["collisions"]) == (emulator.refused, 0)
    assert counts["injected"]["drop"] > 0
    record = emulator.record
    assert counts["record"]["exchanges"] == record.exchanges == 101
    assert counts["record"]["visible"] == record.visible > 0
    assert counts["record"]["late"] == {"2000000": record.late[2_000_000]}


def test_a_line_can_be_set_to_another_rate_when_its_servos_are():
    port, emulator, _ = make(0)
    for now in (0, SOON):
        assert len(ask(port, codec.encode_read(0), now)) == 2
    emulator.baud = 115_200
    assert ask(port, codec.encode_read(0), 2 * SOON) == b""
    emulator.baud = 57_600
    assert len(ask(port, codec.encode_read(0), 3 * SOON)) == 2
