"""The figures of a paper, from the tidy table alone: `python -m benchmarks.paper TABLE.csv|.parquet [FOLDER]`.

Vector PDF at the width of a page's text, into `build/paper`. Two things are not in the table: the counts of earlier
plants, whose repetitions were not kept (`catalogue/plants.toml`), and the data of the bout of `BEHAVIOURS`, which is
run again with a seed the table names. `make paper` writes the table first.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nuc_engine.analysis.load import load_bout
from nuc_engine.batch.criterion import exact, wilson
from nuc_engine.batch.scratch import scratch_folder
from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.explain import plants_before
from nuc_engine.experiments.figures import last_cycles
from nuc_engine.experiments.protocol import NOT_VALID
from nuc_engine.experiments.trials import run_plan
from nuc_engine.figures.canvas import house_style, new_figure, save_figure, shade
from nuc_engine.figures.palette import joint_pens
from nuc_engine.figures.path_state import draw_path, fitted_legend

FOLDER = Path("build/paper")
WIDE_IN = 6.9
"""Width of a page's text, 17.5 cm."""
ROBOT, NOW, BEFORE, CONTROL = "0.82", "#0d5cad", "#cc4020", "#00805a"
BEHAVIOURS = ("A", "A")
"""Experiment and row whose first repetition as seen, without kicks, is drawn."""
LEAST_GAIN_S = 0.05
"""What promotes, as the criterion of dropout and magnet has it."""
NUMBERS: Mapping[str, tuple[str, str, float | None]] = {
    "periods": (r"step period \(s\)$", "step period (s)", None),
    "unloading": (r"sooner by \(s\)$", "action sooner by (s)", LEAST_GAIN_S),
    "pauses": (r"^(longest time|walking dies|ITF begins)", "time (s)", None),
    "steps": (r"^(FTi flexion after|lift-off after|stance \(|swing \(|ThC retraction in)", "time (s)", None),
    "muscles": (r"(spread of|noise level of it)", "differences of successive ThC minima (deg)", None),
    "ratios": (r"^spread ratio$", "ratio of spreads, linear to piecewise constant", 1.0),
}
"""Figure -> which numbers it shows, what their axis is called, and a bound to draw."""

Key = tuple[str, str]


@dataclass(slots=True)
class Repetition:
    """One repetition of the table, with its numbers by name."""

    seed: int
    state: str
    kicks: int
    start_kicks: int
    numbers: dict[str, float] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        return self.state not in NOT_VALID


@dataclass(slots=True)
class Row:
    """All repetitions of a row, those of its control, and what the robot did: count and of how many, or None."""

    key: Key
    plant: str
    robot: tuple[int, int] | None
    kicked: tuple[int, int] | None
    trials: dict[int, Repetition] = field(default_factory=dict)
    control: dict[int, Repetition] = field(default_factory=dict)
    alone: bool = True
    """Whether the table has no other plant's repetitions of this row."""

    @property
    def label(self) -> str:
        return self.name if self.alone else f"{self.name}, {self.plant}"

    @property
    def name(self) -> str:
        experiment, row = self.key
        return experiment if row == experiment else f"{experiment} {row}"

    @property
    def valid(self) -> list[Repetition]:
        return [each for each in self.trials.values() if each.valid]

    def values(self, name: str) -> list[float]:
        return [each.numbers[name] for each in self.valid if name in each.numbers]


def read(path: Path) -> list[Row]:
    """Return the rows of a tidy table, in its order; one for each plant version where there are several."""
    rows: dict[tuple[str, str, str], Row] = {}
    for line in _lines(path):
        key = (line["experiment"], line["row"])
        row = rows.get((*key, line["plant"]))
        if row is None:
            robot, kicked = _pair(line, "robot"), _pair(line, "robot_kicked")
            row = rows[*key, line["plant"]] = Row(key, line["plant"], robot, kicked)
        trials = row.control if str(line["control"]) == "True" else row.trials
        seed = int(line["seed"])
        one = trials.setdefault(seed, Repetition(seed, line["state"], int(line["kicks"]), int(line["start_kicks"])))
        if line["number"] and line["value"] not in ("", None):
            one.numbers[line["number"]] = float(line["value"])
    keys = [row.key for row in rows.values()]
    for row in rows.values():
        row.alone = keys.count(row.key) == 1
    return list(rows.values())


