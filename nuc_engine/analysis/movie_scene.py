"""What a movie shows, frame by frame, as plain arrays: leg, actions, foot, contact and ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nuc_engine.analysis.bout import Bout, JointInfo
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.kinematic import joint_paths
from nuc_engine.analysis.layout import model_of
from nuc_engine.analysis.palette import FAINT, state_color
from nuc_engine.analysis.tracks import BoolArray, FloatArray, IntArray
from nuc_engine.planning import build_plan
from nuc_engine.plants.mjcf import overridden
from nuc_engine.plants.spec import PlantSpec, PlantSpecError, load_spec

TRAIL_S = 0.01
"""Time between two points of the foot's path."""
_GROUND_WINDOW_S = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """A joint with actions: its name, and per frame the name and colour (n, 3) of the action in force."""

    name: str
    actions: tuple[str, ...]
    colors: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Everything for n frames. Lengths in cm, x forward, y left, z up.

    `leg` (n, joints + 1, 3); `segments` (n, joints, 3): colours of the segments behind each joint. `foot` (n, 3) and
    `path` (m, 3) at `path_s`, with `path_colors` (lanes, m, 3); of path point k the frame i shows those in
    [times[i] - trail_s, times[i]]. `contact` (n,) and `ground` (n,) are None where contact was not recorded.
    """

    label: str
    times_s: FloatArray
    leg: FloatArray
    segments: FloatArray
    lanes: tuple[Lane, ...]
    foot: FloatArray
    path_s: FloatArray
    path: FloatArray
    path_colors: FloatArray
    trail_s: float
    contact: BoolArray | None
    ground: FloatArray | None
    true_foot: bool


def scene_of(bout: Bout, times_s: Sequence[float], trail_s: float) -> Scene:
    """Return the scene of a bout at some times, in order."""
    times = np.asarray(times_s, dtype=np.float64)
    spec = _plant_spec(bout)
    lines = _dh_lines(bout, spec)
    leg = _leg(bout, lines, times)
    path_s = np.arange(max(times[0] - trail_s, 0.0), times[-1] + TRAIL_S, TRAIL_S)
    plant = bout.plant if bout.plant is not None and len(bout.plant) else None
    if plant is None:
        foot, path, contact, ground = leg[:, -1], _leg(bout, lines, path_s)[:, -1], None, None
    else:
        true = plant.values[:, :3]
        foot, path = _at(times, plant.t_s, true), _at(path_s, plant.t_s, true)
        touching = plant.values[:, 3] > DEFAULT_CRITERIA.contact_n
        near = np.clip(np.searchsorted(plant.t_s, times, side="right") - 1, 0, None)
        contact = touching[near]
        radius = 0.0 if spec is None else spec.world.foot_radius_mm / 10.0
        ground = ground_height(plant.t_s, true[:, 2], touching, times)
        ground = None if ground is None else ground - radius
    moving = [joint for joint in bout.joints if joint.states]
    colors = {joint.name: _colors(bout, joint, times) for joint in moving}
    return Scene(
        label=bout.label,
        times_s=times,
        leg=leg,
        segments=_segment_colors(bout, colors, len(times)),
        lanes=tuple(_lane(bout, joint, times, colors[joint.name]) for joint in moving),
        foot=foot,
        path_s=path_s,
        path=path,
        path_colors=np.array([_colors(bout, joint, path_s) for joint in moving]).reshape(len(moving), len(path_s), 3),
        trail_s=trail_s,
        contact=contact,
        ground=ground,
        true_foot=plant is not None,
    )


def ground_height(t_s: FloatArray, foot_z: FloatArray, touching: BoolArray, times_s: FloatArray) -> FloatArray | None:
    """Return how high the foot stands at each time, shape (n,): its median height in contact within a second around.

    Where it is in the air for longer, in between the nearest contacts; None for a foot that never touched anything.
    """
    if not touching.any():
        return None
    when, height = t_s[touching], foot_z[touching]
    first = np.searchsorted(when, times_s - _GROUND_WINDOW_S)
    last = np.searchsorted(when, times_s + _GROUND_WINDOW_S)
    found = [float(np.median(height[a:b])) if b > a else np.nan for a, b in zip(first, last, strict=True)]
    known = np.array(found)
    if np.isnan(known).all():
        return np.interp(times_s, when, height)
    return np.interp(times_s, times_s[~np.isnan(known)], known[~np.isnan(known)])


def _plant_spec(bout: Bout) -> PlantSpec | None:
    """Return the plant's description in the data directory; None where there is none that can be read."""
    path = bout.folder / "plant.toml"
    try:
        return load_spec(path) if path.is_file() else None
    except PlantSpecError:
        return None


def _dh_lines(bout: Bout, spec: PlantSpec | None) -> list[tuple[float, float, float, float] | None]:
    """Return the DH lines along the chain, with the plant's own numbers where the foot is the plant's."""
    own = [joint.dh_line for joint in bout.joints]
    if spec is None or bout.plant is None:
        return own
    try:
        lines = {joint.name: joint.dh_line for joint in overridden(build_plan(model_of(bout.folder)), spec).joints}
    except PlantSpecError:
        return own
    return [lines.get(joint.name, line) for joint, line in zip(bout.joints, own, strict=True)]


def _leg(bout: Bout, lines: Sequence[tuple[float, float, float, float] | None], times_s: FloatArray) -> FloatArray:
    angles = _at(times_s, bout.sensors.t_s, bout.angles_deg())
    return joint_paths([joint.amatrix for joint in bout.joints], lines, angles)


def _at(times_s: FloatArray, t_s: FloatArray, values: FloatArray) -> FloatArray:
    """Return columns interpolated at other times, shape (n, columns)."""
    return np.stack([np.interp(times_s, t_s, column) for column in values.T], axis=1)


def _colors(bout: Bout, joint: JointInfo, times_s: FloatArray) -> FloatArray:
    """Return the colour of a joint's action at each time, shape (n, 3)."""
    return _table(bout, joint)[_places(joint, bout.actions_at(joint, times_s))]


def _table(bout: Bout, joint: JointInfo) -> FloatArray:
    return np.array([*(state_color(bout, bout.states_of[code]) for code in joint.states), FAINT])


def _places(joint: JointInfo, codes: IntArray) -> IntArray:
    """Return each code's place among the joint's actions; what is none of them comes after the last one."""
    places = np.full(len(codes), len(joint.states), dtype=np.int64)
    for place, code in enumerate(joint.states):
        places[codes == code] = place
    return places


def _lane(bout: Bout, joint: JointInfo, times_s: FloatArray, colors: FloatArray) -> Lane:
    names = [*(bout.states_of[code].name.rpartition("_")[2] for code in joint.states), "no action"]
    places = _places(joint, bout.actions_at(joint, times_s))
    return Lane(joint.role or joint.name, tuple(names[place] for place in places.tolist()), colors)


def _segment_colors(bout: Bout, colors: dict[str, FloatArray], count: int) -> FloatArray:
    """Return the colours of all segments, shape (n, joints, 3): of the last joint before it that has actions."""
    current = np.tile(np.array(FAINT), (count, 1))
    found: list[FloatArray] = []
    for joint in bout.joints:
        current = colors.get(joint.name, current)
        found.append(current)
    return np.stack(found, axis=1)
