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

import io
import os
import sys

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
    app.main()
