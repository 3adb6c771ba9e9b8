"""What servos with registers were told with their torque, and whether they hold it, on a line that garbles."""

from itertools import pairwise

import numpy as np
import pytest
from framed_rig import FAMILIES, FAR, OK, START, Leg, both
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.bus import READ_ONLY
from drivers.dynamixel.codec import FAST_SYNC_READ
from drivers.framed.cycle import ATTEMPTS, WATCH_CYCLES
from drivers.framed.packet import SYNC_READ, SYNC_WRITE
from drivers.injection import FaultLayer, LineFaults
from drivers.servo import LEVEL_SHARE, ServoAddress

STIFFNESS = 0.03
WATCHED = {"feetech": 2 * WATCH_CYCLES, "dynamixel": 4 * WATCH_CYCLES}
"""In so many cycles all that goes with the torque is seen of STS3215 and XL330: one or two spans of memory by turns."""


def stiff(ids):
    return [ServoAddress(bus_id, f"servo {bus_id}", "", STIFFNESS) for bus_id in ids]


def garble(leg, register, *, times, nonzero=False):
    """Turn a bit over in the next requests that set a register of several servos; return a list, one each."""
    done = []
    width = leg.layout.dialect.address_bytes

    def change(data):
        for _, packet in leg.layout.dialect.parser(status=False).feed(data):
            address = int.from_bytes(packet.params[:width], "little")
            if packet.instruction != SYNC_WRITE or address != register.address or len(done) >= times:
                continue
            if nonzero and not packet.params[2 * width + 1]:
                continue
            whole = leg.layout.dialect.instruction(packet.bus_id, packet.instruction, packet.params)
            done.append(packet)
            data = data.replace(whole, whole[:-1] + bytes((whole[-1] ^ 1,)))
        return data

    leg.port.change = change
    return done


def told(leg, level):
    """Return what everybody must hold under torque, by register."""
    layout = leg.layout
    name, full = layout.first.cap
    held = {name: round(LEVEL_SHARE[level] * full), "position_p_gain": leg.model.gain_for(STIFFNESS)}
    drive = layout.first.drive_goal
    return held | ({layout.watchdog: 5} if layout.watchdog else {}) | ({drive: layout.first.drive[1]} if drive else {})


def holds(leg, k, level):
    return all(leg.memory(k)[name] == value for name, value in told(leg, level).items())


def limp_without(leg, name):
    """Have everybody set up and limp, with nothing in a register; return it."""
    leg.go(START)
    leg.release()
    for k in range(4):
        leg.memory(k)[name] = 0
    return leg.layout.first.table[name]


ARMED = [
    (family, name) for family, (layout, _) in FAMILIES.items()
    for name in ("position_p_gain", layout.first.cap[0], layout.first.drive_goal, layout.watchdog) if name
]  # fmt: skip


@pytest.mark.parametrize(("family", "name"), ARMED)
def test_torque_stays_off_until_all_that_goes_before_it_is_held(family, name):
    leg = Leg(family, addresses=stiff((1, 2, 3, 4)))
    register = limp_without(leg, name)
    lost = garble(leg, register, times=3, nonzero=name == leg.layout.watchdog)
    for _ in range(60):
        leg.cycle(START)
        for k in range(4):
            assert not leg.memory(k)["torque_enable"] or holds(leg, k, 3)
    assert len(lost) == 3
    assert leg.bus.counts["restarts"] == 12
    assert leg.driven() == dict.fromkeys(range(4), START)
    assert leg.bus.refusals == ()


@pytest.mark.parametrize(("family", "name"), ARMED)
def test_a_servo_that_never_takes_it_is_refused_and_says_what(family, name):
    leg = Leg(family, addresses=stiff((1, 2, 3, 4)))
    register = limp_without(leg, name)
    lost = garble(leg, register, times=1000, nonzero=name == leg.layout.watchdog)
    for _ in range(60):
        leg.cycle(START)
    assert len(lost) == ATTEMPTS
    assert leg.driven() == {}
    assert len(leg.bus.refusals) == 4
    assert all(f"its {name} stays" in why for why in leg.bus.refusals)


@both
@pytest.mark.parametrize("times", [2, 5])
def test_a_bound_that_was_lost_under_torque_is_told_again(family, times):
    leg = Leg(family, addresses=stiff((1, 2, 3, 4)))
    leg.go(START)
    lost = garble(leg, leg.layout.first.table[leg.layout.first.cap[0]], times=times)
    leg.plant.calls.clear()
    leg.bus.set_level(4)
    for _ in range(times + 2):
        assert leg.cycle(START) == [OK] * 4
    assert len(lost) == times
    assert all(holds(leg, k, 4) for k in range(4))
    assert [call for call in leg.plant.calls if call[0] == "release"] == []
    assert leg.bus.counts["restarts"] == 4 * (times - 1)
    leg.requests()
    leg.cycle(START)
    assert {name for _, name, _ in leg.writes()} == {"goal_position"}


