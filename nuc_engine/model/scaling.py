"""Documents in the time of the animal, made ones in the time of the leg (section 9.2.2.5).

A leg that is `scale` times as large as the animal moves alike at equal Froude numbers: gravity is the same for both, so
that lengths grow with scale, and times with its square root. `TIME_POWERS` says what in a document is such a time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeVar, cast

from sccils_schemas.documents import ControlMap, Delayed, Hdso, HdsoMod, Muscle, Ref, Signal, State, seconds_text
from sccils_schemas.model import MODEL_FILES, Model
from sccils_schemas.rules import DELAY_TEXT
from sccils_schemas.values import FINEST_SECOND
from sccils_schemas.writer import write

SCALING_LAW: Mapping[str, float] = MappingProxyType(
    {"length": 1.0, "angle": 0.0, "time": 0.5, "rate": -0.5, "speed": 0.5, "mass": 3.0, "force": 3.0, "torque": 4.0}
)
"""Power of scale with which a quantity of the leg is larger than the animal's, at equal Froude numbers and density."""

_TIME, _RATE, _SAME = SCALING_LAW["time"], SCALING_LAW["rate"], 0.0

TIME_POWERS: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "delay": (_TIME, _TIME),
        "lowpass": (_TIME,),
        "highpass": (_TIME,),
        "derivative": (_TIME,),
        "integral": (_TIME,),
        "ratelimit": (_RATE, _RATE),
        "noise": (_SAME, _TIME),
        "decay": (_TIME, _SAME),
        "switching": (_TIME,),
    }
)
"""Of each type of signal that takes times: the power of scale of each of its parameters. Others have none."""

_DELAY = re.compile(f"@({DELAY_TEXT.pattern})")
_T = TypeVar("_T")


class ScalingError(ValueError):
    """A configuration whose times cannot be scaled; the message says why, and what was expected."""


def time_factor(scale: float | None, name: str) -> float:
    """Return how many seconds of the leg one of the animal's is. Raises ScalingError for a leg without a scale."""
    if scale is None:
        raise ScalingError(f"{name} has no scale; expected scale='...' on <jointlist>, leg over animal (SCCILS 0.2)")
    return float(scale ** SCALING_LAW["time"])


def model_in_leg_time(model: Model) -> dict[str, bytes]:
    """Return the documents of a model in the animal's time as ones in the leg's, by file name, where they differ.

    Raises ScalingError as `time_factor`, and for an HDSO that would have to be scaled in two ways.
    """
    scaling = Scaling(model)
    documents = zip(MODEL_FILES, (model.jointlist, model.parameters, model.sensors), strict=True)
    scaled = ((name, document, scaling.of(document)) for name, document in documents)
    return {name: write(new) for name, document, new in scaled if new != document}


@dataclass(frozen=True, slots=True)
class _Times:
    """Factors of the elements of an HDSO; 1 for those that are no times."""

    factors: tuple[float, ...]

    def scaled(self, data: tuple[int | float, ...]) -> tuple[int | float, ...]:
        """Return data from the first element on."""
        return tuple(self.one(value, k) for k, value in enumerate(data))

    def one(self, value: float, element: int) -> int | float:
        """Return the value of one element."""
        factor = self.factors[element]
        return round(value * factor) if isinstance(value, int) and factor != 1.0 else value * factor


