"""Frames of the AI motor and the wCK: requests to bytes and back, replies to numbers. Pure, no state but the parser's.

Every request starts with FF and ends with a 7-bit checksum; FF occurs nowhere else, so a parser may start again on
each one. Replies are two bytes without header, id or checksum. Framing: wCK manual 1.07 p. 71; the AI motor's frames
are the same (Rutter 2010, 6.3.2: ids 0-30, levels 0-4, positions 0-254, one unsigned current byte). What the answers to
set and read commands say is in `drivers.aimotor.answers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Final, NamedTuple

from drivers.aimotor.table import AI_MOTOR_COMMANDS, LONGEST_REQUEST, MOST_10BIT, SET_COMMANDS, Family, SetCommand
from drivers.errors import FrameError

HEADER: Final = 0xFF
MAX_ID: Final = 30
GROUP_ID: Final = 31
MAX_ID_10BIT: Final = 253
MAX_LEVEL: Final = 4
MAX_RAW: Final = 254
REQUEST_BYTES: Final = 4
REPLY_BYTES: Final = 2
SET_BYTES: Final = 6
MOVE_10BIT_BYTES: Final = 8

_MODE_READ, _MODE_PASSIVE, _MODE_SET = 5, 6, 7
_PASSIVE, _BREAK = 0x10, 0x20
_COUNTER_CLOCKWISE, _CLOCKWISE = 3, 4
_TEN_BIT = _MODE_SET << 5
_MOVE_10BIT, _READ_10BIT = 0xC8, 0xC9

_NEVER: Final = {
    0x08: "a baud set (0x08) is stored and can take a servo off its line: only write_baud of the family sends it",
    0x0C: "0x0c sets the id: samples printed for the wCK that read gains with 0C,0,0 rename the servo to id 0. A wCK"
    " reads its gains with 0x0a; ids are set by write_id of the family only",
    0x96: "the frame of motion data write (0x96) is not established: no source says how its steps are coded",
    _MOVE_10BIT: "a ten-bit move (0xc8) has an id of its own: use encode_move_10bit",
    _READ_10BIT: "a ten-bit read (0xc9) has an id of its own: use encode_read_10bit",
}


class Op(IntEnum):
    """What a request asks for."""

    POSITION_SEND = 0
    POSITION_READ = 1
    PASSIVE = 2
    WHEEL = 3
    BREAK = 4
    SYNC_SEND = 5
    SET = 6
    MOVE_10BIT = 7
    UNKNOWN = 8
    READ_10BIT = 9


@dataclass(frozen=True, slots=True)
class AiMotorRequest:
    """One decoded request.

    `bus_id` is 31 for a group; `level` the torque level of a send, else -1; `value` the second data byte (target,
    wheel, number of targets or set command); `payload` what follows it: sync targets, or D3 and D4 of a set frame. A
    ten-bit request has the id it is for, 0 to 253; the `value` of a move is its target, 0 to 1023, and its `payload`
    the one byte of torque.
    """

    op: Op
    bus_id: int
    level: int
    value: int
    payload: bytes = b""


class Reply(NamedTuple):
    """The two reply bytes of an operation frame: motor current and shaft position, both raw."""

    current_raw: int
    position_raw: int


def _check(what: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise FrameError(f"{what} {value} does not fit the wire: expected {low} to {high}")
    return value


def _operation(d1: int, d2: int) -> bytes:
    return bytes((HEADER, d1, d2, (d1 ^ d2) & 0x7F))


def encode_position(bus_id: int, level: int, target_raw: int) -> bytes:
    """Return the request "go to `target_raw` (0-254) with torque level 0 (strongest) to 4"; it is also a read."""
    d1 = _check("level", level, 0, MAX_LEVEL) << 5 | _check("bus id", bus_id, 0, MAX_ID)
    return _operation(d1, _check("target", target_raw, 0, MAX_RAW))


def encode_read(bus_id: int, aim_raw: int = 0) -> bytes:
    """Return the request "report current and position, change nothing".

    The second byte means nothing. But the checksum does not cover bit 7: without it the first byte is a send with
    level 1, to what stands in the second, so `aim_raw` is best where the shaft is.
    """
    d1 = _MODE_READ << 5 | _check("bus id", bus_id, 0, MAX_ID)
    return _operation(d1, _check("aim", aim_raw, 0, MAX_RAW))


def encode_passive(bus_id: int) -> bytes:
    """Return the request "torque off": of the reply only the position byte has a sure meaning."""
    return _operation(_MODE_PASSIVE << 5 | _check("bus id", bus_id, 0, MAX_ID), _PASSIVE)


def is_passive_reply(reply: bytes) -> bool:
    """Whether two reply bytes are what sources say a torque-off is answered with: the position twice, or 10 and it.

    A torque-off that lost bit 7 of its first byte is a send to 16, answered with the current first.
    """
    return reply[0] in (_PASSIVE, reply[1])


def encode_wheel(bus_id: int, *, clockwise: bool, speed: int) -> bytes:
    """Return the request "turn without end", speed 0-15."""
    direction = _CLOCKWISE if clockwise else _COUNTER_CLOCKWISE
    return _operation(
        _MODE_PASSIVE << 5 | _check("bus id", bus_id, 0, MAX_ID), direction << 4 | _check("wheel speed", speed, 0, 15)
    )


def encode_break() -> bytes:
    """Return the request "all servos: short the motor" (dynamic braking)."""
    return _operation(_MODE_PASSIVE << 5 | GROUP_ID, _BREAK)


def encode_sync(level: int, targets_raw: Sequence[int]) -> bytes:
    """Return the request that sends ids 0, 1, 2... to `targets_raw`; nobody answers it.

    The number of targets is the last id + 1. The checksum covers the targets only.
    """
    _check("number of sync targets", len(targets_raw), 1, MAX_ID + 1)
    checksum = 0
    for target in targets_raw:
        checksum ^= _check("target", target, 0, MAX_RAW)
    d1 = _check("level", level, 0, MAX_LEVEL) << 5 | GROUP_ID
    return bytes((HEADER, d1, len(targets_raw), *targets_raw, checksum & 0x7F))


@cache
def request_table(bus_id: int, level: int) -> tuple[bytes, ...]:
    """Return the requests for goals 0 to 254, then those that the indices -2 and -1 find: torque off and read."""
    goals = (encode_position(bus_id, level, goal) for goal in range(MAX_RAW + 1))
    return (*goals, encode_passive(bus_id), encode_read(bus_id))


def set_frame(bus_id: int, row: SetCommand, d3: int, d4: int) -> bytes:
    """Return the six bytes of a set or read command, with its ranges checked and nothing else.

    For the functions of the family that write them and for tests; everybody else takes `encode_set`.
    """
    _check(f"{row.name} D3", d3, *row.d3)
    _check(f"{row.name} D4", d4, *row.d4)
    if row.repeated and d3 != d4:
        raise FrameError(f"{row.name} ({row.code:#04x}) takes the same value twice, got {d3} and {d4}")
    body = _MODE_SET << 5 | _check("bus id", bus_id, 0, MAX_ID), row.code, d3, d4
    return bytes((HEADER, *body, _xor(body)))


def encode_set(bus_id: int, command: int, d3: int, d4: int, *, family: Family, accepted: bool = False) -> bytes:
    """Return a set or read frame of six bytes, checked against `drivers.aimotor.table`.

    Raises `FrameError` for what nobody may send from here (id and rate, see `write_id` and `write_baud` of the family)
    and for every command on the AI motor: its own numbering is not established, and a wrong guess (0A, 0C) changes a
    servo's id. A person who wants to find out on a motor of their own says so by `accepted`: then the few commands
    are encoded that the AI motor probably has.
    """
    if family is Family.AI_MOTOR:
        return set_frame(bus_id, _row_of_ai_motor(command, accepted=accepted), d3, d4)
    if command in _NEVER:
        raise FrameError(_NEVER[command])
    row = SET_COMMANDS.get(command)
    if row is None:
        raise FrameError(f"unknown set command {command:#04x}: expected one of {', '.join(map(hex, SET_COMMANDS))}")
    return set_frame(bus_id, row, d3, d4)


def _row_of_ai_motor(command: int, *, accepted: bool) -> SetCommand:
    row = AI_MOTOR_COMMANDS.get(command)
    if row is None or not accepted:
        known = SET_COMMANDS.get(command)
        name = f"{known.name} ({command:#04x})" if known else f"{command:#04x}"
        hint = "" if row else "; 0x0a probably sets its id"
        raise FrameError(f"{name} is not established for the AI motor: only for the wCK{hint}")
    return row


def encode_move_10bit(bus_id: int, torque: int, target: int) -> bytes:
    """Return the wCK's ten-bit move (id 0-253, torque 0-254, target 0-1023); the AI motor has no such command."""
    _check("target", target, 0, MOST_10BIT)
    body = (
        _TEN_BIT,
        _MOVE_10BIT,
        _check("bus id", bus_id, 0, MAX_ID_10BIT),
        _check("torque", torque, 0, MAX_RAW),
        target >> 7,
        target & 0x7F,
    )
    return bytes((HEADER, *body, _xor(body)))


