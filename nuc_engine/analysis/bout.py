"""A bout read back: logs as arrays, and the part of the configuration that gives them meaning."""

from __future__ import annotations

import math
import textwrap
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.kinematic import foot_path, joint_paths
from nuc_engine.analysis.phases import find_swings, runs
from nuc_engine.analysis.series import Series, Span, aligned, hold, interpolate
from nuc_engine.analysis.tracks import FloatArray, IntArray, JointRole, LegTracks, ModuleTrack, find_stance_action
from nuc_engine.model.scaling import ScalingError, time_factor
from nuc_engine.recording.files import SENSOR_LOG, STATE_LOG

MOST_TIMES = 20_000_000
_WIDTH = 80


@dataclass(frozen=True, slots=True)
class StateInfo:
    """One action: `code` is its number in StateData.txt, `color` its red, green, blue in 0..1, None where not given.

    `linespec` is the configuration's MATLAB-style line specification, None where not given.
    """

    code: int
    id_num: int
    name: str
    joint: str
    color: tuple[float, float, float] | None
    linespec: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class JointInfo:
    """One joint of the engine, in the chain's order from the body outwards.

    `angle` and `current` name columns of `Bout.sensors`, `raw_current` and `raw_position` of `Bout.motor`, `action` and
    `activations` of `Bout.states`; None or () where there is no such column. `sent_raw` names the column of what was
    sent to the motor, which NeuRoMod did not log. `states` are action codes. `amatrix` is (4, 4) or None, `dh_line`
    (a cm, d cm, alpha rad, rad per degree) or None.
    """

    name: str
    role: JointRole
    states: tuple[int, ...]
    muscles: tuple[str, ...]
    angle: str | None
    current: str | None
    raw_current: str | None
    raw_position: str | None
    action: str | None
    activations: tuple[str, ...]
    amatrix: FloatArray | None
    dh_line: tuple[float, float, float, float] | None
    id_num: int = -1
    control_mode: str = ""
    motor: str = ""
    sent_raw: str | None = None
    fullname: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Bout:
    """Everything a data directory tells.

    `plant` is the simulated plant's true foot position and contact force, None for a real leg. `changesets_s` are the
    times after the start at which a script changed something. `notes` say what was missing, torn or assumed, `missing`
    are the logs that are not there at all. `label` is the configuration's name. `sensed` is what was sensed of
    `sensors` while a clamp made it something else, None where none did. `shifted_s` is how much later than recorded
    everything stands here, see `zeroed`. All times are the leg's; figures and tables divide them by `second_s`, see
    `in_animal_time`. `scale` is leg over animal, None where the configuration does not tell.

        bout = load_bout("data/mine")
        turn = bout.subset(20, 40).zeroed()
        table = turn.on_grid(0.01)
        print(turn.describe())
    """

    folder: Path
    label: str
    joints: tuple[JointInfo, ...]
    states_of: tuple[StateInfo, ...]
    motor: Series
    sensors: Series
    states: Series
    muscles: Series
    plant: Series | None
    changesets_s: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    shifted_s: float = 0.0
    sensed: Series | None = None
    scale: float | None = None
    second_s: float = 1.0

    @property
    def begin_s(self) -> float:
        """Time of the first record."""
        logs = (self.motor, self.sensors, self.states, self.muscles)
        return min((float(log.t_s[0]) for log in logs if len(log)), default=0.0)

    @property
    def end_s(self) -> float:
        """Time of the last record."""
        logs = (self.motor, self.sensors, self.states, self.muscles)
        return max((float(log.t_s[-1]) for log in logs if len(log)), default=0.0)

    @property
    def second(self) -> str:
        """What a second is called in figures and tables."""
        return "s" if self.second_s == 1.0 else "s of the animal"

    def in_animal_time(self) -> Bout:
        """Return the same bout, whose times figures and tables show as the animal's (section 9.2.2.5).

        Raises AnalysisError where the configuration tells no scale.
        """
        try:
            return replace(self, second_s=time_factor(self.scale, self.label))
        except ScalingError as error:
            raise AnalysisError(f"{self.folder}: {error}") from error

    def state(self, code: int) -> StateInfo | None:
        """Return what an action code means, None for -1 and for unknown codes."""
        return self.states_of[code] if 0 <= code < len(self.states_of) else None

    def joint(self, name: str) -> JointInfo:
        """Return the joint with this name or role. Raises AnalysisError, with the names there are."""
        for joint in self.joints:
            if name in (joint.name, joint.role) and name:
                return joint
        known = ", ".join(joint.name for joint in self.joints)
        raise AnalysisError(f"{self.label}: no joint {name!r}, expected one of {known}, or ThC, CTr, FTi")

    def angles_deg(self, times_s: FloatArray | None = None) -> FloatArray:
        """Return the joint angles, shape (n, joints); a joint without a sensor stays at 0.

        At the sensor times, or interpolated at other ones (NaN where nothing was recorded).
        """
        log = self.sensors
        if times_s is not None:
            log = Series(times_s, interpolate(log, times_s), log.columns, log.units)
        return np.stack([log.column(j.angle) if j.angle else np.zeros(len(log)) for j in self.joints], axis=1)

    def foot_from_angles(self) -> FloatArray:
        """Return the foot path computed from the joint angles, shape (n, 3) in cm, at the sensor times."""
        return foot_path([j.amatrix for j in self.joints], [j.dh_line for j in self.joints], self.angles_deg())

    def path_from_angles(self, joint: str = "") -> FloatArray:
        """Return where a joint was, or (without a name) the foot, shape (n, 3) in cm, at the sensor times.

        A joint is named as in `joint`; it is where its axis meets the leg before it. Raises AnalysisError.
        """
        at = self.joints.index(self.joint(joint)) if joint else -1
        return self.leg_from_angles()[:, at, :]

    def leg_from_angles(self, times_s: FloatArray | None = None) -> FloatArray:
        """Return where every joint and the foot were, shape (n, joints + 1, 3) in cm, computed from the angles.

        By the A-matrices and DH lines of the configuration (appendix 10.3, section 5.2): a stiff leg. Times are those
        of `angles_deg`.
        """
        matrices, lines = [j.amatrix for j in self.joints], [j.dh_line for j in self.joints]
        return joint_paths(matrices, lines, self.angles_deg(times_s))

    def on_grid(self, grid: float | FloatArray = 0.01, *, max_gap_s: float = math.inf) -> Series:
        """Return all logs as one table: with a period in s at its whole multiples, or at the times given.

        What the engine sets holds until it sets it anew: states, activations, muscle forces and lengths, what was sent
        to the motors, and raw replies, which are whole ticks. Joint angles, filtered loads, and the simulated foot with
        its contact force are interpolated linearly. NaN stands before a log's first record, after the last one (what
        holds does so to the end of the bout), and between records that are farther apart than `max_gap_s`. Raises
        AnalysisError for a period that is none.
        """
        times = self._grid(float(grid)) if isinstance(grid, float | int) else np.asarray(grid, dtype=np.float64)
        linear = [self.sensors] if self.plant is None else [self.sensors, self.plant]
        logs = [self.sensors, self.states, self.muscles, self.motor, *linear[1:]]
        blocks = [
            interpolate(log, times, max_gap_s) if log in linear else hold(log, times, self.end_s, max_gap_s)
            for log in logs
        ]
        columns = tuple(column for log in logs for column in log.columns)
        return Series(times, np.concatenate(blocks, axis=1), columns, tuple(unit for log in logs for unit in log.units))

    def _grid(self, period_s: float) -> FloatArray:
        """Return whole multiples of a period, so that bouts on grids of one period have their times in common."""
        if not (math.isfinite(period_s) and period_s > 0):
            raise AnalysisError(f"period {period_s} s; expected more than 0")
        first, last = math.ceil(self.begin_s / period_s - 1e-9), math.floor(self.end_s / period_s + 1e-9)
        if last - first > MOST_TIMES:
            raise AnalysisError(f"period {period_s} s gives {last - first} times; expected at most {MOST_TIMES}")
        return np.arange(first, last + 1, dtype=np.float64) * period_s

    def shifted(self, by_s: float) -> Bout:
        """Return the same bout, everything so much later."""
        return replace(
            self,
            motor=self.motor.shifted(by_s),
            sensors=self.sensors.shifted(by_s),
            states=self.states.shifted(by_s),
            muscles=self.muscles.shifted(by_s),
            plant=None if self.plant is None else self.plant.shifted(by_s),
            sensed=None if self.sensed is None else self.sensed.shifted(by_s),
            changesets_s=tuple(time + by_s for time in self.changesets_s),
            shifted_s=self.shifted_s + by_s,
        )

    def zeroed(self) -> Bout:
        """Return the same bout with the time of its first record as 0 (appendix 10.3, section 5.1.4)."""
        return self.shifted(-self.begin_s)

    def subset(self, begin_s: float, end_s: float) -> Bout:
        """Return the records and changesets of [begin_s, end_s]; times stay what they were.

        Raises AnalysisError when nothing was recorded in it.
        """
        part = self.between(begin_s, end_s)
        if not any(len(log) for log in (part.motor, part.sensors, part.states, part.muscles)):
            raise AnalysisError(
                f"{self.label}: nothing was recorded from {begin_s:g} to {end_s:g} s;"
                f" the bout is from {self.begin_s:.4g} to {self.end_s:.4g} s"
            )
        return replace(part, changesets_s=tuple(time for time in self.changesets_s if begin_s <= time <= end_s))

    def describe(self, *, full: bool = False) -> str:
        """Return what is in it as text; `full` adds geometry, colours and the columns of every log."""
        return "\n".join(_bout_lines(self, full=full))

    def between(self, begin_s: float, end_s: float) -> Bout:
        """Return the same bout with only the records of [begin_s, end_s]."""
        return replace(
            self,
            motor=self.motor.between(begin_s, end_s),
            sensors=self.sensors.between(begin_s, end_s),
            states=self.states.between(begin_s, end_s),
            muscles=self.muscles.between(begin_s, end_s),
            plant=None if self.plant is None else self.plant.between(begin_s, end_s),
            sensed=None if self.sensed is None else self.sensed.between(begin_s, end_s),
        )

    def contact_spans(self, begin_s: float, end_s: float) -> list[Span]:
        """Return when the foot touched the ground within [begin_s, end_s], bounce by bounce, as it was recorded.

        Nothing where contact was not recorded.
        """
        plant = None if self.plant is None else self.plant.between(begin_s, end_s).parted()
        if plant is None or not len(plant):
            return []
        edges = np.append(plant.t_s, plant.t_s[-1])
        touching = plant.values[:, 3] > DEFAULT_CRITERIA.contact_n
        return [(float(edges[a]), float(edges[b])) for a, b in runs(touching)]

    def stance_spans(self, begin_s: float, end_s: float) -> list[Span]:
        """Return when the foot stood within [begin_s, end_s], as steps are judged (docs/stepping.md).

        From the first to the last contact between two swings: bounces are bridged, and touches in a swing left out.
        None is in a gap of the record, and nothing where contact was not recorded.
        """
        if self.plant is None or not len(self.plant):
            return []
        plant, length_cm = self.plant, self.leg_length_cm()
        swings = find_swings(plant.t_s, plant.values[:, 2], plant.values[:, 3], length_cm, DEFAULT_CRITERIA)
        lift_offs = [swing.lift_off_s for swing in swings]
        starts = [float(part.t_s[0]) for part in plant.stretches()]
        stances: dict[tuple[int, int], Span] = {}
        for begin, end in self.contact_spans(-math.inf, math.inf):
            k = bisect_right(lift_offs, begin)
            if k == 0 or begin >= swings[k - 1].touch_down_s:
                place = k, bisect_right(starts, begin)
                stances[place] = stances.get(place, (begin, end))[0], end
        return [(max(a, begin_s), min(b, end_s)) for a, b in stances.values() if a < end_s and b > begin_s]

    def action_spans(self, joint: JointInfo, code: int, begin_s: float, end_s: float) -> list[Span]:
        """Return when an action of a joint was in force within [begin_s, end_s].

        Each record counts until the next one, so the action of the last record before `begin_s` is in force there;
        none is in a gap of the record, nor after its end where that is a gap before the bout's.
        """
        if joint.action is None or not len(self.states):
            return []
        log = self.states.parted_within(begin_s, max(end_s, self.end_s))
        edges = np.append(log.t_s, max(end_s, log.t_s[-1]))
        spans = [(float(edges[a]), float(edges[b])) for a, b in runs(log.column(joint.action) == code)]
        return [(max(a, begin_s), min(b, end_s)) for a, b in spans if a < end_s and b > begin_s]

    def actions_at(self, joint: JointInfo, times_s: FloatArray) -> IntArray:
        """Return the code of the action in force at each time, -1 where `action_spans` tells of none."""
        if joint.action is None or not len(self.states) or not len(times_s):
            return np.full(len(times_s), -1, dtype=np.int64)
        log = self.states.parted_within(float(times_s.min()), max(float(times_s.max()), self.end_s))
        codes = np.nan_to_num(log.column(joint.action), nan=-1.0).astype(np.int64)
        at = np.searchsorted(log.t_s, times_s, side="right") - 1
        return np.where(at < 0, -1, codes[np.clip(at, 0, None)])

    def unrecorded_s(self) -> float:
        """Return for how much of the bout it is not known which actions were in force: the gaps of `states`."""
        log = self.states.parted_within(self.begin_s, self.end_s)
        lengths = np.diff(np.append(log.t_s, self.end_s))
        return float(lengths[np.isnan(log.values).all(axis=1)].sum())

    def leg_length_cm(self) -> float:
        """Return the sum of the DH lines' link lengths."""
        return float(sum(abs(joint.dh_line[0]) for joint in self.joints if joint.dh_line is not None))

    def tracks(self) -> LegTracks:
        """Return what the step detector works on.

        Raises AnalysisError when no joint has actions to switch between, or angles or states were not logged.
        """
        if lost := [name for name in (SENSOR_LOG, STATE_LOG) if name in self.missing]:
            raise AnalysisError(f"{self.label}: {' and '.join(lost)} missing, expected both angles and states")
        modules = tuple(self._module(joint) for joint in self.joints if joint.states)
        try:
            stance = find_stance_action(modules)
        except AnalysisError as error:
            raise AnalysisError(f"{self.label}: {error}") from error
        plant = self.plant
        foot = self.foot_from_angles() if plant is None else plant.values[:, :3]
        return LegTracks(
            t_state_s=self.states.t_s,
            t_sensor_s=self.sensors.t_s,
            t_foot_s=self.sensors.t_s if plant is None else plant.t_s,
            modules=modules,
            foot_cm=foot,
            contact_n=None if plant is None else plant.values[:, 3],
            leg_length_cm=self.leg_length_cm(),
            stance_action=stance,
        )

    def _module(self, joint: JointInfo) -> ModuleTrack:
        if joint.action is None or joint.angle is None:
            raise AnalysisError(f"{joint.name} has actions but no state or no angle column, expected both")
        return ModuleTrack(
            name=joint.name,
            role=joint.role,
            actions=joint.states,
            action_names=tuple(self.states_of[code].name for code in joint.states),
            action=self.states.column(joint.action).astype(np.int64),
            angle_deg=self.sensors.column(joint.angle),
            load=self.sensors.column(joint.current) if joint.current in self.sensors.columns else None,
        )