class Scaling:
    """Scales documents that belong to a model: the model's own, and scripts for it."""

    def __init__(self, model: Model) -> None:
        self.factor = time_factor(model.jointlist.scale, model.name)
        self._model, self._times = model, _times_of(model, self.factor)

    def of(self, part: _T) -> _T:
        """Return a document, or a part of one, in the leg's time."""
        if isinstance(part, Decimal):
            # Of all documents only times are such numbers.
            return self._seconds(part)  # type: ignore[return-value]
        if isinstance(part, tuple):
            return tuple(map(self.of, part))  # type: ignore[return-value]
        if not is_dataclass(part) or isinstance(part, type):
            return part
        if isinstance(part, Delayed):
            return replace(part, delay_us=round(part.delay_us * self.factor))
        changes = {f.name: self.of(getattr(part, f.name)) for f in fields(part) if f.init}
        if isinstance(part, HdsoMod):
            data = self._data(part.ref, part.data)
            changes |= {"data": data, "num_elts": len(data) if isinstance(data, str) else part.num_elts}
        elif isinstance(part, Hdso) and part.initial_data is not None:
            changes["initial_data"] = self._data(part.id_num, part.initial_data)
        elif isinstance(part, ControlMap) and (times := self._find(part.hdso)):
            values = [times.one(value, part.element) for value in part.points[1::2]]
            changes["points"] = tuple(x for pair in zip(part.points[::2], values, strict=True) for x in pair)
        for name in ("rule", "boolstring"):
            if isinstance(changes.get(name), str):
                changes[name] = self._rule(changes[name])
        return replace(part, **changes)  # type: ignore[type-var, return-value]

    def _seconds(self, value: Decimal) -> Decimal:
        text = format((value * Decimal(self.factor)).quantize(FINEST_SECOND), "f")
        return Decimal(text.rstrip("0").rstrip("."))

    def _data(self, ref: Ref, data: tuple[int | float, ...] | str) -> tuple[int | float, ...] | str:
        if isinstance(data, str):
            return self._rule(data)
        times = self._find(ref)
        return data if times is None else times.scaled(data)

    def _rule(self, text: str) -> str:
        return _DELAY.sub(
            lambda found: "@" + seconds_text(round(Decimal(found[1]) * 10**6 * Decimal(self.factor))), text
        )

    def _find(self, ref: Ref) -> _Times | None:
        return self._times.get(ref if isinstance(ref, int) else self._model.ids.get(ref, -1))


def _times_of(model: Model, factor: float) -> dict[int, _Times]:
    """Return the HDSOs that hold times, by id."""
    powers: dict[tuple[int, int], set[float]] = {}
    for ref, element, power in _roles(model):
        powers.setdefault((model.hdso(ref).id_num, element), set()).add(power)
    found: dict[int, _Times] = {}
    for number in {number for number, _ in powers}:
        hdso = model.hdso(number)
        each = [powers.get((number, element), {_SAME}) for element in range(math.prod(hdso.dims))]
        if any(len(two) > 1 for two in each):
            raise ScalingError(f"HDSO {number} ({hdso.name}) is a time and none; expected an HDSO for each")
        factors = tuple(factor ** (power / _TIME) for (power,) in each)
        if any(one != 1.0 for one in factors):
            found[number] = _Times(factors)
    return found


def _roles(model: Model) -> Iterator[tuple[Ref, int, float]]:
    """Yield HDSO, element and power of everything that takes times."""
    for hdso in model.sensors.hdsos:
        if isinstance(hdso, Signal) and not hdso.per_sample:
            elements = [(ref, k) for ref in hdso.parameters for k in range(math.prod(model.hdso(ref).dims))]
            for (ref, k), power in zip(elements, TIME_POWERS.get(hdso.type, ()), strict=False):
                yield ref, k, power
    for part in _parts(model.jointlist):
        refs: tuple[Ref | None, ...] = ()
        if isinstance(part, Muscle):
            dynamics = part.dynamics
            refs = (part.efferent_delay, *(() if dynamics is None else (dynamics.rise, dynamics.fall)))
        elif isinstance(part, State):
            refs = (
                None if part.dwell_time is None else part.dwell_time.ref,
                None if part.central is None else part.central.hold,
            )
        for ref in refs:
            if ref is not None:
                yield ref, 0, _TIME


def _parts(document: Any) -> Iterator[Any]:
    if isinstance(document, tuple):
        for part in cast("tuple[Any, ...]", document):
            yield from _parts(part)
    elif is_dataclass(document) and not isinstance(document, type):
        yield document
        for f in fields(document):
            yield from _parts(getattr(document, f.name))
