"""Runs a module as `python -m` does, in a process that dies with the one that started it, however that one ends.

    python -m tests.realtime.mortal MODULE WORDS...

A run of the tests that is killed leaves no daemon at real-time priority behind, none that holds a port or a disk.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys

_PR_SET_PDEATHSIG = 1

MORTAL = ("-m", "tests.realtime.mortal")


def main() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() == 1:
        sys.exit("whoever started this is gone")
    del sys.argv[0]
    # As `python -m` does: the module's own file takes the place of its name.
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
