"""Asks about how much of something a leg bears: bouts at rising levels, and the highest at which it still steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nuc_engine.analysis.outcome import CYCLIC
from nuc_engine.experiments.catalogue.asks import Found, Question
from nuc_engine.experiments.catalogue.pictures import draw_shares
from nuc_engine.experiments.protocol import Observation, Observations, TableRow, Trial


class Bears(Question, kw_only=True, tag="bears"):
    """Whether series of bouts bear less than others do, pair by pair: in none more, in at least `pairs` of them less.

    A series is a name; its bouts are called "name, level" with the levels and unit given, rising. What it bears is the
    highest level up to which the leg steps at all levels, 0 where it does not at the first. A level that a series has
    no bout for ends it.
    """

    levels: tuple[float, ...]
    less: tuple[str, ...]
    more: tuple[str, ...]
    pairs: int = 1
    unit: str = "s"

    def look(self, seen: Observations) -> Found:
        """Return what each series bears, and a reason where the order is not as expected."""
        borne = {name: self._borne(seen, name) for name in dict.fromkeys((*self.less, *self.more))}
        both = list(zip(self.less, self.more, strict=True))
        reasons = [
            f"{one} bears {borne[one]:g} {self.unit}, {other} {borne[other]:g}, expected no less of the latter"
            for one, other in both
            if borne[one] > borne[other]
        ]
        apart = sum(borne[one] < borne[other] for one, other in both)
        if apart < self.pairs:
            reasons.append(f"in {apart} of {len(both)} pairs the first bears less, expected {self.pairs} or more")
        return Found(tuple(reasons), {f"{name}: bears ({self.unit})": value for name, value in borne.items()})

    def _borne(self, seen: Observations, name: str) -> float:
        borne = 0.0
        for level in self.levels:
            one = seen.get(f"{name}, {level:g} {self.unit}")
            if one is None or not _steps(one):
                break
            borne = level
        return borne


def _steps(one: Observation) -> bool:
    return all(outcome.cyclic for outcome in one.outcomes.values())


def draw_ladders(row: TableRow, trials: Sequence[Trial], path: Path) -> None:
    """Draw in how many repetitions the leg steps over the level, with a panel for each beginning of the bouts' names.

    A bout is called "panel, line, level unit"; one without a line is the first point of all lines of its panel.
    """
    counts: dict[str, dict[str, dict[float, tuple[int, int]]]] = {}
    for plan in row.bouts:
        panel, *line, level = plan.label.split(", ")
        seen = [kind for trial in trials for kind in trial.outcomes.get(plan.label, {}).values()]
        stepping = sum(kind in CYCLIC for kind in seen)
        lines = counts.setdefault(panel, {})
        lines.setdefault(", ".join(line), {})[float(level.split()[0])] = stepping, len(seen)
    for lines in counts.values():
        first = lines.pop("", {})
        for line in lines:
            lines[line] = {**first, **lines[line]}
    unit = row.bouts[0].label.rpartition(", ")[2].partition(" ")[2]
    draw_shares(counts, f"level ({unit})" if unit else "level", path)
