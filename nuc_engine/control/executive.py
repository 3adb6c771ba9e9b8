"""The executive on the virtual clock.

A bus exchange takes its wire time and turnaround, and a task what the table of costs says (default nothing), so that
the same inputs give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drivers.bus import CycledBus
from drivers.port import NEVER
from nuc_engine.control.clock import VirtualClock
from nuc_engine.control.dispatcher import Dispatcher, Recorder, TaskEntry
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import Store

TORQUE_OFF_LIMIT_NS = 1_000_000_000
"""How long the end of a bout waits for the servos to confirm that their torque is off."""


class Executive(Dispatcher):
    """Runs one model on one bus, on virtual time. Arguments are those of `Dispatcher`."""

    def __init__(
        self,
        plan: Plan,
        bus: CycledBus,
        recorder: Recorder,
        *,
        store: Store | None = None,
        clock: VirtualClock | None = None,
        costs: Mapping[str, int] | None = None,
        limits: Sequence[int | None] | None = None,
        approach_deg_s: float | None = None,
        keep_store: bool = False,
        seed: int = 0,
    ) -> None:
        self.clock = clock if clock is not None else VirtualClock()
        super().__init__(
            plan,
            bus,
            recorder,
            self.clock,
            store=store,
            costs=costs,
            limits=limits,
            approach_deg_s=approach_deg_s,
            keep_store=keep_store,
            seed=seed,
        )
        self._cycled_bus = bus
        self._horizon = 0
        self.transition.begin(self.start_ns)

    def run_until(self, end_ns: int) -> None:
        """Run everything that is due before `end_ns`. Raises EngineFault, or the plant's own fault."""
        clock, entries = self.clock, self.entries
        self._horizon = end_ns
        if self._exchanging and self._complete_entry.release_ns == NEVER:
            self._complete_entry.release_ns = self._cycled_bus.run_until(end_ns)
        now = clock.now_ns
        while now < end_ns:
            soonest = end_ns
            for entry in entries:
                release = entry.release_ns
                if release <= now:
                    entry.runs += 1
                    entry.run(now)
                    if entry.cost_ns:
                        clock.charge(entry.cost_ns)
                    break
                if release < soonest:  # noqa: PLR1730  a call of min() costs more than the comparison
                    soonest = release
            else:
                clock.wait_until(soonest)
            now = clock.now_ns

    def torque_off(self) -> None:
        """Let every servo go limp; the clock stands at the last confirmation, or where the bus gave up."""
        self._cycled_bus.torque_off(self.clock.now_ns)
        done = self._cycled_bus.run_until(self.clock.now_ns + TORQUE_OFF_LIMIT_NS)
        self.clock.wait_until(min(done, self.clock.now_ns + TORQUE_OFF_LIMIT_NS))

    def _run_start(self, now_ns: int) -> None:
        self._start_entry.release_ns = NEVER
        self._motor_action.start(now_ns)
        self._exchanging = True
        self._complete_entry.release_ns = self._cycled_bus.run_until(self._horizon)

    def _run_complete(self, now_ns: int) -> None:
        self._complete_entry.release_ns = NEVER
        if self._cycled_bus.refusals:
            self._event(now_ns, "servo_refused", "; ".join(self._cycled_bus.refusals))
        self._cycle_complete(now_ns)

    def _done_ns(self, now_ns: int, entry: TaskEntry) -> int:
        return now_ns + entry.cost_ns
