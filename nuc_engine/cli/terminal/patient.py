"""Options that are wrong are all said at once: who starts a daemon wants to correct a unit file one time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeVar

import click

from nuc_engine.cli.terminal.errors import USAGE, CommandFailed

T = TypeVar("T")

_WRONG = "nuc_engine.cli.terminal.patient"


class Take(Protocol):
    """Does something, and keeps what was wrong with it; None then."""

    def __call__(self, work: Callable[[], T], *errors: type[Exception]) -> T | None:
        """Do it. What it raises of these errors, and UsageError, is kept."""
        ...


class WrongWords(CommandFailed):
    """The command line is wrong: one line for each reason, exit status 2."""

    exit_code = USAGE


class PatientOption(click.Option):
    """An option whose value, when it is wrong, is None and leaves a line for `raise_wrong`."""

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Convert and check a value."""
        try:
            return super().process_value(ctx, value)
        except click.BadParameter as error:
            _wrong(ctx).append(error.format_message())
            return None


option = partial(click.option, cls=PatientOption)


def patience(ctx: click.Context) -> Take:
    """Return what keeps the errors of this command."""

    def take(work: Callable[[], T], *errors: type[Exception]) -> T | None:
        try:
            return work()
        except (click.UsageError, *errors) as error:
            text = error.format_message() if isinstance(error, click.UsageError) else str(error)
            _wrong(ctx).append(text)
            return None

    return take


def raise_wrong(ctx: click.Context) -> None:
    """Raise WrongWords with all that was wrong, if anything was."""
    path = ctx.command_path
    lines = [f"{path}: {' '.join(line.split()).rstrip('.')}" for line in dict.fromkeys(_wrong(ctx))]
    if lines:
        raise WrongWords(*lines[:-1], f"{lines[-1]} (see {path} --help)")


def _wrong(ctx: click.Context) -> list[str]:
    return ctx.meta.setdefault(_WRONG, [])
