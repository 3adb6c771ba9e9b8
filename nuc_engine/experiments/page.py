"""A Markdown page of each experiment, made from its verdict: the same verdict gives the same bytes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from nuc_engine.batch.criterion import LEVEL
from nuc_engine.experiments.protocol import BoutPlan, Experiment, Probe, Row, Trial
from nuc_engine.experiments.sources import Sources
from nuc_engine.experiments.verdict import (
    EMULATED,
    ENOUGH,
    ControlVerdict,
    Evidence,
    EvidenceNumber,
    Kicks,
    RowVerdict,
    Same,
    Share,
    Spread,
    Verdict,
    in_doubt,
    in_need_of_reasons,
    other_runs,
    together,
)

FILE = "page.md"
_MOST_REASONS = 8
"""So many repetitions that were not as seen are listed with what speaks against them."""
_NOTHING = 1e-9
"""Smaller numbers are nothing that was measured."""


def page(
    experiment: Experiment, verdict: Verdict, *, root: str | None = None, command: str = "", indexed: bool = False
) -> str:
    """Return the page. `root` is the way from its folder to that of scripts and configurations, to link to them.

    `command` is what was typed; with `indexed` there is a table over all experiments above it. Rows are joined by
    name; a row the verdict does not know is left out.
    """
    judged = {row.name: row for row in verdict.rows}
    rows = [(row, judged[row.name]) for row in experiment.rows if row.name in judged]
    parts = [
        f"# {experiment.name}: {experiment.title}",
        f"Section {experiment.section} of Rutter (2010)." + (" [All experiments](../README.md)." if indexed else ""),
        _headline(verdict, [row.name for row, seen in rows if in_doubt(row, seen, verdict)], _reserved(rows, verdict)),
        table(_RESULT_HEAD, [result_cells(seen) for _, seen in rows]),
        f"## Hypothesis\n\n{experiment.hypothesis.strip()}",
        f"## Method\n\n{experiment.method.strip()}",
        _methods(rows, root),
    ]
    for row, seen in rows:
        parts += _row(row, seen, verdict, root, alone=len(rows) == 1)
    parts.append(_making(verdict, command))
    return "\n\n".join(part for part in parts if part) + "\n"


_INTERVAL = f"{LEVEL:.0%} interval".replace("%", " %")
_RESULT_HEAD = (
    "row",
    "as seen",
    _INTERVAL,
    "not valid",
    "kicks needed",
    "kicks in the dissertation",
    "control as seen",
    "verdict",
)


def result_cells(row: RowVerdict) -> tuple[str, ...]:
    """Return a row's cells of the result table."""
    broken = f", {row.aborted} broke off" if row.aborted else ""
    return (
        row.name,
        f"{row.as_seen.count} of {row.as_seen.of}{broken}",
        interval(row.as_seen),
        besides(row.failed_starts, row.too_few) or "0",
        kicks_text(row),
        row.kicks_there,
        f"{row.control.as_seen.count} of {len(row.control.trials)} ({interval(row.control.as_seen)})",
        f"**{row.word}**",
    )


def interval(share: Share) -> str:
    """Return the interval of a share in per cent."""
    return f"{100 * share.low:.0f} to {100 * share.high:.0f} %" if share.of else "-"


def kicks_text(row: RowVerdict) -> str:
    """Return how many of the repetitions as seen needed kicks: to begin, and in the end."""
    if row.as_seen.count == 0:
        return "-"
    parts = [f"to begin {_needed(row.start_kicks, row)}"] if row.start_kicks.repetitions else []
    parts += [f"in the end {_needed(row.kicks, row)}"] if row.kicks.repetitions else []
    return "; ".join(parts) or "none"


def _needed(kicks: Kicks, row: RowVerdict) -> str:
    return f"in {kicks.repetitions} of {row.as_seen.count} (mean {kicks.mean:.2g}, most {kicks.most})"


