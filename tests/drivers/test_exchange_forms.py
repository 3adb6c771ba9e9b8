"""One send for all and then reads; and the wCK's ten-bit moves and reads."""

import numpy as np
import pytest
from emulated import EXCHANGE_NS, LISTEN_NS, MS, REPLY_NS, TURN_NS, ScriptedPlant, wired
from emulated import addresses as ai_motors

from drivers.aimotor import AiMotorBus, codec
from drivers.aimotor.emulation.emulator import AiMotorEmulator
from drivers.aimotor.forms import TEN_BIT_STEPS
from drivers.bus import LIMP
from drivers.errors import BusUrlError, FrameError, PortGoneError
from drivers.injection import FaultLayer, LineFaults
from drivers.inprocess import InProcessPort
from drivers.port import wire_ns
from drivers.servo import LEVEL_SHARE, ReplyStatus, ServoAddress

OK, MISSED, IMPLAUSIBLE = ReplyStatus.OK, ReplyStatus.MISSED, ReplyStatus.IMPLAUSIBLE
UNSURE = ReplyStatus.UNSURE
FAR = 10**15
BAUD = 57_600
TEN_BIT_TICK_DEG = 0.654 / TEN_BIT_STEPS


def listening(port):
    """Let a test see what is written on a port."""
    said = []
    write = port.write

    class Recorded:
        def __getattr__(self, name):
            return getattr(port, name)

        def write(self, data, now_ns):
            said.append((now_ns, bytes(data)))
            write(data, now_ns)

    return Recorded(), said


def cycle(bus, now_ns, goals):
    bus.start(now_ns, goals)
    return bus.run_until(FAR)


def by_steps(bus, now_ns, goals):
    bus.start(now_ns, goals)
    while not bus.proceed(now_ns):
        now_ns = bus.wake_ns
    return now_ns


def sync_rig(ids=(0, 1, 2, 3), **options):
    port, emulator, plant = wired(*ids, **options)
    recorded, said = listening(port)
    return AiMotorBus(recorded, ai_motors(*ids), sync=True), emulator, plant, said


def test_a_sync_cycle_is_one_send_and_a_read_of_each():
    for drive in (cycle, by_steps):
        bus, _, plant, said = sync_rig()
        now = drive(bus, 0, [-1] * 4)
        said.clear()
        plant.calls.clear()
        end = drive(bus, now, [10, 20, 30, 40])
        send = codec.encode_sync(3, [10, 20, 30, 40])
        assert [data for _, data in said] == [send, *(codec.encode_read(k, 100) for k in range(4))]
        # Seven bytes per servo, four more, and the turnarounds; nobody answers the send.
        assert end - now == wire_ns(8, BAUD) + 4 * EXCHANGE_NS
        assert plant.commands() == [("command", k, 10 * (k + 1), 3) for k in range(4)]
        assert bus.status == [OK] * 4
        assert bus.position_raw == [100] * 4
        assert bus.current_raw == [10] * 4
        bus.set_level(0)
        plant.calls.clear()
        drive(bus, end, [11, 21, 31, 41])
        assert plant.commands() == [("command", k, 10 * (k + 1) + 1, 0) for k in range(4)]


def test_sync_targets_go_by_id_in_whatever_order_the_servos_are():
    bus, _, plant, said = sync_rig((2, 0, 3, 1))
    now = cycle(bus, 0, [-1] * 4)
    plant.calls.clear()
    cycle(bus, now, [22, 20, 23, 21])
    assert said[4][1] == codec.encode_sync(3, [20, 21, 22, 23])
    assert sorted(plant.commands()) == [
        ("command", 0, 22, 3),
        ("command", 1, 20, 3),
        ("command", 2, 23, 3),
        ("command", 3, 21, 3),
    ]


@pytest.mark.parametrize("goals", [[10, -1, 30, 40], [10, LIMP, 30, 40], [-1] * 4, [LIMP] * 4])
def test_a_cycle_in_which_not_all_have_goals_is_made_one_by_one(goals):
    bus, _, plant, said = sync_rig()
    now = cycle(bus, 0, [-1] * 4)
    plant.calls.clear()
    assert cycle(bus, now, goals) - now == 4 * EXCHANGE_NS
    assert all(len(data) == 4 for _, data in said)
    expected = [
        ("release", k) if goal == LIMP else ("command", k, goal, 3) for k, goal in enumerate(goals) if goal != -1
    ]
    assert plant.commands() == expected


