"""Daemon, emulator and release as their units run them: under the units' system call rules, with systemd's socket."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.realtime.mortal import mortal
from tests.systemd import sandbox
from tests.systemd.test_sandbox import pytestmark as needs_a_sandbox
from tests.systemd.test_sandbox import rules_of

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60

pytestmark = needs_a_sandbox


class Unit:
    """A program as a unit runs it; `heard` is what it told systemd so far."""

    def __init__(self, folder: Path, unit: str, words: list[str]) -> None:
        folder.mkdir()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(folder / "notify"))
        self.socket.settimeout(TIMEOUT_S)
        self.received: list[str] = []
        (folder / "rules.json").write_text(json.dumps(rules_of(unit)))
        self.said = folder / "said"
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    sandbox.__file__,
                    folder / "rules.json",
                    *mortal("nuc_engine.cli", *words),
                ],
                env={**os.environ, "NOTIFY_SOCKET": str(folder / "notify"), "WATCHDOG_USEC": "5000000"},
                cwd=ROOT,
                stdout=said,
                stderr=said,
            )

    def receive(self, message: str) -> None:
        """Wait until it has told this."""
        while message not in self.received:
            self.received += self.socket.recv(4096).decode().splitlines()

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT_S)


@contextmanager
def running(folder: Path, unit: str, *words: str) -> Generator[Unit]:
    started = Unit(folder, unit, list(words))
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
            started.process.wait()
        started.socket.close()


def test_engine_and_emulator_as_systemd_runs_them(tmp_path: Path) -> None:
    bus = f"aimotor://{tmp_path}/bus"
    serve = ["serve", "lin_roach", "--bus", bus, "--data", f"{tmp_path}/data", "--telemetry", "tcp://127.0.0.1:*"]
    serve += ["--command", f"ipc://{tmp_path}/command"]
    with running(
        tmp_path / "m", "nuc-emulator@.service", "emulate", "lin_roach", "--pty", f"{tmp_path}/bus", "--notify"
    ) as leg:
        leg.receive("READY=1")
        leg.receive("WATCHDOG=1")
        with running(tmp_path / "e", "nuc-engine@.service", *serve) as engine:
            engine.receive("READY=1")
            engine.receive("WATCHDOG=1")
            assert engine.end() == 0, engine.said.read_text()
            engine.receive("STOPPING=1")
            assert "privilege_missing" not in engine.said.read_text()
        with running(tmp_path / "r", "nuc-engine@.service", "bus", "release", bus, "--config", "lin_roach") as release:
            assert release.process.wait(TIMEOUT_S) == 0, release.said.read_text()
        assert leg.end() == 0, leg.said.read_text()


def test_a_release_that_nobody_confirms_is_a_failure_of_the_unit(tmp_path: Path) -> None:
    with running(
        tmp_path / "r", "nuc-engine@.service", "bus", "release", f"aimotor://{tmp_path}/absent", "--config", "lin_roach"
    ) as release:
        assert release.process.wait(TIMEOUT_S) == 1
        assert "absent" in release.said.read_text()
