"""Many episodes: rows that are those of single ones, going on after an end, and datasets split by what is in them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from pyarrow import parquet

from nuc_engine.batch import dataset, episodes
from nuc_engine.batch.axes import parse_axis
from nuc_engine.batch.dataset import make_dataset, split
from nuc_engine.batch.episodes import make_episodes, run_block, sweep_episodes
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.bout.episode import EpisodeSpec, record_episode
from nuc_engine.cli.app import app
from nuc_engine.machine.locations import find_configuration
from nuc_engine.recording.rows import read_rows


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run blocks in this process: what the pool does with processes, its own tests see."""

    def run_all(function: Callable[[Any], Any], items: list[Any], *, jobs: int | None = None) -> Any:
        return ((k, function(item)) for k, item in enumerate(items))

    monkeypatch.setattr(episodes, "run_all", run_all)
    monkeypatch.setattr(episodes, "BLOCK", 4)
    monkeypatch.setattr(dataset, "BLOCK", 4)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_is_what_a_single_run_is(tmp_path: Path) -> None:
    plan = make_episodes(["flight_random"], [parse_axis("dynamics.mass_kg=0.8,1.5")], seeds=(3, 4, 5), duration_s=1.0)
    result = sweep_episodes(plan, tmp_path / "a.csv")
    assert (result.rows, dict(result.states)) == (6, {"complete": 6})
    rows = table(tmp_path / "a.csv")
    assert [(row["dynamics.mass_kg"], row["seed"]) for row in rows] == [
        (mass, seed) for mass in ("0.8", "1.5") for seed in "345"
    ]
    changes = {"dynamics.mass_kg": 1.5, "seed": 4, "timing.duration_s": 1.0}
    recorded = record_episode(EpisodeSpec("flight_random", tmp_path / "b", changes))
    names, log = read_rows(recorded.folder)
    error = np.linalg.norm(log[:, 1:4] - log[:, names.index("ref_x_m") :][:, :3], axis=1)
    assert float(rows[4]["rms_error_m"]) == pytest.approx(np.sqrt((error**2).mean()), rel=1e-12)
    assert float(rows[4]["max_error_m"]) == pytest.approx(error.max(), rel=1e-12)
    said = json.loads((recorded.folder / "manifest.json").read_text())
    assert rows[4]["rows_sha256"] == said["files"]["EpisodeData.f64"]
    assert rows[4]["reference"] == said["spec"]["sha256"]["reference"]


def test_what_cannot_be_run_is_told_before_anything_is(tmp_path: Path) -> None:
    with pytest.raises(BulkRefused) as told:
        make_episodes(["flight_hover", "flight_circle"], [parse_axis("dynamics.mass_kg=-1:1:3"), parse_axis("x=1,2")])
    lines = [line.partition(";")[0] for line in str(told.value).splitlines()]
    assert lines == [
        f"{name}: {what}"
        for name in ("flight_hover", "flight_circle")
        for what in ("dynamics.mass_kg: -1.0", "x: no such value")
    ]
    with pytest.raises(BulkRefused, match="more than once"):
        make_episodes(["flight_hover", "flight_hover"])


def test_it_goes_on_where_it_was_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_episodes(["flight_random"], seeds=range(10), duration_s=0.5)
    make_dataset(plan, tmp_path / "whole.parquet")
    ran: list[int] = []

    def until(block: episodes.EpisodeBlock) -> Any:
        if len(ran) == 2:
            raise KeyboardInterrupt
        ran.append(block.runs[0])
        return run_block(block)

    monkeypatch.setattr(episodes, "run_block", until)
    with pytest.raises(KeyboardInterrupt):
        make_dataset(plan, tmp_path / "cut.parquet")
    assert not (tmp_path / "cut.parquet").exists()
    (tmp_path / "cut.parquet.parts" / "000001.f64").unlink()
    monkeypatch.setattr(episodes, "run_block", lambda block: (ran.append(block.runs[0]), run_block(block))[1])
    make_dataset(plan, tmp_path / "cut.parquet")
    assert ran == [0, 4, 4, 8]
    assert not (tmp_path / "cut.parquet.parts").exists()
    one, other = (parquet.read_table(tmp_path / name) for name in ("whole.parquet", "cut.parquet"))
    assert one.equals(other)
    with pytest.raises(BulkRefused, match="exists"):
        make_dataset(plan, tmp_path / "cut.parquet")


def test_a_dataset_has_every_number_and_a_card_that_makes_it_again(tmp_path: Path) -> None:
    names = ["flight_random", "flight_circle", "flight_helix"]
    plan = make_episodes(names, seeds=range(6), duration_s=0.5)
    result = make_dataset(plan, tmp_path / "a.parquet", test=["flight_helix"], validation=0.5)
    found = parquet.read_table(tmp_path / "a.parquet")
    columns, log = read_rows(
        record_episode(EpisodeSpec("flight_random", tmp_path / "b", {"seed": 2, "timing.duration_s": 0.5})).folder
    )
    third = found.filter([value == 2 for value in found["episode"].to_pylist()])
    assert np.array_equal(np.column_stack([third[name].to_numpy() for name in columns]), log)
    splits = {
        (e, s, c) for e, s, c in zip(*(found[n].to_pylist() for n in ("episode", "split", "config")), strict=True)
    }
    assert len(splits) == 18
    assert {s for _, s, c in splits if c == "flight_helix"} == {"test"}
    assert {s for _, s, c in splits if c == "flight_random"} == {"train", "validation"}
    # Nothing is drawn for the circle, so that all of its episodes are one.
    assert len({s for _, s, c in splits if c == "flight_circle"}) == 1
    card = json.loads(parquet.read_schema(tmp_path / "a.parquet").metadata[b"nuc.dataset"])
    assert card["made_from"]["runs"]["flight_helix"]["reference"]["kind"] == "helix"
    assert sum(result.rows.values()) == len(found) == 18 * 51
    assert "| test | 6 | 306 |" in result.card.read_text()
    again = make_dataset(plan, tmp_path / "again.parquet", test=["flight_helix"], validation=0.5)
    other = json.loads(parquet.read_schema(again.path).metadata[b"nuc.dataset"])
    assert other["content_sha256"] == card["content_sha256"]


