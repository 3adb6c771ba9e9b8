"""A leg that runs without leaving files: what `nuc demo` watches."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from drivers.units import NS_PER_S
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.bout.run import open_leg, prepare_bout, schedule_events
from nuc_engine.cli.terminal import wallclock
from nuc_engine.control.bus_tap import ExchangeReplies
from nuc_engine.control.executive import Executive
from nuc_engine.control.tasks.board import Board
from nuc_engine.machine.locations import PLANT_SPEC_FILE, find_configuration
from nuc_engine.model.changes import Applied, Changeset, Controlled
from nuc_engine.model.kinematics import joint_origins
from nuc_engine.model.plan import JointPlan, Plan
from nuc_engine.model.store import Store
from nuc_engine.plants.fit import as_drawn
from nuc_engine.plants.scripted import events_of
from nuc_engine.plants.spec import load_spec
from sccils_schemas.model import Model

TRACE_S = 3.0
_LATE_S = 0.5
"""Beyond this a picture gives up catching up, rather than racing after the clock."""

HISTORY_NS = 125_000_000
"""How often the states are noted for the strips."""

Point = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class JointView:
    """One joint as it is now: `state` and `color` (red, green, blue in 0..1) are None for a joint without states."""

    name: str
    state: str | None
    color: Sequence[float] | None
    angle_deg: float | None
    load: float | None
    history: Sequence[Sequence[float] | None]


@dataclass(frozen=True, slots=True)
class LegSnapshot:
    """The leg as it is now. Points in cm: x forward, y left, z up; from the first joint to the foot."""

    time_s: float
    joints: tuple[JointView, ...]
    points: tuple[Point, ...]
    trace: Sequence[Point]
    foot: Point | None
    contact_n: float
    contacts: Sequence[bool]
    steps: int
    period_s: float | None
    ground_cm: float
    foot_radius_cm: float
    told: str


class StepCounter:
    """Counts steps as they happen: touch-downs after a swing that is long and high enough (docs/stepping.md)."""

    def __init__(self, leg_length_cm: float) -> None:
        self.steps = 0
        self.period_s: float | None = None
        self._clearance_cm = DEFAULT_CRITERIA.min_clearance_legs * leg_length_cm
        self._ground_cm: float | None = None
        self._lift_off: tuple[float, float] | None = None
        self._highest_cm = 0.0
        self._last_lift_off_s: float | None = None

    def add(self, time_s: float, height_cm: float, contact_n: float) -> None:
        """Take one record of the plant: the foot's height, and the force of the ground on it."""
        if contact_n <= DEFAULT_CRITERIA.contact_n:
            if self._lift_off is None and self._ground_cm is not None:
                self._lift_off, self._highest_cm = (time_s, self._ground_cm), height_cm
            self._highest_cm = max(self._highest_cm, height_cm)
            return
        self._ground_cm = height_cm
        lift_off, self._lift_off = self._lift_off, None
        if lift_off is None or time_s - lift_off[0] < DEFAULT_CRITERIA.min_swing_s:
            return
        if self._highest_cm - max(lift_off[1], height_cm) < self._clearance_cm:
            return
        self.steps += 1
        if self._last_lift_off_s is not None:
            self.period_s = lift_off[0] - self._last_lift_off_s
        self._last_lift_off_s = lift_off[0]


