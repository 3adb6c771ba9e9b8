"""`nuc diagram` as it is typed."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from nuc_engine.cli.app import app
from tests.diagrams.papers import read


@pytest.fixture
def nuc(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        result = CliRunner().invoke(app, ["diagram", *map(str, words)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.mark.parametrize("what", ["sensory-flow", "event-space", "regions", "states"])
def test_each_kind_is_written_and_named(nuc, what):
    result = nuc("lin_roach", "--what", what)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == f"lin_roach_{what}.svg"
    first = Path(f"lin_roach_{what}.svg").read_bytes()
    read(first)
    nuc("lin_roach", "--what", what, "--out", "again.svg")
    assert Path("again.svg").read_bytes() == first


def test_a_moment_of_a_script_beside_another(nuc):
    result = nuc("lin_roach", "-s", "experiment_a", "--at", 20, "--against", 0, "-w", "event-space", "-o", "turn.svg")
    assert result.exit_code == 0
    texts = read(Path("turn.svg").read_bytes()).texts()
    assert texts[0] == "Event space: lin_roach with experiment_a, at 20 s"
    assert "no longer: FT_angle > 120" in texts
    assert any("different from lin_roach with experiment_a, as configured" in text for text in texts)


def test_one_configuration_beside_another(nuc):
    assert nuc("lin_roach", "--against", "null_roach", "-w", "event-space", "-o", "legs.svg").exit_code == 0
    texts = read(Path("legs.svg").read_bytes()).texts()
    assert any("different from null_roach" in text for text in texts)


def test_overlaps_are_told(nuc):
    result = nuc("pc_stickmiddle", "-w", "regions", "--joint", "CTr")
    assert "both rules hold: Coxa-Trochanter: Levation and Depression: FT_angle" in result.stdout
    assert json.loads(nuc("lin_roach", "-w", "regions", "--joint", "CTr", "--json").stdout)["overlaps"] == []


def test_states_of_a_configuration_as_data(nuc):
    data = json.loads(nuc("lin_roach", "-w", "states", "--json").stdout)
    assert data["joints"] == ["Thorax-Coxa1", "Coxa-Trochanter", "Femur-Tibia"]
    assert len(data["cycle"]) == 4
    assert data["stops_in"] is None
    assert sum(transition["in_cycle"] for transition in data["transitions"]) == 4


def test_states_of_a_bout_are_those_recorded(nuc, walked):
    result = nuc(walked, "-w", "states", "--json", "-o", "seen.svg")
    windows = json.loads(result.stdout)["windows"]
    assert [(window["begin_s"], window["end_s"]) for window in windows] == [
        (0.0, 2.0),
        (2.0, pytest.approx(4.0, abs=0.05)),
    ]
    codes = [tuple(line.split()[1::3]) for line in (walked / "StateData.txt").read_text().splitlines()]
    times = [int(line.split()[0]) / 1e9 for line in (walked / "StateData.txt").read_text().splitlines()]
    first = [(code[0], code[2], code[3]) for time, code in zip(times, codes, strict=True) if time < 2.0]
    changes = sum(a != b for a, b in pairwise(first))
    assert sum(passage["count"] for passage in windows[0]["passages"]) == changes > 3
    assert len(read(Path("seen.svg").read_bytes()).rectangles(rx="7")) == sum(len(w["states"]) for w in windows)


def test_a_span_of_a_bout_is_one_panel(nuc, walked):
    data = json.loads(nuc(walked, "-w", "states", "--json", "--begin", 1, "--end", 3).stdout)
    assert [(window["begin_s"], window["end_s"]) for window in data["windows"]] == [(1.0, 3.0)]


def test_regions_of_a_bout_show_what_the_sensors_did(nuc, walked):
    assert nuc(walked, "-w", "regions", "--joint", "FTi", "-o", "bout.svg").exit_code == 0
    sheet = read(Path("bout.svg").read_bytes())
    assert sheet.root.find(".//{http://www.w3.org/2000/svg}polyline") is not None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lin_roach", "-w", "states", "--against", "0"), "--against needs --what event-space"),
        (("lin_roach", "-w", "states", "--joint", "FTi"), "--joint needs --what regions"),
        (("lin_roach", "-w", "states", "--begin", "3", "--end", "2"), "must be before"),
        (("lin_roach", "-w", "event-space", "--against", "-1"), "expected a time"),
        (("lin_roach",), "--what"),
    ],
)
def test_what_does_not_go_together_is_said(nuc, words, said):
    result = nuc(*words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_unknown_configurations_and_joints_are_named(nuc):
    assert nuc("no_leg", "-w", "states").exit_code == 2
    result = nuc("lin_roach", "-w", "regions", "--joint", "Knee")
    assert result.exit_code == 1
    assert "Femur-Tibia" in result.stderr
    assert not list(Path().glob("*.svg"))
