"""Following a script through time: what is wrong only together, circles of rules and divisions by zero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from sccils_schemas.checks.hdso_table import Entry, HdsoTable, parameter_refs
from sccils_schemas.checks.rules import circle_through, describe_circle, rule_graph, rules_used
from sccils_schemas.documents import HdsoMod, JointList, Ref
from sccils_schemas.numbers import nanoseconds, write_number
from sccils_schemas.problems import Problems

Write = tuple[HdsoMod, Entry]


@dataclass(frozen=True, slots=True)
class _Watch:
    """Numbers the engine computes with: those of `refs` one after another, and what must not become of them."""

    refs: tuple[Ref, ...]
    kind: str
    of: str

    def fault(self, values: Sequence[int | float]) -> tuple[str, str]:
        """Return what is wrong with the numbers and what was expected, or two empty texts."""
        if self.kind == "parabolic" and values[0] == 0:
            return f"the first parameter of {self.of} becomes 0", "a number other than 0"
        if self.kind == "dwell" and values[0] < 0:
            return f"{self.of} becomes {write_number(values[0])} ns", "0 or more"
        if self.kind == "span" and any(values[at + 3] == values[at + 4] for at in range(0, len(values) - 4, 5)):
            return f"wmin and wmax of {self.of} become equal", "two different numbers"
        return "", ""


def check_course(
    writes: Sequence[Write], table: HdsoTable, jointlist: JointList, file: str, problems: Problems
) -> None:
    """Carry out a script's writes changeset by changeset, and report what each leaves behind."""
    now = table.copy()
    graph = rule_graph(now)
    watches: dict[int, list[_Watch]] = {}
    for watch in _watches(jointlist, now):
        for entry in filter(None, map(now.get, watch.refs)):
            watches.setdefault(entry.hdso.id_num, []).append(watch)
    ordered = sorted(writes, key=lambda write: write[0].time_s)
    for _, group in groupby(ordered, key=lambda write: nanoseconds(write[0].time_s)):
        # Of several writes to one HDSO at one time the last one stays.
        lines: dict[int, int] = {}
        for mod, entry in group:
            now.write(mod)
            lines[entry.hdso.id_num] = mod.line
        _check_circles(lines, now, graph, file, problems)
        touched = dict.fromkeys(watch for number in lines for watch in watches.get(number, ()))
        for watch in touched:
            values = now.elements(watch.refs)
            what, expected = watch.fault(values) if values else ("", "")
            if what:
                written = [now.get(ref) for ref in watch.refs]
                line = max(lines.get(entry.hdso.id_num, 0) for entry in written if entry is not None)
                problems.error(file, line, what, expected)


def _check_circles(
    lines: dict[int, int], now: HdsoTable, graph: dict[int, Sequence[int]], file: str, problems: Problems
) -> None:
    """Report circles that a changeset closes; `graph` is brought up to date."""
    changed = [number for number in lines if now.entries[number].kind == "boolstring"]
    for number in changed:
        text = now.values.get(number)
        graph[number] = sorted(rules_used(text, now)) if isinstance(text, str) else ()
    told: set[frozenset[int]] = set()
    for number in changed:
        circle = circle_through(graph, number)
        if circle and frozenset(circle) not in told:
            told.add(frozenset(circle))
            what = f"rules go round in a circle: {describe_circle(circle, now)}"
            line = max(lines.get(member, 0) for member in circle)
            problems.error(file, line, what, "rules that do not need their own result")


def _watches(jointlist: JointList, table: HdsoTable) -> Iterator[_Watch]:
    for joint in jointlist.joints:
        for muscle in joint.muscles:
            for spec in muscle.functions:
                if spec.type == "parabolic":
                    refs = tuple(mod.ref for mod in spec.mods)
                    yield _Watch(refs, "parabolic", f"the parabolic {spec.use} function of {muscle.name}")
        for state in joint.states:
            if state.dwell_time is not None:
                yield _Watch((state.dwell_time.ref,), "dwell", f"the dwell time of {state.name}")
            for activation in state.activations:
                if activation.function != "constant":
                    refs = parameter_refs(activation, table.kind)
                    yield _Watch(refs, "span", f"muscle {activation.muscle} in {state.name}")
