"""How wide are the basins: shares of rows as seen over assumed and fitted numbers of the cockroach's plant.

`python -m benchmarks.maps` varies one number at a time, all else as in plant.toml, and writes the table and the picture
of `docs/experiments/maps.md` (about 8 minutes on two cores). Seeds are from 130001 on, which no verdict rests on.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from nuc_engine.batch.pool import Workers
from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.protocol import NOT_VALID, TableRow
from nuc_engine.experiments.trials import run_trial
from nuc_engine.figures.canvas import new_figure

PAGE = Path("docs/experiments/maps.md")
PICTURE = "maps.svg"
ROWS = ("A", "D2 commuting", "Fb", "Gb")
SEED, REPETITIONS = 130001, 6

AXES: dict[str, tuple[str, tuple[float, ...]]] = {
    "joint.Coxa-Trochanter.stop_deg.1": ("femur's upper stop (deg)", (105, 115, 125, 135, 150, 170)),
    "world.base_height_cm": ("body height (cm)", (6.5, 7.1, 7.7, 8.3, 8.9, 9.5)),
    "world.friction": ("ground friction", (0.04, 0.06, 0.082, 0.11, 0.15, 0.25)),
    "servo.torque_cap_by_level.3": ("torque cap of level 3", (0.22, 0.27, 0.32, 0.37, 0.42, 0.47)),
    "servo.damping_scale": ("motor damping", (0.28, 0.32, 0.366, 0.41, 0.46, 0.55)),
    "servo.dead_ticks": ("meter's dead band (ticks)", (1, 2.5, 4, 5.5, 7, 9)),
    "variation.current_noise_ticks": ("meter's noise (ticks)", (0.3, 1, 2, 3, 4, 6)),
}
"""Dotted key -> what it is called, and its values; the one of plant.toml is among them."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One row at one value of one number, with one seed."""

    row: TableRow
    key: str
    value: float
    seed: int


def look(cell: Cell) -> str:
    """Return what came of one repetition."""
    bouts = tuple(replace(plan, plant={**plan.plant, cell.key: cell.value}) for plan in cell.row.bouts)
    return run_trial(replace(cell.row, bouts=bouts), cell.seed).state


def main() -> int:
    """Run all of it and write the page."""
    rows = {
        name: row
        for each in EXPERIMENTS
        for row in each.rows
        for name in (each.name if len(each.rows) == 1 else f"{each.name} {row.name}",)
        if name in ROWS
    }
    cells = [
        Cell(rows[name], key, value, seed)
        for name in ROWS
        for key, (_, values) in AXES.items()
        for value in values
        for seed in range(SEED, SEED + REPETITIONS)
    ]
    states: dict[tuple[str, str, float], list[str]] = {}
    with Workers(None) as workers:
        for index, state in workers.run(look, cells):
            cell = cells[index]
            name = next(name for name in ROWS if rows[name] is cell.row)
            states.setdefault((name, cell.key, cell.value), []).append(state)
    _write(states)
    _draw(states)
    return 0


def _share(states: list[str]) -> float:
    """Return the share as seen of all repetitions; one that did not start is none."""
    return sum(state == "as seen" for state in states) / len(states)


def _write(states: dict[tuple[str, str, float], list[str]]) -> None:
    lines = [
        "# How wide the basins are",
        "",
        f"Made by `python -m benchmarks.maps`: one number of the cockroach's plant at a time, {REPETITIONS} seeds",
        f"from {SEED} on at each value, as seen of all; *d* that many did not start. The plant's own value is bold.",
        "The other rows, pairs of numbers and the stick insect's plant are not mapped.",
        "",
        f"![Shares as seen over seven numbers]({PICTURE})",
        "",
    ]
    for key, (called, values) in AXES.items():
        own = values[2]
        heads = [f"**{value:g}**" if value == own else f"{value:g}" for value in values]
        lines += [f"| {called} | {' | '.join(heads)} |", f"| --- |{' --- |' * len(values)}"]
        for name in ROWS:
            told: list[str] = []
            for value in values:
                found = states[name, key, value]
                failed = sum(state in NOT_VALID for state in found)
                told.append(f"{sum(s == 'as seen' for s in found)}" + (f" (d {failed})" if failed else ""))
            lines.append(f"| {name} | {' | '.join(told)} |")
        lines.append("")
    PAGE.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")


def _draw(states: dict[tuple[str, str, float], list[str]]) -> None:
    figure = new_figure(9, 8)
    panels = figure.subplots(4, 2).ravel()
    for panel, (key, (called, values)) in zip(panels, AXES.items(), strict=False):
        shares = [[_share(states[name, key, value]) for value in values] for name in ROWS]
        panel.imshow(shares, vmin=0.0, vmax=1.0, cmap="cividis", aspect="auto")
        panel.set_xticks(range(len(values)), [f"{value:g}" for value in values])
        panel.set_yticks(range(len(ROWS)), ROWS)
        panel.set_title(called, fontsize=9)
        panel.axvline(2, color="white", linestyle=":")
        for y, line in enumerate(shares):
            for x, share in enumerate(line):
                panel.text(
                    x,
                    y,
                    f"{share:.0%}",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="black" if share > 0.6 else "white",
                )
    for panel in panels[len(AXES) :]:
        panel.set_axis_off()
    figure.tight_layout()
    figure.savefig(PAGE.with_name(PICTURE), format="svg", metadata={"Date": None})


if __name__ == "__main__":
    sys.exit(main())
