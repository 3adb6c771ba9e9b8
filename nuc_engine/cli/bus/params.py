"""Types of what the commands of `nuc bus` are told: ids of servos, places of a shaft."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import click

_PLACE = re.compile(r"(?P<number>[+-]?\d+(\.\d+)?)\s*(?P<unit>deg|)")


class Ids(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """`10,11,20-23`."""

    name = "IDS"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the ids in the order given, or fail."""
        if isinstance(value, tuple):
            return value  # pyright: ignore[reportUnknownVariableType]
        ids: list[int] = []
        for part in str(value).split(","):
            low, dash, high = part.strip().partition("-")
            if not low.isdecimal() or (dash and not high.isdecimal()):
                self.fail(f"{value!r} is no list of ids such as 10,11 or 0-3", param, ctx)
            ids.extend(range(int(low), int(high if dash else low) + 1))
        if not ids or len(set(ids)) != len(ids):
            self.fail(f"{value!r} names no id, or one twice", param, ctx)
        return tuple(ids)


class RawOrDegrees(NamedTuple):
    """A position, or a way to go: in degrees of the servo's own scale, or raw."""

    number: float
    in_degrees: bool


class _Place(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """`2048` is raw, `90deg` degrees."""

    name = "RAW|DEGdeg"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> RawOrDegrees:
        """Return the place, or fail."""
        if isinstance(value, RawOrDegrees):
            return value
        found = _PLACE.fullmatch(str(value).strip())
        if found is None or (not found["unit"] and "." in found["number"]):
            self.fail(
                f"{value!r} is no place: expected raw positions such as 128, or degrees such as 90deg", param, ctx
            )
        return RawOrDegrees(float(found["number"]), bool(found["unit"]))


PLACE = _Place()
