"""What is known of the AI motor and the wCK as data: units, times, rates, set commands.

Sources: wCK manual 1.07 (page numbers), AI MOTOR-701 manual 1.02, the Tribotix Megarobotics FAQ, Rutter 2010 section
6.3.2 and joint list. What no source confirms is marked as assumed. The models are in `drivers.aimotor.models`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from drivers.errors import FrameError


class Family(Enum):
    """Servos that share the framing."""

    AI_MOTOR = "AI motor"
    WCK = "wCK"


TICK_DEG: Final = 0.654
"""Degrees of shaft per position tick (Rutter 2010, 6.3.2): the AI motor's high resolution, 166.1 degrees in all."""

LOW_RESOLUTION_TICK_DEG: Final = 1.307
"""Degrees of shaft per tick as delivered: 254 ticks = 332 degrees (AI MOTOR-701 manual)."""

MOST_10BIT: Final = 1023
"""The highest ten-bit position of the wCK; it lies where 254 does in eight bits (assumed: one range, finer steps)."""

TICK_A: Final = 0.0184
"""Motor current per tick of the load byte, ampere (Rutter 2010, 6.3.2); full scale about 4.7 A, without sign."""

V_MAX_DEG_S: Final = 600.0
"""The fastest a shaft is believed to turn, deg/s: one and a half times the fastest confirmed no-load speed of the
framing's servos (wCK-1108, 0.15 s per 60 degrees = 400 deg/s), because a leg can also be pushed. Assumed."""

DEFAULT_TIMEOUT_NS: Final = 4_000_000
"""How much later than its wire time a reply may be complete. The servos' own delay is believed to be 0.1 to 0.5 ms; the
rest is for a USB adapter with its latency timer at 1 ms. An adapter left at 16 ms needs more."""

SERVO_DELAY_NS: Final = 500_000
"""The longest a servo itself is believed to take from the end of a request to the start of its reply."""

DEFAULT_TURNAROUND_NS: Final = 230_000
"""From a request's last byte to its reply's first, of an emulated servo. With it four motors at 57,600 baud reach the
197 Hz of Rutter 2010."""

LONGEST_REQUEST: Final = 35
"""Bytes of the longest request that a servo waits for: a sync send with a target for each of 31 ids (wCK manual 1.07,
p. 71). A header begins another one at once, whatever was waited for."""

BYTE_GAP_NS: Final = 100_000_000
"""The silence within a request after which an emulated servo waits for a header again. Assumed: no manual says whether
there is such a time. Little hangs on it, since every header begins anew."""

DEFAULT_BAUD: Final = 57_600
BAUD_CODES: Final = {0: 921_600, 1: 460_800, 3: 230_400, 7: 115_200, 15: 57_600, 23: 38_400, 95: 9_600, 191: 4_800}
"""wCK baud codes: rate = 921,600 / (code + 1) (p. 71). The AI motor's codes are not established, its rates are."""

OVERLOAD_A: Final = {
    33: 0.4, 44: 0.5, 56: 0.6, 68: 0.7, 80: 0.8, 92: 0.9, 104: 1.0, 116: 1.1, 128: 1.2, 199: 1.8,
}  # fmt: skip
"""wCK overload codes that the manual names, with their current in A (p. 49)."""


def baud_code(baud: int) -> int:
    """Return the wCK's code of a rate in bit/s. Raises `FrameError` for one it does not have."""
    for code, rate in BAUD_CODES.items():
        if rate == baud:
            return code
    rates = ", ".join(map(str, sorted(BAUD_CODES.values())))
    raise FrameError(f"{baud} bit/s has no code: expected one of {rates}")


def overload_a(code: int) -> float:
    """Return the current in A at which an overload code (33 to 199) lets a wCK go passive.

    Between the codes that the manual names it is a straight line, which is assumed. Raises `FrameError`.
    """
    codes = sorted(OVERLOAD_A)
    if not codes[0] <= code <= codes[-1]:
        raise FrameError(f"overload code {code} does not fit the wire: expected {codes[0]} to {codes[-1]}")
    above = next(known for known in codes if known >= code)
    below = codes[max(codes.index(above) - 1, 0)]
    if code == above:
        return OVERLOAD_A[above]
    share = (code - below) / (above - below)
    return OVERLOAD_A[below] + share * (OVERLOAD_A[above] - OVERLOAD_A[below])


