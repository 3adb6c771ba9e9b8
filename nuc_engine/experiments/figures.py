"""Pictures of one representative repetition of a row, after the dissertation's figures 7-22 to 7-35.

Two figures: the joint angles over time with the thorax-coxa action, windows, changesets and what was done to the leg;
and the foot's path with the joints' actions in each window. Needs matplotlib (the extra `plot`).
"""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from drivers.units import NS_PER_S
from nuc_engine.analysis.bout import Bout, JointInfo
from nuc_engine.analysis.by_hand import event_text
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.phases import minima
from nuc_engine.analysis.series import Span
from nuc_engine.batch.scratch import scratch_folder
from nuc_engine.bout.run import prepare_bout
from nuc_engine.experiments.course import file_stem
from nuc_engine.experiments.protocol import BoutPlan, JudgedWindow, TableRow, Trial
from nuc_engine.experiments.trials import run_again
from nuc_engine.experiments.verdict import Figure
from nuc_engine.figures.canvas import draw_lanes, house_style, mark_times, new_figure, say_empty, shade
from nuc_engine.figures.few_colors import save_small
from nuc_engine.figures.palette import joint_color, joint_pens
from nuc_engine.figures.path_state import draw_path, fitted_legend
from nuc_engine.plants.events import Kick, in_order
from nuc_engine.plants.scripted import events_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

WIDE_IN = 8.0
"""Width of a figure: on a page of 17 cm letters are 5.8 points and more."""
MOST_PANELS = 12
"""So many bouts of a repetition are drawn, the first ones."""
LONGEST_S, LONGEST_TOGETHER_S = 120.0, 60.0
"""A longer bout is shown by its last `PART_S` seconds; the second where all joints are in one panel, told apart by
dashes, which must not be longer than what they draw."""
PART_S = 20.0
CYCLES = 3.0
MOST_BOUTS, MOST_PATHS = 12, 6
_ONE_LINE = 30
"""Letters of a title that have room beside those of its neighbours."""

_SIDEWAYS = 0.5
"""A foot that moves forward less than this share of its sideways movement is looked at from the front."""
_LETTER = 0.0095
"""Width of a letter of what names a deed, as a share of the axes."""
_HAND = (0.55, 0.1, 0.45)
"""Colour of what was done by hand."""
_WIDTHS_IN = {1: 5.0, 2: 7.2, 3: 8.4}
"""Width of a figure of foot paths, by its columns: on a page of 17 cm letters are 5.5 points and more."""
_TOP, _FRONT = (0, 1), (1, 2)


@dataclass(frozen=True, slots=True)
class DrawnBout:
    """One bout to draw: its data, when it was kicked and otherwise disturbed, and what its windows were called."""

    plan: BoutPlan
    bout: Bout
    events_s: tuple[tuple[float, str], ...]
    named: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DrawTask:
    """A repetition to run once more and to draw into a folder; `trial` is what came of it."""

    row: TableRow
    trial: Trial
    folder: Path


def draw_task(task: DrawTask) -> tuple[Figure, ...]:
    """Run the bouts of a repetition again and draw them; the form in which worker processes are asked for it."""
    with scratch_folder() as data:
        row = replace(task.row, bouts=some_of(task.row.bouts))
        run_again(row.bouts, task.trial, data)
        return draw_trial(row, task.trial, {plan.label: data / plan.label for plan in row.bouts}, task.folder)


def some_of(bouts: Sequence[BoutPlan]) -> tuple[BoutPlan, ...]:
    """Return those bouts of a row that are drawn: all, or, of more than can be looked at, a few from first to last."""
    if len(bouts) <= MOST_BOUTS:
        return tuple(bouts)
    return tuple(bouts[round(k * (len(bouts) - 1) / (MOST_PATHS - 1))] for k in range(MOST_PATHS))


def draw_trial(row: TableRow, trial: Trial, data: Mapping[str, Path], folder: Path) -> tuple[Figure, ...]:
    """Draw bouts, whose data directories are given by label, into `folder`; return the figures, named after the row."""
    shown = [
        DrawnBout(
            plan,
            load_bout(data[plan.label]),
            events_of_plan(plan, trial.kicked_s.get(plan.label, ())),
            trial.outcomes.get(plan.label, {}),
        )
        for plan in row.bouts
    ]
    stem = file_stem(row.name)
    with house_style():
        angles = angle_figure(shown[0]) if len(shown) == 1 else comparison_figure(shown)
        paths = path_figure(shown)
        return (
            Figure(save_small(angles, folder / f"{stem}_angles.png").name, angle_caption(row, trial, shown)),
            Figure(save_small(paths, folder / f"{stem}_paths.png").name, path_caption(shown)),
        )


