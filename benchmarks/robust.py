"""What is not physics must not decide: shares of rows with loads in 64 bits, half the time step, another solver.

`python -m benchmarks.robust` writes `docs/experiments/robust.md` (about 60 minutes of one core; `--missing` goes on
from what is there). Each repetition is run once as it is and once with each change, with the same seed, from 150001
on, with which nothing else was run.
"""

from __future__ import annotations

import argparse
import csv
import math
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from nuc_engine.batch.criterion import wilson
from nuc_engine.batch.pool import Workers
from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.protocol import NOT_VALID, TableRow
from nuc_engine.experiments.sharing import Shared
from nuc_engine.experiments.trials import run_trial
from nuc_engine.machine.locations import PLANT_SPEC_FILE, find_configuration

PAGE = Path("docs/experiments/robust.md")
FOUND = PAGE.with_suffix(".csv")
CONFIG = "lin_roach"
SEED = 150001
AT_ONCE = 60
"""So many seeds of each row before more of any, so that a run that is ended early has some of all."""
MARGIN = 0.10
"""Shares whose difference lies within this, with all its 95 % interval, are equivalent."""
GROUPS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("A",), 60),
    (("D1 commuting", "D2 commuting"), 150),
    (("Gb",), 60),
    (("Fb",), 60),
    (("Fa",), 60),
    (("Ec",), 150),
    (("Ga",), 600),
)
"""Rows that share bouts, and their seeds: few where the share is near 0 or 100 %, many where it is in between."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change: numbers of plant.toml, or other text in a document of the configuration (file, old, new, how often).

    It is run with no more than `most` seeds.
    """

    name: str
    plant: Mapping[str, float] = field(default_factory=dict[str, float])
    text: tuple[str, str, str, int] | None = None
    most: int = 1000


