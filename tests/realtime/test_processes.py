"""Every process of the daemon, killed, stopped and crashed while it drives a leg: judged by the emulator's byte log."""

from __future__ import annotations

import os
import signal
import time  # noqa: TID251  real processes live on the real clock
from contextlib import ExitStack

import pytest

from nuc_engine.daemon.latch import LATCH_REASONS
from tests.realtime.daemon import LIMP_NS, MS, Leg, PlainDaemon, Stalls, assert_limp_within, undisturbed, wait_for


@pytest.fixture(scope="module")
def stalls(tmp_path_factory):
    beside = Stalls(tmp_path_factory.mktemp("stalls"))
    yield beside
    beside.end()


@pytest.fixture
def bench(tmp_path):
    """A leg and a daemon that is ready, both of this test alone."""
    with ExitStack() as ends:
        leg = Leg(tmp_path)
        ends.callback(leg.end, signal.SIGKILL)
        daemon = PlainDaemon(tmp_path, leg.url)
        ends.callback(close, daemon)
        daemon.await_ready()
        yield leg, daemon


def close(daemon: PlainDaemon) -> None:
    """End it at once, and everything it started."""
    children = daemon.pids()
    daemon.end(signal.SIGKILL)
    for pid in children.values():
        wait_for(lambda pid=pid: not alive(pid), "the end of the daemon's processes")


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def reason(daemon) -> str:
    words = daemon.words()
    return LATCH_REASONS[words["LATCH_REASON"]] if words["LATCHED"] else ""


def drives_since(leg, since_ns: int) -> int:
    return sum(1 for frame in leg.log().frames if frame.goals() and frame.end_ns > since_ns)


@pytest.mark.parametrize(
    ("number", "fault"),
    [(signal.SIGKILL, "core_dead"), (signal.SIGABRT, "core_dead"), (signal.SIGSTOP, "core_stalled")],
)
def test_a_core_that_dies_or_stops_leaves_the_leg_limp_within_50_ms(bench, stalls, number, fault):
    leg, daemon = bench

    def trial():
        daemon.run_bout()
        before = daemon.words()
        pid = daemon.pids()["core"]
        at = daemon.kill("core", number)
        time.sleep(0.3)
        assert_limp_within(leg, at)
        after = daemon.await_ready()
        assert after["CORE_GENERATION"] == before["CORE_GENERATION"] + 1
        assert after["LATCH_COUNT"] == before["LATCH_COUNT"] + 1
        assert reason(daemon) == fault
        # Waking it up again changes nothing: it is dead.
        assert not alive(pid)
        ok, detail = daemon.order("RUN", 0, -1, 99)
        assert not ok
        assert "arm" in detail

    undisturbed(stalls, trial)
    daemon.run_bout(0.1)
    assert daemon.words()["MODE"] == 2


def test_a_guardian_that_is_killed_is_replaced_and_the_new_one_watches(bench, stalls):
    leg, daemon = bench

    def trial():
        daemon.run_bout()
        deaths = daemon.words()["GUARDIAN_DEATHS"]
        old = daemon.pids()["guardian"]
        daemon.kill("guardian")
        wait_for(lambda: daemon.pids().get("guardian", old) != old, "a new guardian")
        wait_for(lambda: daemon.words()["GUARDIAN_DEATHS"] == deaths + 1, "its death to be counted")
        time.sleep(0.1)
        # The core may or may not have noticed: where it has, the leg is limp already.
        if not daemon.words()["LATCHED"]:
            at = daemon.kill("core")
            time.sleep(0.3)
            assert_limp_within(leg, at)
        assert reason(daemon) in ("core_dead", "guardian_lost")

    undisturbed(stalls, trial)


def test_a_guardian_that_is_stopped_makes_the_core_take_the_torque_off_itself(bench, stalls):
    leg, daemon = bench

    def trial():
        daemon.run_bout()
        old = daemon.pids()["guardian"]
        at = daemon.kill("guardian", signal.SIGSTOP)
        time.sleep(0.4)
        assert_limp_within(leg, at)
        assert reason(daemon) == "guardian_lost"
        assert not alive(old)
        assert daemon.pids()["guardian"] != old

    undisturbed(stalls, trial)
    daemon.run_bout(0.1)


