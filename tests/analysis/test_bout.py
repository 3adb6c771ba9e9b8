"""What a bout that was read answers."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.series import Series
from nuc_engine.analysis.steps import detect_steps
from tests.analysis.gaps import LOGS, without
from tests.analysis.synthetic import DEP, FWD, LEV, bout, leg


@pytest.fixture(scope="module")
def made_up() -> Bout:
    return bout(leg(FWD, 6.0))


def with_actions(made_up: Bout, times: list[float], codes: list[int]) -> Bout:
    name = made_up.joints[0].action
    return replace(made_up, states=Series(np.array(times), np.array(codes, dtype=float)[:, None], (name,), ("",)))


def test_columns_go_by_name_and_a_wrong_name_is_answered_with_the_right_ones(made_up: Bout) -> None:
    assert len(made_up.sensors.column("Femur-Tibia_angle")) == len(made_up.sensors)
    with pytest.raises(KeyError, match="there are Thorax-Coxa1_angle, Thorax-Coxa1_current"):
        made_up.sensors.column("knee")


def test_a_part_of_a_series_has_the_records_of_both_its_ends() -> None:
    series = Series(np.array([0.0, 1.0, 2.0, 3.0]), np.arange(8.0).reshape(4, 2), ("a", "b"), ("", ""))
    part = series.between(1.0, 2.0)
    assert (part.t_s.tolist(), part.values.tolist()) == ([1, 2], [[2, 3], [4, 5]])
    assert len(series.between(1.1, 1.9)) == 0


def test_a_part_of_a_bout_is_cut_in_every_log(made_up: Bout) -> None:
    part = made_up.between(2.0, 3.0)
    for log in (part.motor, part.sensors, part.states, part.muscles, part.plant):
        assert log is not None
        assert 2.0 <= log.t_s[0] < 2.03
        assert 2.97 < log.t_s[-1] <= 3.0
    assert replace(made_up, plant=None).between(2.0, 3.0).plant is None


def test_the_end_is_the_last_record_of_any_log(made_up: Bout) -> None:
    assert made_up.end_s == 6.0
    assert made_up.between(0.0, 0.9999).end_s == pytest.approx(0.9999, abs=0.006)
    assert made_up.between(9.0, 10.0).end_s == 0.0


def test_contact_is_where_the_ground_presses(made_up: Bout) -> None:
    plant = Series(np.arange(8) * 0.01, np.zeros((8, 4)), ("foot_x", "foot_y", "foot_z", "contact"), ("",) * 4)
    plant.values[:, 3] = [0.06, 0.0, 0.05, 0.7, 0.7, 0.0, 0.7, 0.7]
    touching = replace(made_up, plant=plant)
    np.testing.assert_allclose(touching.contact_spans(0.0, 1.0), [(0.0, 0.01), (0.03, 0.05), (0.06, 0.07)])
    np.testing.assert_allclose(touching.contact_spans(0.035, 0.055), [(0.04, 0.05)])
    assert touching.contact_spans(2.0, 3.0) == []


def of_contact(one: Bout, contacts: list[tuple[float, float, float]]) -> Bout:
    """A bout of two seconds whose foot presses the ground at these times with these forces, and rises between them."""
    times = np.arange(200) * 0.01
    plant = Series(times, np.zeros((200, 4)), ("foot_x", "foot_y", "foot_z", "contact"), ("",) * 4)
    for begin, end, force in contacts:
        plant.values[(times > begin - 1e-6) & (times < end - 1e-6), 3] = force
    down = times[plant.values[:, 3] > 0]
    plant.values[:, 2] = [10.0 * np.abs(down - time).min(initial=2.0) for time in times]
    return replace(one, plant=plant)


@pytest.mark.parametrize(
    ("contacts", "stances"),
    [
        ([(0.2, 0.5, 0.7), (0.8, 1.1, 0.7)], [(0.2, 0.5), (0.8, 1.1)]),
        # A bounce, too short for a swing.
        ([(0.2, 0.3, 0.7), (0.34, 0.5, 0.7), (0.8, 1.1, 0.7)], [(0.2, 0.5), (0.8, 1.1)]),
        # Touches in a swing: one too short, one too light.
        ([(0.2, 0.5, 0.7), (0.7, 0.72, 0.7), (0.9, 1.2, 0.7)], [(0.2, 0.5), (0.9, 1.2)]),
        ([(0.2, 0.5, 0.7), (0.7, 0.8, 0.06), (1.0, 1.2, 0.7)], [(0.2, 0.5), (1.0, 1.2)]),
        ([(0.0, 2.0, 0.7)], [(0.0, 1.99)]),
        ([], []),
    ],
)
def test_stance_is_what_the_steps_are_judged_by(made_up: Bout, contacts: list, stances: list) -> None:
    one = of_contact(made_up, contacts)
    np.testing.assert_allclose(one.stance_spans(0.0, 2.0), stances, atol=1e-6)
    cut = [(max(begin, 0.4), min(end, 1.0)) for begin, end in stances if end > 0.4 and begin < 1.0]
    np.testing.assert_allclose(one.stance_spans(0.4, 1.0), cut, atol=1e-6)


def test_stance_ends_where_the_record_does(made_up: Bout) -> None:
    one = without(of_contact(made_up, [(0.0, 2.0, 0.7)]), 0.6, 1.2)
    np.testing.assert_allclose(one.stance_spans(0.0, 2.0), [(0.0, 0.6), (1.2, 1.99)], atol=1e-6)
    assert replace(made_up, plant=None).stance_spans(0.0, 6.0) == []
    steps, whole = detect_steps(made_up.tracks()), made_up.stance_spans(0.0, 6.0)
    for touch_down, end in zip(steps.touch_down_s, steps.end_s, strict=True):
        assert (pytest.approx(touch_down), pytest.approx(end)) in whole


def test_an_action_is_in_force_until_the_next_record(made_up: Bout) -> None:
    told = with_actions(made_up, [0.0, 1.0, 2.0, 3.0], [DEP, LEV, LEV, DEP])
    joint = told.joints[0]
    assert told.action_spans(joint, LEV, 0.0, 7.0) == [(1.0, 3.0)]
    assert told.action_spans(joint, DEP, 0.0, 7.0) == [(0.0, 1.0), (3.0, 7.0)]
    assert told.action_spans(joint, LEV, 1.5, 2.5) == [(1.5, 2.5)]
    assert told.action_spans(joint, DEP, 1.5, 2.5) == []
    assert told.action_spans(joint, DEP, 4.0, 5.0) == [(4.0, 5.0)]
    assert told.actions_at(joint, np.array([-1.0, 0.0, 0.99, 1.0, 2.5, 7.0])).tolist() == [-1, DEP, DEP, LEV, LEV, DEP]


def test_after_the_last_record_an_action_is_in_force_for_one_period(made_up: Bout) -> None:
    """Where that is a gap: until the bout's end, or until what is asked for."""
    joint = made_up.joints[0]
    cut = replace(made_up, states=made_up.states.between(0.0, 3.0))
    last, code = cut.states.t_s[-1], int(cut.states.column(joint.action)[-1])
    for end_s in (6.0, 3.3, 3.05):
        assert cut.action_spans(joint, code, 0.0, end_s)[-1][1] == pytest.approx(last + 0.025)
    assert all(cut.action_spans(joint, code, 4.0, 5.0) == [] for code in joint.states)
    assert cut.actions_at(joint, np.array([last, last + 0.02, last + 0.03, 5.0])).tolist() == [code, code, -1, -1]
    assert cut.actions_at(joint, np.array([last + 0.03])).tolist() == [-1]
    # A pause such as there may be between any two records is none.
    late = replace(made_up, states=made_up.states.between(0.0, 5.85))
    code = int(late.states.column(joint.action)[-1])
    assert late.action_spans(joint, code, 0.0, 6.0)[-1][1] == 6.0
    assert late.actions_at(joint, np.array([5.99])).tolist() == [code]


