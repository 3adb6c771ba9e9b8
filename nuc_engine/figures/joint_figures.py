"""Figures of one joint, one muscle or one motor over time (appendix 10.3, section 5.1.2, figure 5-2).

Actions are lanes at the top of each figure, in their own colours; stance is shaded, changesets are dashed lines.
"""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from nuc_engine.analysis.bout import Bout, JointInfo
from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.firing import Firing, firing_of
from nuc_engine.analysis.series import Series, Span
from nuc_engine.figures.canvas import NamedSpan, beside, draw_lanes, say_empty
from nuc_engine.figures.palette import FAINT, INK, Color, joint_color, muscle_pens, state_color, state_dashes
from nuc_engine.figures.timeline import Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LANE_IN, _PANEL_IN = 0.26, 1.3
_LOAD, _DELTA = "load, filtered\n(current ticks)", "servo delta"


def joint_figure(bout: Bout, joint: JointInfo, span: Span, windows: Sequence[NamedSpan] = ()) -> Figure:
    """Return one joint: actions, angle, load and whatever else its entry rules read, activations and muscle forces.

    Thresholds of the rules are lines over the sensors they are held against. A triangle marks each change of action on
    the threshold that let it happen, in the colour of the action that was entered.
    """
    firing = _firing(bout, joint)
    panels = [(joint.angle, "joint angle (deg)"), (joint.current, _LOAD)] if joint.angle is not None else []
    others = dict.fromkeys(term.sensor for term in firing.limits) if firing else ()
    panels += [(name, _sensor_label(bout, name)) for name in others if name not in (joint.angle, joint.current)]
    timeline = _timeline(bout, joint, span, windows, len(panels) + (2 if joint.muscles else 0))
    for k, (column, label) in enumerate(panels, 1):
        for axes, part in timeline.panel(k):
            # Not in the joint's colour, which is near those of its actions.
            _curve(axes, bout.sensors.between(*part).parted(), column, (INK, timeline.line_points))
            if firing is not None and column is not None:
                _draw_terms(axes, bout, firing, column, part)
        timeline.label(k, label)
        timeline.legend(k)
    if firing is not None and firing.fired:
        _explain_marks(timeline.rows[0][-1])
    if joint.muscles:
        forces = tuple(f"{muscle}.force" for muscle in joint.muscles)
        first = 1 + len(panels)
        for k, log, columns, label in (
            (first, bout.states, joint.activations, "activation"),
            (first + 1, bout.muscles, forces, f"muscle force\n({_unit(bout, forces[0], 'unit of fmax')})"),
        ):
            for axes, part in timeline.panel(k):
                draw_muscles(axes, joint, log.between(*part).parted(), columns, timeline.line_points)
            timeline.from_zero(k)
            timeline.label(k, label)
            timeline.legend(k)
    unseen = f"; {firing.unexplained} of {firing.switches} changes of action" if firing and firing.unexplained else ""
    timeline.finish(joint.name + (f"{unseen} are not explained by the record" if unseen else ""))
    return timeline.figure


def muscle_figure(bout: Bout, joint: JointInfo, muscle: str, span: Span, windows: Sequence[NamedSpan] = ()) -> Figure:
    """Return one muscle of a joint: activation, force and length."""
    timeline = _timeline(bout, joint, span, windows, 3)
    place = joint.muscles.index(muscle)
    pen = muscle_pens(len(joint.muscles))[place][0], timeline.line_points
    for k, (log, name, label) in enumerate(
        (
            (bout.states, joint.activations[place], "activation"),
            (bout.muscles, f"{muscle}.force", f"force\n({_unit(bout, f'{muscle}.force', 'unit of fmax')})"),
            (bout.muscles, f"{muscle}.length", f"length\n({_unit(bout, f'{muscle}.length', 'unit of Lnaught')})"),
        ),
        1,
    ):
        for axes, part in timeline.panel(k):
            _curve(axes, log.between(*part).parted(), name, pen, drawstyle="steps-post")
        timeline.label(k, label)
    for k in (1, 2):
        timeline.from_zero(k)
    timeline.finish(f"{muscle} of {joint.name}")
    return timeline.figure


def motor_figure(bout: Bout, joint: JointInfo, span: Span, windows: Sequence[NamedSpan] = ()) -> Figure:
    """Return a joint's motor: position and command, servo delta, current, and the angle and load made of them."""
    panels = [
        (bout.motor, joint.raw_position, "position, raw\n(ticks)"),
        (bout.motor, joint.raw_current, "current, raw\n(ticks)"),
        (bout.sensors, joint.angle, "joint angle (deg)"),
        (bout.sensors, joint.current, _LOAD),
    ]
    if joint.sent_raw is not None:
        panels.insert(1, (_servo_delta(bout.motor, joint), _DELTA, "servo delta\n(ticks)"))
    timeline = _timeline(bout, joint, span, windows, len(panels))
    pen = joint_color(joint), timeline.line_points
    for k, (log, column, label) in enumerate(panels, 1):
        for axes, part in timeline.panel(k):
            style = {"drawstyle": "steps-post"} if column == _DELTA else {}
            _curve(axes, log.between(*part).parted(), column, pen, label="measured" if k == 1 else "", **style)
            if column == _DELTA:
                axes.axhline(0.0, color=FAINT, linewidth=0.6, zorder=1)
            elif k == 1 and joint.sent_raw is not None:
                motor = bout.motor.between(*part).parted()
                sent = motor.column(joint.sent_raw)
                commanded = np.where(sent >= 0, sent, np.nan)
                axes.plot(motor.t_s, commanded, color=INK, linestyle=":", linewidth=0.9, label="commanded")
        timeline.label(k, label)
    if joint.sent_raw is not None:
        timeline.legend(1)
    timeline.finish(f"{joint.motor or 'motor'} of {joint.name}")
    return timeline.figure