def encode_read_10bit(bus_id: int) -> bytes:
    """Return the wCK's ten-bit read (id 0-253); the AI motor has no such command."""
    _check("bus id", bus_id, 0, MAX_ID_10BIT)
    body = _TEN_BIT, _READ_10BIT, bus_id, bus_id
    return bytes((HEADER, *body, _xor(body)))


def decode_reply(data: bytes) -> Reply:
    """Return the numbers of a two-byte reply. Raises `FrameError` for another length or a byte of 255."""
    if len(data) != REPLY_BYTES or HEADER in data:
        raise FrameError(f"{data.hex(' ') or 'nothing'} is no reply: expected two bytes of 0 to {MAX_RAW}")
    return Reply(data[0], data[1])


def _xor(body: Sequence[int]) -> int:
    checksum = 0
    for byte in body:
        checksum ^= byte
    return checksum & 0x7F


def _frame_length(d1: int, d2: int) -> int:
    """Return how many bytes the frame has in all, 0 if no frame starts like this."""
    mode, bus_id = d1 >> 5, d1 & 0x1F
    if mode == _MODE_SET:
        return MOVE_10BIT_BYTES if d1 == _TEN_BIT and d2 == _MOVE_10BIT else SET_BYTES
    if mode <= MAX_LEVEL and bus_id == GROUP_ID:
        return REQUEST_BYTES + d2 if REQUEST_BYTES + d2 <= LONGEST_REQUEST else 0
    return REQUEST_BYTES


