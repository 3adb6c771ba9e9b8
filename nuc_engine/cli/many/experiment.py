"""`nuc experiment`: the experiments of chapter 7, run, judged, drawn."""

from __future__ import annotations

import os
import tempfile
import textwrap
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.errors import BAD, CommandFailed
from nuc_engine.cli.terminal.leaving import when_ended
from nuc_engine.cli.terminal.output import note, say, say_json
from nuc_engine.cli.terminal.params import NucCommand, as_json
from nuc_engine.cli.terminal.progress import ManyProgress
from nuc_engine.machine.needs import missing, need, need_linux

if TYPE_CHECKING:
    from nuc_engine.experiments.live import BoutRunner, Operator
    from nuc_engine.experiments.protocol import Experiment, TableRow, Trial
    from nuc_engine.experiments.trials import Task
    from nuc_engine.experiments.verdict import RowVerdict, Verdict

OUT, PAGES = Path("data/experiments"), Path("docs/experiments")
REPETITIONS = 20
LIST, ALL, TABLE, BUNDLE = "list", "all", "table", "bundle"
_TEXT_WIDTH = 80
_NAMED = 3  # So many experiments are named in the progress bar.


class _Names(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    name = "NAME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        del param, ctx
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        del ctx, param
        return [CompletionItem(name) for name in (*_known(), ALL, LIST, TABLE, BUNDLE) if name.startswith(incomplete)]


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc experiment list", "what there is, what the dissertation saw, and the last verdict"),
        ("nuc experiment A", "20 repetitions of experiment A, judged and drawn into data/experiments/A"),
        ("nuc experiment D1 D2 --repeat 3 --seed 7 --keep", "a quick look; the bouts are kept"),
        ("nuc experiment A --bus aimotor:///dev/ttyUSB0 --repeat 3", "on a robot; asks to reposition and kick it"),
        ("nuc experiment all --pages docs/experiments", "everything, and the pages of this project written anew"),
        ("nuc experiment table --to verdicts.csv", "every repetition of the last verdicts, for R or pandas"),
        ("nuc experiment bundle --to verdicts.zip", "all they rest on, for others to check: nuc verify verdicts.zip"),
    ),
    output=(
        "A table to stdout, progress to stderr. For each experiment a folder under --out, or under --pages: page.md,"
        " its figures, and verdict.json for machines.",
        "Exit status 0 when every row came out as the dissertation saw it and every control failed, else 1.",
    ),
)
@click.argument("names", metavar="NAME...|all|list|table|bundle", type=_Names(), nargs=-1, required=True)
@click.option(
    "--repeat",
    "-n",
    metavar="N",
    type=click.IntRange(1),
    default=REPETITIONS,
    show_default=True,
    help="Valid repetitions per row; failed starts are made up for.",
)
@click.option(
    "--seed",
    metavar="S",
    type=click.IntRange(0),
    help="First seed. Below 2000 (for tuning and trying out) nothing that comes out is a verdict.  [default: the one of"
    " the experiment's page: 20001, 110001 or 120001]",
)
@click.option("--jobs", "-j", metavar="J", type=click.IntRange(1), help="Worker processes.  [default: all cores]")
@click.option(
    "--out",
    "-o",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=OUT,
    show_default=True,
    help="Where a folder for each experiment is made.",
)
@click.option("--keep", is_flag=True, help="Keep every bout's data directory, in bouts/ below the experiment's folder.")
@click.option(
    "--pages",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write pages, figures and verdicts here instead, and the table over all of them.",
)
@click.option(
    "--rewrite", is_flag=True, help="Run nothing: write the pages of --pages again from their verdicts and new texts."
)
@click.option(
    "--to",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="What `table` writes (.csv or .parquet) or `bundle` (.zip), from the verdicts of --pages.  [default: those"
    " that came with the program]",
)
@click.option(
    "--bus",
    metavar="URL",
    help="In real time on a leg: aimotor:///dev/... (asks for what has to be done by hand), or emulated:.",
)
@click.option("--address", metavar="ADDR", help="The same on a daemon that runs already, instead of one of its own.")
@as_json
def command(
    names: tuple[str, ...],
    repeat: int,
    seed: int | None,
    jobs: int | None,
    out: Path,
    keep: bool,
    pages: Path | None,
    rewrite: bool,
    to: Path | None,
    bus: str | None,
    address: str | None,
    as_json: bool,
) -> int:
    """Run experiments of chapter 7 over many seeds and judge them by criteria that were fixed before.

    `list` says which there are; `all` runs them all; `table` and `bundle` run nothing and put the last verdicts into
    one file. Every repetition is one seed; where an experiment allows kicks, a repetition is run again with a kick when
    it does not come out without.
    """
    from nuc_engine.experiments.record import RecordError

    try:
        if LIST in names:
            return _list(as_json)
        if TABLE in names or BUNDLE in names:
            return _gather(names, pages, to, as_json)
        experiments = _select(names)
        if rewrite:
            return _rewrite(experiments, pages)
        return _conduct(experiments, repeat, seed, jobs, out, keep, pages, bus, address, as_json)
    except RecordError as error:
        raise CommandFailed(str(error)) from error


