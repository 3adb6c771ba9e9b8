"""The folder of pages: one folder per experiment, and the table over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from nuc_engine.batch.criterion import LEVEL
from nuc_engine.experiments import page
from nuc_engine.experiments.protocol import Experiment, Row
from nuc_engine.experiments.record import RecordError, read_verdict, write_verdict
from nuc_engine.experiments.verdict import ENOUGH, LEAST_REPETITIONS, RowVerdict, Verdict, in_doubt, together

FILE = "README.md"


def write_experiment(
    experiment: Experiment,
    verdict: Verdict,
    folder: Path,
    *,
    root: str | None = None,
    command: str = "",
    indexed: bool = False,
) -> Path:
    """Write page.md and verdict.json beside the figures in `folder`; return the page.

    Pictures of an earlier verdict that this one does not have are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        before = read_verdict(folder)
    except RecordError:
        # It is replaced; only which pictures were its own is not known.
        before = None
    if before is not None:
        for name in _files(before) - _files(verdict):
            (folder / name).unlink(missing_ok=True)
    write_verdict(verdict, folder, experiment.rows)
    path = folder / page.FILE
    text = page.page(experiment, verdict, root=root, command=command, indexed=indexed)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def write_index(experiments: Sequence[Experiment], folder: Path) -> Path:
    """Write the table over all experiments that have a verdict in a folder of their name below `folder`.

    Raises RecordError for a verdict that can not be used.
    """
    path = folder / FILE
    found = [(experiment, read_verdict(folder / experiment.name)) for experiment in experiments]
    path.write_text(_INTRODUCTION + _table(found) + "\n" + _REST, encoding="utf-8", newline="\n")
    return path


def _files(verdict: Verdict) -> set[str]:
    # A name that leads out of the folder would have another file removed.
    drawn = (figures for row in verdict.rows for figures in (row.figures, *(one.figures for one in row.evidence)))
    return {Path(figure.file).name for figures in drawn for figure in figures}


def _table(found: Iterable[tuple[Experiment, Verdict | None]]) -> str:
    lines: list[tuple[str, ...]] = []
    for experiment, verdict in found:
        if verdict is None:
            lines += [
                (experiment.name, experiment.section, row.name, row.saw, "-", "-", "-", "-", "not run yet")
                for row in experiment.rows
            ]
            continue
        rows = {row.name: row for row in experiment.rows}
        lines += [_line(verdict, seen, rows.get(seen.name)) for seen in verdict.rows]
    head = (
        "experiment",
        "section",
        "row",
        "what the dissertation saw",
        "as seen here",
        "not valid",
        "kicks needed",
        "kicks in the dissertation",
        "verdict",
    )
    return page.table(head, lines)


def _line(verdict: Verdict, row: RowVerdict, asked: Row | None) -> tuple[str, ...]:
    return (
        f"[{verdict.name}]({verdict.name}/{page.FILE})",
        verdict.section,
        row.name,
        row.saw,
        f"{row.as_seen.count} of {row.as_seen.of} ({page.interval(row.as_seen)})",
        page.besides(row.failed_starts, row.too_few) or "0",
        page.kicks_text(row),
        row.kicks_there,
        f"({row.word}; {verdict.standing})" if verdict.standing else f"**{row.word}**{_doubt(verdict, row, asked)}",
    )


def _doubt(verdict: Verdict, row: RowVerdict, asked: Row | None) -> str:
    """Say where a row is as seen by these seeds only, what it does not show, and where it is another row again."""
    if asked is None:
        return ""
    whole = together(asked, row, verdict)
    parts: list[str] = []
    if whole is not None and in_doubt(asked, row, verdict):
        parts.append(f"{whole.count} of {whole.of} with [other seeds](../replication.md)")
    if reserved := page.reservation(asked, row, verdict):
        parts.append(reserved)
    same = "".join(f" ({each.count} of {each.of} are the same bouts as in row {each.row})" for each in row.same)
    return (f", but {'; '.join(parts)}" if parts else "") + same


