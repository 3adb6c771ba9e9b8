"""Episodes before the oracle: what is right passes, and each thing that is changed is found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nuc_engine.bout.episode import EpisodeSpec, record_episode
from nuc_engine.recording.rows import read_rows
from nuc_engine.verify import Unverifiable, verify_bout
from tests.flight.runs import SHIPPED

SHORT = {"timing.duration_s": 3.0}


def recorded(folder: Path, name: str, **changes: Any) -> Path:
    given = {key.replace("__", "."): value for key, value in changes.items()}
    return record_episode(EpisodeSpec(name, folder, {**SHORT, **given})).folder


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_flight_is_as_the_equations_have_it(tmp_path: Path, name: str) -> None:
    verdict = verify_bout(recorded(tmp_path / "a", name, seed=3))
    assert verdict.good, verdict.differences
    assert verdict.records == verdict.present == {"EpisodeData.f64": 301}


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("flight_circle", {"dynamics.tau_roll_s": 0.001, "timing.duration_s": 16.0}),
        ("flight_circle", {"stop.distance_m": 2.9}),
        ("flight_random", {"timing.dt_s": 0.02}),
        ("flight_random", {"dynamics.mass_kg": 1.2}),
    ],
)
def test_ends_of_all_kinds(tmp_path: Path, name: str, changes: dict[str, float]) -> None:
    assert verify_bout(recorded(tmp_path / "a", name, **changes)).good


@pytest.mark.parametrize(
    ("stop", "why"),
    [
        ("floor_m = 5.0", "below 5 m"),
        ("tilt_rad = 0.2", "tilted by more than 0.2 rad"),
    ],
)
def test_a_condition_ends_it_with_the_first_state_that_meets_it(tmp_path: Path, stop: str, why: str) -> None:
    config = tmp_path / "ending"
    config.mkdir()
    text = (Path(__file__).parents[2] / "configs/flight_drop/run.toml").read_text()
    (config / "run.toml").write_text(text.replace("distance_m = 100.0", stop))
    folder = tmp_path / "a"
    reason = record_episode(EpisodeSpec(str(config), folder)).end.reason
    _, rows = read_rows(folder)
    meets = {
        "floor_m": rows[:, 3] < 5.0,
        "tilt_rad": np.arccos(np.cos(rows[:, 7]) * np.cos(rows[:, 8])) > 0.2,
    }[stop.split(maxsplit=1)[0]]
    assert reason == f"stopped at {rows[-1, 0]:.9g} s: {why}"
    assert (meets[-1], meets[:-1].any()) == (True, False)
    assert verify_bout(folder).good


def test_rows_that_are_left_out_are_computed_past(tmp_path: Path) -> None:
    config = tmp_path / "sparse"
    config.mkdir()
    text = (Path(__file__).parents[2] / "configs/flight_limited/run.toml").read_text()
    (config / "run.toml").write_text(text + "\n[log]\nevery = 7\n")
    folder = recorded(tmp_path / "a", str(config))
    verdict = verify_bout(folder)
    assert verdict.good, verdict.differences
    assert verdict.records == {"EpisodeData.f64": 43}
    with_row(20, 17, 1e-6)(folder)
    witness = {
        "witness.frames_sha256",
        "witness.output_sha256",
    }  # the sums of the manifest were made to fit, it was not
    assert {d.column for d in verify_bout(folder).differences} == {"roll_cmd_rad", *witness}


Change = Callable[[Path], None]


def resealed(folder: Path, name: str) -> None:
    """Make the manifest say that a changed file is what the bout left."""
    said = json.loads((folder / "manifest.json").read_text())
    for sums in (said["inputs"], said["files"]):
        if name in sums:
            sums[name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(said))


def with_row(row: int, column: int, more: float) -> Change:
    def change(folder: Path) -> None:
        path = folder / "EpisodeData.f64"
        data = np.fromfile(path, "<f8")
        data[row * (22 if "limited" in (folder / "columns.json").read_text() else 21) + column] += more
        data.tofile(path)
        resealed(folder, path.name)

    return change


def with_manifest(change: Callable[[dict[str, Any]], object]) -> Change:
    def changed(folder: Path) -> None:
        said = json.loads((folder / "manifest.json").read_text())
        change(said)
        (folder / "manifest.json").write_text(json.dumps(said))

    return changed


def with_rows(change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Change:
    def changed(folder: Path) -> None:
        path = folder / "EpisodeData.f64"
        change(np.fromfile(path, "<f8").reshape(-1, 21)).tofile(path)
        resealed(folder, path.name)

    return changed


def with_text(folder: Path) -> None:
    path = folder / "run.toml"
    path.write_text(path.read_text().replace("kp_per_s2 = [4.0, 4.0", "kp_per_s2 = [4.0, 4.000001"))
    resealed(folder, path.name)


def with_columns(folder: Path) -> None:
    path = folder / "columns.json"
    path.write_text(path.read_text().replace('"vx_m_s"', '"vy_m_s"', 1))
    resealed(folder, path.name)


FORGERIES: dict[str, tuple[Change, set[str]]] = {
    "time": (with_row(100, 0, 1e-9), {"t_s"}),
    "state": (with_row(100, 4, 1e-9), {"vx_m_s", "x_m", "roll_cmd_rad", "pitch_cmd_rad"}),
    "reference": (with_row(100, 10, 1e-9), {"ref_x_m"}),
    "thrust": (with_row(100, 19, -1e-9), {"thrust_n"}),
    "a row too many": (with_rows(lambda rows: np.vstack([rows, rows[-1:]])), {"record"}),
    "a row too few": (with_rows(lambda rows: rows[:-1]), {"record"}),
    "rows in another order": (with_rows(lambda rows: rows[::-1]), {"t_s"}),
    "seed": (with_manifest(lambda said: said["spec"].update(seed=4)), {"spec.seed"}),
    "drawn": (with_manifest(lambda said: said["spec"]["drawn"].update({"dynamics.mass_kg": 1.0})), {"spec.drawn"}),
    "resolved": (
        with_manifest(lambda said: said["spec"]["resolved"]["dynamics"].update(mass_kg=1.0)),
        {"spec.resolved"},
    ),
    "sum": (with_manifest(lambda said: said["spec"]["sha256"].update(dynamics="0")), {"spec.sha256"}),
    "steps": (with_manifest(lambda said: said["counts"].update(steps=299)), {"counts.steps"}),
    "reason": (with_manifest(lambda said: said.update(reason="stopped at 3 s: below 0 m")), {"reason"}),
    "state of the bout": (with_manifest(lambda said: said.update(state="fault")), {"state"}),
    "end": (with_manifest(lambda said: said.update(engine_time_s=2.0)), {"engine_time_s"}),
    "no sum": (with_manifest(lambda said: said["files"].pop("columns.json")), {"files.columns.json"}),
    "gain": (with_text, {"spec.resolved", "spec.sha256"}),
    "columns": (with_columns, {"columns"}),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_was_forged_is_found_though_its_sum_fits(tmp_path: Path, name: str) -> None:
    change, expected = FORGERIES[name]
    folder = recorded(tmp_path / "a", "flight_random")
    change(folder)
    verdict = verify_bout(folder)
    assert not verdict.good
    assert verdict.changed_files == ()
    found = {difference.column for difference in verdict.differences}
    assert expected <= found


@pytest.mark.parametrize("name", ["run.toml", "columns.json", "EpisodeData.f64"])
def test_a_file_that_was_changed_or_lost_is_named(tmp_path: Path, name: str) -> None:
    folder = recorded(tmp_path / "a", "flight_random")
    (folder / name).write_bytes((folder / name).read_bytes() + b"\n")
    verdict = verify_bout(folder)
    assert verdict.changed_files == (name,)
    (folder / name).unlink()
    lost = verify_bout(folder)
    assert not lost.good
    assert lost.changed_files == (name,)


def test_an_episode_that_was_cut_off_is_verified_as_far_as_it_went(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "a", "flight_random")
    path = folder / "EpisodeData.f64"
    path.write_bytes(path.read_bytes()[: 21 * 8 * 40 + 5])
    with_manifest(lambda said: said.update(state="running", files={}, witness={}))(folder)
    verdict = verify_bout(folder)
    assert verdict.good, verdict.differences
    assert verdict.records == {"EpisodeData.f64": 40}
    with_manifest(lambda said: said.update(state="complete"))(folder)
    assert not verify_bout(folder).good


def test_a_manifest_without_what_decided_it_cannot_be_verified(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "a", "flight_random")
    with_manifest(lambda said: said["spec"].pop("changes"))(folder)
    with pytest.raises(Unverifiable):
        verify_bout(folder)
