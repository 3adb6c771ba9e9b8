"""Processes of tests end with the process that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.realtime.ends import handles_of, have_ended
from tests.realtime.mortal import mortal

ROOT = Path(__file__).resolve().parents[2]


def test_it_runs_a_module_with_its_words():
    done = subprocess.run(mortal("calendar", "2026", "2"), cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip().startswith("February 2026")


def test_started_by_somebody_who_is_gone_it_runs_nothing():
    words = mortal("calendar")
    words[3] = str(os.getppid())
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "whoever started this is gone\n")


def test_it_ends_with_whoever_started_it(tmp_path):
    pids = tmp_path / "pids"
    pids.mkdir()
    # What is run names itself in a folder and then waits.
    lines = (
        "import os, pathlib, signal",
        "signal.alarm(600)",
        f"pathlib.Path({str(pids)!r}, str(os.getpid())).touch()",
        "signal.pause()",
    )
    (tmp_path / "waiting.py").write_text("\n".join(lines))
    starting = "import subprocess; from tests.realtime.mortal import mortal; subprocess.run(mortal('waiting'))"
    starter = subprocess.Popen(
        [sys.executable, "-c", starting], cwd=ROOT, env={**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    )
    try:
        handles = handles_of(pids, 1)
    finally:
        starter.send_signal(signal.SIGKILL)
        starter.wait()
    assert have_ended(handles)
