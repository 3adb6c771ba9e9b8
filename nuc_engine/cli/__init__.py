"""The command line, `nuc`. The only part of the project that prints, and, with the manifest, that reads a wall clock.

    app         the group of commands, how errors become one line and an exit status
    listed      groups of commands of which none is loaded before it is used
    leaving     closed windows, signals, pipes that nobody reads any more
    off         `nuc ctl off`, before anything else is loaded
    output      text, JSON and colour on their way out
    params      arguments and options that several commands share, with their completion
    wallclock   the clock of the person who waits

    run validate show plot diff replay demo completion      one module per command

Exit status: 0 good, 1 what was asked about is bad, 2 the command line itself is wrong.
"""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Entry point of the `nuc` command."""
    words = sys.argv[1:]
    if words[:1] == ["ctl"] and "off" in words:
        from nuc_engine.cli.off import hurry

        status = hurry(words[1:])
        if status is not None:
            sys.exit(status)
    from nuc_engine.cli.app import app

    if isinstance(sys.stdout, io.TextIOWrapper):
        # A pipe on Windows knows 200 letters; for the others there is a way to write them, and no reason to end.
        sys.stdout.reconfigure(errors="backslashreplace")
    app.main()
