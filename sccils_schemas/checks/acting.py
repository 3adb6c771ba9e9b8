"""Checking what SCCILS 0.2 adds to acting: dynamics and delays of muscles, influences, central entries, modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from sccils_schemas.checks.hdso_table import HdsoEntry, HdsoKind, HdsoTable, all_states
from sccils_schemas.checks.rules import all_rule_parts, describe_circle, find_circles, read_rule, rule_parts
from sccils_schemas.checks.scope import VALUE_KINDS, Scope
from sccils_schemas.documents import ActivationDynamics as Dynamics
from sccils_schemas.documents import (
    HdsoList,
    Influence,
    Joint,
    JointList,
    Muscle,
    MuscleActivation,
    Ref,
    Signal,
    State,
    UpperModule,
)
from sccils_schemas.lines import attribute_line
from sccils_schemas.names import counted, did_you_mean, shorten
from sccils_schemas.nesting import RuleParts
from sccils_schemas.numbers import write_number
from sccils_schemas.owners import module_writes
from sccils_schemas.problems import Problems
from sccils_schemas.rules import operands
from sccils_schemas.signals import ACTING, signals_of

INFLUENCE_PARAMETERS: Mapping[str, int] = {
    "constant": 1,
    "linear": 2,
    "rectified": 1,
    "parabolic": 3,
    "hyperbolic": 3,
}
"""Numbers the function of an influence takes: those of a muscle's function, and rectified: max(0, x - p0)."""
READ_KINDS: tuple[HdsoKind, ...] = ("sensor", "parameter", "constant")
_FLOATS = ("float", "double")


def _number(ref: Ref | None, line: int, attribute: str, use: str, scope: Scope, kinds: tuple[HdsoKind, ...]) -> None:
    """Report an HDSO that cannot serve as one number of this use."""
    if ref is None:
        return
    place = scope.place(line, attribute)
    entry = scope.table.find(ref, place, scope.problems)
    if entry is None or not scope.want_kind(entry, kinds, place, use):
        return
    scope.want_single(entry, place, use)
    scope.want_value(entry, place, use)
    if scope.table.is_unfed(entry):
        scope.warning(place, f"{entry}, {use}, is fed by no motor", hint="it counts as 0 all the time")


def check_dynamics(dynamics: Dynamics | None, label: str, scope: Scope) -> None:
    """Report time constants of a muscle that cannot be."""
    if dynamics is None:
        return
    for attribute, ref in (("rise", dynamics.rise), ("fall", dynamics.fall)):
        use = f"the time constant of {attribute} of {label}"
        _number(ref, dynamics.line, attribute, use, scope, VALUE_KINDS)
        if ref is None:
            continue
        _of_type(ref, dynamics.line, attribute, use, _FLOATS, "a float or double: seconds", scope)
        _not_negative(scope.table.get(ref), dynamics.line, attribute, use, scope)


def check_efferent_delay(muscle: Muscle, label: str, scope: Scope) -> None:
    """Report an HDSO that cannot say how long an activation takes to a muscle; its values are looked at elsewhere."""
    if muscle.efferent_delay is not None:
        use = f"the efferent delay of {label}"
        _number(muscle.efferent_delay, muscle.line, "efferent_delay", use, scope, VALUE_KINDS)
        types, expected = _FLOATS, "a float or double: seconds"
        _of_type(muscle.efferent_delay, muscle.line, "efferent_delay", use, types, expected, scope)


def check_muscle_period(jointlist: JointList, scope: Scope) -> None:
    """Report an HDSO that cannot be the period of muscles; its values are looked at elsewhere."""
    ref, use = jointlist.muscle_period, "the period of muscles"
    if ref is None:
        return
    _number(ref, jointlist.line, "muscle_period", use, scope, VALUE_KINDS)
    _of_type(ref, jointlist.line, "muscle_period", use, ("llint",), "an llint: nanoseconds", scope)
    entry = scope.table.get(ref)
    if entry is not None and entry.kind in VALUE_KINDS and entry.hdso.id_num not in scope.table.values:
        scope.error_at(jointlist.line, "muscle_period", f"{entry}, {use}, has no value at the start", "initial_data")


