"""Verify bouts of every kind, and mutants of the engine: `python -m benchmarks.verify`, part of `make nightly`.

python -m benchmarks.verify                      # all of it, into benchmarks/VERIFY.md
python -m benchmarks.verify --mutants 0          # the matrix of bouts alone
python -m benchmarks.verify --no-matrix          # the mutants alone
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

# What every trial needs anyway, loaded once; nothing of the engine may be, so that each trial loads its own.
import msgpack  # noqa: F401
import mujoco  # noqa: F401
import numpy  # noqa: F401

from benchmarks.verify.mutants import NOT_COMPUTED, ROOT, Mutant, chosen
from benchmarks.verify.trial import Found, Trial, trials

TABLE = ROOT / "benchmarks/VERIFY.md"
SEED, MUTANTS, SECONDS = 2010, 100, 1.0
SHOWN = 72
"""Characters of a statement that was left out."""


def main() -> int:
    """Run what is asked for and write the table; return 1 when something was not found, or found without a reason."""
    cpus = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verify", description=__doc__)
    parser.add_argument("--mutants", type=int, default=MUTANTS, help="how many that change a record (%(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="which ones (%(default)s)")
    parser.add_argument(
        "--at-once", type=int, default=cpus, help="bouts, and mutants, that are run at once (%(default)s)"
    )
    parser.add_argument("--no-matrix", action="store_true", help="leave out the bouts of every kind")
    parser.add_argument("--out", type=Path, default=TABLE, help="where the table goes (%(default)s)")
    options = parser.parse_args()
    good, text = True, _HEAD
    if not options.no_matrix:
        right, lines = _matrix(options.at_once)
        good, text = right, text + lines
    if options.mutants:
        right, lines = _mutants(options.seed, options.mutants, options.at_once)
        good, text = good and right, text + lines
    options.out.write_text(text, encoding="utf-8")
    print(f"{options.out} written")
    return 0 if good else 1


_HEAD = """# What `nuc verify` finds

