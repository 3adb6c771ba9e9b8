"""Checking states: activations, dwell times, entry rules (equations 7-1 to 7-4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sccils_schemas.checks.acting import check_central, check_influences
from sccils_schemas.checks.hdso_table import HdsoEntry, SourcePlace, all_states, parameter_refs
from sccils_schemas.checks.rules import (
    all_rule_parts,
    check_rule,
    describe_circle,
    find_circles,
    read_rule,
    unset_operands,
)
from sccils_schemas.checks.scope import VALUE_KINDS, Scope
from sccils_schemas.documents import HdsoMod, Joint, JointList, Muscle, MuscleActivation, State, ref_of
from sccils_schemas.lines import attribute_line, data_line
from sccils_schemas.names import counted, id_ranges
from sccils_schemas.nesting import first_faults
from sccils_schemas.numbers import write_number
from sccils_schemas.reader import STAND_IN
from sccils_schemas.rules import operands

ACTIVATION_NEEDS: Mapping[str, tuple[int, int]] = {"constant": (0, 1), "linear": (1, 5), "bilinear": (2, 10)}
"""Sensors and numbers an activation takes: linear a, b, c, wmin, wmax; bilinear those of K2, then those of K3."""

Muscles = Mapping[int, tuple[Muscle, Joint]]


def check_states(joint: Joint, muscles: Muscles, scope: Scope) -> None:
    """Report everything wrong with a joint's states."""
    for state in joint.states:
        _check_coverage(state, joint, muscles, scope)
        for activation in state.activations:
            _check_activation(activation, state, scope)
        check_switching(state, scope)


def check_switching(state: State, scope: Scope) -> None:
    """Report everything wrong with when a state, of a joint or not, is entered and left."""
    if state.dwell_time is not None:
        _check_dwell(state.dwell_time, state, scope)
    _check_rule(state, scope)
    check_central(state, scope)


def _check_coverage(state: State, joint: Joint, muscles: Muscles, scope: Scope) -> None:
    seen: set[int] = set()
    own = {muscle.id_num for muscle in joint.muscles}
    for activation in state.activations:
        number, line = activation.muscle, scope.place(activation.line, "muscle")
        if number <= STAND_IN:
            continue
        if number not in muscles:
            known = id_ranges(muscle for muscle in own if muscle > STAND_IN) if scope.problems.guessing else ""
            hint = f"the muscles of {joint.name} are {known}" if known else f"{joint.name} has no muscles"
            scope.error(line, f"muscle {number} is not declared", "a muscle of its joint", hint)
        elif number not in own:
            other = muscles[number][1]
            what = f"muscle {number} ({muscles[number][0].name}) belongs to joint {other.id_num} ({other.name})"
            scope.error(line, what, f"a muscle of joint {joint.id_num} ({joint.name})")
        if number in seen:
            scope.error(line, f"state {state.name} activates muscle {number} twice", "once")
        seen.add(number)
    if any(number <= STAND_IN for number in seen | own | {a.muscle for a in state.activations}):
        return
    for muscle in joint.muscles:
        if muscle.id_num not in seen:
            what = f"state {state.name} does not say what muscle {muscle.id_num} ({muscle.name}) does"
            scope.error(state.line, what, "a muscle_activation for each muscle of the joint")


def _check_activation(activation: MuscleActivation, state: State, scope: Scope) -> None:
    label = f"{activation.function} activation of muscle {activation.muscle} in {state.name}"
    need_sensors, need_numbers = ACTIVATION_NEEDS[activation.function]
    place = scope.place(activation.line, "activation_sensors")
    for ref in map(ref_of, activation.sensors):
        entry = scope.table.find(ref, place, scope.problems)
        if entry is not None and scope.want_kind(entry, ("sensor",), place, f"a sensor of the {label}"):
            scope.want_single(entry, place, f"a sensor of the {label}")
            if scope.table.is_unfed(entry):
                what = f"{entry}, a sensor of the {label}, is fed by no motor"
                scope.warning(place, what, hint="it counts as 0 all the time")
    if len(activation.sensors) != need_sensors:
        expected = f"{need_sensors} in activation_sensors" if need_sensors else "none"
        scope.error(place, f"the {label} has {counted(len(activation.sensors), 'sensor')}", expected)
    parameters = parameter_refs(activation, scope.table.kind)
    place = scope.place(activation.line, "activation_parameters")
    entries = [scope.table.find(ref, place, scope.problems) for ref in parameters]
    known: list[HdsoEntry] = []
    for entry in entries:
        if entry is not None and scope.want_kind(entry, VALUE_KINDS, place, f"a parameter of the {label}"):
            scope.want_value(entry, place, f"a parameter of the {label}")
            known.append(entry)
    count = sum(entry.count for entry in known)
    if len(known) == len(entries) and count != need_numbers:
        what = f"the {label} has {counted(count, 'parameter')}"
        scope.error(place, what, f"{need_numbers}, counting the elements of its HDSOs in activation_parameters")
    check_influences(activation, label, scope)
    _check_agreement(activation, label, scope)
    _check_span(activation, scope.table.elements(parameters) if count == need_numbers else None, label, scope)


def _check_agreement(activation: MuscleActivation, label: str, scope: Scope) -> None:
    """The hdsoMods repeat what the lists name, in the same order (reading B17)."""
    listed = [scope.table.get(ref) for ref in (*map(ref_of, activation.sensors), *activation.parameters)]
    if not activation.parameters or None in listed:
        return
    order = [entry.hdso.id_num for entry in listed if entry is not None]
    last = -1
    for mod in activation.mods:
        entry = scope.table.get(mod.ref)
        if entry is None:
            continue
        if entry.hdso.id_num not in order:
            expected = "one that activation_parameters or activation_sensors names"
            scope.error(mod.line, f"{entry} is initialised by the {label}", expected, "the two must agree")
            continue
        at = order.index(entry.hdso.id_num)
        if at < last and entry.kind != "sensor":
            what = f"{entry} stands in another order than in activation_parameters of the {label}"
            scope.error(mod.line, what, "the same order")
        last = max(last, at) if entry.kind != "sensor" else last


