"""The AI motor bus on the virtual clock, to the nanosecond."""

import pytest
from emulated import EXCHANGE_NS, LISTEN_NS, MS, REPLY_NS, REQUEST_NS, addresses, rig

from drivers.aimotor.bus import AiMotorBus
from drivers.errors import BusError, BusUrlError, FrameError, PortError
from drivers.port import NEVER
from drivers.servo import ReplyStatus

OK, MISSED, IMPLAUSIBLE = ReplyStatus.OK, ReplyStatus.MISSED, ReplyStatus.IMPLAUSIBLE
TIMEOUT_NS = REQUEST_NS + REPLY_NS + 4 * MS
FAR = 10**15


def cycle(bus, now_ns, goals):
    bus.start(now_ns, goals)
    return bus.run_until(FAR)


def by_steps(bus, now_ns, goals):
    """Run a cycle by `proceed` at each `wake_ns`; return (end, the wake instants)."""
    bus.start(now_ns, goals)
    wakes = []
    while not bus.proceed(now_ns):
        now_ns = bus.wake_ns
        wakes.append(now_ns)
    return now_ns, wakes


def test_four_motors_run_at_197_hz():
    bus, _, plant = rig()
    end = cycle(bus, 0, [-1] * 4)
    assert end == 4 * EXCHANGE_NS == 5_086_664
    assert round(1e9 / end) == 197
    assert bus.stamp_ns == [EXCHANGE_NS * k for k in (1, 2, 3, 4)]
    assert bus.position_raw == [100] * 4
    assert bus.current_raw == [10] * 4
    assert bus.status == [OK] * 4
    assert bus.wake_ns == NEVER
    assert cycle(bus, end, [100] * 4) == 2 * end
    assert [c for c in plant.calls if c[0] == "advance"][4:6] == [
        ("advance", end + REQUEST_NS),
        ("advance", end + EXCHANGE_NS + REQUEST_NS),
    ]


def test_proceed_at_each_wake_is_the_same_as_run_until():
    fast, slow = rig(), rig()
    for _, _, plant in (fast, slow):
        plant.path = lambda servo, now: (60 + servo) + 0.3 * now / MS
    now_fast = now_slow = 0
    for goals in ([-1] * 4, [10, 20, 30, 40], [-1, 20, -1, 250]):
        now_fast = cycle(fast[0], now_fast, goals)
        now_slow, wakes = by_steps(slow[0], now_slow, goals)
        assert len(wakes) == 4
    assert now_fast == now_slow
    assert fast[2].calls == slow[2].calls
    for name in ("position_raw", "current_raw", "status", "stamp_ns", "misses"):
        assert getattr(fast[0], name) == getattr(slow[0], name)


def test_run_until_stops_at_the_horizon_and_goes_on():
    bus, _, _plant = rig()
    bus.start(0, [-1] * 4)
    assert bus.run_until(EXCHANGE_NS - 1) == NEVER
    assert bus.status == [ReplyStatus.NONE] * 4
    assert bus.run_until(EXCHANGE_NS) == NEVER
    assert bus.status[:2] == [OK, ReplyStatus.NONE]
    assert bus.wake_ns == 2 * EXCHANGE_NS
    assert bus.run_until(4 * EXCHANGE_NS) == 4 * EXCHANGE_NS
    assert bus.run_until(FAR) == NEVER
    assert bus.proceed(FAR)


def test_a_late_host_sends_the_next_request_late_but_keeps_the_stamp():
    bus, _, plant = rig()
    bus.start(0, [-1] * 4)
    assert not bus.proceed(EXCHANGE_NS - 1)
    assert not bus.proceed(3 * MS)
    assert bus.stamp_ns[0] == EXCHANGE_NS
    assert bus.wake_ns == 3 * MS + EXCHANGE_NS
    assert plant.calls[-1] == ("advance", 3 * MS + REQUEST_NS)


