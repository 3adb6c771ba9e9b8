"""A configuration for another model: the same angles, the same torque, loads in the same units."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from drivers.factory import find_family
from nuc_engine.adapt import AdaptError, adapt, write_adapted
from nuc_engine.planning import build_plan
from nuc_engine.plants.spec import load_spec
from sccils_schemas.model import load_model

MODELS = [("XL330-M288", "dynamixel"), ("XL430-W250", "dynamixel"), ("XM430-W350", "dynamixel"), ("STS3215", "feetech")]


@pytest.fixture
def adapted(tmp_path):
    def make(config="lin_roach", model="XL430-W250", ids=None):
        found = adapt(config, model, ids)
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


def test_a_unit_of_muscle_output_is_as_much_torque_as_on_the_leg_it_was_tuned_on(adapted):
    found, made = adapted()
    spec = load_spec(Path("configs/lin_roach/plant.toml"))
    for motor, old in zip(build_plan(made, {"": "dynamixel"}).motors, build_plan(made).motors, strict=True):
        kind = spec.motors[old.model]
        assert motor.delta_torque_n_m == pytest.approx(kind.stall_torque_n_m / spec.servo.saturation_ticks, rel=1e-5)
        assert motor.stiffness_n_m_deg == pytest.approx(motor.delta_torque_n_m / 0.654, rel=1e-5)
        assert motor.torque_limit_n_m == pytest.approx(kind.stall_torque_n_m, rel=1e-5)
    assert all(made.delta_ticks == pytest.approx(7.4, rel=0.05) for made in found.motors)


@pytest.mark.parametrize(("model", "family"), MODELS)
def test_the_load_of_a_torque_reads_the_same(adapted, model, family):
    _, made = adapted(model=model)
    spec, known = load_spec(Path("configs/lin_roach/plant.toml")), find_family(family).models[model]
    for motor, old in zip(build_plan(made, {"": family}).motors, build_plan(made).motors, strict=True):
        kind = spec.motors[old.model]
        ai_ticks = 0.1 / kind.stall_torque_n_m * kind.stall_current_a / spec.servo.current_tick_a
        assert 0.1 / known.load_n_m * motor.load_scale == pytest.approx(ai_ticks, rel=1e-4)


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
    assert build_plan(made, {"": "dynamixel"}).motors[0].delta_torque_n_m == pytest.approx(0.981 / 41.4, rel=1e-4)


def test_without_a_plant_the_tables_say_how_strong_the_old_servos_are(tmp_path):
    shutil.copytree("configs/lin_roach", tmp_path / "bare")
    (tmp_path / "bare" / "plant.toml").unlink()
    found = adapt(str(tmp_path / "bare"), "XL430-W250")
    assert found.motors[0].motor.delta_torque_n_m == pytest.approx(0.981 / 41.4, rel=1e-3)
    assert "plant.toml" not in dict(found.files)
    assert any("no plant.toml" in warning for warning in found.warnings)


def test_a_shared_plant_is_written_in_full():
    assert b"same_as" not in dict(adapt("null_roach", "XL430-W250").files)["plant.toml"]


def test_it_says_that_horns_have_to_be_looked_at_and_what_a_weak_servo_can_not_give():
    warnings = "\n".join(adapt("lin_roach", "XL330-M288").warnings)
    assert "calibration is nominal" in warnings
    assert "N m at most" in warnings
    assert "N m at most" not in "\n".join(adapt("lin_roach", "XM430-W350").warnings)


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
        ("XL430-W250", [1, 2, 3, 253], "can not have it"),
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
    with pytest.raises(AdaptError, match=r"joints\.xml:\d+: angleCal2"):
        adapt(str(tmp_path / "bad"), "XL430-W250")
