"""Which numbers were free, row by row: read off plant.toml, scripts and catalogue, which name their sources.

`python -m benchmarks.free` writes `docs/experiments/free.md`.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.protocol import TableRow
from nuc_engine.experiments.sources import source_paths
from nuc_engine.machine.locations import find_script

PAGE = Path("docs/experiments/free.md")
WORDS = ("fitted", "assumed", "computed", "printed")
"""Sources a line of plant.toml may name; of several the one that leaves most freedom counts."""
FOLLOWS = "follows"
FOUND: Mapping[str, tuple[int, ...]] = {"null_roach": tuple(range(121, 133))}
"""HDSOs of configurations that were found on the emulated leg; all others are printed, or without effect."""


def plant_sources(path: Path) -> dict[str, str]:
    """Return, by `table.key`, what a plant.toml says each of its numbers comes from.

    A line that says nothing has what its table says, and else follows from the line's own words.
    """
    found: dict[str, str] = {}
    table, of_table = "", FOLLOWS
    for line in path.read_text(encoding="utf-8").splitlines():
        said, _, why = line.partition("#")
        if head := re.match(r"\[(.+)\]", said):
            table, of_table = head[1], _source(why, FOLLOWS)
        elif key := re.match(r"(\w+) = ", said):
            found[f"{table}.{key[1]}"] = _source(why, of_table)
    return found


def _source(why: str, otherwise: str) -> str:
    # "not printed" is no source, and what a line says of another version's search is one all the same.
    words = re.findall(r"\w+", why.replace("not printed", ""))
    return next((word for word in WORDS if word in words), otherwise)


def fitted_in(script: Path) -> list[str]:
    """Return the HDSOs that a script writes with a fitted value, one for each such write."""
    return re.findall(
        r'<!--(?:(?!-->).)*\b[Ff]itted\..*?-->\s*<hdsoMod idNum="(\d+)"', script.read_text("utf-8"), re.DOTALL
    )


def _set_here(row: TableRow) -> list[str]:
    """Return what bouts of a row have otherwise than their configuration and plant."""
    named = {f"HDSO {name}" for plan in row.bouts for name in plan.values}
    named |= {key for plan in row.bouts for key in plan.plant}
    named |= {f"HDSO {number}" for plan in row.bouts for number, _ in plan.edits}
    return sorted(named)


def _lines() -> Iterator[str]:
    for each in EXPERIMENTS:
        for row in each.rows:
            name = each.name if len(each.rows) == 1 else f"{each.name} {row.name}"
            plants = [path for path in source_paths(row.bouts).values() if path.suffix == ".toml"]
            counted = Counter(source for path in plants for source in plant_sources(path).values())
            configured = sorted({number for plan in row.bouts for number in FOUND.get(plan.config, ())})
            scripts = sorted({plan.script for plan in row.bouts if plan.script})
            written = sorted({(number, name) for name in scripts for number in Counter(fitted_in(find_script(name)))})
            times = {name: Counter(fitted_in(find_script(name))) for name in scripts}
            told = [f"{number}" + (" twice" if times[name][number] == 2 else "") for number, name in written]
            cells = (
                name,
                ", ".join(path.parent.name for path in plants),
                str(counted["fitted"]),
                str(counted["assumed"]),
                f"{configured[0]} to {configured[-1]}" if configured else "-",
                ", ".join(told) or "-",
                ", ".join(_set_here(row)) or "-",
            )
            yield f"| {' | '.join(cells)} |"


def page() -> str:
    """Return the page."""
    plants = sorted({path for e in EXPERIMENTS for row in e.rows for path in source_paths(row.bouts).values()})
    sources = {path.parent.name: plant_sources(path) for path in plants if path.suffix == ".toml"}
    lines = [
        "# Which numbers were free",
        "",
        "Made by `python -m benchmarks.free` from what each `plant.toml`, script and configuration says beside its",
        "numbers. *Fitted* were searched for, by what the line or [decision 0011](../decisions/0011-plant.md) or",
        "[0019](../decisions/0019-stick-plant.md) says (the masses of a leg's links by one factor); *assumed* are",
        "guesses that were not varied while rows were looked at. Rows of one leg share its plant: these numbers",
        "were fitted once, not for each row. *Configuration* and *script* are HDSOs with a found or fitted value.",
        "*Set by the row* is what its bouts have otherwise than configuration and plant: printed for *onsets* and",
        "*stick-drift* (Table 7-1) and for heights (7.1.1); the question itself for *stick-speed* (levels from 0.8",
        "to 1, found on the first plant), *speed* and *stance-drive* (rises found with tuning seeds), *foot-force*",
        "(the sensor, and its thresholds), and for what chapter 9 asks (delays, drives, noise, muscle models).",
        "",
        "| row | plant | its fitted numbers | its assumed | configuration | script | set by the row |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *_lines(),
    ]
    for name, found in sources.items():
        lines += ["", f"## Plant of {name}", "", "| source | numbers |", "| --- | --- |"]
        for word in (*WORDS, FOLLOWS):
            keys = [key for key, source in found.items() if source == word]
            if keys:
                lines.append(f"| {word} ({len(keys)}) | {', '.join(keys)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
