"""How wide the basins are: shares of rows as seen over assumed and fitted numbers of the cockroach's leg.

`python -m benchmarks.maps` varies one number at a time, all else as it is, and writes table and picture of
`docs/experiments/maps.md` (about 20 minutes of one core). Seeds are from 130001 on, which no verdict rests on.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from matplotlib.patches import Rectangle
from PIL import Image

from nuc_engine.batch.pool import Workers
from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.protocol import NOT_VALID, TableRow
from nuc_engine.experiments.trials import run_trial
from nuc_engine.figures.canvas import new_figure, save_figure
from nuc_engine.machine.locations import PLANT_SPEC_FILE, find_configuration

PAGE = Path("docs/experiments/maps.md")
PICTURE = "maps.png"
FOUND = PAGE.with_suffix(".csv")
WORDS = Path(__file__).with_suffix(".md")
CONFIG = "lin_roach"
ROWS = ("A", "D2 commuting", "Fb", "Gb", "Ga")
SEED, REPETITIONS = 130001, 6
NEARLY_ALL = 5
"""So many of the repetitions as seen still belong to the basin."""


@dataclass(frozen=True, slots=True)
class Axis:
    """What is varied: a number of plant.toml by its dotted key, or thresholds that the scripts write at time 0."""

    called: str
    values: tuple[float, ...]
    key: str = ""
    thresholds: tuple[int, ...] = ()
    own: float = 0.0


def _plant(key: str, called: str, *values: float) -> Axis:
    return Axis(called, values, key, own=_own(key))


def _own(key: str) -> float:
    found = _numbers()
    for part in key.split("."):
        found = found[int(part) if part.isdigit() else part]
    return float(found)


@cache
def _numbers() -> Any:
    return tomllib.loads((find_configuration(CONFIG) / PLANT_SPEC_FILE).read_text(encoding="utf-8"))


AXES = (
    _plant("joint.Coxa-Trochanter.stop_deg.1", "femur's upper stop (deg)", 105, 115, 120, 125, 130, 135, 150, 170),
    _plant("joint.Coxa-Trochanter.stop_deg.0", "femur's lower stop (deg)", 8, 15, 22, 30, 40),
    _plant("joint.Thorax-Coxa1.stop_deg.1", "ThC1's upper stop (deg)", 30, 40, 50, 60, 70),
    _plant("joint.Thorax-Coxa1.flex.stiffness_n_m_rad", "beam's stiffness (N m/rad)", 0.7, 1, 1.4, 2, 4, 14),
    _plant("world.base_height_cm", "body height (cm)", 6.5, 7.1, 7.4, 7.7, 8, 8.3, 8.9, 9.5),
    _plant("world.friction", "ground friction", 0.04, 0.06, 0.082, 0.11, 0.15, 0.25),
    _plant(
        "servo.torque_cap_by_level.3", "torque cap of level 3", 0.22, 0.27, 0.295, 0.31, 0.32, 0.33, 0.345, 0.37, 0.42
    ),
    _plant("servo.damping_scale", "motor damping", 0.28, 0.32, 0.34, 0.366, 0.39, 0.41, 0.46, 0.55),
    _plant("servo.dead_ticks", "meter's dead band (ticks)", 1, 2.5, 4, 5.5, 7, 9),
    _plant("variation.current_noise_ticks", "meter's noise (ticks)", 0.3, 1, 2, 3, 4, 6),
    Axis("lower load threshold (ticks)", (-0.5, -0.1, 0, 0.005, 0.05, 0.2), thresholds=(101, 108), own=0),
    Axis("upper load threshold (ticks)", (-0.1, 0, 0.01, 0.05, 0.2, 1), thresholds=(102, 106), own=0.01),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One row at one value of one axis, with one seed; no axis: as it is."""

    name: str
    seed: int
    axis: int | None = None
    value: float = 0.0


States = Mapping[tuple[str, int | None, float], list[str]]
"""What came of the repetitions, by row, axis and value."""


def rows() -> dict[str, TableRow]:
    """Return the rows that are mapped, by the names they have in the index."""
    named = {
        each.name if len(each.rows) == 1 else f"{each.name} {row.name}": row
        for each in EXPERIMENTS
        for row in each.rows
    }
    return {name: named[name] for name in ROWS}