def besides(failed_starts: int, too_few: int, aborted: int = 0) -> str:
    """Return how many repetitions were left out of the count or broke off, and why; "" where there are none."""
    parts = [f"{failed_starts} did not start"] if failed_starts else []
    parts += [f"{too_few} with too little to judge"] if too_few else []
    parts += [f"{aborted} broke off"] if aborted else []
    return ", ".join(parts)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def number(value: float) -> str:
    """Return a number to three digits."""
    if not math.isfinite(value):
        return "-"
    return f"{value:.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def measured(value: float) -> str:
    """Return a measured number, unlike a probability, to three digits: what rounding leaves of nothing is 0."""
    return number(0.0 if abs(value) < _NOTHING else value)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def reservation(row: Row, seen: RowVerdict, verdict: Verdict) -> str:
    """Return what is to be said beside a row that is as seen on emulated legs; "" where there is nothing."""
    return row.reservation if seen.word == "as seen" and verdict.bus == EMULATED else ""


def _reserved(rows: Sequence[tuple[Row, RowVerdict]], verdict: Verdict) -> str:
    """Say what rows that are as seen do not show."""
    found = {row.name: text for row, seen in rows if (text := reservation(row, seen, verdict))}
    return "; ".join(text if len(rows) == 1 else f"{name}: {text}" for name, text in found.items())


def _headline(verdict: Verdict, doubtful: Sequence[str], reserved: str) -> str:
    if verdict.standing:
        why = verdict.standing[0].upper() + verdict.standing[1:]
        return f"**{why}.** What came out is shown, but it decides nothing."
    where = "the emulated leg" if verdict.bus.startswith("emulated:") else "a leg on a bus"
    words = {row.word for row in verdict.rows}
    if words == {"as seen"} and doubtful:
        which = "" if len(doubtful) == len(verdict.rows) == 1 else f" ({', '.join(doubtful)})"
        return (
            f"**Verdict: as seen, but not firmly.** On {where} it comes out as in the dissertation with the seeds that"
            f" decide. Together with those of other runs it would not{which}." + (reserved and f" And: {reserved}.")
        )
    if words == {"as seen"} and reserved:
        return (
            f"**Verdict: as seen, with a reservation.** On {where} it meets the criterion, but not all is as in the"
            f" dissertation: {reserved}. What stands under *to be noted* says more."
        )
    if words == {"as seen"}:
        return f"**Verdict: as seen.** On {where} it comes out as in the dissertation."
    if words == {"no evidence"}:
        return f"**Verdict: no evidence.** Whether it comes out on {where} as in the dissertation is not known."
    some = "as seen" in words
    which = "Not every row comes" if some else "It does not come" if len(verdict.rows) == 1 else "No row comes"
    return f"**Verdict: {' and '.join(sorted(words))}.** {which} out on {where} as in the dissertation."


def _methods(rows: Sequence[tuple[Row, RowVerdict]], root: str | None) -> str:
    lines = [(row.name, plan) for row, _ in rows for plan in row.bouts]
    lines += [(f"{row.name}, control", plan) for row, _ in rows for plan in row.control.bouts]
    head = ("row", "bout", "configuration", "script", "lasts", "windows that are looked at", "differs in")
    return table(
        head,
        (
            (
                name,
                plan.label,
                _link(plan.config, f"configs/{plan.config}", root),
                "-" if plan.script is None else _link(plan.script, f"scripts/{_xml(plan.script)}", root),
                f"{plan.duration_s:g} s",
                "; ".join(f"{w.name} {w.begin_s:g} to {w.end_s:g} s" for w in plan.windows),
                _differences(plan),
            )
            for name, plan in lines
        ),
    )


def _differences(plan: BoutPlan) -> str:
    edits = {f"{hdso} at {time_s:g} s": value for (hdso, time_s), value in plan.edits.items()}
    given = {**plan.values, **plan.plant, **edits}.items()
    return ", ".join(f"{name} left out" if value is None else f"{name} = {value:g}" for name, value in given) or "-"


def _xml(script: str) -> str:
    return script if script.endswith(".xml") else f"{script}.xml"


def _link(text: str, path: str, root: str | None) -> str:
    return f"`{text}`" if root is None or "/" in text else f"[{text}]({root}/{path})"


