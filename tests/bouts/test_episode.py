"""Episodes in data directories: what is left behind, and that it is the same again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.bout.episode import EpisodeSpec, compare_rows, load_run, record_episode, replay_episode
from nuc_engine.bout.replay import ReplayRefused
from nuc_engine.episode.document import RunConfigError
from nuc_engine.episode.loop import run_steps
from nuc_engine.recording.directory import DirectoryInUse
from nuc_engine.recording.rows import read_rows
from tests.flight.runs import CONFIGS, SHIPPED

SHORT = {"timing.duration_s": 0.5}
ROOT = CONFIGS.parent


def recorded(folder: Path, name: str = "flight_random", **changes: object) -> Path:
    given = {key.replace("__", "."): value for key, value in changes.items()}
    return record_episode(EpisodeSpec(name, folder, {**SHORT, **given})).folder


def manifest(folder: Path) -> dict[str, object]:
    return json.loads((folder / "manifest.json").read_text())


def test_the_log_has_the_loops_numbers_bit_by_bit(tmp_path: Path) -> None:
    names, rows = read_rows(recorded(tmp_path / "a"))
    run = load_run(CONFIGS / "flight_random", SHORT)
    expected: list[tuple[float, ...]] = []
    run_steps(run, expected.append)
    assert tuple(names) == run.columns
    assert rows.tobytes() == np.array(expected).tobytes()


def test_a_log_that_is_written_in_pieces_is_whole(tmp_path: Path) -> None:
    _, rows = read_rows(recorded(tmp_path / "a", "flight_hover", timing__duration_s=40.0))
    assert rows.shape == (4001, 21)
    assert rows[:, 0].tolist() == [k * 0.01 for k in range(4001)]


def test_the_manifest_is_that_of_a_bout_and_says_what_was_drawn(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "a", seed=5)
    said = manifest(folder)
    assert (said["state"], said["configuration"], said["clock"]) == ("complete", "flight_random", "virtual")
    assert said["engine_time_s"] == 0.5
    assert said["counts"] == {"steps": 50, "records": {"EpisodeData.f64": 51}, "events": {}}
    spec = said["spec"]
    assert isinstance(spec, dict)
    assert spec["resolved"]["dynamics"]["mass_kg"] == spec["drawn"]["dynamics.mass_kg"]
    assert set(spec["sha256"]) == {"resolved", "controller", "dynamics", "reference"}
    sums = {**said["files"], **said["inputs"]}  # type: ignore[dict-item]
    assert set(sums) == {"EpisodeData.f64", "columns.json", "run.toml"}
    assert all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == sum_ for name, sum_ in sums.items())


def test_nothing_is_written_where_nothing_can_be_run(tmp_path: Path) -> None:
    with pytest.raises(RunConfigError, match=r"run\.toml: dynamics\.mass_kg: -1"):
        record_episode(EpisodeSpec("flight_hover", tmp_path / "a", {"dynamics.mass_kg": -1}))
    assert not (tmp_path / "a").exists()
    recorded(tmp_path / "a")
    with pytest.raises(DirectoryInUse):
        recorded(tmp_path / "a")


def test_a_flight_that_diverges_keeps_what_it_had(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "a", "flight_circle", dynamics__tau_roll_s=0.001, timing__duration_s=16.0)
    said = manifest(folder)
    assert said["state"] == "fault"
    assert str(said["reason"]).startswith("diverged: in the step from ")
    _, rows = read_rows(folder)
    assert np.isfinite(rows[:, :17]).all()
    assert replay_episode(folder).identical


def test_an_interrupted_flight_is_repeated_as_far_as_it_went(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nuc_engine.recording.rows import RowLog

    calls = iter(range(31))
    whole = RowLog.__call__

    def until(log: RowLog, row: tuple[float, ...]) -> None:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        whole(log, row)

    monkeypatch.setattr(RowLog, "__call__", until)
    folder = recorded(tmp_path / "a")
    monkeypatch.undo()
    said = manifest(folder)
    assert (said["state"], said["engine_time_s"]) == ("interrupted", 0.3)
    assert read_rows(folder)[1].shape[0] == 31
    assert replay_episode(folder).identical


@pytest.mark.parametrize("name", SHIPPED)
def test_it_is_the_same_again(tmp_path: Path, name: str) -> None:
    assert replay_episode(recorded(tmp_path / "a", name)).identical


def test_another_seed_is_another_flight_and_only_where_something_is_drawn(tmp_path: Path) -> None:
    one, other = recorded(tmp_path / "a", seed=0), recorded(tmp_path / "b", seed=1)
    assert compare_rows(one, other) is not None
    same = [recorded(tmp_path / f"h{seed}", "flight_hover", seed=seed) for seed in (0, 1)]
    assert compare_rows(*same) is None


def test_a_bit_that_is_another_is_named(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "a")
    path = folder / "EpisodeData.f64"
    data = np.fromfile(path, "<f8")
    data[21 * 7 + 3] = np.nextafter(data[21 * 7 + 3], 9)
    data.tofile(path)
    said = manifest(folder)
    said["files"]["EpisodeData.f64"] = hashlib.sha256(path.read_bytes()).hexdigest()  # type: ignore[index]
    (folder / "manifest.json").write_text(json.dumps(said))
    report = replay_episode(folder)
    assert not report.changed_files
    difference = report.difference
    assert difference is not None
    assert (difference.record, difference.field, difference.time_ns) == (8, "z_m", 70_000_000)
    assert float.fromhex(difference.then) != float.fromhex(difference.now)


def test_changed_files_are_named_and_what_is_no_episode_is_refused(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "a")
    (folder / "run.toml").write_text("x = 1")
    report = replay_episode(folder)
    assert report.changed_files == ("run.toml",)
    assert report.compared == ()
    with pytest.raises(ReplayRefused):
        replay_episode(tmp_path)


def test_rows_that_are_left_out_are_counted(tmp_path: Path) -> None:
    changes = {"timing.duration_s": 1.0}
    text = (CONFIGS / "flight_hover" / "run.toml").read_bytes() + b"\n[log]\nevery = 3\n"
    folder = record_episode(EpisodeSpec("thin", tmp_path / "a", changes, text=text)).folder
    counts = json.loads((folder / "manifest.json").read_text())["counts"]
    assert (counts["steps"], counts["rows_left_out"], counts["records"]) == (100, 67, {"EpisodeData.f64": 34})
    whole = record_episode(EpisodeSpec("flight_hover", tmp_path / "b", changes)).folder
    assert "rows_left_out" not in json.loads((whole / "manifest.json").read_text())["counts"]
