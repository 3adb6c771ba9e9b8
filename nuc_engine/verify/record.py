"""The input record: read, and each entry held against the forms that a bout of its clock can have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgpack

from nuc_engine.verify.logs import Report
from nuc_engine.verify.servos import Unverifiable

RECORD = "InputRecord.msgpack"

Entry = list[Any]
_Counts = dict[Any, Any]
Numbered = tuple[int, Entry]
"""An entry with its number in the record, counted from 1."""


@dataclass(frozen=True, slots=True)
class Record:
    """The entries behind the head that have a form of this clock, in order; `size` counts all that are in the file."""

    entries: Sequence[Numbered]
    size: int

    def of(self, *kinds: str) -> Iterator[Numbered]:
        """Yield the entries of some kinds."""
        return (item for item in self.entries if item[1][0] in kinds)

    def ran(self, *what: str) -> Iterator[Numbered]:
        """Yield the entries that say that some task ran."""
        return (item for item in self.of("ran") if item[1][1] in what)

    @property
    def last_ns(self) -> int:
        """When the last thing in it was."""
        return max((entry[2] for _, entry in self.entries), default=0)


def read_record(path: Path, motors: int, report: Report, *, virtual: bool) -> Record:
    """Return a record; what is no entry of this clock is noted. Raises Unverifiable where it does not begin as one."""
    try:
        with path.open("rb") as file:
            found: list[Any] = list(msgpack.Unpacker(file, use_list=True))
    except (OSError, ValueError, msgpack.UnpackException) as error:
        raise Unverifiable(f"{path.name}: cannot be read ({error})") from error
    if not found or found[0] != ["head", 1, motors]:
        raise Unverifiable(f"{path.name}: does not begin with the head of a record of {motors} motors")
    fits = _fits_virtual if virtual else _fits_real
    entries: list[Numbered] = []
    for number, entry in enumerate(found[1:], 2):
        if (
            isinstance(entry, list)
            and len(cast(Entry, entry)) > 2
            and _whole(entry[2])
            and fits(cast(Entry, entry), motors)
        ):
            entries.append((number, cast(Entry, entry)))
        else:
            clock = "virtual" if virtual else "real"
            report.differ(RECORD, number, None, "entry", f"one of a bout in {clock} time", entry)
    if not virtual and (not entries or entries[0][0] != 2 or entries[0][1][0] != "store"):
        raise Unverifiable(f"{path.name}: the store at the start of the bout is not in it; logging began later")
    return Record(entries, len(found))


def _fits_virtual(entry: Entry, motors: int) -> bool:
    match entry:
        case ["happened", cycle, _, dict()]:
            return _whole(cycle)
        case _:
            return _fits_both(entry, motors)


def _fits_real(entry: Entry, motors: int) -> bool:
    match entry:
        case ["ran", "sensors" | "states" | "muscles" | "changeset", _]:
            return True
        case ["store", cycle, _, bytes()]:
            return _whole(cycle)
        case ["lost", cycle, _, from_ns, dict() as counts]:
            named = all(isinstance(kind, str) and _whole(count) for kind, count in cast(_Counts, counts).items())
            return _whole(cycle) and _whole(from_ns) and named
        case _:
            return _fits_both(entry, motors)


def _fits_both(entry: Entry, motors: int) -> bool:
    match entry:
        case ["control", cycle, _, str(), joint, str() | int() | float(), _, *by]:
            return _whole(cycle) and _whole(joint) and _is_author(by)
        case ["cycle", cycle, _, *columns]:
            return _whole(cycle) and len(columns) == 4 and all(_is_row(column, motors) for column in columns)
        case ["ran", "start", _, level, goals]:
            return _whole(level) and _is_row(goals, motors)
        case ["edit", cycle, _, number, list() as values, _, *by]:
            numbers = all(isinstance(value, int | float) for value in cast(Entry, values))
            return _whole(cycle) and _whole(number) and numbers and _is_author(by)
        case _:
            return False


def _is_author(rest: Sequence[Any]) -> bool:
    return not rest or (len(rest) == 1 and isinstance(rest[0], str))


def _is_row(column: Any, motors: int) -> bool:
    return isinstance(column, list) and len(cast(Entry, column)) == motors and all(map(_whole, cast(Entry, column)))


def _whole(value: Any) -> bool:
    return type(value) is int


def compare_losses(record: Record, said: Mapping[str, Any], report: Report, *, torn: bool) -> int | None:
    """Hold what the record says was lost against the manifest; return from when on nothing can be computed.

    The manifest is written first: that of a bout that did not come to its end (`torn`) may know of more.
    """
    taken_ns, first_ns = 0, None
    lost: dict[str, dict[str, float]] = {}
    for number, entry in record.entries:
        if entry[0] == "cycle" or (entry[0] == "ran" and entry[1] != "changeset"):
            taken_ns = entry[2]
        if entry[0] == "lost":
            _, _, now_ns, from_ns, counts = entry
            first_ns = from_ns if first_ns is None else first_ns
            if from_ns != taken_ns:
                report.differ(RECORD, number, now_ns, "lost from", taken_ns, from_ns)
            for kind, count in counts.items():
                known = lost.setdefault(kind, {"count": 0, "from_s": from_ns / 1e9})
                known["count"] += count
                known["to_s"] = now_ns / 1e9
    kinds = lost if torn else {**lost, **said}
    for kind in sorted(kinds):
        computed, found = lost.get(kind, "none"), said.get(kind, "none")
        ahead = torn and isinstance(found, dict) and found.get("count", 0) >= lost[kind]["count"]
        if computed != found and not ahead:
            report.differ("manifest.json", 0, None, f"losses.records.{kind}", computed, found)
    return first_ns
