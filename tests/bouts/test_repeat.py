"""Same inputs, same bytes; and what a repetition says when they are not the same."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nuc_engine.bout import BoutSpec, run_bout
from nuc_engine.recording.manifest import hash_files
from nuc_engine.replay import ReplayRefused, replay_bout, replay_inputs

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys
from pathlib import Path
from nuc_engine.bout import BoutSpec, run_bout
run_bout(BoutSpec(sys.argv[1], Path(sys.argv[2]), script="experiment_a", duration_s=2, seed=7))
"""


@pytest.fixture(scope="module")
def bout(tmp_path_factory):
    out = tmp_path_factory.mktemp("repeat") / "bout"
    return run_bout(BoutSpec("lin_roach", out, script="experiment_a", duration_s=2, seed=7)).folder


@pytest.fixture
def copy(bout, tmp_path):
    return Path(shutil.copytree(bout, tmp_path / "copy"))


def test_fresh_processes_elsewhere_give_the_same_bytes(bout, tmp_path):
    sums = hash_files(bout)
    for number, config in enumerate(("lin_roach", str(ROOT / "configs" / "lin_roach"))):
        cwd = tmp_path / f"elsewhere{number}"
        cwd.mkdir()
        environment = {**os.environ, "PYTHONHASHSEED": str(number + 11), "PYTHONPATH": str(ROOT)}
        # A busy neighbour: virtual time must not care how much of the processor it gets.
        burner = subprocess.Popen([sys.executable, "-c", "x = 0\nfor _ in range(10**8): x += 1"])
        try:
            command = [sys.executable, "-c", PROGRAM, config, "out"]
            subprocess.run(command, cwd=cwd, env=environment, check=True, timeout=60)
        finally:
            burner.kill()
            burner.wait()
        assert hash_files(cwd / "out") == sums
        assert json.loads((cwd / "out" / "manifest.json").read_text())["files"] == sums


@pytest.mark.parametrize("change", ["configuration", "script", "plant", "seed"])
def test_any_changed_input_changes_the_motor_data(bout, tmp_path, change):
    config = shutil.copytree(ROOT / "configs" / "lin_roach", tmp_path / "lin_roach")
    script = shutil.copy(ROOT / "scripts" / "experiment_a.xml", tmp_path / "experiment_a.xml")

    def edit(path, old, new):
        text = Path(path).read_text()
        assert old in text
        Path(path).write_text(text.replace(old, new, 1))

    if change == "configuration":
        edit(config / "joints.xml", 'fmax="18"', 'fmax="17"')
    elif change == "plant":
        edit(config / "plant.toml", "foot_radius_mm = 8", "foot_radius_mm = 9")
    elif change == "script":
        edit(script, 'time="0">120', 'time="0">100')
    seed = 8 if change == "seed" else 7
    out = tmp_path / "out"
    run_bout(BoutSpec(str(config), out, script=str(script), duration_s=2, seed=seed))
    assert hash_files(out)["MotorData.txt"] != hash_files(bout)["MotorData.txt"]


def test_a_bout_repeats_from_its_own_directory(bout, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = replay_bout(bout)
    assert report.identical
    assert not report.changed_versions
    assert "PlantData.txt" in report.compared
    assert "InputRecord.msgpack" in report.compared


def test_recorded_replies_reproduce_states_and_commands(bout):
    report = replay_inputs(bout)
    assert report.identical
    assert {"MotorData.txt", "StateData.txt"} <= set(report.compared)


def test_a_changed_file_is_told_apart(copy):
    data = (copy / "SensData.txt").read_text().replace("\n", " \n", 1)
    (copy / "SensData.txt").write_text(data)
    (copy / "Debuglog.txt").unlink()
    report = replay_bout(copy)
    assert report.changed_files == ("Debuglog.txt", "SensData.txt")
    assert report.difference is None
    assert not report.identical


def test_a_changed_version_is_told_apart(copy):
    record = json.loads((copy / "manifest.json").read_text())
    record["versions"]["mujoco"] = "2.0.0"
    (copy / "manifest.json").write_text(json.dumps(record))
    report = replay_bout(copy)
    assert report.changed_versions["mujoco"][0] == "2.0.0"
    assert report.identical


def test_a_real_difference_names_the_first_record_and_field(copy):
    # A bout that really ran otherwise: its record says so, and its sums are its own.
    lines = (copy / "StateData.txt").read_text().splitlines()
    words = lines[30].split()
    words[7] = "2" if words[7] != "2" else "3"
    lines[30] = " ".join(words)
    (copy / "StateData.txt").write_text("\n".join(lines) + "\n")
    record = json.loads((copy / "manifest.json").read_text())
    record["files"] = hash_files(copy)
    (copy / "manifest.json").write_text(json.dumps(record))
    for report in (replay_bout(copy), replay_inputs(copy)):
        found = report.difference
        assert (found.file, found.record, found.time_ns) == ("StateData.txt", 31, 30 * 25_000_000)
        assert found.field == "Coxa-Trochanter.state"
        assert (found.then, found.now) == (words[7], "3" if words[7] == "2" else "2")
        assert not report.identical


def test_a_recorded_reply_that_was_changed_shows_in_the_tasks(copy):
    import msgpack

    path = copy / "InputRecord.msgpack"
    with path.open("rb") as file:
        records = list(msgpack.Unpacker(file))
    records[100][3][2] += 3
    path.write_bytes(b"".join(msgpack.packb(record) for record in records))
    report = replay_inputs(copy)
    assert report.changed_files == ("InputRecord.msgpack",)
    assert report.difference.field == "Coxa-Trochanter_motor.position_raw"


def test_an_interrupted_bout_repeats_as_far_as_it_went(tmp_path):
    def stop(simulated_s, duration_s):
        if simulated_s >= 1.0:
            raise KeyboardInterrupt

    folder = run_bout(BoutSpec("lin_roach", tmp_path / "cut", duration_s=5, seed=2), stop).folder
    assert replay_bout(folder).identical
    assert replay_inputs(folder).identical


def test_a_killed_bout_repeats_up_to_its_last_whole_record(tmp_path):
    # Killed while writing: a running manifest, no sums, torn last lines.
    folder = run_bout(BoutSpec("lin_roach", tmp_path / "killed", duration_s=1, seed=2)).folder
    record = json.loads((folder / "manifest.json").read_text())
    for key in ("files", "simulated_s", "counts", "losses", "stopped"):
        record.pop(key)
    record["state"] = "running"
    (folder / "manifest.json").write_text(json.dumps(record))
    for name in ("MotorData.txt", "SensData.txt", "StateData.txt", "MuscleData.txt"):
        text = (folder / name).read_text()
        (folder / name).write_text(text[:-7])
    assert replay_bout(folder).difference is None


def test_what_is_no_bout_is_refused(tmp_path):
    with pytest.raises(ReplayRefused, match="nuc run"):
        replay_bout(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ReplayRefused, match="can not be read"):
        replay_bout(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(ReplayRefused, match="format"):
        replay_bout(tmp_path)
