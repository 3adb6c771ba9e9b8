"""What `nuc bus set-id` and `set-baud` share: looking first, saying what will be burnt in, asking for the word."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.bus.lines import Stop
from nuc_engine.cli.terminal.errors import Refused
from nuc_engine.cli.terminal.output import note, say_json

if TYPE_CHECKING:
    from nuc_engine.cli.bus.lines import BenchLine

ALONE = "only this servo should be on the line: two that have the same id both change"

SHARED = "two servos of that id both change"

_WCK_ONLY = (
    "on AI motors the commands that set id and rate are not established: their numbering is probably not the wCK's,"
    " whose 'gain read' would set the id. If this servo is a wCK, say so with wck=1 in the URL"
)


class Stopping:
    """A context that ends a command at once when it is asked to, until something is written to a servo.

    From then on signals are only noted, until what came of it has been said: a servo half set, whose lock stays open or
    of which nobody knows what it holds is worse than one more second.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Stopping:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def from_now_on(self) -> Stop:
        """Note signals from now on."""
        return self._stack.enter_context(Stop())


def present(line: BenchLine, bus_id: int) -> bool:
    """Say whether a servo of that id answers."""
    from drivers.bench.release import answers

    return answers(line.bus(_address(line, bus_id)), line.pace)


def check_established(line: BenchLine) -> None:
    """Raise `Refused` for servos whose commands are not established well enough to burn anything in."""
    from drivers.factory import DEFAULT_FAMILY

    if line.family.name == DEFAULT_FAMILY and not line.spec.options.get("wck"):
        raise Refused(f"{line.url}: {_WCK_ONLY}")


def check_id(line: BenchLine, bus_id: int) -> None:
    """Raise UsageError for an id that the family does not have."""
    _address(line, bus_id)


def ask_for(word: str, what: str, *, yes: bool) -> bool:
    """Say what will be done, and ask for a word; True when it was typed. Raises UsageError where nobody can type."""
    note(what)
    if yes:
        return True
    if nobody_types():
        raise click.UsageError(f"nobody is there to confirm this by typing {word}: say --yes, or use a terminal")
    typed = click.prompt(f"Type {word} to do it", default="", show_default=False, err=True)
    if typed.strip() == word:
        return True
    note(f"{typed.strip()!r} is not {word}: nothing was changed")
    return False


def nobody_types() -> bool:
    """Say whether stdin is no terminal."""
    return not sys.stdin.isatty()


def report(what: dict[str, Any], *, as_json: bool) -> None:
    """Print what was done, or why not."""
    from nuc_engine.cli.terminal.output import say

    if as_json:
        say_json(what)
        return
    for error in what["errors"]:
        note(f"{what['url']}: {error}")
    if what["ok"]:
        say(what["said"])


def _address(line: BenchLine, bus_id: int) -> Any:
    servos = line.named([bus_id])
    if not servos:
        ids = [servo.bus_id for servo in line.family.every_servo()]
        raise click.UsageError(f"{line.family.name} servos have ids {min(ids)} to {max(ids)}, not {bus_id}")
    return servos
