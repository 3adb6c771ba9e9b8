"""Options about time that the commands of analysis share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_F = TypeVar("_F", bound=Callable[..., Any])


class Span(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """A span of time `A:B` in seconds."""

    name = "a:b"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, float]:
        """Return begin and end in seconds, or fail."""
        if isinstance(value, tuple):
            return value  # pyright: ignore[reportUnknownVariableType]
        begin, colon, end = str(value).partition(":")
        try:
            span = float(begin), float(end)
        except ValueError:
            colon, span = "", (0.0, 0.0)
        if not colon or not 0 <= span[0] < span[1] < float("inf"):
            self.fail(f"{value!r} is no span of time; expected BEGIN:END in seconds, such as 20:40", param, ctx)
        return span


def settling(command: _F) -> _F:
    """Add the option --settle."""
    return click.option(
        "--settle",
        metavar="S",
        type=click.FloatRange(min=0, max=1e6),
        default=3.0,
        show_default=True,
        help="Seconds at the beginning of each window that are left out.",
    )(command)
