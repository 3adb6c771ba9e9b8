"""Two machines' witnesses: what agrees, and every way in which it does not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nuc_engine.bout.against import compare_witnesses
from nuc_engine.bout.episode import EpisodeSpec, record_episode
from nuc_engine.bout.replay import ReplayRefused
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.recording.manifest import hash_files
from nuc_engine.verify import verify_bout


@pytest.fixture(scope="module")
def flight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("flight") / "a"
    return record_episode(EpisodeSpec("flight_limited", out, {"timing.duration_s": 2.0})).folder


@pytest.fixture(scope="module")
def leg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("leg") / "a"
    run_bout(BoutSpec(config="lin_roach", out=out, duration_s=1.0, bus="loopback:"))
    return out


def elsewhere(folder: Path, tmp_path: Path, change: Callable[[Path, dict[str, Any]], None]) -> Path:
    """Return a copy with something changed, whose manifest has the sums of what is there."""
    copy = shutil.copytree(folder, tmp_path / "other")
    record = json.loads((copy / "manifest.json").read_text())
    change(copy, record)
    record["files"] = {name: sum_ for name, sum_ in hash_files(copy).items() if name in record["files"]}
    (copy / "manifest.json").write_text(json.dumps(record))
    return copy


def moved(by: float) -> Callable[[Path, dict[str, Any]], None]:
    def change(folder: Path, record: dict[str, Any]) -> None:
        path = folder / "EpisodeData.f64"
        rows = np.fromfile(path, "<f8").reshape(201, -1)
        rows[120, 3] += by
        rows.tofile(path)
        record["versions"]["machine"] = "other"

    return change


def test_a_flight_that_is_near_agrees_and_builds_are_told(flight: Path, tmp_path: Path) -> None:
    found = compare_witnesses(flight, elsewhere(flight, tmp_path, moved(3e-10)))
    assert found.good
    assert found.apart == pytest.approx(3e-10, rel=0.5)
    assert found.versions["machine"][1] == "other"


@pytest.mark.parametrize("by", [3e-9, float("nan")])
def test_a_flight_that_is_not_near_is_told_where(flight: Path, tmp_path: Path, by: float) -> None:
    found = compare_witnesses(flight, elsewhere(flight, tmp_path, moved(by)))
    assert not found.good
    assert found.difference is not None
    assert (found.difference.record, found.difference.field) == (121, "z_m")


def test_another_seed_was_not_run_alike(flight: Path, tmp_path: Path) -> None:
    def change(_folder: Path, record: dict[str, Any]) -> None:
        record["spec"]["seed"] = 1

    found = compare_witnesses(flight, elsewhere(flight, tmp_path, change))
    assert (found.good, found.unequal) == (False, ("spec.seed",))


def test_fewer_rows_and_files_that_are_not_the_manifests(flight: Path, tmp_path: Path) -> None:
    def change(folder: Path, _record: dict[str, Any]) -> None:
        path = folder / "EpisodeData.f64"
        path.write_bytes(path.read_bytes()[: 8 * 22 * 100])

    other = elsewhere(flight, tmp_path, change)
    found = compare_witnesses(flight, other)
    assert found.difference is not None
    assert found.difference.field == "length"
    (other / "columns.json").write_text((other / "columns.json").read_text() + " ")
    assert compare_witnesses(flight, other).changed == (f"{other / 'columns.json'}",)


def test_legs_are_compared_to_the_first_difference(leg: Path, tmp_path: Path) -> None:
    assert compare_witnesses(leg, leg).good

    def change(folder: Path, _record: dict[str, Any]) -> None:
        for name, line in (("StateData.txt", 20), ("MotorData.txt", 9)):
            lines = (folder / name).read_text().splitlines(keepends=True)
            lines[line] = lines[line].replace(lines[line].split()[-1], "77")
            (folder / name).write_text("".join(lines))

    found = compare_witnesses(leg, elsewhere(leg, tmp_path, change))
    assert not found.good
    assert found.difference is not None
    assert (found.difference.file, found.difference.record) == ("MotorData.txt", 10)


def test_what_is_no_witness_is_refused(flight: Path, tmp_path: Path) -> None:
    with pytest.raises(ReplayRefused, match=r"has no manifest\.json"):
        compare_witnesses(flight, tmp_path)


@pytest.mark.parametrize("kind", ["flight", "leg"])
def test_the_witness_sums_a_bout_up_and_is_verified(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder = shutil.copytree(request.getfixturevalue(kind), tmp_path / "a")
    record = json.loads((folder / "manifest.json").read_text())
    witness = record["witness"]
    assert (witness["begin_ms"], witness["end_ms"]) == (0, 2000 if kind == "flight" else 1000)
    assert witness["frames"] == (201 if kind == "flight" else sum(record["counts"]["records"][n] for n in LOGS))
    assert all(
        len(witness[f"{name}_sha256"]) == 64 for name in ("configuration", "controller", "body", "frames", "output")
    )
    assert witness["seed"] == 0
    assert verify_bout(folder).good
    for key in ("frames", "frames_sha256", "output_sha256", "end_ms"):
        wrong = {**record, "witness": {**witness, key: "0"}}
        (folder / "manifest.json").write_text(json.dumps(wrong))
        assert f"witness.{key}" in str(verify_bout(folder).differences)


LOGS = ("MotorData.txt", "SensData.txt", "StateData.txt", "MuscleData.txt")
