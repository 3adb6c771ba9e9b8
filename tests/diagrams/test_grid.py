"""Where rules hold: against brute force, with overlaps that were planted and ones that only look like it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.figures.diagrams.grid import sensor_space
from nuc_engine.figures.diagrams.wiring import (
    AllOf,
    AnyOf,
    ConstantCondition,
    DiagramError,
    Limit,
    Module,
    NonZero,
    Sense,
    SensorOrder,
    WiredAction,
)
from tests.diagrams.legs import changed, leg

X, Y, Z = (Sense(k, name, "", None, "other", -100.0, 100.0) for k, name in enumerate("xyz"))
GRAY = (0.5, 0.5, 0.5)


def over(sense, threshold):
    return Limit(sense, True, threshold, f"p{threshold:g}", 1)


def under(sense, threshold):
    return Limit(sense, False, threshold, f"p{threshold:g}", 1)


def module(*rules):
    return Module(0, "joint", "", tuple(WiredAction(k, f"a_{k}", GRAY, rule) for k, rule in enumerate(rules)), 0)


def truth(rule, values):
    if isinstance(rule, ConstantCondition):
        return rule.holds
    if isinstance(rule, Limit):
        value = values[rule.sense.name]
        return value > rule.threshold if rule.above else value < rule.threshold
    if isinstance(rule, SensorOrder):
        a, b = values[rule.left.name], values[rule.right.name]
        return a > b if rule.above else a < b
    if isinstance(rule, NonZero):
        return values[rule.sense.name] != 0
    found = [truth(term, values) for term in rule.terms]
    return all(found) if isinstance(rule, AllOf) else any(found)


def inside(box, axes, values):
    return all(low < values[axis.sense.name] < high for axis, (low, high) in zip(axes, box.sides, strict=True))


limits = st.builds(
    Limit, st.sampled_from([X, Y, Z]), st.booleans(), st.integers(-5, 5).map(float), st.just("p"), st.just(1)
)
rules = st.recursive(
    limits,
    lambda inner: st.lists(inner, min_size=2, max_size=3).flatmap(
        lambda t: st.sampled_from([AllOf(tuple(t)), AnyOf(tuple(t))])
    ),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(rules, min_size=2, max_size=3), st.integers(0, 1000))
def test_every_point_of_sensor_space_is_told_right(found_rules, seed):
    space = sensor_space(module(*found_rules))
    overlaps = space.overlaps()
    rng = np.random.default_rng(seed)
    for _ in range(60):
        # Never on a threshold, which is a whole number.
        values = {name: float(rng.integers(-7, 7)) + 0.1 + 0.8 * float(rng.random()) for name in "xyz"}
        true = tuple(k for k, rule in enumerate(found_rules) if truth(rule, values))
        here = [box.actions for box in overlaps if inside(box, space.axes, values)]
        assert here == ([true] if len(true) > 1 else [])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(-50, 50), st.integers(-50, 50))
def test_two_thresholds_on_one_sensor_overlap_exactly_when_they_cross(low, high):
    space = sensor_space(module(under(X, float(low)), over(X, float(high))))
    expected = [((float(high), float(low)),)] if high < low else []
    assert [box.sides for box in space.overlaps()] == expected


def test_equal_thresholds_do_not_overlap():
    space = sensor_space(module(under(X, 0.0), over(X, 0.0)))
    assert space.overlaps() == ()


def test_or_instead_of_and_overlaps_as_the_dissertation_warns():
    # Section 4.4.1: figure 4-10 would overlap if the FLX rule used OR instead of AND.
    ext = AnyOf((under(X, -1.0), over(Y, 105.0 - 100)))
    good, bad = AllOf((over(X, 0.0), under(Y, 0.0))), AnyOf((over(X, 0.0), under(Y, 0.0)))
    assert sensor_space(module(ext, good)).overlaps() == ()
    assert sensor_space(module(ext, bad)).overlaps() != ()


def test_shipped_stick_insect_overlaps_where_its_texts_say_so():
    joints = {m.role: m for m in leg("pc_stickmiddle").modules}
    sides = {
        s.sense.name: i
        for s, i in zip(sensor_space(joints["CTr"]).axes, sensor_space(joints["CTr"]).overlaps()[0].sides, strict=True)
    }
    assert sides["FT_angle"][1] == 75.0
    assert sides["TC_angle"][1] == -20.0
    assert sensor_space(joints["ThC"]).overlaps() == ()


def test_the_cockroach_joints_overlap_only_where_planted():
    femur, tibia = leg("lin_roach").modules[1:]
    assert sensor_space(femur).overlaps() == ()
    assert sensor_space(tibia).overlaps() == ()
    planted = changed("lin_roach", {"CTr_dep_TC1_load": -0.5}).modules[1]
    (box,) = sensor_space(planted).overlaps()
    assert box.sides == ((-0.5, 0.0),)
    assert [planted.action(a).short for a in box.actions] == ["LevationPRO", "DepressionRET"]


def test_an_overlap_beyond_what_the_servo_can_reach_is_none():
    # The angle ends at about 174 degrees.
    wiring = changed("lin_roach", {162: "(FT_angle > TC1_retLEV_FTang) & (FT_angle > TC1_proDEP_FTang)", 103: 175.0})
    space = sensor_space(wiring.modules[0])
    assert space.overlaps() == ()
    assert space.never() == (wiring.modules[0].actions[1].index,)


def test_rules_that_overlap_only_beyond_the_servos_scale_do_not():
    both = {161: "FT_angle > TC1_proDEP_FTang", 162: "FT_angle > TC1_retLEV_FTang", 105: 176.0, 103: 190.0}
    wiring = changed(
        "lin_roach", {**both, 161: "(FT_angle > TC1_proDEP_FTang) | (FT_angle > TC1_retLEV_FTang)", 162: both[161]}
    )
    space = sensor_space(wiring.modules[0])
    assert space.overlaps() == ()
    assert len(space.never()) == 2


def test_sensors_compared_with_each_other():
    space = sensor_space(module(SensorOrder(X, Y, True), AllOf((SensorOrder(X, Y, True), over(X, 3.0))), under(Z, 0.0)))
    assert {box.actions for box in space.overlaps()} == {(0, 1), (0, 2), (1, 2), (0, 1, 2)} - {(1, 2)}
    both = sensor_space(module(SensorOrder(X, Y, True), SensorOrder(X, Y, False)))
    assert both.overlaps() == ()
    apart = sensor_space(module(AllOf((SensorOrder(X, Y, True), SensorOrder(Y, Z, True))), SensorOrder(Z, X, True)))
    assert apart.overlaps() == ()
    assert apart.never() == ()


def test_rules_without_sensors_and_sensors_alone():
    space = sensor_space(module(ConstantCondition(True, "always"), ConstantCondition(False, "never")))
    assert space.holds.shape == (2,)
    assert space.never() == (1,)
    free = Sense(7, "free", "", None, "other")
    alone = sensor_space(module(NonZero(free), under(free, -1.0)))
    assert [box.sides for box in alone.overlaps()] == [((-np.inf, -1.0),)]


def test_too_fine_a_grid_is_refused():
    senses = [Sense(k, f"s{k}", "", None, "other") for k in range(8)]
    rule = AllOf(tuple(over(sense, float(k)) for sense in senses for k in range(9)))
    with pytest.raises(DiagramError, match="cells"):
        sensor_space(module(rule, rule))
