"""Rules as conditions on sensors, with the numbers of the moment."""

import pytest

from nuc_engine.figures.diagrams.wiring import (
    AllOf,
    AnyOf,
    ConstantCondition,
    DiagramError,
    Limit,
    NonZero,
    SensorOrder,
    cases,
    leaves,
    rule_text,
    senses_of,
    wiring_at,
)
from nuc_engine.model.changes import Changeset, Write
from tests.diagrams.legs import FWD_S, ITF_S, changed, leg, model_and_plan


def rule(wiring, name):
    return next(a.rule for m in wiring.modules for a in m.actions if a.name == name)


def test_values_are_those_of_the_moment():
    assert rule_text(rule(leg("lin_roach", "experiment_a", FWD_S), "TC1_protractionDEP")) == "FT_angle > 120"
    assert rule_text(rule(leg("lin_roach", "experiment_a", ITF_S - 0.001), "TC1_protractionDEP")) == "FT_angle > 120"
    assert rule_text(rule(leg("lin_roach", "experiment_a", ITF_S), "TC1_protractionDEP")) == "FT_angle < 60"


def test_a_change_is_in_force_at_its_own_instant_whatever_its_decimals():
    model, plan = model_and_plan("lin_roach")
    index = plan.hdso("TC1_proDEP_FTang").index
    for tenths in range(1, 500):
        at_ns = tenths * 100_000_000
        wiring = wiring_at(model, plan, (Changeset(at_ns, (Write(index, (99.0,)),)),), tenths / 10, "")
        assert wiring.values[index] == (99.0,), tenths


def test_sensors_know_their_joint_and_what_they_are():
    senses = {sense.name: sense for sense in leg("lin_roach").senses()}
    assert list(senses) == ["TC1_current", "CTr_angle", "FT_angle"]
    assert [sense.what for sense in senses.values()] == ["load", "angle", "angle"]
    assert [sense.joint for sense in senses.values()] == [0, 2, 3]


def test_a_threshold_on_the_left_is_turned_round():
    found = rule(changed("lin_roach", {161: "TC1_proDEP_FTang < FT_angle"}), "TC1_protractionDEP")
    assert rule_text(found) == "FT_angle > 120"


def test_rules_within_rules_are_opened():
    found = rule(
        changed("lin_roach", {161: "Enter_CTr_LevationPRO & (FT_angle > TC1_proDEP_FTang)"}), "TC1_protractionDEP"
    )
    assert rule_text(found) == "TC1_current < 0 and FT_angle > 120"


def test_what_no_sensor_decides_is_fixed():
    assert rule(changed("lin_roach", {161: "one_float_const"}), "TC1_protractionDEP") == ConstantCondition(
        True, "always (one_float_const)"
    )
    low = rule(changed("lin_roach", {161: "TC1_retLEV_FTang > TC1_proDEP_FTang"}), "TC1_protractionDEP")
    assert isinstance(low, ConstantCondition)
    assert not low.holds


def test_sensors_compared_with_each_other_and_alone():
    both = rule(changed("lin_roach", {161: "(FT_angle > CTr_angle) | TC1_current"}), "TC1_protractionDEP")
    assert [type(leaf) for leaf in leaves(both)] == [SensorOrder, NonZero]
    assert {sense.name for sense in senses_of(both)} == {"FT_angle", "CTr_angle", "TC1_current"}


def test_cases_are_the_ways_to_fulfil_a_rule():
    limits = [Limit(sense, True, 1.0, "p", 1) for sense in leg("lin_roach").senses()]
    a, b, c = limits
    assert cases(AllOf((a, AnyOf((b, c))))) == ((a, b), (a, c))
    assert cases(AnyOf((ConstantCondition(False, ""), a))) == ((a,),)
    assert cases(AllOf((ConstantCondition(False, ""), a))) == ()
    assert cases(AllOf((ConstantCondition(True, ""), a))) == ((a,),)


def test_a_rule_with_too_many_cases_is_refused():
    sense = leg("lin_roach").senses()[0]
    pairs = AllOf(tuple(AnyOf((Limit(sense, True, k, "p", 1), Limit(sense, False, k, "p", 1))) for k in range(20)))
    with pytest.raises(DiagramError, match="more than 256 cases"):
        cases(pairs)


def test_implication_goes_with_the_sense_of_the_threshold():
    sense, other = leg("lin_roach").senses()[:2]
    above = Limit(sense, True, 10.0, "p", 1)
    assert above.implies(Limit(sense, True, 5.0, "q", 2))
    assert not above.implies(Limit(sense, True, 15.0, "q", 2))
    assert not above.implies(Limit(sense, False, 5.0, "q", 2))
    assert not above.implies(Limit(other, True, 5.0, "q", 2))
