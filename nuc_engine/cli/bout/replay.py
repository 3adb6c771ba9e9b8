"""`nuc replay`: a bout again, and compared."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import count, note, say, say_json, wrapped
from nuc_engine.cli.terminal.params import NucCommand, as_json
from nuc_engine.cli.terminal.progress import ProgressLine

if TYPE_CHECKING:
    from nuc_engine.analysis.summary import WindowSummary
    from nuc_engine.bout.replay import ReplayReport
    from nuc_engine.bout.rerun import AgainReport


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc replay data/experiment_a", "run it again and compare every file"),
        (
            "nuc replay data/experiment_a --recorded",
            "feed the recorded replies through the tasks: also for bouts of the daemon, on real hardware",
        ),
        (
            "nuc replay data/20310506_070809_lin_roach --again --out data/emulated",
            "what a real leg was told, told to an emulated one: a new bout, and how either stepped",
        ),
        (
            "nuc replay data/20310506_070809_lin_roach --again --daemon ipc:///run/nuc/lin_roach/command",
            "told to the leg beside a daemon, which must be armed",
        ),
    ),
    output=(
        "What differs to stdout; the repetition itself is thrown away and DIR is not touched.",
        "Exit status 0 only when everything is identical. With --again: the new bout stays in --out, and the exit "
        "status is 0 when it ran to its end.",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--recorded", is_flag=True, help="Repeat the tasks on the recorded replies, without bus and plant.")
@click.option("--again", is_flag=True, help="Run a bout of the daemon as a new one, on virtual time.")
@click.option("--daemon", metavar="ADDR", help="With --again: let the daemon at this address run it, on its bus.")
@click.option("--bus", metavar="URL", help="Bus of the new bout.  [default: the emulated leg of DIR]")
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of the new bout's leg and bus.")
@click.option("--out", type=click.Path(path_type=Path), help="Data directory of the new bout.  [default: DIR_again]")
@as_json
def command(
    folder: Path,
    recorded: bool,
    again: bool,
    daemon: str | None,
    bus: str | None,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> int:
    """Repeat the bout of DIR and compare, file by file.

    Tells apart a file that was changed after the bout, another version of a program or library, and a real
    difference: then the earliest record that came out otherwise is named, with its field and both values.
    """
    if again and recorded:
        raise click.UsageError("--again and --recorded are two ways to repeat a bout; choose one")
    if not again and (bus is not None or out is not None or seed or daemon is not None):
        raise click.UsageError("--daemon, --bus, --seed and --out are for a new bout; add --again")
    if daemon is not None and (bus is not None or out is not None or seed):
        raise click.UsageError("a daemon has its own bus and data folder; leave out --bus, --seed and --out")
    if daemon is not None:
        return _run_on(folder, daemon, as_json)
    if again:
        return _run_again(folder, out or folder.with_name(folder.name + "_again"), bus, seed, as_json)
    report = _repeat(folder, recorded)
    if as_json:
        say_json(
            {
                "ok": report.identical,
                "identical": report.identical,
                "compared": report.compared,
                "changed_files": report.changed_files,
                "changed_versions": {
                    name: {"then": then, "now": now} for name, (then, now) in report.changed_versions.items()
                },
                "difference": report.difference,
            }
        )
    else:
        for line in _lines(report):
            say(line)
    return 0 if report.identical else BAD


def _repeat(folder: Path, recorded: bool) -> ReplayReport:
    from nuc_engine.machine.locations import is_episode

    if is_episode(folder):
        from nuc_engine.bout.episode import replay_episode

        if recorded:
            raise click.UsageError(f"--recorded is for bouts of a leg; {folder} is an episode, which has no replies")
        return replay_episode(folder)
    from nuc_engine.bout.replay import replay_bout, replay_inputs

    if recorded:
        return replay_inputs(folder)
    with ProgressLine(f"{folder} again") as progress:
        return replay_bout(folder, progress)


def _run_again(folder: Path, out: Path, bus: str | None, seed: int, as_json: bool) -> int:
    from nuc_engine.bout.rerun import run_again

    with ProgressLine(f"{folder} as a new bout") as progress:
        report = run_again(folder, out, bus=bus, seed=seed, progress=progress)
    return _tell_again(report, as_json)


def _run_on(folder: Path, address: str, as_json: bool) -> int:
    from nuc_engine.bout.rerun import run_again_on
    from nuc_engine.cli.ctl.link import Target, daemon
    from nuc_engine.cli.terminal import wallclock
    from nuc_engine.cli.terminal.leaving import when_ended

    with when_ended(), daemon(Target(address)) as client, ProgressLine(f"{folder} as a new bout") as progress:
        report = run_again_on(folder, client, sleep=wallclock.sleep, progress=progress)
    return _tell_again(report, as_json)


def _tell_again(report: AgainReport, as_json: bool) -> int:
    good = report.state == "complete"
    for missing in report.left_out:
        note(f"not repeated: {missing}")
    if as_json:
        say_json(
            {
                "ok": good,
                "folder": report.folder,
                "state": report.state,
                "reason": report.reason,
                "not_repeated": report.left_out,
                "then": None if report.then is None else report.then.data(),
                "now": None if report.now is None else report.now.data(),
            }
        )
    else:
        say(f"new bout: {report.folder} ({report.state}: {report.reason})")
        for line in _compared(report):
            say(line)
    return 0 if good else BAD


def _compared(report: AgainReport) -> list[str]:
    if report.then is None or report.now is None:
        return ["steps cannot be compared: one of the two could not be judged"]
    lines = [f"{'window':<14}{'':<8}{'steps':>6}{'period s':>10}{'stance s':>10}{'swing s':>9}  seen"]
    for then, now in zip(report.then.windows, report.now.windows, strict=False):
        lines += [_row(then.name, "then", then), _row("", "now", now)]
    return lines


def _row(name: str, when: str, window: WindowSummary) -> str:
    times = (window.period_mean_s, window.stance_mean_s, window.swing_mean_s)
    period, stance, swing = ("-" if math.isnan(time) else f"{time:.2f}" for time in times)
    return f"{name:<14}{when:<8}{window.steps:>6}{period:>10}{stance:>10}{swing:>9}  {window.kind}"


_COMMIT = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{28}\b")
"""The first digits say which one it is; --json has them all."""


def _lines(report: ReplayReport) -> list[str]:
    lines = [f"changed file: {name} is not what the bout left" for name in report.changed_files]
    for name, (then, now) in report.changed_versions.items():
        told = f"changed version: {name} was {then or 'unknown'}, is {now or 'unknown'}"
        lines += wrapped(_COMMIT.sub(r"\1", told), "    ")
    difference = report.difference
    if difference is not None:
        when = "" if difference.time_ns is None else f" at {difference.time_ns / 1e9:.9g} s"
        where = f"record {difference.record}{when}" if difference.record else "the file itself"
        lines += [
            f"real difference: {difference.file}, {where}, {difference.field}",
            f"    then  {difference.then}",
            f"    now   {difference.now}",
        ]
        if report.changed_versions or report.changed_files:
            lines.append("    (it may come from what was changed)")
    if report.identical:
        lines += wrapped(f"identical: {count(len(report.compared), 'file')} ({', '.join(report.compared)})", "    ")
    return lines
