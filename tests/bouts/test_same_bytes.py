"""Eight references, two sets of parameters, two time steps: the same bytes from two processes, one beside busy ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product

from nuc_engine.cli.look.afresh import _busy

KINDS = ("hover", "step", "waypoints", "circle", "eight", "helix", "probe", "random")
PROGRAM = """
import hashlib, json, sys
from array import array
from pathlib import Path
from nuc_engine.bout.episode import load_run
from nuc_engine.episode.loop import run_steps
found = {}
for kind, mass, dt_s in json.loads(sys.argv[1]):
    rows = array("d")
    changes = {"dynamics.mass_kg": mass, "timing.dt_s": dt_s, "timing.duration_s": 4.0}
    run_steps(load_run(Path("configs") / f"flight_{kind}", changes), rows.extend)
    found[f"{kind} {mass} {dt_s}"] = hashlib.sha256(rows.tobytes()).hexdigest()
print(json.dumps(found))
"""


def sums(cases: list[tuple[str, float, float]], hash_seed: int) -> dict[str, str]:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    words = [sys.executable, "-c", PROGRAM, json.dumps(cases)]
    return json.loads(subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout)


def test_bytes_are_the_same_in_two_processes_under_load() -> None:
    cases = list(product(KINDS, (0.9, 1.3), (0.01, 0.005)))
    with _busy(2):
        one = sums(cases, 1)
    assert len(one) == len(set(one.values())) == 32
    assert sums(cases, 4242) == one