def test_goals_levels_and_reads_reach_the_plant():
    bus, _, plant = rig()
    plant.calls.clear()
    end = cycle(bus, 0, [0, -1, 127, 254])
    bus.set_level(0)
    cycle(bus, end, [-1, 7, -1, -1])
    assert plant.commands() == [
        ("command", 0, 0, 3),
        ("command", 2, 127, 3),
        ("command", 3, 254, 3),
        ("command", 1, 7, 0),
    ]


@pytest.mark.parametrize("goals", [[255, 0, 0, 0], [-3, 0, 0, 0], [0, -2, -3, 255], [0, 0, 0], []])
def test_goals_the_wire_cannot_carry_are_refused_before_anything_is_sent(goals):
    bus, _, plant = rig()
    plant.calls.clear()
    with pytest.raises(FrameError):
        bus.start(0, goals)
    assert plant.calls == []
    assert bus.wake_ns == NEVER
    assert cycle(bus, 0, [-1] * 4) == 4 * EXCHANGE_NS


def test_a_missing_servo_costs_its_timeout_and_is_counted():
    bus, emulator, _plant = rig()
    now = cycle(bus, 0, [100] * 4)
    emulator.unplug(1)
    for missed in range(1, 7):
        before, now = now, cycle(bus, now, [100] * 4)
        assert now - before == 3 * EXCHANGE_NS + TIMEOUT_NS + LISTEN_NS
        assert bus.status == [OK, MISSED, OK, OK]
        assert bus.misses == [0, missed, 0, 0]
        assert bus.position_raw == [100] * 4
    assert bus.stamp_ns[1] == 2 * EXCHANGE_NS
    emulator.plug(1)
    for status in (ReplyStatus.UNSURE, OK):
        now = cycle(bus, now, [100, -1, 100, 100])
        assert bus.status == [OK, status, OK, OK]
    assert bus.misses == [0] * 4


def test_timeout_is_an_option():
    bus, emulator, _ = rig((5,), bus_options={"timeout_ns": 1 * MS})
    emulator.unplug(0)
    assert cycle(bus, 0, [-1]) == REQUEST_NS + REPLY_NS + 1 * MS


@pytest.mark.parametrize("jump", [5, -5, 200])
def test_a_jump_faster_than_v_max_is_refused_once_then_confirmed(jump):
    bus, _, plant = rig((0,))
    now = cycle(bus, 0, [50])
    start = bus.position_raw[0]
    # 600 deg/s for one exchange of 1.27 ms is 1.17 ticks, and one tick of rounding.
    plant.angles[0] = (start + jump) * 0.654 if start + jump <= 254 else 254 * 0.654
    now = cycle(bus, now, [50])
    assert bus.status == [IMPLAUSIBLE]
    assert (bus.position_raw, bus.misses) == ([start], [1])
    assert bus.stamp_ns == [EXCHANGE_NS]
    now = cycle(bus, now, [-1])
    assert bus.status == [OK]
    assert bus.position_raw == [min(start + jump, 254)]
    assert bus.misses == [0]


def test_plausibility_bound_is_v_max_t_plus_one_tick():
    # 514.3 deg/s for one exchange of 1.271666 ms is one tick: two ticks of difference pass from there on.
    for v_max, status in ((513.0, IMPLAUSIBLE), (516.0, OK)):
        bus, _, plant = rig((0,), bus_options={"v_max_deg_s": v_max})
        now = cycle(bus, 0, [-1])
        plant.angles[0] = 102 * 0.654
        cycle(bus, now, [-1])
        assert bus.status == [status]
    bus, _, plant = rig((0,), bus_options={"v_max_deg_s": 1e-6})
    now = cycle(bus, 0, [-1])
    plant.angles[0] = 101 * 0.654
    cycle(bus, now, [-1])
    assert bus.status == [OK]


def test_the_bound_grows_with_the_age_of_the_measurement():
    bus, _, plant = rig((0,))
    cycle(bus, 0, [-1])
    plant.angles[0] = 150 * 0.654
    cycle(bus, 60 * MS, [-1])
    assert bus.status == [OK]


