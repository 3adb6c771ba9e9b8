"""columns.json says what each column is, for joints with any number of muscles, and the logs have those columns."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nuc_engine.control.bus_tap import ExchangeReplies
from nuc_engine.control.tasks.board import Board
from nuc_engine.model.plan import JointPlan, Plan
from nuc_engine.model.planning import build_plan
from nuc_engine.model.store import Store
from nuc_engine.recording.columns import describe_columns
from nuc_engine.recording.logs import PLANT_FILE, DataLogs
from nuc_engine.recording.recorder import BoutRecorder
from sccils_schemas.model import Model, load_model
from tests.engine.models import one_joint


@pytest.fixture(scope="module")
def model() -> Model:
    found, _ = load_model(Path("configs/lin_roach"))
    assert found is not None
    return found


def leg(model: Model) -> Plan:
    """Three joints with no, three and one muscles, the first two without states of their own."""
    plan = one_joint()
    muscles = tuple(
        replace(plan.muscles[0], index=k, id_num=401 + k, name=f"m{k}", joint=1 if k < 3 else 2) for k in range(4)
    )
    knee = replace(plan.joints[0], index=2, muscles=(3,), id_num=model.jointlist.joints[2].id_num)
    joints = (
        JointPlan(0, 1, "lame", -1, "position", -1, (), (), -1),
        JointPlan(1, 2, "strong", 0, "muscle", -1, (0, 1, 2), (), 1),
        knee,
    )
    return replace(plan, joints=joints, muscles=muscles, motors=(replace(plan.motors[0], joint=2),))


def described(plan: Plan, model: Model) -> dict:
    """Describe a plan written by hand; the model only lends what columns.json quotes from documents."""
    model_hdsos = [hdso.id_num for hdso in model.hdsos]
    sensors = tuple(k for k in plan.sensor_columns if plan.hdsos[k].id_num in model_hdsos)
    return describe_columns(model, replace(plan, states=(), sensor_columns=sensors))


def names(found: dict, file: str) -> list[str]:
    return [column["name"] for column in found["files"][file]["columns"]]


def units(found: dict, file: str) -> dict[str, str]:
    return {
        column["name"].partition(".")[2] or column["name"]: column["unit"] for column in found["files"][file]["columns"]
    }


def test_joints_with_none_three_and_one_muscle_have_their_columns(model):
    plan = leg(model)
    joints = tuple(replace(joint, start_state=-1) if joint.index == 1 else joint for joint in plan.joints)
    found = described(replace(plan, joints=joints), model)
    assert names(found, "StateData.txt") == [
        *("time", "lame.state", "lame.activation[0]", "lame.activation[1]"),
        *("strong.state", "strong.activation[0]", "strong.activation[1]", "strong.activation[2]"),
        *("knee.state", "knee.activation[0]", "knee.activation[1]"),
    ]
    muscles = [
        column.get("muscle") for column in found["files"]["StateData.txt"]["columns"] if "activation" in column["name"]
    ]
    assert muscles == ["none", "none", "m0", "m1", "m2", "m3", "none"]
    assert names(found, "MuscleData.txt") == ["time"] + [
        f"m{k}.{what}" for k in range(4) for what in ("force", "length")
    ]


def test_the_logs_of_such_joints_have_the_same_columns(model, tmp_path):
    plan = leg(model)
    board = Board(plan, lambda *_: None)
    board.activations[:] = [0.1, 0.2, 1 / 3, 0.4]
    board.states[:] = [-1, 1, 0]
    board.forces[:], board.lengths[:] = [1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 1e-7]
    logs = DataLogs(tmp_path, plan, Store(plan))
    logs.states(25_000_000, board)
    logs.muscles(25_000_000, board)
    assert logs.close()["StateData.txt"] == 1
    assert (tmp_path / "StateData.txt").read_text() == "25000000 -1 0 0 1 0.1 0.2 0.333333333 0 0.4 0\n"
    assert (tmp_path / "MuscleData.txt").read_text() == "25000000 1 5 2 6 3 7 4 1e-07\n"


def test_units_are_those_of_the_values(model):
    found = describe_columns(model, build_plan(model))
    tick = "tick (0.654 deg)"
    assert units(found, "MotorData.txt") == {
        "time": "ns", "current_raw": "tick (18.4 mA)", "position_raw": tick, "sent_raw": tick, "age_ns": "ns",
    }  # fmt: skip
    sensors = units(found, "SensData.txt")
    assert (sensors["TC1_angle"], sensors["TC1_current"]) == ("deg", "tick (18.4 mA)")
    assert units(found, "StateData.txt") == {"time": "ns", "state": "code", "activation[0]": "1", "activation[1]": "1"}
    assert units(found, "MuscleData.txt") == {"time": "ns", "force": "unit of fmax", "length": "unit of Lnaught"}
    assert units(found, PLANT_FILE) == {"time": "ns", "foot_x": "cm", "foot_y": "cm", "foot_z": "cm", "contact": "N"}


def test_a_joint_without_states_says_which_code_stands_there(model):
    plan = build_plan(model)

    def meanings(plan: Plan) -> dict[str, str]:
        columns = describe_columns(model, plan)["files"]["StateData.txt"]["columns"]
        return {column["name"]: column["meaning"] for column in columns}

    lame = next(joint for joint in plan.joints if not joint.states)
    assert meanings(plan)[f"{lame.name}.state"].startswith("-1 throughout")
    assert meanings(plan)[f"{plan.joints[0].name}.state"] == "index into `states`"
    joints = tuple(replace(joint, start_state=2) if joint is lame else joint for joint in plan.joints)
    meant = meanings(replace(plan, joints=joints))[f"{lame.name}.state"]
    assert "index into `states`, 2 throughout" in meant
    assert plan.states[2].name in meant


def test_calibration_frame_and_sign_stand_with_their_columns(model):
    files = describe_columns(model, build_plan(model))["files"]
    columns = {column["name"]: column for file in files.values() for column in file["columns"]}
    assert "angle_deg = (raw - 144) / 1.529" in columns["Thorax-Coxa1_motor.position_raw"]["meaning"]
    assert columns["Thorax-Coxa1_motor.current_raw"]["sign"].startswith("none")
    assert columns["TC1_angle"]["motor"] == "Thorax-Coxa1_motor"
    assert "frame" in columns["TC1_angle"]
    assert "commanded" in columns["TC1_current"]["sign"]


@pytest.mark.parametrize(
    ("changes", "sign"),
    [
        ({}, "sign of the commanded raw delta; filtered 0.05 new + 0.95 old per cycle"),
        ({"load_range": (-9, 9)}, "that of the reading; filtered 0.05 new + 0.95 old per cycle"),
        (
            {"load_range": (-9, 9), "load_with_drive": True, "sample_ns": 5_076_000},
            "sign of the commanded raw delta; filtered 0.05 new + 0.95 old per 5.076 ms",
        ),
    ],
)
def test_the_current_sensor_says_whose_sign_it_has_and_how_slow_it_is(model, changes, sign):
    plan = build_plan(model)
    found = describe_columns(model, replace(plan, motors=tuple(replace(motor, **changes) for motor in plan.motors)))
    columns = {column["name"]: column for column in found["files"]["SensData.txt"]["columns"]}
    assert columns["TC1_current"]["sign"] == sign


def test_motor_rows_are_current_and_position_then_sent_and_age(tmp_path):
    plan = one_joint()
    plan = replace(plan, motors=(plan.motors[0], replace(plan.motors[0], index=1, name="second")))
    board = Board(plan, lambda *_: None)
    board.current_raw[:], board.position_raw[:] = [3, 4], [101, 102]
    board.sent_raw[:], board.stamp_ns[:] = [110, -1], [900, 400]
    logs = DataLogs(tmp_path, plan, Store(plan))
    logs.motor(1000, board)
    logs.close()
    assert (tmp_path / "MotorData.txt").read_text() == "1000 3 101 4 102 110 100 -1 600\n"


def test_events_are_one_line_each_and_logs_are_flushed_whole(tmp_path):
    plan = one_joint()
    logs = DataLogs(tmp_path, plan, Store(plan))
    logs.event(5, "warning", "two\nlines \udcff")
    for k in range(2000):
        logs.debug(k, "x" * 20)
    assert (tmp_path / "Debuglog.txt").read_bytes()[-1:] in (b"", b"\n")
    logs.flush()
    assert (tmp_path / "Infolog.txt").read_text() == "5 warning two lines \\udcff\n"
    assert len((tmp_path / "Debuglog.txt").read_text().splitlines()) == 2000
    assert logs.close() == logs.close()


def test_plant_records_make_their_file_only_when_there_are_any(tmp_path):
    plan = one_joint()
    logs = DataLogs(tmp_path, plan, Store(plan))
    logs.plant([])
    assert not (tmp_path / PLANT_FILE).exists()
    logs.plant([(2e6, 1.5, -2.0, 0.25, 1 / 3)])
    assert logs.close()[PLANT_FILE] == 1
    assert (tmp_path / PLANT_FILE).read_text() == "2000000 1.5 -2 0.25 0.333333333\n"


def test_a_flush_of_the_recorder_puts_everything_on_disk(model, tmp_path):
    plan = build_plan(model)
    recorder = BoutRecorder(tmp_path, model, plan, Store(plan))
    recorder.start(0, "emulated:")
    board = Board(plan, lambda *_: None)
    recorder.motor(7, board, ExchangeReplies.of(board))
    recorder.states(7, board)
    recorder.answer(8, 0, (3,), 0)
    recorder.flush()
    for name in ("MotorData.txt", "StateData.txt", "Infolog.txt", "Debuglog.txt", "InputRecord.msgpack"):
        assert (tmp_path / name).stat().st_size > 0, name
    assert "<hdsoMod" in (tmp_path / "HDSOlog.xml").read_text()
    assert (tmp_path / "Scriptlog.xml").read_text().startswith("<?xml")
    assert json.loads((tmp_path / "columns.json").read_text())["format"] == 1
    assert recorder.close()["HDSOlog.xml"] == len(plan.hdsos) + 1
