"""Taking the torque off a line whose core died in the middle of a cycle, on paper time."""

import os

import pytest

from drivers.factory import bus_on_port, find_family, parse_line
from drivers.inprocess import InProcessPort
from drivers.port import wire_ns
from drivers.serial.held import HeldPort
from drivers.servo import Motion, ServoAddress
from nuc_engine.bout.run import prepare_bout
from nuc_engine.daemon.block import WORDS, Word
from nuc_engine.daemon.launch import BusLine
from nuc_engine.daemon.lines import open_lines, release_burst_of
from nuc_engine.daemon.release import SETTLE_NS, GuardedBus, Release

MS = 1_000_000
FAR = 10**15
INSTANTS = 12
TICK_DEG = {"dynamixel": 360 / 4096, "feetech": 360 / 4096, "aimotor": 0.654}


class Clock:
    def __init__(self, now_ns):
        self.now_ns = now_ns

    def wait(self, deadline_ns, filenos):
        self.now_ns = max(self.now_ns, deadline_ns)
        return ()


class Shafts:
    """Stand still; `limp` says since when each is free, of those that are."""

    def __init__(self, count, angle_deg):
        self.limp = dict.fromkeys(range(count), 0)
        self.angle_deg, self.now_ns = angle_deg, 0

    def advance(self, now_ns):
        self.now_ns = max(self.now_ns, now_ns)

    def command(self, servo, goal_deg, level):
        self.limp.pop(servo, None)

    def drive(self, servo, goal_deg, stiffness_n_m_deg, limit_n_m):
        self.limp.pop(servo, None)

    def release(self, servo):
        self.limp.setdefault(servo, self.now_ns)

    def sample(self, servo):
        return self.angle_deg, 0.0

    def motion(self, servo):
        return Motion(self.angle_deg, 0.0, 0.0, 0.0)


class Driven:
    """A line of `count` servos that a core drives, up to `share` of a cycle."""

    def __init__(self, url, count, share=0.0):
        self.spec = parse_line(url)
        self.servos = [ServoAddress(k + 1, f"m{k}") for k in range(count)]
        family = find_family(self.spec.family)
        self.shafts = Shafts(count, 100 * TICK_DEG[self.spec.family])
        self.emulator = family.emulator(
            f"emulated:{self.spec.family}?baud={self.spec.baud}", self.servos, self.shafts, 1
        )
        self.port = InProcessPort(self.emulator, self.spec.baud)
        core, now = bus_on_port(self.spec, self.port, self.servos), 0
        while self.shafts.limp:
            core.start(now, [100] * count)
            now = core.run_until(FAR)
        core.start(now, [100] * count)
        begun, now = now, core.run_until(FAR)
        self.cycle_ns = now - begun
        self.died_ns = now + int(share * self.cycle_ns)
        core.start(now, [100] * count)
        core.run_until(self.died_ns)
        self.words = memoryview(bytearray(8 * WORDS)).cast("q")

    def line(self, port=None):
        port = port or self.port
        volley, behind_ns = release_burst_of(self.spec, self.servos)
        bus = bus_on_port(self.spec, port, self.servos)
        motors = tuple(range(len(self.servos)))
        return GuardedBus("b", self.spec.baud, port, bus, motors, volley, lambda: None, behind_ns)

    def release(self, port=None):
        """Return whether all confirmed, and how long that took."""
        clock = Clock(self.died_ns)
        done = Release([self.line(port)], self.words, clock, lambda: None).run(self.died_ns + 1_000 * MS)
        return done, clock.now_ns - self.died_ns