def _gather(names: Sequence[str], pages: Path | None, to: Path | None, as_json: bool) -> int:
    """Put the last verdicts into one file."""
    from nuc_engine.experiments.bundle import ENDING, BundleError, write_bundle
    from nuc_engine.experiments.catalogue import EXPERIMENTS
    from nuc_engine.experiments.record import read_verdict
    from nuc_engine.experiments.tidy import write_tidy
    from nuc_engine.machine.locations import find_verdicts

    if len(names) > 1:
        raise click.UsageError(f"{names[0]} with {names[1]}: table and bundle stand alone, and take all verdicts")
    folder = pages or find_verdicts()
    if folder is None:
        raise CommandFailed("no verdicts here; expected --pages DIR, as `nuc experiment all --pages DIR` makes it")
    if names[0] == BUNDLE:
        path = to or Path(f"verdicts{ENDING}")
        if path.suffix != ENDING:
            raise click.UsageError(f"--to {path}: expected FILE{ENDING} for a bundle")
        try:
            number = write_bundle(path, folder)
        except BundleError as error:
            raise CommandFailed(str(error)) from error
        what = "files"
    else:
        path = to or Path("verdicts.csv")
        verdicts = [found for each in EXPERIMENTS if (found := read_verdict(folder / each.name)) is not None]
        number, what = write_tidy(path, verdicts, EXPERIMENTS), "repetitions"
    if as_json:
        say_json({"ok": True, "file": path, what: number})
    else:
        say(f"{path}: {number} {what}")
    return 0


def _conduct(
    experiments: Sequence[Experiment],
    repeat: int,
    seed: int | None,
    jobs: int | None,
    out: Path,
    keep: bool,
    pages: Path | None,
    bus: str | None,
    address: str | None,
    as_json: bool,
) -> int:
    live = bus is not None or address is not None
    if live:
        need_linux("an experiment on a leg", "the daemon beside it does, and its data directories are read here")
    leg = {"mujoco": "an emulated leg"} if not live or (bus or "").startswith("emulated:") else {}
    need(**leg, **{library: each.name for each in experiments for library in each.libraries})
    target = pages or out
    for place in (target, *([out] if keep or live else [])):
        _make(place, experiments)
    if not live:
        verdicts = _run(experiments, repeat, seed, jobs, target, out if keep else None)
        typed = f"nuc experiment {{name}} --repeat {repeat} --seed {{seed}}" + (f" --pages {PAGES}" if pages else "")
    else:
        verdicts = _run_live(experiments, repeat, seed, bus or "", address or "", target, out)
        where = f"--bus {bus}" if bus else f"--address {address}"
        typed = f"nuc experiment {{name}} --repeat {repeat} {where}"
    _write(experiments, verdicts, target, typed, as_pages=pages is not None)
    _report(experiments, verdicts, target, as_json)
    return 0 if all(verdict.good for verdict in verdicts) else BAD


