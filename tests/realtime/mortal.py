"""Runs a module as `python -m` does, in a process that dies with the one that started it, however that one ends.

    python -m tests.realtime.mortal STARTER MODULE WORDS...

STARTER is the process that starts it; `mortal` says the whole of the command.

A run of the tests that is killed leaves no daemon at real-time priority behind, none that holds a port or a disk.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

_PR_SET_PDEATHSIG = 1


def mortal(*words: str) -> list[str]:
    """Return the command that runs a module, the first of the words, until the process that asks has ended."""
    return [sys.executable, "-m", "tests.realtime.mortal", str(os.getpid()), *words]


def main() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # It may have ended before the kernel was asked; who has taken its place as the parent is not known.
    if os.getppid() != int(sys.argv[1]):
        sys.exit("whoever started this is gone")
    del sys.argv[:2]
    # As `python -m` does: the module's own file takes the place of its name.
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
