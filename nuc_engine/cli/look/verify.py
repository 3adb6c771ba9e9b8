"""`nuc verify`: a bout held against the equations."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nuc_engine.cli.look.afresh import repeat_afresh
from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.errors import BAD, CommandFailed
from nuc_engine.cli.terminal.output import count, is_terminal, plain, say, say_json, say_wrapped, wrapped
from nuc_engine.cli.terminal.params import NucCommand, as_json
from nuc_engine.cli.terminal.progress import ManyProgress, ProgressLine
from nuc_engine.machine.needs import need

if TYPE_CHECKING:
    from nuc_engine.verify import Difference, Verdict

_SHOWN = 5
"""Differences of one file that are shown as text; --json has more."""
_QUIET_S = 2.0
"""After so long a terminal is told how far it has come."""


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc verify data/experiment_a", "is this bout what it was, and did the engine compute it right"),
        ("nuc verify data/experiment_a --json", "the same as one JSON object, with up to 100 differences of each file"),
        (
            "nuc verify data/helix --again",
            "a flight, or a leg: by its equations, and four times again in fresh processes",
        ),
        ("nuc verify data/helix --against data/other_machine", "two machines' witnesses of the same flight"),
        (
            "nuc verify verdicts.zip --repeat 3",
            "a bundle of verdicts: sums, and three repetitions of each row",
        ),
    ),
    output=(
        "Changed files and differences to stdout, then what was compared and what could not be; DIR is not touched.",
        "Exit status 0 only when every file is as the bout left it, every record that was compared is as computed, and",
        "some of each data log were; 1 otherwise.",
    ),
)
@click.argument("folder", metavar="DIR|BUNDLE.zip", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--repeat",
    metavar="N",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Of a bundle: so many repetitions of each row are run again.",
)
@click.option(
    "--again",
    is_flag=True,
    help="Also repeat it in fresh processes: other hash seed, folder, threads and load; and with seed + 1.",
)
@click.option(
    "--against",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Compare with the witness of another machine instead: flights to 1e-9, legs to the first difference.",
)
@as_json
def command(folder: Path, repeat: int, again: bool, against: Path | None, as_json: bool) -> int:
    """Hold the bout of DIR against the equations, record by record.

    First the sums in the manifest: a file that was changed is named. Then all that follows from the documents, the
    script and the raw replies in the input record is computed anew, by code that shares none with the engine: sensors,
    states, activations, forces, commands, ages, edits, the order and the instants of it all. Where a log says
    otherwise, file, record, column, the computed and the found value are named. Of an episode of a RunConfig: its
    document, what its seed drew, every number of its log, and how it ended.

    A bundle of verdicts (`nuc experiment bundle`) is held against its sums, its verdicts against the repetitions and
    documents in it, and repetitions are run again.
    """
    if against is not None:
        if again or folder.is_file():
            raise click.UsageError("--against compares two data directories, and does nothing else")
        return _compare(folder, against, as_json)
    if folder.is_file():
        if again:
            raise click.UsageError("--again is for a data directory; of a bundle --repeat runs rows again")
        return _verify_bundle(folder, repeat, as_json)
    from nuc_engine.verify import verify_bout

    began_s, live = wallclock.seconds(), is_terminal(err=True)
    with ProgressLine(f"{folder} verified") as bar:

        def progress(now_s: float, end_s: float) -> None:
            if live and wallclock.seconds() - began_s > _QUIET_S:
                bar(now_s, end_s)

        verdict = verify_bout(folder, progress)
    repeated = repeat_afresh(folder) if again else []
    good = verdict.good and all(each.good for each in repeated)
    if as_json:
        say_json(
            {
                "ok": good,
                "folder": folder,
                "changed_files": verdict.changed_files,
                "compared": verdict.records,
                "present": verdict.present,
                "not_verified": verdict.unverified,
                "different": verdict.counts,
                "differences": verdict.differences,
                "not_computed": verdict.unchecked,
                **({"again": repeated} if again else {}),
            }
        )
    else:
        for line in _lines(folder, verdict):
            say(line)
        for each in repeated:
            say_wrapped(f"again, {each.name}: {each.told}{'' if each.good else ', which is wrong'}", "    ")
    return 0 if good else BAD


def _compare(folder: Path, other: Path, as_json: bool) -> int:
    from nuc_engine.bout.against import compare_witnesses

    found = compare_witnesses(folder, other)
    if as_json:
        say_json({"ok": found.good, **plain(found)})
        return 0 if found.good else BAD
    for name in found.changed:
        say(f"changed file: {name} is not what its manifest says it is")
    for name in found.unequal:
        say(f"not run alike: {name} of the manifests differs")
    if found.difference is not None:
        first = found.difference
        where = f"{first.file}, record {first.record}" + (
            "" if first.time_ns is None else f", {first.time_ns / 1e9:g} s"
        )
        say_wrapped(f"first difference: {where}, {first.field}: {first.then} against {first.now}", "    ")
    apart = "" if found.apart is None else f", no number further apart than {found.apart:.2g}"
    say_wrapped(f"{'agree' if found.good else 'do not agree'}: {', '.join(found.compared)}{apart}", "    ")
    for name, (one, two) in found.versions.items():
        say(f"{name}: {one} against {two}")
    return 0 if found.good else BAD


def _verify_bundle(path: Path, repeat: int, as_json: bool) -> int:
    need(mujoco="an emulated leg")
    from nuc_engine.experiments.bundle import BundleError, check_bundle

    try:
        with ManyProgress(str(path), "repetitions") as bar:
            verdict = check_bundle(path, repeat, bar)
    except BundleError as error:
        raise CommandFailed(str(error)) from error
    different = [each for each in verdict.repeated if each.differences]
    if as_json:
        say_json(
            {
                "ok": verdict.good,
                "bundle": path,
                "changed_files": verdict.changed,
                "other_criteria": verdict.criteria,
                "contradictions": verdict.contradictions,
                "recorded": verdict.recorded,
                "repeated": len(verdict.repeated),
                "different": [{"row": e.row, "seed": e.seed, "differences": e.differences} for e in different],
            }
        )
        return 0 if verdict.good else BAD
    for name in verdict.changed:
        say(f"changed file: {name} is not what the bundle says it is")
    for name in verdict.criteria:
        say(f"other criteria: {name} is not that of this program")
    for text in verdict.contradictions:
        say_wrapped(text, "    ")
    for each in different:
        say(f"{each.row}, seed {each.seed}: otherwise in {', '.join(each.differences)}")
    came_out = len(verdict.repeated) - len(different)
    ran = count(len(verdict.repeated), "repetition")
    say(f"{path}: {came_out} of {ran} came out as the bundle says; {verdict.recorded} are in it")
    return 0 if verdict.good else BAD


def _lines(folder: Path, verdict: Verdict) -> list[str]:
    lines = [f"changed file: {name} is not what the bout left" for name in verdict.changed_files]
    shown: Counter[str] = Counter()
    for difference in verdict.differences:
        shown[difference.file] += 1
        if shown[difference.file] <= _SHOWN:
            lines += _told(difference)
    for name, number in verdict.counts.items():
        if number > _SHOWN:
            lines.append(f"{name}: {number - _SHOWN} more")
    compared = ", ".join(_compared(verdict, name) for name in verdict.records)
    if verdict.unverified:
        nothing = ", ".join(_compared(verdict, name) for name in verdict.unverified)
        lines += wrapped(f"{folder}: not verified: compared were {nothing}", "    ")
    if verdict.good:
        lines += wrapped(f"{folder}: as the bout left it, and as the equations have it: {compared}", "    ")
    elif not verdict.records:
        lines += wrapped(f"{folder}: not verified: nothing was compared", "    ")
    elif verdict.counts or verdict.changed_files:
        total = sum(verdict.counts.values())
        lines += wrapped(f"{folder}: {count(total, 'difference')} in {compared}", "    ")
    for text in verdict.unchecked:
        lines += wrapped(f"not computed: {text}", "    ")
    return lines


def _compared(verdict: Verdict, name: str) -> str:
    number, present = verdict.records[name], verdict.present[name]
    return f"{number} of {name}" if number == present else f"{number} of the {present} of {name}"


def _told(difference: Difference) -> list[str]:
    when = "" if difference.time_ns is None else f" at {difference.time_ns / 1e9:.9g} s"
    where = f"record {difference.record}{when}" if difference.record else f"the file{when}"
    return [
        f"{difference.file}, {where}, {difference.column}",
        f"    computed  {difference.computed}",
        f"    found     {difference.found}",
    ]
