"""The AI motor bus: one exchange per servo and cycle, the reply to a position send being the measurement.

Replies carry neither id nor checksum, so a reply is believed only if it can be true: two bytes and no more, none of
them 255, not before its own bytes could have crossed the wire, and a position the shaft can have reached since the
last believed one (v_max T + 1 tick). A second reply that agrees with a refused one is believed: then the earlier
measurement was wrong.

After a reply that did not come, or was not believed, its remains may still be under way. Then the next request waits
until the line was silent for the time of a reply (`_Phase.QUIET`), and its own reply counts only once nothing followed
it for as long as a servo may hesitate (`_Phase.LISTEN`): of two replies that come for one request nobody knows whose
they are. Bytes that come before the next reply can begin belong to the reply before it, which is then taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from drivers.aimotor.addresses import check_servos
from drivers.aimotor.codec import (
    HEADER,
    MAX_ID,
    MAX_LEVEL,
    MAX_RAW,
    REPLY_BYTES,
    REQUEST_BYTES,
    encode_passive,
    encode_read,
    is_passive_reply,
    request_table,
)
from drivers.aimotor.readings import Readings
from drivers.aimotor.table import DEFAULT_BAUD, DEFAULT_TIMEOUT_NS, SERVO_DELAY_NS, TICK_DEG, V_MAX_DEG_S
from drivers.bus import LIMP, READ_ONLY
from drivers.errors import BusError, FrameError
from drivers.port import NEVER, Port, wire_ns
from drivers.servo import ReplyStatus, ServoAddress

QUIET_REPLIES: Final = 8
"""For how many replies' time a request is held back at most while the line does not fall silent."""

DEFAULT_LEVEL: Final = 3
"""The level the roach was driven with; level 0 was found drastic (Rutter 2010)."""

_OK = int(ReplyStatus.OK)


class _Job(Enum):
    IDLE = 0
    EXCHANGE = 1
    TORQUE_OFF = 2
    DISCOVER = 3


class _Phase(Enum):
    REPLY = 0
    QUIET = 1
    LISTEN = 2


