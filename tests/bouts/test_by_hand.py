"""Bouts that are given values, plant numbers and events: what becomes of them, and that they are repeated."""

from __future__ import annotations

import json
import shutil
import statistics
from pathlib import Path

import pytest

from nuc_engine.analysis.scriptlog import read_script_log
from nuc_engine.bout.replay import ReplayRefused, replay_bout, replay_inputs
from nuc_engine.bout.run import BoutRefused, BoutSpec, run_bout
from nuc_engine.plants import PlantSpecError
from nuc_engine.plants.events import BaseHeight, Disconnect, Ground, Kick, Load, Reconnect
from nuc_engine.plants.scripted import events_of
from nuc_engine.recording.inputs import read_inputs
from sccils_schemas.documents import HdsoMod, HdsoScript
from sccils_schemas.model import load_model
from sccils_schemas.parser import parse

MS = 1_000_000
S = 1000 * MS
SCRIPT = """<hdsoscript name="by hand">
  <hdsoMod idNum="103" NumElts="1">62</hdsoMod>
  <gradual time="0.5" duration="0.4" steps="2"><hdsoMod idNum="103" NumElts="1">60</hdsoMod></gradual>
  <kick time="0.6"/>
  <load time="0.3" newton="1.5" duration="0.1"/>
  <disconnect time="0.8" joint="Coxa-Trochanter" duration="0.1"/>
  <reconnect time="1.1" duration="0.8"/>
  <kick time="9"/>
</hdsoscript>
"""
VALUES = {"TC1_retLEV_FTang": 70.0, "105": 100.0, "statetrans_period_ns": 20_000_000, "162": "FT_angle < 103"}
PLANT = {"world.base_height_cm": 8.0, "variation.start_pose_deg": 0.0}
EVENTS = (Ground(2100 * MS, present=False), Kick(2000 * MS, (1.0, 0.0, 0.0), 50 * MS))


@pytest.fixture(scope="module")
def bout(tmp_path_factory):
    folder = tmp_path_factory.mktemp("by_hand")
    script = folder / "script.xml"
    script.write_text(SCRIPT)
    spec = BoutSpec("lin_roach", folder / "bout", str(script), 2.3, 3, values=VALUES, plant=PLANT, events=EVENTS)
    return run_bout(spec)


def log_of(folder: Path) -> HdsoScript:
    document, problems = parse((folder / "Scriptlog.xml").read_bytes())
    assert isinstance(document, HdsoScript), str(problems)
    return document


def column(folder: Path, name: str, index: int) -> dict[int, float]:
    rows = [line.split() for line in (folder / name).read_text().splitlines()]
    return {int(row[0]): float(row[index]) for row in rows}


def test_the_script_log_holds_what_was_really_done(bout):
    script = log_of(bout.folder)
    writes = [(str(e.time_s), e.id_num, e.data) for e in script.entries if isinstance(e, HdsoMod)]
    assert writes == [
        ("0", 105, (100.0,)),
        ("0", 2, (20_000_000,)),
        ("0", 162, "307 < 103"),
        ("0", 103, (62.0,)),
        ("0.7", 103, (61.0,)),
        ("0.9", 103, (60.0,)),
    ]
    times = [entry.time_s for entry in script.entries]
    assert times == sorted(times)


def test_it_holds_events_with_what_was_drawn(bout):
    events = events_of(log_of(bout.folder))
    kicks = [event for event in events if isinstance(event, Kick)]
    assert kicks[0].force_n is not None
    assert kicks[0].duration_ns is not None
    assert events == (
        Load(300 * MS, 1.5, 100 * MS),
        kicks[0],
        Disconnect(800 * MS, "Coxa-Trochanter", 100 * MS),
        Reconnect(1100 * MS, 800 * MS),
        EVENTS[1],
        EVENTS[0],
    )


def test_info_log_input_record_and_manifest_know_of_them(bout):
    info = (bout.folder / "Infolog.txt").read_text()
    assert info.count("plant_event") == 6
    assert "plant_event disconnect joint Coxa-Trochanter" in info
    recorded = [entry for entry in read_inputs(bout.folder / "InputRecord.msgpack") if entry[0] == "happened"]
    assert [entry[2] for entry in recorded] == [300 * MS, 600 * MS, 800 * MS, 1100 * MS, 2000 * MS, 2100 * MS]
    record = json.loads((bout.folder / "manifest.json").read_text())
    assert record["spec"]["values"] == VALUES
    assert record["spec"]["plant"] == PLANT
    assert [event["kind"] for event in record["spec"]["events"]] == ["ground", "kick"]
    assert record["counts"]["events"]["plant_event"] == 6


def test_what_the_bout_ends_before_is_warned_of(bout):
    assert any("before 1 event(s) of the plant (at 9 s)" in warning for warning in bout.warnings)


def test_the_copy_of_the_plant_is_the_original(bout):
    here = Path("configs/lin_roach/plant.toml").read_bytes()
    assert (bout.folder / "plant.toml").read_bytes() == here