def check_soft(joint: Joint, scope: Scope) -> None:
    """Report soft switching that nothing can be blended by, and widths that are none."""
    soft, label = joint.soft, f"joint {joint.id_num} ({joint.name})"
    if soft is None:
        return
    if len(joint.states) < 2:
        what = f"{label} has {counted(len(joint.states), 'state')} and switches softly"
        scope.error(soft.line, what, "two states or more to blend")
    compared = {number for state in joint.states for number in _compared(state, scope)}
    seen: set[int] = set()
    for width in soft.widths:
        use = f"the width of comparisons in {joint.name}"
        _number(width.hdso, width.line, "hdso", use, scope, VALUE_KINDS)
        _of_type(width.hdso, width.line, "hdso", use, _FLOATS, "a float or double", scope)
        _not_negative(scope.table.get(width.hdso), width.line, "hdso", use, scope)
        place = scope.place(width.line, "of")
        entry = scope.table.find(width.of, place, scope.problems)
        if entry is None or not scope.want_kind(entry, READ_KINDS, place, f"what a width in {joint.name} is of"):
            continue
        if entry.hdso.id_num in seen:
            scope.error(place, f"{entry} has two widths in {joint.name}", "one width of one HDSO")
        elif entry.hdso.id_num not in compared:
            hint = "it counts once a rule of the joint does"
            scope.warning(place, f"no entry rule of {joint.name} compares {entry}, which has a width", hint=hint)
        seen.add(entry.hdso.id_num)


def _compared(state: State, scope: Scope) -> Iterator[int]:
    """Yield the HDSOs that a state's entry rule compares, and the rules in it."""
    ahead = [state.rule.mods[0].ref] if state.rule.mods else []
    seen: set[int] = set()
    while ahead:
        entry = scope.table.get(ahead.pop())
        if entry is None or entry.hdso.id_num in seen:
            continue
        seen.add(entry.hdso.id_num)
        yield entry.hdso.id_num
        text = scope.table.values.get(entry.hdso.id_num)
        tree = read_rule(text) if entry.kind == "boolstring" and isinstance(text, str) else None
        ahead += [] if tree is None else operands(tree)


def _of_type(
    ref: Ref, line: int, attribute: str, use: str, types: tuple[str, ...], expected: str, scope: Scope
) -> None:
    """Report an HDSO of numbers of a type that cannot serve."""
    entry = scope.table.get(ref)
    if entry is not None and entry.kind in VALUE_KINDS and entry.hdso.datatype not in types:
        scope.error_at(line, attribute, f"{entry}, {use}, is of type {entry.hdso.datatype}", expected)


def _not_negative(entry: HdsoEntry | None, line: int, attribute: str, use: str, scope: Scope) -> None:
    values = None if entry is None else scope.table.values.get(entry.hdso.id_num)
    if values and not isinstance(values, str) and values[0] < 0:
        what = f"{use} is {write_number(values[0])}"
        scope.error_at(line, attribute, what, "0 or more", f"{entry} holds it; 0 is none")


def check_influences(activation: MuscleActivation, label: str, scope: Scope) -> None:
    """Report influences on an activation that cannot be, and bounds that are none."""
    for influence in activation.influences:
        _check_influence(influence, label, scope)
    if not activation.bounds:
        return
    place = scope.place(activation.line, "bounds")
    entries = [scope.table.find(ref, place, scope.problems) for ref in activation.bounds]
    known = [entry for entry in entries if entry is not None]
    if not all(scope.want_kind(entry, VALUE_KINDS, place, f"a bound of the {label}") for entry in known):
        return
    count = sum(entry.count for entry in known)
    if len(known) == len(entries) and count != 2:
        scope.error(place, f"the {label} has {counted(count, 'bound')}", "2: the lowest and the highest activation")
    elif (values := scope.table.elements(activation.bounds)) and values[0] > values[1]:
        what = f"the lowest activation of the {label} is {values[0]:g} and the highest {values[1]:g}"
        scope.error(place, what, "the lowest first")
    if not activation.influences:
        scope.warning(place, f"the {label} has bounds and no influence", hint="they limit what influences add")


