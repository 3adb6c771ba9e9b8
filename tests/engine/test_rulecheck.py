"""Rules that can never be true, and the ones that only look like it."""

import pytest

from nuc_engine.changes import Changeset, Write
from nuc_engine.planning import stored_values
from nuc_engine.rulecheck import find_dead_rules, sensor_ranges
from tests.engine.models import one_joint

# The servo reports raw 0 to 254 at (raw - 100) / 2 degrees: -50 to 77 degrees.


def test_sensors_are_limited_by_what_the_servo_can_report():
    plan = one_joint()
    ranges = sensor_ranges(plan)
    assert ranges[plan.hdso("angle").index] == (-50.0, 77.0)
    assert ranges[plan.hdso("current").index] == (-254.0, 254.0)


def test_a_working_configuration_has_no_dead_rule():
    assert find_dead_rules(one_joint()) == []


@pytest.mark.parametrize(
    "rule",
    [
        "(301 > 104) & (301 < 103)",  # above 40 and below 10
        "(301 > 104) & ((301 < 103) | 190)",
        "103 > 104",  # 10 > 40, both parameters
        "190",
        "(302 > 103) & (301 > 104) & (302 < 103)",
    ],
)
def test_contradictions_are_found(rule):
    dead = find_dead_rules(one_joint(rules=(rule, "301 > 104")))
    assert [(found.time_ns, found.hdso) for found in dead] == [(0, one_joint().hdso(161).index)]
    assert "Enter_flexion can never be true" in dead[0].text


@pytest.mark.parametrize(
    "rule",
    [
        "(301 > 103) & (301 < 104)",  # between 10 and 40
        "(301 > 104) | (301 < 103)",
        "((301 > 104) & (301 < 103)) | 302 > 103",
        "301 > 302",
        "191",
        "162",
        "301",
    ],
)
def test_what_can_be_true_is_left_alone(rule):
    assert find_dead_rules(one_joint(rules=(rule, "301 > 104"))) == []


def test_a_changeset_can_kill_a_rule_and_the_report_says_when():
    plan = one_joint()
    kill = Changeset(5, (Write(plan.hdso(104).index, (77.0,)),))
    same = Changeset(6, (Write(plan.hdso(104).index, (120.0,)),))
    revive = Changeset(7, (Write(plan.hdso(104).index, (76.9,)),))
    dead = find_dead_rules(plan, [kill, same, revive, Changeset(8, kill.writes)])
    assert [found.time_ns for found in dead] == [5, 8]
    assert "angle can be -50 to 77" in dead[0].text
    assert "high is 77" in dead[0].text


def test_rules_inside_rules_are_followed():
    plan = one_joint(rules=("162 & (301 < 103)", "301 > 104"))
    assert [found.hdso for found in find_dead_rules(plan)] == [plan.hdso(161).index]
    rule = stored_values(plan.hdso(162), "301 < 104", {})
    assert find_dead_rules(plan, [Changeset(1, (Write(plan.hdso(162).index, rule),))])[0].time_ns == 0
