"""Things that happen to an emulated leg from outside, on the plant's own clock: what an experimenter does by hand.

Events can be kept as JSON (`event_record`, `read_event`) and are checked against one another and against the leg
(`find_faults`) before a bout begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, cast

LONGEST_NS = 3_600_000_000_000
"""Longest an event may last: an hour."""
STRONGEST_N = 1000.0
"""Greatest size of one component of a force."""
HIGHEST_CM = 1000.0
LATEST_NS = 2**62

Force = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Kick:
    """A constant force (N; x forward, y left, z up) on the last segment's centre of mass, from `at_ns`, for a while.

    A kick without force or without duration gets what is missing from the plant's seed (`nuc_engine.plants.kicks`).
    """

    at_ns: int
    force_n: Force | None = None
    duration_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Ground:
    """The ground is taken away, or put back."""

    at_ns: int
    present: bool


@dataclass(frozen=True, slots=True)
class BaseHeight:
    """The first joint is `height_cm` above the ground from now on."""

    at_ns: int
    height_cm: float


@dataclass(frozen=True, slots=True)
class Load:
    """A constant vertical force on the foot for a while, as of a magnet: positive presses it down, negative unloads."""

    at_ns: int
    down_n: float
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The leg below the motor of `joint` is taken off by hand and held, which takes `duration_ns`."""

    at_ns: int
    joint: str
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Reconnect:
    """What was taken off is brought back to where its motor's horn is then, and is put on `duration_ns` later."""

    at_ns: int
    duration_ns: int


PlantEvent = Kick | Ground | BaseHeight | Load | Disconnect | Reconnect

KINDS: Mapping[str, type[PlantEvent]] = MappingProxyType(
    {
        "kick": Kick,
        "ground": Ground,
        "height": BaseHeight,
        "load": Load,
        "disconnect": Disconnect,
        "reconnect": Reconnect,
    }
)
"""Name of an event, in records and scripts -> its class."""


def kind_of(event: PlantEvent) -> str:
    """Return an event's name."""
    return next(name for name, kind in KINDS.items() if isinstance(event, kind))


def in_order(events: Sequence[PlantEvent]) -> tuple[PlantEvent, ...]:
    """Return events by their time; those of one time stay in the order given."""
    return tuple(sorted(events, key=lambda event: event.at_ns))


def event_record(event: PlantEvent) -> dict[str, Any]:
    """Return an event as plain data for JSON: its kind, and its fields but for those that are not given."""
    values = {item.name: getattr(event, item.name) for item in fields(event)}
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return {"kind": kind_of(event)} | {name: value for name, value in given.items() if value is not None}


def read_event(record: object) -> PlantEvent:
    """Return the event of `event_record`. Raises ValueError, saying what was expected."""
    if not isinstance(record, Mapping):
        raise ValueError(f"{str(record)[:80]!r} is no event; expected an object with a kind")
    given = dict(cast(Mapping[Any, Any], record))
    name = given.pop("kind", None)
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"kind is {str(name)[:80]!r}; expected one of {', '.join(KINDS)}")
    known = [item.name for item in fields(kind)]
    if unknown := [key for key in given if key not in known]:
        raise ValueError(f"{name}: {str(unknown[0])[:80]!r} is unknown; expected {', '.join(known)}")
    if isinstance(given.get("force_n"), list):
        given["force_n"] = tuple(given["force_n"])
    try:
        event = kind(**given)
    except TypeError as error:
        raise ValueError(f"{name}: not all of {', '.join(known)} are given") from error
    if faults := tuple(find_field_faults(event)):
        raise ValueError(f"{name}: {faults[0]}")
    return event


def find_field_faults(event: PlantEvent) -> Iterator[str]:
    """Yield what is wrong with one event by itself: types and sizes."""
    for item in fields(event):
        fits, expected = _FITS[item.name]
        value = getattr(event, item.name)
        if not fits(value) and not (value is None and isinstance(event, Kick) and item.name != "at_ns"):
            yield f"{item.name} is {str(value)[:80]!r}; expected {expected}"


def _is_instant(value: Any) -> bool:
    return _whole(value, LATEST_NS)


def _is_span(value: Any) -> bool:
    return _whole(value, LONGEST_NS)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_strength(value: Any) -> bool:
    return _number(value, STRONGEST_N)


def _is_height(value: Any) -> bool:
    return _number(value, HIGHEST_CM)


def _is_force(value: Any) -> bool:
    return isinstance(value, tuple) and len(cast(tuple[Any, ...], value)) == 3 and all(map(_is_strength, value))


def _whole(value: Any, largest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= largest


def _number(value: Any, largest: float) -> bool:
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    return fits and math.isfinite(value) and abs(value) <= largest


_FITS: Mapping[str, tuple[Callable[[Any], bool], str]] = MappingProxyType(
    {
        "at_ns": (_is_instant, "a whole number of ns, 0 or more"),
        "duration_ns": (_is_span, f"a whole number of ns, 0 to {LONGEST_NS}"),
        "force_n": (_is_force, f"three numbers of at most {STRONGEST_N:g} N in size"),
        "down_n": (_is_strength, f"a number of at most {STRONGEST_N:g} N in size"),
        "height_cm": (_is_height, f"a number of at most {HIGHEST_CM:g} cm in size"),
        "present": (_is_flag, "true or false"),
        "joint": (_is_text, "the name of a joint"),
    }
)


def find_faults(events: Sequence[PlantEvent], joints: Sequence[str]) -> list[str]:
    """Return what keeps these events from happening, in whatever order given, to a leg of these joints."""
    found: list[str] = []
    off: Disconnect | None = None
    on_ns = 0
    for event in in_order(events):
        place = f"{kind_of(event)} at {event.at_ns / 1e9:g} s"
        found += [f"{place}: {fault}" for fault in find_field_faults(event)]
        if isinstance(event, Disconnect):
            if event.joint not in joints:
                found.append(f"{place}: joint {event.joint!r}; expected one of {', '.join(joints)}")
            if off is not None or event.at_ns < on_ns:
                found.append(f"{place}: the leg is apart already; expected a reconnect that has ended by then")
            off = event
        elif isinstance(event, Reconnect):
            if off is None:
                found.append(f"{place}: nothing is taken off; expected a disconnect before it")
            elif event.at_ns < off.at_ns + off.duration_ns:
                found.append(f"{place}: the leg is still being taken apart; expected a time when that has ended")
            off, on_ns = None, event.at_ns + event.duration_ns
    return found
