"""Late replies on lines of AI motors, in virtual time: `python -m benchmarks.late --sequences 1000000 --processes 2`.

Plays random sequences of delays, losses and holds up to D in front of the engine's motor action, and all sequences of a
small scope, and judges every goal when its servo hears it (`tests/drivers/lateline.py`). Ends with status 1, and the
seed, at the first goal that was worked out from where its servo was not.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "drivers"))

from lateline import CYCLE_NS, FINE, HELD, LOST, LateLoop, random_sequence

CHUNK = 500
NEAR = (100, 103, 109, 97)


def play(first: int) -> tuple[int, int]:
    """Play CHUNK sequences; return how many goals were heard, and the seed of one that went wrong, or -1."""
    driven = 0
    for seed in range(first, first + CHUNK):
        try:
            driven += random_sequence(seed).driven
        except AssertionError:
            return driven, seed
    return driven, -1


def short(begin: tuple[int, ...], length: int) -> str:
    """Play all sequences of a length that begin so; return the first that goes wrong."""
    fates = (FINE, *HELD, *LOST)
    late_ns = 3 * CYCLE_NS + 1_000_000
    for rest in product(fates, repeat=length - len(begin)):
        sequence = [*(fates[k] for k in begin), *rest]
        loop = LateLoop(sequence, lambda k, _: NEAR[k], oldest_ns=2 * CYCLE_NS + late_ns, late_ns=late_ns)
        try:
            for _ in range(6):
                loop.cycle()
        except AssertionError as error:
            return f"{sequence}: {error}"
    return ""


def main() -> int:
    """Play and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sequences", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=6, help="of the sequences that are all played")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.processes) as pool:
        begins = list(product(range(6), repeat=2))
        for found in pool.map(short, begins, [given.length] * len(begins)):
            if found:
                print(found)
                return 1
        print(f"{6**given.length} sequences of {given.length} requests: every goal came from its own servo")
        goals = 0
        for driven, seed in pool.map(play, range(0, given.sequences, CHUNK)):
            goals += driven
            if seed >= 0:
                print(f"seed {seed} went wrong")
                return 1
    print(f"{given.sequences} random sequences, {goals} goals: each came from where its servo had been")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
