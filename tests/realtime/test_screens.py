"""`nuc ctl tune` and `watch` in a terminal of their own: keys in, a screen out, the terminal given back as it was."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time  # noqa: TID251  a real process on a real terminal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.client.fake_daemon import FakeDaemon, Leg, serving
from tests.realtime.mortal import mortal

ROOT = Path(__file__).resolve().parents[2]
LEV = "CTr_lev_TC1_load"
GIVEN_BACK = b"\x1b[?1049l"


class Terminal:
    """A process on a pseudo-terminal, and everything it has written so far."""

    def __init__(self, *words: str, columns: int = 80, rows: int = 24, controlling: bool = False) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.slave, self.before = slave, termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            # Whoever runs the tests in the background may have switched Ctrl-C off.
            [
                *("env", "--default-signal=INT"),
                *(["setsid", "--ctty"] if controlling else []),
                *mortal("nuc_engine.cli", "ctl", *words),
            ],
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "", "LINES": ""},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=not controlling,
        )
        self.written = b""

    def press(self, keys: bytes) -> None:
        self.written = b""
        os.write(self.master, keys)

    def wait_for(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.written.decode(errors="replace")[-3000:]
            if select.select([self.master], [], [], 0.05)[0]:
                self.written += os.read(self.master, 65536)

    def shows(self, text: str) -> None:
        self.wait_for(lambda: text.encode() in self.written)

    def ended(self) -> int:
        self.wait_for(lambda: self.process.poll() is not None and GIVEN_BACK in self.written)
        assert termios.tcgetattr(self.slave) == self.before
        return self.process.returncode

    def hang_up(self) -> None:
        """Close the window: the kernel tells whoever has it as controlling terminal."""
        for descriptor in (self.slave, self.master):
            os.close(descriptor)
        self.master = self.slave = -1

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for descriptor in {self.master, self.slave} - {-1}:
            os.close(descriptor)


@pytest.fixture
def daemon() -> FakeDaemon:
    return FakeDaemon(Leg())


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"ipc://{tmp_path}/command"


@pytest.fixture
def tune(daemon: FakeDaemon, address: str) -> Iterator[Terminal]:
    with serving(daemon, address):
        terminal = Terminal("-a", address, "tune", "Coxa-Trochanter")
        yield terminal
        terminal.close()


def test_keys_turn_a_value_and_q_gives_the_terminal_back(tune: Terminal, daemon: FakeDaemon) -> None:
    tune.shows(LEV)
    tune.press(b"\x1b[B\x1b[C\x1b[1;2C")
    tune.shows("in effect since cycle 102")
    assert daemon.leg.values[LEV] == 1.1
    tune.press(b"e-0.3\x7f5\r")
    tune.shows("in effect since cycle 103")
    assert daemon.leg.values[LEV] == -0.5
    tune.press(b"e7\x1b")
    tune.shows("left as it was")
    tune.press(b"q")
    assert tune.ended() == 0


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 0), (signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGHUP, 128 + signal.SIGHUP)],
)
def test_a_signal_gives_the_terminal_back_too(tune: Terminal, number: int, status: int) -> None:
    tune.shows(LEV)
    tune.process.send_signal(number)
    assert tune.ended() == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("words", [["tune", "Coxa-Trochanter"], ["watch"], ["watch", "--plain"]])
def test_who_is_ended_says_goodbye(daemon: FakeDaemon, address: str, words: list[str], number: int) -> None:
    with serving(daemon, address):
        terminal = Terminal("-a", address, *words)
        try:
            terminal.shows("Trochanter")
            terminal.process.send_signal(number)
            daemon.wait_for("leave")
            terminal.wait_for(lambda: terminal.process.poll() is not None)
        finally:
            terminal.close()


@pytest.mark.parametrize("words", [["tune", "Coxa-Trochanter"], ["watch"], ["watch", "--plain"]])
def test_a_window_that_is_closed_is_a_goodbye(daemon: FakeDaemon, address: str, words: list[str]) -> None:
    with serving(daemon, address):
        terminal = Terminal("-a", address, *words, controlling=True)
        try:
            terminal.shows("Trochanter")
            terminal.hang_up()
            daemon.wait_for("leave")
            terminal.process.wait()
        finally:
            terminal.close()


def test_watch_waits_for_a_daemon_that_comes_and_goes(daemon: FakeDaemon, address: str) -> None:
    terminal = Terminal("-a", address, "watch")
    try:
        terminal.shows("no daemon at")
        with serving(daemon, address):
            terminal.shows("Femur-Tibia")
        terminal.written = b""
        terminal.shows("NOT LIVE")
        terminal.written = b""
        with serving(daemon, address):
            # What is drawn is what has changed.
            terminal.shows("control: ")
        assert b"NOT LIVE" not in terminal.written
        terminal.press(b"q")
        assert terminal.ended() == 0
    finally:
        terminal.close()
