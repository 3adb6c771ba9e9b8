"""`nuc run`: one bout on the virtual clock."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import count as counting
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.leaving import interrupt, when_ended
from nuc_engine.cli.terminal.output import count, counts_text, note, note_warnings, say, say_json
from nuc_engine.cli.terminal.params import (
    RUNNABLE,
    NucCommand,
    Pair,
    as_json,
    configuration,
    gravity_compensation,
    limits,
    script,
)
from nuc_engine.cli.terminal.progress import ProgressLine
from nuc_engine.control.tasks import TASKS
from nuc_engine.machine.needs import need

if TYPE_CHECKING:
    from nuc_engine.bout.run import BoutResult, BoutSpec
    from nuc_engine.cli.bout.steering import Steering
    from nuc_engine.cli.terminal.seen import BoutSummary

DATA = Path("data")
LONGEST_S = 1e8
OF_RUNS = frozenset({"config", "duration", "seed", "out", "scratch", "force", "labels", "remark", "changes", "as_json"})
OF_EPISODES = OF_RUNS | {"controller"}
OF_LEGS = OF_RUNS | {"plot", "steered"}
"""Options that any RunConfig has, that of a flight, and that of a leg's bout; the others are what it says itself."""
_LEG = {"mujoco": "an emulated leg"}


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc run lin_roach", "30 s of forward stepping into data/YYMMDD_HH.MM.SS_lin_roach"),
        (
            "nuc run lin_roach --script experiment_a --duration 60 --plot",
            "forward, two kinds of inside turn at 20 s and 40 s, and the figures",
        ),
        (
            "nuc run flight_helix --seed 7 --out data/helix",
            "one episode of a RunConfig (run.toml): a flight, 20 s by itself",
        ),
        (
            "nuc run turn_roach --script touched --time animal --duration 60",
            "its script and 60 s in the time of the animal: 190.7 s of a leg 10.1 times as large",
        ),
        (
            "nuc run leg_turns --seed 7 --set plant.world.friction=0.09",
            "a leg's bout that a run.toml describes; the file itself will do too",
        ),
        (
            "nuc run my_leg --seed 7 --scratch data/try --label animal=B12 --note 'softer flexor'",
            "a folder of your own; data/try is overwritten each time",
        ),
    ),
    output=(
        "A data directory: the logs, copies of configuration and script, and manifest.json, with which `nuc replay`"
        " repeats the bout. What was seen goes to stdout, progress and warnings to stderr.",
        "Exit status 1 when the bout could not start or stopped early; what it recorded until then is kept.",
    ),
)
@configuration(kind=RUNNABLE)
@script("Apply the timed changesets of this script (a file, or a name under scripts/).")
@click.option(
    "--duration", "-d", metavar="T", type=float, help="Simulated seconds to run.  [default: 30, or as in run.toml]"
)
@click.option(
    "--time",
    "whose_time",
    type=click.Choice(("leg", "animal")),
    default="leg",
    show_default=True,
    help="Whose seconds script, delays, time constants and --duration have; the animal's need a scale in CONFIG.",
)
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(0),
    help="Decides start pose, sensor noise, friction and servo turnaround; of a RunConfig, what [random] draws."
    "  [default: 0, or as in run.toml]",
)
@click.option("--out", "-o", metavar="DIR", type=click.Path(path_type=Path), help="Data directory, new or empty.")
@click.option(
    "--scratch", metavar="DIR", type=click.Path(path_type=Path), help="Data directory that may always be overwritten."
)
@click.option("--force", is_flag=True, help="Overwrite the bout that is in the directory of --out.")
@click.option(
    "--bus",
    metavar="URL",
    default="emulated:",
    show_default=True,
    help="emulated:[FAMILY][?OPTION=NUMBER&...], of servos that CONFIG has motors for, or loopback:[FAMILY] (servos"
    " without a leg).",
)
@click.option("--plot", is_flag=True, help="Draw the figures too (see `nuc plot`).")
@click.option("--label", "labels", metavar="K=V", type=Pair(), multiple=True, help="Label in the manifest; repeatable.")
@click.option("--note", "remark", metavar="TEXT", help="Remark in the manifest.")
@click.option(
    "--cost",
    "costs",
    metavar="TASK=NS",
    type=Pair(),
    multiple=True,
    help=f"Nanoseconds a task takes on the simulated clock (default 0): {', '.join(TASKS)}; repeatable.",
)
@click.option(
    "--plant",
    metavar="KEY=NUMBER",
    type=Pair(),
    multiple=True,
    help="Replace a number of plant.toml by its dotted key, as world.base_height_cm=8; repeatable.",
)
@click.option(
    "--plant-file",
    metavar="NAME",
    help="Which description of the leg in CONFIG: earlier versions stay, as plant_1.toml of lin_roach.  [default:"
    " plant.toml]",
)
@click.option(
    "--set",
    "changes",
    metavar="KEY=NUMBER",
    type=Pair(),
    multiple=True,
    help="Replace a number of run.toml by its dotted key, as dynamics.mass_kg=1.2 or plant.world.friction=0.1;"
    " repeatable.",
)
@click.option(
    "--controller",
    metavar="CONFIG",
    type=RUNNABLE,
    help="Of a RunConfig: fly with the controller of another one, such as a surrogate (`nuc surrogate fit`).",
)
@limits()
@gravity_compensation()
@click.option(
    "--steered",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Go on as lines of stdin say, and write every cycle to this new file: for nuc ui.",
)
@as_json
@click.pass_context
def command(
    ctx: click.Context,
    config: str,
    script: str | None,
    duration: float | None,
    whose_time: str,
    seed: int | None,
    out: Path | None,
    scratch: Path | None,
    force: bool,
    bus: str,
    plot: bool,
    labels: Sequence[tuple[str, str]],
    remark: str | None,
    costs: Sequence[tuple[str, str]],
    plant: Sequence[tuple[str, str]],
    plant_file: str | None,
    changes: Sequence[tuple[str, str]],
    controller: str | None,
    limits: Sequence[tuple[str, str]],
    gravity: float,
    steered: Path | None,
    as_json: bool,
) -> int:
    """Run one bout of CONFIG and keep everything about it.

    CONFIG is a folder with joints.xml, parameters.xml and sensors.xml, or the name of one under configs/. The leg is
    emulated, time is simulated: the same command gives the same bytes again. A folder with run.toml (or that file) is a
    RunConfig: a flight, or a leg's bout with all that these options say.
    """
    from nuc_engine.machine.locations import find_run

    overwrite = force or scratch is not None
    if (file := find_run(config)) is not None:
        from nuc_engine.bout.described import load_leg
        from nuc_engine.cli.bout.episode import number, run_episode

        replaced = {key: number(key, text) for key, text in changes}
        replaced |= {} if seed is None else {"seed": seed}
        replaced |= {} if duration is None else {"timing.duration_s": duration}
        leg = load_leg(file, replaced)
        others = [name for name in ctx.params if name not in (OF_EPISODES if leg is None else OF_LEGS)]
        given = [name for name in others if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT]
        if given:
            options = ", ".join(param.opts[0] for param in ctx.command.params if param.name in given)
            whose = "for legs" if leg is None else "not of a leg's RunConfig"
            raise click.UsageError(f"{options}: {whose}; {config} is a RunConfig, whose values --set replaces")
        out = _directory(str(file.resolve().parent), out, scratch, force)
        told = _labels(labels, remark)
        if leg is None:
            return run_episode(
                file, out, replaced, controller=controller, labels=told, overwrite=overwrite, as_json=as_json
            )
        spec = replace(leg, out=out, labels={**leg.labels, **told}, overwrite=overwrite)
        return _run(spec, whose_time=whose_time, plot=plot, steered=steered, as_json=as_json)
    if changes or controller is not None:
        raise click.UsageError("--set and --controller replace what is in a run.toml; a leg has --plant, and scripts")
    from nuc_engine.bout.run import DEFAULT_DURATION_S, BoutSpec
    from nuc_engine.machine.locations import PLANT_SPEC_FILE

    if not bus.startswith(("emulated:", "loopback:")):
        raise click.UsageError(f"--bus {bus}: expected emulated:... or loopback:, since time is simulated here")
    duration_s = DEFAULT_DURATION_S if duration is None else _duration(duration)
    spec = BoutSpec(
        config=config,
        out=_directory(config, out, scratch, force),
        script=script,
        duration_s=duration_s,
        seed=seed or 0,
        bus=bus,
        overwrite=overwrite,
        costs=_whole("--cost", costs, "nanoseconds"),
        limits=_whole("--limit", limits, "ticks"),
        gravity_compensation=gravity,
        plant=dict(_number(key, text) for key, text in plant),
        plant_file=plant_file or PLANT_SPEC_FILE,
        labels=_labels(labels, remark),
    )
    return _run(spec, whose_time=whose_time, plot=plot, steered=steered, as_json=as_json)