def test_other_configurations_with_a_reference_that_is_held_out_are_held_out_too() -> None:
    rows: list[dict[str, Any]] = [
        {"config": config, "reference": reference, "content": f"{config}{seed}"}
        for config, reference in (("a", "x"), ("b", "y"), ("c", "x"))
        for seed in range(50)
    ]
    told = split(rows, ["a"], 0.2)
    found = {config: [row["split"] for row in told if row["config"] == config] for config in "abc"}
    assert set(found["a"]) == set(found["c"]) == {"test"}
    assert 3 <= found["b"].count("validation") <= 20
    assert set(found["b"]) == {"train", "validation"}


def copied(tmp_path: Path, name: str, *changes: tuple[str, str]) -> str:
    """A configuration that says the same in other words."""
    text = (find_configuration(name) / "run.toml").read_text()
    for one, other in changes:
        assert one in text
        text = text.replace(one, other)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "run.toml").write_text(text)
    return str(tmp_path / "copy")


def test_a_reference_in_other_words_is_held_out_too(tmp_path: Path) -> None:
    other = copied(
        tmp_path,
        "flight_helix",
        ("climb_m_s = 0.25", "climb_m_s = 0.25\nyaw_rad = 0"),
        ("centre_m = [0.0, 0.0, 1.0]", "centre_m = [0, 0, 1]"),
        ("mass_kg = 1.4", "mass_kg = 1.0"),
    )
    plan = make_episodes(["flight_helix", other, "flight_circle"], duration_s=0.5)
    result = make_dataset(plan, tmp_path / "a.parquet", test=["flight_helix"], validation=0.0)
    assert result.episodes == {"train": 1, "validation": 0, "test": 2}


def test_equal_flights_are_counted_once_and_stay_together(tmp_path: Path) -> None:
    other = copied(tmp_path, "flight_hover", ("position_m = [0.0, 0.0, 1.5]", "position_m = [0, 0, 1.5]"))
    plan = make_episodes(["flight_hover", other, "flight_random"], seeds=range(6), duration_s=0.2)
    result = make_dataset(plan, tmp_path / "a.parquet", validation=0.5)
    found = parquet.read_table(result.path)
    of = {(config, split) for config, split in zip(*(found[n].to_pylist() for n in ("config", "split")), strict=True)}
    hovers = {split for config, split in of if config in ("flight_hover", "copy")}
    assert len(hovers) == 1
    assert {split for config, split in of if config == "flight_random"} == {"train", "validation"}
    assert result.different == 7
    assert "18 episodes, 7 of them different" in result.card.read_text()


def test_logs_of_other_columns_are_not_mixed(tmp_path: Path) -> None:
    plan = make_episodes(["flight_hover", "flight_limited"], duration_s=0.5)
    with pytest.raises(BulkRefused, match="flight_limited: logs other columns"):
        make_dataset(plan, tmp_path / "a.parquet")


def test_an_episode_that_ends_early_has_fewer_rows(tmp_path: Path) -> None:
    plan = make_episodes(["flight_circle"], [parse_axis("dynamics.tau_roll_s=0.12,0.001")], seeds=(0,))
    result = make_dataset(plan, tmp_path / "a.parquet", validation=0)
    assert result.states == {"complete": 1, "fault": 1}
    counts = parquet.read_table(tmp_path / "a.parquet")["episode"].value_counts().to_pylist()
    rows = {each["values"]: each["counts"] for each in counts}
    assert rows[0] == 1601
    assert rows[1] < 1000


def test_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def nuc(*words: str) -> Any:
        return CliRunner().invoke(app, words)

    words = ("sweep", "flight_random", "-v", "dynamics.mass_kg=0.8:1.2:3", "--seeds", "0:1", "-d", "0.5", "-o", "a.csv")
    assert nuc(*words).exit_code == 0
    assert len(table(tmp_path / "a.csv")) == 6
    assert "complete already" in nuc(*words).stdout
    assert nuc(*words, "--script", "itf").exit_code == 2
    assert nuc("dataset", "flight_hover", "-d", "0.5", "--seeds", "0:4", "-o", "b.parquet").exit_code == 0
    refused = nuc("dataset", "flight_hover", "-o", "c.parquet", "--test", "flight_step")
    assert refused.exit_code == 1
    assert "--test flight_step" in refused.stderr
    nuc("run", "flight_hover", "--out", "d", "-d", "0.5")
    assert nuc("export", "d", "--parquet").exit_code == 0
    assert nuc("export", "d", "--mcap").exit_code == nuc("export", "d", "--csv", "--grid", "1").exit_code == 2
    names, log = read_rows(tmp_path / "d")
    exported = parquet.read_table(tmp_path / "d_parquet" / "episode.parquet")
    assert exported.column_names == names
    assert np.array_equal(np.column_stack([exported[name].to_numpy() for name in names]), log)
