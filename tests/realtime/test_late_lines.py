"""A line that is held up, as by a USB adapter: the emulator stands still for moments. Judged by its byte log."""

from __future__ import annotations

import os
import signal
import time  # noqa: TID251  real processes live on the real clock

import numpy as np

from nuc_engine.emulation.bytelog import commands_beyond
from tests.realtime.daemon import MS
from tests.realtime.served import drives, repeat_disturbed

SEQUENCES = 8
LIMIT = 20
HOLDS_MS = ((20, 32), (3, 12), (3, 12))
"""Once for long, and then, while what had waited comes in, twice for a moment."""


def hold_up(leg, rng: np.random.Generator) -> None:
    for low, high in HOLDS_MS:
        os.kill(leg.pid, signal.SIGSTOP)
        time.sleep(rng.uniform(low, high) / 1000)
        os.kill(leg.pid, signal.SIGCONT)
        time.sleep(rng.uniform(2, 9) / 1000)


def test_a_line_that_is_held_up_sends_no_servo_where_another_was(serve, stalls):
    names = ("Thorax-Coxa1_motor", "Thorax-Coxa2_motor", "Coxa-Trochanter_motor", "Femur_Tibia_motor")
    leg, served = serve(*(word for name in names for word in ("--limit", f"{name}={LIMIT}")))
    rng = np.random.default_rng(1)

    def trial():
        served.run_bout(0.5)
        for _ in range(SEQUENCES):
            hold_up(leg, rng)
            time.sleep(0.3)
            assert commands_beyond(leg.log(), dict.fromkeys(range(4), LIMIT)) == []
        assert served.words()["mode"] == "RUNNING", served.words()["latch_reason"]
        assert drives(leg, time.monotonic_ns() - 200 * MS) > 10

    repeat_disturbed(stalls, trial)
