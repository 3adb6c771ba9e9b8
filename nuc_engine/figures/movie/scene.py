"""What a movie shows, frame by frame, as plain arrays: leg, actions, foot, contact and ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nuc_engine.analysis.bout import Bout, JointInfo
from nuc_engine.analysis.by_hand import events_by_hand, ground_cm
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.kinematic import joint_paths
from nuc_engine.analysis.log_columns import model_of
from nuc_engine.analysis.series import Series, interpolate
from nuc_engine.analysis.tracks import BoolArray, FloatArray, IntArray
from nuc_engine.bout.spec import read_plant
from nuc_engine.figures.movie.captions import Captions, captions_of
from nuc_engine.figures.palette import FAINT, state_color
from nuc_engine.machine.locations import PLANT_SPEC_FILE
from nuc_engine.model.planning import build_plan
from nuc_engine.plants.fit import as_drawn
from nuc_engine.plants.spec import PlantSpec, PlantSpecError, load_spec
from nuc_engine.recording.manifest import ManifestError, read_manifest

TRAIL_S = 0.01
"""Time between two points of the foot's path."""

DhLine = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """A joint with actions: its name, the names of the actions, their colours (k, 3), and which is in force.

    `place` (n,) counts the actions; k where none is.
    """

    name: str
    actions: tuple[str, ...]
    colors: FloatArray
    place: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Everything for n frames. Lengths in cm, x forward, y left, z up; NaN where nothing was recorded.

    `leg` (n, joints + 1, 3); `segments` (n, joints, 3): colours of the segments behind each joint. `foot` (n, 3) and
    `path` (m, 3) at `path_s`, with `path_colors` (lanes, m, 3); of path point k the frame i shows those in
    [times[i] - trail_s, times[i]]. `contact` (n,) is None where it was not recorded: then the foot is where the angles
    have it. `ground` (n,) and the foot's radius are None where the plant is not known; a ground taken away is NaN.
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
    radius_cm: float | None
    captions: Captions


def scene_of(bout: Bout, times_s: Sequence[float], trail_s: float) -> Scene:
    """Return the scene of a bout at some times, in order."""
    times = np.asarray(times_s, dtype=np.float64)
    path_s = np.arange(max(times[0] - trail_s, 0.0), times[-1] + TRAIL_S, TRAIL_S)
    events = events_by_hand(bout)
    plant = bout.plant if bout.plant is not None and len(bout.plant) else None
    spec = None if plant is None else _plant_spec(bout)
    lines = _dh_lines(bout, spec)
    leg = _leg(bout, lines, times)
    if plant is None:
        foot, path, contact = leg[:, -1], _leg(bout, lines, path_s)[:, -1], None
    else:
        there = _at(plant, times)
        foot, path, contact = there[:, :3], _at(plant, path_s)[:, :3], there[:, 3] > DEFAULT_CRITERIA.contact_n
    moving = [joint for joint in bout.joints if joint.states]
    lanes = tuple(_lane(bout, joint, times) for joint in moving)
    colors = {joint.name: _inked(lane.colors, lane.place) for joint, lane in zip(moving, lanes, strict=True)}
    trails = [_inked(lane.colors, _places(bout, j, path_s)) for j, lane in zip(moving, lanes, strict=True)]
    return Scene(
        label=bout.label,
        times_s=times,
        leg=leg,
        segments=_segment_colors(bout, colors, len(times)),
        lanes=lanes,
        foot=foot,
        path_s=path_s,
        path=path,
        path_colors=np.array(trails).reshape(len(moving), len(path_s), 3),
        trail_s=trail_s,
        contact=contact,
        ground=None if spec is None else ground_cm(bout, spec, events, times),
        radius_cm=None if spec is None else spec.world.foot_radius_mm / 10.0,
        captions=captions_of(bout, events),
    )


def _plant_spec(bout: Bout) -> PlantSpec | None:
    """Return the plant's description, as the bout was given it; None where there is none that can be read."""
    try:
        given = read_plant(read_manifest(bout.folder).spec.get("plant", {}))
    except (ManifestError, ValueError):
        given = {}
    try:
        return load_spec(bout.folder / PLANT_SPEC_FILE, given)
    except PlantSpecError:
        return None


def _dh_lines(bout: Bout, spec: PlantSpec | None) -> list[DhLine | None]:
    """Return the DH lines along the chain, with the plant's own numbers where it is known."""
    own = [joint.dh_line for joint in bout.joints]
    if spec is None:
        return own
    try:
        lines = {joint.name: joint.dh_line for joint in as_drawn(build_plan(model_of(bout.folder)), spec).joints}
    except PlantSpecError:
        return own
    return [lines.get(joint.name, line) for joint, line in zip(bout.joints, own, strict=True)]


def _leg(bout: Bout, lines: Sequence[DhLine | None], times_s: FloatArray) -> FloatArray:
    log = bout.sensors
    angles = replace(bout, sensors=replace(log, t_s=times_s, values=_at(log, times_s))).angles_deg()
    return joint_paths([joint.amatrix for joint in bout.joints], lines, angles)


def _at(log: Series, times_s: FloatArray) -> FloatArray:
    """Return a log's values at other times, linearly between its records, shape (n, columns).

    NaN in gaps, and as far before the first record or after the last one as makes a gap.
    """
    inside = np.clip(times_s, log.t_s[0], log.t_s[-1]) if len(log) else times_s
    values = interpolate(log.parted(), inside)
    values[np.abs(times_s - inside) > DEFAULT_CRITERIA.max_unrecorded_s] = np.nan
    return values


def _lane(bout: Bout, joint: JointInfo, times_s: FloatArray) -> Lane:
    states = [bout.states_of[code] for code in joint.states]
    return Lane(
        joint.role or joint.name,
        tuple(state.name.rpartition("_")[2] for state in states),
        np.array([state_color(bout, state) for state in states]),
        _places(bout, joint, times_s),
    )


def _places(bout: Bout, joint: JointInfo, times_s: FloatArray) -> IntArray:
    """Return the place of the action in force among the joint's; what is none of them comes after the last one."""
    codes = bout.actions_at(joint, times_s)
    places = np.full(len(codes), len(joint.states), dtype=np.int64)
    for place, code in enumerate(joint.states):
        places[codes == code] = place
    return places


def _inked(colors: FloatArray, places: IntArray) -> FloatArray:
    """Return the colours of actions by their place, shape (n, 3); grey where there is none."""
    return np.concatenate([colors, [FAINT]])[places]


def _segment_colors(bout: Bout, colors: Mapping[str, FloatArray], count: int) -> FloatArray:
    """Return the colours of all segments, shape (n, joints, 3): of the last joint before it that has actions."""
    current = np.tile(np.array(FAINT), (count, 1))
    found: list[FloatArray] = []
    for joint in bout.joints:
        current = colors.get(joint.name, current)
        found.append(current)
    return np.stack(found, axis=1)
