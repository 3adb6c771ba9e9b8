"""Places of global states on paper: the cycle on a ring, all others around it, each near what it is joined to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from nuc_engine.diagrams.nominal import GlobalState
from nuc_engine.diagrams.svg import Point


def places(
    cycle: Sequence[GlobalState], others: Sequence[GlobalState], joined: Iterable[tuple[GlobalState, GlobalState]]
) -> Mapping[GlobalState, Point]:
    """Return unit places (-1..1 in both directions): the cycle clockwise from the top on the inner ring.

    Without a cycle all states stand on one ring.
    """
    if not cycle:
        return {state: _on_ring(_turn(k, len(others)), 0.95) for k, state in enumerate(others)}
    turns = {state: _turn(k, len(cycle)) for k, state in enumerate(cycle)}
    found = {state: _on_ring(turn, 0.52) for state, turn in turns.items()}
    if not others:
        return {state: _on_ring(turn, 0.8) for state, turn in turns.items()}
    near = _neighbours(joined)
    wanted = {state: _mean_turn([turns[n] for n in sorted(near.get(state, ())) if n in turns]) for state in others}
    count = max(len(others), len(cycle))
    free = [(k + 0.5) / count for k in range(count)]
    for state in sorted(others, key=lambda s: (wanted[s] is None, wanted[s] or 0.0, s)):
        target = wanted[state]
        slot = min(free, key=lambda turn: (0.0 if target is None else _apart(turn, target), turn))
        free.remove(slot)
        found[state] = _on_ring(slot, 1.0)
    return found


def _turn(place: int, count: int) -> float:
    return place / max(count, 1)


def _on_ring(turn: float, radius: float) -> Point:
    angle = 2 * math.pi * turn
    return radius * math.sin(angle), -radius * math.cos(angle)


def _neighbours(joined: Iterable[tuple[GlobalState, GlobalState]]) -> dict[GlobalState, set[GlobalState]]:
    near: dict[GlobalState, set[GlobalState]] = {}
    for a, b in joined:
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    return near


def _mean_turn(turns: Sequence[float]) -> float | None:
    """Return the direction in the middle of several; None where there is none."""
    x = sum(math.cos(2 * math.pi * turn) for turn in turns)
    y = sum(math.sin(2 * math.pi * turn) for turn in turns)
    return None if math.hypot(x, y) < 1e-6 else (math.atan2(y, x) / (2 * math.pi)) % 1.0


def _apart(a: float, b: float) -> float:
    return round(abs((a - b + 0.5) % 1.0 - 0.5), 9)
