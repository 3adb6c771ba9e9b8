"""What an emulated servo keeps in its registers, and what of it survives a loss of supply.

A wCK obeys the set and read commands of `drivers.aimotor.table`; of the AI motor's own nothing is established, so it
obeys none and its registers stay as delivered. What a real servo does with values out of range nobody says: here it
does not obey and does not answer.
"""

from __future__ import annotations

from typing import Final

from drivers.aimotor.codec import MAX_RAW
from drivers.aimotor.models import ANY_WCK, DELIVERED, MODELS, family_of
from drivers.aimotor.table import BAUD_CODES, BAUD_SET, SET_COMMANDS, Family, SetCommand, baud_code, overload_a

OVERLOAD_AFTER_NS: Final = 500_000_000
"""How long a wCK stands the current of its overload code before it goes passive. Assumed."""

_OUTSIDE: Final = "A/D"
"""What the world puts into a register, not the servo."""

_DELIVERED: Final = {
    "I": 0,
    "speed": 30,
    "acceleration": 100,
    "overload code": 80,
    "low": 0,
    "high": MAX_RAW,
    "count": 0,
}
"""Factory settings of a wCK besides rate and gains: 800 mA as for the AI motor; the rest is assumed."""


class AiMotorMemory:
    """The registers of one servo. `family` and `model` are what it is; raw values by the fields of the set commands."""

    __slots__ = ("_analogue", "_factory_gain", "_kept", "_now", "family", "model")

    def __init__(self, model: str, baud: int, *, wck: bool = False) -> None:
        """Leave the factory, but for the rate. `wck` says what a servo is whose model is not known."""
        self.family = family_of(model, wck=wck)
        name = model or ANY_WCK
        self.model = MODELS[name]
        delivered = DELIVERED[name]
        self._factory_gain = delivered.p_gain
        self._analogue = 0
        self._kept = {"P": delivered.p_gain, "D": delivered.d_gain, "baud code": baud_code(baud), **_DELIVERED}
        self._now: dict[str, int] = {}
        self.power_up()

    def __getitem__(self, field: str) -> int:
        """Return a value that is in force now."""
        return self._now[field]

    @property
    def baud(self) -> int:
        """The rate it listens at, bit/s."""
        return BAUD_CODES[self._now["baud code"]]

    @property
    def as_delivered(self) -> bool:
        """Whether it moves as it did when it left the factory: an AI motor always does, since it obeys no set command.

        A wCK never does: it lets go by itself under load.
        """
        return self.family is Family.AI_MOTOR

    @property
    def factory_gain(self) -> bool:
        """Whether its position loop is as stiff as delivered."""
        return self._now["P"] == self._factory_gain

    @property
    def bounded(self) -> bool:
        """Whether its bounds are in force: the lower one below the upper, and not both at the ends (assumed)."""
        low, high = self._now["low"], self._now["high"]
        return low < high and (low, high) != (0, MAX_RAW)

    @property
    def limit_a(self) -> float | None:
        """The current in A above which it goes passive by itself; None for an AI motor, of which it is not known."""
        return overload_a(self._now["overload code"]) if self.family is Family.WCK else None

    def power_up(self) -> None:
        """Take up what was kept; forget the rest."""
        self._now = {**self._kept, "outputs": 0}

    def put_on_input(self, count: int) -> None:
        """Let the A/D converter of the inputs read this, 0 to 255, from now on."""
        self._analogue = min(max(count, 0), 255)

    def within_bounds(self, goal_raw: float) -> float:
        """Return where a send to `goal_raw` takes it: no further than its bounds."""
        return min(max(goal_raw, self._now["low"]), self._now["high"]) if self.bounded else goal_raw

    def obey(self, command: int, d3: int, d4: int) -> bytes | None:
        """Set or read registers; return the answer (empty where none comes), or None for what is not obeyed.

        All but the id, which is not kept here.
        """
        row = SET_COMMANDS.get(command)
        if self.family is not Family.WCK or row is None or not _fits(row, d3, d4):
            return None
        if row.reads:
            return bytes(self._analogue if field == _OUTSIDE else self._stored(field) for field in row.fields)
        values = dict(zip(row.fields, (d3, d4), strict=True))
        self._now.update(values)
        if not row.volatile:
            self._kept.update(values)
        return bytes((d3, d4)) if row.answered else b""

    def _stored(self, field: str) -> int:
        """Return what a read command reports: what is kept, where the sources know of two values (assumed)."""
        return self._kept.get(field, self._now.get(field, 0))


def _fits(row: SetCommand, d3: int, d4: int) -> bool:
    if not (row.d3[0] <= d3 <= row.d3[1] and row.d4[0] <= d4 <= row.d4[1]) or (row.repeated and d3 != d4):
        return False
    return row.code != BAUD_SET or d3 in BAUD_CODES
