"""Work at the bench, on the virtual clock."""

import pytest
from emulated import EXCHANGE_NS, MS, addresses, rig, wired

from drivers.aimotor import FAMILY, AiMotorBus
from drivers.bench.plant import BenchPlant
from drivers.bench.release import Releasing, discover, measure, read_all, release
from drivers.bus import READ_ONLY
from drivers.clock import VirtualPace
from drivers.errors import PortGoneError
from drivers.factory import find_family
from drivers.serial.lineoptions import open_on_emulator
from drivers.servo import ReplyStatus, ServoAddress


def everybody(*ids):
    """Return (bus of every id there can be, emulator, plant)."""
    port, emulator, plant = wired(*ids)
    return AiMotorBus(port, FAMILY.every_servo()), emulator, plant


def test_who_is_there_and_where_they_stand():
    bus, _, plant = rig((3, 17))
    plant.angles[1] = 0.0
    pace = VirtualPace()
    plant.calls.clear()
    assert discover(bus, pace) == (3, 17)
    read_all(bus, pace)
    assert bus.position_raw == [100, 0]
    assert plant.commands() == []


def test_round_trips_are_from_request_to_whole_reply():
    bus, emulator, _ = rig((3, 17))
    pace = VirtualPace()
    for round_number, trips in enumerate(measure(bus, pace, 5), 1):
        assert [trip.exchanges for trip in trips] == [round_number] * 2
    assert [trip.times_ns for trip in trips] == [[EXCHANGE_NS] * 5] * 2
    emulator.unplug(0)
    trips = list(measure(bus, pace, 3))[-1]
    # What follows a miss is believed after a pause: its time says nothing.
    assert [(trip.missed, len(trip.times_ns)) for trip in trips] == [(3, 0), (0, 0)]
    assert [(trip.exchanges, trip.answered) for trip in trips] == [(3, False), (3, True)]
    assert [trip.bus_id for trip in trips] == [3, 17]


def test_a_reply_that_was_asked_for_again_is_not_timed_backwards():
    servos = [ServoAddress(bus_id, f"id {bus_id}", "XM430-W350") for bus_id in (1, 2, 3)]
    family = find_family("dynamixel")
    url = "emulated:dynamixel?baud=1000000"
    emulator = family.emulator(url, servos, BenchPlant([family.models["XM430-W350"]] * 3), 0)
    bus, pace = open_on_emulator(family, url, emulator, servos), VirtualPace()
    emulator.unplug(1)
    read_all(bus, pace)
    emulator.plug(1)
    # The one that was missed is asked after the others, by itself.
    (trips,) = list(measure(bus, pace, 1))
    assert [trip.answered for trip in trips] == [True] * 3
    assert all(time_ns > 0 for trip in trips for time_ns in trip.times_ns)


def test_release_ends_when_everybody_has_confirmed_who_must():
    bus, _, plant = rig((10, 11))
    plant.calls.clear()
    line, pace = Releasing("leg", bus, (10, 11)), VirtualPace()
    release([line], pace, 2000 * MS)
    assert plant.commands() == [("release", 0), ("release", 1)]
    assert (line.confirmed, line.rounds, line.confirmed_all) == ({10, 11}, 1, True)
    assert pace.now_ns == 2 * EXCHANGE_NS


def test_release_goes_on_for_as_long_as_one_is_missing():
    bus, emulator, plant = rig((10, 11))
    emulator.unplug(1)
    line, pace = Releasing("leg", bus, (10, 11)), VirtualPace()
    release([line], pace, 200 * MS)
    assert (line.missing, line.confirmed_all) == ((11,), False)
    assert 190 * MS < pace.now_ns <= 210 * MS
    assert line.rounds > 20
    emulator.plug(1)
    plant.calls.clear()
    line = Releasing("leg", bus, (10, 11))
    bus.run_until(10**15)
    release([line], pace, pace.now_ns + 200 * MS)
    assert line.confirmed_all