def _check_span(activation: MuscleActivation, values: Sequence[int | float] | None, label: str, scope: Scope) -> None:
    if activation.function == "constant" or values is None:
        return
    mods = [mod for mod in activation.mods if scope.table.kind(mod.ref) != "sensor"]
    for at in range(0, len(values), 5):
        if values[at + 3] == values[at + 4]:
            what = f"wmin and wmax of the {label} are both {values[at + 3]:g}"
            line = scope.value_line(mods, at + 4, attribute_line(activation.line, "activation_parameters"))
            scope.error(line, what, "two different numbers", "the function divides by their difference")


def _check_dwell(mod: HdsoMod, state: State, scope: Scope) -> None:
    entry = scope.table.get(mod.ref)
    use = f"the dwell time of {state.name}"
    if entry is None or not scope.want_kind(entry, VALUE_KINDS, mod.line, use):
        return
    if entry.hdso.datatype != "llint" or entry.count != 1:
        what = f"{entry}, {use}, is of type {entry.hdso.datatype} with {counted(entry.count, 'element')}"
        scope.error(mod.line, what, "an llint with one: nanoseconds")
    scope.want_value(entry, mod.line, use)
    values = scope.table.values.get(entry.hdso.id_num)
    if values and not isinstance(values, str) and values[0] < 0:
        scope.error(data_line(mod.line), f"{use} is {write_number(values[0])} ns", "0 or more", f"{entry} holds it")


def _check_rule(state: State, scope: Scope) -> None:
    rule = state.rule
    if not rule.mods:
        return
    holder = scope.table.get(rule.mods[0].ref)
    if holder is not None:
        hint = "the first hdsoMod of a transition_rule names the HDSO that holds the rule"
        if holder.kind != "boolstring":
            what = f"{holder} is a {holder.kind} and is to hold the rule of {state.name}"
            scope.error(rule.mods[0].line, what, "a boolstring", hint)
            return
    text = rule.boolstring
    if rule.representation == "HDSO" and text is not None:
        hint = "leave out boolstring, or representation_type"
        scope.error(rule.line, f"the rule of {state.name} is given twice", "a boolstring or an HDSO", hint)
    elif rule.representation == "text" and text is None:
        hint = "representation_type='HDSO' takes the rule from the first hdsoMod"
        scope.error(rule.line, f"the transition_rule of {state.name} has no boolstring", "the rule's text", hint)
    elif rule.representation == "text" and rule.mods[0].data:
        expected = "NumElts='0' where the rule stands in boolstring"
        scope.error(rule.mods[0].line, f"the rule of {state.name} is given twice", expected)
    elif rule.representation == "HDSO" and holder is not None and holder.hdso.id_num not in scope.table.values:
        expected = f"its text as data of the first hdsoMod, or as initial_data of {holder}"
        scope.error(rule.line, f"the rule of {state.name} has no text", expected)
    if text is not None:
        place = SourcePlace(scope.file, rule.line)
        check_rule(text, holder, scope.table, lambda at: place.attribute("boolstring", at), scope.problems)
        _check_initialisers(text, state, scope)
    for entry in () if holder is None else unset_operands(holder.hdso.id_num, scope.table):
        scope.want_value(entry, rule.line, f"used by the rule of {state.name}")


def _check_initialisers(text: str, state: State, scope: Scope) -> None:
    tree = read_rule(text)
    if tree is None:
        return
    entries = [scope.table.get(ref) for ref in operands(tree)]
    used = {entry.hdso.id_num for entry in entries if entry is not None}
    for mod in state.rule.mods[1:]:
        entry = scope.table.get(mod.ref)
        if entry is not None and entry.hdso.id_num not in used:
            scope.warning(mod.line, f"{entry} is initialised by a rule that does not use it")


def check_rule_holders(jointlist: JointList, scope: Scope) -> None:
    """Report rules that share an HDSO, that reach too far, or that depend on themselves, directly or through others."""
    holders: dict[int, tuple[HdsoEntry, State]] = {}
    for state in (state for state in all_states(jointlist) if state.rule.mods):
        entry = scope.table.get(state.rule.mods[0].ref)
        if entry is None:
            continue
        first = holders.setdefault(entry.hdso.id_num, (entry, state))[1]
        if first is not state:
            hint = f"{first.name} in line {first.line} has it"
            scope.error(state.rule.line, f"{entry} holds two rules", "an HDSO of its own for each rule", hint)
    rules = all_rule_parts(scope.table)

    def where(number: int) -> SourcePlace:
        state = holders.get(number)
        if state is None:
            return scope.table.entries[number].place.data()
        return SourcePlace(scope.file, state[1].rule.line).attribute("boolstring")

    for number, (what, expected) in first_faults(rules).items():
        place, hint = where(number), "write out what the inner rules say, or make them shorter"
        scope.problems.error(place.file, place.line, f"{scope.table.entries[number]} {what}", expected, hint)
    for circle, _ in find_circles(rules, rules):
        # Where a state's rule is part of it, it stands in this document.
        place = where(next((number for number in circle if number in holders), circle[0]))
        what = f"rules go round in a circle: {describe_circle(circle, scope.table)}"
        scope.problems.error(place.file, place.line, what, "rules that do not need their own result")