@pytest.mark.parametrize(("family", "name"), ARMED)
def test_what_was_lost_later_is_found_by_the_watch(family, name):
    leg = Leg(family, addresses=stiff((1, 2, 3, 4)))
    leg.go(START)
    leg.memory(2)[name] = 0
    for _ in range(WATCHED[family] + 60):
        leg.cycle(START + 3)
    assert all(holds(leg, k, 3) for k in range(4))
    assert leg.driven() == dict.fromkeys(range(4), START + 3)
    assert leg.bus.counts["restarts"] == 1


RAM_SETTINGS = [
    (family, name, value) for family, (layout, _) in FAMILIES.items()
    for name, value in layout.first.settings if layout.first.table[name].access == "ram"
]  # fmt: skip


@pytest.mark.parametrize(("family", "name", "value"), RAM_SETTINGS)
def test_a_setting_that_changes_under_torque_is_found_by_the_watch(family, name, value):
    leg = Leg(family, addresses=stiff((1, 2, 3, 4)))
    leg.go(START)
    leg.memory(2)[name] = value + 1
    for _ in range(WATCHED[family] + 60):
        leg.cycle(START + 3)
    assert [leg.memory(k)[name] for k in range(4)] == [value] * 4
    assert leg.driven() == dict.fromkeys(range(4), START + 3)
    assert leg.bus.counts["restarts"] == 1


@both
def test_bounds_that_are_lost_one_after_the_other_cost_nobody_his_torque(family):
    leg = Leg(family, addresses=stiff((1, 2, 3, 4)))
    leg.go(START)
    leg.plant.calls.clear()
    for k in range(ATTEMPTS + 2):
        lost = garble(leg, leg.layout.first.table[leg.layout.first.cap[0]], times=2)
        leg.bus.set_level(4 - k % 2)
        for _ in range(4):
            leg.cycle(START)
        assert len(lost) == 2
        assert all(holds(leg, servo, 4 - k % 2) for servo in range(4))
    assert [call for call in leg.plant.calls if call[0] == "release"] == []


SPANS = {"STS3215": 2, "XM430-W350": 3, "XL330-M288": 3, "XL430-W250": 4}
"""In how many pieces what servos hold under torque is looked at: that of the torque, and the rest by turns."""


@pytest.mark.parametrize("model", SPANS)
def test_the_watch_has_seen_everything_after_so_many_cycles(model):
    leg = Leg("feetech" if model == "STS3215" else "dynamixel", model=model, addresses=None)
    leg.go(START)
    leg.requests()
    width = leg.layout.dialect.address_bytes
    seen = {}
    for cycle in range(2 * WATCH_CYCLES * (SPANS[model] - 1)):
        leg.cycle(START)
        for packet in leg.requests():
            if packet.instruction == SYNC_READ:
                seen.setdefault(int.from_bytes(packet.params[:width], "little"), cycle)
    seen.pop(leg.layout.block[0])
    assert len(seen) == SPANS[model]


def test_the_watch_asks_all_in_one_packet_where_servos_can():
    leg = Leg("dynamixel", addresses=stiff((1, 2, 3, 4)), fast=True)
    leg.go(START)
    leg.cycle(START)
    leg.requests()
    asked = []
    for _ in range(WATCHED["dynamixel"]):
        leg.cycle(START)
        asked += [packet.instruction for packet in leg.requests() if packet.instruction != SYNC_WRITE]
    assert set(asked) == {FAST_SYNC_READ}
    assert len(asked) > WATCHED["dynamixel"]


@both
def test_the_torque_is_looked_at_most_often(family):
    leg = Leg(family, addresses=stiff((1, 2, 3, 4)))
    leg.go(START)
    leg.requests()
    torque, width = leg.layout.register("torque_enable").address, leg.layout.dialect.address_bytes
    looks = []
    for cycle in range(2 * WATCHED[family]):
        leg.cycle(START)
        for packet in leg.requests():
            if packet.instruction == SYNC_READ:
                first, length = (int.from_bytes(packet.params[k : k + width], "little") for k in (0, width))
                looks += [cycle] * (first <= torque < first + length)
    assert len(looks) == 2 * WATCHED[family] // WATCH_CYCLES
    assert {after - before for before, after in pairwise(looks)} == {WATCH_CYCLES}


@both
def test_a_look_that_nobody_answers_is_taken_again_at_once(family):
    leg = Leg(family, addresses=stiff((1, 2, 3, 4)))
    leg.go(START)
    torque, width = leg.layout.register("torque_enable").address, leg.layout.dialect.address_bytes
    lost = []

    def change(data):
        for _, packet in leg.layout.dialect.parser(status=False).feed(data):
            if packet.instruction == SYNC_READ and int.from_bytes(packet.params[:width], "little") <= torque:
                lost.append(packet)
        return b"" if len(lost) == 1 else data

    leg.emulator.brown_out(2)
    leg.port.change = change
    leg.plant.calls.clear()
    for _ in range(WATCH_CYCLES):
        leg.cycle(START)
        if lost:
            break
    assert len(lost) > 1
    assert leg.bus.counts["restarts"] == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_watching_costs_little_and_no_cycle_much(family):
    leg = Leg(family, addresses=stiff((1, 2, 3, 4)))
    leg.go(START)
    lasted = []
    for _ in range(2 * WATCHED[family]):
        begun = leg.now_ns
        leg.cycle(START)
        lasted.append(leg.now_ns - begun)
    usual = sorted(lasted)[WATCHED[family]]
    assert sum(lasted) / len(lasted) < 1.02 * usual
    assert max(lasted) < 2.5 * usual


