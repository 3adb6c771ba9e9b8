"""Two readings of "reversed" (7.4.1.2), tried as bouts: do HDSO 103 and 105 change places, or does each keep its rule?

`python -m benchmarks.readings_reversed` writes `docs/experiments/reversed.md` (about 3 minutes of one core). Seeds
are from 190001 on, with which nothing else was run.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from nuc_engine.batch.criterion import wilson
from nuc_engine.batch.inputs import BoutInputs, read_inputs
from nuc_engine.batch.pool import Workers
from nuc_engine.batch.task import BoutTask, WatchWindow, see

PAGE = Path("docs/experiments/reversed.md")
FOUND = PAGE.with_suffix(".csv")
CONFIG, SCRIPT = "lin_roach", "experiment_a"
ITF_S, ITB_S, END_S = 20.0, 40.0, 60.0
WINDOWS = (WatchWindow("ITF", ITF_S, ITB_S), WatchWindow("ITB", ITB_S, END_S))
READINGS = ("change places", "each keeps its rule")
OWN, DRAWN = "the script's own", "drawn at random"
SEED, REPETITIONS, POINTS, DRAW = 190001, 20, 150, 17
THRESHOLDS: Mapping[int, tuple[float, float]] = {104: (20.0, 110.0), 107: (60.0, 150.0), 109: (20.0, 110.0)}
"""The thresholds that ITF changes, of which no number is printed, and where they are drawn."""


@dataclass(frozen=True, slots=True)
class Job:
    """One bout; `values` are what ITF writes to its thresholds in place of the script's numbers."""

    reading: str
    values: tuple[tuple[int, float], ...]
    seed: int


def jobs() -> list[Job]:
    """Return all bouts: the same points and seeds for both readings."""
    low, high = zip(*THRESHOLDS.values(), strict=True)
    points = np.random.default_rng(DRAW).uniform(low, high, (POINTS, len(THRESHOLDS))).round(1)
    own = [Job(reading, (), SEED + k) for k in range(REPETITIONS) for reading in READINGS]
    return own + [
        Job(reading, tuple(zip(THRESHOLDS, map(float, point), strict=True)), SEED + REPETITIONS + k)
        for k, point in enumerate(points)
        for reading in READINGS
    ]


def script_of(text: str, job: Job) -> str:
    """Return experiment A by a reading of its rules, with other thresholds of ITF.

    Raises ValueError where the script has no such rules or thresholds.
    """
    if job.reading != READINGS[0]:
        swap = {"TC1_retLEV_FTang": "TC1_proDEP_FTang", "TC1_proDEP_FTang": "TC1_retLEV_FTang"}
        # In rules only, which are the lines with a comparison; those of FWD, at time 0, are as printed.
        rule = re.compile(rf'(time="(?:{ITF_S:g}|{ITB_S:g})">\(?FT_angle &[lg]t; )({"|".join(swap)})')
        text, count = rule.subn(lambda found: found[1] + swap[found[2]], text)
        if count != 3:
            raise ValueError(f"{SCRIPT}: {count} rules of the turns compare FTi for ThC1; expected 3")
    for number, value in job.values:
        line = re.compile(rf'(idNum="{number}" [^>]*time="{ITF_S:g}">)[^<]*')
        text, count = line.subn(rf"\g<1>{value:g}", text)
        if count != 1:
            raise ValueError(f"{SCRIPT}: writes HDSO {number} {count} times at {ITF_S:g} s; expected once")
    return text


@cache
def _inputs() -> BoutInputs:
    return read_inputs(CONFIG, SCRIPT)


def look(job: Job) -> tuple[str, str]:
    """Run a bout and return what the leg did after each changeset, or how the bout ended."""
    inputs = _inputs()
    assert inputs.script is not None
    changed = replace(inputs, script=script_of(inputs.script.decode(), job).encode())
    windows = WINDOWS[:1] if job.values else WINDOWS
    sight = see(BoutTask(changed, windows[-1].end_s, job.seed, windows))
    kinds = [sight.outcomes[each.name].kind if each.name in sight.outcomes else sight.state for each in windows]
    return kinds[0], kinds[-1] if len(kinds) > 1 else ""


def main() -> int:
    """Run all of it and write the page; with --table write it from what was found last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help=f"run nothing, take what is in {FOUND.name}")
    if not parser.parse_args().table:
        _run()
    with FOUND.open(encoding="utf-8", newline="") as stream:
        PAGE.write_text("\n".join(_page(list(csv.DictReader(stream)))) + "\n", encoding="utf-8")
    return 0


def _run() -> None:
    asked = jobs()
    with Workers(1) as workers, FOUND.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(("reading", "thresholds", *map(str, THRESHOLDS), "seed", "ITF", "ITB"))
        for index, kinds in workers.run(look, asked):
            job = asked[index]
            numbers = [value for _, value in job.values] or [""] * len(THRESHOLDS)
            table.writerow((job.reading, DRAWN if job.values else OWN, *numbers, job.seed, *kinds))
            stream.flush()


def _page(found: Sequence[Mapping[str, str]]) -> list[str]:
    drawn = ", ".join(f"{number} from {low:g} to {high:g}" for number, (low, high) in THRESHOLDS.items())
    lines = [
        "# Two readings of *reversed*",
        "",
        "Made by `python -m benchmarks.readings_reversed`. ITF reverses the influence of FTi on ThC1 (7.4.1.2):",
        "swing ends with an extended tibia and stance with a flexed one. What becomes of the two thresholds, HDSO",
        "103 = 60 and 105 = 120 degrees, the text does not say. If they *change places*, the leg is lowered below",
        "60 and lifted above 120, and from 60 to 120 neither rule of ThC1 holds, as in FWD. If *each keeps its",
        "rule*, it is lowered below 120 and lifted above 60, and in between both rules hold. The scripts have the",
        "first. Here both are tried in experiment A, with the script's own other thresholds (104, 107, 109),",
        f"which were fitted with the first reading, and with these drawn anew, {POINTS} points, the same for both,",
        f"so that the second has its chance: {drawn}. Seeds from {SEED} on. Every bout:",
        f"[{FOUND.name}]({FOUND.name}).",
        "",
        "| reading | other thresholds | ITF after the change to it | what it did instead | ITB after the next |",
        "| --- | --- | --- | --- | --- |",
    ]
    for reading in READINGS:
        for kind in (OWN, DRAWN):
            own = [line for line in found if (line["reading"], line["thresholds"]) == (reading, kind)]
            turned, turned_back = (sum(line[name] == name for line in own) for name in ("ITF", "ITB"))
            low, high = wilson(turned, len(own))
            others = Counter(line["ITF"] for line in own if line["ITF"] != "ITF").most_common()
            told = ", ".join(f"{name} {count}" for name, count in others) or "-"
            back = f"{turned_back} of {len(own)}" if kind == OWN else "not run"
            lines.append(f"| {reading} | {kind} | {turned} of {len(own)} ({low:.0%} to {high:.0%}) | {told} | {back} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
