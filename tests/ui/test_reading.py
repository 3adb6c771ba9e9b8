"""What is read of data directories is what stands there; seen from afar, nothing that was short is lost."""

from __future__ import annotations

import json
import os
import shutil
import struct
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from nuc_engine import BoutSpec, run_bout
from nuc_engine.analysis import load_bout
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.recording.files import EVENT_LOG, MOTOR_LOG
from nuc_engine.ui import reading
from tests.configs.two_legs import OTHER, write_two_legs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("data") / "bout"
    return run_bout(BoutSpec(config="lin_roach", script="itf", duration_s=4, out=out)).folder


def table_of(batch: bytes) -> np.ndarray:
    layout, count, _ = struct.unpack_from("<IId", batch)
    assert layout == 0
    return np.frombuffer(batch, "<f8", offset=16).reshape(count, -1)


def columns(folder: Path) -> list[str]:
    return [column["name"] for column in json.loads(reading.describe(folder))["columns"]]


@pytest.mark.parametrize("log", ["SensData.txt", "StateData.txt", "MotorData.txt", "MuscleData.txt", "PlantData.txt"])
def test_the_records_of_one_log_are_the_logs(folder: Path, log: str) -> None:
    kind, batch = reading.records(folder, -np.inf, np.inf, reading.MOST, log)
    assert kind == "exact"
    logged = np.loadtxt(folder / log)
    assert np.array_equal(table_of(batch)[:, 1:], logged[:, 1:])
    assert table_of(batch)[:, 0] == pytest.approx(logged[:, 0] / 1e9)


def test_joined_they_have_the_names_that_live_records_have_and_the_switches_of_the_log(folder: Path) -> None:
    names, (_, batch) = columns(folder), reading.records(folder, -np.inf, np.inf, reading.MOST, "")
    table, bout = table_of(batch), load_bout(folder)
    assert {"FT_angle", "Femur-Tibia.state", "Tibia_Flexor.activation", "Tibia_Flexor.force", "plant.z_cm"} <= set(
        names
    )
    assert len(names) == table.shape[1] == len(set(names))
    for joint in bout.joints:
        assert joint.action is not None
        seen, logged = table[:, names.index(joint.action)], bout.states.column(joint.action)
        seen = seen[np.isfinite(seen)].tolist()
        short = [a for a, b in zip(seen, [None, *seen], strict=False) if a != b]
        logged = logged.tolist()
        assert short == [a for a, b in zip(logged, [None, *logged], strict=False) if a != b]


def test_a_span_is_cut_out_of_it(folder: Path) -> None:
    _, batch = reading.records(folder, 1.0, 2.0, reading.MOST, "")
    times = table_of(batch)[:, 0]
    assert 1.0 <= times[0] < times[-1] <= 2.0
    _, nothing = reading.records(folder, 100.0, 200.0, 100, "")
    assert nothing == bytes(16), "no records"


def test_what_is_too_much_comes_as_least_and_largest(folder: Path) -> None:
    kind, batch = reading.records(folder, -np.inf, np.inf, 100, "")
    assert kind == "minmax"
    table = table_of(batch)
    assert len(table) == 100
    assert (np.diff(table[:, 0]) > 0).all()
    whole = table_of(reading.records(folder, -np.inf, np.inf, reading.MOST, "")[1])
    for find in (np.nanmin, np.nanmax):
        assert find(table, axis=0) == pytest.approx(find(whole, axis=0))


@given(
    values=arrays.arrays(np.float64, st.integers(20, 400), elements=st.floats(-5, 5)),
    at=st.integers(0, 1 << 20),
    most=st.integers(4, 20),
)
def test_a_spike_of_one_record_is_seen_however_far_away(values: np.ndarray, at: int, most: int) -> None:
    table = np.column_stack([np.arange(len(values)), values])
    spike = at % len(values)
    table[spike, 1] = 100.0
    seen = reading.least_and_largest(table, most)
    assert seen[:, 1].max() == 100.0
    row = int(seen[:, 1].argmax())
    assert seen[row - 1, 0] <= spike <= seen[row, 0], "where it was"
    assert seen[:, 1].min() == table[:, 1].min()
    assert seen[0, 0] == 0
    assert seen[-1, 0] == len(values) - 1


def test_what_has_no_value_has_none_and_hides_none() -> None:
    table = np.array([[0, np.nan], [1, 3.0], [2, np.nan], [3, np.nan]])
    seen = reading.least_and_largest(table, 4)
    assert np.array_equal(seen, [[0, 3], [1, 3], [2, np.nan], [3, np.nan]], equal_nan=True)