@pytest.mark.parametrize("ids", [(1, 2, 3), (0, 2), (0, 1, 3), (5,)])
def test_sync_is_refused_where_it_would_reach_others(ids):
    with pytest.raises(BusUrlError, match="names no ids"):
        sync_rig(ids)


def test_a_torque_off_before_the_send_keeps_it_from_being_sent():
    bus, _, plant, said = sync_rig()
    now = cycle(bus, 0, [-1] * 4)
    # Something on the line: the send waits for silence, and torque-off does not.
    bus._port.deliver(b"abc", now)
    bus.start(now + 1 * MS, [10, 20, 30, 40])
    said.clear()
    plant.calls.clear()
    bus.torque_off(now + 1 * MS + 1000)
    bus.run_until(FAR)
    assert [data for _, data in said] == [codec.encode_passive(k) for k in range(4)]
    assert plant.commands() == [("release", k) for k in range(4)]
    # Nor is it sent with the next cycle.
    said.clear()
    cycle(bus, 100 * MS, [-1] * 4)
    assert len(said) == 4


def test_a_send_that_could_not_be_made_is_not_made_up_for_with_older_goals():
    bus, _, plant, said = sync_rig()
    now = cycle(bus, 0, [-1] * 4)
    write, bus._port.write = bus._port.write, gone
    with pytest.raises(PortGoneError):
        bus.start(now, [10, 20, 30, 40])
    bus._port.write = write
    bus.run_until(FAR)
    said.clear()
    plant.calls.clear()
    cycle(bus, 100 * MS, [LIMP] * 4)
    assert plant.commands() == [("release", k) for k in range(4)]


def gone(data, now_ns):
    raise PortGoneError("unplugged")


def test_after_a_lost_reply_a_sync_cycle_finds_back():
    layer = FaultLayer(LineFaults(), np.random.default_rng(2))
    bus, _, _, _ = sync_rig(faults=layer)
    now = cycle(bus, 0, [-1] * 4)
    layer.faults = LineFaults(drop=0.3, insert=0.2, flip=0.1)
    for _ in range(40):
        now = cycle(bus, now, [50 if status == OK else -1 for status in bus.status])
    layer.faults = LineFaults()
    for _ in range(3):
        now = cycle(bus, now, [50 if status == OK else -1 for status in bus.status])
    assert (bus.status, bus.position_raw) == ([OK] * 4, [100] * 4)
    assert bus.missed > 10


def wcks(*ids):
    return [ServoAddress(bus_id, f"motor{bus_id}", "wCK-1111") for bus_id in ids]


def ten_bit_rig(ids=(0, 1, 2, 3), **options):
    plant = ScriptedPlant(len(ids))
    emulator = AiMotorEmulator(wcks(*ids), plant, baud=BAUD, **options)
    recorded, said = listening(InProcessPort(emulator, BAUD))
    return AiMotorBus(recorded, wcks(*ids), baud=BAUD, ten_bit=True), emulator, plant, said


TEN_BIT_NS = wire_ns(8, BAUD) + wire_ns(6, BAUD) + 2 * (TURN_NS + REPLY_NS)


def test_a_ten_bit_cycle_is_a_move_and_a_read_of_each():
    for drive in (cycle, by_steps):
        bus, _, plant, said = ten_bit_rig()
        plant.angles = [raw * TEN_BIT_TICK_DEG for raw in (400, 0, 1023, 517)]
        now = drive(bus, 0, [-1] * 4)
        assert now == pytest.approx(4 * (wire_ns(6, BAUD) + TURN_NS + REPLY_NS), abs=4)
        assert bus.position_raw == [400, 0, 1023, 517]
        assert bus.current_raw == [0] * 4
        said.clear()
        plant.calls.clear()
        end = drive(bus, now, [401, 1, 1022, 1023])
        torque = round(254 * LEVEL_SHARE[3])
        sent = [data for _, data in said]
        assert sent[0::2] == [codec.encode_move_10bit(k, torque, goal) for k, goal in enumerate((401, 1, 1022, 1023))]
        assert sent[1::2] == [codec.encode_read_10bit(k) for k in range(4)]
        assert sum(map(len, sent)) + 2 * len(sent) == 18 * 4
        assert end - now == pytest.approx(4 * TEN_BIT_NS, abs=8)
        goals = [(call[1], call[2]) for call in plant.commands() if call[0] == "drive"]
        assert goals == [(k, pytest.approx(g * TEN_BIT_TICK_DEG, abs=1e-4)) for k, g in enumerate((401, 1, 1022, 1023))]
        assert bus.status == [OK] * 4


