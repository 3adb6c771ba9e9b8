"""A configuration for another model: the same angles, the same torque, loads in the same units."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest

from drivers.factory import find_family
from nuc_engine.configurations.adapt import AdaptError, adapt, write_adapted
from nuc_engine.model.planning import build_plan
from nuc_engine.plants.spec import load_spec
from sccils_schemas.model import load_model

MODELS = [("XL330-M288", "dynamixel"), ("XL430-W250", "dynamixel"), ("XM430-W350", "dynamixel"), ("STS3215", "feetech")]


@pytest.fixture
def adapted(tmp_path):
    def make(config="lin_roach", model="XL430-W250", ids=None, strength=None):
        found = adapt(config, model, ids, strength)
        write_adapted(found, tmp_path / "made")
        made, problems = load_model(tmp_path / "made")
        assert made is not None, problems
        return found, made

    return make


@pytest.mark.parametrize(("model", "family"), MODELS)
def test_the_same_shaft_angles_are_reached_by_both_motors(adapted, model, family):
    _, made = adapted(model=model)
    known = find_family(family).models[model]
    old, new = build_plan(made, {"": "aimotor"}), build_plan(made, {"": family})
    middle = sum(known.positions) / 2
    for before, after in zip(old.motors, new.motors, strict=True):
        assert (after.name, after.id_num, after.bus_id, after.dir) == (
            before.name,
            before.id_num,
            before.bus_id,
            before.dir,
        )
        for angle in (-20.0, 0.0, 90.0):
            shaft = (before.cal1 + before.cal2 * angle - 127) * 0.654
            assert (after.cal1 + after.cal2 * angle - middle) * known.tick_deg == pytest.approx(shaft, abs=0.05)


@pytest.mark.parametrize("strength", [1.0, 2.5])
def test_a_unit_of_muscle_output_is_so_many_times_the_torque_of_the_leg_it_was_tuned_on(adapted, strength):
    found, made = adapted(strength=strength)
    spec = load_spec(Path("configs/lin_roach/plant.toml"))
    for motor, old in zip(build_plan(made, {"": "dynamixel"}).motors, build_plan(made).motors, strict=True):
        kind = spec.motors[old.model]
        unit = strength * kind.stall_torque_n_m / spec.servo.saturation_ticks
        assert motor.delta_torque_n_m == pytest.approx(unit, rel=1e-5)
        assert motor.stiffness_n_m_deg == pytest.approx(motor.delta_torque_n_m / 0.654, rel=1e-5)
        assert motor.torque_limit_n_m == pytest.approx(strength * kind.stall_torque_n_m, rel=1e-5)
    assert all(made.delta_ticks == pytest.approx(7.4, rel=0.05) for made in found.motors)


def test_a_servo_is_made_as_many_times_as_strong_as_it_brakes_more():
    spec, known = load_spec(Path("configs/lin_roach/plant.toml")), find_family("dynamixel").models["XL430-W250"]
    found = adapt("lin_roach", "XL430-W250")
    for made in found.motors:
        kind = spec.motors[made.source.removeprefix("aimotor ")]
        brakes = kind.stall_torque_n_m / kind.omega0_rad_s
        assert made.strength == pytest.approx(known.stall_torque_n_m / known.no_load_rad_s / brakes)
    assert "times as much torque as before" in "\n".join(found.warnings)
    assert "times as much torque as before" not in "\n".join(adapt("lin_roach", "XL430-W250", strength=1.0).warnings)


@pytest.mark.parametrize(("model", "family"), MODELS)
@pytest.mark.parametrize("strength", [1.0, None])
def test_loads_read_as_on_the_old_servo_at_standstill_and_turning(adapted, model, family, strength):
    found, made = adapted(model=model, strength=strength)
    spec, known = load_spec(Path("configs/lin_roach/plant.toml")), find_family(family).models[model]
    plans = (build_plan(made, {"": family}).motors, build_plan(made).motors)
    for motor, old, told in zip(*plans, found.motors, strict=True):
        kind = spec.motors[old.model]
        for ai_n_m, deg_s in ((0.1, 0.0), (0.1, 120.0), (0.0, 120.0)):
            duty, turning = ai_n_m / kind.stall_torque_n_m, math.radians(deg_s) / kind.omega0_rad_s
            ai_ticks = (duty - turning) * kind.stall_current_a / spec.servo.current_tick_a
            reading = told.strength * ai_n_m / known.load_n_m
            assert reading * motor.load_scale - deg_s * motor.load_per_deg_s == pytest.approx(ai_ticks, abs=0.01)
        assert motor.load_with_drive
        assert motor.load_dead == spec.servo.dead_ticks


@pytest.mark.parametrize(("model", "family"), MODELS)
def test_a_joint_is_sent_no_further_than_before(adapted, model, family):
    _, made = adapted(model=model)
    for after, before in zip(build_plan(made, {"": family}).motors, build_plan(made).motors, strict=True):
        for end in (0, 254):
            angle = (end - before.cal1) / before.cal2
            assert after.cal1 + after.cal2 * angle == pytest.approx(after.goals[0 if end == 0 else 1], abs=1)


def test_a_held_joint_is_held_where_it_was(adapted):
    _, made = adapted()
    for family in ("aimotor", "dynamixel"):
        plan = build_plan(made, {"": family})
        motor = plan.motors[1]
        (held,) = [write.values[0] for write in plan.initial if write.hdso == motor.position_command]
        assert (held - motor.cal1) / motor.cal2 == pytest.approx(2.29, abs=0.05)
    # What a script may write has room for the new positions, and for the old ones.
    hdso = plan.hdsos[plan.motors[1].position_command]
    assert hdso.valid == (0.0, 4095.0)


def test_the_old_leg_is_still_there(adapted):
    _, made = adapted()
    original, _ = load_model(Path("configs/lin_roach"))
    assert original is not None
    old, new = build_plan(original), build_plan(made)
    assert (new.motors, new.joints, new.states, new.muscles) == (old.motors, old.joints, old.states, old.muscles)
    assert new.initial == old.initial


def test_adapting_again_replaces_the_motor_of_the_family_and_keeps_others(adapted, tmp_path):
    adapted()
    again = adapt(str(tmp_path / "made"), "XM430-W350")
    write_adapted(again, tmp_path / "again")
    other = adapt(str(tmp_path / "again"), "STS3215")
    write_adapted(other, tmp_path / "other")
    made, problems = load_model(tmp_path / "other")
    assert made is not None, problems
    assert [motor.model for motor in made.jointlist.joints[0].motors] == ["XM430-W350", "STS3215"]
    # Made from the AI motor each time, not from what was made before.
    first = adapt("lin_roach", "XM430-W350").motors[0].motor
    assert made.jointlist.joints[0].motors[0] == first


def test_without_a_plant_the_tables_say_how_strong_the_old_servos_are(tmp_path):
    shutil.copytree("configs/lin_roach", tmp_path / "bare")
    (tmp_path / "bare" / "plant.toml").unlink()
    found = adapt(str(tmp_path / "bare"), "XL430-W250")
    assert found.motors[0].motor.delta_torque_n_m == pytest.approx(found.motors[0].strength * 0.981 / 41.4, rel=1e-3)
    assert "plant.toml" not in dict(found.files)
    assert any("no plant.toml" in warning for warning in found.warnings)


def test_a_shared_plant_is_written_in_full():
    assert b"same_as" not in dict(adapt("null_roach", "XL430-W250").files)["plant.toml"]


def test_it_says_that_horns_have_to_be_looked_at_and_what_a_weak_servo_can_not_give():
    warnings = "\n".join(adapt("lin_roach", "XL330-M288", strength=1.0).warnings)
    assert "calibration is nominal" in warnings
    assert "N m at most" in warnings
    assert "N m at most" not in "\n".join(adapt("lin_roach", "XM430-W350", strength=1.0).warnings)


def test_ids_can_be_given(adapted):
    _, made = adapted(ids=[11, 12, 13, 14])
    assert [motor.bus_id for motor in build_plan(made, {"": "dynamixel"}).motors] == [11, 12, 13, 14]
    assert [motor.bus_id for motor in build_plan(made).motors] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("model", "ids", "words"),
    [
        ("XL431-W250", None, "XL430-W250"),
        ("XL430-W250", [1, 2], "expected 4"),
        ("XL430-W250", [1, 1, 2, 3], "different"),
        ("XL430-W250", [1, 2, 3, 253], "cannot have it"),
    ],
)
def test_what_can_not_be_is_refused(model, ids, words):
    with pytest.raises(AdaptError, match=words):
        adapt("lin_roach", model, ids)


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "notes.txt").write_text("mine")
    with pytest.raises(AdaptError, match="is there already"):
        write_adapted(adapt("lin_roach", "XL430-W250"), tmp_path / "there")
    (tmp_path / "file").write_text("")
    with pytest.raises(AdaptError, match="is there already"):
        write_adapted(adapt("lin_roach", "XL430-W250"), tmp_path / "file")


def test_a_configuration_that_is_wrong_is_refused_with_its_reasons(tmp_path):
    shutil.copytree("configs/lin_roach", tmp_path / "bad")
    path = tmp_path / "bad" / "joints.xml"
    path.write_text(path.read_text().replace('angleCal2="1.529"', 'angleCal2="0"', 1))
    with pytest.raises(AdaptError, match=r"joints\.xml:\d+: error: angleCal2"):
        adapt(str(tmp_path / "bad"), "XL430-W250")