def test_core_and_guardian_killed_together_leave_the_leg_limp_and_latched(bench, stalls):
    leg, daemon = bench

    def trial():
        daemon.run_bout()
        pids = daemon.pids()
        at = time.monotonic_ns()
        os.kill(pids["guardian"], signal.SIGKILL)
        os.kill(pids["core"], signal.SIGKILL)
        time.sleep(0.3)
        # Two faults at once: a new guardian has to be forked first.
        assert_limp_within(leg, at, 3 * LIMP_NS)
        daemon.await_ready()
        assert reason(daemon) == "core_dead"

    undisturbed(stalls, trial)


def test_a_supervisor_that_is_killed_takes_everything_with_it_torque_off_first(bench, stalls):
    leg, daemon = bench
    daemon.run_bout()
    children = daemon.pids()
    at = daemon.kill("supervisor")
    daemon.ended()
    for name, pid in children.items():
        wait_for(lambda pid=pid: not alive(pid), f"the end of {name}")
    if not stalls.between(at, at + LIMP_NS):
        assert_limp_within(leg, at)
    else:
        assert_limp_within(leg, at, 1000 * MS)


def test_a_supervisor_that_is_stopped_does_not_stop_the_leg_and_the_guardian_needs_it_not(bench, stalls):
    leg, daemon = bench

    def trial():
        daemon.run_bout()
        before = daemon.words()["CORE_GENERATION"]
        at = daemon.kill("supervisor", signal.SIGSTOP)
        try:
            time.sleep(0.3)
            assert drives_since(leg, at + 250 * MS) > 0
            core = daemon.kill("core")
            time.sleep(0.3)
            assert_limp_within(leg, core)
            # There is nobody to start another one, until:
            assert daemon.words()["CORE_GENERATION"] == before
        finally:
            os.kill(daemon.pid, signal.SIGCONT)
        wait_for(lambda: daemon.words()["CORE_READY"] > before, "another core", daemon)

    undisturbed(stalls, trial)


def test_a_supervisor_that_stands_still_for_longer_leaves_the_leg_limp(bench, stalls):
    leg, daemon = bench

    def trial():
        daemon.run_bout()
        at = daemon.kill("supervisor", signal.SIGSTOP)
        time.sleep(1.0)
        try:
            assert_limp_within(leg, at, 800 * MS)
        finally:
            os.kill(daemon.pid, signal.SIGCONT)
        daemon.await_ready()
        assert reason(daemon) == "supervisor_lost"
        # Armed, it runs again.
        daemon.run_bout(0.1)

    undisturbed(stalls, trial)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_a_service_that_dies_is_replaced_and_the_leg_goes_on(bench, stalls, number):
    leg, daemon = bench

    def trial():
        bout = daemon.run_bout()
        before = daemon.words()
        at = daemon.kill("service", number)
        wait_for(lambda: daemon.words().get("SERVICE_DEATHS") == before["SERVICE_DEATHS"] + 1, "another", daemon)
        time.sleep(0.1)
        words = daemon.words()
        assert (words["BOUT"], words["LATCHED"]) == (bout, 0)
        assert words["CORE_GENERATION"] == before["CORE_GENERATION"]
        assert drives_since(leg, at) > 40
        assert daemon.order("STOP", "off")[0]

    undisturbed(stalls, trial)


def test_a_service_that_is_stopped_and_goes_on_changes_nothing(bench, stalls):
    leg, daemon = bench

    def trial():
        daemon.run_bout()
        before = daemon.words()["SERVICE_DEATHS"]
        pid = daemon.pids()["service"]
        at = daemon.kill("service", signal.SIGSTOP)
        time.sleep(0.5)
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.1)
        words = daemon.words()
        assert (words["LATCHED"], words["SERVICE_DEATHS"]) == (0, before)
        assert drives_since(leg, at + 400 * MS) > 0
        assert daemon.order("STOP", "off")[0]

    undisturbed(stalls, trial)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_an_emulator_that_dies_is_a_bus_that_is_lost_and_found_again_limp(bench, tmp_path, number):
    leg, daemon = bench
    daemon.run_bout()
    leg.end(number)
    wait_for(lambda: daemon.words()["BUS_LOST"] == 1, "the loss to be noticed", daemon)
    leg.bytes.rename(tmp_path / "first.bytes")
    # Another emulator under the same names: servos that power up, and were not told anything yet.
    again = Leg(tmp_path)
    try:
        wait_for(lambda: daemon.words()["BUS_LOST"] == 0, "the port to be found", daemon)
        daemon.await_ready()
        assert reason(daemon) == "bus_lost"
        log = again.log()
        assert not [frame for frame in log.frames if frame.goals()]
        assert all(any(frame.releases(bus_id) for frame in log.frames[:4]) for bus_id in log.header.ids)
        daemon.run_bout(0.1)
        assert drives_since(again, 0) > 0
    finally:
        again.end(signal.SIGKILL)


