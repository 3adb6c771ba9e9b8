"""Buses that fall silent, babble, lose and change bytes, under a whole daemon: judged by the emulator's byte log."""

from __future__ import annotations

import time  # noqa: TID251  real processes live on the real clock
from types import SimpleNamespace

import pytest

from drivers.aimotor.emulation.injection import LineRecord
from drivers.servo import ReplyStatus
from tests.drivers.fault_table import fault_table
from tests.realtime.daemon import MS, wait_for
from tests.realtime.served import (
    assert_limp_from,
    cycles_logged,
    drives,
    manifest,
    repeat_disturbed,
)

CYCLE_NS = 25 * MS
"""A cycle of four servos of which none answers, and room for the terminal."""

SILENT_NS = 6 * CYCLE_NS
"""Five of them, and the one under way when the silence began."""

REACH_TICKS = 26
"""How far a shaft is believed to get (600 degrees per second) while an exchange is missed and made up for."""


def first_release_ns(leg, since_ns: int) -> int:
    log = leg.log()
    ids = log.header.ids
    return min(f.end_ns for f in log.frames if f.end_ns > since_ns and any(f.releases(bus_id) for bus_id in ids))


def test_a_bus_that_falls_silent_is_limp_as_soon_as_it_speaks_again(bench, stalls):
    leg, served = bench

    def trial():
        leg.tell("faults")
        served.run_bout()
        leg.tell("faults", drop=1.0)
        silent = time.monotonic_ns()
        served.await_fault("motor_silent")
        time.sleep(0.1)
        assert drives(leg, silent + CYCLE_NS) == 0
        assert first_release_ns(leg, silent) < silent + SILENT_NS
        assert "has not confirmed that its torque is off" in served.refusal(served.client.arm)
        assert len(served.words()["unconfirmed"]) == 4
        leg.tell("faults")
        back = time.monotonic_ns()
        served.await_limp()
        time.sleep(0.1)
        assert_limp_from(leg, back)
        assert "arm" in served.refusal(served.client.run)

    repeat_disturbed(stalls, trial)
    told = served.await_logged("motor_silent")
    assert "has not answered 5 times in a row" in told["text"]
    ended = manifest(served.await_whole(served.bouts()[-1]))
    assert (ended["state"], ended["reason"].partition(":")[0]) == ("fault", "motor_silent")
    served.run_bout(0.1)
    assert not served.words()["latched"]


def test_a_servo_that_babbles_ends_the_bout_and_all_obey_the_torque_off_nobody_hears_confirmed(bench, stalls):
    leg, served = bench

    def trial():
        leg.tell("babble", servo=1, on=False)
        served.run_bout()
        leg.tell("babble", servo=1, on=True)
        begun = time.monotonic_ns()
        served.await_fault("motor_silent")
        time.sleep(0.2)
        assert first_release_ns(leg, begun) < begun + SILENT_NS
        assert drives(leg, begun + SILENT_NS) == 0
        # They hear; it is their confirmations that do not get through.
        assert {servo["driven"] for servo in leg.tell("status")["servos"]} == {-1}
        assert served.words()["unconfirmed"]
        leg.tell("babble", servo=1, on=False)
        silent = time.monotonic_ns()
        served.await_limp()
        time.sleep(0.1)
        assert_limp_from(leg, silent)

    repeat_disturbed(stalls, trial)
    served.run_bout(0.1)


@pytest.mark.parametrize(
    "faults",
    [
        # Of the six bytes of an exchange, four lost by a truncation of both messages: 1 % of all bytes.
        {"truncate": 0.015},
        # One byte of each message, two of six: 1 % of all bytes.
        {"flip": 0.03},
    ],
    ids=["lost", "flipped"],
)
def test_at_one_percent_of_bad_bytes_the_bout_goes_on_and_everything_detectable_is_counted(serve, stalls, faults):
    # On a line that may be late a reply that is lost holds everybody for D.
    leg, served = serve(line="?late_us=0")

    def trial():
        leg.tell("faults")
        before = leg.tell("status")
        bout = served.run_bout()
        leg.tell("faults", **faults)
        time.sleep(4.0)
        leg.tell("faults")
        time.sleep(0.1)
        words = served.words()
        assert (words["bout"], words["latch_reason"]) == (bout, ""), served.said()[-2000:]
        folder = served.finish_bout()
        after = leg.tell("status")
        counted = manifest(folder)["counts"]
        seen = [status for cycle in cycles_logged(folder) for status in cycle[5]]
        missed, refused = seen.count(ReplyStatus.MISSED), seen.count(ReplyStatus.IMPLAUSIBLE)
        # What the engine counted is what stands in the data, cycle by cycle.
        assert sum(counted["missed_replies"].values()) == missed + refused
        noticed = SimpleNamespace(missed=missed, implausible=refused, stray_bytes=0)
        table = fault_table(
            difference(after, before), injected(after, before), noticed, reach_ticks=REACH_TICKS, margin_ns=4 * MS
        )
        assert sum(table.injected.values()) > 40, table
        assert table.detectable > 20, table
        assert table.unnoticed == 0, table
        assert table.undetectable < table.detectable, table

    repeat_disturbed(stalls, trial)
    assert served.logged("reply_missed")


def difference(after, before) -> LineRecord:
    new, old = after["record"], before["record"]
    counts = {name: new[name] - old[name] for name in ("exchanges", "visible", "current", "command")}
    record = LineRecord(**counts)
    for name, counter in (("late", record.late), ("position", record.position)):
        for size, count in new[name].items():
            counter[int(size)] = count - old[name].get(size, 0)
    return record


def injected(after, before) -> dict[str, int]:
    counts = {name: count - before["injected"].get(name, 0) for name, count in after["injected"].items()}
    return {name: count for name, count in counts.items() if count}


def test_a_line_that_is_held_up_ends_the_bout_and_old_goals_are_not_obeyed_afterwards(bench, stalls):
    leg, served = bench

    def trial():
        served.run_bout()
        leg.tell("stall", ms=400)
        begun = time.monotonic_ns()
        served.await_fault("motor_silent")
        wait_for(lambda: time.monotonic_ns() > begun + 600 * MS, "the end of the hold-up")
        served.await_limp()
        # What waited in the adapter is at most the cycle under way; whatever it was, a torque-off came behind it.
        assert drives(leg, begun + 400 * MS + 50 * MS) == 0
        assert {servo["driven"] for servo in leg.tell("status")["servos"]} == {-1}

    repeat_disturbed(stalls, trial)
    served.run_bout(0.1)
