"""Other forms of the exchange: one send for all and then reads, and the wCK's ten-bit move and read."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple

from drivers.aimotor.codec import (
    MAX_RAW,
    encode_move_10bit,
    encode_passive,
    encode_read_10bit,
)
from drivers.aimotor.table import MOST_10BIT
from drivers.bus import LIMP
from drivers.errors import BusUrlError
from drivers.servo import LEVEL_SHARE, ServoAddress

TEN_BIT_STEPS: Final = MOST_10BIT / MAX_RAW
"""Ten-bit ticks per tick: both scales have the same ends (assumed)."""

_SEVEN_BITS: Final = 7
_LOW: Final = 0x7F


class AnswerKind(Enum):
    """What the two bytes that answer a request are: the move's and torque-off's are waited for and say little."""

    POSITION = 0
    MOVE = 1
    PASSIVE = 2


class CycleRequest(NamedTuple):
    """One request of a cycle, the servo it is for (counted from 0), and what its answer is."""

    request: bytes
    servo: int
    kind: AnswerKind


def check_gapless(servos: Sequence[ServoAddress]) -> None:
    """See that a sync send reaches these servos and nobody else: ids 0, 1, 2... in any order. Raises `BusUrlError`."""
    ids = sorted(servo.bus_id for servo in servos)
    if ids != list(range(len(ids))):
        raise BusUrlError(
            f"sync=1 with ids {', '.join(map(str, ids))}: a sync send names no ids, it gives targets to 0, 1, 2... in "
            f"a row, and who is left out of the bus would be sent somewhere too; expected ids 0 to {len(ids) - 1}"
        )


def is_ten_bit_reply(reply: bytes) -> bool:
    """Whether two bytes can be a ten-bit position."""
    return reply[0] <= MOST_10BIT >> _SEVEN_BITS and reply[1] <= _LOW


def ten_bit_position(reply: bytes) -> int:
    """Return the position, 0 to 1023, of two bytes that can be one."""
    return reply[0] << _SEVEN_BITS | reply[1]


class TenBitForm:
    """Cycles of ten-bit moves and reads for these servos; goals are 0 to 1023.

    A move takes a torque of its own instead of a level: the share of all there is that a level stands for, 254 being
    all (assumed). No load comes back.
    """

    __slots__ = ("_passives", "_reads", "_servos", "torque")

    def __init__(self, servos: Sequence[ServoAddress]) -> None:
        """Raises `FrameError` for an id that can not be told to let go."""
        self.torque = MAX_RAW
        self._servos = tuple(servos)
        self._reads = [CycleRequest(encode_read_10bit(s.bus_id), k, AnswerKind.POSITION) for k, s in enumerate(servos)]
        self._passives = [CycleRequest(encode_passive(s.bus_id), k, AnswerKind.PASSIVE) for k, s in enumerate(servos)]

    def set_level(self, level: int) -> None:
        """Drive with the torque of this level from now on."""
        self.torque = round(MAX_RAW * LEVEL_SHARE[level])

    def read(self, servo: int) -> bytes:
        """Return the read of a servo."""
        return self._reads[servo].request

    def steps(self, goals: Sequence[int]) -> list[CycleRequest]:
        """Return the requests for `goals`: a move before the read, or a torque-off behind it, or nothing but it.

        Behind it, because the position comes with the read: so the status that stands in the end tells of both.
        """
        steps: list[CycleRequest] = []
        for k, goal in enumerate(goals):
            if goal >= 0:
                move = encode_move_10bit(self._servos[k].bus_id, self.torque, goal)
                steps.append(CycleRequest(move, k, AnswerKind.MOVE))
            steps.append(self._reads[k])
            if goal == LIMP:
                steps.append(self._passives[k])
        return steps
