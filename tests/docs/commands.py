"""Command lines as pages show them: found, and held against what the command line program takes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from nuc_engine.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PLACEHOLDER = re.compile(r"[A-Z]+")
"""A word in capitals stands for something of the reader's."""
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"^(?:\$ |    )(nuc .*)$", re.MULTILINE)


@dataclass(frozen=True)
class Told:
    """One command line: its words, and which of them are files or configurations it reads, and files it makes."""

    text: str
    words: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


def fenced(text: str, language: str) -> list[str]:
    """Return the blocks of a page in one language."""
    return [block for name, block in _FENCED.findall(text) if name == language]


def command_lines(text: str) -> Iterator[str]:
    """Yield every `nuc` command that stands in a line of its own, with lines that go on joined."""
    joined = re.sub(r"[ ]*\\\n\s*", " ", text)
    for line in _LINE.findall(joined):
        yield line.split("  #")[0].split(" # ")[0].strip()


def told(line: str) -> Told:
    """Hold a line against the program. Raises click's UsageError for what it does not take."""
    words = shlex.split(line)
    command: click.Command = app
    rest = words[1:]
    context = click.Context(app, info_name="nuc")
    while isinstance(command, click.Group):
        _, rest, _ = command.make_parser(context).parse_args(list(rest))  # such as `nuc ctl --address ADDR`
        name, found, rest = command.resolve_command(context, rest)
        assert found is not None, line
        command, context = found, click.Context(found, info_name=name, parent=context)
    values, left, _ = command.make_parser(context).parse_args(list(rest))
    if left:
        raise click.UsageError(f"{line}: {left} is left over")
    reads: list[str] = []
    writes: list[str] = []
    for parameter in command.params:
        for value in _each(values.get(parameter.name or "")):
            if parameter.name == "out":
                writes.append(value)
            elif isinstance(parameter.type, click.Path):
                (reads if parameter.type.exists else writes).append(value)
            elif parameter.name in ("config", "script"):
                reads.append(value)
            elif not PLACEHOLDER.fullmatch(value):
                parameter.type.convert(value, parameter, context)
    return Told(line, tuple(words[1:]), tuple(reads), tuple(writes))


def _each(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [word for item in value for word in _each(item)] if isinstance(value, list | tuple) else []


def missing(lines: Iterable[Told]) -> list[str]:
    """Return what is read by a command and neither is in the project, nor was made by one before it."""
    found: list[str] = []
    made: set[str] = set()
    for line in lines:
        for name in line.reads:
            there = (
                is_there(name) or PLACEHOLDER.fullmatch(name) or any(f"{new}/".startswith(f"{name}/") for new in made)
            )
            found += [] if there else [f"{line.text}: {name}"]
        made |= {*line.writes}
    return found


def is_there(name: str) -> bool:
    """Say whether the project has a configuration, a script or a file of this name."""
    places = (ROOT / name, ROOT / "configs" / name, ROOT / "scripts" / f"{name}.xml")
    return any(place.exists() for place in places)