def _run(spec: BoutSpec, *, whose_time: str, plot: bool, steered: Path | None, as_json: bool) -> int:
    from nuc_engine.bout.run import run_bout

    need(**_LEG if spec.bus.startswith("emulated:") else {}, **{"matplotlib": "--plot"} if plot else {})
    title = _title(spec)
    with ExitStack() as stack:
        if whose_time == "animal":
            from nuc_engine.bout.animal_time import in_leg_time

            spec = in_leg_time(spec, Path(stack.enter_context(TemporaryDirectory())))
        stack.enter_context(when_ended(interrupt))
        progress = stack.enter_context(ProgressLine(title))
        result = run_bout(spec, progress, None if steered is None else _steering(steered))
    note_warnings(spec.config, result.warnings, spec.script or "")
    return _report(result, progress.wall_s, plot=plot, as_json=as_json)


def _steering(path: Path) -> Steering:
    from nuc_engine.cli.bout.steering import Steering, commands_of, open_ring

    return Steering(open_ring(path), commands_of(sys.stdin), wallclock.seconds)


def _report(result: BoutResult, wall_s: float, *, plot: bool, as_json: bool) -> int:
    seen = _look(result.folder)
    pictures = seen.draw(result.folder) if plot and seen is not None else ()
    whole = result.state == "complete"
    if as_json:
        say_json(
            {
                "ok": whole,
                "state": result.state,
                "reason": result.reason,
                "folder": result.folder,
                "pictures": pictures,
                "simulated_s": result.simulated_s,
                "wall_s": wall_s,
                "cycles": result.cycles,
                "refused_writes": result.refused,
                "bus": dict(result.bus),
                "warnings": result.warnings,
                "seen": None if seen is None else seen.data(),
            }
        )
    else:
        say(f"{'data':<10}{result.folder}")
        for k, picture in enumerate(pictures):
            say(f"{'pictures' if k == 0 else '':<10}{picture}")
        for line in () if seen is None else seen.lines():
            say(line)
        if wrong := counts_text(result.bus):
            say(f"{'bus':<10}{wrong}")
    if result.refused:
        note(f"warning: {count(result.refused, 'write')} of the script refused; see Scriptlog.xml")
    if not whole:
        note(f"nuc run: stopped after {result.simulated_s:.3f} s, {result.state}: {result.reason}")
    return 0 if whole else BAD


