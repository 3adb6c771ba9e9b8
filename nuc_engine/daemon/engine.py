"""The engine in the core: runs the tasks in real time, beats, obeys commands, takes the torque off when it must.

    while it lives:  the most urgent task that is due,
                     or else one command,
                     or else wait for the first of: next task, bus descriptor, command, 4 ms

Everything here is one thread without files, XML or sockets. What a command does is in `nuc_engine.daemon.orders`, what
it looks after by itself in `nuc_engine.daemon.monitor`.
"""

from __future__ import annotations

import gc
import os
import traceback
from bisect import insort
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from drivers.bus import Bus
from drivers.clock import WaitingClock
from drivers.errors import PortError
from drivers.port import NEVER
from drivers.servo import ReplyStatus
from nuc_engine.control.faults import FAULTS, OFF, OFF_HINT, EngineFault
from nuc_engine.control.tasks.board import Drive
from nuc_engine.daemon.block import OWNER_CORE, Block, Word
from nuc_engine.daemon.cyclering import CycleRing
from nuc_engine.daemon.latch import latch, latched
from nuc_engine.daemon.launch import ServeOptions, StopPolicy
from nuc_engine.daemon.live import LiveExecutive
from nuc_engine.daemon.modes import Input, Mode, Refusal, step
from nuc_engine.daemon.monitor import look_around
from nuc_engine.daemon.neighbours import Neighbours
from nuc_engine.daemon.orders import Deferred, NotYet, call_off, obey
from nuc_engine.daemon.release import LAST_NS
from nuc_engine.daemon.ringrecorder import RingRecorder
from nuc_engine.daemon.silence import Silence
from nuc_engine.daemon.wire import Kind
from nuc_engine.model.changes import Changeset, Control
from nuc_engine.model.plan import Plan

WATCH_NS = 4_000_000
"""How often the core looks after what nobody wakes it for; its heart beats at least as often."""

EXIT_SHUTDOWN, EXIT_CRASH, EXIT_ORPHANED, EXIT_BUS_LOST = 0, 70, 71, 75
"""How the process ends: told to; an error of its own; guardian and main process are gone; a port is gone."""

GAP_NS = 500_000_000
"""For how long the core may have stood still with everything else, as with a machine that was paused, and drive on."""

PARK_RATE_DEG_S = 20.0