def test_it_is_described_whole(folder: Path) -> None:
    told = json.loads(reading.describe(folder))
    assert told["manifest"]["script"] == "itf.xml"
    assert told["statistics"]["windows"]
    assert told["model"]["joints"][0]["name"] == "Thorax-Coxa1"
    assert told["plant"]["ground_z_cm"] == pytest.approx(10.5 - told["plant"]["base_height_cm"])
    assert "engine_start" in [event["name"] for event in told["events"]]
    assert {"summary_sensors", "pathstate", "joint_Femur-Tibia", "motor_Femur_Tibia_motor"} <= set(told["figures"])
    assert json.loads(reading.seen(folder))["outcomes"]


def test_pictures_are_pictures(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    for picture in (reading.thumbnail(folder), reading.figure(folder, "pathstate")):
        assert picture.startswith(b"\x89PNG")
    with pytest.raises(KeyError):
        reading.figure(folder, "../../etc/passwd")


def test_of_a_body_with_two_legs_each_is_looked_at_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside loopback servos each sees what a leg alone sees; the second stands elsewhere, and turned."""
    spec = BoutSpec(str(write_two_legs(tmp_path / "body")), tmp_path / "both", duration_s=2, bus="loopback:")
    both = run_bout(spec).folder
    alone = load_bout(run_bout(replace(spec, config="lin_roach", out=tmp_path / "alone")).folder)
    whole, (first, second) = reading.body(both)
    assert len(whole.joints) == 2 * len(first.joints) == 2 * len(alone.joints)
    assert [joint.name for joint in second.joints] == [f"{joint.name}{OTHER}" for joint in first.joints]
    assert [joint.role for joint in second.joints] == [joint.role for joint in alone.joints]
    foot = alone.foot_from_angles()[0]
    assert first.foot_from_angles()[0] == pytest.approx(foot, abs=0.05)
    ours, theirs = (leg.joints[0].amatrix for leg in (first, second))
    assert ours is not None
    assert theirs is not None
    there = theirs @ np.linalg.inv(ours) @ [*foot, 1]
    assert second.foot_from_angles()[0] == pytest.approx(there[:3], abs=0.05)
    assert np.linalg.norm(there[:3] - foot) > 5
    windows = json.loads(reading.seen(both))["outcomes"]
    assert [window["name"] for window in windows] == 2 * [windows[0]["name"]]
    axes = pytest.importorskip("matplotlib.axes").Axes
    drawn: list[np.ndarray] = []
    monkeypatch.setattr(axes, "plot", lambda _, x, y, **how: drawn.append(np.column_stack([x, y])))
    assert reading.thumbnail(both).startswith(b"\x89PNG")
    assert [path[0] for path in drawn] == [pytest.approx(leg.foot_from_angles()[0, :2]) for leg in (first, second)]


@pytest.mark.parametrize("harm", ["no manifest", "torn", "rubbish", "no logs", "binary", "deep"])
def test_a_directory_that_was_harmed_is_an_answer(folder: Path, tmp_path: Path, harm: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    match harm:
        case "no manifest":
            (copy / "manifest.json").unlink()
        case "torn":
            data = (copy / "SensData.txt").read_bytes()
            (copy / "SensData.txt").write_bytes(data[: len(data) // 2])
        case "rubbish":
            (copy / "StateData.txt").write_text("a b c\n")
        case "no logs":
            for path in copy.glob("*Data.txt"):
                path.unlink()
        case "binary":
            (copy / "joints.xml").write_bytes(b"\x00\xff" * 100)
        case _:
            (copy / "manifest.json").write_text("[" * 100_000)
    for function, *words in (
        (reading.describe, copy),
        (reading.records, copy, 0.0, 1.0, 100, ""),
        (reading.records, copy, 0.0, 1.0, 100, "../../etc/passwd"),
        (reading.seen, copy),
    ):
        good, told = reading.guarded(function, *words)
        if "passwd" in str(words):
            assert not good
        elif harm == "no manifest":
            assert good
        assert good or (isinstance(told, str) and 0 < len(told) < 5000 and told.encode())


HOSTILE = (
    {"configuration": "\ud800", "labels": {"\udfff": "\ud800"}},
    {"spec": {"seed": 10**400}, "engine_time_s": 10**400},
    {"spec": {"seed": -(10**19)}, "simulated_s": 1e308},
    {"notes": [{"what": "note", "text": "\ud800"}], "labels": {"note": {"a": ["\ud800"]}}},
    {"started": 7, "state": [], "spec": "x", "labels": 3, "notes": {"a": 1}},
    {"deep": json.loads("[" * 300 + "]" * 300), "huge": 10**400},
)


@pytest.mark.parametrize("manifest", HOSTILE, ids=lambda manifest: next(iter(manifest)))
def test_a_manifest_that_nobody_here_wrote_breaks_neither_the_list_nor_the_bout(
    folder: Path, tmp_path: Path, manifest: dict[str, Any]
) -> None:
    for name in ("good", "bad"):
        shutil.copytree(folder, tmp_path / name)
    path = tmp_path / "bad" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | manifest))
    good, entries = reading.guarded(reading.listed, tmp_path)
    assert good
    assert [entry.folder.name for entry in entries] == ["bad", "good"]
    assert msgspec.json.encode([replace(entry, folder=entry.folder.name) for entry in entries])
    assert json.loads(reading.describe(tmp_path / "bad"))["manifest"].keys() >= manifest.keys()


def test_whatever_a_reader_raises_is_an_answer() -> None:
    def breaks(error: BaseException) -> None:
        raise error

    for error in (RecursionError("deep"), OverflowError("large"), TypeError("\ud800" * 9999), AssertionError()):
        good, told = reading.guarded(breaks, error)
        assert not good
        assert type(error).__name__ in told
        assert len(told.encode()) < 20_000


def test_logs_beyond_all_bounds_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_LOG_BYTES", 1000)
    good, why = reading.guarded(reading.records, folder, 0.0, 1.0, 100, "")
    assert not good
    assert "nuc stats" in why


def test_every_switch_of_the_log_is_told_and_no_other(folder: Path) -> None:
    states = load_bout(folder).states
    told = json.loads(reading.switches(folder))
    assert sorted(told) == sorted(name for name in states.columns if name.endswith(".state"))
    assert any(len(each) > 3 for each in told.values())
    for name, each in told.items():
        held = list[float]()
        for time_s, value in zip(states.t_s, states.values[:, states.columns.index(name)], strict=True):
            held.append(next(code for at_s, code in reversed(each) if at_s <= time_s))
            assert held[-1] == value
        assert len(each) == 1 + sum(a != b for a, b in pairwise(held))


def test_no_action_is_an_action_of_its_own() -> None:
    values = np.array([np.nan, np.nan, 3, 3, 5, np.nan, np.nan])
    assert reading.changes(values).tolist() == [0, 2, 4, 5]
    assert reading.changes(values[:0]).tolist() == []


def test_a_folder_of_very_many_bouts_is_listed_by_its_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_BOUTS", 3)
    for k in range(8):
        (tmp_path / f"b{k}").mkdir()
        manifest = {
            "labels": {str(n): "x" * 9999 for n in range(999)},
            "notes": [{"what": "note", "text": "y" * 9999}] * 99,
        }
        (tmp_path / f"b{k}" / "manifest.json").write_text(json.dumps({"started": "z" * 9999, **manifest}))
        os.utime(tmp_path / f"b{k}", (0, 1000 - k))
    found = reading.listed(tmp_path)
    assert [entry.folder.name for entry in found] == ["b0", "b1", "b2"]
    assert sum(map(len, found[0].labels.values())) + sum(map(len, found[0].notes)) < 100_000
    assert len(found[0].started) < 1000
    assert reading.listed(tmp_path / "nothing") == []


def test_a_manifest_of_any_size_and_logs_of_events_of_any_size_cost_no_more_than_their_bound(
    folder: Path, tmp_path: Path
) -> None:
    bout = tmp_path / "bout"
    shutil.copytree(folder, bout)
    with (bout / "Infolog.txt").open("w") as file:
        file.write("1000 odd " + "x" * 100 + "\n")
        file.truncate(1 << 33)
    assert len(reading.describe(bout)) < 1 << 20
    with (bout / "manifest.json").open("r+") as file:
        file.truncate(1 << 33)
    (entry,) = reading.listed(tmp_path)
    assert "MiB" in entry.problem
    with pytest.raises(AnalysisError, match="MiB"):
        reading.describe(bout)


@pytest.mark.skipif(sys.platform != "linux", reason="there are neither such names nor such files")
def test_a_bout_in_a_folder_whose_name_is_no_text_is_read(folder: Path, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe\xc3"))
    shutil.copytree(folder, odd)
    assert json.loads(reading.describe(odd))["end_s"] > 0


@pytest.mark.skipif(sys.platform != "linux", reason="there are neither such names nor such files")
def test_nobody_waits_for_a_log_that_has_no_end(folder: Path, tmp_path: Path) -> None:
    for name, make in ((MOTOR_LOG, os.mkfifo), (EVENT_LOG, lambda path: os.symlink("/dev/zero", path))):
        bout = tmp_path / name
        shutil.copytree(folder, bout)
        (bout / name).unlink(missing_ok=True)
        make(bout / name)
        good, told = reading.guarded(reading.describe, bout)
        assert not good
        assert "no file, but a pipe or a device" in told
