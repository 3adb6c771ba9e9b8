"""Wall-clock time for people who wait: progress, pacing, the name of a new data directory. Nothing else reads it."""

from __future__ import annotations

import time
from datetime import datetime


def seconds() -> float:
    """Return a clock that only ever moves forward, in seconds."""
    return time.monotonic()


def sleep(duration_s: float) -> None:
    """Let this time pass; nothing happens for a negative one."""
    if duration_s > 0:
        time.sleep(duration_s)


def stamp() -> str:
    """Return the local time as NeuRoMod names data directories: yymmdd_hh.mm.ss (appendix 10.4, section 3.1)."""
    return datetime.now().astimezone().strftime("%y%m%d_%H.%M.%S")
