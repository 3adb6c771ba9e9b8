"""Whose basin in thresholds is wider: the stick insect's leg with linear and with piecewise constant muscles (7.2.2).

`python -m benchmarks.thresholds` writes `docs/experiments/thresholds.md` (about 5 minutes of one core). Seeds are from
180001 on, with which nothing else was run.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from nuc_engine.batch.criterion import wilson
from nuc_engine.batch.inputs import BoutInputs, read_inputs
from nuc_engine.batch.pool import Workers
from nuc_engine.batch.task import BoutTask, WatchWindow, see

PAGE = Path("docs/experiments/thresholds.md")
FOUND = PAGE.with_suffix(".csv")
SEED, DRAW = 180001, 16
WALK = WatchWindow("walk", 3.0, 33.0)
SHARED: Mapping[str, tuple[float, float]] = {
    "TC_pro_CTr_load": (-0.5, 2.0),
    "TC_ret_CTr_load": (0.0, 2.0),
    "CTr_lev_FTang": (120.0, 20.0),
    "CTr_lev_TCang": (-20.0, 20.0),
    "CTr_dep_FTang": (75.0, 20.0),
    "FT_ext_CTr_load": (-1.0, 2.0),
    "FT_ext_FTang": (105.0, 20.0),
    "FT_flx_CTr_load": (0.0, 2.0),
    "FT_flx_FTang": (100.0, 20.0),
}
"""Thresholds that both legs have, with the same values: value, and how far it is varied to either side at most."""
OF_PIECES: Mapping[str, tuple[float, float]] = {"FT_ext2_CTr_load": (0.0, 2.0), "FT_ext2_FTang": (80.0, 20.0)}
"""Thresholds of the third action that the piecewise constant muscle is made of."""
ARMS: Mapping[str, tuple[str, Mapping[str, tuple[float, float]]]] = {
    "linear": ("lin_stickmiddle", SHARED),
    "piecewise constant, its own two kept": ("pc_stickmiddle", SHARED),
    "piecewise constant, all varied": ("pc_stickmiddle", {**SHARED, **OF_PIECES}),
}
SIZES, POINTS = (0.25, 0.5, 1.0), 100
"""Shares of the largest variation, and points at each."""
STEPS, REPETITIONS = (-1.0, -0.5, 0.0, 0.5, 1.0), 1
"""One threshold at a time: steps as shares of the largest variation, and seeds at each."""
ALL_AT_ONCE = "all at once"


@dataclass(frozen=True, slots=True)
class Job:
    """One bout: thresholds by name, away from the leg's own."""

    arm: str
    varied: str
    size: float
    seed: int
    values: tuple[tuple[str, float], ...]


def jobs() -> list[Job]:
    """Return all bouts: the same points for all legs, as far as they have the thresholds."""
    draws = np.random.default_rng(DRAW).uniform(-1.0, 1.0, (POINTS, len(SHARED) + len(OF_PIECES)))
    both, last = list(ARMS)[:2], list(ARMS)[2:]
    together = {
        arm: [
            Job(arm, ALL_AT_ONCE, size, SEED + k, _point(ARMS[arm][1], size, point))
            for size in SIZES
            for k, point in enumerate(draws)
        ]
        for arm in ARMS
    }
    singly = [
        Job(arm, name, step, SEED + k, ((name, own + step * widest),))
        for arm in both
        for name, (own, widest) in SHARED.items()
        for step in STEPS
        for k in range(REPETITIONS)
    ]
    return [*(job for arm in both for job in together[arm]), *singly, *(job for arm in last for job in together[arm])]


def _point(
    thresholds: Mapping[str, tuple[float, float]], size: float, point: Sequence[float]
) -> tuple[tuple[str, float], ...]:
    named = zip(thresholds.items(), point, strict=False)
    return tuple((name, own + size * widest * float(share)) for (name, (own, widest)), share in named)


@cache
def _inputs(config: str) -> BoutInputs:
    return read_inputs(config, None)


