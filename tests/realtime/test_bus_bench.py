"""`nuc bus` on emulated servos behind a pty: real time, a real port, real signals."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time  # noqa: TID251  real processes live on the real clock
from collections.abc import Iterator
from typing import Any

import pytest

from tests.realtime.patience import ATTEMPTS
from tests.realtime.pty_servos import IDS, Servos

NUC = [sys.executable, "-m", "nuc_engine.cli", "bus"]
# A busy machine may keep an emulated servo from answering in the time a real one takes.
PATIENT = "timeout_us=40000"


@pytest.fixture(scope="module", params=[("aimotor", "1001", 57_600), ("feetech", "STS3215", 1_000_000)])
def servos(request, tmp_path_factory) -> Iterator[Servos]:
    family, model, baud = request.param
    leg = Servos(family, model, tmp_path_factory.mktemp("bench"), baud=baud)
    yield leg
    leg.end()


def nuc(servos: Servos, command: str, *words: str) -> subprocess.CompletedProcess[str]:
    url = f"{servos.url}&{PATIENT}"
    return subprocess.run([*NUC, command, url, *words], capture_output=True, text=True, timeout=60, check=False)


def insist(servos: Servos, command: str, *words: str) -> dict[str, Any]:
    """Return the JSON of a command that ended well, tried more than once where the machine was too busy."""
    done = nuc(servos, command, *words, "--json")
    for _ in range(ATTEMPTS):
        if done.returncode == 0:
            break
        done = nuc(servos, command, *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def place(servos: Servos, bus_id: int) -> int:
    for _ in range(ATTEMPTS):
        done = nuc(servos, "monitor", "--ids", str(bus_id), "-n", "5", "--json")
        if done.returncode == 0:
            break
    return json.loads(done.stdout.splitlines()[-1])["servos"][0]["position_raw"]


def test_everybody_is_found_and_released(servos: Servos) -> None:
    assert [row["id"] for row in insist(servos, "ping", "--ids", "0-3", "--count", "5")["servos"]] == list(IDS)
    (confirmed,) = insist(servos, "release", "--ids", "0-3")["confirmed"].values()
    assert confirmed == list(IDS)


def test_a_servo_goes_where_it_is_sent(servos: Servos) -> None:
    words = ["--model", servos.model, "--ids", "2", "--level", "1", "--rate", "60", "--lag", "60"]
    before = place(servos, 2)
    (row,) = insist(servos, "move", *words, "--by", "-12deg")["servos"]
    assert abs(row["raw"] - row["goal_raw"]) * row["tick_deg"] <= 4.0
    assert (place(servos, 2) - before) * row["tick_deg"] == pytest.approx(-12.0, abs=6.0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_takes_the_torque_off(servos: Servos, number: signal.Signals) -> None:
    words = ["--ids", "1", "--model", servos.model, "--by", "60deg", "--rate", "5", "--level", "1", "--lag", "60"]
    before = place(servos, 1)
    process = subprocess.Popen(
        [*NUC, "move", f"{servos.url}&{PATIENT}", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        # It handles signals once it moves: until then one would just end it.
        deadline = time.monotonic() + 30.0
        while time.monotonic() < deadline and not handles(process.pid, signal.SIGTERM):
            time.sleep(0.05)
        time.sleep(1.0)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 1
    assert "stopped when asked to" in said
    assert "not confirmed" not in said
    # It has let go: nowhere near where it was to go, and staying there.
    after = place(servos, 1)
    time.sleep(0.3)
    assert abs(place(servos, 1) - after) <= 2
    assert abs(after - before) < 60 / 0.08


def handles(pid: int, number: signal.Signals) -> bool:
    """Say whether a process has a handler of its own for a signal."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        caught = next(line for line in status if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def test_an_id_is_given_and_taken_back(servos: Servos) -> None:
    if servos.family == "aimotor":
        done = nuc(servos, "set-id", "--id", "3", "--to", "9", "--yes")
        assert (done.returncode, "wck=1" in done.stderr) == (1, True)
        return
    insist(servos, "set-id", "--id", "3", "--to", "9", "--yes")
    insist(servos, "ping", "--ids", "0,1,2,9", "--count", "3")
    insist(servos, "set-id", "--id", "9", "--to", "3", "--yes")
    insist(servos, "ping", "--ids", "0-3", "--count", "3")


def test_a_setting_is_read_set_and_kept(servos: Servos) -> None:
    if servos.family == "aimotor":
        done = nuc(servos, "set", "3", "position_p_gain", "12", "--yes")
        assert (done.returncode, "wck=1" in done.stderr) == (1, True)
        return
    before = {row["register"]: row["value"] for row in insist(servos, "set", "3")["registers"]}
    assert (before["id"], before["position_offset"]) == (3, 0)
    insist(servos, "set", "3", "position_offset", "-100", "--yes")
    done = nuc(servos, "move", "--ids", "3", "--model", servos.model, "--by", "5deg")
    assert done.returncode == 1
    said = done.stderr.partition("`")[2].partition("`")[0]
    mended = subprocess.run(
        [*NUC[:-1], *shlex.split(said)[1:], "--yes"], capture_output=True, text=True, timeout=60, check=False
    )
    assert mended.returncode == 0, mended.stderr
    after = {row["register"]: row["value"] for row in insist(servos, "set", "3")["registers"]}
    assert {n for n, v in after.items() if before[n] != v} <= {n for n in after if n.startswith("present_")}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_setting_is_kept_leaves_the_lock_closed_and_says_so(
    servos: Servos, number: signal.Signals
) -> None:
    if servos.family == "aimotor":
        pytest.skip("nothing is written to AI motors")
    for value in (1, 2, 3):
        words = [*NUC, "set", f"{servos.url}&{PATIENT}", "3", "overload_time", str(value), "--yes"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            # It handles signals while it writes, for some milliseconds: this may come before, or too late.
            while process.poll() is None and not catches(process.pid, signal.SIGTERM):
                time.sleep(0.001)
            time.sleep(0.004 * (value - 1))
            process.send_signal(number)
            out, said = process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()
        found = {row["register"]: row["value"] for row in insist(servos, "set", "3")["registers"]}
        assert found["eprom_lock"] == 1
        # However it ended, what was kept was said.
        assert (f"overload_time is {value} now" in out + said) == (found["overload_time"] == value), said
    insist(servos, "set", "3", "overload_time", "200", "--yes")


def catches(pid: int, number: signal.Signals) -> bool:
    """Say whether a process that may be gone has a handler of its own for a signal."""
    try:
        return handles(pid, number)
    except (OSError, StopIteration):
        return False
