"""Whole bouts of the emulated leg: what they leave behind, and when they stop."""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

import nuc_engine.bout.run as bout_module
from drivers.servo import PlantFault
from nuc_engine.bout.run import BoutRefused, BoutSpec, run_bout
from nuc_engine.machine.locations import NotFound
from nuc_engine.recording.directory import DirectoryInUse
from nuc_engine.recording.inputs import read_inputs
from nuc_engine.recording.manifest import hash_files, sha256
from nuc_engine.recording.recorder import BoutRecorder
from sccils_schemas.model import load_model, load_script

SCRIPT = """<hdsoscript>
  <hdsoMod idNum="103" NumElts="1" time="0.5">61</hdsoMod>
  <hdsoMod idNum="162" NumElts="26" datatype="char" time="0.5">FT_angle &lt; TC1_retLEV_FTang</hdsoMod>
  <hdsoSpec idNum="302" time="0.75"/>
</hdsoscript>
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("script") / "short.xml"
    text = "FT_angle < TC1_retLEV_FTang"
    path.write_text(SCRIPT.replace('NumElts="26"', f'NumElts="{len(text)}"'))
    return path


@pytest.fixture(scope="module")
def bout(tmp_path_factory, script):
    out = tmp_path_factory.mktemp("bout") / "a"
    labels = {"operator": "nobody", "surface": "oiled plate"}
    return run_bout(BoutSpec("lin_roach", out, script=str(script), duration_s=2, seed=4, labels=labels))


def rows(path: Path) -> list[list[float]]:
    return [[float(word) for word in line.split()] for line in path.read_text().splitlines()]


def manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_text())


def test_the_data_directory_is_complete_and_its_sums_hold(bout):
    names = {path.name for path in bout.folder.iterdir()}
    assert names == {
        "MotorData.txt", "SensData.txt", "StateData.txt", "MuscleData.txt", "PlantData.txt", "Infolog.txt",
        "Debuglog.txt", "Scriptlog.xml", "HDSOlog.xml", "joints.xml", "parameters.xml", "sensors.xml", "plant.toml",
        "scriptfile.xml", "columns.json", "InputRecord.msgpack", "manifest.json",
    }  # fmt: skip
    record = manifest(bout.folder)
    assert record["state"] == "complete"
    assert record["files"] == hash_files(bout.folder)
    assert set(record["files"]) == names - {"manifest.json"}
    assert record["spec"]["seed"] == 4
    assert record["spec"]["labels"] == {"operator": "nobody", "surface": "oiled plate"}
    assert record["inputs"]["scriptfile.xml"] == sha256(bout.folder / "scriptfile.xml")
    assert set(record["start_pose_deg"]) == {"Thorax-Coxa1", "Thorax-Coxa2", "Coxa-Trochanter", "Femur-Tibia"}


def test_every_row_has_the_columns_that_are_described(bout):
    described = json.loads((bout.folder / "columns.json").read_text())["files"]
    for name in ("MotorData.txt", "SensData.txt", "StateData.txt", "MuscleData.txt", "PlantData.txt"):
        table = rows(bout.folder / name)
        assert {len(row) for row in table} == {len(described[name]["columns"])}, name
        times = [row[0] for row in table]
        assert times == sorted(set(times)), name
    assert manifest(bout.folder)["counts"]["records"]["MotorData.txt"] == len(rows(bout.folder / "MotorData.txt"))


def test_four_motors_run_at_197_hz_and_states_at_40_hz(bout):
    motor, states = rows(bout.folder / "MotorData.txt"), rows(bout.folder / "StateData.txt")
    assert 190 < len(motor) / 2 < 203
    assert [row[0] for row in states] == [k * 25_000_000 for k in range(80)]


def test_sensors_are_the_calibrated_replies(bout):
    # ThC1: raw = 144 + 1.529 angle; the sample of a cycle follows its reply at once.
    motor, sensors = rows(bout.folder / "MotorData.txt"), rows(bout.folder / "SensData.txt")
    for raw, sensed in zip(motor, sensors, strict=True):
        assert raw[0] == sensed[0]
        assert sensed[1] == pytest.approx((raw[2] - 144) / 1.529, rel=1e-6)


def test_commands_are_measured_plus_the_rounded_delta(bout):
    # From the muscle log alone: delta of the knee = 15 f405 - 10 f406, added to the last reply, kept in 0..254.
    motor, muscles = rows(bout.folder / "MotorData.txt"), rows(bout.folder / "MuscleData.txt")
    checked = 0
    for before, row in pairwise(motor):
        started = before[0]
        latest = max((m for m in muscles if m[0] < started), key=lambda m: m[0], default=None)
        if latest is None or any(m[0] == started for m in muscles):
            continue
        delta = 15 * latest[9] - 10 * latest[11]
        if abs(delta % 1 - 0.5) < 1e-6:
            continue
        assert row[1 + 8 + 6] == min(254, max(0, before[8] + round(delta)))
        checked += 1
    assert checked > 300


def test_the_script_log_says_what_was_done_when_and_in_which_cycle(bout, script):
    model, _ = load_model(bout.folder)
    log, problems = load_script(bout.folder / "Scriptlog.xml", model)
    assert problems.ok
    assert [(entry.id_num, float(entry.time_s)) for entry in log.entries] == [(103, 0.5), (162, 0.5)]
    assert log.entries[1].data == "307 < 103"
    edits = [record for record in read_inputs(bout.folder / "InputRecord.msgpack") if record[0] == "edit"]
    assert f"<!-- cycle {edits[0][1]} -->" in (bout.folder / "Scriptlog.xml").read_text()
    assert edits[0][1] == sum(row[0] < 500_000_000 for row in rows(bout.folder / "MotorData.txt"))


def test_the_hdso_log_dumps_the_store_and_answers_requests(bout):
    text = (bout.folder / "HDSOlog.xml").read_text()
    assert text.count("<hdsoMod") == len(load_model(bout.folder)[0].hdsos) + 1
    assert 'idNum="302" name="TC1_current" NumElts="1" datatype="float" time="0.75"' in text
    assert 'idNum="201" name="ThC1_forceCommand" NumElts="0"' in text


def test_an_existing_directory_is_left_alone_unless_told(bout, tmp_path):
    spec = BoutSpec("lin_roach", bout.folder, duration_s=0.1)
    before = hash_files(bout.folder)
    with pytest.raises(DirectoryInUse, match="--force"):
        run_bout(spec)
    assert hash_files(bout.folder) == before
    stranger = tmp_path / "thesis"
    stranger.mkdir()
    (stranger / "chapter1.txt").write_text("do not lose this")
    with pytest.raises(DirectoryInUse, match="not a bout"):
        run_bout(BoutSpec("lin_roach", stranger, duration_s=0.1, overwrite=True))
    assert (stranger / "chapter1.txt").exists()


def test_nothing_is_written_when_the_bout_can_not_start(tmp_path):
    out = tmp_path / "out"
    bad = tmp_path / "bad"
    shutil.copytree("configs/lin_roach", bad)
    text = (bad / "joints.xml").read_text()
    (bad / "joints.xml").write_text(
        text.replace('parent="2"', 'parent="77"').replace('start_state_idNum="205"', 'start_state_idNum="9"')
    )
    with pytest.raises(BoutRefused) as refused:
        run_bout(BoutSpec(str(bad), out))
    assert "77" in str(refused.value)
    assert "9" in str(refused.value)
    with pytest.raises(NotFound, match="lin_roach"):
        run_bout(BoutSpec("lin_cricket", out))
    with pytest.raises(BoutRefused, match="duration"):
        run_bout(BoutSpec("lin_roach", out, duration_s=0))
    with pytest.raises(BoutRefused, match="seed"):
        run_bout(BoutSpec("lin_roach", out, seed=-1))
    assert not out.exists()


def test_an_interrupted_bout_keeps_everything_up_to_that_moment(tmp_path):
    def stop(simulated_s, duration_s):
        if simulated_s >= 1.0:
            raise KeyboardInterrupt

    result = run_bout(BoutSpec("lin_roach", tmp_path / "cut", duration_s=5), stop)
    assert (result.state, result.simulated_s) == ("interrupted", 1.0)
    assert len(rows(result.folder / "StateData.txt")) == 40
    assert manifest(result.folder)["reason"] == "stopped by the operator"
    assert manifest(result.folder)["files"] == hash_files(result.folder)
    assert "engine_stop interrupted" in (result.folder / "Infolog.txt").read_text()


def test_a_diverging_plant_stops_the_bout_with_its_own_fault(tmp_path, monkeypatch):
    real = bout_module.open_plant

    def fragile(*args):
        plant = real(*args)
        advance = plant.advance

        def diverge(now_ns):
            if now_ns > 700_000_000:
                raise PlantFault("the physics diverged before 0.700 s: BADQACC")
            advance(now_ns)

        plant.advance = diverge
        return plant

    monkeypatch.setattr(bout_module, "open_plant", fragile)
    result = run_bout(BoutSpec("lin_roach", tmp_path / "broken", duration_s=2))
    assert result.state == "fault"
    assert result.reason.startswith("plant_diverged: the physics diverged before 0.700 s")
    assert 0.65 < result.simulated_s <= 0.7
    assert len(rows(result.folder / "StateData.txt")) == 28
    assert "fault plant_diverged" in (result.folder / "Infolog.txt").read_text()


def test_a_servo_that_falls_silent_is_a_motor_fault_and_torque_goes_off(tmp_path, monkeypatch):
    real, opened = bout_module.open_bus, []

    def watched(url, servos, plant, *, seed):
        bus = real(url, servos, plant, seed=seed)
        opened.append((bus, plant))
        return bus

    monkeypatch.setattr(bout_module, "open_bus", watched)

    def unplug(simulated_s, duration_s):
        if simulated_s == 0.5:
            opened[0][0]._port._end.unplug(2)

    result = run_bout(BoutSpec("lin_roach", tmp_path / "silent", duration_s=2), unplug)
    assert result.state == "fault"
    assert "motor_silent: Coxa-Trochanter_motor (bus id 2) has not answered 5 times" in result.reason
    record = manifest(result.folder)
    assert record["counts"]["missed_replies"]["Coxa-Trochanter_motor"] == 5
    assert opened[0][1]._level == [-1, -1, -1, -1]
    # From its first missed reply on the motor is only read, and its record carries the growing age.
    last = rows(result.folder / "MotorData.txt")[-4:]
    assert [row[1 + 8 + 4] for row in last] == [-1] * 4
    ages = [row[1 + 8 + 5] for row in last]
    assert ages == sorted(ages)
    assert ages[0] < ages[-1]


def test_a_loopback_bout_needs_no_physics(tmp_path):
    result = run_bout(BoutSpec("lin_roach", tmp_path / "loop", duration_s=1, bus="loopback:"))
    assert result.state == "complete"
    assert not (result.folder / "PlantData.txt").exists()


def test_costs_and_limits_are_checked_before_anything_is_written(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(BoutRefused, match="'muscles'; expected one of script, motor_reply"):
        run_bout(BoutSpec("lin_roach", out, costs={"muscles": 1}))
    with pytest.raises(BoutRefused, match="limit of motor 'knee'"):
        run_bout(BoutSpec("lin_roach", out, limits={"knee": 1}))
    for wrong in (-1, 10**13, 1.5):
        with pytest.raises(BoutRefused, match="whole number from 0"):
            run_bout(BoutSpec("lin_roach", out, limits={"Femur_Tibia_motor": wrong}))
    assert not out.exists()


def test_no_motor_is_commanded_further_than_its_limit(tmp_path):
    result = run_bout(BoutSpec("lin_roach", tmp_path / "a", duration_s=2, limits={"Femur_Tibia_motor": 5}))
    table = rows(result.folder / "MotorData.txt")
    steps = [row[1 + 8 + 6] - before[8] for before, row in pairwise(table) if row[1 + 8 + 6] >= 0]
    assert max(abs(step) for step in steps) == 5
    assert manifest(result.folder)["counts"]["guard_interventions"]["Femur_Tibia_motor"] > 50
    other = [row[1 + 8 + 4] - before[6] for before, row in pairwise(table) if row[1 + 8 + 4] >= 0]
    assert max(abs(step) for step in other) > 5


def test_the_turnaround_that_was_drawn_is_recorded(bout):
    url = manifest(bout.folder)["bus"]
    assert url.startswith("emulated:?turnaround_us=2")
    assert url in (bout.folder / "Debuglog.txt").read_text()


def test_a_directory_that_holds_the_inputs_is_not_overwritten(bout, tmp_path):
    copy = Path(shutil.copytree(bout.folder, tmp_path / "copy"))
    before = hash_files(copy)
    with pytest.raises(BoutRefused, match="lies in"):
        run_bout(BoutSpec(str(copy), copy, duration_s=0.1, overwrite=True))
    with pytest.raises(BoutRefused, match=r"scriptfile\.xml lies in"):
        run_bout(BoutSpec("lin_roach", copy, script=str(copy / "scriptfile.xml"), duration_s=0.1, overwrite=True))
    assert hash_files(copy) == before


def test_an_error_nobody_foresaw_keeps_the_data_and_says_so(tmp_path):
    def fail(simulated_s, duration_s):
        if simulated_s >= 1.0:
            raise RuntimeError("the moon is full")

    result = run_bout(BoutSpec("lin_roach", tmp_path / "odd", duration_s=5), fail)
    assert result.state == "fault"
    assert result.reason.startswith("engine_error: RuntimeError: the moon is full")
    assert len(rows(result.folder / "StateData.txt")) == 40
    assert 'raise RuntimeError("the moon is full")' in (result.folder / "Debuglog.txt").read_text()
    assert manifest(result.folder)["files"] == hash_files(result.folder)


def test_data_are_on_disk_while_the_bout_runs(tmp_path):
    sizes = []

    def look(simulated_s, duration_s):
        sizes.append((tmp_path / "a" / "MotorData.txt").stat().st_size)
        assert manifest(tmp_path / "a")["state"] == "running"

    run_bout(BoutSpec("lin_roach", tmp_path / "a", duration_s=2), look)
    assert len(sizes) == 4
    assert sizes == sorted(set(sizes))
    assert sizes[0] > 1000


def test_changesets_the_bout_does_not_reach_are_told(tmp_path):
    result = run_bout(BoutSpec("lin_roach", tmp_path / "a", script="experiment_a", duration_s=1))
    assert any("before 2 changeset(s) of the script (at 20, 40 s)" in warning for warning in result.warnings)
    assert manifest(result.folder)["losses"]["changesets_not_reached"] == 2
    assert "at 20, 40 s" in (result.folder / "Infolog.txt").read_text()


def test_dead_rules_and_refused_writes_are_told(tmp_path):
    script = tmp_path / "s.xml"
    script.write_text(
        """<hdsoscript>
  <hdsoMod idNum="105" NumElts="1" time="0.2">169.99</hdsoMod>
  <hdsoMod idNum="161" NumElts="23" datatype="char" time="0.2">(307 &gt; 105)&amp;(307 &lt; 103)</hdsoMod>
