"""The registers of one emulated servo: what is in them, and what of it outlasts the supply."""

from __future__ import annotations

from typing import Final, NamedTuple

from drivers.framed.registers import Register, RegisterTable

_WHO: Final = ("id", "baud_rate", "secondary_id")


class RegisterWrite(NamedTuple):
    """What a write would do to one register; `whole` where it covers all of its bytes."""

    register: Register
    value: int
    whole: bool


class RegisterMemory(dict[str, int]):
    """Registers by name; a value that a register can not hold is taken to the nearest it can.

    A dictionary, since an emulated servo looks into dozens of registers for each request. `renamed` says that an id
    or the rate have been set; whoever has seen it puts it back.
    """

    __slots__ = ("_cells", "_kept", "_spans", "_writing", "renamed", "table")

    def __init__(self, table: RegisterTable) -> None:
        """Start as from the factory."""
        super().__init__()
        self.table = table
        self.renamed = True
        self._cells = bytearray(table.end)
        # Registers that lie, at least in part, in a stretch of addresses asked for before.
        self._spans: dict[tuple[int, int], tuple[Register, ...]] = {}
        self._writing = {register.name: (register, *_holds(register)) for register in table.all.values()}
        self._kept = {register.name: register.default for register in table.all.values() if register.access == "eeprom"}
        self.power_up()

    def __setitem__(self, name: str, value: int) -> None:
        register, least, most = self._writing[name]
        value = least if value < least else most if value > most else value
        if name in _WHO:
            self.renamed = True
        elif self.get(name) == value:
            return
        super().__setitem__(name, value)
        self._cells[register.address : register.address + register.size] = register.encode(value)

    def set_default(self, name: str) -> None:
        """Put a register back to what the factory gave it."""
        self[name] = self.table[name].default

    def power_up(self) -> None:
        """Take the settings from what was kept, and everything else from the factory."""
        for register in self.table.all.values():
            self[register.name] = self._kept.get(register.name, register.default)

    def keep(self, name: str) -> None:
        """Let the present value of a setting outlast the supply."""
        self._kept[name] = self[name]

    def kept(self) -> dict[str, int]:
        """Return the settings that outlast the supply."""
        return dict(self._kept)

    def restore(self, settings: dict[str, int]) -> None:
        """Let these settings outlast the supply, and count from now on."""
        for name, value in settings.items():
            self[name] = value
            self.keep(name)

    def read(self, address: int, count: int) -> bytes:
        """Return `count` bytes; where no register is, they are 0."""
        return bytes(self._cells[address : address + count]).ljust(count, b"\0")

    def touched(self, address: int, count: int) -> tuple[Register, ...]:
        """Return the registers that have a byte among these, in the order of their addresses."""
        found = self._spans.get((address, count))
        if found is None:
            rising = sorted(self.table.all.values(), key=lambda register: register.address)
            end = address + count
            found = tuple(r for r in rising if r.address < end and r.address + r.size > address)
            self._spans[address, count] = found
        return found

    def changes(self, address: int, data: bytes) -> list[RegisterWrite]:
        """Return what writing `data` at `address` would make of each register it touches; nothing is written."""
        touched = self.touched(address, len(data))
        if len(touched) == 1 and touched[0].address == address and touched[0].size == len(data):
            return [RegisterWrite(touched[0], touched[0].decode(data), whole=True)]
        cells = bytearray(self._cells)
        end = min(address + len(data), len(cells))
        cells[address:end] = data[: max(end - address, 0)]
        found: list[RegisterWrite] = []
        for register in touched:
            first, last = register.address, register.address + register.size
            whole = first >= address and last <= address + len(data)
            found.append(RegisterWrite(register, register.decode(bytes(cells[first:last])), whole))
        return found


def _holds(register: Register) -> tuple[int, int]:
    """Return the lowest and highest value the register's bytes can stand for."""
    if register.twos_complement:
        half = 1 << 8 * register.size - 1
        return -half, half - 1
    if register.sign_bit >= 0:
        most = (1 << register.sign_bit) - 1
        return -most, most
    return 0, (1 << 8 * register.size) - 1
