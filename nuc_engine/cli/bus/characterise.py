"""`nuc bus characterise`: measure which torque a servo gives for a servo delta, and write it as a table."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drivers.units import NS_PER_S
from nuc_engine.cli.bus.bench import UNCONFIRMED, Bench, Stop, on_bench
from nuc_engine.cli.bus.force import tick_torque
from nuc_engine.cli.bus.lines import family_of, plan_for
from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.errors import BAD, CommandFailed
from nuc_engine.cli.terminal.output import TableColumn, note, plain, say, say_json, table
from nuc_engine.cli.terminal.params import OutFile
from nuc_engine.cli.terminal.progress import Counter
from nuc_engine.machine.needs import need

if TYPE_CHECKING:
    from drivers.bench.fit import Fit
    from drivers.bench.torque import TorquePoint
    from drivers.bus import Bus
    from drivers.servo import ServoAddress, ServoModel

_PERIOD_NS = 10_000_000
_MOST_GRAMS = 50_000.0
_BEYOND = 1.4
"""The largest delta, where none is given, as a share of that at which the level's torque should be reached."""


@on_bench(
    "id",
    "config",
    "model",
    "level",
    name="characterise",
    examples=(
        (
            "nuc bus characterise aimotor:///dev/ttyUSB0 --id 2 --model 701 --out ai701.json",
            "against a stop, by its load",
        ),
        (
            "nuc bus characterise dynamixel:///dev/ttyUSB0 -c my_leg --joint Femur-Tibia --free",
            "set up as the engine sets it up; then also free, for what speed costs",
        ),
        (
            "nuc bus characterise feetech:///dev/ttyACM0 --id 1 --model STS3215 --lever-cm 10 --hold 4",
            "a lever of 10 cm presses on scales; type in grams",
        ),
        ("nuc bus characterise emulated:dynamixel --id 1 --model XM430-W350 --free", "how it goes, without a servo"),
    ),
    output=(
        "To stdout: a row per delta with torque and speed, then N m per tick with its 95 % interval, dead band,"
        " saturation, what speed costs. --out writes a table that a motor's torqueTable can name.",
        "The torque is off between deltas and at the end. Exit status 1 when too little could be measured.",
    ),
)
@click.option("--joint", metavar="JOINT", help="The servo of this joint of --config.")
@click.option("--largest", metavar="TICKS", type=click.IntRange(1), help="Largest delta.  [default: beyond saturation]")
@click.option(
    "--steps", metavar="N", type=click.IntRange(3, 50), default=10, show_default=True, help="Deltas, each way."
)
@click.option(
    "--hold", metavar="S", type=click.FloatRange(0.1, 60), default=1.0, show_default=True, help="For each delta."
)
@click.option(
    "--rest", metavar="S", type=click.FloatRange(0, 60), default=0.5, show_default=True, help="Limp in between."
)
@click.option(
    "--most", metavar="DEG", type=click.FloatRange(1, 360), default=60.0, show_default=True, help="How far it may turn."
)
@click.option("--free", is_flag=True, help="After the stop is taken away, also with the shaft free: what speed costs.")
@click.option(
    "--lever-cm", metavar="CM", type=click.FloatRange(0.5, 100), help="Ask for grams on scales under a lever."
)
@click.option("--out", metavar="FILE", type=OutFile(["json"]), help="Write the table here.")
@click.option("--figure", metavar="FILE", type=OutFile(["png"]), help="Draw it, as PNG.")
@click.option("--yes", is_flag=True, help="Do not wait for somebody to hold the horn, or to let it go.")
def command(
    bench: Bench,
    bus_id: int | None,
    joint: str | None,
    largest: int | None,
    steps: int,
    hold: float,
    rest: float,
    level: int,
    most: float,
    free: bool,
    lever_cm: float | None,
    out: Path | None,
    figure: Path | None,
    yes: bool,
) -> int:
    """Measure the torque of one servo against its servo delta: goal minus measured position, held for a while.

    The horn is held against a stop, so that the delta becomes torque; with --free, later also not. The torque is what
    the servo's load reading stands for by the model's data, a proxy; with --lever-cm it is what scales show. Each delta
    is held in both directions, small ones first.
    """
    from drivers.bench.fit import fit_rows
    from drivers.bench.torque import at_voltage_limit, plan_deltas

    bus_id = _id_of(bench, bus_id, joint)
    bench.ids = (bus_id,)
    _check_places(out, figure)
    servo, known = bench.only_servo(bus_id)
    if not known.load_n_m and lever_cm is None:
        raise click.UsageError(f"{known.name} tells no load: measure with a lever on scales, --lever-cm")
    deltas = plan_deltas(largest or _largest(known, servo, level), steps)
    bus = bench.bus((servo,))
    bus.set_level(level)
    measuring = _Measuring(bench, bus, known, hold_s=hold, rest_s=rest, most_deg=most)
    ask = not (yes or bench.emulated)
    rows: list[TorquePoint] = []
    with bench.driving(bus) as stop:
        try:
            measuring.held(rows, deltas, stop, lever_cm, ask=ask)
            if free and not stop():
                measuring.free(rows, deltas, stop, ask=ask)
        except (KeyboardInterrupt, click.Abort):
            # Ctrl-C where somebody was asked for something.
            stop.asked = True
    for text in measuring.remarks:
        note(f"{bench.url}: {text}")
    errors = [] if bench.released else [UNCONFIRMED]
    if stop():
        asked = len(deltas) * (1 + free)
        # No fit, and no table anybody could drive a leg with.
        errors.insert(0, f"stopped after {len(rows)} of {asked} deltas: nothing is fitted, no file is written")
        return bench.report({"rows": _told(rows)}, _row_lines(known, rows) if rows else (), errors)
    fitted = [row for row in rows if not at_voltage_limit(known, row)]
    fit = fit_rows(fitted, resolution_n_m=known.load_n_m if lever_cm is None else 0.0)
    found = _table(known, servo, rows, fit, level=level, lever_cm=lever_cm)
    if not bench.as_json:
        # Before anything is written: what was measured is not lost with a disk that is full.
        say("\n".join(_lines(known, servo, rows, fit)))
    errors += _write(out, figure, found, (known, rows, fit, tick_torque(known, servo)))
    if bench.as_json:
        say_json({"ok": not errors, "url": bench.url, "id": bus_id, **found, "errors": errors})
    return BAD if errors else 0


