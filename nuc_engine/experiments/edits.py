"""A script with single writes changed, for bouts that ask what one value of a changeset does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from nuc_engine.batch.scratch import scratch_folder
from nuc_engine.bout.run import BoutRefused, prepare_bout
from nuc_engine.experiments.nerves import cut, waiting
from nuc_engine.experiments.protocol import BoutPlan
from sccils_schemas.documents import Gradual, HdsoMod, HdsoScript, ScriptEntry
from sccils_schemas.writer import write

Edits = Mapping[tuple[int, float], float | None]
"""(HDSO id, time in s) -> the new value; None leaves the write out."""


def script_of(plan: BoutPlan, folder: Path) -> str | None:
    """Return the script a bout is run with: its own, or one with its edits, written into `folder`.

    Raises BoutRefused for edits of a bout without a script, and where there is nothing to leave out.
    """
    if not is_edited(plan):
        return plan.script
    script = None if plan.script is None else prepare_bout(plan.config, plan.script).script
    if script is None:
        raise BoutRefused(f"{plan.label}: edits without a script; expected a script they can be made in")
    path = folder / f"{plan.label.replace(' ', '_')}.xml"
    whole = cut(waiting(moved(edited(script, plan.edits), plan.moved), plan.waits), plan.cuts)
    path.write_bytes(write(whole))
    return str(path)


def is_edited(plan: BoutPlan) -> bool:
    """Say whether a bout's script is its own no more."""
    return bool(plan.edits or plan.moved or plan.waits or plan.cuts)


def check_edits(plan: BoutPlan) -> None:
    """Check the edits of a bout. Raises BoutRefused as `script_of` does, and for values that are not allowed."""
    with scratch_folder() as folder:
        prepare_bout(plan.config, script_of(plan, folder), values=plan.values)


def edited(script: HdsoScript, edits: Edits) -> HdsoScript:
    """Return the script with these writes changed, left out or, where there are none, added.

    A gradual change is known by the time it begins. Raises BoutRefused where there is nothing to leave out.
    """
    for (number, time_s), value in edits.items():
        when = Decimal(str(time_s))
        if _writes(script, number, when):
            entries = tuple(new for old in script.entries for new in _entry(old, number, when, value))
        elif value is None:
            raise BoutRefused(f"{number}@{time_s:g}: the script does not write it then; nothing to leave out")
        else:
            entries = (*script.entries, HdsoMod(number, 1, (value,), time_s=when))
        script = replace(script, entries=entries)
    return script


def moved(script: HdsoScript, times_s: Mapping[float, float]) -> HdsoScript:
    """Return the script with everything it writes at once at these times written at others.

    Gradual changes, and what is done to the leg by hand, stay where they are. Raises BoutRefused for a time at which
    nothing is written at once.
    """
    shifts = {Decimal(str(old)): Decimal(str(new)) for old, new in times_s.items()}
    written = {entry.time_s for entry in script.entries if isinstance(entry, HdsoMod)}
    if unknown := [time for time in shifts if time not in written]:
        raise BoutRefused(f"{float(unknown[0]):g} s: the script writes nothing at once then; nothing to move")
    return replace(script, entries=tuple(_shifted(entry, shifts) for entry in script.entries))


def _shifted(entry: ScriptEntry, shifts: Mapping[Decimal, Decimal]) -> ScriptEntry:
    if isinstance(entry, HdsoMod) and entry.time_s in shifts:
        return replace(entry, time_s=shifts[entry.time_s])
    return entry


def _entry(entry: ScriptEntry, number: int, when: Decimal, value: float | None) -> tuple[ScriptEntry, ...]:
    """Return what stands in place of an entry: itself, changed, or nothing."""
    if isinstance(entry, Gradual) and entry.time_s == when:
        mods = tuple(new for mod in entry.mods for new in _mod(mod, number, value))
        return (replace(entry, mods=mods),) if mods else ()
    if isinstance(entry, HdsoMod) and entry.time_s == when:
        return _mod(entry, number, value)
    return (entry,)


def _mod(mod: HdsoMod, number: int, value: float | None) -> tuple[HdsoMod, ...]:
    if mod.id_num != number:
        return (mod,)
    return () if value is None else (replace(mod, num_elts=1, data=(value,)),)


def _writes(script: HdsoScript, number: int, when: Decimal) -> bool:
    mods = [
        mod
        for entry in script.entries
        if isinstance(entry, Gradual | HdsoMod) and entry.time_s == when
        for mod in (entry.mods if isinstance(entry, Gradual) else (entry,))
    ]
    return any(mod.id_num == number for mod in mods)
