"""`nuc tune`: values found by an optimiser, against a criterion."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nuc_engine.cli.terminal.errors import BAD, CommandFailed
from nuc_engine.cli.terminal.output import note, say, say_json, say_wrapped
from nuc_engine.cli.terminal.params import NucCommand, OutFile, Pair, as_json, configuration, script
from nuc_engine.cli.terminal.progress import ManyProgress
from nuc_engine.machine.needs import need

if TYPE_CHECKING:
    from nuc_engine.batch.plan import SweepPlan
    from nuc_engine.batch.tune import Tried, Tuned


@click.command(
    cls=NucCommand,
    examples=(
        (
            "nuc tune lin_roach -v FT_ext_FTang=70:110 -v TC1_proDEP_FTang=100:140 -c FWD -o forward.xml",
            "two thresholds with which most bouts walk forward",
        ),
        (
            "nuc tune lin_roach -s experiment_a -d 40 -v TC1_retLEV_FTang@20=100:116 -c ITF -o itf.xml",
            "a value of the changeset at 20 s, by what the leg does after it",
        ),
        (
            "nuc tune my_leg -v plant.world.friction=0.05:0.5:log -c judge.py:slides -o slides.xml",
            "a plant, by a Python function of one's own (docs/bulk.md)",
        ),
    ),
    output=(
        "The best values to stdout and, as a script (hdsoscript), into FILE; progress and each trial that is better"
        " than those before to stderr. The search stands in FILE.study: the same command goes on from there, a larger"
        " --trials adds to it.",
        "Exit status 1 when no bout of the best trial is a good one, or it could not be run.",
    ),
)
@configuration()
@script("Apply the timed changesets of this script (a file, or a name under scripts/).")
@click.option("--duration", "-d", metavar="T", type=float, default=30.0, show_default=True, help="Seconds per bout.")
@click.option(
    "--vary",
    "-v",
    "vary",
    metavar="NAME=VALUES",
    type=Pair(),
    multiple=True,
    help="FROM:TO, FROM:TO:log or A,B,C. NAME is a parameter or rule (NAME@T: where the script writes it at T seconds)"
    " or plant.KEY for a number of plant.toml; repeatable.",
)
@click.option(
    "--criterion",
    "-c",
    "wanted",
    metavar="KIND|FILE.py:FUNCTION",
    required=True,
    help="What a good bout does: FWD, ITF, ITB, stick, ... as docs/outcomes.md names it, or what a function says.",
)
@click.option("--window", metavar="A:B", help="Where it has to do so, in seconds.  [default: from the last change on]")
@click.option("--settle", metavar="T", type=float, default=3.0, show_default=True, help="Begin of it not looked at.")
@click.option("--trials", "-n", metavar="N", type=click.IntRange(1), default=50, show_default=True)
@click.option("--seeds", metavar="A:B|A,B,C", help="Seeds of every trial.  [default: 1000:1007]")
@click.option("--fresh", metavar="A:B|A,B,C", help="Seeds the best is tried with in the end.  [default: 1900:1919]")
@click.option("--draw", metavar="K", type=click.IntRange(0), default=0, help="Seed of the optimiser.  [default: 0]")
@click.option("--out", "-o", metavar="FILE", type=OutFile(["xml"]), required=True, help="The script, FILE.xml.")
@click.option("--study", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Where the search is.")
@click.option("--jobs", "-j", metavar="J", type=click.IntRange(1), help="Worker processes.  [default: all processors]")
@click.option("--force", is_flag=True, help="Throw away the search that is there; FILE may be replaced.")
@as_json
def command(
    config: str,
    script: str | None,
    duration: float,
    vary: Sequence[tuple[str, str]],
    wanted: str,
    window: str | None,
    settle: float,
    trials: int,
    seeds: str | None,
    fresh: str | None,
    draw: int,
    out: Path,
    study: Path | None,
    jobs: int | None,
    force: bool,
    as_json: bool,
) -> int:
    """Look for values of CONFIG with which most seeds make a good bout.

    What counts first is how many seeds make one, then how good their bouts are. The values in force are the first
    trial; the best is tried in the end with seeds the search did not know.
    """
    from nuc_engine.batch.axes import parse_seeds
    from nuc_engine.batch.criterion import parse_criterion
    from nuc_engine.batch.errors import BulkRefused
    from nuc_engine.batch.plan import SweepRequest, make_plan
    from nuc_engine.batch.pool import ItemFailed
    from nuc_engine.batch.request import make_axes, parse_window
    from nuc_engine.batch.tune import FRESH_SEEDS, TUNING_SEEDS, tune, tuned_script

    need(mujoco="an emulated leg", optuna="a search")
    study = study or out.with_name(out.name + ".study")
    if out.exists() and not force and not study.exists():
        raise click.UsageError(f"--out {out}: {out} exists already, and is of no search in {study}; add --force")
    try:
        axes, varied = make_axes(dict(vary))
        if varied is not None or len(dict(vary)) < len(vary):
            raise click.UsageError("--vary: every NAME once, and no seed; seeds are given with --seeds")
        windows = () if window is None else (parse_window("window", window),)
        request = SweepRequest(config, script, duration, axes, seeds=parse_seeds(seeds or TUNING_SEEDS))
        plan = make_plan(request.looking_at(windows, settle))
        criterion = parse_criterion(wanted, plan.windows[-1].name)
        with ManyProgress(f"tune {out.name}") as progress:
            tuned = tune(
                plan,
                criterion,
                study,
                trials=trials,
                fresh_seeds=parse_seeds(fresh or FRESH_SEEDS),
                jobs=jobs,
                draw=draw,
                force=force,
                done=progress,
                told=_Best(progress.note),
            )
        found = tuned.best
        description = f"Found for {criterion}: {found.good} of {found.bouts} bouts, in {tuned.trials} trials."
        out.write_bytes(tuned_script(plan, found, out.stem, description))
    except (BulkRefused, ItemFailed) as refused:
        raise CommandFailed(*(f"nuc tune: {line}" for line in str(refused).splitlines())) from refused
    except KeyboardInterrupt:
        note("nuc tune: stopped; the same command goes on from here")
        raise
    _report(tuned, plan, str(criterion), out, as_json=as_json)
    return 0 if tuned.best.good else BAD


class _Best:
    """Says when a trial is better than those before."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say, self._objective = say, -1.0

    def __call__(self, number: int, tried: Tried) -> None:
        if tried.objective > self._objective:
            self._objective = tried.objective
            values = ", ".join(f"{name} {value}" for name, value in _values(tried))
            self._say(f"trial {number}: {_how_good(tried)} with {values}")


