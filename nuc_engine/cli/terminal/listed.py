"""Groups of commands that are known by a table: each is loaded when it is used, and none to list or complete them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem


class Listed(click.Group):
    """A group with a table: name -> (module in this package that has the `command`, what it is for)."""

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order a newcomer needs them."""
        del ctx
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one command, or None."""
        del ctx
        if cmd_name not in self.table:
            return None
        return importlib.import_module(f"nuc_engine.cli.{self.table[cmd_name][0]}").command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin like this, and options."""
        found = [
            CompletionItem(name, help=what) for name, (_, what) in self.table.items() if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, what) for name, (_, what) in self.table.items()])
