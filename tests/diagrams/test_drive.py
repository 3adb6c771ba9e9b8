"""Which way an action drives its joint, from muscles and calibration alone."""

from dataclasses import replace

import pytest

from nuc_engine.figures.diagrams.drive import DriveSigns, drives
from tests.diagrams.legs import changed, leg

ROACH = {
    "TC1_protractionDEP": DriveSigns(1, 1),
    "TC1_retractionLEV": DriveSigns(-1, -1),
    "CTr_LevationPRO": DriveSigns(1, 1),
    "CTr_DepressionRET": DriveSigns(-1, -1),
    "FT_Extension": DriveSigns(-1, -1),
    "FT_Flexion": DriveSigns(1, 1),
}
STICK = {
    "TC_protraction": DriveSigns(1, -1),
    "TC_retraction": DriveSigns(-1, 1),
    "CTr_Levation": DriveSigns(1, -1),
    "CTr_Depression": DriveSigns(-1, 1),
    "FT_Extension": DriveSigns(-1, -1),
    "FT_Flexion": DriveSigns(1, 1),
}


def by_name(wiring):
    found = drives(wiring.plan, wiring.values)
    return {action.name: found[action.index] for module in wiring.modules for action in module.actions}


@pytest.mark.parametrize("config", ["lin_roach", "null_roach"])
def test_cockroach(config):
    assert by_name(leg(config)) == ROACH


@pytest.mark.parametrize("config", ["lin_stickmiddle", "null_stickmiddle"])
def test_stick_insect_whose_servos_are_mounted_the_other_way(config):
    assert by_name(leg(config)) == STICK


def test_post_extension_is_too_weak_to_turn_the_servo():
    found = by_name(leg("pc_stickmiddle"))
    assert found.pop("FT_Extension2") == DriveSigns(0, 0)
    assert found == STICK


def test_a_servo_turned_round_turns_angle_and_load():
    wiring = leg("lin_roach")
    motor = wiring.plan.motors[0]
    plan = replace(wiring.plan, motors=(replace(motor, dir=-motor.dir), *wiring.plan.motors[1:]))
    found = drives(plan, wiring.values)
    assert found[wiring.modules[0].actions[0].index] == DriveSigns(-1, -1)


def test_activations_decide():
    weak = changed("null_roach", {"FT_extension_flexor_activation": 1.0, "FT_extension_extensor_activation": 0.0})
    assert by_name(weak)["FT_Extension"] == DriveSigns(1, 1)


def test_a_joint_in_position_mode_is_driven_by_no_action():
    wiring = leg("lin_roach")
    joints = tuple(replace(joint, control_mode="position") for joint in wiring.plan.joints)
    assert set(drives(replace(wiring.plan, joints=joints), wiring.values).values()) == {DriveSigns(0, 0)}
