"""Checking muscles and their functions (equations 6-5 and 6-6; the function types are those of sccils_joint.dtd)."""

from __future__ import annotations

from collections.abc import Mapping

from sccils_schemas.checks.hdso_table import Entry
from sccils_schemas.checks.scope import VALUE_KINDS, Scope
from sccils_schemas.documents import FunctionSpec, Muscle
from sccils_schemas.elements import USES
from sccils_schemas.lines import attribute_line
from sccils_schemas.names import counted

FUNCTION_PARAMETERS: Mapping[str, int] = {"constant": 1, "linear": 2, "parabolic": 3, "hyperbolic": 3}
"""Numbers a function takes, in order.

constant: p0. linear: p0 x + p1. parabolic: ((x - p1)^2 + 4 p0 p2) / (4 p0). hyperbolic: p0 / (x - p1) + p2.
"""


def check_muscle(muscle: Muscle, scope: Scope) -> None:
    """Report everything wrong with one muscle."""
    label = f"muscle {muscle.id_num} ({muscle.name})"
    if muscle.l_naught <= 0:
        scope.error_at(muscle.line, "Lnaught", f"Lnaught='{muscle.l_naught:g}' of {label}", "a length of more than 0")
    if muscle.fmax < 0:
        what = f"fmax='{muscle.fmax:g}' of {label} is negative"
        scope.warning(attribute_line(muscle.line, "fmax"), what, hint="the muscle would push")
    uses = {spec.use for spec in muscle.functions}
    for use in USES:
        if use not in uses:
            expected = "one function_spec for each of its three uses"
            scope.error(muscle.line, f"{label} has no function for {use}", expected)
    for spec in muscle.functions:
        if spec.use in uses:
            uses.remove(spec.use)
        else:
            scope.error_at(spec.line, "use", f"{label} has a second function for {spec.use}", "one")
        _check_function(spec, label, scope)


def _check_function(spec: FunctionSpec, label: str, scope: Scope) -> None:
    needed = FUNCTION_PARAMETERS.get(spec.type)
    if needed is None:
        expected = "one of " + ", ".join(FUNCTION_PARAMETERS)
        what = f"the {spec.use} function of {label} is of type '{spec.type}'"
        scope.error_at(spec.line, "type", what, expected)
        return
    entries = [scope.table.get(mod.ref) for mod in spec.mods]
    known: list[Entry] = []
    for mod, entry in zip(spec.mods, entries, strict=True):
        if entry is not None and scope.want_kind(entry, VALUE_KINDS, mod.line, "a parameter of a function"):
            scope.want_value(entry, mod.line, f"a parameter of {label}")
            known.append(entry)
    count = sum(entry.count for entry in known)
    if len(known) == len(entries) and count != needed:
        what = f"the {spec.use} function of {label} is {spec.type} and has {counted(count, 'parameter')}"
        scope.error(spec.line, what, f"{needed}, counting the elements of its HDSOs")
        return
    values = scope.table.elements([mod.ref for mod in spec.mods])
    if spec.type == "parabolic" and values and values[0] == 0:
        what = f"the {spec.use} function of {label} is parabolic with a first parameter of 0"
        scope.error(
            scope.value_line(spec.mods, 0, spec.line), what, "a number that is not 0", "the function divides by it"
        )