def _write(
    out: Path | None,
    figure: Path | None,
    table: Mapping[str, Any],
    drawn: tuple[ServoModel, list[TorquePoint], Fit, float],
) -> list[str]:
    """Write what was asked for; return why some of it could not be, and leave nothing half written behind."""
    text, errors = json.dumps(plain(table), indent=1, allow_nan=False) + "\n", list[str]()
    for place in (path for path in (out, figure) if path is not None):
        try:
            if place is out:
                place.write_text(text, encoding="utf-8", newline="\n")
                note(f"{out}: written; put it beside a configuration's documents and name it in a motor's torqueTable")
            else:
                from nuc_engine.figures.torque import draw_torque

                draw_torque(place, *drawn)
        except OSError as error:
            if place.is_file():
                place.unlink()
            errors.append(f"{place}: not written ({error.strerror}); what was measured is on stdout")
            note(errors[-1])
    return errors


class _Measuring:
    """One servo whose torque is measured, delta by delta."""

    def __init__(
        self, bench: Bench, bus: Bus, model: ServoModel, *, hold_s: float, rest_s: float, most_deg: float
    ) -> None:
        self._bench, self._bus, self._model = bench, bus, model
        self._hold_ns, self._rest_ns = round(hold_s * NS_PER_S), round(rest_s * NS_PER_S)
        self._most = most_deg / model.tick_deg
        self.remarks: list[str] = []

    def held(
        self, rows: list[TorquePoint], deltas: Sequence[int], stop: Stop, lever_cm: float | None, *, ask: bool
    ) -> None:
        """Measure with the horn held; rows are added as they come."""
        if ask:
            _wait_for(stop, "hold the horn against a stop in both directions, or the lever against the scales")
        if self._bench.plant is not None:
            self._bench.plant.hold(0)
        found = self._rows(deltas, stop)
        rows.extend(row if lever_cm is None else _with_scales(row, lever_cm, stop) for row in found)

    def free(self, rows: list[TorquePoint], deltas: Sequence[int], stop: Stop, *, ask: bool) -> None:
        """Measure with nothing at the horn: only what turned counts."""
        from drivers.bench.torque import shows_torque

        if not shows_torque(self._model):
            self.remarks.append(f"--free is left out: the load of {self._model.name} is a duty cycle, no torque")
            return
        if ask:
            _wait_for(stop, "take the stop away: the shaft will turn, by --most at most each time")
        if self._bench.plant is not None:
            self._bench.plant.hold(0, held=False)
        rows.extend(row for row in self._rows(deltas, stop) if not row.stood)

    def _rows(self, deltas: Sequence[int], stop: Stop) -> Iterator[TorquePoint]:
        from drivers.bench.motion import Push
        from drivers.bench.torque import Hold
        from drivers.errors import BusError, PortError

        plant, counter = self._bench.plant, Counter()
        for k, ticks in enumerate(deltas):
            push = Push(
                self._bus, self._bench.pace, ticks, self._hold_ns, self._most, self._model.positions, _PERIOD_NS
            )
            hold = Hold(push, ticks, self._model, None if plant is None else lambda: plant.motion(0).torque_n_m)
            for look in hold.run(stop):
                counter.show(f"{k + 1} of {len(deltas)}: {ticks:+d} ticks, load {look.loads[0]} ")
            self._rest(stop)
            if stop():
                break
            try:
                row = hold.row()
            except PortError:
                raise
            except BusError as error:
                self.remarks.append(str(error))
                continue
            counter.clear()
            yield row
        counter.clear()

    def _rest(self, stop: Stop) -> None:
        """Let the servo be limp for a while."""
        from drivers.bench.motion import exchange, wait_for_next
        from drivers.bus import LIMP

        pace = self._bench.pace
        begun_ns = due_ns = pace.now_ns
        while True:
            exchange(self._bus, pace, [LIMP], begun_ns)
            due_ns = wait_for_next(pace, due_ns, _PERIOD_NS, stop)
            if pace.now_ns - begun_ns >= self._rest_ns or stop():
                return


