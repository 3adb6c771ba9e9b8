"""Lesions as counter-examples: what lesions.toml says of them, beside what comes out.

`python -m benchmarks.lesions` writes `docs/experiments/lesions.md` (about 5 minutes of one core); `--check` runs
nothing and says whether all scripts are accepted. Seeds are from 140101 on, with which nothing else was run. A lesion
is made in the rules: experiment A is run up to it, and then the rules in force are written anew.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from nuc_engine.analysis.tracks import LegTracks
from nuc_engine.batch.criterion import wilson
from nuc_engine.batch.inputs import read_inputs
from nuc_engine.batch.pool import Workers
from nuc_engine.batch.scratch import scratch_folder
from nuc_engine.batch.task import BoutTask, WatchWindow, see
from nuc_engine.bout.run import prepare_bout
from sccils_schemas.documents import HdsoMod, HdsoScript
from sccils_schemas.writer import write

PREDICTIONS = Path(__file__).with_name("lesions.toml")
AFTERWARDS = PREDICTIONS.with_suffix(".md")
PAGE = Path("docs/experiments/lesions.md")
CONFIG, SCRIPT = "lin_roach", "experiment_a"
SEED, REPETITIONS = 140101, 20
LENGTH_S = 20.0
LEGS: Mapping[str, float] = {"FWD": 20.0, "ITF": 40.0, "ITB": 60.0}
"""Behaviours of experiment A, and when each has been there for 20 s."""
RULES = range(161, 167)
SILENT, NEVER = "zero_float_const", "zero_float_const"
LOAD = "TC1_current"
LOAD_THRESHOLDS = (101, 102, 106, 108)
FROZEN_DEG = 100.0
JUST_AFTER_S = 0.03
"""Rules are evaluated every 25 ms: by then the lesioned ones have been once."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One entry of lesions.toml."""

    leg: str
    lesion: str
    because: str
    kind: str = ""
    state: tuple[str, ...] = ()
    period: str = ""
    given: tuple[str, ...] = ()
    blind: bool = True

    def concerns(self, seen: Seen) -> bool:
        """Say whether it is about a bout: one that was in its behaviour, and in these actions at the lesion."""
        return seen.before == self.leg and set(self.given) <= set(seen.actions)

    def hits(self, seen: Seen) -> bool:
        """Say whether a bout came out so."""
        if self.period:
            return seen.after_s > seen.before_s if self.period == "longer" else seen.after_s < seen.before_s
        return seen.kind == self.kind and (not self.state or set(seen.state) == set(self.state))


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one bout: actions in force at the lesion, outcome before and after it, step periods (s)."""

    actions: tuple[str, ...]
    before: str
    kind: str
    state: tuple[str, ...]
    before_s: float
    after_s: float


@dataclass(frozen=True, slots=True)
class Job:
    """One bout: a lesion in a leg, and a seed."""

    leg: str
    lesion: str
    seed: int


def load_predictions() -> tuple[Prediction, ...]:
    """Read lesions.toml."""
    entries: list[dict[str, Any]] = tomllib.loads(PREDICTIONS.read_text(encoding="utf-8"))["predictions"]
    found: list[Prediction] = []
    for entry in entries:
        values: dict[str, Any] = {
            **entry,
            "state": tuple(entry.get("state", ())),
            "given": tuple(entry.get("given", ())),
        }
        found.append(Prediction(**values))
    return tuple(found)


def lesioned(script: HdsoScript, lesion: str, at_s: float) -> HdsoScript:
    """Return the script up to `at_s`, and what makes the lesion written then."""
    when = Decimal(str(at_s))
    kept = tuple(each for each in script.entries if isinstance(each, HdsoMod) and each.time_s < when)
    data = {each.id_num: each.data for each in sorted(kept, key=lambda each: each.time_s)}
    writes: dict[int, tuple[float, ...] | str] = {}
    for number in RULES:
        rule = str(data[number])
        if (changed := _CHANGES[lesion](rule, data)) != rule:
            writes[number] = changed
    if lesion == "load flipped":
        writes |= {number: (-float(data[number][0]),) for number in LOAD_THRESHOLDS}
    mods = (
        HdsoMod(number, len(value), value, datatype="char" if isinstance(value, str) else "float", time_s=when)
        for number, value in writes.items()
    )
    return replace(script, entries=(*kept, *mods))


Data = Mapping[int, Any]


def _unchanged(rule: str, data: Data) -> str:
    del data
    return rule


def _silenced(rule: str, data: Data) -> str:
    del data
    return rule.replace(LOAD, SILENT)


def _flipped(rule: str, data: Data) -> str:
    """Turn the comparison of the load round; its thresholds are written with the other sign too."""
    del data
    return re.sub(rf"{LOAD} ([<>])", lambda found: f"{LOAD} {'><'['<>'.index(found[1])]}", rule)


def _frozen(rule: str, data: Data) -> str:
    """Put in place of each comparison of the FTi angle what it comes to at the frozen one."""
    thresholds = {name: float(data[number][0]) for name, number in _FTI_THRESHOLDS.items()}

    def value(found: re.Match[str]) -> str:
        limit = thresholds[found[2]]
        return "one_float_const" if (limit > FROZEN_DEG if found[1] == "<" else limit < FROZEN_DEG) else NEVER

    return re.sub(r"FT_angle ([<>]) (\w+)", value, rule)


_FTI_THRESHOLDS = {"TC1_retLEV_FTang": 103, "TC1_proDEP_FTang": 105, "FT_ext_FTang": 107, "FT_flux_FTang": 109}


def _removed(rule: str, data: Data) -> str:
    del data
    return re.sub(r"CTr_angle [<>] \w+", NEVER, rule)


_CHANGES = {
    "none": _unchanged,
    "load silenced": _silenced,
    "load flipped": _flipped,
    "FTi frozen": _frozen,
    "CTr removed": _removed,
}


def task_of(job: Job) -> BoutTask:
    """Return the bout of a job."""
    at_s = LEGS[job.leg]
    script = prepare_bout(CONFIG, SCRIPT).script
    assert script is not None
    inputs = replace(read_inputs(CONFIG, SCRIPT), script=write(lesioned(script, job.lesion, at_s)))
    windows = (WatchWindow("before", at_s - LENGTH_S, at_s), WatchWindow("after", at_s, at_s + LENGTH_S))
    return BoutTask(inputs, at_s + LENGTH_S, job.seed, windows)


def look(job: Job) -> Seen:
    """Run a bout and return what was seen. Raises ValueError where it did not complete."""
    sight = see(task_of(job))
    if sight.leg is None or sight.why_not:
        raise ValueError(f"{job}: {sight.state}: {sight.reason or dict(sight.why_not)}")
    before, after = sight.outcomes["before"], sight.outcomes["after"]
    return Seen(
        actions=_actions(sight.leg, LEGS[job.leg] + JUST_AFTER_S),
        before=before.kind,
        kind=after.kind,
        state=after.state,
        before_s=before.measures.period_mean_s,
        after_s=after.measures.period_mean_s,
    )


def _actions(leg: LegTracks, time_s: float) -> tuple[str, ...]:
    place = int(np.searchsorted(leg.t_state_s, time_s, side="right")) - 1
    return tuple(module.action_name(int(module.action[place])) for module in leg.modules if module.alternates)


def main() -> int:
    """Run all bouts and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="run nothing")
    said = load_predictions()
    groups = list(dict.fromkeys((each.leg, each.lesion) for each in said))
    if parser.parse_args().check:
        for leg, lesion in groups:
            _check(leg, lesion)
        return 0
    seeds = range(SEED, SEED + REPETITIONS)
    jobs = [Job(leg, lesion, seed) for leg, lesion in groups for seed in seeds]
    with Workers(1) as workers:
        found = dict(workers.run(look, jobs))
    seen: dict[tuple[str, str], list[Seen]] = {}
    for index, job in enumerate(jobs):
        seen.setdefault((job.leg, job.lesion), []).append(found[index])
    PAGE.write_text("\n".join(_page(said, seen)) + "\n", encoding="utf-8")
    return 0


