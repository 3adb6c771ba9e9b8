"""Scripts with something about them changed: a value, entries left out, two changesets in the other order.

What stands at one time in a script is a changeset. Only plain writes (`hdsoMod`) are taken out or moved; what happens
to the leg, requests and gradual changes stay where they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.task import Value
from nuc_engine.model.plan import HdsoPlan, Plan
from sccils_schemas.documents import HdsoMod, HdsoScript
from sccils_schemas.names import did_you_mean


@dataclass(frozen=True, slots=True)
class NumberedWrite:
    """One write of a changeset: its number in the script, the HDSO it writes, and the write itself."""

    number: int
    hdso: HdsoPlan
    mod: HdsoMod


def entries_at(script: HdsoScript, plan: Plan, time_s: Decimal) -> tuple[NumberedWrite, ...]:
    """Return the changeset of this time, in document order."""
    return tuple(
        NumberedWrite(number, plan.hdso(mod.ref), mod)
        for number, mod in enumerate(script.entries)
        if isinstance(mod, HdsoMod) and mod.data and mod.time_s == time_s
    )


def changeset_times(script: HdsoScript) -> tuple[Decimal, ...]:
    """Return the times at which the script writes something, in order."""
    return tuple(sorted({mod.time_s for mod in script.entries if isinstance(mod, HdsoMod) and mod.data}))


def without(script: HdsoScript, numbers: Collection[int]) -> HdsoScript:
    """Return the script without the entries of these numbers."""
    return replace(script, entries=tuple(entry for k, entry in enumerate(script.entries) if k not in numbers))


def swapped(script: HdsoScript, one: Decimal, other: Decimal) -> HdsoScript:
    """Return the script with the changesets of two times in each other's place."""
    times: Mapping[Decimal, Decimal] = {one: other, other: one}
    moved = tuple(
        replace(entry, time_s=times.get(entry.time_s, entry.time_s)) if isinstance(entry, HdsoMod) else entry
        for entry in script.entries
    )
    return replace(script, entries=moved)


def with_values(script: HdsoScript, plan: Plan, values: Sequence[tuple[str, Decimal, Value]]) -> HdsoScript:
    """Return the script with other values in the writes of (HDSO, time).

    Of several writes of one HDSO at one time the last one counts, and is changed. Raises BulkRefused where there is no
    such write.
    """
    entries = list(script.entries)
    for name, time_s, value in values:
        written = [entry for entry in entries_at(script, plan, time_s) if entry.hdso is find_hdso(plan, name)]
        if not written:
            times = [time for time in changeset_times(script) if writes(script, plan, name, time)]
            when = f"at {', '.join(str(time) for time in times)} s" if times else "nowhere"
            raise BulkRefused(f"{name}@{time_s}: the script writes {name} {when}; expected such a time")
        last = written[-1]
        text = isinstance(value, str)
        entries[last.number] = replace(
            last.mod,
            data=value if isinstance(value, str) else (value,),
            num_elts=len(value) if isinstance(value, str) else 1,
            datatype="char" if text else "double" if isinstance(value, float) else last.mod.datatype,
        )
    return replace(script, entries=tuple(entries))


def writes(script: HdsoScript, plan: Plan, name: str, time_s: Decimal) -> bool:
    """Say whether the script writes this HDSO at this time."""
    hdso = find_hdso(plan, name)
    return any(entry.hdso is hdso for entry in entries_at(script, plan, time_s))


def find_hdso(plan: Plan, name: str) -> HdsoPlan:
    """Return the HDSO of this name or id. Raises BulkRefused, with the nearest name there is."""
    try:
        return plan.hdso(int(name) if name.isdecimal() else name)
    except KeyError:
        hint = did_you_mean(name, [hdso.name for hdso in plan.hdsos])
        raise BulkRefused(f"{name}: no HDSO of this name or id{f'; {hint}' if hint else ''}") from None