def test_the_ground_is_gone_and_the_height_is_that_of_the_override(bout):
    force = column(bout.folder, "PlantData.txt", 4)
    assert all(value == 0.0 for time, value in force.items() if time > 2110 * MS)
    height = column(bout.folder, "PlantData.txt", 3)
    on_ground = [height[time] for time, value in force.items() if 0.0 < value < 3.0]
    assert statistics.median(on_ground) == pytest.approx(10.5 - 8.0 + 0.8, abs=0.1), "the foot's radius above it"


def test_it_is_repeated_to_the_byte_either_way(bout):
    assert replay_bout(bout.folder).identical
    assert replay_inputs(bout.folder).identical


def test_a_repetition_that_is_told_another_event_differs(bout, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(bout.folder, copy)
    path = copy / "manifest.json"
    record = json.loads(path.read_text())
    record["spec"]["events"][1]["force_n"] = [2.0, 0.0, 0.0]
    path.write_text(json.dumps(record))
    report = replay_bout(copy)
    assert not report.identical
    assert report.difference is not None
    assert report.difference.time_ns is not None
    assert report.difference.time_ns >= 2000 * MS


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("events", [{"kind": "nick"}], "kind is 'nick'"),
        ("events", {}, "expected a list"),
        ("values", {"103": [1, None]}, "expected numbers or text"),
        ("values", {"103": True}, "expected numbers or text"),
        ("plant", {"world.friction": "rough"}, "expected numbers by name"),
    ],
)
def test_a_damaged_specification_is_refused(bout, tmp_path, key, value, words):
    copy = tmp_path / "copy"
    shutil.copytree(bout.folder, copy)
    path = copy / "manifest.json"
    record = json.loads(path.read_text())
    record["spec"][key] = value
    path.write_text(json.dumps(record))
    with pytest.raises(ReplayRefused, match=words):
        replay_bout(copy)


def test_the_analysis_sees_the_writes_and_no_fault_in_the_log(bout):
    model = load_model(bout.folder)[0]
    assert model is not None
    log = read_script_log(bout.folder, model)
    assert log.notes == ()
    assert 0.7 in log.times_s


def test_bouts_are_the_same_up_to_the_first_event_and_not_after(tmp_path):
    plain = run_bout(BoutSpec("lin_roach", tmp_path / "plain", duration_s=1.2, seed=5)).folder
    # An instant that is neither one of the clock's chunks nor one of the plant's steps.
    kicked = run_bout(BoutSpec("lin_roach", tmp_path / "kicked", duration_s=1.2, seed=5, events=(Kick(777_777_777),)))
    for name in ("MotorData.txt", "PlantData.txt", "StateData.txt"):
        a, b = ((folder / name).read_text().splitlines() for folder in (plain, kicked.folder))
        before = [line for line in a if int(line.split()[0]) < 777_777_777]
        assert b[: len(before)] == before, name
    assert (plain / "MotorData.txt").read_bytes() != (kicked.folder / "MotorData.txt").read_bytes()


def test_the_same_kick_comes_in_the_same_bout_only(tmp_path):
    def force(name, seed, *events):
        folder = run_bout(BoutSpec("lin_roach", tmp_path / name, duration_s=0.3, seed=seed, events=events)).folder
        return [event.force_n for event in events_of(log_of(folder))]

    one = force("a", 1, Kick(100 * MS))
    assert one == force("b", 1, Kick(100 * MS), Kick(200 * MS))[:1]
    assert one != force("c", 2, Kick(100 * MS))


def refused(tmp_path, **more):
    with pytest.raises(BoutRefused) as caught:
        run_bout(BoutSpec("lin_roach", tmp_path / "no", duration_s=1, **more))
    assert not (tmp_path / "no").exists()
    return str(caught.value)


def test_values_that_can_not_be_written_are_refused_all_at_once(tmp_path):
    text = refused(tmp_path, values={"FT_angle": 3.0, "nothing": 1.0, "103": "1 < 2", "105": 1e9})
    assert "value FT_angle: HDSO 307 (FT_angle) is a sensor" in text
    assert "value nothing: HDSO 'nothing' is not declared" in text
    assert "value 103: text for HDSO 103" in text
    assert "value 105: 1000000000 is no value for HDSO 105" in text
    assert "expected numbers or text" in refused(tmp_path, values={"103": None})


def test_values_and_script_are_checked_together(tmp_path):
    script = tmp_path / "s.xml"
    script.write_text('<hdsoscript><hdsoMod idNum="9999" NumElts="1">1</hdsoMod></hdsoscript>')
    text = refused(tmp_path, values={"nothing": 1.0}, script=str(script))
    assert "value nothing:" in text
    assert "s.xml:1:" in text
    assert "HDSO 9999" in text


def test_events_that_can_not_happen_are_refused(tmp_path):
    text = refused(tmp_path, events=(Reconnect(S, 0), Disconnect(2 * S, "Knee", 0)))
    assert "nothing is taken off" in text
    assert "joint 'Knee'" in text


def test_servos_without_a_leg_take_no_events(tmp_path):
    assert "expected an emulated leg" in refused(tmp_path, bus="loopback:", events=(BaseHeight(0, 20.0),))


def test_plant_numbers_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(PlantSpecError, match="there is no such number"):
        run_bout(BoutSpec("lin_roach", tmp_path / "no", plant={"world.height": 3.0}))
    assert not (tmp_path / "no").exists()
