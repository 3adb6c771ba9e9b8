"""Which entries of the turns' changesets are needed (7.4.3): `python -m benchmarks.minimise`.

Writes `docs/experiments/minimise.md` (about 8 minutes of one core) from what `nuc minimise experiment_a --at 20` and
`--at 40` find with these seeds, and from each entry given alone to the behaviour before.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from nuc_engine.batch.changeset import entries_at, without
from nuc_engine.batch.inputs import read_inputs
from nuc_engine.batch.minimise import AFTER, EntryReport, Minimised, Runner, ScriptTrial, Tested, minimise, watch
from nuc_engine.batch.pool import Workers
from nuc_engine.bout.run import prepare_bout

PAGE = Path("docs/experiments/minimise.md")
CONFIG, SCRIPT = "lin_roach", "experiment_a"
SEEDS = tuple(range(1000, 1010))
CHANGES: Mapping[str, tuple[str, Decimal]] = {"ITF": ("FWD", Decimal(20)), "ITB": ("ITF", Decimal(40))}
"""Changeset -> the behaviour before it, and its time in the script."""


def main() -> int:
    """Run all of it and write the page."""
    prepared = prepare_bout(CONFIG, SCRIPT)
    assert prepared.script is not None
    trial = ScriptTrial(read_inputs(CONFIG, SCRIPT), prepared, prepared.script, SEEDS)
    lines = [*HEAD]
    with Workers(None) as workers:
        for wanted, (before, time_s) in CHANGES.items():
            found = minimise(trial, time_s, Runner(workers), wanted=wanted)
            lines += _section(found, wanted, before, _given_alone(trial, time_s, Runner(workers)))
    PAGE.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    return 0


def _given_alone(trial: ScriptTrial, time_s: Decimal, run_all: Runner) -> dict[int, Counter[str]]:
    """Return, by entry, what the leg did when it got this one of the changeset alone."""
    numbers = [entry.number for entry in entries_at(trial.script, trial.prepared.plan, time_s)]
    windows = watch(trial.script, time_s, 20.0)
    tasks = [
        task
        for number in numbers
        for task in trial.tasks(without(trial.script, [other for other in numbers if other != number]), windows)
    ]
    kinds = [seen[AFTER] for seen in run_all(tasks)]
    return {number: Counter(kinds[k * len(SEEDS) : (k + 1) * len(SEEDS)]) for k, number in enumerate(numbers)}


HEAD = (
    "# What the turns' changesets need",
    "",
    "Made by `python -m benchmarks.minimise`: `nuc minimise experiment_a --at 20 --seeds 1000:1009` and `--at 40`, and",
    "each entry given alone. Section 7.4.3 rolled back one change after the other by hand, called those needed without",
    "which behaviour changed substantially, and named two limits: one by one is not exhaustive, and a change may be",
    "needed that alone does nothing to the behaviour before. Here each entry and each *pair* is left out, so that the",
    "value before it stays. *Necessary*: at most half as many bouts reach the turn without it; *helps*: fewer, but",
    "more than half; *unnecessary*: nine tenths at least ([bulk.md](../bulk.md)). *Not sure*: the seeds are too few.",
    "",
)


def _section(found: Minimised, wanted: str, before: str, alone: Mapping[int, Counter[str]]) -> list[str]:
    names = {report.entry.number: report.entry.hdso.name for report in found.entries}
    lines = [
        f"## {before} to {wanted}",
        "",
        f"The whole changeset: {wanted} in {found.whole.good} of {found.whole.bouts}.",
        "",
        f"| entry | what it writes | without it | verdict | it alone, in {before} |",
        "| --- | --- | --- | --- | --- |",
    ]
    for report in found.entries:
        entry = report.entry
        told = "-" if report.alone is None else _tested(report.alone, wanted)
        cells = f"{entry.hdso.id_num} {entry.hdso.name}", _data(entry.mod.data), told, _verdict(report, names)
        lines.append(f"| {' | '.join((*cells, _counts(alone[entry.number])))} |")
    singly = {report.entry.number: report.alone for report in found.entries}
    lost = [
        f"{names[pair.left_out[0]]} and {names[pair.left_out[1]]} ({pair.good} of {pair.bouts})"
        for pair in found.pairs
        if pair.effect != "kept"
        and all(one is not None and one.effect == "kept" for one in map(singly.get, pair.left_out))
    ]
    left = ", ".join(names[number] for number in found.reduced.left_out) or "none"
    return [
        *lines,
        "",
        f"Pairs of which either, but not both, can be left out: {', '.join(lost) or 'none'}.",
        f"Left out at once without loss: {left} ({found.reduced.good} of {found.reduced.bouts} reach {wanted}).",
        "",
    ]


def _tested(tested: Tested, wanted: str) -> str:
    others = Counter({kind: count for kind, count in tested.seen.items() if kind != wanted})
    share = f"{tested.good} of {tested.bouts} ({tested.low:.0%} to {tested.high:.0%})"
    return f"{share}; {_counts(others)}" if others else share


def _verdict(report: EntryReport, names: Mapping[int, str]) -> str:
    partners = f" ({', '.join(names[number] for number in report.partners)})" if report.partners else ""
    return f"{report.verdict}{partners}{'' if report.sure else ', not sure'}"


def _counts(seen: Counter[str]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in seen.most_common())


def _data(data: Sequence[float] | str) -> str:
    return f"`{data}`".replace("|", "\\|") if isinstance(data, str) else ", ".join(f"{value:g}" for value in data)


if __name__ == "__main__":
    sys.exit(main())
