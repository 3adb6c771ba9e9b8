"""What the commands of `nuc bus` share: arguments, places of the shaft, the way out with the torque off."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.output import is_terminal, note
from nuc_engine.cli.terminal.params import CONFIGURATION

if TYPE_CHECKING:
    from drivers.bus import Bus
    from drivers.clock import WaitingClock
    from drivers.servo import ServoAddress, ServoModel
    from nuc_engine.cli.bus.lines import BenchLine

NS = 1_000_000_000
FIRST_CYCLES = 2
"""In them servos are asked who they are: their time says nothing of those that follow."""

NOBODY = (
    "nobody answered: is the supply on, the rate right (--all-rates), the adapter the right one? Does it hear itself"
    " (echo=1 in the URL)?"
)
RELEASE_S = 2.0
"""How long servos are told to go limp at the end of what moved them."""

_REDRAW_S = 0.1
_PLACE = re.compile(r"(?P<number>[+-]?\d+(\.\d+)?)\s*(?P<unit>deg|)")


class Ids(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """`10,11,20-23`."""

    name = "IDS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the ids in the order given, or fail."""
        if isinstance(value, tuple):
            return value  # pyright: ignore[reportUnknownVariableType]
        ids: list[int] = []
        for part in str(value).split(","):
            low, dash, high = part.strip().partition("-")
            if not low.isdecimal() or (dash and not high.isdecimal()):
                self.fail(f"{value!r} is no list of ids such as 10,11 or 0-3", param, ctx)
            ids.extend(range(int(low), int(high if dash else low) + 1))
        if not ids or len(set(ids)) != len(ids):
            self.fail(f"{value!r} names no id, or one twice", param, ctx)
        return tuple(ids)


class Place(NamedTuple):
    """A position, or a way to go: in degrees of the servo's own scale, or raw."""

    number: float
    in_degrees: bool


class _Place(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """`2048` is raw, `90deg` degrees."""

    name = "RAW|DEGdeg"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Place:
        """Return the place, or fail."""
        if isinstance(value, Place):
            return value
        found = _PLACE.fullmatch(str(value).strip())
        if found is None or (not found["unit"] and "." in found["number"]):
            self.fail(
                f"{value!r} is no place: expected raw positions such as 128, or degrees such as 90deg", param, ctx
            )
        return Place(float(found["number"]), bool(found["unit"]))


PLACE = _Place()
url_argument = click.argument("url", metavar="[NAME=]URL")
ids_option = click.option("--ids", type=Ids(), help="Servos by their ids on the bus, such as 10,11 or 0-3.")
config_option = click.option(
    "--config", "-c", metavar="CONFIG", type=CONFIGURATION, help="The servos of a configuration."
)
required_ids_option = click.option(
    "--ids", type=Ids(), required=True, help="Servos by their ids, such as 10,11 or 0-3."
)
id_option = click.option("--id", "bus_id", metavar="ID", type=click.IntRange(0), required=True, help="The servo.")
model_option = click.option(
    "--model",
    "-m",
    metavar="MODEL",
    help="What the servos are, such as 1001 or XM430-W350: where neither they nor a configuration tell.",
)


class Counter:
    """How far it is, on a terminal's stderr."""

    def __init__(self) -> None:
        self._drawn_s = 0.0
        self._shown = False

    def show(self, text: str, *, always: bool = False) -> None:
        """Renew the line, at most ten times a second."""
        if is_terminal(err=True) and (always or wallclock.seconds() - self._drawn_s >= _REDRAW_S):
            self._drawn_s = wallclock.seconds()
            self._shown = True
            click.echo(f"\r{text}\x1b[K", err=True, nl=False)

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)


def whoever_is_there(line: BenchLine) -> tuple[ServoAddress, ...]:
    """Return the servos that were named, or those that answer. Raises `Refused` when nobody does; `PortError`."""
    from drivers.bench.release import discover
    from nuc_engine.cli.terminal.errors import Refused

    servos = line.servos or line.named(discover(line.bus(()), line.pace))
    if not servos:
        raise Refused(f"{line.url}: {NOBODY}")
    return servos


def with_models(line: BenchLine, servos: Sequence[ServoAddress], model: str | None) -> tuple[ServoAddress, ...]:
    """Return the servos with their models: a configuration's, as told by --model, or as they say themselves."""
    from dataclasses import replace

    models = line.models
    if model is not None and model not in models:
        raise click.UsageError(f"--model {model}: {line.family.name} has {', '.join(models)}")
    told = {} if model or all(servo.model for servo in servos) else told_models(line, servos)
    known = {bus_id: name for bus_id, name in told.items() if name in models}
    return tuple(replace(servo, model=servo.model or model or known.get(servo.bus_id, "")) for servo in servos)


def told_models(line: BenchLine, servos: Sequence[ServoAddress]) -> dict[int, str]:
    """Return what these servos say they are, by id; nothing for families whose wire does not tell."""
    from drivers.bench.release import discover

    if all(model.number < 0 for model in line.models.values()):
        return {}
    bus = line.bus(servos)
    discover(bus, line.pace, [servo.bus_id for servo in servos])
    line.told = name_models(line, getattr(bus, "found_models", {}))
    return line.told


def name_models(line: BenchLine, numbers: Mapping[int, int]) -> dict[int, str]:
    """Return names by id of the models with these numbers: all of them where several have the same."""
    names: dict[int, str] = {}
    for bus_id, number in numbers.items():
        found = [name for name, model in line.models.items() if model.number == number]
        names[bus_id] = " or ".join(found) or f"number {number}"
    return names


def model_of(line: BenchLine, servo: ServoAddress) -> ServoModel:
    """Return what is known of a servo's model. Raises UsageError where it is not told."""
    known = line.models.get(servo.model)
    if known is None:
        told = servo.model or line.told.get(servo.bus_id)
        said = f"says it is {told}" if told else "does not say which model it is"
        names = ", ".join(line.models)
        raise click.UsageError(f"id {servo.bus_id} {said}: give --model, one of {names}, or --config")
    return known


def tick_deg_of(line: BenchLine, servo: ServoAddress) -> float | None:
    """Return the degrees of a raw position: the model's, or those that all models of the family share; else None."""
    if servo.model in line.models:
        return line.models[servo.model].tick_deg
    ticks = {model.tick_deg for model in line.models.values()}
    return ticks.pop() if len(ticks) == 1 else None


def let_go(url: str, bus: Bus, pace: WaitingClock) -> bool:
    """Take the torque off until everybody has confirmed; say it where somebody has not. Never raises `PortError`."""
    from drivers.bench.release import Releasing, release

    line = Releasing(url, bus, tuple(servo.bus_id for servo in bus.servos))
    release([line], pace, pace.now_ns + round(RELEASE_S * NS))
    if line.failure:
        note(f"{url}: {line.failure}; torque may be on: cut the supply")
    elif not line.confirmed_all:
        ids = ", ".join(map(str, line.missing))
        note(f"{url}: no confirmation that the torque of id {ids} is off: cut the supply")
    return line.confirmed_all
