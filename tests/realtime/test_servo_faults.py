"""Servos that are absent, stuck, limp by themselves, at another id, or lose their supply, under a whole daemon."""

from __future__ import annotations

import subprocess
import sys
import time  # noqa: TID251  real processes live on the real clock

from nuc_engine.emulation.bytelog import commands_beyond
from tests.realtime.daemon import MS, ROOT, assert_limp_within, wait_for
from tests.realtime.served import assert_limp_from, drives, repeat_disturbed

MISSES_NS = 100 * MS
"""Five cycles in which one servo of four is waited for in vain, and the one under way before."""

NAME = "Coxa-Trochanter_motor"
OTHERS = (0, 1, 3)


def driven(leg) -> list[int]:
    """Return the level each servo is driven with, -1 for one without torque."""
    return [servo["driven"] for servo in leg.tell("status")["servos"]]


def await_alone(served) -> None:
    """Wait until the third servo alone has not confirmed.

    Another one may be in it for a cycle: what follows a missed reply is believed late.
    """
    wait_for(lambda: [*served.words()["unconfirmed"]] == [NAME], "the others to have confirmed", served)


def test_a_servo_that_is_absent_is_named_and_nothing_is_driven_without_it(serve, stalls):
    leg, served = serve()
    leg.tell("unplug", servo=2)
    served.await_ready()
    await_alone(served)
    assert served.refusal(served.client.run).startswith("no answer from ")
    assert drives(leg, 0) == 0
    assert NAME in served.await_logged("torque_unconfirmed")["text"]
    leg.tell("plug", servo=2)
    served.insist(served.client.run)
    wait_for(lambda: drives(leg, 0), "the leg to be driven", served)


def test_a_servo_that_is_lost_in_a_bout_makes_the_others_limp_and_comes_back_limp(bench, stalls):
    leg, served = bench

    def trial():
        leg.tell("unstick", servo=2)
        leg.tell("plug", servo=2)
        served.run_bout()
        leg.tell("unplug", servo=2)
        lost = time.monotonic_ns()
        served.await_fault("motor_silent")
        time.sleep(0.1)
        assert_limp_within(leg, lost, MISSES_NS)
        assert driven(leg) == [-1] * 4
        wait_for(
            lambda: served.refusal(served.client.arm).startswith(f"{NAME} has not confirmed"),
            "the others to have confirmed",
            served,
        )
        leg.tell("plug", servo=2)
        back = time.monotonic_ns()
        served.await_limp()
        time.sleep(0.1)
        assert_limp_from(leg, back)

    repeat_disturbed(stalls, trial)
    assert f"{NAME} (bus id 2) has not answered 5 times in a row" in served.await_logged("motor_silent")["text"]
    served.run_bout(0.1)


def test_a_stuck_servo_is_not_noticed_and_never_commanded_beyond_its_limit(serve, stalls):
    leg, served = serve("--limit", f"{NAME}=5")

    def trial():
        bout = served.run_bout()
        leg.tell("stick", servo=2)
        at = time.monotonic_ns()
        time.sleep(0.7)
        words = served.words()
        assert (words["bout"], words["latched"]) == (bout, False)
        assert drives(leg, at + 500 * MS) > 0
        leg.tell("unstick", servo=2)
        time.sleep(0.1)
        assert not served.words()["latched"]
        served.finish_bout()

    repeat_disturbed(stalls, trial)
    assert commands_beyond(leg.log(), {2: 5}) == []


def test_a_servo_that_goes_limp_by_itself_is_not_noticed_and_taken_back_by_off_and_arm(bench, stalls):
    leg, served = bench

    def trial():
        leg.tell("trip", servo=2, on=False)
        bout = served.run_bout()
        leg.tell("trip", servo=2, on=True)
        time.sleep(0.4)
        words = served.words()
        assert (words["bout"], words["latched"]) == (bout, False)
        assert driven(leg)[2] == -1
        assert min(driven(leg)[k] for k in OTHERS) >= 0
        served.client.off("a joint hangs")
        served.await_limp()
        assert driven(leg) == [-1] * 4
        served.run_bout()
        assert min(driven(leg)) >= 0
        served.finish_bout()

    repeat_disturbed(stalls, trial)


def test_a_servo_at_another_id_is_absent_and_can_not_be_driven(serve):
    leg, served = serve()
    leg.tell("wrong_id", servo=2, id=9)
    served.await_ready()
    await_alone(served)
    assert served.refusal(served.client.run).startswith("no answer from ")
    assert drives(leg, 0) == 0
    assert driven(leg) == [-1] * 4
    leg.tell("wrong_id", servo=2, id=2)


def test_a_servo_that_changes_its_id_in_a_bout_is_said_to_be_under_torque_until_the_bus_is_searched(bench, stalls):
    leg, served = bench

    def trial():
        leg.tell("wrong_id", servo=2, id=2)
        served.run_bout()
        leg.tell("wrong_id", servo=2, id=9)
        lost = time.monotonic_ns()
        served.await_fault("motor_silent")
        time.sleep(0.1)
        assert_limp_within(leg, lost, MISSES_NS)
        await_alone(served)
        assert served.words()["torque"]
        # It hears nothing that is said to its old id, and keeps its last goal.
        assert [level >= 0 for level in driven(leg)] == [False, False, True, False]

    repeat_disturbed(stalls, trial)
    assert served.end() == 1
    assert "torque_unconfirmed" in {told["event"] for told in served.logged()}
    said = nuc("bus", "release", leg.url)
    assert "9" in said
    assert driven(leg) == [-1] * 4


def test_after_the_supply_was_lost_nothing_moves_before_somebody_arms(bench, stalls):
    leg, served = bench

    def trial():
        leg.tell("supply", on=True)
        served.run_bout()
        leg.tell("supply", on=False)
        lost = time.monotonic_ns()
        served.await_fault("motor_silent")
        assert drives(leg, lost + 25 * MS) == 0
        leg.tell("supply", on=True)
        back = time.monotonic_ns()
        served.await_limp()
        time.sleep(0.2)
        assert_limp_from(leg, back)
        assert driven(leg) == [-1] * 4
        assert "arm" in served.refusal(served.client.run)
        served.run_bout(0.1)
        assert min(driven(leg)) >= 0
        served.finish_bout()

    repeat_disturbed(stalls, trial)


def test_a_supply_that_fails_for_40_ms_leaves_the_leg_limp_and_one_of_10_ms_costs_replies(bench, stalls):
    leg, served = bench

    def fail_for(milliseconds: float) -> int:
        leg.tell("supply", on=False)
        until = time.monotonic_ns() + round(milliseconds * MS)
        while time.monotonic_ns() < until:
            time.sleep(0.001)
        leg.tell("supply", on=True)
        return time.monotonic_ns()

    def trial():
        bout = served.run_bout()
        fail_for(8)
        time.sleep(0.2)
        assert (served.words()["bout"], served.words()["latched"]) == (bout, False)
        back = fail_for(40)
        wait_for(lambda: served.words()["latched"], "a fault", served)
        served.await_limp()
        time.sleep(0.2)
        assert_limp_from(leg, back)
        assert drives(leg, back + 25 * MS) == 0
        assert "arm" in served.refusal(served.client.run)

    repeat_disturbed(stalls, trial)
    # Where D is as long as the outage, the first servo that was asked in it is silent.
    assert served.words()["latch_reason"] in ("motor_silent", "bus_silent")


def nuc(*words: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "nuc_engine.cli", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
