"""Servos with registers that fall silent, dip or shut down, and taking their torque off."""

import pytest
from framed_rig import FAR, IMPLAUSIBLE, MISSED, OK, START, TIMEOUT_NS, Leg, both
from framed_servos import MS

from drivers.bus import LIMP, READ_ONLY
from drivers.framed.cycle import WATCH_CYCLES
from drivers.framed.packet import READ, SYNC_READ, SYNC_WRITE, WRITE
from drivers.port import NEVER
from drivers.servo import LEVEL_SHARE, ServoAddress

# --- silence and what follows it ---


@both
def test_a_missing_servo_costs_its_time_out_and_hides_nobody(family):
    leg = Leg(family)
    leg.go(START)
    leg.cycle(START)
    whole = -leg.now_ns
    leg.cycle(START)
    whole += leg.now_ns
    leg.emulator.unplug(1)
    for missed in range(1, 5):
        begun = leg.now_ns
        assert leg.cycle(START + 1) == [OK, MISSED, OK, OK]
        assert leg.now_ns - begun < whole + TIMEOUT_NS + 1.5 * MS
        assert leg.bus.misses == [0, missed, 0, 0]
    assert leg.bus.missed == 4
    assert leg.driven() == {0: START + 1, 2: START + 1, 3: START + 1}


@both
@pytest.mark.parametrize("gone", [(0,), (3,), (0, 1), (1, 2), (0, 1, 2), (0, 1, 2, 3)])
def test_whoever_is_gone_the_others_are_read(family, gone):
    leg = Leg(family)
    leg.cycle()
    for k in gone:
        leg.emulator.unplug(k)
    expected = [MISSED if k in gone else OK for k in range(4)]
    for _ in range(3):
        assert leg.cycle() == expected
    for k in gone:
        leg.emulator.plug(k)
    leg.cycle()
    assert leg.cycle() == [OK] * 4
    assert leg.bus.misses == [0] * 4


