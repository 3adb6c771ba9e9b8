"""AI motors on one wire, to the byte: what the host's end of the line would see of real ones.

The emulator hears a request when its last byte has arrived. At that instant it lets the plant catch up, samples the
shaft and gives the plant the command; the reply leaves one turnaround later. So a reply reports the last step completed
when the checksum arrived, and a command acts from the first step after it. `docs/emulator.md` says what is not
modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Final

import numpy as np

from drivers.aimotor.codec import MAX_RAW, REQUEST_BYTES, Op, Request, RequestParser
from drivers.aimotor.damage import LineRecord
from drivers.aimotor.table import DEFAULT_BAUD, TICK_A, TICK_DEG
from drivers.aimotor.troubles import Troubles
from drivers.errors import BusError
from drivers.faults import FaultLayer
from drivers.inprocess import PacedLine
from drivers.port import wire_ns
from drivers.servo import ServoAddress, ServoPlant

DEFAULT_TURNAROUND_NS: Final = 230_000
"""From the request's last byte to the reply's first. With it four motors at 57,600 baud reach the 197 Hz of Rutter
2010."""

_JITTER_BLOCK = 4096
# How far ahead of a request's end a babbling servo has its say: longer than a host waits for a reply.
_CHATTER_NS = 6_000_000
_LONGEST_NOISE = 64
# A current of whole ticks must not lose one to the last bit of a float.
_ROUND_OFF = 1e-9
_NO_REPLY: Final = (b"", b"", 0)
_NO_FRAMES: Final[dict[bytes, tuple[int, float, int]]] = {}


def _nowhere(data: bytes, start_ns: int) -> None:
    """Where replies go until a line is connected."""


class AiMotorEmulator:
    """Stateful servos behind one line; the mechanics are a `ServoPlant`.

    `jitter_ns` adds 0 to that many nanoseconds, uniformly drawn from `rng`, to each turnaround. Servos power up
    passive and stay so until their first position send. What goes wrong may be changed at any time: the faults of the
    line through `faults`, those of the servos by the methods below, which count servos from 0 in the order given.

    `record` says what the line's faults did to the exchanges; `collisions` counts replies lost because somebody else
    was talking.
    """

    __slots__ = (
        "_deliver",
        "_faults",
        "_jitter_ns",
        "_jitters",
        "_known",
        "_last",
        "_parser",
        "_plant",
        "_quick",
        "_request_ns",
        "_rng",
        "_rx_free_ns",
        "_servos",
        "_talked_ns",
        "_tick_deg",
        "_troubles",
        "_turnaround_ns",
        "baud",
        "collisions",
        "record",
        "refused",
    )

    def __init__(
        self,
        servos: Sequence[ServoAddress],
        plant: ServoPlant,
        *,
        baud: int = DEFAULT_BAUD,
        turnaround_ns: int = DEFAULT_TURNAROUND_NS,
        jitter_ns: int = 0,
        rng: np.random.Generator | None = None,
        faults: FaultLayer | None = None,
        tick_deg: float = TICK_DEG,
    ) -> None:
        """Power the servos up: the plant's shafts are released. Raises `BusError` for jitter without a generator."""
        if jitter_ns and rng is None:
            raise BusError("turnaround jitter needs a generator: pass rng")
        self.baud = baud
        self.refused = self.collisions = 0
        self.record = LineRecord()
        self._troubles = Troubles([servo.bus_id for servo in servos])
        self._plant = plant
        self._tick_deg = tick_deg
        self._turnaround_ns = turnaround_ns
        self._jitter_ns = jitter_ns
        self._jitters: list[int] = []
        self._rng = rng
        self._faults = faults
        self._parser = RequestParser()
        self._request_ns = wire_ns(REQUEST_BYTES, baud)
        self._rx_free_ns = self._talked_ns = 0
        # The last reply as it was meant, as it left, and how long it was held back.
        self._last = _NO_REPLY
        self._deliver: Callable[[bytes, int], None] = _nowhere
        # Whole frames heard before, decoded: (servo, goal in degrees, level or -1 for a read).
        self._known: dict[bytes, tuple[int, float, int]] = {}
        self._quick = _NO_FRAMES
        for index in range(len(servos)):
            plant.release(index)
        self._choose_path()

    def connect(self, line: PacedLine) -> None:
        """Send replies into `line` from now on."""
        self._deliver = line.deliver

    def receive(self, data: bytes, now_ns: int) -> None:
        """Take request bytes whose first bit starts at `now_ns`, or when the line is free. Raises `PlantFault`."""
        frame = self._quick.get(data)
        if frame is None:
            self._receive_any(data, now_ns)
            return
        free_ns = self._rx_free_ns
        self._rx_free_ns = heard_ns = (now_ns if now_ns > free_ns else free_ns) + self._request_ns
        servo, goal_deg, level = frame
        plant = self._plant
        plant.advance(heard_ns)
        # The same as _reply and _send; written out because this runs once per exchange of every bout.
        angle_deg, current_a = plant.sample(servo)
        if level >= 0:
            plant.command(servo, goal_deg, level)
        position = int(angle_deg / self._tick_deg + 0.5)
        current = int(current_a / TICK_A + _ROUND_OFF)
        if not (0 <= position <= MAX_RAW and 0 <= current <= MAX_RAW):
            position = min(max(position, 0), MAX_RAW)
            current = min(max(current, 0), MAX_RAW)
        start_ns = heard_ns + self._turnaround_ns
        if self._jitter_ns:
            start_ns += self._jitter()
        self._deliver(bytes((current, position)), start_ns)

    def unplug(self, servo: int) -> None:
        """Take the servo off the four-wire bus: no power, no torque, no answer."""
        self._troubles.unplug(servo, out=True)
        self._plant.release(servo)
        self._choose_path()

    def plug(self, servo: int) -> None:
        """Put the servo back; it powers up passive."""
        self._troubles.unplug(servo, out=False)
        self._choose_path()

    def supply(self, *, on: bool) -> None:
        """Take the supply of all servos away (silent, limp), or give it back (passive, answering)."""
        self._troubles.powered = on
        self._parser.forget()
        for servo in range(len(self._troubles)):
            self._troubles.recover(servo)
            self._plant.release(servo)
        self._choose_path()

    def stick(self, servo: int, *, stuck: bool = True) -> None:
        """Freeze (or free) what the servo reports: it still moves, its replies stay the same."""
        self._troubles.check(servo)
        if stuck:
            self._troubles.stuck[servo] = self._reply(servo)
        else:
            self._troubles.stuck.pop(servo, None)
        self._choose_path()

    def babble(self, servo: int, *, talking: bool = True) -> None:
        """Let the servo talk without being asked, and without end, or stop it; nobody's replies get through.

        Raises `BusError` without a generator. It still obeys.
        """
        self._troubles.check(servo)
        if self._rng is None:
            raise BusError("a babbling servo needs a generator: pass rng")
        if talking:
            self._troubles.babbling.add(servo)
        else:
            self._troubles.babbling.discard(servo)
        self._choose_path()

    def answer_as(self, servo: int, bus_id: int) -> None:
        """Let the servo listen to another id; two with the same id answer at once, their bits on top of each other."""
        self._troubles.rename(servo, bus_id)
        self._known.clear()
        self._choose_path()

    def trip(self, servo: int, *, tripped: bool = True) -> None:
        """Let the servo go passive by itself, as if overloaded, or recover.

        It answers, and obeys no position send, until it is told to be passive or its supply comes back. What ends the
        overload of a real one is not known.
        """
        self._troubles.check(servo)
        if tripped:
            self._troubles.tripped.add(servo)
            self._plant.release(servo)
        else:
            self._troubles.recover(servo)
        self._choose_path()

    def set_overload(self, limit_a: float | None, after_ns: int = 0) -> None:
        """Let servos trip after `after_ns` above `limit_a`, as seen at their exchanges; None: never."""
        self._troubles.limit_a, self._troubles.patience_ns = limit_a, after_ns
        self._choose_path()

    def chatter(self, now_ns: int, until_ns: int) -> None:
        """Put on the line what babbling servos say from `now_ns` to `until_ns`; nothing where it was said already.

        `receive` does this for a while ahead; who carries the bytes may do it between requests too.
        """
        if not self._troubles.noisy or self._rng is None:
            return
        start_ns, byte_ns = max(now_ns, self._talked_ns), wire_ns(1, self.baud)
        while start_ns < until_ns:
            count = min(-(-(until_ns - start_ns) // byte_ns), _LONGEST_NOISE)
            self._deliver(self._rng.bytes(count), start_ns)
            self._talked_ns = start_ns = start_ns + wire_ns(count, self.baud)

    @property
    def injected(self) -> Mapping[str, int]:
        """What the line's faults did so far, by kind; empty for a line without any."""
        return self._faults.injected if self._faults is not None else {}

    @property
    def bad_checksums(self) -> int:
        """Requests heard and thrown away for their checksum."""
        return self._parser.bad_checksums

    @property
    def stray_bytes(self) -> int:
        """Request bytes that belonged to no whole frame."""
        return self._parser.stray_bytes

    def _choose_path(self) -> None:
        """Let whole known frames skip the parser only while nothing can go wrong with them."""
        healthy = self._faults is None and self._troubles.none and self._parser.idle
        self._quick = self._known if healthy else _NO_FRAMES

    def _jitter(self) -> int:
        """Return the next draw; drawn in blocks, since one draw at a time costs more than the exchange."""
        if not self._jitters and self._rng is not None:
            self._jitters = self._rng.integers(0, self._jitter_ns, size=_JITTER_BLOCK, endpoint=True).tolist()
        return self._jitters.pop()

    def _receive_any(self, data: bytes, now_ns: int) -> None:
        start_ns = max(now_ns, self._rx_free_ns)
        self._rx_free_ns = end_ns = start_ns + wire_ns(len(data), self.baud)
        if not self._troubles.powered:
            self._plant.advance(end_ns)
            return
        self.chatter(now_ns, end_ns + _CHATTER_NS)
        heard = data if self._faults is None else self._faults.garble(data)
        requests = self._parser.feed(heard)
        self._last = _NO_REPLY
        for index, request in requests:
            self._obey(request, start_ns + wire_ns(index + 1, self.baud))
        if self._faults is not None:
            meant, sent, delay_ns = self._last
            self.record.note(asked=data, heard=heard, meant=meant, sent=sent, delay_ns=delay_ns)
        elif len(requests) == 1 and len(data) == REQUEST_BYTES:
            self._remember(data, requests[0][1])
        self._choose_path()

    def _remember(self, data: bytes, request: Request) -> None:
        listeners = self._troubles.listeners(request.bus_id)
        if len(listeners) == 1 and request.op in (Op.POSITION_SEND, Op.POSITION_READ):
            self._known[data] = (listeners[0], request.value * self._tick_deg, request.level)

    def _obey(self, request: Request, heard_ns: int) -> None:
        self._plant.advance(heard_ns)
        if request.op is Op.SYNC_SEND:
            for bus_id, target in enumerate(request.payload):
                for servo in self._troubles.listeners(bus_id):
                    self._drive(servo, target, request.level)
        elif request.op is Op.BREAK:
            self._break(heard_ns)
        else:
            replies = [self._obey_one(servo, request, heard_ns) for servo in self._troubles.listeners(request.bus_id)]
            if any(replies):
                # An idle line is high, so of bits that two servos send at once the zeros win.
                self._send(bytes(reduce(and_, values) for values in zip(*replies, strict=True)), heard_ns)

    def _obey_one(self, servo: int, request: Request, heard_ns: int) -> bytes:
        """Let one servo do what it is told; return its answer, nothing for what it refuses."""
        reply = self._troubles.stuck.get(servo) or self._reply(servo)
        if self._troubles.limit_a is not None:
            self._watch_load(servo, heard_ns)
        if request.op is Op.POSITION_SEND:
            self._drive(servo, request.value, request.level)
        elif request.op is Op.PASSIVE:
            self._plant.release(servo)
            self._troubles.recover(servo)
            # The manual's table names the position twice here.
            reply = reply[1:] * 2
        elif request.op is not Op.POSITION_READ:
            self.refused += 1
            return b""
        return reply

    def _drive(self, servo: int, target: int, level: int) -> None:
        if servo not in self._troubles.tripped:
            self._plant.command(servo, target * self._tick_deg, level)

    def _watch_load(self, servo: int, heard_ns: int) -> None:
        if self._troubles.overloaded(servo, self._plant.sample(servo)[1], heard_ns):
            self.trip(servo)

    def _break(self, heard_ns: int) -> None:
        there = self._troubles.there()
        for servo in there:
            self._plant.release(servo)
        if there:
            self._send(bytes((self._troubles.id_of(there[0]), 0)), heard_ns)

    def _reply(self, servo: int) -> bytes:
        angle_deg, current_a = self._plant.sample(servo)
        position = min(max(int(angle_deg / self._tick_deg + 0.5), 0), MAX_RAW)
        current = min(max(int(current_a / TICK_A + _ROUND_OFF), 0), MAX_RAW)
        return bytes((current, position))

    def _send(self, reply: bytes, heard_ns: int) -> None:
        if self._troubles.noisy:
            self.collisions += 1
            return
        start_ns = heard_ns + self._turnaround_ns
        if self._jitter_ns:
            start_ns += self._jitter()
        if self._faults is not None:
            delay_ns = self._faults.delay_ns()
            start_ns += delay_ns
            meant, reply = reply, self._faults.babble() + self._faults.garble(reply)
            self._last = meant, reply, delay_ns
        self._deliver(reply, start_ns)
