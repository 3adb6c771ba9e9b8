"""Figures of one joint, one muscle or one motor over time (appendix 10.3, section 5.1.2, figure 5-2).

Actions are lanes at the top of each figure, in their own colours; contact is shaded, changesets are dashed lines.
"""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from nuc_engine.analysis.bout import Bout, JointInfo, Series, Span
from nuc_engine.analysis.canvas import WIDE_IN, mark_times, new_figure, say_empty, shade
from nuc_engine.analysis.lanes import draw_lanes
from nuc_engine.analysis.palette import FAINT, INK, joint_color, muscle_pens

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LANE_IN, _PANEL_IN = 0.26, 1.3


def joint_figure(bout: Bout, joint: JointInfo, span: Span) -> Figure:
    """Return one joint: actions, angle, load, activations and muscle forces."""
    panels = ["angle", "load"] if joint.angle is not None else []
    panels += ["activation", "force"] if joint.muscles else []
    figure, lanes, axes = _frame(joint, len(panels))
    sensors = bout.sensors.between(*span).parted()
    for panel, what in zip(axes, panels, strict=True):
        if what in ("angle", "load"):
            _curve(panel, sensors, joint.angle if what == "angle" else joint.current, joint)
            panel.set_ylabel("joint angle (deg)" if what == "angle" else "load, filtered\n(current ticks)")
        else:
            _muscles(panel, bout, joint, what, span)
    _finish(figure, [lanes, *axes], bout, joint, span, joint.name)
    return figure


def muscle_figure(bout: Bout, joint: JointInfo, muscle: str, span: Span) -> Figure:
    """Return one muscle of a joint: activation, force and length."""
    figure, lanes, axes = _frame(joint, 3)
    pen = muscle_pens(len(joint.muscles))[joint.muscles.index(muscle)]
    column = joint.activations[joint.muscles.index(muscle)]
    for panel, log, name, label in (
        (axes[0], bout.states, column, "activation"),
        (axes[1], bout.muscles, f"{muscle}.force", f"force\n({_unit(bout, f'{muscle}.force', 'unit of fmax')})"),
        (axes[2], bout.muscles, f"{muscle}.length", f"length\n({_unit(bout, f'{muscle}.length', 'unit of Lnaught')})"),
    ):
        part = log.between(*span).parted()
        panel.plot(part.t_s, part.column(name), color=pen[0], linewidth=1.0, drawstyle="steps-post")
        panel.set_ylabel(label)
        if not len(part):
            say_empty(panel)
    for panel in axes[:2]:
        _from_zero(panel)
    _finish(figure, [lanes, *axes], bout, joint, span, f"{muscle} of {joint.name}")
    return figure


def motor_figure(bout: Bout, joint: JointInfo, span: Span) -> Figure:
    """Return a joint's motor: position and command, servo delta, current, and the angle and load made of them."""
    sent = bout.motor.column(joint.sent_raw) if joint.sent_raw is not None else None
    figure, lanes, axes = _frame(joint, 5 if sent is not None else 4)
    motor, sensors = bout.motor.between(*span).parted(), bout.sensors.between(*span).parted()
    panels = iter(axes)
    position = next(panels)
    _curve(position, motor, joint.raw_position, joint, "measured")
    position.set_ylabel("position, raw\n(ticks)")
    if sent is not None:
        part = motor.column(joint.sent_raw or "")
        commanded = np.where(part >= 0, part, np.nan)
        position.plot(motor.t_s, commanded, color=INK, linestyle=":", linewidth=0.9, label="commanded")
        _beside(position)
        delta = next(panels)
        _servo_delta(delta, bout.motor.parted(), joint, span)
    for column, log, label in (
        (joint.raw_current, motor, "current, raw\n(ticks)"),
        (joint.angle, sensors, "joint angle (deg)"),
        (joint.current, sensors, "load, filtered\n(current ticks)"),
    ):
        panel = next(panels)
        _curve(panel, log, column, joint)
        panel.set_ylabel(label)
    _finish(figure, [lanes, *axes], bout, joint, span, f"{joint.motor or 'motor'} of {joint.name}")
    return figure


