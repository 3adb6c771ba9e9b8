"""A script as the changesets it means: entries of one instant together, gradual changes as steps (readings C)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from heapq import heappop, heappush
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
    if any(entry.tag == "when" for entry in entries):
        raise Unverifiable("a script with <when>: when triggers fire is not computed here")
    graduals = [(place, entry) for place, entry in enumerate(entries) if entry.tag == "gradual"]
    force = _InForce(parts, store)
    for place, gradual in sorted(graduals, key=lambda item: Decimal(item[1].attrib["time"].strip())):
        steps = _steps(place, gradual, model, force)
        parts += steps
        force.add(steps)
    found = _changesets(parts)
    for entry in (entry for entry in entries if entry.tag == "sense"):
        mode, sensor = entry.attrib["mode"].strip(), model.number(entry.attrib["sensor"].strip())
        value = float(entry.attrib["value"]) if mode == "value" else mode
        same = next((item for item in found if item.time_ns == _time(entry)), None)
        if same is None:
            same = Changeset(_time(entry), [], [])
            found.append(same)
        same.senses.append((sensor, value))
    return sorted(found, key=lambda changeset: changeset.time_ns)


class _InForce:
    """What HDSOs hold as time goes on, by the writes known so far: each is looked at once."""

    def __init__(self, parts: Sequence[_Part], store: Store) -> None:
        self.held = {number: list(store.held[number]) for number in store.given}
        self._since: dict[int, list[tuple[int, int]]] = {}
        self._ahead: list[tuple[int, int, int, _Part]] = []
        self._count = 0
        self.add(parts)

    def add(self, parts: Sequence[_Part]) -> None:
        for part in parts:
            self._count += 1
            heappush(self._ahead, (*part[:2], self._count, part))

    def at(self, time_ns: int) -> Mapping[int, Sequence[Number]]:
        """Return what is in force at a time, with what is written then; times rise from call to call."""
        while self._ahead and self._ahead[0][0] <= time_ns:
            *_, (at_ns, place, number, data) = heappop(self._ahead)
            if number is not None and isinstance(data, tuple):
                self._write((at_ns, place), number, data)
        return self.held

    def _write(self, since: tuple[int, int], number: int, data: Values) -> None:
        held, last = self.held.setdefault(number, []), self._since.setdefault(number, [])
        held += [0] * (len(data) - len(held))
        last += [(-1, 0)] * (len(data) - len(last))
        for k, value in enumerate(data):
            # What is added later can be of a time that has passed, where steps are as near as nanoseconds.
            if since >= last[k]:
                held[k], last[k] = value, since


def _time(entry: Element) -> int:
    return nanoseconds(entry.get("time", "0").strip())


def _steps(place: int, gradual: Element, model: Model, force: _InForce) -> list[_Part]:
    """Return the writes of a gradual change: equal steps from what is in force when it begins."""
    begin, duration = (Decimal(gradual.attrib[name].strip()) for name in ("time", "duration"))
    steps, found = int(gradual.attrib["steps"]), list[_Part]()
    if not 0 < steps <= MOST_STEPS:
        raise Unverifiable(f"a gradual change of {steps} steps; at most {MOST_STEPS} are read")
    held = force.at(nanoseconds(begin))
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
        if entry.tag in ("description", "hdsoMod", "hdsoSpec", "gradual", "sense"):
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
