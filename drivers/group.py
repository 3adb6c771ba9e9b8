"""Several buses as one: exchanged with side by side, complete when every one of them is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heapify, heapreplace

from drivers.bus import Bus
from drivers.errors import BusError, BusUrlError
from drivers.port import NEVER
from drivers.servo import ReplyStatus


class BusGroup:
    """All servos of `buses` in an order of the caller's (a `drivers.bus.Bus`).

    `slots` says for each servo of the group which bus it is on and which of that bus's servos it is, both counted from
    0. A bus that fails (its port is gone) does not keep the others from their part: what it raised is raised once they
    have had theirs.
    """

    __slots__ = (
        "_buses",
        "_members",
        "_refused",
        "_running",
        "current_raw",
        "found",
        "found_by_bus",
        "misses",
        "position_raw",
        "refusals",
        "servos",
        "stamp_ns",
        "status",
        "wake_ns",
    )

    def __init__(self, buses: Sequence[Bus], slots: Sequence[tuple[int, int]]) -> None:
        """Take the buses, between cycles. Raises `BusUrlError` when the slots are not every servo exactly once."""
        every = [(b, k) for b, bus in enumerate(buses) for k in range(len(bus.servos))]
        if sorted(slots) != every:
            raise BusUrlError(f"slots {list(slots)} of a group of buses: expected each of {every} once, in any order")
        self._buses = tuple(buses)
        self._running = [False] * len(buses)
        # Per bus the places in the group of its servos, in the bus's order.
        place = {slot: i for i, slot in enumerate(slots)}
        self._members = tuple(tuple(place[b, k] for k in range(len(bus.servos))) for b, bus in enumerate(buses))
        self.servos = tuple(buses[b].servos[k] for b, k in slots)
        count = len(self.servos)
        self.position_raw = [-1] * count
        self.current_raw = [-1] * count
        self.status = [int(ReplyStatus.NONE)] * count
        self.stamp_ns = [-1] * count
        self.misses = [0] * count
        self.refusals: tuple[str, ...] = ()
        self._refused: list[tuple[str, ...]] = [()] * len(buses)
        self.wake_ns = NEVER
        self.found: tuple[int, ...] = ()
        self.found_by_bus: tuple[tuple[int, ...], ...] = ((),) * len(buses)
        for b in range(len(buses)):
            self._collect(b)

    @property
    def missed(self) -> int:
        """Exchanges without a complete reply in time, in all."""
        return sum(bus.missed for bus in self._buses)

    @property
    def implausible(self) -> int:
        """Exchanges whose reply was not believed, or was taken back, in all."""
        return sum(bus.implausible for bus in self._buses)

    @property
    def stray_bytes(self) -> int:
        """Bytes that came when no reply could, or that were left of one, in all."""
        return sum(bus.stray_bytes for bus in self._buses)

    @property
    def counts(self) -> Mapping[str, int]:
        """What the buses count besides, those of the same name together."""
        total: dict[str, int] = {}
        for bus in self._buses:
            for name, count in bus.counts.items():
                total[name] = total.get(name, 0) + count
        return total

    @property
    def held_since_ns(self) -> int:
        """Since when replies of one of the buses come late; -1 for none."""
        return min([since_ns for bus in self._buses if (since_ns := bus.held_since_ns) >= 0], default=-1)

    @property
    def owed_bytes(self) -> int:
        """Bytes of replies that may still come, on all buses."""
        return sum(bus.owed_bytes for bus in self._buses)

    def discover(self, now_ns: int, ids: Sequence[int] = ()) -> None:
        """Begin asking these ids (none: every id) on every bus; see `found` (all of them) and `found_by_bus`."""
        self._check_idle()
        self._on_each(lambda b: self._begin(b, lambda: self._buses[b].discover(now_ns, ids)))

    def start(self, now_ns: int, goals: list[int]) -> None:
        """Begin one exchange with every servo, on all buses at once.

        Raises `BusError` within a cycle, `FrameError` for a goal; the other buses' exchanges are under way then.
        """
        self._check_idle()
        if len(goals) != len(self.servos):
            raise BusError(f"goals {goals} do not fit: expected {len(self.servos)}")

        def begin(b: int) -> None:
            of_bus = [goals[i] for i in self._members[b]]
            self._begin(b, lambda: self._buses[b].start(now_ns, of_bus))

        self._on_each(begin)

    def proceed(self, now_ns: int) -> bool:
        """Do what is due on every bus; True when no cycle is under way on any."""
        self._on_each(lambda b: self._settle(b, self._buses[b].proceed(now_ns)))
        return not any(self._running)

    def run_until(self, horizon_ns: int) -> int:
        """Run all cycles as far as `horizon_ns`; return when the last was complete, `NEVER` if one is not."""
        done_ns = NEVER
        turns = [(bus.wake_ns, b) for b, bus in enumerate(self._buses)]
        heapify(turns)
        # The bus whose turn is next runs no further than the next turn of another: their servos may move one plant.
        try:
            while turns[0][0] <= horizon_ns:
                b = turns[0][1]
                bus = self._buses[b]
                at_ns = bus.run_until(min([horizon_ns, *(turn[0] for turn in turns[1:3])]))
                if at_ns != NEVER:
                    done_ns = at_ns if done_ns == NEVER else max(done_ns, at_ns)
                    self._end_cycle(b)
                heapreplace(turns, (bus.wake_ns, b))
        finally:
            self.wake_ns = min(bus.wake_ns for bus in self._buses)
        return NEVER if any(self._running) else done_ns

    def torque_off(self, now_ns: int) -> None:
        """Begin taking the torque off every servo of every bus, each once its exchange under way is over."""
        self._on_each(lambda b: self._begin(b, lambda: self._buses[b].torque_off(now_ns)))

    def set_level(self, level: int) -> None:
        """Set the torque level of later goals on every bus."""
        self._on_each(lambda b: self._buses[b].set_level(level))

    def filenos(self) -> tuple[int, ...]:
        """Return the descriptors of all buses."""
        return tuple(fd for bus in self._buses for fd in bus.filenos())

    def close(self) -> None:
        """Close every bus."""
        self._on_each(lambda b: self._buses[b].close())

    def _check_idle(self) -> None:
        if any(self._running):
            raise BusError("the last cycle is not complete: call proceed until it returns True")

    def _begin(self, b: int, begin: Callable[[], None]) -> None:
        # A write that failed leaves a cycle that times out and can give way to a torque-off.
        try:
            begin()
        finally:
            self._running[b] = self._buses[b].wake_ns != NEVER

    def _settle(self, b: int, done: bool) -> None:
        if done:
            self._end_cycle(b)
        self.wake_ns = min(bus.wake_ns for bus in self._buses)

    def _end_cycle(self, b: int) -> None:
        if self._running[b]:
            self._running[b] = False
            self._collect(b)

    def _collect(self, b: int) -> None:
        """Take over what bus `b` knows at the end of its cycle."""
        bus = self._buses[b]
        for k, i in enumerate(self._members[b]):
            self.position_raw[i], self.current_raw[i] = bus.position_raw[k], bus.current_raw[k]
            self.status[i], self.stamp_ns[i], self.misses[i] = bus.status[k], bus.stamp_ns[k], bus.misses[k]
        # Seldom anything new: with many buses, looking at all of them after the cycle of each would cost the most.
        if bus.found != self.found_by_bus[b]:
            self.found_by_bus = tuple(bus.found for bus in self._buses)
            self.found = tuple(bus_id for found in self.found_by_bus for bus_id in found)
        if bus.refusals != self._refused[b]:
            self._refused = [bus.refusals for bus in self._buses]
            self.refusals = tuple(text for refused in self._refused for text in refused)

    def _on_each(self, action: Callable[[int], None]) -> None:
        """Do it on every bus, whatever happens on one of them; raise the first of what was raised."""
        first: BusError | None = None
        for b in range(len(self._buses)):
            try:
                action(b)
            except BusError as error:
                first = first or error
        self.wake_ns = min(bus.wake_ns for bus in self._buses)
        if first is not None:
            raise first