def test_levels_are_shares_of_the_torque():
    bus, _, _, said = ten_bit_rig((5,))
    now = cycle(bus, 0, [-1])
    for level, share in enumerate(LEVEL_SHARE):
        bus.set_level(level)
        said.clear()
        now = cycle(bus, now, [400])
        assert said[0][1] == codec.encode_move_10bit(5, round(254 * share), 400)
    with pytest.raises(FrameError):
        bus.set_level(5)


@pytest.mark.parametrize("goals", [[1024, 0, 0, 0], [-3, 0, 0, 0], [0, 0, 0]])
def test_ten_bit_goals_are_checked(goals):
    bus, _, _, said = ten_bit_rig()
    with pytest.raises(FrameError, match="0 to 1023"):
        bus.start(0, goals)
    assert said == []


def test_ten_bits_are_for_wcks_whose_torque_can_be_taken_off():
    port, _, _ = wired(0)
    with pytest.raises(BusUrlError, match="AI motor"):
        AiMotorBus(port, ai_motors(0), ten_bit=True)
    with pytest.raises(BusUrlError, match="0 to 30"):
        AiMotorBus(port, wcks(31), ten_bit=True)
    AiMotorBus(port, [ServoAddress(3, "unknown")], ten_bit=True)


def test_an_exchange_has_one_form():
    port, _, _ = wired(0)
    with pytest.raises(BusUrlError, match="expected one at most"):
        AiMotorBus(port, wcks(0), sync=True, ten_bit=True)


def test_limp_is_a_read_and_a_torque_off_that_must_be_confirmed():
    bus, emulator, plant, said = ten_bit_rig()
    plant.angles = [raw * TEN_BIT_TICK_DEG for raw in (400, 401, 402, 403)]
    now = cycle(bus, 0, [-1] * 4)
    said.clear()
    plant.calls.clear()
    now = cycle(bus, now, [LIMP, 500, LIMP, -1])
    assert [data for _, data in said] == [
        codec.encode_read_10bit(0),
        codec.encode_passive(0),
        codec.encode_move_10bit(1, round(254 * LEVEL_SHARE[3]), 500),
        codec.encode_read_10bit(1),
        codec.encode_read_10bit(2),
        codec.encode_passive(2),
        codec.encode_read_10bit(3),
    ]
    assert [call[:2] for call in plant.commands()] == [("release", 0), ("drive", 1), ("release", 2)]
    assert bus.status == [OK] * 4
    assert bus.position_raw == [400, 401, 402, 403]
    # The reads are answered, the torque-off of servo 2 is not.
    receive = emulator.receive
    lost = codec.encode_passive(2)
    bus._port.write = lambda data, now_ns: None if data == lost else receive(data, now_ns)
    cycle(bus, now, [LIMP, 500, LIMP, -1])
    assert bus.status == [OK, OK, MISSED, OK]
    assert bus.position_raw == [400, 401, 402, 403]


def test_a_move_that_is_not_answered_costs_its_timeout_and_the_read_still_counts():
    bus, emulator, _, _ = ten_bit_rig((0, 1))
    now = cycle(bus, 0, [-1, -1])
    lost = codec.encode_move_10bit(0, round(254 * LEVEL_SHARE[3]), 500)
    receive = emulator.receive
    bus._port.write = lambda data, now_ns: None if data == lost else receive(data, now_ns)
    end = cycle(bus, now, [500, 500])
    assert end - now == pytest.approx(2 * TEN_BIT_NS - TURN_NS + 4 * MS + LISTEN_NS, abs=8)
    # One more has to agree before it is driven from what it says.
    assert bus.status == [UNSURE, OK]
    assert (bus.missed, bus.misses) == (1, [0, 0])
    cycle(bus, end, [-1, 500])
    assert bus.status == [OK, OK]


def test_torque_off_and_discovery_are_in_eight_bits():
    bus, _, plant, said = ten_bit_rig()
    now = cycle(bus, 0, [-1] * 4)
    said.clear()
    plant.calls.clear()
    bus.torque_off(now)
    assert bus.run_until(FAR) == now + 4 * EXCHANGE_NS
    assert plant.commands() == [("release", k) for k in range(4)]
    assert bus.status == [OK] * 4
    # What a torque-off is answered with is in ticks of another size: positions stay those of the last read.
    assert bus.position_raw == [round(100 * 0.654 / TEN_BIT_TICK_DEG)] * 4
    bus.discover(now + 100 * MS)
    bus.run_until(FAR)
    assert bus.found == (0, 1, 2, 3)


