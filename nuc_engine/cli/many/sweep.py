"""`nuc sweep`: many bouts over parameters, seeds and plants, one row each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import count, note, say, say_json
from nuc_engine.cli.terminal.params import RUNNABLE, NucCommand, OutFile, Pair, as_json, script
from nuc_engine.cli.terminal.progress import ManyProgress
from nuc_engine.machine.locations import find_run
from nuc_engine.machine.needs import need
from nuc_engine.recording.formats import TABLES, ending

if TYPE_CHECKING:
    from nuc_engine.batch.plan import SweepRequest
    from nuc_engine.batch.sweep import SweepResult


@click.command(
    cls=NucCommand,
    examples=(
        (
            "nuc sweep lin_roach -v plant.world.friction=0.05:0.15:5 --seeds 1000:1009 -o friction.parquet",
            "50 bouts: five frictions, ten seeds each",
        ),
        (
            "nuc sweep lin_roach -s experiment_a -d 60 --latin 50 -v FT_ext_FTang@20=120:140 -o a.parquet",
            "50 points of a Latin hypercube, over a value of the script's changeset at 20 s",
        ),
        (
            "nuc sweep flight_random -v dynamics.mass_kg=0.8:1.2:5 --seeds 0:99 -o mass.parquet",
            "500 flights of a RunConfig: how far each was from its reference",
        ),
        (
            "nuc sweep leg_turns --seeds 0:19 -o turns.csv",
            "20 bouts of a leg's RunConfig, each with what its seed draws",
        ),
        ("nuc sweep turn.toml --out turn.parquet", "a sweep that stands in a file (docs/bulk.md)"),
    ),
    output=(
        "One Parquet or CSV file, as its name says, with one row per bout: what was varied, seed, how the bout ended,"
        " and for each window the outcome, step statistics, and the actions it is stuck in. Until it is whole its rows"
        " are in FILE.parts; the same command goes on from there, whatever ended the first one. A summary to stdout,"
        " progress to stderr.",
        "Exit status 1 when it could not be run; bouts that stopped early or were refused are rows like the others.",
    ),
)
@click.argument("config", metavar="CONFIG|FILE.toml", type=RUNNABLE)
@script("Apply the timed changesets of this script (a file, or a name under scripts/).")
@click.option("--duration", "-d", metavar="T", type=float, help="Simulated seconds per bout.  [default: 30]")
@click.option(
    "--vary",
    "-v",
    "vary",
    metavar="NAME=VALUES",
    type=Pair(),
    multiple=True,
    help="FROM:TO:N, FROM:TO (not for a grid), either with :log, or A,B,C. NAME is a parameter or rule (NAME@T: where"
    " the script writes it at T seconds), plant.KEY for a number of plant.toml, a dotted key of run.toml, or seed;"
    " repeatable.",
)
@click.option("--grid", is_flag=True, help="Every combination of the values (default).")
@click.option("--random", "random_points", metavar="N", type=click.IntRange(1), help="N points drawn at random.")
@click.option("--latin", "latin_points", metavar="N", type=click.IntRange(1), help="N points of a Latin hypercube.")
@click.option("--draw", metavar="K", type=click.IntRange(0), help="Which random or Latin points.  [default: 0]")
@click.option(
    "--seeds", metavar="A:B|A,B,C", help="Seeds of the bouts at each point, A:B with both ends.  [default: 0]"
)
@click.option(
    "--window",
    "windows",
    metavar="NAME=A:B",
    type=Pair(),
    multiple=True,
    help="Look at this span, in seconds (default: from each change of rules to the next); repeatable.",
)
@click.option("--settle", metavar="T", type=float, help="Seconds at the begin of a window not looked at.  [default: 3]")
@click.option("--out", "-o", metavar="FILE", type=OutFile(TABLES), required=True, help="FILE.parquet, or FILE.csv.")
@click.option("--keep", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="Keep data directories.")
@click.option("--jobs", "-j", metavar="J", type=click.IntRange(1), help="Worker processes.  [default: all processors]")
@click.option("--dask", "cluster", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler instead.")
@click.option("--force", is_flag=True, help="Throw away the FILE that is there, and rows begun for it.")
@as_json
def command(
    config: str,
    script: str | None,
    duration: float | None,
    vary: Sequence[tuple[str, str]],
    grid: bool,
    random_points: int | None,
    latin_points: int | None,
    draw: int | None,
    seeds: str | None,
    windows: Sequence[tuple[str, str]],
    settle: float | None,
    out: Path,
    keep: Path | None,
    jobs: int | None,
    cluster: str | None,
    force: bool,
    as_json: bool,
) -> int:
    """Run CONFIG many times, with what is varied, and put what was seen into one table.

    CONFIG is a configuration, or a TOML file that says all of this; options go before what the file says. On all
    processors by default.
    """
    from nuc_engine.batch.errors import BulkRefused
    from nuc_engine.batch.plan import make_plan
    from nuc_engine.batch.pool import ItemFailed
    from nuc_engine.batch.sweep import run_sweep

    if cluster is not None and jobs is not None:
        raise click.UsageError("--jobs and --dask exclude each other: a cluster knows how many workers it has")
    if sum((grid, random_points is not None, latin_points is not None)) > 1:
        raise click.UsageError("--grid, --random and --latin exclude each other")
    described = _described(config)
    episodes = described is None and find_run(config) is not None
    # On a cluster the workers have the leg.
    leg = {} if episodes else {"mujoco": "an emulated leg"}
    uses = leg if cluster is None else {"distributed": "a cluster"}
    need(**uses, **{"pyarrow": "a Parquet file"} if ending(out, TABLES) == "parquet" else {})
    if episodes:
        if script is not None or windows or settle is not None or keep is not None:
            raise click.UsageError(f"--script, --window, --settle and --keep are for legs; {config} is a RunConfig")
        request = _sampled(
            _given(config, None, duration, vary, seeds, (), None), grid, random_points, latin_points, draw
        )
        return _sweep_episodes(request, duration, out, jobs=jobs, cluster=cluster, force=force, as_json=as_json)
    try:
        request = _given(config, script, duration, vary, seeds, windows, settle, described)
        request = _sampled(request, grid, random_points, latin_points, draw)
        plan = make_plan(request)
        for remark in plan.remarks:
            note(f"warning: {remark}")
        with ManyProgress(out.name) as progress:
            result = run_sweep(plan, out, jobs=jobs, cluster=cluster, keep=keep, force=force, done=progress)
    except (BulkRefused, ItemFailed) as refused:
        raise CommandFailed(*(f"nuc sweep: {line}" for line in str(refused).splitlines())) from refused
    except KeyboardInterrupt:
        note("nuc sweep: stopped; the same command goes on from here")
        raise
    _report(result, progress.wall_s, as_json=as_json)
    return 0


def _sweep_episodes(
    request: SweepRequest,
    duration_s: float | None,
    out: Path,
    *,
    jobs: int | None,
    cluster: str | None,
    force: bool,
    as_json: bool,
) -> int:
    from nuc_engine.batch.episodes import make_episodes, sweep_episodes
    from nuc_engine.batch.errors import BulkRefused
    from nuc_engine.batch.pool import ItemFailed

    try:
        plan = make_episodes([request.config], request.axes, request.sampling, request.seeds, duration_s)
        with ManyProgress(out.name, "episodes") as progress:
            result = sweep_episodes(plan, out, jobs=jobs, cluster=cluster, force=force, done=progress)
    except (BulkRefused, ItemFailed) as refused:
        raise CommandFailed(*(f"nuc sweep: {line}" for line in str(refused).splitlines())) from refused
    except KeyboardInterrupt:
        note("nuc sweep: stopped; the same command goes on from here")
        raise
    _report(result, progress.wall_s, as_json=as_json)
    return 0


def _given(
    config: str,
    script: str | None,
    duration: float | None,
    vary: Sequence[tuple[str, str]],
    seeds: str | None,
    windows: Sequence[tuple[str, str]],
    settle: float | None,
    described: SweepRequest | None = None,
) -> SweepRequest:
    """Return the sweep of a file, of a described bout, or of the options; options go before these."""
    from nuc_engine.batch.axes import parse_seeds
    from nuc_engine.batch.plan import SweepRequest
    from nuc_engine.batch.request import make_axes, parse_window, read_request

    request = described
    if request is None:
        request = read_request(Path(config)) if config.endswith(".toml") else SweepRequest(config)
    if script is not None:
        request = replace(request, script=script)
    if duration is not None:
        request = replace(request, duration_s=duration)
    if vary:
        axes, varied = make_axes(_once(vary, "--vary"))
        if varied is not None and seeds is not None:
            raise click.UsageError("--vary seed and --seeds are the same; give one")
        new = {axis.name for axis in axes}
        kept = tuple(axis for axis in request.axes if axis.name not in new)
        request = replace(request, axes=(*kept, *axes), seeds=varied or request.seeds)
    if seeds is not None:
        request = replace(request, seeds=parse_seeds(seeds))
    if windows:
        spans = _once(windows, "--window")
        request = replace(request, windows=tuple(parse_window(name, span) for name, span in spans.items()))
    return request if settle is None else replace(request, settle_s=settle)


def _described(config: str) -> SweepRequest | None:
    """Return the sweep of a leg's bout that a RunConfig describes, None where CONFIG is none."""
    if (file := find_run(config)) is None:
        return None
    from nuc_engine.batch.plan import SweepRequest
    from nuc_engine.bout.described import load_leg
    from nuc_engine.bout.episode import document_of

    spec = load_leg(file)
    if spec is None or spec.run_text is None:
        return None
    document = document_of(spec.run_text)
    return SweepRequest(spec.config, spec.script, spec.duration_s, seeds=(spec.seed,), described=document)


