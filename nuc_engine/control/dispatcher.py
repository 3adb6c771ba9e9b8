"""What every executive has: the tasks of one model, their priorities, deadlines and counts.

The highest-priority task that is ready runs first and to its end. Deadlines are absolute: a task that overruns skips
whole periods and is counted, it never catches up in a burst. Periods are HDSOs and may change while running. How time
passes and how a bus is waited for differs: `nuc_engine.control.executive` on the virtual clock,
`nuc_engine.daemon.live` on the real one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from drivers.bus import ServoBus
from drivers.clock import Clock
from drivers.port import NEVER
from nuc_engine.control.bus_tap import BusTap, ExchangeReplies
from nuc_engine.control.clamps import Clamps
from nuc_engine.control.controls import Controls
from nuc_engine.control.faults import FAULTS, Effect, EngineFault, Process
from nuc_engine.control.guard import Guard
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.control.tasks import TASKS
from nuc_engine.control.tasks.acting import transition_of
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.motor_action import MotorAction
from nuc_engine.control.tasks.motor_conversion import MotorConversion
from nuc_engine.control.tasks.muscle_conversion import MuscleConversion
from nuc_engine.control.tasks.script import Script
from nuc_engine.control.tasks.server import HdsoServer
from nuc_engine.control.tasks.signals import SignalConversion
from nuc_engine.control.triggers import Triggers
from nuc_engine.model.changes import Applied, Changeset, Controlled, Trigger
from nuc_engine.model.plan import Plan, Slot
from nuc_engine.model.store import BufferView, Store
from sccils_schemas.rules import RuleError

_MISS_LIMIT = FAULTS["motor_silent"].after
_OVERRUN_AGAIN_NS = FAULTS["overrun"].again_ns


class Recorder(Protocol):
    """Takes what each task has done, right after it: the log, the telemetry."""

    def started(self, now_ns: int, level: int, goals: Sequence[int]) -> None:
        """An exchange begins: torque level and goals as the bus is told."""
        ...

    def motor(self, now_ns: int, board: Board, replies: ExchangeReplies) -> None:
        """A cycle is complete: what the tasks know of it, and what the bus gave."""
        ...

    def sensors(self, now_ns: int, store: Store) -> None:
        """Sensors are converted."""
        ...

    def states(self, now_ns: int, board: Board) -> None:
        """States and activations are set."""
        ...

    def muscles(self, now_ns: int, board: Board) -> None:
        """Forces and lengths are computed."""
        ...

    def applied(self, applied: Applied) -> None:
        """A write of a changeset was made or refused."""
        ...

    def controlled(self, controlled: Controlled) -> None:
        """A control of a changeset was made or refused."""
        ...

    def done(self, now_ns: int, changeset: Changeset, refused: int) -> None:
        """A changeset has taken effect, all but so many writes and controls."""
        ...

    def answer(self, now_ns: int, hdso: int, values: tuple[int | float, ...], origin: int) -> None:
        """A request for HDSO data is answered."""
        ...

    def event(self, now_ns: int, kind: str, text: str) -> None:
        """Something worth a line happened."""
        ...


@dataclass(slots=True)
class TaskEntry:
    """One task as the dispatcher sees it, with what it has counted. `release_ns` is NEVER while it is not ready."""

    name: str
    run: Callable[[int], None]
    cost_ns: int
    release_ns: int = NEVER
    runs: int = 0
    overruns: int = 0
    skipped: int = 0
    reported_ns: int = -_OVERRUN_AGAIN_NS


class Dispatcher:
    """The tasks of one model on one bus.

    Built from the plan alone; `recorder` sees everything that happens, `costs` maps task names to nanoseconds of
    execution, `limits` holds the guard's per-motor limit in ticks, `approach_deg_s` how fast commanded positions are
    approached (None: at once). With `keep_store` the values in `store` are the ones to start with, instead of the
    plan's. `seed` is that of the noise that signals have. Engine time 0 is when it is built.
    """

    process = Process.BOUT
    """Where it runs: what a fault does there stands in the table of faults."""

    def __init__(
        self,
        plan: Plan,
        bus: ServoBus,
        recorder: Recorder,
        clock: Clock,
        *,
        store: Store | None = None,
        costs: Mapping[str, int] | None = None,
        limits: Sequence[int | None] | None = None,
        approach_deg_s: float | None = None,
        keep_store: bool = False,
        seed: int = 0,
    ) -> None:
        self.plan, self.store = plan, store if store is not None else Store(plan)
        self._clock = clock
        self.start_ns = clock.now_ns
        self.board = Board(plan, self._event)
        self.controls = Controls(plan, self.board, approach_deg_s)
        self._hinted: set[str] = set()
        self.rulebook = Rulebook(plan, self.store)
        self._delays = self.rulebook.delays
        self.guard = Guard(
            limits if limits is not None else [None] * len(plan.motors), [motor.goals for motor in plan.motors]
        )
        self._bus, self._recorder = bus, recorder
        self._tap = BusTap(bus, recorder.started)
        self._motor_action = MotorAction(plan, self.store, self.board, self._tap, self.guard)
        self._conversion = (
            SignalConversion(plan, self.store, self.board, seed)
            if plan.signals
            else MotorConversion(plan, self.store, self.board)
        )
        self.transition = transition_of(plan)(plan, self.store, self.board, self.rulebook)
        self.muscles = MuscleConversion(plan, self.store, self.board)
        self.clamps = Clamps(plan, self.store, self._conversion, self.transition, self.muscles)
        self.controls.sense = self.clamps.apply
        self.triggers = Triggers(self.rulebook)
        self.script = Script(
            plan,
            self.store,
            self.board,
            self.rulebook,
            self.controls.apply,
            self._on_applied,
            recorder.controlled,
            recorder.done,
            self._on_trigger,
        )
        self._server = HdsoServer(plan, self.store, self.script.requests, recorder.answer)
        self._delay = self.store.locate(Slot(plan.motor_control_delay))
        self._cycle_min_ns = plan.cycle_min_ns
        self._period = self.store.locate(Slot(plan.statetrans_period))
        self._muscle_period = None if plan.muscle_period < 0 else self.store.locate(Slot(plan.muscle_period))
        self._state_release = self._muscle_release = 0
        self._exchanging = False
        self.missed = [0] * len(plan.motors)
        self.start_pose_deg: dict[str, float] | None = None
        self._make_entries(costs or {})
        if not keep_store:
            self._initialise()
        self._put_rules_in_force()
        if plan.engine_start_time >= 0:
            self.store.write(plan.engine_start_time, (0,))
        self.store.publish(0, self.start_ns)

    def _make_entries(self, costs: Mapping[str, int]) -> None:
        unknown = set(costs) - set(TASKS)
        if unknown:
            raise ValueError(f"no such task: {', '.join(sorted(unknown))}; expected {', '.join(TASKS)}")
        runs = (
            self._run_script,
            self._run_complete,
            self._run_start,
            self._run_conversion,
            self._run_transition,
            self._run_muscles,
            self._run_server,
        )
        self.entries = tuple(TaskEntry(name, run, costs.get(name, 0)) for name, run in zip(TASKS, runs, strict=True))
        (
            self._script_entry,
            self._complete_entry,
            self._start_entry,
            self._conversion_entry,
            self._transition_entry,
            self._muscle_entry,
            self._server_entry,
        ) = self.entries
        self._start_entry.release_ns = self._transition_entry.release_ns = self.start_ns
        self._muscle_entry.release_ns = self.start_ns if self._muscle_period is not None else NEVER

    def _initialise(self) -> None:
        self.store.clear()
        for write in self.plan.initial:
            self.store.write(write.hdso, write.values)

    def _put_rules_in_force(self) -> None:
        for hdso in self.plan.hdsos:
            values = self.store.values(hdso.index) if hdso.kind == "boolstring" else None
            if values is not None:
                code = [int(value) for value in values]
                self.rulebook.swap(hdso.index, code, self.rulebook.decode(hdso.index, code))

    @property
    def beyond_tables(self) -> list[int]:
        """Return, per motor, how often muscles asked for a torque that its table does not reach."""
        return [0 if scale is None else scale.beyond for scale in self._motor_action.scales]

    def counts(self, bus: Mapping[str, int]) -> dict[str, Any]:
        """Return what was counted since the start, by the names of the configuration; `bus` is what the bus counted."""
        plan = self.plan
        return {
            "cycles": self.board.cycle,
            "tasks": {e.name: {"runs": e.runs, "overruns": e.overruns, "skipped": e.skipped} for e in self.entries},
            "rule_overlaps": {j.name: self.transition.overlaps[j.index] for j in plan.joints if j.states},
            "negative_forces": {m.name: self.muscles.negative_forces[m.index] for m in plan.muscles},
            "guard_interventions": {m.name: self.guard.interventions[m.index] for m in plan.motors},
            "beyond_torque_table": {m.name: self.beyond_tables[m.index] for m in plan.motors if m.torque_table},
            "bus": dict(bus),
            "missed_replies": {m.name: self.missed[m.index] for m in plan.motors},
        }

    def load(self, changesets: Sequence[Changeset]) -> None:
        """Hand over changesets, in order of time; their times are the clock's."""
        self.script.load(changesets)
        self._script_entry.release_ns = self.script.due_ns

    def stop(self) -> None:
        """Note the stop time in the store and publish the last cycle."""
        if self.plan.engine_stop_time >= 0:
            self.store.write(self.plan.engine_stop_time, (self._clock.now_ns - self.start_ns,))
        self.store.publish(self.board.cycle, self._clock.now_ns)

    def _run_script(self, now_ns: int) -> None:
        self.script.run(now_ns)
        if self._delays.histories:
            self._delays.record(now_ns)
        self._script_entry.release_ns = self.script.due_ns
        touched = self.script.touched
        if self.plan.statetrans_period in touched:
            self._retime(self._transition_entry, self._state_release + _value(self._period), now_ns)
        if self._muscle_period is not None and self.plan.muscle_period in touched:
            self._retime(self._muscle_entry, self._muscle_release + _value(self._muscle_period), now_ns)
        if self.script.requests:
            self._server_entry.release_ns = now_ns

    def _retime(self, entry: TaskEntry, due_ns: int, now_ns: int) -> None:
        """Let a new period count from the last run."""
        if entry.runs and entry.release_ns != NEVER:
            entry.release_ns = max(now_ns, due_ns)

    def _run_start(self, now_ns: int) -> None:
        """Begin an exchange."""
        raise NotImplementedError

    def _run_complete(self, now_ns: int) -> None:
        """Take up an exchange, perhaps complete."""
        raise NotImplementedError

    def _done_ns(self, now_ns: int, entry: TaskEntry) -> int:
        """Return when a task that began at `now_ns` was done."""
        raise NotImplementedError

    def _cycle_complete(self, now_ns: int) -> None:
        self._exchanging = False
        self._motor_action.complete()
        view, at = self._delay
        self._start_entry.release_ns = max(now_ns + view[at], self._motor_action.begun_ns + self._cycle_min_ns)
        self._conversion_entry.release_ns = now_ns
        self._recorder.motor(now_ns, self.board, self._tap.replies(self.board))
        if any(self._bus.misses):
            for motor, misses in enumerate(self._bus.misses):
                if misses:
                    self._missed(motor, misses, now_ns)

    def _missed(self, motor: int, misses: int, now_ns: int) -> None:
        self.missed[motor] += 1
        name, bus_id = self.plan.motors[motor].name, self.plan.motors[motor].bus_id
        if misses == 1:
            self._event(now_ns, "reply_missed", f"{name} (bus id {bus_id}): no usable reply{self._circumstances()}")
        if misses >= _MISS_LIMIT:
            text = f"{name} (bus id {bus_id}) has not answered {misses} times in a row{self._circumstances()}"
            self._event(now_ns, "motor_silent", text)

    def _circumstances(self) -> str:
        """Return what else is to be told of a reply that was missed; nothing where time is exact."""
        return ""

    def _run_conversion(self, now_ns: int) -> None:
        self._conversion_entry.release_ns = NEVER
        self._conversion.run(now_ns)
        if self.clamps.ahead:
            self.clamps.settle()
        if self._delays.histories:
            self._delays.record(now_ns)
        if self.start_pose_deg is None and self.board.sensed:
            self.start_pose_deg = self._pose()
        self._recorder.sensors(now_ns, self.store)
        self.store.publish(self.board.cycle, now_ns)

    def _pose(self) -> dict[str, float]:
        channels = zip(self.plan.motors, self._conversion.channels, strict=True)
        angles = {motor.joint: float(channel.angle_view[channel.angle_at]) for motor, channel in channels}
        return {self.plan.joints[joint].name: angle for joint, angle in angles.items()}

    def _run_transition(self, now_ns: int) -> None:
        entry = self._transition_entry
        self._state_release = entry.release_ns
        if self.triggers.armed and self.board.sensed:
            self.transition.refresh(now_ns)
            self._run_triggers(now_ns)
        self.transition.run(now_ns)
        self._recorder.states(now_ns, self.board)
        if self._muscle_period is None:
            self._muscle_entry.release_ns = now_ns
        self._next_period(entry, _value(self._period), now_ns)

    def _run_triggers(self, now_ns: int) -> None:
        changes = self.triggers.run(now_ns, self.start_ns)
        for change in changes:
            later = f", acts {(change.time_ns - now_ns) * 1e-9:g} s later" if change.time_ns > now_ns else ""
            self._event(now_ns, "trigger", f"{change.cause}{later}, cycle {self.board.cycle}")
        if changes:
            self.script.load(changes)
            self._script_entry.release_ns = self.script.due_ns
            if self.script.due_ns <= now_ns:
                self._run_script(now_ns)
        for origin in self.triggers.spent:
            self._recorder.done(now_ns, Changeset(now_ns, (), origin=origin), 0)
        self.triggers.spent.clear()

    def _on_trigger(self, trigger: Trigger, origin: int) -> None:
        try:
            self.triggers.arm(trigger, origin)
        except RuleError as error:
            now_ns = self._clock.now_ns
            self._event(now_ns, "trigger_refused", f"when {trigger.rule}: {error}")
            self._recorder.done(now_ns, Changeset(now_ns, (), origin=origin), 1)

    def _next_period(self, entry: TaskEntry, period: int, begun_ns: int) -> None:
        """Release the task at its next period that is neither before its end nor the instant it has just run at."""
        done_ns = self._done_ns(begun_ns, entry)
        entry.release_ns += period
        late = max(done_ns, begun_ns + 1) - entry.release_ns
        if late > 0:
            skipped = -(-late // period)
            entry.release_ns += skipped * period
            self._count_overrun(entry, skipped)
            if done_ns - entry.reported_ns >= _OVERRUN_AGAIN_NS:
                entry.reported_ns = done_ns
                self._event(done_ns, "overrun", f"{entry.name} overran; {entry.skipped} periods skipped so far")

    def _count_overrun(self, entry: TaskEntry, skipped: int) -> None:
        entry.overruns += 1
        entry.skipped += skipped

    def _run_muscles(self, now_ns: int) -> None:
        entry = self._muscle_entry
        self._muscle_release = entry.release_ns
        if self.board.sensed:
            self._pull(now_ns)
        if self._muscle_period is None:
            entry.release_ns = NEVER
        else:
            self._next_period(entry, _value(self._muscle_period), now_ns)

    def _pull(self, now_ns: int) -> None:
        if self._muscle_period is not None:
            self.transition.advance(now_ns)
        self.muscles.run(now_ns)
        self._recorder.muscles(now_ns, self.board)

    def _run_server(self, now_ns: int) -> None:
        self._server_entry.release_ns = NEVER
        self._server.run(now_ns)
        if self.script.requests:
            self._server_entry.release_ns = now_ns

    def _on_applied(self, applied: Applied) -> None:
        self._recorder.applied(applied)
        if applied.refused:
            hdso = self.plan.hdsos[applied.write.hdso]
            text = f"HDSO {hdso.id_num} ({hdso.name}) was not written: {applied.refused}"
            self._event(applied.time_ns, "write_refused", text)

    def _event(self, time_ns: int, kind: str, text: str) -> None:
        """Tell of something. Raises EngineFault where it is a fault that does not let the bout go on."""
        fault = FAULTS.get(kind)
        if fault is not None and fault.effects[self.process] is not Effect.WARN:
            raise EngineFault(kind, text)
        # The remedy is told once: the first time is when somebody looks.
        if fault is not None and kind not in self._hinted:
            self._hinted.add(kind)
            text = f"{text} ({fault.hint})"
        self._recorder.event(time_ns, kind, text)


def _value(cell: tuple[BufferView, int]) -> int:
    view, at = cell
    return view[at]
