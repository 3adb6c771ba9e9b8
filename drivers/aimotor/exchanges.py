"""One request after the other, each with its reply: what an AI motor bus does on the wire, and what it believes of it.

Replies carry neither id nor checksum, so a reply is believed only if it can be true: two bytes and no more, none of
them 255, not before its own bytes could have crossed the wire, and a position the shaft can have reached since the
last believed one (`drivers.aimotor.readings`).

What becomes of replies that are late is in `drivers.aimotor.lateness`.

After a reply that did not come, or was not believed, bytes that no servo owes may still be under way. Then the next
request waits until the line was silent for the time of a reply (`Phase.QUIET`), and a reply counts only once nothing
followed it for as long as a servo may hesitate (`Phase.LISTEN`): of two replies that come for one request nobody knows
whose they are. Bytes that come before the next reply can begin belong to the reply before it, which is taken back.
"""

from __future__ import annotations

from typing import Final

from drivers.aimotor.codec import HEADER, REPLY_BYTES, is_passive_reply
from drivers.aimotor.forms import AnswerKind, CycleRequest, is_ten_bit_reply, ten_bit_position
from drivers.aimotor.lateness import OK, STALL_NS, UNKNOWN_BYTES, BusPhase, LateReplies, Phase
from drivers.aimotor.table import SERVO_DELAY_NS
from drivers.inprocess import InProcessPort
from drivers.port import NEVER, wire_ns

QUIET_REPLIES: Final = 8
"""For how many replies' time a request is held back at most while the line does not fall silent."""


