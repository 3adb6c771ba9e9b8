"""Throughput of a sweep beside one bout after the other: `python -m benchmarks.sweep [--bouts 200] [--jobs 2]`.

A single `nuc run` without its start-up cost is one process that runs a bout, loads it and judges it, again and again,
warm. It is measured alone, and as many at the same time as the sweep has workers: processors that share memory and
clock slow each other down, with or without a sweep. All of it in alternating blocks of one run, so that a machine whose
speed drifts does not decide; where others are at work on it, look at the processor time.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import statistics
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from time import monotonic  # noqa: TID251  benchmarks are about real time

from nuc_engine.batch.plan import SweepRequest, make_plan
from nuc_engine.batch.pool import cores
from nuc_engine.batch.scratch import scratch_folder
from nuc_engine.batch.sweep import run_sweep
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.cli.terminal.seen import look

CONFIG, DURATION_S = "lin_roach", 30.0
FIRST_SEED = 1000
LOAD = os.getloadavg()[0]


def run_single(seeds: list[int]) -> tuple[float, float]:
    """Do what `nuc run` does, without its start, for each seed; return seconds and processor seconds per bout."""
    begin, cpu = 0.0, 0.0
    with scratch_folder() as scratch:
        for k, seed in enumerate([seeds[0], *seeds]):
            if k == 1:  # the first one warms up
                begin, cpu = monotonic(), processor_s()
            result = run_bout(BoutSpec(CONFIG, scratch / "bout", duration_s=DURATION_S, seed=seed, overwrite=True))
            look(result.folder)
    return (monotonic() - begin) / len(seeds), (processor_s() - cpu) / len(seeds)


def processor_s() -> float:
    """Return the processor time of this process, and of those of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def run_swept(seeds: list[int], jobs: int) -> tuple[float, float]:
    """Run a sweep over these seeds; return seconds times workers per row, and processor seconds per row.

    Time counts from the first rows on, so that the workers' start is not in it; their processor time is.
    """
    instants: list[float] = []
    cpu = processor_s()
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(SweepRequest(CONFIG, duration_s=DURATION_S, seeds=tuple(seeds)))
        run_sweep(plan, Path(folder) / "sweep.parquet", jobs=jobs, done=lambda *_: instants.append(monotonic()))
    taken = (instants[-1] - instants[jobs - 1]) * jobs / (len(instants) - jobs)
    return taken, (processor_s() - cpu) / len(seeds)


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
    rows: list[list[tuple[float, float]]] = []
    for block in range(arguments.blocks):
        seeds = [FIRST_SEED + block * size + k for k in range(size)]
        swept = run_swept(seeds, jobs)
        with get_context("spawn").Pool(jobs) as pool:
            side_by_side = pool.map(run_single, [seeds[:singles]] * jobs)
        together = statistics.mean(one[0] for one in side_by_side), statistics.mean(one[1] for one in side_by_side)
        rows.append([swept, together, run_single(seeds[:singles])])
        sys.stderr.write(f"block {block + 1}: {_cells(rows[-1])}\n")
    lines = _table(rows, size * arguments.blocks, jobs)
    arguments.out.write_text("\n".join(lines) + "\n")
    sys.stdout.write("\n".join(lines) + "\n")


def _table(rows: list[list[tuple[float, float]]], bouts: int, jobs: int) -> list[str]:
    def ratio(other: int, which: int) -> str:
        return f"{100 * statistics.median(row[other][which] / row[0][which] for row in rows):.0f} %"

    return [
        "# A sweep beside single bouts",
        "",
        f"Made by `python -m benchmarks.sweep --bouts {bouts}`: {bouts} bouts of {DURATION_S:.0f} s of {CONFIG} on "
        f"{jobs} workers, in {len(rows)} alternating blocks; load average before it {LOAD:.1f}. "
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}.",
        "",
        "Seconds per bout (for the sweep: times workers), and processor seconds per bout.",
        "",
        "| block | sweep | single runs, as many at once | one single run alone |",
        "|---|---|---|---|",
        *(f"| {k} | {_cells(row)} |" for k, row in enumerate(rows, 1)),
        "",
        "Throughput of the sweep per core, medians of the blocks:",
        "",
        "|  | of single runs, as many at once | of one single run alone |",
        "|---|---|---|",
        f"| by the clock | {ratio(1, 0)} | {ratio(2, 0)} |",
        f"| by processor time | {ratio(1, 1)} | {ratio(2, 1)} |",
    ]


def _cells(row: list[tuple[float, float]]) -> str:
    return " | ".join(f"{seconds:.2f} s ({cpu:.2f} s)" for seconds, cpu in row)


if __name__ == "__main__":
    main()
