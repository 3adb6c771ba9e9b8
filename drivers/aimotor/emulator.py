"""AI motors on one wire, to the byte: what the host's end of the line would see of real ones.

The emulator hears a request when its last byte has arrived. At that instant it lets the plant catch up, samples the
shaft and gives the plant the command; the reply leaves one turnaround later. So a reply reports the last step completed
when the checksum arrived, and a command acts from the first step after it. `docs/emulator.md` says what is not
modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from drivers.aimotor.codec import MAX_RAW, REQUEST_BYTES, Op, Request, RequestParser
from drivers.aimotor.table import DEFAULT_BAUD, TICK_A, TICK_DEG
from drivers.errors import BusError
from drivers.faults import FaultLayer
from drivers.inprocess import PacedLine
from drivers.port import wire_ns
from drivers.servo import ServoAddress, ServoPlant

DEFAULT_TURNAROUND_NS: Final = 230_000
"""From the request's last byte to the reply's first. With it four motors at 57,600 baud reach the 197 Hz of Rutter
2010."""

_JITTER_BLOCK = 4096
# A current of whole ticks must not lose one to the last bit of a float.
_ROUND_OFF = 1e-9
_NO_FRAMES: Final[dict[bytes, tuple[int, float, int]]] = {}


def _nowhere(data: bytes, start_ns: int) -> None:
    """Where replies go until a line is connected."""


class AiMotorEmulator:
    """Stateful servos behind one line; the mechanics are a `ServoPlant`.

    `jitter_ns` adds 0 to that many nanoseconds, uniformly drawn from `rng`, to each turnaround. Servos power up
    passive and stay so until their first position send.
    """

    __slots__ = (
        "_deliver",
        "_faults",
        "_index",
        "_jitter_ns",
        "_jitters",
        "_known",
        "_parser",
        "_plant",
        "_plugged",
        "_quick",
        "_request_ns",
        "_rng",
        "_rx_free_ns",
        "_servos",
        "_stuck",
        "_tick_deg",
        "_turnaround_ns",
        "baud",
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
        self.refused = 0
        self._servos = tuple(servos)
        self._index = {servo.bus_id: index for index, servo in enumerate(servos)}
        self._plant = plant
        self._plugged = [True] * len(servos)
        self._stuck: dict[int, bytes] = {}
        self._tick_deg = tick_deg
        self._turnaround_ns = turnaround_ns
        self._jitter_ns = jitter_ns
        self._jitters: list[int] = []
        self._rng = rng
        self._faults = faults
        self._parser = RequestParser()
        self._request_ns = wire_ns(REQUEST_BYTES, baud)
        self._rx_free_ns = 0
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
        self._plugged[servo] = False
        self._plant.release(servo)
        self._choose_path()

    def plug(self, servo: int) -> None:
        """Put the servo back; it powers up passive."""
        self._plugged[servo] = True
        self._choose_path()

    def stick(self, servo: int, *, stuck: bool = True) -> None:
        """Freeze (or free) what the servo reports: it still moves, its replies stay the same."""
        if stuck:
            self._stuck[servo] = self._reply(servo)
        else:
            self._stuck.pop(servo, None)
        self._choose_path()

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
        healthy = self._faults is None and all(self._plugged) and not self._stuck and self._parser.idle
        self._quick = self._known if healthy else _NO_FRAMES

    def _jitter(self) -> int:
        """Return the next draw; drawn in blocks, since one draw at a time costs more than the exchange."""
        if not self._jitters and self._rng is not None:
            self._jitters = self._rng.integers(0, self._jitter_ns, size=_JITTER_BLOCK, endpoint=True).tolist()
        return self._jitters.pop()

    def _receive_any(self, data: bytes, now_ns: int) -> None:
        start_ns = max(now_ns, self._rx_free_ns)
        self._rx_free_ns = start_ns + wire_ns(len(data), self.baud)
        heard = data if self._faults is None else self._faults.garble(data)
        requests = self._parser.feed(heard)
        for index, request in requests:
            self._obey(request, start_ns + wire_ns(index + 1, self.baud))
        if len(requests) == 1 and len(data) == REQUEST_BYTES and heard == data:
            self._remember(data, requests[0][1])
        self._choose_path()

    def _remember(self, data: bytes, request: Request) -> None:
        servo = self._index.get(request.bus_id)
        if servo is not None and request.op in (Op.POSITION_SEND, Op.POSITION_READ):
            self._known[data] = (servo, request.value * self._tick_deg, request.level)

    def _obey(self, request: Request, heard_ns: int) -> None:
        self._plant.advance(heard_ns)
        if request.op is Op.SYNC_SEND:
            for bus_id, target in enumerate(request.payload):
                servo = self._index.get(bus_id)
                if servo is not None and self._plugged[servo]:
                    self._plant.command(servo, target * self._tick_deg, request.level)
        elif request.op is Op.BREAK:
            self._break(heard_ns)
        else:
            servo = self._index.get(request.bus_id)
            if servo is not None and self._plugged[servo]:
                self._obey_one(servo, request, heard_ns)

    def _obey_one(self, servo: int, request: Request, heard_ns: int) -> None:
        reply = self._stuck.get(servo) or self._reply(servo)
        if request.op is Op.POSITION_SEND:
            self._plant.command(servo, request.value * self._tick_deg, request.level)
        elif request.op is Op.PASSIVE:
            self._plant.release(servo)
            # The manual's table names the position twice here.
            reply = reply[1:] * 2
        elif request.op is not Op.POSITION_READ:
            self.refused += 1
            return
        self._send(reply, heard_ns)

    def _break(self, heard_ns: int) -> None:
        plugged = [index for index, there in enumerate(self._plugged) if there]
        for servo in plugged:
            self._plant.release(servo)
        if plugged:
            self._send(bytes((self._servos[plugged[0]].bus_id, 0)), heard_ns)

    def _reply(self, servo: int) -> bytes:
        angle_deg, current_a = self._plant.sample(servo)
        position = min(max(int(angle_deg / self._tick_deg + 0.5), 0), MAX_RAW)
        current = min(max(int(current_a / TICK_A + _ROUND_OFF), 0), MAX_RAW)
        return bytes((current, position))

    def _send(self, reply: bytes, heard_ns: int) -> None:
        start_ns = heard_ns + self._turnaround_ns
        if self._jitter_ns:
            start_ns += self._jitter()
        if self._faults is not None:
            start_ns += self._faults.delay_ns()
            reply = self._faults.babble() + self._faults.garble(reply)
        self._deliver(reply, start_ns)
