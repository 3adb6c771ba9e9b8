"""The AI motor bus: one exchange per servo and cycle, the reply to a position send being the measurement.

What is sent when, and which replies are believed, is in `drivers.aimotor.exchanges`, other forms than send and reply in
`drivers.aimotor.forms`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from drivers.aimotor.codec import (
    MAX_ID,
    MAX_LEVEL,
    MAX_RAW,
    REPLY_BYTES,
    REQUEST_BYTES,
    encode_passive,
    encode_read,
    encode_sync,
    request_table,
)
from drivers.aimotor.exchanges import Exchanges
from drivers.aimotor.forms import TEN_BIT_STEPS, AnswerKind, TenBitForm, check_gapless
from drivers.aimotor.lateness import BusPhase, Phase
from drivers.aimotor.models import check_models, check_servos
from drivers.aimotor.readings import AiMotorReadings
from drivers.aimotor.table import DEFAULT_BAUD, DEFAULT_TIMEOUT_NS, MOST_10BIT, SERVO_DELAY_NS, TICK_DEG, V_MAX_DEG_S
from drivers.bus import LIMP, READ_ONLY
from drivers.errors import BusError, BusUrlError, FrameError
from drivers.port import NEVER, Port, wire_ns
from drivers.servo import ServoAddress

DEFAULT_LEVEL: Final = 3
"""The level the roach was driven with; level 0 was found drastic (Rutter 2010)."""


class AiMotorBus(Exchanges):
    """AI motors on one port (a `drivers.bus.Bus`); raw goals are 0 to 254, levels 0 (strongest) to 4.

    At most one other form of exchange than the plain one, in which the reply to each send is the measurement:

    - `sync`: one send for all, then a read of each. The ids must be 0, 1, 2... without a gap. A cycle in which not
      every servo has a goal is made in the plain form.
    - `ten_bit`: a move and a read of each, for wCKs; raw goals and positions are 0 to 1023. No load comes back:
      `current_raw` stays 0.
    """

    __slots__ = (
        "_by_level", "_level", "_most", "_n", "_passives", "_send", "_sync", "_ten_bit", "current_raw", "misses",
        "position_raw", "refusals", "servos", "stamp_ns", "status",
    )  # fmt: skip

    def __init__(
        self,
        port: Port,
        servos: Sequence[ServoAddress],
        *,
        baud: int = DEFAULT_BAUD,
        timeout_ns: int = DEFAULT_TIMEOUT_NS,
        late_ns: int = 0,
        v_max_deg_s: float = V_MAX_DEG_S,
        tick_deg: float = TICK_DEG,
        sync: bool = False,
        ten_bit: bool = False,
    ) -> None:
        """Speak to `servos` through `port`. Raises `BusUrlError`.

        A reply is waited for `timeout_ns` beyond its wire time before anything else is done, and may be `late_ns` late
        where that is more.
        `tick_deg` is that of positions 0 to 254, in the ten-bit form too.
        """
        self.servos = check_servos(servos)
        if sync and ten_bit:
            raise BusUrlError("sync and ten_bit are two forms of the exchange: expected one at most")
        if sync:
            check_gapless(self.servos)
        self._n = len(self.servos)
        ticks_per_s = v_max_deg_s / tick_deg * (TEN_BIT_STEPS if ten_bit else 1.0)
        exchange_ns = wire_ns(REQUEST_BYTES + REPLY_BYTES, baud) + SERVO_DELAY_NS
        readings = AiMotorReadings(self._n, ticks_per_s, self._n * exchange_ns)
        super().__init__(port, readings, baud, timeout_ns, late_ns)
        self.position_raw, self.current_raw = readings.position_raw, readings.current_raw
        self.status, self.stamp_ns, self.misses = readings.status, readings.stamp_ns, readings.misses
        # No reply says which model it comes from.
        self.refusals: tuple[str, ...] = ()
        self._sync = sync
        self._ten_bit = TenBitForm(check_models(self.servos, wck=True)) if ten_bit else None
        self._most = MOST_10BIT if ten_bit else MAX_RAW
        self._ten_bits = ten_bit
        self._by_level: dict[int, tuple[tuple[bytes, ...], ...]] = {}
        self.set_level(DEFAULT_LEVEL)
        self._passives = [encode_passive(servo.bus_id) for servo in self.servos]

    @property
    def missed(self) -> int:
        """Exchanges without a complete reply in time, in all."""
        return self._readings.missed

    @property
    def implausible(self) -> int:
        """Exchanges whose reply was not believed, or was taken back, in all."""
        return self._readings.implausible

    @property
    def counts(self) -> Mapping[str, int]:
        """What the port counts."""
        return self._port.counts

    def start(self, now_ns: int, goals: list[int]) -> None:
        """Begin one exchange with every servo: raw goals 0 to 254 (ten bits: 1023), or `READ_ONLY`, or `LIMP`."""
        if self._job is not BusPhase.IDLE:
            raise BusError("the last cycle is not complete: call proceed until it returns True")
        if len(goals) != self._n or (lowest := min(goals)) < LIMP or max(goals) > self._most:
            wanted = f"expected {self._n} of 0 to {self._most}, or -1 to read, -2 for torque off"
            raise FrameError(f"goals {goals}: {wanted}")
        self._driving = max(goals) >= 0
        self._limp = [goal == LIMP for goal in goals] if lowest == LIMP else None
        self._preamble = b""
        if self._ten_bit is not None:
            self._steps = self._ten_bit.steps(goals)
            self._requests = [step.request for step in self._steps]
        elif self._sync and lowest >= 0:
            targets = {servo.bus_id: goal for servo, goal in zip(self.servos, goals, strict=True)}
            self._preamble = encode_sync(self._level, [targets[bus_id] for bus_id in range(self._n)])
            self._requests = [self._read(k) for k in range(self._n)]
        else:
            self._requests = [table[goal] for table, goal in zip(self._send, goals, strict=True)]
            if lowest < 0:
                self._aim_reads(goals)
        self._begin(BusPhase.EXCHANGE, now_ns)

    def torque_off(self, now_ns: int) -> None:
        """Begin taking the torque off every servo, after the exchange under way (at most its timeout later)."""
        job = self._job
        if job is BusPhase.IDLE or (job is not BusPhase.TORQUE_OFF and self._phase is not Phase.REPLY):
            self._start_torque_off(now_ns)
        elif job is not BusPhase.TORQUE_OFF:
            self._next_job = BusPhase.TORQUE_OFF

    def discover(self, now_ns: int, ids: Sequence[int] = ()) -> None:
        """Begin reading these ids, or 0 to 30, one by one; absent ones cost their timeout."""
        if self._job is not BusPhase.IDLE:
            raise BusError("the last cycle is not complete: call proceed until it returns True")
        self.found = ()
        self._asked = tuple(ids) or tuple(range(MAX_ID + 1))
        self._requests = [encode_read(bus_id) for bus_id in self._asked]
        self._begin(BusPhase.DISCOVER, now_ns)

    def proceed(self, now_ns: int) -> bool:
        """Do what is due at `now_ns`; True when no cycle is under way."""
        if self._job is BusPhase.IDLE:
            self._drain(now_ns)
        elif now_ns <= self.wake_ns and self._run_clean(now_ns, now_ns):
            return self.wake_ns == NEVER
        while self._job is not BusPhase.IDLE and self._step(now_ns):
            pass
        return self._job is BusPhase.IDLE

    def set_level(self, level: int) -> None:
        """Set the level of goals from the next `start` on: 0 (strongest) to 4."""
        if not 0 <= level <= MAX_LEVEL:
            raise FrameError(f"level {level}: expected 0 (strongest) to {MAX_LEVEL}")
        if level not in self._by_level:
            self._by_level[level] = tuple(request_table(servo.bus_id, level) for servo in self.servos)
        self._send = self._by_level[level]
        self._level = level
        if self._ten_bit is not None:
            self._ten_bit.set_level(level)

    def filenos(self) -> tuple[int, ...]:
        """Return the port's descriptor, nothing if it has none."""
        return self._port.filenos()

    def close(self) -> None:
        """Close the port."""
        self._port.close()

    def run_until(self, horizon_ns: int) -> int:
        """Run the cycle as far as `horizon_ns`; return when it was complete, `NEVER` if it is not."""
        wake_ns = self.wake_ns
        if wake_ns <= horizon_ns and self._run_clean(wake_ns, horizon_ns):
            return self._done_ns if self._job is BusPhase.IDLE else NEVER
        return self._run_steps(horizon_ns)

    def _run_steps(self, horizon_ns: int) -> int:
        """Run the cycle one step after the other, whatever happens on the line."""
        instant_ns = NEVER
        while self.wake_ns <= horizon_ns:
            instant_ns = self.wake_ns
            self._step(instant_ns)
        return instant_ns if self._job is BusPhase.IDLE else NEVER

    def _aim_reads(self, goals: list[int]) -> None:
        """Let reads name the place where the shaft is, for a servo that hears a send."""
        for k, goal in enumerate(goals):
            if goal == READ_ONLY:
                self._requests[k] = self._read(k)

    def _read(self, k: int) -> bytes:
        """Return a read of servo k, which names the place where the shaft is."""
        return encode_read(self.servos[k].bus_id, max(self.position_raw[k], 0))

    def _question(self) -> bytes:
        k = self._k
        if self._job is not BusPhase.EXCHANGE:
            return self._requests[k]
        if self._steps is not None and self._ten_bit is not None:
            step = self._steps[k]
            return step.request if step.kind is AnswerKind.PASSIVE else self._ten_bit.read(step.servo)
        limp = self._limp is not None and self._limp[k]
        return self._requests[k] if limp else self._read(k)

    def _hold_goals(self, first: int) -> None:
        if first == 0:
            self._preamble = b""
        limp = self._limp
        if self._steps is not None:
            left = [step for step in self._steps[first:] if step.kind is not AnswerKind.MOVE]
            self._steps[first:] = left
            self._requests[first:] = [step.request for step in left]
            return
        for k in range(first, self._n):
            if limp is None or not limp[k]:
                self._requests[k] = self._read(k)

    def _start_torque_off(self, now_ns: int) -> None:
        self._next_job = BusPhase.IDLE
        self._requests, self._limp, self._preamble = self._passives, None, b""
        self._begin(BusPhase.TORQUE_OFF, now_ns)
