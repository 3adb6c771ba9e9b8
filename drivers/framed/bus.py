"""The bus of servos with registers (Dynamixel, Feetech): one write for all goals, one request for all readings.

A cycle sends the goals in one packet and asks everybody for position and load in another; the replies follow each other
in the order of the servos. A servo that is silent keeps those behind it silent; so those are asked again one by one,
and one that was missed last time is asked by itself, after the others: it costs its own time-out, not theirs. On
request each servo is written to and read by itself instead, or all answer in one packet; a bus whose servos do not do
that goes over to separate ones.

Nothing is written before a goal asks for it: reading alone changes no servo. The first goal has the servo set up (some
cycles of single exchanges, see `setup`); nobody is driven before everybody who has a goal and answers is ready or
refused. Then the torque is turned on, with goal and bound in place, and read back. A goal that comes while its servo is
not ready is kept until it is, unless the servo is missed meanwhile, or a later goal takes its place.

Gain, bound and watchdog are read back before the torque goes on, since nobody answers the packets that say them; so is
a bound that is changed under torque, and told again until it is there. A servo that was missed under torque is looked
at before it is driven again, and all of them once in a while: one without its torque, or with another gain or bound
than it was told, has started anew; it is let go and set up again. So is one whose bus watchdog has stopped it, or is
not set. One that says that something ails it is released; its exchanges are not good ones until that is over.

Limp goals are told and read back in every cycle that has them, whatever the servo was told before.

Positions beyond the model's scale are reported as its end; a servo that stands further beyond it than noise and play
can take it (a Dynamixel that was turned on by hand) answers, but not well, so that nobody drives it. Goals beyond the
positions a servo itself is set to take are sent as the nearest it takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from drivers.bus import LIMP, READ_ONLY
from drivers.errors import BusError, FrameError
from drivers.framed import requests
from drivers.framed.cycle import Cycle
from drivers.framed.group_read import LONGEST_GROUP
from drivers.framed.layout import GOAL, FamilyLayout
from drivers.framed.readings import FramedReadings
from drivers.framed.servos import BusServo, make_servos
from drivers.framed.transactions import TransactionRunner
from drivers.port import Port, wire_ns
from drivers.servo import LEVEL_SHARE, ServoAddress

DEFAULT_LEVEL: Final = 3
"""As on a bus of AI motors."""

DEFAULT_WATCHDOG_NS: Final = 100_000_000
"""How long servos that have a bus watchdog go on without hearing anything, unless the line is so slow that four cycles
take longer."""

_SLOW_CYCLES: Final = 4


class FramedBus:
    """Servos with registers on one port (a `drivers.bus.Bus`); goals are raw positions of their models."""

    __slots__ = (
        "_cycle", "_port", "_positions", "_readings", "_records", "_talk", "_watched", "current_raw", "misses",
        "position_raw", "servos", "stamp_ns", "status",
    )  # fmt: skip

    def __init__(
        self,
        port: Port,
        servos: Sequence[ServoAddress],
        layout: FamilyLayout,
        *,
        baud: int,
        timeout_ns: int,
        late_ns: int = 0,
        v_max_deg_s: float,
        single: bool = False,
        fast: bool = False,
        watchdog_ns: int | None = None,
    ) -> None:
        """Speak to `servos` through `port`.

        A reply is waited for `timeout_ns` beyond its wire time, or the layout's `byte_gap_ns` where that is more, and
        may be `late_ns` late where that is more again. A `watchdog_ns` of None is as long as the line needs, 0 is none.
        Raises `BusUrlError` for servos the family does not have.
        """
        self._records = make_servos(servos, layout)
        self._positions = [servo.kind.model.positions for servo in self._records]
        self.servos = tuple(servos)
        readings = self._readings = FramedReadings(len(self.servos), v_max_deg_s / layout.first.model.tick_deg)
        self.position_raw, self.current_raw = readings.position_raw, readings.current_raw
        self.status, self.stamp_ns, self.misses = readings.status, readings.stamp_ns, readings.misses
        if watchdog_ns is None:
            ids = [servo.bus_id for servo in self._records]
            watchdog_ns = max(DEFAULT_WATCHDOG_NS, _SLOW_CYCLES * _cycle_ns(layout, ids, baud, single=single))
        self._watched = bool(layout.watchdog and watchdog_ns)
        self._port = port
        timeout_ns = max(timeout_ns, layout.byte_gap_ns)
        talk = self._talk = TransactionRunner(
            port, layout.dialect, baud=baud, timeout_ns=timeout_ns, late_ns=late_ns, padding=layout.padding
        )
        self._cycle = Cycle(
            layout,
            self._records,
            readings,
            baud=baud,
            level=DEFAULT_LEVEL,
            single=single,
            fast=fast,
            watchdog_ns=watchdog_ns,
            late=talk.late,
        )

    @property
    def wake_ns(self) -> int:
        """When `proceed` next has something to do; `NEVER` between cycles."""
        return self._talk.wake_ns

    @property
    def found(self) -> tuple[int, ...]:
        """Bus ids that answered the last `discover`."""
        return self._cycle.found

    @property
    def found_models(self) -> dict[int, int]:
        """Model numbers of those of them that gave one."""
        return self._cycle.found_models

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why servos can not be driven."""
        return self._cycle.refusals

    @property
    def trips(self) -> int:
        """How often a servo was found stopped by its bus watchdog."""
        return self._cycle.trips

    @property
    def missed(self) -> int:
        """Exchanges without a complete reply in time, in all."""
        return self._readings.missed

    @property
    def implausible(self) -> int:
        """Exchanges whose reply was not believed, or came from a servo that something ails, in all."""
        return self._readings.implausible

    @property
    def held_since_ns(self) -> int:
        """Since when statuses come late; -1 when all is well, or nothing comes at all."""
        return self._talk.held_since_ns

    @property
    def owed_bytes(self) -> int:
        """Bytes of statuses that did not come in time and still may."""
        return self._talk.owed_bytes

    @property
    def stray_bytes(self) -> int:
        """Bytes that came when no reply could, or that were part of none, in all."""
        return self._talk.stray_bytes

    @property
    def bad_checksums(self) -> int:
        """Replies thrown away for their checksum, in all."""
        return self._talk.bad_checksums

    @property
    def counts(self) -> Mapping[str, int]:
        """What the port counts, `restarts`, `bad_checksums` and, where servos have a bus watchdog, `trips`."""
        trips = {"trips": self.trips} if self._watched else {}
        own = {"restarts": self._cycle.restarts, **trips, "bad_checksums": self.bad_checksums}
        return {**own, **self._port.counts}

    def start(self, now_ns: int, goals: list[int]) -> None:
        """Begin one exchange with every servo: raw goals within the models' positions, or `READ_ONLY`, or `LIMP`."""
        self._check_idle()
        if len(goals) != len(self._records):
            raise FrameError(f"goals {goals}: expected {len(self._records)}")
        for servo, (low, high), goal in zip(self.servos, self._positions, goals, strict=True):
            if not low <= goal <= high and goal not in (READ_ONLY, LIMP):
                who = f"servo {servo.name!r}"
                raise FrameError(f"goal {goal} of {who}: expected {low} to {high}, or -1 to read, -2 for torque off")
        limp: list[BusServo] = []
        for record, goal in zip(self._records, goals, strict=True):
            if goal == LIMP:
                record.goal = READ_ONLY
                limp.append(record)
            elif goal != READ_ONLY:
                record.goal = goal
        self._talk.begin(self._cycle.exchange(limp, now_ns), now_ns)

    def torque_off(self, now_ns: int) -> None:
        """Begin taking the torque off everybody on the line, after the exchange under way (its time-outs at most)."""
        if self._talk.busy:
            self._talk.interrupt(self._cycle.release())
        else:
            self._talk.begin(self._cycle.release(), now_ns)

    def discover(self, now_ns: int, ids: Sequence[int] = ()) -> None:
        """Begin asking these ids whether they are there, or all that the family has; see `drivers.framed.search`.

        An absent id costs a time-out, one that was named three, none where all can be asked at once.
        """
        self._check_idle()
        self._talk.begin(self._cycle.discover(ids), now_ns)

    def proceed(self, now_ns: int) -> bool:
        """Do what is due at `now_ns`; True when no cycle is under way."""
        return self._talk.proceed(now_ns)

    def run_until(self, horizon_ns: int) -> int:
        """Run the cycle as far as `horizon_ns`; return when it was complete, `NEVER` if it is not."""
        return self._talk.run_until(horizon_ns)

    def set_level(self, level: int) -> None:
        """Bound the torque from the next `start` on: 0 (all of it) to 4, as `drivers.servo.LEVEL_SHARE` says."""
        if not 0 <= level < len(LEVEL_SHARE):
            raise FrameError(f"level {level}: expected 0 (strongest) to {len(LEVEL_SHARE) - 1}")
        self._cycle.set_level(level)

    def filenos(self) -> tuple[int, ...]:
        """Return the port's descriptor, nothing if it has none."""
        return self._port.filenos()

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    def _check_idle(self) -> None:
        if self._talk.busy:
            raise BusError("the last cycle is not complete: call proceed until it returns True")


def _cycle_ns(layout: FamilyLayout, ids: Sequence[int], baud: int, *, single: bool) -> int:
    """Return the time on the wire of a cycle with goals for all of these, in the form in use."""
    dialect, (address, length) = layout.dialect, layout.block
    goal, status = layout.register(GOAL), dialect.status_bytes(length)
    if single:
        asked = len(requests.read(dialect, 0, address, length)) + len(requests.write(dialect, 0, goal, 0))
        return wire_ns(len(ids) * (asked + status + dialect.status_bytes(0)), baud)
    written = requests.sync_write(dialect, goal, [(bus_id, 0) for bus_id in ids[:LONGEST_GROUP]])
    asked = len(written) + len(requests.sync_read(dialect, ids[:LONGEST_GROUP], address, length))
    return wire_ns(-(-len(ids) // LONGEST_GROUP) * asked + len(ids) * status, baud)
