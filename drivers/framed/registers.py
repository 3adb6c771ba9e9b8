"""Control tables as data: where a register lies, how wide it is, what may be written to it, how negatives are coded.

Names are the same for all families where the meaning is: `model_number`, `id`, `baud_rate`, `return_delay`,
`operating_mode`, `torque_enable`, `position_p_gain`, `goal_position`, `goal_pwm`, `goal_current`, `torque_limit`,
`present_position`, `present_velocity`, `present_load`, `present_current`, `present_voltage`, `present_temperature`,
`hardware_error`, `bus_watchdog`, `eprom_lock`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from drivers.errors import FrameError

RegisterAccess = Literal["read", "ram", "eeprom"]

_CODES: Final = {1: "B", 2: "H", 4: "I"}
"""How `struct` calls a number of so many bytes without sign; in small letters it is two's complement."""


@dataclass(frozen=True, slots=True)
class Register:
    """One register: little-endian, `size` 1, 2 or 4 bytes.

    `sign_bit` is -1 for values without sign, the number of the bit for sign and magnitude (Feetech), and `8 * size`
    for two's complement. `low` and `high` bound what may be written; `unit` is in words, for people.
    """

    name: str
    address: int
    size: int
    access: RegisterAccess
    default: int = 0
    low: int = 0
    high: int = 0
    sign_bit: int = -1
    unit: str = ""

    @property
    def twos_complement(self) -> bool:
        """Whether negatives are coded as two's complement."""
        return self.sign_bit == 8 * self.size

    @property
    def magnitude(self) -> bool:
        """Whether negatives are coded as sign and magnitude."""
        return 0 <= self.sign_bit < 8 * self.size

    def encode(self, value: int) -> bytes:
        """Return the bytes of `value`. Raises `FrameError` when the register can not hold it."""
        sign_bit, raw = self.sign_bit, value
        if 0 <= sign_bit < 8 * self.size:
            if abs(value) >> sign_bit:
                raise self._misfit(value)
            raw = abs(value) | (value < 0) << sign_bit
        try:
            return raw.to_bytes(self.size, "little", signed=sign_bit == 8 * self.size)
        except OverflowError:
            raise self._misfit(value) from None

    def decode(self, data: bytes) -> int:
        """Return the value of `size` bytes. Raises `FrameError` for another length."""
        if len(data) != self.size:
            raise FrameError(f"{self.name} of {len(data)} bytes: expected {self.size}")
        raw = int.from_bytes(data, "little", signed=self.twos_complement)
        return self.signed(raw) if self.magnitude else raw

    def signed(self, raw: int) -> int:
        """Return the value of a number on the wire that is sign and magnitude."""
        # Bits above the sign mean something else on some registers and are left out.
        magnitude = raw & (1 << self.sign_bit) - 1
        return -magnitude if raw >> self.sign_bit & 1 else magnitude

    def _misfit(self, value: int) -> FrameError:
        bits = self.sign_bit if self.magnitude else 8 * self.size - self.twos_complement
        most = (1 << bits) - 1
        least = -most if self.magnitude else -most - 1 if self.twos_complement else 0
        return FrameError(f"{self.name} = {value} does not fit the wire: expected {least} to {most}")


def pair_reader(one: Register, other: Register, first: int, length: int) -> Callable[[bytes], tuple[int, int]]:
    """Return what gives the values of two registers out of the `length` bytes from address `first` on.

    That takes bytes of that length only. Raises ValueError where the two do not lie within them, side by side.
    """
    code, at = "<", first
    for register in sorted((one, other), key=lambda register: register.address):
        if not at <= register.address <= first + length - register.size:
            raise ValueError(f"{one.name} and {other.name} do not lie apart within {length} bytes from {first} on")
        letter = _CODES[register.size]
        code += f"{register.address - at}x{letter.lower() if register.twos_complement else letter}"
        at = register.address + register.size
    unpack: Callable[[bytes], tuple[int, int]] = struct.Struct(f"{code}{first + length - at}x").unpack
    if one.address < other.address and not (one.magnitude or other.magnitude):
        return unpack
    swapped = one.address > other.address

    def read(data: bytes) -> tuple[int, int]:
        a, b = unpack(data)
        if swapped:
            a, b = b, a
        return one.signed(a) if one.magnitude else a, other.signed(b) if other.magnitude else b

    return read


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