def _firing(bout: Bout, joint: JointInfo) -> Firing | None:
    """Return what the joint's rules did; None of a bout whose data directory is not there any more."""
    try:
        return firing_of(bout, joint)
    except BoutError:
        return None


def _sensor_label(bout: Bout, name: str) -> str:
    """Return what a panel of another joint's sensor, or of one that belongs to none, is called."""
    owner = next((joint for joint in bout.joints if name in (joint.angle, joint.current)), None)
    if owner is None:
        return f"{name}\n({bout.sensors.unit(name)})" if name in bout.sensors.columns else name
    what = "angle\n(deg)" if name == owner.angle else "load\n(current ticks)"
    return f"{owner.role or owner.name} {what}"


def _draw_terms(axes: Axes, bout: Bout, firing: Firing, sensor: str, part: Span) -> None:
    """Draw the thresholds a sensor is held against, and where one of them let an action begin."""
    for term, limit in firing.limits.items():
        log = Series(firing.t_s, limit[:, None], (term.limit,), ("",)).between(*part).parted()
        if term.sensor == sensor and np.isfinite(log.values).any():
            state = bout.states_of[term.action]
            axes.plot(
                log.t_s,
                log.values[:, 0],
                color=state_color(bout, state),
                linestyle=state_dashes(bout, state),
                linewidth=1.0,
                drawstyle="steps-post",
                label=f"{state.name}\n{'>' if term.above else '<'} {term.limit}",
            )
    for fired in firing.fired:
        if fired.term.sensor == sensor and part[0] <= fired.time_s <= part[1]:
            fill = state_color(bout, bout.states_of[fired.term.action]) if fired.new else "white"
            axes.plot(fired.time_s, fired.limit, zorder=5, **_mark(above=fired.term.above, fill=fill))


def _mark(*, above: bool, fill: Color | str) -> dict[str, Any]:
    """Return the look of the triangle that says which comparison let an action begin."""
    return {
        "linestyle": "",
        "marker": "^" if above else "v",
        "markersize": 5.5,
        "markeredgewidth": 0.7,
        "markeredgecolor": INK,
        "markerfacecolor": fill,
    }


def _explain_marks(axes: Axes) -> None:
    """Say beside the lanes what the triangles mean."""
    marks = [_mark(above=True, fill=FAINT), _mark(above=False, fill=FAINT), _mark(above=False, fill="white")]
    handles = [Line2D([], [], **mark) for mark in marks]
    beside(axes, handles, ["came true, >", "came true, <", "was true before"], handlelength=1.2)


def _servo_delta(motor: Series, joint: JointInfo) -> Series:
    """Return what was sent minus what had been measured one exchange before, the torque command, at each exchange."""
    if len(motor) < 2 or joint.sent_raw is None or joint.raw_position is None:
        return Series(np.zeros(0), np.zeros((0, 1)), (_DELTA,), ("",))
    log = motor.parted()
    sent = log.column(joint.sent_raw)[1:]
    delta = np.where(sent >= 0, sent - log.column(joint.raw_position)[:-1], np.nan)
    return Series(log.t_s[1:], delta[:, None], (_DELTA,), ("",))


def _timeline(bout: Bout, joint: JointInfo, span: Span, windows: Sequence[NamedSpan], panels: int) -> Timeline:
    """Return a figure with the joint's lanes drawn at the top, and so many panels below."""
    lanes_in = _LANE_IN * max(1, len(joint.states)) + 0.15
    height_in = 1.0 + lanes_in + _PANEL_IN * panels
    timeline = Timeline(bout, span, [lanes_in, *[_PANEL_IN] * panels], height_in, [joint], windows)
    for axes, part in timeline.panel(0):
        draw_lanes(axes, bout, [joint], part)
    return timeline


def _curve(axes: Axes, log: Series, column: str | None, pen: tuple[Color, float], **style: Any) -> None:
    if column is None or not len(log):
        say_empty(axes)
        return
    axes.plot(log.t_s, log.column(column), color=pen[0], linewidth=pen[1], **style)


def draw_muscles(axes: Axes, joint: JointInfo, log: Series, columns: Sequence[str], points: float) -> None:
    """Draw a column of a log for each muscle of a joint: steps, since what is logged holds until the next record."""
    for muscle, column, (color, style) in zip(joint.muscles, columns, muscle_pens(len(columns)), strict=True):
        axes.plot(
            log.t_s,
            log.column(column),
            color=color,
            linestyle=style,
            linewidth=points,
            drawstyle="steps-post",
            label=muscle,
        )
    if not len(log):
        say_empty(axes)


def _unit(bout: Bout, column: str, otherwise: str) -> str:
    return bout.muscles.unit(column) or otherwise
