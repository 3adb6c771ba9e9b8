"""Ends that are asked for from outside: all of them as Ctrl-C, so that what was begun is tidied up."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager

_NAMES = ("SIGTERM", "SIGHUP")


@contextmanager
def ended_as_by_ctrl_c() -> Generator[None]:
    """Let a request to terminate, and a terminal that is closed, end what runs as Ctrl-C does; the first one counts.

    What is ignored (by nohup) stays so.
    """
    there = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    numbers = [number for number in there if signal.getsignal(number) is not signal.SIG_IGN]

    def interrupt(*_: object) -> None:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = [signal.signal(number, interrupt) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