def _run(
    experiments: Sequence[Experiment], repeat: int, seed: int | None, jobs: int | None, target: Path, keep: Path | None
) -> list[Verdict]:
    from nuc_engine.batch.pool import ItemFailed, Workers
    from nuc_engine.experiments.conduct import add_evidence, check, draw_all, judge_all

    check(experiments)
    title = " ".join(experiment.name for experiment in experiments) if len(experiments) <= _NAMED else "experiments"
    draw = _can_draw()
    note(f"{title}: repetitions, then evidence{' and figures' if draw else ''}; the time left is told of each")
    try:
        with Workers(jobs) as workers:
            with ManyProgress(title, "repetitions") as bar:
                tally = Tally(bar, experiments)
                judged = judge_all(experiments, repeat, seed, workers=workers, keep=keep, done=bar, heard=tally.add)
            with ManyProgress(title, "repetitions for evidence") as bar:
                judged = add_evidence(judged, workers=workers, done=bar)
            if draw:
                with ManyProgress(title, "figures") as bar:
                    judged = draw_all(judged, target, workers=workers, done=bar)
    except ItemFailed as failed:
        raise CommandFailed(f"nuc experiment: {failed}") from failed
    return [each.verdict for each in judged]


class Tally:
    """How many repetitions of each row came out as seen so far, beside the bar."""

    def __init__(self, bar: ManyProgress, experiments: Sequence[Experiment]) -> None:
        self._bar = bar
        # Rows of two experiments may have one name and one thing that was seen, as those of dropout and magnet.
        self._names = {id(row): _row_name(each, row) for each in experiments for row in each.rows}
        self._counts: dict[str, tuple[int, int]] = {}

    def add(self, task: Task, trial: Trial) -> None:
        """Count one; controls and what is made up for are not told."""
        from nuc_engine.experiments.protocol import NOT_VALID

        if task.control or trial.state in NOT_VALID:
            return
        name = self._names[id(task.row)]
        good, of = self._counts.get(name, (0, 0))
        self._counts[name] = good + (trial.state == "as seen"), of + 1
        told = [f"{name} {count} of {of} as seen" for name, (count, of) in self._counts.items()]
        self._bar.also = "; ".join(told[:_NAMED]) + ("; ..." if len(told) > _NAMED else "")


def _row_name(experiment: Experiment, row: TableRow) -> str:
    return experiment.name if len(experiment.rows) == 1 else f"{experiment.name} {row.name}"


@when_ended()
def _run_live(
    experiments: Sequence[Experiment], repeat: int, seed: int | None, bus: str, address: str, target: Path, out: Path
) -> list[Verdict]:
    from drivers.factory import is_emulated
    from nuc_engine.cli.terminal.beside import TerminalHand
    from nuc_engine.client import ClientError
    from nuc_engine.experiments.bench import EmulatedHand, OwnDaemon, RunningDaemon
    from nuc_engine.experiments.conduct import check, conduct_live

    check(experiments)
    emulated = not address and is_emulated(bus)
    daemon = OwnDaemon(bus, wallclock.sleep)
    stage: BoutRunner = RunningDaemon(address, wallclock.sleep) if address else daemon
    hand: Operator = EmulatedHand(daemon) if emulated else TerminalHand()
    verdicts: list[Verdict] = []
    try:
        for experiment in experiments:
            note(f"{experiment.name}: {repeat} repetitions of {len(experiment.rows)} rows, and controls, in real time")
            judged = conduct_live(
                experiment,
                repeat,
                1 if not emulated else experiment.seed if seed is None else seed,
                bus=address or bus,
                stage=stage,
                hand=hand,
                wait=wallclock.sleep,
                target=target / experiment.name,
                data=out / experiment.name / "bouts",
                figures=_can_draw(),
            )
            verdicts.append(judged.verdict)
    except ClientError as error:
        raise CommandFailed(f"nuc experiment: {error}") from error
    return verdicts


