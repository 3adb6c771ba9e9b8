"""The main process: owns block and ports, forks service, guardian and core, and starts again what has ended.

    tick    every 20 ms, and whenever a child ends, a signal comes or the service has something:
            reap what ended - find lost ports again - a new plan means new guardian and core - start what is missing -
            end what stands still - tell systemd
    end     torque off and confirmed, then the service (it flushes), then core and guardian

Decides nothing about the leg: a process that is killed here leaves torque to the guardian, and a new guardian takes it
off first of all.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from drivers.clock import WaitingClock
from nuc_engine.daemon.block import OWNER_GUARDIAN, Word
from nuc_engine.daemon.children import MOST_STARTS, SERVICE_PAUSE_NS, ChildSlot, Fork, Programs
from nuc_engine.daemon.heartbeats import Heartbeats
from nuc_engine.daemon.launch import STALL_LIMIT_MS, Launch
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.notify import Notifier
from nuc_engine.daemon.off_requests import Requester, pending_requesters, request_off
from nuc_engine.daemon.ports import BusPort
from nuc_engine.daemon.report import StatusReporter
from nuc_engine.daemon.spawn import END_SIGNAL
from nuc_engine.daemon.wire import RecordKind, pack
from nuc_engine.model.store import StoreError

TICK_NS = 20_000_000
CONFIRM_NS = 3_000_000_000
"""How long a commanded end waits for every servo to confirm that its torque is off."""

FLUSH_NS = 5_000_000_000
"""How long it then waits for the service to put its files away."""

HURRY_NS = 1_000_000_000
"""The same for either when it was asked for twice."""

_GUARDIAN_LAST_NS = 6_000_000_000


class Supervisor:
    """One daemon. `signals` is a non-blocking descriptor that gets one byte per signal (see signal.set_wakeup_fd).

    `emulators` start programs that must run for the ports to be there; `show` takes a line for people whenever
    something changes; `heed` asks for torque off if somebody wants it (nuc_engine.daemon.offsocket).
    """

    def __init__(
        self,
        launch: Launch,
        ports: Sequence[BusPort],
        programs: Programs,
        fork: Fork,
        clock: WaitingClock,
        *,
        signals: int,
        notifier: Notifier,
        watchdog_ns: int | None = None,
        emulators: Sequence[tuple[str, Callable[[], int]]] = (),
        show: Callable[[str], None] = lambda _: None,
        heed: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._launch, self._ports, self._programs, self._fork, self._clock = launch, tuple(ports), programs, fork, clock
        self._signals, self._notifier, self._words = signals, notifier, launch.block.words
        configured = bool(launch.options.configuration)
        self._told = StatusReporter(self._words, notifier, show, watchdog_ns=watchdog_ns, configured=configured)
        self._heartbeats, self._heed = Heartbeats(self._words), heed
        self._service = ChildSlot("service", longest_ns=SERVICE_PAUSE_NS)
        self._guardian, self._core = ChildSlot("guardian", free_restarts=5), ChildSlot("core")
        self._emulators = [(ChildSlot(name), program) for name, program in emulators]
        self._slots = (*(slot for slot, _ in self._emulators), self._service, self._guardian, self._core)
        self._lost_ns = self._ticked_ns = clock.now_ns
        self._status: int | None = None
        self._stage, self._why, self._until_ns = "", "", 0
        self._words[Word.SUPERVISOR_PID] = os.getpid()
        self._words[Word.STALL_LIMIT_MS] = launch.options.stall_limit_ms or STALL_LIMIT_MS
        # Ports that are not open yet are found like ports that were lost.
        self._words[Word.BUS_LOST] = int(not all(port.is_open for port in ports))

    def run(self) -> int:
        """Work until told to end; return the exit status."""
        while self.tick():
            slots = [slot.child.pidfd for slot in self._slots if slot.child is not None]
            self._clock.wait(self._clock.now_ns + TICK_NS, [self._signals, self._launch.to_supervisor, *slots])
        return self._status or 0

    def tick(self) -> bool:
        """Do everything that is due; False when all has ended."""
        now_ns = self._clock.now_ns
        self._words[Word.SUPERVISOR_HEARTBEAT] = now_ns
        passed_ns = now_ns - self._ticked_ns
        self._heartbeats.look(min(passed_ns, TICK_NS), on_time=passed_ns < 2 * TICK_NS)
        self._ticked_ns = now_ns
        self._heed(now_ns)
        self._listen(now_ns)
        self._reap(now_ns)
        if self._status is None:
            self._find_ports(now_ns)
            self._renew()
            self._start_missing(now_ns)
            self._end_stalled()
        elif not self._go_on_ending(now_ns):
            return False
        self._report(now_ns)
        return True

    # --- what comes in ---

    def _listen(self, now_ns: int) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._launch.to_supervisor)
        with suppress(BlockingIOError):
            for _ in os.read(self._signals, 64):
                self._asked_to_end(now_ns)
        if self._words[Word.REFUSED] and self._status is None:
            self._begin_end(now_ns, 1, "the configuration was refused")
        elif self._words[Word.SHUTDOWN] and self._status is None:
            self._begin_end(now_ns, 0, "a client asked for the end")

    def _reap(self, now_ns: int) -> None:
        if self._core.child is not None and self._core.child.dead():
            # Before it is reaped: after that, its pid may be reused.
            self._words[Word.CORE_PID] = 0
            self._died(self._core, Word.CORE_DEATHS, now_ns)
        if self._guardian.child is not None and self._guardian.child.dead():
            self._words[Word.GUARDIAN_PID] = 0
            self._died(self._guardian, Word.GUARDIAN_DEATHS, now_ns)
        if self._service.child is not None and self._service.child.dead():
            ready = self._words[Word.SERVICE_READY]
            self._words[Word.SERVICE_PID] = self._words[Word.SERVICE_READY] = 0
            self._died(self._service, Word.SERVICE_DEATHS, now_ns)
            if not ready and self._words[Word.SERVICE_DEATHS] <= 1 and self._status is None:
                self._begin_end(now_ns, 1, "the service could not start")
        for slot, _ in self._emulators:
            if slot.child is not None and slot.child.dead():
                how = slot.reap(now_ns)
                self._event("emulator_ended", how)
                if self._words[Word.BUS_LOST] and slot.deaths >= MOST_STARTS and self._status is None:
                    self._begin_end(now_ns, 1, f"{how}, {slot.deaths} times in a row; it has said above why")

    def _died(self, slot: ChildSlot, count: Word, now_ns: int) -> None:
        how = slot.reap(now_ns)
        # With a port gone, core and guardian end as they should.
        expected = self._words[Word.BUS_LOST] and slot is not self._service
        if self._status is None and not expected:
            self._words[count] += 1
            self._event("process_died", f"{how}; it is started again")

    # --- what is to be there ---

    def _find_ports(self, now_ns: int) -> None:
        words = self._words
        if not words[Word.BUS_LOST]:
            self._lost_ns = now_ns
            return
        if self._core.child is not None or self._guardian.child is not None:
            # The guardian ends by itself once the buses that are left are limp.
            if now_ns - self._lost_ns > _GUARDIAN_LAST_NS:
                self._end_engine()
            return
        if all(port.is_open for port in self._ports):
            # The others stay open: a name that leads where it led is not opened again.
            for port in [port for port in self._ports if port.hung_up] or self._ports:
                port.close()
            self._event("bus_lost", "a port is gone: looking for it")
        # Each is tried, whatever became of the others.
        opened = [port.try_open() for port in self._ports]
        if all(opened):
            self._launch = replace(self._launch, buses=tuple(port.line for port in self._ports))
            self._core.due_ns = self._guardian.due_ns = now_ns
            for slot, _ in self._emulators:
                slot.deaths = 0
            words[Word.BUS_LOST] = 0
            self._event("bus_found", "; ".join(port.remark for port in self._ports))

    def _renew(self) -> None:
        """Replace guardian and core when there is a newer plan and no bout runs."""
        words, block = self._words, self._launch.block
        generation = words[Word.PLAN_GENERATION]
        running = self._core.child is not None and words[Word.MODE] == Mode.RUNNING
        if generation == words[Word.CORE_PLAN] or running or words[Word.BUS_LOST]:
            return
        self._end_engine()
        try:
            block.store(block.read_plan())
        except StoreError:
            block.clear_store()
        words[Word.CORE_PLAN] = generation

    def _end_engine(self) -> None:
        # The guardian first: the core's end is no fault then.
        self._guardian.end()
        self._core.end()
        self._words[Word.CORE_PID] = self._words[Word.GUARDIAN_PID] = self._words[Word.GUARDIAN_WATCHES] = 0

    def _start_missing(self, now_ns: int) -> None:
        words = self._words
        for slot, program in self._emulators:
            if slot.may_start(now_ns):
                child = self._fork(slot.name, program, urgent=False, death_signal=END_SIGNAL)
                slot.fill(child, now_ns)
        if self._service.may_start(now_ns):
            words[Word.SERVICE_HEARTBEAT] = 0
            self._heartbeats.service.begin()
            hidden, close = self._launch.without_descriptors()
            program = partial(self._programs.service, hidden)
            child = self._fork("nuc-service", program, urgent=False, close=close, death_signal=END_SIGNAL)
            self._service.fill(child, now_ns)
            words[Word.SERVICE_PID] = child.pid
        if words[Word.CORE_PLAN] and not words[Word.BUS_LOST]:
            self._start_guardian(now_ns)
            self._start_core(now_ns)

    def _start_guardian(self, now_ns: int) -> None:
        if not self._guardian.may_start(now_ns):
            return
        words = self._words
        if self._core.child is None:
            # No core may begin before the guardian has let go of the bus.
            words[Word.BUS_OWNER] = OWNER_GUARDIAN
        words[Word.GUARDIAN_HEARTBEAT] = 0
        self._heartbeats.guardian.begin()
        ends = [slot.child.pidfd for slot, _ in self._emulators if slot.child is not None]
        child = self._fork("nuc-guardian", partial(self._programs.guardian, self._launch, ends))
        self._guardian.fill(child, now_ns)
        words[Word.GUARDIAN_PID] = child.pid

    def _start_core(self, now_ns: int) -> None:
        if not self._core.may_start(now_ns) or self._guardian.child is None:
            return
        self._words[Word.CORE_HEARTBEAT] = 0
        self._heartbeats.core.begin()
        self._words[Word.CORE_GENERATION] += 1
        child = self._fork("nuc-core", partial(self._programs.core, self._launch))
        self._core.fill(child, now_ns)
        self._words[Word.CORE_PID] = child.pid

    def _end_stalled(self) -> None:
        # The core first: the next guardian then finds it dead, and takes the torque off before all else.
        slots = (self._core, self._guardian, self._service)
        for slot, stalled in zip(slots, self._heartbeats.stalled(), strict=True):
            if slot.child is not None and not slot.killed and stalled:
                self._event("process_stalled", f"{slot.name} shows no life; it is ended")
                slot.child.send(signal.SIGKILL)
                slot.killed = True

    # --- the end ---

    def _asked_to_end(self, now_ns: int) -> None:
        if self._status is None:
            self._begin_end(now_ns, 0, "asked to end")
        elif self._core.child is not None:
            # Asked again: whatever the core is at, the guardian takes the torque off at once.
            self._until_ns = min(self._until_ns, now_ns + HURRY_NS)
            self._core.child.send(signal.SIGKILL)

    def _begin_end(self, now_ns: int, status: int, why: str) -> None:
        self._status, self._stage, self._until_ns, self._why = status, "limp", now_ns + CONFIRM_NS, why
        self._words[Word.SHUTDOWN] = 1
        self._notifier.stopping()
        self._event("shutdown", why)
        os.eventfd_write(self._launch.to_core, 1)

    def _go_on_ending(self, now_ns: int) -> bool:
        if self._stage == "limp" and (self._limp(now_ns) or now_ns >= self._until_ns):
            if self._words[Word.TORQUE] or pending_requesters(self._words):
                self._status = 1
                self._event("torque_unconfirmed", "not every servo has confirmed that its torque is off")
            self._stage, self._until_ns = "flush", now_ns + FLUSH_NS
            if self._service.child is not None:
                self._service.child.send(END_SIGNAL)
        if self._stage == "flush" and (self._service.child is None or now_ns >= self._until_ns):
            self._service.end()
            self._end_engine()
            for slot, _ in self._emulators:
                if slot.child is not None:
                    slot.child.send(signal.SIGTERM)
                    slot.child.reap()
            for port in self._ports:
                port.close()
            return False
        return True

    def _limp(self, now_ns: int) -> bool:
        """See that the torque goes off; True when it is."""
        words = self._words
        if not words[Word.CORE_PLAN] or words[Word.BUS_LOST]:
            return True
        self._start_guardian(now_ns)
        driving = words[Word.TORQUE] or (words[Word.MODE] == Mode.RUNNING and self._core.child is not None)
        if driving:
            request_off(words, Requester.SUPERVISOR)
        limp = not driving and not pending_requesters(words) and words[Word.BUS_OWNER] != OWNER_GUARDIAN
        if limp and self._core.child is not None and now_ns > self._until_ns - CONFIRM_NS // 2:
            self._core.child.send(signal.SIGKILL)
        return limp and self._core.child is None

    # --- telling ---

    def _report(self, now_ns: int) -> None:
        wanted = bool(self._words[Word.CORE_PLAN]) and not self._words[Word.BUS_LOST]
        up = self._core.child is not None and self._words[Word.CORE_READY] == self._words[Word.CORE_GENERATION]
        if self._status is not None:
            self._told.end(now_ns, self._why)
            return
        problem = "; ".join(port.problem for port in self._ports if port.problem)
        self._told.tell(now_ns, wanted=wanted, up=up, problem=problem, fresh=self._heartbeats.fresh(engine=wanted))

    def _event(self, name: str, text: str) -> None:
        self._launch.block.rings["supervisor"].put(RecordKind.EVENT, pack(self._clock.now_ns, name, text))
        with suppress(BlockingIOError):
            os.eventfd_write(self._launch.to_service, 1)
