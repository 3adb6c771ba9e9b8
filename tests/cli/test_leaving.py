"""How commands end that somebody ends from outside."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nuc_engine.cli.terminal.leaving import SIGNALS, when_ended

pytestmark = pytest.mark.timeout(120)  # seconds: nothing is judged by it

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--help",
        "--version",
        "show lin_roach",
        "show lin_roach --json",
        "validate lin_roach",
        "diff lin_roach lin_stickmiddle",
        "experiment list",
        "completion bash",
        "bus budget 4 aimotor:///dev/ttyUSB0",
        "ctl --help",
        "ctl -a ipc:///nowhere/at/all --timeout 0.01 off --json",
        "run lin_roach --bus loopback: --duration 0.1 --scratch {tmp}/bout",
    ],
)
def test_what_nobody_reads_any_more_ends_quietly(tmp_path: Path, line: str) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "nuc_engine.cli", *line.format(tmp=tmp_path).split()],
            cwd=ROOT,
            stdout=writes,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writes)
    assert done.returncode == 141, done.stderr
    assert not {"Traceback", "BrokenPipeError", "Broken"} & set(done.stderr.replace(":", " ").split())


def test_a_pipe_that_is_no_reader_is_an_error() -> None:
    code = (
        "from nuc_engine.cli import app\n"
        "def broken(*_): raise BrokenPipeError(32, 'Broken pipe', '/dev/ttyUSB0')\n"
        "app.app.invoke = broken\n"
        "app.app.main(['ls'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.partition(";")[0]) == (1, "nuc: /dev/ttyUSB0: Broken pipe")


@pytest.mark.parametrize("number", SIGNALS)
def test_what_is_ended_unwinds(number: int) -> None:
    given = signal.signal(number, signal.SIG_DFL)  # whoever runs the tests may have it ignored (nohup)
    unwound = False
    try:
        with pytest.raises(SystemExit) as caught, when_ended():
            try:
                signal.raise_signal(number)
            finally:
                unwound = True
        assert unwound
        assert caught.value.code == 128 + number
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, given)


def test_what_was_to_outlive_its_window_does() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with when_ended():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
