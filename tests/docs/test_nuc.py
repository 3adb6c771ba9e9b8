"""docs/nuc.md: from pip install to a flying surrogate in ten commands, each of which is run (the first is read)."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from nuc_engine.cli.app import app
from tests.docs.commands import ROOT

PAGE = (ROOT / "docs/nuc.md").read_text(encoding="utf-8")
SHORTER = (("--seeds 0:149", "--seeds 0:29"), (" fit ", " fit --steps 1500 "), (" eval ", " eval --seeds 0:1 "))
"""The same with less to compute."""


def commands() -> list[str]:
    section = PAGE.split("## From nothing", 1)[1].split("And on from there", 1)[0]
    return [line.strip() for line in section.splitlines() if line.startswith("    ")]


def test_ten_commands_lead_from_nothing_to_a_flying_surrogate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nuc_engine.figures.canvas.DPI", 20)
    install, *others = commands()
    assert len(others) == 9
    extras = install.removeprefix("pip install -e '.[").removesuffix("]'").split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras) <= set(project["optional-dependencies"])
    for whole in others:
        line = whole
        for long, short in SHORTER:
            line = line.replace(long, short)
        result = CliRunner().invoke(app, shlex.split(line)[1:])
        assert result.exit_code == 0, (line, result.output)
    made = ("data/helix/flight.png", "practice.parquet", "my_pilot/run.toml", "data/judged/report.md")
    made += ("data/judged/paths.png", "data/flown/EpisodeData.f64", "data/flown/flight.png")
    assert [name for name in made if not Path(name).is_file()] == []
    assert "| flight_limited_helix | my_pilot |" in Path("data/judged/report.md").read_text()
