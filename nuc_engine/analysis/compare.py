"""Bouts side by side: step statistics, and how far the mean steps are apart, window by window.

The first bout is the one the others are compared with. Windows are matched by name; where two bouts have no name in
common, by place.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.cycle import AngleError, angle_errors, overall_rms_deg
from nuc_engine.analysis.series import aligned
from nuc_engine.analysis.stepstats import WindowStats, bout_stats, table_lines
from nuc_engine.analysis.windows import BehaviourWindow


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the bouts, with the name it goes by in tables and figures, and its windows."""

    name: str
    bout: Bout
    windows: tuple[WindowStats, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """One window of the first bout and the same one of another; no `errors` where one of the two has no steps."""

    first: WindowStats
    other: WindowStats
    errors: tuple[AngleError, ...]

    @property
    def rms_deg(self) -> float:
        """Root mean square difference of the mean steps over all joints; NaN where there are none."""
        return overall_rms_deg(self.errors)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """`matches[k]` are the windows of `sides[k + 1]` that `sides[0]` has too."""

    sides: tuple[Side, ...]
    matches: tuple[tuple[Match, ...], ...]

    def data(self) -> dict[str, Any]:
        """Return everything in JSON's own types."""
        return {
            "bouts": [
                {
                    "name": side.name,
                    "folder": str(side.bout.folder),
                    "configuration": side.bout.label,
                    "notes": list(side.bout.notes),
                    "windows": [window.data() for window in side.windows],
                }
                for side in self.sides
            ],
            "angles": [
                {"bout": side.name, "against": self.sides[0].name, **_match_data(match)}
                for side, matches in zip(self.sides[1:], self.matches, strict=True)
                for match in matches
            ],
        }

    def lines(self) -> Iterator[str]:
        """Yield it as text: for each window of the first bout a table, then how far the mean steps are apart."""
        for place, first in enumerate(self.sides[0].windows):
            if place:
                yield ""
            others = [
                (side.name, match)
                for side, matches in zip(self.sides[1:], self.matches, strict=True)
                for match in matches
                if match.first is first
            ]
            yield f"{first.window.name}, {first.window.begin_s:.4g} to {first.window.end_s:.4g} s"
            columns = [(self.sides[0].name, first), *((name, match.other) for name, match in others)]
            yield from (f"  {line}" if line else line for line in table_lines(columns, 98))
            yield from (f"  {line}" if line else line for line in _error_lines(others))
            yield from (f"  {line}" for line in _gap_lines(columns))
        yield from self._unmatched()

    def _unmatched(self) -> Iterator[str]:
        for side, matches in zip(self.sides[1:], self.matches, strict=True):
            met = [match.other for match in matches]
            alone = [stats.window.name for stats in side.windows if not any(stats is other for other in met)]
            if alone:
                text = f"{side.name} alone has {', '.join(alone)}; not compared"
                yield from textwrap.wrap(text, 100, break_on_hyphens=False)


def compare_bouts(
    bouts: Sequence[tuple[str, Bout]], windows: Sequence[BehaviourWindow] | None = None, settle_s: float = 3.0
) -> Comparison:
    """Compare named bouts with the first of them; by default in the windows their scripts made."""
    sides = tuple(Side(name, bout, bout_stats(bout, windows, settle_s)) for name, bout in bouts)
    return Comparison(sides, tuple(tuple(_matches(sides[0], side)) for side in sides[1:]))


def _matches(first: Side, other: Side) -> Iterator[Match]:
    by_name = {stats.window.name: stats for stats in other.windows}
    pairs = [(stats, by_name[stats.window.name]) for stats in first.windows if stats.window.name in by_name]
    for one, two in pairs or list(zip(first.windows, other.windows, strict=False)):
        errors = () if one.cycle is None or two.cycle is None else angle_errors(one.cycle, two.cycle)
        yield Match(one, two, errors)


def _match_data(match: Match) -> dict[str, Any]:
    joints = [
        {"joint": e.joint, "rms_deg": e.rms_deg, "largest_deg": e.largest_deg, "at_phase": e.at_phase}
        for e in match.errors
    ]
    return {
        "window": match.first.window.name,
        "with_window": match.other.window.name,
        "rms_deg": match.rms_deg if match.errors else None,
        "joints": joints,
    }


def _gap_lines(columns: Sequence[tuple[str, WindowStats]]) -> Iterator[str]:
    """Yield how many steps the mean steps are without, because the joint angles were not recorded in them."""
    for name, stats in columns:
        if stats.unrecorded_steps:
            yield (
                f"{name}: {stats.unrecorded_steps} of {stats.steps} steps left out of the mean step, with gaps in the"
                " record of angles"
            )


def _error_lines(others: Sequence[tuple[str, Match]]) -> Iterator[str]:
    """Yield the differences of the mean steps, one row for each joint and one column for each bout."""
    told = [(name, match) for name, match in others if match.errors]
    if not told:
        return
    names = list(dict.fromkeys(error.joint for _, match in told for error in match.errors))
    by_joint = [{error.joint: f"{error.rms_deg:.2f}" for error in match.errors} for _, match in told]
    rows = [["mean step differs by (deg, rms)", *(name for name, _ in told)]]
    rows += [[joint, *(cells.get(joint, "") for cells in by_joint)] for joint in names]
    rows.append(["all joints", *(f"{match.rms_deg:.2f}" for _, match in told)])
    yield ""
    yield from aligned(rows)
