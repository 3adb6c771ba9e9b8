"""What the tests notice: `python -m benchmarks.mutants`, one token of the product changed, its tests run.

Which tests reach which line is measured first, with every fast test (20 min); it is kept, and taken again with
`--keep`. Then tokens are drawn by a seed, over all of the product, each of a line that some test reaches. Each is
changed in a copy of the checkout, where the tests that reach its line are run until one fails. The list is
benchmarks/MUTANTS.md: run it before and after tests are taken away, with one seed, and compare.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from coverage import CoverageData

from benchmarks.verify.mutants import ROOT, Mutant, all_mutants

TABLE = ROOT / "benchmarks/MUTANTS.md"
SEED, MUTANTS = 2010, 150
PACKAGES = ("sccils_schemas", "drivers", "nuc_engine")
MOST_TESTS = 150
"""Of the tests that reach a line so many are run, those that reach the fewest lines first."""
TIMEOUT_S = 300
"""After so long a run of tests is ended: a mutant that never ends is noticed."""
SHOWN = 60


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutant, the tests that reach its line, and (`by`) the one that noticed it; empty: none did."""

    mutant: Mutant
    tests: tuple[str, ...]
    by: str = ""


def main() -> int:
    """Measure, draw, try and write the table; return 1 where a mutant went unnoticed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("--mutants", type=int, default=MUTANTS, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="which ones (%(default)s)")
    parser.add_argument("--at-once", type=int, default=len(os.sched_getaffinity(0)), help="copies (%(default)s)")
    parser.add_argument("--keep", type=Path, help="where it is kept which tests reach which line")
    parser.add_argument("--out", type=Path, default=TABLE, help="where the table goes (%(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nuc-mutants-") as scratch:
        kept = options.keep or Path(scratch) / "coverage"
        if not kept.exists():
            _measure(kept, options.at_once)
        trials = _drawn(kept, options.seed, options.mutants)
        copies = [_copy(Path(scratch) / str(k)) for k in range(options.at_once)]
        with ThreadPoolExecutor(options.at_once) as pool:

            def tried(trial: Trial) -> Trial:
                copy = copies.pop()
                try:
                    return _tried(trial, copy)
                finally:
                    copies.append(copy)

            done: list[Trial] = []
            for trial in pool.map(tried, trials):
                done.append(trial)
                noticed = sum(bool(each.by) for each in done)
                print(f"\r{len(done)} of {len(trials)}, {noticed} noticed\x1b[K", end="", file=sys.stderr, flush=True)
    options.out.write_text(_table(done, options.seed), encoding="utf-8")
    print(f"{options.out} written")
    return 0 if all(trial.by for trial in done) else 1


def _measure(kept: Path, at_once: int) -> None:
    words = [*_pytest(ROOT), "-n", str(at_once), "tests", "--ignore=tests/realtime", "--cov-context=test"]
    words += [f"--cov={package}" for package in PACKAGES]
    subprocess.run([*words, "--cov-report="], cwd=ROOT, env=_environment(ROOT, kept), check=False)


def _drawn(kept: Path, seed: int, wanted: int) -> list[Trial]:
    """Return mutants of lines that tests reach, with these tests: a file by its size, a kind, then a token."""
    data = CoverageData(str(kept))
    data.read()
    measured = (Path(name) for name in data.measured_files())
    files = sorted(str(path) for path in measured if path.is_relative_to(ROOT) and path.suffix == ".py")
    reached = {file: {k: v for k, v in data.contexts_by_lineno(file).items() if any(v)} for file in files}
    lines_of = Counter(test for lines in reached.values() for tests in lines.values() for test in tests)
    draw = np.random.default_rng(seed)
    sizes = np.array([len(reached[file]) for file in files], float)
    mutants: dict[str, list[Mutant]] = {}
    found: dict[Mutant, Trial] = {}
    while len(found) < wanted:
        file = files[draw.choice(len(files), p=sizes / sizes.sum())]
        if file not in mutants:
            mutants[file] = [
                mutant
                for mutant in all_mutants([Path(file).relative_to(ROOT).as_posix()])
                if mutant.kind != "deletion" and mutant.line in reached[file]
            ]
        kinds = sorted({mutant.kind for mutant in mutants[file]})
        if not kinds:
            continue
        kind = kinds[draw.integers(len(kinds))]
        of_kind = [mutant for mutant in mutants[file] if mutant.kind == kind]
        mutant = of_kind[draw.integers(len(of_kind))]
        tests = {test.partition("|")[0] for test in reached[file][mutant.line] if test}
        found[mutant] = Trial(mutant, tuple(sorted(tests, key=lambda test: (lines_of[f"{test}|run"], test))))
    return list(found.values())


def _copy(folder: Path) -> Path:
    """Return a copy of the checkout's files, to change one in."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    return folder


def _tried(trial: Trial, copy: Path) -> Trial:
    file = copy / trial.mutant.file
    file.write_text(trial.mutant.source(), encoding="utf-8")
    try:
        words = [*_pytest(copy), "-x", "--tb=no", "-rfE", *trial.tests[:MOST_TESTS]]
        ran = subprocess.run(
            words, cwd=copy, env=_environment(copy), timeout=TIMEOUT_S, capture_output=True, text=True, check=False
        )
        failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        by = failed[0].split(" - ")[0].partition(" ")[2] if failed else f"status {ran.returncode}"
        return Trial(trial.mutant, trial.tests, "" if ran.returncode == 0 else by)
    except subprocess.TimeoutExpired:
        return Trial(trial.mutant, trial.tests, "no test ended")
    finally:
        shutil.copyfile(ROOT / trial.mutant.file, file)


def _pytest(folder: Path) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}"]


def _environment(folder: Path, kept: Path | None = None) -> dict[str, str]:
    more = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **more, **({} if kept is None else {"COVERAGE_FILE": str(kept)})}


def _table(done: list[Trial], seed: int) -> str:
    missed = sum(not trial.by for trial in done)
    rows: list[str] = []
    for k, trial in enumerate(done, 1):
        mutant = trial.mutant
        before, after = (text.replace("|", r"\|") for text in (mutant.before, mutant.after or " "))
        by = trial.by.removeprefix("tests/").replace("|", r"\|")[:SHOWN] or "**nobody**"
        place = f"{mutant.file}, {mutant.line}"
        rows.append(f"| {k} | {place} | {mutant.kind} | `{before}` | `{after}` | {len(trial.tests)} | {by} |")
    return "\n".join(
        [
            "# What the tests notice",
            "",
            f"Made by `python -m benchmarks.mutants --seed {seed} --mutants {len(done)}`: one token of a line that "
            "some fast test reaches, drawn from the whole product (a file by its lines, a kind of token, a token); the "
            f"tests that reach it were run, at most {MOST_TESTS}. {len(done) - missed} of {len(done)} were noticed, "
            f"{missed} were not.",
            "",
            "| | file, line | kind | before | after | tests that reach it | noticed by |",
            "|" + "---|" * 7,
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
