"""The summary figures: recorded numbers, lanes of actions, activations, and marks in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.series import Series
from nuc_engine.figures import figures
from nuc_engine.figures.canvas import house_style
from nuc_engine.figures.joint_figures import joint_figure, motor_figure, muscle_figure
from nuc_engine.figures.palette import muscle_pens
from nuc_engine.figures.path_state import behaviour_figure
from tests.analysis.gaps import always_in_contact, curves_over_time, drawn_across, without
from tests.analysis.printed import collisions
from tests.analysis.synthetic import bout, with_knee_actions


def test_the_first_figure_shows_the_recorded_numbers(made_up: Bout) -> None:
    span = 1.003, 2.997
    figure = figures.sensor_figure(made_up, (), span)
    panels, lanes = figure.axes[:3], figure.axes[3:6]
    part, motor = made_up.sensors.between(*span), made_up.motor.between(*span)
    for joint, lane in zip(made_up.joints, lanes, strict=True):
        for panel, series, column in (
            (panels[0], part, joint.angle),
            (panels[1], part, joint.current),
            (panels[2], motor, joint.raw_position),
            (lane, motor, joint.raw_current),
        ):
            (line,) = [line for line in panel.lines if line.get_label() == joint.name]
            np.testing.assert_array_equal(line.get_xdata(), series.t_s)
            np.testing.assert_array_equal(line.get_ydata(), series.column(column))
        assert lane.get_ylabel() == joint.role
    assert [panel.get_ylabel() for panel in panels] == [
        "joint angle (deg)",
        "load, filtered\n(current ticks)",
        "position, raw\n(ticks)",
    ]
    assert lanes[0]._left_title.get_text() == "current, raw (ticks)"
    assert panels[0].get_xlim() == span


def test_foot_and_contact_are_shown_where_they_were_recorded(made_up: Bout) -> None:
    assert made_up.plant is not None
    figure = figures.sensor_figure(made_up)
    *_, contact, height = figure.axes
    np.testing.assert_array_equal(contact.lines[0].get_ydata(), made_up.plant.values[:, 3])
    np.testing.assert_array_equal(height.lines[0].get_ydata(), made_up.plant.values[:, 2])
    assert "shaded: stance, ticks: contact" in figure._suptitle.get_text()
    without = figures.sensor_figure(replace(made_up, plant=None))
    assert len(without.axes) == 3 + len(made_up.joints)
    assert "contact" not in without._suptitle.get_text()


def test_changesets_and_windows_are_marked_within_the_span(made_up: Bout) -> None:
    windows = [("FWD", 0.0, 2.0), ("ITF", 2.0, 4.0), ("ITB", 4.0, 6.0)]
    for make in (figures.sensor_figure, figures.state_figure):
        for span, times, names in ((None, [2.0, 4.0], ["FWD", "ITF", "ITB"]), ((3.0, 5.0), [4.0], ["ITF", "ITB"])):
            figure = make(made_up, windows, span)
            for panel in figure.axes[:4]:
                dashed = [x[0] for line in panel.lines if len(x := line.get_xdata()) == 2 and x[0] == x[1]]
                assert dashed == times
            assert [text.get_text() for text in figure.axes[0].texts] == names


def test_lanes_are_filled_while_an_action_is_in_force(made_up: Bout) -> None:
    span = (1.01, 3.99)
    figure = figures.state_figure(made_up, (), span)
    for panel, joint in zip(figure.axes[::2], made_up.joints, strict=True):
        assert [label.get_text() for label in panel.get_yticklabels()] == [
            made_up.states_of[code].name for code in joint.states
        ]
        for lane, code in enumerate(joint.states):
            bars = [c for c in panel.collections if _lane(c) == lane]
            assert len(bars) == 1
            np.testing.assert_allclose(bars[0].get_facecolor()[0, :3], made_up.states_of[code].color)
            edges = [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in bars[0].get_paths()]
            np.testing.assert_allclose(edges, made_up.action_spans(joint, code, *span))
        assert made_up.action_spans(joint, joint.states[0], *span)[0][0] >= span[0]


def _lane(collection: object) -> int | None:
    """The lane a collection of bars fills; None for the shading, which fills the height."""
    paths = collection.get_paths()
    low, high = paths[0].vertices[:, 1].min(), paths[0].vertices[:, 1].max()
    return None if (low, high) == (0.0, 1.0) else round((low + high) / 2)


def test_activations_are_steps_that_last_until_the_next_record(made_up: Bout) -> None:
    figure = figures.state_figure(made_up)
    for panel, joint in zip(figure.axes[1::2], made_up.joints, strict=True):
        lines = {line.get_label(): line for line in panel.lines}
        for muscle, column in zip(joint.muscles, joint.activations, strict=True):
            assert lines[muscle].get_drawstyle() == "steps-post"
            np.testing.assert_array_equal(lines[muscle].get_ydata(), made_up.states.column(column))


def test_muscles_of_a_joint_are_told_apart_and_from_the_actions() -> None:
    pens = muscle_pens(4)
    assert len(set(pens)) == 4
    colours = {to_rgb(color) for color, _ in muscle_pens(2)}
    assert not colours & {state.color for state in bout().states_of}


def test_a_joint_with_one_action_and_without_muscles_has_no_activations() -> None:
    one = with_knee_actions(1)
    *others, last = one.joints
    with house_style():
        figure = figures.state_figure(replace(one, joints=(*others, replace(last, muscles=(), activations=()))))
        assert collisions(figure) == []
    assert [axes.get_legend() is None for axes in figure.axes[1::2]] == [False, False, True]


def test_a_model_without_actions_has_no_states_to_draw(made_up: Bout) -> None:
    held = replace(made_up, joints=tuple(replace(j, states=()) for j in made_up.joints))
    with pytest.raises(AnalysisError, match="no joint has actions"):
        figures.state_figure(held)


GAP = 0.7, 1.4
WHOLE = 0.0, 2.0


def knee_muscle(one: Bout) -> Figure:
    joint = one.joint("FTi")
    return muscle_figure(one, joint, joint.muscles[0], WHOLE)


@pytest.mark.parametrize(
    ("make", "curves"),
    [
        (figures.sensor_figure, 4 * 4 + 2),
        (figures.state_figure, 6),
        (lambda one: joint_figure(one, one.joint("FTi"), WHOLE), 7),
        (knee_muscle, 3),
        (lambda one: motor_figure(one, one.joint("FTi"), WHOLE), 6),
        (lambda one: behaviour_figure(one, ("w", *WHOLE), whole=True), 3),
    ],
    ids=["sensors", "states", "joint", "muscle", "motor", "behaviour"],
)
def test_nothing_is_drawn_where_nothing_was_recorded(roach: Bout, make: Callable[[Bout], Figure], curves: int) -> None:
    """Neither a curve, nor an action, nor the contact of the foot; before and after it there are some."""
    whole = always_in_contact(roach)
    assert drawn_across(make(whole), GAP)
    figure = make(without(whole, *GAP))
    assert drawn_across(figure, GAP) == []
    drawn = curves_over_time(figure)
    assert len(drawn) == curves
    for label, times, values in drawn:
        assert np.isfinite(values[times < GAP[0]]).any(), label
        assert np.isfinite(values[times > GAP[1]]).any(), label


def test_a_command_is_not_held_against_what_was_measured_before_a_gap(roach: Bout) -> None:
    joint = roach.joint("FTi")
    log = without(roach, *GAP).motor
    panel = next(a for a in motor_figure(without(roach, *GAP), joint, WHOLE).axes if "delta" in a.get_ylabel())
    times, delta = (np.asarray(data, dtype=float) for data in panel.lines[0].get_data())
    first = int(np.searchsorted(log.t_s, GAP[1]))
    assert log.column(joint.sent_raw)[first] >= 0
    assert np.isnan(delta[times == log.t_s[first]]).all()
    assert np.isfinite(delta[times == log.t_s[first + 1]]).all()


def test_a_log_of_long_periods_has_no_gaps() -> None:
    times = np.arange(0.0, 20.0, 0.5)
    slow = Series(times, np.ones((len(times), 1)), ("a",), ("",))
    assert slow.parted() is slow
    gone = replace(slow, t_s=np.delete(times, slice(10, 16)), values=slow.values[6:]).parted()
    assert np.isnan(gone.column("a")).nonzero()[0].tolist() == [10]
    assert gone.t_s[10] == pytest.approx(5.0)
    assert len(replace(slow, t_s=times[:1], values=slow.values[:1]).parted()) == 1
