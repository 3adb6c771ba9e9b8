"""Throughput of sweeps beside one bout after the other: `python -m benchmarks.sweep [--bouts 1000] [--dask 3]`.

A sweep that keeps its bouts, with the same logs as a single run, one that keeps none, and, where a cluster is asked
for, one that keeps them on so many local workers of Dask. A single `nuc run` without its start-up cost is one process
that runs a bout and looks at it as the command does, again and again, warm; the bout alone, without the look, stands
beside. It is measured alone, and as many at the same time as the sweep has workers: processors that share memory and
clock slow each other down, with or without a sweep. All of it in alternating blocks of one run, so that a machine
whose speed drifts does not decide; where others are at work on it, look at the processor time. What the workers hold in
memory is looked at after every bout.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import resource
import statistics
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from time import monotonic, process_time  # noqa: TID251  benchmarks are about real time
from typing import NamedTuple

from nuc_engine.batch.plan import SweepRequest, make_plan
from nuc_engine.batch.pool import cores
from nuc_engine.batch.sweep import run_sweep
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.cli.terminal.seen import look
from nuc_engine.machine.core import core

CONFIG = "lin_roach"
FIRST_SEED = 1000
LOAD = os.getloadavg()[0]


class Took(NamedTuple):
    """Seconds of one core for a bout, by the clock and of the processor."""

    wall_s: float
    busy_s: float


def run_single(seeds: Sequence[int], duration_s: float) -> tuple[Took, Took]:
    """Do what `nuc run` does, without its start, for each seed; return what a bout took with the look, and without."""
    alone: list[Took] = []
    whole: list[Took] = []
    # Where the sweep keeps its own, a folder for each: what is in memory, or written over, need never reach a disk.
    with tempfile.TemporaryDirectory() as scratch:
        for seed in (seeds[0], *seeds):
            wall_s, busy_s = monotonic(), process_time()
            spec = BoutSpec(CONFIG, Path(scratch) / f"bout_{len(whole)}", duration_s=duration_s, seed=seed)
            folder = run_bout(spec).folder
            alone.append(Took(monotonic() - wall_s, process_time() - busy_s))
            look(folder)
            whole.append(Took(monotonic() - wall_s, process_time() - busy_s))
    # The first one warms up.
    return _mean(whole[1:]), _mean(alone[1:])


def processor_s() -> float:
    """Return the processor time of this process, and of those of its children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def run_swept(
    seeds: Sequence[int], duration_s: float, jobs: int, *, keep: bool, cluster: int = 0
) -> tuple[Took, list[float]]:
    """Run a sweep over these seeds; return what a row took, times processors at work, and the workers' memory in MiB.

    Time counts from the first rows on, so that the workers' start is not in it; their processor time is. A cluster's
    have worked before, and it counts from the beginning: rows come in groups there, so that when the first one comes
    much has been done. There only the clock tells: its processes are others' children.
    """
    instants: list[float] = []
    memory: list[float] = []

    def done(*_: int) -> None:
        instants.append(monotonic())
        memory.append(sum(map(_resident_mib, [child.pid for child in multiprocessing.active_children()])))

    cpu = processor_s()
    with tempfile.TemporaryDirectory() as folder, _cluster(cluster) as address:
        plan = make_plan(SweepRequest(CONFIG, duration_s=duration_s, seeds=tuple(seeds)))
        kept = Path(folder) / "kept" if keep else None
        if address is not None:
            warm = make_plan(SweepRequest(CONFIG, duration_s=duration_s, seeds=tuple(range(4 * cluster))))
            run_sweep(warm, Path(folder) / "warm.csv", cluster=address)
        begun = monotonic()
        run_sweep(plan, Path(folder) / "sweep.csv", jobs=jobs, cluster=address, keep=kept, done=done)
    if cluster:
        wall_s = (instants[-1] - begun) * min(cluster, cores()) / len(instants)
    else:
        wall_s = (instants[-1] - instants[jobs - 1]) * jobs / (len(instants) - jobs)
    return Took(wall_s, (processor_s() - cpu) / len(seeds)), memory


@contextmanager
def _cluster(workers: int) -> Generator[str | None]:
    if not workers:
        yield None
        return
    from distributed import LocalCluster

    with LocalCluster(workers, threads_per_worker=1, dashboard_address=None, processes=True) as cluster:
        yield cluster.scheduler_address