class LiveLeg:
    """An emulated leg under its executive, advanced piece by piece.

    Raises what preparing a bout raises. `advance` raises PlantFault or EngineFault when the leg cannot go on.
    """

    def __init__(self, config: str, script: str | None, seed: int) -> None:
        prepared = prepare_bout(config, script)
        folder = find_configuration(config)
        self.model, self.plan = prepared.model, prepared.plan
        self.warnings = prepared.warnings
        spec = load_spec(folder / PLANT_SPEC_FILE)
        self._body = as_drawn(self.plan, spec)
        self._plant, bus = open_leg(self.plan, folder, "emulated:", seed)
        if prepared.script is not None:
            schedule_events(self._plant, self.plan, events_of(prepared.script))
        self._store = Store(self.plan)
        self._witness = _Witness(self.plan)
        self._executive = Executive(self.plan, bus, self._witness, store=self._store)
        self._executive.load(prepared.changesets)
        self._counter = StepCounter(sum(abs(joint.dh_line[0]) for joint in self.plan.joints if joint.dh_line))
        self._records: deque[Sequence[float]] = deque(maxlen=round(TRACE_S * 100))
        self._histories: list[deque[Sequence[float] | None]] = [deque(maxlen=400) for _ in self.plan.joints]
        self._contacts: deque[bool] = deque(maxlen=400)
        amatrix = self.plan.joints[0].amatrix
        self._ground_cm = (amatrix[11] if amatrix is not None else 0.0) - spec.world.base_height_cm
        self._foot_radius_cm = spec.world.foot_radius_mm / 10
        self._colors = _state_colors(prepared.model, self.plan)

    @property
    def time_s(self) -> float:
        """Simulated time so far."""
        return self._executive.clock.now_ns / NS_PER_S

    def advance(self, to_s: float) -> None:
        """Run up to this simulated time."""
        end_ns = round(to_s * NS_PER_S)
        while self._executive.clock.now_ns < end_ns:
            due_ns = (self._executive.clock.now_ns // HISTORY_NS + 1) * HISTORY_NS
            self._executive.run_until(min(due_ns, end_ns))
            for record in self._plant.take_records():
                self._records.append(record)
                self._counter.add(record[0] / NS_PER_S, record[3], record[4])
            if self._executive.clock.now_ns >= due_ns:
                self._note_history()

    def view(self) -> LegSnapshot:
        """Return the leg as it is now."""
        joints = tuple(self._joint(joint) for joint in self.plan.joints)
        x, y, z, contact_n = self._records[-1][1:] if self._records else (0.0, 0.0, 0.0, 0.0)
        return LegSnapshot(
            time_s=self.time_s,
            joints=joints,
            points=self._points([joint.angle_deg for joint in joints]),
            trace=[(record[1], record[2], record[3]) for record in self._records],
            foot=(x, y, z) if self._records else None,
            contact_n=contact_n,
            contacts=self._contacts,
            steps=self._counter.steps,
            period_s=self._counter.period_s,
            ground_cm=self._ground_cm,
            foot_radius_cm=self._foot_radius_cm,
            told=self._witness.told,
        )

    def _joint(self, joint: JointPlan) -> JointView:
        motor = self.plan.motors[joint.motor] if joint.motor >= 0 else None
        return JointView(
            name=joint.name,
            state=self.plan.states[self._executive.board.states[joint.index]].name if joint.states else None,
            color=self._color(joint),
            angle_deg=None if motor is None else self._value(motor.angle),
            load=None if motor is None else self._value(motor.current),
            history=self._histories[joint.index],
        )

    def _points(self, angles_deg: Sequence[float | None]) -> tuple[Point, ...]:
        """Return the joints and the foot from the measured angles; nothing before they are all known."""
        joints = self._body.joints
        known = [angle for angle in angles_deg if angle is not None]
        if len(known) < len(joints):
            return ()
        amatrices = [None if j.amatrix is None else np.array(j.amatrix).reshape(4, 4) for j in joints]
        points = joint_origins(amatrices, [j.dh_line for j in joints], known)
        return tuple((float(x), float(y), float(z)) for x, y, z in points)

    def _value(self, hdso: int) -> float | None:
        values = self._store.values(hdso)
        return None if values is None else float(values[0])

    def _color(self, joint: JointPlan) -> Sequence[float] | None:
        return self._colors[self._executive.board.states[joint.index]] if joint.states else None

    def _note_history(self) -> None:
        for joint, history in zip(self.plan.joints, self._histories, strict=True):
            history.append(self._color(joint))
        self._contacts.append(bool(self._records) and self._records[-1][4] > DEFAULT_CRITERIA.contact_n)


def paced(leg: LiveLeg, interval_s: float, end_s: float) -> Iterator[float]:
    """Advance the leg by pieces, and yield how long to wait until the clock on the wall has come as far."""
    shift_s = wallclock.seconds() - leg.time_s
    while leg.time_s < end_s:
        target_s = min(leg.time_s + interval_s, end_s)
        leg.advance(target_s)
        yield shift_s + target_s - wallclock.seconds()
        now_s = wallclock.seconds()
        if now_s - shift_s - target_s > _LATE_S:
            shift_s = now_s - target_s


class _Witness:
    """The recorder of a leg that leaves no files: keeps only the last thing worth telling."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._moment_ns = -1
        self._names: list[str] = []
        self.told = ""

    def started(self, now_ns: int, level: int, goals: Sequence[int]) -> None:
        """Nothing is kept of an exchange."""

    def motor(self, now_ns: int, board: Board, replies: ExchangeReplies) -> None:
        """Nothing is kept of a cycle."""

    def sensors(self, now_ns: int, store: Store) -> None:
        """Nothing is kept of the sensors."""

    def states(self, now_ns: int, board: Board) -> None:
        """Nothing is kept of the states."""

    def muscles(self, now_ns: int, board: Board) -> None:
        """Nothing is kept of the muscles."""

    def controlled(self, controlled: Controlled) -> None:
        """No joint is switched here."""

    def done(self, now_ns: int, changeset: Changeset, refused: int) -> None:
        """`applied` has told of it."""

    def answer(self, now_ns: int, hdso: int, values: tuple[int | float, ...], origin: int) -> None:
        """Nobody asked."""

    def applied(self, applied: Applied) -> None:
        """Tell of a script's writes, those of one moment together."""
        if applied.time_ns != self._moment_ns:
            self._moment_ns, self._names = applied.time_ns, []
        self._names.append(self._plan.hdsos[applied.write.hdso].name)
        self.told = f"{applied.time_ns / NS_PER_S:.1f} s: the script wrote {len(self._names)}: {', '.join(self._names)}"

    def event(self, now_ns: int, kind: str, text: str) -> None:
        """Tell of an event."""
        self.told = f"{now_ns / NS_PER_S:.1f} s: {kind}: {text}"


def _state_colors(model: Model, plan: Plan) -> list[Sequence[float]]:
    """Return a colour for every state: the configuration's, else one by its place among the joint's states."""
    styles = {state.id_num: state.plotstyle for joint in model.jointlist.joints for state in joint.states}
    colors: list[Sequence[float]] = []
    for state in plan.states:
        style = styles[state.id_num]
        given = None if style is None else style.colorspec
        place = plan.joints[state.joint].states.index(state.index)
        colors.append(given if given is not None else _FALLBACK[place % len(_FALLBACK)])
    return colors


_FALLBACK = ((0.25, 0.6, 0.95), (0.95, 0.55, 0.15), (0.5, 0.8, 0.35))
