"""One request after the other, each with its reply: what an AI motor bus does on the wire, and what it believes of it.

Replies carry neither id nor checksum, so a reply is believed only if it can be true: two bytes and no more, none of
them 255, not before its own bytes could have crossed the wire, and a position the shaft can have reached since the
last believed one (`drivers.aimotor.readings`).

After a reply that did not come, or was not believed, its remains may still be under way. Then the next request waits
until the line was silent for the time of a reply (`Phase.QUIET`), and its own reply counts only once nothing followed
it for as long as a servo may hesitate (`Phase.LISTEN`): of two replies that come for one request nobody knows whose
they are. Bytes that come before the next reply can begin belong to the reply before it, which is then taken back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Final

from drivers.aimotor.codec import HEADER, REPLY_BYTES, REQUEST_BYTES, is_passive_reply
from drivers.aimotor.forms import Kind, Step, is_ten_bit_reply, ten_bit_position
from drivers.aimotor.readings import Readings
from drivers.aimotor.table import SERVO_DELAY_NS
from drivers.port import NEVER, Port, wire_ns

QUIET_REPLIES: Final = 8
"""For how many replies' time a request is held back at most while the line does not fall silent."""


class Job(Enum):
    """What a bus is about."""

    IDLE = 0
    EXCHANGE = 1
    TORQUE_OFF = 2
    DISCOVER = 3


class Phase(Enum):
    """What is waited for: a reply, silence before a request, or silence behind a reply."""

    REPLY = 0
    QUIET = 1
    LISTEN = 2


