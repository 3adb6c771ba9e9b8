"""A leg's RunConfig on the command line: run, shown, validated, compared, swept."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

from nuc_engine.machine.locations import find_configuration
from tests.cli.conftest import Nuc

SHORT = ("--duration", "0.4")


def test_it_is_run_by_name_folder_and_file_and_is_the_bout_by_options(nuc: Nuc) -> None:
    shutil.copytree(find_configuration("leg_turns"), "mine")
    friction = ("--set", "plant.world.friction=0.09")
    for k, name in enumerate(("leg_turns", "mine", "mine/run.toml")):
        result = nuc("run", name, "--out", f"data/{k}", "--label", "day=one", *friction, *SHORT)
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith(f"data      data/{k}")
    options = ("--script", "experiment_a", "--plant", "world.friction=0.09")
    assert nuc("run", "lin_roach", "--out", "data/options", *options, *SHORT).exit_code == 0
    logs = {(Path("data") / name / "MotorData.txt").read_bytes() for name in ("0", "1", "2", "options")}
    assert len(logs) == 1
    labels = json.loads(Path("data/2/manifest.json").read_text())["spec"]["labels"]
    assert labels.keys() == {"experiment", "note", "day"}
    assert (Path("data/2/run.toml")).read_bytes() == Path("mine/run.toml").read_bytes()
    assert nuc("replay", "data/2").exit_code == 0
    assert nuc("verify", "data/2").exit_code == 0
    assert nuc("run", "leg_turns", "--json", *SHORT).exit_code == 0
    assert [path.name.split("_", 2)[2] for path in Path("data").glob("*_*")] == ["leg_turns"]


def test_options_that_it_says_itself_are_refused(nuc: Nuc) -> None:
    refused = nuc("run", "leg_turns", "--script", "experiment_a", "--plant", "world.friction=1")
    assert refused.exit_code == 2
    assert "--script, --plant: not of a leg's RunConfig" in refused.stderr
    assert nuc("run", "leg_turns", "--controller", "flight_hover").exit_code == 2
    wrong = nuc("run", "leg_turns", "--set", "plant.world.friction=-1", "--set", "values.nothing=1")
    assert wrong.exit_code == 1
    assert [line.partition("run.toml: ")[2].partition(":")[0] for line in wrong.stderr.splitlines()] == [
        "values",
        "plant",
    ]
    assert not Path("data").exists()


def test_it_is_shown_validated_and_compared(nuc: Nuc) -> None:
    assert "plant.world.friction" in nuc("show", "leg_turns").stdout
    assert json.loads(nuc("show", "leg_turns", "--json").stdout)["drawn"].keys() == {"plant.world.friction"}
    shutil.copytree(find_configuration("leg_turns"), "mine")
    text = Path("mine/run.toml").read_text()
    Path("mine/run.toml").write_text(text.replace("duration_s = 60.0", "duration_s = 0.3"))
    assert "  timing.duration_s  60 -> 0.3" in nuc("diff", "leg_turns", "mine/run.toml").stdout
    nuc("run", "mine", "--out", "data/a")
    compared = nuc("diff", "data/a", "mine")
    assert "  plant.world.friction  only in A" in compared.stdout
    assert nuc("validate", "mine", "mine/run.toml").exit_code == 0
    Path("mine/run.toml").write_text(text.replace('"experiment_a"', '"none"').replace("FT_angle", "FT_angel"))
    told = nuc("validate", "mine").stdout
    assert "leg.script" in told
    assert "stop.above.FT_angel: no HDSO with a number, expected the name of one (did you mean 'FT_angle'?)" in told


def test_it_is_swept_and_draws_with_each_seed(nuc: Nuc) -> None:
    words = ("sweep", "leg_turns", "--duration", "0.4", "--seeds", "0:1", "--jobs", "1")
    assert nuc(*words, "--keep", "data", "--out", "drawn.csv").exit_code == 0
    kept = [json.loads((path / "manifest.json").read_text())["spec"] for path in sorted(Path("data").iterdir())]
    assert [spec["seed"] for spec in kept] == [0, 1]
    assert len({spec["plant"]["world.friction"] for spec in kept}) == 2
    assert nuc(*words, "-v", "plant.world.friction=0.08,0.09", "--out", "varied.csv").exit_code == 0
    with Path("varied.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert [row["plant.world.friction"] for row in rows] == ["0.08", "0.08", "0.09", "0.09"]
    assert {row["state"] for row in rows} == {"complete"}
