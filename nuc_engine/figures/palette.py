"""Colours and line styles of the figures: green for the thorax-coxa joint, blue for CTr, red for FTi, as in the models.

Joints and bouts have colours that colour-blind readers can tell apart (Okabe and Ito), and line styles beside them.
Actions have the colours of the configuration, whatever these are; so their line styles differ too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nuc_engine.analysis.bout import Bout, JointInfo, StateInfo
from nuc_engine.analysis.tracks import JointRole

Color = tuple[float, float, float]
Dashes = tuple[float, tuple[float, ...]]
"""Offset, then lengths of ink and gap in line widths; no lengths are a solid line."""

INK: Color = (0.15, 0.15, 0.17)
FAINT: Color = (0.62, 0.62, 0.64)
STANCE: Color = (0.90, 0.90, 0.88)
_MUSCLE: Color = (0.56, 0.44, 0.62)

SOLID: Dashes = (0.0, ())
DASHED: Dashes = (0.0, (4.0, 1.4))
DOTTED: Dashes = (0.0, (1.0, 1.0))
DASH_DOT: Dashes = (0.0, (5.0, 1.2, 1.0, 1.2))

_LINES: dict[JointRole, Color] = {
    "ThC": (0.0, 0.62, 0.45),
    "CTr": (0.0, 0.45, 0.70),
    "FTi": (0.84, 0.37, 0.0),
    "": (0.50, 0.50, 0.52),
}
_JOINT_DASHES: dict[JointRole, Dashes] = {"ThC": SOLID, "CTr": DASHED, "FTi": DASH_DOT, "": DOTTED}
_BOUTS: tuple[tuple[Color, Dashes], ...] = (
    ((0.15, 0.15, 0.17), SOLID),
    ((0.84, 0.37, 0.0), DASHED),
    ((0.0, 0.45, 0.70), DASH_DOT),
    ((0.80, 0.47, 0.65), DOTTED),
    ((0.0, 0.62, 0.45), (0.0, (8.0, 2.0))),
    ((0.90, 0.62, 0.0), (0.0, (2.0, 2.0))),
)
_SPARE_DASHES = ((0.0, (8.0, 2.0)), (0.0, (2.0, 2.0)), (0.0, (8.0, 1.5, 1.0, 1.5, 1.0, 1.5)))
"""For joints whose names tell no role."""
_ACTION_DASHES = (SOLID, DASHED, DOTTED)
_LINESPECS = (("--", DASHED), ("-.", DASH_DOT), (":", DOTTED), ("-", SOLID))
"""What MATLAB's line specifications mean; longer ones first."""
_STATES: dict[JointRole, tuple[Color, ...]] = {
    "ThC": ((0.0, 0.5804, 0.3882), (0.6627, 1.0, 0.0), (0.35, 0.75, 0.55)),
    "CTr": ((0.0, 0.8627, 0.8627), (0.0, 0.2980, 0.6392), (0.45, 0.60, 0.90)),
    "FTi": ((1.0, 0.4, 0.0), (0.7098, 0.0, 0.2196), (1.0, 0.75, 0.35)),
    "": (FAINT, INK),
}


def joint_color(joint: JointInfo) -> Color:
    """Return the colour of a joint's curves."""
    return _LINES[joint.role]


def joint_pens(joints: Sequence[JointInfo]) -> Mapping[str, tuple[Color, Dashes]]:
    """Return colour and line style of each joint's curves, by its name; in grey, the style alone tells them apart."""
    pens: dict[str, tuple[Color, Dashes]] = {}
    for joint in joints:
        used = [dashes for _, dashes in pens.values()]
        styles = (_JOINT_DASHES[joint.role], *_SPARE_DASHES)
        pens[joint.name] = joint_color(joint), next((dashes for dashes in styles if dashes not in used), SOLID)
    return pens


def bout_pen(number: int) -> tuple[Color, Dashes]:
    """Return colour and line style of one of several bouts in a figure, counted from 0."""
    return _BOUTS[number % len(_BOUTS)]


def state_dashes(bout: Bout, state: StateInfo) -> Dashes:
    """Return the line style the configuration gives an action, else one by its place among its joint's actions."""
    for text, dashes in _LINESPECS:
        if state.linespec and text in state.linespec:
            return dashes
    joint = next(joint for joint in bout.joints if joint.name == state.joint)
    return _ACTION_DASHES[joint.states.index(state.code) % len(_ACTION_DASHES)]


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
