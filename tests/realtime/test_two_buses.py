"""One daemon, two buses, an emulator process on each: what becomes of one when the other is gone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time  # noqa: TID251  real processes live on the real clock
from pathlib import Path

import pytest

from tests.realtime.daemon import MS, ROOT, Leg, assert_limp_within, wait_for
from tests.realtime.served import Served, drives, no_error_of_its_own, repeat_disturbed

NAMES = ("left", "right")


@pytest.fixture
def config(tmp_path) -> str:
    """A roach's leg, two of its motors on each of two buses."""
    folder = tmp_path / "two_buses"
    shutil.copytree(ROOT / "configs" / "lin_roach", folder)
    joints = folder / "joints.xml"
    head, *motors = joints.read_text().split("<aimotor ")
    motors = [f'bus="{NAMES[k // 2]}" {text}' for k, text in enumerate(motors)]
    joints.write_text("<aimotor ".join([head, *motors]))
    return str(folder)


def plug(tmp_path: Path, config: str, name: str) -> Leg:
    place = tmp_path / name
    place.mkdir(exist_ok=True)
    return Leg(place, config, "--bus", name)


def end(served: Served) -> None:
    said = served.said()
    served.close()
    no_error_of_its_own(said)


def test_when_one_bus_is_gone_the_other_is_limp_within_50_ms_and_both_are_once_it_is_back(tmp_path, config, stalls):
    legs = {name: plug(tmp_path, config, name) for name in NAMES}
    served = Served(legs["left"], tmp_path, config=config, buses=[f"{name}={legs[name].url}" for name in NAMES])

    def trial():
        if legs["right"].process.poll() is not None:
            legs["right"] = plug(tmp_path, config, "right")
        served.run_bout()
        lost = len(served.logged("bus_lost"))
        assert all(drives(leg, time.monotonic_ns() - 200 * MS) > 0 for leg in legs.values())
        killed = time.monotonic_ns()
        legs["right"].end(signal.SIGKILL)
        # While the process is being cleared away its servos are silent; then their port is gone.
        wait_for(lambda: len(served.logged("bus_lost")) > lost, "the loss of a bus", served)
        assert served.words()["latch_reason"] in ("bus_lost", "motor_silent")
        time.sleep(0.2)
        assert_limp_within(legs["left"], killed)
        assert "arm" in served.refusal(served.client.run) or not served.words()["ready"]
        legs["right"] = plug(tmp_path, config, "right")
        served.await_ready()
        served.await_limp()
        for leg in legs.values():
            assert {servo["driven"] for servo in leg.tell("status")["servos"]} == {-1}
        assert drives(legs["left"], killed + 50 * MS) == drives(legs["right"], 0) == 0

    try:
        repeat_disturbed(stalls, trial)
        served.run_bout(0.1)
        assert all(drives(leg, time.monotonic_ns() - 100 * MS) > 0 for leg in legs.values())
    finally:
        end(served)
        for leg in legs.values():
            leg.end(signal.SIGKILL)


def emulators(served: Served) -> dict[str, int]:
    """Return the emulator processes of a daemon by the name of their bus."""
    said = subprocess.run(["ps", "-ww", "-o", "pid=,args=", "--ppid", str(served.pid)], capture_output=True, check=True)
    words = [line.split() for line in said.stdout.decode().splitlines()]
    return {line[line.index("--bus") + 1]: int(line[0]) for line in words if "emulate" in line}


def test_the_daemon_emulates_each_bus_in_a_process_of_its_own_and_starts_one_that_died_again(tmp_path, config):
    served = Served(None, tmp_path, config=config, buses=[f"{name}=emulated:" for name in NAMES])
    try:
        bout = served.run_bout(0.2)
        before = emulators(served)
        assert sorted(before) == list(NAMES)
        os.kill(before["right"], signal.SIGKILL)
        served.await_logged("bus_lost")
        assert "nuc-emulate right" in served.await_logged("emulator_ended")["text"]
        served.await_logged("bus_found")
        served.await_ready()
        served.await_limp()
        after = emulators(served)
        assert after["left"] == before["left"]
        assert after["right"] != before["right"]
        assert served.run_bout(0.1) > bout
        assert served.end() == 0
        wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in after.values()), "their end")
    finally:
        end(served)