def test_an_emulator_that_stands_still_is_silent_servos_and_all_are_limp_in_the_end(bench):
    leg, daemon = bench
    daemon.run_bout()
    os.kill(leg.pid, signal.SIGSTOP)
    wait_for(lambda: daemon.words()["LATCHED"], "a fault", daemon)
    time.sleep(0.2)
    os.kill(leg.pid, signal.SIGCONT)
    back = time.monotonic_ns()
    wait_for(lambda: daemon.words()["TORQUE"] == 0, "confirmation", daemon)
    assert reason(daemon) == "motor_silent"
    time.sleep(0.1)
    assert_limp_within(leg, back)


def test_a_port_that_was_unplugged_is_limp_within_50_ms_of_being_found_and_stays_so(bench, stalls):
    leg, daemon = bench

    def trial():
        daemon.run_bout()
        leg.tell("unplug")
        wait_for(lambda: daemon.words()["BUS_LOST"] == 1, "the loss to be noticed", daemon)
        time.sleep(0.1)
        leg.tell("plug")
        plugged = time.monotonic_ns()
        wait_for(lambda: daemon.words()["BUS_LOST"] == 0, "the port to be found", daemon)
        time.sleep(0.3)
        # Found at the latest one look after it was there.
        assert_limp_within(leg, plugged, LIMP_NS + 20 * MS)
        daemon.await_ready()
        assert reason(daemon) == "bus_lost"

    undisturbed(stalls, trial)
    daemon.run_bout(0.1)


def test_anyone_who_asks_for_torque_off_gets_it(bench, stalls):
    leg, daemon = bench

    def trial():
        daemon.run_bout()
        at = time.monotonic_ns()
        daemon.ask("off")
        time.sleep(0.2)
        assert_limp_within(leg, at)
        words = daemon.words()
        assert (words["OFF_OPEN"], words["TORQUE"]) == (0, 0)
        assert reason(daemon) == "off"

    undisturbed(stalls, trial)
    assert daemon.words()["CORE_DEATHS"] == 0


def test_an_end_that_is_asked_for_is_confirmed_by_every_servo(bench, stalls):
    leg, daemon = bench
    daemon.run_bout()
    children = daemon.pids()
    at = time.monotonic_ns()
    assert daemon.end() == 0
    if not stalls.between(at, at + LIMP_NS):
        assert_limp_within(leg, at)
    assert not any(alive(pid) for pid in children.values())


def test_an_end_asked_for_twice_comes_at_once(bench):
    leg, daemon = bench
    daemon.run_bout()
    os.kill(daemon.pids()["core"], signal.SIGSTOP)
    at = time.monotonic_ns()
    daemon.process.send_signal(signal.SIGTERM)
    time.sleep(0.01)
    assert daemon.end() == 0
    assert time.monotonic_ns() - at < 2_000 * MS
    assert_limp_within(leg, at, 200 * MS)


def test_a_servo_that_does_not_answer_at_the_end_is_said_and_makes_the_status_1(bench):
    leg, daemon = bench
    daemon.run_bout()
    leg.tell("unplug", servo=2)
    wait_for(lambda: daemon.words()["LATCHED"], "a fault", daemon)
    assert daemon.end() == 1


def test_a_new_configuration_is_a_new_core_and_no_fault(bench):
    _, daemon = bench
    daemon.ask("configure", "null_roach")
    wait_for(lambda: daemon.words().get("CORE_PLAN") == 2, "the plan to be seen", daemon)
    words = daemon.await_ready()
    assert (words["LATCHED"], words["CORE_DEATHS"], words["GUARDIAN_DEATHS"]) == (0, 0, 0)
    assert words["CORE_GENERATION"] == 2
    daemon.run_bout(0.05)
