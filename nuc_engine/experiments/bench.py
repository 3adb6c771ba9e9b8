"""Where live bouts are done: a daemon of one's own beside a leg, real or emulated, or one that runs already."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from drivers.factory import is_emulated
from nuc_engine.client import Client
from nuc_engine.daemon.emulated import emulator_args, line_url
from nuc_engine.emulation.client import send_command
from nuc_engine.experiments.live import Deed, Wait, await_ready, free, wait_until
from nuc_engine.experiments.protocol import BoutPlan
from nuc_engine.experiments.trials import Aborted
from nuc_engine.plants.events import event_record

HEIGHT = "world.base_height_cm"
"""The only number of the plant that a hand can change: how high the leg is mounted."""

NAME = "nuc experiment"
STILL_S = 1.5
"""An emulated leg is kicked, where a kick is offered, when no joint has changed its action for so long."""
_END_S = 15.0


class OwnDaemon:
    """Starts a daemon for each bout and ends it afterwards, so that the leg is limp in between.

    With an `emulated:` bus a leg is emulated for it too, in a process of its own whose control socket is `control`; the
    number of the repetition is its seed.
    """

    def __init__(self, bus: str, wait: Wait) -> None:
        self._bus, self._wait = bus, wait
        self._children: list[subprocess.Popen[bytes]] = []
        self._client: Client | None = None
        self._folder = Path()

    @property
    def control(self) -> Path:
        """The control socket of the emulated leg."""
        return self._folder / "control"

    def begin(self, plan: BoutPlan, repetition: int) -> Client:
        """Start everything and return a client once the leg is ready. Raises Aborted when it does not become so."""
        self._folder = Path(tempfile.mkdtemp(prefix="nuc-"))
        bus = self._bus
        if is_emulated(bus):
            self._emulate(plan, repetition)
            bus = line_url(bus, self._folder / "leg")
        address = f"ipc://{self._folder / 'command'}"
        places = ("--command", address, "--telemetry", f"ipc://{self._folder / 'telemetry'}")
        self._start("serve", plan.config, "--bus", bus, "--data", str(self._folder / "data"), *places)
        self._client = Client(address, name=NAME, timeout_s=5.0)
        try:
            await_ready(self._client, self._wait, lambda: all(child.poll() is None for child in self._children))
        except Aborted as aborted:
            raise Aborted(f"{plan.label}: {aborted}\n{self._said()}") from aborted
        return self._client

    def end(self, recorded: Path | None, place: Path) -> Path:
        """End daemon and leg; bring the data directory to its place and return that."""
        self._end()
        if recorded is not None and recorded.is_dir():
            shutil.rmtree(place, ignore_errors=True)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(recorded, place)
        shutil.rmtree(self._folder, ignore_errors=True)
        return place

    def _emulate(self, plan: BoutPlan, repetition: int) -> None:
        if unknown := sorted(set(plan.plant) - {HEIGHT}):
            raise Aborted(f"{plan.label}: {', '.join(unknown)} can not be changed on a leg that runs in real time")
        words = emulator_args(self._bus, plan.config, self._folder / "leg", repetition)
        child = self._start(*words, "--control", str(self.control))
        ready = wait_until(
            lambda: self.control.exists() and (self._folder / "leg").exists(), self._wait, lambda: child.poll() is None
        )
        if not ready:
            raise Aborted(f"{plan.label}: the emulated leg did not begin\n{self._said()}")
        if HEIGHT in plan.plant:
            send_command(self.control, "height", height_cm=plan.plant[HEIGHT])

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        with (self._folder / "said").open("ab") as said:
            child = subprocess.Popen(
                [sys.executable, "-m", "nuc_engine.cli", *words],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        self._children.append(child)
        return child

    def _end(self) -> None:
        """End the daemon, then the leg: torque is taken off while there is somebody to hear it."""
        if self._client is not None:
            self._client.close()
            self._client = None
        while self._children:
            child = self._children.pop()
            child.terminate()
            try:
                child.wait(_END_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()

    def _said(self) -> str:
        try:
            return "\n".join((self._folder / "said").read_text(encoding="utf-8", errors="replace").splitlines()[-5:])
        except OSError:
            return ""


class EmulatedHand:
    """Does to an emulated leg what is to be done, through its control socket."""

    def __init__(self, daemon: OwnDaemon) -> None:
        self._daemon = daemon
        self._did: list[Deed] = []

    def prepare(self, plan: BoutPlan, repetition: int) -> None:
        """Do nothing: an emulated leg begins in a pose of its seed."""

    def soon(self, deed: Deed, left_s: float) -> None:
        """Do nothing."""

    def now(self, deed: Deed, still_s: float) -> None:
        """Do it; an offered kick only when the leg stands still."""
        if deed.offered and still_s < STILL_S:
            return
        parameters = event_record(deed.event)
        kind = parameters.pop("kind")
        parameters.pop("at_ns")
        if "duration_ns" in parameters:
            parameters["duration_ms"] = parameters.pop("duration_ns") / 1e6
        send_command(self._daemon.control, kind, **parameters)
        self._did.append(deed)

    def done(self, deed: Deed) -> bool:
        """Say whether it was done."""
        return deed in self._did


class RunningDaemon:
    """A daemon that somebody else has started; data stay where it puts them."""

    def __init__(self, address: str, wait: Wait) -> None:
        self._address, self._wait = address, wait
        self._client: Client | None = None

    def begin(self, plan: BoutPlan, repetition: int) -> Client:
        """Have it run the plan's configuration; return a client."""
        del repetition
        self._client = Client(self._address, name=NAME, timeout_s=5.0)
        free(self._client)
        self._client.configure(plan.config)
        await_ready(self._client, self._wait, lambda: True)
        return self._client

    def end(self, recorded: Path | None, place: Path) -> Path:
        """Say goodbye; return where the data are."""
        if self._client is not None:
            self._client.close()
            self._client = None
        return place if recorded is None else recorded