@pytest.mark.parametrize(
    ("url", "count"),
    [
        ("dynamixel:///dev/x", 4),
        ("dynamixel:///dev/x?fast=1", 4),
        ("dynamixel:///dev/x?single=1", 4),
        ("dynamixel:///dev/x?baud=1000000", 18),
        ("feetech:///dev/x", 4),
        ("feetech:///dev/x?baud=57600", 4),
    ],
)
def test_on_a_shared_wire_all_are_limp_as_soon_as_nobody_talks_any_more(url, count):
    for instant in range(INSTANTS):
        driven = Driven(url, count, instant / INSTANTS)
        done, took_ns = driven.release()
        assert done
        assert len(driven.shafts.limp) == count
        # What is left of the cycle, and the request that is on the wire as it ends and the one behind that.
        left_ns = driven.cycle_ns * (INSTANTS - instant) // INSTANTS
        off_ns = wire_ns(13, driven.spec.baud)
        assert max(driven.shafts.limp.values()) - driven.died_ns < left_ns + 3 * off_ns
        # The volley, the group that is asked, and what servos wait before they answer.
        assert took_ns < 3 * driven.cycle_ns + 10 * MS


@pytest.mark.parametrize("url", ["dynamixel:///dev/x", "feetech:///dev/x", "feetech:///dev/x?single=1"])
@pytest.mark.parametrize("count", [1, 4, 18])
def test_the_volley_on_a_shared_wire_asks_nobody(url, count):
    spec = parse_line(url)
    volley, behind_ns = release_burst_of(spec, [ServoAddress(k + 1, f"m{k}") for k in range(count)])
    heard = [heard for _, heard in find_family(spec.family).sniffer().feed(volley)]
    assert {(entry.releases, entry.asks) for entry in heard} == {((-1,), ())}
    assert behind_ns > 0


@pytest.mark.parametrize("url", ["dynamixel:///dev/x", "feetech:///dev/x?baud=57600"])
def test_it_lasts_about_as_long_as_a_cycle(url):
    driven = Driven(url, 18)
    lasts_ns = wire_ns(len(driven.line().release_burst), driven.spec.baud)
    assert 0.9 * driven.cycle_ns < lasts_ns < 1.2 * driven.cycle_ns


@pytest.mark.parametrize("count", [1, 4, 18])
@pytest.mark.parametrize("form", ["", "?sync=1", "?baud=115200"])
def test_on_lines_of_their_own_every_servo_is_asked_once_and_nothing_is_waited_for(count, form):
    spec = parse_line(f"aimotor:///dev/x{form}")
    volley, behind_ns = release_burst_of(spec, [ServoAddress(k, f"m{k}") for k in range(count)])
    heard = [heard for _, heard in find_family("aimotor").sniffer().feed(volley)]
    assert [entry.releases for entry in heard] == [(k,) for k in range(count)]
    assert behind_ns == 0


def test_who_is_silent_is_not_confirmed_by_what_an_adapter_held_back():
    driven = Driven("aimotor:///dev/x", 4)
    driven.emulator.unplug(2)
    done, _ = driven.release(HeldPort(driven.port, 16 * MS))
    assert not done
    assert driven.words[Word.UNCONFIRMED] == 1 << 2


@pytest.fixture
def terminal():
    """Return a descriptor of a port whose adapter can not be asked for its timer."""
    ends = os.openpty()
    yield ends[1]
    for end in ends:
        os.close(end)


@pytest.mark.parametrize(("option", "hold_ms"), [("", 0), ("?latency_ms=1", 0), ("?latency_ms=16&echo=1", 15)])
def test_what_the_url_says_of_the_adapter_is_allowed_for(terminal, option, hold_ms):
    (line,) = open_lines([BusLine("", f"aimotor:///dev/x{option}", terminal)], prepare_bout("lin_roach", None).plan)
    assert line.port.hold_ns == hold_ms * MS
    clock, words = Clock(0), memoryview(bytearray(8 * WORDS)).cast("q")
    # Nobody is asked any more: only the volley, and the time in which it may be answered.
    assert not Release([line], words, clock, lambda: None).run(1)
    assert clock.now_ns == wire_ns(4, 57_600) + wire_ns(len(line.release_burst), 57_600) + hold_ms * MS + SETTLE_NS
