"""What a host says on a line of servos with registers, from the bytes alone (a `drivers.family.Ear`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from drivers.errors import FrameError
from drivers.family import EVERYBODY, DecodedRequest
from drivers.framed.emulation.groups import FAST, READS, WRITES, GroupPart, group_parts
from drivers.framed.layout import GOAL, POSITION, TORQUE, FamilyLayout
from drivers.framed.packet import BROADCAST, READ, REBOOT, WRITE, Packet
from drivers.framed.registers import Register

REG_WRITE, ACTION = 0x04, 0x05
_ON, _OFF = (1,), (0, 2)


@dataclass(frozen=True, slots=True)
class DecodedReadRequest(DecodedRequest):
    """A request that asks for registers: which bytes of each servo, and whether the answers come in one packet."""

    address: int = 0
    count: int = 0
    fast: bool = False


class FramedSniffer:
    """Understands one family's requests; those whose registers it does not know mean nothing for the torque.

    `names` are the family's words for its instructions. A goal for all servos at once is under `EVERYBODY`. A write
    that waits for an action counts when the action comes. What is written through indirect addresses is not understood.
    """

    __slots__ = ("_later", "_layout", "_names", "_parser", "bad_checksums", "stray_bytes")

    def __init__(self, layout: FamilyLayout, names: Mapping[int, str]) -> None:
        self.stray_bytes = 0
        self.bad_checksums = 0
        self._layout, self._names = layout, names
        self._parser = layout.dialect.parser(status=False)
        self._later: dict[int, GroupPart] = {}

    def feed(self, data: bytes) -> list[tuple[int, DecodedRequest]]:
        """Return each request that `data` completes, with the index in `data` of its last byte."""
        heard = [(index, self._understood(packet)) for index, packet in self._parser.feed(data)]
        self.stray_bytes, self.bad_checksums = self._parser.stray_bytes, self._parser.bad_checksums
        return heard

    def positions(self, heard: DecodedRequest, reply: bytes) -> Mapping[int, int]:
        """Return the raw positions in the statuses that answer a read, by bus id."""
        if not isinstance(heard, DecodedReadRequest):
            return {}
        register = self._layout.register(POSITION)
        found: dict[int, int] = {}
        for _, packet in self._layout.dialect.parser(status=True).feed(reply):
            for status in self._statuses(heard, packet):
                position = _written(register, heard.address, status.params)
                if status.bus_id in heard.asks and len(status.params) == heard.count and position is not None:
                    found[status.bus_id] = position
        return found

    def _statuses(self, heard: DecodedReadRequest, packet: Packet) -> list[Packet]:
        fast = self._layout.fast
        if heard.fast and fast is not None and packet.bus_id == BROADCAST:
            return fast.split(packet, heard.count, len(heard.asks))
        return [packet]

    def _understood(self, packet: Packet) -> DecodedRequest:
        instruction, bus_id = packet.instruction, packet.bus_id
        kind = self._names.get(instruction, f"instruction {instruction:#04x}")
        asks = () if bus_id == BROADCAST else (bus_id,)
        who = EVERYBODY if bus_id == BROADCAST else bus_id
        width = self._layout.dialect.address_bytes
        if instruction in READS or instruction in WRITES:
            return self._group(kind, packet)
        if instruction == READ and len(packet.params) == 2 * width:
            address, count = _number(packet.params[:width]), _number(packet.params[width:])
            return DecodedReadRequest(kind, {}, asks=asks, address=address, count=count)
        if instruction in (WRITE, REG_WRITE) and len(packet.params) > width:
            part = GroupPart(who, _number(packet.params[:width]), 0, packet.params[width:])
            if instruction == WRITE:
                return self._writing(kind, (part,), asks)
            self._later[who] = part
        if instruction == ACTION:
            return self._writing(kind, self._due(who), asks)
        if instruction == REBOOT:
            return DecodedRequest(kind, {}, releases=(who,), asks=asks)
        return DecodedRequest(kind, {}, asks=asks)

    def _due(self, who: int) -> list[GroupPart]:
        """Return the writes that an action of `who` lets count."""
        due = [part for bus_id, part in self._later.items() if EVERYBODY in (who, bus_id) or bus_id == who]
        for part in due:
            del self._later[part.bus_id]
        return due

    def _group(self, kind: str, packet: Packet) -> DecodedRequest:
        parts = group_parts(packet, self._layout.dialect.address_bytes)
        if packet.instruction in WRITES:
            return self._writing(kind, parts, ())
        asks = tuple(part.bus_id for part in parts)
        # A bulk read may ask each servo for other bytes; then its answers are not understood.
        if len({(part.address, part.length) for part in parts}) != 1:
            return DecodedRequest(kind, {}, asks=asks)
        fast = packet.instruction in FAST
        return DecodedReadRequest(kind, {}, asks=asks, address=parts[0].address, count=parts[0].length, fast=fast)

    def _writing(self, kind: str, parts: Iterable[GroupPart], asks: tuple[int, ...]) -> DecodedRequest:
        goals: dict[int, int] = {}
        releases: list[int] = []
        arms: list[int] = []
        for part in parts:
            torque = _written(self._layout.register(TORQUE), part.address, part.data)
            if torque in _OFF:
                releases.append(part.bus_id)
            elif torque in _ON:
                arms.append(part.bus_id)
            goal = _written(self._layout.register(GOAL), part.address, part.data)
            if goal is not None:
                goals[part.bus_id] = goal
        return DecodedRequest(kind, goals, tuple(releases), tuple(arms), asks)


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _written(register: Register, address: int, data: bytes) -> int | None:
    """Return the value of a register among bytes from `address` on, None where they do not hold all of it."""
    at = register.address - address
    piece = data[at : at + register.size] if at >= 0 else b""
    try:
        return register.decode(piece)
    except FrameError:
        return None