def _servo_delta(axes: Axes, motor: Series, joint: JointInfo, span: Span) -> None:
    """Draw what was sent minus what had been measured one exchange before: the torque command."""
    if len(motor) > 1 and joint.sent_raw is not None and joint.raw_position is not None:
        sent = motor.column(joint.sent_raw)[1:]
        delta = np.where(sent >= 0, sent - motor.column(joint.raw_position)[:-1], np.nan)
        inside = (motor.t_s[1:] >= span[0]) & (motor.t_s[1:] <= span[1])
        axes.plot(motor.t_s[1:][inside], delta[inside], color=joint_color(joint), linewidth=0.9, drawstyle="steps-post")
    else:
        say_empty(axes)
    axes.axhline(0.0, color=FAINT, linewidth=0.6, zorder=1)
    axes.set_ylabel("servo delta\n(ticks)")


def _frame(joint: JointInfo, panels: int) -> tuple[Figure, Axes, list[Axes]]:
    """Return a figure with lanes at the top and so many panels below, on one time axis."""
    lanes_in = _LANE_IN * max(1, len(joint.states)) + 0.15
    figure = new_figure(WIDE_IN, 1.0 + lanes_in + _PANEL_IN * panels)
    axes: list[Axes] = list(
        figure.subplots(1 + panels, 1, sharex=True, height_ratios=[lanes_in, *[_PANEL_IN] * panels], squeeze=False)[
            :, 0
        ]
    )
    return figure, axes[0], axes[1:]


def _curve(axes: Axes, log: Series, column: str | None, joint: JointInfo, label: str = "") -> None:
    if column is None or not len(log):
        say_empty(axes)
        return
    axes.plot(log.t_s, log.column(column), color=joint_color(joint), linewidth=1.0, label=label)


def _muscles(axes: Axes, bout: Bout, joint: JointInfo, what: str, span: Span) -> None:
    if what == "activation":
        log, columns = bout.states.between(*span).parted(), joint.activations
        axes.set_ylabel("activation")
    else:
        log = bout.muscles.between(*span).parted()
        columns = tuple(f"{muscle}.force" for muscle in joint.muscles)
        axes.set_ylabel(f"muscle force\n({_unit(bout, columns[0], 'unit of fmax')})")
    draw_muscles(axes, joint, log, columns)
    _from_zero(axes)
    _beside(axes)


def draw_muscles(axes: Axes, joint: JointInfo, log: Series, columns: Sequence[str]) -> None:
    """Draw a column of a log for each muscle of a joint: steps, since what is logged holds until the next record."""
    for muscle, column, (color, style) in zip(joint.muscles, columns, muscle_pens(len(columns)), strict=True):
        axes.plot(
            log.t_s,
            log.column(column),
            color=color,
            linestyle=style,
            linewidth=1.0,
            drawstyle="steps-post",
            label=muscle,
        )
    if not len(log):
        say_empty(axes)


def _unit(bout: Bout, column: str, otherwise: str) -> str:
    return bout.muscles.unit(column) or otherwise


def _from_zero(axes: Axes) -> None:
    """Let an axis begin at 0, or below where there are negative values."""
    axes.set_ylim(bottom=min(0.0, float(axes.dataLim.y0)) if np.isfinite(axes.dataLim.y0) else 0.0)


def _beside(axes: Axes) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.005, 1.0), borderaxespad=0)


def _finish(figure: Figure, panels: Sequence[Axes], bout: Bout, joint: JointInfo, span: Span, what: str) -> None:
    draw_lanes(panels[0], bout, [joint], span)
    spans = bout.contact_spans(*span)
    for axes in panels:
        shade(axes, spans)
        mark_times(axes, [time for time in bout.changesets_s if span[0] < time < span[1]])
        axes.margins(x=0)
    panels[-1].set_xlim(*span)
    panels[-1].set_xlabel("time since engine start (s)")
    note = "; shaded: foot in contact" if spans else ""
    figure.suptitle(f"{bout.label}: {what}{note}", x=0.01, ha="left", fontsize=11)
    figure.align_ylabels(list(panels))
