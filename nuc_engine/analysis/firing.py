"""What let a joint change its action: its entry rules over time, and which of their comparisons came true.

Computed from the record: sensors as logged, thresholds and rules as the script log tells of them (section 4.2.2,
readings B5 and B7). A rule saw the last sensor record there was when it was evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from drivers.units import S_PER_NS
from nuc_engine.analysis.bout import Bout, JointInfo
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.tracks import BoolArray, FloatArray
from nuc_engine.analysis.windows import course_of
from nuc_engine.model.changes import Changeset
from nuc_engine.model.plan import HdsoPlan, Plan
from nuc_engine.model.values import Values, initial_values, rule_tokens
from sccils_schemas.rules import And, Inequality, Rule, Variable, parse_tokens, shifted


@dataclass(frozen=True, slots=True)
class RuleTerm:
    """A comparison in the entry rule of an action (its code): a sensor above or below what is named `limit`."""

    action: int
    sensor: str
    above: bool
    limit: str


@dataclass(frozen=True, slots=True)
class Fired:
    """A term at the evaluation that entered its action; `limit` is where the limit was then.

    `new`: it came true with that evaluation. Where none did, those that held are told of: the rule had been changed, or
    the joint could not leave its action before.
    """

    term: RuleTerm
    time_s: float
    limit: float
    new: bool


@dataclass(frozen=True, slots=True, eq=False)
class Firing:
    """A joint's rules over time: the limit of each term at `t_s`, shape (n,), NaN where no rule in force has it.

    `switches` counts the changes of action; in `unexplained` of them the record does not show the rule to hold.
    """

    t_s: FloatArray
    limits: Mapping[RuleTerm, FloatArray]
    fired: tuple[Fired, ...]
    switches: int
    unexplained: int


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A rule, or a part of one, at the records of an epoch; `limit` is a term's."""

    true: BoolArray
    parts: tuple[_Node, ...] = ()
    term: RuleTerm | None = None
    limit: FloatArray | None = None


@dataclass(slots=True, eq=False)
class _Track:
    """A term at all records: its limit, where it held, and where its rule was true by it."""

    limit: FloatArray
    held: BoolArray
    bore: BoolArray


def firing_of(bout: Bout, joint: JointInfo) -> Firing:
    """Return what a joint's rules were and did, in the whole bout.

    Raises BoutError when the data directory's copy of the configuration cannot be used.
    """
    plan, changesets = course_of(bout.folder)
    count = len(bout.states)
    tracks: dict[RuleTerm, _Track] = {}
    for part, values in _epochs(bout, plan, changesets):
        epoch = _Epoch(bout, plan, values, part)
        for code in joint.states:
            for node, bore in _borne(epoch.rule(plan.hdsos[plan.states[code].rule], code)):
                if node.term is not None and node.limit is not None:
                    track = tracks.setdefault(node.term, _Track(np.full(count, np.nan), *np.zeros((2, count), bool)))
                    track.limit[part], track.held[part] = node.limit, node.true
                    track.bore[part] |= bore
    switches = _switches(bout, joint)
    fired = [_fired(tracks, float(bout.states.t_s[k]), k, code) for k, code in switches]
    return Firing(
        t_s=bout.states.t_s,
        limits={term: track.limit for term, track in tracks.items()},
        fired=tuple(one for found in fired for one in found),
        switches=len(switches),
        unexplained=sum(not found for found in fired),
    )


def _epochs(bout: Bout, plan: Plan, changesets: Sequence[Changeset]) -> Iterator[tuple[slice, Sequence[Values | None]]]:
    """Yield stretches of state records between changesets, each with the values in force."""
    values = list(initial_values(plan))
    times = [changeset.time_ns * S_PER_NS + bout.shifted_s for changeset in changesets]
    edges = [0, *np.searchsorted(bout.states.t_s, times, side="left").tolist(), len(bout.states)]
    for k, (first, last) in enumerate(pairwise(edges)):
        for write in changesets[k - 1].writes if k else ():
            values[write.hdso] = write.values + (values[write.hdso] or ())[len(write.values) :]
        if last > first:
            yield slice(first, last), values


