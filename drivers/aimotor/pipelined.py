"""Requests without gaps on the one line while replies come in on the other, where there are two.

    host    |request 0|request 1|request 2|request 3|
    servos               |r 0|     |r 1|     |r 2|     |r 3|

A cycle is 4 N + 2 bytes long instead of 6 N. But nothing in a reply says whose it is: order and time are all there is
to tell by. A byte is expected one turnaround after its request, and taken only in a window around that instant, which
begins half a byte's time before it. What comes up to two bytes' time behind it is sure; later, up to the window of the
next servo, it is taken with doubt (below). Windows of neighbours do not overlap, so a servo that is late by a slot is
not taken for its neighbour. Nor do replies, as long as turnarounds differ by no more than two bytes' time.

The turnaround is learned while exchanges are made one by one: `GOOD_CYCLES` of them in a row must have gone well, and
of their replies nine in ten have come no later than two bytes' time after the quickest. It includes what adapter and
host add, so where these are uneven there is no pipelining. Anything odd (a byte before its window, none in it, a reply
that is not believed) ends it: no more is sent, what is under way is thrown away, and servos whose replies were not
believed by then are asked one by one, in the same cycle. That is counted in `fallbacks`; the next `GOOD_CYCLES` are
made one by one again. One is enough where nothing was lost, but only late, after as many in which all went well.

Bytes that are late, or are found by a host that looks late and does not know when they came, are taken in their order,
provided that at the end, when the last window is over, exactly two bytes per servo have come; and if not, taken back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from drivers.aimotor.codec import HEADER, REPLY_BYTES, REQUEST_BYTES
from drivers.aimotor.readings import Readings
from drivers.port import NEVER, Port, wire_ns

GOOD_CYCLES: Final = 8
"""Cycles one by one, all replies good and evenly delayed, before requests are sent without waiting."""

SPREAD_BYTES: Final = 2
"""Delays may lie so many bytes' time apart: further, and one servo's reply could run into the next one's."""

LEAD_NS: Final = 400_000
"""Requests are written so long before the line is free for them: a host wakes up later than it asked to."""

_LATE_SHARE: Final = 10

_NOTHING_ODD: Final = -1