@both
def test_it_is_let_go_at_once_while_another_one_is_still_being_set_up(family):
    leg = Leg(family, addresses=stiff((1, 2, 3, 4)))
    leg.go(START)
    name = leg.layout.first.cap[0]
    for k in (1, 2, 3):
        leg.memory(k)[name] = leg.layout.first.cap[1]
    for _ in range(WATCHED[family]):
        leg.cycle(START)
        if sorted(leg.driven()) != [0, 1, 2, 3]:
            break
    assert sorted(leg.driven()) == [0]


@both
def test_one_answer_that_was_garbled_costs_nobody_his_torque(family):
    leg = Leg(family, addresses=stiff((1, 2, 3, 4)))
    leg.go(START)
    gain = leg.layout.register("position_p_gain")
    dialect = leg.layout.dialect
    seen, asked = [], [0]

    def note(data):
        """Remember where the memory begins that is asked for."""
        for _, packet in dialect.parser(status=False).feed(data):
            if packet.instruction == SYNC_READ:
                asked[0] = int.from_bytes(packet.params[: dialect.address_bytes], "little")
        return data

    def receive(data):
        """Change the gain in the first status of servo 2 that holds it, and the checksum with it."""
        for _, packet in dialect.parser(status=True).feed(data):
            at = gain.address - asked[0]
            if packet.bus_id == 2 and not seen and 0 <= at < len(packet.params):
                seen.append(packet)
                wrong = packet.params[:at] + gain.encode(254) + packet.params[at + gain.size :]
                data = data.replace(dialect.status(2, 0, packet.params), dialect.status(2, 0, wrong))
        return data

    leg.port.receive, leg.port.change = receive, note
    leg.plant.calls.clear()
    for _ in range(WATCHED[family] + 1):
        leg.cycle(START)
    assert len(seen) == 1
    assert leg.bus.counts["restarts"] == 0
    assert [call for call in leg.plant.calls if call[0] == "release"] == []


def test_a_firmware_that_turns_torque_on_by_itself_is_found_with_factory_gain_and_bound():
    leg = Leg("feetech", addresses=stiff((1, 2, 3, 4)))
    for servo in leg.emulator.servos:
        servo.torque_by_goal = True
    leg.go(START)
    assert all(holds(leg, k, 3) for k in range(4))
    leg.emulator.brown_out(1)
    leg.cycle(START + 1)
    assert leg.memory(1)["torque_enable"] == 1
    assert leg.memory(1)["torque_limit"] == leg.layout.first.cap[1]
    wild = 0
    for _ in range(WATCHED["feetech"] + 60):
        leg.cycle(START + 1)
        wild += bool(leg.memory(1)["torque_enable"]) and not holds(leg, 1, 3)
    assert wild <= WATCH_CYCLES
    assert leg.bus.counts["restarts"] == 1
    assert leg.driven() == dict.fromkeys(range(4), START + 1)


def test_a_servo_of_that_firmware_that_is_only_read_or_limp_stays_without_torque():
    leg = Leg("feetech")
    for servo in leg.emulator.servos:
        servo.torque_by_goal = True
    for _ in range(WATCHED["feetech"]):
        leg.cycle(READ_ONLY)
    leg.go(START)
    leg.release()
    for _ in range(WATCHED["feetech"]):
        leg.cycle(READ_ONLY)
    assert leg.driven() == {}


@pytest.mark.parametrize("family", FAMILIES)
@given(
    seed=st.integers(0, 10**6),
    flip=st.floats(0.0, 0.02),
    drop=st.floats(0.0, 0.01),
    levels=st.lists(st.integers(0, 4), min_size=2, max_size=4),
    dips=st.lists(st.integers(0, 3), max_size=2),
)
@settings(max_examples=8, deadline=None, derandomize=True)
def test_nobody_is_under_torque_with_more_than_he_was_told_for_long(family, seed, flip, drop, levels, dips):
    faults = FaultLayer(LineFaults(flip=flip, drop=drop), np.random.default_rng(seed))
    leg = Leg(family, addresses=stiff((1, 2, 3, 4)), faults=faults)
    if family == "feetech":
        for servo in leg.emulator.servos:
            servo.torque_by_goal = True
    name = leg.layout.first.cap[0]
    longest, wild = WATCHED[family] + 40, [0] * 4
    for level in levels:
        leg.bus.set_level(level)
        most = told(leg, level)[name]
        for k in dips:
            leg.emulator.brown_out(k)
        for _ in range(longest):
            leg.bus.start(leg.now_ns, [START] * 4)
            leg.now_ns = leg.bus.run_until(FAR)
            for k in range(4):
                on, bound = leg.memory(k)["torque_enable"], leg.memory(k)[name]
                wild[k] = wild[k] + 1 if on and bound > most else 0
            assert max(wild) < longest
