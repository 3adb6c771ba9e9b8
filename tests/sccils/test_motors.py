"""The `motor` element: a joint on servos of another family, beside its `aimotor` or instead of it."""

from __future__ import annotations

import pytest

from sccils_schemas.documents import Motor
from sccils_schemas.model import load_model
from sccils_schemas.parser import parse
from sccils_schemas.writer import write
from tests.sccils.small import changed, line_of, mentions, small_model

COXA = '<aimotor name="Coxa_motor" idNum="601" serialID="0" dir="1" angleCal1="144" angleCal2="1.529"/>'
"""The aimotor of the small configuration's first joint."""


def motor(**changes: str | None) -> str:
    given = {
        "name": "Coxa_motor",
        "idNum": "601",
        "model": "XL430-W250",
        "serialID": "40",
        "dir": "1",
        "angleCal1": "2174",
        "angleCal2": "11.36",
    } | changes
    words = " ".join(f'{name}="{value}"' for name, value in given.items() if value is not None)
    return f"<motor {words}/>"


def with_motors(tmp_path, *elements: str, aimotor: bool = True):
    both = "\n    ".join(([COXA] if aimotor else []) + list(elements))
    return changed(tmp_path, ("joints.xml", COXA, both))


def test_a_motor_stands_beside_the_aimotor_and_says_all_it_can(tmp_path):
    said = {
        "bus": "left",
        "deltaTorque": "0.0237",
        "stiffness": "0.036",
        "torqueLimit": "0.98",
        "currentScale": "-0.2",
        "currentPerSpeed": "0.25",
        "currentDead": "4.5",
        "currentSign": "drive",
        "positionMin": "100",
        "positionMax": "4000",
        "torqueTable": "coxa.json",
        "cycleMin": "5.09",
    }
    folder = with_motors(tmp_path, motor(**said))
    model, problems = load_model(folder)
    assert model is not None, problems
    joint = model.jointlist.joints[0]
    assert joint.motor is not None
    assert joint.servos == (joint.motor, *joint.motors)
    expected = Motor(
        601,
        "Coxa_motor",
        serial_id=40,
        dir=1,
        angle_cal1=2174.0,
        angle_cal2=11.36,
        bus="left",
        model="XL430-W250",
        delta_torque_n_m=0.0237,
        stiffness_n_m_deg=0.036,
        torque_limit_n_m=0.98,
        current_scale=-0.2,
        current_per_speed=0.25,
        current_dead=4.5,
        current_sign="drive",
        position_min=100,
        position_max=4000,
        torque_table="coxa.json",
        cycle_min_ms=5.09,
    )
    assert joint.motors == (expected,)
    again, _ = parse(write(model.jointlist))
    assert again == model.jointlist


def test_a_model_may_have_motors_alone(tmp_path):
    model, problems = load_model(with_motors(tmp_path, motor(), aimotor=False))
    assert model is not None, problems
    assert model.jointlist.joints[0].motor is None
    again, _ = parse(write(model.jointlist))
    assert again == model.jointlist


def test_what_is_left_out_stays_left_out(tmp_path):
    model, _ = load_model(with_motors(tmp_path, motor()))
    assert model is not None
    (found,) = model.jointlist.joints[0].motors
    assert (found.delta_torque_n_m, found.stiffness_n_m_deg, found.torque_limit_n_m) == (None, None, None)
    assert (found.current_scale, found.current_per_speed, found.current_dead) == (None, None, None)
    assert (found.current_sign, found.position_min, found.position_max) == ("reading", None, None)
    written = write(model.jointlist)
    for name in (b"deltaTorque", b"currentScale", b"currentSign", b"positionMin", b"torqueTable", b"bus="):
        assert name not in written


def test_a_model_without_motors_reads_as_before():
    assert all(not joint.motors for joint in small_model().jointlist.joints)