</hdsoscript>"""
    )
    result = run_bout(BoutSpec("lin_roach", tmp_path / "a", script=str(script), duration_s=1))
    told = [warning for warning in result.warnings if "can never be true" in warning]
    assert len(told) == 1
    assert told[0].startswith("from 0.2 s on, Enter_TC1_ProtractionDEP")
    assert told[0] in (result.folder / "Infolog.txt").read_text()


def test_a_script_that_is_wrong_refuses_the_bout(tmp_path):
    script = tmp_path / "s.xml"
    script.write_text('<hdsoscript>\n<hdsoMod idNum="999" NumElts="1">1</hdsoMod>\n</hdsoscript>')
    with pytest.raises(BoutRefused, match=r"s\.xml:2: .*999"):
        run_bout(BoutSpec("lin_roach", tmp_path / "a", script=str(script), duration_s=1))
    assert not (tmp_path / "a").exists()


def test_start_and_stop_times_stand_in_the_store(tmp_path):
    script = tmp_path / "s.xml"
    script.write_text(
        '<hdsoscript>\n<hdsoSpec idNum="20" time="0.5"/>\n<hdsoSpec idNum="21" time="0.5"/>\n</hdsoscript>'
    )
    result = run_bout(BoutSpec("lin_roach", tmp_path / "a", script=str(script), duration_s=1))
    text = (result.folder / "HDSOlog.xml").read_text()
    assert 'idNum="20" name="engine_start_time" NumElts="1" datatype="llint" time="0.5">0<' in text
    assert 'idNum="21" name="engine_stop_time" NumElts="1" datatype="llint" time="0.5">-1<' in text


@pytest.mark.parametrize("turnaround", ["208.334", "208.3335", "230"])
def test_an_exchange_that_ends_with_a_piece_of_the_bout_is_not_lost(tmp_path, turnaround):
    # At 208.334 us the cycle ends exactly at 0.5 s, where the bout is flushed.
    bus = f"emulated:aimotor?turnaround_us={turnaround}"
    result = run_bout(BoutSpec("lin_roach", tmp_path / "a", duration_s=2, bus=bus))
    assert 390 < result.cycles < 405


def test_a_rule_that_uses_what_nobody_gave_refuses_the_bout(tmp_path):
    config = Path(shutil.copytree("configs/lin_roach", tmp_path / "config"))
    text = (config / "joints.xml").read_text()
    assert '<hdsoMod idNum="105" NumElts="1">120</hdsoMod>' in text
    (config / "joints.xml").write_text(text.replace('<hdsoMod idNum="105" NumElts="1">120</hdsoMod>', ""))
    with pytest.raises(BoutRefused, match="105"):
        run_bout(BoutSpec(str(config), tmp_path / "a", duration_s=0.1))
    script = tmp_path / "s.xml"
    script.write_text('<hdsoscript><hdsoMod idNum="105" NumElts="1" time="0">120</hdsoMod></hdsoscript>')
    assert run_bout(BoutSpec(str(config), tmp_path / "b", script=str(script), duration_s=0.1)).state == "complete"


def test_a_full_disk_keeps_what_was_written_and_the_reason(tmp_path, monkeypatch):
    real_open, flush = Path.open, BoutRecorder.flush
    full = []

    def open_path(path, mode="r", *args, **kwargs):
        if full and "w" in mode:
            raise OSError(28, "No space left on device", str(path))
        return real_open(path, mode, *args, **kwargs)

    def flush_until_full(recorder):
        if full:
            raise OSError(28, "No space left on device")
        flush(recorder)

    def fill(simulated_s, duration_s):
        if simulated_s >= 1.0:
            full.append(True)

    monkeypatch.setattr(Path, "open", open_path)
    monkeypatch.setattr(BoutRecorder, "flush", flush_until_full)
    result = run_bout(BoutSpec("lin_roach", tmp_path / "a", duration_s=5), fill)
    assert result.state == "fault"
    assert result.reason.startswith("logging_failed: [Errno 28] No space left on device")
    record = manifest(tmp_path / "a")
    assert (record["state"], record["reason"]) == ("fault", result.reason)
    assert record["engine_time_s"] == 1.5
    assert len(rows(tmp_path / "a" / "StateData.txt")) >= 40
