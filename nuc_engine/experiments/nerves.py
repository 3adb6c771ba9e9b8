"""What chapter 9 does to a bout's script: sensors that are cut, and writes that wait for what is sensed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from nuc_engine.bout.run import BoutRefused
from sccils_schemas.documents import HdsoMod, HdsoScript, SenseClamp, When

HOLD = "hold"


@dataclass(frozen=True, slots=True)
class Cut:
    """A sensor that from `at_s` on is sensed as a value, or as what is sensed then (`sense`)."""

    sensor: str
    value: float | Literal["hold"]
    at_s: float

    def __str__(self) -> str:
        """Return it as tables have it."""
        return f"{self.sensor} {'held' if self.value == HOLD else f'sensed as {self.value:g}'} at {self.at_s:g} s"


@dataclass(frozen=True, slots=True)
class Wait:
    """What the script writes at once at `at_s` is written `after_s` after a rule was first true from `from_s` on."""

    at_s: float
    rule: str
    from_s: float
    after_s: float = 0.0

    def __str__(self) -> str:
        """Return it as tables have it."""
        return f"{self.at_s:g} s waits from {self.from_s:g} s for {self.rule}, and then {self.after_s:g} s"


def cut(script: HdsoScript, cuts: tuple[Cut, ...]) -> HdsoScript:
    """Return the script with these sensors cut as well."""
    clamps = tuple(
        SenseClamp(_exact(each.at_s), each.sensor, "hold")
        if each.value == HOLD
        else SenseClamp(_exact(each.at_s), each.sensor, "value", float(each.value))
        for each in cuts
    )
    return replace(script, entries=(*script.entries, *clamps), version="0.2") if cuts else script


def waiting(script: HdsoScript, waits: tuple[Wait, ...]) -> HdsoScript:
    """Return the script with what it writes at once at these times waiting for a rule.

    Raises BoutRefused for a time at which nothing is written at once.
    """
    for each in waits:
        mods = tuple(one for one in script.entries if isinstance(one, HdsoMod) and one.time_s == _exact(each.at_s))
        if not mods:
            raise BoutRefused(f"{each.at_s:g} s: the script writes nothing at once then; nothing that could wait")
        when = When(
            each.rule,
            tuple(replace(mod, time_s=Decimal(0)) for mod in mods),
            after_s=_exact(each.after_s),
            time_s=_exact(each.from_s),
        )
        kept = tuple(one for one in script.entries if one not in mods)
        script = replace(script, entries=(*kept, when), version="0.2")
    return script


def _exact(time_s: float) -> Decimal:
    return Decimal(str(time_s))
