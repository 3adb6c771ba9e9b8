"""Judge every shipped configuration over many seeds and write benchmarks/STEPPING.md: `python -m benchmarks.stepping`.

The criteria are those of docs/stepping.md. Seeds 1 to 20 are for judging only; plants are tuned with others.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from nuc_engine.analysis.criteria import Behaviour
from nuc_engine.analysis.judge import judge
from nuc_engine.analysis.load import load_bout
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.plants.events import Ground

JUDGING_SEEDS = tuple(range(1, 21))
DURATION_S = 60.0


@dataclass(frozen=True, slots=True)
class Case:
    """One configuration under one script, with the behaviour expected in each window.

    `ground_ends_s` is when the ground is taken away. Without ground nothing may be called stepping.
    """

    name: str
    config: str
    script: str | None
    windows: tuple[tuple[Behaviour, float, float], ...]
    ground_ends_s: float | None = None


CASES = (
    Case("lin_roach, forward", "lin_roach", None, (("FWD", 0, 60),)),
    Case("lin_roach, experiment A", "lin_roach", "experiment_a", (("FWD", 0, 20), ("ITF", 20, 40), ("ITB", 40, 60))),
    Case("lin_stickmiddle", "lin_stickmiddle", None, (("stick", 0, 60),)),
    Case("pc_stickmiddle", "pc_stickmiddle", None, (("stick", 0, 60),)),
    Case("lin_stickmiddle_minimal", "lin_stickmiddle_minimal", None, (("stick", 0, 60),)),
    Case("null_roach", "null_roach", None, (("FWD", 0, 60),)),
    Case("mag_roach", "mag_roach", None, (("FWD", 0, 60),)),
    Case("null_stickmiddle", "null_stickmiddle", None, (("stick", 0, 60),)),
    Case("lin_roach, ground away at 30 s", "lin_roach", None, (("FWD", 0, 30), ("FWD", 30, 60)), 30),
    Case("mag_roach, ground away at 30 s", "mag_roach", None, (("FWD", 0, 30), ("FWD", 30, 60)), 30),
    Case("lin_stickmiddle, ground away at 30 s", "lin_stickmiddle", None, (("stick", 0, 30), ("stick", 30, 60)), 30),
    Case("pc_stickmiddle, ground away at 30 s", "pc_stickmiddle", None, (("stick", 0, 30), ("stick", 30, 60)), 30),
    Case("minimal, ground away at 30 s", "lin_stickmiddle_minimal", None, (("stick", 0, 30), ("stick", 30, 60)), 30),
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One window of one bout."""

    stepping: bool
    kind: str
    period_s: float
    stance_s: float
    swing_s: float
    rearward_cm: float
    inward_cm: float
    reasons: tuple[str, ...]


def run_case(case: Case, seed: int) -> list[Outcome]:
    """Run one bout and judge its windows."""
    away = () if case.ground_ends_s is None else (Ground(round(case.ground_ends_s * 1e9), present=False),)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "bout"
        result = run_bout(BoutSpec(case.config, out, case.script, DURATION_S, seed, events=away))
        if result.state != "complete":
            nothing = float("nan")
            outcome = Outcome(False, result.reason, nothing, nothing, nothing, nothing, nothing, (result.reason,))
            return [outcome] * len(case.windows)
        leg = load_bout(out).tracks()
    outcomes: list[Outcome] = []
    for behaviour, begin, end in case.windows:
        verdict = judge(leg, behaviour, (begin, end))
        m = verdict.measures
        outcomes.append(
            Outcome(
                verdict.stepping,
                verdict.kind,
                m.period_s,
                m.stance_mean_s,
                m.swing_mean_s,
                -m.stride_cm[0],
                m.inward_cm,
                verdict.reasons,
            )
        )
    return outcomes


def main() -> None:
    """Judge the cases asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="cases whose name contains this")
    parser.add_argument("--seeds", default="1:20", help="first:last, inclusive (default: the judging seeds)")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("STEPPING.md"))
    arguments = parser.parse_args()
    first, last = (int(word) for word in arguments.seeds.split(":"))
    seeds = range(first, last + 1)
    cases = [case for case in CASES if arguments.only is None or arguments.only in case.name]
    jobs = [(case, seed) for case in cases for seed in seeds]
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        futures = [pool.submit(run_case, case, seed) for case, seed in jobs]
        results: dict[str, list[list[Outcome]]] = {case.name: [] for case in cases}
        for number, ((case, seed), future) in enumerate(zip(jobs, futures, strict=True), 1):
            outcomes = future.result()
            results[case.name].append(outcomes)
            kinds = ", ".join(outcome.kind for outcome in outcomes)
            sys.stderr.write(f"[{number}/{len(jobs)}] {case.name}, seed {seed}: {kinds}\n")
    lines = table(cases, results, seeds)
    arguments.out.write_text("\n".join(lines) + "\n")
    sys.stdout.write("\n".join(lines) + "\n")


def table(cases: Sequence[Case], results: dict[str, list[list[Outcome]]], seeds: range) -> list[str]:
    """Return the result table."""
    lines = [
        "# Who steps",
        "",
        f"Made by `make nightly`; {DURATION_S:.0f} s simulated per bout, seeds {seeds[0]} to {seeds[-1]}, judged by "
        "docs/stepping.md. A bout counts only when every window of it is stepping. Medians over the bouts that step.",
        "",
        "| case | window | stepping | period s | stance s | swing s | rearward cm | inward cm | otherwise |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for case in cases:
        bouts = results[case.name]
        whole = sum(all(outcome.stepping for outcome in outcomes) for outcomes in bouts)
        for k, (behaviour, begin, end) in enumerate(case.windows):
            good = [outcomes[k] for outcomes in bouts if outcomes[k].stepping]
            others = sorted(outcomes[k].kind for outcomes in bouts if not outcomes[k].stepping)
            failed = ", ".join(f"{others.count(kind)} {kind}" for kind in dict.fromkeys(others))
            numbers = (_median(good, name) for name in ("period_s", "stance_s", "swing_s", "rearward_cm", "inward_cm"))
            lines.append(
                f"| {case.name} | {behaviour} {begin:g}-{end:g} s | {len(good)}/{len(bouts)} | "
                f"{' | '.join(numbers)} | {failed} |"
            )
        lines.append(f"| {case.name} | **whole bout** | **{whole}/{len(bouts)}** | | | | | | |")
    return lines


def _median(outcomes: Sequence[Outcome], name: str) -> str:
    return f"{statistics.median(getattr(outcome, name) for outcome in outcomes):.2f}" if outcomes else ""


if __name__ == "__main__":
    main()
