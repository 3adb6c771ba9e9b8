"""Checking HDSO lists: ids, names, kinds, ranges, initial data, and the parameters every engine needs."""

from __future__ import annotations

from sccils_schemas.checks.hdso_table import (
    ENGINE_TIMES,
    KINDS,
    LIST_KINDS,
    HdsoEntry,
    HdsoKind,
    HdsoTable,
    SourcePlace,
    check_looks,
    kind_of,
)
from sccils_schemas.checks.rules import check_rule
from sccils_schemas.checks.writes import ENGINE_BOUNDS, check_characters, check_values
from sccils_schemas.documents import HdsoList, Signal
from sccils_schemas.lines import attribute_line
from sccils_schemas.names import counted, did_you_mean, shorten
from sccils_schemas.problems import Problems
from sccils_schemas.ranges import inverted
from sccils_schemas.reader import STAND_IN

MAX_STORE_ELEMENTS = 2**20
"""Most elements of all HDSOs of a configuration together."""
_WHOLE = ("int", "lint", "llint")


def check_hdsolist(hdsos: HdsoList, file: str, kind: HdsoKind | None, table: HdsoTable, problems: Problems) -> None:
    """Report what is wrong with one list. `kind` is what the list should hold, or None when that is not known."""
    if kind is not None:
        _check_list_kind(hdsos, file, kind, problems)
    for hdso in hdsos.hdsos:
        known = table.get(hdso.id_num)
        if known is None or known.hdso is not hdso:
            known = HdsoEntry(hdso, kind_of(hdso, hdsos, kind or "parameter"), SourcePlace(file, hdso.line))
        entry = known
        _check_kind(entry, kind, problems)
        _check_ranges(entry, problems)
        if entry.kind == "boolstring":
            _check_boolstring(entry, problems)
        elif hdso.xmltype == "char" and hdso.datatype not in ("char", "uchar"):
            what = f"{entry} of type {hdso.datatype} has xmltype='char'"
            line = entry.place.attribute("xmltype").line
            problems.error(file, line, what, f"xmltype='{hdso.datatype}', or leave it out")
        _check_initial(entry, table, problems)


def _check_list_kind(hdsos: HdsoList, file: str, kind: HdsoKind, problems: Problems) -> None:
    given = hdsos.data_set_type
    wanted = next(name for name, holds in LIST_KINDS.items() if holds == kind)
    if given in (None, wanted):
        return
    line = attribute_line(hdsos.line, "DataSetType")
    if given in LIST_KINDS:
        problems.error(file, line, f"DataSetType='{given}'", f"'{wanted}'", "are the two files swapped?")
    else:
        hint = did_you_mean(given, LIST_KINDS)
        problems.warning(file, line, f"DataSetType='{shorten(given, 30)}' is not known", f"'{wanted}'", hint)


def _check_kind(entry: HdsoEntry, kind: HdsoKind | None, problems: Problems) -> None:
    given, place = entry.hdso.abstract_type, entry.place
    if given is not None and given not in KINDS:
        what = f"abstractType='{shorten(given, 30)}' of {entry}"
        hint = did_you_mean(given, KINDS) if problems.guessing else ""
        problems.error(place.file, place.attribute("abstractType").line, what, "one of " + ", ".join(KINDS), hint)
    elif kind == "parameter" and isinstance(entry.hdso, Signal):
        problems.error(
            place.file, place.line, f"the signal {entry} stands in a list of parameters", "it in sensors.xml"
        )
    elif kind is not None and (entry.kind == "sensor") != (kind == "sensor"):
        problems.warning(place.file, place.line, f"{entry} is a {entry.kind} in a list of {kind}s")


def _check_ranges(entry: HdsoEntry, problems: Problems) -> None:
    seen: set[str] = set()
    for span in entry.hdso.ranges:
        if span.type in seen and span.type != "invalid":
            problems.error(entry.place.file, span.line, f"a second range of type {span.type} for {entry}", "one")
        seen.add(span.type)
        if inverted(span):
            what = f"lower bound {span.lower:g} is above upper bound {span.upper:g} in the {span.type} range of {entry}"
            line = max(attribute_line(span.line, side) for side in ("lower", "upper"))
            problems.error(entry.place.file, line, what, "lower <= upper", "it would let nothing pass")
        if span.type == "invalid" and not span.bounded:
            what = f"the invalid range of {entry} has no bounds"
            problems.warning(entry.place.file, span.line, what, "a lower or an upper bound", "it excludes nothing")
        if span.quantum is not None and span.quantum <= 0:
            what = f"quantum {span.quantum:g} of {entry} is no step"
            line = attribute_line(span.line, "quantum")
            problems.warning(entry.place.file, line, what, "more than 0")
    normal = next((span for span in entry.hdso.ranges if span.type == "normal"), None)
    if entry.hdso.overflow_correction and (normal is None or normal.lower is None or normal.upper is None):
        what = f"overflowCorrection of {entry} has nothing to go by"
        problems.warning(entry.place.file, entry.place.line, what, "a range of type normal with both bounds")


