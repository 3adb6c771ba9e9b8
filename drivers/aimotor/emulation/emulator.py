"""AI motors and wCKs on one wire, to the byte: what the host's end of the line would see of real ones.

The emulator receives a request when its last byte has arrived. At that instant it lets the plant catch up, samples the
shaft and gives the plant the command; the reply leaves one turnaround later. So a reply reports the last step completed
when the checksum arrived, and a command acts from the first step after it. What the servos do is in
`drivers.aimotor.emulation.servos`; `docs/emulator.md` says what is not modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from drivers.aimotor.codec import MAX_RAW, REPLY_BYTES, REQUEST_BYTES, AiMotorRequest, Op, RequestParser
from drivers.aimotor.emulation.injection import LineRecord
from drivers.aimotor.emulation.servos import ROUND_OFF, EmulatedServos
from drivers.aimotor.table import BYTE_GAP_NS, DEFAULT_BAUD, DEFAULT_TURNAROUND_NS, TICK_A, TICK_DEG
from drivers.errors import BusError
from drivers.injection import FaultLayer, LineFaults
from drivers.inprocess import PacedLine
from drivers.port import wire_ns
from drivers.servo import ServoAddress, ServoPlant

_JITTER_BLOCK = 4096
# How far ahead of a request's end a babbling servo has its say: longer than a host waits for a reply.
_CHATTER_NS = 6_000_000
_LONGEST_NOISE = 64
_ROUND_OFF: Final = ROUND_OFF
_NO_REPLY: Final = (b"", b"", 0)
_NO_FRAMES: Final[dict[bytes, tuple[int, float, int]]] = {}


def _nowhere(data: bytes, start_ns: int) -> None:
    """Where replies go until a line is connected."""


def _lost(data: bytes, _start_ns: int) -> bytes:
    """The same for replies that would meet others."""
    return data


class AiMotorEmulator:
    """Stateful servos behind one line (a `drivers.family.Emulator`); the mechanics are a `ServoPlant`.

    `jitter_ns` adds 0 to that many nanoseconds, uniformly drawn from `rng`, to each turnaround. Servos power up
    passive and stay so until their first position send. What goes wrong may be changed at any time: the faults of the
    line by `set_faults`, those of the servos by the methods below, which count servos from 0 in the order given.
    Their models say which of them are wCKs; `wck` says so of servos without one.

    `record` says what the line's faults did to the exchanges; `collisions` counts replies lost because another sender
    was talking.
    """

    __slots__ = (
        "_answered_ns",
        "_baud",
        "_collide",
        "_deliver",
        "_fault_rng",
        "_faults",
        "_jitter_ns",
        "_jitters",
        "_known",
        "_last",
        "_parser",
        "_plant",
        "_quick",
        "_reply_ns",
        "_request_ns",
        "_rng",
        "_rx_free_ns",
        "_servo_faults",
        "_servos",
        "_talked_ns",
        "_tick_deg",
        "_turnaround_ns",
        "collisions",
        "record",
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
        fault_rng: np.random.Generator | None = None,
        tick_deg: float = TICK_DEG,
        wck: bool = False,
    ) -> None:
        """Power the servos up: the plant's shafts are released. Raises `BusError` for jitter without a generator.

        `fault_rng` is what faults are drawn from that `set_faults` brings where there is no layer of them yet.
        """
        if jitter_ns and rng is None:
            raise BusError("turnaround jitter needs a generator: pass rng")
        self.collisions = 0
        self.record = LineRecord()
        self._servos = EmulatedServos(servos, plant, baud=baud, tick_deg=tick_deg, wck=wck)
        self._servo_faults = self._servos.faults
        self._plant = plant
        self._tick_deg = tick_deg
        self._turnaround_ns = turnaround_ns
        self._jitter_ns = jitter_ns
        self._jitters: list[int] = []
        self._rng, self._fault_rng = rng, fault_rng
        self._faults = faults
        self._parser = RequestParser()
        # When the last reply would have been over, had nothing gone wrong with the line.
        self._rx_free_ns = self._talked_ns = self._answered_ns = 0
        # The last reply as it was meant, as it left, and how long it was held back.
        self._last = _NO_REPLY
        self._deliver: Callable[[bytes, int], None] = _nowhere
        self._collide: Callable[[bytes, int], bytes] = _lost
        # Whole frames received before, decoded: (servo, goal in degrees, level or -1 for a read).
        self._known: dict[bytes, tuple[int, float, int]] = {}
        self.baud = baud
        self._quick = _NO_FRAMES
        self._choose_path()

    @property
    def baud(self) -> int:
        """The rate of the line in bit/s; servos that are set to another one receive nothing they understand."""
        return self._baud

    @baud.setter
    def baud(self, baud: int) -> None:
        self._baud = self._servos.baud = baud
        self._request_ns, self._reply_ns = wire_ns(REQUEST_BYTES, baud), wire_ns(REPLY_BYTES, baud)
        self._known.clear()

    def connect(self, line: PacedLine) -> None:
        """Send replies into `line` from now on."""
        self._deliver, self._collide = line.deliver, line.collide

    def receive(self, data: bytes, now_ns: int) -> None:
        """Take request bytes whose first bit starts at `now_ns`, or when the line is free. Raises `PlantFault`."""
        frame = self._quick.get(data)
        if frame is None:
            self._receive_any(data, now_ns)
            return
        free_ns = self._rx_free_ns
        self._rx_free_ns = received_ns = (now_ns if now_ns > free_ns else free_ns) + self._request_ns
        servo, goal_deg, level = frame
        plant = self._plant
        plant.advance(received_ns)
        # The same as EmulatedServos.execute and _send; written out because this runs once per exchange of every bout.
        angle_deg, current_a = plant.sample(servo)
        if level >= 0:
            plant.command(servo, goal_deg, level)
        position = int(angle_deg / self._tick_deg + 0.5)
        current = int(current_a / TICK_A + _ROUND_OFF)
        if not (0 <= position <= MAX_RAW and 0 <= current <= MAX_RAW):
            position = min(max(position, 0), MAX_RAW)
            current = min(max(current, 0), MAX_RAW)
        start_ns = received_ns + self._turnaround_ns
        if self._jitter_ns:
            start_ns += self._jitter()
        if now_ns < self._answered_ns:
            self._talk_over(bytes((current, position)), start_ns)
        else:
            self._deliver(bytes((current, position)), start_ns)
        self._answered_ns = start_ns + self._reply_ns

    def set_faults(self, faults: LineFaults) -> None:
        """Let the line fail like this from now on. Raises `BusError` without a generator to draw from."""
        if self._faults is not None:
            self._faults.faults = faults
        elif faults.any:
            if self._fault_rng is None:
                raise BusError("faults of the line need a generator: pass fault_rng")
            self._faults = FaultLayer(faults, self._fault_rng)
        self._choose_path()

    def unplug(self, servo: int) -> None:
        """Take the servo off the four-wire bus: no power, no torque, no answer."""
        self._servo_faults.unplug(servo, out=True)
        self._servos.release(servo)
        self._choose_path()

    def plug(self, servo: int) -> None:
        """Put the servo back; it powers up passive, with the registers that it keeps."""
        self._servo_faults.unplug(servo, out=False)
        self._servos.memories[servo].power_up()
        self._forget_frames()

    def supply(self, *, on: bool) -> None:
        """Take the supply of all servos away (silent, limp), or give it back (passive, answering)."""
        self._servo_faults.powered = on
        self._parser.reset()
        for servo in range(len(self._servo_faults)):
            self._servos.power_up(servo)
        self._forget_frames()

    def brown_out(self, servo: int) -> None:
        """Let one servo's supply dip: it is passive, knows only what it keeps, and answers as before."""
        self._servo_faults.check(servo)
        self._servos.power_up(servo)
        self._forget_frames()

    def stick(self, servo: int, *, stuck: bool = True) -> None:
        """Freeze (or free) what the servo reports: it still moves, its replies stay the same."""
        self._servo_faults.check(servo)
        if stuck:
            self._servo_faults.stuck[servo] = self._plant.sample(servo)
        else:
            self._servo_faults.stuck.pop(servo, None)
        self._choose_path()

    def babble(self, servo: int, *, talking: bool = True) -> None:
        """Let the servo talk without being asked, and without end, or stop it; no servo's replies get through.

        Raises `BusError` without a generator. It still obeys.
        """
        self._servo_faults.check(servo)
        if self._rng is None:
            raise BusError("a babbling servo needs a generator: pass rng")
        if talking:
            self._servo_faults.babbling.add(servo)
        else:
            self._servo_faults.babbling.discard(servo)
        self._choose_path()

    def answer_as(self, servo: int, bus_id: int) -> None:
        """Let the servo listen to another id; two with the same id answer at once, their bits on top of each other."""
        self._servos.rename(servo, bus_id)
        self._forget_frames()

    def trip(self, servo: int, *, tripped: bool = True) -> None:
        """Let the servo go passive by itself, as if overloaded, or recover.

        It answers, and obeys no position send, until it is told to be passive or its supply comes back. What ends the
        overload of a real one is not known.
        """
        self._servo_faults.check(servo)
        if tripped:
            self._servos.trip(servo)
        else:
            self._servo_faults.recover(servo)
        self._choose_path()

    def set_overload(self, limit_a: float | None, after_ns: int = 0) -> None:
        """Let servos trip after `after_ns` above `limit_a`, as seen at their exchanges.

        None: wCKs as their registers say, AI motors never.
        """
        self._servo_faults.set_overload(limit_a, after_ns)
        self._choose_path()

    def put_on_input(self, servo: int, count: int) -> None:
        """Let the A/D converter of a wCK's inputs read this, 0 to 255, from now on."""
        self._servo_faults.check(servo)
        self._servos.memories[servo].put_on_input(count)

    def chatter(self, now_ns: int, until_ns: int) -> None:
        """Put on the line what babbling servos say from `now_ns` to `until_ns`; nothing where it was said already.

        `receive` does this for a while ahead; who carries the bytes may do it between requests too. Wheels turn on.
        """
        if self._servos.wheels:
            self._servos.wheels.turn(now_ns)
        if not self._servo_faults.noisy or self._rng is None:
            return
        start_ns, byte_ns = max(now_ns, self._talked_ns), wire_ns(1, self._baud)
        while start_ns < until_ns:
            count = min(-(-(until_ns - start_ns) // byte_ns), _LONGEST_NOISE)
            self._deliver(self._rng.bytes(count), start_ns)
            self._talked_ns = start_ns = start_ns + wire_ns(count, self._baud)

    def counts(self) -> Mapping[str, object]:
        """Return what the line's faults did, and what the servos received that was no request for them."""
        record = self.record
        return {
            "bad_checksums": self.bad_checksums,
            "stray_bytes": self.stray_bytes,
            "refused": self.refused,
            "collisions": self.collisions,
            "injected": dict(self.injected),
            "record": {
                "exchanges": record.exchanges,
                "visible": record.visible,
                "current": record.current,
                "command": record.command,
                "late": dict(record.late),
                "position": dict(record.position),
            },
        }

    @property
    def refused(self) -> int:
        """Requests that a servo received and does not know."""
        return self._servos.refused

    @property
    def injected(self) -> Mapping[str, int]:
        """What the line's faults did so far, by kind; empty for a line without any."""
        return self._faults.injected if self._faults is not None else {}

    @property
    def bad_checksums(self) -> int:
        """Requests received and thrown away for their checksum."""
        return self._parser.bad_checksums

    @property
    def stray_bytes(self) -> int:
        """Request bytes that belonged to no whole frame."""
        return self._parser.stray_bytes

    def _forget_frames(self) -> None:
        """Decode every frame anew: who it is for, or what it does, may have changed."""
        self._known.clear()
        self._choose_path()

    def _choose_path(self) -> None:
        """Let whole known frames skip the parser only while nothing can go wrong with them."""
        healthy = self._faults is None and self._servo_faults.healthy and self._parser.idle and not self._servos.wheels
        self._quick = self._known if healthy else _NO_FRAMES

    def _jitter(self) -> int:
        """Return the next draw; drawn in blocks, since one draw at a time costs more than the exchange."""
        if not self._jitters and self._rng is not None:
            self._jitters = self._rng.integers(0, self._jitter_ns, size=_JITTER_BLOCK, endpoint=True).tolist()
        return self._jitters.pop()

    def _receive_any(self, data: bytes, now_ns: int) -> None:
        start_ns = max(now_ns, self._rx_free_ns)
        if start_ns - self._rx_free_ns > BYTE_GAP_NS:
            self._parser.reset()
        self._rx_free_ns = end_ns = start_ns + wire_ns(len(data), self._baud)
        if not self._servo_faults.powered:
            self._plant.advance(end_ns)
            return
        self.chatter(now_ns, end_ns + _CHATTER_NS)
        received = data if self._faults is None else self._faults.garble(data)
        requests = self._parser.feed(received)
        self._last = _NO_REPLY
        for index, request in requests:
            received_ns = start_ns + wire_ns(index + 1, self._baud)
            if reply := self._servos.execute(request, received_ns):
                self._send(reply, received_ns, asked_early=now_ns < self._answered_ns)
        if self._faults is not None:
            meant, sent, delay_ns = self._last
            self.record.note(asked=data, received=received, meant=meant, sent=sent, delay_ns=delay_ns)
        elif len(requests) == 1 and len(data) == REQUEST_BYTES:
            self._remember(data, requests[0][1])
        self._choose_path()

    def _remember(self, data: bytes, request: AiMotorRequest) -> None:
        hearers = self._servos.addressed(request.bus_id)
        plain = len(hearers) == 1 and self._servos.memories[hearers[0]].as_delivered
        if plain and request.op in (Op.POSITION_SEND, Op.POSITION_READ):
            self._known[data] = (hearers[0], request.value * self._tick_deg, request.level)

    def _send(self, reply: bytes, received_ns: int, *, asked_early: bool) -> None:
        if self._servo_faults.noisy:
            self.collisions += 1
            return
        start_ns = received_ns + self._turnaround_ns
        if self._jitter_ns:
            start_ns += self._jitter()
        self._answered_ns = start_ns + self._reply_ns
        if self._faults is not None:
            delay_ns = self._faults.delay_ns()
            start_ns += delay_ns
            meant, reply = reply, self._faults.babble() + self._faults.garble(reply)
            self._last = meant, reply, delay_ns
        if asked_early:
            self._talk_over(reply, start_ns)
        else:
            self._deliver(reply, start_ns)

    def _talk_over(self, reply: bytes, start_ns: int) -> None:
        """Send a reply to a host that did not wait for the one before: where both overlap they spoil each other."""
        self.collisions += self._collide(reply, start_ns) != reply