@dataclass(frozen=True, slots=True)
class SetCommand:
    """One set or read command: six bytes out, two back.

    `fields` are what D3 and D4 set, or what the two bytes of the answer are. `d3` and `d4` are inclusive raw ranges;
    `repeated` means D4 must equal D3; `reads` that nothing is changed; `volatile` that a loss of supply undoes it;
    `answered` is False where no reply comes. A command with `writes_eeprom` can take the servo off its line for good.
    """

    code: int
    name: str
    d3: tuple[int, int]
    d4: tuple[int, int]
    unit: str
    fields: tuple[str, str]
    page: int
    repeated: bool = False
    reads: bool = False
    volatile: bool = False
    answered: bool = True
    writes_eeprom: bool = False


_ANY = (0, 254)
_BAUD = ("baud code", "baud code")
_GAINS = ("P", "D")
_SPEED = ("speed", "acceleration")
_OVERLOAD = ("overload code", "overload code")
_BOUNDS = ("low", "high")
_I = ("I", "I")
_RESOLUTION = ("resolution", "resolution")
_CURRENT = "8.4 mA, from 127 mA"
ID_SET: Final = 0x0C
BAUD_SET: Final = 0x08
_ROWS = (
    SetCommand(BAUD_SET, "baud set", (0, 191), (0, 191), "code", _BAUD, 71, repeated=True, writes_eeprom=True),
    SetCommand(0x09, "P, D set", (1, 254), _ANY, "gain", _GAINS, 71),
    SetCommand(0x0A, "P, D read", _ANY, _ANY, "gain", _GAINS, 71, repeated=True, reads=True),
    SetCommand(0x0B, "runtime P, D set", (1, 254), _ANY, "gain", _GAINS, 44, volatile=True),
    SetCommand(ID_SET, "id set", (0, 30), (0, 30), "id", ("id", "id"), 71, repeated=True, writes_eeprom=True),
    SetCommand(0x0D, "speed, acceleration set", (0, 30), (20, 100), "code", _SPEED, 71),
    SetCommand(0x0E, "speed, acceleration read", _ANY, _ANY, "code", _SPEED, 71, repeated=True, reads=True),
    SetCommand(0x0F, "overload set", (33, 199), (33, 199), _CURRENT, _OVERLOAD, 71, repeated=True),
    SetCommand(0x10, "overload read", _ANY, _ANY, _CURRENT, _OVERLOAD, 71, repeated=True, reads=True),
    SetCommand(0x11, "boundary set", _ANY, _ANY, "position tick", _BOUNDS, 71),
    SetCommand(0x12, "boundary read", _ANY, _ANY, "position tick", _BOUNDS, 71, repeated=True, reads=True),
    SetCommand(0x15, "I set", (0, 10), (0, 10), "gain", _I, 71, repeated=True),
    SetCommand(0x16, "I read", _ANY, _ANY, "gain", _I, 71, repeated=True, reads=True),
    SetCommand(
        0x17, "runtime speed, acceleration set", (0, 30), (20, 100), "code", _SPEED, 71, volatile=True, answered=False
    ),
    SetCommand(0x18, "runtime I set", (0, 10), (0, 10), "gain", _I, 71, repeated=True, volatile=True),
    SetCommand(
        0x64, "outputs set", (0, 3), (0, 3), "bit per output", ("outputs", "outputs"), 71, repeated=True, volatile=True
    ),
    SetCommand(0x65, "inputs read", _ANY, _ANY, "bit, A/D count", ("outputs", "A/D"), 71, repeated=True, reads=True),
    SetCommand(0x97, "motion data read", _ANY, _ANY, "count", ("count", "count"), 71, repeated=True, reads=True),
)

SET_COMMANDS: Final = {row.code: row for row in _ROWS}
"""wCK numbering. That the outputs do not survive a loss of supply is assumed. Not here: motion data write (96), whose
frame no source gives, and the ten-bit commands (C8, C9), which have an id of their own."""

AI_MOTOR_COMMANDS: Final = {
    0x09: SET_COMMANDS[0x09],
    0x0C: replace(SET_COMMANDS[0x0A], code=0x0C),
    0x0E: SetCommand(0x0E, "resolution read", _ANY, _ANY, "code", _RESOLUTION, 0, repeated=True, reads=True),
    0x0F: SET_COMMANDS[0x0F],
    0x10: SET_COMMANDS[0x10],
    0x11: SET_COMMANDS[0x11],
    0x12: SET_COMMANDS[0x12],
}
"""The AI motor's own numbering as far as samples printed for the wCK betray it (they read gains with 0C and name a
resolution). Assumed, all of it; 0A is probably its id set. Nobody has tried it on a motor."""
