"""The guardian: the process that takes the torque off when the core does not.

It sleeps 4 ms at a time above the core's priority. When the core is dead, stands still, or does not do what it was
asked to, or when the main process is gone, it kills the core through a pidfd, so that there is no second writer and
nobody who could wake up and write, and takes the torque off until every servo has confirmed. A guardian that is started
without a core does the same first of all. `nuc_engine.daemon.watch` judges, `nuc_engine.daemon.release` does it.
"""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from drivers.clock import WaitingClock
from nuc_engine.control.faults import FAULTS, OFF, Effect, Process, hint_of
from nuc_engine.daemon.block import OWNER_CORE, OWNER_GUARDIAN, Word
from nuc_engine.daemon.latch import latch, latched
from nuc_engine.daemon.launch import Launch
from nuc_engine.daemon.lines import open_lines
from nuc_engine.daemon.off_requests import Requester, confirm, requested
from nuc_engine.daemon.offsocket import OffServer
from nuc_engine.daemon.release import LAST_NS, GuardedBus, Release
from nuc_engine.daemon.watch import PERIOD_NS, CoreWatch, LatchCause
from nuc_engine.daemon.wire import RecordKind, pack
from nuc_engine.realtime import RealClock, RealtimePolicy, acquire

ABOVE_CORE = 10
"""How far the guardian's priority is above the core's."""

DEATH_NS = 10_000_000
"""How long to wait for a killed core to be gone: it can write nothing more, but a write may be under way."""

RELEASE_TIMEOUT_NS = 2_000_000_000
"""How long the guardian alone keeps asking servos that do not answer. Then the bus goes to a core, which asks them in
every cycle; they stay unconfirmed."""


class Processes(Protocol):
    """Other processes, held by pidfds, which never refer to another process."""

    def open(self, pid: int) -> int | None:
        """Return a pidfd, None when there is no such process."""
        ...

    def dead(self, pidfd: int) -> bool:
        """Say whether the process has ended."""
        ...

    def kill(self, pidfd: int, number: int) -> None:
        """Send a signal; nothing happens when the process has ended."""
        ...

    def close(self, pidfd: int | None) -> None:
        """Let go of it; there may be nothing to let go of."""
        ...


