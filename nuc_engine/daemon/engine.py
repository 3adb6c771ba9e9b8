"""The engine in the core: runs the tasks in real time, beats, obeys commands, takes the torque off when it must.

    while it lives:  the most urgent task that is due,
                     or else one command,
                     or else wait for the first of: next task, bus descriptor, command, 4 ms

Everything here is one thread without files, XML or sockets. What a command does is in `nuc_engine.daemon.orders`, what
it looks after by itself in `nuc_engine.daemon.monitor`, and what both change in `nuc_engine.daemon.state`.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress

from drivers.bus import Bus
from drivers.clock import WaitingClock
from drivers.errors import PortError
from drivers.port import NEVER
from nuc_engine.control.faults import FAULTS, EngineFault
from nuc_engine.daemon.block import OWNER_CORE, Block, Word
from nuc_engine.daemon.cyclering import CycleRing
from nuc_engine.daemon.launch import ServeOptions
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.monitor import Monitor
from nuc_engine.daemon.orders import execute
from nuc_engine.daemon.release import LAST_NS
from nuc_engine.daemon.state import EngineState
from nuc_engine.model.plan import Plan

WATCH_NS = 4_000_000
"""How often the core checks what no event announces; it gives a heartbeat at least as often."""

EXIT_SHUTDOWN, EXIT_CRASH, EXIT_ORPHANED, EXIT_BUS_LOST = 0, 70, 71, 75
"""How the process ends: told to; an error of its own; guardian and main process are gone; a port is gone."""

_GAP_NS = FAULTS["stood_still"].delay_ns


class Engine(EngineState):
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
        super().__init__(
            plan, bus, block, options, clock, wake=wake, orphaned=orphaned, motors_by_bus=motors_by_bus, cycles=cycles
        )
        self._wakened = wakened
        self._filenos = (*bus.filenos(), wakened)
        self.commands = block.rings["commands"]
        self._generation = self.words[Word.CORE_GENERATION]
        self._monitor = Monitor(self, slept)
        self._watch_ns = 0
        self._alone_until_ns = NEVER

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
                if self.neighbours.unsupervised and self._done_alone():
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
        if gap_ns > _GAP_NS and self.words[Word.TORQUE] and self.mode is not Mode.FAULT:
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
            execute(self, kind, content)
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
                self.neighbours.check(on_time=self._on_time(now))
            if self.neighbours.unsupervised:
                break
            if words[Word.SHUTDOWN]:
                return False
            self.clock.wait(now + 1_000_000, ())
        if words[Word.LATCHED] and not self.latched:
            # By the guardian, after this process looked.
            self.inherit()
        # Nothing was due while it waited.
        self.live.begin_idle()
        return True

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
        self._monitor.look_around(now, on_time=self._on_time(now))

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
            self.begin()

    # --- ends ---

    def _lose_bus(self, error: PortError) -> int:
        self.words[Word.BUS_LOST] = 1
        self.end_with("bus_lost", str(error))
        return EXIT_BUS_LOST

    def _crash(self, error: Exception) -> int:
        try:
            self.bus.torque_off(self.clock.now_ns)
            # Sources are read from the disk for it: only now.
            text = " | ".join("".join(traceback.format_exception(error)).split("\n"))
            self.end_with("engine_error", f"{type(error).__name__}: {error}: {text}")
            until = self.clock.now_ns + 2 * WATCH_NS
            # What the guardian does next anyway; but this is sooner.
            while self.clock.now_ns < until and not self.bus.proceed(self.clock.now_ns):
                self.clock.wait(min(self.bus.wake_ns, until), self.bus.filenos())
        except Exception as second:  # the guardian will see to it
            self.event("engine_error", f"{type(second).__name__}: {second}")
        return EXIT_CRASH
