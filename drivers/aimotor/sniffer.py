"""What a host says on a line of AI motors, understood from the bytes alone (a `drivers.family.Ear`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from drivers.aimotor.answers import decode_10bit
from drivers.aimotor.codec import MAX_RAW, AiMotorRequest, Op, RequestParser, decode_reply
from drivers.aimotor.table import MOST_10BIT, SET_COMMANDS
from drivers.errors import FrameError
from drivers.family import EVERYBODY, DecodedRequest

KINDS: Final = {
    Op.POSITION_SEND: "position send",
    Op.POSITION_READ: "position read",
    Op.PASSIVE: "passive",
    Op.WHEEL: "wheel",
    Op.BREAK: "break",
    Op.SYNC_SEND: "sync send",
    Op.SET: "set",
    Op.MOVE_10BIT: "ten-bit move",
    Op.READ_10BIT: "ten-bit read",
    Op.UNKNOWN: "unknown",
}
"""How `Heard.kind` names requests; a set or read command that is known has the name it has in the table."""

_ANSWERED: Final = (Op.POSITION_SEND, Op.POSITION_READ, Op.PASSIVE, Op.WHEEL, Op.MOVE_10BIT, Op.READ_10BIT)
_IN_8_BITS: Final = ("position send", "position read", "passive", "wheel")
_IN_10_BITS: Final = ("ten-bit move", "ten-bit read")


class AiMotorSniffer:
    """Listens to requests. Positions are in ten bits for servos that were ever spoken to so, in eight for the others.

    A wCK's torque-off is answered in eight bits on any line: then the position is given in the other scale.
    """

    __slots__ = ("_fine", "_parser", "bad_checksums", "stray_bytes")

    def __init__(self) -> None:
        """Start with nothing heard."""
        self._parser = RequestParser()
        self._fine: set[int] = set()
        self.stray_bytes = 0
        self.bad_checksums = 0

    @property
    def idle(self) -> bool:
        """Whether no request is half heard."""
        return self._parser.idle

    def feed(self, data: bytes) -> list[tuple[int, DecodedRequest]]:
        """Return each request that `data` completes, with the index in `data` of its last byte."""
        heard = [(index, self._understand(request)) for index, request in self._parser.feed(data)]
        self.stray_bytes, self.bad_checksums = self._parser.stray_bytes, self._parser.bad_checksums
        return heard

    def positions(self, heard: DecodedRequest, reply: bytes) -> Mapping[int, int]:
        """Return the raw position that the reply reports, by bus id; nothing where it is not understood."""
        if len(heard.asks) != 1:
            return {}
        bus_id = heard.asks[0]
        try:
            if heard.kind in _IN_10_BITS:
                return {bus_id: decode_10bit(reply)}
            if heard.kind not in _IN_8_BITS:
                return {}
            position = decode_reply(reply).position_raw
        except FrameError:
            return {}
        return {bus_id: round(position * MOST_10BIT / MAX_RAW) if bus_id in self._fine else position}

    def _understand(self, request: AiMotorRequest) -> DecodedRequest:
        op, one = request.op, (request.bus_id,)
        if op is Op.MOVE_10BIT or op is Op.READ_10BIT:
            self._fine.add(request.bus_id)
        row = SET_COMMANDS.get(request.value) if op is Op.SET else None
        answered = op in _ANSWERED or (row is not None and row.answered)
        return DecodedRequest(
            kind=KINDS[op] if row is None else row.name,
            goals=_goals(request),
            # Who answers a break is not established.
            releases=one if op is Op.PASSIVE else (EVERYBODY,) if op is Op.BREAK else (),
            arms=one if op is Op.WHEEL else (),
            asks=one if answered else (),
        )


def _goals(request: AiMotorRequest) -> Mapping[int, int]:
    """Return where a request sends servos, by bus id."""
    if request.op is Op.SYNC_SEND:
        return dict(enumerate(request.payload))
    one = request.op is Op.POSITION_SEND or request.op is Op.MOVE_10BIT
    return {request.bus_id: request.value} if one else {}
