"""Judge the cockroach leg on servos of every family, and write benchmarks/SERVOS.md: `python -m benchmarks.servos`.

Configurations are made by `nuc bus adapt`, as anybody would; nothing was tuned for a servo. Criteria are those of
docs/stepping.md, seeds those for judging.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.judge import judge
from nuc_engine.analysis.load import load_bout
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.configurations.adapt import adapt, write_adapted

DURATION_S = 20.0
CONFIG = "lin_roach"


@dataclass(frozen=True, slots=True)
class Case:
    """A model, empty for the AI motors the leg was made with, on a bus; `strength` as of `nuc bus adapt`."""

    model: str
    bus: str
    strength: float | None = None


CASES = (
    Case("", "emulated:"),
    Case("XL430-W250", "emulated:dynamixel?baud=1000000"),
    Case("XL430-W250", "emulated:dynamixel?baud=115200"),
    Case("XL430-W250", "emulated:dynamixel"),
    Case("XL430-W250", "emulated:dynamixel?baud=1000000", 1.0),
    Case("XM430-W350", "emulated:dynamixel?baud=1000000"),
    Case("XM430-W350", "emulated:dynamixel?baud=115200"),
    Case("XM430-W350", "emulated:dynamixel?baud=115200", 4.0),
    Case("XM430-W350", "emulated:dynamixel?baud=115200", 1.0),
    Case("XL330-M288", "emulated:dynamixel?baud=1000000"),
    Case("XL330-M288", "emulated:dynamixel?baud=115200", 1.0),
    Case("XL330-M288", "emulated:dynamixel?baud=115200", 4.0),
    Case("STS3215", "emulated:feetech"),
    Case("STS3215", "emulated:feetech?baud=115200"),
    Case("STS3215", "emulated:feetech", 1.0),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One bout: what it was judged to be, its median step period, and how often a second servos were exchanged with."""

    kind: str
    stepping: bool
    period_s: float
    cycles_per_s: float


def run_case(case: Case, seed: int) -> Outcome:
    """Run one bout and judge it."""
    with tempfile.TemporaryDirectory() as folder:
        config, out = CONFIG, Path(folder) / "bout"
        if case.model:
            config = str(Path(folder) / "leg")
            write_adapted(adapt(CONFIG, case.model, strength=case.strength), Path(config))
        result = run_bout(BoutSpec(config, out, duration_s=DURATION_S, seed=seed, bus=case.bus))
        rate = result.cycles / max(result.simulated_s, 1e-9)
        if result.state != "complete":
            return Outcome(result.reason.partition(":")[0], False, float("nan"), rate)
        try:
            verdict = judge(load_bout(out).tracks(), "FWD", (0, DURATION_S))
        except AnalysisError as error:
            return Outcome(str(error), False, float("nan"), rate)
        return Outcome(verdict.kind, verdict.stepping, verdict.measures.period_s, rate)


def row(case: Case, outcomes: list[Outcome]) -> str:
    """Return a line of the table."""
    good = [outcome for outcome in outcomes if outcome.stepping]
    period = f"{statistics.median(outcome.period_s for outcome in good):.2f} s" if good else ""
    others: dict[str, int] = {}
    for outcome in outcomes:
        if not outcome.stepping:
            others[outcome.kind] = others.get(outcome.kind, 0) + 1
    strength = "as adapted" if case.strength is None else f"{case.strength:g}"
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(others.items()))
    rate = statistics.median(outcome.cycles_per_s for outcome in outcomes)
    model = case.model or "AI-1001, AI-701"
    words = (model, f"`{case.bus}`", strength if case.model else "", f"{rate:.0f}", f"{len(good)} of {len(outcomes)}")
    return f"| {' | '.join((*words, period, told))} |"


def main() -> None:
    """Judge every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1:10", help="first:last, inclusive")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("SERVOS.md"))
    arguments = parser.parse_args()
    first, last = (int(word) for word in arguments.seeds.split(":"))
    jobs = [(case, seed) for case in CASES for seed in range(first, last + 1)]
    found: dict[Case, list[Outcome]] = {case: [] for case in CASES}
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        futures = [pool.submit(run_case, *job) for job in jobs]
        for (case, seed), future in zip(jobs, futures, strict=True):
            found[case].append(future.result())
            sys.stderr.write(f"{case.model or 'AI'} {case.bus}, seed {seed}: {found[case][-1].kind}\n")
    lines = [
        f"`{CONFIG}`, forward stepping, {DURATION_S:g} s, seeds {first} to {last}: "
        f"`python -m benchmarks.servos --seeds {first}:{last}`",
        "",
        "| servos | bus | strength | cycles/s | steps | step period | else |",
        "|---|---|---|---|---|---|---|",
        *(row(case, outcomes) for case, outcomes in found.items()),
    ]
    arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