def _lines(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return pq.read_table(path).to_pylist()
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _pair(line: Mapping[str, Any], name: str) -> tuple[int, int] | None:
    count, of = line[name], line[f"{name}_of"]
    return None if count in ("", None) else (int(count), int(of))


def draw_shares(rows: Sequence[Row]) -> Any:
    """Return the share as seen of each row and plant, beside the robot's and the control's (95 % intervals)."""
    figure, axes = _lined([row.label for row in rows], "share as seen (95 % interval)")
    for y, row in enumerate(rows):
        if row.robot:
            low, high = exact(*row.robot)
            axes.barh(y, high - low, left=low, height=0.9, color=ROBOT, label="robot", zorder=0)
        before = [(called, seen[row.name]) for called, seen in _before() if row.name in seen]
        for k, (called, told) in enumerate(before):
            style = {"marker": "sD"[k % 2], "color": BEFORE, "mfc": "white", "label": called}
            _share(axes, y - 0.15 - 0.2 * k, told[0], told[1], **style)
        _share(axes, y + 0.15, *_as_seen(row.valid), marker="o", color=NOW, label="this table's plant")
        if not row.valid:
            axes.annotate("none valid", (0.0, y), xytext=(3, 0), textcoords="offset points", va="center", fontsize=6)
        control = [each for each in row.control.values() if each.valid]
        _share(axes, y + 0.33, *_as_seen(control), marker="x", color=CONTROL, label="control, must fail")
    axes.set_xlim(-0.02, 1.02)
    _legend(figure, axes)
    return figure


def _before() -> Iterator[tuple[str, Mapping[str, tuple[int, int]]]]:
    """Yield what each earlier plant is called, and its rows' shares."""
    for leg in plants_before():
        for plant in leg["plants"]:
            which, comma, how = plant["name"].partition(", ")
            yield f"{leg['leg']}'s {which} plant{comma}{how}", plant["as_seen"]


def _as_seen(trials: Sequence[Repetition]) -> tuple[int, int]:
    return sum(each.state == "as seen" for each in trials), len(trials)


def _share(axes: Any, y: float, count: int, of: int, **style: Any) -> None:
    if of:
        low, high = wilson(count, of)
        share = count / of
        axes.errorbar(
            share, y, xerr=[[share - low], [high - share]], markersize=3.5, elinewidth=0.8, linestyle="none", **style
        )


def draw_kicks(rows: Sequence[Row]) -> Any:
    """Return how many of those as seen needed a kick in the end, where the robot's number is printed or any did."""
    shown = [(row, [each.kicks > each.start_kicks for each in row.valid if each.state == "as seen"]) for row in rows]
    shown = [(row, kicked) for row, kicked in shown if kicked and (row.kicked or any(kicked))]
    figure, axes = _lined(
        [row.label for row, _ in shown], "share of those as seen that needed a kick in the end (95 % interval)"
    )
    for y, (row, kicked) in enumerate(shown):
        if row.kicked:
            low, high = exact(*row.kicked)
            axes.barh(y, high - low, left=low, height=0.7, color=ROBOT, label="robot", zorder=0)
            axes.plot([row.kicked[0] / row.kicked[1]] * 2, [y - 0.35, y + 0.35], color="0.4", linewidth=1.2, zorder=1)
        _share(axes, y, sum(kicked), len(kicked), marker="o", color=NOW, label="emulated leg")
    axes.set_xlim(-0.02, 1.02)
    _legend(figure, axes)
    return figure


def draw_numbers(rows: Sequence[Row], pattern: str, label: str, at: float | None = None) -> Any:
    """Return numbers whose names match, one line each: every repetition, and the median; `at`: a bound to draw."""
    found = [(row, name) for row in rows for name in _names(row) if re.search(pattern, name)]
    shown = [(f"{row.label}: {_short(name)}", row.values(name)) for row, name in found]
    figure, axes = _lined([name for name, _ in shown], label)
    for y, (_, values) in enumerate(shown):
        axes.plot(values, y + _scatter(len(values)), ".", color=NOW, alpha=0.45, markersize=3, mew=0)
        axes.plot([float(np.median(values))] * 2, [y - 0.38, y + 0.38], color=BEFORE, linewidth=1.4)
    if at is not None:
        axes.axvline(at, color="0.5", linewidth=0.8, linestyle=(0, (4, 3)))
    return figure


def _names(row: Row) -> list[str]:
    return list(dict.fromkeys(name for each in row.valid for name in each.numbers))


def _short(name: str) -> str:
    """Return a number's name without its unit and what the axis says already."""
    name = re.sub(r" \((s|share|deg)\)$", "", name)
    return re.sub(r":? ?(step period|sooner by)$", "", name) or "step period"


def _scatter(count: int) -> Any:
    """Return heights at which points of one line do not hide each other."""
    return 0.6 * ((0.618 * np.arange(count)) % 1.0) - 0.3


def draw_speed(rows: Sequence[Row]) -> Any:
    """Return the step period at each level of drive, a line for each repetition."""
    shown = [row for row in rows if any(name.startswith("level ") for name in _names(row))]
    figure = new_figure(WIDE_IN, 2.8)
    panels = figure.subplots(1, len(shown), squeeze=False)[0]
    for axes, row in zip(panels, shown, strict=True):
        names = [name for name in _names(row) if name.startswith("level ")]
        levels = range(1, len(names) + 1)
        periods = [[each.numbers.get(name, np.nan) for name in names] for each in row.valid]
        for own in periods:
            axes.plot(levels, own, color=NOW, alpha=0.3, linewidth=0.7)
        axes.plot(levels, np.nanmedian(periods, axis=0), color=BEFORE, marker="o", markersize=4, label="median")
        axes.set_xticks(list(levels))
        axes.set_xlabel("level of the agonists' drive")
        axes.set_ylabel("step period (s)")
        axes.set_ylim(bottom=0)
        axes.set_title(row.label, loc="left")
        axes.legend()
    return figure


def draw_behaviours(rows: Sequence[Row]) -> Any:
    """Return foot paths with actions, and joint angles, of the last cycles in each window of one bout."""
    shown = [each for row in rows if row.key == BEHAVIOURS for each in row.valid]
    seed = next(each.seed for each in shown if each.state == "as seen" and not each.kicks)
    row = next(own for each in EXPERIMENTS if each.name == BEHAVIOURS[0] for own in each.rows)
    (plan,) = row.bouts
    with scratch_folder() as data:
        run_plan(plan, seed, data)
        bout = load_bout(data / plan.label)
    figure = new_figure(WIDE_IN, 4.6)
    grid = figure.subplots(2, len(plan.windows), height_ratios=[1.5, 1.0])
    pens = joint_pens(bout.joints)
    for above, below, window in zip(*grid, plan.windows, strict=True):
        span = last_cycles(bout, window)
        draw_path(above, bout, span, (0, 1))
        above.set_title(window.name, loc="left")
        shade(below, bout.stance_spans(*span))
        part = bout.sensors.between(*span)
        for joint in bout.joints:
            if joint.angle is not None and joint.states:
                color, dashes = pens[joint.name]
                below.plot(
                    part.t_s, part.column(joint.angle), color=color, linestyle=dashes, label=joint.role or joint.name
                )
        below.set_xlim(*span)
        below.set_xlabel(f"time (s), seed {seed}")
    grid[1, 0].set_ylabel("angle (deg)")
    grid[1, -1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=2.4)
    fitted_legend(figure, [bout])
    return figure


def _lined(names: Sequence[str], label: str) -> tuple[Any, Any]:
    """Return a figure with one line for each name, the first on top."""
    figure = new_figure(WIDE_IN, 0.8 + 0.21 * len(names))
    axes = figure.add_subplot()
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x", color="0.92", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(label)
    return figure, axes


def _legend(figure: Any, axes: Any) -> None:
    handles, names = axes.get_legend_handles_labels()
    once = dict(zip(names, handles, strict=True))
    figure.legend(once.values(), once.keys(), loc="outside upper center", ncols=2)


def main() -> int:
    """Draw all of them."""
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    rows = read(Path(sys.argv[1]))
    folder = Path(sys.argv[2]) if len(sys.argv) == 3 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with house_style():
        figures = {
            "shares": draw_shares(rows),
            "kicks": draw_kicks(rows),
            **{name: draw_numbers(rows, *shown) for name, shown in NUMBERS.items()},
            "speed": draw_speed(rows),
            "behaviours": draw_behaviours(rows),
        }
        for name, figure in figures.items():
            print(save_figure(figure, folder / f"{name}.pdf"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