def _resident_mib(pid: int | None) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:  # it has just ended
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _mean(took: Sequence[Took]) -> Took:
    return Took(*(statistics.mean(each) for each in zip(*took, strict=True)))


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bouts", type=int, default=200, help="bouts of each sweep, in all")
    parser.add_argument("--duration", type=float, default=20.0, help="seconds simulated in each")
    parser.add_argument("--blocks", type=int, default=8, help="alternating blocks they are divided into")
    parser.add_argument("--jobs", type=int, default=cores())
    parser.add_argument("--dask", type=int, default=0, metavar="N", help="on so many local workers of Dask too")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("SWEEP.md"))
    arguments = parser.parse_args()
    jobs, size, duration_s = arguments.jobs, arguments.bouts // arguments.blocks, arguments.duration
    singles = max(3, size // (2 * jobs))
    rows: list[dict[str, Took]] = []
    memory: list[float] = []
    seeds: list[int] = []

    def kept() -> dict[str, Took]:
        took, held = run_swept(seeds, duration_s, jobs, keep=True)
        memory[:] = held if len(held) > len(memory) else memory
        return {KEPT: took}

    def together() -> dict[str, Took]:
        with get_context("spawn").Pool(jobs) as pool:
            beside = pool.starmap(run_single, [(seeds[:singles], duration_s)] * jobs)
        return dict(zip((TOGETHER, BOUTS_TOGETHER), (_mean(each) for each in zip(*beside, strict=True)), strict=True))

    measures: list[Callable[[], dict[str, Took]]] = [
        kept,
        lambda: {NOT_KEPT: run_swept(seeds, duration_s, jobs, keep=False)[0]},
        together,
        lambda: dict(zip((ALONE, BOUT_ALONE), run_single(seeds[:singles], duration_s), strict=True)),
    ]
    clustered = f"on {arguments.dask} workers of Dask, kept"
    if arguments.dask:
        measures.append(lambda: {clustered: run_swept(seeds, duration_s, jobs, keep=True, cluster=arguments.dask)[0]})
    names = (KEPT, NOT_KEPT, *([clustered] if arguments.dask else []), *BESIDE)
    for block in range(arguments.blocks):
        seeds[:] = range(FIRST_SEED + block * size, FIRST_SEED + (block + 1) * size)
        row: dict[str, Took] = {}
        # Each in turn is the first: what one leaves to be written to the disk, the next one pays for.
        for measure in measures[block % len(measures) :] + measures[: block % len(measures)]:
            row |= measure()
        row = {name: row[name] for name in names}
        rows.append(row)
        sys.stderr.write(f"block {block + 1}: {row}\n")
    lines = _table(rows, arguments, memory)
    arguments.out.write_text("\n".join(lines) + "\n")
    sys.stdout.write("\n".join(lines) + "\n")


KEPT, NOT_KEPT = "sweep, bouts kept", "sweep, none kept"
TOGETHER, BOUTS_TOGETHER = "`nuc run`, as many at once", "the bout of it, as many at once"
ALONE, BOUT_ALONE = "`nuc run`, one alone", "the bout of it, one alone"
BESIDE = (TOGETHER, BOUTS_TOGETHER, ALONE, BOUT_ALONE)


def _table(rows: Sequence[dict[str, Took]], asked: argparse.Namespace, memory: Sequence[float]) -> list[str]:
    def ratio(name: str, other: str, which: int) -> str:
        return f"{statistics.median(row[other][which] / row[name][which] for row in rows):.2f}"

    swept = [name for name in rows[0] if name not in BESIDE]
    dask = f" --dask {asked.dask}" if asked.dask else ""
    marks = [memory[round(share * (len(memory) - 1))] for share in (0.1, 0.5, 0.9)]
    return [
        "# Sweeps beside single bouts",
        "",
        f"Made by `python -m benchmarks.sweep --bouts {asked.bouts}{dask}`: {asked.bouts} bouts of "
        f"{asked.duration:.0f} s of {CONFIG} on {asked.jobs} workers, in {len(rows)} alternating blocks; core: "
        f"{core().partition(' (')[0]}; load average before it {LOAD:.1f}. Python {platform.python_version()}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores.",
        "",
        "Seconds of a core per bout, by the clock (and of the processor), medians of the blocks:",
        "",
        "| | seconds |",
        "|---|---|",
        *(f"| {name} | {_cell([row[name] for row in rows])} |" for name in rows[0]),
        "",
        "Throughput per core beside single bouts, by the clock (and by processor time), medians of the blocks:",
        "",
        f"| | {' | '.join(BESIDE)} |",
        f"|---|{'---|' * len(BESIDE)}",
        *(
            f"| {name} | {' | '.join(f'{ratio(name, other, 0)} ({ratio(name, other, 1)})' for other in BESIDE)} |"
            for name in swept
            if "Dask" not in name
        ),
        *(f"| {name} | {' | '.join(ratio(name, other, 0) for other in BESIDE)} |" for name in swept if "Dask" in name),
        "",
        f"Memory of the workers together, in the longest of these sweeps, after 10, 50 and 90 % of its bouts: "
        f"{', '.join(f'{each:.0f}' for each in marks)} MiB.",
    ]


def _cell(took: Sequence[Took]) -> str:
    wall_s, busy_s = (statistics.median(each) for each in zip(*took, strict=True))
    return f"{wall_s:.3f} ({busy_s:.3f})"


if __name__ == "__main__":
    main()
