"""Giving a wCK another id or rate for good: the two commands that can take a servo off its line.

Only a wCK is written to, and only after it has shown to be one: it must answer the ten-bit read, which the AI motor
does not have, with the position it gives in eight bits. On the AI motor the numbering of the set commands is not
established (0A probably sets its id, where a wCK reads gains).
"""

from __future__ import annotations

from typing import Final

from drivers.aimotor.answers import confirm_set, decode_10bit
from drivers.aimotor.codec import (
    MAX_ID,
    MAX_RAW,
    REPLY_BYTES,
    decode_reply,
    encode_read,
    encode_read_10bit,
    set_frame,
)
from drivers.aimotor.table import BAUD_SET, ID_SET, MOST_10BIT, SET_COMMANDS, baud_code
from drivers.clock import WaitingClock
from drivers.errors import BusError, FrameError
from drivers.port import Port

READ_TIMEOUT_NS: Final = 100_000_000
"""How long a read is waited for; clients wait 100 to 500 ms."""

SET_TIMEOUT_NS: Final = 500_000_000
"""How long the answer to a set command is waited for."""

_TRIES: Final = 3
_NEAR_TICKS: Final = 12
"""How far a shaft may have been turned by hand between two reads."""


def write_id(port: Port, pace: WaitingClock, bus_id: int, new_id: int) -> None:
    """Give the wCK with `bus_id` another id (0 to 30) and see that it answers to that and no longer to the old one.

    Raises `BusError` when it is not there, not shown to be a wCK, or does not answer to the new id; `FrameError` for an
    id out of range.
    """
    frame = set_frame(bus_id, SET_COMMANDS[ID_SET], new_id, new_id)
    if new_id == bus_id:
        raise BusError(f"id {bus_id} is to become id {new_id}: expected another id, 0 to {MAX_ID}")
    check_wck(port, pace, bus_id)
    _set(port, pace, ID_SET, new_id, frame)
    if position_of(port, pace, new_id) is None:
        was = "still answers to the old one" if position_of(port, pace, bus_id) is not None else "answers to neither"
        raise BusError(f"id {bus_id} was told to be id {new_id} and {was}: look who is there before trying again")
    if position_of(port, pace, bus_id) is not None:
        raise BusError(f"id {new_id} answers, and id {bus_id} too: there may be two servos that had id {bus_id}")


def write_baud(port: Port, pace: WaitingClock, bus_id: int, baud: int) -> None:
    """Set the wCK with `bus_id` to another rate (bit/s), and see that it is no longer heard at the port's.

    Raises `BusError` when it is not there, not shown to be a wCK, or goes on answering; `FrameError` for a rate it does
    not have.
    """
    code = baud_code(baud)
    frame = set_frame(bus_id, SET_COMMANDS[BAUD_SET], code, code)
    check_wck(port, pace, bus_id)
    _set(port, pace, BAUD_SET, code, frame)
    if position_of(port, pace, bus_id) is not None:
        raise BusError(f"id {bus_id} was told to go to {baud} bit/s and still answers at the old rate")


def check_wck(port: Port, pace: WaitingClock, bus_id: int) -> None:
    """Raise `BusError` where the servo does not answer, or is not recognisably a wCK."""
    if not shows_to_be_wck(port, pace, bus_id):
        raise BusError(
            f"id {bus_id} does not show to be a wCK (it does not give its position in ten bits). Of the AI motor it is"
            " not established how ids and rates are set (0A probably sets the id), so nothing was written"
        )


def shows_to_be_wck(port: Port, pace: WaitingClock, bus_id: int) -> bool:
    """Say whether a servo gives its position in ten bits, as it does in eight. Raises `BusError` for nobody."""
    position = position_of(port, pace, bus_id)
    if position is None:
        raise BusError(f"id {bus_id} does not answer: expected one servo with that id, powered, at the port's rate")
    fine = _position_10bit(port, pace, bus_id)
    return fine is not None and abs(fine * MAX_RAW / MOST_10BIT - position) <= _NEAR_TICKS


def _set(port: Port, pace: WaitingClock, command: int, value: int, frame: bytes) -> None:
    """Send a set command once. What the servo does afterwards decides; only an answer that says otherwise is an error.

    Whether a new rate is answered at the old one is not established, so no answer is no answer.
    """
    heard = ask(port, pace, frame, SET_TIMEOUT_NS)
    try:
        decode_reply(heard)
    except FrameError:
        return
    confirm_set(SET_COMMANDS[command], value, value, heard)


def position_of(port: Port, pace: WaitingClock, bus_id: int) -> int | None:
    """Return the raw position of a servo, None when nobody answers to that id."""
    for _ in range(_TRIES):
        try:
            return decode_reply(ask(port, pace, encode_read(bus_id), READ_TIMEOUT_NS)).position_raw
        except FrameError:
            continue
    return None


def _position_10bit(port: Port, pace: WaitingClock, bus_id: int) -> int | None:
    for _ in range(_TRIES):
        try:
            return decode_10bit(ask(port, pace, encode_read_10bit(bus_id), READ_TIMEOUT_NS))
        except FrameError:
            continue
    return None


def ask(port: Port, pace: WaitingClock, frame: bytes, patience_ns: int) -> bytes:
    """Write a request; return what comes back within the time, at most a reply."""
    port.flush_input(pace.now_ns)
    until_ns = pace.now_ns + patience_ns
    port.write(frame, pace.now_ns)
    heard = b""
    while len(heard) < REPLY_BYTES and pace.now_ns < until_ns:
        pace.wait(min(port.ready_ns(REPLY_BYTES - len(heard)), until_ns), port.filenos())
        heard += port.read(pace.now_ns)
    return heard