def test_the_first_reply_is_believed_wherever_the_shaft_stands():
    for raw in (0, 1, 254):
        bus, _, plant = rig((0,))
        plant.angles[0] = raw * 0.654
        cycle(bus, 0, [-1])
        assert (bus.position_raw, bus.status) == ([raw], [OK])


def test_torque_off_waits_for_the_exchange_under_way_and_confirms_each_servo():
    bus, emulator, plant = rig()
    now = cycle(bus, 0, [50] * 4)
    emulator.unplug(2)
    plant.calls.clear()
    bus.start(now, [60] * 4)
    bus.torque_off(now + 1000)
    bus.torque_off(now + 2000)
    end = bus.run_until(FAR)
    assert end == now + EXCHANGE_NS + 3 * EXCHANGE_NS + TIMEOUT_NS + LISTEN_NS
    assert plant.commands() == [("command", 0, 60, 3), ("release", 0), ("release", 1), ("release", 3)]
    assert bus.status == [OK, OK, MISSED, OK]
    assert bus.current_raw == [10] * 4
    assert bus.position_raw == [100] * 4


def test_torque_off_between_cycles_starts_at_once_and_repeats():
    bus, _, plant = rig((0, 1))
    for begin in (0, 10 * MS):
        plant.calls.clear()
        bus.torque_off(begin)
        assert bus.run_until(FAR) == begin + 2 * EXCHANGE_NS
        assert plant.commands() == [("release", 0), ("release", 1)]
        assert bus.status == [OK, OK]
    assert bus.current_raw == [-1, -1]


def test_torque_off_asked_for_in_the_past_of_a_cycle_that_ran_ahead():
    bus, _, plant = rig()
    end = cycle(bus, 0, [100] * 4)
    plant.calls.clear()
    bus.torque_off(1 * MS)
    assert bus.run_until(FAR) == 2 * end
    assert bus.status == [OK] * 4
    assert plant.calls[0] == ("advance", end + REQUEST_NS)


def test_a_cycle_within_a_cycle_is_refused():
    bus, _, _ = rig()
    bus.start(0, [-1] * 4)
    for begin in (lambda: bus.start(1, [-1] * 4), lambda: bus.discover(1)):
        with pytest.raises(BusError, match="not complete"):
            begin()


def test_discover_finds_every_id_that_answers():
    bus, emulator, plant = rig((2, 30, 11))
    emulator.unplug(2)
    plant.calls.clear()
    bus.discover(0)
    end = bus.run_until(FAR)
    assert bus.found == (2, 30)
    assert end == 2 * EXCHANGE_NS + 29 * TIMEOUT_NS + 2 * LISTEN_NS
    assert plant.commands() == []
    assert bus.status == [ReplyStatus.NONE] * 3
    assert bus.misses == [0] * 3


def test_servo_lists_are_checked():
    with pytest.raises(BusUrlError, match="at least one"):
        AiMotorBus(None, [])
    with pytest.raises(BusUrlError, match="share bus id 4"):
        AiMotorBus(None, addresses(4, 4))
    for bad in (-1, 31):
        with pytest.raises(BusUrlError, match="0 to 30"):
            AiMotorBus(None, addresses(bad))


def test_levels_are_checked():
    bus, _, _ = rig()
    for bad in (-1, 5):
        with pytest.raises(FrameError, match=r"0 \(strongest\) to 4"):
            bus.set_level(bad)


def test_close_is_final_and_harmless_twice():
    bus, _, _ = rig()
    bus.close()
    bus.close()
    with pytest.raises(PortError):
        bus.start(0, [-1] * 4)


def test_the_bus_has_at_most_ten_public_methods():
    methods = [name for name in dir(AiMotorBus) if not name.startswith("_") and callable(getattr(AiMotorBus, name))]
    assert len(methods) <= 10