Made by `make nightly` (`python -m benchmarks.verify`). What is checked: [docs/verify.md](../docs/verify.md).
"""


def _verified(number: int) -> tuple[int, str]:
    """Run and verify one of all combinations; return how many records were compared, and what is wrong."""
    from nuc_engine.verify import verify_bout
    from tests.verify.variants import MATRIX, run

    case = replace(MATRIX[number], seconds=SECONDS)
    with tempfile.TemporaryDirectory(prefix="nuc-verify-") as scratch:
        verdict = verify_bout(run(case, Path(scratch)))
    wrong = "" if verdict.good else f"{case.name}: {verdict.changed_files} {verdict.differences[:1]}"
    return sum(verdict.records.values()), wrong


def _kinds() -> tuple[Any, ...]:
    from tests.verify.variants import CLOCKS, CONFIGS, MATRIX, PAUSES_NS, SHAKES

    return [(case.config, case.clock) for case in MATRIX], CONFIGS, CLOCKS, PAUSES_NS, SHAKES


def _matrix(at_once: int) -> tuple[bool, str]:
    """Run and verify every combination; return whether all are as computed, and the table."""
    wrong: list[str] = []
    records: Counter[tuple[str, str]] = Counter()
    with multiprocessing.get_context("fork").Pool(at_once) as pool:
        # Nothing of the engine may be loaded in this process, from which the trials are forked.
        cases, configs, clocks, pauses_ns, shakes = pool.apply(_kinds)
        for number, (kind, (count, fault)) in enumerate(
            zip(cases, pool.imap(_verified, range(len(cases))), strict=True), 1
        ):
            records[kind] += count
            wrong += [fault] if fault else []
            _tell(f"{number} of {len(cases)} bouts, {len(wrong)} wrong")
    rows = [f"| {name} | {records[name, 'virtual']:,} | {records[name, 'real']:,} |" for name in configs]
    what = (
        f"{len(cases)} bouts of {SECONDS:g} s: configurations x {', '.join(clocks)} clock (the daemon's core on a "
        f"clock of paper) x a pause of {', '.join(map(str, pauses_ns))} ns x the configuration's own servos or STS3215 "
        f"with a round of 1.2 ms x {', '.join(shakes)}. {len(wrong)} with a difference."
    )
    head = ("| configuration | records compared, virtual | real |", "|---|---|---|")
    lines = ["", "## Bouts of every kind", "", what, "", *head, *rows, "", *(f"- {line}" for line in wrong)]
    return not wrong, "\n".join(lines) + "\n"


def _mutants(seed: int, wanted: int, at_once: int) -> tuple[bool, str]:
    """Try mutants until so many of one token have changed a record; return whether each was found, and the table.

    Statements left out are tried in between, and told besides.
    """
    ways: Counter[str] = Counter()
    tokens = 0
    fates: Counter[str] = Counter()
    rows: list[str] = []
    with tempfile.TemporaryDirectory(prefix="nuc-mutants-") as scratch:
        kept = Path(scratch)
        _, told = Trial(None, kept).end()
        if wrong := [found for found in told if found.by or found.unable or found.crashed]:
            raise SystemExit(f"the engine's own bouts are not as computed: {wrong}")
        for trial in trials(chosen(seed), kept, at_once):
            way, found = trial.end()
            ways[way] += 1
            if way == "differs" and trial.mutant is not None:
                fate, row = _row(len(rows) + 1, trial.mutant, found)
                fates[fate] += 1
                rows.append(row)
                tokens += trial.mutant.kind != "deletion"
            _tell(f"{tokens} of {wanted} mutants, {dict(fates)}")
            if tokens == wanted:
                break
    what = (
        "One token of `nuc_engine/control/tasks/*`, `functions.py`, `rulebook.py`, `dispatcher.py` changed, or one "
        f"statement left out, drawn by seed {seed} (`--seed {seed} --mutants {wanted}`), of each kind in turn. "
        "With each, "
        f"{len(told)} bouts were run (`benchmarks/verify/cases.py`) and compared with those of the engine as it is. "
        f"{sum(ways.values())} were tried: {ways['differs']} changed a record, {tokens} of them by one token; "
        f"{ways['same']} changed none; with "
        f"{ways['refused']} no bout began, with {ways['endless']} none ended; with {ways['error']} the engine stopped "
        "with an error of its own wherever a record changed, and they are not counted. Of those that changed a record "
        f"{fates[FOUND]} were found in every bout that they changed; {fates[NOT_TOLD]} were not found in a bout where "
        f"no record tells of it; {fates[MISSED]} were not found in some bout, though they should be; of "
        f"{fates[UNABLE]} some bout could not be verified at all, which is no finding; with {fates[CRASHED]} the "
        "oracle itself ended with an error."
    )
    head = (
        "| | file, line | before | after | bouts changed | records that differ | found first by |",
        "|" + "---|" * 7,
    )
    lines = ["", "## Mutants of the engine", "", what, "", *head, *rows]
    good = not (fates[MISSED] or fates[CRASHED])
    return good and tokens == wanted, "\n".join(lines) + "\n"


FOUND, NOT_TOLD, MISSED, UNABLE, CRASHED = "found", "no record tells", "missed", "not verified", "crashed"


def _row(number: int, mutant: Mutant, found: Sequence[Found]) -> tuple[str, str]:
    """Return what became of a mutant, and its line of the table."""
    file = mutant.file.removeprefix("nuc_engine/")
    kinds: dict[str, list[str]] = {}
    for bout in found:
        why = NOT_COMPUTED.get((file, mutant.before, mutant.after, bout.bout), "")
        if bout.crashed:
            kinds.setdefault(CRASHED, []).append(f"the oracle **crashed** in {bout.bout}: {bout.crashed}")
        elif bout.unable:
            kinds.setdefault(UNABLE, []).append(f"{bout.bout} **cannot be verified**: {bout.unable}")
        elif not bout.by:
            kinds.setdefault(NOT_TOLD if why else MISSED, []).append(f"**not found** in {bout.bout}: {why or '?'}")
    fate = next((kind for kind in (CRASHED, MISSED, UNABLE, NOT_TOLD) if kind in kinds), FOUND)
    by = next((bout.by for bout in found if bout.by), "")
    told = "; ".join([*([by[:SHOWN]] if by else []), *(text for kind in kinds.values() for text in kind)])
    before = mutant.before if len(mutant.before) <= SHOWN else mutant.before[: SHOWN - 3] + "..."
    cells = [" ".join(text.split()).replace("|", r"\|") for text in (before, mutant.after or " ", told)]
    differing = sum(bout.differing for bout in found)
    row = (
        f"| {number} | {file}, {mutant.line} | `{cells[0]}` | `{cells[1]}` | {len(found)} | {differing} | {cells[2]} |"
    )
    return fate, row


def _tell(text: str) -> None:
    print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
