"""`nuc minimise`: what a changeset needs, and which changesets commute."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import faint, heading, note, say, say_json, say_wrapped
from nuc_engine.cli.terminal.params import CONFIGURATION, SCRIPT, NucCommand, OutFile, as_json
from nuc_engine.cli.terminal.progress import ManyProgress
from nuc_engine.machine.needs import need

if TYPE_CHECKING:
    from nuc_engine.batch.commute import Commuting
    from nuc_engine.batch.minimise import EntryReport, Minimised, ScriptTrial, Tested

UNSURE = " (too few seeds to be sure)"


@click.command(
    cls=NucCommand,
    examples=(
        (
            "nuc minimise experiment_a --at 20",
            "each entry of the changeset at 20 s left out, and each pair",
        ),
        (
            "nuc minimise experiment_a --at 40 --write smaller.xml",
            "the same, and the script without all it does not need",
        ),
        ("nuc minimise experiment_a --commute", "may its changesets come in the other order?"),
    ),
    output=(
        "A table to stdout, one line per entry: what the leg does without it (with the 95 % interval of the share), and"
        " what follows; progress to stderr. Where the interval reaches across the bound, it says that the seeds are too"
        " few.",
        "An entry is necessary when without it at most half as many bouts do what the whole changeset leads to, and"
        " unnecessary when at least nine tenths do; between these, it helps. Bouts in which the leg did not step before"
        " the changeset are counted apart.",
    ),
)
@click.argument("script", metavar="SCRIPT", type=SCRIPT)
@click.option("--at", "at", metavar="T", help="Time of the changeset, in seconds.")
@click.option("--commute", "commuting", is_flag=True, help="Compare the orders of the script's changesets instead.")
@click.option("--config", "-c", metavar="CONFIG", type=CONFIGURATION, default="lin_roach", show_default=True)
@click.option("--seeds", metavar="A:B|A,B,C", default="1000:1009", show_default=True, help="Seeds of every test.")
@click.option("--wanted", metavar="KIND", help="What the changeset is for.  [default: what it most often leads to]")
@click.option("--watch", "length", metavar="T", type=float, default=20.0, show_default=True, help="Seconds after it.")
@click.option("--settle", metavar="T", type=float, default=3.0, show_default=True, help="Begin of it not looked at.")
@click.option("--write", "target", metavar="FILE", type=OutFile(["xml"]), help="Write the reduced script, FILE.xml.")
@click.option("--force", is_flag=True, help="Let --write replace a FILE that exists.")
@click.option(
    "--rows",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep what each bout did in DIR, and go on from what is there.",
)
@click.option("--jobs", "-j", metavar="J", type=click.IntRange(1), help="Worker processes.  [default: all processors]")
@as_json
def command(
    script: str,
    at: str | None,
    commuting: bool,
    config: str,
    seeds: str,
    wanted: str | None,
    length: float,
    settle: float,
    target: Path | None,
    force: bool,
    rows: Path | None,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Find out what the changeset of SCRIPT at time T needs: every entry and every pair is left out in turn."""
    from nuc_engine.batch import scratch
    from nuc_engine.batch.commute import commute
    from nuc_engine.batch.errors import BulkRefused
    from nuc_engine.batch.journal import Journal
    from nuc_engine.batch.minimise import Minimised, Runner, minimise
    from nuc_engine.batch.pool import ItemFailed, Workers

    if commuting == (at is not None):
        raise click.UsageError("give --at T for one changeset, or --commute for all of them")
    if target is not None and (commuting or (target.exists() and not force)):
        why = "--commute makes no script" if commuting else f"{target} exists already; add --force"
        raise click.UsageError(f"--write {target}: {why}")
    need(mujoco="an emulated leg")
    try:
        time = None if at is None else _time(at)
        trial = _open(script, config, seeds, settle)
        scratch.clear_left_over()
        with ExitStack() as stack:
            what = {**trial.describe(), "at": at, "watch": length}
            journal = None if rows is None else stack.enter_context(Journal(rows, what))
            workers = stack.enter_context(Workers(jobs))
            progress = stack.enter_context(ManyProgress(f"minimise {Path(script).name}"))
            run_all = Runner(workers, progress, journal)
            found = (
                commute(trial, run_all, length_s=length)
                if time is None
                else minimise(trial, time, run_all, length_s=length, wanted=wanted)
            )
        # Not before the bar has ended its row.
        if isinstance(found, Minimised):
            _write(found, target)
            _report(found, target, as_json=as_json)
        else:
            _report_orders(found, as_json=as_json)
    except (BulkRefused, ItemFailed) as refused:
        raise CommandFailed(*(f"nuc minimise: {line}" for line in str(refused).splitlines())) from refused
    return 0