def _make(place: Path, experiments: Sequence[Experiment]) -> None:
    """Make the folders that are written into in the end. Raises OSError where that cannot be."""
    for experiment in experiments:
        folder = place / experiment.name
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass


def _can_draw() -> bool:
    if find_spec("matplotlib") is not None:
        return True
    note(f"no figures: {missing(matplotlib='a figure')}")
    return False


def _known() -> list[str]:
    from nuc_engine.experiments.catalogue import EXPERIMENTS

    return [experiment.name for experiment in EXPERIMENTS]


def _select(names: Sequence[str]) -> list[Experiment]:
    from nuc_engine.experiments.catalogue import EXPERIMENTS

    if ALL in names:
        return list(EXPERIMENTS)
    by_name = {experiment.name: experiment for experiment in EXPERIMENTS}
    if unknown := [name for name in names if name not in by_name]:
        known = ", ".join((*by_name, ALL, LIST, TABLE, BUNDLE))
        raise click.UsageError(f"no experiment {unknown[0]!r}; there are {known}")
    return [by_name[name] for name in dict.fromkeys(names)]


def _list(as_json: bool) -> int:
    from nuc_engine.experiments.catalogue import EXPERIMENTS
    from nuc_engine.experiments.record import read_verdict
    from nuc_engine.machine.locations import find_verdicts

    folder = find_verdicts()
    found = [(item, None if folder is None else read_verdict(folder / item.name)) for item in EXPERIMENTS]
    if as_json:
        say_json({"ok": True, "experiments": [_listed(*item) for item in found]})
        return 0
    for experiment, verdict in found:
        head = f"{experiment.name:<18}{experiment.section:<11}"
        for line in textwrap.wrap(experiment.title, _TEXT_WIDTH - len(head)):
            say(f"{head}{line}")
            head = " " * len(head)
        judged = {} if verdict is None else {row.name: row for row in verdict.rows}
        for row in experiment.rows:
            head = f"  {row.name:<16}" if len(experiment.rows) > 1 else " " * 18
            for line in textwrap.wrap(f"{row.saw} [{_last(row, judged.get(row.name), verdict)}]", _TEXT_WIDTH - 18):
                say(f"{head}{line}")
                head = " " * 18
    return 0


def _listed(experiment: Experiment, verdict: Verdict | None) -> dict[str, Any]:
    from nuc_engine.experiments.verdict import in_doubt

    judged = {} if verdict is None else {row.name: row for row in verdict.rows}
    return {
        "name": experiment.name,
        "section": experiment.section,
        "title": experiment.title,
        "standing": None if verdict is None else verdict.standing,
        "rows": [
            {
                "name": row.name,
                "saw": row.saw,
                "verdict": None if seen is None else seen.word,
                "in_doubt": verdict is not None and seen is not None and in_doubt(row, seen, verdict),
            }
            for row in experiment.rows
            for seen in [judged.get(row.name)]
        ],
    }


def _last(row: TableRow, seen: RowVerdict | None, verdict: Verdict | None) -> str:
    from nuc_engine.experiments.verdict import in_doubt, together

    if seen is None or verdict is None:
        return "not judged yet"
    share = f"{seen.as_seen.count} of {seen.as_seen.of}"
    whole = together(row, seen, verdict)
    if whole is not None and in_doubt(row, seen, verdict):
        share += f", but {whole.count} of {whole.of} with other seeds"
    return f"{seen.word}, {share}" + (f"; {verdict.standing}" if verdict.standing else "")