class Exchanges(LateReplies):
    """The requests of one cycle, each sent when the reply to the one before it was judged.

    Request k is for servo k, and its reply is current and position, unless there are `_steps` that say otherwise.
    """

    __slots__ = ()

    def _begin(self, job: BusPhase, now_ns: int) -> None:
        if self._grace_ns and not self._done_ns and job is not BusPhase.TORQUE_OFF:
            # Another program may have asked before.
            self._debt.owe(UNKNOWN_BYTES, now_ns + self._timeout_ns + self._grace_ns)
        if self._left and job is not BusPhase.TORQUE_OFF:
            for count, until_ns in self._left:
                self._debt.owe(count, until_ns)
            self._left.clear()
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
            self._received_ns = now_ns
            self._dirty = True
            if self._debt:
                self._debt.pay(count)
            else:
                self._wonder(0)

    def _transmit_when_quiet(self, now_ns: int) -> None:
        # Requests and replies have a line each: that torque goes off never waits for silence.
        self._quiet_ns = self._received_ns + self._reply_ns if self._dirty and self._received_ns >= 0 else 0
        if self._grace_ns and self._debt:
            self._debt.expire(now_ns)
            self._quiet_ns = max(self._quiet_ns, self._debt.until_ns)
            self._doubt_all(self._k)
        if self._quiet_ns <= now_ns or self._job is BusPhase.TORQUE_OFF:
            self._transmit(now_ns)
            return
        self._wait(Phase.QUIET, now_ns)

    def _transmit(self, now_ns: int) -> None:
        """Send request k, and before the first one what no servo answers."""
        self._phase = Phase.REPLY
        self._received = b""
        self._burst_ns = -1
        self._shaky = self._dirty
        self._dirty = False
        if self._grace_ns:
            self._debt.expire(now_ns)
            self._blind = bool(self._debt)
        if self._readings.doubted and self._job is BusPhase.EXCHANGE:
            self._shaky |= self._readings.unsure[self._servo_of(self._k)]
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
        if not self._received:
            early_ns = self._port.ready_ns(1)
            if early_ns - self._sent_ns < self._first_ns or self._belongs_to_burst(early_ns):
                self.wake_ns = early_ns
                return
        ready_ns = self._port.ready_ns(REPLY_BYTES - len(self._received))
        latest_ns = self._sent_ns + self._timeout_ns
        # Half a reply is taken when it comes, as from a real line: since when it has been silent matters.
        self.wake_ns = ready_ns if ready_ns <= latest_ns else min(self._port.ready_ns(1), latest_ns)

    def _belongs_to_burst(self, at_ns: int) -> bool:
        """Whether a byte at `at_ns` follows bytes that are no reply so closely that it is none either."""
        early = at_ns - self._sent_ns < self._wire_ns
        return early and self._burst_ns >= 0 and 2 * (at_ns - self._burst_ns) <= 3 * self._byte_ns

    def _run_clean(self, at_ns: int, horizon_ns: int) -> bool:
        """Take replies as they should be, from the one at `at_ns` on, and send the next requests.

        The way of nearly every exchange on every line, written out flat; what is odd is left to `_step`. True when
        nothing more is due by `horizon_ns`.
        """
        readings = self._readings
        odd = self._shaky or self._received or self._limp or self._burst_ns >= 0 or self._blind or readings.doubted
        if odd or self._phase is not Phase.REPLY or self._steps is not None:
            return False
        if self._job is not BusPhase.EXCHANGE or self._next_job is not BusPhase.IDLE:
            return False
        port = self._port
        # Compiled, a call is twice as fast where it is known whose it is; a line in this process is that of every bout.
        line = port if isinstance(port, InProcessPort) else None
        requests, positions, currents = self._requests, readings.position_raw, readings.current_raw
        stamps, status, reachable = readings.stamp_ns, readings.status, readings.reachable
        first_ns, shortest_ns, timeout_ns = self._first_ns, self._wire_ns, self._timeout_ns
        k, count, sent_ns, rest = self._k, len(requests), self._sent_ns, b""
        while at_ns - sent_ns >= shortest_ns:
            data = port.read(at_ns) if line is None else line.read(at_ns)
            if len(data) != REPLY_BYTES or HEADER in data:
                rest = data
                break
            current, position = data
            if not -2 < position - positions[k] < 2 and not reachable(k, position, at_ns):
                rest = data
                break
            positions[k] = position
            currents[k] = current
            stamps[k] = at_ns
            if status[k] != OK:
                readings.settle(k)
            self._k = k = k + 1
            if k == count:
                self._finish(at_ns)
                return True
            self._sent_ns = sent_ns = at_ns
            # Should the write fail, the cycle can still time out.
            self.wake_ns = at_ns + timeout_ns
            if line is None:
                port.write(requests[k], at_ns)
                ready, first = port.ready_ns(REPLY_BYTES), port.ready_ns(1)
            else:
                line.write(requests[k], at_ns)
                ready, first = line.ready_ns(REPLY_BYTES), line.ready_ns(1)
            if first - sent_ns < first_ns or ready - sent_ns > timeout_ns:
                self._plan_wake()
                return self.wake_ns > horizon_ns
            at_ns = ready
            if ready > horizon_ns:
                self.wake_ns = ready
                return True
        self.wake_ns = at_ns
        if rest:
            self._received, self._received_ns = rest, at_ns
        return False

    def _step(self, now_ns: int) -> bool:
        """Take the next thing that is due by `now_ns`; True when more is due by then."""
        # A virtual port is asked at the instant itself, so that a late host receives the same as one in time.
        at_ns = min(now_ns, self.wake_ns)
        if self._phase is not Phase.REPLY:
            if self._phase is Phase.OWED:
                self._collect(at_ns, now_ns)
            else:
                self._listen(at_ns, now_ns)
            return self._job is not BusPhase.IDLE and self.wake_ns <= now_ns
        data = self._port.read(at_ns)
        if data:
            self._received_ns = at_ns
            if self._grace_ns and self._debt:
                data = self._pay(data, at_ns)
        stalled = self._grace_ns > 0 and now_ns - self.wake_ns > STALL_NS
        received = self._sift(self._received + data, at_ns)
        if len(received) >= REPLY_BYTES and not stalled:
            self._judge(received, at_ns)
            self._next(now_ns, at_ns)
        elif stalled or at_ns - self._sent_ns >= self._timeout_ns:
            self._run_out(received, now_ns if stalled else self._sent_ns, at_ns, now_ns)
        else:
            self._received = received
            self._plan_wake()
        return self.wake_ns <= now_ns

    def _sift(self, received: bytes, at_ns: int) -> bytes:
        """Return what is left of the bytes received without those that came before a reply could."""
        since_ns = at_ns - self._sent_ns
        if not received or since_ns >= self._wire_ns:
            return received
        if since_ns >= self._first_ns and len(received) < REPLY_BYTES and not self._belongs_to_burst(at_ns):
            return received
        self.stray_bytes += len(received)
        self._burst_ns = at_ns
        self._shaky = True
        if self._k:
            self._take_back(self._k - 1)
        return b""

    def _next(self, now_ns: int, at_ns: int) -> None:
        """Go on after exchange k: to the torque-off that waits, or first make sure that nothing follows the reply."""
        if self._next_job is not BusPhase.IDLE:
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
            self._received_ns = at_ns
            if self._phase is Phase.LISTEN:
                self._take_back(self._k)
                self._dirty = True
                self._advance(now_ns)
                return
            self._debt.pay(count)
            self._quiet_ns = max(min(at_ns + self._reply_ns, self._limit_ns), self._debt.until_ns)
        if at_ns < self._quiet_ns:
            self.wake_ns = min(self._quiet_ns, self._port.ready_ns(1))
        elif self._phase is Phase.QUIET:
            self._transmit(now_ns)
        else:
            self._advance(now_ns)

    def _finish(self, now_ns: int) -> None:
        self._job = BusPhase.IDLE
        self._phase = Phase.REPLY
        self._received = b""
        self._done_ns = now_ns
        self.wake_ns = NEVER
        if self.held_since_ns >= 0 and not self._debt and all(status == OK for status in self._readings.status):
            self.held_since_ns = -1

    def _judge(self, received: bytes, at_ns: int) -> None:
        """Believe or refuse what came as the reply to request k."""
        k, readings = self._k, self._readings
        if self._blind:
            readings.answer(k)
            self._dirty = True
            return
        clean = len(received) == REPLY_BYTES and HEADER not in received
        if self._job is BusPhase.DISCOVER:
            self._dirty = not clean
            if clean:
                self.found += (self._asked[k],)
        elif not clean:
            readings.refuse(self._servo_of(k))
            self._dirty = True
            if len(received) > REPLY_BYTES:
                self._wonder(k + 1)
        elif self._steps is not None and self._job is BusPhase.EXCHANGE:
            self._dirty = not self._judge_step(self._steps[k], received, at_ns)
        else:
            limp = self._limp is not None and self._limp[k]
            passive = limp or self._job is BusPhase.TORQUE_OFF
            if passive and not readings.confirms_passive(k, is_passive_reply(received)):
                self._dirty = True
                return
            if self._ten_bits and self._job is BusPhase.TORQUE_OFF:
                # Its position counts in other ticks.
                readings.settle(k)
                self._dirty = False
                return
            # The first reply byte of a torque-off is no current.
            current = 0 if limp else received[0] if self._job is BusPhase.EXCHANGE else None
            self._dirty = not readings.take(k, current, received[1], at_ns)
            if self._job is BusPhase.TORQUE_OFF and not self._dirty:
                # It has let go, whether or not its position is believed yet.
                readings.settle(k)

    def _judge_step(self, step: CycleRequest, received: bytes, at_ns: int) -> bool:
        """Believe or refuse the reply to a step that is no plain exchange."""
        readings = self._readings
        if step.kind is AnswerKind.PASSIVE:
            return readings.confirms_passive(step.servo, is_passive_reply(received))
        if not is_ten_bit_reply(received):
            readings.refuse(step.servo)
            return False
        # Whether a ten-bit move is answered with where the shaft is or with where it is sent, nobody has established.
        return step.kind is AnswerKind.MOVE or readings.take(step.servo, 0, ten_bit_position(received), at_ns)

    def _miss(self) -> None:
        self._dirty = True
        if self._job is not BusPhase.DISCOVER:
            self._readings.miss(self._servo_of(self._k))

    def _take_back(self, k: int) -> None:
        """Refuse the reply to request k after all: more than two bytes came for it."""
        if self._job is BusPhase.DISCOVER:
            self.found = tuple(bus_id for bus_id in self.found if bus_id != self._asked[k])
        else:
            self._readings.take_back(self._servo_of(k))
            self._wonder(self._k + 1)
