"""All repetitions of all verdicts as one tidy table, for R and pandas: one line for each number of each repetition.

A repetition without numbers has one line whose `number` is empty, so that none is missing from counts. Columns are
`COLUMNS`; `plant` names the description of the leg by its file and the first 12 digits of its sha256, so that
repetitions of one version can be told from those of another in a table over both. `robot` of `robot_of` repetitions of
the robot came out as seen, and `robot_kicked` of `robot_kicked_of` needed a kick; empty where no number is printed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from nuc_engine.batch.table import write_table
from nuc_engine.batch.task import Cell
from nuc_engine.experiments.protocol import Experiment, Trial
from nuc_engine.experiments.verdict import Verdict

COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "experiment": "text",
        "row": "text",
        "control": "yes or no",
        "seed": "whole number",
        "state": "text",
        "kicks": "whole number",
        "start_kicks": "whole number",
        "plant": "text",
        "commit": "text",
        "robot": "whole number",
        "robot_of": "whole number",
        "robot_kicked": "whole number",
        "robot_kicked_of": "whole number",
        "number": "text",
        "value": "number",
    }
)
"""Name of each column -> what it holds, as `nuc_engine.batch.table` has it."""

_ROBOT = ("robot", "robot_of", "robot_kicked", "robot_kicked_of")
_DIGITS = 12


def write_tidy(path: Path, verdicts: Sequence[Verdict], experiments: Sequence[Experiment]) -> int:
    """Write the table to FILE.csv or FILE.parquet; return how many repetitions are in it. Raises as `write_table`.

    `experiments` say what the robot did.
    """
    described = {"verdicts": {each.name: each.sources.commit for each in verdicts}}
    write_table(path, COLUMNS, tidy(verdicts, experiments), described)
    return sum(len(row.trials) + len(row.control.trials) for each in verdicts for row in each.rows)


def tidy(verdicts: Iterable[Verdict], experiments: Iterable[Experiment]) -> Iterator[dict[str, Cell]]:
    """Yield the lines of the table, in the order of the verdicts, their rows, and seeds."""
    robots = {(each.name, row.name): (row.robot, row.robot_kicked) for each in experiments for row in each.rows}
    for verdict in verdicts:
        plant = _plant(verdict.sources.files)
        for row in verdict.rows:
            saw, kicked = robots.get((verdict.name, row.name), (None, None))
            robot = dict(zip(_ROBOT, (*(saw or (None, None)), *(kicked or (None, None))), strict=True))
            for control, trials in ((False, row.trials), (True, row.control.trials)):
                for trial in trials:
                    head: dict[str, Cell] = {
                        "experiment": verdict.name,
                        "row": row.name,
                        "control": control,
                        "seed": trial.seed,
                        "state": trial.state,
                        "kicks": trial.kicks,
                        "start_kicks": trial.start_kicks,
                        "plant": plant,
                        "commit": verdict.sources.commit,
                        **robot,
                    }
                    yield from (head | {"number": name, "value": value} for name, value in _numbers(trial))


def _numbers(trial: Trial) -> list[tuple[str, float | None]]:
    found = [(name, value if math.isfinite(value) else None) for name, value in trial.numbers.items()]
    return found or [("", None)]


def _plant(files: Mapping[str, str]) -> str:
    """Return the descriptions of legs a verdict rests on, by file and the beginning of their sums."""
    plants = {name.removeprefix("configs/"): sums[:_DIGITS] for name, sums in files.items() if name.endswith(".toml")}
    return " ".join(f"{name}@{digits}" for name, digits in sorted(plants.items()))