def _write(
    experiments: Sequence[Experiment], verdicts: Sequence[Verdict], target: Path, typed: str, *, as_pages: bool
) -> None:
    from nuc_engine.experiments.catalogue import EXPERIMENTS
    from nuc_engine.experiments.page import write_experiment, write_index

    for experiment, verdict in zip(experiments, verdicts, strict=True):
        folder = target / experiment.name
        root = _way_to_root(folder) if as_pages else None
        said = typed.format(name=experiment.name, seed=verdict.seed)
        write_experiment(experiment, verdict, folder, root=root, command=said, indexed=as_pages)
    if as_pages:
        write_index(EXPERIMENTS, target)


def _rewrite(experiments: Sequence[Experiment], pages: Path | None) -> int:
    from nuc_engine.experiments.catalogue import EXPERIMENTS
    from nuc_engine.experiments.page import write_index
    from nuc_engine.experiments.record import read_verdict

    if pages is None:
        raise click.UsageError("--rewrite writes pages again; say which, with --pages DIR")
    found = [(experiment, read_verdict(pages / experiment.name)) for experiment in experiments]
    there = [(experiment, verdict) for experiment, verdict in found if verdict is not None]
    for experiment, verdict in there:
        typed = f"nuc experiment {{name}} --repeat {verdict.repetitions} --seed {{seed}} --pages {PAGES}"
        _write([experiment], [verdict], pages, typed, as_pages=True)
    pages.mkdir(parents=True, exist_ok=True)
    write_index(EXPERIMENTS, pages)
    say(f"{len(there)} of {len(found)} pages written again in {pages}")
    return 0


def _way_to_root(folder: Path) -> str | None:
    """Return how a page in this folder gets to scripts and configurations; None where they are not in one tree."""
    from nuc_engine.machine.locations import CHECKOUT

    if not (CHECKOUT / "scripts").is_dir() or not folder.resolve().is_relative_to(CHECKOUT):
        return None
    return Path(os.path.relpath(CHECKOUT, folder.resolve())).as_posix()


def _report(experiments: Sequence[Experiment], verdicts: Sequence[Verdict], target: Path, as_json: bool) -> None:
    from nuc_engine.experiments.record import record_of

    if as_json:
        good = all(verdict.good for verdict in verdicts)
        pairs = zip(experiments, verdicts, strict=True)
        records = [record_of(verdict, experiment.rows) for experiment, verdict in pairs]
        say_json({"ok": good, "folder": target, "experiments": records})
        return
    for line in _table(verdicts):
        say(line)
    for standing in dict.fromkeys(verdict.standing for verdict in verdicts if verdict.standing):
        say(standing)
    say(f"pages, figures and verdicts in {target}")


_GAPS = (2, 1, 2, 1, 1, 2, 0)
"""Blanks between the columns of the table, which is to fit 80 columns."""


def _table(verdicts: Sequence[Verdict]) -> list[str]:
    """Return a line for each row under two lines of heading, in columns that hold what is in them."""
    table = [
        ("", "as seen", "", "failed", "kicks", "control", "verdict"),
        ("", "", "", "starts", "mean", "as seen", ""),
    ]
    table += [_cells(verdict.name, row) for verdict in verdicts for row in verdict.rows]
    wide = [max(map(len, column)) + gap for column, gap in zip(zip(*table, strict=True), _GAPS, strict=True)]
    return ["".join(f"{cell:<{w}}" for cell, w in zip(line, wide, strict=True)).rstrip() for line in table]


def _cells(experiment: str, row: RowVerdict) -> tuple[str, ...]:
    return (
        experiment if row.name == experiment else f"{experiment} {row.name}",
        f"{row.as_seen.count} of {row.as_seen.of}",
        f"{100 * row.as_seen.value:.0f} %" if row.as_seen.of else "-",
        str(row.failed_starts),
        f"{row.kicks.mean:.1f}" if row.as_seen.count else "-",
        f"{row.control.as_seen.count} of {len(row.control.trials)}",
        row.word,
    )
