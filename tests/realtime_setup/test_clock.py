from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.realtime.clock import RealClock, SuspendWatch, allowed_share

MS = 1_000_000


class FakeMachine:
    """Time that passes in `select` and, a little, whenever it is read. Descriptors become readable at given times."""

    def __init__(self, *, late_ns: int = 0, step_ns: int = 100) -> None:
        self.time_ns = 10_000 * MS
        self.late_ns, self.step_ns = late_ns, step_ns
        self.readable_at: dict[int, int] = {}
        self.slept_ns = 0
        self.sleeps: list[int] = []

    def now(self) -> int:
        self.time_ns += self.step_ns
        return self.time_ns

    def select(
        self, read: Sequence[int], write: Sequence[int], bad: Sequence[int], timeout: float
    ) -> tuple[list[Any], list[Any], list[Any]]:
        assert timeout >= 0
        timeout_ns = round(timeout * 1e9)
        if timeout_ns:
            self.sleeps.append(timeout_ns)
            first = min((self.readable_at.get(one, 1 << 62) for one in read), default=1 << 62)
            end = max(self.time_ns, min(self.time_ns + timeout_ns + self.late_ns, first))
            self.slept_ns += end - self.time_ns
            self.time_ns = end
        return [one for one in read if self.readable_at.get(one, 1 << 62) <= self.time_ns], [], []

    def work(self, duration_ns: int) -> None:
        self.time_ns += duration_ns


def clock_of(machine: FakeMachine, **settings: Any) -> RealClock:
    return RealClock(now=machine.now, selector=machine.select, **settings)


@pytest.mark.parametrize("spin_us", [0, 200])
def test_waits_until_the_deadline_and_not_shorter(spin_us: int) -> None:
    machine = FakeMachine()
    clock = clock_of(machine, spin_us=spin_us)
    deadline = clock.now_ns + 5 * MS
    assert not clock.wait(deadline, (3,))
    assert deadline - 200 <= machine.time_ns <= deadline + 2000


@pytest.mark.parametrize("spin_us", [0, 200])
@pytest.mark.parametrize("at_ns", [1 * MS, 5 * MS - 50_000])
def test_a_readable_descriptor_ends_the_wait(spin_us: int, at_ns: int) -> None:
    machine = FakeMachine()
    clock = clock_of(machine, spin_us=spin_us)
    start = machine.time_ns
    machine.readable_at[4] = start + at_ns
    assert clock.wait(start + 5 * MS, (3, 4))
    assert start + at_ns <= machine.time_ns <= start + at_ns + 1000


@pytest.mark.parametrize("spin_us", [0, 200])
@pytest.mark.parametrize("readable", [True, False])
def test_a_deadline_that_has_passed_only_looks(spin_us: int, readable: bool) -> None:
    machine = FakeMachine()
    clock = clock_of(machine, spin_us=spin_us)
    if readable:
        machine.readable_at[3] = 0
    assert bool(clock.wait(clock.now_ns - MS, (3,))) is readable
    assert machine.sleeps == []


def test_polling_hides_a_wake_up_that_comes_late() -> None:
    lateness = {}
    for spin_us in (0, 100):
        machine = FakeMachine(late_ns=60_000)
        clock = clock_of(machine, spin_us=spin_us)
        deadline = machine.time_ns + 5 * MS
        clock.wait(deadline, ())
        lateness[spin_us] = machine.time_ns - deadline
    assert lateness[0] > 50_000
    assert lateness[100] < 1_000


def test_without_polling_nothing_is_spun() -> None:
    machine = FakeMachine()
    clock = clock_of(machine)
    for _ in range(10):
        clock.wait(clock.now_ns + MS, ())
    assert clock.spun_ns == 0
    assert len(machine.sleeps) == 10