def test_in_a_gap_no_action_is_in_force_at_any_time(made_up: Bout) -> None:
    """`actions_at` and `action_spans` agree."""
    gap = without(made_up, 1.0, 4.0, ["states"])
    joint = gap.joints[0]
    times = np.arange(0.003, 6.0, 0.01)
    codes = gap.actions_at(joint, times)
    for code in joint.states:
        spans = gap.action_spans(joint, code, 0.0, 6.0)
        np.testing.assert_array_equal(codes == code, [any(a <= t < b for a, b in spans) for t in times])
    assert (codes[(times > 1.03) & (times < 3.97)] == -1).all()
    assert (codes[(times < 0.97) | (times > 4.03)] != -1).all()
    assert gap.actions_at(joint, np.array([])).tolist() == []


@pytest.mark.parametrize("logs", [LOGS, ["states"]])
@pytest.mark.parametrize(("begin_s", "end_s"), [(1.0, 4.0), (-1.0, 2.0), (4.0, 9.0)])
def test_shares_of_actions_are_of_the_recorded_time(
    made_up: Bout, logs: list[str], begin_s: float, end_s: float
) -> None:
    def shares(one: Bout) -> list[float]:
        return [float(number) for number in re.findall(r"code \d+, (\d+) % of the (?:recorded )?time", one.describe())]

    whole, gap = shares(made_up), without(made_up, begin_s, end_s, logs)
    assert len(whole) == 6
    recorded = gap.states.values
    for k, joint in enumerate(gap.joints):
        named = shares(gap)[2 * k : 2 * k + 2]
        column = recorded[:, gap.states.columns.index(joint.action)]
        assert named == pytest.approx([100 * float(np.mean(column == code)) for code in joint.states], abs=1.6)
        assert sum(named) == pytest.approx(100, abs=1)
    assert "recorded time" not in made_up.describe()
    unknown = logs == ["states"] or begin_s == 1.0
    assert ("% of the recorded time" in gap.describe()) == unknown


