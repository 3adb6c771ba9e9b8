"""Lanes of actions over time: one lane per action, filled while the action is in force, in its colour."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nuc_engine.analysis.bout import Bout, JointInfo, Span
from nuc_engine.figures.palette import state_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HALF_HEIGHT = 0.36


def draw_lanes(axes: Axes, bout: Bout, joints: Sequence[JointInfo], span: Span) -> None:
    """Draw the lanes of some joints, the first joint's first action at the bottom (appendix 10.3, figure 5-1)."""
    states = [(joint, bout.states_of[code]) for joint in joints for code in joint.states]
    for lane, (joint, state) in enumerate(states):
        spans = [(begin, end - begin) for begin, end in bout.action_spans(joint, state.code, *span)]
        color = state_color(bout, state)
        axes.broken_barh(spans, (lane - HALF_HEIGHT, 2 * HALF_HEIGHT), facecolors=color, linewidth=0, zorder=2)
    axes.set_yticks(range(len(states)), [state.name for _, state in states])
    axes.set_ylim(-0.6, max(len(states), 1) - 0.4)
    axes.tick_params(axis="y", length=0)
