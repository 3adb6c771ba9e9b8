"""What a tick of shipped configurations costs, stage by stage: `python -m benchmarks.budget [--ticks 10000]`.

Processor time, since others may be at work on the machine; `nuc budget` tells the time by the clock.
"""

from __future__ import annotations

import argparse
import os
import platform
from time import thread_time_ns  # noqa: TID251  benchmarks are about real time

from nuc_engine.bout.budget import measure_budget

CONFIGS = ("lin_roach", "flight_limited")
RATES_HZ = (100.0, 1000.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=10_000)
    ticks = parser.parse_args().ticks
    print("# What a tick costs\n")
    print(
        f"Made by `python -m benchmarks.budget --ticks {ticks}`; load average before it {os.getloadavg()[0]:.1f}."
        f" Python {platform.python_version()}, {platform.system()} {platform.machine()}. Microseconds of processor"
        " time; the total was measured by itself.\n"
    )
    for config in CONFIGS:
        for rate_hz in RATES_HZ:
            budget = measure_budget(config, rate_hz, ticks, thread_time_ns)
            print(f"## {config} at {rate_hz:g} Hz\n\n| stage | p50 | p99 | max |\n|---|---|---|---|")
            for cost in (*budget.stages, budget.total):
                print(f"| {cost.stage} | {cost.p50_us:.1f} | {cost.p99_us:.1f} | {cost.max_us:.1f} |")
            print(f"\nA tick may take {budget.allowed_us:,.0f}. Too slow: {', '.join(budget.failing) or 'nothing'}.\n")


if __name__ == "__main__":
    main()
