"""Functions for worker processes: they are found there by this module's name."""

from __future__ import annotations

import gc
import os
import signal
import threading
from pathlib import Path

from nuc_engine.batch.pool import run_all


def double(item: int) -> int:
    return 2 * item


def process_id(_: int) -> int:
    return os.getpid()


def new_objects(_: int) -> int:
    return gc.get_threshold()[0]


def fail_at_three(item: int) -> int:
    if item == 3:
        raise ValueError("three is too many")
    return item


def die(item: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return item


def die_at_three(item: int) -> int:
    return die(item) if item == 3 else item


def read(path: str) -> str:
    """Return what a file holds; of a pipe, once somebody has written it."""
    return Path(path).read_text()


def unpicklable(_: int) -> object:
    return threading.Lock()


class Awkward(Exception):
    """Can be pickled, but not be built again."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one + other)


def raise_awkward(_: int) -> int:
    raise Awkward("one", "other")


def tell_and_wait(folder: str) -> None:
    """Leave this process's id in a folder, and wait for the end. A bout would take an interrupt for its own end."""
    Path(folder, str(os.getpid())).touch()
    try:
        threading.Event().wait(120)
    except KeyboardInterrupt:
        Path(folder, f"interrupted {os.getpid()}").touch()


def hold(folder: str) -> None:
    for _ in run_all(tell_and_wait, [folder, folder], jobs=2):
        pass