_INTRODUCTION = f"""\
# The experiments of chapter 7

Each experiment of Rutter (2010), chapter 7, done again on the emulated legs: `nuc experiment NAME` runs it, judges it
and draws it. What counts was fixed before the runs: when a leg steps in [stepping.md](../stepping.md), what its
behaviour is called in [outcomes.md](../outcomes.md), and the criterion of every row on its page. Tables, figures and
verdicts here are made by `nuc experiment all --pages docs/experiments`, nothing in them by hand. Explanations and
remarks are written by hand: their numbers stand in the page's tables or were read off the row's own bouts; of others
they say which seeds they are from.

A *repetition* is one seed: it decides start pose, sensor noise, friction, servo turnaround and the strength and
direction of kicks. A row is **as seen** when at least {ENOUGH:.0%} of its valid repetitions meet its criterion, over at
least {LEAST_REPETITIONS} of them; in brackets stands the {LEVEL:.0%} Wilson interval of that share. Not valid are
repetitions that did not start, in which the leg did not do what it has to do before the change under study, and those
with too little to judge, in which it did but chance left too few disturbances to look at. Where a row allows kicks, a
repetition is kicked only when it does not come out without (kicks that are part of a
script are always given, in the interims of D and F and after each disturbance; those are not counted); kicks that were
needed stand beside those of the dissertation, those to begin apart from those in the end. Every row has a control in
which its criterion has to fail; if
it ever does not, the row is **no evidence**. Where the emulated leg does otherwise than the robot, the page says why,
with experiments of its own. All rows were run again with [other seeds](../replication.md), some with a hundred. A row
that is as seen, but not with those counted in, says so beside its verdict, and its page why. So does one that is as
seen by its criterion, but in which not all is as in the dissertation.

""".replace("%", " %")

_REST = """
## verdict.json

Beside each page stands its verdict for machines. Numbers have six digits; null stands where there is no number.

| key | meaning |
| --- | --- |
| `format` | 2 |
| `good` | whether every row came out as seen, and every control failed |
| `name`, `section`, `title` | the experiment |
| `repetitions`, `seed` | how many valid repetitions were asked for, and the first seed |
| `bus` | where it ran: `emulated:`, or the bus of a real leg |
| `standing` | why this is no verdict (tuning seeds, too few repetitions); empty when it is one |
| `sources` | `commit` of the code and whether it was `modified`, `versions`, `files`: sha256 of all documents used |
| `rows` | one object for each row of the result table, with the keys below |
| `rows[].name`, `saw`, `kicks_there` | the row, what the dissertation saw, its kicks |
| `rows[].word` | `as seen`, `otherwise` or `no evidence` |
| `rows[].as_seen` | `count` `of` valid repetitions, their share `value`, and its interval `low` to `high` |
| `rows[].with_other_seeds`, `in_doubt` | all sets of seeds together; whether as seen does not hold there |
| `rows[].failed_starts`, `too_few`, `aborted` | how many did not start, had too little to judge, broke off |
| `rows[].start_kicks`, `kicks` | of those as seen: how many `repetitions` needed kicks to begin, and in the end |
| `rows[].numbers` | per number: `median`, `lowest`, `highest`, and the `count` of repetitions that have it |
| `rows[].summary` | numbers over all repetitions together, as p values |
| `rows[].outcomes` | bout, window, what the leg did in it, in how many repetitions |
| `rows[].control` | `why` it has to fail, `as_seen` as above, `failed`: whether it did, its own `trials` |
| `rows[].trials` | `seed`, `state`, `reasons`, `numbers`, `kicks`, `start_kicks`, `kicked_s`, `outcomes` of each |
| `rows[].same` | an earlier `row` that is the same bout, to the last sample, in `count` `of` repetitions |
| `rows[].figures` | `file` and `caption` of each picture |
| `rows[].evidence` | why: the `quantity` that was varied, `as_is`, `repetitions`, `seed`, `figures`, `levels` |
| `rows[].evidence[].levels` | `label`, `value`, how many `started`, `numbers` (`middle`: median, of shares mean) |
"""