class AiMotorBus:
    """AI motors on one port (a `drivers.bus.Bus`); raw goals are 0 to 254, levels 0 (strongest) to 4."""

    __slots__ = (
        "_burst_ns", "_by_level", "_byte_ns", "_dirty", "_done_ns", "_first_ns", "_heard", "_heard_ns", "_job",
        "_k", "_limit_ns", "_limp", "_n", "_next_job", "_passives", "_phase", "_port", "_quiet_ns", "_readings",
        "_reply_ns", "_requests", "_send", "_sent_ns", "_shaky", "_timeout_ns", "_wire_ns", "current_raw",
        "found", "misses", "position_raw", "servos", "stamp_ns", "status", "stray_bytes", "wake_ns",
    )  # fmt: skip

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
        self._n = self._k = len(self.servos)
        readings = self._readings = Readings(self._n, v_max_deg_s / tick_deg)
        self.position_raw, self.current_raw = readings.position_raw, readings.current_raw
        self.status, self.stamp_ns, self.misses = readings.status, readings.stamp_ns, readings.misses
        self.wake_ns = NEVER
        self.found: tuple[int, ...] = ()
        self.stray_bytes = 0
        self._port = port
        self._byte_ns = wire_ns(1, baud)
        self._reply_ns = wire_ns(REPLY_BYTES, baud)
        request_ns = wire_ns(REQUEST_BYTES, baud)
        # After a request: when the first byte of its reply can be there at the earliest, and the whole reply.
        self._first_ns, self._wire_ns = request_ns + self._byte_ns, request_ns + self._reply_ns
        self._timeout_ns = self._wire_ns + timeout_ns
        self._by_level: dict[int, tuple[tuple[bytes, ...], ...]] = {}
        self.set_level(DEFAULT_LEVEL)
        self._passives = [encode_passive(servo.bus_id) for servo in self.servos]
        self._requests: list[bytes] = []
        self._limp: list[bool] | None = None
        self._job = self._next_job = _Job.IDLE
        self._phase = _Phase.REPLY
        self._sent_ns = self._done_ns = self._quiet_ns = self._limit_ns = 0
        self._heard = b""
        # When something last came in; and in this exchange, something that is no part of its reply (-1: nothing).
        self._heard_ns = self._burst_ns = -1
        # The last exchange failed; and this one follows one that did.
        self._dirty = self._shaky = False

    @property
    def missed(self) -> int:
        """Exchanges without a complete reply in time, in all."""
        return self._readings.missed

    @property
    def implausible(self) -> int:
        """Exchanges whose reply was not believed, or was taken back, in all."""
        return self._readings.implausible

    def start(self, now_ns: int, goals: list[int]) -> None:
        """Begin one exchange with every servo: raw goals 0 to 254, or `READ_ONLY`, or `LIMP`."""
        if self._job is not _Job.IDLE:
            raise BusError("the last cycle is not complete: call proceed until it returns True")
        if len(goals) != self._n or (lowest := min(goals)) < LIMP or max(goals) > MAX_RAW:
            raise FrameError(f"goals {goals}: expected {self._n} of 0 to {MAX_RAW}, or -1 to read, -2 for torque off")
        self._requests = [table[goal] for table, goal in zip(self._send, goals, strict=True)]
        self._limp = [goal == LIMP for goal in goals] if lowest == LIMP else None
        if lowest < 0:
            self._aim_reads(goals)
        self._begin(_Job.EXCHANGE, now_ns)

    def torque_off(self, now_ns: int) -> None:
        """Begin taking the torque off every servo, after the exchange under way (at most its timeout later)."""
        if self._job is _Job.IDLE or (self._job is not _Job.TORQUE_OFF and self._phase is not _Phase.REPLY):
            self._start_torque_off(now_ns)
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
        if self._job is _Job.IDLE:
            self._drain(now_ns)
        while self._job is not _Job.IDLE and self._step(now_ns):
            pass
        return self._job is _Job.IDLE

    def set_level(self, level: int) -> None:
        """Set the level of goals from the next `start` on: 0 (strongest) to 4."""
        if not 0 <= level <= MAX_LEVEL:
            raise FrameError(f"level {level}: expected 0 (strongest) to {MAX_LEVEL}")
        if level not in self._by_level:
            self._by_level[level] = tuple(request_table(servo.bus_id, level) for servo in self.servos)
        self._send = self._by_level[level]

    def filenos(self) -> tuple[int, ...]:
        """Return the port's descriptor, nothing if it has none."""
        return self._port.filenos()

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    def run_until(self, horizon_ns: int) -> int:
        """Run the cycle as far as `horizon_ns`; return when it was complete, `NEVER` if it is not."""
        odd = self._shaky or self._heard or self._limp or self._burst_ns >= 0 or self._phase is not _Phase.REPLY
        if odd or self._job is not _Job.EXCHANGE or self._next_job is not _Job.IDLE:
            return self._run_steps(horizon_ns)
        # What _step does for a clean reply, written out flat because every exchange of every bout passes here;
        # whatever is odd is left to _step.
        port = self._port
        read, write, ready_ns = port.read, port.write, port.ready_ns
        requests, positions, currents = self._requests, self.position_raw, self.current_raw
        stamps, status, reachable = self.stamp_ns, self.status, self._readings.reachable
        first_ns, shortest_ns, timeout_ns, count = self._first_ns, self._wire_ns, self._timeout_ns, self._n
        k, sent_ns, wake_ns = self._k, self._sent_ns, self.wake_ns
        while wake_ns <= horizon_ns and wake_ns - sent_ns >= shortest_ns:
            data = read(wake_ns)
            if len(data) != REPLY_BYTES or HEADER in data:
                self._heard, self._heard_ns = data, wake_ns if data else self._heard_ns
                break
            current, position = data
            if not -2 < position - positions[k] < 2 and not reachable(k, position, wake_ns):
                self._heard, self._heard_ns = data, wake_ns
                break
            positions[k] = position
            currents[k] = current
            stamps[k] = wake_ns
            if status[k] != _OK:
                self._readings.settle(k)
            self._k = k = k + 1
            if k == count:
                self._finish(wake_ns)
                return wake_ns
            self._sent_ns = sent_ns = wake_ns
            write(requests[k], sent_ns)
            ready = ready_ns(REPLY_BYTES)
            if ready_ns(1) - sent_ns < first_ns or ready - sent_ns > timeout_ns:
                self._plan_wake()
                break
            self.wake_ns = wake_ns = ready
        return self._run_steps(horizon_ns)

    def _run_steps(self, horizon_ns: int) -> int:
        """Run the cycle one step after the other, whatever happens on the line."""
        instant_ns = NEVER
        while self.wake_ns <= horizon_ns:
            instant_ns = self.wake_ns
            self._step(instant_ns)
        return instant_ns if self._job is _Job.IDLE else NEVER

    def _aim_reads(self, goals: list[int]) -> None:
        """Let reads name the place where the shaft is, for a servo that hears a send."""
        for k, (goal, position) in enumerate(zip(goals, self.position_raw, strict=True)):
            if goal == READ_ONLY and position > 0:
                self._requests[k] = encode_read(self.servos[k].bus_id, position)

    def _start_torque_off(self, now_ns: int) -> None:
        self._next_job = _Job.IDLE
        self._requests, self._limp = self._passives, None
        self._begin(_Job.TORQUE_OFF, now_ns)

    def _begin(self, job: _Job, now_ns: int) -> None:
        # A caller that let the cycle run ahead of its own clock may ask for the next one in the past of the wire.
        now_ns = max(now_ns, self._done_ns)
        self._job = job
        self._k = 0
        self._readings.begin()
        self._drain(now_ns)
        self._transmit_when_quiet(now_ns)

    def _drain(self, now_ns: int) -> None:
        if count := self._port.flush_input(now_ns):
            self.stray_bytes += count
            self._heard_ns = now_ns
            self._dirty = True

    def _transmit_when_quiet(self, now_ns: int) -> None:
        # Requests and replies have a line each: that torque goes off never waits for silence.
        self._quiet_ns = self._heard_ns + self._reply_ns
        if not self._dirty or self._heard_ns < 0 or self._quiet_ns <= now_ns or self._job is _Job.TORQUE_OFF:
            self._transmit(now_ns)
            return
        self._wait(_Phase.QUIET, now_ns)

    def _transmit(self, now_ns: int) -> None:
        """Send request k."""
        self._phase = _Phase.REPLY
        self._heard = b""
        self._burst_ns = -1
        self._sent_ns = now_ns
        self._shaky = self._dirty
        self._dirty = False
        # Should the write fail, the cycle can still time out and give way to a torque-off.
        self.wake_ns = now_ns + self._timeout_ns
        self._port.write(self._requests[self._k], now_ns)
        self._plan_wake()

    def _plan_wake(self) -> None:
        if not self._heard:
            early_ns = self._port.ready_ns(1)
            if early_ns - self._sent_ns < self._first_ns or self._belongs_to_burst(early_ns):
                self.wake_ns = early_ns
                return
        ready_ns = self._port.ready_ns(REPLY_BYTES - len(self._heard))
        latest_ns = self._sent_ns + self._timeout_ns
        # Half a reply is taken when it comes, as from a real line: since when it has been silent matters.
        self.wake_ns = ready_ns if ready_ns <= latest_ns else min(self._port.ready_ns(1), latest_ns)

    def _belongs_to_burst(self, at_ns: int) -> bool:
        """Whether a byte at `at_ns` follows bytes that are no reply so closely that it is none either."""
        early = at_ns - self._sent_ns < self._wire_ns
        return early and self._burst_ns >= 0 and 2 * (at_ns - self._burst_ns) <= 3 * self._byte_ns

    def _step(self, now_ns: int) -> bool:
        """Take the next thing that is due by `now_ns`; True when more is due by then."""
        # A virtual port is asked at the instant itself, so that a host that comes late hears the same as one in time.
        at_ns = min(now_ns, self.wake_ns)
        if self._phase is not _Phase.REPLY:
            self._listen(at_ns, now_ns)
            return self._job is not _Job.IDLE and self.wake_ns <= now_ns
        data = self._port.read(at_ns)
        if data:
            self._heard_ns = at_ns
        heard = self._sift(self._heard + data, at_ns)
        if len(heard) >= REPLY_BYTES:
            self._judge(heard, at_ns)
            self._next(now_ns, at_ns)
        elif at_ns - self._sent_ns >= self._timeout_ns:
            self.stray_bytes += len(heard)
            self._miss()
            self._next(now_ns, at_ns)
        else:
            self._heard = heard
            self._plan_wake()
        return self.wake_ns <= now_ns

    def _sift(self, heard: bytes, at_ns: int) -> bytes:
        """Return what is left of the bytes heard without those that came before a reply could."""
        since_ns = at_ns - self._sent_ns
        if not heard or since_ns >= self._wire_ns:
            return heard
        if since_ns >= self._first_ns and len(heard) < REPLY_BYTES and not self._belongs_to_burst(at_ns):
            return heard
        self.stray_bytes += len(heard)
        self._burst_ns = at_ns
        self._shaky = True
        if self._k:
            self._take_back(self._k - 1)
        return b""

    def _next(self, now_ns: int, at_ns: int) -> None:
        """Go on after exchange k: to the torque-off that waits, or first make sure that nothing follows the reply."""
        if self._next_job is not _Job.IDLE:
            self._start_torque_off(now_ns)
        elif self._shaky and not self._dirty:
            self._quiet_ns = at_ns + self._reply_ns + SERVO_DELAY_NS
            self._wait(_Phase.LISTEN, now_ns)
        else:
            self._advance(now_ns)

    def _advance(self, now_ns: int) -> None:
        self._k += 1
        if self._k < len(self._requests):
            self._transmit_when_quiet(now_ns)
        else:
            self._finish(now_ns)

    def _wait(self, phase: _Phase, now_ns: int) -> None:
        self._phase = phase
        self._limit_ns = now_ns + QUIET_REPLIES * self._reply_ns
        self.wake_ns = min(self._quiet_ns, self._port.ready_ns(1))

    def _listen(self, at_ns: int, now_ns: int) -> None:
        """Go on once the line was silent, or did not fall silent for too long."""
        count = self._port.flush_input(at_ns)
        if count:
            self.stray_bytes += count
            self._heard_ns = at_ns
            if self._phase is _Phase.LISTEN:
                self._take_back(self._k)
                self._dirty = True
                self._advance(now_ns)
                return
            self._quiet_ns = min(at_ns + self._reply_ns, self._limit_ns)
        if at_ns < self._quiet_ns:
            self.wake_ns = min(self._quiet_ns, self._port.ready_ns(1))
        elif self._phase is _Phase.QUIET:
            self._transmit(now_ns)
        else:
            self._advance(now_ns)

    def _finish(self, now_ns: int) -> None:
        self._job = _Job.IDLE
        self._phase = _Phase.REPLY
        self._heard = b""
        self._done_ns = now_ns
        self.wake_ns = NEVER

    def _judge(self, heard: bytes, at_ns: int) -> None:
        """Believe or refuse what came as the reply to request k."""
        k, readings = self._k, self._readings
        clean = len(heard) == REPLY_BYTES and HEADER not in heard
        if self._job is _Job.DISCOVER:
            self._dirty = not clean
            if clean:
                self.found += (k,)
        elif not clean:
            readings.refuse(k)
            self._dirty = True
        else:
            limp = self._limp is not None and self._limp[k]
            if (limp or self._job is _Job.TORQUE_OFF) and not readings.confirms_passive(k, is_passive_reply(heard)):
                self._dirty = True
                return
            # The first reply byte of a torque-off is no current.
            current = 0 if limp else heard[0] if self._job is _Job.EXCHANGE else None
            self._dirty = not readings.take(k, current, heard[1], at_ns)

    def _miss(self) -> None:
        self._dirty = True
        if self._job is not _Job.DISCOVER:
            self._readings.miss(self._k)

    def _take_back(self, k: int) -> None:
        """Refuse the reply to request k after all: more than two bytes came for it."""
        if self._job is _Job.DISCOVER:
            self.found = tuple(bus_id for bus_id in self.found if bus_id != k)
        else:
            self._readings.take_back(k)
