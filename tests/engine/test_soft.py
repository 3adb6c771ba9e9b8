"""Soft switching: width 0 is the Boolean module, whatever happens; in between actions are blended, without a jump."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.bout.replay import replay_bout, replay_inputs
from nuc_engine.control.grades import Grades
from nuc_engine.control.tasks.acting import ActingTransition
from nuc_engine.control.tasks.blending import Blend
from nuc_engine.control.tasks.state_transition import StateTransition, Switch
from nuc_engine.model.plan import CentralPlan, Slot, SoftPlan
from nuc_engine.model.planning import stored_values
from nuc_engine.verify import verify_bout
from sccils_schemas.model import load_model
from tests.engine.acting import bout, case, hdso, motor_log
from tests.engine.test_tasks import Bench
from tests.verify.variants import documents

MS = 1_000_000
FLEXION, EXTENSION = 0, 1
FLEXED, EXTENDED = (0.6, 0.2), (0.1, 0.8)
"""What the two muscles have in either action of `one_joint`."""
STATES = (
    "TC1_protractionDEP",
    "TC1_retractionLEV",
    "CTr_LevationPRO",
    "CTr_DepressionRET",
    "FT_Extension",
    "FT_Flexion",
)
WEIGHTS = tuple(
    f'<signal idNum="{340 + k}" name="w_{name}" type="weight" of="{name}"/>' for k, name in enumerate(STATES)
)
EVERY_JOINT = (
    r"(?s)(</state>)(?=(?:(?!<state|</joint>).)*</joint>)",
    r'\1<soft_switching><width of="302" hdso="load_width"/><width of="FT_angle" hdso="angle_width"/></soft_switching>',
)


def widths(load: float, angle: float) -> tuple[str, ...]:
    return hdso(150, "load_width", load), hdso(151, "angle_width", angle)


class Soft(Bench):
    """One joint whose comparisons with its angle have the width `blank`; the angle is what rules go by."""

    def __init__(self, width: float, *, soft: bool = True, central: bool = False, **more: object) -> None:
        super().__init__(**more)
        plan = self.plan
        self.set("blank", width)
        blended = SoftPlan(((plan.hdso("angle").index, Slot(plan.hdso("blank").index)),))
        joint = replace(plan.joints[0], soft=blended if soft else None)
        helper = plan.hdso("helper").index
        entry = CentralPlan(helper, Slot(plan.motor_control_delay))
        states = tuple(replace(s, central=entry) if central else s for s in plan.states)
        self.plan = replace(plan, joints=(joint,), states=states)
        self.write_rule("helper", "190")
        kind = ActingTransition if soft or central else StateTransition
        self.task = kind(self.plan, self.store, self.board, self.rulebook)
        self.task.begin(0)

    def write_rule(self, name: str, text: str) -> None:
        index = self.plan.hdso(name).index
        code = [int(value) for value in stored_values(self.plan.hdsos[index], text, {})]
        self.rulebook.swap(index, code, self.rulebook.decode(index, code))

    def at(self, ms: int, angle: float) -> tuple[float, float]:
        self.sense(angle)
        self.task.run(ms * MS)
        return self.board.activations[0], self.board.activations[1]

    def extended(self, ms: int, angle: float) -> float:
        """Return how much of extension is done, by what its muscles have."""
        flexor, extensor = self.at(ms, angle)
        assert (flexor - FLEXED[0]) / (EXTENDED[0] - FLEXED[0]) == pytest.approx((extensor - 0.2) / 0.6, abs=1e-6)
        return (extensor - FLEXED[1]) / (EXTENDED[1] - FLEXED[1])


RULES = st.sampled_from(
    ["301 < 103", "301 > 104", "301 > 103", "(301 > 103)&(302 < 104)", "(301 < 103)|(302 > 104)", "160"]
)


@given(
    rules=st.tuples(RULES, RULES),
    helper=st.sampled_from(["301 > 104", "(302 > 103)|(301 < 104)"]),
    dwell_ms=st.sampled_from([0, 60]),
    lists=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=30),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_of_width_0_it_is_the_boolean_module(
    rules: tuple[str, str], helper: str, dwell_ms: int, lists: list[tuple[int, int]]
) -> None:
    """Also where several rules are true, or one is made of another, or a dwell time keeps a state."""
    hard, soft = (Soft(0.0, soft=soft, rules=rules, dwell_ns=dwell_ms * MS) for soft in (False, True))
    for k, (angle, current) in enumerate(lists):
        for bench in (hard, soft):
            bench.write_rule("helper", helper)
            bench.sense(angle, current)
            bench.task.run(25 * MS * k)
        assert soft.board.states == hard.board.states
        assert soft.board.activations == hard.board.activations
    assert soft.task.overlaps == hard.task.overlaps


def test_complementary_rules_are_the_linear_switcher() -> None:
    """Figure 4-9: a straight line between the actions, half of each at the threshold, the same both ways."""
    bench = Soft(20.0, rules=("301 < 104", "301 > 104"))
    for ms, (angle, weight) in enumerate([(29, 0), (30, 0), (35, 0.25), (40, 0.5), (45, 0.75), (50, 1), (35, 0.25)]):
        assert bench.extended(25 * ms, angle) == pytest.approx(weight, abs=1e-6), angle


def test_thresholds_apart_are_the_bistable_switcher() -> None:
    """Between them weights stay as they were; near each the other action comes in on its line, and goes no farther."""
    bench = Soft(10.0, rules=("301 < 103", "301 > 104"))  # 10 and 40
    way = [(25, 1), (10, 0.5), (25, 0.5), (38, 0.5), (42, 0.7), (25, 0.7), (8, 0.3), (5, 0), (34, 0), (40, 0.5)]
    for ms, (angle, weight) in enumerate(way):
        assert bench.extended(25 * ms, angle) == pytest.approx(weight, abs=1e-6), (ms, angle)


@given(st.lists(st.floats(0, 60, width=32), min_size=2, max_size=30), st.sampled_from([1.0, 8.0, 40.0]))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_weights_change_no_faster_than_what_is_sensed_over_its_width(angles: list[float], width: float) -> None:
    bench = Soft(width, rules=("301 < 103", "301 > 104"))
    done = [bench.extended(25 * k, angle) for k, angle in enumerate(angles)][1:]
    for (before, after), (one, other) in zip(pairwise(done), pairwise(angles[1:]), strict=True):
        assert abs(after - before) <= abs(other - one) / width + 1e-6


class Several(Bench):
    """Three actions, or more, with degrees that a test gives."""

    def __init__(self, count: int) -> None:
        super().__init__()
        states = [replace(self.plan.states[0], index=k, id_num=k, name=f"s{k}") for k in range(count)]
        self.switch = Switch(self.store, 0, "many", states, [0], 0)
        self.blend = Blend(self.store, self.rulebook, self.switch, SoftPlan(()))

    def take(self, *degrees: float, current: int = 0, kept: bool = False) -> list[float]:
        self.blend._degrees = dict(enumerate(degrees))
        self.leads = self.blend.take(current, kept=kept)
        return list(self.blend.weights.values())


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=12), st.booleans())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_weights_are_together_1_and_as_much_as_rules_claim(degrees: list[list[float]], kept: bool) -> None:
    many, current = Several(3), 0
    for row in degrees:
        before = list(many.blend.weights.values())
        weights = many.take(*row, current=current, kept=kept)
        assert sum(weights) == pytest.approx(1.0, abs=1e-12)
        assert min(weights) >= 0.0
        if kept:
            assert weights[current] >= before[current] - 1e-12
            assert many.leads == -1
            continue
        if sum(row) <= 1.0:
            assert all(weight >= claim - 1e-12 for weight, claim in zip(weights, row, strict=True))
        current = many.leads if many.leads >= 0 else current
        assert weights[current] == max(weights)


def test_of_several_actions_the_others_give_way_in_proportion() -> None:
    many = Several(3)
    assert many.take(0.0, 0.5, 0.0) == [0.5, 0.5, 0.0]
    assert many.take(0.0, 0.0, 0.5) == [0.25, 0.25, 0.5]
    assert many.leads == 2
    # More than there is: each claim is made less.
    assert many.take(0.5, 0.5, 1.0, current=2) == [0.25, 0.25, 0.5]


def test_a_state_within_its_dwell_time_loses_nothing_and_leads_on() -> None:
    bench = Soft(20.0, rules=("301 < 104", "301 > 104"), dwell_ns=100 * MS)
    assert bench.extended(0, 30) == pytest.approx(1.0)  # extension is where it starts
    assert bench.extended(99, 30) == pytest.approx(1.0)
    assert bench.board.states == [EXTENSION]
    assert bench.extended(100, 35) == pytest.approx(0.25, abs=1e-6)
    assert bench.board.states == [FLEXION]
    assert bench.extended(125, 45) == pytest.approx(0.25, abs=1e-6)
    assert bench.extended(150, 30) == pytest.approx(0.0, abs=1e-6)


def test_a_central_entry_gives_everything_to_one_action() -> None:
    bench = Soft(10.0, central=True, rules=("301 < 103", "301 > 104"))
    assert bench.extended(0, 12) == pytest.approx(0.7, abs=1e-6)
    bench.write_rule("helper", "191")
    assert bench.extended(25, 12) == pytest.approx(0.0, abs=1e-6)
    assert [event[1] for event in bench.events] == ["forced_switch"]
    bench.write_rule("helper", "190")
    bench.set("motor_control_delay_ns", 100 * MS)  # its hold, in which it loses nothing
    assert bench.extended(124, 50) == pytest.approx(0.0, abs=1e-6)
    assert bench.extended(125, 42) == pytest.approx(0.7, abs=1e-6)


def test_rules_and_widths_change_in_flight_and_operands_may_be_late() -> None:
    bench = Soft(20.0, rules=("301 < 104", "301 > 104"))
    assert bench.extended(0, 45) == pytest.approx(0.75, abs=1e-6)
    bench.set("blank", 10.0)
    assert bench.extended(25, 43) == pytest.approx(0.8, abs=1e-6)
    bench.write_rule("Enter_flexion", "160@0.05")
    bench.write_rule("Enter_extension", "(301@0.05 > 104)&(191)")
    bench.write_rule("helper", "301 < 104")
    bench.rulebook.delays.record(25 * MS)
    assert bench.extended(50, 38) == pytest.approx(0.8, abs=1e-6)
    assert bench.extended(74, 38) == pytest.approx(0.8, abs=1e-6)
    assert bench.extended(100, 38) == pytest.approx(0.3, abs=1e-6)
    # Put in force again, they are bound anew.
    bench.write_rule("Enter_extension", "301 > 104")
    bench.write_rule("Enter_flexion", "301 < 104")
    assert bench.extended(125, 41) == pytest.approx(0.6, abs=1e-6)


def test_no_number_is_true_of_nothing() -> None:
    bench = Soft(20.0, rules=("301 < 104", "301 > 104"))
    assert bench.extended(0, 35) == pytest.approx(0.25, abs=1e-6)
    assert bench.extended(25, float("nan")) == pytest.approx(0.25, abs=1e-6)
    joint, rules = bench.plan.joints[0], [state.rule for state in bench.plan.states]
    assert joint.soft is not None
    assert [Grades(bench.store, bench.rulebook, joint.soft).degree(rule) for rule in rules] == [0.0, 0.0]


@pytest.mark.parametrize("clock", ["virtual", "real"])
@pytest.mark.parametrize("shake", ["nothing", "alternating", "periods"])
def test_off_is_nothing(clock: str, shake: str, tmp_path: Path) -> None:
    """Widths of 0, and none, give the bytes of the configuration without, also where rules and periods change."""
    without = motor_log(bout(case(shake=shake), tmp_path / "without", clock))
    zero = case(EVERY_JOINT, hdsos=widths(0, 0), signals=WEIGHTS, shake=shake)
    none = case((EVERY_JOINT[0], r"\1<soft_switching/>"), shake=shake)
    assert motor_log(bout(zero, tmp_path / "zero", clock)) == without
    assert motor_log(bout(none, tmp_path / "none", clock)) == without
    sensed = np.loadtxt(next((tmp_path / "zero").rglob("SensData.txt")))[:, -6:]
    assert set(sensed.flat) == {0.0, 1.0}


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_a_blend_moves_the_leg_is_in_the_logs_and_is_repeated(clock: str, tmp_path: Path) -> None:
    without = motor_log(bout(case(), tmp_path / "without", clock))
    out = bout(case(EVERY_JOINT, hdsos=widths(0.8, 20), signals=WEIGHTS), tmp_path / "soft", clock)
    assert motor_log(out) != without
    weights = np.loadtxt(out / "SensData.txt")[:, -6:]
    for own in (weights[:, 0:2], weights[:, 2:4], weights[:, 4:6]):
        assert own.sum(axis=1)[-100:] == pytest.approx(1.0, abs=1e-6)
    assert ((weights > 0.05) & (weights < 0.95)).any()
    # What muscles have lies between what the two actions ask for: HDSOs 121 to 132 of lin_roach.
    tibia = np.loadtxt(out / "StateData.txt")[4:, 11:13]
    assert ((tibia[:, 0] > 0.0901) & (tibia[:, 0] < 0.1499)).any()
    assert (replay_inputs(out) if clock == "real" else replay_bout(out)).identical
    assert verify_bout(out).good


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ('<width of="302" hdso="302"/>', "is a sensor and stands as the width of comparisons in Thorax-Coxa1"),
        ('<width of="302" hdso="short"/>', "(short), the width of comparisons in Thorax-Coxa1, is of type llint"),
        ('<width of="302" hdso="below"/>', "-1 is no value for HDSO 151 (below), expected at least 0"),
        ('<width of="TC1_curent" hdso="ok"/>', "'TC1_curent' is not declared, expected an HDSO"),
        ('<width of="162" hdso="ok"/>', "is a boolstring and stands as what a width in Thorax-Coxa1 is of"),
        ('<width of="302" hdso="ok"/><width of="TC1_current" hdso="ok"/>', "has two widths in Thorax-Coxa1"),
        ('<width of="301" hdso="ok"/>', "warning: no entry rule of Thorax-Coxa1 compares HDSO 301"),
        ("", "warning: the weight of TC1_protractionDEP, TC1_retractionLEV is in no log"),
    ],
)
def test_bad_soft_switching_is_told(inside: str, words: str, tmp_path: Path) -> None:
    hdsos = (
        hdso(149, "ok", 1),
        hdso(150, "short", 5, "llint"),
        *([hdso(151, "below", -1)] if "below" in inside else []),
    )
    config, _ = documents(
        case((EVERY_JOINT[0], rf"\1<soft_switching>{inside}</soft_switching>"), hdsos=hdsos), tmp_path
    )
    problems = load_model(config)[1]
    assert words in str(problems)
    assert "joints.xml:" in str(problems)


def test_one_action_alone_cannot_be_blended(tmp_path: Path) -> None:
    config, _ = documents(case((r'(?s)(<joint name="Thorax-Coxa2".*?)(<aimotor)', r"\1<soft_switching/>\2")), tmp_path)
    assert "has 0 states and switches softly, expected two states or more" in str(load_model(config)[1])
