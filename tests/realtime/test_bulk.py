"""What is left when processes of a sweep are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nuc_engine.batch.journal import ROWS_FILE
from nuc_engine.batch.sweep import PARTS, run_sweep
from tests.batch.test_sweep import SHORT_S, plan_of, rows_of
from tests.realtime.ends import handles_of, have_ended, wait_until


def test_a_sweep_that_was_killed_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    out, whole = tmp_path / "killed.parquet", tmp_path / "whole.parquet"
    words = ["sweep", "lin_roach", "--duration", f"{SHORT_S:g}", "--seeds", "0:3", "--jobs", "1", "--out", str(out)]
    first = subprocess.Popen([sys.executable, "-m", "nuc_engine.cli", *words], start_new_session=True)
    rows = tmp_path / (out.name + PARTS) / ROWS_FILE
    try:
        wait_until(lambda: rows.exists() and rows.read_bytes().count(b"\n") >= 1)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    there = rows.read_bytes().count(b"\n")
    assert 1 <= there < 4
    assert not out.exists()

    told: list[tuple[int, int]] = []
    plan = plan_of(seeds=tuple(range(4)))
    result = run_sweep(plan, out, jobs=2, done=lambda *counts: told.append(counts))
    assert result.before == there
    assert told == [(k, 4) for k in range(there + 1, 5)]
    run_sweep(plan, whole, jobs=1)
    assert rows_of(out) == rows_of(whole)

    told.clear()
    assert run_sweep(plan, out, jobs=2, done=lambda *counts: told.append(counts)).before == 4
    assert not told


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_workers_end_with_their_parent(blow: signal.Signals, tmp_path: Path) -> None:
    # Whoever runs the tests in the background may have switched Ctrl-C off.
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    call = f"{heeding}; from tests.batch import work; work.hold({str(tmp_path)!r})"
    parent = subprocess.Popen([sys.executable, "-c", call], stderr=subprocess.PIPE, start_new_session=True, text=True)
    try:
        handles = handles_of(tmp_path, 2)
    except TimeoutError:
        parent.kill()
        raise
    if blow is signal.SIGINT:
        os.killpg(parent.pid, blow)  # Ctrl-C goes to everyone at the terminal.
    else:
        parent.send_signal(blow)
    _, complaints = parent.communicate(timeout=60)
    assert have_ended(handles)
    assert not list(tmp_path.glob("interrupted*"))
    # The parent's own traceback at most, none of a worker.
    assert complaints.count("Traceback") == (1 if blow is signal.SIGINT else 0)
