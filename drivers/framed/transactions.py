"""Exchanges on a half-duplex line, one after the other, without waiting inside a call.

What is said is a script: a generator that yields `Exchange`s and gets the statuses that came for each, by id. `Talk`
runs it on a port, virtual or real, and knows when there is something to do next.

A status is believed to be the answer when it is whole, its id was asked and has not answered yet, it did not come
before its own bytes could have crossed the wire, and it is not the request itself come back (a ping's can not be told).
What else comes is counted as stray bytes, and so is a status with another number of bytes than were asked for.

A status says whose it is, and not to which question. One that comes later than its time-out is owed, until as late as
a line may be (D). Where that is more than the time-out, a servo that owes one is not asked again before it came or can
not come any more: so what is taken for an answer is one, and no older than it seems. Where it is not, a late status may
be taken for the answer to the next question, if it is as long; questions for which that would not do are `wary`, and
wait for a time-out more.

Where nobody answers, servos may have heard a wrong length and wait for the rest of a packet, which would be whatever is
said next: a write would end in another register. So that begins with the layout's padding. All of it goes behind the
first exchange of a script, and behind all that tell servos something; behind other questions as much as would complete
one that was torn, so that the silent ones cost little more than their time-outs. A layout without padding has no
time-out shorter than the silence that ends the wait.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Final, NamedTuple, TypeAlias

from drivers.framed.layout import FastRead
from drivers.framed.packet import BROADCAST, Dialect, Packet
from drivers.port import NEVER, Port, wire_ns

StatusesById: TypeAlias = Mapping[int, Packet]
"""Statuses by id."""


class Exchange(NamedTuple):
    """One request, and who answers it in this order with `length` bytes of data each.

    Without `ids` nobody answers, and the next request may follow at once. `take` is called for each answer as it comes,
    with id, status and the instant it was complete. With `fast` they answer in one packet. `patience_ns` is waited for
    answers after the request, however few come. A `wary` one is held back while a status of one of them may still be
    under way; `before` is not, and goes directly before the request otherwise.
    """

    request: bytes
    ids: tuple[int, ...] = ()
    length: int = 0
    on_status: Callable[[int, Packet, int], None] | None = None
    fast: FastRead | None = None
    listen_ns: int = 0
    prefix: bytes = b""
    after_late: bool = False


Transaction: TypeAlias = Generator[Exchange, StatusesById, None]
StatusQuery: TypeAlias = Generator[Exchange, StatusesById, StatusesById]

_NOTHING = Exchange(b"")


class LateStatuses:
    """What was late in the script under way, on a line where that is possible.

    `ids` are those whose statuses came late; `until_ns` is when the last wait in vain ended, 0 for none.
    """

    __slots__ = ("ids", "until_ns")

    def __init__(self) -> None:
        """Start with nothing late."""
        self.ids: set[int] = set()
        self.until_ns = 0

    def forget(self) -> None:
        """Begin anew."""
        self.ids.clear()
        self.until_ns = 0


STALL_NS: Final = 2_000_000
"""After a wake-up later than this, statuses may be later than they would have been otherwise."""


class TransactionRunner:
    """Runs one script at a time. `wake_ns` is when `proceed` next has something to do, `NEVER` between scripts."""

    __slots__ = (
        "_answers", "_baud", "_deadline_ns", "_dialect", "_done_ns", "_earliest_ns", "_exchange", "_first", "_free_ns",
        "_held", "_in_time", "_late_ns", "_lead", "_next", "_open", "_owed_ns", "_padding", "_parser", "_patience_ns",
        "_port", "_reply_bytes", "_script", "_shortest_ns", "_stray", "_timeout_ns", "held_since_ns", "late",
        "wake_ns",
    )  # fmt: skip

    def __init__(
        self, port: Port, dialect: Dialect, *, baud: int, timeout_ns: int, late_ns: int = 0, padding: bytes = b""
    ) -> None:
        """Speak through `port`; a status is waited for `timeout_ns` beyond its wire time, and may be `late_ns` late.

        `padding` is for servos that wait for the rest of a packet, see above.
        """
        self.wake_ns = NEVER
        self._port, self._dialect = port, dialect
        self._baud, self._timeout_ns = baud, timeout_ns
        self._shortest_ns = wire_ns(dialect.status_bytes(0), baud)
        self._parser = dialect.parser(status=True)
        self._stray = 0
        self._padding = padding
        self._patience_ns = max(0, late_ns - timeout_ns)
        # Since when statuses come late; what was late in the script under way, and whether all came in time.
        self.held_since_ns = -1
        self.late = LateStatuses()
        self._in_time = True
        # What goes before the next thing that is sent; whether the script under way has sent no question yet.
        self._lead = b""
        self._first = True
        self._script: Transaction | None = None
        self._next: Transaction | None = None
        self._exchange = _NOTHING
        # What waits for late statuses; until when one may come, by the ids of those that did not answer in time.
        self._held: Exchange | None = None
        self._owed_ns: dict[int, int] = {}
        # Who has not answered yet, in order; and what came.
        self._open: dict[int, None] = {}
        self._answers: dict[int, Packet] = {}
        # The shortest reply to the exchange; how much later than the last one its next status may be.
        self._reply_bytes = self._late_ns = 0
        self._free_ns = self._done_ns = self._earliest_ns = self._deadline_ns = 0

    @property
    def busy(self) -> bool:
        """Whether a script is under way."""
        return self._script is not None

    @property
    def stray_bytes(self) -> int:
        """Bytes that were no part of a status that was asked for."""
        return self._stray + self._parser.stray_bytes

    @property
    def bad_checksums(self) -> int:
        """Statuses thrown away for their checksum."""
        return self._parser.bad_checksums

    def begin(self, script: Transaction, now_ns: int) -> None:
        """Run a script from its begin. Raises `PortError`; the script is under way then all the same."""
        # A caller that let a script run ahead of its own clock may begin the next one in the past of the wire.
        now_ns = max(now_ns, self._done_ns)
        self._script = script
        self._first = self._in_time = True
        self.late.forget()
        self.wake_ns = now_ns
        self._go_on(None, now_ns)

    def interrupt(self, script: Transaction) -> None:
        """Run `script` in place of the one under way, once the exchange under way is over."""
        self._next = script

    def proceed(self, now_ns: int) -> bool:
        """Do what is due at `now_ns`; True when no script is under way. Raises `PortError`."""
        if self._script is None:
            self._stray += self._port.flush_input(now_ns)
        while self._script is not None and self._step(now_ns):
            pass
        return self._script is None

    def run_until(self, horizon_ns: int) -> int:
        """Run the script as far as `horizon_ns`; return when it was complete, `NEVER` if it is not."""
        instant_ns = NEVER
        while self.wake_ns <= horizon_ns:
            instant_ns = self.wake_ns
            self._step(instant_ns)
        return instant_ns if self._script is None else NEVER

    def _step(self, now_ns: int) -> bool:
        """Take the next thing that is due by `now_ns`; True when more is due by then."""
        # A virtual port is asked at the instant itself, so that a host that comes late hears the same as one in time.
        at_ns = min(now_ns, self.wake_ns)
        data = self._port.read(at_ns)
        if data:
            self._hear(data, at_ns)
        if self._held is not None:
            self._hold_on(self._held, at_ns, now_ns)
        elif self._over or at_ns >= self._deadline_ns:
            if not self._over:
                self._owe(at_ns, now_ns)
                self._lead = self._padding if self._stuck else self._padding[: len(self._exchange.request)]
            self._first = False
            self._go_on(self._answers, now_ns)
        else:
            self._plan_wake()
        return self.wake_ns <= now_ns

    def _owe(self, at_ns: int, now_ns: int) -> None:
        """Note whose statuses did not come in time, and until when they may."""
        self._in_time = False
        until_ns = at_ns + self._late_ns
        if self._patience_ns:
            # When this process wakes up late, the line may have been delayed too.
            stalled = now_ns - self.wake_ns > STALL_NS
            until_ns = (now_ns if stalled else at_ns) + self._patience_ns + stalled * self._late_ns
            self.late.until_ns = now_ns
        self._owed_ns |= dict.fromkeys(self._open, until_ns)

    @property
    def owed_bytes(self) -> int:
        """Bytes of statuses that did not come in time and still may, as far as is known."""
        return len(self._owed_ns) * self._dialect.status_bytes(0)

    @property
    def _over(self) -> bool:
        # They answer in order: after the last one nobody does.
        return not self._open or self._exchange.ids[-1] not in self._open

    @property
    def _stuck(self) -> bool:
        """Whether servos may be left waiting for the rest of what they were told, and not asked only."""
        told = bool(self._exchange.prefix) or not self._exchange.length
        return not self._answers and (self._first or told)

    def _go_on(self, answers: StatusesById | None, now_ns: int) -> None:
        """Let the script say what is next, and send it; `answers` is None for a script that has not begun."""
        while (script := self._script) is not None:
            if self._next is not None:
                script.close()
                self._script, self._next = self._next, None
                self._first = True
                answers = None
                continue
            try:
                exchange = next(script) if answers is None else script.send(answers)
            except StopIteration:
                self._finish(now_ns)
                return
            self._transmit(exchange, now_ns)
            if exchange.ids:
                return
            answers = {}

    def _hold_on(self, exchange: Exchange, at_ns: int, now_ns: int) -> None:
        """Send what was held back if nothing is under way any more."""
        if self._next is not None:
            self._held = None
            self._go_on({}, now_ns)
        elif self._owed_until(exchange) <= at_ns:
            self._held = None
            if self._patience_ns:
                self.late.until_ns = at_ns
            self._send(exchange, now_ns)
        else:
            self._plan_wake()

    def _owed_until(self, exchange: Exchange) -> int:
        return max((self._owed_ns.get(bus_id, 0) for bus_id in exchange.ids), default=0)

    def _finish(self, now_ns: int) -> None:
        self._script = None
        self._done_ns = now_ns
        self.wake_ns = NEVER
        self._owed_ns = {bus_id: until for bus_id, until in self._owed_ns.items() if until > now_ns}
        if self._in_time and not self._owed_ns:
            self.held_since_ns = -1

    def _transmit(self, exchange: Exchange, now_ns: int) -> None:
        wary = exchange.after_late or self._patience_ns > 0
        until_ns = self._owed_until(exchange) if wary and self._owed_ns else 0
        if until_ns <= now_ns:
            self._send(exchange, now_ns)
            return
        if exchange.prefix:
            self._send(Exchange(exchange.prefix), now_ns)
            exchange = exchange._replace(prefix=b"")
        self._exchange, self._held, self._open = _NOTHING, exchange, {}
        self._deadline_ns = until_ns
        self._plan_wake()

    def _send(self, exchange: Exchange, now_ns: int) -> None:
        self._exchange = exchange
        self._open = dict.fromkeys(exchange.ids)
        self._answers = {}
        begin_ns = max(now_ns, self._free_ns)
        request = self._lead + exchange.prefix + exchange.request
        self._lead = b""
        self._free_ns = sent_ns = begin_ns + wire_ns(len(request), self._baud)
        # Should the write fail, the exchange can still time out and give way to another script.
        self._deadline_ns = self.wake_ns = now_ns
        if exchange.ids:
            self._expect(exchange, sent_ns)
            self._parser.reset()
            self._stray += self._port.flush_input(now_ns)
        self._port.write(request, now_ns)
        if exchange.ids:
            self._plan_wake()

    def _expect(self, exchange: Exchange, sent_ns: int) -> None:
        length, fast = exchange.length, exchange.fast
        self._reply_bytes = self._dialect.status_bytes(length)
        if fast is not None:
            self._reply_bytes = fast.head + len(exchange.ids) * (fast.each + length)
        # Stuffing adds a byte for three at most.
        self._late_ns = wire_ns(self._reply_bytes + length // 3, self._baud) + self._timeout_ns
        self._earliest_ns = sent_ns + self._shortest_ns
        self._deadline_ns = self.wake_ns = sent_ns + max(self._late_ns, exchange.listen_ns)

    def _plan_wake(self) -> None:
        # What is whole at the end of a reply is taken at its own time; half a packet, as it comes.
        ready_ns = self._port.ready_ns(self._reply_bytes if self._parser.idle else 1)
        self.wake_ns = min(ready_ns, self._deadline_ns)

    def _hear(self, data: bytes, at_ns: int) -> None:
        exchange = self._exchange
        for _, packet in self._parser.feed(data):
            if packet.bus_id != BROADCAST or exchange.fast is None:
                self._take(packet, at_ns)
                continue
            for part in exchange.fast.split(packet, exchange.length, len(exchange.ids)):
                self._take(part, at_ns)

    def _take(self, packet: Packet, at_ns: int) -> None:
        bus_id, exchange = packet.bus_id, self._exchange
        size, error = len(packet.params), packet.error
        # A refusal has no data, however much was asked for.
        other = size != exchange.length and (size or not error)
        if bus_id not in self._open or at_ns < self._earliest_ns or other or (error and self._is_echo(packet)):
            self._settle(bus_id, at_ns)
            self._stray += self._dialect.status_bytes(size)
            return
        del self._open[bus_id]
        self._answers[bus_id] = packet
        if (deadline_ns := at_ns + self._late_ns) > self._deadline_ns:
            self._deadline_ns = deadline_ns
        if exchange.on_status is not None:
            exchange.on_status(bus_id, packet, at_ns)

    def _settle(self, bus_id: int, at_ns: int) -> None:
        """Take a status that is no answer for one that was owed. One packet may be that of all."""
        if bus_id not in self._owed_ns and (bus_id != BROADCAST or not self._owed_ns):
            return
        late = self._owed_ns.keys() if bus_id == BROADCAST else {bus_id}
        self.late.ids |= late
        self._owed_ns = {k: until_ns for k, until_ns in self._owed_ns.items() if k not in late}
        if self.held_since_ns < 0:
            self.held_since_ns = at_ns

    def _is_echo(self, packet: Packet) -> bool:
        """Whether a status is the request itself, come back late: Feetech's requests and statuses look alike.

        That of a ping is also what a servo says whose voltage is wrong.
        """
        if not packet.params:
            return False
        said = self._dialect.instruction(packet.bus_id, packet.error, packet.params)
        return self._exchange.request.endswith(said)