def _id_of(bench: Bench, bus_id: int | None, joint: str | None) -> int:
    if joint is None:
        if bus_id is None:
            raise click.UsageError("which servo? say --id, or --config and --joint")
        return bus_id
    if bench.config is None or bus_id is not None:
        raise click.UsageError("--joint goes with --config, and without --id")
    plan = plan_for(bench.config, family_of(bench.url))
    for motor in plan.motors:
        if plan.joints[motor.joint].name == joint:
            return motor.bus_id
    names = ", ".join(plan.joints[motor.joint].name for motor in plan.motors)
    raise click.UsageError(f"--joint {joint}: {bench.config} has motors at {names}")


def _largest(model: ServoModel, servo: ServoAddress, level: int) -> int:
    """Return a delta at which the level's torque should have been reached."""
    from drivers.servo import LEVEL_SHARE

    per_tick = tick_torque(model, servo)
    if per_tick <= 0.0:
        raise click.UsageError(f"what a tick of {model.name} stands for is not known: say the --largest delta")
    limit = servo.torque_limit_n_m or model.stall_torque_n_m
    low, high = model.positions
    return max(5, min(round(_BEYOND * LEVEL_SHARE[level] * limit / per_tick), (high - low) // 3))


def _wait_for(stop: Stop, what: str) -> None:
    import sys

    if not sys.stdin.isatty():
        raise click.UsageError(f"nobody is there to {what}: say --yes, or use a terminal")
    stop.prompt(f"Now {what}; then press Enter", default="", show_default=False)


def _with_scales(row: TorquePoint, lever_cm: float, stop: Stop) -> TorquePoint:
    """Ask what the scales showed while the delta was held."""
    from drivers.bench.torque import torque_of_weight

    grams = stop.prompt(f"{row.ticks:+d} ticks: grams on the scales", value_proc=_grams)
    return replace(row, torque_n_m=torque_of_weight(grams, lever_cm) * (1 if row.ticks > 0 else -1), spread_n_m=0.0)


def _grams(text: str) -> float:
    """Return what was typed. Raises UsageError, after which the question is asked again."""
    try:
        grams = float(text.replace(",", "."))
    except ValueError:
        grams = math.nan
    if not 0.0 <= grams <= _MOST_GRAMS:
        raise click.UsageError(f"{text!r} is no weight: expected grams, 0 to {_MOST_GRAMS:g}")
    return grams


def _check_places(out: Path | None, figure: Path | None) -> None:
    """Raise Refused where a file can not be written or drawn: that is known before anything is measured."""
    for path in (path for path in (out, figure) if path is not None):
        if not path.parent.is_dir():
            raise CommandFailed(f"{path}: there is no folder {path.parent}; make it first")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise CommandFailed(f"{path}: may not be written here; choose another place")
    if figure is not None:
        need(matplotlib="--figure")


def _told(rows: Sequence[TorquePoint]) -> list[dict[str, Any]]:
    return [{**plain(row), "ending": row.ending.name.lower()} for row in rows]


def _table(
    model: ServoModel, servo: ServoAddress, rows: Sequence[TorquePoint], fit: Fit, *, level: int, lever_cm: float | None
) -> dict[str, Any]:
    """Return what --out writes: the table, what it was measured on and how, the rows and what was read from them."""
    from drivers.bench.fit import as_data, table_of

    ticks, torques = table_of(rows)
    return {
        "ticks": ticks,
        "torque_n_m": torques,
        "model": model.name,
        "gain": model.gain_for(servo.stiffness_n_m_deg),
        "family": model.family,
        "level": level,
        "supply_v": model.supply_v,
        "method": "load reading" if lever_cm is None else f"scales under a lever of {lever_cm:g} cm",
        "date": wallclock.stamp(),
        "fit": as_data(fit),
        "rows": _told(rows),
    }


def _row_lines(model: ServoModel, rows: Sequence[TorquePoint]) -> list[str]:
    columns = [
        TableColumn("ticks", ">6", "+d"),
        TableColumn("N m", ">8", ".4f"),
        TableColumn("+-", ">7", ".4f"),
        TableColumn("deg/s", ">7", ".1f"),
        TableColumn("shaft", "<6"),
        TableColumn("really", ">8", ".4f"),
    ]
    cells = [
        (
            row.ticks,
            row.torque_n_m,
            row.spread_n_m,
            row.speed_ticks_s * model.tick_deg,
            "stood" if row.stood else "turned",
            row.true_n_m,
        )
        for row in rows
    ]
    # What it really was only an emulated servo knows.
    known = len(columns) if any(row.true_n_m is not None for row in rows) else -1
    return table(columns[:known], [row[:known] for row in cells])


def _lines(model: ServoModel, servo: ServoAddress, rows: Sequence[TorquePoint], fit: Fit) -> list[str]:
    slope = fit.per_tick_n_m
    by_table = tick_torque(model, servo)
    interval = f"{slope.low:.6f} to {slope.high:.6f}"
    reached = "not reached" if fit.saturation_n_m is None else f"{fit.saturation_n_m:.3f} N m"
    lines = [
        *_row_lines(model, rows),
        f"torque per tick: {slope.value:.6f} N m ({interval}); by the model's table {by_table:.6f}",
        f"dead band: {fit.dead_ticks:.1f} ticks ({fit.dead_ticks * model.tick_deg:.2f} degrees)",
        f"saturation: {reached}; rows lie {fit.residual_n_m:.4f} N m from this",
    ]
    if fit.damping_n_m_s is not None:
        per_deg = fit.damping_n_m_s.value / model.tick_deg
        lines.append(f"lost to speed: {per_deg * 100:.4f} N m at 100 deg/s, the delay of the bus included")
    return lines