def _check(leg: str, lesion: str) -> None:
    """Say which rules a lesion leaves. Raises BoutRefused where they are not accepted."""
    with scratch_folder() as folder:
        _, path = task_of(Job(leg, lesion, 0)).inputs.unpack(folder)
        script = prepare_bout(CONFIG, str(path)).script
    assert script is not None
    print(leg, lesion)
    for each in script.entries:
        if isinstance(each, HdsoMod) and each.time_s == Decimal(str(LEGS[leg])):
            print("  ", each.id_num, each.data)


def _page(said: tuple[Prediction, ...], seen: Mapping[tuple[str, str], list[Seen]]) -> list[str]:
    lines: list[str] = []
    hit, of = Counter[bool](), Counter[bool]()
    for each in said:
        bouts = [one for one in seen[each.leg, each.lesion] if each.concerns(one)]
        hits = sum(each.hits(one) for one in bouts)
        if each.blind and each.lesion != "none":
            hit[bool(each.period)] += hits
            of[bool(each.period)] += len(bouts)
        cells = each.leg, each.lesion + ("" if each.blind else "*"), _names(each.given) or "any", _claim(each)
        lines.append(f"| {' | '.join((*cells, _share(hits, len(bouts)), _others(each, bouts)))} |")
    failed = sum(one.before != leg for (leg, _), bouts in seen.items() for one in bouts)
    told = [_share(hit[period], of[period]) for period in (False, True)]
    reasons = ["", "## Why it was said", "", *_reasons(said)]
    return [
        *_head(told[0], told[1], failed),
        *lines,
        "",
        *AFTERWARDS.read_text(encoding="utf-8").splitlines(),
        *reasons,
    ]


