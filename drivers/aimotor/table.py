"""What is known of the AI motor and the wCK as data: models, units, set commands.

Sources: wCK manual 1.07 (page numbers), AI MOTOR-701 manual 1.02, the Tribotix Megarobotics FAQ, Rutter 2010 section
6.3.2 and joint list. What no source confirms is marked as assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Family(Enum):
    """Servos that share the framing."""

    AI_MOTOR = "AI motor"
    WCK = "wCK"


TICK_DEG: Final = 0.654
"""Degrees of shaft per position tick (Rutter 2010, 6.3.2): the AI motor's high resolution, 166.1 degrees in all."""

LOW_RESOLUTION_TICK_DEG: Final = 1.307
"""Degrees of shaft per tick as delivered: 254 ticks = 332 degrees (AI MOTOR-701 manual)."""

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

DEFAULT_BAUD: Final = 57_600
BAUD_CODES: Final = {0: 921_600, 1: 460_800, 3: 230_400, 7: 115_200, 15: 57_600, 23: 38_400, 95: 9_600, 191: 4_800}
"""wCK baud codes: rate = 921,600 / (code + 1) (p. 71). The AI motor's codes are not established, its rates are."""


@dataclass(frozen=True, slots=True)
class ServoModel:
    """One model as delivered. `stall_kgf_cm` is assumed from the model's name; nothing confirms it."""

    number: str
    name: str
    baud: int
    p_gain: int
    d_gain: int
    stall_kgf_cm: float
    position_bounds: bool


MODELS: Final = {
    "601": ServoModel("601", "AI-601", 115_200, 5, 35, 6.0, position_bounds=False),
    "701": ServoModel("701", "AI-701", 57_600, 10, 35, 7.0, position_bounds=True),
    "1001": ServoModel("1001", "AI-1001", 57_600, 10, 35, 10.0, position_bounds=True),
}


@dataclass(frozen=True, slots=True)
class SetCommand:
    """One set or read command of the wCK: six bytes out, two back.

    `d3` and `d4` are inclusive raw ranges; `repeated` means D4 must equal D3; `reads` that nothing is changed;
    `answer` what the two reply bytes are, empty when there is no reply.
    """

    code: int
    name: str
    d3: tuple[int, int]
    d4: tuple[int, int]
    unit: str
    answer: str
    page: int
    repeated: bool = False
    reads: bool = False
    volatile: bool = False


_ANY = (0, 254)
_SPEED = "speed, acceleration"
_ROWS = (
    SetCommand(0x08, "baud set", (0, 191), (0, 191), "baud code", "code, code", 71, repeated=True),
    SetCommand(0x09, "P, D set", (1, 254), _ANY, "gain", "P, D", 71),
    SetCommand(0x0A, "P, D read", _ANY, _ANY, "gain", "P, D", 71, repeated=True, reads=True),
    SetCommand(0x0B, "runtime P, D set", (1, 254), _ANY, "gain", "P, D", 44, volatile=True),
    SetCommand(0x0C, "id set", (0, 30), (0, 30), "id", "id, id", 71, repeated=True),
    SetCommand(0x0D, "speed, acceleration set", (0, 30), (20, 100), "code", _SPEED, 71),
    SetCommand(0x0E, "speed, acceleration read", _ANY, _ANY, "code", _SPEED, 71, repeated=True, reads=True),
    SetCommand(0x0F, "overload set", (33, 199), (33, 199), "8.4 mA, from 127 mA", "code, code", 71, repeated=True),
    SetCommand(0x10, "overload read", _ANY, _ANY, "8.4 mA, from 127 mA", "code, code", 71, repeated=True, reads=True),
    SetCommand(0x11, "boundary set", _ANY, _ANY, "position tick", "low, high", 71),
    SetCommand(0x12, "boundary read", _ANY, _ANY, "position tick", "low, high", 71, repeated=True, reads=True),
    SetCommand(0x15, "I set", (0, 10), (0, 10), "gain", "I, I", 71, repeated=True),
    SetCommand(0x16, "I read", _ANY, _ANY, "gain", "I, I", 71, repeated=True, reads=True),
    SetCommand(0x17, "runtime speed, acceleration set", (0, 30), (20, 100), "code", "", 71, volatile=True),
    SetCommand(0x18, "runtime I set", (0, 10), (0, 10), "gain", "I, I", 71, repeated=True, volatile=True),
    SetCommand(0x64, "outputs set", (0, 3), (0, 3), "bit per output", "outputs, outputs", 71, repeated=True),
    SetCommand(0x65, "inputs read", _ANY, _ANY, "bit, A/D count", "outputs, A/D", 71, repeated=True, reads=True),
    SetCommand(0x97, "motion data read", _ANY, _ANY, "count", "count, count", 71, repeated=True, reads=True),
    SetCommand(0xC9, "ten-bit read", (0, 253), (0, 253), "id", "high 3 bits, low 7", 71, repeated=True, reads=True),
)

SET_COMMANDS: Final = {row.code: row for row in _ROWS}
"""wCK numbering. On the AI motor 0A to 0E very probably mean something else (0A id set, 0C gain read)."""
