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

from nuc_engine.cli.bus.force import DEFAULT_LEVEL, only_servo, tick_torque
from nuc_engine.cli.bus.lines import BenchLine, Stop, family_of, open_line, plan_for
from nuc_engine.cli.bus.params import NS, Counter, config_option, let_go, model_option, url_argument
from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.errors import BAD, Refused
from nuc_engine.cli.terminal.output import heading, note, plain, say, say_json
from nuc_engine.cli.terminal.params import Command, OutFile, as_json
from nuc_engine.machine.needs import need

if TYPE_CHECKING:
    from drivers.bench.fit import Fit
    from drivers.bench.torque import Row
    from drivers.bus import Bus
    from drivers.servo import ServoAddress, ServoModel

_PERIOD_NS = 10_000_000
_MOST_GRAMS = 50_000.0
_BEYOND = 1.4
"""The largest delta, where none is given, as a share of that at which the level's torque should be reached."""


@click.command(
    "characterise",
    cls=Command,
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
@url_argument
@click.option("--id", "bus_id", metavar="ID", type=click.IntRange(0), help="The servo.")
@config_option
@click.option("--joint", metavar="JOINT", help="The servo of this joint of --config.")
@model_option
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
    "--level",
    type=click.IntRange(0, 4),
    default=DEFAULT_LEVEL,
    show_default=True,
    help="Torque: 0 strongest, 4 weakest.",
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
@as_json
def command(
    url: str,
    bus_id: int | None,
    config: str | None,
    joint: str | None,
    model: str | None,
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
    as_json: bool,
) -> int:
    """Measure the torque of one servo against its servo delta: goal minus measured position, held for a while.

    The horn is held against a stop, so that the delta becomes torque; with --free, later also not. The torque is what
    the servo's load reading stands for by the model's data, a proxy; with --lever-cm it is what scales show. Each delta
    is held in both directions, small ones first.
    """
    from drivers.bench.fit import fit_rows
    from drivers.bench.torque import at_voltage_limit, plan_deltas

    bus_id = _id_of(url, bus_id, config, joint)
    _check_places(out, figure)
    line = open_line(url, ids=(bus_id,), config=config, model=model)
    try:
        servo, known = only_servo(line, bus_id, model)
        if not known.load_n_m and lever_cm is None:
            raise click.UsageError(f"{known.name} tells no load: measure with a lever on scales, --lever-cm")
        deltas = plan_deltas(largest or _largest(known, servo, level), steps)
        bench = _Bench(line, servo, known, level=level, hold_s=hold, rest_s=rest, most_deg=most)
        ask = not (yes or line.emulated)
        rows: list[Row] = []
        with Stop() as stop:
            try:
                bench.held(rows, deltas, stop, lever_cm, ask=ask)
                if free and not stop():
                    bench.free(rows, deltas, stop, ask=ask)
            except (KeyboardInterrupt, click.Abort):
                # Ctrl-C where somebody was asked for something.
                stop.asked = True
            finally:
                bench.let_go()
    finally:
        line.close()
    for text in bench.remarks:
        note(f"{url}: {text}")
    if stop():
        return _report_stopped(url, known, rows, bench, asked=len(deltas) * (1 + free), as_json=as_json)
    fitted = [row for row in rows if not at_voltage_limit(known, row)]
    fit = fit_rows(fitted, resolution_n_m=known.load_n_m if lever_cm is None else 0.0)
    table = _table(known, servo, rows, fit, level=level, lever_cm=lever_cm)
    errors = [] if bench.released else ["the torque is not confirmed to be off"]
    if not as_json:
        # Before anything is written: what was measured is not lost with a disk that is full.
        _print(known, servo, rows, fit)
    errors += _write(out, figure, table, (known, rows, fit, tick_torque(known, servo)))
    if as_json:
        say_json({"ok": not errors, "url": url, "id": bus_id, **table, "errors": errors})
    return BAD if errors else 0


def _write(
    out: Path | None, figure: Path | None, table: Mapping[str, Any], drawn: tuple[ServoModel, list[Row], Fit, float]
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


class _Bench:
    """One servo whose torque is measured, delta by delta."""

    def __init__(
        self,
        line: BenchLine,
        servo: ServoAddress,
        model: ServoModel,
        *,
        level: int,
        hold_s: float,
        rest_s: float,
        most_deg: float,
    ) -> None:
        self._line, self._model = line, model
        self._hold_ns, self._rest_ns = round(hold_s * NS), round(rest_s * NS)
        self._most = most_deg / model.tick_deg
        self._bus: Bus = line.bus((servo,))
        self._bus.set_level(level)
        self.remarks: list[str] = []
        self.released = False

    def held(self, rows: list[Row], deltas: Sequence[int], stop: Stop, lever_cm: float | None, *, ask: bool) -> None:
        """Measure with the horn held; rows are added as they come."""
        if ask:
            _wait_for(stop, "hold the horn against a stop in both directions, or the lever against the scales")
        if self._line.plant is not None:
            self._line.plant.hold(0)
        found = self._rows(deltas, stop)
        rows.extend(row if lever_cm is None else _with_scales(row, lever_cm, stop) for row in found)

    def free(self, rows: list[Row], deltas: Sequence[int], stop: Stop, *, ask: bool) -> None:
        """Measure with nothing at the horn: only what turned counts."""
        from drivers.bench.torque import shows_torque

        if not shows_torque(self._model):
            self.remarks.append(f"--free is left out: the load of {self._model.name} is a duty cycle, no torque")
            return
        if ask:
            _wait_for(stop, "take the stop away: the shaft will turn, by --most at most each time")
        if self._line.plant is not None:
            self._line.plant.hold(0, held=False)
        rows.extend(row for row in self._rows(deltas, stop) if not row.stood)

    def let_go(self) -> None:
        """Take the torque off for good."""
        self.released = let_go(self._line.url, self._bus, self._line.pace)

    def _rows(self, deltas: Sequence[int], stop: Stop) -> Iterator[Row]:
        from drivers.bench.motion import Push
        from drivers.bench.torque import Hold
        from drivers.errors import BusError, PortError

        plant, counter = self._line.plant, Counter()
        for k, ticks in enumerate(deltas):
            push = Push(self._bus, self._line.pace, ticks, self._hold_ns, self._most, self._model.positions, _PERIOD_NS)
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

        pace = self._line.pace
        begun_ns = due_ns = pace.now_ns
        while True:
            exchange(self._bus, pace, [LIMP], begun_ns)
            due_ns = wait_for_next(pace, due_ns, _PERIOD_NS, stop)
            if pace.now_ns - begun_ns >= self._rest_ns or stop():
                return


def _id_of(url: str, bus_id: int | None, config: str | None, joint: str | None) -> int:
    if joint is None:
        if bus_id is None:
            raise click.UsageError("which servo? say --id, or --config and --joint")
        return bus_id
    if config is None or bus_id is not None:
        raise click.UsageError("--joint goes with --config, and without --id")
    plan = plan_for(config, family_of(url))
    for motor in plan.motors:
        if plan.joints[motor.joint].name == joint:
            return motor.bus_id
    names = ", ".join(plan.joints[motor.joint].name for motor in plan.motors)
    raise click.UsageError(f"--joint {joint}: {config} has motors at {names}")


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


def _with_scales(row: Row, lever_cm: float, stop: Stop) -> Row:
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
            raise Refused(f"{path}: there is no folder {path.parent}; make it first")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise Refused(f"{path}: may not be written here; choose another place")
    if figure is not None:
        need(matplotlib="--figure")


def _report_stopped(
    url: str, model: ServoModel, rows: Sequence[Row], bench: _Bench, *, asked: int, as_json: bool
) -> int:
    """Say what was measured before somebody stopped it: no fit, and no table anybody could drive a leg with."""
    errors = [f"stopped after {len(rows)} of {asked} deltas: nothing is fitted, no file is written"]
    if not bench.released:
        errors.append("the torque is not confirmed to be off")
    if as_json:
        told = [{**plain(row), "ending": row.ending.name.lower()} for row in rows]
        say_json({"ok": False, "url": url, "rows": told, "errors": errors})
        return BAD
    if rows:
        _print_rows(model, rows)
    for error in errors:
        note(f"{url}: {error}")
    return BAD


def _table(
    model: ServoModel, servo: ServoAddress, rows: Sequence[Row], fit: Fit, *, level: int, lever_cm: float | None
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
        "rows": [{**plain(row), "ending": row.ending.name.lower()} for row in rows],
    }


def _print_rows(model: ServoModel, rows: Sequence[Row]) -> None:
    truth = any(row.true_n_m is not None for row in rows)
    say(
        heading(
            f"{'ticks':>6}  {'N m':>8}  {'+-':>7}  {'deg/s':>7}  {'shaft':<6}" + (f"  {'really':>8}" if truth else "")
        )
    )
    for row in rows:
        really = f"  {row.true_n_m:>8.4f}" if row.true_n_m is not None else ""
        shaft = "stood" if row.stood else "turned"
        speed = row.speed_ticks_s * model.tick_deg
        say(f"{row.ticks:>+6}  {row.torque_n_m:>8.4f}  {row.spread_n_m:>7.4f}  {speed:>7.1f}  {shaft:<6}{really}")


def _print(model: ServoModel, servo: ServoAddress, rows: Sequence[Row], fit: Fit) -> None:
    _print_rows(model, rows)
    slope = fit.per_tick_n_m
    by_table = tick_torque(model, servo)
    interval = f"{slope.low:.6f} to {slope.high:.6f}"
    say(f"torque per tick: {slope.value:.6f} N m ({interval}); by the model's table {by_table:.6f}")
    say(f"dead band: {fit.dead_ticks:.1f} ticks ({fit.dead_ticks * model.tick_deg:.2f} degrees)")
    reached = "not reached" if fit.saturation_n_m is None else f"{fit.saturation_n_m:.3f} N m"
    say(f"saturation: {reached}; rows lie {fit.residual_n_m:.4f} N m from this")
    if fit.damping_n_m_s is not None:
        per_deg = fit.damping_n_m_s.value / model.tick_deg
        say(f"lost to speed: {per_deg * 100:.4f} N m at 100 deg/s, the delay of the bus included")