def _report(tuned: Tuned, plan: SweepPlan, criterion: str, out: Path, *, as_json: bool) -> None:
    if as_json:
        say_json(
            {
                "ok": tuned.best.good > 0,
                "criterion": criterion,
                "configuration": plan.kit.name,
                "script": out,
                "best": tuned.best,
                "present": tuned.present,
                "fresh": tuned.fresh,
                "present_fresh": tuned.present_fresh,
                "surely_better": tuned.surely_better,
                "trials": tuned.trials,
                "trials_before": tuned.before,
            }
        )
        return
    say_wrapped(f"{criterion}: {_how_good(tuned.best)}, best of {tuned.trials} trials", "    ")
    present = {} if tuned.present is None else dict(_values(tuned.present))
    for name, value in _values(tuned.best):
        was = f"   (was {present[name]})" if name in present else ""
        say(f"  {name:<44}{value}{was}")
    if tuned.present is not None:
        say_wrapped(f"values in force: {_how_good(tuned.present)}", "    ")
    if tuned.fresh is not None:
        say_wrapped(f"other seeds: {_how_good(tuned.fresh)}", "    ")
    if tuned.present_fresh is not None:
        say_wrapped(f"  values in force: {_how_good(tuned.present_fresh)}", "    ")
    if tuned.surely_better is False:
        say_wrapped(
            "With so many other seeds the best can not be told from the values in force; more of them may tell.", "    "
        )
    say(f"script: {out}")


def _values(tried: Tried) -> list[tuple[str, str]]:
    """Return names and values as text."""
    return [(name, value if isinstance(value, str) else f"{value:.6g}") for name, value in tried.values.items()]


def _how_good(tried: Tried) -> str:
    others = ", ".join(f"{kind} {number}" for kind, number in sorted(tried.seen.items(), key=lambda item: -item[1]))
    low, high = tried.interval
    noise = f" ± {tried.noise:.2f}" if math.isfinite(tried.noise) else ""
    share = f"{100 * low:.0f} to {100 * high:.0f} %"
    return f"{tried.good} of {tried.bouts} bouts good ({share}), margin {tried.margin:.2f}{noise} ({others})"
