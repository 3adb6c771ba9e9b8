"""The benchmark of speed and memory runs: what it measures is in benchmarks/RESULTS.md."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_part_of_a_bout_can_still_be_taken_out_of_it(tmp_path):
    out = tmp_path / "results.md"
    words = [sys.executable, "-m", "benchmarks", "--quick", "--out", str(out)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line for line in out.read_text().splitlines() if line.startswith("## ")] == [
        "## Speed: lin_roach, all logs on, 5 s simulated, median of 2",
        "## One state transition + muscle tick",
        "## Memory over 1 min simulated, all logs on",
    ]