def _look(folder: Path) -> BoutSummary | None:
    from nuc_engine.analysis.errors import AnalysisError
    from nuc_engine.cli.terminal.seen import look

    try:
        return look(folder)
    except AnalysisError as error:
        # The bout itself is good; only what was seen in it cannot be told.
        note(f"not judged: {error}")
        return None


def _directory(config: str, out: Path | None, scratch: Path | None, force: bool) -> Path:
    if out is not None and scratch is not None:
        raise click.UsageError("--out and --scratch exclude each other; give one directory")
    if force and out is None:
        raise click.UsageError("--force says that the directory of --out may be overwritten; give --out too")
    if out is not None or scratch is not None:
        return out or scratch or DATA
    stem = DATA / f"{wallclock.stamp()}_{Path(config).resolve().name}"
    candidates = (stem.with_name(f"{stem.name}_{k}") if k > 1 else stem for k in counting(1))
    return next(path for path in candidates if not path.exists())


def _duration(seconds: float) -> float:
    if not math.isfinite(seconds) or not 0 < seconds <= LONGEST_S:
        raise click.UsageError(f"--duration {seconds:g} is no time to run; expected more than 0, up to {LONGEST_S:g} s")
    return seconds


def _whole(option: str, pairs: Sequence[tuple[str, str]], unit: str) -> dict[str, int]:
    for name, text in pairs:
        if option == "--cost" and name not in TASKS:
            raise click.UsageError(f"--cost {name}={text}: no such task; expected one of {', '.join(TASKS)}")
        if not text.isdecimal() or len(text) > 18:
            raise click.UsageError(f"{option} {name}={text}: expected a whole number of {unit}")
    return {name: int(text) for name, text in pairs}


def _number(key: str, text: str) -> tuple[str, float]:
    try:
        return key, float(text)
    except ValueError as error:
        raise click.UsageError(f"--plant {key}={text}: expected a number") from error


def _labels(pairs: Sequence[tuple[str, str]], remark: str | None) -> dict[str, str]:
    labels: dict[str, Any] = dict(pairs)
    if remark is not None:
        labels["note"] = remark
    return labels


def _title(spec: BoutSpec) -> str:
    with_script = f" with {spec.script}" if spec.script else ""
    return f"{spec.config}{with_script}, seed {spec.seed}"
