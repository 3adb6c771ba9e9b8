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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import zip_longest
from operator import and_
from typing import Final

import numpy as np

from drivers.errors import BusError
from drivers.faults import FaultLayer, LineFaults
from drivers.framed.emulator_groups import FAST, READS, WRITES, Part, group_parts
from drivers.framed.emulator_servo import ACTION, REG_WRITE, Answer, FramedServo
from drivers.framed.packet import BROADCAST, PING, READ, WRITE, Dialect, Packet
from drivers.inprocess import PacedLine
from drivers.port import wire_ns
from drivers.servo import ServoPlant

DEFAULT_TURNAROUND_NS: Final = 40_000
"""What a servo needs beside the return delay it is set to, before it answers. Assumed."""

FORGET_NS: Final = 100_000_000
"""A gap in a packet after which servos wait for a new header, as the maker's own library for Dynamixel servos does."""

LONGEST_DELAY_NS: Final = 508_000
"""The longest return delay a servo can be set to: 254 times 2 us."""

_CHATTER_NS = 6_000_000
_LONGEST_NOISE = 64
_IDLE = 0xFF

FastStatus = Callable[[Sequence[Part], Sequence[tuple[int, Answer]]], bytes]
"""Makes one packet of several answers (ids and answers) to the parts of a request; with fewer answers than parts it
breaks off, as servos do behind one that is missing."""


@dataclass(frozen=True, slots=True)
class Manners:
    """How a family's servos behave on the line.

    `groups` are the instructions for several that they know. To a ping for all they answer in slots, in the order of
    their ids, where `ping_slots`, otherwise all at once.
    """

    groups: frozenset[int]
    ping_slots: bool
    fast_status: FastStatus | None = None


def _nowhere(data: bytes, start_ns: int) -> None:
    """Where replies go until a line is connected."""


