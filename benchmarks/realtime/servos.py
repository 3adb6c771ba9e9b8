"""Emulated servos of any family on a pseudo-terminal, without a leg: `python -m benchmarks.realtime.servos PTY URL N`.

`URL` is that of an emulated bus (`emulated:dynamixel?baud=1000000`), `N` how many servos; their ids count from 0. The
shafts stand still: what is measured is the wire. They run above the bus that is measured, as in `nuc emulate`: real
servos do not wait for the host's scheduler either.
"""

from __future__ import annotations

import select
import signal
import sys
import time  # noqa: TID251  benchmarks are about real time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from drivers.errors import BusUrlError
from drivers.factory import find_family
from drivers.family import BusFamily, Emulator
from drivers.servo import Motion, ServoAddress
from drivers.url import split_url
from nuc_engine.emulation.line import ReplyLine
from nuc_engine.emulation.loop import EmulatorLoop
from nuc_engine.emulation.pseudo_terminal import PseudoTerminal
from nuc_engine.realtime import RealtimePolicy, acquire

_PRIORITY = 60


class StillPlant:
    """Shafts in the middle of an AI motor's scale that nothing moves."""

    def advance(self, now_ns: int) -> None: ...

    def command(self, servo: int, goal_deg: float, level: int) -> None: ...

    def drive(self, servo: int, goal_deg: float, stiffness_n_m_deg: float, limit_n_m: float) -> None: ...

    def release(self, servo: int) -> None: ...

    def sample(self, servo: int) -> tuple[float, float]:
        return 83.0, 0.0

    def motion(self, servo: int) -> Motion:
        return Motion(83.0, 0.0, 0.0, 0.0)


def main(pty: str, url: str, count: str) -> None:
    """Serve until told to end."""
    family = find_family(split_url(url)[1])
    plant = StillPlant()
    emulator = _power_up(family, url, int(count), plant)
    start_ns = time.monotonic_ns()
    line = ReplyLine(emulator.baud, start_ns)
    emulator.connect(line)
    terminal = PseudoTerminal(Path(pty))
    loop = EmulatorLoop(
        emulator, plant, terminal, line, baud=emulator.baud, start_ns=start_ns, now=time.monotonic_ns, wait=_wait
    )
    signal.signal(signal.SIGTERM, lambda *_: loop.stop())
    with closing(acquire(RealtimePolicy(priority=_PRIORITY))):
        loop.run()
    terminal.unplug()


def _power_up(family: BusFamily, url: str, count: int, plant: StillPlant) -> Emulator:
    """Power up servos of the family's first model that has the rate."""
    refused: BusUrlError | None = None
    for model in family.models:
        try:
            servos = tuple(ServoAddress(k, f"servo {k}", model) for k in range(count))
            return family.emulator(url, servos, plant, 1)
        except BusUrlError as error:
            refused = error
    raise refused or BusUrlError(f"{url}: no models")


def _wait(deadline_ns: int, descriptors: Sequence[int]) -> Sequence[int]:
    left_ns = deadline_ns - time.monotonic_ns()
    return select.select(descriptors, (), (), left_ns * 1e-9 if left_ns > 0 else 0.0)[0]


if __name__ == "__main__":
    main(*sys.argv[1:])
