"""One time base for all logs, and bouts cut and shifted in time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.series import Series, interpolate
from tests.analysis.synthetic import DEP, FWD, LEV, bout, leg

modest = settings(max_examples=60, deadline=None, derandomize=True)


@pytest.fixture(scope="module")
def made_up() -> Bout:
    return bout(leg(FWD, 6.0), changesets=(2.0, 4.0))


def small(made_up: Bout) -> Bout:
    """Angles 0, 10, 20 at 0, 1, 2 s; actions DEP, LEV from 0.25 and 1.25 s on; the bout ends at 2.5 s."""
    joint = made_up.joints[0]
    return replace(
        made_up,
        joints=(joint,),
        sensors=Series(np.array([0.0, 1.0, 2.0]), np.array([[0.0], [10.0], [20.0]]), (joint.angle,), ("deg",)),
        states=Series(np.array([0.25, 1.25]), np.array([[DEP], [LEV]], dtype=float), (joint.action,), ("code",)),
        muscles=Series(np.zeros(0), np.zeros((0, 1)), ("flexor.force",), ("",)),
        motor=Series(np.array([0.5, 2.5]), np.array([[7.0], [9.0]]), (joint.raw_position,), ("tick",)),
        plant=None,
    )


def test_angles_are_interpolated_and_states_hold(made_up: Bout) -> None:
    one = small(made_up)
    joint = one.joints[0]
    table = one.on_grid(0.5)
    np.testing.assert_allclose(table.t_s, [0, 0.5, 1.0, 1.5, 2.0, 2.5])
    nan = math.nan
    np.testing.assert_array_equal(table.column(joint.angle), [0, 5, 10, 15, 20, nan])
    np.testing.assert_array_equal(table.column(joint.action), [nan, DEP, DEP, LEV, LEV, LEV])
    np.testing.assert_array_equal(table.column(joint.raw_position), [nan, 7, 7, 7, 7, 9])
    np.testing.assert_array_equal(table.column("flexor.force"), [nan] * 6)
    assert (table.unit(joint.angle), table.unit(joint.action)) == ("deg", "code")


def test_times_may_be_given(made_up: Bout) -> None:
    one = small(made_up)
    table = one.on_grid(np.array([-1.0, 0.3, 9.0]))
    np.testing.assert_array_equal(table.column(one.joints[0].angle), [math.nan, 3.0, math.nan])
    np.testing.assert_array_equal(table.column(one.joints[0].action), [math.nan, DEP, math.nan])


def test_a_record_at_a_multiple_of_the_period_is_on_the_grid_whatever_the_last_bit_says(made_up: Bout) -> None:
    # 0.07 / 0.01 is a little more than 7 and 0.29 / 0.01 a little less than 29.
    one = small(made_up)
    log = replace(one.motor, t_s=np.array([0.07, 0.29]))
    one = replace(one, sensors=log, states=log, muscles=log, motor=log)
    np.testing.assert_allclose(one.on_grid(0.01).t_s, 0.01 * np.arange(7, 30))


def test_gaps_are_not_bridged_when_they_are_long(made_up: Bout) -> None:
    one = small(made_up)
    wide = one.on_grid(np.array([0.0, 0.5, 1.0, 1.25, 2.0]), max_gap_s=0.5)
    np.testing.assert_array_equal(wide.column(one.joints[0].angle), [0, math.nan, 10, math.nan, 20])
    np.testing.assert_array_equal(wide.column(one.joints[0].action), [math.nan, DEP, math.nan, LEV, math.nan])


def test_bouts_on_grids_of_one_period_have_their_times_in_common(made_up: Bout) -> None:
    one, later = made_up.on_grid(0.01), made_up.shifted(0.1234).on_grid(0.01)
    common = np.intersect1d(one.t_s, later.t_s)
    assert len(common) == len(np.intersect1d(np.round(one.t_s, 6), np.round(later.t_s, 6))) > 500
    assert set(one.columns) == {c for log in _logs(made_up) for c in log.columns}


@pytest.mark.parametrize("period", [0.0, -1.0, math.inf, math.nan, 1e-9])
def test_a_period_that_is_none_is_refused(made_up: Bout, period: float) -> None:
    with pytest.raises(AnalysisError, match="period"):
        made_up.on_grid(period)


@modest
@given(
    times=st.lists(st.floats(0, 100), min_size=1, max_size=8, unique=True),
    at=st.lists(st.floats(-1, 101), min_size=1, max_size=8),
)
def test_a_straight_line_stays_one(times: list[float], at: list[float]) -> None:
    t_s = np.array(sorted(times))
    log = Series(t_s, (3.0 * t_s - 1.0)[:, None], ("a",), ("",))
    found = interpolate(log, np.array(at))[:, 0]
    inside = (np.array(at) >= t_s[0]) & (np.array(at) <= t_s[-1])
    np.testing.assert_array_equal(np.isfinite(found), inside)
    np.testing.assert_allclose(found[inside], 3.0 * np.array(at)[inside] - 1.0, atol=1e-9)


def _logs(one: Bout) -> list[Series]:
    logs = [one.motor, one.sensors, one.states, one.muscles]
    return logs if one.plant is None else [*logs, one.plant]


def test_zeroed_moves_everything(made_up: Bout) -> None:
    late = made_up.shifted(1000.5)
    assert late.changesets_s == (1002.5, 1004.5)
    back = late.zeroed()
    assert back.begin_s == 0.0
    assert back.changesets_s == made_up.changesets_s
    for a, b in zip(_logs(back), _logs(made_up), strict=True):
        np.testing.assert_allclose(a.t_s, b.t_s, atol=1e-9)
        np.testing.assert_array_equal(a.values, b.values)


def test_zeroed_counts_from_the_first_record_of_any_log(made_up: Bout) -> None:
    one = replace(made_up, muscles=made_up.muscles.shifted(-0.5))
    assert one.zeroed().muscles.t_s[0] == 0.0
    assert one.zeroed().sensors.t_s[0] == 0.5


def test_a_subset_keeps_its_times_and_its_changesets(made_up: Bout) -> None:
    part = made_up.subset(3.0, 5.0)
    assert part.changesets_s == (4.0,)
    assert 3.0 <= part.begin_s < 3.01
    assert 4.99 < part.end_s <= 5.0
    turn = part.zeroed()
    assert turn.changesets_s == (pytest.approx(4.0 - part.begin_s),)
    with pytest.raises(AnalysisError, match="paper_leg: nothing was recorded from 7 to 9 s; the bout is from 0 to 6 s"):
        made_up.subset(7.0, 9.0)


def test_the_leg_at_other_times_is_the_leg_between(made_up: Bout) -> None:
    times = made_up.sensors.t_s
    points = made_up.leg_from_angles()
    np.testing.assert_array_equal(points[:, -1], made_up.foot_from_angles())
    np.testing.assert_allclose(made_up.leg_from_angles(times), points)
    halfway = made_up.leg_from_angles((times[:-1] + times[1:]) / 2)
    middle = (points[:-1] + points[1:]) / 2
    assert np.abs(halfway - middle).max() < 0.01
    assert np.isnan(made_up.leg_from_angles(np.array([99.0]))[0, -1]).all()


def test_joints_go_by_name_or_role(made_up: Bout) -> None:
    assert made_up.joint("FTi") is made_up.joint("Femur-Tibia") is made_up.joints[2]
    for name in ("knee", ""):
        with pytest.raises(AnalysisError, match="expected one of Thorax-Coxa1, Coxa-Trochanter, Femur-Tibia"):
            made_up.joint(name)


def test_a_bout_is_told_as_text(roach: Bout) -> None:
    text = roach.describe()
    assert text.startswith(f"lin_roach: {roach.folder}\n")
    assert "changesets at 0.5, 1 s" in text
    assert f"motors       {len(roach.motor)}       16" in text
    assert "Joint Femur-Tibia (FTi), id 4, muscle" in text
    assert "code 4" in text
    assert "A-matrix" not in text
    share = [
        float(line.split(", ")[-1].split(" %")[0])
        for line in text.splitlines()
        if "code 4," in line or "code 5," in line
    ]
    assert sum(share) == pytest.approx(100, abs=3)
    full = roach.describe(full=True)
    assert "DH line   a 9.7 cm" in full
    assert "colour 1 0.4 0" in full
    assert "FT_angle" in full
    assert max(map(len, full.splitlines())) <= 100


def test_a_log_is_told_as_a_table(made_up: Bout) -> None:
    head, *rows = made_up.sensors.describe().splitlines()
    assert head.split() == ["column", "unit", "values", "min", "mean", "max"]
    assert len(rows) == len(made_up.sensors.columns)
    empty = made_up.sensors.between(100.0, 200.0).describe().splitlines()
    assert empty[1].split() == ["Thorax-Coxa1_angle", "0"]


def test_an_empty_bout_can_be_told_and_moved(made_up: Bout) -> None:
    nothing = made_up.between(100.0, 200.0)
    assert nothing.zeroed().begin_s == 0.0
    assert "Joint Femur-Tibia" in nothing.describe(full=True)
    assert len(nothing.on_grid(0.01)) == 1
