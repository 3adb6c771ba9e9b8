"""Figures over time, of short and of long bouts: cycles can be told apart on paper, and so can joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from nuc_engine.analysis.bout import Bout
from nuc_engine.figures import figures, path_state
from nuc_engine.figures.canvas import NamedSpan, house_style
from nuc_engine.figures.joint_figures import joint_figure, motor_figure
from nuc_engine.figures.palette import joint_pens
from nuc_engine.figures.timeline import MOST_CYCLES, SHOWN_CYCLES, envelope, parts_of
from tests.analysis.printed import collisions, smallest_points
from tests.analysis.synthetic import FWD, bout, leg

PERIOD = FWD.period_s
TURNS: list[NamedSpan] = [("FWD", 0.0, 20.0), ("ITF", 20.0, 40.0), ("ITB", 40.0, 60.0)]

MANY: list[NamedSpan] = [("w", 10.0 * k, 10.0 * k + 10.0) for k in range(6)]


@pytest.fixture(scope="module")
def minute() -> Bout:
    return bout(leg(FWD, 60.0), changesets=(20.0, 40.0))


@pytest.fixture(scope="module")
def hundred() -> Bout:
    """A hundred seconds, with a row of small changes in them."""
    return bout(leg(FWD, 100.0), changesets=tuple(20.0 + 0.05 * k for k in range(200)))


@pytest.mark.parametrize(
    ("span", "windows", "parts"),
    [
        ((0.0, 5.0), TURNS, [(0.0, 5.0)]),
        ((10.0, 10.0 + 0.98 * MOST_CYCLES * PERIOD), TURNS, [(10.0, 10.0 + 0.98 * MOST_CYCLES * PERIOD)]),
        ((0.0, 60.0), (), [(60.0 - SHOWN_CYCLES * PERIOD, 60.0)]),
        ((0.0, 60.0), TURNS, [(18.2, 21.8), (38.2, 41.8), (56.4, 60.0)]),
        # What lies outside the span, or at its begin, is no change in it.
        ((20.0, 59.0), TURNS, [(37.3, 42.7), (53.6, 59.0)]),
        # Parts that meet are one, and there are never more than four.
        ((0.0, 60.0), [("a", 20.0, 21.0), ("b", 21.0, 60.0)], [(18.2, 22.8), (56.4, 60.0)]),
        ((0.0, 60.0), MANY, [(8.65, 11.35), (18.65, 21.35), (28.65, 31.35), (57.3, 60.0)]),
    ],
)
def test_what_of_a_span_is_shown(minute: Bout, span: tuple, windows: list[NamedSpan], parts: list) -> None:
    np.testing.assert_allclose(parts_of(minute, span, windows), parts, atol=0.05)


def test_a_leg_that_does_not_cycle_is_shown_in_seconds(minute: Bout) -> None:
    still = replace(minute, sensors=replace(minute.sensors, values=0.0 * minute.sensors.values))
    assert parts_of(still, (0.0, MOST_CYCLES - 1.0)) == ((0.0, MOST_CYCLES - 1.0),)
    assert parts_of(still, (0.0, 60.0)) == ((60.0 - SHOWN_CYCLES, 60.0),)


MAKE = {
    "sensors": lambda one: figures.sensor_figure(one, TURNS),
    "states": lambda one: figures.state_figure(one, TURNS),
    "joint": lambda one: joint_figure(one, one.joint("FTi"), (0.0, one.end_s), TURNS),
    "motor": lambda one: motor_figure(one, one.joint("FTi"), (0.0, one.end_s), TURNS),
    "path": lambda one: path_state.path_state_figure(one, TURNS),
    "behaviour": lambda one: path_state.behaviour_figure(one, ("w", 0.0, one.end_s), whole=True),
}


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("length_s", [60, 100])
def test_no_panel_of_a_long_bout_is_filled_with_colour(minute: Bout, hundred: Bout, kind: str, length_s: int) -> None:
    """Of the panels with curves; bars of actions are meant to be filled."""
    with house_style():
        figure = MAKE[kind](minute if length_s == 60 else hundred)
        assert collisions(figure) == []
        assert smallest_points(figure) >= 5.9
        panels = [axes for axes in figure.axes if axes.axison and curves(axes)]
        for axes in panels:
            for other in figure.axes:
                other.set_visible(other is axes)
            for shading in axes.collections:
                shading.set_visible(axes.get_xlabel().endswith("(cm)"))
            assert inked(figure, axes) < 0.2, axes.get_ylabel()
    assert len(panels) > 1


def curves(axes: Axes) -> bool:
    many = [line for line in axes.lines if len(line.get_xdata()) > 10]
    return bool(many) or axes.get_xlabel().endswith("(cm)")


def inked(figure: Figure, axes: Axes) -> float:
    """Which share of the middle of a panel is not nearly white."""
    figure.canvas.draw()
    box = axes.get_window_extent()
    pixels = np.asarray(figure.canvas.buffer_rgba())[:, :, :3].astype(int)
    height = pixels.shape[0]
    part = pixels[round(height - box.y1) + 4 : round(height - box.y0) - 4, round(box.x0) + 4 : round(box.x1) - 4]
    return float((part.min(axis=2) < 170).mean())


def test_a_panel_filled_with_colour_would_be_seen() -> None:
    figure = Figure(dpi=100)
    axes = figure.subplots()
    axes.plot(np.arange(4000), np.arange(4000) % 2)
    FigureCanvasAgg(figure)
    assert inked(figure, axes) > 0.8


@pytest.mark.parametrize("make", [figures.sensor_figure, figures.state_figure])
def test_parts_are_at_one_scale_below_a_view_of_the_whole_that_shows_where_they_are(
    minute: Bout, make: Callable
) -> None:
    with house_style():
        figure = make(minute, TURNS)
        figure.draw_without_rendering()
    parts = parts_of(minute, (0.0, minute.end_s), TURNS)
    whole = [axes for axes in figure.axes if axes.get_xlim() == (0.0, minute.end_s)]
    assert [axes.get_ylabel() for axes in whole] == ["ThC", "CTr", "FTi"]
    for axes in whole:
        shown = [patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches]
        np.testing.assert_allclose([(box.x0, box.x1) for box in shown], parts)
        assert [text.get_text() for text in axes.texts] == (["FWD", "ITF", "ITB"] if axes is whole[0] else [])
    columns = [axes for axes in figure.axes if axes not in whole]
    assert {axes.get_xlim() for axes in columns} == set(parts)
    scales = [axes.get_window_extent().width / np.ptp(axes.get_xlim()) for axes in columns]
    assert np.ptp(scales) < 0.02 * np.mean(scales)
    rows: dict[int, set] = {}
    for axes in columns:
        if axes.yaxis.get_label_position() == "left":
            rows.setdefault(round(axes.get_window_extent().y0), set()).add(axes.get_ylim())
    assert [len(limits) for limits in rows.values()] == [1] * len(rows)


def test_how_far_a_joint_moved_is_told_of_all_of_it(minute: Bout) -> None:
    log = minute.sensors
    values = log.column("Femur-Tibia_angle")
    edges, low, high = envelope(log, "Femur-Tibia_angle", 1.5)
    assert (edges[0], edges[1], edges[-1]) == (log.t_s[0], 1.5, log.t_s[-1])
    assert (low.min(), high.max()) == (values.min(), values.max())
    apart = (log.t_s < 20.0) | (log.t_s > 30.0)
    _, low, _ = envelope(replace(log, t_s=log.t_s[apart], values=log.values[apart]), "Femur-Tibia_angle", 1.5)
    assert np.isnan(low[(edges[:-1] > 20) & (edges[1:] < 30)]).all()
    assert np.isfinite(low[edges[:-1] < 19]).all()


def test_lines_are_thinner_where_there_are_more_cycles(minute: Bout) -> None:
    widths = []
    for end_s in (3.0, 15.0, 21.0):
        axes = figures.sensor_figure(minute, (), (0.0, end_s)).axes[0]
        widths.append(axes.lines[0].get_linewidth())
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 3


def test_a_row_of_changes_is_marked_at_both_its_ends(hundred: Bout) -> None:
    figure = figures.sensor_figure(hundred)
    marks = [float(line.get_xdata()[0]) for line in figure.axes[0].lines if len(set(line.get_xdata())) == 1]
    assert marks == [20.0, pytest.approx(29.95)]


@pytest.mark.parametrize("roles", [("ThC", "", "CTr", "FTi"), ("", "", "", ""), ("ThC", "ThC", "FTi", "FTi")])
def test_four_joints_differ_in_line_style_whatever_they_are_called(made_up: Bout, roles: tuple) -> None:
    joints = [replace(made_up.joints[0], name=f"J{k}", role=role) for k, role in enumerate(roles)]
    assert len({str(dashes) for _, dashes in joint_pens(joints).values()}) == 4
