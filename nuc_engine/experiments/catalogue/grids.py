"""Bouts by the dozen: one table with `axes` stands for a bout at each crossing of them.

    bouts = [{ like = "leg", axes = [
      [{ label = "slow", values = { 131 = 0.07 } }, { label = "fast", values = { 131 = 0.15 } }],
      [{ label = "0 s" }, { label = "0.1 s", values = { load_delay = 0.1 } }],
    ] }]

are four bouts: "slow, 0 s", "slow, 0.1 s", "fast, 0 s" and "fast, 0.1 s".
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, cast

_AXES, _LABEL = "axes", "label"


def with_grids(value: Any) -> Any:
    """Return data with every table that has axes, wherever it stands in a list, in its places' stead."""
    if isinstance(value, dict):
        return {key: with_grids(own) for key, own in cast(dict[str, Any], value).items()}
    if not isinstance(value, list):
        return value
    found: list[Any] = []
    for own in cast(list[Any], value):
        found += _crossings(cast(dict[str, Any], own)) if isinstance(own, dict) and _AXES in own else [with_grids(own)]
    return found


def _crossings(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    common = {key: own for key, own in table.items() if key != _AXES}
    return [_joined(common, places) for places in product(*table[_AXES])]


def _joined(common: Mapping[str, Any], places: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
    """Return a table with what each place adds: tables are put together, everything else is replaced."""
    joined = dict(common)
    for place in places:
        for key, own in place.items():
            joined[key] = {**joined.get(key, {}), **own} if isinstance(own, dict) else own
    named = [str(each[_LABEL]) for each in (common, *places) if _LABEL in each]
    return {**joined, _LABEL: ", ".join(named)}
