"""Lines that are held up, as by a USB adapter: the emulator stands still for moments. Judged by its byte log.

held = HeldUp(folder, "aimotor", stalls)
held.play(300)
"""

from __future__ import annotations

import os
import signal
import time  # noqa: TID251  real processes live on the real clock
from pathlib import Path

import numpy as np

from nuc_engine.emulation.bytelog import commands_beyond
from tests.realtime.daemon import MS
from tests.realtime.pty_servos import IDS, Servos, configuration
from tests.realtime.served import Disturbances, Served, drives, repeat_disturbed

NAMES = ("Thorax-Coxa1_motor", "Thorax-Coxa2_motor", "Coxa-Trochanter_motor", "Femur_Tibia_motor")
FAMILIES = {
    "aimotor": ("", 57_600, 20),
    "dynamixel": ("XL330-M288", 1_000_000, 300),
    "feetech": ("STS3215", 1_000_000, 300),
}
"""Model, rate, and a limit of some 26 degrees in its own ticks."""

HOLDS_MS = ((20, 32), (3, 12), (3, 12))
"""Once for long, and then, while what had waited comes in, twice for a moment."""

JUDGED = 8
"""How many sequences are judged at a time."""


class HeldUp:
    """A leg of a family and a daemon with a limit on every motor."""

    def __init__(self, folder: Path, family: str, stalls: Disturbances, seed: int = 1) -> None:
        model, baud, self.limit = FAMILIES[family]
        self.leg = Servos(family, model, folder, baud=baud)
        limits = [word for name in NAMES for word in ("--limit", f"{name}={self.limit}")]
        self.served = Served(self.leg, folder, *limits, config=str(configuration(family, model, folder)))
        self._stalls, self._rng = stalls, np.random.default_rng(seed)

    def play(self, sequences: int) -> None:
        """Play so many. Raises AssertionError where a goal was out of a servo's reach, or the bout ended."""
        for _ in range(0, sequences, JUDGED):
            repeat_disturbed(self._stalls, self._some)
        assert commands_beyond(self.leg.log(), dict.fromkeys(IDS, self.limit)) == []

    def _some(self) -> None:
        self.served.run_bout(0.3)
        begun_ns = time.monotonic_ns()
        for _ in range(JUDGED):
            self._hold_up()
            time.sleep(0.2)
        words = self.served.words()
        assert words["mode"] == "RUNNING", words["latch_reason"]
        assert drives(self.leg, time.monotonic_ns() - 150 * MS) > 10
        assert drives(self.leg, begun_ns) > 10 * JUDGED

    def _hold_up(self) -> None:
        for low, high in HOLDS_MS:
            os.kill(self.leg.pid, signal.SIGSTOP)
            time.sleep(self._rng.uniform(low, high) / 1000)
            os.kill(self.leg.pid, signal.SIGCONT)
            time.sleep(self._rng.uniform(2, 9) / 1000)

    def close(self) -> None:
        """End both."""
        self.served.close()
        self.leg.end(signal.SIGKILL)
