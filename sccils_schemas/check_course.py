"""Checking what a changeset leaves behind: values that are each allowed, and that the engine could not compute with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sccils_schemas.documents import HdsoMod, JointList, Ref
from sccils_schemas.hdso_table import Entry, HdsoTable
from sccils_schemas.numbers import write_number
from sccils_schemas.problems import Problems


def check_after(
    changeset: Sequence[tuple[HdsoMod, Entry]], now: HdsoTable, jointlist: JointList, file: str, problems: Problems
) -> None:
    """Report what is wrong after a changeset, at the line of the write that made it so."""
    lines = {entry.hdso.id_num: mod.line for mod, entry in changeset}
    for refs, what, expected in faults(now, jointlist):
        entries = [now.get(ref) for ref in refs]
        blame = [lines[entry.hdso.id_num] for entry in entries if entry is not None and entry.hdso.id_num in lines]
        if blame:
            problems.error(file, blame[-1], what, expected)


def faults(now: HdsoTable, jointlist: JointList) -> Iterator[tuple[Sequence[Ref], str, str]]:
    """Yield the HDSOs, the fault and what was expected, for everything the engine could not compute with."""
    for joint in jointlist.joints:
        for muscle in joint.muscles:
            for spec in muscle.functions:
                refs = [mod.ref for mod in spec.mods]
                values = now.elements(refs) if spec.type == "parabolic" else None
                if values and values[0] == 0:
                    yield (
                        refs,
                        f"the first parameter of a parabolic function of {muscle.name} becomes 0",
                        "a number other than 0",
                    )
        for state in joint.states:
            if state.dwell_time is not None:
                values = now.elements([state.dwell_time.ref])
                if values and values[0] < 0:
                    yield (
                        [state.dwell_time.ref],
                        f"the dwell time of {state.name} becomes {write_number(values[0])} ns",
                        "0 or more",
                    )
            for activation in state.activations:
                values = None if activation.function == "constant" else now.elements(activation.parameters)
                for at in range(0, len(values or ()) - 4, 5):
                    if values and values[at + 3] == values[at + 4]:
                        what = f"wmin and wmax of muscle {activation.muscle} in {state.name} become equal"
                        yield activation.parameters, what, "two different numbers"
