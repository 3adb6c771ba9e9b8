"""A configuration on servos of a general kind only, adapted once more; and what a copy keeps as it was."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from drivers.factory import find_family
from nuc_engine.configurations.adapt import AdaptError, adapt, write_adapted
from nuc_engine.model.motors import ai_tick_torque_n_m
from nuc_engine.model.planning import build_plan
from sccils_schemas.model import load_model

ROACH = Path("configs/lin_roach")
DXL, STS = {"": "dynamixel"}, {"": "feetech"}
OLD, NEW = (find_family(family).models[name] for family, name in (("dynamixel", "XL430-W250"), ("feetech", "STS3215")))


def motors_only(tmp_path: Path, **changes: str | None) -> Path:
    """Return a roach on XL430 servos without its AI motors, attributes of its motors changed or (None) left out."""
    folder = tmp_path / "xl"
    write_adapted(adapt(str(ROACH), OLD.name, strength=2.0), folder)
    text = re.sub("<aimotor.*?</aimotor>", "", (folder / "joints.xml").read_text(), flags=re.DOTALL)
    for name, value in changes.items():
        text = re.sub(f'(<motor [^>]*) {name}="[^"]*"', r"\1", text)
        if value is not None:
            text = text.replace("<motor ", f'<motor {name}="{value}" ')
    (folder / "joints.xml").write_text(text)
    return folder


def both(tmp_path: Path, *, strength: float | None = 1.0, **changes: str | None):
    """Return the old motors and the new ones, joint by joint, and what was told of them."""
    found = adapt(str(motors_only(tmp_path, **changes)), NEW.name, strength=strength)
    write_adapted(found, tmp_path / "sts")
    made, problems = load_model(tmp_path / "sts")
    assert made is not None, problems
    olds, news = build_plan(made, DXL).motors, build_plan(made, STS).motors
    assert len(olds) == len(news) == 4
    return list(zip(olds, news, found.motors, strict=True))


def test_from_servo_to_servo_shafts_stay_where_they_were(tmp_path):
    middles = [sum(model.positions) / 2 for model in (OLD, NEW)]
    for old, new, told in both(tmp_path):
        assert told.source == "motor XL430-W250"
        assert (new.dir, new.bus_id) == (old.dir, old.bus_id)
        for angle in (-20.0, 0.0, 90.0):
            was = (old.cal1 + old.cal2 * angle - middles[0]) * OLD.tick_deg
            assert (new.cal1 + new.cal2 * angle - middles[1]) * NEW.tick_deg == pytest.approx(was, abs=0.05)


def test_a_load_that_was_counted_the_other_way_round_keeps_its_size(tmp_path):
    for old, new, _ in both(tmp_path, strength=2.0, currentScale="-0.25"):
        assert old.load_scale == pytest.approx(-0.25)
        per_n_m = new.load_scale / NEW.load_n_m
        assert 2.0 * per_n_m == pytest.approx(abs(old.load_scale) / OLD.load_n_m, rel=1e-4)


def test_from_servo_to_servo_a_unit_stays_the_torque_it_was_made_to_be(tmp_path):
    for old, new, _ in both(tmp_path, strength=1.5):
        assert new.delta_torque_n_m == pytest.approx(1.5 * old.delta_torque_n_m, rel=1e-4)
        assert new.stiffness_n_m_deg == pytest.approx(1.5 * old.stiffness_n_m_deg, rel=1e-4)
        assert new.torque_limit_n_m == pytest.approx(1.5 * old.torque_limit_n_m, rel=1e-4)
        assert old.torque_limit_n_m != pytest.approx(OLD.stall_torque_n_m, rel=0.01)


def test_what_a_servo_did_not_say_is_what_it_was_taken_to_be(tmp_path):
    left_out = dict.fromkeys(
        ["deltaTorque", "stiffness", "torqueLimit", "currentScale", "currentPerSpeed", "currentDead", "currentSign"]
    )
    for _, new, told in both(tmp_path, **left_out):
        assert new.delta_torque_n_m == pytest.approx(ai_tick_torque_n_m(), rel=1e-4)
        assert new.stiffness_n_m_deg == pytest.approx(ai_tick_torque_n_m() / 0.654, rel=1e-4)
        assert new.torque_limit_n_m == pytest.approx(OLD.stall_torque_n_m, rel=1e-4)
        # A count of the old reading is a unit of the sensor, as many of the new one as make its torque.
        assert new.load_scale == pytest.approx(NEW.load_n_m / OLD.load_n_m, rel=1e-4)
        assert (new.load_per_deg_s, new.load_dead, new.load_with_drive) == (0.0, 0.0, False)
        assert told.motor.current_sign == "reading"


def test_by_default_a_servo_is_as_many_times_as_strong_as_it_brakes_more_than_the_servo_before(tmp_path):
    brakes = [model.stall_torque_n_m / model.no_load_rad_s for model in (OLD, NEW)]
    for _, _, told in both(tmp_path, strength=None):
        assert told.strength == pytest.approx(brakes[1] / brakes[0])


@pytest.mark.parametrize("sign", ["drive", "reading"])
def test_from_servo_to_servo_loads_read_as_before(tmp_path, sign):
    said = {"currentScale": "0.25", "currentPerSpeed": "0.125", "currentDead": "3", "currentSign": sign}
    for old, new, _ in both(tmp_path, strength=2.0, **said):
        for n_m, deg_s in ((0.2, 0.0), (0.2, 90.0), (0.0, 90.0)):
            was = n_m / OLD.load_n_m * old.load_scale - deg_s * old.load_per_deg_s
            now = 2.0 * n_m / NEW.load_n_m * new.load_scale - deg_s * new.load_per_deg_s
            assert now == pytest.approx(was, rel=1e-4)
        assert (new.load_dead, new.load_with_drive) == (3.0, sign == "drive")


def test_documents_that_do_not_change_keep_every_byte():
    files = dict(adapt(str(ROACH), OLD.name).files)
    assert b"<!--" in files["plant.toml"] or b"#" in files["plant.toml"]
    for name in ("sensors.xml", "plant.toml"):
        assert files[name] == (ROACH / name).read_bytes()
    assert files["parameters.xml"] != (ROACH / "parameters.xml").read_bytes()


def test_only_position_commands_get_room_for_the_new_positions(tmp_path):
    write_adapted(adapt(str(ROACH), OLD.name), tmp_path / "xl")
    before, after = (load_model(folder)[0] for folder in (ROACH, tmp_path / "xl"))
    assert before is not None
    assert after is not None
    commands = {joint.servos[0].position_command for joint in before.jointlist.joints if joint.servos}
    names = {mod.ref for mod in commands if mod is not None}
    changed = 0
    for old, new in zip(before.parameters.hdsos, after.parameters.hdsos, strict=True):
        if old.id_num not in names and old.name not in names:
            assert new == old
            continue
        changed += 1
        assert new.datatype != "uchar"
        for was, now in zip(old.ranges, new.ranges, strict=True):
            if was.type in ("valid", "suggested"):
                assert now.lower is None or now.lower <= min(0, was.lower)
                assert now.upper is None or now.upper >= OLD.positions[1]
            else:
                assert now == was
    assert changed == len(names) > 0


def test_the_tables_of_other_motors_come_along(tmp_path):
    folder = motors_only(tmp_path, torqueTable="t.json", deltaTorque="0.02")
    table = b'{"ticks": [0, 10, 100], "torque_n_m": [0, 0.01, 0.2]}'
    (folder / "t.json").write_bytes(table)
    found = adapt(str(folder), NEW.name)
    assert dict(found.files)["t.json"] == table
    # It was measured on the old servos, and is not said of the new ones.
    assert [made.motor.torque_table for made in found.motors] == [None] * 4


def test_what_stands_on_another_bus_stays_there(tmp_path):
    folder = shutil.copytree(ROACH, tmp_path / "two")
    text = (folder / "joints.xml").read_text()
    (folder / "joints.xml").write_text(text.replace("<aimotor ", '<aimotor bus="left" '))
    assert [made.motor.bus for made in adapt(str(folder), OLD.name).motors] == ["left"] * 4


@pytest.mark.parametrize("strength", [0.0, -1.0, 100.5, float("nan")])
def test_a_strength_that_can_only_be_a_slip_is_refused(strength):
    with pytest.raises(AdaptError, match="more than 0, and 100 at most"):
        adapt(str(ROACH), OLD.name, strength=strength)


def test_a_hundred_times_as_strong_is_told_and_made():
    found = adapt(str(ROACH), "XM430-W350", strength=100.0)
    assert {made.strength for made in found.motors} == {100.0}
    assert "up to 100.0 times as much torque" in "\n".join(found.warnings)


NARROW = find_family("aimotor").models["wCK-1108-10bit"]
"""A servo that turns by 166 degrees, of which no load is known."""


def test_onto_a_servo_that_turns_less_far_a_joint_is_sent_as_far_as_that_turns(tmp_path):
    folder = motors_only(tmp_path)
    path = folder / "joints.xml"
    text = path.read_text()
    assert text.count('<hdsoMod idNum="204"') == 1
    path.write_text(re.sub('(<hdsoMod idNum="204" [^>]*>)[^<]*', r"\g<1>4000", text))
    found = adapt(str(folder), NARROW.name, strength=1.0)
    for made in found.motors:
        assert 0 <= made.motor.position_min < made.motor.position_max <= NARROW.positions[1]
    (held,) = [
        made.motor.position_command.data
        for made in found.motors
        if made.motor.position_command is not None and made.motor.position_command.data
    ]
    assert held == (NARROW.positions[1],)
    assert any("what a count of its load reading stands for is not known" in text for text in found.warnings)
    assert [made.motor.current_scale for made in found.motors] == [None] * 4


def test_of_a_servo_whose_load_is_known_nothing_of_the_kind_is_said():
    for model in (OLD.name, NEW.name):
        assert not any("load reading" in text for text in adapt(str(ROACH), model).warnings)


def test_a_command_of_bytes_that_is_meant_by_its_name_gets_room_too(tmp_path):
    folder = shutil.copytree(ROACH, tmp_path / "named")
    model, _ = load_model(ROACH)
    assert model is not None
    (hdso,) = [hdso for hdso in model.parameters.hdsos if hdso.id_num == 204]
    path = folder / "joints.xml"
    text = path.read_text()
    path.write_text(text.replace('<hdsoMod idNum="204" ', f'<hdsoMod idNum="-4" idByName="y" name="{hdso.name}" '))
    path = folder / "parameters.xml"
    text = path.read_text()
    element = re.search(r'<hdso [^>]*idNum="204"[^>]*>', text)
    assert element is not None
    path.write_text(text.replace(element[0], element[0].replace("<hdso ", '<hdso datatype="uchar" ')))
    write_adapted(adapt(str(folder), OLD.name), tmp_path / "made")
    made, problems = load_model(tmp_path / "made")
    assert made is not None, problems
    (room,) = [hdso for hdso in made.parameters.hdsos if hdso.id_num == 204]
    assert room.datatype == "int"
    assert max(span.upper or 0 for span in room.ranges) >= OLD.positions[1]


def test_a_loop_that_can_not_be_made_as_stiff_is_told_of():
    stiff = adapt(str(ROACH), NEW.name, strength=50.0)
    off = [made for made in stiff.motors if abs(made.stiffness_n_m_deg / made.motor.stiffness_n_m_deg - 1) > 0.1]
    told = [text for text in stiff.warnings if "its loop can be made" in text]
    assert [text.split(":")[0] for text in told] == [made.joint for made in off]
    assert off
    assert f"{off[0].stiffness_n_m_deg:.3g} N m per degree, not {off[0].motor.stiffness_n_m_deg:.3g}" in told[0]
    assert off[0].gain == NEW.gains[1]
    assert not [text for text in adapt(str(ROACH), NEW.name, strength=1.0).warnings if "its loop can be" in text]
