"""`nuc ls`, `nuc stats`, `nuc compare`, and `nuc export` into tables."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from nuc_engine.bout.run import BoutSpec, run_bout
from tests.cli.conftest import CONFIGS, Nuc

PNG = b"\x89PNG"


@pytest.fixture(scope="session")
def stepping_bouts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two bouts of ten seconds with different seeds, not to be changed."""
    place = tmp_path_factory.mktemp("bouts")
    for seed in (11, 12):
        result = run_bout(BoutSpec(str(CONFIGS / "lin_roach"), place / f"seed{seed}", duration_s=8.0, seed=seed))
        assert result.state == "complete"
    return place


@pytest.fixture
def pair(stepping_bouts: Path) -> tuple[str, str]:
    return str(stepping_bouts / "seed11"), str(stepping_bouts / "seed12")


@pytest.fixture
def torn(bout: Path) -> Path:
    """A bout with a log that is damaged in the middle."""
    path = bout / "SensData.txt"
    path.write_text(path.read_text().replace("\n", "\nrubbish\n", 1))
    return bout


def test_ls_lists_what_there_is(nuc: Nuc, stepping_bouts: Path) -> None:
    result = nuc("ls", str(stepping_bouts))
    assert result.exit_code == 0
    head, *rows, last = result.stdout.splitlines()
    assert head.split() == ["bout", "configuration", "s", "state", "seed"]
    assert [row.split() for row in rows] == [
        ["seed11", "lin_roach", "8.0", "complete", "11"],
        ["seed12", "lin_roach", "8.0", "complete", "12"],
    ]
    assert last == "2 bouts"
    data = json.loads(nuc("ls", str(stepping_bouts), "--json").stdout)
    assert [(entry["seed"], entry["state"], entry["duration_s"]) for entry in data["bouts"]] == [
        (11, "complete", 8.0),
        (12, "complete", 8.0),
    ]


def test_ls_judges_when_asked_to(nuc: Nuc, stepping_bouts: Path) -> None:
    data = json.loads(nuc("ls", str(stepping_bouts), "--judge", "--json").stdout)
    seen = [entry["seen"] for entry in data["bouts"]]
    told = [json.loads(nuc("stats", entry["folder"], "--json").stdout)["bouts"][0] for entry in data["bouts"]]
    assert [[window["outcome"] for window in bout["windows"]] for bout in told] == seen
    assert all(seen)


def test_ls_goes_on_past_what_is_damaged(nuc: Nuc, torn: Path, stepping_bouts: Path) -> None:
    place = torn.parent
    shutil.copytree(stepping_bouts / "seed11", place / "good")
    (place / "broken").mkdir()
    (place / "broken" / "manifest.json").write_text("{")
    result = nuc("ls", str(place), "--judge")
    assert result.exit_code == 1
    assert "3 bouts" in result.stdout
    assert "broken" in result.stderr
    assert "SensData.txt" in result.stderr
    assert "good" in result.stdout
    assert "Traceback" not in result.output