def events_of_plan(plan: BoutPlan, kicks_s: Sequence[float]) -> tuple[tuple[float, str], ...]:
    """Return when something was done to the leg, and what: by the bout's script, and kicks that were needed."""
    script = prepare_bout(plan.config, plan.script, values=plan.values).script
    events = [*([] if script is None else events_of(script)), *(Kick(round(time_s * NS_PER_S)) for time_s in kicks_s)]
    return tuple((event.at_ns / NS_PER_S, event_text(event)) for event in in_order(events))


def draw_picture(row: TableRow, trials: Sequence[Trial], folder: Path) -> tuple[Figure, ...]:
    """Draw what the row shows over all its repetitions, if it has such a picture, into `folder`."""
    whole = [trial for trial in trials if trial.state in ("as seen", "otherwise")]
    if row.picture is None or not whole:
        return ()
    path = folder / f"{file_stem(row.name)}_all.svg"
    with house_style():
        row.picture(row, whole, path)
    text = path.read_text(encoding="utf-8")
    # The date is the only thing in it that changes from one drawing to the next.
    path.write_text(re.sub(r"\s*<dc:date>[^<]*</dc:date>", "", text), encoding="utf-8", newline="\n")
    return (Figure(path.name, f"All {len(whole)} valid repetitions of {row.name}."),)


def angle_figure(shown: DrawnBout) -> Drawing:
    """Return one bout over time: each joint's angle, and which thorax-coxa action is in force (as figure 7-22)."""
    bout, span = shown.bout, _span(shown, LONGEST_S)
    joints = [joint for joint in bout.joints if joint.angle is not None and joint.states]
    lanes = [joint for joint in joints if len(joint.states) > 1][:1]
    heights = [1.0] * len(joints) + [0.3 + 0.22 * len(joint.states) for joint in lanes]
    figure = new_figure(WIDE_IN, 1.0 + 1.1 * sum(heights))
    panels: list[Axes] = list(figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0])
    sensors = bout.sensors.between(*span).parted()
    for axes, joint in zip(panels, joints, strict=False):
        if len(sensors) and joint.angle is not None:
            axes.plot(sensors.t_s, sensors.column(joint.angle), color=joint_color(joint), linewidth=0.8)
        else:
            say_empty(axes)
        axes.set_ylabel(f"{joint.role or joint.name}\nangle (deg)")
    for joint in lanes:
        draw_lanes(panels[-1], bout, [joint], span)
        if shown.events_s:
            # Room for what was done to the leg, below the lanes.
            panels[-1].set_ylim(bottom=panels[-1].get_ylim()[0] - 0.35)
    for axes in panels:
        _marks(axes, shown, span, top=axes is panels[0])
    _name_windows(panels[0], shown, span)
    _name_events(panels[-1], shown, span)
    panels[-1].set_xlim(*span)
    panels[-1].set_xlabel("time since engine start (s)")
    figure.align_ylabels(panels)
    return figure


def comparison_figure(shown: Sequence[DrawnBout]) -> Drawing:
    """Return one panel per bout of a repetition: the angles of its joints, the end of long bouts only."""
    shown = shown[:MOST_PANELS]
    figure = new_figure(WIDE_IN, 0.7 + 1.3 * len(shown))
    panels: list[Axes] = list(figure.subplots(len(shown), 1, squeeze=False)[:, 0])
    for axes, each in zip(panels, shown, strict=True):
        span = _span(each, LONGEST_TOGETHER_S)
        _angles(axes, each.bout, span)
        _marks(axes, each, span)
        axes.set_xlim(*span)
        axes.set_ylabel("angle (deg)")
        kinds = "; ".join(f"{name}: {kind}" for name, kind in each.named.items())
        axes.set_title(f"{each.plan.label} ({each.plan.config}): {kinds}", loc="left", fontsize=9)
    panels[-1].set_xlabel("time since engine start (s)")
    panels[0].legend(loc="upper left", bbox_to_anchor=(1.005, 1.0), borderaxespad=0, handlelength=2.6)
    return figure