class LinuxProcesses:
    """The processes of this machine."""

    def open(self, pid: int) -> int | None:
        """Return a pidfd, None when there is no such process."""
        with suppress(ProcessLookupError):
            return os.pidfd_open(pid)
        return None

    def dead(self, pidfd: int) -> bool:
        """Say whether the process has ended."""
        return bool(select.select((pidfd,), (), (), 0)[0])

    def kill(self, pidfd: int, number: int) -> None:
        """Send a signal; nothing happens when the process has ended."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, number)

    def close(self, pidfd: int | None) -> None:
        """Let go of it; there may be nothing to let go of."""
        if pidfd is not None:
            os.close(pidfd)


class Guardian:
    """One guardian. `tell` takes (name, text) of an event; `supervisor` and `ends` are pidfds.

    `heed` takes the time, and passes on requests for torque off (see nuc_engine.daemon.offsocket).
    `ends` are processes that must not outlive a main process that was killed (an emulated leg); they end after the
    torque is off.
    """

    def __init__(
        self,
        words: memoryview,
        lines: Sequence[GuardedBus],
        clock: WaitingClock,
        processes: Processes,
        tell: Callable[[str, str], None],
        *,
        heed: Callable[[int], None],
        supervisor: int,
        ends: Sequence[int] = (),
        motors: Sequence[str] = (),
    ) -> None:
        self._words, self._clock, self._processes, self._tell = words, clock, processes, tell
        self._heed = heed
        self._supervisor, self._ends, self._motors = supervisor, tuple(ends), tuple(motors)
        self._watch = CoreWatch(words)
        self._release = Release(lines, words, clock, self._heartbeat)
        self._core: int | None = None
        # Generation of the last core that is watched or has been dealt with, and of one a dead guardian left behind.
        self._known = self._heritage = 0
        self._due_ns = clock.now_ns

    def take_over(self) -> bool:
        """Take over from an earlier guardian, or begin; False when a port is gone.

        `Word.GUARDIAN_WATCHES` names the core that drives, or drove and has not been dealt with. Unless that one lives
        still, the torque is taken off first of all.
        """
        words = self._words
        generation, pid, watched = words[Word.CORE_GENERATION], words[Word.CORE_PID], words[Word.GUARDIAN_WATCHES]
        if pid and words[Word.BUS_OWNER] == OWNER_CORE and watched in (0, generation):
            self._heritage = watched
            self._heartbeat()
            return True
        if watched and latched(words) in ("", OFF):
            self._latch(LatchCause("core_dead", f"core {watched} and the guardian are dead"))
        self._known = watched
        if pid and watched == generation:
            # The guardian before this one ended while it was taking over from that core.
            self._core = self._processes.open(pid)
        return self._take_off()

    def step(self) -> bool:
        """Wait for the end of a period, look, and do what has to be done; False when it was the last."""
        counted = self._wait()
        self._heartbeat()
        supervisor_dead = self._processes.dead(self._supervisor)
        core_dead = self._core is not None and self._processes.dead(self._core)
        finding = self._watch.look(core_dead=core_dead, supervisor_dead=supervisor_dead, counted=counted)
        if finding is None and core_dead:
            self._forget_core()
        finding = finding or self._follow()
        if finding is None:
            return True
        if finding.reason != OFF and FAULTS[finding.reason].effects[Process.GUARDIAN] is not Effect.TORQUE_OFF:
            self._tell_of(finding)
            return True
        self._latch(finding)
        whole = self._take_off(LAST_NS if supervisor_dead else RELEASE_TIMEOUT_NS, finding.reason)
        if supervisor_dead:
            # No other process reports it, and the service waits for it.
            self._words[Word.CORE_PID] = 0
            for pidfd in self._ends:
                self._processes.kill(pidfd, signal.SIGTERM)
        return whole and not supervisor_dead

    def _heartbeat(self) -> None:
        now_ns = self._words[Word.GUARDIAN_HEARTBEAT] = self._clock.now_ns
        self._heed(now_ns)

    def _wait(self) -> bool:
        """Wait for the next period's end, or the end of a process; True for the former."""
        now_ns = self._clock.now_ns
        self._due_ns += PERIOD_NS
        if self._due_ns <= now_ns:
            # Late by a period or more: whatever was slept through counts once.
            self._due_ns = now_ns
            return True
        watched = [self._supervisor] if self._core is None else [self._supervisor, self._core]
        if not self._clock.wait(self._due_ns, watched):
            return True
        self._due_ns -= PERIOD_NS
        return False

    def _follow(self) -> LatchCause | None:
        """Watch the newest core from its first heartbeat. A finding when an inherited one has ended already."""
        words = self._words
        generation, pid = words[Word.CORE_GENERATION], words[Word.CORE_PID]
        if generation == self._known:
            return None
        pidfd = self._processes.open(pid) if pid else None
        if words[Word.CORE_PID] != pid or words[Word.CORE_GENERATION] != generation:
            self._processes.close(pidfd)
            return None
        if self._heritage and (pidfd is None or generation != self._heritage):
            self._processes.close(pidfd)
            self._known, self._heritage = self._heritage, 0
            return LatchCause("core_dead", f"core {self._known} ended while there was no guardian")
        if pidfd is None or not words[Word.CORE_HEARTBEAT]:
            self._processes.close(pidfd)
            return None
        self._core, self._known, self._heritage = pidfd, generation, 0
        self._watch.begin(generation)
        words[Word.GUARDIAN_WATCHES] = generation
        return None

    def _kill_core(self) -> None:
        if self._core is None:
            return
        self._processes.kill(self._core, signal.SIGKILL)
        gone_by_ns = self._clock.now_ns + DEATH_NS
        while not self._processes.dead(self._core) and self._clock.now_ns < gone_by_ns:
            self._clock.wait(gone_by_ns, (self._core,))
        self._forget_core()

    def _forget_core(self) -> None:
        if self._core is not None:
            self._processes.close(self._core)
            self._core = None
        self._watch.end()

    def _take_off(self, timeout_ns: int = RELEASE_TIMEOUT_NS, reason: str = "") -> bool:
        """Make sure there is no core that writes, and take the torque off; False when a port is gone."""
        words = self._words
        words[Word.BUS_OWNER] = OWNER_GUARDIAN
        self._kill_core()
        if reason:
            # The core may have been arming while it was latched: it can no longer be told to stop.
            latch(words, reason)
        before = requested(words)
        words[Word.GUARDIAN_ACTS] += 1
        confirmed = self._release.run(self._clock.now_ns + timeout_ns)
        self._due_ns = self._clock.now_ns
        self._watch.end()
        if self._release.lost:
            self._latch(LatchCause("bus_lost", f"the port is gone: {', '.join(map(repr, self._release.lost))}"))
            return False
        if confirmed:
            words[Word.TORQUE] = 0
            self._tell("torque_off", "every servo has confirmed that its torque is off")
        else:
            self._tell("torque_unconfirmed", f"no answer from {', '.join(self._unconfirmed())}; they are asked again")
        confirm(words, Word.OFF_DONE_GUARDIAN, before)
        words[Word.GUARDIAN_WATCHES] = 0
        words[Word.BUS_OWNER] = OWNER_CORE
        return True

    def _latch(self, finding: LatchCause) -> None:
        latch(self._words, finding.reason)
        self._tell_of(finding)

    def _tell_of(self, finding: LatchCause) -> None:
        self._tell(finding.reason, f"{finding.text} ({hint_of(finding.reason)})")

    def _unconfirmed(self) -> list[str]:
        return [name for motor, name in enumerate(self._motors) if self._words[Word.UNCONFIRMED] >> motor & 1]


def run(launch: Launch, ends: Sequence[int] = ()) -> int:
    """Be the guardian of `launch` until the main process or a port is gone; `ends` as in Guardian.

    Returns 0, or 1 when a port is gone. Raises BlockError without a plan, BusUrlError for buses that do not fit it.
    """
    block, options = launch.block, launch.options
    words = block.words
    priority = min(99, options.priority + ABOVE_CORE) if options.priority else None
    # All of it takes 2 ms: what is locked page by page is in memory already, as the main process's.
    rights = acquire(RealtimePolicy(priority=priority, on_fault=True, latency_us=None))
    clock = RealClock()

    def tell(name: str, text: str) -> None:
        block.rings["guardian"].put(RecordKind.EVENT, pack(clock.now_ns, name, text))
        with suppress(BlockingIOError):
            os.eventfd_write(launch.to_service, 1)

    plan = block.read_plan()
    motors = [motor.name for motor in plan.motors]
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM, fileno=launch.off)
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM, fileno=launch.probe)
    desk = OffServer(words, receiver, Requester.GUARDIAN, lambda: motors, tell, probe)
    guardian = Guardian(
        words,
        open_lines(launch.buses, plan),
        clock,
        LinuxProcesses(),
        tell,
        supervisor=launch.supervisor,
        ends=ends,
        motors=motors,
        heed=desk.look,
    )
    if not guardian.take_over():
        desk.leave(clock.now_ns)
        return 1
    for missing in rights.missing:
        tell("privilege_missing", f"guardian: {missing}")
    while guardian.step():
        pass
    desk.leave(clock.now_ns)
    return 1 if words[Word.BUS_LOST] else 0
