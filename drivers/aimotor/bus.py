"""The AI motor bus: one exchange per servo and cycle, the reply to a position send being the measurement.

Replies carry neither id nor checksum, so a reply is believed only if it can be true: two bytes, none of them 255, not
before its own bytes could have crossed the wire, and a position the shaft can have reached since the last believed one
(v_max T + 1 tick). A second reply that agrees with a refused one is believed: then the earlier measurement was wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from drivers.aimotor.codec import (
    HEADER,
    MAX_ID,
    MAX_LEVEL,
    MAX_RAW,
    REPLY_BYTES,
    REQUEST_BYTES,
    encode_passive,
    encode_position,
    encode_read,
)
from drivers.aimotor.table import DEFAULT_BAUD, TICK_DEG, V_MAX_DEG_S
from drivers.errors import BusError, BusUrlError, FrameError
from drivers.port import NEVER, Port, wire_ns
from drivers.servo import ReplyStatus, ServoAddress

DEFAULT_TIMEOUT_NS: Final = 4_000_000
"""How much later than its wire time a reply may be complete. The servos' own delay is believed to be 0.1 to 0.5 ms; the
rest is for a USB adapter with its latency timer at 1 ms. An adapter left at 16 ms needs more."""

DEFAULT_LEVEL: Final = 3
"""The level the roach was driven with; level 0 was found drastic (Rutter 2010)."""

_OK, _MISSED, _IMPLAUSIBLE = int(ReplyStatus.OK), int(ReplyStatus.MISSED), int(ReplyStatus.IMPLAUSIBLE)


class _Job(Enum):
    IDLE = 0
    EXCHANGE = 1
    TORQUE_OFF = 2
    DISCOVER = 3


class AiMotorBus:
    """AI motors on one port (a `drivers.bus.Bus`); raw goals are 0 to 254, levels 0 (strongest) to 4.

    `stray_bytes` counts bytes that came when no reply could.
    """

    __slots__ = (
        "_by_level",
        "_dirty",
        "_done_ns",
        "_doubtful",
        "_flush_ns",
        "_heard",
        "_job",
        "_k",
        "_n",
        "_next_job",
        "_passives",
        "_port",
        "_request_ns",
        "_requests",
        "_send",
        "_sent_ns",
        "_tick_per_ns",
        "_timeout_ns",
        "_wire_ns",
        "current_raw",
        "found",
        "misses",
        "position_raw",
        "servos",
        "stamp_ns",
        "status",
        "stray_bytes",
        "wake_ns",
    )

    def __init__(
        self,
        port: Port,
        servos: Sequence[ServoAddress],
        *,
        baud: int = DEFAULT_BAUD,
        timeout_ns: int = DEFAULT_TIMEOUT_NS,
        v_max_deg_s: float = V_MAX_DEG_S,
        tick_deg: float = TICK_DEG,
    ) -> None:
        """Speak to `servos` through `port`; `timeout_ns` is beyond the wire time. Raises `BusUrlError`."""
        self.servos = check_servos(servos)
        count = self._n = self._k = len(self.servos)
        self.position_raw = [-1] * count
        self.current_raw = [-1] * count
        self.status = [int(ReplyStatus.NONE)] * count
        self.stamp_ns = [-1] * count
        self.misses = [0] * count
        self.wake_ns = NEVER
        self.found: tuple[int, ...] = ()
        self.stray_bytes = 0
        self._port = port
        self._request_ns = wire_ns(REQUEST_BYTES, baud)
        self._wire_ns = self._request_ns + wire_ns(REPLY_BYTES, baud)
        self._timeout_ns = self._wire_ns + timeout_ns
        self._tick_per_ns = v_max_deg_s / tick_deg * 1e-9
        self._by_level: dict[int, tuple[tuple[bytes, ...], ...]] = {}
        self.set_level(DEFAULT_LEVEL)
        self._passives = [encode_passive(servo.bus_id) for servo in self.servos]
        self._requests: list[bytes] = []
        self._job = _Job.IDLE
        self._next_job = _Job.IDLE
        self._sent_ns = 0
        self._done_ns = 0
        self._flush_ns = 0
        self._heard = b""
        self._dirty = False
        # Per servo the refused (position, stamp) that a second reply may confirm.
        self._doubtful: list[tuple[int, int] | None] = [None] * count

    def start(self, now_ns: int, goals: list[int]) -> None:
        """Begin one exchange with every servo: raw goals 0 to 254, or -1 to read only."""
        if self._job is not _Job.IDLE:
            raise BusError("the last cycle is not complete: call proceed until it returns True")
        if len(goals) != self._n or min(goals) < -1 or max(goals) > MAX_RAW:
            raise FrameError(f"goals {goals} do not fit: expected {self._n} of 0 to {MAX_RAW}, or -1 to read")
        self._requests = [table[goal] for table, goal in zip(self._send, goals, strict=True)]
        self._begin(_Job.EXCHANGE, now_ns)

    def torque_off(self, now_ns: int) -> None:
        """Begin taking the torque off every servo, after the exchange under way (at most its timeout later)."""
        if self._job is _Job.IDLE:
            self._requests = self._passives
            self._begin(_Job.TORQUE_OFF, now_ns)
        elif self._job is not _Job.TORQUE_OFF:
            self._next_job = _Job.TORQUE_OFF

    def discover(self, now_ns: int) -> None:
        """Begin reading ids 0 to 30 one by one; absent ones cost their timeout."""
        if self._job is not _Job.IDLE:
            raise BusError("the last cycle is not complete: call proceed until it returns True")
        self.found = ()
        self._requests = [encode_read(bus_id) for bus_id in range(MAX_ID + 1)]
        self._begin(_Job.DISCOVER, now_ns)

    def proceed(self, now_ns: int) -> bool:
        """Do what is due at `now_ns`; True when no cycle is under way."""
        while self._job is not _Job.IDLE and self._step(now_ns):
            pass
        return self._job is _Job.IDLE

    def set_level(self, level: int) -> None:
        """Set the level of goals from the next `start` on: 0 (strongest) to 4."""
        if not 0 <= level <= MAX_LEVEL:
            raise FrameError(f"level {level}: expected 0 (strongest) to {MAX_LEVEL}")
        if level not in self._by_level:
            self._by_level[level] = tuple(_requests(servo.bus_id, level) for servo in self.servos)
        self._send = self._by_level[level]

    def fileno(self) -> int | None:
        """Return the port's descriptor, None if it has none."""
        return self._port.fileno()

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    def run_until(self, horizon_ns: int) -> int:
        """Run the cycle as far as `horizon_ns`; return when it was complete, `NEVER` if it is not."""
        if self._job is not _Job.EXCHANGE or self._flush_ns or self._heard or self._next_job is not _Job.IDLE:
            return self._run_steps(horizon_ns)
        # What _step does for a clean reply, written out flat because every exchange of every bout passes here;
        # whatever is odd is left to _step.
        port = self._port
        read, write, ready_ns = port.read, port.write, port.ready_ns
        requests, positions, currents = self._requests, self.position_raw, self.current_raw
        stamps, status = self.stamp_ns, self.status
        shortest_ns, timeout_ns, count = self._wire_ns, self._timeout_ns, self._n
        k, sent_ns, wake_ns = self._k, self._sent_ns, self.wake_ns
        while wake_ns <= horizon_ns:
            data = read(wake_ns)
            if len(data) != REPLY_BYTES or HEADER in data or wake_ns - sent_ns < shortest_ns:
                self._heard = data
                return self._run_steps(horizon_ns)
            current, position = data
            if not -2 < position - positions[k] < 2 and not self._reachable(k, position, wake_ns):
                self._heard = data
                return self._run_steps(horizon_ns)
            positions[k] = position
            currents[k] = current
            stamps[k] = wake_ns
            if status[k] != _OK:
                self._settle(k)
            self._k = k = k + 1
            if k == count:
                self._finish(wake_ns)
                return wake_ns
            self._sent_ns = sent_ns = wake_ns
            write(requests[k], sent_ns)
            ready = ready_ns(REPLY_BYTES)
            latest_ns = sent_ns + timeout_ns
            self.wake_ns = wake_ns = ready if ready < latest_ns else latest_ns
        return NEVER

    def _run_steps(self, horizon_ns: int) -> int:
        """Run the cycle one step after the other, whatever happens on the line."""
        instant_ns = NEVER
        while self.wake_ns <= horizon_ns:
            instant_ns = self.wake_ns
            self._step(instant_ns)
        return instant_ns if self._job is _Job.IDLE else NEVER

    def _begin(self, job: _Job, now_ns: int) -> None:
        # A caller that let the cycle run ahead of its own clock may ask for the next one in the past of the wire.
        now_ns = max(now_ns, self._done_ns)
        self._job = job
        self._k = 0
        self.stray_bytes += self._port.flush_input(now_ns)
        self._transmit(now_ns)

    def _transmit(self, now_ns: int) -> None:
        """Send request k. After a reply that did not come or was not believed, its remains may still be on the way."""
        self._heard = b""
        self._sent_ns = now_ns
        self._flush_ns = now_ns + self._request_ns if self._dirty else 0
        self._dirty = False
        # Should the write fail, the cycle can still time out and give way to a torque-off.
        self.wake_ns = now_ns + self._timeout_ns
        self._port.write(self._requests[self._k], now_ns)
        self._plan_wake()

    def _plan_wake(self) -> None:
        if self._flush_ns:
            self.wake_ns = self._flush_ns
            return
        ready_ns = self._port.ready_ns(REPLY_BYTES - len(self._heard))
        self.wake_ns = min(ready_ns, self._sent_ns + self._timeout_ns)

    def _step(self, now_ns: int) -> bool:
        """Take the next thing that is due by `now_ns`; True when more is due by then."""
        if self._flush_ns:
            if now_ns < self._flush_ns:
                return False
            self.stray_bytes += self._port.flush_input(self._flush_ns)
            self._flush_ns = 0
            self._plan_wake()
        # A virtual port is asked at the instant itself, so that a host that comes late hears the same as one in time.
        at_ns = min(now_ns, self.wake_ns)
        heard = self._heard + self._port.read(at_ns)
        if len(heard) >= REPLY_BYTES and at_ns - self._sent_ns < self._wire_ns:
            self.stray_bytes += len(heard)
            heard = b""
        if len(heard) >= REPLY_BYTES:
            self._judge(heard, at_ns)
        elif at_ns - self._sent_ns >= self._timeout_ns:
            self.stray_bytes += len(heard)
            self._fail(_MISSED)
        else:
            self._heard = heard
            self._plan_wake()
            return self.wake_ns <= now_ns
        self._next(now_ns)
        return self.wake_ns <= now_ns

    def _next(self, now_ns: int) -> None:
        """Go on to the next request, to the torque-off that waits, or to the end."""
        self._k += 1
        if self._next_job is not _Job.IDLE:
            self._next_job = _Job.IDLE
            self._requests = self._passives
            self._begin(_Job.TORQUE_OFF, now_ns)
        elif self._k < len(self._requests):
            self._transmit(now_ns)
        else:
            self._finish(now_ns)

    def _finish(self, now_ns: int) -> None:
        self._job = _Job.IDLE
        self._heard = b""
        self._done_ns = now_ns
        self.wake_ns = NEVER

    def _judge(self, heard: bytes, at_ns: int) -> None:
        """Believe or refuse what came as the reply to request k."""
        k = self._k
        clean = len(heard) == REPLY_BYTES and HEADER not in heard
        if self._job is _Job.DISCOVER:
            if clean:
                self.found += (k,)
            return
        current, position = heard[0], heard[1]
        if not clean or not (self._reachable(k, position, at_ns) or self._confirms(k, position, at_ns)):
            self._fail(_IMPLAUSIBLE)
            self._doubtful[k] = (position, at_ns) if clean else None
            return
        self.position_raw[k] = position
        self.stamp_ns[k] = at_ns
        # The first reply byte of a torque-off means something else.
        if self._job is _Job.EXCHANGE:
            self.current_raw[k] = current
        self._settle(k)

    def _settle(self, k: int) -> None:
        self.status[k] = _OK
        self.misses[k] = 0
        self._doubtful[k] = None

    def _fail(self, status: int) -> None:
        self._dirty = True
        if self._job is not _Job.DISCOVER:
            self.status[self._k] = status
            self.misses[self._k] += 1

    def _reachable(self, k: int, position: int, at_ns: int) -> bool:
        """Whether the shaft can have come to `position` since the last believed reply; the first is always believed."""
        last = self.position_raw[k]
        return last < 0 or abs(position - last) <= 1 + self._tick_per_ns * (at_ns - self.stamp_ns[k])

    def _confirms(self, k: int, position: int, at_ns: int) -> bool:
        """Whether a second reply agrees with the one refused before it."""
        refused = self._doubtful[k]
        return refused is not None and abs(position - refused[0]) <= 1 + self._tick_per_ns * (at_ns - refused[1])


def check_servos(servos: Sequence[ServoAddress]) -> tuple[ServoAddress, ...]:
    """Return the servos as a tuple. Raises `BusUrlError` when there are none, or an id is double or out of range."""
    if not servos:
        raise BusUrlError("a bus needs at least one servo")
    seen: dict[int, str] = {}
    for servo in servos:
        if not 0 <= servo.bus_id <= MAX_ID:
            raise BusUrlError(f"servo {servo.name!r} has bus id {servo.bus_id}: expected 0 to {MAX_ID}")
        if servo.bus_id in seen:
            raise BusUrlError(f"servos {seen[servo.bus_id]!r} and {servo.name!r} share bus id {servo.bus_id}")
        seen[servo.bus_id] = servo.name
    return tuple(servos)


def _requests(bus_id: int, level: int) -> tuple[bytes, ...]:
    """Return the send requests for goals 0 to 254, and last the read, which index -1 finds."""
    return (*(encode_position(bus_id, level, goal) for goal in range(MAX_RAW + 1)), encode_read(bus_id))
