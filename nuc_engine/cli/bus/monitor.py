"""`nuc bus monitor`: positions, loads and misses as they come; it only reads."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from drivers.units import NS_PER_S
from nuc_engine.cli.bus.bench import Bench, on_bench
from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import TableColumn, count, is_terminal, note, table

if TYPE_CHECKING:
    from drivers.bench.motion import CycleReadings
    from drivers.servo import ServoAddress

STATUSES = ("none", "ok", "missed", "implausible", "unsure", "silent")
"""By `drivers.servo.ReplyStatus`."""

_OK = 1
_REDRAW_S = 0.1
_PRINT_S = 1.0
_COLUMNS = (
    TableColumn("id", ">3"),
    TableColumn("name", "<"),
    TableColumn("raw", ">5"),
    TableColumn("degrees", ">7", ".1f"),
    TableColumn("deg/s", ">6", ".0f"),
    TableColumn("load", ">6"),
    TableColumn("status", "<11"),
    TableColumn("missed", ">6"),
)
_EMULATED_S = 1.0
"""Nobody turns emulated servos, so that they are not watched for longer than this unless asked for."""


@on_bench(
    "ids",
    "config",
    "model",
    name="monitor",
    json="Print a JSON object per reading instead of tables.",
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
@click.option("--rate", metavar="HZ", type=click.FloatRange(0.01, 1000), help="Readings per second.  [default: all]")
@click.option("-n", "readings", metavar="N", type=click.IntRange(1), help="End after so many readings.")
@click.option("--for", "seconds", metavar="S", type=click.FloatRange(0, min_open=True), help="End after so long.")
def command(bench: Bench, rate: float | None, readings: int | None, seconds: float | None) -> int:
    """Show where servos are and what they bear, live. Nothing is driven, and no torque is switched on or off."""
    from drivers.bench.motion import watch

    if bench.emulated and readings is None and seconds is None:
        seconds = _EMULATED_S
    servos = bench.servos()
    bus = bench.bus(servos)
    view, last = _View(bench, servos), None
    with bench.stop as stop:
        for look in watch(bus, bench.pace, round(NS_PER_S / rate) if rate else 0, stop):
            view.take(look)
            last = look
            if bench.as_json:
                _print_line(view, look)
            else:
                view.draw(look, last=False)
            if view.readings == readings or (seconds is not None and look.time_ns >= seconds * NS_PER_S):
                break
    if last is not None and not bench.as_json:
        view.draw(last, last=True)
    for text in bus.refusals:
        note(f"{bench.url}: {text}")
    for servo, read in zip(servos, view.read, strict=True):
        if not read:
            note(f"{bench.url}: id {servo.bus_id} was never read")
    return 0 if all(view.read) else BAD


class _View:
    """What has been seen of the servos, and its table."""

    def __init__(self, bench: Bench, servos: Sequence[ServoAddress]) -> None:
        self._servos = servos
        self._models = [bench.models.get(servo.model) for servo in servos]
        self._ticks = [bench.tick_deg_of(servo) for servo in servos]
        self._drawn: CycleReadings | None = None
        self._drawn_s = -_PRINT_S
        self._first_ns = 0
        self._lines = 0
        self.readings = 0
        self.read = [0] * len(servos)

    def take(self, look: CycleReadings) -> None:
        """Take a reading in."""
        self.readings += 1
        self._first_ns = self._first_ns or look.time_ns
        for k, status in enumerate(look.statuses):
            self.read[k] += status == _OK

    def rows(self, look: CycleReadings) -> list[dict[str, Any]]:
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

    def draw(self, look: CycleReadings, *, last: bool) -> None:
        """Renew the table when it is time to."""
        now_s = look.time_ns / NS_PER_S
        due_s = self._drawn_s + (_REDRAW_S if is_terminal() else _PRINT_S)
        if now_s < due_s and not (last and look is not self._drawn):
            return
        text = self._table(look)
        back = f"\x1b[{self._lines}F\x1b[J" if self._lines and is_terminal() else ""
        click.echo(back + "\n".join(text))
        self._lines = len(text)
        self._drawn, self._drawn_s = look, now_s

    def _table(self, look: CycleReadings) -> list[str]:
        rows = [
            (
                row["id"],
                self._servos[k].name,
                row["position_raw"],
                row["position_deg"],
                self._speed(look, k),
                row["load_raw"],
                row["status"],
                self.readings - self.read[k],
            )
            for k, row in enumerate(self.rows(look))
        ]
        lines = table(_COLUMNS, rows)
        # What comes before the first one, getting to know the servos, is none of theirs.
        since_ns = look.time_ns - self._first_ns
        rate = f", {(self.readings - 1) / since_ns * NS_PER_S:.0f} readings/s" if since_ns else ""
        units = {model.load_unit for model in self._models if model is not None}
        lines.append(
            f"{look.time_ns / NS_PER_S:.1f} s, {count(self.readings, 'reading')}{rate}"
            + "".join(f"; load: {unit}" for unit in sorted(units))
        )
        return lines

    def _speed(self, look: CycleReadings, k: int) -> float | None:
        """Return the mean speed since the table was drawn last (deg/s)."""
        before, tick = self._drawn, self._ticks[k]
        if (
            before is None
            or tick is None
            or look.time_ns == before.time_ns
            or min(before.positions[k], self.read[k]) < 0
        ):
            return None
        return (look.positions[k] - before.positions[k]) * tick / (look.time_ns - before.time_ns) * NS_PER_S


def _print_line(view: _View, look: CycleReadings) -> None:
    click.echo(json.dumps({"elapsed_s": look.time_ns / NS_PER_S, "servos": view.rows(look)}))
    sys.stdout.flush()