class _Epoch:
    """Rules at some state records, all with the same values."""

    def __init__(self, bout: Bout, plan: Plan, values: Sequence[Values | None], part: slice) -> None:
        self._plan, self._values, self._log = plan, values, bout.sensors
        self._times = times = bout.states.t_s[part]
        self._count = len(times)
        self._at = np.searchsorted(self._log.t_s, times, side="right") - 1
        self._known = self._at >= 0
        age_s = times[self._known] - self._log.t_s[self._at[self._known]]
        self._known[self._known] = age_s <= DEFAULT_CRITERIA.max_unrecorded_s

    def rule(self, hdso: HdsoPlan, action: int, delay_us: int = 0) -> _Node:
        """Return an action's rule, or a rule within it; one that has no value is never true."""
        held = self._values[hdso.index]
        if held is None:
            return _Node(np.zeros(self._count, dtype=np.bool_))
        return self._node(shifted(parse_tokens(rule_tokens(hdso, held)), delay_us), action)

    def _node(self, rule: Rule, action: int) -> _Node:
        if isinstance(rule, Inequality):
            return self._comparison(rule, action)
        if isinstance(rule, Variable):
            return self._alone(rule, action)
        parts = tuple(self._node(term, action) for term in rule.terms)
        whole = np.logical_and if isinstance(rule, And) else np.logical_or
        return _Node(whole.reduce([part.true for part in parts]), parts)

    def _comparison(self, rule: Inequality, action: int) -> _Node:
        first, second, above = rule.left, rule.right, rule.op == ">"
        if self._plan.hdso(first.ref).kind != "sensor":
            first, second, above = second, first, not above
        left, right = self._plan.hdso(first.ref), self._plan.hdso(second.ref)
        value, limit = self._numbers(left, first.delay_us), self._numbers(right, second.delay_us)
        term = RuleTerm(action, left.name, above, right.name) if left.kind == "sensor" else None
        return _Node(value > limit if above else value < limit, term=term, limit=limit)

    def _alone(self, operand: Variable, action: int) -> _Node:
        hdso = self._plan.hdso(operand.ref)
        if hdso.kind == "boolstring":
            return self.rule(hdso, action, operand.delay_us)
        value = self._numbers(hdso, operand.delay_us)
        return _Node((value != 0) & np.isfinite(value))

    def _numbers(self, hdso: HdsoPlan, delay_us: int) -> FloatArray:
        """Return the value of an HDSO as the store holds it, at each record; NaN where it is not known.

        A sensor is what it was its delay before, what is written counts from its changeset on.
        """
        found = np.full(self._count, np.nan)
        held = self._values[hdso.index]
        if hdso.kind != "sensor":
            found[:] = np.nan if held is None else held[0]
        elif hdso.name in self._log.columns:
            then = np.searchsorted(self._log.t_s, self._times[self._known] - delay_us * 1e-6, side="right") - 1
            at = np.maximum(then, 0) if delay_us else self._at[self._known]
            found[self._known] = self._log.column(hdso.name)[at]
        return found.astype(np.float32).astype(np.float64) if hdso.datatype == "float" else found


def _borne(node: _Node, by: BoolArray | None = None) -> Iterator[tuple[_Node, BoolArray]]:
    """Yield a rule's parts, and where the whole is true by each."""
    by = node.true if by is None else by & node.true
    yield node, by
    for part in node.parts:
        yield from _borne(part, by)


def _switches(bout: Bout, joint: JointInfo) -> list[tuple[int, int]]:
    """Return the records with which a joint was in another action than with the one before, and that action."""
    if joint.action is None:
        return []
    codes, times = bout.states.column(joint.action), bout.states.t_s
    gaps = {float(part.t_s[0]) for part in bout.states.stretches() if len(part)}
    changed = np.flatnonzero(np.diff(codes)) + 1
    return [(int(k), int(codes[k])) for k in changed if float(times[k]) not in gaps and int(codes[k]) in joint.states]


def _fired(tracks: Mapping[RuleTerm, _Track], time_s: float, k: int, code: int) -> list[Fired]:
    """Return the terms by which an action was entered with record `k`."""
    bearing = [
        Fired(term, time_s, float(track.limit[k]), bool(np.isfinite(track.limit[k - 1]) and not track.held[k - 1]))
        for term, track in tracks.items()
        if term.action == code and track.bore[k]
    ]
    return [one for one in bearing if one.new] or bearing