def _sampled(
    request: SweepRequest, grid: bool, random_points: int | None, latin_points: int | None, draw: int | None
) -> SweepRequest:
    from nuc_engine.batch.request import make_sampling

    sampling = request.sampling
    if grid:
        sampling = make_sampling("grid", 0, 0)
    elif random_points is not None or latin_points is not None:
        kind = "latin" if random_points is None else "random"
        sampling = make_sampling(kind, random_points or latin_points or 0, sampling.seed)
    if draw is not None:
        sampling = replace(sampling, seed=draw)
    return replace(request, sampling=sampling)


def _once(pairs: Sequence[tuple[str, str]], option: str) -> Mapping[str, str]:
    names = [name for name, _ in pairs]
    if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        raise click.UsageError(f"{option} {twice[0]}: given twice")
    return dict(pairs)


def _report(result: SweepResult, wall_s: float, *, as_json: bool) -> None:
    if as_json:
        say_json({"ok": True, "wall_s": wall_s, **{name: getattr(result, name) for name in result.__slots__}})
        return
    if result.before == result.rows and not result.states:
        say(f"{result.path}: complete already, {count(result.rows, 'row')}; nothing was run")
        return
    there = f", {result.before} of them there before" if result.before else ""
    say(f"{result.path}: {count(result.rows, 'row')}{there}")
    for name, number in sorted(result.states.items()):
        if name != "complete":
            say(f"  {number} bouts ended as: {name}")
    if len(result.engines) > 1:
        say(f"  by {len(result.engines)} versions of the engine: see the column engine")
    for window, outcomes in result.outcomes.items():
        ordered = sorted(outcomes.items(), key=lambda item: (-item[1], item[0]))
        say(f"  {window:<10}{', '.join(f'{name} {number}' for name, number in ordered)}")