def _check_boolstring(entry: HdsoEntry, problems: Problems) -> None:
    hdso, place = entry.hdso, entry.place
    if len(hdso.dims) != 2 or hdso.dims[0] != 2:
        size = " x ".join(str(size) for size in hdso.dims)
        problems.error(place.file, place.line, f"boolstring {entry} has size {size}", "2 x n, usually 2 x 30")
    if hdso.datatype not in _WHOLE:
        what = f"boolstring {entry} is of type {hdso.datatype}"
        problems.error(place.file, place.attribute("datatype").line, what, "datatype='int'")


def _check_initial(entry: HdsoEntry, table: HdsoTable, problems: Problems) -> None:
    data, place = entry.hdso.initial_data, entry.place
    if data is None:
        if entry.kind == "constant":
            problems.error(place.file, place.line, f"constant {entry} has no value", "initial_data")
    elif entry.kind == "boolstring":
        if isinstance(data, str):
            check_rule(data, entry, table, place.data, problems)
    elif isinstance(data, str):
        check_characters(data, entry, place, problems)
    else:
        check_values(data, entry, place, problems)


def check_together(lists: list[tuple[HdsoList, str]], table: HdsoTable, problems: Problems) -> None:
    """Report ids and names used twice, in one list or in two, and lists too large together (reading B10)."""
    ids: dict[int, SourcePlace] = {}
    names: dict[str, SourcePlace] = {}
    looks: dict[str, str] = {}
    for hdsos, file in lists:
        for hdso in hdsos.hdsos:
            place = SourcePlace(file, hdso.line)
            at = place.attribute("idNum")
            first = ids.setdefault(hdso.id_num, place)
            if first is not place and hdso.id_num > STAND_IN:
                what = f"HDSO id {hdso.id_num} is used twice"
                problems.error(file, at.line, what, "an id of its own", f"first in {first}")
            at = place.attribute("name")
            first = names.setdefault(hdso.name, place)
            if first is not place and hdso.name:
                what = f"HDSO name '{hdso.name}' is used twice"
                problems.error(file, at.line, what, "a name of its own", f"first in {first}")
            check_looks(hdso.name, at, looks, problems)
    total = sum(entry.count for entry in table.entries.values())
    if total > MAX_STORE_ELEMENTS:
        problems.error(lists[0][1], 0, f"all HDSOs together have {total} elements", f"at most {MAX_STORE_ELEMENTS}")


def check_engine_hdsos(table: HdsoTable, file: str, problems: Problems) -> None:
    """Report parameters of the engine that are missing, or that it could not use. They go by name (reading B26).

    So do the sensors it writes its own times to, which need not exist (reading E2).
    """
    for name in ENGINE_BOUNDS:
        entry = table.get(name)
        if entry is None:
            hint = did_you_mean(name, table.ids)
            problems.error(file, 0, f"the parameter '{name}' is missing", "an HDSO of this name", hint)
            continue
        place = entry.place
        if entry.kind not in ("parameter", "constant") or entry.count != 1 or entry.hdso.datatype not in _WHOLE:
            what = f"{entry} is a {entry.kind} of type {entry.hdso.datatype} with {counted(entry.count, 'element')}"
            problems.error(place.file, place.line, what, "a parameter of type int or llint with one")
        if entry.hdso.id_num not in table.values:
            problems.error(place.file, place.line, f"{entry} has no value at the start", "initial_data")
    for name in ENGINE_TIMES:
        entry = table.get(name)
        if entry is not None and (entry.kind != "sensor" or entry.count != 1 or entry.hdso.datatype != "llint"):
            what = f"{entry} is a {entry.kind} of type {entry.hdso.datatype} with {counted(entry.count, 'element')}"
            problems.error(entry.place.file, entry.place.line, what, "a sensor of type llint with one")
