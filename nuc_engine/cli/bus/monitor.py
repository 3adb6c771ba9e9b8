"""`nuc bus monitor`: positions, loads and misses as they come; it only reads."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.bus.lines import Stop, open_line
from nuc_engine.cli.bus.params import (
    NS,
    config_option,
    ids_option,
    model_option,
    tick_deg_of,
    url_argument,
    whoever_is_there,
    with_models,
)
from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import count, heading, is_terminal, note
from nuc_engine.cli.terminal.params import Command

if TYPE_CHECKING:
    from drivers.bench.motion import Look
    from drivers.servo import ServoAddress
    from nuc_engine.cli.bus.lines import BenchLine

STATUSES = ("none", "ok", "missed", "implausible", "unsure", "silent")
"""By `drivers.servo.ReplyStatus`."""

_OK = 1
_REDRAW_S = 0.1
_PRINT_S = 1.0
_EMULATED_S = 1.0
"""Nobody turns emulated servos, so that they are not watched for longer than this unless asked for."""


@click.command(
    "monitor",
    cls=Command,
    examples=(
        ("nuc bus monitor aimotor:///dev/ttyUSB0", "everybody who is there, until Ctrl-C"),
        ("nuc bus monitor dynamixel:///dev/ttyUSB0 --ids 1,2 --rate 50 --json", "a JSON object per reading"),
        ("nuc bus monitor feetech:///dev/ttyACM0 -n 100", "a hundred readings, as fast as they come"),
    ),
    output=(
        "On a terminal a table that is renewed ten times a second: position raw and in degrees, load in the unit of the"
        " model, speed, what became of the last exchange, misses. Elsewhere a table once a second.",
        "With --json a line per reading: time in s, and per servo id, position_raw, position_deg, load_raw, status.",
        "Exit status 1 when a servo was never read.",
    ),
)
@url_argument
@ids_option
@config_option
@model_option
@click.option("--rate", metavar="HZ", type=click.FloatRange(0.01, 1000), help="Readings per second.  [default: all]")
@click.option("-n", "readings", metavar="N", type=click.IntRange(1), help="End after so many readings.")
@click.option("--for", "seconds", metavar="S", type=click.FloatRange(0, min_open=True), help="End after so long.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object per reading instead of tables.")
def command(
    url: str,
    ids: tuple[int, ...] | None,
    config: str | None,
    model: str | None,
    rate: float | None,
    readings: int | None,
    seconds: float | None,
    as_json: bool,
) -> int:
    """Show where servos are and what they bear, live. Nothing is driven, and no torque is switched on or off."""
    from drivers.bench.motion import watch

    line = open_line(url, ids=ids, config=config, model=model)
    if line.emulated and readings is None and seconds is None:
        seconds = _EMULATED_S
    try:
        servos = with_models(line, whoever_is_there(line), model)
        bus = line.bus(servos)
        view, last = _View(line, servos), None
        with Stop() as stop:
            for look in watch(bus, line.pace, round(NS / rate) if rate else 0, stop):
                view.take(look)
                last = look
                if as_json:
                    _print_line(view, look)
                else:
                    view.draw(look, last=False)
                if view.readings == readings or (seconds is not None and look.time_ns >= seconds * NS):
                    break
    finally:
        line.close()
    if last is not None and not as_json:
        view.draw(last, last=True)
    for text in bus.refusals:
        note(f"{url}: {text}")
    for servo, read in zip(servos, view.read, strict=True):
        if not read:
            note(f"{url}: id {servo.bus_id} was never read")
    return 0 if all(view.read) else BAD


class _View:
    """What has been seen of the servos, and its table."""

    def __init__(self, line: BenchLine, servos: Sequence[ServoAddress]) -> None:
        self._servos = servos
        self._models = [line.models.get(servo.model) for servo in servos]
        self._ticks = [tick_deg_of(line, servo) for servo in servos]
        self._width = max(len("name"), *(len(servo.name) for servo in servos))
        self._drawn: Look | None = None
        self._drawn_s = -_PRINT_S
        self._first_ns = 0
        self._lines = 0
        self.readings = 0
        self.read = [0] * len(servos)

    def take(self, look: Look) -> None:
        """Take a reading in."""
        self.readings += 1
        self._first_ns = self._first_ns or look.time_ns
        for k, status in enumerate(look.statuses):
            self.read[k] += status == _OK

    def rows(self, look: Look) -> list[dict[str, Any]]:
        """Return what is known of each servo."""
        rows: list[dict[str, Any]] = []
        for k, servo in enumerate(self._servos):
            known, tick = self.read[k] > 0, self._ticks[k]
            position = look.positions[k] if known else None
            degrees = None if position is None or tick is None else round(position * tick, 3)
            rows.append(
                {
                    "id": servo.bus_id,
                    "position_raw": position,
                    "position_deg": degrees,
                    "load_raw": look.loads[k] if known else None,
                    "status": STATUSES[look.statuses[k]],
                }
            )
        return rows

    def draw(self, look: Look, *, last: bool) -> None:
        """Renew the table when it is time to."""
        now_s = look.time_ns / NS
        due_s = self._drawn_s + (_REDRAW_S if is_terminal() else _PRINT_S)
        if now_s < due_s and not (last and look is not self._drawn):
            return
        text = self._table(look)
        back = f"\x1b[{self._lines}F\x1b[J" if self._lines and is_terminal() else ""
        click.echo(back + "\n".join(text))
        self._lines = len(text)
        self._drawn, self._drawn_s = look, now_s

    def _table(self, look: Look) -> list[str]:
        numbers = f"{'raw':>5}  {'degrees':>7}  {'deg/s':>6}  {'load':>6}"
        lines = [heading(f"{'id':>3}  {'name':<{self._width}}  {numbers}  {'status':<11}  missed")]
        for k, row in enumerate(self.rows(look)):
            cells = (
                _cell(row["position_raw"], 5),
                _cell(row["position_deg"], 7, 1),
                _cell(self._speed(look, k), 6),
                _cell(row["load_raw"], 6),
            )
            name = f"{self._servos[k].name:<{self._width}}"
            missed = self.readings - self.read[k]
            lines.append(f"{row['id']:>3}  {name}  {'  '.join(cells)}  {row['status']:<11}  {missed:>6}")
        # What comes before the first one, getting to know the servos, is none of theirs.
        since_ns = look.time_ns - self._first_ns
        rate = f", {(self.readings - 1) / since_ns * NS:.0f} readings/s" if since_ns else ""
        units = {model.load_unit for model in self._models if model is not None}
        lines.append(
            f"{look.time_ns / NS:.1f} s, {count(self.readings, 'reading')}{rate}"
            + "".join(f"; load: {unit}" for unit in sorted(units))
        )
        return lines

    def _speed(self, look: Look, k: int) -> float | None:
        """Return the mean speed since the table was drawn last (deg/s)."""
        before, tick = self._drawn, self._ticks[k]
        if (
            before is None
            or tick is None
            or look.time_ns == before.time_ns
            or min(before.positions[k], self.read[k]) < 0
        ):
            return None
        return (look.positions[k] - before.positions[k]) * tick / (look.time_ns - before.time_ns) * NS


def _print_line(view: _View, look: Look) -> None:
    click.echo(json.dumps({"elapsed_s": look.time_ns / NS, "servos": view.rows(look)}))
    sys.stdout.flush()


def _cell(value: float | None, width: int, digits: int = 0) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:>{width}.{digits}f}"
