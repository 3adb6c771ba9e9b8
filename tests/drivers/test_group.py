"""Several buses as one, on the virtual clock."""

import pytest
from emulated import EXCHANGE_NS, LISTEN_NS, MS, REPLY_NS, REQUEST_NS, Polled, ScriptedPlant, addresses, rig, wired

from drivers.aimotor import AiMotorBus, AiMotorEmulator
from drivers.bus import LIMP, READ_ONLY, Bus
from drivers.errors import BusError, BusUrlError, FrameError, PortGoneError
from drivers.group import BusGroup
from drivers.inprocess import InProcessPort
from drivers.port import NEVER
from drivers.servo import ReplyStatus

OK, MISSED, NONE = ReplyStatus.OK, ReplyStatus.MISSED, ReplyStatus.NONE
TIMEOUT_NS = REQUEST_NS + REPLY_NS + 4 * MS
FAR = 10**15
# Group order: hip, knee and foot of one leg interleaved with those of the other.
SLOTS = [(0, 0), (1, 2), (0, 1), (1, 0), (1, 1)]


def two_legs(**options):
    """Return (group, [(bus, emulator, plant) of each])."""
    legs = [rig((10, 11), **options), rig((20, 21, 22), **options)]
    legs[0][2].angles = [raw * 0.654 for raw in (10, 11)]
    legs[1][2].angles = [raw * 0.654 for raw in (20, 21, 22)]
    group: Bus = BusGroup([leg[0] for leg in legs], SLOTS)
    return group, legs


def by_steps(bus, now_ns):
    while not bus.proceed(now_ns):
        now_ns = bus.wake_ns
    return now_ns


def test_the_buses_run_side_by_side_and_the_cycle_ends_with_the_slowest():
    group, _ = two_legs()
    assert [servo.bus_id for servo in group.servos] == [10, 22, 11, 20, 21]
    group.start(0, [READ_ONLY] * 5)
    assert group.wake_ns == EXCHANGE_NS
    assert group.run_until(FAR) == 3 * EXCHANGE_NS
    assert group.wake_ns == NEVER
    assert group.position_raw == [10, 22, 11, 20, 21]
    assert group.stamp_ns == [EXCHANGE_NS * k for k in (1, 3, 2, 1, 2)]
    assert (group.status, group.current_raw, group.misses) == ([OK] * 5, [10] * 5, [0] * 5)
    assert group.filenos() == ()


def test_goals_and_levels_reach_their_servos():
    group, legs = two_legs()
    group.set_level(1)
    for _, _, plant in legs:
        plant.calls.clear()
    group.start(0, [50, 51, 52, LIMP, READ_ONLY])
    group.run_until(FAR)
    assert legs[0][2].commands() == [("command", 0, 50, 1), ("command", 1, 52, 1)]
    assert legs[1][2].commands() == [("release", 0), ("command", 2, 51, 1)]
    assert group.current_raw[3] == 0


def test_run_until_and_proceed_agree():
    results = []
    for drive in (lambda group, now: group.run_until(FAR), by_steps):
        group, legs = two_legs()
        legs[1][1].unplug(1)
        now, seen = 0, []
        for goal in (READ_ONLY, 15, LIMP):
            group.start(now, [goal] * 5)
            now = drive(group, now)
            seen.append((now, group.position_raw[:], group.status[:], group.stamp_ns[:], group.misses[:]))
        results.append((seen, [leg[2].calls for leg in legs], group.missed, group.stray_bytes))
    assert results[0] == results[1]
    assert results[0][2] == 3


def test_the_horizon_holds_for_every_bus():
    group, legs = two_legs()
    group.start(0, [READ_ONLY] * 5)
    assert group.run_until(2 * EXCHANGE_NS) == NEVER
    assert legs[0][0].wake_ns == NEVER
    assert group.status == [OK, NONE, OK, NONE, NONE]
    assert group.wake_ns == 3 * EXCHANGE_NS
    assert not group.proceed(2 * EXCHANGE_NS)
    with pytest.raises(BusError, match="not complete"):
        group.start(2 * EXCHANGE_NS, [READ_ONLY] * 5)
    with pytest.raises(BusError, match="not complete"):
        group.discover(2 * EXCHANGE_NS)
    assert group.run_until(FAR) == 3 * EXCHANGE_NS
    assert group.run_until(FAR) == NEVER
    assert group.proceed(FAR)


def test_one_plant_behind_two_buses_never_sees_time_run_backwards():
    plant = ScriptedPlant(4)
    buses = []
    for ids in ((0, 1, 2, 3), (4, 5)):
        emulator = AiMotorEmulator(addresses(*ids), plant)
        buses.append(AiMotorBus(InProcessPort(emulator, emulator.baud), addresses(*ids)))
    group = BusGroup(buses, [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1)])
    now = 0
    for _ in range(3):
        group.start(now, [READ_ONLY] * 6)
        now = group.run_until(FAR)
    instants = [call[1] for call in plant.calls if call[0] == "advance"]
    assert instants == sorted(instants)
    assert len(instants) == 18


