"""Which global states did follow which, in a bout: the actual global state diagram (section 9.5.1.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.series import Span
from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.figures.diagrams.nominal import GlobalState


@dataclass(frozen=True, slots=True)
class Stay:
    """One global state over a span of time: `share` of the time, number of `visits`, and their median length.

    Visits that begin or end with the span are cut off, so only whole ones count for `median_s` (None: there is none).
    """

    state: GlobalState
    share: float
    visits: int
    median_s: float | None


@dataclass(frozen=True, slots=True)
class Passage:
    """How often one global state was followed by another."""

    begin: GlobalState
    end: GlobalState
    count: int


@dataclass(frozen=True, slots=True)
class ObservedStates:
    """All global states of a span of time, the longest first, and all passages, the most frequent first."""

    span: Span
    stays: tuple[Stay, ...]
    passages: tuple[Passage, ...]


def global_states(bout: Bout, span: Span | None = None) -> ObservedStates:
    """Return the global states of a bout within a span of time (None: all of it).

    A record of StateData.txt counts until the next one. Raises AnalysisError when there is none in the span, or no
    joint has actions.
    """
    begin, end = (0.0, bout.end_s) if span is None else (span[0], min(span[1], bout.end_s))
    joints = [joint for joint in bout.joints if joint.states and joint.action is not None]
    if not joints:
        raise AnalysisError(f"{bout.label}: no joint has actions, so there are no global states")
    log = bout.states
    first = max(int(np.searchsorted(log.t_s, begin, side="right")) - 1, 0)
    last = int(np.searchsorted(log.t_s, end, side="left"))
    times = np.maximum(log.t_s[first:last], begin)
    if not len(times):
        raise AnalysisError(f"{bout.folder}: no actions were recorded from {begin:g} to {end:g} s")
    codes = np.stack([log.column(joint.action or "") for joint in joints], axis=1)[first:last].astype(np.int64)
    return count_states(times, [tuple(int(k) for k in row) for row in codes.tolist()], end)


def count_states(times_s: FloatArray, states: list[GlobalState], end_s: float) -> ObservedStates:
    """Return stays and passages of a sequence: `states[k]` from `times_s[k]` to the next time, the last to `end_s`."""
    starts = [k for k in range(len(states)) if k == 0 or states[k] != states[k - 1]]
    edges = [*(float(times_s[k]) for k in starts), float(end_s)]
    lengths: dict[GlobalState, list[float]] = {}
    whole: dict[GlobalState, list[float]] = {}
    passed: dict[tuple[GlobalState, GlobalState], int] = {}
    for place, k in enumerate(starts):
        length = edges[place + 1] - edges[place]
        lengths.setdefault(states[k], []).append(length)
        if 0 < place < len(starts) - 1:
            whole.setdefault(states[k], []).append(length)
        if place:
            pair = states[starts[place - 1]], states[k]
            passed[pair] = passed.get(pair, 0) + 1
    total = max(edges[-1] - edges[0], 1e-12)
    stays = [
        Stay(state, sum(spans) / total, len(spans), float(np.median(whole[state])) if state in whole else None)
        for state, spans in lengths.items()
    ]
    return ObservedStates(
        (edges[0], edges[-1]),
        tuple(sorted(stays, key=lambda stay: (-stay.share, stay.state))),
        tuple(
            sorted((Passage(*pair, count) for pair, count in passed.items()), key=lambda p: (-p.count, p.begin, p.end))
        ),
    )
