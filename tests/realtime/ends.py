"""Waiting for what other processes do, without a guess at how long it takes."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from pathlib import Path

TIMEOUT_S = 60.0
_LOOK_S = 0.02


def wait_until(there: Callable[[], bool]) -> None:
    """Return once it is so. Raises TimeoutError when it never is."""
    pause = threading.Event()
    for _ in range(int(TIMEOUT_S / _LOOK_S)):
        if there():
            return
        pause.wait(_LOOK_S)
    raise TimeoutError


def handles_of(folder: Path, count: int) -> list[int]:
    """Return descriptors of the processes whose ids stand in a folder, once there are so many."""
    wait_until(lambda: len(list(folder.iterdir())) >= count)
    return [os.pidfd_open(int(path.name)) for path in folder.iterdir()]


def have_ended(handles: list[int]) -> bool:
    """Wait until all these processes have ended; False when one never does."""
    try:
        return all(bool(select.select([handle], [], [], TIMEOUT_S)[0]) for handle in handles)
    finally:
        for handle in handles:
            os.close(handle)
