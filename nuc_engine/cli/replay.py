"""`nuc replay`: a bout again, and compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nuc_engine.cli.errors import BAD
from nuc_engine.cli.output import count, say, say_json
from nuc_engine.cli.params import Command, as_json
from nuc_engine.cli.progress import Progress

if TYPE_CHECKING:
    from nuc_engine.replay import ReplayReport


@click.command(
    cls=Command,
    examples=(
        ("nuc replay data/experiment_a", "run it again and compare every file"),
        (
            "nuc replay data/experiment_a --recorded",
            "feed the recorded replies through the tasks: also for real hardware",
        ),
    ),
    output=(
        "What differs to stdout; the repetition itself is thrown away and DIR is not touched.",
        "Exit status 0 only when everything is identical.",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--recorded", is_flag=True, help="Repeat the tasks on the recorded replies, without bus and plant.")
@as_json
def command(folder: Path, recorded: bool, as_json: bool) -> int:
    """Repeat the bout of DIR and compare, file by file.

    Tells apart a file that was changed after the bout, another version of a program or library, and a real
    difference: then the earliest record that came out otherwise is named, with its field and both values.
    """
    from nuc_engine.replay import replay_bout, replay_inputs

    if recorded:
        report = replay_inputs(folder)
    else:
        with Progress(f"{folder} again") as progress:
            report = replay_bout(folder, progress)
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


def _lines(report: ReplayReport) -> list[str]:
    lines = [f"changed file: {name} is not what the bout left" for name in report.changed_files]
    lines += [
        f"changed version: {name} was {then or 'unknown'}, is {now or 'unknown'}"
        for name, (then, now) in report.changed_versions.items()
    ]
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
        lines.append(f"identical: {count(len(report.compared), 'file')} ({', '.join(report.compared)})")
    return lines
