"""A bout read back: logs as arrays, and the part of the configuration that gives them meaning."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.kinematic import foot_path
from nuc_engine.analysis.phases import runs
from nuc_engine.analysis.tracks import FloatArray, IntArray, LegTracks, ModuleTrack, Role, stance_action

Span = tuple[float, float]
"""Begin and end of a stretch of time, in seconds since engine start."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One log file: `t_s` (n,) seconds since engine start, `values` (n, k), and name and unit of the k columns."""

    t_s: FloatArray
    values: FloatArray
    columns: tuple[str, ...]
    units: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.t_s)

    def column(self, name: str) -> FloatArray:
        """Return one column, shape (n,). Raises KeyError, with the names there are, when there is none so named."""
        if name not in self.columns:
            raise KeyError(f"no column {name}; there are {', '.join(self.columns)}")
        return self.values[:, self.columns.index(name)]

    def between(self, begin_s: float, end_s: float) -> Series:
        """Return the records of [begin_s, end_s]."""
        first = int(np.searchsorted(self.t_s, begin_s, side="left"))
        last = int(np.searchsorted(self.t_s, end_s, side="right"))
        return Series(self.t_s[first:last], self.values[first:last], self.columns, self.units)


@dataclass(frozen=True, slots=True)
class StateInfo:
    """One action: `code` is its number in StateData.txt, `color` its red, green, blue in 0..1, None where not given."""

    code: int
    id_num: int
    name: str
    joint: str
    color: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True, eq=False)
class JointInfo:
    """One joint of the engine, in the chain's order from the body outwards.

    `angle` and `current` name columns of `Bout.sensors`, `raw_current` and `raw_position` of `Bout.motor`, `action` and
    `activations` of `Bout.states`; None or () where there is no such column. `states` are action codes. `amatrix` is
    (4, 4) or None, `dh_line` (a cm, d cm, alpha rad, rad per degree) or None.
    """

    name: str
    role: Role
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


@dataclass(frozen=True, slots=True, eq=False)
class Bout:
    """Everything a data directory tells.

    `plant` is the simulated plant's true foot position and contact force, None for a real leg. `changesets_s` are the
    times after the start at which a script changed something. `notes` say what was missing, torn or assumed.
    `label` is the configuration's name.
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

    @property
    def end_s(self) -> float:
        """Time of the last record."""
        logs = (self.motor, self.sensors, self.states, self.muscles)
        return max((float(log.t_s[-1]) for log in logs if len(log)), default=0.0)

    def state(self, code: int) -> StateInfo | None:
        """Return what an action code means, None for -1 and for unknown codes."""
        return self.states_of[code] if 0 <= code < len(self.states_of) else None

    def angles_deg(self) -> FloatArray:
        """Return the joint angles, shape (n, joints), at the sensor times; a joint without a sensor stays at 0."""
        return np.stack(
            [self.sensors.column(j.angle) if j.angle else np.zeros(len(self.sensors)) for j in self.joints], axis=1
        )

    def foot_from_angles(self) -> FloatArray:
        """Return the foot path computed from the joint angles, shape (n, 3) in cm, at the sensor times."""
        return foot_path([j.amatrix for j in self.joints], [j.dh_line for j in self.joints], self.angles_deg())

    def between(self, begin_s: float, end_s: float) -> Bout:
        """Return the same bout with only the records of [begin_s, end_s]."""
        return replace(
            self,
            motor=self.motor.between(begin_s, end_s),
            sensors=self.sensors.between(begin_s, end_s),
            states=self.states.between(begin_s, end_s),
            muscles=self.muscles.between(begin_s, end_s),
            plant=None if self.plant is None else self.plant.between(begin_s, end_s),
        )

    def contact_spans(self, begin_s: float, end_s: float) -> list[Span]:
        """Return when the foot touched the ground within [begin_s, end_s]; nothing where contact was not recorded."""
        plant = None if self.plant is None else self.plant.between(begin_s, end_s)
        if plant is None or not len(plant):
            return []
        edges = np.append(plant.t_s, plant.t_s[-1])
        touching = plant.values[:, 3] > DEFAULT_CRITERIA.contact_n
        return [(float(edges[a]), float(edges[b])) for a, b in runs(touching)]

    def action_spans(self, joint: JointInfo, code: int, begin_s: float, end_s: float) -> list[Span]:
        """Return when an action of a joint was in force within [begin_s, end_s].

        Each record counts until the next one, so the action of the last record before `begin_s` is in force there.
        """
        if joint.action is None or not len(self.states):
            return []
        edges = np.append(self.states.t_s, max(end_s, self.states.t_s[-1]))
        spans = [(float(edges[a]), float(edges[b])) for a, b in runs(self.states.column(joint.action) == code)]
        return [(max(a, begin_s), min(b, end_s)) for a, b in spans if a < end_s and b > begin_s]

    def actions_at(self, joint: JointInfo, times_s: FloatArray) -> IntArray:
        """Return the code of the action in force at each time, -1 before the first record."""
        if joint.action is None or not len(self.states):
            return np.full(len(times_s), -1, dtype=np.int64)
        codes = self.states.column(joint.action).astype(np.int64)
        at = np.searchsorted(self.states.t_s, times_s, side="right") - 1
        return np.where(at < 0, -1, codes[np.clip(at, 0, None)])

    def leg_length_cm(self) -> float:
        """Return the sum of the DH lines' link lengths."""
        return float(sum(abs(joint.dh_line[0]) for joint in self.joints if joint.dh_line is not None))

    def tracks(self) -> LegTracks:
        """Return what the step detector works on. Raises AnalysisError when no joint has actions to switch between."""
        modules = tuple(self._module(joint) for joint in self.joints if joint.states)
        thc = next((m for m in modules if m.role == "ThC"), None)
        if thc is None:
            raise AnalysisError(
                f"{self.label}: no joint between thorax and coxa with actions, expected one to judge by"
            )
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
            stance_action=stance_action(thc),
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
        )