class Engine:
    """One engine on its buses, for as long as plan and ports last.

    `wake` tells the service that there is something to read; `wakened` is the descriptor it wakes the core with;
    `slept` returns for how many nanoseconds the machine was suspended since it was last asked; `orphaned` whether the
    main process is gone; `motors_by_bus` are the plan's numbers of the motors on each bus (empty: one bus has all);
    `cycles` is where other programs read every cycle.
    """

    def __init__(
        self,
        plan: Plan,
        bus: Bus,
        block: Block,
        options: ServeOptions,
        clock: WaitingClock,
        *,
        wakened: int,
        wake: Callable[[], None],
        slept: Callable[[], int],
        orphaned: Callable[[], bool] = lambda: False,
        motors_by_bus: Sequence[Sequence[int]] = (),
        cycles: CycleRing | None = None,
    ) -> None:
        self.plan, self.bus, self.block, self.options, self.clock = plan, bus, block, options, clock
        self.words = block.words
        self._wakened, self.slept = wakened, slept
        self._motors_by_bus = motors_by_bus or [range(len(plan.motors))]
        self.neighbours = Neighbours(block.words, clock.now_ns, orphaned)
        self._filenos = (*bus.filenos(), wakened)
        self.store = block.store(plan)
        self.recorder = RingRecorder(plan, self.store, block.rings["records"], self.words, wake, cycles)
        self.commands = block.rings["commands"]
        self.limits: list[int | None] = [options.limits.get(motor.name) for motor in plan.motors]
        self.park_deg = {
            joint.index: options.park_deg[joint.name] for joint in plan.joints if joint.name in options.park_deg
        }
        self.park_rate_deg_s = PARK_RATE_DEG_S
        self.refusals: tuple[str, ...] = ()
        self.counts: dict[str, int] = {}
        self.refusals_told_ns = self.counts_told_ns = 0
        self.waiting: list[Changeset] = []
        self.deferred: list[Deferred] = []
        self.run_at_ns = self.stop_at_ns = NEVER
        self._next_run = (-1, 0)
        # A core that was killed in the middle of a bout has left its number behind.
        self.bout = self.words[Word.BOUT] = 0
        self._generation = self.words[Word.CORE_GENERATION]
        self._watch_ns = 0
        self._alone_until_ns = NEVER
        self._forget_statistics()
        self.live = self._executive(running=False, keep_store=any(self.store.flags))
        self.latched = False
        """Whether this core heeds the latch of the block: the guardian may latch at any time."""
        self.mode = Mode.CONFIGURED
        self._inherit()

    # --- the loop ---

    def run(self) -> int:
        """Wait for the bus, then work until told to end; return the exit status."""
        if not self._await_the_bus():
            return EXIT_SHUTDOWN
        # What was ordered before was meant for a core that is dead, perhaps one of another plan.
        self.commands.keep(self.commands.written)
        self.words[Word.CORE_READY] = self._generation
        return self.work()

    def work(self) -> int:
        """Work until told to end; return the exit status."""
        try:
            while not self.words[Word.SHUTDOWN] or self._still_under_torque():
                self.turn()
                if self.neighbours.alone and self._done_alone():
                    return EXIT_ORPHANED
        except PortError as error:
            return self._lose_bus(error)
        except Exception as error:  # whatever it is: torque off first, then let the supervisor start anew
            return self._crash(error)
        return EXIT_SHUTDOWN

    def turn(self) -> None:
        """Do the most urgent thing, or wait until there is one."""
        now = self.clock.now_ns
        gap_ns, self.words[Word.CORE_BEAT] = now - self.words[Word.CORE_BEAT], now
        if gap_ns > GAP_NS and self.words[Word.TORQUE] and self.mode is not Mode.FAULT:
            self.fault("stood_still", f"the engine stood still for {gap_ns / 1e9:.1f} s with the torque on")
            return
        # Tasks that leave no time for anything else must not keep a hand from stopping them.
        crowded = now - self._watch_ns > WATCH_NS
        try:
            if not crowded and self.live.dispatch(now):
                return
        except EngineFault as fault:
            self.fault(fault.name, str(fault))
            return
        if crowded:
            self._look_around(now)
            self._obey_one()
            if self._due(now):
                self._begin_or_end(now)
        elif now >= self._watch_ns:
            self._look_around(now)
        elif self._due(now):
            self._begin_or_end(now)
        elif self.commands.written != self.commands.kept:
            self._obey_one()
        else:
            deadline = min(self.live.next_ns, self._watch_ns, self.run_at_ns, self.stop_at_ns)
            readable = self.clock.wait(deadline, self._filenos)
            if readable:
                self._woken(readable)

    def _woken(self, readable: Sequence[int]) -> None:
        if self._wakened in readable:
            with suppress(BlockingIOError):
                os.eventfd_read(self._wakened)
            if len(readable) == 1:
                return
        self.live.readable(self.clock.now_ns)

    def _obey_one(self) -> None:
        for kind, content in self.commands.take():
            obey(self, kind, content)
            break

    def _await_the_bus(self) -> bool:
        """Touch no bus before the guardian holds this process by its pidfd, and has let go of the bus itself.

        False when everything is to end before that. Where guardian and main process are gone, the bus is this core's:
        to take the torque off, and end.
        """
        words = self.words
        while words[Word.BUS_OWNER] != OWNER_CORE or words[Word.GUARDIAN_WATCHES] != self._generation:
            now = words[Word.CORE_BEAT] = self.clock.now_ns
            if now >= self._watch_ns:
                self.neighbours.look(on_time=self._on_time(now))
            if self.neighbours.alone:
                break
            if words[Word.SHUTDOWN]:
                return False
            self.clock.wait(now + 1_000_000, ())
        if words[Word.LATCHED] and not self.latched:
            # By the guardian, after this process looked.
            self._inherit()
        # Nothing was due while it waited.
        self.live.begin_idle()
        return True

    def _inherit(self) -> None:
        """Enter the mode that a core begins in: what was latched before it stays latched."""
        reason = latched(self.words)
        self.latched = bool(reason)
        if not reason:
            self._enter(Mode.CONFIGURED, "configured")
        else:
            self._enter(Mode.STOPPED if reason == OFF else Mode.FAULT, f"{reason} is latched")

    def _still_under_torque(self) -> bool:
        return self.words[Word.TORQUE] != 0 or self.mode is Mode.RUNNING

    def _done_alone(self) -> bool:
        """Whether all is done that a core without guardian and main process can do: the torque is off, or was tried."""
        now = self.clock.now_ns
        self._alone_until_ns = min(self._alone_until_ns, now + LAST_NS)
        if self.live.limp:
            self.words[Word.TORQUE] = 0
        return self.live.limp or now >= self._alone_until_ns

    def _on_time(self, now: int) -> bool:
        """Whether this look at the others came in time; sets when the next is due."""
        on_time = now - self._watch_ns < 2 * WATCH_NS
        self._watch_ns = now + WATCH_NS
        return on_time

    def _look_around(self, now: int) -> None:
        look_around(self, now, on_time=self._on_time(now))

    # --- bouts ---

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
            raise NotYet(f"no answer from {', '.join(silent)}: check power, cable and id")
        self._next_run = (stop_ns, bout)
        self.run_at_ns = self.clock.now_ns + delay_ns

    def stop(self, policy: StopPolicy | str, why: str) -> None:
        """End the bout under way as the policy says; without one, do with the motors what the policy says.

        Where nothing is under torque the configured policy brings none: hold and park must then be asked for by name.
        """
        if self.words[Word.LATCHED]:
            return
        now = self.clock.now_ns
        self._call_off(why)
        if not policy:
            policy = self.options.on_stop if self.words[Word.TORQUE] or self.bout else "off"
        if policy == "off":
            self._release(now)
        else:
            self.live.settle(now)
            self.live.rest(Drive.TARGET)
        self._end_bout("complete", why)
        if policy == "park":
            self._park()
        self._enter(step(self.mode, Input.STOP, latched=False), why)
        gc.collect()

    def _park(self) -> None:
        for joint, angle in self.park_deg.items():
            for control in (Control("rate", joint, self.park_rate_deg_s), Control("target", joint, angle)):
                refused = self.live.controls.apply(control)
                if refused:
                    self.event("park_refused", f"{refused}; this joint holds where it is")

    def _call_off(self, why: str) -> None:
        """Let nothing come of a bout that is about to begin, nor of orders that wait for a reply."""
        self.run_at_ns = NEVER
        call_off(self, f"not any more: {why}")

    def _release(self, now: int) -> None:
        """Take the torque off; what was ordered before takes effect before, and can drive nothing any more."""
        self.live.release(now)
        self.live.settle(now)
        self.live.rest(Drive.LIMP)

    def arm(self) -> None:
        """Allow driving again. Raises Refusal while a servo has not confirmed that its torque is off."""
        after = self.allow(Input.ARM)
        if self.latched and not self.live.limp:
            silent = [self.plan.motors[k].name for k, s in enumerate(self.bus.status) if s != ReplyStatus.OK]
            raise NotYet(f"{', '.join(silent) or 'a servo'} has not confirmed that its torque is off: check its power")
        if self.latched:
            self.latched = False
            self.words[Word.LATCHED] = 0
        self._enter(after, "armed")

    def fault(self, name: str, text: str) -> None:
        """Take the torque off, end the bout, and stay so until armed."""
        now = self.clock.now_ns
        self._call_off(name)
        self._release(now)
        self._latch(name, text)
        self._enter(step(self.mode, Input.FAULT, latched=True), f"{name}: {text}")

    def off(self, why: str) -> None:
        """Do the same because somebody asks for it: no fault, and none is taken back by it."""
        now = self.clock.now_ns
        self._call_off(OFF)
        self._release(now)
        self._latch(OFF, why)
        self._enter(step(self.mode, Input.OFF, latched=True), f"{OFF}: {why}")

    def shut_down(self, now: int) -> None:
        """Take the torque off and end the bout, since everything is to end."""
        self._call_off("the engine is being shut down")
        self._release(now)
        self._end_bout("interrupted", "the engine was shut down")
        self._enter(Mode.STOPPED if self.mode is not Mode.FAULT else Mode.FAULT, "shut down")

    def event(self, name: str, text: str) -> None:
        """Tell the service of something worth a line."""
        self.recorder.event(self.clock.now_ns, name, text)

    def dump(self) -> None:
        """Tell the whole store as it is now."""
        live = self.store.live_bytes()
        self.recorder.tell(Kind.STORE, self.clock.now_ns, self.live.board.cycle, live)

    def _due(self, now: int) -> bool:
        return now >= self.run_at_ns or now >= self.stop_at_ns

    def _begin_or_end(self, now: int) -> None:
        if now >= self.stop_at_ns:
            self.stop("", "ran for the time asked for")
        elif self.live.exchanging:
            # A bout begins between two exchanges. The next turn finds this one further on.
            self.live.quiet = True
            self.clock.wait(min(self.live.next_ns, now + WATCH_NS), self._filenos[:-1])
            self.live.readable(self.clock.now_ns)
        else:
            self._begin()

    def _begin(self) -> None:
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
        self.recorder.tell(Kind.BOUT_BEGIN, start, bout, stop_ns)
        self.recorder.tell(Kind.STORE, start, 0, self.store.live_bytes())
        live.load([_at(changeset, start + changeset.time_ns) for changeset in self.waiting])
        self.waiting.clear()
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
            insort(self.waiting, changeset, key=lambda item: item.time_ns)

    @property
    def pending(self) -> int:
        """How many changesets wait for their time."""
        return len(self.waiting) + len(self.live.script)

    def forget(self, origin: int) -> int:
        """Drop changesets of one request, or all (-1), that are not due yet; return how many."""
        before = len(self.waiting)
        self.waiting = [item for item in self.waiting if origin not in (-1, item.origin)]
        return before - len(self.waiting) + self.live.script.forget(origin)

    def _end_bout(self, state: str, reason: str) -> None:
        if not self.bout:
            return
        now, live = self.clock.now_ns, self.live
        cut = live.script.forget(-1)
        if cut:
            self.event("script_cut", f"{cut} changeset(s) of later times were dropped with the end of the bout")
        live.stop()
        self.recorder.tell(Kind.POSE, now, live.start_pose_deg or {})
        counts = live.counts()
        self.recorder.tell(Kind.COUNTS, now, counts)
        if wrong := ", ".join(f"{name} {count}" for name, count in counts["bus"].items() if count):
            self.event("bus_counts", f"on the bus in this bout: {wrong}")
        self.recorder.tell(Kind.BOUT_END, now, self.bout, state, reason)
        self.bout = self.words[Word.BOUT] = 0
        self.stop_at_ns = NEVER

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
            limits=self.limits,
            approach_deg_s=self.options.approach_deg_s,
            silence=Silence(self._motors_by_bus, self.options.silent_cycles, self.bus.stray_bytes),
        )

    def _enter(self, mode: Mode, why: str) -> None:
        self.mode = mode
        self.words[Word.MODE] = mode
        self.recorder.tell(Kind.MODE, self.clock.now_ns, int(mode), why, self.bout)

    # --- ends ---

    def _lose_bus(self, error: PortError) -> int:
        self.words[Word.BUS_LOST] = 1
        self._latch_and_enter("bus_lost", str(error))
        return EXIT_BUS_LOST

    def _crash(self, error: Exception) -> int:
        try:
            self.bus.torque_off(self.clock.now_ns)
            # Sources are read from the disk for it: only now.
            text = " | ".join("".join(traceback.format_exception(error)).split("\n"))
            self._latch_and_enter("engine_error", f"{type(error).__name__}: {error}: {text}")
            until = self.clock.now_ns + 2 * WATCH_NS
            # What the guardian does next anyway; but this is sooner.
            while self.clock.now_ns < until and not self.bus.proceed(self.clock.now_ns):
                self.clock.wait(min(self.bus.wake_ns, until), self.bus.filenos())
        except Exception as second:  # the guardian will see to it
            self.event("engine_error", f"{type(second).__name__}: {second}")
        return EXIT_CRASH

    def _latch_and_enter(self, name: str, text: str) -> None:
        self._latch(name, text)
        self._enter(Mode.FAULT if self.mode is not Mode.UNCONFIGURED else self.mode, f"{name}: {text}")

    def _latch(self, name: str, text: str) -> None:
        """Latch a fault or `OFF`, tell it, and end the bout with it."""
        latch(self.words, name)
        self.latched = True
        self.event(name, f"{text} ({OFF_HINT if name == OFF else FAULTS[name].hint})")
        self._end_bout("interrupted" if name == OFF else "fault", f"{name}: {text}")


def _at(changeset: Changeset, time_ns: int) -> Changeset:
    return replace(changeset, time_ns=time_ns)
