"""The foot's path: a line for each joint's actions beside it, the views, and the last cycles below it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from nuc_engine.analysis.bout import Bout
from nuc_engine.figures import path_state
from nuc_engine.figures.canvas import house_style, new_figure
from nuc_engine.figures.palette import STANCE, state_color
from tests.analysis.gaps import always_in_contact, longest_steps_cm, without
from tests.analysis.printed import collisions
from tests.analysis.synthetic import FWD, STICK, bout, leg, with_knee_actions


def test_every_action_has_its_line_beside_the_path(made_up: Bout) -> None:
    figure = Figure()
    axes = figure.subplots()
    path_state.draw_path(axes, made_up, (1.0, 3.0), path_state.TOP)
    band, *lines = axes.collections
    np.testing.assert_allclose(band.get_colors()[0, :3], STANCE)
    assert len(band.get_segments()) == len(made_up.stance_spans(1.0, 3.0)) > 1
    assert len(lines) == len(made_up.joints)
    foot = made_up.between(1.0, 3.0).foot_from_angles()[:, :2]
    np.testing.assert_array_equal(np.column_stack(axes.lines[0].get_data()), foot)
    extent = np.ptp(foot, axis=0).max()
    for k, (joint, line) in enumerate(zip(made_up.joints, lines, strict=True)):
        assert {tuple(c[:3]) for c in line.get_colors().tolist()} == {made_up.states_of[c].color for c in joint.states}
        points = np.concatenate(line.get_segments())
        nearest = np.array([np.hypot(*(foot - point).T).min() for point in points[::10]])
        assert np.median(nearest) == pytest.approx((k + 1) * path_state.OFFSET_SHARE * extent, rel=0.3)
    circle, triangle = axes.lines[1:]
    assert (circle.get_marker(), triangle.get_marker()) == ("o", "^")
    np.testing.assert_array_equal([*circle.get_data()], foot[:1].T)
    np.testing.assert_array_equal([*triangle.get_data()], foot[-1:].T)


@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_lines_run_outside_a_loop_whichever_way_the_foot_goes(turn: float) -> None:
    angle = turn * np.linspace(0.0, 6.0, 200)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    normals = path_state.outward_normals(circle)
    np.testing.assert_allclose(normals[1:-1], circle[1:-1], atol=0.02)


def test_where_the_foot_rests_the_line_keeps_its_side() -> None:
    path = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0]])
    normals = path_state.outward_normals(path)
    np.testing.assert_allclose(np.abs(normals), [[0.0, 1.0]] * 7)
    assert len(np.unique(normals[:, 1])) == 1
    assert np.isfinite(path_state.outward_normals(np.zeros((5, 2)))).all()


def test_the_moving_average_is_centred() -> None:
    ramp = np.column_stack([np.arange(20.0), np.ones(20)])
    smooth = path_state.moving_average(ramp, 5)
    np.testing.assert_allclose(smooth[2:-2], ramp[2:-2])
    np.testing.assert_array_equal(path_state.moving_average(ramp, 1), ramp)
    assert path_state.moving_average(ramp, 99).shape == ramp.shape


@pytest.mark.parametrize("end_s", [6.0, 9.0])
def test_a_behaviour_is_shown_by_its_last_cycles(made_up: Bout, end_s: float) -> None:
    """The record ends at 6 s, so a window cannot go on after it."""
    figure = path_state.behaviour_figure(made_up, ("FWD", 0.0, end_s))
    angles = next(axes for axes in figure.axes if axes.get_ylabel() == "joint angle (deg)")
    begin, end = angles.get_xlim()
    assert end == 6.0
    assert end - begin == pytest.approx(path_state.CYCLES * FWD.period_s, abs=0.05)


def test_the_vertical_view_is_the_one_in_which_the_foot_moves(made_up: Bout) -> None:
    for view, factor in ((path_state.SIDE, 10.0), (path_state.FRONT, 0.01)):
        foot = np.zeros((4, 4))
        foot[0, 0], foot[1, 1], foot[2, 2], foot[3, 3] = factor, 1.0, 1.0, 1.0
        first, *others = made_up.joints
        stretched = replace(made_up, joints=(replace(first, amatrix=foot), *others))
        assert path_state._better_side(stretched, (1.0, 3.0)) == view


def legend_of(one: Bout) -> tuple[list[Line2D], int]:
    """The entries below a figure with room for all of them, column by column, and how many columns these are."""
    figure = new_figure(20.0, 4.0)
    path_state.fitted_legend(figure, [one])
    [legend] = figure.legends
    return legend.legend_handles, legend._ncols


@pytest.mark.parametrize("knee_actions", [1, 2, 3])
def test_the_legend_has_one_column_for_each_joint(knee_actions: int) -> None:
    one = with_knee_actions(knee_actions)
    entries, columns = legend_of(one)
    rows = len(entries) // columns
    assert rows * columns == len(entries)
    for k, joint in enumerate(one.joints):
        head, *labels = [entry.get_label() for entry in entries[k * rows : (k + 1) * rows]]
        assert head == f"line {k + 1}: {joint.name}"
        assert [label for label in labels if label.strip()] == [one.states_of[code].name for code in joint.states]
        drawn = [(entry.get_color(), entry._unscaled_dash_pattern) for entry in entries[k * rows + 1 : (k + 1) * rows]]
        assert len(set(map(str, drawn[: len(joint.states)]))) == len(joint.states)
    assert "stance" in [entry.get_label() for entry in entries]
    bare, _ = legend_of(replace(one, plant=None))
    assert "stance" not in [entry.get_label() for entry in bare]


def test_actions_without_a_colour_get_one_of_their_joint() -> None:
    plain = bout(colors=False)
    chosen = [state_color(plain, state) for state in plain.states_of]
    assert len(set(chosen)) == len(chosen)
    told = bout()
    assert [state_color(told, state) for state in told.states_of] == [state.color for state in told.states_of]


def test_a_leg_that_does_not_move_is_drawn() -> None:
    tracks = leg(STICK, 3.0)
    still = tuple(replace(m, angle_deg=np.full_like(m.angle_deg, 30.0)) for m in tracks.modules)
    with house_style():
        figure = path_state.behaviour_figure(bout(replace(tracks, modules=still)), ("stick", 0.0, 3.0))
        assert collisions(figure) == []
    # Nothing spans nothing: every axis shows a range around where the leg stands.
    for axes in figure.axes:
        for low, high in (axes.get_xlim(), axes.get_ylim()):
            assert np.isfinite([low, high]).all()
            assert low != high


def test_a_joint_with_three_actions_has_three_lanes() -> None:
    with house_style():
        figure = path_state.behaviour_figure(with_knee_actions(3), ("stick", 0.0, 3.0))
        assert collisions(figure) == []
    lanes = next(axes for axes in figure.axes if axes.get_xlabel().startswith("time"))
    assert len(lanes.get_yticklabels()) == 7


def test_a_foot_that_rests_is_no_path_over_the_whole_plot(made_up: Bout) -> None:
    figure = new_figure(4.0, 4.0)
    axes = figure.subplots()
    still = made_up.sensors.values.copy()
    still[:] = still[0] + 0.05 * np.sin(np.arange(len(still)))[:, None]
    path_state.draw_path(axes, replace(made_up, sensors=replace(made_up.sensors, values=still)), (0.0, 2.0), (0, 1))
    for low, high in (axes.get_xlim(), axes.get_ylim()):
        assert high - low >= path_state.LEAST_CM
    moving = figure.add_subplot()
    path_state.draw_path(moving, made_up, (0.0, 2.0), (0, 1))
    foot = made_up.between(0.0, 2.0).foot_from_angles()
    assert np.ptp(moving.get_xlim()) < 1.4 * max(np.ptp(foot[:, 0]), np.ptp(foot[:, 1]), path_state.LEAST_CM)


def test_the_path_is_not_drawn_across_a_gap_in_the_record(made_up: Bout) -> None:
    log = made_up.sensors
    kept = (log.t_s < 1.2) | (log.t_s >= 2.4)
    gap = replace(made_up, sensors=replace(log, t_s=log.t_s[kept], values=log.values[kept]))
    axes = Figure().subplots()
    path_state.draw_path(axes, gap, (0.0, 4.0), path_state.TOP)
    foot = gap.between(0.0, 4.0).foot_from_angles()[:, :2]
    before = int((log.t_s < 1.2).sum())
    # The path, then where it begins and where it ends.
    parts = [np.column_stack(line.get_data()) for line in axes.lines]
    assert [len(part) for part in parts] == [before, len(foot) - before, 1, 1]
    np.testing.assert_array_equal(np.concatenate(parts), [*foot, foot[0], foot[-1]])
    leap = np.hypot(*(foot[before] - foot[before - 1]))
    steps = [np.hypot(*np.diff(s, axis=0).T) for c in axes.collections for s in c.get_segments() if len(s) > 1]
    assert max(found.max() for found in steps) < leap / 2


GAP = 3.6, 4.9


@pytest.mark.parametrize(
    "make", [path_state.path_state_figure, lambda one: path_state.behaviour_figure(one, ("FWD", 0.0, 6.0))]
)
def test_no_path_state_plot_leaps_over_a_gap(make: Callable[[Bout], Figure]) -> None:
    """Neither with the path, nor with its contact, nor with a joint's line."""
    gap = without(always_in_contact(bout(leg(FWD, 6.0))), *GAP)
    foot = gap.foot_from_angles()
    last = int(np.searchsorted(gap.sensors.t_s, GAP[0])) - 1
    leap = min(np.hypot(*(foot[last + 1] - foot[last])[list(view)]) for view in path_state.VIEWS.values())
    steps = longest_steps_cm(make(gap))
    assert len(steps) > 6
    assert max(steps) < leap / 2