def look(job: Job) -> str:
    """Run a bout and return what the leg did, or how the bout ended."""
    task = BoutTask(_inputs(ARMS[job.arm][0]), WALK.end_s, job.seed, (WALK,), job.values)
    sight = see(task)
    return sight.outcomes[WALK.name].kind if sight.outcomes else sight.state


def main() -> int:
    """Run all of it and write the page; with --table write it from what was found last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help=f"only the table, from {FOUND.name}")
    if not parser.parse_args().table:
        _run()
    kinds: dict[tuple[str, str, float], list[str]] = {}
    with FOUND.open(encoding="utf-8", newline="") as stream:
        for line in csv.DictReader(stream):
            kinds.setdefault((line["leg"], line["varied"], float(line["size"])), []).append(line["outcome"])
    PAGE.write_text("\n".join(_page(kinds)) + "\n", encoding="utf-8")
    return 0


def _run() -> None:
    """Run all bouts; each is written down at once, so that what ends this loses nothing."""
    asked = jobs()
    with Workers(1) as workers, FOUND.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(("leg", "varied", "size", "seed", "outcome"))
        for index, kind in workers.run(look, asked):
            job = asked[index]
            table.writerow((job.arm, job.varied, job.size, job.seed, kind))
            stream.flush()


def _page(kinds: Mapping[tuple[str, str, float], Sequence[str]]) -> list[str]:
    lines = [
        "# Whose basin in thresholds is wider",
        "",
        "Made by `python -m benchmarks.thresholds`. Section 7.2.2 found it harder to find parameters for the",
        'piecewise constant muscle, "due to a higher sensitivity of the system to the transition parameters".',
        "Here both stick insect legs have the same nine thresholds (HDSOs 101 to 109) with the same values, which",
        "need not lie at the middle of either basin; the piecewise constant one has two more (110, 111), for its",
        "third action. A bout counts where the leg steps as the stick insect does forward, from 6 to 33 s",
        f"([outcomes](../outcomes.md)), without a kick. Seeds from {SEED} on. Every bout:",
        f"[{FOUND.name}]({FOUND.name}).",
        "",
        "## All thresholds at once",
        "",
        f"{POINTS} points, drawn evenly around the legs' own values: angles up to 20 degrees to either side, loads",
        "up to 2 ticks, and shares of that; the same points, and seeds, for all. Bouts that step, with the 95 %",
        "Wilson interval of their share.",
        "",
        "| leg | " + " | ".join(f"{size:.0%}" for size in SIZES) + " |",
        "| --- |" + " --- |" * len(SIZES),
    ]
    for arm in ARMS:
        cells: list[str] = []
        for size in SIZES:
            found = kinds.get((arm, ALL_AT_ONCE, size), [])
            low, high = wilson(found.count("stick"), len(found))
            cells.append(f"{found.count('stick')} of {len(found)} ({low:.0%} to {high:.0%})" if found else "not run")
        lines.append(f"| {arm} | {' | '.join(cells)} |")
    lines += [
        "",
        "## One threshold at a time",
        "",
        f"Bouts that step, of {REPETITIONS}: linear / piecewise constant.",
        "",
        "| threshold | own | " + " | ".join(f"{step:+.0%}" if step else "own" for step in STEPS) + " |",
        "| --- | --- |" + " --- |" * len(STEPS),
    ]
    pair = list(ARMS)[:2]
    for name, (own, widest) in SHARED.items():
        told = [" / ".join(str(kinds[arm, name, step].count("stick")) for arm in pair) for step in STEPS]
        lines.append(f"| {name} (to {widest:g} either side) | {own:g} | {' | '.join(told)} |")
    totals = (sum(kinds[arm, name, step].count("stick") for name in SHARED for step in STEPS if step) for arm in pair)
    of = len(SHARED) * (len(STEPS) - 1) * REPETITIONS
    lines += ["", f"In all, away from the own values: {' and '.join(str(total) for total in totals)} of {of}."]
    return lines


if __name__ == "__main__":
    sys.exit(main())
