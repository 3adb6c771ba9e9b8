"""The group of commands: each is loaded when it is used; every error becomes one line per reason and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

import click

from nuc_engine.cli.terminal.errors import explain
from nuc_engine.cli.terminal.leaving import UNREAD, unread
from nuc_engine.cli.terminal.listed import Listed
from nuc_engine.cli.terminal.output import HELP_WIDTH, note, say, say_json

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "run": ("bout.run", "one bout of a leg, on simulated time, into a data directory"),
        "demo": ("bout.demo", "watch a leg step in the terminal, until Ctrl-C"),
        "show": ("look.show", "a model, explained: joints, muscles, states, rules, parameters"),
        "validate": ("look.validate", "check configurations, scripts and commands"),
        "plot": ("look.plot", "pictures of a bout"),
        "movie": ("look.movie", "the leg of a bout as a movie, beside a camera's film"),
        "diagram": ("look.diagram", "how a leg is controlled, and which states it really went through"),
        "stats": ("look.stats", "steps in numbers: period, stance, swing, stride, joint ranges"),
        "compare": ("look.compare", "bouts side by side: what was set otherwise, and what it made of the steps"),
        "ls": ("look.ls", "which bouts there are, and what was seen in them"),
        "replay": ("bout.replay", "run a bout again and compare"),
        "verify": ("look.verify", "hold a bout against the equations, record by record"),
        "budget": ("look.budget", "what one tick costs, stage by stage, and at which rate it fails"),
        "experiment": ("many.experiment", "the experiments of chapter 7 over many seeds, with verdicts and pages"),
        "sweep": ("many.sweep", "many bouts over parameters, seeds and plants, into one table"),
        "dataset": ("many.dataset", "the logs of many episodes, such as flights, as one Parquet file with a card"),
        "surrogate": (
            "many.surrogate",
            "a controller learned from a dataset: fitted, flown beside its teacher",
        ),
        "tune": ("many.tune", "look for values with which most bouts do what is wanted"),
        "minimise": ("many.minimise", "what a changeset needs, and which changesets commute"),
        "serve": ("bout.serve", "the engine beside a leg: real time, commands over a socket, until it is ended"),
        "episode": ("episode", "episodes that a server runs: begin, end, watch one from other programs"),
        "emulate": ("bout.emulate", "a leg's servo bus on a pseudo-terminal, in real time"),
        "ui": ("ui", "the workbench in the browser: watch a leg, stop it, look at its bouts"),
        "ctl": ("ctl", "talk to a running daemon: run, tune, log, watch"),
        "export": ("look.export", "a bout for other programs: Parquet, CSV, MCAP"),
        "recover": ("look.recover", "mend bouts that were cut off by a power cut"),
        "diff": ("look.diff", "named differences between configurations, scripts or bouts"),
        "bus": ("bus", "servo buses at the bench: find, watch, move, measure, set up, torque off"),
        "doctor": ("look.doctor", "is this machine fit for real time"),
        "keys": ("keys", "keys of daemon and clients, and who may do what"),
        "completion": ("terminal.completion", "let the shell complete commands and names"),
    }
)
"""Every command, its module in this package and what it is for, in the order a newcomer needs them."""

OVERVIEW = """\
nuc - a control engine for neuromechanical robot legs

Try these three first:

  nuc demo lin_roach                       watch a cockroach leg step; Ctrl-C stops it
  nuc run lin_roach --script experiment_a --duration 60 --plot
                                           forward, then two kinds of inside turn: data and pictures
  nuc show lin_roach                       what made it step: rules, muscles, parameters

All commands:

{commands}

`nuc COMMAND --help` explains one, with examples. Configurations that can be named here: {configurations}.
"""

_SETTINGS = {"max_content_width": HELP_WIDTH, "help_option_names": ["-h", "--help"]}


class Commands(Listed):
    """All commands; turns errors into lines and an exit status."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is meant; an unknown one is answered with the nearest there is."""
        if args and args[0] not in COMMANDS and not ctx.resilient_parsing:
            near = get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"commands are {', '.join(COMMANDS)}"
            ctx.fail(f"no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line. Ends the process with 0, 1 or 2; without `standalone_mode`, raises as click does."""
        words = list(sys.argv[1:] if args is None else args)
        if not standalone_mode:
            return super().main(words, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            status = self._status(words, prog_name or "nuc", complete_var, extra)
        except BrokenPipeError:  # on the way to stderr
            if not unread():
                raise
            status = UNREAD
        sys.exit(status)

    def _status(self, words: list[str], prog_name: str, complete_var: str | None, extra: dict[str, Any]) -> int:
        # Not by `main` of click, which takes every broken pipe for a reader that went away.
        self._main_shell_completion(extra, prog_name, complete_var)
        try:
            with self.make_context(prog_name, words, **extra) as ctx:
                status = self.invoke(ctx)
        except click.exceptions.Exit as end:
            status = end.exit_code
        except (click.Abort, KeyboardInterrupt):
            status = _complain(words, 1, ("nuc: stopped",))
        except Exception as error:
            if isinstance(error, BrokenPipeError) and unread():
                return UNREAD
            explained = explain(error)
            if explained is None:
                raise
            status = _complain(words, *explained)
        return status if isinstance(status, int) else 0


def _complain(words: Sequence[str], status: int, lines: Sequence[str]) -> int:
    for line in lines:
        note(line)
    if "--json" in words:
        say_json({"ok": False, "errors": list(lines)})
    return status


def _version() -> str:
    import importlib.metadata  # twice as much as all else `nuc` loads

    try:
        return importlib.metadata.version("nuc-engine")
    except importlib.metadata.PackageNotFoundError:
        return "unknown (not installed)"


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if value and not ctx.resilient_parsing:
        from nuc_engine.machine.core import core

        say(f"nuc {_version()}, core: {core()}")
        ctx.exit()


@click.group(
    name="nuc",
    cls=Commands,
    table=COMMANDS,
    invoke_without_command=True,
    context_settings=_SETTINGS,
    epilog="Exit status: 0 good, 1 what was asked about is bad, 2 the command line itself is wrong.",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Print the version."
)
@click.pass_context
def app(ctx: click.Context) -> int:
    """Run, watch, check and compare neuromechanical robot legs. `nuc` alone says where to begin."""
    if "NO_COLOR" in os.environ:
        ctx.color = False
    if ctx.invoked_subcommand is None:
        from nuc_engine.machine.locations import list_configurations

        width = max(map(len, COMMANDS))
        commands = "\n".join(f"  nuc {name:<{width}}  {what}" for name, (_, what) in COMMANDS.items())
        known = ", ".join(list_configurations()) or "none found"
        say(OVERVIEW.format(commands=commands, configurations=known).rstrip())
    return 0
