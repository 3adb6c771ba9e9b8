"""What an emulated Dynamixel is told beside reading and writing: to restart, to clear turns, to keep or reset settings.

As the maker's manual has it (Protocol 2.0; firmware 52): a factory reset of everything is not done where all are told
at once (from firmware 42 on); Clear takes whole turns off the position of a shaft that stands still; settings are kept
aside, and taken back, while torque is off, and taking them back restarts the servo.

Assumed, since no page says it: too few or too many parameters are a length error, other ones than the manual's a range
error; settings that were never kept aside can not be taken back (result fail); a factory reset leaves them aside. What
a backup has beside settings (gains, profiles, indirect addresses) comes back only with a startup configuration that is
not modelled.
"""

from __future__ import annotations

from typing import Final, Protocol

from drivers.framed.emulation.memory import RegisterMemory
from drivers.framed.emulation.servo import ACTION, REG_WRITE
from drivers.framed.packet import PING, READ, REBOOT, WRITE

RESULT, INSTRUCTION, RANGE, LENGTH, LIMIT, ACCESS = 1, 2, 4, 5, 6, 7
"""Error numbers of a status."""

FACTORY_RESET, CLEAR, BACKUP = 0x06, 0x10, 0x20
"""Instructions beside those that all dialects have."""

_SIZES: Final = {PING: 0, READ: 4, ACTION: 0, FACTORY_RESET: 1, REBOOT: 0, CLEAR: 5, BACKUP: 5}
"""How many parameters an instruction for one servo has."""

_ALL, _ALL_BUT_ID, _ALL_BUT_ID_AND_BAUD = b"\xff", b"\x01", b"\x02"
_TURNS: Final = b"\x01DXL\x22"
_KEEP_ASIDE, _TAKE_BACK = b"\x01CTRL", b"\x02CTRL"


class Ordered(Protocol):
    """The servo. `backup` are the settings it keeps aside, none at first."""

    memory: RegisterMemory
    backup: dict[str, int]

    def power_up(self) -> None:
        """Start anew."""
        ...

    def clear_turns(self, now_ns: int) -> bool:
        """Take whole turns off the position; False for a shaft that moves."""
        ...


def obey(servo: Ordered, instruction: int, params: bytes, now_ns: int, *, everybody: bool) -> int:
    """Let the servo do it; return the error number of what is wrong, 0 for nothing. `everybody` are told at once."""
    if instruction in (WRITE, REG_WRITE) or len(params) != _SIZES.get(instruction, len(params)):
        return LENGTH
    if instruction == REBOOT:
        servo.power_up()
        return 0
    if instruction == FACTORY_RESET:
        return _reset(servo, params, everybody=everybody)
    if instruction == CLEAR:
        return RANGE if params != _TURNS else 0 if servo.clear_turns(now_ns) else RESULT
    if instruction == BACKUP:
        return _back_up(servo, params)
    return INSTRUCTION


def _reset(servo: Ordered, what: bytes, *, everybody: bool) -> int:
    if what not in (_ALL, _ALL_BUT_ID, _ALL_BUT_ID_AND_BAUD):
        return RANGE
    if what == _ALL and everybody:
        # All would have one id.
        return 0
    memory = servo.memory
    factory = {r.name: r.default for r in memory.table.all.values() if r.access == "eeprom"}
    kept = {_ALL: (), _ALL_BUT_ID: ("id",), _ALL_BUT_ID_AND_BAUD: ("id", "baud_rate")}[what]
    memory.restore(factory | {name: memory[name] for name in kept})
    servo.power_up()
    return 0


def _back_up(servo: Ordered, what: bytes) -> int:
    if what not in (_KEEP_ASIDE, _TAKE_BACK):
        return RANGE
    if servo.memory["torque_enable"] or (what == _TAKE_BACK and not servo.backup):
        return RESULT
    if what == _KEEP_ASIDE:
        servo.backup = servo.memory.kept()
    else:
        servo.memory.restore(servo.backup)
        servo.power_up()
    return 0
