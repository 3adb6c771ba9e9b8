"""Checking controls, and that no value has two writers among controls and modules (section 9.5.2.6)."""

from __future__ import annotations

from itertools import pairwise

from sccils_schemas.checks.hdso_table import HdsoTable, SourcePlace
from sccils_schemas.checks.scope import Scope
from sccils_schemas.checks.writes import ENGINE_BOUNDS, check_values
from sccils_schemas.documents import Control, ControlMap, HdsoList, JointList, Ref, UpperModule
from sccils_schemas.names import counted
from sccils_schemas.owners import controls_of, owned, owner_text
from sccils_schemas.problems import Problems


def check_controls(parameters: HdsoList, file: str, table: HdsoTable, problems: Problems) -> None:
    """Report controls whose maps cannot be followed."""
    scope = Scope(file, table, problems)
    for control in controls_of(parameters):
        (span,) = control.ranges
        low, high = span.lower or 0.0, span.upper or 0.0
        if not low < high:
            scope.error_at(control.line, "range", f"the range of {control.name} is {low:g} to {high:g}", "a rising one")
        seen: set[tuple[Ref, int]] = set()
        for item in control.maps:
            _check_map(item, control, (low, high), scope)
            if (item.hdso, item.element) in seen:
                what = f"{control.name} has two maps of element {item.element} of {item.hdso}"
                scope.error(item.line, what, "one map of one value")
            seen.add((item.hdso, item.element))


def _check_map(item: ControlMap, control: Control, span: tuple[float, float], scope: Scope) -> None:
    place, use = scope.place(item.line, "hdso"), f"a value that follows {control.name}"
    entry = scope.table.find(item.hdso, place, scope.problems)
    points, places = item.points, item.points[::2]
    label = f"the map of {item.hdso} in {control.name}"
    if len(points) < 4 or len(points) % 2:
        expected = "two points or more, each a place in the range and the value there"
        scope.error(item.line, f"{label} has {counted(len(points), 'number')}", expected)
        return
    if any(after <= before for before, after in pairwise(places)):
        scope.error(item.line, f"the places of {label} do not rise", "rising numbers")
    elif places[0] > span[0] or places[-1] < span[1]:
        what = f"{label} reaches from {places[0]:g} to {places[-1]:g}"
        scope.error(item.line, what, f"all of the range, {span[0]:g} to {span[1]:g}")
    if entry is None or not scope.want_kind(entry, ("parameter",), place, use):
        return
    if entry.hdso.name in ENGINE_BOUNDS or isinstance(entry.hdso, Control):
        scope.error(place, f"{entry} stands as {use}", "a parameter that neither times the engine nor is a control")
    elif item.element >= entry.count:
        scope.error_at(item.line, "element", f"{label} is for element {item.element}", f"0 to {entry.count - 1}")
    else:
        check_values(points[1::2], entry, SourcePlace(scope.file, item.line), scope.problems)


def check_owners(jointlist: JointList | None, file: str, table: HdsoTable, problems: Problems) -> None:
    """Report values that have two writers, of controls and modules; `file` is that of the modules."""
    first: dict[int, tuple[Control | UpperModule, SourcePlace]] = {}
    for ref, owner, line in owned(jointlist, table.controls):
        entry = table.get(ref)
        if entry is None:
            continue
        place = SourcePlace(table.entries[owner.id_num].place.file if isinstance(owner, Control) else file, line)
        other, where = first.setdefault(entry.hdso.id_num, (owner, place))
        if other is not owner:
            what = f"{entry} is written by {owner_text(owner)} and by {owner_text(other)}"
            problems.error(place.file, place.line, what, "one writer of one value", f"first in {where}")
