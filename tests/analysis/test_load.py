"""Reading data directories: this engine's, NeuRoMod's, and damaged ones."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import AnalysisError, BoutError
from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.log_columns import joints_of
from nuc_engine.analysis.series import Series
from nuc_engine.analysis.windows import windows_of_bout
from nuc_engine.model.planning import build_plan
from sccils_schemas.model import load_model
from tests.analysis.directories import neuromod, script_log

LOGS = {
    "MotorData.txt": "motor",
    "SensData.txt": "sensors",
    "StateData.txt": "states",
    "MuscleData.txt": "muscles",
    "PlantData.txt": "plant",
}


def same(a: Series, b: Series) -> bool:
    return np.array_equal(a.t_s, b.t_s) and np.array_equal(a.values, b.values) and a.columns == b.columns


def columns_json(folder: Path) -> dict:
    return json.loads((folder / "columns.json").read_text())


def test_every_number_of_every_log_is_read(roach: Bout) -> None:
    for name, field in LOGS.items():
        lines = [line.split() for line in (roach.folder / name).read_text().splitlines()]
        series = getattr(roach, field)
        assert series.values.tolist() == [[float(x) for x in line[1:]] for line in lines]
        np.testing.assert_allclose(series.t_s, [int(line[0]) / 1e9 for line in lines], rtol=1e-12)
        described = columns_json(roach.folder)["files"][name]["columns"]
        assert series.columns == tuple(column["name"] for column in described[1:])
        assert series.units == tuple(column["unit"] for column in described[1:])


def test_a_whole_bout_has_nothing_to_note_and_knows_its_changesets(roach: Bout) -> None:
    assert roach.notes == ()
    assert roach.label == "lin_roach"
    assert roach.changesets_s == (0.5, 1.0)
    assert 1.9 < roach.end_s <= 2.0


def test_states_are_those_of_columns_json(roach: Bout) -> None:
    told = columns_json(roach.folder)["states"]
    ours = [(s.code, s.id_num, s.name, s.joint, list(s.color)) for s in roach.states_of]
    assert ours == [(s["code"], s["id"], s["name"], s["joint"], s["color"]) for s in told]
    assert roach.state(1).name == told[1]["name"]
    assert (roach.state(-1), roach.state(99)) == (None, None)


def test_joints_come_from_the_body_outwards_with_their_roles(roach: Bout) -> None:
    names = ["Thorax-Coxa1", "Thorax-Coxa2", "Coxa-Trochanter", "Femur-Tibia"]
    assert [(j.name, j.role) for j in roach.joints] == list(zip(names, ("ThC", "", "CTr", "FTi"), strict=True))
    assert [j.states for j in roach.joints] == [(0, 1), (), (2, 3), (4, 5)]


def test_the_chain_counts_and_not_the_documents_order(roach: Bout) -> None:
    plan = build_plan(load_model(roach.folder)[0])
    hip, turned, femur, knee = plan.joints
    mixed = (
        replace(knee, index=0, parent=3),
        replace(turned, parent=2),
        replace(hip, index=2),
        replace(femur, index=3),
    )
    joints = joints_of(replace(plan, joints=mixed))
    assert [j.name for j in joints] == [j.name for j in roach.joints]
    assert [(j.angle, j.raw_position) for j in joints] == [(j.angle, j.raw_position) for j in roach.joints]
    for broken in ((hip, turned, femur, replace(knee, parent=1)), (hip, replace(turned, parent=-1), femur, knee)):
        with pytest.raises(BoutError, match="no single chain"):
            joints_of(replace(plan, joints=broken))


def test_the_columns_of_a_joint_belong_together(roach: Bout) -> None:
    """The angle is the calibrated raw position; the load never exceeds the current it is filtered from."""
    meanings = {
        c["name"]: c.get("meaning", "") for c in columns_json(roach.folder)["files"]["MotorData.txt"]["columns"]
    }
    for joint in roach.joints:
        cal1, cal2 = map(float, re.search(r"raw - (\S+)\) / (\S+)", meanings[joint.raw_position]).groups())
        expected = (roach.motor.column(joint.raw_position) - cal1) / cal2
        np.testing.assert_allclose(
            np.interp(roach.motor.t_s, roach.sensors.t_s, roach.sensors.column(joint.angle)), expected, atol=1e-3
        )
        load = np.abs(roach.sensors.column(joint.current))
        assert load.max() <= roach.motor.column(joint.raw_current).max()
        assert load.max() > 0


def test_actions_and_activations_belong_together(roach: Bout) -> None:
    """A joint shows only its own actions, and its activations change only when its action or a parameter does."""
    for joint in roach.joints:
        if not joint.states:
            continue
        codes = roach.states.column(joint.action)
        assert set(codes.tolist()) <= set(joint.states)
        levels = np.stack([roach.states.column(name) for name in joint.activations], axis=1)
        assert len(joint.muscles) == 2
        for code in joint.states:
            assert len(np.unique(levels[1:][codes[1:] == code], axis=0)) <= 1


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("cut", [1, 6])
def test_a_torn_last_line_is_left_out_and_noted(folder: Path, roach: Bout, name: str, cut: int) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes()[:-cut])
    bout = load_bout(folder)
    whole = getattr(roach, LOGS[name])
    torn = getattr(bout, LOGS[name])
    assert bout.notes == (f"{name}: torn last line left out",)
    assert len(torn) == len(whole) - 1
    assert same(torn, Series(whole.t_s[:-1], whole.values[:-1], whole.columns, whole.units))


@pytest.mark.parametrize("name", ["MotorData.txt", "SensData.txt", "StateData.txt", "MuscleData.txt"])
def test_a_missing_log_is_named_and_the_others_are_read(folder: Path, roach: Bout, name: str) -> None:
    (folder / name).unlink()
    bout = load_bout(folder)
    assert (bout.notes, bout.missing) == ((f"{name}: missing",), (name,))
    for file, field in LOGS.items():
        whole = getattr(roach, field)
        expected = Series(whole.t_s[:0], whole.values[:0], whole.columns, whole.units) if file == name else whole
        assert same(getattr(bout, field), expected)
    if name in ("SensData.txt", "StateData.txt"):
        with pytest.raises(AnalysisError, match=f"lin_roach: {name} missing"):
            bout.tracks()
    else:
        assert len(bout.tracks().modules) == 3


def test_a_folder_without_any_log_is_no_bout(folder: Path, tmp_path: Path) -> None:
    for name in LOGS:
        (folder / name).unlink()
    with pytest.raises(BoutError, match=r"holds none of MotorData\.txt, SensData\.txt"):
        load_bout(folder)
    foreign = tmp_path / "holiday pictures"
    foreign.mkdir()
    (foreign / "beach.png").write_bytes(b"")
    with pytest.raises(BoutError, match="holiday pictures: holds no logs and no configuration"):
        load_bout(foreign)
    (foreign / "EpisodeData.f64").write_bytes(b"")
    with pytest.raises(BoutError, match="holiday pictures: is an episode of a RunConfig, which has no leg"):
        load_bout(foreign)


def test_the_joint_list_may_have_the_toolboxs_name(folder: Path, roach: Bout) -> None:
    (folder / "joints.xml").rename(folder / "jointlist.xml")
    bout = load_bout(folder)
    assert [(j.name, j.states, j.angle) for j in bout.joints] == [(j.name, j.states, j.angle) for j in roach.joints]
    assert [w.name for w in windows_of_bout(folder, 2.0)] == ["FWD", "ITF"]
    text = (folder / "jointlist.xml").read_text()
    (folder / "jointlist.xml").write_text(text.replace('idNum="1"', 'idNum="x"', 1))
    with pytest.raises(BoutError, match=r"jointlist\.xml:\d+: "):
        load_bout(folder)
    (folder / "jointlist.xml").write_text("<hdsolist name='x'/>")
    with pytest.raises(BoutError, match="cannot be used"):
        load_bout(folder)


@pytest.mark.parametrize("name", ["joints.xml", "parameters.xml", "sensors.xml"])
def test_a_missing_part_of_the_configuration_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    for read in (load_bout, lambda f: windows_of_bout(f, 2.0)):
        with pytest.raises(BoutError) as refused:
            read(folder)
        head, *reasons = str(refused.value).splitlines()
        assert head == f"{folder}: the copy of the configuration cannot be used:"
        assert len(reasons) == 1
        assert reasons[0].startswith(f"{folder / name}:1: ")


def test_no_directory_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(BoutError, match="no such directory"):
        load_bout(tmp_path / "nowhere")


def test_a_real_leg_leaves_no_truth(folder: Path) -> None:
    (folder / "PlantData.txt").unlink()
    bout = load_bout(folder)
    assert (bout.plant, bout.notes) == (None, ())
    assert bout.contact_spans(0.0, 2.0) == []
    tracks = bout.tracks()
    assert tracks.contact_n is None
    np.testing.assert_array_equal(tracks.foot_cm, bout.foot_from_angles())


def test_the_loopback_servos_leave_no_truth_either(finished_loopback: Path) -> None:
    assert load_bout(finished_loopback).plant is None


def test_without_the_engines_own_files_the_logs_read_the_same(folder: Path, roach: Bout) -> None:
    (folder / "columns.json").unlink()
    bout = load_bout(folder)
    for field in LOGS.values():
        assert np.array_equal(getattr(bout, field).values, getattr(roach, field).values)
        assert np.array_equal(getattr(bout, field).t_s, getattr(roach, field).t_s)
        assert getattr(bout, field).columns == getattr(roach, field).columns
    assert bout.notes == ()


def test_without_a_manifest_the_joint_list_gives_the_label(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    assert load_bout(folder).label == "lin_roachmiddle"


def test_an_unfinished_bout_is_said_to_be_one(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"state": "running"}))
    assert load_bout(folder).notes == ("manifest.json: the bout is running, not complete",)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("columns.json", "{", "columns.json: cannot be read"),
        ("columns.json", "[]", "columns.json: holds no JSON object"),
        ("columns.json", '{"files": {"SensData.txt": {}}}', "columns.json: not in the expected form"),
        ("columns.json", '{"files": {"SensData.txt": {"columns": [{}, {"unit": "deg"}]}}}', "not in the expected form"),
        ("columns.json", '{"files": []}', "not in the expected form"),
        ("manifest.json", "\xff", "manifest.json: cannot be read"),
        ("manifest.json", "[" * 100_000, "manifest.json: cannot be read"),
        ("SensData.txt", "", "note"),
    ],
)
def test_files_that_hold_something_else_are_named(folder: Path, name: str, content: str, message: str) -> None:
    (folder / name).write_bytes(content.encode("latin-1"))
    if message == "note":
        assert load_bout(folder).notes == (f"{name}: empty",)
    else:
        with pytest.raises(BoutError, match=message):
            load_bout(folder)


def test_columns_json_of_another_model_is_refused(folder: Path) -> None:
    path = folder / "columns.json"
    path.write_text(path.read_text().replace('"FT_angle"', '"knee"'))
    with pytest.raises(BoutError, match=r"columns\.json: SensData\.txt lacks FT_angle of this configuration"):
        load_bout(folder)


def test_a_log_of_another_model_is_refused(folder: Path, finished_stick: Path) -> None:
    (folder / "SensData.txt").write_bytes((finished_stick / "SensData.txt").read_bytes())
    with pytest.raises(BoutError, match=r"SensData\.txt: 7 columns, expected 9 for this configuration"):
        load_bout(folder)


def test_an_empty_bout_is_still_one(folder: Path) -> None:
    for name in LOGS:
        (folder / name).write_text("")
    bout = load_bout(folder)
    assert bout.end_s == 0.0
    assert bout.foot_from_angles().shape == (0, 3)
    assert bout.tracks().foot_cm.shape == (0, 3)
    assert len(bout.notes) == len(LOGS)


@pytest.mark.parametrize("times", [False, True], ids=["8 sensors", "8 sensors and 2 times"])
@pytest.mark.parametrize("padded", [False, True], ids=["11 columns", "13 columns"])
def test_neuromods_directories_are_read(roach: Bout, tmp_path: Path, times: bool, padded: bool) -> None:
    bout = load_bout(neuromod(roach.folder, tmp_path / "09-06-13_16-32-03", times=times, padded=padded))
    assert bout.notes == ()
    assert bout.plant is None
    assert bout.label == "lin_roachmiddle"
    for field in ("motor", "sensors", "states", "muscles"):
        np.testing.assert_array_equal(getattr(bout, field).t_s, getattr(roach, field).t_s)
    np.testing.assert_array_equal(bout.angles_deg(), roach.angles_deg())
    for ours, theirs in zip(roach.joints, bout.joints, strict=True):
        np.testing.assert_array_equal(bout.states.column(theirs.action), roach.states.column(ours.action))
        np.testing.assert_array_equal(bout.motor.column(theirs.raw_current), roach.motor.column(ours.raw_current))
        for a, b in zip(ours.activations, theirs.activations, strict=True):
            np.testing.assert_array_equal(bout.states.column(b), roach.states.column(a))
    np.testing.assert_array_equal(bout.muscles.values, roach.muscles.values)
    assert [s.id_num for s in bout.states_of] == [s.id_num for s in roach.states_of]
    assert bout.changesets_s == (0.500012, 1.000015)


def test_neuromods_changesets_make_windows(roach: Bout, tmp_path: Path) -> None:
    old = neuromod(roach.folder, tmp_path / "old", times=True, padded=True)
    windows = windows_of_bout(old, 2.0)
    assert [(w.name, w.behaviour) for w in windows] == [("FWD", "FWD"), ("ITF", "ITF")]
    assert windows[1].begin_s == pytest.approx(1.000015)


def test_a_start_time_that_only_the_sensors_tell_is_taken_from_them(roach: Bout, tmp_path: Path) -> None:
    bout = load_bout(neuromod(roach.folder, tmp_path / "old", times=True, padded=True, start=False))
    assert bout.notes == ()
    np.testing.assert_array_equal(bout.sensors.t_s, roach.sensors.t_s)


def test_what_was_sent_is_known_only_where_it_was_logged(roach: Bout, tmp_path: Path) -> None:
    bout = load_bout(neuromod(roach.folder, tmp_path / "old", times=True, padded=True))
    assert [joint.sent_raw for joint in bout.joints] == [None] * 4
    assert [joint.sent_raw in roach.motor.columns for joint in roach.joints] == [True] * 4


def test_without_a_logged_start_time_counts_from_the_first_record(roach: Bout, tmp_path: Path) -> None:
    bout = load_bout(neuromod(roach.folder, tmp_path / "old", times=False, padded=True, start=False))
    assert bout.notes == ("engine start time not logged: time counts from the first record",)
    first = min(s.t_s[0] for s in (roach.motor, roach.sensors, roach.states, roach.muscles))
    np.testing.assert_allclose(bout.sensors.t_s, roach.sensors.t_s - first, atol=1e-12)


def test_a_missing_script_log_is_noted(folder: Path) -> None:
    (folder / "Scriptlog.xml").unlink()
    bout = load_bout(folder)
    assert bout.changesets_s == ()
    assert len(bout.notes) == 1
    assert bout.notes[0].startswith("Scriptlog.xml: cannot be read")


def test_a_script_log_that_was_cut_off_anywhere_keeps_what_is_whole(folder: Path) -> None:
    path = folder / "Scriptlog.xml"
    whole = path.read_bytes()
    seen = set()
    for cut in range(len(whole) - 1, whole.index(b"<hdsoscript"), -13):
        path.write_bytes(whole[:cut])
        bout = load_bout(folder)
        assert bout.changesets_s in {(), (0.5,), (0.5, 1.0)}
        if whole[:cut].count(b"\n") > 2 and not whole[:cut].endswith(b"</hdsoscript>"):
            assert bout.notes == ("Scriptlog.xml: torn end left out",)
        entries = whole[: whole.rfind(b"\n", 0, cut) + 1].count(b"<hdsoMod")
        assert len(bout.changesets_s) == {0: 0, 1: 0, 2: 1}.get(entries, 2)
        seen.add(bout.changesets_s)
    assert len(seen) == 3


@pytest.mark.parametrize(
    "content",
    [
        "no markup",
        "<hdsolist name='x'/>",
        script_log(start=False).replace('idNum="103"', 'idNum="9999"'),
        script_log(start=False).replace("302 &lt; 108", "302 &lt;"),
    ],
)
def test_a_script_log_that_means_nothing_is_noted(folder: Path, content: str) -> None:
    (folder / "Scriptlog.xml").write_text(content)
    bout = load_bout(folder)
    assert bout.changesets_s == ()
    assert len(bout.notes) == 1
    assert bout.notes[0].startswith("Scriptlog.xml: not usable, so changesets are not known (")
