"""What the pictures of a repetition show: which part of a bout, from where, and which marks are in it."""

from dataclasses import replace

import numpy as np
import pytest

from nuc_engine.experiments.figures import (
    LONGEST_TOGETHER_S,
    PART_S,
    DrawnBout,
    angle_figure,
    comparison_figure,
    last_cycles,
    path_figure,
)
from nuc_engine.experiments.protocol import JudgedWindow
from nuc_engine.figures.canvas import house_style
from tests.analysis.gaps import (
    always_in_contact,
    curves_over_time,
    drawn_across,
    longest_steps_cm,
    without,
)
from tests.analysis.synthetic import FWD, bout, leg
from tests.experiments import tiny


def in_windows(one, count, named=None, **changes):
    """A bout of eight seconds with so many windows of equal length."""
    length = 8.0 / count
    windows = tuple(JudgedWindow(f"w{k}", length * k, length * (k + 1), "final") for k in range(count))
    return DrawnBout(tiny.plan(windows=windows, duration_s=8.0), replace(one, **changes), (), named or {})


def labelled(shown, label):
    return replace(shown, plan=replace(shown.plan, label=label))


def drawn(make, *given):
    with house_style():
        return make(*given)


@pytest.mark.parametrize("times", [5.0, LONGEST_TOGETHER_S / 4])
def test_of_a_long_bout_the_end_is_shown(roach_bout, times):
    long = replace(roach_bout, sensors=replace(roach_bout.sensors, t_s=times * roach_bout.sensors.t_s))
    (axes,) = drawn(comparison_figure, [DrawnBout(tiny.plan(), long, (), {})]).axes
    begin = 0.0 if long.end_s <= LONGEST_TOGETHER_S else long.end_s - PART_S
    assert axes.get_xlim() == pytest.approx((begin, long.end_s))
    assert all(line.get_xdata()[0] >= begin for line in axes.lines)


@pytest.mark.parametrize(("along", "across", "label"), [(1.0, 2.1, "z, up (cm)"), (1.0, 1.9, "y, left (cm)")])
def test_a_foot_that_moves_sideways_is_looked_at_from_the_front(along, across, label):
    turned = np.zeros((4, 4))
    turned[3, 3] = 1.0
    one = bout(leg(FWD, 8.0))
    first, *others = one.joints
    path = one.foot_from_angles()
    for row, share in enumerate((along, across, 1.0)):
        turned[row, 0] = share / np.ptp(path[:, 0])
    shown = in_windows(replace(one, joints=(replace(first, amatrix=turned), *others)), 1)
    assert drawn(path_figure, [shown]).axes[0].get_ylabel() == label


def test_the_last_three_cycles_of_a_window_are_shown():
    begin, end = last_cycles(bout(leg(FWD, 8.0)), JudgedWindow("w", 1.0, 7.0, "final"))
    assert end == 7.0
    assert end - begin == pytest.approx(3 * FWD.period_s, abs=0.05)


def test_of_several_bouts_the_last_window_of_each_is_shown(roach_bout):
    shown = [labelled(in_windows(roach_bout, 2), label) for label in ("one", "other")]
    figure = drawn(path_figure, shown)
    paths, angles = figure.axes[:2], figure.axes[2:4]
    assert [axes.get_title(loc="left") for axes in paths] == ["one", "other"]
    assert all(4.0 <= axes.get_xlim()[0] < axes.get_xlim()[1] <= 8.0 for axes in angles)


GAP = 6.0, 7.3


@pytest.mark.parametrize(
    ("make", "curves"),
    [(angle_figure, 3), (lambda shown: comparison_figure([shown]), 3), (lambda shown: path_figure([shown]), 3)],
    ids=["angles", "comparison", "paths"],
)
def test_nothing_is_drawn_where_nothing_was_recorded(make, curves):
    """Neither a curve, nor an action, nor the contact of the foot, nor its path."""
    whole = always_in_contact(bout(leg(FWD, 8.0)))
    assert drawn_across(drawn(make, in_windows(whole, 1)), GAP)
    gap = without(whole, *GAP)
    figure = drawn(make, in_windows(gap, 1))
    assert drawn_across(figure, GAP) == []
    over_time = curves_over_time(figure)
    assert len(over_time) == curves
    for _, times, values in over_time:
        assert np.isfinite(values[times < GAP[0]]).any()
        assert np.isfinite(values[times > GAP[1]]).any()
    last = int(np.searchsorted(gap.sensors.t_s, GAP[0])) - 1
    leap = np.hypot(*np.diff(gap.foot_from_angles()[last : last + 2, :2], axis=0)[0])
    assert max([0.0, *longest_steps_cm(figure)]) < leap / 2
