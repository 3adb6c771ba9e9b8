"""Checking geometry: an A-matrix must be a rigid transform, a DH line four numbers (readings B11, B14)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sccils_schemas.checks.hdso_table import HdsoEntry
from sccils_schemas.checks.scope import VALUE_KINDS, Scope
from sccils_schemas.documents import HdsoMod, Joint
from sccils_schemas.lines import data_line
from sccils_schemas.names import counted
from sccils_schemas.reader import STAND_IN

RIGID_TOLERANCE = 1e-3
"""Largest departure of an A-matrix from a rotation that passes, per element; three printed decimals are enough."""


def check_geometry(joint: Joint, scope: Scope) -> None:
    """Report everything wrong with a joint's geometry."""
    label = f"joint {joint.id_num} ({joint.name})"
    geometry = joint.geometry
    if geometry.amatrix is not None:
        matrix = _values(geometry.amatrix, 16, f"the A-matrix of {label}", scope)
        if matrix is not None:
            _check_rigid(matrix, geometry.amatrix.line, f"the A-matrix of {label}", scope)
    if geometry.dh_line is not None:
        line = _values(geometry.dh_line, 4, f"the DH line of {label}", scope)
        if line is not None and line[3] == 0:
            hint = "pi/180 = 0.017453292519943 for angles in degrees"
            scope.error(
                data_line(geometry.dh_line.line, 3),
                f"the DH line of {label} scales its angle by 0",
                "a fourth number",
                hint,
            )
    elif joint.servos and not joint.endpoint:
        scope.warning(joint.line, f"{label} has a motor but no DHline", hint="its link has no length")


def _values(mod: HdsoMod, count: int, use: str, scope: Scope) -> Sequence[int | float] | None:
    """Return the numbers of an A-matrix or a DH line, or None, reported.

    Its HDSO may be undeclared: lin_stickmiddle_minimal has it so, and the numbers then stand in the joint list only.
    """
    entry = scope.table.get(mod.ref)
    if entry is None and mod.data and mod.id_num >= 0 and not mod.id_by_name and scope.table.complete:
        what = f"HDSO {mod.id_num} of {use} is not declared in parameters.xml"
        scope.warning(mod.line, what, hint="its numbers are taken from here, and scripts can not change them")
    elif entry is None:
        entry = scope.find(mod)
        if entry is None and not mod.data:
            return None
    if entry is not None and not _check_entry(mod, entry, count, use, scope):
        return None
    data = mod.data or (() if entry is None else scope.table.values.get(entry.hdso.id_num, ()))
    if isinstance(data, str) or len(data) != count:
        have = "text" if isinstance(data, str) else counted(len(data), "number")
        if mod.id_num > STAND_IN:
            scope.error(mod.line, f"{use} has {have}", f"{count} numbers")
        return None
    return data


def _check_entry(mod: HdsoMod, entry: HdsoEntry, count: int, use: str, scope: Scope) -> bool:
    entry = scope.find(mod) or entry
    scope.check_initialiser(mod, entry)
    if not scope.want_kind(entry, VALUE_KINDS, mod.line, use):
        return False
    if entry.count != count:
        scope.error(mod.line, f"{entry} has {counted(entry.count, 'element')} and stands as {use}", f"{count} elements")
    return entry.count == count


def _check_rigid(matrix: Sequence[int | float], line: int, use: str, scope: Scope) -> None:
    rows = [matrix[4 * row : 4 * row + 4] for row in range(4)]
    bottom = (0, 0, 0, 1)
    if any(abs(value - wanted) > RIGID_TOLERANCE for value, wanted in zip(rows[3], bottom, strict=True)):
        shown = " ".join(f"{value:g}" for value in rows[3])
        hint = "the translation stands in the last column"
        scope.error(data_line(line, 12), f"the last row of {use} is {shown}", "0 0 0 1", hint)
    axes = [[rows[row][column] for row in range(3)] for column in range(3)]
    for first in range(3):
        for second in range(first, 3):
            product = math.fsum(a * b for a, b in zip(axes[first], axes[second], strict=True))
            if abs(product - (first == second)) > RIGID_TOLERANCE:
                what = f"columns {first + 1} and {second + 1} of {use} have product {product:.4g}"
                if first == second:
                    what = f"column {first + 1} of {use} has length {math.sqrt(product):.4g}"
                expected = "1" if first == second else "0"
                scope.error(line, what, expected, "the first three rows and columns must be a rotation")
                return
    (a, b, c), (d, e, f), (g, h, i) = axes
    if a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) < 0:
        scope.error(line, f"{use} mirrors", "a rotation", "turn the sign of one column round")