def look(cell: Cell) -> str:
    """Return what came of one repetition."""
    row = rows()[cell.name]
    if cell.axis is None:
        return run_trial(row, cell.seed).state
    axis = AXES[cell.axis]
    changed = (
        replace(
            plan,
            plant={**plan.plant, axis.key: cell.value} if axis.key else plan.plant,
            edits={**plan.edits, **{(number, 0.0): cell.value for number in axis.thresholds}},
        )
        for plan in row.bouts
    )
    return run_trial(replace(row, bouts=tuple(changed)), cell.seed).state


def main() -> int:
    """Run all of it and write the page; with --draw write it from what was found last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draw", action="store_true", help=f"run nothing, take what is in {FOUND.name}")
    parser.add_argument("--missing", action="store_true", help=f"run only what is not in {FOUND.name} yet")
    parser.add_argument("--jobs", type=int)
    arguments = parser.parse_args()
    known = _read() if arguments.draw or arguments.missing else {}
    if not arguments.draw:
        known = _run(known, arguments.jobs)
    states: dict[tuple[str, int | None, float], list[str]] = {}
    for cell, state in known.items():
        states.setdefault((cell.name, cell.axis, cell.value), []).append(state)
    _write(states)
    _draw(states)
    return 0


def _cells() -> list[Cell]:
    points: list[tuple[int | None, float]] = [(None, 0.0)]
    points += [(k, value) for k, axis in enumerate(AXES) for value in axis.values if value != axis.own]
    return [Cell(name, seed, *point) for name in ROWS for point in points for seed in range(SEED, SEED + REPETITIONS)]


def _read() -> dict[Cell, str]:
    names = [axis.called for axis in AXES]
    found: dict[Cell, str] = {}
    with FOUND.open(encoding="utf-8", newline="") as stream:
        for line in csv.DictReader(stream):
            axis = names.index(line["number"]) if line["number"] else None
            found[Cell(line["row"], int(line["seed"]), axis, float(line["value"] or 0.0))] = line["state"]
    return found


def _run(known: Mapping[Cell, str], jobs: int | None) -> dict[Cell, str]:
    missing = [cell for cell in _cells() if cell not in known]
    with Workers(jobs) as workers:
        found = {**known, **{missing[index]: state for index, state in workers.run(look, missing)}}
    with FOUND.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(("row", "number", "value", "seed", "state"))
        for cell in _cells():
            number = ("", "") if cell.axis is None else (AXES[cell.axis].called, f"{cell.value:g}")
            table.writerow((cell.name, *number, cell.seed, found[cell]))
    return found


def _at(states: States, name: str, k: int, value: float) -> list[str]:
    return states[name, None, 0.0] if value == AXES[k].own else states[name, k, value]


def _seen(found: list[str]) -> int:
    """Return how many repetitions are as seen; one that did not start is none."""
    return sum(state == "as seen" for state in found)


def basin(axis: Axis, good: Callable[[float], bool]) -> tuple[float, float] | None:
    """Return the ends of the run of values around the leg's own at which it is good; None where its own is not."""
    place = axis.values.index(axis.own)
    low = high = place
    if not good(axis.own):
        return None
    while low > 0 and good(axis.values[low - 1]):
        low -= 1
    while high + 1 < len(axis.values) and good(axis.values[high + 1]):
        high += 1
    return axis.values[low], axis.values[high]


def said(axis: Axis, ends: tuple[float, float] | None) -> str:
    """Return a basin in words: its ends, and whether it goes on beyond what was looked at."""
    if ends is None:
        return "-"
    low, high = ends
    if ends == (axis.values[0], axis.values[-1]):
        return "all"
    if low == high:
        return f"{low:g} only"
    return (
        f"{'up' if low == axis.values[0] else f'{low:g}'} to {high:g}"
        if high != axis.values[-1]
        else f"from {low:g} on"
    )