def _check_influence(influence: Influence, label: str, scope: Scope) -> None:
    use = f"the signal of an influence on the {label}"
    _number(influence.signal, influence.line, "signal", use, scope, ("sensor",))
    _number(influence.gain, influence.line, "gain", f"the gain of an influence on the {label}", scope, READ_KINDS)
    place = scope.place(influence.line, "parameters" if influence.parameters else "signal")
    entries = [scope.table.find(ref, place, scope.problems) for ref in influence.parameters]
    known = [entry for entry in entries if entry is not None]
    for entry in known:
        if scope.want_kind(entry, VALUE_KINDS, place, f"a parameter of an influence on the {label}"):
            scope.want_value(entry, place, f"a parameter of an influence on the {label}")
    count, needed = sum(entry.count for entry in known), INFLUENCE_PARAMETERS.get(influence.function or "", 0)
    if len(known) == len(entries) and count != needed:
        named = f"function {influence.function}" if influence.function else "no function"
        what = f"an influence on the {label} has {named} and {counted(count, 'parameter')}"
        scope.error(place, what, f"{needed}, counting the elements of its HDSOs")


def check_central(state: State, scope: Scope) -> None:
    """Report a central entry whose rule or hold cannot be."""
    central = state.central
    if central is None:
        return
    place = scope.place(central.line, "rule")
    entry = scope.table.find(central.rule, place, scope.problems)
    use = f"the rule of the central entry of {state.name}"
    if entry is not None and scope.want_kind(entry, ("boolstring",), place, use):
        if entry.hdso.id_num not in scope.table.values:
            scope.error(place, f"{entry}, {use}, has no text", "initial_data, its text")
        own = scope.table.get(state.rule.mods[0].ref) if state.rule.mods else None
        if own is entry:
            scope.error(place, f"{entry} is both entry rule and central rule of {state.name}", "a rule of its own")
    if central.hold is None:
        return
    use = f"the hold of the central entry of {state.name}"
    _number(central.hold, central.line, "hold", use, scope, VALUE_KINDS)
    _of_type(central.hold, central.line, "hold", use, ("llint",), "an llint: nanoseconds", scope)
    _not_negative(scope.table.get(central.hold), central.line, "hold", use, scope)


def check_action_signals(
    sensors: HdsoList, jointlist: JointList, file: str, table: HdsoTable, problems: Problems
) -> None:
    """Report signals about actions that name none, or nobody's; and others that name one."""
    scope = Scope(file, table, problems)
    owners = [joint.name for joint in jointlist.joints if joint.states] + [module.name for module in jointlist.modules]
    states = [state.name for state in all_states(jointlist)]
    for signal in signals_of(sensors):
        of_state = signal.type in ("state", "weight")
        known, what = (states, "state") if of_state else (owners, "joint or module with states")
        if signal.type not in ACTING:
            if signal.of is not None:
                hint = f"it belongs to {', '.join(sorted(ACTING))}"
                scope.error_at(signal.line, "of", f"{signal.name}, a {signal.type}, has of='{signal.of}'", "none", hint)
        elif signal.of is None:
            scope.error(
                signal.line, f"{signal.name}, a {signal.type}, does not say of what", f"of, the name of a {what}"
            )
        elif signal.of not in known:
            hint = did_you_mean(signal.of, known) if problems.guessing else ""
            scope.error_at(
                signal.line, "of", f"of='{shorten(signal.of)}' of {signal.name}", f"the name of a {what}", hint
            )
        if signal.type == "decay" and (signal.shape == "power") != (len(signal.parameters) > 1):
            count = counted(len(signal.parameters), "parameter")
            expected = "a time constant and an exponent" if signal.shape == "power" else "a time constant alone"
            scope.error_at(signal.line, "parameters", f"{signal.name}, a {signal.shape} decay, has {count}", expected)
    _check_logged(signals_of(sensors), jointlist, problems)


