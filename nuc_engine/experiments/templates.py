"""Text filled from data with Jinja2: a name that is not there is an error, never an empty place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from nuc_engine.batch.criterion import exact, wilson
from nuc_engine.bout.spec import HdsoValue
from nuc_engine.experiments.protocol import BoutPlan
from nuc_engine.experiments.verdict import EvidenceNumber, RowVerdict, Share

_FOLDERS = tuple(Path(__file__).parent / name for name in ("pages", "catalogue/texts"))
_NOTHING = 1e-9
"""Smaller numbers are nothing that was measured."""
_SMALL = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


Numbers = Mapping[str, EvidenceNumber]
"""What came of a probe at one level."""


@dataclass(frozen=True, slots=True)
class Counted:
    """So many, of so many."""

    count: int
    of: int


@cache
def environment() -> Environment:
    """Return the templates of pages and texts, with the filters that both use."""
    made = Environment(
        loader=FileSystemLoader(_FOLDERS),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown, from data of this project
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(cast(Any, {each.__name__: each for each in _FILTERS}))
    return made


def filled(source: str, values: Mapping[str, object]) -> str:
    """Return a text with its braces filled. Raises jinja2.TemplateError, also for what is not there."""
    return environment().from_string(source).render(values)


def digits(value: float, places: int = 0) -> str:
    """Return a number with so many decimal places."""
    return f"{value:.{places}f}"


def word(count: float) -> str:
    """Return a small count in words."""
    return _SMALL[round(count)] if 0 <= round(count) < len(_SMALL) else f"{count:.0f}"


def number(value: float) -> str:
    """Return a number to three digits."""
    if not math.isfinite(value):
        return "-"
    return f"{value:.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def measured(value: float) -> str:
    """Return a measured number, unlike a probability, to three digits: what rounding leaves of nothing is 0."""
    return number(0.0 if abs(value) < _NOTHING else value)


def cell(text: object) -> str:
    """Return a text as a cell of a table."""
    return " ".join(str(text).replace("|", "\\|").split())


def listed(values: Iterable[float], places: int | None = None) -> str:
    """Return numbers as in a sentence: 1, 2 and 3."""
    *first, last = [str(value) if places is None else digits(value, places) for value in values]
    return f"{', '.join(first)} and {last}" if first else last


def times(share: EvidenceNumber) -> int:
    """Return in how many repetitions it was so."""
    return round(share.middle * share.count)


def of_all(share: EvidenceNumber, article: str = "") -> str:
    """Return in how many repetitions of how many it was so: all 7, or 5 of the 6."""
    count = times(share)
    return (
        f"all {share.count}" if count == share.count else f"{count} of {article + ' ' if article else ''}{share.count}"
    )


def times_of(levels: Iterable[Numbers], name: str) -> str:
    """Return in how many repetitions it was so, level by level."""
    return listed([times(level[name]) for level in levels])


def times_not(levels: Iterable[Numbers], name: str) -> str:
    """Return in how many repetitions it was not so, level by level."""
    return listed([level[name].count - times(level[name]) for level in levels])


def range_of(levels: Iterable[Numbers], name: str) -> str:
    """Return in how many repetitions it was so, from the level with the fewest to that with the most."""
    found = sorted(times(level[name]) for level in levels)
    return str(found[0]) if found[0] == found[-1] else f"{found[0]} to {found[-1]}"


def pooled(evidence: Mapping[str, Numbers], name: str) -> Counted:
    """Return in how many repetitions of all levels it was so."""
    found = [level[name] for level in evidence.values()]
    return Counted(sum(map(times, found)), sum(each.count for each in found))


def sooner(level: Numbers) -> list[str]:
    """Return by how much actions came sooner."""
    return [f"{digits(own.middle, 2)} s" for name, own in level.items() if name.endswith(": sooner by (s)")]


def called(windows: Mapping[str, Mapping[str, int]], kind: str) -> int:
    """Return how many windows of all repetitions were called so, whatever state is named with it."""
    return sum(count for kinds in windows.values() for name, count in kinds.items() if name.startswith(kind))


def rule(_: object) -> str:
    """Return what stands under a heading of a table."""
    return "---"


def interval(share: Share) -> str:
    """Return the interval of a share in per cent."""
    return f"{100 * share.low:.0f} to {100 * share.high:.0f} %" if share.of else "-"


def percent(ends: tuple[float, float]) -> str:
    """Return an interval of shares in per cent."""
    return f"{100 * ends[0]:.0f} to {100 * ends[1]:.0f} %"


def robot(counted: tuple[int, int] | None) -> str:
    """Return how many repetitions of the robot, with the exact interval; "-" where the dissertation has no number."""
    return "-" if counted is None else f"{counted[0]} of {counted[1]} ({percent(exact(*counted))})"


def besides(seen: RowVerdict, aborted: bool = True) -> str:
    """Return how many repetitions were left out of the count or broke off, and why; "" where there are none."""
    parts = [f"{seen.failed_starts} did not start"] if seen.failed_starts else []
    parts += [f"{seen.too_few} with too little to judge"] if seen.too_few else []
    parts += [f"{seen.aborted} broke off"] if seen.aborted and aborted else []
    return ", ".join(parts)


def kicks(row: RowVerdict) -> str:
    """Return how many of the repetitions as seen needed kicks: to begin, and in the end."""
    if row.as_seen.count == 0:
        return "-"
    needed = [
        f"{when} in {own.repetitions} of {row.as_seen.count} "
        f"({percent(wilson(own.repetitions, row.as_seen.count))}; mean {own.mean:.2g}, most {own.most})"
        for when, own in (("to begin", row.start_kicks), ("in the end", row.kicks))
        if own.repetitions
    ]
    return "; ".join(needed) or "none"


@dataclass(frozen=True, slots=True)
class ManyPlans:
    """Bouts of a row, too many for a line each, that are alike in all but their values; shown as one."""

    plans: tuple[BoutPlan, ...]

    @property
    def label(self) -> str:
        """How many there are, and what their names are made of."""
        parts = dict.fromkeys(part for plan in self.plans for part in plan.label.split(", "))
        return f"{len(self.plans)} bouts: {', '.join(parts)}"

    def __getattr__(self, name: str) -> object:
        """Return what all have in common."""
        return getattr(self.plans[0], name)


def differences(plan: BoutPlan | ManyPlans) -> str:
    """Return in what a bout differs from its configuration and script; of many, all that any of them has."""
    if isinstance(plan, ManyPlans):
        values: dict[str, list[str]] = {}
        for own in plan.plans:
            for written in differences(own).split(", "):
                name, _, value = written.partition(" = ")
                values.setdefault(name, []).append(value)
        told = ((name, [value for value in dict.fromkeys(own) if value]) for name, own in values.items())
        return "; ".join(f"{name} = {', '.join(own)}" if own else name for name, own in told if name != "-") or "-"
    edits = {f"{hdso} at {time_s:g} s": value for (hdso, time_s), value in plan.edits.items()}
    given = {**plan.values, **plan.plant, **edits}.items()
    written = [f"{name} left out" if value is None else f"{name} = {_told(value)}" for name, value in given]
    return ", ".join((*written, *map(str, (*plan.waits, *plan.cuts)))) or "-"


def _told(value: HdsoValue) -> str:
    if isinstance(value, tuple):
        return " ".join(map(_told, value))
    return value if isinstance(value, str) else f"{value:g}"


_FILTERS: tuple[Callable[..., object], ...] = (
    *(besides, called, cell, differences, digits, interval, kicks, listed, measured, number, of_all, pooled),
    *(range_of, robot, rule, sooner, times, times_not, times_of, word),
)
