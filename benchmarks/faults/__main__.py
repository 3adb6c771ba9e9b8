"""Write docs/faults.md, or measure what stands in it: see the package."""

from __future__ import annotations

import argparse
import sys

from benchmarks.faults import page
from benchmarks.faults.measure import measure


def main() -> None:
    """Do what the words say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("page", "measure"))
    parser.add_argument("--runs", type=int, default=20, help="of each row (default: 20)")
    parser.add_argument("--pair-runs", type=int, default=20, help="of each pair (default: 20)")
    parser.add_argument("--side-by-side", type=int, default=2, help="daemons at a time (default: 2)")
    arguments = parser.parse_args()
    wrong = measure(arguments.runs, arguments.pair_runs, arguments.side_by_side) if arguments.what == "measure" else []
    page.write()
    if wrong:
        sys.exit("\n".join([f"{len(wrong)} did not hold:", *wrong]))


if __name__ == "__main__":
    main()