def _check_logged(signals: Sequence[Signal], jointlist: JointList, problems: Problems) -> None:
    """Warn of actions that are blended by weights that are in no log."""
    weighed = {signal.of for signal in signals if signal.type == "weight"}
    for joint in (joint for joint in jointlist.joints if joint.soft is not None):
        missing = [state.name for state in joint.states if state.name not in weighed]
        if missing and joint.soft is not None:
            what = f"the weight of {', '.join(missing)} is in no log"
            hint = 'a <signal type="weight" of="..."/> of each in sensors.xml makes it a column of SensData.txt'
            problems.warning(jointlist.source, joint.soft.line, what, hint=hint)


def check_modules(jointlist: JointList, scope: Scope, check_state: Callable[[State], None]) -> None:
    """Report everything wrong with modules without a motor, and actions that stand elsewhere.

    `check_state` looks at what their states have in common with those of joints.
    """
    for state in (state for joint in jointlist.joints for state in joint.states):
        if state.action is not None:
            hint = "activations of a joint's state drive its muscles"
            what = f"state {state.name} of a joint has an <action>"
            scope.error(state.action.line, what, "one in a state of a <module>", hint)
    for module in jointlist.modules:
        _check_module(module, scope, check_state)
    _check_written_rules(jointlist, scope)


def _check_written_rules(jointlist: JointList, scope: Scope) -> None:
    """Report rules that could go round in a circle once actions have written some of them."""
    rules = all_rule_parts(scope.table)
    lines: dict[int, int] = {}
    for mod in (mod for module in jointlist.modules for mod in module_writes(module)):
        entry = scope.table.get(mod.ref)
        if entry is not None and entry.kind == "boolstring":
            number, parts = entry.hdso.id_num, rule_parts(mod.data, scope.table)
            held = rules.get(number, RuleParts(0))
            rules[number] = RuleParts(max(held.terms, parts.terms), (*held.rules, *parts.rules))
            lines[number] = mod.line
    before = all_rule_parts(scope.table)
    already = {circle for circle, _ in find_circles(before, before)} if lines else set[tuple[int, ...]]()
    for circle, _ in find_circles(rules, lines) if lines else ():
        if circle not in already:
            what = f"by what modules write, rules would go round in a circle: {describe_circle(circle, scope.table)}"
            line = next(lines[number] for number in circle if number in lines)
            scope.error(line, what, "rules that do not need their own result")


def _check_module(module: UpperModule, scope: Scope, check_state: Callable[[State], None]) -> None:
    label = f"module {module.id_num} ({module.name})"
    own = {state.id_num for state in module.states}
    if not own:
        scope.error(module.line, f"{label} has no state", "at least one")
    elif module.start_state not in own and module.start_state > 0:
        line = attribute_line(module.line, "start_state_idNum")
        scope.error(line, f"start_state_idNum='{module.start_state}' of {label} is no state of it", "one of its states")
    for state in module.states:
        if state.activations:
            what = f"state {state.name} of {label} activates a muscle"
            scope.error(state.activations[0].line, what, "an <action>: a module has no muscles")
        check_state(state)
        for mod in () if state.action is None else state.action.mods:
            entry = scope.find(mod)
            if entry is not None and not mod.data:
                scope.error(mod.line, f"the action of {state.name} names {entry} and writes nothing", "data to write")
            elif entry is not None and scope.want_kind(entry, ("parameter", "boolstring"), mod.line, "what is written"):
                scope.check_initialiser(mod, entry)
