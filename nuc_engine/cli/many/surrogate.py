"""`nuc surrogate`: controllers learned from datasets, fitted, flown beside their teacher, compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import TableColumn, count, say, say_json, say_wrapped, table
from nuc_engine.cli.terminal.params import RUNNABLE, NucCommand, as_json
from nuc_engine.cli.terminal.progress import ManyProgress

if TYPE_CHECKING:
    from nuc_engine.surrogate.report import FlightOutcome

# Before NumPy is loaded: matrices of a fit are small; on a busy machine threads would wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


class _Group(NucCommand, click.Group):
    """The three commands, with examples of their own."""


@click.group(
    cls=_Group,
    examples=(
        ("nuc dataset flight_practice --seeds 0:149 -o practice.parquet", "flights to learn from"),
        ("nuc surrogate fit practice.parquet -o my_pilot", "a RunConfig that a surrogate flies"),
        ("nuc surrogate eval my_pilot flight_limited_circle flight_limited_helix", "beside its teacher, over 20 seeds"),
        ("nuc run flight_limited_helix --controller my_pilot --out data/flown", "one flight of it"),
    ),
    output=("docs/nuc.md tells what a surrogate is given, how it is fitted, and what came out.",),
)
def command() -> None:
    """Learn a controller from logs: it is a black box, of which only logged columns are used.

    Predictions one step ahead prove nothing; reports lead with flights on references that nobody learned from.
    """


def _refusals(run: Callable[..., int]) -> Callable[..., int]:
    """Tell what keeps a command from its work in a line each."""

    @wraps(run)
    def told(**given: Any) -> int:
        from nuc_engine.batch.errors import BulkRefused

        try:
            return run(**given)
        except BulkRefused as refused:
            raise CommandFailed(*(f"nuc surrogate: {line}" for line in str(refused).splitlines())) from refused

    return told


def _units(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    from nuc_engine.surrogate.pilot import MOST_LAYERS, MOST_UNITS

    words = [word for word in value.split(",") if word]
    if len(words) <= MOST_LAYERS and all(word.isdecimal() and 0 < int(word) <= MOST_UNITS for word in words):
        return tuple(map(int, words))
    raise click.BadParameter(f"{value!r}: expected up to {MOST_LAYERS} numbers from 1 to {MOST_UNITS}", ctx, param)


@command.command(
    cls=NucCommand,
    examples=(
        ("nuc surrogate fit practice.parquet -o my_pilot", "in half a minute, on one core"),
        (
            "nuc surrogate fit few.parquet --rounds 2 -o my_pilot",
            "with episodes of the teacher from states that the surrogate came into, fitted again, twice",
        ),
    ),
    output=(
        "A folder with a run.toml: the first RunConfig of the dataset, flown by the surrogate. Its weights stand in it,"
        " with their sum and that of the rows they were fitted to. A summary to stdout.",
    ),
)
@click.argument("dataset", metavar="DATASET", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", "-o", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), required=True)
@click.option("--seed", metavar="N", type=click.IntRange(0), default=0, show_default=True, help="Of the fit.")
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(0, 20),
    default=0,
    show_default=True,
    help="Rounds of flying the surrogate and starting the teacher from where it went.",
)
@click.option(
    "--flights", metavar="N", type=click.IntRange(1, 1000), default=20, show_default=True, help="Flights in each round."
)
@click.option(
    "--starts",
    metavar="N",
    type=click.IntRange(2, 100),
    default=5,
    show_default=True,
    help="Episodes from each flight.",
)
@click.option(
    "--memory",
    metavar="N",
    type=click.IntRange(1, 100),
    default=8,
    show_default=True,
    help="Steps whose errors it is given; longer than the teacher's delay.",
)
@click.option(
    "--hidden", metavar="N,N", default="64,64", show_default=True, callback=_units, help="Units of each layer."
)
@click.option(
    "--steps", metavar="N", type=click.IntRange(1, 10**6), default=10_000, show_default=True, help="Steps of Adam."
)
@as_json
@_refusals
def fit(
    dataset: Path,
    out: Path,
    seed: int,
    rounds: int,
    flights: int,
    starts: int,
    memory: int,
    hidden: tuple[int, ...],
    steps: int,
    as_json: bool,
) -> int:
    """Fit a surrogate to the episodes of DATASET that are for training (`nuc dataset`).

    It is given the errors of the last steps, seen from the nose, and the last control, and learns what least squares
    leave over.
    """
    from nuc_engine.batch.surrogates import fit_dataset
    from nuc_engine.flight.appendix import CONTROL
    from nuc_engine.surrogate.fit import Aggregation, FitOptions

    options = FitOptions(seed=seed, memory=memory, hidden=hidden, steps=steps)
    with ManyProgress(out.name, "fits") as progress:
        result = fit_dataset(dataset, out, options, Aggregation(rounds, flights, starts), progress)
    if as_json:
        told = {"folder": result.folder, "episodes": result.episodes, "started": result.started, "rows": result.rows}
        sums = {key: value for key, value in result.surrogate.table().items() if key.endswith("_sha256")}
        say_json({"ok": True, **told, **sums, "one_step_r2": result.one_step, "radius": result.surrogate.cover.radius})
        return 0
    say(f"{result.folder}: a RunConfig that the surrogate flies")
    say(
        f"  {'learned':<12}{count(result.rows, 'row')} of {count(result.episodes, 'episode')}, {result.started} started"
    )
    if result.one_step is not None:
        shares = ", ".join(f"{name} {share:.5f}" for name, share in zip(CONTROL, result.one_step, strict=True))
        say_wrapped(f"  {'one step':<12}R2 of validation: {shares}; which says nothing of where it flies", " " * 14)
    say_wrapped(f"  {'next':<12}nuc surrogate eval {out} CONFIG...", " " * 14)
    return 0


_COLUMNS = (
    TableColumn("config", "<"),
    TableColumn("flown by", "<"),
    TableColumn("teacher's"),
    TableColumn("worst"),
    TableColumn("within 15 cm"),
    TableColumn("within 5 cm"),
    TableColumn("beyond"),
    TableColumn("lost"),
    TableColumn("called"),
    TableColumn("reference"),
)

_SEEDS = click.option("--seeds", metavar="A:B|A,B,C", default="0:19", show_default=True, help="Seeds of the episodes.")
_OUT = click.option(
    "--out",
    "-o",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Leave report.md and paths.png there.",
)


@command.command(
    name="eval",
    cls=NucCommand,
    examples=(
        (
            "nuc surrogate eval my_pilot flight_limited_circle flight_limited_eight -o data/judged",
            "20 seeds each, with a report and a figure",
        ),
        ("nuc surrogate eval my_pilot flight_limited --seeds 0", "steps of 5 m, beyond what it learned from"),
    ),
    output=("A table to stdout, or JSON with every flight; with --out a report (Markdown) and a figure.",),
)
@click.argument("pilot", metavar="PILOT", type=RUNNABLE)
@click.argument("configs", metavar="CONFIG...", nargs=-1, required=True, type=RUNNABLE)
@_SEEDS
@_OUT
@as_json
@_refusals
def evaluate(pilot: str, configs: Sequence[str], seeds: str, out: Path | None, as_json: bool) -> int:
    """Fly every CONFIG as it is, with PILOT, and with least squares on what PILOT learned from, and compare.

    PILOT is a folder of `nuc surrogate fit`. The controller of CONFIG is the teacher.
    """
    return _judge([pilot], configs, seeds, out, as_json)


@command.command(
    cls=NucCommand,
    examples=(
        (
            "nuc surrogate compare my_pilot my_other --on flight_limited_circle --on flight_limited_helix",
            "two surrogates on the same flights: what aggregation gains, say",
        ),
    ),
    output=("As of `nuc surrogate eval`.",),
)
@click.argument("pilots", metavar="PILOT...", nargs=-1, required=True, type=RUNNABLE)
@click.option("--on", "configs", metavar="CONFIG", multiple=True, required=True, type=RUNNABLE, help="Repeatable.")
@_SEEDS
@_OUT
@as_json
@_refusals
def compare(pilots: Sequence[str], configs: Sequence[str], seeds: str, out: Path | None, as_json: bool) -> int:
    """Compare several surrogates on the same flights, beside teacher and least squares (those of the first PILOT)."""
    return _judge(pilots, configs, seeds, out, as_json)


def _judge(pilots: Sequence[str], configs: Sequence[str], seeds: str, out: Path | None, as_json: bool) -> int:
    from nuc_engine.batch.axes import parse_seeds
    from nuc_engine.batch.surrogates import evaluate_configs
    from nuc_engine.machine.needs import need
    from nuc_engine.surrogate.evaluate import TEACHER
    from nuc_engine.surrogate.report import outcomes, report_text

    if out is not None:
        need(matplotlib="a figure")
    with ManyProgress("flights", "episodes") as progress:
        found = evaluate_configs(pilots, configs, parse_seeds(seeds), progress)
    told = outcomes(found.flights)
    if out is not None:
        from nuc_engine.figures.surrogate import draw_evaluation

        out.mkdir(parents=True, exist_ok=True)
        figure = draw_evaluation(found.flights, found.traces, out / "paths.png")
        title = f"Flights of {', '.join(Path(pilot).name for pilot in pilots)}"
        text = report_text(title, found.surrogates, found.flights, found.one_step, found.other_teacher, figure.name)
        (out / "report.md").write_text(text, encoding="utf-8", newline="\n")
    if as_json:
        steps = {name: shares.tolist() for name, shares in found.one_step.items()}
        say_json(
            {"ok": True, "outcomes": told, "flights": found.flights, "one_step_r2": steps}
            | {"other_teacher": found.other_teacher, "report": None if out is None else out / "report.md"}
        )
        return 0
    say("root mean squares in cm: from the teacher's flight (median and worst over seeds), from the reference")
    for line in table(_COLUMNS, [(each.config, each.who, *_cells(each, each.who == TEACHER)) for each in told]):
        say(line.rstrip())
    if found.other_teacher:
        say(f"flown by another teacher than they learned from: {', '.join(found.other_teacher)}")
    if out is not None:
        say(f"{out / 'report.md'}: all of it")
    return 0


def _cells(each: FlightOutcome, teacher: bool) -> tuple[str, ...]:
    from nuc_engine.surrogate.report import distance_text

    if teacher:
        return *([""] * 7), distance_text(each.off_m)
    return (
        distance_text(each.median_m),
        distance_text(each.worst_m),
        f"{each.near} of {each.flights}",
        f"{each.stretch} of {each.flights}",
        f"{100 * each.beyond:.1f} %",
        str(each.flights - each.near),
        str(each.called),
        distance_text(each.off_m),
    )