def test_ls_of_nothing(nuc: Nuc, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    result = nuc("ls", "none")
    assert (result.exit_code, result.stdout) == (0, "no data directories in none\n")
    result = nuc("ls")
    assert result.exit_code == 1
    assert "data: no such directory" in result.stderr


def test_stats_has_a_table_and_numbers(nuc: Nuc, pair: tuple[str, str]) -> None:
    result = nuc("stats", *pair, "--settle", "2")
    assert result.exit_code == 0
    assert result.stdout.count("what is seen") == 2
    assert "period (s)" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100 + len(pair[0])
    data = json.loads(nuc("stats", *pair, "--settle", "2", "--json").stdout)
    assert data["ok"]
    window = data["bouts"][0]["windows"][0]
    assert (window["begin_s"], window["measured_from_s"]) == (0.0, 2.0)
    assert window["quantities"]["period"]["n"] == window["steps"]


def test_stats_of_a_span(nuc: Nuc, pair: tuple[str, str]) -> None:
    data = json.loads(nuc("stats", pair[0], "--window", "3:6", "-w", "6:99", "--settle", "0", "--json").stdout)
    spans = [(window["begin_s"], window["end_s"]) for window in data["bouts"][0]["windows"]]
    assert spans == [(3.0, 6.0), (6.0, pytest.approx(8.0, abs=0.02))]
    result = nuc("stats", pair[0], "--window", "50:60")
    assert result.exit_code == 1
    assert "nothing was recorded from 50 to 60 s" in result.stderr


def test_stats_tells_the_others_when_one_can_not_be_read(nuc: Nuc, torn: Path, pair: tuple[str, str]) -> None:
    result = nuc("stats", str(torn), pair[0])
    assert result.exit_code == 1
    assert "what is seen" in result.stdout
    assert "SensData.txt" in result.stderr
    data = json.loads(nuc("stats", str(torn), pair[0], "--json").stdout)
    assert not data["ok"]
    assert len(data["bouts"]) == len(data["errors"]) == 1


def test_compare_tells_settings_and_steps(nuc: Nuc, pair: tuple[str, str], tmp_path: Path) -> None:
    result = nuc("compare", *pair, "--settle", "2", "--figure", "steps.png")
    assert result.exit_code == 0
    assert "spec.seed  11 -> 12" in result.stdout
    assert "seed11 -> seed12: " in result.stdout
    assert "mean step differs by (deg, rms)" in result.stdout
    assert (tmp_path / "steps.png").read_bytes().startswith(PNG)
    data = json.loads(nuc("compare", *pair, "--settle", "2", "--json").stdout)
    # The commit is told as well, and somebody may have committed between the two bouts.
    told = [item["name"] for item in data["differences"]["seed12"] if item["section"] != "version"]
    assert told == ["spec.seed"]
    assert data["angles"][0]["rms_deg"] > 0
    assert len(data["bouts"]) == 2


def test_compare_shows_edits_that_were_made(nuc: Nuc, bout: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(bout, tmp_path / "other"))
    path = other / "Scriptlog.xml"
    text = path.read_text()
    assert text.count(">61<") + text.count(">61 <") == 1
    path.write_text(text.replace(">61", ">58"))
    data = json.loads(nuc("compare", str(bout), str(other), "--json").stdout)
    assert [(item["name"], item["a"], item["b"]) for item in data["differences"]["other"]] == [
        ("at 0.5 s, TC1_retLEV_FTang", "61", "58")
    ]


def test_compare_of_the_same_bout_finds_nothing(nuc: Nuc, pair: tuple[str, str]) -> None:
    result = nuc("compare", pair[0], pair[0], "--window", "2:8", "--settle", "0")
    assert result.exit_code == 0
    assert "seed11 (1) -> seed11 (2): 0 differences" in result.stdout
    errors = result.stdout[result.stdout.index("mean step differs") :].splitlines()[1:]
    assert {line.split()[-1] for line in errors if line.strip()} == {"0.00"}


def test_compare_needs_two_that_can_be_read(nuc: Nuc, torn: Path, pair: tuple[str, str]) -> None:
    assert nuc("compare", pair[0]).exit_code == 2
    result = nuc("compare", pair[0], str(torn))
    assert result.exit_code == 1
    assert "fewer than two bouts" in result.stderr
    assert "SensData.txt" in result.stderr
    result = nuc("compare", pair[0], str(torn), pair[1])
    assert result.exit_code == 1
    assert "mean step differs" in result.stdout


def test_export_into_tables(nuc: Nuc, bout: Path) -> None:
    pytest.importorskip("pyarrow")
    for form in ("parquet", "csv"):
        result = nuc("export", str(bout), f"--{form}", "--grid", "0.01", "--json")
        assert result.exit_code == 0
        data = json.loads(result.stdout)
        folder = bout.with_name(f"{bout.name}_{form}")
        assert data["folder"] == str(folder)
        names = {"motors", "sensors", "states", "muscles", "plant", "unified"}
        assert set(data["rows"]) == names
        assert {path.stem for path in folder.iterdir()} == names | ({"columns"} if form == "csv" else set())
        assert data["rows"]["motors"] == len((bout / "MotorData.txt").read_text().splitlines())
    result = nuc("export", str(bout), "--csv", "--grid", "0.01", "--out", "tables-of-this-bout")
    assert result.stdout.startswith("tables-of-this-bout: motors ")
    assert f"unified {data['rows']['unified']} rows" in " ".join(result.stdout.split())
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
    assert not list(bout.parent.glob(".*"))


def test_export_leaves_nothing_half_done(nuc: Nuc, torn: Path) -> None:
    result = nuc("export", str(torn), "--csv")
    assert result.exit_code == 1
    assert "SensData.txt" in result.stderr
    assert [path.name for path in torn.parent.iterdir()] == [torn.name]


def test_export_needs_a_form(nuc: Nuc, bout: Path) -> None:
    assert nuc("export", str(bout)).exit_code == 2
    assert nuc("export", str(bout), "--mcap", "--grid", "0.1").exit_code == 2
    assert nuc("export", str(bout), "--csv", "--grid", "0").exit_code == 2


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures of few pixels, to be quick."""
    monkeypatch.setattr("nuc_engine.figures.canvas.DPI", 20)


@pytest.mark.usefixtures("coarse")
def test_plot_draws_what_is_asked_for(nuc: Nuc, bout: Path) -> None:
    words = ("--what", "motors", "--begin", "1.5", "--out", "p", "--format", "svg", "--json")
    data = json.loads(nuc("plot", str(bout), *words).stdout)
    names = [Path(path).name for path in data["pictures"]]
    assert len(names) == 4
    assert any(name.startswith("motor_Femur_Tibia_motor_1.5-") and name.endswith("s.svg") for name in names)
    words = ("--what", "path", "--projection", "side", "--window", "0:1", "--out", "q", "--json")
    data = json.loads(nuc("plot", str(bout), *words).stdout)
    assert [Path(path).name for path in data["pictures"]] == ["pathstate_0-1s.png"]


def test_plot_refuses_times_that_make_no_sense(nuc: Nuc, bout: Path) -> None:
    for words in (
        ("--begin", "1.5", "--end", "0.5"),
        ("--begin", "1", "--window", "0:1"),
        ("--begin", "-1"),
        ("--begin", "9"),
    ):
        assert nuc("plot", str(bout), *words).exit_code == 2, words
