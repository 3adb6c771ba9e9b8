"""Servos with registers on one half-duplex wire, to the byte: what the host's end of the line would see of real ones.

The emulator hears a request when its last byte has arrived. At that instant it lets the plant catch up; servos look at
their shafts and do what they are told; the reply leaves when the servo's return delay and the turnaround are over.
Requests to several are answered one after the other, each servo waiting for the one before it. One that waits for a
servo that is silent stays silent too, and so do all behind it, which is what the maker says of Dynamixel
(ROBOTIS-GIT/DynamixelSDK issue 364) and is assumed for Feetech.

What the host sends while a servo talks is lost, and counted in `collisions`; the servo's reply is not (an adapter's
driver is switched off while it listens). Of bits that servos send at once the zeros win, since an idle line is high. A
servo that babbles does so over the replies of all; requests still get through, as if the host's driver were the
stronger one (assumed).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import zip_longest
from typing import Final

import numpy as np

from drivers.errors import BusError
from drivers.framed.emulation.groups import FAST, WRITES, GroupPart, group_parts
from drivers.framed.emulation.servo import ACTION, REG_WRITE, FramedServo, StatusReply
from drivers.framed.emulation.wire import ServosWire
from drivers.framed.packet import BROADCAST, PING, READ, WRITE, Dialect, Packet
from drivers.injection import FaultLayer, LineFaults
from drivers.inprocess import PacedLine
from drivers.port import wire_ns
from drivers.servo import ServoPlant

DEFAULT_TURNAROUND_NS: Final = 40_000
"""What a servo needs beside the return delay it is set to, before it answers. Assumed."""

LONGEST_DELAY_NS: Final = 508_000
"""The longest return delay a servo can be set to: 254 times 2 us."""

_CHATTER_NS = 6_000_000
_IDLE = 0xFF
# No id on the wire: a part of a request for several that names the broadcast id is for nobody.
_ALL = -1

FastStatus = Callable[[Sequence[GroupPart], Sequence[tuple[int, StatusReply]]], bytes]
"""Makes one packet of several answers (ids and answers) to the parts of a request; with fewer answers than parts it
breaks off, as servos do behind one that is missing. Nothing where the packet would be too long."""


@dataclass(frozen=True, slots=True)
class LineBehaviour:
    """How a family's servos behave on the line.

    `groups` are the instructions for several that they know. To a ping for all they answer in slots, in the order of
    their ids, where `ping_slots`, otherwise all at once. After a silence of more than `byte_gap_ns` within a packet
    they wait for a header again.
    """

    groups: frozenset[int]
    ping_slots: bool
    byte_gap_ns: int
    fast_status: FastStatus | None = None


class FramedEmulator:
    """Servos with registers behind one line (a `drivers.family.Emulator`).

    `baud` is the rate of the line, bit/s; it may be changed. Servos set to another one neither hear nor answer.
    `jitter_ns` adds 0 to that many nanoseconds, uniformly drawn from `rng`, to each turnaround. A ping for all is
    answered in slots as long as a status and the longest return delay.
    """

    __slots__ = (
        "_babbling",
        "_by_id",
        "_dialect",
        "_manners",
        "_now_ns",
        "_parser",
        "_plant",
        "_powered",
        "_rx_free_ns",
        "_seconds",
        "_wire",
        "baud",
        "servos",
    )

    def __init__(
        self,
        dialect: Dialect,
        manners: LineBehaviour,
        servos: Sequence[FramedServo],
        plant: ServoPlant,
        *,
        baud: int,
        turnaround_ns: int = DEFAULT_TURNAROUND_NS,
        jitter_ns: int = 0,
        rng: np.random.Generator | None = None,
        faults: FaultLayer | None = None,
    ) -> None:
        """Put servos that are powered up on a line. Raises `BusError` for jitter without a generator."""
        self.servos = tuple(servos)
        self._dialect, self._manners, self._plant = dialect, manners, plant
        self.baud = baud
        self._wire = ServosWire(baud, turnaround_ns, jitter_ns, rng, faults)
        self._parser = dialect.listener()
        self._powered = True
        self._babbling: set[int] = set()
        self._by_id: dict[int, tuple[FramedServo, ...]] | None = None
        # Servos that obey another id beside their own.
        self._seconds: tuple[FramedServo, ...] = ()
        # The time last heard of; until when the host sends.
        self._now_ns = self._rx_free_ns = 0

    @property
    def collisions(self) -> int:
        """Messages that were lost because somebody else was talking."""
        return self._wire.collisions

    def connect(self, line: PacedLine) -> None:
        """Send replies into `line` from now on."""
        self._wire.connect(line)

    def receive(self, data: bytes, now_ns: int) -> None:
        """Take bytes whose first bit starts at `now_ns`, or when the line is free. Raises `PlantFault`."""
        wire, baud = self._wire, self.baud
        start_ns = max(now_ns, self._rx_free_ns)
        if start_ns - self._rx_free_ns > self._manners.byte_gap_ns:
            self._parser.reset()
        self._rx_free_ns = end_ns = start_ns + wire_ns(len(data), baud)
        if not self._powered:
            self._plant.advance(end_ns)
            return
        self.chatter(now_ns, end_ns + _CHATTER_NS)
        data, start_ns = wire.without_collision(data, start_ns)
        done = 0
        for index, packet in self._parser.feed(wire.garbled(data)):
            begin_ns, heard_ns = start_ns + wire_ns(done, baud), start_ns + wire_ns(index + 1, baud)
            done = index + 1
            if wire.busy_between(begin_ns, heard_ns):
                wire.collisions += 1
                continue
            self._settle(heard_ns)
            self._plant.advance(heard_ns)
            self._obey(packet, heard_ns)

    def chatter(self, now_ns: int, until_ns: int) -> None:
        """Let servos do what they do by themselves up to `now_ns`, and babbling ones talk until `until_ns`.

        `receive` does this for a while ahead; who carries the bytes should do it between requests too.
        """
        self._follow_rate()
        self._settle(now_ns)
        self._wire.noisy = self._powered and any(self.servos[servo].plugged for servo in self._babbling)
        self._wire.make_noise(now_ns, until_ns)

    # --- what can be done to the servos, see `drivers.family.Emulator` ---

    def set_faults(self, faults: LineFaults) -> None:
        """Let the line fail like this from now on. Raises `BusError` without a generator."""
        self._wire.set_faults(faults)

    def unplug(self, servo: int) -> None:
        """Take the servo off the line: no power, no torque, no answer."""
        self._servo(servo).plugged = False
        self.servos[servo].power_up()

    def plug(self, servo: int) -> None:
        """Put it back; it powers up without torque, with the settings it keeps."""
        self._servo(servo).plugged = True
        self.servos[servo].power_up()

    def supply(self, *, on: bool) -> None:
        """Take the supply of all servos away, or give it back."""
        self._powered = on
        self._parser.reset()
        self._by_id = None
        for servo in self.servos:
            servo.power_up()

    def brown_out(self, servo: int) -> None:
        """Let one servo's supply dip; how long a real one takes to start again is not modelled."""
        self._servo(servo).power_up()

    def stick(self, servo: int, *, stuck: bool = True) -> None:
        """Freeze (or free) what the servo reports of its shaft."""
        self._servo(servo).freeze(self._now_ns, frozen=stuck)

    def babble(self, servo: int, *, talking: bool = True) -> None:
        """Let the servo talk without being asked, or stop it. Raises `BusError` without a generator."""
        self._servo(servo)
        if not self._wire.can_babble:
            raise BusError("a babbling servo needs a generator: pass rng")
        if talking:
            self._babbling.add(servo)
        else:
            self._babbling.discard(servo)

    def answer_as(self, servo: int, bus_id: int) -> None:
        """Let the servo listen to another id."""
        if not 0 <= bus_id <= self._dialect.max_id:
            raise BusError(f"id {bus_id} does not fit the wire: expected 0 to {self._dialect.max_id}")
        self._servo(servo).memory.restore({"id": bus_id})

    def trip(self, servo: int, *, tripped: bool = True) -> None:
        """Let the servo shut its torque off as if overloaded, or recover."""
        if tripped:
            self._servo(servo).trip()
        else:
            self._servo(servo).recover()

    def set_overload(self, limit_a: float | None, after_ns: int = 0) -> None:
        """Let servos trip after `after_ns` above `limit_a`, as they see it when read; None: as registers say."""
        for servo in self.servos:
            servo.limit_a, servo.patience_ns = limit_a, after_ns

    def counts(self) -> Mapping[str, object]:
        """Return what was heard that was no request, and what the line's faults did."""
        return {
            "bad_checksums": self._parser.bad_checksums,
            "stray_bytes": self._parser.stray_bytes,
            "collisions": self.collisions,
            "injected": self._wire.injected,
        }

    # --- hearing ---

    def _follow_rate(self) -> None:
        if self._wire.baud != self.baud:
            self._wire.baud = self.baud
            self._by_id = None

    def _servo(self, servo: int) -> FramedServo:
        if not 0 <= servo < len(self.servos):
            raise BusError(f"no servo {servo} on this line: expected 0 to {len(self.servos) - 1}")
        self._by_id = None
        return self.servos[servo]

    def _settle(self, now_ns: int) -> None:
        """Let servos do what was due before `now_ns`, in its order."""
        self._now_ns = max(self._now_ns, now_ns)
        while (servo := min(self.servos, key=lambda servo: servo.due_ns)).due_ns < now_ns:
            due_ns = servo.due_ns
            self._plant.advance(due_ns)
            servo.expire(due_ns)

    def _listeners(self, bus_id: int, now_ns: int) -> Sequence[FramedServo]:
        """Return the servos that take a request to `bus_id` for theirs; all that hear anything for `_ALL`."""
        if self._by_id is None:
            self._by_id = self._sorted()
        return [servo for servo in self._by_id.get(bus_id, ()) if servo.wakes_ns <= now_ns]

    def _sorted(self) -> dict[int, tuple[FramedServo, ...]]:
        hearing = [servo for servo in self.servos if servo.plugged and servo.baud == self.baud]
        by_id: dict[int, tuple[FramedServo, ...]] = {_ALL: tuple(hearing)}
        for servo in hearing:
            by_id[servo.bus_id] = (*by_id.get(servo.bus_id, ()), servo)
        self._seconds = tuple(servo for servo in hearing if servo.second_id >= 0)
        return by_id

    # --- obeying ---

    def _obey(self, packet: Packet, now_ns: int) -> None:
        instruction = packet.instruction
        everybody = self._listeners(_ALL, now_ns)
        for servo in everybody:
            servo.fed_ns = now_ns
        if packet.bus_id != BROADCAST:
            self._obey_one(packet, now_ns)
        elif instruction == PING:
            self._ping_all(now_ns)
        elif instruction in self._manners.groups:
            self._obey_group(packet, now_ns)
        else:
            for servo in everybody:
                self._do(servo, packet, now_ns)
        for servo in everybody:
            if servo.memory.renamed:
                servo.memory.renamed = False
                self._by_id = None

    def _obey_one(self, packet: Packet, now_ns: int) -> None:
        statuses: list[bytes] = []
        listeners = self._listeners(packet.bus_id, now_ns)
        for servo in listeners:
            answering = servo.answers(packet.instruction)
            answer = self._do(servo, packet, now_ns)
            if answer is not None and answering:
                statuses.append(self._dialect.status(packet.bus_id, *answer))
        if statuses:
            self._wire.send_status(_overlaid(statuses), listeners[0].return_delay_ns, now_ns, now_ns)
        width = self._dialect.address_bytes
        if self._seconds and packet.instruction == WRITE and len(packet.params) > width:
            self._follow(packet.bus_id, int.from_bytes(packet.params[:width], "little"), packet.params[width:], now_ns)

    def _follow(self, bus_id: int, address: int, data: bytes, now_ns: int, own: Container[int] = ()) -> None:
        """Let servos do what is written to an id that is their second one; those in `own` have a part of their own."""
        for servo in self._seconds:
            if servo.second_id == bus_id and servo.bus_id not in own and servo.wakes_ns <= now_ns:
                servo.write_second(address, data, now_ns)

    def _do(self, servo: FramedServo, packet: Packet, now_ns: int) -> StatusReply | None:
        """Let one servo do what it is told; return its answer, None where it says nothing."""
        width, params = self._dialect.address_bytes, packet.params
        address, rest = int.from_bytes(params[:width], "little"), params[width:]
        instruction = packet.instruction
        if instruction == PING and not params:
            return servo.ping()
        if instruction == READ and len(rest) == width:
            return servo.read(address, int.from_bytes(rest, "little"), now_ns)
        if instruction in (WRITE, REG_WRITE) and rest:
            later = instruction == REG_WRITE
            return StatusReply(servo.reg_write(address, rest) if later else servo.write(address, rest, now_ns))
        if instruction == ACTION and not params:
            return StatusReply(servo.action(now_ns))
        return servo.obey(instruction, params, now_ns, everybody=packet.bus_id == BROADCAST)

    def _obey_group(self, packet: Packet, now_ns: int) -> None:
        parts = group_parts(packet, self._dialect.address_bytes)
        if packet.instruction in WRITES:
            for part in parts:
                for servo in self._listeners(part.bus_id, now_ns):
                    servo.write(part.address, part.data, now_ns)
                if self._seconds:
                    self._follow(part.bus_id, part.address, part.data, now_ns, {one.bus_id for one in parts})
        elif packet.instruction in FAST and self._manners.fast_status is not None:
            self._answer_fast(parts, self._manners.fast_status, now_ns)
        else:
            after_ns = now_ns
            for servos, answers in self._answers(parts, now_ns):
                statuses = [self._dialect.status(servos[0].bus_id, *answer) for answer in answers]
                after_ns = self._wire.send_status(_overlaid(statuses), servos[0].return_delay_ns, after_ns, now_ns)

    def _answers(
        self, parts: Sequence[GroupPart], now_ns: int
    ) -> Iterable[tuple[Sequence[FramedServo], Sequence[StatusReply]]]:
        """Return who answers, and what, up to the first part nobody answers to; mostly one servo with one answer."""
        for part in parts:
            servos = [servo for servo in self._listeners(part.bus_id, now_ns) if servo.answers(READ)]
            if not servos:
                return
            yield servos, [servo.read(part.address, part.length, now_ns) for servo in servos]

    def _answer_fast(self, parts: Sequence[GroupPart], fast_status: FastStatus, now_ns: int) -> None:
        """Send one packet to which all have added; where two have one id, what is left of two packets."""
        said = list(self._answers(parts, now_ns))
        packets: list[bytes] = []
        for k in range(max((len(answers) for _, answers in said), default=0)):
            given: list[tuple[int, StatusReply]] = []
            for part, (_, answers) in zip(parts, said, strict=False):
                error, data = answers[min(k, len(answers) - 1)]
                given.append((part.bus_id, StatusReply(error, data.ljust(part.length, b"\0"))))
            packets.append(fast_status(parts, given))
        if packets and packets[0]:
            self._wire.send_status(_overlaid(packets), said[0][0][0].return_delay_ns, now_ns, now_ns)

    def _ping_all(self, now_ns: int) -> None:
        slot_ns = wire_ns(self._dialect.status_bytes(3), self.baud) + LONGEST_DELAY_NS
        statuses: dict[int, list[tuple[FramedServo, bytes]]] = {}
        for servo in self._listeners(_ALL, now_ns):
            slot = servo.bus_id if self._manners.ping_slots else 0
            status = self._dialect.status(servo.bus_id, *servo.ping())
            statuses.setdefault(slot, []).append((servo, status))
        for slot, said in sorted(statuses.items(), key=lambda item: item[0]):
            delay_ns = said[0][0].return_delay_ns + slot * slot_ns
            self._wire.send_status(_overlaid([status for _, status in said]), delay_ns, now_ns, now_ns)


def _overlaid(messages: Sequence[bytes]) -> bytes:
    """Return what is left of messages that are sent at once."""
    if len(messages) == 1:
        return messages[0]
    return bytes(reduce(lambda a, b: a & b, values) for values in zip_longest(*messages, fillvalue=_IDLE))
