"""Same inputs, same bytes; and what a repetition says when they are not the same."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgpack
import pytest

import nuc_engine.bout.run as bout_module
from drivers.port import NEVER
from nuc_engine.bout.replay import ReplayRefused, replay_bout, replay_inputs
from nuc_engine.bout.run import BoutRefused, BoutSpec, run_bout
from nuc_engine.recording.manifest import hash_files
from nuc_engine.recording.playback import RecordedBus
from tests.engine.models import one_joint

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import sys
from pathlib import Path
from nuc_engine.bout.run import BoutSpec, run_bout
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
            subprocess.run(command, cwd=cwd, env=environment, check=True)
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
    for key in ("files", "engine_time_s", "counts", "losses", "stopped"):
        record.pop(key)
    record["state"] = "running"
    (folder / "manifest.json").write_text(json.dumps(record))
    for name in ("MotorData.txt", "SensData.txt", "StateData.txt", "MuscleData.txt"):
        text = (folder / name).read_text()
        (folder / name).write_text(text[:-7])
    assert replay_bout(folder).difference is None


def forge(folder: Path) -> None:
    """Let the manifest vouch for the files as they are now."""
    record = json.loads((folder / "manifest.json").read_text())
    record["files"] = hash_files(folder)
    record["inputs"] = {name: record["files"][name] for name in record["inputs"] if name in record["files"]}
    (folder / "manifest.json").write_text(json.dumps(record))


def change(folder: Path, **keys) -> None:
    record = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(record | keys))


def spec(folder: Path, **keys) -> dict:
    return json.loads((folder / "manifest.json").read_text())["spec"] | keys


def records(folder: Path) -> list:
    with (folder / "InputRecord.msgpack").open("rb") as file:
        return list(msgpack.Unpacker(file))


def rewrite(folder: Path, entries: list) -> None:
    (folder / "InputRecord.msgpack").write_bytes(b"".join(msgpack.packb(entry) for entry in entries))
    forge(folder)


@pytest.mark.parametrize("repeat", [replay_bout, replay_inputs])
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("joints.xml", "<joint", "<wrist"),
        ("parameters.xml", "</hdsolist>", ""),
        ("sensors.xml", None, None),
        ("joints.xml", 'parent="2"', 'parent="77"'),
    ],
)
def test_changed_inputs_are_named_also_when_they_can_not_be_run(copy, repeat, name, old, new):
    path = copy / name
    if old is None:
        path.unlink()
    else:
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
    report = repeat(copy)
    assert report.changed_files == (name,)
    assert (report.difference, report.compared) == (None, ())
    assert not report.identical


@pytest.mark.parametrize("name", ["scriptfile.xml", "plant.toml"])
@pytest.mark.parametrize("text", [None, "<", "x = ["])
def test_so_are_a_changed_script_and_plant(copy, name, text):
    (copy / name).unlink() if text is None else (copy / name).write_text(text)
    report = replay_bout(copy)
    assert (report.changed_files, report.difference, report.compared) == ((name,), None, ())


def test_an_input_changed_after_a_kill_is_seen_too(copy):
    record = json.loads((copy / "manifest.json").read_text())
    record.pop("files")
    (copy / "manifest.json").write_text(json.dumps(record | {"state": "running"}))
    text = (copy / "joints.xml").read_text()
    (copy / "joints.xml").write_text(text.replace('fmax="18"', 'fmax="17"', 1))
    report = replay_bout(copy)
    assert report.changed_files == ("joints.xml",)
    assert report.difference is not None


def test_inputs_the_manifest_vouches_for_are_refused_with_their_own_reason(copy):
    (copy / "joints.xml").write_text("<")
    forge(copy)
    for repeat in (replay_bout, replay_inputs):
        with pytest.raises(BoutRefused, match=r"joints\.xml"):
            repeat(copy)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"foo": 1}, "'foo'; expected duration_s"),
        ({"overwrite": True}, "'overwrite'"),
        ({"out": "elsewhere"}, "'out'"),
        ({"config": "elsewhere"}, "'config'"),
        ({"script": "elsewhere"}, "'script'"),
        ({"name": "elsewhere"}, "'name'"),
        ({"duration_s": "x"}, "duration_s is 'x'; expected a number"),
        ({"duration_s": True}, "duration_s"),
        ({"duration_s": None}, "duration_s"),
        ({"duration_s": float("nan")}, "duration_s"),
        ({"duration_s": float("inf")}, "duration_s"),
        ({"duration_s": 10**400}, "duration_s"),
        ({"seed": 1.5}, "seed is '1.5'; expected a whole number"),
        ({"seed": -1}, "seed"),
        ({"bus": 3}, "bus is '3'; expected a text"),
        ({"costs": []}, "costs"),
        ({"costs": {"script": -1}}, "costs"),
        ({"costs": {"script": 10**30}}, "costs"),
        ({"costs": {"coffee": 1}}, "coffee"),
        ({"limits": {"knee": "1"}}, "limits"),
        ({"labels": {"operator": 1}}, "labels is .*expected a text by name"),
    ],
)
def test_a_specification_with_another_key_or_type_is_refused(copy, keys, words):
    change(copy, spec=spec(copy, **keys))
    for repeat in (replay_bout, replay_inputs):
        with pytest.raises(ReplayRefused, match=words):
            repeat(copy)


@pytest.mark.parametrize("key", ["duration_s", "seed", "bus"])
def test_a_specification_that_lacks_what_decides_the_bout_is_refused(copy, key):
    change(copy, spec={name: value for name, value in spec(copy).items() if name != key})
    with pytest.raises(ReplayRefused, match=f"no {key}"):
        replay_bout(copy)


def test_what_a_specification_leaves_to_the_defaults_is_none(copy):
    kept = spec(copy)
    change(copy, spec={name: kept[name] for name in ("duration_s", "seed", "bus")})
    assert replay_inputs(copy).identical


@pytest.mark.parametrize("bus", ["/dev/null", "aimotor:///dev/null", "file:///etc/passwd", "", "../emulated:"])
def test_a_bus_that_is_none_of_the_virtual_clock_is_never_opened(copy, bus):
    change(copy, spec=spec(copy, bus=bus))
    with pytest.raises(ReplayRefused, match="bus"):
        replay_bout(copy)


@pytest.mark.parametrize("state", ["complete", "fault", "interrupted", "running"])
def test_a_huge_duration_is_not_waited_for(copy, state):
    change(copy, state=state, spec=spec(copy, duration_s=9e7), simulated_s=9e7)
    seen = []
    report = replay_bout(copy, lambda simulated_s, duration_s: seen.append(simulated_s))
    assert max(seen) <= 3.5
    assert (report.difference is None) == (state in ("interrupted", "running"))
    if report.difference is not None:
        assert report.difference.file == "Infolog.txt"
    assert replay_inputs(copy).difference is None


def test_an_operator_who_stops_a_repetition_gets_no_report(copy):
    def stop(simulated_s, duration_s):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay_bout(copy, stop)


@pytest.mark.parametrize(
    "entries",
    [
        lambda found: [["head", 99, 4], *found[1:]],
        lambda found: [["head", 1, 3], *[e for e in found[1:] if e[0] == "edit"]],
        lambda found: [*found[:3], ["cycle", 1], *found[4:]],
        lambda found: [*found, ["edit", 1, 5, 99999, [1.0], ""]],
        lambda found: found[:1],
        lambda found: [],
    ],
)
def test_an_input_record_that_does_not_fit_is_refused(copy, entries):
    rewrite(copy, entries(records(copy)))
    with pytest.raises(ReplayRefused, match="InputRecord"):
        replay_inputs(copy)
    assert replay_bout(copy).difference.file == "InputRecord.msgpack"


def test_an_input_record_of_garbage_is_refused_and_differs(copy):
    (copy / "InputRecord.msgpack").write_bytes(b"\xc1garbage")
    forge(copy)
    with pytest.raises(ReplayRefused, match="InputRecord"):
        replay_inputs(copy)
    found = replay_bout(copy).difference
    assert (found.file, found.field) == ("InputRecord.msgpack", "bytes")
    (copy / "InputRecord.msgpack").unlink()
    with pytest.raises(ReplayRefused, match="InputRecord"):
        replay_inputs(copy)


def test_an_edit_no_store_would_take_is_refused_again_and_told(copy):
    found = records(copy)
    time_ns = found[100][2]
    rewrite(copy, [*found[:100], ["edit", 99, time_ns, 161, [1, 99], ""], *found[100:]])
    difference = replay_inputs(copy).difference
    assert difference.file == "Scriptlog.xml"


def test_a_configuration_exchanged_for_one_with_other_motors_is_a_change(copy):
    names = ("joints.xml", "parameters.xml", "sensors.xml")
    for name in names:
        shutil.copy(ROOT / "configs" / "lin_stickmiddle" / name, copy / name)
    report = replay_inputs(copy)
    assert (report.changed_files, report.difference, report.compared) == (names, None, ())
    forge(copy)
    with pytest.raises(ReplayRefused, match="of 4 motors, but lin_roach has 3"):
        replay_inputs(copy)


@pytest.mark.parametrize("name", ["MotorData.txt", "Infolog.txt", "StateData.txt"])
def test_a_log_that_was_lost_is_a_changed_file(copy, name):
    (copy / name).unlink()
    for repeat in (replay_bout, replay_inputs):
        report = repeat(copy)
        assert (report.changed_files, report.difference) == ((name,), None)


def test_a_log_lost_with_its_sum_is_a_difference(copy):
    (copy / "PlantData.txt").unlink()
    forge(copy)
    found = replay_bout(copy).difference
    assert (found.file, found.then, found.now) == ("PlantData.txt", "missing", "there")


def test_a_directory_without_any_record_is_refused(copy):
    for path in [*copy.glob("*Data.txt"), copy / "Infolog.txt"]:
        path.unlink()
    for repeat in (replay_bout, replay_inputs):
        with pytest.raises(ReplayRefused, match="nothing was recorded"):
            repeat(copy)


def test_columns_that_are_no_description_do_not_keep_a_difference_from_being_told(copy):
    (copy / "columns.json").write_text("[]")
    text = (copy / "StateData.txt").read_text()
    (copy / "StateData.txt").write_text("7" + text[1:])
    forge(copy)
    found = replay_inputs(copy).difference
    assert (found.file, found.record, found.field) == ("StateData.txt", 1, "line")


def test_of_several_differences_the_earliest_is_told(copy):
    for name, line in (("MotorData.txt", 300), ("SensData.txt", 200), ("StateData.txt", 70), ("HDSOlog.xml", 10)):
        lines = (copy / name).read_text().splitlines(keepends=True)
        lines[line] = lines[line].replace(" ", " 9", 1)
        (copy / name).write_text("".join(lines))
    forge(copy)
    found = replay_bout(copy).difference
    assert (found.file, found.record) == ("SensData.txt", 201)


def test_white_space_and_line_ends_are_differences(copy):
    text = (copy / "StateData.txt").read_text()
    for other, field in ((text.replace(" ", "  ", 1), "white space"), (text[:-1], "bytes")):
        (copy / "StateData.txt").write_text(other)
        forge(copy)
        for repeat in (replay_bout, replay_inputs):
            report = repeat(copy)
            assert (report.difference.file, report.difference.field) == ("StateData.txt", field)
            assert not report.identical


def test_a_killed_bout_whose_files_end_at_different_moments_still_repeats(copy):
    record = json.loads((copy / "manifest.json").read_text())
    for key in ("files", "engine_time_s"):
        record.pop(key)
    (copy / "manifest.json").write_text(json.dumps(record | {"state": "running"}))
    for name, kept in (("MotorData.txt", 0.5), ("StateData.txt", 0.9), ("InputRecord.msgpack", 0.7)):
        data = (copy / name).read_bytes()
        (copy / name).write_bytes(data[: int(len(data) * kept)])
    (copy / "Infolog.txt").write_text("")
    for repeat in (replay_bout, replay_inputs):
        report = repeat(copy)
        assert (report.difference, report.changed_files) == (None, ())
    lines = (copy / "StateData.txt").read_text().splitlines(keepends=True)
    lines[30] = lines[30].replace(" ", " 9", 1)
    (copy / "StateData.txt").write_text("".join(lines))
    for repeat in (replay_bout, replay_inputs):
        assert repeat(copy).difference.record == 31


@pytest.fixture(scope="module")
def silent(tmp_path_factory):
    """A bout that ends because one servo stopped answering."""
    opened = []
    with pytest.MonkeyPatch.context() as patch:
        real = bout_module.open_bus

        def watched(*args, **more):
            opened.append(real(*args, **more))
            return opened[0]

        patch.setattr(bout_module, "open_bus", watched)

        def unplug(simulated_s, duration_s):
            if simulated_s == 0.5:
                opened[0]._port._end.unplug(2)

        out = tmp_path_factory.mktemp("silent") / "bout"
        return run_bout(BoutSpec("lin_roach", out, duration_s=2, bus="loopback:", seed=3), unplug).folder


def test_recorded_misses_end_the_repetition_as_they_ended_the_bout(silent, tmp_path):
    report = replay_inputs(silent)
    assert report.difference is None
    copy = Path(shutil.copytree(silent, tmp_path / "copy"))
    found = records(copy)
    for entry in [entry for entry in found if entry[0] == "cycle"][-3:]:
        entry[5][2] = 1
    rewrite(copy, found)
    assert replay_inputs(copy).difference is not None
    change(copy, state="complete", reason="ran for the time asked for")
    rewrite(copy, records(silent))
    ended = replay_inputs(copy).difference
    assert (ended.file, ended.field, ended.then) == ("manifest.json", "reason", "no fault")
    assert ended.now.startswith("motor_silent: Coxa-Trochanter_motor")


def test_a_fault_the_replies_do_not_bring_about_is_a_difference(copy):
    change(copy, state="fault", reason="motor_silent: knee (bus id 3) has not answered")
    ended = replay_inputs(copy).difference
    assert (ended.file, ended.then, ended.now) == (
        "manifest.json",
        "motor_silent: knee (bus id 3) has not answered",
        "no fault",
    )
    change(copy, state="fault", reason="plant_diverged: the physics diverged")
    assert replay_inputs(copy).difference is None


def test_a_bus_of_recorded_replies_counts_misses_in_a_row_once_for_each_cycle():
    plan = one_joint()
    cycles = [["cycle", k, 10 * k, [100 + k], [k], [status], [9 * k]] for k, status in enumerate((1, 2, 3, 1, 2), 1)]
    bus, seen = RecordedBus(plan, cycles), []
    assert bus.run_until(1000) == NEVER
    for k in range(1, 6):
        bus.start(0, [0])
        assert bus.run_until(10 * k - 1) == NEVER
        assert [bus.run_until(10 * k), bus.run_until(1000)] == [10 * k, 10 * k]
        assert (bus.position_raw, bus.current_raw, bus.stamp_ns) == ([100 + k], [k], [9 * k])
        seen.append(bus.misses[0])
    assert seen == [0, 1, 2, 0, 1]
    bus.start(0, [0])
    assert bus.run_until(1000) == NEVER


def test_what_is_no_bout_is_refused(tmp_path):
    with pytest.raises(ReplayRefused, match="nuc run"):
        replay_bout(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ReplayRefused, match="cannot be read"):
        replay_bout(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(ReplayRefused, match="format"):
        replay_bout(tmp_path)


def test_the_seed_reaches_the_bus(tmp_path):
    # Turnaround fixed, so that of the bus only the jitter is left to the seed; no leg, whose start pose the seed moves.
    bus = "loopback:?turnaround_us=230&jitter_us=50"
    runs = [
        run_bout(BoutSpec("lin_roach", tmp_path / str(k), duration_s=0.5, seed=seed, bus=bus))
        for k, seed in enumerate((1, 1, 2))
    ]
    times = [[line.split()[0] for line in (run.folder / "MotorData.txt").read_text().splitlines()] for run in runs]
    assert times[0] == times[1] != times[2]
