"""What all subcommands of `nuc ctl` share: how they are declared, and how they print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from nuc_engine.cli.ctl.link import Target
from nuc_engine.cli.terminal.output import plain, say, say_json
from nuc_engine.cli.terminal.params import NucCommand

Function = Callable[..., Any]

pass_target = click.make_pass_decorator(Target)


class CtlGroup(NucCommand, click.Group):
    """Commands below a command, with examples, in the order in which they were declared."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names as declared: the order a newcomer needs."""
        del ctx
        return list(self.commands)


def subcommand(name: str, examples: Sequence[tuple[str, str]], *output: str) -> Callable[[Function], click.Command]:
    """Declare one subcommand; its function gets the target first. Lines of the examples go without `nuc ctl`."""

    def declare(function: Function) -> click.Command:
        shown = tuple((f"nuc ctl {line}", meaning) for line, meaning in examples)
        return click.command(name=name, cls=NucCommand, examples=shown, output=output)(pass_target(function))

    return declare


def answer(as_json: bool, data: object, *lines: str) -> int:
    """Print a result: as one JSON object, or as lines. Returns the exit status."""
    if as_json:
        from msgspec import to_builtins

        shown = plain(to_builtins(data))
        say_json({"ok": True, **shown} if isinstance(shown, Mapping) else {"ok": True, "result": shown})
    else:
        for line in lines:
            say(line)
    return 0
