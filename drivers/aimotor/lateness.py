"""Replies that are late: what a bus of AI motors does while bytes are owed, and whom it believes afterwards.

A reply that is not there in time is owed (`drivers.owed`), until D after its request: a line has a bound on how late a
reply can be. Meanwhile nobody else is asked (`Phase.OWED`), so that what comes is this servo's; it is asked again by
itself, so that a servo that is silent can be told from a line that was held up; and nothing that comes is believed.
After that goals that were worked out before are not sent any more, and no servo of the bus counts before it has
answered twice (`drivers.aimotor.readings`). A wake-up that came late itself makes a reply late. Only a torque-off does
not wait: it is sent at once, and no reply confirms it while bytes are owed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Final

from drivers.aimotor.codec import REPLY_BYTES, REQUEST_BYTES
from drivers.aimotor.forms import CycleRequest
from drivers.aimotor.readings import AiMotorReadings
from drivers.owed import OwedBytes
from drivers.port import NEVER, Port, wire_ns
from drivers.servo import TRIES_WHEN_SILENT, ReplyStatus

STALL_NS: Final = 2_000_000
"""A wake-up later than this, on a line where replies may be late, makes the reply it was for a late one."""

UNKNOWN_BYTES: Final = 64
"""What may be owed to whoever had the line before: more than was ever asked for at once."""

OK: Final = int(ReplyStatus.OK)


class BusPhase(Enum):
    """What a bus is about."""

    IDLE = 0
    EXCHANGE = 1
    TORQUE_OFF = 2
    DISCOVER = 3


class Phase(Enum):
    """What is waited for: a reply, silence before a request, silence behind a reply, or a reply that is late."""

    REPLY = 0
    QUIET = 1
    LISTEN = 2
    OWED = 3


class LateReplies(ABC):
    """The state of a cycle's exchanges, and what is done about those of them whose replies are late."""

    __slots__ = (
        "_ask_ns", "_asked", "_asks", "_baud", "_blind", "_burst_ns", "_byte_ns", "_came", "_debt", "_dirty",
        "_done_ns", "_driving", "_first_ns", "_heard", "_heard_ns", "_job", "_k", "_left", "_limit_ns", "_limp",
        "_lost",
        "_next_job", "_patience_ns", "_phase", "_port", "_preamble", "_quiet_ns", "_readings", "_reply_ns",
        "_requests", "_sent_ns", "_shaky", "_spans", "_steps", "_surplus", "_ten_bits", "_timeout_ns", "_wire_ns",
        "found", "held_since_ns", "stray_bytes", "wake_ns",
    )  # fmt: skip

    def __init__(self, port: Port, readings: AiMotorReadings, baud: int, timeout_ns: int, late_ns: int) -> None:
        """Begin with nothing under way; a reply may be `late_ns` later than its wire time, if that is more."""
        self.wake_ns = NEVER
        self.found: tuple[int, ...] = ()
        self._asked: tuple[int, ...] = ()  # whom `discover` asks
        self.stray_bytes = 0
        self._port, self._readings, self._baud = port, readings, baud
        self._byte_ns = wire_ns(1, baud)
        self._reply_ns = wire_ns(REPLY_BYTES, baud)
        # By length of the request, after it was begun: when the first byte of its reply can be there at the earliest,
        # when the whole reply, and when it is given up.
        self._spans: dict[int, tuple[int, int, int]] = {}
        for length in range(REQUEST_BYTES, 2 * REQUEST_BYTES + 1):
            request_ns = wire_ns(length, baud)
            whole_ns = request_ns + self._reply_ns
            self._spans[length] = request_ns + self._byte_ns, whole_ns, whole_ns + timeout_ns
        self._first_ns, self._wire_ns, self._timeout_ns = self._spans[REQUEST_BYTES]
        self._requests: list[bytes] = []
        self._preamble = b""
        self._steps: list[CycleRequest] | None = None
        self._ten_bits = False
        self._limp: list[bool] | None = None
        self._job = self._next_job = BusPhase.IDLE
        self._phase = Phase.REPLY
        self._k = 0
        self._sent_ns: int = 0
        self._done_ns = self._quiet_ns = self._limit_ns = 0
        self._heard = b""
        # When something last came in; and in this exchange, something that is no part of its reply (-1: nothing).
        self._heard_ns = self._burst_ns = -1
        # The last exchange failed; and this one follows one that did.
        self._dirty = self._shaky = False
        # How much longer than the timeout a reply is owed.
        self._patience_ns = max(0, late_ns - timeout_ns)
        self._debt = OwedBytes()
        self.held_since_ns = -1
        # Of the exchange whose reply is owed: how often it was asked, when it is asked again; bytes that came, that did
        # not come any more, and that came beyond what was owed.
        self._asks = self._came = self._lost = self._surplus = 0
        self._ask_ns = NEVER
        # Something was owed when this request was sent: whatever comes is believed of nobody.
        self._blind = False
        # What torque-offs are owed.
        self._left: list[tuple[int, int]] = []
        # Goals were given for this cycle.
        self._driving = False

    @property
    def owed_bytes(self) -> int:
        """Bytes that may still come, of replies that are late."""
        return self._debt.bytes

    @abstractmethod
    def _start_torque_off(self, now_ns: int) -> None:
        """Begin taking the torque off."""

    @abstractmethod
    def _hold_goals(self, first: int) -> None:
        """Let nobody be driven from request `first` on: the goals of this cycle were worked out too long ago."""

    @abstractmethod
    def _question(self) -> bytes:
        """Return what asks the servo of request k again, and drives nothing."""

    @abstractmethod
    def _next(self, now_ns: int, at_ns: int) -> None:
        """Go on after exchange k."""

    @abstractmethod
    def _miss(self) -> None:
        """Note that no reply to request k came."""

    @abstractmethod
    def _finish(self, now_ns: int) -> None:
        """End the cycle."""

    def _run_out(self, heard: bytes, since_ns: int, at_ns: int, now_ns: int) -> None:
        """Give the reply up, or wait until it came or can not come any more; it is owed from `since_ns` on."""
        self.stray_bytes += len(heard)
        if not self._patience_ns:
            self._miss()
            self._next(now_ns, at_ns)
            return
        until_ns = since_ns + self._timeout_ns + self._patience_ns
        if self._job is BusPhase.TORQUE_OFF:
            # One who is not there must not keep the others from confirming: what he owes counts from the next round on.
            self._left.append((REPLY_BYTES - len(heard), until_ns))
            self._miss()
            self._next(now_ns, at_ns)
            return
        self._debt.owe(REPLY_BYTES - len(heard), until_ns)
        if self._next_job is BusPhase.TORQUE_OFF:
            self._miss()
            self._next(now_ns, at_ns)
            return
        self._heard = b""
        self._surplus = max(0, len(heard) - REPLY_BYTES)
        self._came, self._lost = len(heard), 0
        if len(heard) >= REPLY_BYTES:
            self._note_late(now_ns)
        self._asks, self._ask_ns = 1, at_ns
        self._phase = Phase.OWED
        self._await_debt(at_ns, now_ns)

    def _collect(self, at_ns: int, now_ns: int) -> None:
        """Read late bytes, without trusting them, until none are owed."""
        data = self._port.read(at_ns)
        if data:
            self._heard_ns = at_ns
            self.stray_bytes += len(data)
            self._surplus += self._debt.pay(len(data))
            self._came += len(data)
            # One reply in time for the last question may have been preceded by one that was lost.
            if self._came > REPLY_BYTES or at_ns - self._sent_ns > self._timeout_ns:
                self._note_late(now_ns)
        if now_ns - self.wake_ns > STALL_NS:
            self._debt.extend(now_ns + self._timeout_ns + self._patience_ns)
        self._await_debt(at_ns, now_ns)

    def _await_debt(self, at_ns: int, now_ns: int) -> None:
        owed = self._debt.bytes
        self._debt.expire(at_ns)
        self._lost += owed - self._debt.bytes
        if not self._debt:
            self._resolve(at_ns, now_ns)
            return
        if self._may_ask_again and at_ns >= self._ask_ns:
            request = self._question()
            self._asks += 1
            self._sent_ns = now_ns
            self._debt.owe(REPLY_BYTES, now_ns + self._timeout_ns + self._patience_ns + self._asks * self._reply_ns)
            self._port.write(request, now_ns)
        self._ask_ns = self._sent_ns + self._timeout_ns if self._may_ask_again else NEVER
        self.wake_ns = min(self._debt.until_ns, self._ask_ns, self._port.ready_ns(1))

    @property
    def _may_ask_again(self) -> bool:
        # A torque-off is for the engine to repeat, and one who is not there is asked once.
        return self._asks < TRIES_WHEN_SILENT and not self._came and self._job is BusPhase.EXCHANGE

    def _resolve(self, at_ns: int, now_ns: int) -> None:
        """Go on with the cycle, reading only: nothing is owed any more."""
        if self._job is BusPhase.EXCHANGE:
            servo, readings = self._servo_of(self._k), self._readings
            if self._surplus:
                readings.refuse(servo)
            elif self._came:
                readings.answer(servo)
                readings.missed += self._lost // REPLY_BYTES
            elif self._asks >= TRIES_WHEN_SILENT:
                readings.silence(servo)
                if self._driving:
                    # No servo is to be driven longer than the torque-off takes to send.
                    self._doubt_all(self._k + 1)
                    self._finish(now_ns)
                    return
            else:
                readings.miss(servo)
            if self._came:
                self._doubt_all(self._k + 1)
        self._dirty = True
        self._phase = Phase.REPLY
        self._next(now_ns, at_ns)

    def _pay(self, data: bytes, at_ns: int) -> bytes:
        """Return the bytes that are more than was owed."""
        self._debt.expire(at_ns)
        paid = len(data) - self._debt.pay(len(data))
        self.stray_bytes += paid
        if paid:
            self._note_late(at_ns)
        return data[paid:]

    def _note_late(self, now_ns: int) -> None:
        if self.held_since_ns < 0:
            self.held_since_ns = now_ns

    def _wonder(self, first: int) -> None:
        """Bytes came that nobody owed: where replies may be late, earlier ones can no longer be assigned to servos."""
        if self._patience_ns:
            self._doubt_all(first)

    def _doubt_all(self, first: int) -> None:
        """Trust no servo before it has answered twice, and drive none in this cycle from request `first` on."""
        self._readings.distrust_all()
        if self._job is BusPhase.EXCHANGE:
            self._hold_goals(first)

    def _servo_of(self, k: int) -> int:
        steps = self._steps
        return k if steps is None or self._job is not BusPhase.EXCHANGE else steps[k].servo
