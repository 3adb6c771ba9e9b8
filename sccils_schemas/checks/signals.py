"""Checking signals: what blocks take, of which kind and size it is, and that none depends on itself."""

from __future__ import annotations

from itertools import pairwise

from sccils_schemas.checks.hdso_table import HdsoEntry, HdsoKind, HdsoTable, SourcePlace
from sccils_schemas.checks.scope import VALUE_KINDS, Scope
from sccils_schemas.documents import HdsoList, Ref, Signal
from sccils_schemas.names import counted
from sccils_schemas.problems import Problems
from sccils_schemas.signals import PER_SAMPLE, SignalParameter, form_of, in_order, signals_of

_NUMBERS: tuple[HdsoKind, ...] = ("sensor", *VALUE_KINDS)


def check_signals(sensors: HdsoList, file: str, table: HdsoTable, problems: Problems) -> None:
    """Report what is wrong with the signals of a list of sensors."""
    scope = Scope(file, table, problems)
    signals = signals_of(sensors)
    for signal in signals:
        _check(signal, scope)
    for circle in in_order(signals)[1]:
        names = " takes ".join(signal.name for signal in (*circle, circle[0]))
        line = max(signal.line for signal in circle)
        scope.error_at(line, "inputs", f"signals depend on themselves: {names}", "an order in which to compute them")


def _check(signal: Signal, scope: Scope) -> None:
    form = form_of(signal)
    if signal.per_sample and signal.type not in PER_SAMPLE:
        what = f"per_sample='y' of {signal.name}, a {signal.type}"
        scope.error_at(signal.line, "per_sample", what, f"it with {' or '.join(PER_SAMPLE)} only")
    elif signal.type == "iir" and not signal.per_sample:
        hint = "a general filter counts samples, and says so"
        scope.error(signal.line, f"{signal.name}, an iir, does not say per_sample", "per_sample='y'", hint)
    least, most = form.inputs
    if not least <= len(signal.inputs) <= most:
        expected = str(least) if least == most else f"{least} to {most}"
        what = f"{signal.name}, a {signal.type}, has {counted(len(signal.inputs), 'input')}"
        scope.error_at(signal.line, "inputs", what, expected)
    for ref in signal.inputs:
        entry = _find(signal, "inputs", ref, scope)
        if entry is not None and scope.want_kind(entry, _NUMBERS, signal.line, f"an input of {signal.name}"):
            scope.want_single(entry, signal.line, f"an input of {signal.name}")
            if signal.type == "rawload" and not _is_load(entry, scope):
                scope.error_at(signal.line, "inputs", f"{entry} is no load of a motor", "the current of a motor")
    if not form.needed <= len(signal.parameters) <= len(form.parameters):
        names = ", ".join(parameter.name for parameter in form.parameters) or "none"
        what = f"{signal.name}, a {signal.type}, has {counted(len(signal.parameters), 'parameter')}"
        optional = len(form.parameters) - form.needed
        hint = f"{'the last' if optional == 1 else f'the last {optional}'} may be left out" if optional else ""
        scope.error_at(signal.line, "parameters", what, names, hint)
    for ref, parameter in zip(signal.parameters, form.parameters, strict=False):
        entry = _find(signal, "parameters", ref, scope)
        use = f"the {parameter.name} of {signal.name}"
        if entry is not None and scope.want_kind(entry, VALUE_KINDS, signal.line, use):
            _check_parameter(signal, parameter, entry, use, scope)
    _check_lists(signal, scope)


def _find(signal: Signal, attribute: str, ref: Ref, scope: Scope) -> HdsoEntry | None:
    return scope.table.find(ref, scope.place(signal.line, attribute), scope.problems)


def _is_load(entry: HdsoEntry, scope: Scope) -> bool:
    return scope.table.loads is None or entry.hdso.id_num in scope.table.loads


def _check_parameter(signal: Signal, parameter: SignalParameter, entry: HdsoEntry, use: str, scope: Scope) -> None:
    if not parameter.several:
        scope.want_single(entry, signal.line, use)
    held = scope.table.values.get(entry.hdso.id_num)
    if held is None or isinstance(held, str) or len(held) < entry.count:
        scope.error_at(signal.line, "parameters", f"{entry}, {use}, has no value at the start", "initial_data")


def _check_lists(signal: Signal, scope: Scope) -> None:
    """Report lists whose sizes do not fit, and places that do not rise."""
    found = [scope.table.get(ref) for ref in signal.parameters]
    entries = [entry for entry in found if entry is not None]
    if len(entries) != len(found) or len(found) < form_of(signal).needed:
        return
    line = signal.line
    if signal.type == "sum" and entries and entries[0].count != len(signal.inputs):
        what = f"{entries[0]} has {counted(entries[0].count, 'weight')} for {counted(len(signal.inputs), 'input')}"
        scope.error_at(line, "parameters", what, "one for each")
    elif signal.type == "iir":
        first = scope.table.elements([signal.parameters[1]])
        if first is not None and first[0] == 0:
            scope.error_at(line, "parameters", f"the denominator of {signal.name} begins with 0", "what it divides by")
    elif signal.type == "table":
        places = scope.table.elements([signal.parameters[0]])
        if entries[0].count != entries[1].count:
            what = f"{signal.name} has {counted(entries[0].count, 'place')} and {counted(entries[1].count, 'value')}"
            scope.error_at(line, "parameters", what, "as many of both")
        elif places is not None and any(after <= before for before, after in pairwise(places)):
            place = SourcePlace(scope.file, line).attribute("parameters")
            scope.problems.error(place.file, place.line, f"the places of {signal.name} do not rise", "rising numbers")
