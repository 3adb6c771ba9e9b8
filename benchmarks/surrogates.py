"""Surrogates over seeds of the fit: `python -m benchmarks.surrogates [many] [few]` prints tables for SURROGATES.md.

Twenty surrogates are fitted to `flight_practice`, each with a seed of its own, and fly circle, eight and helix with the
episode of the same seed. Then with few episodes: as they are, with aggregation, and with as many rows of more of the
same, over the same seeds.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import statistics
import sys
from time import process_time  # noqa: TID251 - processor time of a fit

from nuc_engine.bout.episode import read_document
from nuc_engine.episode.document import content_sum, read_run
from nuc_engine.machine.locations import find_configuration
from nuc_engine.surrogate.evaluate import BASELINE, NEAR_M, STRETCH_M, TEACHER, Flown, evaluate
from nuc_engine.surrogate.fit import Aggregation, FitOptions, Lessons, aggregate, fit_surrogate, flown
from nuc_engine.surrogate.inputs import Array
from nuc_engine.surrogate.pilot import SYSTEMS, Surrogate

PRACTICE, MANY, FEW = "flight_practice", 150, 8
CONFIGS = ("flight_limited_circle", "flight_limited_eight", "flight_limited_helix")
SEEDS, SEEDS_OF_FEW = range(20), range(5)


def practice(first: int, count: int) -> list[Array]:
    document = read_document(find_configuration(PRACTICE))
    return [flown(read_run(document, SYSTEMS, {"seed": seed})) for seed in range(first, first + count)]


def lessons(episodes: list[Array]) -> Lessons:
    document = read_document(find_configuration(PRACTICE))
    return Lessons(episodes, 0.01, content_sum(document["controller"]), PRACTICE)


def flights(surrogates: dict[str, Surrogate], seed: int) -> list[Flown]:
    documents = {name: read_document(find_configuration(name)) for name in CONFIGS}
    return [one for found, _ in evaluate(surrogates, documents, [seed]) for one in found if one.who != TEACHER]


def table(found: list[Flown]) -> list[str]:
    lines = [
        "| | flown by | median | worst | within 15 cm | within 5 cm | not near | of these called | near, but called |"
    ]
    lines += ["|---|---|---|---|---|---|---|---|---|"]
    for config in CONFIGS:
        for who in dict.fromkeys(one.who for one in found):
            each = [one for one in found if (one.config, one.who) == (config, who)]
            apart = [one.apart_m for one in each]
            worst = "ended early" if max(apart) == float("inf") else f"{100 * max(apart):.1f} cm"
            lost = [one for one in each if not one.near]
            lines.append(
                f"| {config} | {who} | {100 * statistics.median(apart):.2f} cm | {worst} | "
                f"{sum(a <= NEAR_M for a in apart)} of {len(each)} | "
                f"{sum(a <= STRETCH_M for a in apart)} of {len(each)} | "
                f"{len(lost)} | {sum(one.called for one in lost)} | "
                f"{sum(one.called_s is not None for one in each if one.near)} |"
            )
    return lines


def many_episodes() -> list[str]:
    many = lessons(practice(0, MANY))
    found: list[Flown] = []
    costs: list[float] = []
    for seed in SEEDS:
        began = process_time()
        surrogate = fit_surrogate(many, FitOptions(seed=seed))
        costs.append(process_time() - began)
        found += flights({"surrogate": surrogate, BASELINE: surrogate.baseline()}, seed)
    cost = f"A fit takes {statistics.median(costs):.1f} s of processor time (median), on one core."
    return [f"## {MANY} episodes of {PRACTICE}, seeds 0 to {SEEDS[-1]}", "", cost, "", *table(found)]


def few_episodes() -> list[str]:
    few, more = practice(0, FEW), practice(FEW, 40)
    document = read_document(find_configuration(PRACTICE))
    found: list[Flown] = []
    costs: list[float] = []
    rows: list[int] = []
    for seed in SEEDS_OF_FEW:
        options = FitOptions(seed=seed)
        began = process_time()
        gained, learned = aggregate(lessons(few), options, Aggregation(2, 10, 5), [document], 1_000_000 + 100 * seed)
        costs.append(process_time() - began)
        rows.append(learned.rows)
        as_many = lessons(few + more[: round((learned.rows - lessons(few).rows) / len(more[0]))])
        surrogates = {
            f"{FEW} episodes": fit_surrogate(lessons(few), options),
            "with aggregation": gained,
            "as many rows of practice": fit_surrogate(as_many, options),
        }
        found += flights(surrogates, seed)
    return [
        f"## {FEW} episodes, and what aggregation gains, seeds 0 to {SEEDS_OF_FEW[-1]}",
        "",
        "Two rounds of ten flights, up to five episodes of 2 s started from each:",
        f"{lessons(few).rows} rows became {statistics.median(rows):.0f} (median), in",
        f"{statistics.median(costs):.0f} s of processor time.",
        "",
        *table(found),
    ]


PARTS = {"many": many_episodes, "few": few_episodes}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        print("\n".join(PARTS[name]()), end="\n\n", flush=True)
