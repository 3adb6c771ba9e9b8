from __future__ import annotations

import json
from pathlib import Path

import pytest

from nuc_engine.recording.manifest import hash_files
from tests.cli.conftest import Nuc

PNG = b"\x89PNG"


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures of few pixels, to be quick."""
    monkeypatch.setattr("nuc_engine.figures.canvas.DPI", 20)


def test_a_span_is_drawn_into_a_folder_of_its_own(nuc: Nuc, bout: Path, tmp_path: Path) -> None:
    result = nuc("plot", str(bout), "--window", "0.5:1.5", "--out", "pictures", "--json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    names = ["summary_sensors_0.5-1.5s.png", "summary_states_0.5-1.5s.png", "pathstate_0.5-1.5s.png"]
    assert data["pictures"] == [f"pictures/{name}" for name in names]
    assert all((tmp_path / path).read_bytes().startswith(PNG) for path in data["pictures"])
    assert not list(bout.glob("*.png"))


def test_run_and_plot_draw_the_same_beside_the_data_without_breaking_the_manifest(nuc: Nuc, tmp_path: Path) -> None:
    result = nuc("run", "lin_roach", "--duration", "1", "--out", "d", "--plot")
    assert result.exit_code == 0
    folder = tmp_path / "d"
    expected = {"summary_sensors.png", "summary_states.png", "pathstate.png", "pathstate_FWD.png"}
    assert {path.name for path in folder.glob("*.png")} == expected
    assert all(f"d/{name}" in result.stdout for name in expected)
    assert json.loads((folder / "manifest.json").read_text())["files"] == hash_files(folder)


@pytest.mark.parametrize("window", ["20", "5:2", "a:b", "-1:2", "0:inf"])
def test_a_span_that_is_none_is_a_wrong_command_line(nuc: Nuc, bout: Path, window: str) -> None:
    result = nuc("plot", str(bout), f"--window={window}")
    assert result.exit_code == 2
    assert "20:40" in result.stderr


def test_a_span_in_which_nothing_was_recorded_is_a_line(nuc: Nuc, bout: Path) -> None:
    result = nuc("plot", str(bout), "--window", "50:60")
    assert result.exit_code == 1
    assert "the bout ends at 1.99" in result.stderr


def test_a_folder_without_data_is_a_line(nuc: Nuc, roach: Path) -> None:
    result = nuc("plot", str(roach))
    assert result.exit_code == 1
    assert "MotorData.txt" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_the_path_of_a_joint_is_drawn_as_far_from_it_as_asked_for(nuc: Nuc, bout: Path) -> None:
    words = ("--what", "path", "--joint", "FTi", "--joint", "foot", "--offset", "0.3", "--out", "pictures", "--json")
    pictures = json.loads(nuc("plot", str(bout), *words, "--window", "0.5:1.5").stdout)["pictures"]
    assert [Path(name).name for name in pictures] == ["pathstate_Femur-Tibia_0.5-1.5s.png", "pathstate_0.5-1.5s.png"]
    for wrong in (("--joint", "nix"), ("--offset", "-1"), ("--offset", "far")):
        result = nuc("plot", str(bout), "--what", "path", *wrong)
        assert result.exit_code in (1, 2), wrong
    assert "expected one of Thorax-Coxa1" in nuc("plot", str(bout), "--joint", "nix").stderr
