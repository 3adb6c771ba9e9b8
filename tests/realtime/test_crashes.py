"""Crashes, power cuts and pauses of the whole machine beside `nuc serve`: what the leg does and what stands in the log.

A process that is killed from outside is in `test_processes`; here are those that crash by themselves (a signal that the
kernel sends for an error, such as SIGSEGV), and everything at once.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time  # noqa: TID251  real processes live on the real clock

from nuc_engine.emulation.bytelog import commands_beyond
from tests.realtime.daemon import MS, ROOT, Leg, assert_limp_within, wait_for
from tests.realtime.mortal import mortal
from tests.realtime.served import Served, alive, cycles_logged, drives, manifest, repeat_disturbed


def driven(leg: Leg) -> list[int]:
    return [servo["driven"] for servo in leg.tell("status")["servos"]]


def cut_the_power(served: Served) -> None:
    """Kill everything in a way that leaves nobody the time to see to anything."""
    pids = served.pids()
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    # Above all of them, or a loaded machine gives them the time.
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
    try:
        # It replaces a guardian faster than this process can kill the next one.
        os.kill(pids["supervisor"], signal.SIGSTOP)
        for name in ("guardian", "core", "service", "supervisor"):
            os.kill(pids[name], signal.SIGKILL)
    finally:
        os.sched_setscheduler(0, *before)
    served.ended()
    for pid in pids.values():
        wait_for(lambda pid=pid: not alive(pid), "the end of every process")


def nuc(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "nuc_engine.cli", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_main_process_that_crashes_leaves_a_limp_leg_and_a_whole_log(bench, stalls):
    leg, served = bench
    served.run_bout()
    children = served.pids()
    at = served.kill("supervisor", signal.SIGSEGV)
    assert served.ended() == -signal.SIGSEGV
    for name, pid in children.items():
        wait_for(lambda pid=pid: not alive(pid), f"the end of {name}")
    disturbed = stalls.between(at, at + 100 * MS)
    assert_limp_within(leg, at, 1000 * MS if disturbed else 50 * MS)
    assert driven(leg) == [-1] * 4
    # The service ends last, and says how the bout did.
    (folder,) = served.bouts()
    found = manifest(folder)
    assert (found["state"], found["reason"].partition(":")[0]) == ("fault", "supervisor_lost")
    cycles = cycles_logged(folder)
    assert [cycle[1] for cycle in cycles] == list(range(1, len(cycles) + 1))
    # A cycle that was under way when the guardian came is not in it.
    driven_cycles = sum(0 in frame.goals() for frame in leg.log().frames)
    assert len(cycles) >= driven_cycles - 1


def test_a_guardian_that_crashes_is_replaced_and_said(bench, stalls):
    leg, served = bench

    def trial():
        bout = served.run_bout()
        old = served.pids()["guardian"]
        deaths = served.words()["deaths"]["guardian"]
        served.kill("guardian", signal.SIGSEGV)
        wait_for(lambda: served.words()["deaths"]["guardian"] == deaths + 1, "its death to be counted", served)
        wait_for(lambda: served.pids().get("guardian", old) != old, "another guardian", served)
        time.sleep(0.2)
        words = served.words()
        # Replaced before anybody missed it, or the core took the torque off itself.
        assert words["latch_reason"] in ("", "guardian_lost")
        assert words["bout"] == bout or not words["torque"]
        at = served.kill("core", signal.SIGSEGV)
        time.sleep(0.3)
        assert_limp_within(leg, at)

    repeat_disturbed(stalls, trial)
    assert any("nuc-guardian was ended by SIGSEGV" in told["text"] for told in served.logged("process_died"))
    assert any("nuc-core was ended by SIGSEGV" in told["text"] for told in served.logged("process_died"))


def test_a_core_that_is_left_alone_takes_the_torque_off_and_ends(bench, stalls):
    leg, served = bench
    served.run_bout()
    pids = served.pids()
    # Stopped first, so that it has no time to start another guardian.
    os.kill(pids["supervisor"], signal.SIGSTOP)
    at = time.monotonic_ns()
    os.kill(pids["guardian"], signal.SIGKILL)
    os.kill(pids["supervisor"], signal.SIGKILL)
    served.ended()
    wait_for(lambda: not alive(pids["core"]), "the end of the core")
    assert_limp_within(leg, at, 1000 * MS if stalls.between(at, at + 100 * MS) else 50 * MS)
    assert driven(leg) == [-1] * 4
    wait_for(lambda: not alive(pids["service"]), "the end of the service")


def test_after_a_power_cut_the_bus_is_released_by_hand_and_the_bout_is_mended(bench, stalls):
    leg, served = bench
    served.run_bout(1.5)
    cut_the_power(served)
    # Servos with a supply of their own hold their last goal: nobody is there to tell them otherwise.
    assert min(driven(leg)) >= 0
    assert "nobody" not in nuc("bus", "release", leg.url, "--config", "lin_roach")
    assert driven(leg) == [-1] * 4
    (folder,) = served.bouts()
    assert manifest(folder)["state"] == "running"
    nuc("recover", str(served.data))
    mended = manifest(folder)
    assert mended["state"] == "torn"
    numbers = [cycle[1] for cycle in cycles_logged(folder)]
    assert numbers == list(range(1, len(numbers) + 1))
    # At most the second or so between two flushes is gone.
    assert len(numbers) > 20
    assert "nothing to mend" in nuc("recover", str(served.data))


def test_a_machine_that_stands_still_as_a_whole_blames_nobody_and_moves_no_joint_further_than_its_limit(serve, stalls):
    limits = {0: 20, 1: 20, 2: 20, 3: 20}
    names = ("Thorax-Coxa1_motor", "Thorax-Coxa2_motor", "Coxa-Trochanter_motor", "Femur_Tibia_motor")
    leg, served = serve(*(word for name in names for word in ("--limit", f"{name}=20")))
    served.await_ready()

    def trial():
        served.run_bout()
        everybody = [*served.pids().values(), leg.pid]
        for pid in everybody:
            os.kill(pid, signal.SIGSTOP)
        stopped = time.monotonic_ns()
        time.sleep(0.5)
        for pid in everybody:
            os.kill(pid, signal.SIGCONT)
        back = time.monotonic_ns()
        time.sleep(0.5)
        assert drives(leg, stopped + 50 * MS, back) == 0
        # Who wakes up first is chance. Either the bout goes on, or the leg is limp and says why.
        words = served.words()
        assert words["mode"] in ("RUNNING", "FAULT")
        if words["mode"] == "RUNNING":
            assert drives(leg, back + 100 * MS) > 10
        else:
            assert words["latch_reason"] in ("motor_silent", "guardian_lost", "core_stalled", "stood_still")
            assert drives(leg, back + 200 * MS) == 0
        assert words["deaths"]["service"] == 0
        assert commands_beyond(leg.log(), limits) == []

    repeat_disturbed(stalls, trial)


def test_a_daemon_begins_beside_a_leg_that_another_left_under_torque(serve, stalls, tmp_path):
    def trial():
        leg, served = serve()
        served.run_bout()
        cut_the_power(served)
        assert min(driven(leg)) >= 0
        folder = tmp_path / f"next{served.pid}"
        folder.mkdir()
        begun = time.monotonic_ns()
        another = Served(leg, folder)
        try:
            another.await_ready()
            # The first it does is to take the torque off.
            assert driven(leg) == [-1] * 4
            assert drives(leg, begun) == 0
            another.run_bout(0.1)
        finally:
            another.close()

    repeat_disturbed(stalls, trial)


def test_a_leg_that_can_not_be_emulated_ends_the_daemon_with_the_reason(tmp_path):
    roach = tmp_path / "roach"
    shutil.copytree(ROOT / "configs" / "lin_roach", roach)
    (roach / "plant.toml").unlink()
    words = ["nuc_engine.cli", "serve", str(roach), "--data", str(tmp_path / "data"), "--priority", "0"]
    words += ["--command", f"ipc://{tmp_path}/command", "--telemetry", f"ipc://{tmp_path}/telemetry"]
    done = subprocess.run(mortal(*words), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    said = done.stderr.splitlines()
    reason = next(k for k, line in enumerate(said) if "expected a plant description" in line)
    end = next(
        k for k, line in enumerate(said) if line.startswith("nuc serve: ending: nuc-emulate ended with status 1")
    )
    assert reason < end