def _bout_lines(bout: Bout, *, full: bool = False) -> Iterator[str]:
    """Yield a bout as text: its logs, then each joint with its actions, muscles and motor, and how far it moved."""
    yield f"{bout.label}: {bout.folder}"
    yield f"from {bout.begin_s:.3f} to {bout.end_s:.3f} s"
    if bout.changesets_s:
        yield "changesets at " + ", ".join(f"{time:g}" for time in bout.changesets_s) + " s"
    for note in bout.notes:
        yield f"note: {note}"
    yield ""
    logs = _logs(bout)
    yield from aligned([("log", "records", "columns", "every"), *(_log_row(name, log) for name, log in logs)])
    for joint in bout.joints:
        yield ""
        yield from _joint_lines(bout, joint, full=full)
    if full:
        for name, log in logs:
            yield ""
            yield f"Columns of {name}"
            yield from (f"  {line}" for line in log.describe().split("\n"))


def _joint_lines(bout: Bout, joint: JointInfo, *, full: bool = False) -> Iterator[str]:
    """Yield one joint as text."""
    role = f" ({joint.role})" if joint.role else ""
    yield f"Joint {joint.name}{role}, id {joint.id_num}, {joint.control_mode or 'control mode not told'}"
    if joint.angle is not None and len(bout.sensors):
        angle = bout.sensors.column(joint.angle)
        yield f"  angle     {np.nanmin(angle):.1f} to {np.nanmax(angle):.1f} deg ({joint.angle})"
    for code in joint.states:
        state = bout.states_of[code]
        share = _share(bout, joint, code)
        yield f"  action    {state.name}, id {state.id_num}, code {code}{share}"
        if full:
            color = "none given" if state.color is None else " ".join(f"{part:g}" for part in state.color)
            yield f"            colour {color}, line {state.linespec or 'none given'}"
    for muscle in joint.muscles:
        yield f"  muscle    {muscle}"
    if joint.motor:
        yield f"  motor     {joint.motor}"
    if full:
        yield from _geometry(joint)
        if joint.description:
            yield from textwrap.wrap(joint.description, _WIDTH, initial_indent="  ", subsequent_indent="  ")