def _share(hits: int, of: int) -> str:
    low, high = wilson(hits, of)
    return f"{hits} of {of}" + (f" ({low:.0%} to {high:.0%})" if of else "")


def _head(outcomes: str, periods: str, failed: int) -> list[str]:
    return [
        "# Lesions, predicted",
        "",
        "Made by `python -m benchmarks.lesions`. What is said of each lesion stands in",
        "[lesions.toml](../../benchmarks/lesions.toml), which was committed before any bout with these seeds was run.",
        "It follows from the rules alone. Experiment A is run up to the lesion, then the rules in force are written",
        "anew: the load they read is 0, or has the other sign; the FTi angle they read is",
        f"{FROZEN_DEG:g} degrees; CTr's term of ThC1 is false. {REPETITIONS} bouts of each, seeds from {SEED} on;",
        f"[outcomes](../outcomes.md) from 3 to {LENGTH_S:g} s after it.",
        "",
        f"**What the leg does was predicted in {outcomes} bouts,",
        f"the sign of the change of its period in {periods}**, where half is chance.",
        "Bouts without a lesion do not count, nor what was known before (*).",
        f"{failed} bouts were not in their behaviour before the lesion and count nowhere.",
        "",
        "| leg | lesion | actions at the lesion | predicted | hits | instead |",
        "| --- | --- | --- | --- | --- | --- |",
    ]


def _claim(each: Prediction) -> str:
    if each.period:
        return f"period {each.period}"
    return f"{each.kind} in {_names(each.state)}" if each.state else each.kind


def _others(each: Prediction, bouts: list[Seen]) -> str:
    if each.period:
        ratios = [one.after_s / one.before_s for one in bouts if one.after_s == one.after_s]
        if not ratios:
            return "no steps"
        return f"ratio {np.median(ratios):.2f} (median; {min(ratios):.2f} to {max(ratios):.2f}; {len(ratios)} bouts)"
    missed = (f"{one.kind} in {_names(one.state)}" if one.state else one.kind for one in bouts if not each.hits(one))
    return "; ".join(f"{name} {count}" for name, count in Counter(missed).most_common()) or "-"


def _names(actions: tuple[str, ...]) -> str:
    """Return actions without what says of which joint they are, as names of joints and actions."""
    return ", ".join(_SHORT[action] for action in sorted(actions, key=list(_SHORT).index))


_SHORT = {
    "TC1_protractionDEP": "pro(DEP)",
    "TC1_retractionLEV": "ret(LEV)",
    "CTr_LevationPRO": "lev(PRO)",
    "CTr_DepressionRET": "dep(RET)",
    "FT_Extension": "extension",
    "FT_Flexion": "flexion",
}


def _reasons(said: tuple[Prediction, ...]) -> list[str]:
    return [
        f"- *{each.leg}, {each.lesion}{', ' + _names(each.given) if each.given else ''}: {_claim(each)}.* "
        f"{' '.join(each.because.split())}"
        for each in said
        if each.lesion != "none"
    ]


if __name__ == "__main__":
    sys.exit(main())