class FramedEmulator:
    """Servos with registers behind one line (a `drivers.family.Emulator`).

    `jitter_ns` adds 0 to that many nanoseconds, uniformly drawn from `rng`, to each turnaround. A ping for all is
    answered in slots as long as a status and the longest return delay.
    """

    __slots__ = (
        "_baud",
        "_babbling",
        "_by_id",
        "_deliver",
        "_dialect",
        "_faults",
        "_jitter_ns",
        "_manners",
        "_now_ns",
        "_parser",
        "_plant",
        "_powered",
        "_rng",
        "_rx_free_ns",
        "_talk_from_ns",
        "_talk_until_ns",
        "_talked_ns",
        "_turnaround_ns",
        "collisions",
        "servos",
    )

    def __init__(
        self,
        dialect: Dialect,
        manners: Manners,
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
        if jitter_ns and rng is None:
            raise BusError("turnaround jitter needs a generator: pass rng")
        self.collisions = 0
        self.servos = tuple(servos)
        self._baud = baud
        self._dialect, self._manners, self._plant = dialect, manners, plant
        self._turnaround_ns, self._jitter_ns, self._rng, self._faults = turnaround_ns, jitter_ns, rng, faults
        self._parser = dialect.parser(status=False)
        self._powered = True
        self._babbling: set[int] = set()
        self._by_id: dict[int, tuple[FramedServo, ...]] | None = None
        # The time last heard of; until when the host sends, noise was made; from when and until when servos talk.
        self._now_ns = self._rx_free_ns = self._talked_ns = self._talk_from_ns = self._talk_until_ns = 0
        self._deliver: Callable[[bytes, int], None] = _nowhere

    @property
    def baud(self) -> int:
        """The rate of the line, bit/s; servos set to another one neither hear nor answer."""
        return self._baud

    @baud.setter
    def baud(self, baud: int) -> None:
        self._baud = baud
        self._by_id = None

    def connect(self, line: PacedLine) -> None:
        """Send replies into `line` from now on."""
        self._deliver = line.deliver

    def receive(self, data: bytes, now_ns: int) -> None:
        """Take bytes whose first bit starts at `now_ns`, or when the line is free. Raises `PlantFault`."""
        start_ns = max(now_ns, self._rx_free_ns)
        if start_ns - self._rx_free_ns > FORGET_NS:
            self._parser.forget()
        self._rx_free_ns = end_ns = start_ns + wire_ns(len(data), self._baud)
        if not self._powered:
            self._plant.advance(end_ns)
            return
        self.chatter(now_ns, end_ns + _CHATTER_NS)
        data, start_ns = self._through(data, start_ns)
        heard = data if self._faults is None else self._faults.garble(data)
        done = 0
        for index, packet in self._parser.feed(heard):
            begin_ns, heard_ns = start_ns + wire_ns(done, self._baud), start_ns + wire_ns(index + 1, self._baud)
            done = index + 1
            if begin_ns < self._talk_until_ns and heard_ns > self._talk_from_ns:
                self.collisions += 1
                continue
            self._settle(heard_ns)
            self._plant.advance(heard_ns)
            self._obey(packet, heard_ns)

    def chatter(self, now_ns: int, until_ns: int) -> None:
        """Let servos do what they do by themselves up to `now_ns`, and babbling ones talk until `until_ns`.

        `receive` does this for a while ahead; who carries the bytes should do it between requests too.
        """
        self._settle(now_ns)
        if not self._noisy or self._rng is None:
            return
        start_ns, byte_ns = max(now_ns, self._talked_ns), wire_ns(1, self._baud)
        while start_ns < until_ns:
            count = min(-(-(until_ns - start_ns) // byte_ns), _LONGEST_NOISE)
            self._deliver(self._rng.bytes(count), start_ns)
            self._talked_ns = start_ns = start_ns + wire_ns(count, self._baud)

    # --- what can be done to the servos, see `drivers.family.Emulator` ---

    def set_faults(self, faults: LineFaults) -> None:
        """Let the line fail like this from now on."""
        if self._faults is not None:
            self._faults.faults = faults
        elif self._rng is not None:
            self._faults = FaultLayer(faults, self._rng.spawn(1)[0])
        else:
            raise BusError("faults need a generator: pass rng")

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
        self._parser.forget()
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
        if self._rng is None:
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
        """Let servos trip after `after_ns` above `limit_a`, as they see it when they are read; None: as registers say."""
        for servo in self.servos:
            servo.limit_a, servo.patience_ns = limit_a, after_ns

    def counts(self) -> Mapping[str, object]:
        """Return what was heard that was no request, and what the line's faults did."""
        return {
            "bad_checksums": self._parser.bad_checksums,
            "stray_bytes": self._parser.stray_bytes,
            "collisions": self.collisions,
            "injected": dict(self._faults.injected) if self._faults is not None else {},
        }

    # --- hearing ---

    @property
    def _noisy(self) -> bool:
        return self._powered and any(self.servos[servo].plugged for servo in self._babbling)

    def _servo(self, servo: int) -> FramedServo:
        if not 0 <= servo < len(self.servos):
            raise BusError(f"no servo {servo} on this line: expected 0 to {len(self.servos) - 1}")
        self._by_id = None
        return self.servos[servo]

    def _through(self, data: bytes, start_ns: int) -> tuple[bytes, int]:
        """Return what of the host's bytes does not meet a servo's, and when it starts."""
        end_ns = start_ns + wire_ns(len(data), self._baud)
        if start_ns >= self._talk_until_ns or end_ns <= self._talk_from_ns:
            return data, start_ns
        self.collisions += 1
        self._parser.forget()
        lost = min(len(data), -(-(self._talk_until_ns - start_ns) // wire_ns(1, self._baud)))
        return data[lost:], start_ns + wire_ns(lost, self._baud)

    def _settle(self, now_ns: int) -> None:
        """Let servos do what was due before `now_ns`, in its order."""
        self._now_ns = max(self._now_ns, now_ns)
        if not self._powered:
            return
        while (servo := min(self.servos, key=lambda servo: servo.due_ns)).due_ns < now_ns:
            due_ns = servo.due_ns
            self._plant.advance(due_ns)
            servo.expire(due_ns)

    def _listeners(self, bus_id: int, now_ns: int) -> Sequence[FramedServo]:
        """Return the servos that take a request to `bus_id` for theirs; all that hear anything for `BROADCAST`."""
        if self._by_id is None:
            self._by_id = self._sorted()
        return [servo for servo in self._by_id.get(bus_id, ()) if servo.wakes_ns <= now_ns]

    def _sorted(self) -> dict[int, tuple[FramedServo, ...]]:
        hearing = [servo for servo in self.servos if servo.plugged and servo.baud == self._baud]
        by_id: dict[int, tuple[FramedServo, ...]] = {BROADCAST: tuple(hearing)}
        for servo in hearing:
            by_id[servo.bus_id] = (*by_id.get(servo.bus_id, ()), servo)
        return by_id

    # --- obeying ---

    def _obey(self, packet: Packet, now_ns: int) -> None:
        instruction = packet.instruction
        for servo in self._listeners(BROADCAST, now_ns):
            servo.fed_ns = now_ns
        if packet.bus_id != BROADCAST:
            self._obey_one(packet, now_ns)
        elif instruction == PING:
            self._ping_all(now_ns)
        elif instruction in self._manners.groups:
            self._obey_group(packet, now_ns)
        else:
            for servo in self._listeners(BROADCAST, now_ns):
                self._do(servo, packet, now_ns)
        if instruction not in READS and instruction not in (PING, READ):
            # Ids and rates may have been changed.
            self._by_id = None

    def _obey_one(self, packet: Packet, now_ns: int) -> None:
        statuses: list[bytes] = []
        listeners = self._listeners(packet.bus_id, now_ns)
        for servo in listeners:
            answering = servo.answers(packet.instruction)
            bus_id = servo.bus_id
            answer = self._do(servo, packet, now_ns)
            if answer is not None and answering:
                statuses.append(self._dialect.status(bus_id, answer.error, answer.data))
        if statuses:
            self._send([(listeners[0], _overlaid(statuses))], now_ns)

    def _do(self, servo: FramedServo, packet: Packet, now_ns: int) -> Answer | None:
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
            return Answer(servo.reg_write(address, rest) if later else servo.write(address, rest, now_ns))
        if instruction == ACTION and not params:
            return Answer(servo.action(now_ns))
        return servo.obey(instruction, params, now_ns)

    def _obey_group(self, packet: Packet, now_ns: int) -> None:
        parts = group_parts(packet, self._dialect.address_bytes)
        if packet.instruction in WRITES:
            for part in parts:
                for servo in self._listeners(part.bus_id, now_ns):
                    servo.write(part.address, part.data, now_ns)
        elif packet.instruction in FAST and self._manners.fast_status is not None:
            self._answer_fast(parts, now_ns)
        else:
            self._send([(servos[0], status) for servos, status in self._statuses(parts, now_ns)], now_ns)

    def _statuses(self, parts: Sequence[Part], now_ns: int) -> Iterable[tuple[Sequence[FramedServo], bytes]]:
        """Return who answers, with what, up to the first servo that is silent."""
        for part in parts:
            servos = self._readers(part, now_ns)
            if not servos:
                return
            answers = [servo.read(part.address, part.count, now_ns) for servo in servos]
            yield servos, _overlaid([self._dialect.status(part.bus_id, *answer) for answer in answers])

    def _readers(self, part: Part, now_ns: int) -> Sequence[FramedServo]:
        return [servo for servo in self._listeners(part.bus_id, now_ns) if servo.answers(READ)]

    def _answer_fast(self, parts: Sequence[Part], now_ns: int) -> None:
        """Send one packet to which all have added."""
        answers: list[tuple[int, Answer]] = []
        first: FramedServo | None = None
        for part in parts:
            servos = self._readers(part, now_ns)
            if not servos:
                break
            first = first or servos[0]
            heard = [servo.read(part.address, part.count, now_ns) for servo in servos]
            data = _overlaid([answer.data.ljust(part.count, b"\0") for answer in heard])
            answers.append((part.bus_id, Answer(reduce(and_, (answer.error for answer in heard)), data)))
        if first is not None and self._manners.fast_status is not None:
            self._send([(first, self._manners.fast_status(parts, answers))], now_ns)

    def _ping_all(self, now_ns: int) -> None:
        slot_ns = wire_ns(self._dialect.status_bytes(3), self._baud) + LONGEST_DELAY_NS
        servos = [servo for servo in self._listeners(BROADCAST, now_ns) if servo.answers(PING)]
        statuses = {servo: self._dialect.status(servo.bus_id, *servo.ping()) for servo in servos}
        if not self._manners.ping_slots:
            if servos:
                self._send([(servos[0], _overlaid(list(statuses.values())))], now_ns)
            return
        for bus_id in sorted({servo.bus_id for servo in servos}):
            same = [servo for servo in servos if servo.bus_id == bus_id]
            self._send([(same[0], _overlaid([statuses[servo] for servo in same]))], now_ns + bus_id * slot_ns)

    # --- answering ---

    def _send(self, replies: Iterable[tuple[FramedServo, bytes]], now_ns: int) -> None:
        """Send replies one after the other, the first one after a request that ended at `now_ns`."""
        for servo, reply in replies:
            start_ns = now_ns + servo.return_delay_ns + self._turnaround_ns + self._jitter()
            if self._noisy:
                self.collisions += 1
                return
            sent = reply
            if self._faults is not None:
                start_ns += self._faults.delay_ns()
                sent = self._faults.babble() + self._faults.garble(reply)
            self._deliver(sent, start_ns)
            now_ns = start_ns + wire_ns(max(len(sent), len(reply)), self._baud)
            if self._talk_until_ns <= self._now_ns:
                self._talk_from_ns = start_ns
            self._talk_until_ns = max(self._talk_until_ns, now_ns)

    def _jitter(self) -> int:
        if not self._jitter_ns or self._rng is None:
            return 0
        return int(self._rng.integers(0, self._jitter_ns, endpoint=True))


def _overlaid(messages: Sequence[bytes]) -> bytes:
    """Return what is left of messages that are sent at once."""
    if len(messages) == 1:
        return messages[0]
    return bytes(reduce(and_, values) for values in zip_longest(*messages, fillvalue=_IDLE))
