"""RunConfigs on the command line: run, shown, validated, compared, repeated, verified."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from nuc_engine.bout.episode import EpisodeSpec, record_episode
from nuc_engine.cli.look.afresh import _repeat, circumstances
from nuc_engine.machine.locations import find_configuration, list_runs
from tests.cli.conftest import CONFIGS, Nuc

SHORT = ("--duration", "0.5")


def test_a_flight_is_run_repeated_and_verified(nuc: Nuc) -> None:
    result = nuc("run", "flight_random", "--seed", "4", "--out", "data/a", "--label", "day=one", *SHORT)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == [
        "data      data/a",
        "episode   0.5 s, 50 steps of 0.01 s: ran for the time asked for",
    ]
    assert "drawn     dynamics.mass_kg = " in result.stdout
    assert nuc("replay", "data/a").exit_code == 0
    assert nuc("verify", "data/a").exit_code == 0
    listed = nuc("ls", "data").stdout
    assert "flight_random" in listed
    assert json.loads(Path("data/a/manifest.json").read_text())["spec"]["labels"] == {"day": "one"}


def test_values_are_replaced_and_json_has_the_last_state(nuc: Nuc) -> None:
    result = nuc("run", "flight_hover", "--scratch", "data/a", "--set", "dynamics.mass_kg=2", "--json", *SHORT)
    data = json.loads(result.stdout)
    assert (data["ok"], data["steps"], data["limited"]) == (True, 50, None)
    assert set(data["last"]) >= {"x_m", "yaw_rad"}
    assert json.loads(Path("data/a/manifest.json").read_text())["spec"]["resolved"]["dynamics"]["mass_kg"] == 2


def test_what_cannot_be_run_is_told_line_by_line(nuc: Nuc) -> None:
    result = nuc("run", "flight_hover", "--set", "dynamics.mass_kg=-2", "--set", "foo=1", "--duration", "0.001")
    assert result.exit_code == 1
    assert [line.partition("run.toml: ")[2].partition(";")[0] for line in result.stderr.splitlines()] == [
        "foo: no such value",
        "timing.duration_s: 0.001 is no multiple of dt_s",
        "dynamics.mass_kg: -2",
    ]
    assert not Path("data").exists()


def test_options_of_legs_and_of_flights_are_kept_apart(nuc: Nuc) -> None:
    refused = nuc("run", "flight_hover", "--bus", "loopback:", "--plot")
    assert refused.exit_code == 2
    assert "--bus, --plot: for legs" in refused.stderr
    assert nuc("run", "lin_roach", "--set", "dynamics.mass_kg=1").exit_code == 2
    assert nuc("show", "flight_hover", "--angles", "1").exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        ("demo", "flight_hover"),
        ("diagram", "flight_hover", "--what", "states"),
        ("minimise", "experiment_a", "--config", "flight_hover", "--at", "3"),
        ("serve", "flight_hover"),
    ],
)
def test_commands_of_legs_say_that_it_is_a_runconfig(nuc: Nuc, words: tuple[str, ...], tmp_path: Path) -> None:
    refused = nuc(*words)
    assert refused.exit_code == 2
    assert "flight_hover is a RunConfig; expected the configuration of a leg" in refused.stderr
    shutil.copytree(find_configuration("flight_hover"), tmp_path / "mine")
    refused = nuc("demo", str(tmp_path / "mine"))
    assert (refused.exit_code, "is a RunConfig" in refused.stderr) == (2, True)


def test_a_flight_that_diverges_is_bad(nuc: Nuc) -> None:
    result = nuc("run", "flight_circle", "--scratch", "data/a", "--set", "dynamics.tau_roll_s=0.001")
    assert result.exit_code == 1
    assert "fault: diverged" in result.stderr


def test_limited_controls_are_told_once(nuc: Nuc) -> None:
    result = nuc("run", "flight_limited", "--scratch", "data/a")
    assert result.exit_code == 0
    assert result.stderr.count("limited") == 2
    assert result.stderr.startswith("warning: ")


def test_shown_with_what_is_drawn(nuc: Nuc) -> None:
    for name in list_runs():
        text = nuc("show", name).stdout
        assert text.startswith(name)
        assert max(map(len, text.splitlines())) <= 80
    assert "(drawn)" in next(line for line in nuc("show", "flight_random").stdout.splitlines() if "mass_kg" in line)
    assert "(drawn: 0, 1, 2)" in " ".join(nuc("show", "flight_practice").stdout.split())
    data = json.loads(nuc("show", "flight_random", "--json").stdout)
    assert data["resolved"]["dynamics"]["mass_kg"] == data["drawn"]["dynamics.mass_kg"]


def test_validated_all_in_one_go(nuc: Nuc, tmp_path: Path) -> None:
    assert nuc("validate", *list_runs()).exit_code == 0
    bad = tmp_path / "bad"
    bad.mkdir()
    text = (CONFIGS / "flight_hover" / "run.toml").read_text()
    (bad / "run.toml").write_text(text.replace("dt_s = 0.01", "dt_s = nan").replace("drag_per_s", "drag"))
    result = nuc("validate", "bad", "bad/run.toml", "flight_hover")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[-1] == "3 RunConfigs: 6 errors, 0 warnings"
    assert all("expected" in line for line in lines[:-1])
    (bad / "run.toml").write_text("[timing")
    assert nuc("validate", "bad").stdout.startswith("bad/run.toml:1: error: ")


def test_compared_number_by_number_and_bit_by_bit(nuc: Nuc) -> None:
    assert nuc("diff", "flight_hover", "flight_hover").exit_code == 0
    result = nuc("diff", "flight_hover", "flight_circle")
    assert result.exit_code == 1
    assert "  reference.kind  hover -> circle" in result.stdout
    assert nuc("diff", "flight_hover", "lin_roach").exit_code == 2
    for seed in ("0", "1"):
        nuc("run", "flight_random", "--seed", seed, "--out", f"data/{seed}", *SHORT)
    told = nuc("diff", "data/0", "data/1").stdout
    assert "EpisodeData.f64, record 1 at 0 s, x_m" in told
    assert nuc("diff", "data/0", "flight_hover").exit_code == 1


def test_drawn_as_one_figure_equal_to_the_byte(nuc: Nuc) -> None:
    nuc("run", "flight_limited", "--out", "data/a", *SHORT)
    assert nuc("plot", "data/a").stdout == "data/a/flight.png\n"
    assert nuc("plot", "data/a", "--out", "other").stdout == "other/flight.png\n"
    picture = Path("data/a/flight.png").read_bytes()
    assert picture == Path("other/flight.png").read_bytes()
    assert len(picture) > 20_000
    assert nuc("verify", "data/a").exit_code == 0
    assert nuc("plot", "data/a", "--what", "joints").exit_code == 2
    Path("data/a/EpisodeData.f64").unlink()
    assert nuc("plot", "data/a").exit_code == 1


def test_the_same_again_in_fresh_processes_and_another_with_another_seed(
    nuc: Nuc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nuc_engine.cli.look.afresh.BUSY", 1)
    nuc("run", "flight_random", "--out", "data/a", *SHORT)
    result = nuc("verify", "data/a", "--again", "--json")
    assert result.exit_code == 0
    told = [each["told"] for each in json.loads(result.stdout)["again"]]
    assert told[:3] == ["the same bytes"] * 3
    assert told[3].startswith("differs from EpisodeData.f64, record 1, ")
    manifest = json.loads(Path("data/a/manifest.json").read_text())
    assert manifest["spec"]["seed"] == 0


def test_what_is_not_the_same_again_is_bad(tmp_path: Path) -> None:
    """A bout whose numbers another one would leave, and a bout that another seed does not change though it should."""
    spec = EpisodeSpec("flight_random", tmp_path / "a", {"timing.duration_s": 0.1})
    folder = record_episode(spec).folder
    path = folder / "manifest.json"
    said = json.loads(path.read_text())
    one, *_, seeded = circumstances(said["spec"])
    assert (one.same, seeded.same) == (True, False)
    fixed = {key: said["spec"]["drawn"][key] for key in said["spec"]["drawn"]}
    said["spec"]["changes"] = {**said["spec"]["changes"], **fixed}
    path.write_text(json.dumps(said))
    with_seed = _repeat(folder, tmp_path / "1", seeded)
    assert (with_seed.good, with_seed.told) == (False, "the same bytes")
    rows = bytearray((folder / "EpisodeData.f64").read_bytes())
    rows[8] ^= 1
    (folder / "EpisodeData.f64").write_bytes(bytes(rows))
    again = _repeat(folder, tmp_path / "0", one)
    assert (again.good, again.told) == (False, "differs from EpisodeData.f64, record 1, x_m on")
    assert circumstances({"drawn": {}})[-1].same
    assert not circumstances({"bus": "emulated:?turnaround_us=230"})[-1].same
    assert len(circumstances({"bus": "loopback:"})) == 3
