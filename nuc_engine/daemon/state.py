"""What an engine is at: its mode, bout, torque, latch, and what waits; and all that changes them.

Nothing else writes these. `nuc_engine.daemon.modes` says what follows from what; orders, the monitor and the loop in
`nuc_engine.daemon.engine` call what is here.
"""

from __future__ import annotations

import gc
from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from drivers.bus import Bus
from drivers.clock import WaitingClock
from drivers.port import NEVER
from drivers.servo import ReplyStatus
from nuc_engine.control.clamps import OFF as AS_MEASURED
from nuc_engine.control.controls import SENSE
from nuc_engine.control.faults import FAULTS, OFF, Effect, Process, hint_of
from nuc_engine.control.tasks.board import Drive
from nuc_engine.daemon.block import Block, Word
from nuc_engine.daemon.brownout import BrownOutDetector
from nuc_engine.daemon.cyclering import CycleRing
from nuc_engine.daemon.latch import latch, latched
from nuc_engine.daemon.launch import ServeOptions, StopPolicy
from nuc_engine.daemon.live import LiveExecutive
from nuc_engine.daemon.modes import EngineAction, Input, Mode, Refusal, step, transition
from nuc_engine.daemon.peers import PeerMonitor
from nuc_engine.daemon.ringrecorder import RingRecorder
from nuc_engine.daemon.wire import RecordKind, unpack
from nuc_engine.model.changes import Changeset, JointControl
from nuc_engine.model.plan import Plan

PARK_RATE_DEG_S = 20.0


class RetryLater(Refusal):
    """An order that fails because a servo did not answer; it is retried after the next reply."""


@dataclass(frozen=True, slots=True)
class Deferred:
    """An order that is tried again at each look, until a time."""

    kind: int
    content: bytes
    until_ns: int


