"""Rules that can never be true, and the ones that only look like it."""

from dataclasses import replace

import pytest

from nuc_engine.model.changes import Changeset, Write
from nuc_engine.model.plan import InitialWrite
from nuc_engine.model.planning import stored_values
from nuc_engine.model.rulecheck import find_dead_rules, free_ranges
from tests.engine.models import one_joint

# The servo reports raw 0 to 254 at (raw - 100) / 2 degrees: -50 to 77 degrees.


def test_sensors_are_limited_by_what_the_servo_can_report():
    plan = one_joint()
    ranges = free_ranges(plan)
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
        "(301@0.1 > 104) & (301@0.1 < 103)",
        "190 & 191",
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
        "(301 > 104) & (301@0.05 < 103)",  # above 40 now, below 10 before
        "(301 > 104) | (301 < 103)",
        "((301 > 104) & (301 < 103)) | 302 > 103",
        "301 > 302",
        "191",
        "190",  # a constant by itself says that it is never true
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


def test_commands_the_engine_writes_can_be_anything():
    rules = ("204 > 104", "203 < 190")  # the values of the commands at the start are 128 and 7
    assert find_dead_rules(one_joint(rules=("203 > 104", "204 < 104"))) == []
    assert find_dead_rules(one_joint(rules=rules)) == []
    in_force_mode = find_dead_rules(one_joint(rules=("203 > 104", "204 < 104"), mode="force"))
    assert len(in_force_mode) == 2
    assert "force_command is 7" in in_force_mode[0].text


def test_an_angle_whose_turns_are_counted_is_said_to_wrap():
    beyond = Changeset(5, (Write(one_joint().hdso(104).index, (100.0,)),))
    (plain,) = find_dead_rules(one_joint(), [beyond])
    assert "Enter_extension can never be true: angle > high, where angle can be -50 to 77" in plain.text
    turning = one_joint(motor={"overflow_correction": True})
    (wraps,) = find_dead_rules(turning, [beyond])
    assert "Enter_extension can never be true unless an angle wraps round: angle > high" in wraps.text
    never = one_joint(rules=("(301 > 104) & (301 < 103)", "301 > 104"), motor={"overflow_correction": True})
    assert "can never be true: (angle > high)" in find_dead_rules(never)[0].text


def bomb(levels, joined="|", operands=15):
    """Return a plan whose flexion rule stands for `operands` to the power of `levels` terms."""
    plan = one_joint()
    rule = plan.hdso(162)
    width = 60 * 4
    helpers = [
        replace(rule, index=rule.index + k, id_num=900 + k, name=f"helper{k}", offset=rule.offset + width * k)
        for k in range(1, levels + 1)
    ]
    texts = ["|".join(["301 > 103"] * 7), *[joined.join([f"{900 + k}"] * operands) for k in range(1, levels)]]
    writes = [InitialWrite(h.index, stored_values(h, text, {})) for h, text in zip(helpers, texts, strict=True)]
    top = InitialWrite(plan.hdso(161).index, stored_values(rule, f"{900 + levels} & 190", {}))
    return replace(
        plan,
        hdsos=(*plan.hdsos, *helpers),
        initial=(*plan.initial, *writes, top),
        store_size=plan.store_size + width * levels,
    )


@pytest.mark.parametrize("joined", ["|", "&"])
@pytest.mark.parametrize("levels", [7, 12])
def test_a_rule_with_too_many_cases_is_not_judged(joined, levels):
    assert find_dead_rules(bomb(levels, joined)) == []
    assert [found.hdso for found in find_dead_rules(bomb(1, joined))] == [one_joint().hdso(161).index]


def test_a_rule_that_reaches_too_deep_is_not_judged():
    assert [found.time_ns for found in find_dead_rules(bomb(8, operands=1))] == [0]
    assert find_dead_rules(bomb(9, operands=1)) == []
    assert find_dead_rules(bomb(1500, operands=1)) == []


def test_a_rule_inside_a_rule_can_be_killed_and_revived_by_a_script():
    plan = bomb(1)
    free = replace(plan, initial=(*plan.initial, InitialWrite(plan.hdso(161).index, rule_of(plan, "901"))))
    dead, alive = rule_of(plan, "301 > 105"), rule_of(plan, "301 > 103")
    index, blank = plan.hdso(901).index, plan.hdso(105).index
    steps = [
        Changeset(1, (Write(blank, (500.0,)),)),  # not read by any rule yet
        Changeset(2, (Write(index, dead),)),
        Changeset(3, (Write(blank, (0.0,)),)),
        Changeset(4, (Write(blank, (501.0,)),)),
        Changeset(5, (Write(index, alive),)),
    ]
    assert [found.time_ns for found in find_dead_rules(free, steps)] == [2, 4]


def rule_of(plan, text):
    return stored_values(plan.hdso(162), text, {})