def _row(row: Row, seen: RowVerdict, verdict: Verdict, root: str | None, *, alone: bool) -> Iterator[str]:
    if not alone:
        yield f"## Row {row.name}: {seen.word}"
    level = "##" if alone else "###"
    yield f"{level} What the dissertation saw\n\n{row.saw.strip()}"
    yield f"{level} Criterion\n\n{row.criterion_text.strip()}"
    yield f"{level} Control\n\n{row.control.why.strip()} {_control_result(seen.control)}"
    yield f"{level} Result\n\n{_result(seen)}"
    yield "\n\n".join(_the_same(same) for same in seen.same)
    yield _again(row, seen, verdict, root)
    if seen.numbers:
        yield table(
            ("number", "median", "lowest", "highest", "repetitions"), [_spread(*item) for item in seen.numbers.items()]
        )
    if seen.summary:
        yield table(("over all repetitions", "value"), [(name, number(value)) for name, value in seen.summary.items()])
    if seen.outcomes:
        yield table(("bout", "window", "what the leg did, in how many repetitions"), _outcomes(seen.outcomes))
    yield _against(seen.trials)
    if row.remark:
        yield f"{level} To be noted\n\n{row.remark.strip()}"
    if in_need_of_reasons(row, seen, verdict):
        text = row.explanation.strip() or "Not explained yet."
        why = "Why it is not always as seen" if seen.word == "as seen" else "Why it comes out otherwise here"
        yield f"{level} {why}\n\n{text}"
        for probe, found in _answered(row, seen):
            yield from _evidence(probe, found, level + "#")
    for figure in seen.figures:
        yield f"![{figure.file}]({figure.file})\n\n*{figure.caption}*"


def _again(row: Row, seen: RowVerdict, verdict: Verdict, root: str | None) -> str:
    """Say how the row came out with other seeds, and what all sets are together."""
    whole = together(row, seen, verdict)
    if whole is None:
        return ""
    others = (f"from {again.seed} on, {again.count} of {again.of}" for again in other_runs(row, seen, verdict))
    text = (
        f"With other seeds, {' and, '.join(others)} are as seen; together with those above"
        f" {whole.count} of {whole.of} ({100 * whole.value:.0f} %, {interval(whole)})."
    )
    if in_doubt(row, seen, verdict):
        text += (
            f" **That is less than the {100 * ENOUGH:.0f} % of a row that is as seen**, which it is by the seeds above."
        )
    link = "" if root is None else f" [All rows with other seeds]({root}/docs/replication.md)."
    return text + link


def _answered(row: Row, seen: RowVerdict) -> list[tuple[Probe, Evidence]]:
    probes = {probe.name: probe for probe in row.probes}
    return [(probes[found.name], found) for found in seen.evidence if found.name in probes]


def _evidence(probe: Probe, found: Evidence, level: str) -> Iterator[str]:
    yield f"{level} Evidence: {probe.name}\n\n{probe.question.strip()}"
    names = tuple(dict.fromkeys(name for one in found.levels for name in one.numbers))
    rows = [(found.quantity, *names, "repetitions that started")] + [
        (
            one.label + (" (as in the row)" if one.label == found.as_is else ""),
            *(_answer(name, one.numbers.get(name)) for name in names),
            f"{one.started} of {found.repetitions}",
        )
        for one in found.levels
    ]
    if len(names) > len(found.levels):
        # A table is read more easily when it is long than when it is wide.
        rows = list(zip(*rows, strict=True))
    yield table(rows[0], rows[1:])
    yield "Medians, with lowest and highest value in brackets; of shares the mean. " + (
        f"{found.repetitions} repetitions at each level, with seeds from {found.seed} on."
    )
    for figure in found.figures:
        yield f"![{figure.file}]({figure.file})\n\n*{figure.caption}*"


def _answer(name: str, found: EvidenceNumber | None) -> str:
    if found is None:
        return "-"
    if name.endswith("(share)"):
        return f"{found.middle:.2f}"
    return f"{measured(found.middle)} ({measured(found.lowest)} to {measured(found.highest)})"