def _operation_request(mode: int, bus_id: int, d2: int) -> AiMotorRequest:
    if bus_id == GROUP_ID:
        return AiMotorRequest(Op.BREAK if mode == _MODE_PASSIVE and d2 == _BREAK else Op.UNKNOWN, bus_id, -1, d2)
    if mode <= MAX_LEVEL:
        return AiMotorRequest(Op.POSITION_SEND, bus_id, mode, d2)
    if mode == _MODE_READ:
        return AiMotorRequest(Op.POSITION_READ, bus_id, -1, d2)
    if d2 == _PASSIVE:
        return AiMotorRequest(Op.PASSIVE, bus_id, -1, d2)
    return AiMotorRequest(Op.WHEEL if d2 >> 4 in (_COUNTER_CLOCKWISE, _CLOCKWISE) else Op.UNKNOWN, bus_id, -1, d2)


def _set_request(frame: bytearray) -> AiMotorRequest:
    d1, d2, payload = frame[1], frame[2], bytes(frame[3:-1])
    if len(frame) == MOVE_10BIT_BYTES:
        bus_id, torque, high, low = payload
        if bus_id > MAX_ID_10BIT or high > MOST_10BIT >> 7 or low > 0x7F:
            return AiMotorRequest(Op.UNKNOWN, bus_id, -1, d2, payload)
        return AiMotorRequest(Op.MOVE_10BIT, bus_id, -1, high << 7 | low, bytes((torque,)))
    if d1 == _TEN_BIT and d2 == _READ_10BIT:
        whole = payload[0] == payload[1] <= MAX_ID_10BIT
        return AiMotorRequest(Op.READ_10BIT if whole else Op.UNKNOWN, payload[0], -1, d2, payload)
    return AiMotorRequest(Op.SET, d1 & 0x1F, -1, d2, payload)


def _decode(frame: bytearray) -> AiMotorRequest | None:
    """Return the request of a whole frame, None when its checksum is wrong."""
    d1, d2 = frame[1], frame[2]
    mode, bus_id = d1 >> 5, d1 & 0x1F
    sync = mode <= MAX_LEVEL and bus_id == GROUP_ID
    if frame[-1] != _xor(frame[3:-1] if sync else frame[1:-1]):
        return None
    if sync:
        return AiMotorRequest(Op.SYNC_SEND, bus_id, mode, d2, bytes(frame[3:-1]))
    if mode == _MODE_SET:
        return _set_request(frame)
    return _operation_request(mode, bus_id, d2)


class RequestParser:
    """The servo's ear: takes request bytes in any pieces, gives whole requests with a right checksum.

    `stray_bytes` counts bytes that belong to no whole frame, `bad_checksums` whole frames thrown away.
    """

    __slots__ = ("_frame", "_length", "bad_checksums", "stray_bytes")

    def __init__(self) -> None:
        """Start with nothing heard."""
        self._frame = bytearray()
        self._length = 0
        self.bad_checksums = 0
        self.stray_bytes = 0

    @property
    def idle(self) -> bool:
        """Whether no frame is half received."""
        return not self._frame

    def reset(self) -> None:
        """Drop a frame that is half received."""
        self.stray_bytes += len(self._frame)
        self._frame.clear()

    def feed(self, data: bytes) -> list[tuple[int, AiMotorRequest]]:
        """Return each request that `data` completes, with the index in `data` of its last byte."""
        requests: list[tuple[int, AiMotorRequest]] = []
        for index, byte in enumerate(data):
            if self._take(byte):
                request = _decode(self._frame)
                self._frame.clear()
                if request is None:
                    self.bad_checksums += 1
                else:
                    requests.append((index, request))
        return requests

    def _take(self, byte: int) -> bool:
        """Add one byte; True when it completes a frame."""
        frame = self._frame
        if byte == HEADER:
            self.stray_bytes += len(frame)
            frame.clear()
        elif not frame:
            self.stray_bytes += 1
            return False
        frame.append(byte)
        size = len(frame)
        if size == 3:
            self._length = _frame_length(frame[1], byte)
            if not self._length:
                self.stray_bytes += size
                frame.clear()
        return size > 3 and size == self._length
