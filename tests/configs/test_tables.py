"""The stick insect configurations against tables 7-2 to 7-5, and the derived roach against the printed one."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sccils_schemas.documents import Joint, Muscle
from sccils_schemas.model import Model
from tests.configs.documents import initial_values, joint, scalars, shipped, state, without_texts

FULL_STICK = ("lin_stickmiddle", "pc_stickmiddle", "null_stickmiddle")


def _named_rule(m: Model, name: str) -> str:
    text = state(m, name).rule.boolstring
    assert text is not None
    for i in sorted(m.names, reverse=True):
        text = text.replace(str(i), m.names[i]) if i > 20 else text
    return text


RESTRICTED = ("restricted_null_stick", "restricted_pc_stick")


@pytest.mark.parametrize("name", [*FULL_STICK, *RESTRICTED])
def test_rules_are_those_of_table_7_2(name: str) -> None:
    m = shipped(name)
    assert {s: _named_rule(m, s) for j in m.jointlist.joints for s in (s.name for s in j.states)} == {
        "TC_protraction": "CTr_current < TC_pro_CTr_load",
        "TC_retraction": "CTr_current > TC_ret_CTr_load",
        "CTr_Levation": "(FT_angle > CTr_lev_FTang)|(TC_angle < CTr_lev_TCang)",
        "CTr_Depression": "FT_angle < CTr_dep_FTang",
        "FT_Extension": "(CTr_current < FT_ext_CTr_load)|(FT_angle > FT_ext_FTang)",
        "FT_Flexion": "(CTr_current > FT_flx_CTr_load)&(FT_angle < FT_flx_FTang)",
    } | ({"FT_Extension2": "(CTr_current < FT_ext2_CTr_load)&(FT_angle < FT_ext2_FTang)"} if "pc_" in name else {})


def test_no_servo_position_reads_exactly_100_degrees_so_less_than_says_the_same_as_at_most() -> None:
    motor = joint(shipped("lin_stickmiddle"), "Femur-Tibia").motor
    assert motor is not None
    angles = [(raw - motor.angle_cal1) / motor.angle_cal2 for raw in range(256)]
    assert min(abs(angle - 100) for angle in angles) > 0.05


@pytest.mark.parametrize("name", FULL_STICK)
def test_thresholds_are_those_of_table_7_2_forward(name: str) -> None:
    want = {
        "TC_ret_CTr_load": 0,
        "TC_pro_CTr_load": -0.5,
        "CTr_dep_FTang": 75,
        "CTr_lev_TCang": -20,
        "CTr_lev_FTang": 120,
        "FT_flx_FTang": 100,
        "FT_flx_CTr_load": 0,
        "FT_ext_FTang": 105,
        "FT_ext_CTr_load": -1,
    }
    if name == "pc_stickmiddle":
        want |= {"FT_ext2_FTang": 80, "FT_ext2_CTr_load": 0}
    have = scalars(shipped(name))
    assert {k: v for k, v in have.items() if k.endswith(("ang", "load"))} == want


@pytest.mark.parametrize("name", RESTRICTED)
def test_thresholds_are_those_of_table_7_2_sideways(name: str) -> None:
    want = {
        "TC_ret_CTr_load": 0.5,
        "TC_pro_CTr_load": -0.5,
        "CTr_dep_FTang": 80,
        "CTr_lev_TCang": -25,
        "CTr_lev_FTang": 115,
        "FT_flx_FTang": 100,
        "FT_flx_CTr_load": 0.2,
        "FT_ext_FTang": 120,
        "FT_ext_CTr_load": -1,
    }
    if name == "restricted_pc_stick":
        want |= {"FT_ext2_FTang": 80, "FT_ext2_CTr_load": 0}
    have = scalars(shipped(name))
    assert {k: v for k, v in have.items() if k.endswith(("ang", "load"))} == want


COMMON_ACTIVATIONS = {
    "TC_protraction_protractor_activation": 0.6,
    "TC_protraction_retractor_activation": 0,
    "TC_retraction_retractor_activation": 1.6,
    "TC_retraction_protractor_activation": 0.1,
    "CTr_levation_depressor_activation": 0,
    "CTr_depression_levator_activation": 0,
    "FT_extension_extensor_activation": 0.8,
    "FT_extension_flexor_activation": 0.09,
    "FT_flexion_extensor_activation": 0.001,
}
EXT2_ACTIVATIONS = {"FT_extension2_extensor_activation": 0.15, "FT_extension2_flexor_activation": 0.09}


SIDEWAYS_ACTIVATIONS = COMMON_ACTIVATIONS | {
    "FT_extension_extensor_activation": 0.6,
    "FT_flexion_flexor_activation": 1.3,
}


def _activations(name: str) -> dict[str, float]:
    return {k: v for k, v in scalars(shipped(name)).items() if k.endswith("_activation")}


def test_activations_of_sideways_stepping_are_those_of_table_7_3() -> None:
    ext2 = {"FT_extension2_extensor_activation": 0.2, "FT_extension2_flexor_activation": 0.09}
    assert _activations("restricted_null_stick") == SIDEWAYS_ACTIVATIONS
    assert _activations("restricted_pc_stick") == SIDEWAYS_ACTIVATIONS | ext2


@pytest.mark.parametrize("name", RESTRICTED)
def test_the_restricted_leg_is_the_other_stick_legs_with_its_first_joint_held(name: str) -> None:
    ours, free = shipped(name).jointlist.joints, shipped("pc_stickmiddle").jointlist.joints
    assert [(j.id_num, without_texts(j.geometry)) for j in ours] == [
        (j.id_num, without_texts(j.geometry)) for j in free
    ]
    assert [j.control_mode for j in ours] == ["position", *[j.control_mode for j in free[1:]]]
    thc = joint(shipped(name), "Thorax-Coxa")
    assert thc.motor is not None
    raw = initial_values(shipped(name))[202][0]
    side = math.radians((raw - thc.motor.angle_cal1) / thc.motor.angle_cal2)
    forward = initial_values(shipped(name))[180][:2]
    assert forward[0] * math.cos(side) + forward[1] * math.sin(side) == pytest.approx(0, abs=0.01), "x of the coxa"


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        ("lin_stickmiddle", {"FT_flexion_flexor_activation": 1.7}),
        ("pc_stickmiddle", {"FT_flexion_flexor_activation": 6} | EXT2_ACTIVATIONS),
        ("null_stickmiddle", {"FT_flexion_flexor_activation": 6}),
    ],
)
def test_activations_are_those_of_table_7_3(name: str, extra: dict[str, float]) -> None:
    have = {k: v for k, v in scalars(shipped(name)).items() if k.endswith("_activation")}
    assert have == COMMON_ACTIVATIONS | extra


@pytest.mark.parametrize("name", [*FULL_STICK, *RESTRICTED])
def test_trochanteral_reflexes_are_equations_7_1_and_7_2_with_table_7_4(name: str) -> None:
    m = shipped(name)
    lev, dep = state(m, "CTr_Levation"), state(m, "CTr_Depression")
    levator = next(a for a in lev.activations if a.muscle == 404)
    depressor = next(a for a in dep.activations if a.muscle == 403)
    assert (levator.function, levator.sensors, levator.parameters) == ("linear", (305,), (141,))
    assert (depressor.function, depressor.sensors, depressor.parameters) == ("bilinear", (305, 303), (142, 143))
    values = initial_values(m)
    assert values[141] == (0, 0.8, 0.01, 61, 100)
    assert values[142] + values[143] == (0.08, -0.205, 0.008, 61, 100, 0, 0, 0.06, -40, 80)


@pytest.mark.parametrize(
    ("name", "fmax"),
    [
        ("lin_stickmiddle", (18, 15, 12, 15, 30, 14)),
        ("pc_stickmiddle", (15, 15, 10, 10, 20, 10)),
        ("null_stickmiddle", (15, 15, 10, 10, 20, 10)),
        ("lin_stickmiddle_minimal", (18, 15, 12, 15, 30, 14)),
        ("restricted_null_stick", (10, 10, 10, 10, 10, 10)),
        ("restricted_pc_stick", (10, 10, 10, 10, 10, 10)),
    ],
)
def test_muscles_are_those_of_table_7_5(name: str, fmax: tuple[float, ...]) -> None:
    muscles = [mu for j in shipped(name).jointlist.joints for mu in j.muscles]
    assert [mu.r for mu in muscles] == [-0.5, 0.5, -1, 1, 1, -1]
    assert tuple(mu.fmax for mu in muscles) == fmax


def _force_length(muscle: Muscle) -> tuple[str, tuple[int, ...]]:
    function = next(f for f in muscle.functions if f.use == "force-length")
    return function.type, tuple(mod.id_num for mod in function.mods)


def test_only_the_linear_stick_has_force_length_functions_and_only_at_the_tibia() -> None:
    linear = shipped("lin_stickmiddle")
    flexor, extensor = joint(linear, "Femur-Tibia").muscles
    assert (flexor.l_naught, flexor.alpha_deg, extensor.l_naught, extensor.alpha_deg) == (5, 95, 5, 100)
    assert (_force_length(flexor), _force_length(extensor)) == (("linear", (171,)), ("linear", (172,)))
    assert initial_values(linear)[171] == initial_values(linear)[172] == (2, -1.5), "slope, then intercept"
    others = [mu for n in FULL_STICK for j in shipped(n).jointlist.joints for mu in j.muscles]
    assert {_force_length(mu) for mu in others if mu not in (flexor, extensor)} == {("constant", (191,))}


def _leg(j: Joint) -> tuple[object, ...]:
    return j.id_num, j.parent, without_texts(j.geometry), without_texts(j.motor), without_texts(j.sense_organs)


@pytest.mark.parametrize("name", FULL_STICK)
def test_the_stick_insects_share_one_leg(name: str) -> None:
    ours, minimal = shipped(name), shipped("lin_stickmiddle_minimal")
    legs = [[_leg(j) for j in m.jointlist.joints] for m in (ours, minimal)]
    assert legs[0] == legs[1]
    assert without_texts(ours.sensors.hdsos[:6]) == without_texts(minimal.sensors.hdsos)


@pytest.mark.parametrize(
    ("null_name", "pc_name"), [("null_stickmiddle", "pc_stickmiddle"), ("restricted_null_stick", "restricted_pc_stick")]
)
def test_null_stick_is_the_piecewise_constant_one_without_its_third_state(null_name: str, pc_name: str) -> None:
    null, pc = shipped(null_name), shipped(pc_name)
    fewer = tuple(replace(j, states=tuple(s for s in j.states if s.id_num != 207)) for j in pc.jointlist.joints)
    assert without_texts(null.jointlist.joints) == without_texts(fewer)
    ext2 = {110, 111, 133, 134, 167}
    assert without_texts(null.parameters.hdsos) == without_texts(
        tuple(h for h in pc.parameters.hdsos if h.id_num not in ext2)
    )


AGONISTS, ANTAGONISTS = (122, 123, 126, 127, 130, 131), (121, 124, 125, 128, 129, 132)


def test_every_agonist_of_the_null_roach_pulls_and_no_antagonist_comes_near_it() -> None:
    null = shipped("null_roach")
    values, pull = initial_values(null), {}
    for j in null.jointlist.joints:
        strength = {mu.id_num: abs(mu.r) * mu.fmax for mu in j.muscles}
        for s in j.states:
            pull |= {int(a.parameters[0]): values[int(a.parameters[0])][0] * strength[a.muscle] for a in s.activations}
            agonist, antagonist = sorted((pull[int(a.parameters[0])] for a in s.activations), reverse=True)
            assert agonist - antagonist > 2, f"{s.name}: ticks of servo delta, more than its friction"
    assert set(pull) == {*AGONISTS, *ANTAGONISTS}
    assert max(pull[i] for i in ANTAGONISTS) < min(pull[i] for i in AGONISTS)


def test_null_roach_differs_from_the_linear_one_only_in_muscles_and_activations() -> None:
    linear, null = shipped("lin_roach"), shipped("null_roach")
    have, want = scalars(null), scalars(linear)
    assert {k: (have[k], want[k]) for k in have if not k.endswith("_activation") and have[k] != want[k]} == {}
    for a, b in zip(linear.jointlist.joints, null.jointlist.joints, strict=True):
        assert [_force_length(mu)[0] for mu in b.muscles] == ["constant"] * len(b.muscles)
        assert _plain(a) == _plain(b)
    fl = set(range(171, 177))
    kept = [h.id_num for h in linear.parameters.hdsos if h.id_num not in fl]
    assert [h.id_num for h in null.parameters.hdsos] == kept
    assert without_texts(null.sensors.hdsos) == without_texts(linear.sensors.hdsos)


def _plain(j: Joint) -> object:
    bare_states = tuple(replace(s, activations=(), rule=replace(s.rule, mods=())) for s in j.states)
    bare_muscles = tuple(replace(mu, functions=()) for mu in j.muscles)
    return without_texts(replace(j, states=bare_states, muscles=bare_muscles))


@pytest.mark.parametrize("name", ["null_roach", "mag_roach", *FULL_STICK, *RESTRICTED])
def test_what_is_derived_says_so(name: str) -> None:
    text = (shipped(name).jointlist.description or "").lower()
    assert "derived" in text
    assert "print" in text