class Pipeline:
    """The pipelined cycles of a bus; `believed` servos have been heard, `written` have been sent to.

    `step` is to be called at `wake_ns`, and earlier whenever bytes came. Where the port has a descriptor, requests are
    written ahead of the line, one at least, so that a host that is a little late leaves no gap.
    """

    __slots__ = (
        "_after_ns", "_before_ns", "_byte_ns", "_came", "_delays_ns", "_doubtful", "_good", "_heard",
        "_late_ns", "_lead_ns", "_live", "_odd_at", "_port", "_readings", "_reply_ns", "_request_ns", "_requests",
        "_run", "_sent_ns", "_shortest_ns", "_stopping", "_strays", "_timeout_ns", "believed", "fallbacks",
        "heard_ns", "wake_ns",
    )  # fmt: skip

    def __init__(self, port: Port, readings: Readings, baud: int, timeout_ns: int) -> None:
        """Begin knowing nothing of turnarounds; `timeout_ns` is how long after its wire time a reply is given up."""
        self.fallbacks = 0
        self.believed = 0
        self.wake_ns = NEVER
        self.heard_ns = -1
        self._port, self._readings = port, readings
        self._byte_ns = wire_ns(1, baud)
        self._request_ns, self._reply_ns = wire_ns(REQUEST_BYTES, baud), wire_ns(REPLY_BYTES, baud)
        self._timeout_ns = self._request_ns + self._reply_ns + timeout_ns
        self._before_ns, self._after_ns = self._byte_ns // 2, SPREAD_BYTES * self._byte_ns
        # From when a byte is expected until the same one of the next servo's can come.
        self._late_ns = self._request_ns - self._before_ns
        self._live = bool(port.filenos())
        self._lead_ns = max(self._request_ns, LEAD_NS) if self._live else 0
        # Cycles one by one that went well, and pipelined ones, in a row.
        self._good = self._run = 0
        self._delays_ns: list[int] = []
        self._shortest_ns = 0
        self._requests: Sequence[bytes] = ()
        self._sent_ns: list[int] = []
        self._heard = b""
        self._strays = self._came = 0
        self._stopping = False
        self._odd_at = _NOTHING_ODD
        # The first servo whose bytes were found too late to know when they came; as many as there are: none.
        self._doubtful = 0

    @property
    def ready(self) -> bool:
        """Whether enough is known for the next cycle to be pipelined."""
        return self._good >= GOOD_CYCLES

    @property
    def odd(self) -> bool:
        """Whether this cycle has gone wrong."""
        return self._odd_at != _NOTHING_ODD

    @property
    def written(self) -> int:
        """How many requests of this cycle were sent."""
        return len(self._sent_ns)

    def note_delay(self, delay_ns: int) -> None:
        """Take note of how much later than its wire time a reply was complete that came alone."""
        self._delays_ns.append(delay_ns)

    def close_stretch(self, *, good: bool) -> None:
        """Take note of the end of a cycle made one by one, and whether all its replies were believed."""
        if self._good < 0:
            self._delays_ns.clear()
        self._good += 1
        if not good:
            self._forget()
        elif self._good == GOOD_CYCLES:
            self._shortest_ns = min(self._delays_ns)
            latest_ns = self._shortest_ns + SPREAD_BYTES * self._byte_ns
            if _LATE_SHARE * sum(delay_ns > latest_ns for delay_ns in self._delays_ns) > len(self._delays_ns):
                self._forget()

    def begin(self, requests: Sequence[bytes], now_ns: int) -> None:
        """Begin a cycle with these requests, one per servo, when `ready`."""
        self._requests = requests
        self._sent_ns = []
        self.believed = self._came = 0
        self._heard = b""
        self._stopping = False
        self._odd_at = _NOTHING_ODD
        self._doubtful = len(requests)
        self._write(now_ns)
        self._plan_wake()

    def stop(self) -> bool:
        """Send nothing more in this cycle; True when there is nothing to wait for either."""
        self._stopping = True
        return self.odd or self.believed == self.written

    def take_strays(self) -> int:
        """Return how many bytes were thrown away since the last time."""
        strays, self._strays = self._strays, 0
        return strays

    def step(self, now_ns: int) -> bool:
        """Take in what has come and send what is due; True when the cycle is over, or was odd and the line is silent.

        Where the port knows when bytes come, the line is looked at at `wake_ns`, however late the host is.
        """
        at_ns = now_ns if self._live else min(now_ns, self.wake_ns)
        data = self._port.read(at_ns)
        if data:
            self.heard_ns = at_ns
            self._came += len(data)
        for byte in data:
            self._take(byte, at_ns)
        if not self.odd and self.believed < self.written and at_ns >= self._given_up_ns():
            self._fail(self.believed, missed=not self._heard)
        if not self.odd and not self._stopping:
            while self.written < len(self._requests) and self._next_write_ns() <= at_ns:
                self._write(now_ns)
        if self._over(at_ns):
            self._look_back()
            self.wake_ns = NEVER
            return True
        self._plan_wake()
        return False

    def _write(self, now_ns: int) -> None:
        """Send the next request; it leaves when the one before it has left."""
        number = self.written
        start_ns = max(now_ns, self._sent_ns[-1] + self._request_ns) if number else now_ns
        self._sent_ns.append(start_ns)
        self._port.write(self._requests[number], now_ns)

    def _next_write_ns(self) -> int:
        return self._sent_ns[-1] + self._request_ns - self._lead_ns

    def _window_ns(self) -> tuple[int, int]:
        """Return from when to when the next byte of the servo that is next is sure to be its."""
        expected_ns = self._expected_ns()
        return expected_ns - self._before_ns, expected_ns + self._after_ns

    def _expected_ns(self) -> int:
        """Return when the next byte of the servo that is next comes if its turnaround is the shortest there was."""
        said_ns = (len(self._heard) + 1) * self._byte_ns
        return self._sent_ns[self.believed] + self._request_ns + said_ns + self._shortest_ns

    def _given_up_ns(self) -> int:
        """Return when the next byte of the servo that is next is not waited for any longer.

        Where its first byte came in time, the second one does too, or is the next servo's.
        """
        in_time = self._heard and self._doubtful > self.believed
        return self._expected_ns() + (self._after_ns if in_time else self._late_ns)

    def _look_back(self) -> None:
        """Take note of how a cycle went: one that was late, and nothing else, after many that were not, says little."""
        if not self.odd:
            self._run += 1
            return
        if self._run >= GOOD_CYCLES and self._came == REPLY_BYTES * self.written:
            self._good = GOOD_CYCLES - 2
        self._run = 0

    def _take(self, byte: int, at_ns: int) -> None:
        k = self.believed
        if self.odd:
            self._strays += 1
            return
        if k == self.written or at_ns < (window := self._window_ns())[0]:
            # Nobody can have said this yet: it belongs to the reply before, and that is none then.
            self._strays += 1
            self._fail(k if self._heard or not k else k - 1)
            return
        if at_ns > window[1]:
            self._doubtful = min(self._doubtful, k)
        self._heard += bytes((byte,))
        if len(self._heard) < REPLY_BYTES:
            return
        heard, self._heard = self._heard, b""
        if HEADER in heard:
            self._fail(k)
        elif self._readings.take(k, heard[0], heard[1], at_ns):
            self.believed = k + 1
        else:
            self._fail(k, refused=True)

    def _fail(self, k: int, *, missed: bool = False, refused: bool = False) -> None:
        """End pipelining at servo k, whose reply did not come, or is none, or is none after all.

        Who was heard before it, but nobody knows when, may have been taken for somebody else.
        """
        first = min(k, self._doubtful)
        for servo in range(first, self.believed):
            self._readings.take_back(servo)
        if k == self.believed and not refused:
            if missed:
                self._readings.miss(k)
            else:
                self._readings.refuse(k)
        self.believed = self._odd_at = first
        self._strays += len(self._heard)
        self._heard = b""
        self.fallbacks += 1
        # The cycle under way does not count.
        self._good = -1

    def _forget(self) -> None:
        self._good = 0
        self._delays_ns.clear()

    def _over(self, at_ns: int) -> bool:
        if self.odd:
            return self._stopping or at_ns >= self._drained_ns()
        if self._stopping:
            return self.believed == self.written
        return self.believed == len(self._requests) and at_ns >= self._sure_ns()

    def _sure_ns(self) -> int:
        """Return when nothing more can come that would say otherwise; at once where no bytes were found late."""
        if self._doubtful == len(self._requests):
            return self.heard_ns
        return self._sent_ns[-1] + self._request_ns + self._reply_ns + self._shortest_ns + self._after_ns

    def _drained_ns(self) -> int:
        """Return until when replies under way are waited for: all of them, or the last one's timeout."""
        all_came = self._came >= REPLY_BYTES * self.written
        return self.heard_ns if all_came else self._sent_ns[-1] + self._timeout_ns

    def _plan_wake(self) -> None:
        wake_ns = self._port.ready_ns(1)
        if self.odd:
            self.wake_ns = min(wake_ns, self._drained_ns())
            return
        if self.believed < self.written:
            wake_ns = min(wake_ns, self._given_up_ns())
        elif self.believed == len(self._requests):
            wake_ns = min(wake_ns, self._sure_ns())
        if self.written < len(self._requests) and not self._stopping:
            wake_ns = min(wake_ns, self._next_write_ns())
        self.wake_ns = wake_ns
