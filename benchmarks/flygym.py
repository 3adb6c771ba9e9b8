"""FlyGym beside the project: its rule-based controller, in an environment of its own (`python -m benchmarks --flygym`).

This file is run there, without the project: `python benchmarks/flygym.py SECONDS`. It prints JSON: processor seconds of
the whole (observations, controller, physics), and of nothing but `mj_step` of the same model given the same controls.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from time import process_time  # noqa: TID251  benchmarks are about real time

VERSION = "1.2.1"
HOME = Path(__file__).parents[1] / "build" / "flygym"
NEEDS = (f"flygym=={VERSION}", "networkx")
MOST_S = 3
"""It is far from real time: so many simulated seconds are enough."""


def environment(home: Path) -> Path:
    """Return the Python of an environment with FlyGym, made where it is not there. Exits where that cannot be."""
    python = home / "bin" / "python"
    done = home / "installed.txt"
    if not done.exists() or done.read_text() != str(NEEDS):
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        words = [str(python), "-m", "pip", "install", "--quiet", *NEEDS]
        if subprocess.run(words, check=False).returncode:
            sys.exit(
                f"FlyGym could not be installed into {home}: expected a network, or a package index that has"
                f" {', '.join(NEEDS)}; without --flygym all else is measured"
            )
        done.write_text(str(NEEDS))
    return python