@pytest.mark.parametrize(("spin_us", "work_ns"), [(10_000, 0), (10_000, 300_000), (500, 600_000), (10_000, 3 * MS)])
def test_busy_time_stays_below_the_throttle_in_every_second(spin_us: int, work_ns: int) -> None:
    machine = FakeMachine(step_ns=1000)
    clock = clock_of(machine, spin_us=spin_us, share=0.95)
    busy: list[tuple[int, int]] = []
    deadline = machine.time_ns
    for _ in range(6000):
        deadline += 1 * MS if work_ns < MS else 5 * MS
        began, slept = machine.time_ns, machine.slept_ns
        clock.wait(deadline, ())
        machine.work(work_ns)
        busy.append((machine.time_ns, machine.time_ns - began - (machine.slept_ns - slept)))
    for start in range(0, len(busy), 100):
        first = busy[start][0]
        total = sum(spent for at, spent in busy[start:] if at < first + 1000 * MS)
        assert total < 0.85 * 1000 * MS
    assert clock.spun_ns > 0


def test_a_process_with_time_to_spare_never_stops_polling() -> None:
    machine = FakeMachine(late_ns=60_000)
    clock = clock_of(machine, spin_us=100, share=0.95)
    deadline = machine.time_ns
    for _ in range(3000):
        deadline += MS
        machine.work(400_000)
        clock.wait(deadline, ())
        assert machine.time_ns - deadline < 1_000


def test_work_alone_above_the_share_leaves_nothing_to_spin() -> None:
    machine = FakeMachine()
    clock = clock_of(machine, spin_us=100, share=0.95)
    for _ in range(2000):
        machine.work(900_000)
        clock.wait(machine.time_ns + 100_000, ())
    spun = clock.spun_ns
    for _ in range(1000):
        machine.work(900_000)
        clock.wait(machine.time_ns + 100_000, ())
    assert clock.spun_ns - spun < 1000 * 1000


@pytest.mark.parametrize(
    ("runtime", "period", "share"),
    [("950000\n", "1000000\n", 0.95), ("-1\n", "1000000\n", 1.0), ("500000", "1000000", 0.5), ("0", "1000000", 0.0)],
)
def test_the_share_is_what_the_kernel_says(tmp_path: Path, runtime: str, period: str, share: float) -> None:
    (tmp_path / "sched_rt_runtime_us").write_text(runtime)
    (tmp_path / "sched_rt_period_us").write_text(period)
    assert allowed_share(str(tmp_path)) == share


def test_the_share_is_the_default_where_nothing_is_said(tmp_path: Path) -> None:
    assert allowed_share(str(tmp_path)) == 0.95


class TwoClocks:
    """CLOCK_BOOTTIME and CLOCK_MONOTONIC, the second of which stands still while suspended."""

    def __init__(self) -> None:
        self.boot, self.suspended = 5_000 * MS, 700 * MS
        self.delay_ns = 100

    def boottime(self) -> int:
        self.boot += self.delay_ns
        return self.boot

    def monotonic(self) -> int:
        self.boot += self.delay_ns
        return self.boot - self.suspended

    def suspend(self, duration_ns: int) -> None:
        self.boot += duration_ns
        self.suspended += duration_ns


def test_a_suspend_is_noticed_once_and_measured() -> None:
    clocks = TwoClocks()
    watch = SuspendWatch(clocks.boottime, clocks.monotonic)
    assert watch.check() == 0
    clocks.suspend(3_000 * MS)
    found = watch.check()
    assert 3_000 * MS - 1000 <= found <= 3_000 * MS
    assert watch.check() == 0
    clocks.suspend(20 * MS)
    assert watch.check() == pytest.approx(20 * MS, abs=1000)


def test_being_preempted_between_the_two_readings_is_no_suspend() -> None:
    clocks = TwoClocks()
    clocks.delay_ns = 40 * MS
    watch = SuspendWatch(clocks.boottime, clocks.monotonic)
    for delay in (100, 90 * MS, 50, 200 * MS, 3):
        clocks.delay_ns = delay
        assert watch.check() == 0


def test_a_slow_first_reading_does_not_blind_it_for_ever() -> None:
    clocks = TwoClocks()
    clocks.delay_ns = 40 * MS
    watch = SuspendWatch(clocks.boottime, clocks.monotonic)
    clocks.delay_ns = 100
    watch.check()
    clocks.suspend(20 * MS)
    assert watch.check() > 19 * MS
