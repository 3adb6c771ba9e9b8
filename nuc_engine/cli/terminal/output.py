"""Text, JSON and colour on their way out: results to stdout, progress and complaints to stderr."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import click

WIDTH = 80
"""Columns of text: what a terminal has that nobody made wider."""
HELP_WIDTH = 100
"""Columns of help at most; it fills a terminal that has fewer."""

_MOST_INDENT = WIDTH // 3
_LABEL = re.compile(r" *\S+(?: \S+)? {2,}(?=\S)")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_DOCUMENT_WARNING = ": warning: "


def say(text: str = "") -> None:
    """Write one or more lines of a result to stdout."""
    click.echo(text)


def say_wrapped(text: str, indent: str) -> None:
    """Write one line of a result, or several where it is longer than `WIDTH`; `indent` stands before the further ones.

    Words are never cut, so a path stays one.
    """
    for line in wrapped(text, indent):
        say(line)


def wrapped(text: str, indent: str, width: int = WIDTH) -> list[str]:
    """Return a line as `say_wrapped` writes it, in so many columns."""
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def folded(row: str, indent: int = 0) -> list[str]:
    """Return a row of fields, or several of at most `WIDTH` columns: parted between fields, or else between words.

    The further ones begin in column `indent`; without it, below the second field where the first one is a label, and
    behind a little room otherwise.
    """
    plain = click.unstyle(row)
    if len(plain) <= WIDTH:
        return [row]
    if not indent:
        label = _LABEL.match(plain)
        begin = len(plain) - len(plain.lstrip())
        indent = label.end() if label and label.end() <= _MOST_INDENT else begin + 2
    cut = max(plain.rfind("  ", indent, WIDTH), plain.rfind("; ", indent, WIDTH) + 1)
    if cut <= indent:
        cut = plain.rfind(" ", indent, WIDTH + 1)
    if cut <= indent:
        return [row]
    at = _place(row, cut)
    return [row[:at].rstrip(), *folded(" " * indent + row[at:].lstrip(), indent)]


def _place(row: str, column: int) -> int:
    """Return where in a row, which may be styled, what stands in a column begins."""
    at = 0
    while (style := _STYLE.search(row, at)) is not None and style.start() - at <= column:
        column -= style.start() - at
        at = style.end()
    return at + column


def note(text: str) -> None:
    """Write a line that is no result (a warning, where something went) to stderr."""
    click.echo(text, err=True)


def say_json(data: Mapping[str, Any]) -> None:
    """Write a result to stdout as one JSON object."""
    click.echo(json.dumps(plain(data), indent=2, allow_nan=False))


def plain(value: Any) -> Any:
    """Return a value in what JSON knows: dataclasses become objects, numbers that are none become null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value).items()
        return {str(key): plain(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [plain(item) for item in cast(tuple[Any, ...], value)]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value


def is_terminal(*, err: bool = False) -> bool:
    """Say whether somebody looks at stdout (or stderr) directly."""
    stream = sys.stderr if err else sys.stdout
    return stream.isatty()


def takes_keys() -> bool:
    """Say whether there is a terminal to draw a screen on and to read keys from, as POSIX has it."""
    terminal = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    return sys.platform != "win32" and terminal


class TableColumn(NamedTuple):
    """A column of a table: its title, `<` or `>` with a width (that of what is in it without), how numbers are set."""

    title: str
    place: str = ">"
    form: str = ""

    def cell(self, value: object) -> str:
        """Return what stands for a value, `-` for none."""
        return "-" if value is None else str(value) if isinstance(value, str) else format(value, self.form)


def table(columns: Sequence[TableColumn], rows: Iterable[Sequence[object]]) -> list[str]:
    """Return a table as lines, the heading first."""
    texts = [[column.cell(value) for column, value in zip(columns, row, strict=True)] for row in rows]
    titles = [column.title for column in columns]
    places = [
        column.place if column.place[1:] else f"{column.place}{max(map(len, cells))}"
        for column, *cells in zip(columns, titles, *texts, strict=True)
    ]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(f"{cell:{place}}" for cell, place in zip(cells, places, strict=True))

    return [heading(line(titles)), *map(line, texts)]


def heading(text: str) -> str:
    """Return text as a heading. Click takes all style out again where there is no terminal."""
    return click.style(text, bold=True, underline=True)


def strong(text: str) -> str:
    """Return text that is to be seen first."""
    return click.style(text, bold=True)


def faint(text: str) -> str:
    """Return text that is a side remark."""
    return click.style(text, dim=True) if text else text


def patch(color: Sequence[float]) -> str:
    """Return a small patch of a colour (red, green, blue in 0..1), nothing where there is no terminal."""
    red, green, blue = (round(255 * part) for part in color)
    return click.style("\u25a0 ", fg=(red, green, blue)) if is_terminal() else ""


def note_warnings(config: str, warnings: Sequence[str], script: str = "") -> None:
    """Write warnings to stderr; those about the documents are only counted, since `nuc validate` lists them."""
    documents = [warning for warning in warnings if _DOCUMENT_WARNING in warning]
    for warning in warnings:
        if warning not in documents:
            note(f"warning: {warning}")
    if documents:
        which = f"{config} {script} --config {config}" if script else config
        note(f"{count(len(documents), 'remark')} on the documents, no error: `nuc validate {which}` lists them")


def counts_text(counts: Mapping[str, int]) -> str:
    """Return what was counted, without what was not: `missed 3, stray bytes 2`; empty when nothing was."""
    return ", ".join(f"{name.replace('_', ' ')} {number}" for name, number in counts.items() if number)


def count(number: int, what: str) -> str:
    """Return `1 error`, `2 errors`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