class Exchanges(ABC):
    """The requests of one cycle, each sent when the reply to the one before it was judged.

    Request k is for servo k, and its reply is current and position, unless there are `_steps` that say otherwise.
    """

    __slots__ = (
        "_asked", "_baud", "_burst_ns", "_byte_ns", "_dirty", "_done_ns", "_first_ns", "_heard", "_heard_ns", "_job",
        "_k", "_limit_ns", "_limp", "_next_job", "_phase", "_port", "_preamble", "_quiet_ns", "_readings",
        "_reply_ns", "_requests", "_sent_ns", "_shaky", "_spans", "_steps", "_ten_bits", "_timeout_ns", "_wire_ns",
        "found", "stray_bytes", "wake_ns",
    )  # fmt: skip

    def __init__(self, port: Port, readings: Readings, baud: int, timeout_ns: int) -> None:
        """Begin with nothing under way."""
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
        self._steps: list[Step] | None = None
        self._ten_bits = False
        self._limp: list[bool] | None = None
        self._job = self._next_job = Job.IDLE
        self._phase = Phase.REPLY
        self._k = 0
        self._sent_ns = self._done_ns = self._quiet_ns = self._limit_ns = 0
        self._heard = b""
        # When something last came in; and in this exchange, something that is no part of its reply (-1: nothing).
        self._heard_ns = self._burst_ns = -1
        # The last exchange failed; and this one follows one that did.
        self._dirty = self._shaky = False

    @abstractmethod
    def _start_torque_off(self, now_ns: int) -> None:
        """Begin taking the torque off."""

    def _begin(self, job: Job, now_ns: int) -> None:
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
        if not self._dirty or self._heard_ns < 0 or self._quiet_ns <= now_ns or self._job is Job.TORQUE_OFF:
            self._transmit(now_ns)
            return
        self._wait(Phase.QUIET, now_ns)

    def _transmit(self, now_ns: int) -> None:
        """Send request k, and before the first one what nobody answers."""
        self._phase = Phase.REPLY
        self._heard = b""
        self._burst_ns = -1
        self._shaky = self._dirty
        self._dirty = False
        request = self._requests[self._k]
        if self._preamble or self._steps is not None:
            now_ns = self._prepare(request, now_ns)
        self._sent_ns = now_ns
        # Should the write fail, the cycle can still time out and give way to a torque-off.
        self.wake_ns = now_ns + self._timeout_ns
        self._port.write(request, now_ns)
        self._plan_wake()

    def _prepare(self, request: bytes, now_ns: int) -> int:
        """Send the preamble, and allow for the length of the request; return when the request begins."""
        self._first_ns, self._wire_ns, self._timeout_ns = self._spans[len(request)]
        preamble, self._preamble = self._preamble, b""
        if preamble:
            self._sent_ns = now_ns
            self.wake_ns = now_ns + self._timeout_ns
            self._port.write(preamble, now_ns)
            now_ns += wire_ns(len(preamble), self._baud)
        return now_ns

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
        if self._phase is not Phase.REPLY:
            self._listen(at_ns, now_ns)
            return self._job is not Job.IDLE and self.wake_ns <= now_ns
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
        if self._next_job is not Job.IDLE:
            self._start_torque_off(now_ns)
        elif self._shaky and not self._dirty:
            self._quiet_ns = at_ns + self._reply_ns + SERVO_DELAY_NS
            self._wait(Phase.LISTEN, now_ns)
        else:
            self._advance(now_ns)

    def _advance(self, now_ns: int) -> None:
        self._k += 1
        if self._k < len(self._requests):
            self._transmit_when_quiet(now_ns)
        else:
            self._finish(now_ns)

    def _wait(self, phase: Phase, now_ns: int) -> None:
        self._phase = phase
        self._limit_ns = now_ns + QUIET_REPLIES * self._reply_ns
        self.wake_ns = min(self._quiet_ns, self._port.ready_ns(1))

    def _listen(self, at_ns: int, now_ns: int) -> None:
        """Go on once the line was silent, or did not fall silent for too long."""
        count = self._port.flush_input(at_ns)
        if count:
            self.stray_bytes += count
            self._heard_ns = at_ns
            if self._phase is Phase.LISTEN:
                self._take_back(self._k)
                self._dirty = True
                self._advance(now_ns)
                return
            self._quiet_ns = min(at_ns + self._reply_ns, self._limit_ns)
        if at_ns < self._quiet_ns:
            self.wake_ns = min(self._quiet_ns, self._port.ready_ns(1))
        elif self._phase is Phase.QUIET:
            self._transmit(now_ns)
        else:
            self._advance(now_ns)

    def _finish(self, now_ns: int) -> None:
        self._job = Job.IDLE
        self._phase = Phase.REPLY
        self._heard = b""
        self._done_ns = now_ns
        self.wake_ns = NEVER

    def _judge(self, heard: bytes, at_ns: int) -> None:
        """Believe or refuse what came as the reply to request k."""
        k, readings = self._k, self._readings
        clean = len(heard) == REPLY_BYTES and HEADER not in heard
        if self._job is Job.DISCOVER:
            self._dirty = not clean
            if clean:
                self.found += (self._asked[k],)
        elif not clean:
            readings.refuse(self._servo_of(k))
            self._dirty = True
        elif self._steps is not None and self._job is Job.EXCHANGE:
            self._dirty = not self._judge_step(self._steps[k], heard, at_ns)
        else:
            limp = self._limp is not None and self._limp[k]
            if (limp or self._job is Job.TORQUE_OFF) and not readings.confirms_passive(k, is_passive_reply(heard)):
                self._dirty = True
                return
            if self._ten_bits and self._job is Job.TORQUE_OFF:
                # Its position counts in other ticks.
                readings.settle(k)
                self._dirty = False
                return
            # The first reply byte of a torque-off is no current.
            current = 0 if limp else heard[0] if self._job is Job.EXCHANGE else None
            self._dirty = not readings.take(k, current, heard[1], at_ns)

    def _judge_step(self, step: Step, heard: bytes, at_ns: int) -> bool:
        """Believe or refuse the reply to a step that is no plain exchange."""
        readings = self._readings
        if step.kind is Kind.PASSIVE:
            return readings.confirms_passive(step.servo, is_passive_reply(heard))
        if not is_ten_bit_reply(heard):
            readings.refuse(step.servo)
            return False
        # Whether a ten-bit move is answered with where the shaft is or with where it is sent, nobody has established.
        return step.kind is Kind.MOVE or readings.take(step.servo, 0, ten_bit_position(heard), at_ns)

    def _miss(self) -> None:
        self._dirty = True
        if self._job is not Job.DISCOVER:
            self._readings.miss(self._servo_of(self._k))

    def _take_back(self, k: int) -> None:
        """Refuse the reply to request k after all: more than two bytes came for it."""
        if self._job is Job.DISCOVER:
            self.found = tuple(bus_id for bus_id in self.found if bus_id != self._asked[k])
        else:
            self._readings.take_back(self._servo_of(k))

    def _servo_of(self, k: int) -> int:
        steps = self._steps
        return k if steps is None or self._job is not Job.EXCHANGE else steps[k].servo