def _open(script: str, config: str, seeds: str, settle_s: float) -> ScriptTrial:
    from nuc_engine.batch.axes import parse_seeds
    from nuc_engine.batch.errors import BulkRefused
    from nuc_engine.batch.inputs import read_inputs
    from nuc_engine.batch.minimise import ScriptTrial
    from nuc_engine.bout.run import prepare_bout

    prepared = prepare_bout(config, script)
    if prepared.script is None:
        raise BulkRefused(f"{script}: is no script")
    return ScriptTrial(read_inputs(config, script), prepared, prepared.script, parse_seeds(seeds), settle_s)


def _time(text: str) -> Decimal:
    try:
        time = Decimal(text)
    except InvalidOperation:
        time = Decimal("NaN")
    if not time.is_finite() or time < 0:
        raise click.UsageError(f"--at {text} is no time; expected seconds")
    return time


def _write(found: Minimised, target: Path | None) -> None:
    from sccils_schemas.writer import write

    if target is not None:
        target.write_bytes(write(found.script))
        note(f"{target}: the script without {len(found.reduced.left_out)} entries of that time")


def _report(found: Minimised, target: Path | None, *, as_json: bool) -> None:
    if as_json:
        say_json(_data(found, target))
        return
    say(heading(f"changeset at {found.time_s} s, for {found.wanted}"))
    if found.before:
        apart = f"; {found.failed_starts} counted apart" if found.failed_starts else ""
        say(f"before it   {_counts(found.before)}{apart}")
    say(f"whole       {_tested(found.whole)}")
    names = _names(found)
    for report in found.entries:
        alone = "writes what is in force already" if report.alone is None else f"without it: {_tested(report.alone)}"
        with_whom = f" with {', '.join(names[k] for k in report.partners)}" if report.partners else ""
        say_wrapped(
            f"{names[report.entry.number]:<44}{report.verdict}{with_whom}{'' if report.sure else UNSURE}", " " * 44
        )
        say(faint(f"  {alone}"))
    say(f"without {len(found.reduced.left_out)} at once: {_tested(found.reduced)}")
    for number in found.reduced.left_out:
        say(f"  {names[number]}")


def _data(found: Minimised, target: Path | None) -> dict[str, Any]:
    names = _names(found)

    def tested(one: Tested | None) -> dict[str, Any] | None:
        if one is None:
            return None
        left_out = [names[k] for k in one.left_out]
        return {
            "left_out": left_out,
            "good": one.good,
            "bouts": one.bouts,
            "interval": [one.low, one.high],
            "seen": one.seen,
            "effect": one.effect,
            "sure": one.sure,
        }

    def entry(report: EntryReport) -> dict[str, Any]:
        mod = report.entry.mod
        return {
            "name": names[report.entry.number],
            "id": report.entry.hdso.id_num,
            "data": mod.data,
            "verdict": report.verdict,
            "sure": report.sure,
            "with": [names[k] for k in report.partners],
            "alone": tested(report.alone),
        }

    return {
        "ok": True,
        "time_s": float(found.time_s),
        "wanted": found.wanted,
        "before": found.before,
        "failed_starts": found.failed_starts,
        "whole": tested(found.whole),
        "entries": [entry(report) for report in found.entries],
        "pairs": [tested(pair) for pair in found.pairs],
        "reduced": tested(found.reduced),
        "script": target,
    }


def _report_orders(found: tuple[Commuting, ...], *, as_json: bool) -> None:
    if as_json:
        say_json({"ok": True, "pairs": found})
        return
    for pair in found:
        say(heading(f"changesets at {pair.one_s} s and {pair.other_s} s"))
        shared = f"both write {', '.join(pair.shared)}" if pair.shared else "they share no value"
        say(f"values      {'commute' if pair.by_values else 'do not commute'}: {shared}")
        same = "leads there too" if pair.by_outcome else f"does not lead to {pair.wanted} as often"
        say_wrapped(
            f"outcome     {'commute' if pair.by_outcome else 'do not commute'}: the other order {same}", " " * 12
        )
        if pair.failed_starts:
            say(f"            {pair.failed_starts} bouts did not step before, and are counted apart")
        for name, order in (("as given", pair.given), ("reverse", pair.reverse)):
            say_wrapped(f"{name:<12}between: {_counts(order.between)}; in the end: {_counts(order.final)}", " " * 12)


def _names(found: Minimised) -> dict[int, str]:
    return {report.entry.number: report.entry.hdso.name for report in found.entries}


def _tested(tested: Tested) -> str:
    return (
        f"{tested.good} of {tested.bouts}, {100 * tested.low:.0f} to {100 * tested.high:.0f} % ({_counts(tested.seen)})"
    )


def _counts(seen: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {number}" for kind, number in sorted(seen.items(), key=lambda item: -item[1]))