def path_of(one: Bout) -> Axes:
    axes = Figure().subplots()
    path_state.draw_path(axes, one, (0.0, 6.0), path_state.TOP)
    return axes


def in_gap(one: Bout, collection: LineCollection) -> bool:
    """Whether a line of a path-state plot passes near where the foot was in the middle of the gap."""
    times = one.sensors.t_s
    foot = one.foot_from_angles()[np.abs(times - np.mean(GAP)) < 0.1, :2]
    near = 5 * path_state.OFFSET_SHARE * np.ptp(one.foot_from_angles()[:, :2], axis=0).max()
    points = np.concatenate([np.empty((0, 2)), *collection.get_segments()])
    return any((np.hypot(*(points - place).T) < near).any() for place in foot)


@pytest.mark.parametrize("end_s", [GAP[1], 9.0])
@pytest.mark.parametrize(("log", "lost"), [("plant", [0]), ("states", [1, 2, 3])])
def test_where_contact_or_actions_were_not_recorded_the_path_is_bare(log: str, lost: list[int], end_s: float) -> None:
    """In a gap, and where the record of these ends before that of the angles."""
    whole = drifting(always_in_contact(bout(leg(FWD, 6.0))))
    assert [in_gap(whole, c) for c in path_of(whole).collections] == [True] * 4
    bare = path_of(without(whole, GAP[0], end_s, [log])).collections
    assert [k for k, collection in enumerate(bare) if not in_gap(whole, collection)] == lost


def drifting(one: Bout) -> Bout:
    """The same bout with the thorax-coxa joint turning steadily, so that the foot is nowhere twice."""
    log = one.sensors
    values = 30.0 + 0.0 * log.values
    values[:, log.columns.index(one.joints[0].angle)] = 20.0 * log.t_s
    return replace(one, sensors=replace(log, values=values))
