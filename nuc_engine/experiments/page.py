"""Markdown pages of experiments and the table over all of them, from verdicts: the same verdict gives the same bytes.

What they say stands in `pages/page.md` and `pages/index.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nuc_engine.batch.criterion import LEVEL, exact
from nuc_engine.experiments.explain import fill_text, plants_before
from nuc_engine.experiments.protocol import Again, BoutPlan, Experiment, Probe, TableRow
from nuc_engine.experiments.record import RecordError, read_verdict, write_verdict
from nuc_engine.experiments.templates import ManyPlans, environment, measured
from nuc_engine.experiments.verdict import (
    EMULATED,
    ENOUGH,
    LEAST_REPETITIONS,
    Evidence,
    EvidenceNumber,
    RowVerdict,
    Share,
    Verdict,
    in_doubt,
    in_need_of_reasons,
    other_runs,
    together,
)

PAGE, INDEX = "page.md", "README.md"
_MOST_REASONS = 8
"""So many repetitions that were not as seen are listed with what speaks against them."""
_MOST_BOUTS = 20
"""Of a row with more bouts those alike share a line, and what the leg did in each stands in its verdict only."""
_SHARED = {"level": f"{100 * LEVEL:.0f} %", "enough": f"{100 * ENOUGH:.0f} %"}


@dataclass(frozen=True, slots=True)
class RowShown:
    """A row as a page shows it: what was asked, what was seen, and what becomes of both."""

    row: TableRow
    seen: RowVerdict
    verdict: Verdict
    asked_of: frozenset[str] = frozenset()
    """Other rows that have the same bouts by design, and ask something else of them."""

    @property
    def runs(self) -> tuple[Again, ...]:
        """How it came out with other seeds."""
        return other_runs(self.row, self.seen, self.verdict)

    @property
    def together(self) -> Share | None:
        """All sets of seeds together."""
        return together(self.row, self.seen, self.verdict)

    @property
    def in_doubt(self) -> bool:
        """Whether it is as seen by the seeds that decide only."""
        return in_doubt(self.row, self.seen, self.verdict)

    @property
    def needs_reasons(self) -> bool:
        """Whether its explanation and probes belong on the page."""
        return in_need_of_reasons(self.row, self.seen, self.verdict)

    @property
    def reservation(self) -> str:
        """What is to be said beside a row that is as seen on emulated legs; "" where there is nothing."""
        return self.row.reservation if self.seen.word == "as seen" and self.verdict.bus == EMULATED else ""

    @property
    def remark(self) -> str:
        """What is to be noted in any case."""
        return fill_text(self.row.remark, self.row, self.seen, self.verdict)

    @property
    def explanation(self) -> str:
        """Why it comes out otherwise, or not firmly as seen."""
        return fill_text(self.row.explanation, self.row, self.seen, self.verdict)

    @property
    def answers(self) -> list[tuple[Probe, Evidence, list[tuple[str, ...]]]]:
        """What was asked beside it, with the table of what came of it."""
        probes = {probe.name: probe for probe in self.row.probes}
        return [(probes[one.name], one, _levels(one)) for one in self.seen.evidence if one.name in probes]


def page(
    experiment: Experiment, verdict: Verdict, *, root: str | None = None, command: str = "", indexed: bool = False
) -> str:
    """Return the page. `root` is the way from its folder to that of scripts and configurations, to link to them.

    `command` is what was typed; with `indexed` there is a table over all experiments above it. Rows are joined by
    name; a row the verdict does not know is left out.
    """
    judged = {row.name: row for row in verdict.rows}
    rows = [_shown(experiment, row, judged[row.name], verdict) for row in experiment.rows if row.name in judged]
    plans = [(each.row.name, plan) for each in rows for plan in _listed(each.row.bouts)]
    plans += [(f"{each.row.name}, control", plan) for each in rows for plan in _listed(each.row.control.bouts)]
    return _rendered(
        PAGE,
        experiment=experiment,
        verdict=verdict,
        rows=rows,
        plans=plans,
        link=_linker(root),
        root=root,
        command=command,
        indexed=indexed,
        most_reasons=_MOST_REASONS,
        most_bouts=_MOST_BOUTS,
    )


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
    text = page(experiment, verdict, root=root, command=command, indexed=indexed)
    return _write(folder / PAGE, text)


def write_index(experiments: Sequence[Experiment], folder: Path) -> Path:
    """Write the table over all experiments that have a verdict in a folder of their name below `folder`.

    Raises RecordError for a verdict that cannot be used.
    """
    found: list[tuple[Experiment, Verdict | None, list[RowShown]]] = []
    for experiment in experiments:
        verdict = read_verdict(folder / experiment.name)
        asked = {row.name: row for row in experiment.rows}
        seen = () if verdict is None else verdict.rows
        rows = [
            _shown(experiment, asked[row.name], row, verdict)
            for row in seen
            if row.name in asked and verdict is not None
        ]
        found.append((experiment, verdict, rows))
    legs = [
        {**leg, "rows": [line for experiment, _, rows in found for line in _on_plants(experiment, rows, leg["plants"])]}
        for leg in plants_before()
    ]
    text = _rendered("index.md", found=found, least_repetitions=LEAST_REPETITIONS, legs=legs)
    return _write(folder / INDEX, text)


def _shown(experiment: Experiment, row: TableRow, seen: RowVerdict, verdict: Verdict) -> RowShown:
    """Return a row with the names of those that ask something else of the same bouts."""
    others = (other for other in experiment.rows if other.name != row.name and other.bouts == row.bouts)
    return RowShown(row, seen, verdict, frozenset(other.name for other in others if other.criterion != row.criterion))


def _listed(plans: Sequence[BoutPlan]) -> Sequence[BoutPlan | ManyPlans]:
    """Return the bouts of a row as the page lists them."""
    if len(plans) <= _MOST_BOUTS:
        return plans
    alike: dict[object, list[BoutPlan]] = {}
    for plan in plans:
        alike.setdefault((plan.config, plan.script, plan.duration_s, plan.windows), []).append(plan)
    return [ManyPlans(tuple(own)) for own in alike.values()]


def _on_plants(
    experiment: Experiment, rows: Sequence[RowShown], plants: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, object]]:
    """Yield a line of the table over plants for each row that earlier ones were judged by too."""
    for shown in rows:
        name = experiment.name if len(experiment.rows) == 1 else f"{experiment.name} {shown.row.name}"
        before = [plant["as_seen"].get(name) for plant in plants]
        if not any(before):
            continue
        share, robot = shown.seen.as_seen, shown.row.robot
        inside = "-"
        if robot is not None:
            low, high = exact(*robot)
            inside = "yes" if low <= share.value <= high else "no"
        yield {
            "name": name,
            "before": ["-" if told is None else f"{told[0]} of {told[1]}" for told in before],
            "now": f"{share.count} of {share.of}",
            "robot": robot,
            "inside": inside,
        }


def _rendered(template: str, **values: object) -> str:
    text = environment().get_template(template).render(values, **_SHARED)
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


def _files(verdict: Verdict) -> set[str]:
    # A name that leads out of the folder would have another file removed.
    drawn = (figures for row in verdict.rows for figures in (row.figures, *(one.figures for one in row.evidence)))
    return {Path(figure.file).name for figures in drawn for figure in figures}


def _linker(root: str | None) -> Callable[[str, str], str]:
    """Return what links the name of a configuration or script to where it is, as seen from the page."""

    def link(name: str, folder: str) -> str:
        if root is None or "/" in name:
            return f"`{name}`"
        suffix = ".xml" if folder == "scripts" and not name.endswith(".xml") else ""
        return f"[{name}]({root}/{folder}/{name}{suffix})"

    return link


def _levels(found: Evidence) -> list[tuple[str, ...]]:
    """Return the table of a probe: a line for each level, or, where that is narrower, for each number."""
    names = tuple(dict.fromkeys(name for one in found.levels for name in one.numbers))
    lines = [(found.quantity, *names, "repetitions that started")] + [
        (
            one.label + (" (as in the row)" if one.label == found.as_is else ""),
            *(_answer(name, one.numbers.get(name)) for name in names),
            f"{one.started} of {found.repetitions}",
        )
        for one in found.levels
    ]
    # A table is read more easily when it is long than when it is wide.
    return list(zip(*lines, strict=True)) if len(names) > len(found.levels) else lines


def _answer(name: str, found: EvidenceNumber | None) -> str:
    if found is None:
        return "-"
    if name.endswith("(share)"):
        return f"{found.middle:.2f}"
    return f"{measured(found.middle)} ({measured(found.lowest)} to {measured(found.highest)})"