class Voice:
    """Answers each request with the next of the given replies."""

    def __init__(self, *replies):
        self._replies = list(replies)

    def connect(self, line):
        self._line = line

    def receive(self, data, now_ns):
        self._line.deliver(self._replies.pop(0), now_ns + wire_ns(len(data), BAUD) + TURN_NS)


def test_bytes_that_are_no_ten_bit_position_are_refused():
    good = bytes((3, 16))
    for bad in (b"\x08\x10", b"\x03\x80", b"\xff\x00", b"\x03", b"\x03\x10\x10"):
        bus = AiMotorBus(InProcessPort(Voice(good, bad, good, good), BAUD), wcks(0), ten_bit=True)
        now = cycle(bus, 0, [-1])
        assert bus.position_raw == [3 * 128 + 16]
        now = cycle(bus, now, [-1])
        assert bus.status != [OK] or bad == b"\x03\x10\x10"
        now = cycle(bus, now, [-1])
        cycle(bus, now, [-1])
        assert (bus.status, bus.position_raw) == ([OK], [400])


@pytest.mark.parametrize(
    ("good", "bad"),
    # Each would be the same position, or one that the shaft can have got to.
    [(b"\x03\x10", b"\x03\x90"), (b"\x03\x10", b"\x02\x90"), (b"\x07\x7c", b"\x08\x00")],
)
def test_nor_are_they_where_they_would_say_something_plausible(good, bad):
    bus = AiMotorBus(InProcessPort(Voice(good, bad), BAUD), wcks(0), ten_bit=True)
    now = cycle(bus, 0, [-1])
    cycle(bus, now, [-1])
    assert bus.status == [IMPLAUSIBLE]


def test_who_does_not_confirm_that_torque_is_off_is_told_apart_after_moves_too():
    bus, emulator, _, _ = ten_bit_rig()
    now = cycle(bus, 0, [-1] * 4)
    now = cycle(bus, now, [400] * 4)
    emulator.unplug(1)
    bus.torque_off(now)
    bus.run_until(FAR)
    assert bus.status == [OK, MISSED, OK, OK]
    assert bus.misses == [0, 1, 0, 0]


def test_what_a_move_is_answered_with_is_not_taken_for_where_the_shaft_is():
    where, sent_to = bytes((3, 16)), bytes((3, 116))
    bus = AiMotorBus(InProcessPort(Voice(where, sent_to, where), BAUD), wcks(0), ten_bit=True)
    now = cycle(bus, 0, [-1])
    cycle(bus, now, [500])
    assert (bus.status, bus.position_raw, bus.implausible) == ([OK], [400], 0)


def test_how_far_a_shaft_can_get_is_counted_in_ten_bit_ticks():
    # 600 deg/s in 1.62 ms are 0.97 degrees: 5.98 ticks of 0.1624, and one for rounding.
    step = wire_ns(6, BAUD) + TURN_NS + REPLY_NS
    reach = 1 + 600 / TEN_BIT_TICK_DEG * step * 1e-9
    for ticks, status in ((int(reach), OK), (int(reach) + 1, IMPLAUSIBLE)):
        position = 400 + ticks
        replies = bytes((3, 16)), bytes((position >> 7, position & 0x7F))
        bus = AiMotorBus(InProcessPort(Voice(*replies), BAUD), wcks(0), ten_bit=True)
        now = cycle(bus, 0, [-1])
        cycle(bus, now, [-1])
        assert bus.status == [status]


def test_a_noisy_line_is_survived_in_ten_bits_too():
    layer = FaultLayer(LineFaults(), np.random.default_rng(4))
    bus, _, plant, _ = ten_bit_rig(faults=layer)
    plant.angles = [raw * TEN_BIT_TICK_DEG for raw in (400, 600, 800, 100)]
    now = cycle(bus, 0, [-1] * 4)
    layer.faults = LineFaults(drop=0.1, insert=0.1, truncate=0.1, babble=0.1)
    for _ in range(60):
        before, stamps = bus.position_raw[:], bus.stamp_ns[:]
        now = cycle(bus, now, [500 if status == OK else -1 for status in bus.status])
        for k, position in enumerate(bus.position_raw):
            reach = 1 + 600 / TEN_BIT_TICK_DEG * (bus.stamp_ns[k] - stamps[k]) * 1e-9
            assert abs(position - before[k]) <= reach
    layer.faults = LineFaults()
    for _ in range(20):
        now = cycle(bus, now, [500 if status == OK else -1 for status in bus.status])
    assert (bus.status, bus.position_raw) == ([OK] * 4, [400, 600, 800, 100])
