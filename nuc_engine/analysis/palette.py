"""Colours of the figures: greens for the thorax-coxa joint, blues for CTr, reds for FTi, as in the roach model."""

from __future__ import annotations

from nuc_engine.analysis.bout import Bout, JointInfo, StateInfo
from nuc_engine.analysis.tracks import Role

Color = tuple[float, float, float]

INK: Color = (0.15, 0.15, 0.17)
FAINT: Color = (0.62, 0.62, 0.64)
STANCE: Color = (0.90, 0.90, 0.88)
_MUSCLE: Color = (0.56, 0.44, 0.62)

_LINES: dict[Role, Color] = {
    "ThC": (0.00, 0.50, 0.33),
    "CTr": (0.05, 0.36, 0.68),
    "FTi": (0.80, 0.25, 0.12),
    "": (0.55, 0.55, 0.57),
}
_STATES: dict[Role, tuple[Color, ...]] = {
    "ThC": ((0.0, 0.5804, 0.3882), (0.6627, 1.0, 0.0), (0.35, 0.75, 0.55)),
    "CTr": ((0.0, 0.8627, 0.8627), (0.0, 0.2980, 0.6392), (0.45, 0.60, 0.90)),
    "FTi": ((1.0, 0.4, 0.0), (0.7098, 0.0, 0.2196), (1.0, 0.75, 0.35)),
    "": (FAINT, INK),
}


def joint_color(joint: JointInfo) -> Color:
    """Return the colour of a joint's curves."""
    return _LINES[joint.role]


def state_color(bout: Bout, state: StateInfo) -> Color:
    """Return the colour the configuration gives an action, else one by its joint's role and place."""
    if state.color is not None:
        return state.color
    joint = next(joint for joint in bout.joints if joint.name == state.joint)
    choices = _STATES[joint.role]
    return choices[joint.states.index(state.code) % len(choices)]


def muscle_pens(count: int) -> tuple[tuple[Color, str], ...]:
    """Return colour and line style for each muscle of a joint.

    None is an action's colour: that would tie the muscle to the action.
    """
    pens = ((INK, "-"), (_MUSCLE, "-"), (INK, ":"), (_MUSCLE, ":"))
    return tuple(pens[k % len(pens)] for k in range(count))