_LOAD = 'units="tick (18.4 mA)" datatype='
CHANGES = (
    Change("as it is"),
    Change("64 bits", text=("sensors.xml", f'{_LOAD}"float"', f'{_LOAD}"double"', 4)),
    Change("half step", {"world.timestep_us": 500}),
    Change("CG", text=(PLANT_SPEC_FILE, "[world]\n", '[world]\nsolver = "CG"\n', 1)),
    Change("control", {"servo.torque_cap_by_level.3": 0.27}, most=20),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """Rows that share bouts, with one change and one seed; `config` is the folder of the configuration."""

    names: tuple[str, ...]
    change: int
    seed: int
    config: str


@cache
def rows() -> dict[str, TableRow]:
    """Return all rows by the names they have in the index."""
    return {
        each.name if len(each.rows) == 1 else f"{each.name} {row.name}": row
        for each in EXPERIMENTS
        for row in each.rows
    }


def look(cell: Cell) -> dict[str, str]:
    """Return, by row, what came of the repetition."""
    change = CHANGES[cell.change]
    changed: list[TableRow] = []
    for name in cell.names:
        bouts = tuple(
            replace(plan, config=cell.config, plant={**plan.plant, **change.plant}) for plan in rows()[name].bouts
        )
        changed.append(replace(rows()[name], bouts=bouts))
    shared = Shared([plan for row in changed for plan in row.bouts], cell.seed)
    return {name: run_trial(row, cell.seed, bouts=shared).state for name, row in zip(cell.names, changed, strict=True)}


def main() -> int:
    """Run all of it and write the page; with --table write it from what was found last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help=f"run nothing, take what is in {FOUND.name}")
    parser.add_argument("--missing", action="store_true", help=f"run only what is not in {FOUND.name} yet")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if not arguments.table:
        if not arguments.missing:
            FOUND.write_text("row,change,seed,state\n", encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            _run(Path(folder), arguments.jobs)
    found = _read()
    PAGE.write_text("\n".join(_page(found)) + "\n", encoding="utf-8")
    return 0


def _read() -> dict[tuple[str, str], dict[int, str]]:
    found: dict[tuple[str, str], dict[int, str]] = {}
    with FOUND.open(encoding="utf-8", newline="") as stream:
        for line in csv.DictReader(stream):
            found.setdefault((line["row"], line["change"]), {})[int(line["seed"])] = line["state"]
    return found


def _run(folder: Path, jobs: int) -> None:
    """Run what is missing; each repetition is written down at once, so that what ends this loses nothing."""
    configs = [_config(change, folder / str(k)) for k, change in enumerate(CHANGES)]
    known = _read()
    cells = [
        Cell(names, k, seed, configs[k])
        for begin in range(0, max(count for _, count in GROUPS), AT_ONCE)
        for names, count in GROUPS
        for seed in range(SEED + begin, SEED + min(begin + AT_ONCE, count))
        for k, change in enumerate(CHANGES)
        if seed < SEED + change.most and seed not in known.get((names[0], change.name), {})
    ]
    with Workers(jobs) as workers, FOUND.open("a", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        for index, states in workers.run(look, cells):
            cell = cells[index]
            table.writerows((name, CHANGES[cell.change].name, cell.seed, state) for name, state in states.items())
            stream.flush()


def _config(change: Change, folder: Path) -> str:
    """Return the configuration to be used: a copy in `folder` where a document is changed."""
    if change.text is None:
        return CONFIG
    name, old, new, times = change.text
    shutil.copytree(find_configuration(CONFIG), folder)
    text = (folder / name).read_text(encoding="utf-8")
    if text.count(old) != times:
        raise ValueError(f"{name}: {old!r} stands there {text.count(old)} times; expected {times}")
    (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    return str(folder)


def paired(both: int, first: int, second: int, neither: int) -> tuple[float, float, float]:
    """Return second share less first, and the ends of its 95 % interval, of pairs (Newcombe 1998, method 10)."""
    of = both + first + second + neither
    p1, p2 = (both + first) / of, (both + second) / of
    low1, high1 = wilson(both + first, of)
    low2, high2 = wilson(both + second, of)
    product = both * neither - first * second
    scale = math.sqrt((both + first) * (second + neither) * (both + second) * (first + neither))
    phi = 0.0
    if scale:
        phi = (max(0.0, product - of / 2) if product > 0 else product) / scale
    down, up = _root(p2 - low2, high1 - p1, phi), _root(high2 - p2, p1 - low1, phi)
    return p2 - p1, p2 - p1 - down, p2 - p1 + up


def _root(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))


def _page(found: Mapping[tuple[str, str], Mapping[int, str]]) -> list[str]:
    lines: list[str] = []
    for name in (name for names, _ in GROUPS for name in names):
        base = found.get((name, CHANGES[0].name), {})
        if not base:
            lines.append(f"| {name} | not run | | | | |")
            continue
        lines.append(f"| {name} | {CHANGES[0].name} | {_share(base)} | | | |")
        lines += [_line(name, change, base, found.get((name, change.name), {})) for change in CHANGES[1:]]
    return [
        "# What is not physics",
        "",
        "Made by `python -m benchmarks.robust`. Every repetition is run as it is, with loads stored as 64-bit",
        "numbers instead of 32, with half the physics' time step (0.5 ms), and with MuJoCo's solver CG instead of",
        f"Newton, with the same seed (from {SEED} on, with which nothing else was run). *Difference*: of the shares",
        "as seen, changed less as it is, in percentage points, over pairs of which both are valid, with its 95 %",
        f"interval (Newcombe 1998, method 10). *Equivalent*: all of it within {MARGIN * 100:g} points. *Different*:",
        "it does not hold 0, which is a finding. Else it is *not decided* by so many seeds. *Turned*: pairs as",
        "seen only without the change, and only with it. The control is a weaker motor (torque capped at 0.27):",
        "were it equivalent everywhere, the table could tell nothing. Of so many intervals of 95 % one is expected to",
        f"miss. Every repetition: [{FOUND.name}]({FOUND.name}).",
        "",
        "| row | change | as seen, of valid | difference | turned | verdict |",
        "| --- | --- | --- | --- | --- | --- |",
        *lines,
    ]


def _share(found: Mapping[int, str]) -> str:
    valid = [state for state in found.values() if state not in NOT_VALID]
    seen = valid.count("as seen")
    return f"{seen} of {len(valid)} ({seen / len(valid):.0%})" if valid else "0 of 0"


def _line(name: str, change: Change, base: Mapping[int, str], found: Mapping[int, str]) -> str:
    both = ((base[seed], state) for seed, state in found.items() if seed in base)
    pairs = [tuple(state == "as seen" for state in pair) for pair in both if not set(pair) & set(NOT_VALID)]
    head = f"| {name} | {change.name} | {_share(found)} |"
    if not pairs:
        return f"{head} - | - | no valid pair |"
    counts = [pairs.count(each) for each in ((True, True), (True, False), (False, True), (False, False))]
    middle, low, high = paired(*counts)
    told = f"{100 * middle:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
    return f"{head} {told} | {counts[1]}, {counts[2]} | {verdict(low, high)} |"


def verdict(low: float, high: float) -> str:
    """Return what an interval of a difference says."""
    within = low >= -MARGIN and high <= MARGIN
    if not low <= 0.0 <= high:
        return "different, but by less than the margin" if within else "**different**"
    return "equivalent" if within else "not decided"


if __name__ == "__main__":
    sys.exit(main())
