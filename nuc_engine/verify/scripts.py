"""A script as the changesets it means: entries of one instant together, gradual changes as steps (readings C)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from nuc_engine.verify.course import Changeset
from nuc_engine.verify.documents import Model, nanoseconds, read_xml, words
from nuc_engine.verify.servos import Unverifiable
from nuc_engine.verify.store import INTEGERS, Number, Store, Values

MOST_STEPS = 1000
"""Of a gradual change (docs/readings.md, limits)."""

_Part = tuple[int, int, int | None, Values | int]
"""Instant, place in the document, HDSO (None: all), and the values of a write or the count of a request."""


def read_script(path: Path | None, values: Mapping[str, Any], model: Model, store: Store) -> list[Changeset]:
    """Return what a script and the values given before it do, in order of time.

    `values` are written at time 0, by HDSO name or number; `store` holds what a bout starts with.
    """
    parts: list[_Part] = []
    for place, (name, value) in enumerate(values.items(), -len(values)):
        hdso = model.hdsos[model.number(name)]
        data = value if isinstance(value, str | list) else [value]
        parts.append((0, place, hdso.number, model.stored(hdso, data)))
    entries = [] if path is None else [entry for entry in read_xml(path) if entry.tag != "description"]
    for place, entry in enumerate(entries):
        if entry.tag == "hdsoMod" and (data := model.data(entry)):
            parts.append((_time(entry), place, model.target(entry), data))
        elif entry.tag == "hdsoMod":
            parts.append((_time(entry), place, None, ()))
        elif entry.tag == "hdsoSpec":
            number = None if entry.get("idNum") == "-1" and entry.get("idByName") != "y" else model.target(entry)
            parts.append((_time(entry), place, number, int(entry.get("NumElts", "0")) if number is not None else 0))
    graduals = [(place, entry) for place, entry in enumerate(entries) if entry.tag == "gradual"]
    for place, gradual in sorted(graduals, key=lambda item: Decimal(item[1].attrib["time"].strip())):
        parts += _steps(place, gradual, parts, model, store)
    return _changesets(parts)


def _time(entry: Element) -> int:
    return nanoseconds(entry.get("time", "0").strip())


def _steps(place: int, gradual: Element, parts: list[_Part], model: Model, store: Store) -> list[_Part]:
    """Return the writes of a gradual change: equal steps from what is in force when it begins."""
    begin, duration = (Decimal(gradual.attrib[name].strip()) for name in ("time", "duration"))
    steps, found = int(gradual.attrib["steps"]), list[_Part]()
    if not 0 < steps <= MOST_STEPS:
        raise Unverifiable(f"a gradual change of {steps} steps; at most {MOST_STEPS} are read")
    held = {number: tuple(store.held[number]) for number in store.given}
    for time_ns, _, number, data in sorted(parts, key=lambda part: part[:2]):
        if time_ns <= nanoseconds(begin) and number is not None and isinstance(data, tuple):
            held[number] = (*data, *held.get(number, ())[len(data) :])
    for mod in gradual.findall("hdsoMod"):
        number, goal = model.target(mod), model.data(mod)
        for step in range(1, steps + 1):
            share = step / steps
            between = [
                _between(a, b, share, model.hdsos[number].datatype) for a, b in zip(held[number], goal, strict=False)
            ]
            time_ns = nanoseconds(begin + duration * step / steps)
            found.append((time_ns, place, number, goal if step == steps else tuple(between)))
    return found


def _between(begin: Number, end: Number, share: float, datatype: str) -> Number:
    value = begin + (end - begin) * share
    return round(value) if datatype in INTEGERS else value


def _changesets(parts: list[_Part]) -> list[Changeset]:
    found: dict[int, Changeset] = {}
    for time_ns, _, number, data in sorted(parts, key=lambda part: part[:2]):
        changeset = found.setdefault(time_ns, Changeset(time_ns, [], []))
        if isinstance(data, int):
            changeset.requests.append((number, data))
        elif number is not None:
            changeset.writes.append((number, data))
    return list(found.values())


def by_hand(path: Path | None, events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return what a script, and a bout besides, let be done to the leg by hand, in its order, as far as it is given."""
    found: list[Mapping[str, Any]] = []
    for entry in () if path is None else read_xml(path):
        if entry.tag in ("description", "hdsoMod", "hdsoSpec", "gradual"):
            continue
        given: dict[str, Any] = {"kind": entry.tag, "at_ns": _time(entry)}
        given |= {_HAND[key][0]: _HAND[key][1](text.strip()) for key, text in entry.items() if key in _HAND}
        found.append(given)
    return sorted([*found, *events], key=lambda event: event["at_ns"])


_HAND: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "force": ("force_n", lambda text: [float(word) for word in words(text)]),
    "duration": ("duration_ns", nanoseconds),
    "present": ("present", lambda text: text == "y"),
    "cm": ("height_cm", float),
    "newton": ("down_n", float),
    "joint": ("joint", str),
}
"""What a script calls it -> what the input record does, and how it is read."""
