"""Which sensors are whose: by sensorspec in any order, without any two by two."""

from __future__ import annotations

from pathlib import Path

from nuc_engine.model.planning import build_plan
from sccils_schemas.model import Model, load_model
from tests.sccils.small import changed

COXA, FEMUR = 'angleCal2="1.529"/>', "<forceCommand>"


def spec(*ids: int) -> str:
    return "<sensorspec>" + "".join(f'<hdsoMod idNum="{number}" NumElts="0"/>' for number in ids) + "</sensorspec>"


def crossed(folder: Path) -> Model:
    """Return the small configuration with the sensors of its motors in another order than in sensors.xml."""
    coxa = ("joints.xml", COXA, f"{COXA[:-2]}>{spec(304, 301)}</aimotor>")
    femur = ("joints.xml", FEMUR, f"{spec(303)}{spec(302)}{FEMUR}")
    model, problems = load_model(changed(folder, coxa, femur))
    assert model is not None, str(problems)
    assert not len(problems)
    return model


def sensors(model: Model) -> list[tuple[int, int]]:
    plan = build_plan(model)
    return [(plan.hdsos[motor.angle].id_num, plan.hdsos[motor.current].id_num) for motor in plan.motors]


def test_a_sensorspec_names_angle_and_current_whatever_their_order_in_the_list(tmp_path: Path) -> None:
    assert sensors(crossed(tmp_path)) == [(304, 301), (303, 302)]


def test_whether_readings_wrap_is_what_the_angle_says_that_the_motor_has(tmp_path: Path) -> None:
    model = crossed(tmp_path)
    wraps = {hdso.id_num: bool(hdso.overflow_correction) for hdso in model.sensors.hdsos}
    assert wraps == {301: True, 302: False, 303: True, 304: False, 20: False}
    assert [motor.overflow_correction for motor in build_plan(model).motors] == [False, True]
