"""Steps per second of flights, and many of them: `python -m benchmarks.episodes [--episodes 10000] [--jobs 2]`.

Processor seconds, since others may be at work on the machine; for many episodes seconds by the clock too.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import tempfile
from pathlib import Path
from time import monotonic, process_time  # noqa: TID251  benchmarks are about real time

from nuc_engine.batch.episodes import make_episodes, sweep_episodes
from nuc_engine.bout.episode import load_run
from nuc_engine.episode.loop import run_steps
from nuc_engine.machine.locations import find_configuration
from nuc_engine.recording.rows import RowLog

CONFIGS = ("flight_hover", "flight_waypoints", "flight_helix", "flight_random", "flight_limited")
STEPS_S = 1000.0


def steps_per_s(name: str, logged: bool) -> float:
    run = load_run(find_configuration(name), {"timing.duration_s": STEPS_S, "stop.distance_m": 1e6})
    best = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):
            began = process_time()
            if logged:
                with RowLog(Path(folder)) as log:
                    end = run_steps(run, log)
            else:
                end = run_steps(run)
            assert end.steps == run.steps, end.reason
            best = max(best, end.steps / (process_time() - began))
    return best


def processor_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    print("# Episodes of RunConfigs\n")
    print(
        f"Made by `python -m benchmarks.episodes --episodes {asked.episodes} --jobs {asked.jobs}`; load average before"
        f" it {os.getloadavg()[0]:.1f}. Python {platform.python_version()}, {platform.system()} {platform.machine()}.\n"
    )
    print("Steps per second of processor time, best of three runs of 100,000 steps (dt 0.01 s):\n")
    print("| | without a log | into EpisodeData.f64 |\n|---|---|---|")
    for name in CONFIGS:
        print(f"| {name} | {steps_per_s(name, False):,.0f} | {steps_per_s(name, True):,.0f} |")
    plan = make_episodes(["flight_random"], seeds=range(asked.episodes), duration_s=10.0)
    with tempfile.TemporaryDirectory() as folder:
        clock, cpu = monotonic(), processor_s()
        result = sweep_episodes(plan, Path(folder) / "a.parquet", jobs=asked.jobs)
        clock_s, cpu_s = monotonic() - clock, processor_s() - cpu
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"\n`nuc sweep flight_random`, {asked.episodes:,} episodes of 10 s, {asked.jobs} workers: {clock_s:.0f} s"
        f" by the clock, {cpu_s:.0f} s of processor time; a worker took {most:.0f} MB at most."
        f" Ended as: {dict(result.states)}."
    )


if __name__ == "__main__":
    main()
