"""Which of a joint's motors a bus drives, and in what units it counts. The families are the ones there are."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from types import SimpleNamespace

import pytest

from drivers.errors import BusUrlError
from drivers.factory import find_family
from nuc_engine.model import motors
from nuc_engine.model.motors import addresses_of, ai_tick_torque_n_m, families_of, family_of, is_driven
from nuc_engine.model.plan import Plan, PlanError
from nuc_engine.model.planning import build_plan, companion_files
from sccils_schemas.documents import Motor
from sccils_schemas.model import Model
from tests.sccils.small import small_model

AI, DXL, STS = {"": "aimotor"}, {"": "dynamixel"}, {"": "feetech"}


def with_motors(*models: str, joints: tuple[str, ...] = ("Coxa", "Femur"), **more) -> Model:
    """Return the small model with motors of these models beside its AI motors."""
    model = small_model()

    def motors(joint):
        ai = joint.motor
        if ai is None or joint.name not in joints:
            return ()
        return tuple(
            Motor(
                ai.id_num,
                ai.name,
                ai.serial_id + 1,
                ai.dir,
                2048.0,
                11.36 * ai.dir,
                force_command=ai.force_command,
                position_command=ai.position_command,
                model=name,
                **more,
            )
            for name in models
        )

    changed = tuple(replace(joint, motors=motors(joint)) for joint in model.jointlist.joints)
    return replace(model, jointlist=replace(model.jointlist, joints=changed))


@pytest.mark.parametrize(
    ("url", "family"),
    [
        ("emulated:", "aimotor"),
        ("emulated:?seed=1", "aimotor"),
        ("emulated:feetech?baud=1000000", "feetech"),
        ("loopback:", "aimotor"),
        ("loopback:dynamixel", "dynamixel"),
        ("aimotor:///dev/ttyUSB0", "aimotor"),
        ("dynamixel:///dev/ttyUSB0?baud=57600", "dynamixel"),
    ],
)
def test_the_family_is_that_of_the_url(url, family):
    assert family_of(url) == family


def test_the_families_are_those_of_the_buses():
    buses = {"left": "emulated:", "right": "feetech:///dev/ttyUSB1"}
    assert families_of(buses.items()) == {"left": "aimotor", "right": "feetech"}
    with pytest.raises(BusUrlError, match="no bus URL"):
        family_of("nonsense")


def test_a_configuration_of_aimotors_is_planned_as_ever():
    model = small_model()
    plan = build_plan(model)
    assert plan == build_plan(model, AI) == build_plan(model, {})
    motor = plan.motors[0]
    assert (motor.family, motor.delta_ticks, motor.torque_table) == ("aimotor", 1.0, ())
    assert (motor.tick_deg, motor.positions, motor.load_range, motor.load_scale) == (0.654, (0, 254), (0, 254), 1.0)
    address = addresses_of(plan.motors)[0]
    assert (address.stiffness_n_m_deg, address.torque_limit_n_m) == (0.0, 0.0)


@pytest.mark.parametrize(("families", "models"), [(AI, ""), (DXL, "XL430-W250"), (STS, "STS3215"), (None, "")])
def test_the_bus_picks_the_motor_of_its_family(families, models):
    plan = build_plan(with_motors("XL430-W250", "STS3215"), families)
    assert [motor.model for motor in plan.motors] == [models, models]
    assert [motor.bus_id for motor in plan.motors] == ([0, 1] if models == "" else [1, 2])


def test_a_plan_of_any_family_can_be_handed_to_another_process():
    plan = build_plan(with_motors("XL430-W250"), DXL)
    assert pickle.loads(pickle.dumps(plan)) == plan


def test_several_buses_pick_each_their_own():
    model = with_motors("XL430-W250")
    coxa, femur, *rest = model.jointlist.joints
    assert coxa.motor is not None
    assert femur.motor is not None
    joints = (
        replace(coxa, motor=replace(coxa.motor, bus="left"), motors=tuple(replace(m, bus="left") for m in coxa.motors)),
        replace(femur, motor=replace(femur.motor, bus="right"), motors=()),
        *rest,
    )
    model = replace(model, jointlist=replace(model.jointlist, joints=joints))
    plan = build_plan(model, {"left": "dynamixel", "right": "aimotor"})
    assert [(motor.bus, motor.family) for motor in plan.motors] == [("left", "dynamixel"), ("right", "aimotor")]


def test_a_joint_without_a_motor_of_the_family_is_named_with_the_remedy():
    with pytest.raises(PlanError, match=r"Femur has no motor of the family dynamixel.*aimotor.*nuc bus adapt"):
        build_plan(with_motors("XL430-W250", joints=("Coxa",)), DXL)
    with pytest.raises(PlanError, match="Coxa has no motor of the family feetech"):
        build_plan(small_model(), STS)


def test_a_family_that_there_is_not_says_so():
    with pytest.raises(BusUrlError, match="unknown servo family 'futaba'"):
        build_plan(small_model(), {"": "futaba"})


def test_two_motors_of_one_family_are_refused():
    with pytest.raises(PlanError, match="several motors of the family dynamixel"):
        build_plan(with_motors("XL430-W250", "XM430-W350"), DXL)


def test_a_model_nobody_knows_is_named():
    model = with_motors("XL4000")
    assert build_plan(model, AI).motors[0].model == ""
    alone = tuple(replace(joint, motor=None) for joint in model.jointlist.joints)
    with pytest.raises(PlanError, match=r"motor XL4000 is of no known family.*XL430-W250"):
        build_plan(replace(model, jointlist=replace(model.jointlist, joints=alone)))


def test_two_motors_under_one_id_of_a_bus_are_refused():
    model = with_motors("XL430-W250")
    same = tuple(
        replace(joint, motors=tuple(replace(motor, serial_id=7) for motor in joint.motors))
        for joint in model.jointlist.joints
    )
    with pytest.raises(PlanError, match="both id 7"):
        build_plan(replace(model, jointlist=replace(model.jointlist, joints=same)), DXL)


@pytest.mark.parametrize(("model", "families"), [("XL430-W250", DXL), ("XM430-W350", DXL), ("STS3215", STS)])
def test_a_unit_of_muscle_output_is_an_ai_1001s_tick_where_nothing_else_is_said(model, families):
    plan = build_plan(with_motors(model), families)
    motor, known = plan.motors[0], find_family(families[""]).models[model]
    assert motor.delta_torque_n_m == ai_tick_torque_n_m() == pytest.approx(0.981 / 41.4, rel=1e-3)
    assert motor.stiffness_n_m_deg == pytest.approx(motor.delta_torque_n_m / 0.654)
    per_tick = known.tick_torque_n_m(known.gain_for(motor.stiffness_n_m_deg))
    assert motor.delta_ticks * per_tick == pytest.approx(motor.delta_torque_n_m)
    # The loop is as stiff as an AI motor's: a degree of delta is the same torque, to the next step of its gain.
    assert per_tick / known.tick_deg == pytest.approx(motor.stiffness_n_m_deg, rel=0.1)
    assert (motor.positions, motor.tick_deg, motor.load_range) == (known.positions, known.tick_deg, known.load_range)
    assert not motor.overflow_correction


def test_muscles_speak_newton_metres_with_a_delta_torque_of_one():
    plan = build_plan(with_motors("XL430-W250", delta_torque_n_m=1.0, stiffness_n_m_deg=0.03), DXL)
    motor, known = plan.motors[0], find_family("dynamixel").models["XL430-W250"]
    per_tick = known.tick_torque_n_m(known.gain_for(0.03))
    assert motor.delta_torque_n_m == 1.0
    assert motor.delta_ticks == pytest.approx(1.0 / per_tick)


def test_what_a_servo_is_set_to_reaches_its_address():
    plan = build_plan(with_motors("XL430-W250", stiffness_n_m_deg=0.03, torque_limit_n_m=0.7, current_scale=-0.2), DXL)
    address = addresses_of(plan.motors)[0]
    assert (address.model, address.bus_id) == ("XL430-W250", 1)
    assert (address.stiffness_n_m_deg, address.torque_limit_n_m) == (0.03, 0.7)
    assert plan.motors[0].load_scale == -0.2


def test_a_torque_table_is_taken_from_beside_the_documents(tmp_path):
    known = find_family("dynamixel").models["XL430-W250"]
    gain = known.gain_for(0.03)
    record = {"ticks": [0, 10, 100], "torque_n_m": [0, 0.01, 0.2], "model": "XL430-W250", "gain": gain}
    model = with_motors("XL430-W250", stiffness_n_m_deg=0.03, torque_table="t.json")
    assert companion_files(model) == ("t.json",)
    plan = build_plan(model, DXL, {"t.json": json.dumps(record).encode()})
    assert plan.motors[0].torque_table[0] == (-100.0, -0.2)
    (tmp_path / "t.json").write_text(json.dumps(record))
    assert build_plan(replace(model, folder=tmp_path), DXL) == plan
    wrong = (({}, "not there"), ({"t.json": b"{}"}, "list of numbers"))
    for tables, words in wrong:
        with pytest.raises(PlanError, match=words):
            build_plan(model, DXL, tables)
    for changed, words in (({"model": "XM430-W350"}, "was measured on"), ({"gain": gain + 1}, "P gain")):
        with pytest.raises(PlanError, match=words):
            build_plan(model, DXL, {"t.json": json.dumps(record | changed).encode()})
    with pytest.raises(PlanError, match="is not there"):
        build_plan(replace(model, folder=tmp_path / "nowhere"), DXL)


def test_the_start_values_are_those_of_the_motor_that_is_driven():
    model = with_motors("XL430-W250")
    femur = model.jointlist.joints[1]
    (motor,) = femur.motors
    assert motor.position_command is not None
    held = replace(motor.position_command, data=(200.0,))
    joints = (model.jointlist.joints[0], replace(femur, motors=(replace(motor, position_command=held),)))
    model = replace(model, jointlist=replace(model.jointlist, joints=(*joints, *model.jointlist.joints[2:])))

    def start(plan: Plan) -> float:
        index = plan.motors[1].position_command
        return [write.values for write in plan.initial if write.hdso == index][-1][0]

    assert start(build_plan(model, AI)) == 128.0
    assert start(build_plan(model, DXL)) == 200.0


def test_a_position_command_must_hold_the_servos_positions():
    model = with_motors("XL430-W250")
    command = model.jointlist.joints[1].motors[0].position_command
    assert command is not None
    hdsos = tuple(
        replace(hdso, datatype="uchar", xmltype="uchar") if hdso.id_num == command.ref else hdso
        for hdso in model.parameters.hdsos
    )
    model = replace(model, parameters=replace(model.parameters, hdsos=hdsos))
    with pytest.raises(PlanError, match=r"uchar; expected one that holds 0 to 4095"):
        build_plan(model, DXL)


def test_how_a_load_is_counted_is_what_the_motor_says():
    said = {"current_scale": 0.5, "current_per_speed": 0.25, "current_dead": 4.5, "current_sign": "drive"}
    (motor, *_) = build_plan(with_motors("XL430-W250", **said), DXL).motors
    assert (motor.load_scale, motor.load_per_deg_s, motor.load_dead, motor.load_with_drive) == (0.5, 0.25, 4.5, True)
    (plain, *_) = build_plan(with_motors("XL430-W250"), DXL).motors
    assert (plain.load_scale, plain.load_per_deg_s, plain.load_dead, plain.load_with_drive) == (1.0, 0.0, 0.0, False)
    # The filter is for 197 samples a second, as on the AI motors; there it goes by samples.
    assert plain.sample_ns == pytest.approx(1e9 / 197, rel=1e-3)
    assert build_plan(small_model(), AI).motors[0].sample_ns == 0


def test_a_motor_is_sent_as_far_as_it_says():
    for bounds, goals in (
        ({}, (0, 4095)),
        ({"position_min": 100}, (100, 4095)),
        ({"position_max": 4000}, (0, 4000)),
        ({"position_min": 100, "position_max": 4000}, (100, 4000)),
        ({"position_min": 0, "position_max": 4095}, (0, 4095)),
    ):
        assert build_plan(with_motors("XL430-W250", **bounds), DXL).motors[0].goals == goals


@pytest.mark.parametrize(
    "bounds",
    [
        {"position_min": -1},
        {"position_max": 4096},
        {"position_min": 5000},
        {"position_max": -5},
        {"position_min": 7, "position_max": 7},
    ],
)
def test_a_motor_is_sent_nowhere_its_model_can_not_be_sent_to(bounds):
    with pytest.raises(PlanError, match=r"Coxa_motor: sent to .* XL430-W250 can be sent to 0 to 4095"):
        build_plan(with_motors("XL430-W250", **bounds), DXL)


def test_a_table_that_does_not_say_what_it_was_measured_on_is_taken():
    model = with_motors("XL430-W250", torque_table="t.json")
    data = json.dumps({"ticks": [0, 10], "torque_n_m": [0, 0.2]}).encode()
    assert build_plan(model, DXL, {"t.json": data}).motors[0].torque_table == ((-10.0, -0.2), (0.0, 0.0), (10.0, 0.2))


def test_a_model_of_unknown_torque_needs_a_table(monkeypatch):
    family = find_family("dynamixel")
    unknown = replace(family.models["XL430-W250"], gain_unit=0.0, gains=(0, 0))
    monkeypatch.setattr(motors, "find_family", lambda name: SimpleNamespace(models={"XL430-W250": unknown}))
    with pytest.raises(PlanError, match=r"of the XL430-W250 no torque per tick is known; expected a torqueTable"):
        build_plan(with_motors("XL430-W250", delta_torque_n_m=0.02, stiffness_n_m_deg=0.03), DXL)
    model = with_motors("XL430-W250", delta_torque_n_m=0.02, stiffness_n_m_deg=0.03, torque_table="t.json")
    data = json.dumps({"ticks": [0, 10], "torque_n_m": [0, 0.2]}).encode()
    motor = build_plan(model, DXL, {"t.json": data}).motors[0]
    assert (motor.delta_torque_n_m, motor.torque_table[-1]) == (0.02, (10.0, 0.2))


def test_the_same_id_on_two_buses_is_two_motors():
    model = small_model()
    coxa, femur, *rest = model.jointlist.joints
    assert coxa.motor is not None
    assert femur.motor is not None
    joints = (
        replace(coxa, motor=replace(coxa.motor, bus="left", serial_id=3)),
        replace(femur, motor=replace(femur.motor, bus="right", serial_id=3)),
        *rest,
    )
    plan = build_plan(replace(model, jointlist=replace(model.jointlist, joints=joints)), {"": "aimotor"})
    assert [(motor.bus, motor.bus_id) for motor in plan.motors] == [("left", 3), ("right", 3)]


def test_of_a_joints_motors_one_is_driven():
    model = with_motors("XL430-W250", "STS3215")
    servos = model.jointlist.joints[0].servos
    for families, index in ((AI, 0), (DXL, 1), (STS, 2)):
        motor = build_plan(model, families).motors[0]
        assert [is_driven(servo, motor) for servo in servos] == [k == index for k in range(3)]
    other = build_plan(model, DXL).motors[1]
    assert not any(is_driven(servo, other) for servo in servos)