def _logs(bout: Bout) -> list[tuple[str, Series]]:
    logs = [("motors", bout.motor), ("sensors", bout.sensors), ("states", bout.states), ("muscles", bout.muscles)]
    return logs if bout.plant is None else [*logs, ("plant", bout.plant)]


def _log_row(name: str, log: Series) -> tuple[str, str, str, str]:
    every = f"{1e3 * float(np.median(np.diff(log.t_s))):.2f} ms" if len(log) > 1 else ""
    return name, str(len(log)), str(len(log.columns)), every


def _share(bout: Bout, joint: JointInfo, code: int) -> str:
    """Return how much of the time an action was in force; of the recorded time, where the record has gaps."""
    if joint.action is None or len(bout.states) < 2:
        return ""
    spans = bout.action_spans(joint, code, bout.begin_s, bout.end_s)
    lost = bout.unrecorded_s()
    whole = bout.end_s - bout.begin_s - lost
    what = "recorded time" if lost else "time"
    return f", {100 * sum(b - a for a, b in spans) / whole:.0f} % of the {what}" if whole > 0 else ""


def _geometry(joint: JointInfo) -> Iterator[str]:
    if joint.amatrix is not None:
        yield "  A-matrix, lengths in cm"
        for row in joint.amatrix:
            yield "    " + " ".join(f"{number:9.4f}" for number in row)
    if joint.dh_line is not None:
        a, d, alpha, _ = joint.dh_line
        yield f"  DH line   a {a:g} cm, d {d:g} cm, alpha {np.degrees(alpha):.4g} deg"