def _control_result(control: ControlVerdict) -> str:
    text = (
        f"With the same criterion {control.as_seen.count} of {len(control.trials)} repetitions came out as seen"
        f"{_besides(control)}"
    )
    if control.failed:
        return (
            f"{text}: the criterion fails where it has to. (The {_INTERVAL} of that share is"
            f" {interval(control.as_seen)}.)"
        )
    return f"{text}: **the control did not fail, so this row proves nothing.**"


def _besides(seen: RowVerdict | ControlVerdict) -> str:
    text = besides(seen.failed_starts, seen.too_few, seen.aborted)
    return f" ({text})" if text else ""


def _result(seen: RowVerdict) -> str:
    share = seen.as_seen
    if not share.of:
        return f"None of {len(seen.trials)} repetitions is valid{_besides(seen)}; there is nothing to judge."
    text = (
        f"{share.count} of {share.of} valid repetitions ({100 * share.value:.0f} %, {interval(share)}) are as seen"
        f"{_besides(seen)}."
    )
    return f"{text} Kicks that those needed: {kicks_text(seen)}; in the dissertation: {seen.kicks_there.rstrip('.')}."


def _the_same(same: Same) -> str:
    """Say how much of a row is no evidence beside another one."""
    if same.count == same.of:
        return (
            f"In all {same.of} repetitions these bouts are the same as in row *{same.row}*: to the last sample, the leg"
            " felt and did the same. So this row is no evidence beside that one; it shows that what differs between"
            " them is not used here."
        )
    return (
        f"In {same.count} of {same.of} repetitions these bouts are the same as in row *{same.row}*: to the last sample,"
        " the leg felt and did the same. There what differs between both rows is not used, and this row is no evidence"
        " beside that one."
    )


def _spread(name: str, spread: Spread) -> tuple[str, ...]:
    ends = measured(spread.lowest), measured(spread.highest)
    return (name, measured(spread.median), *ends, str(spread.count))


def _outcomes(outcomes: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Iterator[tuple[str, str, str]]:
    for label, windows in outcomes.items():
        for window, kinds in windows.items():
            yield label, window, ", ".join(f"{kind}: {count}" for kind, count in kinds.items())


def _against(trials: Sequence[Trial]) -> str:
    """List repetitions that were not as seen, with what speaks against them."""
    other = [trial for trial in trials if trial.state != "as seen"]
    if not other:
        return ""
    lines = [f"- seed {trial.seed}, {trial.state}: {'; '.join(trial.reasons) or 'no reason given'}" for trial in other]
    if len(lines) > _MOST_REASONS:
        lines = [*lines[:_MOST_REASONS], f"- and {len(lines) - _MOST_REASONS} more, in `verdict.json`"]
    return "Repetitions that were not as seen:\n\n" + "\n".join(lines)


def _making(verdict: Verdict, command: str) -> str:
    sources = verdict.sources
    lines = ["## How it was made"]
    if command:
        lines.append(f"    {command}")
    lines.append(
        f"{verdict.repetitions} valid repetitions per row were asked for, {_numbered(verdict)}. Those not valid are"
        " counted apart and made up for with further repetitions, up to twice as many in all. Every repetition stands"
        " in `verdict.json`."
    )
    lines.append(f"Code: {_code(sources)}. " + ", ".join(f"{k} {v}" for k, v in sources.versions.items()) + ".")
    lines.append(table(("file", "sha256"), [(f"`{name}`", f"`{digest}`") for name, digest in sources.files.items()]))
    return "\n\n".join(lines)


def _numbered(verdict: Verdict) -> str:
    if verdict.bus == EMULATED:
        return (
            f"with seeds from {verdict.seed} on; a seed decides start pose, sensor noise, friction, servo turnaround"
            " and kicks"
        )
    return (
        f"numbered from {verdict.seed} on, on `{verdict.bus}`; the ground's force on the foot is not recorded there, so"
        " swing and stance are taken from the actions"
    )


def _code(sources: Sources) -> str:
    if not sources.commit:
        return "not from a repository"
    return f"commit `{sources.commit}`" + (", with changes that are not in it" if sources.modified else "")