def test_without_records_no_action_is_in_force(made_up: Bout) -> None:
    empty = made_up.between(100.0, 200.0)
    assert empty.action_spans(empty.joints[0], DEP, 0.0, 9.0) == []
    assert empty.actions_at(empty.joints[0], np.array([0.0, 1.0])).tolist() == [-1, -1]


def test_the_detector_gets_what_was_recorded(made_up: Bout) -> None:
    tracks, expected = made_up.tracks(), leg(FWD, 6.0)
    for ours, theirs in zip(tracks.modules, expected.modules, strict=True):
        assert (ours.name, ours.role, ours.actions, ours.action_names) == (
            theirs.name,
            theirs.role,
            theirs.actions,
            theirs.action_names,
        )
        np.testing.assert_array_equal(ours.action, theirs.action)
        np.testing.assert_array_equal(ours.angle_deg, theirs.angle_deg)
    np.testing.assert_array_equal(tracks.foot_cm, expected.foot_cm)
    np.testing.assert_array_equal(tracks.contact_n, expected.contact_n)
    assert tracks.stance_action == DEP
    assert tracks.leg_length_cm == pytest.approx(9.0 + 9.7 + 9.4)


def test_legs_that_cannot_be_judged_say_why(made_up: Bout) -> None:
    first, femur, knee = others = made_up.joints
    assert replace(made_up, joints=(femur, knee)).tracks().stance_module.role == "FTi"
    with pytest.raises(AnalysisError, match="paper_leg: no joint between thorax and coxa"):
        replace(made_up, joints=(femur,)).tracks()
    with pytest.raises(AnalysisError, match="Thorax-Coxa1 has actions but no state or no angle column"):
        replace(made_up, joints=(replace(first, angle=None), *others)).tracks()
