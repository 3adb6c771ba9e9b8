"""What may be done to a running emulator, by name: faults of the line and of servos, plugs, kicks, and the end.

Commands are JSON objects with a `command` and its parameters; servos are named by bus id or by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from drivers.errors import BusError
from drivers.injection import FAULT_OPTIONS, LineFaults
from nuc_engine.emulation.errors import EmulationError
from nuc_engine.emulation.leg import Leg
from nuc_engine.emulation.loop import EmulatorLoop
from nuc_engine.emulation.pseudo_terminal import PseudoTerminal
from nuc_engine.emulation.rawlog import RawEvent
from nuc_engine.plants.events import (
    HIGHEST_CM,
    STRONGEST_N,
    BaseHeight,
    Disconnect,
    Ground,
    Kick,
    Load,
    PlantEvent,
    Reconnect,
    event_record,
)

Parameters = Mapping[str, Any]
CommandAnswer = Mapping[str, Any]

_LONGEST_MS: Final = 3_600_000.0
_LARGEST: Final = 1e12
_HIGHEST_ID: Final = 253
_NOTHING: Final[CommandAnswer] = {}


class EmulatorCommands:
    """Does to one emulator what it is told; `obey` is what a `ControlSocket` calls."""

    def __init__(
        self,
        leg: Leg,
        loop: EmulatorLoop,
        terminal: PseudoTerminal,
        now: Callable[[], int],
        losses: Callable[[], Mapping[str, int]] = dict[str, int],
    ) -> None:
        self._leg, self._loop, self._terminal, self._now, self._losses = leg, loop, terminal, now, losses
        self._known: dict[str, tuple[Callable[[Parameters], CommandAnswer], tuple[str, ...]]] = {
            "status": (self._status, ()),
            "faults": (self._faults, FAULT_OPTIONS),
            "unplug": (self._unplug, ("servo",)),
            "plug": (self._plug, ("servo",)),
            "stick": (self._stick, ("servo",)),
            "unstick": (self._unstick, ("servo",)),
            "supply": (self._supply, ("on",)),
            "brown_out": (self._brown_out, ("servo",)),
            "babble": (self._babble, ("servo", "on")),
            "wrong_id": (self._wrong_id, ("servo", "id")),
            "trip": (self._trip, ("servo", "on")),
            "overload": (self._overload, ("limit_a", "after_ms")),
            "stall": (self._stall, ("ms",)),
            "kick": (self._kick, ("force_n", "duration_ms")),
            "ground": (self._ground, ("present",)),
            "height": (self._height, ("height_cm",)),
            "load": (self._load, ("down_n", "duration_ms")),
            "disconnect": (self._disconnect, ("joint", "duration_ms")),
            "reconnect": (self._reconnect, ("duration_ms",)),
            "quit": (self._quit, ()),
        }

    def obey(self, command: Mapping[str, Any]) -> CommandAnswer:
        """Do one command and return its answer. Raises `EmulationError` for one that can not be done."""
        parameters = dict(command)
        name = parameters.pop("command", None)
        if not isinstance(name, str) or name not in self._known:
            raise EmulationError(f"no command {name!r}: expected one of {', '.join(self._known)}")
        do, allowed = self._known[name]
        for parameter in parameters:
            if parameter not in allowed:
                raise EmulationError(f"{name} has no {parameter!r}: expected {', '.join(allowed) or 'no parameters'}")
        try:
            return do(parameters)
        except BusError as error:
            raise EmulationError(str(error)) from error

    def status(self) -> dict[str, Any]:
        """Return counts and lateness so far."""
        loop, leg = self._loop, self._leg
        return {
            "leg": leg.name,
            "pty": str(self._terminal.link),
            "terminal": self._terminal.name if self._terminal.plugged else None,
            "family": leg.family.name,
            "baud": leg.baud,
            "start_ns": leg.start_ns,
            "now_ns": self._now(),
            "pieces": loop.exchanges,
            "replies": loop.replies.summary(),
            "lost_replies": loop.lost,
            "not_logged": self._losses(),
            "plant_behind": loop.plant_behind.summary(),
            "servos": [
                {"id": servo.bus_id, "name": servo.name, "driven": leg.plant.driven[index]}
                for index, servo in enumerate(leg.servos)
            ],
            **leg.counts(),
        }

    def _status(self, parameters: Parameters) -> CommandAnswer:
        return self.status()

    def _faults(self, parameters: Parameters) -> CommandAnswer:
        numbers = {name: _number(parameters, name, 0.0, _LARGEST) for name in parameters}
        self._leg.set_faults(LineFaults(**numbers))
        self._loop.event(RawEvent.FAULTS_SET)
        return numbers

    def _unplug(self, parameters: Parameters) -> CommandAnswer:
        if "servo" in parameters:
            servo = self._servo(parameters)
            self._leg.emulator.unplug(servo)
            self._loop.event(RawEvent.SERVO_UNPLUGGED, self._leg.servos[servo].bus_id)
        elif self._terminal.plugged:
            self._terminal.unplug()
            self._loop.event(RawEvent.UNPLUGGED)
        return _NOTHING

    def _plug(self, parameters: Parameters) -> CommandAnswer:
        if "servo" in parameters:
            servo = self._servo(parameters)
            self._leg.emulator.plug(servo)
            self._loop.event(RawEvent.SERVO_PLUGGED, self._leg.servos[servo].bus_id)
        elif not self._terminal.plugged:
            self._terminal.plug()
            self._loop.event(RawEvent.PLUGGED)
        return {"terminal": self._terminal.name}

    def _stick(self, parameters: Parameters) -> CommandAnswer:
        servo = self._servo(parameters)
        self._leg.emulator.stick(servo)
        self._loop.event(RawEvent.STUCK, self._leg.servos[servo].bus_id)
        return _NOTHING

    def _unstick(self, parameters: Parameters) -> CommandAnswer:
        servo = self._servo(parameters)
        self._leg.emulator.stick(servo, stuck=False)
        self._loop.event(RawEvent.UNSTUCK, self._leg.servos[servo].bus_id)
        return _NOTHING

    def _supply(self, parameters: Parameters) -> CommandAnswer:
        on = _flag(parameters, "on")
        self._leg.emulator.supply(on=on)
        self._loop.event(RawEvent.SUPPLY_ON if on else RawEvent.SUPPLY_OFF)
        return _NOTHING

    def _brown_out(self, parameters: Parameters) -> CommandAnswer:
        servo = self._servo(parameters)
        self._leg.emulator.brown_out(servo)
        self._loop.event(RawEvent.BROWNED_OUT, self._leg.servos[servo].bus_id)
        return _NOTHING

    def _babble(self, parameters: Parameters) -> CommandAnswer:
        servo, on = self._servo(parameters), _flag(parameters, "on")
        self._leg.babble(servo, talking=on)
        self._loop.event(RawEvent.BABBLING if on else RawEvent.SILENT, self._leg.servos[servo].bus_id)
        return _NOTHING

    def _wrong_id(self, parameters: Parameters) -> CommandAnswer:
        servo, bus_id = self._servo(parameters), _number(parameters, "id", 0, _HIGHEST_ID)
        if bus_id != int(bus_id):
            raise EmulationError(f"id is {bus_id:g}: expected a whole number")
        self._leg.emulator.answer_as(servo, int(bus_id))
        self._loop.event(RawEvent.WRONG_ID, self._leg.servos[servo].bus_id)
        return _NOTHING

    def _trip(self, parameters: Parameters) -> CommandAnswer:
        servo, on = self._servo(parameters), _flag(parameters, "on")
        self._leg.emulator.trip(servo, tripped=on)
        self._loop.event(RawEvent.TRIPPED if on else RawEvent.RECOVERED, self._leg.servos[servo].bus_id)
        return _NOTHING

    def _overload(self, parameters: Parameters) -> CommandAnswer:
        limit_a = None if parameters.get("limit_a") is None else _number(parameters, "limit_a", 0.0, 1000.0)
        after_ms = 0.0 if limit_a is None else _number(parameters, "after_ms", 0.0, _LONGEST_MS)
        self._leg.emulator.set_overload(limit_a, round(after_ms * 1e6))
        self._loop.event(RawEvent.OVERLOAD_SET)
        return _NOTHING

    def _stall(self, parameters: Parameters) -> CommandAnswer:
        self._loop.stall(round(_number(parameters, "ms", 0.0, _LONGEST_MS) * 1e6))
        return _NOTHING

    def _kick(self, parameters: Parameters) -> CommandAnswer:
        force: Any = parameters.get("force_n")
        if force is not None and (not isinstance(force, list) or len(cast(list[Any], force)) != 3):
            raise EmulationError(f"force_n is {force!r}: expected [forward, left, up] in N")
        x, y, z = (_number({"force_n": part}, "force_n", -STRONGEST_N, STRONGEST_N) for part in force or (0, 0, 0))
        duration_ns = _duration_ns(parameters) if "duration_ms" in parameters else None
        given = self._let_happen(
            Kick(self._plant_ns(), None if force is None else (x, y, z), duration_ns), RawEvent.KICKED
        )
        return {name: value for name, value in event_record(given).items() if name != "kind"}

    def _ground(self, parameters: Parameters) -> CommandAnswer:
        self._let_happen(Ground(self._plant_ns(), _flag(parameters, "present")), RawEvent.GROUND_CHANGED)
        return _NOTHING

    def _height(self, parameters: Parameters) -> CommandAnswer:
        height_cm = _number(parameters, "height_cm", -HIGHEST_CM, HIGHEST_CM)
        self._let_happen(BaseHeight(self._plant_ns(), height_cm), RawEvent.GROUND_CHANGED)
        return _NOTHING

    def _load(self, parameters: Parameters) -> CommandAnswer:
        down_n = _number(parameters, "down_n", -STRONGEST_N, STRONGEST_N)
        self._let_happen(Load(self._plant_ns(), down_n, _duration_ns(parameters)), RawEvent.LOADED)
        return _NOTHING

    def _disconnect(self, parameters: Parameters) -> CommandAnswer:
        joint = parameters.get("joint")
        if not isinstance(joint, str):
            raise EmulationError(f"joint is {joint!r}: expected the name of a joint")
        self._let_happen(Disconnect(self._plant_ns(), joint, _duration_ns(parameters)), RawEvent.TAKEN_APART)
        return _NOTHING

    def _reconnect(self, parameters: Parameters) -> CommandAnswer:
        self._let_happen(Reconnect(self._plant_ns(), _duration_ns(parameters)), RawEvent.PUT_TOGETHER)
        return _NOTHING

    def _quit(self, parameters: Parameters) -> CommandAnswer:
        self._loop.stop()
        return _NOTHING

    def _plant_ns(self) -> int:
        return self._now() - self._leg.start_ns

    def _let_happen(self, event: PlantEvent, note: RawEvent) -> PlantEvent:
        """Let something happen to the leg, note it, and return it with what the seed decides."""
        given = self._leg.plant.schedule(event)
        self._loop.event(note)
        return given

    def _servo(self, parameters: Parameters) -> int:
        """Return the number of the servo meant. Raises `EmulationError` for one that is not there."""
        wanted = parameters.get("servo")
        for index, servo in enumerate(self._leg.servos):
            if wanted == servo.name or (wanted == servo.bus_id and not isinstance(wanted, bool)):
                return index
        known = ", ".join(f"{servo.bus_id} ({servo.name})" for servo in self._leg.servos)
        raise EmulationError(f"no servo {wanted!r}: expected one of {known}")


def _finite(name: str, value: object) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST:
        return float(value)
    raise EmulationError(f"{name} is {value!r}: expected a number")


def _number(parameters: Parameters, name: str, low: float, high: float) -> float:
    value = _finite(name, parameters.get(name))
    if not low <= value <= high:
        raise EmulationError(f"{name} is {value:g}: expected {low:g} to {high:g}")
    return value


def _duration_ns(parameters: Parameters) -> int:
    return round(_number(parameters, "duration_ms", 0.0, _LONGEST_MS) * 1e6)


def _flag(parameters: Parameters, name: str) -> bool:
    value = parameters.get(name)
    if not isinstance(value, bool):
        raise EmulationError(f"{name} is {value!r}: expected true or false")
    return value
