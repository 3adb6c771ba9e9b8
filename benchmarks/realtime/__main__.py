"""Measure the daemon and write benchmarks/DAEMON.md: `python -m benchmarks.realtime [PART...]`, or `make bench-daemon`.

Wants the rights to real time (root, or what docs/install.md grants), cyclictest and stress-ng.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.realtime.children import Broken
from benchmarks.realtime.cycles import cycles
from benchmarks.realtime.deaths import deaths
from benchmarks.realtime.edits import edits
from benchmarks.realtime.endurance import endurance
from benchmarks.realtime.exchange import exchange
from benchmarks.realtime.floods import floods
from benchmarks.realtime.held import held
from benchmarks.realtime.off import off
from benchmarks.realtime.report import machine
from benchmarks.realtime.roundtrip import roundtrip
from benchmarks.realtime.startup import startup
from benchmarks.realtime.wakeup import wakeup
from benchmarks.realtime.wire import wire
from benchmarks.realtime.workers import workers

SHORT = ("wakeup", "exchange", "roundtrip", "startup", "off")
ALL = (*SHORT, "wire", "deaths", "held", "edits", "cycles", "workers", "floods", "endurance")
_MARK = re.compile(r"^<!-- (\w+) -->$", re.MULTILINE)
_WORDS = (
    "`make bench-daemon` measures all but wire, deaths, held, edits, cycles, workers, floods and endurance, which "
    "`make nightly` adds. A machine may be shared and its speed may drift: compare what was measured in alternating "
    "windows of one run.",
)


def main() -> None:
    """Measure the parts asked for and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(ALL)} (default: {', '.join(SHORT)})")
    parser.add_argument("--quick", action="store_true", help="few short windows: to see that it works, not to quote")
    parser.add_argument("--minutes", type=float, default=30.0, help="how long endurance lasts (default: 30)")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "DAEMON.md")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(ALL)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    quick = arguments.quick
    measures: dict[str, Callable[[], list[str]]] = {
        "wakeup": lambda: wakeup(3 if quick else 10, 1 if quick else 3),
        "exchange": lambda: exchange(3 if quick else 10, 1 if quick else 2),
        "roundtrip": lambda: roundtrip(3 if quick else 10, 100 if quick else 500),
        "startup": lambda: startup(3 if quick else 10),
        "off": lambda: off(5 if quick else 20),
        "wire": lambda: wire(1 if quick else 4, 0.3 if quick else 0.5),
        "deaths": lambda: deaths(20 if quick else 500),
        "held": lambda: held(8 if quick else 300),
        "edits": lambda: edits(5 if quick else 60, 2 if quick else 5),
        "cycles": lambda: cycles(4 if quick else 20, 2 if quick else 3),
        "workers": lambda: workers(1 if quick else 5, 5 if quick else 20),
        "floods": lambda: floods(1 if quick else 10, 2 if quick else 3),
        "endurance": lambda: endurance(arguments.minutes),
    }
    for part in arguments.parts or SHORT:
        section = _measure(part, measures[part])
        sections = {**_kept(arguments.out), part: "\n".join(section).rstrip("\n")}
        _write(arguments.out, sections)
    sys.stdout.write(arguments.out.read_text() + f"\nwritten to {arguments.out}\n")


def _measure(part: str, measure: Callable[[], list[str]]) -> list[str]:
    sys.stderr.write(f"{part} ...\n")
    busy = os.getloadavg()[0]
    try:
        heading, *rest = measure()
    except Broken as error:
        # One part that cannot be measured keeps none of the others from it.
        traceback.print_exc()
        heading, rest = f"## {part}", ["", f"Could not be measured: {str(error).splitlines()[0]}", ""]
    words = " ".join(["benchmarks.realtime", *sys.argv[1:]])
    return [heading, "", f"Made by `python -m {words}`; load average before it {busy:.1f}. {machine()}.", *rest]


def _kept(out: Path) -> dict[str, str]:
    """Return the sections of an earlier report, by part: each stands behind its mark."""
    if not out.exists():
        return {}
    _, *pieces = _MARK.split(out.read_text())
    return {part: text.strip("\n") for part, text in zip(pieces[::2], pieces[1::2], strict=True)}


def _write(out: Path, sections: Mapping[str, str]) -> None:
    lines = ["# The daemon, measured", "", *_WORDS, ""]
    for part in ALL:
        if part in sections:
            lines += [f"<!-- {part} -->", sections[part], ""]
    out.write_text("\n".join(lines).rstrip("\n") + "\n")


if __name__ == "__main__":
    main()
