"""Control tables as data: where a register lies, how wide it is, what may be written to it, how negatives are coded.

Names are the same for all families where the meaning is: `model_number`, `id`, `baud_rate`, `return_delay`,
`operating_mode`, `torque_enable`, `position_p_gain`, `goal_position`, `goal_pwm`, `goal_current`, `torque_limit`,
`present_position`, `present_velocity`, `present_load`, `present_current`, `present_voltage`, `present_temperature`,
`hardware_error`, `bus_watchdog`, `eprom_lock`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from drivers.errors import FrameError

Access = Literal["read", "ram", "eeprom"]


@dataclass(frozen=True, slots=True)
class Register:
    """One register: little-endian, `size` 1, 2 or 4 bytes.

    `sign_bit` is -1 for values without sign, the number of the bit for sign and magnitude (Feetech), and `8 * size`
    for two's complement. `low` and `high` bound what may be written; `unit` is in words, for people.
    """

    name: str
    address: int
    size: int
    access: Access
    default: int = 0
    low: int = 0
    high: int = 0
    sign_bit: int = -1
    unit: str = ""

    @property
    def twos_complement(self) -> bool:
        """Whether negatives are coded as two's complement."""
        return self.sign_bit == 8 * self.size

    def encode(self, value: int) -> bytes:
        """Return the bytes of `value`. Raises `FrameError` when the register can not hold it."""
        bits = 8 * self.size
        if self.twos_complement:
            least, most, raw = -(1 << bits - 1), (1 << bits - 1) - 1, value & (1 << bits) - 1
        elif self.sign_bit >= 0:
            most = (1 << self.sign_bit) - 1
            least, raw = -most, abs(value) | (value < 0) << self.sign_bit
        else:
            least, most, raw = 0, (1 << bits) - 1, value
        if not least <= value <= most:
            raise FrameError(f"{self.name} = {value} does not fit the wire: expected {least} to {most}")
        return raw.to_bytes(self.size, "little")

    def decode(self, data: bytes) -> int:
        """Return the value of `size` bytes. Raises `FrameError` for another length."""
        size, sign_bit = self.size, self.sign_bit
        if len(data) != size:
            raise FrameError(f"{self.name} of {len(data)} bytes: expected {size}")
        raw = int.from_bytes(data, "little")
        if sign_bit < 0:
            return raw
        if sign_bit == 8 * size:
            half = 1 << sign_bit - 1
            return raw - 2 * half if raw >= half else raw
        # Bits above the sign mean something else on some registers and are left out.
        magnitude = raw & (1 << sign_bit) - 1
        return -magnitude if raw >> sign_bit & 1 else magnitude


class RegisterTable:
    """The registers of one model, by name."""

    __slots__ = ("_by_name", "end")

    def __init__(self, registers: Iterable[Register]) -> None:
        """Take the registers; `end` is the first address behind the last one."""
        self._by_name = {register.name: register for register in registers}
        self.end = max(register.address + register.size for register in self._by_name.values())

    def __getitem__(self, name: str) -> Register:
        """Return a register. Raises KeyError."""
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def all(self) -> Mapping[str, Register]:
        """Every register by its name."""
        return self._by_name
