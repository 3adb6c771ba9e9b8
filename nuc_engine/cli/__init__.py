"""The command line, `nuc`. The only part of the project that prints, and, with the manifest, that reads a wall clock.

    app         the group of commands, how errors become one line and an exit status
    output      text, JSON and colour on their way out
    params      arguments and options that several commands share, with their completion
    wallclock   the clock of the person who waits

    run validate show plot diff replay demo completion      one module per command

Exit status: 0 good, 1 what was asked about is bad, 2 the command line itself is wrong.
"""

from nuc_engine.cli.app import main

__all__ = ["main"]
