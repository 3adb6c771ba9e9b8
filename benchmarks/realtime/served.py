"""A daemon under test: an emulated leg, the daemon beside it, a client, and a look into its shared memory."""

from __future__ import annotations

import os
import signal
import time  # noqa: TID251  benchmarks are about real time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.realtime.children import Broken, Child, below, python, until
from nuc_engine.client import Client, ClientError
from nuc_engine.daemon.block import Block, Word
from nuc_engine.daemon.latch import LATCH_REASONS
from nuc_engine.daemon.modes import Mode

CONFIG = "lin_roach"
_TAIL = 1500
_CATCH_UP_S = 0.4
_SETTLE_S = 0.4


class Interrupted(Broken):
    """The bout has ended by itself: the daemon took the torque off."""


class Leg(Child):
    """`nuc emulate` on a pseudo-terminal, paced like the wire."""

    def __init__(self, folder: Path, baud: int, *words: str | Path) -> None:
        self.pty, self.baud = folder / "leg", baud
        super().__init__(
            python("nuc_engine.cli", "emulate", CONFIG, "--pty", self.pty, "--baud", str(baud), "--json", *words),
            folder / "emulator.out",
        )
        try:
            until(self.pty.exists, "emulated leg", 20, self)
        except Broken:
            self.end()
            raise


class Served(Child):
    """`nuc serve` beside a leg, all logs on, with a bout under way once `run` was called.

    `changes` are HDSOs to set in it, by name.
    """

    def __init__(
        self, folder: Path, leg: Leg, *words: str | Path, notify: str | None = None, module: str = "nuc_engine.cli"
    ) -> None:
        self.folder, self.leg = folder, leg
        self.commands, self.telemetry = f"ipc://{folder}/command", f"ipc://{folder}/telemetry"
        self.begun_ns = time.monotonic_ns()
        super().__init__(
            python(
                module,
                *("serve", CONFIG, "--bus", f"aimotor://{leg.pty}?baud={leg.baud}"),
                *("--command", self.commands, "--telemetry", self.telemetry, "--data", folder / "data"),
                *words,
            ),
            folder / "daemon.out",
            notify=notify,
        )
        self._client: Client | None = None
        self.interrupted: list[str] = []
        """Why bouts ended by themselves."""
        self._block: Block | None = None

    @property
    def client(self) -> Client:
        """A client; connected when it is first used."""
        if self._client is None:
            self._client = Client(self.commands, name="benchmark", telemetry=self.telemetry)
        return self._client

    @property
    def block(self) -> Block:
        """The shared memory of the daemon."""
        if self._block is None:
            self._block = Block(self._descriptor())
        return self._block

    def _descriptor(self) -> int:
        for entry in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(OSError):
                if os.readlink(entry).startswith("/memfd:nuc-block"):
                    return os.open(entry, os.O_RDWR)
        raise Broken("the daemon has no shared memory")

    def await_client(self) -> None:
        """Wait until the daemon answers."""
        # Connecting to what is not there yet would wait for ZeroMQ's next attempt.
        until((self.folder / "command").exists, "command socket", 20, self)
        while True:
            with suppress(ClientError):
                self.client.greet(0.05)
                return
            if not self.running or time.monotonic_ns() - self.begun_ns > 20e9:
                raise Broken(f"the daemon does not answer: {self.said()}")

    def run(self, changes: dict[str, int] | None = None, within_s: float = 10.0) -> None:
        """Begin a bout as soon as that is possible; what is latched is armed, and counted in `interrupted`."""
        deadline = time.monotonic() + within_s
        self.await_client()
        self.client.take_control(force=True)
        while True:
            try:
                self.client.run()
                break
            except ClientError as error:
                why = str(error)
            if self.alive:
                break  # begun, though the service died before it could say so
            if time.monotonic() > deadline:
                raise Broken(f"no bout: {why}\n{self.said()[-_TAIL:]}")
            self._arm()
            time.sleep(0.005)
        until(lambda: self.block.words[Word.CYCLE] > 2, "cycle", 5, self)
        if changes:
            self.client.set(changes)

    def _arm(self) -> None:
        if self.block.words[Word.LATCHED]:
            self.interrupted.append(LATCH_REASONS[self.block.words[Word.LATCH_REASON]])
            with suppress(ClientError):
                self.client.arm()

    @property
    def alive(self) -> bool:
        """Whether a bout is under way and nothing is latched."""
        words = self.block.words
        return words[Word.MODE] == Mode.RUNNING and not words[Word.LATCHED]

    def check(self) -> None:
        """Raise Interrupted unless the bout goes on."""
        if not self.running:
            raise Broken(f"the daemon has ended: {self.said()[-_TAIL:]}")
        if not self.alive:
            raise Interrupted(f"the bout has ended: {self.said()[-_TAIL:]}")

    def status(self) -> Any:
        return self.client.status()

    def processes(self) -> dict[str, int]:
        """Return the processes of the daemon, by name."""
        return {"nuc-supervisor": self.pid, **below(self.pid)}

    def in_windows(self, windows: int, trial: Callable[[], None], changes: dict[str, int] | None = None) -> None:
        """Call `trial` until so many windows of it have been good; a bout that ended by itself is begun again."""
        done = 0
        while done < windows:
            try:
                self.check()
                trial()
                done += 1
            except (Broken, ClientError):
                # Whatever went wrong: with the bout still under way it is the trial's fault.
                if self.alive or len(self.interrupted) > windows:
                    raise
                self.run(changes)

    def halt(self, *, leg: bool, service: bool = True) -> None:
        """Let all of it stand still, so that the machine is as if it were not there.

        Whoever watches stands still before what it watches. `service` and `leg` may be spared.
        """
        pids = self.processes()
        names = ["nuc-supervisor", "nuc-guardian", *(["nuc-service"] if service else []), "nuc-core"]
        for name in names:
            if name not in pids:
                self._continue()
                raise Interrupted(f"{name} is dead: {self.said()[-_TAIL:]}")
            os.kill(pids[name], signal.SIGSTOP)
        if leg:
            os.kill(self.leg.pid, signal.SIGSTOP)

    def go_on(self, *, leg: bool, settle_s: float = _SETTLE_S, check: bool = True) -> None:
        """Let it go on; the leg first, whose physics has to catch up. Raises Interrupted unless the bout does too."""
        if leg:
            os.kill(self.leg.pid, signal.SIGCONT)
            time.sleep(_CATCH_UP_S)
        self._continue()
        time.sleep(settle_s)
        if check:
            self.check()

    def _continue(self) -> None:
        pids = self.processes()
        for name in ("nuc-guardian", "nuc-core", "nuc-service", "nuc-supervisor"):
            if name in pids:
                with suppress(ProcessLookupError):
                    os.kill(pids[name], signal.SIGCONT)

    def end(self, within_s: float = 15.0) -> None:
        """End the daemon and what belongs to it."""
        if self.running:
            self._continue()
        super().end(within_s)
        if self._client is not None:
            self._client.close()

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
