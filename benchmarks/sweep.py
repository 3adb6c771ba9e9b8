"""Throughput of a sweep beside one bout after the other: `python -m benchmarks.sweep [--bouts 200] [--jobs 2]`.

A single `nuc run` without its start-up cost is one process that runs a bout, loads it and judges it, again and again,
warm. It is measured alone, and as many at the same time as the sweep has workers: processors that share memory and
clock slow each other down, with or without a sweep. All of it in alternating blocks of one run, so that a machine whose
speed drifts does not decide.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from time import monotonic  # noqa: TID251  benchmarks are about real time

from nuc_engine.bout import BoutSpec, run_bout
from nuc_engine.bulk.plan import SweepRequest, make_plan
from nuc_engine.bulk.pool import cores
from nuc_engine.bulk.scratch import scratch_folder
from nuc_engine.bulk.sweep import run_sweep
from nuc_engine.cli.seen import look

CONFIG, DURATION_S = "lin_roach", 30.0
FIRST_SEED = 1000


def run_single(seeds: list[int]) -> list[float]:
    """Do what `nuc run` does, without its start, for each seed; return the seconds each took."""
    taken: list[float] = []
    with scratch_folder() as scratch:
        for k, seed in enumerate([seeds[0], *seeds]):
            begin = monotonic()
            result = run_bout(BoutSpec(CONFIG, scratch / "bout", duration_s=DURATION_S, seed=seed, overwrite=True))
            look(result.folder)
            if k:  # the first one warms up
                taken.append(monotonic() - begin)
    return taken


def sweep_rates(seeds: list[int], jobs: int) -> list[float]:
    """Run a sweep over these seeds; return the instants at which its rows came."""
    instants: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(SweepRequest(CONFIG, duration_s=DURATION_S, seeds=tuple(seeds)))
        run_sweep(plan, Path(folder) / "sweep.parquet", jobs=jobs, done=lambda *_: instants.append(monotonic()))
    return instants


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bouts", type=int, default=200, help="bouts of the sweep, in all")
    parser.add_argument("--blocks", type=int, default=4, help="alternating blocks they are divided into")
    parser.add_argument("--jobs", type=int, default=cores())
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("SWEEP.md"))
    arguments = parser.parse_args()
    jobs, size = arguments.jobs, arguments.bouts // arguments.blocks
    singles = max(3, size // (2 * jobs))
    rows: list[tuple[float, float, float]] = []
    for block in range(arguments.blocks):
        seeds = [FIRST_SEED + block * size + k for k in range(size)]
        instants = sweep_rates(seeds, jobs)
        # From the first rows on, so that neither has its start in it.
        swept = (instants[-1] - instants[jobs - 1]) * jobs / (len(instants) - jobs)
        with get_context("spawn").Pool(jobs) as pool:
            side_by_side = pool.map(run_single, [seeds[:singles]] * jobs)
        together = statistics.mean(second for part in side_by_side for second in part)
        alone = statistics.mean(run_single(seeds[:singles]))
        rows.append((swept, together, alone))
        sys.stderr.write(f"block {block + 1}: {swept:.2f} s, {together:.2f} s, {alone:.2f} s\n")
    lines = _table(rows, size * arguments.blocks, jobs)
    arguments.out.write_text("\n".join(lines) + "\n")
    sys.stdout.write("\n".join(lines) + "\n")


def _table(rows: list[tuple[float, float, float]], bouts: int, jobs: int) -> list[str]:
    together = statistics.median(b / a for a, b, _ in rows)
    alone = statistics.median(c / a for a, _, c in rows)
    return [
        "# A sweep beside single bouts",
        "",
        f"Made by `python -m benchmarks.sweep --bouts {bouts}`: {bouts} bouts of {DURATION_S:.0f} s of {CONFIG} on "
        f"{jobs} workers, in {len(rows)} alternating blocks. Python {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}. Processor seconds per bout on the wall's clock: time times workers / bouts.",
        "",
        "| block | sweep | single runs, as many at once | one single run alone |",
        "|---|---|---|---|",
        *(f"| {k} | {a:.2f} s | {b:.2f} s | {c:.2f} s |" for k, (a, b, c) in enumerate(rows, 1)),
        "",
        f"Throughput per core, medians of the blocks: {100 * together:.0f} % of single runs side by side, "
        f"{100 * alone:.0f} % of one that has the machine to itself.",
    ]


if __name__ == "__main__":
    main()
