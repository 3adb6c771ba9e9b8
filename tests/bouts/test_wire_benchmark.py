"""The benchmark of the wire: it waits as the daemon does, and only cycles in which every servo answered count."""

import os
import tty

import pytest

from benchmarks.realtime.others import Others
from benchmarks.realtime.servos import StillPlant
from benchmarks.realtime.wire import Row, Tally, run_bare, run_cycle, share_wanted
from drivers.bench.budget import forms_of
from drivers.bus import READ_ONLY
from drivers.factory import open_bus
from drivers.servo import ReplyStatus, ServoAddress


class VirtualClock:
    """Jumps to what it is told to wait for, and writes down how long that was."""

    def __init__(self):
        self.now_ns = 0
        self.waits_ns = []

    def wait(self, deadline_ns, filenos):
        self.waits_ns.append(deadline_ns - self.now_ns)
        self.now_ns = max(self.now_ns, deadline_ns)
        return ()


def four_motors(url):
    return open_bus(url, [ServoAddress(k, f"servo {k}", "701") for k in range(4)], StillPlant(), seed=2)


class Near:
    """A bus with three things to do in a cycle, soon after one another."""

    status = (ReplyStatus.OK,)

    def start(self, now_ns, goals):
        self.wake_ns, self.left = now_ns + 1_000, 3

    def filenos(self):
        return ()

    def proceed(self, now_ns):
        assert now_ns >= self.wake_ns or self.left == 3
        if now_ns >= self.wake_ns:
            self.left -= 1
            self.wake_ns = now_ns + 1_000
        return self.left == 0


def test_every_wait_is_left_to_the_clock_however_short():
    clock = VirtualClock()
    assert run_cycle(Near(), [READ_ONLY], clock)
    assert clock.waits_ns == [1_000] * 3


def test_cycles_in_which_somebody_is_silent_cost_time_and_do_not_count():
    bus, clock, tally, answered = four_motors("emulated:aimotor?drop=0.02"), VirtualClock(), Tally(), []

    def cycle():
        whole = run_cycle(bus, [READ_ONLY] * 4, clock)
        answered.append(bus.status == [ReplyStatus.OK] * 4)
        return whole

    tally.take(cycle, 200, clock)
    assert 0 < tally.broken == answered.count(False) < 100
    assert tally.whole == answered.count(True)
    assert tally.lasted_ns == clock.now_ns
    assert tally.rate_hz == pytest.approx(tally.whole * 1e9 / clock.now_ns)


def test_nor_do_rounds_of_the_bare_loop_that_were_not_answered():
    master, slave = os.openpty()
    tty.setraw(slave)
    clock, tally = VirtualClock(), Tally()
    try:
        run_bare(slave, [(b"ask", 0)], 3, tally, clock, timeout_s=0.0)
        run_bare(slave, [(b"ask", 2)], 2, tally, clock, timeout_s=0.0)
        # What came too late is none of the next ones' answer.
        os.write(master, b"ok")
        run_bare(slave, [(b"ask", 2)], 1, tally, clock, timeout_s=0.0)
    finally:
        os.close(slave)
        os.close(master)
    assert (tally.whole, tally.broken) == (3, 3)


def test_a_row_holds_the_bus_against_the_bare_loop_and_against_the_wire():
    row = Row(forms_of("aimotor")[0], 57_600, 4)
    row.bus, row.bare = Tally(200, 1, 10**9), Tally(208, 0, 10**9)
    # 24 bytes, and 100 us before each of four replies.
    limit_hz = 1 / (24 * 10 / 57_600 + 4 * 100e-6)
    assert row.of_bare == pytest.approx(200 / 208)
    assert row.of_wire == pytest.approx(200 / limit_hz, rel=1e-6)
    assert row.kept
    row.bus.whole = int(208 * share_wanted(57_600))
    assert not row.kept
    # A bare loop that waited in vain makes every bus look fast.
    row.bus.whole, row.bare.broken = 208, 1
    assert not row.kept
    assert "not judged" in row.cells()[-1]
    row.bare.broken, row.why_not = 0, "not all servos answer"
    assert not row.kept
    assert "not all servos answer" in str(row.cells())


def test_what_others_do_is_no_less_than_nothing():
    assert 0.0 <= Others(os.getpid()).busy() <= (os.cpu_count() or 1)
