"""The command line, `nuc`. The only part of the project that prints, and, with the manifest, that reads a wall clock.

    app          the group of commands
    bout/        commands that run a leg
    bus/         servo buses at the bench
    ctl/         everything the daemon can be asked, from the command line
    episode/     episodes that a server runs
    keys         keys of the daemon and of its clients, and who may do what
    look/        commands that look at documents, bouts and this machine
    many/        commands that run many bouts
    off          `nuc ctl off` before the command line of all other commands is loaded
    terminal/    arguments, output, endings, errors, screens
    ui           the workbench in the browser

Exit status: 0 good, 1 what was asked about is bad, 2 the command line itself is wrong.
"""

from __future__ import annotations

import atexit
import io
import os
import sys
import threading

_QUICKER = {"OPENBLAS_NUM_THREADS": "1", "MUJOCO_GL": "disable"}
"""Of libraries: the threads of linear algebra, which has little to do here, and windows of MuJoCo, which shows none."""


def main() -> None:
    """Entry point of the `nuc` command."""
    words = sys.argv[1:]
    if words[:1] == ["ctl"] and "off" in words:
        from nuc_engine.cli.off import hurry

        status = hurry(words[1:])
        if status is not None:
            sys.exit(status)
    from nuc_engine.cli.app import app

    for name, value in _QUICKER.items():
        os.environ.setdefault(name, value)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A pipe on Windows knows 200 letters; for the others there is a way to write them, and no reason to end.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app.main()
    except SystemExit as end:
        _leave(end.code)
        raise


def _leave(status: object) -> None:
    """End the process as Python does, but leave its memory to the system: taking NumPy and MuJoCo apart takes 0.05 s.

    Where a thread is still at work, or what was said finds no reader, return, so that Python ends it.
    """
    if not isinstance(status, int) or threading.active_count() > 1:
        return
    atexit._run_exitfuncs()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        return
    os._exit(status)