def test_a_missing_servo_delays_its_bus_alone():
    group, legs = two_legs()
    legs[0][1].unplug(0)
    group.start(0, [READ_ONLY] * 5)
    assert group.run_until(FAR) == TIMEOUT_NS + EXCHANGE_NS + LISTEN_NS
    assert group.status == [MISSED, OK, OK, OK, OK]
    assert group.stamp_ns[1] == 3 * EXCHANGE_NS
    assert (group.missed, group.implausible) == (1, 0)


def test_torque_off_waits_on_each_bus_for_its_own_exchange():
    group, legs = two_legs()
    for _, _, plant in legs:
        plant.calls.clear()
    group.start(0, [60] * 5)
    group.run_until(2 * EXCHANGE_NS + MS)
    group.torque_off(2 * EXCHANGE_NS + MS)
    end = group.run_until(FAR)
    assert end == 3 * EXCHANGE_NS + 3 * EXCHANGE_NS
    for _, _, plant in legs:
        released = [call[1] for call in plant.commands() if call[0] == "release"]
        assert released == list(range(len(plant.angles)))
    assert group.status == [OK] * 5


def test_what_either_bus_can_not_drive_is_told_and_no_longer_once_it_can():
    group, legs = two_legs()
    assert group.refusals == ()
    for first, second in ((("a",), ()), ((), ("b", "c")), (("a",), ("b",)), ((), ())):
        legs[0][0].refusals, legs[1][0].refusals = first, second
        group.start(0, [READ_ONLY] * 5)
        group.run_until(FAR)
        assert group.refusals == (*first, *second)


def test_discover_tells_the_ids_of_each_bus():
    group, legs = two_legs()
    legs[1][1].unplug(1)
    group.discover(0)
    now = group.run_until(FAR)
    assert now < NEVER
    assert group.found_by_bus == ((10, 11), (20, 22))
    assert group.found == (10, 11, 20, 22)
    group.discover(now, (11, 20))
    group.run_until(FAR)
    assert group.found_by_bus == ((11,), (20,))


@pytest.mark.parametrize("slots", [[], [(0, 0)], [(0, 0), (0, 0)], [(0, 0), (0, 1), (0, 2)], [(0, 0), (1, 1)]])
def test_slots_are_checked(slots):
    bus, _, _ = rig((0, 1))
    with pytest.raises(BusUrlError, match="each of"):
        BusGroup([bus], slots)


def test_wrong_goals_are_refused():
    group, _ = two_legs()
    with pytest.raises(BusError, match="expected 5"):
        group.start(0, [1])
    with pytest.raises(FrameError):
        group.start(0, [255] + [10] * 4)
    group.torque_off(0)
    assert group.run_until(FAR) < NEVER
    assert group.status == [OK] * 5


class Cut:
    """A port whose device can be pulled out."""

    def __init__(self, port):
        self._port, self.gone = port, False

    def __getattr__(self, name):
        if self.gone and name in ("write", "read", "flush_input"):

            def fail(*arguments):
                raise PortGoneError("/dev/ttyUSB1 is gone")

            return fail
        return getattr(self._port, name)


def test_a_bus_that_is_gone_does_not_keep_the_others_from_torque_off():
    ports, plants = [], []
    for ids in ((0, 1), (2, 3)):
        port, _, plant = wired(*ids)
        ports.append(Cut(port))
        plants.append(plant)
    buses = [AiMotorBus(port, addresses(*ids)) for port, ids in zip(ports, ((0, 1), (2, 3)), strict=True)]
    group = BusGroup(buses, [(0, 0), (0, 1), (1, 0), (1, 1)])
    group.start(0, [40] * 4)
    now = group.run_until(FAR)
    ports[0].gone = True
    with pytest.raises(PortGoneError, match="ttyUSB1"):
        group.torque_off(now)
    for _ in range(20):
        try:
            done = group.proceed(now)
        except PortGoneError:
            done = False
        if done:
            break
        now += MS
    assert [call for call in plants[1].commands() if call[0] == "release"][2:] == [("release", 0), ("release", 1)]
    assert group.status[2:] == [OK, OK]
    group.close()


def test_polled_ports_are_waited_for_by_their_descriptors():
    buses = []
    for ids in ((0,), (1, 2)):
        port, _, _ = wired(*ids)
        buses.append(AiMotorBus(Polled(port), addresses(*ids)))
    group = BusGroup(buses, [(0, 0), (1, 0), (1, 1)])
    assert group.filenos() == (7, 7)
    group.start(0, [READ_ONLY] * 3)
    now = 0
    while not group.proceed(now):
        now += 50_000
    assert group.status == [OK] * 3
    assert now < 3 * MS