def path_figure(shown: Sequence[DrawnBout]) -> Drawing:
    """Return the last cycles of each window, of each bout's last one where there are several bouts (as figure 7-23).

    Above the foot's path with the joints' actions, below the joint angles with stance shaded.
    """
    several = len(shown) > 1
    parts = [(each, window) for each in shown for window in (each.plan.windows[-1:] if several else each.plan.windows)]
    parts = parts[:MOST_PATHS]
    columns = {1: 1, 2: 2, 4: 2}.get(len(parts), 3)
    blocks = -(-len(parts) // columns)
    figure = new_figure(_WIDTHS_IN[columns], 0.9 + 3.9 * blocks)
    grid = figure.subplots(2 * blocks, columns, squeeze=False, height_ratios=[1.5, 1.0] * blocks)
    for axes in grid.flat:
        axes.set_axis_off()
    for k, (each, window) in enumerate(parts):
        above, below = grid[2 * (k // columns), k % columns], grid[2 * (k // columns) + 1, k % columns]
        above.set_axis_on()
        below.set_axis_on()
        _path(above, each, window, each.plan.label if several else window.name)
        span = last_cycles(each.bout, window)
        shade(below, each.bout.stance_spans(*span))
        _angles(below, each.bout, span)
        below.set_xlim(*span)
        below.set_xlabel("time since engine start (s)")
        below.set_ylabel("angle (deg)")
    fitted_legend(figure, [each.bout for each in shown])
    lines = list(grid[1, 0].get_lines())
    grid[1, 0].legend(handles=lines, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, handlelength=2.4, fontsize=7)
    return figure


def last_cycles(bout: Bout, window: JudgedWindow) -> Span:
    """Return the window's last cycles, by the minima of the joint that moves most; without cycles its last 4 s."""
    end = min(window.end_s, bout.end_s)
    begin = min(window.begin_s, end)
    part = bout.sensors.between(begin, end)
    angles = [part.column(joint.angle) for joint in bout.joints if joint.angle is not None and len(joint.states) > 1]
    if len(part) < 2 or not angles:
        return begin, end
    angle = max(angles, key=lambda values: float(np.ptp(values)))
    lows = minima(part.t_s, angle, max(DEFAULT_CRITERIA.min_rise_deg, 0.25 * float(np.ptp(angle))))
    if len(lows) < 2:
        return max(begin, end - 4.0), end
    return max(begin, end - CYCLES * float(np.median(np.diff(lows)))), end


def angle_caption(row: TableRow, trial: Trial, shown: Sequence[DrawnBout]) -> str:
    """Return what to see in the figure of the joint angles."""
    windows = "; ".join(
        f"{each.plan.label + ', ' if len(shown) > 1 else ''}{w.name} {w.begin_s:g} to {w.end_s:g} s:"
        f" {each.named.get(w.name, 'not looked at')}"
        for each in shown
        for w in each.plan.windows
    )
    kicks = {0: "not kicked", 1: "kicked once because it was needed"}.get(
        trial.kicks, f"kicked {trial.kicks} times because it was needed"
    )
    longest_s = LONGEST_TOGETHER_S if len(shown) > 1 else LONGEST_S
    first = f" The first {MOST_PANELS} of {len(shown)} bouts are drawn." if len(shown) > MOST_PANELS else ""
    part = f" Of a long bout the last {PART_S:g} s are shown." if any(s.bout.end_s > longest_s for s in shown) else ""
    return (
        f"Joint angles of {row.name}, seed {trial.seed} ({trial.state}; {kicks}). {windows}. Dashed lines:"
        f" changesets, of gradual ones the first and the last step; dotted lines with a triangle: what was done to the"
        f" leg by hand, named below where there is room.{part}{first}"
    )


def path_caption(shown: Sequence[DrawnBout]) -> str:
    """Return what to see in the figure of the foot paths."""
    what = "each bout's last window" if len(shown) > 1 else "each window"
    count = len(shown) if len(shown) > 1 else len(shown[0].plan.windows)
    if count > MOST_PATHS:
        what += f" (the first {MOST_PATHS} of {count})"
    return (
        f"The foot's path in the last {CYCLES:g} cycles of {what}, with one line per joint in the colour of the action"
        " in force, from the circle to the triangle, seen from above, or from the front (z, up) where it moves"
        " sideways; below it the joint angles of the same time, with stance shaded."
    )


def _span(shown: DrawnBout, longest_s: float) -> Span:
    end = shown.bout.end_s or 1.0
    return (0.0, end) if end <= longest_s else (end - PART_S, end)


def _angles(axes: Axes, bout: Bout, span: Span) -> None:
    part = bout.sensors.between(*span).parted()
    pens = joint_pens(bout.joints)
    for joint in bout.joints:
        if joint.angle is not None and joint.states:
            color, dashes = pens[joint.name]
            axes.plot(
                part.t_s,
                part.column(joint.angle),
                color=color,
                linestyle=dashes,
                linewidth=1.1,
                label=_short(joint),
            )
    if not len(part):
        say_empty(axes)


def _short(joint: JointInfo) -> str:
    return joint.role or joint.name


def _marks(axes: Axes, shown: DrawnBout, span: Span, *, top: bool = True) -> None:
    """Shade every other window, and mark changesets and what was done to the leg; `top`: with triangles."""
    for window in shown.plan.windows[1::2]:
        begin, end = max(window.begin_s, span[0]), min(window.end_s, span[1])
        if begin < end:
            axes.axvspan(begin, end, color="0.955", linewidth=0, zorder=-1)
    mark_times(axes, shown.bout.changesets_s, span)
    for time_s, _ in shown.events_s:
        if span[0] <= time_s <= span[1]:
            axes.axvline(time_s, color=_HAND, linewidth=0.7, linestyle=(0, (1, 1.5)), zorder=1)
            if not top:
                continue
            axes.plot(
                time_s,
                1.0,
                marker="v",
                color=_HAND,
                markersize=5,
                clip_on=False,
                transform=axes.get_xaxis_transform(),
                zorder=4,
            )


def _name_windows(axes: Axes, shown: DrawnBout, span: Span) -> None:
    for window in shown.plan.windows:
        left, right = max(window.begin_s, span[0]), min(window.end_s, span[1])
        if left < right:
            axes.annotate(
                _headed(window.name, shown.named.get(window.name, "")),
                ((left + right) / 2, 1.0),
                xycoords=axes.get_xaxis_transform(),
                xytext=(0, 4),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=8,
            )


def _headed(name: str, kind: str, between: str = "\n") -> str:
    """Return a window's name and what the leg did in it; once, where both are the same.

    In which state it was stuck stands in the caption: here is no room for it.
    """
    what = kind.partition(" in ")[0]
    return name if what in ("", name) else f"{name}{between}{what}"


def _name_events(axes: Axes, shown: DrawnBout, span: Span) -> None:
    """Name what was done by hand where there is room: each kind of it once, then as often as there is."""
    length = span[1] - span[0]
    events = [(time, name) for time, name in shown.events_s if span[0] <= time <= span[1]]
    named: dict[float, str] = {}
    for again in (False, True):
        for time, name in events:
            end = time + length * (0.015 + _LETTER * len(name))
            free = all(end < other or other + length * (0.015 + _LETTER * len(named[other])) < time for other in named)
            if free and end <= span[1] and (again or name not in named.values()):
                named[time] = name
    for time, name in named.items():
        axes.annotate(
            name,
            (time, 0.0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(2, 3),
            textcoords="offset points",
            fontsize=7,
            color=_HAND,
            bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 0.5},
        )


def _path(axes: Axes, shown: DrawnBout, window: JudgedWindow, title: str) -> None:
    span = last_cycles(shown.bout, window)
    foot = shown.bout.between(*span).foot_from_angles()
    view = _TOP
    if len(foot) > 1 and np.ptp(foot[:, 0]) < _SIDEWAYS * np.ptp(foot[:, 1]):
        view = _FRONT
    draw_path(axes, shown.bout, span, view)
    kind = shown.named.get(window.name, "")
    between = ": " if len(title) + len(kind) < _ONE_LINE else "\n"
    axes.set_title(_headed(title, kind, between), loc="left", fontsize=9)
