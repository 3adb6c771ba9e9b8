"""Wake-up and round trips of this tree beside an earlier one: `python -m benchmarks.realtime.before FOLDER`.

FOLDER holds the files of the other commit (`git archive COMMIT | tar -x -C FOLDER`). Two daemons in turn, each of which
stands still with its leg while the other is measured; which comes first is drawn.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from benchmarks.realtime.edits import interval
from benchmarks.realtime.report import machine, median, table, verdict

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "benchmarks" / "BEFORE.md"
NAMES = ("before", "now")


def main() -> int:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="files of the earlier commit")
    parser.add_argument("--name", default="", help="what to call it")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    order, busy = np.random.default_rng(1), os.getloadavg()[0]
    found: list[tuple[dict[str, float], dict[str, float]]] = []
    with ExitStack() as stack:
        windows = {
            name: stack.enter_context(_Windows(tree, given.seconds))
            for name, tree in zip(NAMES, (given.folder.resolve(), ROOT), strict=True)
        }
        for _ in range(given.pairs):
            both = {name: windows[name].measure() for name in order.permutation(NAMES)}
            found.append((both["before"], both["now"]))
    heads = [
        "",
        given.name or "before",
        "now",
        "ratio, median",
        "95 % interval",
        "not worse",
    ]
    lines = [
        "# This tree and an earlier one, in turn",
        "",
        f"Made by `python -m benchmarks.realtime.before`; load average before it {busy:.1f}. {machine()}.",
        "",
        f"{len(found)} pairs of windows, microseconds, medians of the windows. Wake-up is of the state transition at",
        f"1 kHz in windows of {given.seconds:g} s; then 150 requests of each kind. The interval is that of the",
        "geometric mean of the ratios; *not worse*: it reaches 1 or lies below. A bout that half a second of standing",
        "still ended is begun anew and given a second.",
        "",
        *table(heads, [_row(what, found) for what in found[-1][0]]),
    ]
    OUT.write_text("\n".join(lines).rstrip("\n") + "\n")
    sys.stdout.write(OUT.read_text())
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


class _Windows:
    """A tree's daemon in a process of its own."""

    def __init__(self, tree: Path, seconds: float) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("window.py")), str(seconds)],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
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
