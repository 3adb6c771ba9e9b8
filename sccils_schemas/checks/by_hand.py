"""Checking what a script changes gradually, and what it lets be done to a leg by hand."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from decimal import Decimal
from itertools import accumulate, pairwise

from sccils_schemas.by_hand import DisconnectEntry, KickEntry, LoadEntry, PlantEntry, ReconnectEntry
from sccils_schemas.checks.hdso_table import HdsoTable
from sccils_schemas.documents import Gradual, HdsoMod, HdsoScript, JointList, Ref
from sccils_schemas.lines import attribute_line, data_line
from sccils_schemas.names import did_you_mean, shorten
from sccils_schemas.numbers import nanoseconds
from sccils_schemas.problems import Problems

MAX_STEPS = 1000
"""Most steps of one gradual change."""
LONGEST_S = 3600
"""Longest that anything is done by hand, in seconds."""
STRONGEST_N = 1000
"""Greatest size of a force, or of one component of a kick's."""

Span = tuple[Decimal, Decimal, int]
"""Begin and end of a gradual change of one HDSO, and its line."""


def check_gradual(gradual: Gradual, file: str, problems: Problems) -> None:
    """Report times and steps that make no sense, and what has no values in between."""
    if gradual.duration_s <= 0:
        hint = "an hdsoMod of its own takes effect at once"
        line = attribute_line(gradual.line, "duration")
        problems.error(file, line, f"duration='{gradual.duration_s}'", "more than 0 seconds", hint)
    if not 1 <= gradual.steps <= MAX_STEPS:
        problems.error(file, attribute_line(gradual.line, "steps"), f"steps='{gradual.steps}'", f"1 to {MAX_STEPS}")
    elif nanoseconds(gradual.duration_s) < gradual.steps:
        what = f"{gradual.steps} steps in {nanoseconds(gradual.duration_s)} ns"
        problems.error(file, attribute_line(gradual.line, "steps"), what, "at most one for each nanosecond")
    for mod in gradual.mods:
        if isinstance(mod.data, str) and mod.data:
            what = f"'{shorten(mod.data, 30)}' inside <gradual> is text"
            problems.error(
                file, data_line(mod.line), what, "numbers", "a rule or a text changes at once, by an hdsoMod of its own"
            )


def check_alone(script: HdsoScript, table: HdsoTable | None, file: str, problems: Problems) -> None:
    """Report writes, and other gradual changes, of an HDSO while it is being changed gradually."""

    def meant(mod: HdsoMod) -> Ref:
        entry = None if table is None else table.get(mod.ref)
        return mod.ref if entry is None else entry.hdso.id_num

    spans: dict[Ref, list[Span]] = {}
    for entry in script.entries:
        if isinstance(entry, Gradual):
            for mod in entry.mods:
                span = (entry.time_s, entry.time_s + entry.duration_s, mod.line)
                spans.setdefault(meant(mod), []).append(span)
    for ref, found in spans.items():
        found.sort()
        for (_, end, _), (begin, _, line) in pairwise(found):
            if begin < end:
                what = f"HDSO {ref} is changed gradually from {begin} s on, and is still being so until {end} s"
                problems.error(file, line, what, "one after the other")
    ends = {ref: list(accumulate((end for _, end, _ in found), max)) for ref, found in spans.items()}
    for mod in script.entries:
        if not isinstance(mod, HdsoMod) or not mod.data or (ref := meant(mod)) not in spans:
            continue
        # Of the changes that began before it, the one that ends last.
        at = bisect_left(spans[ref], mod.time_s, key=_begin) - 1
        if at >= 0 and mod.time_s < ends[ref][at]:
            what = f"HDSO {ref} is written at {mod.time_s} s while it is changed gradually"
            problems.error(file, attribute_line(mod.line, "time"), what, "a time before or after that")


def _begin(span: Span) -> Decimal:
    return span[0]


def check_by_hand(script: HdsoScript, jointlist: JointList | None, file: str, problems: Problems) -> None:
    """Report what can not be done to a leg by hand; without a joint list any joint may be named."""
    entries = [entry for entry in script.entries if isinstance(entry, PlantEntry)]
    joints = None if jointlist is None else {joint.name: None for joint in jointlist.joints if not joint.endpoint}
    for entry in entries:
        _check_sizes(entry, file, problems)
        if isinstance(entry, DisconnectEntry) and joints is not None and entry.joint not in joints:
            what = f"there is no joint '{shorten(entry.joint)}'"
            expected = shorten(f"one of {', '.join(joints)}", 200)
            hint = did_you_mean(entry.joint, joints) if problems.guessing else ""
            problems.error(file, attribute_line(entry.line, "joint"), what, expected, hint)
    _check_hands(sorted(entries, key=lambda entry: entry.time_s), file, problems)


def _check_sizes(entry: PlantEntry, file: str, problems: Problems) -> None:
    duration = getattr(entry, "duration_s", None)
    if duration is not None and not 0 <= duration <= LONGEST_S:
        problems.error(
            file, attribute_line(entry.line, "duration"), f"duration='{duration}'", f"0 to {LONGEST_S} seconds"
        )
    forces: tuple[float, ...] = ()
    if isinstance(entry, KickEntry):
        forces = entry.force_n or ()
    elif isinstance(entry, LoadEntry):
        forces = (entry.newton,)
    if any(abs(force) > STRONGEST_N for force in forces):
        line = attribute_line(entry.line, "force" if isinstance(entry, KickEntry) else "newton")
        problems.error(file, line, f"a force of {max(forces, key=abs):g} N", f"at most {STRONGEST_N} N in size")


def _check_hands(entries: Sequence[PlantEntry], file: str, problems: Problems) -> None:
    """Follow a leg as it is taken apart and put together."""
    off: DisconnectEntry | None = None
    together = Decimal(0)
    for entry in entries:
        if isinstance(entry, DisconnectEntry):
            if off is not None or entry.time_s < together:
                what = f"the leg is apart already at {entry.time_s} s"
                problems.error(file, entry.line, what, "a reconnect that has ended by then")
            off = entry
        elif isinstance(entry, ReconnectEntry):
            if off is None:
                problems.error(file, entry.line, f"nothing is taken off at {entry.time_s} s", "a disconnect before it")
            elif entry.time_s < off.time_s + off.duration_s:
                what = f"the leg is still being taken apart at {entry.time_s} s"
                problems.error(file, entry.line, what, "a time when that has ended")
            off, together = None, entry.time_s + entry.duration_s
