"""docs/analysis.md: its program runs, and its tables are those of the program."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from nuc_engine import analysis, figures
from nuc_engine.analysis.stepstats import QUANTITIES
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.cli.app import COMMANDS
from nuc_engine.figures.figures import WHAT
from nuc_engine.figures.path_state import VIEWS

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "analysis.md").read_text(encoding="utf-8")


def table(heading: str) -> list[list[str]]:
    part = TEXT.split(f"## {heading}", 1)[1] if heading else TEXT
    rows = re.findall(r"(?:^\|.*\n)+", part, re.MULTILINE)[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_quantities_and_units_are_those_that_are_measured() -> None:
    told = [(name, unit) for names, unit, _ in table("Step statistics") for name in re.findall(r"`(\w+)`", names)]
    assert told == [(name, unit) for name, (unit, _) in QUANTITIES.items()]


def test_commands_and_functions_exist() -> None:
    for command, functions, _ in table(""):
        assert re.search(r"nuc (\w+)", command)[1] in COMMANDS
        for name in re.findall(r"`(\w+)", functions):
            assert getattr(analysis if name in analysis.__all__ else figures, name)


def test_choices_are_named() -> None:
    for name in WHAT:
        assert f"`{name}`" in TEXT
    assert f"`--projection {'|'.join(VIEWS)}`" in TEXT


def test_the_programs_run_one_behind_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_bout(BoutSpec(str(ROOT / "configs" / "lin_roach"), tmp_path / "data" / "experiment_a", duration_s=4.0, seed=5))
    monkeypatch.chdir(tmp_path)
    program = "".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
    # A short bout will do here: 2 s to 4 s instead of 20 s to 40 s.
    names: dict = {}
    exec(program.replace("subset(20, 40)", "subset(2, 4)"), names)
    assert names["table"].t_s[0] == 0.0
    assert names["points"].shape == (len(names["table"]), 5, 3)
    assert np.isfinite(names["points"][5:-5]).all()
    assert (tmp_path / "knee.png").stat().st_size > 10_000
    out = capsys.readouterr().out
    assert "Joint Femur-Tibia (FTi)" in out
    assert out.splitlines()[-1].startswith("FWD ")