REFUSED = {
    "no model": (motor(model=None), ("lacks the attribute model",)),
    "empty model": (motor(model=" "), ("model", "empty")),
    "another id": (motor(idNum="699"), ("idNum 699", "idNum 601", "in common")),
    "another name": (motor(name="Other"), ("name Other", "name Coxa_motor", "in common")),
    "a bus id below all": (motor(serialID="-1"), ("serialID -1", "0 to 253")),
    "a bus id nobody has": (motor(serialID="254"), ("serialID 254", "0 to 253")),
    "no slope": (motor(angleCal2="0"), ("angleCal2", "ticks per degree")),
    "no torque": (motor(deltaTorque="0"), ("deltaTorque='0'", "more than 0 N m")),
    "negative stiffness": (motor(stiffness="-1"), ("stiffness='-1'", "more than 0")),
    "no limit": (motor(torqueLimit="0"), ("torqueLimit='0'", "more than 0")),
    "no scale": (motor(currentScale="0"), ("currentScale", "0")),
    "a negative dead band": (motor(currentDead="-0.5"), ("currentDead='-0.5'", "0 or more")),
    "no room between its ends": (
        motor(positionMin="7", positionMax="7"),
        ("positionMin='7' and positionMax='7'", "the lowest and the highest"),
    ),
    "a table elsewhere": (motor(torqueTable="../x.json"), ("torqueTable='../x.json'", "without a folder")),
    "a table that is none": (motor(torqueTable="joints.xml"), ("torqueTable='joints.xml'", ".json")),
    "a table with a long name": (motor(torqueTable="x" * 96 + ".json"), ("torqueTable='xxx", "a .json file")),
    "a cycle before the last": (motor(cycleMin="-1"), ("cycleMin='-1'", "0 to 50 ms")),
    "a cycle for watchdogs": (motor(cycleMin="50.5"), ("cycleMin='50.5'", "0 to 50 ms")),
    "twice": (motor() + "\n    " + motor(serialID="41"), ("XL430-W250", "given twice", "one motor of each family")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_with_a_motor_is_told_where_it_stands(tmp_path, name):
    element, words = REFUSED[name]
    folder = with_motors(tmp_path, element)
    model, problems = load_model(folder)
    assert model is None
    path = folder / "joints.xml"
    line = line_of(path, element.split("\n")[-1].strip())
    assert mentions(problems, path, line, "error", words), problems


def test_motors_of_a_joint_have_the_same_commands(tmp_path):
    other = motor(name="Femur_motor", idNum="602").replace("/>", "></motor>")
    femur = "</aimotor>\n  </joint>"
    folder = changed(tmp_path, ("joints.xml", femur, f"</aimotor>\n    {other}\n  </joint>"))
    model, problems = load_model(folder)
    assert model is None
    assert any("no forceCommand" in str(problem) and "forceCommand 203" in str(problem) for problem in problems.errors)
    assert any("no positionCommand" in str(problem) for problem in problems.errors)


def test_two_joints_can_not_have_the_same_id_of_a_model(tmp_path):
    commands = (
        '<forceCommand><hdsoMod idNum="203" NumElts="0"/></forceCommand>'
        '<positionCommand><hdsoMod idNum="204" NumElts="1">128</hdsoMod></positionCommand>'
    )
    second = motor(name="Femur_motor", idNum="602").replace("/>", f">{commands}</motor>")
    edits = (
        ("joints.xml", COXA, f"{COXA}\n    {motor()}"),
        ("joints.xml", "</aimotor>\n  </joint>", f"</aimotor>\n    {second}\n  </joint>"),
    )
    model, problems = load_model(changed(tmp_path, *edits))
    assert model is None
    assert any("serialID 40" in str(problem) and "used twice" in str(problem) for problem in problems.errors)


def second_joints(**changes):
    """Return the edit that puts a motor beside the AI motor of the second joint, with its commands."""
    commands = (
        '<forceCommand><hdsoMod idNum="203" NumElts="0"/></forceCommand>'
        '<positionCommand><hdsoMod idNum="204" NumElts="1">128</hdsoMod></positionCommand>'
    )
    element = motor(name="Femur_motor", idNum="602", **changes).replace("/>", f">{commands}</motor>")
    return ("joints.xml", "</aimotor>\n  </joint>", f"</aimotor>\n    {element}\n  </joint>")


@pytest.mark.parametrize("change", [{"bus": "right"}, {"model": "STS3215"}, {"serialID": "41"}])
def test_the_same_id_on_another_bus_or_of_another_model_is_another_motor(tmp_path, change):
    first = ("joints.xml", COXA, f"{COXA}\n    {motor(bus='left')}")
    model, problems = load_model(changed(tmp_path, first, second_joints(**{"bus": "left"} | change)))
    assert model is not None, problems
    model, problems = load_model(changed(tmp_path / "same", first, second_joints(bus="left")))
    assert model is None
    assert any("used twice on bus 'left'" in str(problem) for problem in problems.errors)


def test_a_slope_against_the_direction_is_warned_of(tmp_path):
    element = motor(dir="-1")
    folder = with_motors(tmp_path, element)
    model, problems = load_model(folder)
    assert model is not None
    path = folder / "joints.xml"
    assert mentions(problems, path, line_of(path, element), "warning", ("dir='-1'", "different signs"))
    assert not [problem for problem in load_model(with_motors(tmp_path / "b", motor()))[1] if "signs" in str(problem)]


def test_the_motor_stands_behind_the_aimotor(tmp_path):
    folder = changed(tmp_path, ("joints.xml", COXA, f"{motor()}\n    {COXA}"))
    model, problems = load_model(folder)
    assert model is None
    assert any("out of place" in str(problem) for problem in problems.errors)
