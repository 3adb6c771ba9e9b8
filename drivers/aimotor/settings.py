"""What a wCK keeps in its registers, looked at and set at the bench (`drivers.bench.settings.Settings`).

Only what can be read back is set: the runtime commands (0B, 17, 18) are left out. Of the AI motor no command is
established. A person who wants to try those it probably has says so; even then nothing is sent that may set an id: its
gains are read with 0C and the id it has, which would tell a wCK to keep its id, and a servo that shows to be a wCK is
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from drivers.aimotor.answers import decode_set
from drivers.aimotor.codec import REPLY_BYTES, encode_passive, encode_set, is_passive_reply
from drivers.aimotor.eeprom import READ_TIMEOUT_NS, SET_TIMEOUT_NS, ask, check_wck, shows_to_be_wck
from drivers.aimotor.table import AI_MOTOR_COMMANDS, SET_COMMANDS, Family, SetCommand, overload_a
from drivers.bench.settings import Setting, check_setting
from drivers.clock import WaitingClock
from drivers.errors import BusError, FrameError
from drivers.port import Port

_TRIES: Final = 3
_READS: Final = 6
"""How often a command that reads is said: no checksum is in its answer, so two in a row have to agree."""

_ANALOGUE: Final = "A/D"
"""What is another count every time."""

_OVERLOAD: Final = "overload_code"
_BOUNDS: Final = ("min_position", "max_position")
_NO_WRITE: Final = -1

_NOT_ESTABLISHED: Final = (
    "on AI motors the commands that read and set parameters are not established: their numbering is probably not the"
    " wCK's, whose 'gain read' would set the id. If this servo is a wCK, say so with wck=1 in the URL; to try those an"
    " AI motor probably has on one of your own, say --assumed"
)


class _Parameter(NamedTuple):
    """One parameter: the commands that read and set it, its name among their fields; a unit where it has its own."""

    name: str
    read: int
    write: int
    field: str
    unit: str = ""
    kept: bool = True


_WCK: Final = (
    _Parameter("position_p_gain", 0x0A, 0x09, "P"),
    _Parameter("position_d_gain", 0x0A, 0x09, "D"),
    _Parameter("speed", 0x0E, 0x0D, "speed"),
    _Parameter("acceleration", 0x0E, 0x0D, "acceleration"),
    _Parameter("overload_code", 0x10, 0x0F, "overload code"),
    _Parameter("min_position", 0x12, 0x11, "low"),
    _Parameter("max_position", 0x12, 0x11, "high"),
    _Parameter("position_i_gain", 0x16, 0x15, "I"),
    _Parameter("outputs", 0x65, 0x64, "outputs", "bit per output", kept=False),
    _Parameter("analogue_input", 0x65, _NO_WRITE, _ANALOGUE, "A/D count", kept=False),
    _Parameter("motion_steps", 0x97, _NO_WRITE, "count"),
)
_AI_MOTOR: Final = (
    _Parameter("position_p_gain", 0x0C, 0x09, "P"),
    _Parameter("position_d_gain", 0x0C, 0x09, "D"),
    _Parameter("resolution", 0x0E, _NO_WRITE, "resolution"),
    _Parameter("overload_code", 0x10, 0x0F, "overload code"),
    _Parameter("min_position", 0x12, 0x11, "low"),
    _Parameter("max_position", 0x12, 0x11, "high"),
)


class AiMotorSettings:
    """The parameters of one wCK, or what are assumed to be those of an AI motor."""

    def __init__(self, port: Port, pace: WaitingClock, bus_id: int, *, wck: bool, assumed: bool) -> None:
        """See that it is there, and what it should be. Raises `BusError` otherwise."""
        self._port, self._pace, self._bus_id = port, pace, bus_id
        self._family = Family.WCK if wck else Family.AI_MOTOR
        if wck:
            check_wck(port, pace, bus_id)
        elif not assumed:
            raise BusError(_NOT_ESTABLISHED)
        elif shows_to_be_wck(port, pace, bus_id):
            raise BusError(f"id {bus_id} shows to be a wCK: say so with wck=1 in the URL")
        self._rows: Mapping[int, SetCommand] = SET_COMMANDS if wck else AI_MOTOR_COMMANDS
        self.model: str = self._family.value
        self._parameters = {parameter.name: parameter for parameter in (_WCK if wck else _AI_MOTOR)}
        self.settings: Mapping[str, Setting] = {name: self._setting(name) for name in self._parameters}

    @property
    def torque(self) -> bool | None:
        """Nobody can tell: no request asks for it."""
        return None

    def read(self, name: str) -> int | None:
        """Return a parameter; None where the servo does not answer to the command for it."""
        parameter = self._parameters[name]
        values = self._values(parameter.read)
        return None if values is None else values[parameter.field]

    def check(self, name: str, value: int, found: int) -> None:
        """Raise `BusError` for what is not written from here."""
        check_setting(self.settings[name], value)

    def objection(self, name: str, value: int) -> str:
        """Nothing is looked at before one is driven."""
        return ""

    def weakens(self, name: str, value: int, found: int) -> str:
        """Say what no longer protects the servo, or guides it, once it is `value` where it is `found`."""
        if name == _OVERLOAD and value > found:
            amperes = f": {overload_a(value):.2f} A" if self._family is Family.WCK else ""
            return f"less protection from overload than with {found}{amperes}"
        if name in _BOUNDS:
            low, high = (value if name == each else self.read(each) for each in _BOUNDS)
            if low is not None and high is not None and low > high:
                return f"no place is left it may go to: {_BOUNDS[0]} would be {low}, {_BOUNDS[1]} {high}"
        return ""

    def already(self, name: str, value: int, found: int) -> bool:
        """Say whether it is kept so already; what a runtime command sets too may be read as that."""
        row = self._rows.get(self._parameters[name].write)
        fields = () if row is None else row.fields
        runtime = any(other.volatile and other.fields == fields for other in SET_COMMANDS.values())
        return found == value and self.settings[name].kept and not runtime

    def remark(self, name: str) -> str:
        """Nobody else sets it."""
        return ""

    def write(self, name: str, value: int, stop: Callable[[], bool] | None = None) -> bool:
        """Take the torque off, set a parameter and what is set with it, and read both back."""
        parameter = self._parameters[name]
        before = self._values(parameter.read)
        if before is None:
            raise BusError(f"id {self._bus_id} does not say its {name}: nothing was written")
        self.check(name, value, before[parameter.field])
        row = self._rows[parameter.write]
        wanted = {field: before[field] for field in row.fields} | {parameter.field: value}
        self._release()
        if stop is not None and stop():
            return False
        found: Mapping[str, int] | None = None
        for _ in range(_TRIES):
            # What is read afterwards decides: the answer may be lost, and the checksum leaves out some bits.
            self._ask(parameter.write, wanted[row.fields[0]], wanted[row.fields[1]], SET_TIMEOUT_NS)
            found = self._values(parameter.read)
            if found is not None and all(found[field] == number for field, number in wanted.items()):
                return True
        if found is None:
            raise BusError(f"id {self._bus_id} no longer answers: whether its {name} is {value} is not known")
        stays = ", ".join(f"{field} {found[field]}" for field in wanted)
        raise BusError(f"{name} of id {self._bus_id} does not become {value}: it says {stays}")

    def _values(self, command: int) -> Mapping[str, int] | None:
        """Return what a command that reads is answered, twice the same; None when it is not."""
        last: Mapping[str, int] | None = None
        for _ in range(_READS):
            try:
                values = decode_set(self._rows[command], self._ask(command, self._bus_id, self._bus_id))
            except FrameError:
                last = None
                continue
            if last is not None and _same(values, last):
                return values
            last = values
        return None

    def _ask(self, command: int, d3: int, d4: int, patience_ns: int = READ_TIMEOUT_NS) -> bytes:
        frame = encode_set(self._bus_id, command, d3, d4, family=self._family, accepted=True)
        return ask(self._port, self._pace, frame, patience_ns)

    def _release(self) -> None:
        """Take the torque off. Raises `BusError` when nothing that comes back says so.

        An answer that is not as the sources have it may be one to a send the request was damaged to: three are not.
        """
        answers = 0
        for _ in range(_TRIES):
            heard = ask(self._port, self._pace, encode_passive(self._bus_id), READ_TIMEOUT_NS)
            answers += len(heard) == REPLY_BYTES
            if len(heard) == REPLY_BYTES and (answers == _TRIES or is_passive_reply(heard)):
                return
        raise BusError(f"id {self._bus_id} does not confirm that its torque is off: nothing was written")

    def _setting(self, name: str) -> Setting:
        parameter = self._parameters[name]
        row = self._rows.get(parameter.write)
        unit = parameter.unit or self._rows[parameter.read].unit
        where = f"{parameter.read:#04x}"
        if row is None:
            return Setting(name, where, 1, kept=parameter.kept, writable=False, unit=unit)
        low, high = (row.d3, row.d4)[row.fields.index(parameter.field)]
        return Setting(name, where, 1, kept=parameter.kept, writable=True, low=low, high=high, unit=unit)


def _same(values: Mapping[str, int], others: Mapping[str, int]) -> bool:
    return all(others[name] == value for name, value in values.items() if name != _ANALOGUE)