@both
def test_a_servo_that_comes_back_is_limp_until_a_goal_and_set_up_before(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.unplug(1)
    leg.cycle([START, READ_ONLY, START, START])
    leg.emulator.plug(1)
    leg.requests()
    for _ in range(30):
        leg.cycle([START, READ_ONLY, START, START])
    assert all(bus_id != 2 for bus_id, _, _ in leg.writes())
    assert sorted(leg.driven()) == [0, 2, 3]
    leg.go(START + 4)
    for name, value in leg.layout.first.settings:
        assert leg.memory(1)[name] == value


@both
def test_setting_one_up_takes_the_others_one_exchange_per_cycle(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.unplug(1)
    leg.cycle(START)
    leg.emulator.plug(1)
    for _ in range(4):
        leg.cycle(START)
    leg.requests()
    for _ in range(10):
        leg.cycle(START)
        singles = [packet for packet in leg.requests() if packet.instruction in (READ, WRITE)]
        assert len(singles) == 1
    leg.go(START + 1)


@both
def test_a_lost_reply_drops_nobody(family):
    leg = Leg(family)
    leg.go(START)
    leg.plant.calls.clear()
    leg.port.lose = 1
    assert MISSED in leg.cycle(START)
    for _ in range(3):
        leg.cycle(START + 2)
    assert [call for call in leg.plant.calls if call[0] == "release"] == []
    assert leg.driven() == dict.fromkeys(range(4), START + 2)


@both
def test_a_supply_that_dipped_unseen_is_found_out(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.brown_out(3)
    assert 3 not in leg.driven()
    assert leg.go(START + 1, most=WATCH_CYCLES + 60)
    memory = leg.memory(3)
    assert all(memory[name] == value for name, value in leg.layout.first.settings)


@both
def test_a_servo_that_was_off_and_dipped_gets_gain_and_bound_with_its_torque(family):
    leg = Leg(family, addresses=[ServoAddress(1, "a", "", 0.05)], ids=(1,))
    leg.go(START)
    leg.cycle(LIMP)
    leg.emulator.brown_out(0)
    leg.go(START)
    assert leg.memory(0)["position_p_gain"] == leg.model.gain_for(0.05)
    cap, full = leg.layout.first.cap
    assert leg.memory(0)[cap] == round(full * LEVEL_SHARE[3])


@both
def test_a_servo_that_shut_down_is_released_not_well_and_says_why(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.trip(2)
    for _ in range(10):
        leg.cycle(START + 3)
    assert leg.bus.status == [OK, OK, IMPLAUSIBLE, OK]
    assert leg.bus.misses[2] == 10
    (why,) = leg.bus.refusals
    assert "servo 3" in why
    assert "overload" in why
    assert sorted(leg.driven()) == [0, 1, 3]
    assert leg.memory(2)["torque_enable"] == 0
    leg.turn(2, START + 2)
    leg.cycle(START + 3)
    assert leg.bus.position_raw[2] == START + 2
    leg.emulator.trip(2, tripped=False)
    leg.go(START + 5)
    assert leg.bus.refusals == ()
    assert leg.bus.status == [OK] * 4


@both
def test_a_tripped_servo_confirms_that_it_is_limp(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.trip(2)
    for _ in range(5):
        leg.cycle(START)
    assert leg.cycle(LIMP) == [OK] * 4
    assert leg.release() == [OK] * 4


# --- torque off ---


@both
def test_limp_is_confirmed_and_its_load_is_nothing(family):
    leg = Leg(family)
    leg.go(START)
    leg.turn(1, START - 30, a=0.5)
    leg.emulator.stick(1)
    leg.cycle(START)
    assert leg.bus.current_raw[1] != 0
    assert leg.cycle([START, LIMP, START, START]) == [OK] * 4
    assert sorted(leg.driven()) == [0, 2, 3]
    assert leg.bus.current_raw[1] == 0
    leg.emulator.stick(1, stuck=False)
    leg.requests()
    leg.cycle(READ_ONLY)
    assert leg.reads_only()
    assert leg.go(START) <= 2


@both
def test_limp_takes_off_what_somebody_else_turned_on(family):
    leg = Leg(family)
    leg.go(START)
    leg.cycle(LIMP)
    leg.requests()
    leg.cycle(LIMP)
    assert leg.writes() == [(bus_id, "torque_enable", 0) for bus_id in leg.ids]
    leg.emulator.servos[1].write(leg.layout.register("torque_enable").address, b"\x01", leg.now_ns)
    assert leg.memory(1)["torque_enable"] == 1
    assert leg.cycle([READ_ONLY, LIMP, READ_ONLY, READ_ONLY]) == [OK] * 4
    assert leg.memory(1)["torque_enable"] == 0


@both
def test_limp_needs_no_set_up(family):
    leg = Leg(family)
    assert leg.cycle(LIMP) == [OK] * 4
    assert {name for _, name, _ in leg.writes()} == {"torque_enable"}


@both
def test_a_limp_servo_that_was_missed_is_told_again(family):
    leg = Leg(family)
    for _ in range(2):
        leg.cycle(LIMP)
    leg.emulator.unplug(1)
    leg.cycle(LIMP)
    leg.emulator.plug(1)
    leg.cycle(LIMP)
    assert leg.cycle(LIMP) == [OK] * 4
    leg.emulator.unplug(1)
    leg.cycle(LIMP)
    leg.requests()
    leg.cycle(LIMP)
    assert 2 in {bus_id for bus_id, _, _ in leg.writes()}


@both
def test_limp_that_was_not_confirmed_is_not_ok_and_said_again(family):
    leg = Leg(family)
    leg.go(START)
    dialect = leg.layout.dialect
    torque = leg.layout.register("torque_enable")
    numbers = b"".join(n.to_bytes(dialect.address_bytes, "little") for n in (torque.address, 1))
    off = dialect.instruction(0xFE, SYNC_WRITE, numbers + b"\x02\x00")
    leg.port.change = lambda data: data.replace(off, bytes(len(off)))
    assert leg.cycle([START, LIMP, START, START]) == [OK, MISSED, OK, OK]
    leg.port.change = None
    assert leg.cycle([START, LIMP, START, START]) == [OK] * 4
    assert 1 not in leg.driven()


@both
def test_torque_goes_off_for_everybody_at_once_and_is_confirmed(family):
    leg = Leg(family)
    leg.go(START)
    leg.requests()
    assert leg.release() == [OK] * 4
    assert leg.driven() == {}
    first = leg.requests()[0]
    assert (first.bus_id, first.instruction) == (0xFE, WRITE)
    assert leg.go(START) == 1


@both
def test_torque_goes_off_on_a_bus_that_has_said_nothing_yet(family):
    leg = Leg(family)
    leg.go(START)
    other = leg.another()
    other.torque_off(leg.now_ns)
    other.run_until(FAR)
    assert other.status == [OK] * 4
    assert leg.driven() == {}


@both
def test_a_torque_off_that_was_not_heard_is_said_to_each(family):
    leg = Leg(family)
    leg.go(START)
    everybody = torque_write(leg, 0xFE)
    leg.port.change = lambda data: data.replace(everybody, bytes(len(everybody)))
    assert leg.release() == [OK] * 4
    assert leg.driven() == {}


@both
def test_whoever_is_gone_does_not_confirm(family):
    leg = Leg(family)
    leg.go(START)
    leg.emulator.unplug(0)
    leg.emulator.unplug(2)
    assert leg.release() == [MISSED, OK, MISSED, OK]
    assert leg.release() == [MISSED, OK, MISSED, OK]


def torque_write(leg, bus_id):
    dialect = leg.layout.dialect
    address = leg.layout.register("torque_enable").address.to_bytes(dialect.address_bytes, "little")
    return dialect.instruction(bus_id, WRITE, address + b"\x00")


@both
def test_a_servo_whose_torque_stays_on_has_not_confirmed(family):
    leg = Leg(family)
    leg.go(START)
    everybody, third = torque_write(leg, 0xFE), torque_write(leg, 3)
    leg.port.change = lambda data: data.replace(everybody, bytes(len(everybody))).replace(third, bytes(len(third)))
    assert leg.release() == [OK, OK, IMPLAUSIBLE, OK]
    assert leg.driven() == {2: START}
    leg.port.change = None
    assert leg.release() == [OK] * 4


@both
def test_torque_off_comes_after_the_exchange_under_way(family):
    leg = Leg(family)
    leg.go(START)
    leg.bus.start(leg.now_ns, [START + 50] * 4)
    leg.requests()
    leg.bus.torque_off(leg.now_ns + 1000)
    leg.bus.torque_off(leg.now_ns + 2000)
    end = leg.bus.run_until(FAR)
    assert leg.bus.wake_ns == NEVER
    assert leg.driven() == {}
    assert leg.bus.status == [OK] * 4
    assert end < leg.now_ns + 5 * MS
    leg.now_ns = end
    assert leg.cycle() == [OK] * 4


@both
def test_torque_off_in_the_middle_of_a_set_up_leaves_it_to_be_done_anew(family):
    for steps in range(1, 40, 3):
        leg = Leg(family, (1, 2))
        leg.bus.start(0, [START] * 2)
        now = 0
        for _ in range(steps):
            now = leg.bus.wake_ns
            if leg.bus.proceed(now):
                break
        leg.bus.torque_off(now)
        leg.now_ns = leg.bus.run_until(FAR)
        assert leg.bus.status == [OK] * 2
        assert leg.driven() == {}
        for _ in range(3):
            leg.cycle()
        assert leg.driven() == {}
        leg.go(START)


@both
def test_the_volley_takes_the_torque_off_first_of_all(family):
    leg = Leg(family)

    class Silent:
        hold_ns = late_ns = 0
        written = b""

        def write(self, data, now_ns):
            self.written += data

        def read(self, now_ns):
            return b""

        def flush_input(self, now_ns):
            return 0

        def ready_ns(self, expected):
            return NEVER

    leg.port = Silent()
    bus = leg.another()
    bus.torque_off(0)
    bus.run_until(FAR)
    assert bus.status == [MISSED] * 4
    first, *rest = leg.requests()
    torque = leg.layout.register("torque_enable").address
    assert (first.bus_id, first.instruction, first.params[0], first.params[-1]) == (0xFE, WRITE, torque, 0)
    # And again and again: the first time may meet what servos still say.
    assert {packet.instruction for packet in rest} == {READ, SYNC_READ, WRITE}
    assert {packet.bus_id for packet in rest if packet.instruction == WRITE} == {0xFE}