class EngineState:
    """One engine on its buses, as far as orders and events change it. Arguments are those of `Engine`."""

    def __init__(
        self,
        plan: Plan,
        bus: Bus,
        block: Block,
        options: ServeOptions,
        clock: WaitingClock,
        *,
        wake: Callable[[], None],
        orphaned: Callable[[], bool] = lambda: False,
        motors_by_bus: Sequence[Sequence[int]] = (),
        cycles: CycleRing | None = None,
    ) -> None:
        self.plan, self.bus, self.block, self.options, self.clock = plan, bus, block, options, clock
        self.words = block.words
        self._motors_by_bus = motors_by_bus or [range(len(plan.motors))]
        self.neighbours = PeerMonitor(block.words, clock.now_ns, orphaned)
        self.store = block.store(plan)
        self.recorder = RingRecorder(plan, self.store, block.rings["records"], self.words, wake, cycles)
        self._limits: list[int | None] = [options.limits.get(motor.name) for motor in plan.motors]
        self._park_deg = {
            joint.index: options.park_deg[joint.name] for joint in plan.joints if joint.name in options.park_deg
        }
        self._park_rate_deg_s = PARK_RATE_DEG_S
        self._waiting: list[Changeset] = []
        self._deferred: list[Deferred] = []
        self.run_at_ns = self.stop_at_ns = NEVER
        self._next_run = (-1, 0)
        # A core that was killed in the middle of a bout has left its number behind.
        self.bout = self.words[Word.BOUT] = 0
        self._forget_statistics()
        self.live = self._executive(running=False, keep_store=any(self.store.flags))
        self.latched = False
        """Whether this core heeds the latch of the block: the guardian may latch at any time."""
        self.mode = Mode.CONFIGURED
        self.inherit()

    def inherit(self) -> None:
        """Enter the mode that a core begins in: what was latched before it stays latched."""
        reason = latched(self.words)
        self.latched = bool(reason)
        if not reason:
            self._enter(Mode.CONFIGURED, "configured")
        else:
            self._enter(Mode.STOPPED if reason == OFF else Mode.FAULT, f"{reason} is latched")

    def allow(self, what: Input) -> Mode:
        """Return the mode after `what`, which leads to driving, or allows it (RUN, ARM, POSE).

        Raises Refusal where nothing may drive now, or this mode does not allow it.
        """
        if self.words[Word.SHUTDOWN]:
            raise Refusal("the engine is being shut down")
        if self.neighbours.guardian_lost:
            raise Refusal("no guardian watches over the engine: another one is being started; try again in a second")
        if self.bus.refusals:
            raise Refusal("; ".join(self.bus.refusals))
        return step(self.mode, what, latched=bool(self.words[Word.LATCHED]))

    def plan_run(self, delay_ns: int, stop_ns: int, bout: int) -> None:
        """Let a bout begin after a delay. Raises Refusal."""
        self.allow(Input.RUN)
        if self.run_at_ns != NEVER:
            raise Refusal("a bout is about to begin already")
        silent = [self.plan.motors[k].name for k, status in enumerate(self.bus.status) if status != ReplyStatus.OK]
        if silent:
            raise RetryLater(f"no answer from {', '.join(silent)}: check power, cable and id")
        self._next_run = (stop_ns, bout)
        self.run_at_ns = self.clock.now_ns + delay_ns

    def _take(self, what: Input, why: str, *, reason: str = "", policy: StopPolicy | str = "") -> None:
        """Do what the table says of this in the mode that is, and enter the one that follows.

        `reason` is what is latched; `policy` as in `stop`.
        """
        now = self.clock.now_ns
        after, action = transition(self.mode, what, latched=bool(self.words[Word.LATCHED]))
        if action is EngineAction.NONE:
            return
        self._call_off(reason or why)
        match action:
            case EngineAction.LATCH:
                self._release(now)
                self._latch(reason, why)
                why = f"{reason}: {why}"
            case EngineAction.REST:
                self._rest(policy, now)
                self._end_bout("complete", why)
                if policy == "park":
                    self._park()
            case EngineAction.CLOSE:
                self._release(now)
                self._end_bout("interrupted", why)
            case EngineAction.BEGIN | EngineAction.UNLATCH:
                raise ValueError(f"{action.name} is done by an order of its own")
        self._enter(after, why)
        if action is EngineAction.REST:
            gc.collect()

    def fault(self, name: str, text: str) -> None:
        """Do what the table of faults says of one that was found here."""
        effect = FAULTS[name].effects[Process.CORE]
        if effect is Effect.TORQUE_OFF:
            self.take_off(name, text)
            return
        self._tell_fault(name, text)
        if effect is Effect.STOP:
            self.stop("", f"{name}: {text}")

    def take_off(self, name: str, text: str) -> None:
        """Take the torque off for a fault, wherever it was found, end the bout, and stay so until armed."""
        self._take(Input.FAULT, text, reason=name)

    def end_with(self, name: str, text: str) -> None:
        """Latch a fault with which this process ends: what becomes of the torque is somebody else's."""
        self._latch(name, text)
        self._enter(step(self.mode, Input.FAULT, latched=True), f"{name}: {text}")

    def off(self, why: str) -> None:
        """Do the same on request: this is no fault, and clears none."""
        self._take(Input.OFF, why, reason=OFF)

    def shut_down(self) -> None:
        """Take the torque off and end the bout, since everything is to end."""
        self._take(Input.SHUT_DOWN, "the engine was shut down")

    def stop(self, policy: StopPolicy | str, why: str) -> None:
        """End the bout under way as the policy says; without one, do with the motors what the policy says.

        Where nothing is under torque the configured policy brings none: hold and park must then be asked for by name.
        """
        if not policy:
            policy = self.options.on_stop if self.words[Word.TORQUE] or self.bout else "off"
        self._take(Input.STOP, why, policy=policy)

    def arm(self) -> None:
        """Allow driving again. Raises Refusal while a servo has not confirmed that its torque is off."""
        after = self.allow(Input.ARM)
        if self.latched and not self.live.limp:
            silent = [self.plan.motors[k].name for k, s in enumerate(self.bus.status) if s != ReplyStatus.OK]
            raise RetryLater(
                f"{', '.join(silent) or 'a servo'} has not confirmed that its torque is off: check its power"
            )
        if self.latched:
            self.latched = False
            self.words[Word.LATCHED] = 0
        self._enter(after, "armed")

    def _latch(self, name: str, text: str) -> None:
        """Latch a fault or `OFF`, tell it, and end the bout with it."""
        latch(self.words, name)
        self.latched = True
        self._tell_fault(name, text)
        self._end_bout("interrupted" if name == OFF else "fault", f"{name}: {text}")

    def defer(self, order: Deferred) -> None:
        """Keep an order that is to be tried again."""
        self._deferred.append(order)

    def take_deferred(self) -> list[Deferred]:
        """Return the orders that are to be tried again; they are kept no longer."""
        deferred, self._deferred = self._deferred, []
        return deferred

    def _call_off(self, why: str) -> None:
        """Let nothing come of a bout that is about to begin, nor of orders that wait for a reply.

        Something has happened that whoever gave them did not know of.
        """
        self.run_at_ns = NEVER
        for order in self.take_deferred():
            request = unpack(order.content)[0]
            self.recorder.acknowledge(request, False, self.clock.now_ns, f"not any more: {why}")

    def _rest(self, policy: str, now: int) -> None:
        if policy == "off":
            self._release(now)
        else:
            self.live.settle(now)
            self.live.rest(Drive.TARGET)

    def park_in(self, pose_deg: dict[int, float], rate_deg_s: float) -> None:
        """Let a stop park in this pose from now on: joints by index."""
        self._park_deg, self._park_rate_deg_s = pose_deg, rate_deg_s

    def set_limits(self, limits: Sequence[int | None]) -> None:
        """Let the guard keep to these limits from now on."""
        self._limits = list(limits)
        self.live.guard.set_limits(self._limits)

    def _park(self) -> None:
        for joint, angle in self._park_deg.items():
            for control in (JointControl("rate", joint, self._park_rate_deg_s), JointControl("target", joint, angle)):
                refused = self.live.controls.apply(control)
                if refused:
                    self.event("park_refused", f"{refused}; this joint holds where it is")

    def _release(self, now: int) -> None:
        """Take the torque off; what was ordered before takes effect before, and can drive nothing any more."""
        self.live.release(now)
        self.live.settle(now)
        self.live.rest(Drive.LIMP)

    def _tell_fault(self, name: str, text: str) -> None:
        self.event(name, f"{text} ({hint_of(name)})")

    def event(self, name: str, text: str) -> None:
        """Tell the service of something worth a line."""
        self.recorder.event(self.clock.now_ns, name, text)

    def dump(self) -> None:
        """Tell the whole store as it is now."""
        live = self.store.live_bytes()
        self.recorder.tell(RecordKind.STORE, self.clock.now_ns, self.live.board.cycle, live)

    def begin(self) -> None:
        """Begin the bout that was planned."""
        stop_ns, bout = self._next_run
        self.run_at_ns = NEVER
        self.live.settle(self.clock.now_ns)
        gc.collect()
        self._forget_statistics()
        self.live = live = self._executive(running=True, keep_store=True)
        self.recorder.begin()
        start = live.begin()
        self.stop_at_ns = NEVER if stop_ns < 0 else start + stop_ns
        self.bout = bout
        self.words[Word.BOUT_START], self.words[Word.BOUT] = start, bout
        self.words[Word.LAST_BOUT] = bout
        self.recorder.tell(RecordKind.BOUT_BEGIN, start, bout, stop_ns)
        self.recorder.tell(RecordKind.STORE, start, 0, self.store.live_bytes())
        live.load([_at(changeset, start + changeset.time_ns) for changeset in self._waiting])
        self._waiting.clear()
        self._enter(step(self.mode, Input.RUN, latched=False), f"bout {bout}")

    def load(self, changeset: Changeset) -> None:
        """Take a changeset: engine time, or -1 for at once."""
        if changeset.time_ns < 0:
            self.live.load([_at(changeset, self.clock.now_ns)])
        elif self.bout:
            # A time that has passed is now.
            due_ns = max(self.live.start_ns + changeset.time_ns, self.clock.now_ns)
            self.live.load([_at(changeset, due_ns)])
        else:
            insort(self._waiting, changeset, key=lambda item: item.time_ns)

    @property
    def pending(self) -> int:
        """How many changesets wait for their time."""
        return len(self._waiting) + len(self.live.script)

    def forget(self, origin: int) -> int:
        """Drop changesets of one request, or all (-1), that are not due yet; return how many."""
        before = len(self._waiting)
        self._waiting = [item for item in self._waiting if origin not in (-1, item.origin)]
        return before - len(self._waiting) + self.live.script.forget(origin) + self.live.triggers.forget(origin)

    def _end_bout(self, state: str, reason: str) -> None:
        if not self.bout:
            return
        now, live = self.clock.now_ns, self.live
        live.triggers.forget(-1)
        cut = live.script.forget(-1)
        if cut:
            self.event("script_cut", f"{cut} changeset(s) of later times were dropped with the end of the bout")
        live.stop()
        self.recorder.tell(RecordKind.POSE, now, live.start_pose_deg or {})
        counts = live.counts(live.bus_counts())
        self.recorder.tell(RecordKind.COUNTS, now, counts)
        if wrong := ", ".join(f"{name} {count}" for name, count in counts["bus"].items() if count):
            self.event("bus_counts", f"on the bus in this bout: {wrong}")
        self.recorder.tell(RecordKind.BOUT_END, now, self.bout, state, reason)
        self.bout = self.words[Word.BOUT] = 0
        self.stop_at_ns = NEVER
        # What was clamped for this bout is sensed again: the next one has the same store.
        for index in tuple(self.store.parted):
            live.controls.apply(JointControl(SENSE, index, AS_MEASURED))

    def _forget_statistics(self) -> None:
        for statistics in self.block.statistics.values():
            statistics.clear()

    def _executive(self, *, running: bool, keep_store: bool) -> LiveExecutive:
        return LiveExecutive(
            self.plan,
            self.bus,
            self.recorder,
            self.block,
            self.clock,
            self.store,
            running=running,
            keep_store=keep_store,
            limits=self._limits,
            approach_deg_s=self.options.approach_deg_s,
            silence=BrownOutDetector(self._motors_by_bus, self.options.silent_cycles, self.bus.stray_bytes),
        )

    def _enter(self, mode: Mode, why: str) -> None:
        self.mode = mode
        self.words[Word.MODE] = mode
        self.recorder.tell(RecordKind.MODE, self.clock.now_ns, int(mode), why, self.bout)


def _at(changeset: Changeset, time_ns: int) -> Changeset:
    return replace(changeset, time_ns=time_ns)