def _write(states: States) -> None:
    stepped = [name for name in ROWS if _seen(states[name, None, 0.0]) >= NEARLY_ALL]
    lines = [
        "# How wide the basins are",
        "",
        "Made by `python -m benchmarks.maps`: one number of the cockroach's leg is varied at a time, else nothing.",
        f"{REPETITIONS} seeds at each value, from {SEED} on, with which no verdict was made; kicks are given as in the",
        f"rows. So few seeds tell little: six of six leave shares from 61 % on (Wilson, 95 %). {NEARLY_ALL} of",
        f"{REPETITIONS} count as within the basin, and its edges lie between the values that were looked at. Pairs of",
        "numbers, other rows and the stick insect's plant are not mapped. Every repetition:",
        f"[{FOUND.name}]({FOUND.name}).",
        "",
        f"![Shares as seen over {len(AXES)} numbers; framed: the leg's own]({PICTURE})",
        "",
        "## The basin around the leg's own numbers",
        "",
        f"Values around the own one at which at least {NEARLY_ALL} of {REPETITIONS} are as seen, without a gap; *all*:",
        "of those looked at; *up to* and *from ... on*: only one end was found; a dash: not even at the leg's own.",
        f"The last column is where {_listed(stepped)} are so, all of them.",
        "",
        f"| number | own | looked at | {' | '.join(ROWS)} | together |",
        f"| --- | --- | --- |{' --- |' * (len(ROWS) + 1)}",
    ]
    for k, axis in enumerate(AXES):

        def good(value: float, *names: str, k: int = k) -> bool:
            return all(_seen(_at(states, name, k, value)) >= NEARLY_ALL for name in names)

        each = [said(axis, basin(axis, lambda value, name=name: good(value, name))) for name in ROWS]
        together = said(axis, basin(axis, lambda value: good(value, *stepped)))
        span = f"{axis.values[0]:g} to {axis.values[-1]:g}"
        lines.append(f"| {axis.called} | {axis.own:g} | {span} | {' | '.join(each)} | {together} |")
    lines += ["", *WORDS.read_text(encoding="utf-8").splitlines()]
    lines += [
        "",
        "## All counts",
        "",
        f"As seen of {REPETITIONS}; *d* that many did not start. The leg's own value is bold.",
        "",
    ]
    for k, axis in enumerate(AXES):
        heads = [f"**{value:g}**" if value == axis.own else f"{value:g}" for value in axis.values]
        lines += [f"| {axis.called} | {' | '.join(heads)} |", f"| --- |{' --- |' * len(heads)}"]
        for name in ROWS:
            told: list[str] = []
            for value in axis.values:
                found = _at(states, name, k, value)
                failed = sum(state in NOT_VALID for state in found)
                told.append(f"{_seen(found)}" + (f" (d {failed})" if failed else ""))
            lines.append(f"| {name} | {' | '.join(told)} |")
        lines.append("")
    PAGE.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _draw(states: States) -> None:
    figure = new_figure(11, 9.5)
    panels = figure.subplots(4, 3).ravel()
    for k, (panel, axis) in enumerate(zip(panels, AXES, strict=True)):
        shares = [[_seen(_at(states, name, k, value)) / REPETITIONS for value in axis.values] for name in ROWS]
        panel.imshow(shares, vmin=0.0, vmax=1.0, cmap="cividis", aspect="auto")
        panel.set_xticks(range(len(axis.values)), [f"{value:g}" for value in axis.values], fontsize=8)
        panel.set_yticks(range(len(ROWS)), ROWS if k % 3 == 0 else [""] * len(ROWS), fontsize=8)
        panel.set_title(axis.called, fontsize=9)
        own = axis.values.index(axis.own)
        frame = Rectangle((own - 0.48, -0.48), 0.96, len(ROWS) - 0.04, fill=False, edgecolor="red", linewidth=1.5)
        panel.add_patch(frame)
        for y, line in enumerate(shares):
            for x, share in enumerate(line):
                color = "black" if share > 0.6 else "white"
                panel.text(x, y, f"{share:.0%}", ha="center", va="center", fontsize=7, color=color)
    path = save_figure(figure, PAGE.with_name(PICTURE))
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(64)
    few.save(path, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