def test_where_nobody_is_known_everybody_is_told_twice():
    bus, _, plant = everybody(2, 30)
    plant.calls.clear()
    line, pace = Releasing("leg", bus, None), VirtualPace()
    release([line], pace, 2000 * MS)
    assert (line.confirmed, line.rounds, line.confirmed_all) == ({2, 30}, 2, True)
    assert plant.commands() == [("release", 0), ("release", 1)] * 2


def test_nobody_at_all_is_no_success():
    bus, emulator, _ = everybody(2)
    emulator.supply(on=False)
    line = Releasing("leg", bus, None)
    release([line], VirtualPace(), 2000 * MS)
    assert not line.confirmed_all
    assert line.rounds > 5


def test_a_confirmation_counts_when_it_comes_and_not_only_at_the_end_of_a_round():
    bus, _, _ = rig((10, 11, 12))
    line = Releasing("leg", bus, (10, 11, 12))
    release([line], VirtualPace(), 2 * EXCHANGE_NS + EXCHANGE_NS // 2)
    assert (line.confirmed, line.missing, line.rounds) == ({10, 11}, (12,), 0)


def test_the_answer_to_what_was_asked_before_confirms_nothing():
    bus, _, plant = rig((10, 11))
    pace = VirtualPace()
    bus.start(0, [READ_ONLY, READ_ONLY])
    plant.calls.clear()
    line = Releasing("leg", bus, (10, 11))
    release([line], pace, EXCHANGE_NS + EXCHANGE_NS // 2)
    assert bus.status[0] == ReplyStatus.OK
    assert (line.confirmed, plant.commands()) == (set(), [("release", 0)])
    release([line], pace, 10 * EXCHANGE_NS)
    assert line.confirmed == {10, 11}


def test_others_are_told_once_and_after_those_who_must_confirm():
    port, emulator, plant = wired(2, 10, 30)
    bus = AiMotorBus(port, addresses(10))
    others = AiMotorBus(port, [servo for servo in FAMILY.every_servo() if servo.bus_id != 10])
    plant.calls.clear()
    line, pace = Releasing("leg", bus, (10,), others), VirtualPace()
    release([line], pace, 2000 * MS)
    assert plant.commands() == [("release", 1), ("release", 0), ("release", 2)]
    assert (line.confirmed, line.rounds, line.confirmed_all) == ({2, 10, 30}, 1, True)
    # One that is missing is asked again, the others are not.
    emulator.unplug(1)
    plant.calls.clear()
    line = Releasing("leg", bus, (10,), others)
    release([line], pace, pace.now_ns + 2000 * MS)
    assert (line.confirmed, line.missing) == ({2, 30}, (10,))
    assert plant.commands() == [("release", 0), ("release", 2)]
    assert line.rounds > 20


class Gone:
    """A port whose device is pulled out after so many writes."""

    def __init__(self, port, writes):
        self._port, self._writes = port, writes

    def __getattr__(self, name):
        return getattr(self._port, name)

    def write(self, data, now_ns):
        self._writes -= 1
        if self._writes < 0:
            raise PortGoneError("/dev/ttyUSB1 is gone")
        self._port.write(data, now_ns)


def test_buses_are_released_side_by_side_and_one_that_is_gone_is_told():
    for writes in (0, 1):
        good, _, plant = rig((1, 2))
        port, _, _ = wired(3, 4)
        lines = [
            Releasing("a", AiMotorBus(Gone(port, writes), addresses(3, 4)), (3, 4)),
            Releasing("b", good, (1, 2)),
        ]
        plant.calls.clear()
        pace = VirtualPace()
        release(lines, pace, 2000 * MS)
        assert [line.confirmed_all for line in lines] == [False, True]
        assert lines[0].failure == "/dev/ttyUSB1 is gone"
        assert pace.now_ns < 10 * MS


def test_a_port_that_is_gone_is_not_waited_for():
    port, _, _ = wired(1)
    with pytest.raises(PortGoneError):
        read_all(AiMotorBus(Gone(port, 0), addresses(1)), VirtualPace())
