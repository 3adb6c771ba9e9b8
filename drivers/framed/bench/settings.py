"""The registers of one servo, looked at and set at the bench (`drivers.bench.settings.Settings`).

Nothing is written under torque. What moves a servo or turns its torque on is never written: goals have some servos
turn it on by themselves, and `nuc bus move` and `force` take care of what happens then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from drivers.bench.settings import Setting, check_setting
from drivers.clock import WaitingClock
from drivers.errors import BusError
from drivers.framed.bench.blocking import BlockingLine, has_value
from drivers.framed.layout import BAUD, ID, TORQUE, FamilyLayout, ModelLayout, without_place, without_torque
from drivers.framed.registers import Register
from drivers.port import Port

_GOALS: Final = "goal_"
_ELSEWHERE: Final = {
    ID: "`nuc bus set-id` sets it, and looks first that nobody else has it",
    BAUD: "`nuc bus set-baud` sets it, and looks whether the servo is heard at the new rate",
    TORQUE: "`nuc bus release` takes the torque off, `nuc bus move` and `force` drive the servo",
}
_GOAL: Final = "`nuc bus move` and `force` drive the servo"
_MASKS: Final = ("unload_mask", "shutdown")
"""Registers whose bits say what a servo takes its torque off for by itself."""

_LOW_PROTECTS: Final = (
    "max_temperature",
    "max_voltage",
    "protection_current",
    "overcurrent_time",
    "overload_torque",
    "overload_time",
    "hold_torque",
)
_HIGH_PROTECTS: Final = ("min_voltage",)
_LOCK: Final = "it is opened and closed again whenever a setting is kept"


class FramedSettings:
    """The registers of one servo that answers."""

    def __init__(self, port: Port, pace: WaitingClock, layout: FamilyLayout, bus_id: int, model: str = "") -> None:
        """Ask it who it is. Raises `BusError` when nobody answers, or another model than expected."""
        self._line, self._layout, self._bus_id = BlockingLine(port, pace, layout), layout, bus_id
        kind = self._line.expect(bus_id)
        if model and layout.kinds[model].model.number != kind.model.number:
            raise BusError(f"the servo with id {bus_id} is {kind.model.name}, expected {model}")
        self._kind: ModelLayout = layout.kinds[model] if model else kind
        same = [name for name, other in layout.kinds.items() if other.model.number == kind.model.number]
        self.model: str = model or " or ".join(same)
        rising = sorted(self._kind.table.all.values(), key=lambda register: register.address)
        self.settings: Mapping[str, Setting] = {register.name: self._setting(register) for register in rising}

    @property
    def torque(self) -> bool | None:
        """Whether its torque is on."""
        found = self.read(TORQUE)
        return None if found is None else found != 0

    def read(self, name: str) -> int | None:
        """Return what is in a register; None where the servo has none there."""
        register = self._kind.table[name]
        status = self._line.ask(self._bus_id, register)
        if status is not None:
            return register.decode(status.params) if has_value(status, register) else None
        if not self._line.ping(self._bus_id):
            raise BusError(f"id {self._bus_id} no longer answers")
        raise BusError(
            f"id {self._bus_id} answers a ping, but did not answer when asked for its {name}: is the line noisy?"
            " nuc bus ping tells how much is lost; try again"
        )

    def check(self, name: str, value: int, found: int) -> None:
        """Raise `BusError` for what is not written from here, and where bits would change that are to stay."""
        check_setting(self.settings[name], value)
        for fixed in self._layout.fixed:
            if fixed.register == name and (found ^ value) & fixed.mask:
                raise BusError(f"{name} = {value} where it is {found}: {fixed.why}")

    def objection(self, name: str, value: int) -> str:
        """Say why a servo on which it is `value` is not driven."""
        for meaning in self._kind.meanings:
            if meaning.register == name and (expected := meaning.expected(value, self._bus_id)) != value:
                return f"with {name} = {value} the servo is not driven, expected {expected}: {meaning.otherwise}"
        return ""

    def weakens(self, name: str, value: int, found: int) -> str:
        """Say what no longer protects the servo, or guides it, once it is `value`: beside now, and as delivered."""
        delivered = self._kind.table[name].default
        known = sum(1 << bit for bit in self._layout.alerts)
        if name in _MASKS and (lost := (found | delivered) & ~value & known):
            return f"no protection any more from {self._layout.explain_alert(lost)}"
        if (name in _LOW_PROTECTS and value > delivered) or (name in _HIGH_PROTECTS and value < delivered):
            return f"less protection than as delivered ({name} = {delivered})"
        if why := without_torque(self._kind, name, value):
            unless = " (less will do for a joint with a torque limit)" if value else ""
            return f"the servo is not driven with {name} = {value}, {why}{unless}"
        if name in self._kind.limits:
            lowest, highest = self._kind.limits
            low, high = (value if name == each else self.read(each) for each in (lowest, highest))
            if low is not None and high is not None and (why := without_place(self._kind, low, high)):
                return f"the servo is not driven with {lowest} = {low} and {highest} = {high}, it {why}"
        return ""

    def already(self, name: str, value: int, found: int) -> bool:
        """Say whether it is kept so already. Behind a lock nobody can tell: what is read may count only for now."""
        return found == value and self.settings[name].kept and not self._layout.lock

    def remark(self, name: str) -> str:
        """Say to what it is set before the servo is driven."""
        settings = dict(self._kind.settings)
        if name in settings:
            return f"whoever drives the servo sets it to {settings[name]}"
        if name == "position_p_gain":
            return "whoever drives the servo sets it by the configuration's stiffness"
        told = (self._kind.cap[0], self._kind.drive_goal, self._layout.watchdog)
        return "whoever drives the servo sets it" if name in told else ""

    def write(self, name: str, value: int, stop: Callable[[], bool] | None = None) -> bool:
        """Take the torque off, set a register and read it back; a lock is open only meanwhile."""
        line, bus_id, register = self._line, self._bus_id, self._kind.table[name]
        found = self.read(name)
        if found is None:
            raise BusError(f"id {bus_id} has no {name}: nothing was written")
        self.check(name, value, found)
        line.release(bus_id)
        if stop is not None and stop():
            return False
        if not self.settings[name].kept:
            line.settle(bus_id, register, value)
            return True
        try:
            line.unlock(bus_id)
            line.settle(bus_id, register, value)
        except BusError as error:
            raise type(error)(f"{error}{line.close_lock(bus_id)}") from error
        except KeyboardInterrupt:
            line.close_lock(bus_id)
            raise
        if left := line.close_lock(bus_id):
            raise BusError(f"{name} of id {bus_id} is {value} now, and kept{left}")
        return True

    def _setting(self, register: Register) -> Setting:
        writable = register.access != "read"
        return Setting(
            register.name,
            str(register.address),
            register.size,
            kept=register.access == "eeprom" or (not writable and register.address < self._kind.table[TORQUE].address),
            writable=writable,
            low=register.low,
            high=register.high,
            unit=register.unit,
            instead=self._instead(register.name) if writable else "",
        )

    def _instead(self, name: str) -> str:
        if name.startswith(_GOALS):
            return _GOAL
        if name == self._layout.lock:
            return _LOCK
        whole = {fixed.register: fixed.why for fixed in self._layout.fixed if fixed.mask == -1}
        return _ELSEWHERE.get(name, whole.get(name, ""))
