"""Numbers of a plant.toml replaced for one bout."""

from __future__ import annotations

from pathlib import Path

import pytest

from nuc_engine.plants import PlantSpecError, open_plant
from nuc_engine.plants.overrides import override
from nuc_engine.plants.spec import load_spec
from tests.plants.leg_plans import ROACH

FILE = Path(__file__).resolve().parents[2] / "configs" / "lin_roach" / "plant.toml"


def test_numbers_are_replaced_by_their_dotted_keys() -> None:
    spec = load_spec(
        FILE,
        {
            "world.base_height_cm": 20,
            "world.timestep_us": 500.0,
            "servo.torque_cap_by_level.4": 0.1,
            "joint.Coxa-Trochanter.start_deg": 33.5,
            "joint.Thorax-Coxa1.stop_deg.1": 60,
            "joint.Thorax-Coxa1.flex.rest_deg": 4,
            "motor.701.stall_torque_n_m": 1,
        },
    )
    assert spec.world.base_height_cm == 20
    assert spec.world.timestep_us == 500
    assert spec.servo.torque_cap_by_level[4] == 0.1
    assert spec.joints["Coxa-Trochanter"].start_deg == 33.5
    assert spec.joints["Thorax-Coxa1"].stop_deg == (-10.0, 60.0)
    assert spec.joints["Thorax-Coxa1"].flex is not None
    assert spec.joints["Thorax-Coxa1"].flex.rest_deg == 4.0
    assert spec.motors["701"].stall_torque_n_m == 1
    assert spec.servo.tick_deg == load_spec(FILE).servo.tick_deg


def test_what_it_is_taken_from_stays_as_it_was() -> None:
    data = {"a": {"b": [1, 2]}, "c": True}
    changed, problems = override(data, {"a.b.1": 5}, "x.toml")
    assert changed == {"a": {"b": [1, 5]}, "c": True}
    assert data == {"a": {"b": [1, 2]}, "c": True}
    assert problems == []


def test_a_name_may_have_a_dot_in_it() -> None:
    changed, _ = override(
        {"joint": {"Thorax.Coxa": {"start_deg": 1.0}}}, {"joint.Thorax.Coxa.start_deg": 2.0}, "x.toml"
    )
    assert changed == {"joint": {"Thorax.Coxa": {"start_deg": 2.0}}}


def test_everything_wrong_is_said_at_once() -> None:
    wrong = {
        "world.base_heigth_cm": 1.0,
        "servo.current_model": 1.0,
        "servo.torque_cap_by_level.5": 0.1,
        "world": 3.0,
        "world.friction": -1.0,
        "world.timestep_us": 0.5,
        "servo.tick_deg": float("nan"),
    }
    with pytest.raises(PlantSpecError) as caught:
        load_spec(FILE, wrong)
    text = "\n".join(caught.value.problems)
    assert "base_heigth_cm: there is no such number" in text
    assert "did you mean 'world.base_height_cm'" in text
    for key in wrong:
        assert f"{FILE}: {key}: " in text, key
    assert len(caught.value.problems) == len(wrong)


def test_a_loopback_plant_has_no_numbers() -> None:
    with pytest.raises(PlantSpecError, match="expected no numbers"):
        open_plant(ROACH, None, "loopback", 0, {"world.friction": 0.1})


def test_what_a_description_may_leave_out_can_be_given_though() -> None:
    assert load_spec(FILE).servo.foot_ticks_n == 0.0
    assert load_spec(FILE, {"servo.foot_ticks_n": 10}).servo.foot_ticks_n == 10.0
    _, problems = override({"world": {}}, {"servo.foot_ticks_n": 10}, "x.toml")
    assert len(problems) == 1
