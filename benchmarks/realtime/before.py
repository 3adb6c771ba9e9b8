"""Wake-up, work and round trips of this tree beside an earlier one: `python -m benchmarks.realtime.before FOLDER`.

FOLDER holds the files of the other commit (`git archive COMMIT | tar -x -C FOLDER`). With `--cores` in its place: the
compiled core of this tree beside the same as Python. Two daemons in turn, each of which stands still with its leg while
the other is measured; which comes first is drawn.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from benchmarks.realtime.edits import interval
from benchmarks.realtime.report import machine, median, table, verdict
from nuc_engine.machine.core import core

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks"
NAMES = ("before", "now")
PURE = {"NUC_PURE": "1"}


def main() -> int:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="files of the earlier commit")
    parser.add_argument("--cores", action="store_true", help="the compiled core beside Python, both of this tree")
    parser.add_argument("--name", default="", help="what to call it")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    if given.cores == (given.folder is not None):
        parser.error("expected FOLDER or --cores")
    if given.cores and (found_core := core()) != "compiled":
        parser.error(f"the core is {found_core}: make fast compiles it")
    order, busy = np.random.default_rng(1), os.getloadavg()[0]
    found: list[tuple[dict[str, float], dict[str, float]]] = []
    trees = (ROOT, PURE) if given.cores else (given.folder.resolve(), {}), (ROOT, {})
    with ExitStack() as stack:
        windows = {
            name: stack.enter_context(_Windows(*tree, given.seconds)) for name, tree in zip(NAMES, trees, strict=True)
        }
        for _ in range(given.pairs):
            both = {name: windows[name].measure() for name in order.permutation(NAMES)}
            found.append((both["before"], both["now"]))
    option = " --cores" if given.cores else ""
    title = "The daemon's core compiled, and as Python" if given.cores else "This tree and an earlier one"
    heads = [
        "",
        given.name or ("Python" if given.cores else "before"),
        "compiled" if given.cores else "now",
        "ratio, median",
        "95 % interval",
        "not worse",
    ]
    lines = [
        f"# {title}, in turn",
        "",
        f"Made by `python -m benchmarks.realtime.before{option}`; load average before it {busy:.1f}. {machine()}.",
        "",
        f"{len(found)} pairs of windows, microseconds, medians of the windows. Wake-up is of the state transition at",
        f"1 kHz in windows of {given.seconds:g} s; then 150 requests of each kind. The interval is that of the",
        "geometric mean of the ratios; *not worse*: it reaches 1 or lies below. A bout that half a second of standing",
        "still ended is begun anew and given a second. Rules, muscles, begin of an exchange: how long the task works.",
        "",
        *table(heads, [_row(what, found) for what in found[-1][0]]),
    ]
    out = FOLDER / ("DAEMON_CORES.md" if given.cores else "BEFORE.md")
    out.write_text("\n".join(lines).rstrip("\n") + "\n")
    sys.stdout.write(out.read_text())
    return 0


def _row(what: str, found: list[tuple[dict[str, float], dict[str, float]]]) -> list[object]:
    before, now = ([pair[k][what] for pair in found] for k in (0, 1))
    low, high = np.exp(interval(list(np.log(np.divide(now, before)))))
    ratio = median(zip(before, now, strict=True), lambda pair: pair[1] / pair[0])
    return [
        what,
        f"{median(before, float):.0f}",
        f"{median(now, float):.0f}",
        f"{ratio:.2f}",
        f"{low:.2f} to {high:.2f}",
        verdict(bool(low <= 1.0)),
    ]


def _found_by() -> list[str]:
    """Return where the compiled core is found, if PYTHONPATH says it."""
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path.endswith("build/core/site")]


class _Windows:
    """A tree's daemon in a process of its own."""

    def __init__(self, tree: Path, environment: Mapping[str, str], seconds: float) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("window.py")), str(seconds)],
            cwd=tree,
            env={**os.environ, **environment, "PYTHONPATH": os.pathsep.join([str(tree), *_found_by()])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()

    def __enter__(self) -> _Windows:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.communicate(timeout=60)

    def measure(self) -> dict[str, float]:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return json.loads(self._answer())

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the daemon ended: {self._process.wait(60)}")
        return line


if __name__ == "__main__":
    raise SystemExit(main())
