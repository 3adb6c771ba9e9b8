"""Arguments and options that several commands share: their types, their completion, and how help is laid out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from nuc_engine.machine.locations import is_episode, list_configurations, list_runs, list_scripts

_F = TypeVar("_F", bound=Callable[..., Any])
_WHOLE = 10_000


class NucCommand(click.Command):
    """A command whose help ends with examples and with where its output goes."""

    def __init__(
        self, *args: Any, examples: Sequence[tuple[str, str]] = (), output: Sequence[str] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.output = tuple(output)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; fail for numbers that are none, which no range keeps out (nothing is beyond a bound NaN)."""
        rest = super().parse_args(ctx, args)
        for param in self.params:
            value = ctx.params.get(param.name or "")
            if isinstance(value, float) and not math.isfinite(value):
                raise click.BadParameter(f"{value} is no number to go by", ctx, param)
        return rest

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the first sentence of the help, whole: lists have lines enough."""
        del limit
        return super().get_short_help_str(_WHOLE)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write examples, then where output goes."""
        del ctx
        with formatter.section("Examples"):
            for line, meaning in self.examples:
                for row in typed_rows(line, formatter.width - formatter.current_indent):
                    formatter.write(f"{'':{formatter.current_indent}}{row}\n")
                with formatter.indentation(), formatter.indentation():
                    formatter.write_text(meaning)
        with formatter.section("Output"):
            for paragraph in self.output:
                formatter.write_text(paragraph)


def typed_rows(line: str, width: int) -> list[str]:
    """Return a command as rows that can be typed as they are: parted before options, with a backslash at the end."""
    rows = [""]
    for word in re.findall(r" +-.*?(?= +-|$)|^.*?(?= +-|$)", line):
        if rows[-1] and len(rows[-1]) + len(word) + 2 > width:
            rows[-1] += " \\"
            rows.append(f"    {word.strip()}")
        else:
            rows[-1] += word
    return rows


class _Named(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """A name out of a list, or a path; completes both."""

    def __init__(self, name: str, names: Callable[[], list[str]]) -> None:
        self.name = name
        self._names = names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        del param, ctx
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        del ctx, param
        matching = [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]
        return matching or [CompletionItem(incomplete, type="file")]


class _Leg(_Named):
    """A configuration of a leg; a RunConfig is refused in one line."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = super().convert(value, param, ctx)
        if name in list_runs() or is_episode(Path(name)):
            self.fail(f"{name} is a RunConfig; expected the configuration of a leg", param, ctx)
        return name


class Pair(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """`KEY=VALUE`; the value may hold further equals signs."""

    name = "KEY=VALUE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return key and value, or fail."""
        if isinstance(value, tuple):
            return value  # pyright: ignore[reportUnknownVariableType]
        key, equals, text = str(value).partition("=")
        if not equals or not key.strip():
            self.fail(f"{value!r} is not of the form KEY=VALUE", param, ctx)
        return key.strip(), text


def _models_and_scripts() -> list[str]:
    return sorted({*list_configurations(), *list_runs(), *list_scripts()})


def _models_and_runs() -> list[str]:
    return sorted({*list_configurations(), *list_runs()})


CONFIGURATION = _Leg("CONFIG", list_configurations)
RUNNABLE = _Named("CONFIG", _models_and_runs)
SCRIPT = _Named("SCRIPT", list_scripts)
THING = _Named("THING", _models_and_scripts)


class OutFile(click.Path):
    """A file to be written, whose name says by its ending which of some formats it gets."""

    def __init__(self, formats: Sequence[str]) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.formats = tuple(formats)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or fail with the endings there are."""
        from nuc_engine.recording.formats import WrongEnding, ending

        path: Any = super().convert(value, param, ctx)
        try:
            ending(path, self.formats)
        except WrongEnding as error:
            self.fail(str(error), param, ctx)
        return path


class OutFolder(click.Path):
    """A folder to be written into; a name that would be a file's is refused, since no file of that name would come."""

    def __init__(self, formats: Sequence[str]) -> None:
        super().__init__(file_okay=False, path_type=Path)
        self.formats = tuple(formats)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, or fail."""
        path: Any = super().convert(value, param, ctx)
        if path.suffix.removeprefix(".").lower() in self.formats and not path.is_dir():
            self.fail(f"{path}: expected a folder, which several files go into", param, ctx)
        return path


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def configuration(default: str | None = None, kind: _Named = CONFIGURATION) -> Callable[[_F], _F]:
    """Return the argument CONFIG: a folder, or the name of a configuration; needed where there is no default."""
    if default is None:
        return click.argument("config", metavar="CONFIG", type=kind)
    return click.argument("config", metavar="[CONFIG]", type=CONFIGURATION, required=False, default=default)


def script(purpose: str) -> Callable[[_F], _F]:
    """Return the option --script: a file, or the name of a script."""
    return click.option("--script", "-s", metavar="SCRIPT", type=SCRIPT, help=purpose)


def limits(option: Callable[..., Callable[[_F], _F]] = click.option) -> Callable[[_F], _F]:
    """Return the option --limit; `option` makes it, where wrong values are not to end the command at once."""
    return option(
        "--limit",
        "limits",
        metavar="MOTOR=TICKS",
        type=Pair(),
        multiple=True,
        help="How far from where it was measured a motor may be commanded, in its own raw ticks (0.654 degrees on an AI"
        " motor, 0.088 on most others; default: no limit); repeatable.",
    )


def gravity_compensation(option: Callable[..., Callable[[_F], _F]] = click.option) -> Callable[[_F], _F]:
    """Return the option --gravity-compensation; `option` as for `limits`."""
    return option(
        "--gravity-compensation",
        "gravity",
        metavar="SHARE",
        type=click.FloatRange(0, 1),
        default=0.0,
        show_default=True,
        help="Let the motors carry this share of the leg's weight besides what its muscles do; masses from plant.toml.",
    )


class SpanParam(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
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


def whose_time(command: _F) -> _F:
    """Add the option --time of what shows a bout."""
    return click.option(
        "--time",
        "whose_time",
        type=click.Choice(("leg", "animal")),
        default="leg",
        show_default=True,
        help="Whose seconds are shown, and meant by spans of time; the animal's need a scale in the configuration.",
    )(command)


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
