"""The executive on the real clock: the same tasks, called one by one by a loop that also waits and listens."""

from __future__ import annotations

from collections.abc import Sequence

from drivers.bus import Bus, all_counts
from drivers.clock import Clock
from drivers.port import NEVER
from nuc_engine.control.blocks import LIVE_SEED
from nuc_engine.control.dispatcher import Dispatcher, TaskEntry
from nuc_engine.control.faults import FAULTS, Process
from nuc_engine.control.tasks.board import Drive
from nuc_engine.daemon.block import Block, Word
from nuc_engine.daemon.brownout import LATE_NS, BrownOutDetector
from nuc_engine.daemon.ringrecorder import RingRecorder
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import Store

_STILL = (Drive.LIMP, Drive.NONE)


_HELD_NS = FAULTS["bus_held_up"].delay_ns

LOOKAHEAD_NS = 80_000
"""How soon before state transition is due no other task is begun any more: about as long as one takes."""


class LiveExecutive(Dispatcher):
    """Runs one model in real time, one task per `dispatch`.

    While `running`, it does what the virtual one does, in the same order of tasks (`TASKS`). While not, servos are
    exchanged with and sensors converted, but rules and muscles rest, and what the motors do stands in the controls
    alone.

    One exception to that order, since here tasks take time and state transition alone has a deadline: an exchange is
    neither begun nor taken up from shortly before state transition is due until its muscles are computed, but waits
    for one period at most. A reply that was taken up before is converted first, as in virtual time, so the rules and
    muscles of one period have the same sensors, the newest that were taken.
    """

    process = Process.CORE

    def __init__(
        self,
        plan: Plan,
        bus: Bus,
        recorder: RingRecorder,
        block: Block,
        clock: Clock,
        store: Store,
        *,
        running: bool,
        keep_store: bool,
        limits: Sequence[int | None],
        approach_deg_s: float,
        silence: BrownOutDetector,
    ) -> None:
        super().__init__(
            plan,
            bus,
            recorder,
            clock,
            store=store,
            limits=limits,
            approach_deg_s=approach_deg_s,
            keep_store=keep_store,
            seed=LIVE_SEED,
        )
        self._live_bus, self._ring_recorder, self._words = bus, recorder, block.words
        self._statistics = statistics = block.statistics
        self._timed = tuple((e, statistics[e.name], Word.TASK_LAST + k) for k, e in enumerate(self.entries))
        of_a_period = (self._script_entry, self._transition_entry, self._muscle_entry)
        self._timed_of_a_period = tuple(item for item in self._timed if item[0] in of_a_period)
        self._received = all_counts(bus)
        self._silence = silence
        self._releasing = self._held = False
        # The latest wake-up of the cycle under way; since when the line is held up, as far as that was told.
        self._late_ns, self._told_ns = 0, -1
        # As `Word.LIMP_SINCE` has it: who confirmed before this core was there still hangs limp.
        self._limp_since = [self._words[Word.LIMP_SINCE + k] for k in range(len(plan.motors))]
        self.running = running
        self.quiet = False
        if not running:
            self._transition_entry.release_ns = self._muscle_entry.release_ns = NEVER
            self.controls.all(Drive.LIMP)

    @property
    def exchanging(self) -> bool:
        """Whether an exchange is on the wire."""
        return self._exchanging

    @property
    def next_ns(self) -> int:
        """When the next task is due; NEVER when only a reply can make one ready."""
        if self._held:
            return min(self._transition_entry.release_ns, self._muscle_entry.release_ns)
        return min([entry.release_ns for entry in self.entries])

    @property
    def limp(self) -> bool:
        """Whether every servo has confirmed that its torque is off."""
        board = self.board
        return not self._releasing and all(board.limp) and all(drive is Drive.LIMP for drive in board.drives)

    def dispatch(self, now_ns: int) -> bool:
        """Run the most urgent task that is due; False when none is. Raises EngineFault and the port's PortError."""
        self._held = False
        timed = self._timed
        if self._conversion_entry.release_ns == NEVER:
            period_due_ns = self._transition_entry.release_ns
            patient = min(self._start_entry.release_ns, self._complete_entry.release_ns) >= self._state_release
            # Muscles of the rules' period end it; those of a period of their own may be due without end.
            ends_period = patient or self._muscle_period is None
            if (ends_period and self._muscle_entry.release_ns <= now_ns) or (patient and period_due_ns <= now_ns):
                timed = self._timed_of_a_period
            elif patient and period_due_ns < now_ns + LOOKAHEAD_NS:
                # A task is not interrupted: the rules would have to wait for the end of whatever is begun now.
                self._held = True
                return False
        for entry, statistics, fresh in timed:
            release = entry.release_ns
            if release <= now_ns:
                entry.runs += 1
                entry.run(now_ns)
                done = self._clock.now_ns
                statistics.record(release, now_ns, done)
                self._words[fresh] = done
                return True
        return False

    def begin_idle(self) -> None:
        """Begin the first exchange now."""
        self._start_entry.release_ns = self._clock.now_ns

    def begin(self) -> int:
        """Make now the start of the bout; return it."""
        self.start_ns = now = self._clock.now_ns
        self._start_entry.release_ns = self._transition_entry.release_ns = now
        if self._muscle_period is not None:
            self._muscle_entry.release_ns = now
        self.transition.begin(now)
        return now

    def readable(self, now_ns: int) -> None:
        """Take note that bytes have come. Those that come unasked are thrown away."""
        if self._exchanging:
            self._complete_entry.release_ns = min(self._complete_entry.release_ns, now_ns)
        else:
            self._live_bus.proceed(now_ns)

    def settle(self, now_ns: int) -> None:
        """Let what is due of the changesets take effect now."""
        if self.script.due_ns <= now_ns:
            self._run_script(now_ns)

    def rest(self, drive: Drive | None) -> None:
        """End the rules and muscles of a bout; let every motor be driven so, or (None) as the controls have it."""
        self.running = self.quiet = False
        if not self._exchanging:
            self._start_entry.release_ns = min(self._start_entry.release_ns, self._clock.now_ns)
        self._transition_entry.release_ns = self._muscle_entry.release_ns = NEVER
        self.board.deltas = [0.0] * len(self.board.deltas)
        if drive is not None:
            self.controls.all(drive)

    def release(self, now_ns: int) -> None:
        """Take the torque off every servo now: what is left of the exchange under way is dropped."""
        self.rest(Drive.LIMP)
        self._releasing = self._exchanging = True
        self._motor_action.release()
        for motor in range(len(self._limp_since)):
            self._note_limp(motor, 0)
        self._start_entry.release_ns = NEVER
        self._live_bus.torque_off(now_ns)
        self._complete_entry.release_ns = self._live_bus.wake_ns

    def bus_counts(self) -> dict[str, int]:
        """Return what the bus has counted since the start."""
        return {name: now - self._received.get(name, 0) for name, now in all_counts(self._live_bus).items()}

    def _run_start(self, now_ns: int) -> None:
        self._start_entry.release_ns = NEVER
        if self._words[Word.LATCHED]:
            # Whatever led to it: nothing drives while a fault is latched.
            self.controls.all(Drive.LIMP)
        if self._drives_something():
            # Before the first byte, so that it is known should this process end.
            self._words[Word.TORQUE] = 1
            for motor, drive in enumerate(self.board.drives):
                if drive not in _STILL and self._limp_since[motor]:
                    self._note_limp(motor, 0)
        self._motor_action.start(now_ns)
        self._exchanging = True
        self._complete_entry.release_ns = self._live_bus.wake_ns

    def _run_complete(self, now_ns: int) -> None:
        self._late_ns = max(self._late_ns, now_ns - self._live_bus.wake_ns)
        if not self._live_bus.proceed(now_ns):
            self._note_held(now_ns, self._live_bus.held_since_ns)
            self._complete_entry.release_ns = self._live_bus.wake_ns
            return
        self._complete_entry.release_ns = NEVER
        self._releasing = False
        late = self._late_ns > LATE_NS
        silent = self._silence.look(self._live_bus.status, self._live_bus.stray_bytes, late=late)
        self._cycle_complete(now_ns)
        self._note_held(now_ns, self._live_bus.held_since_ns)
        self._late_ns = 0
        self._words[Word.CYCLE] = self.board.cycle
        for motor, since_ns in enumerate(self._limp_since):
            if not since_ns and self.board.limp[motor]:
                self._note_limp(motor, now_ns)
        if self.quiet:
            self._start_entry.release_ns = NEVER
        if self._live_bus.refusals and self._drives_something():
            self._event(now_ns, "servo_refused", "; ".join(self._live_bus.refusals))
        if silent is not None and self._drives_something():
            self._event(now_ns, "bus_silent", self._say_silent(*silent))

    def _note_limp(self, motor: int, since_ns: int) -> None:
        self._limp_since[motor] = self._words[Word.LIMP_SINCE + motor] = since_ns

    def _note_held(self, now_ns: int, since_ns: int) -> None:
        """Tell when replies begin to come late, and end the bout where that lasts."""
        if since_ns >= 0 and self._drives_something():
            if since_ns != self._told_ns:
                self._event(now_ns, "replies_late", f"replies come late, goals are held{self._circumstances()}")
            if now_ns - since_ns > _HELD_NS:
                text = f"replies have been late for {(now_ns - since_ns) / 1e6:.0f} ms{self._circumstances()}"
                self._event(now_ns, "bus_held_up", text)
        self._told_ns = since_ns

    def _circumstances(self) -> str:
        return f"; woken up to {max(self._late_ns, 0) / 1e6:.1f} ms late, {self._live_bus.owed_bytes} bytes owed"

    def _drives_something(self) -> bool:
        return any(drive not in _STILL for drive in self.board.drives)

    def _say_silent(self, bus: int, requests: int) -> str:
        name = self.plan.motors[self._silence.motors(bus)[0]].bus
        where = f"bus {name!r}" if name else "the bus"
        return f"no servo of {where} answered {requests} requests in a row, and now they do"

    def _missed(self, motor: int, misses: int, now_ns: int) -> None:
        if self._drives_something():
            super()._missed(motor, misses, now_ns)
            return
        # Nothing is driven, so nothing is in danger: it is reported at the next attempt to drive.
        self.missed[motor] += 1

    def _count_overrun(self, entry: TaskEntry, skipped: int) -> None:
        super()._count_overrun(entry, skipped)
        self._statistics[entry.name].overrun(skipped)

    def _done_ns(self, now_ns: int, entry: TaskEntry) -> int:
        return self._clock.now_ns
