"""Numbers of a plant.toml replaced for one bout, by dotted keys as `world.base_height_cm`."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, cast

from sccils_schemas.names import did_you_mean

_Path = tuple[str | int, ...]
MAY_BE_ADDED = ("servo.foot_ticks_n",)
"""Numbers that a plant.toml may leave out, and that can be given for a bout though."""


def override(data: Mapping[str, Any], overrides: Mapping[str, float], source: str) -> tuple[dict[str, Any], list[str]]:
    """Return the tables of a plant.toml with numbers replaced, and one line for each key that names none of them.

    An element of a list is named by its place, counted from 0: `servo.torque_cap_by_level.2`. Whether the new numbers
    may stand there is for `parse_spec`.
    """
    changed = copy.deepcopy(dict(data))
    places = dict(_numbers(changed, ()))
    for key in MAY_BE_ADDED:
        table, _, name = key.partition(".")
        if key in overrides and isinstance(changed.get(table), dict):
            changed[table].setdefault(name, 0.0)
            places[key] = (table, name)
    problems: list[str] = []
    for key, value in overrides.items():
        if key not in places:
            hint = did_you_mean(key, places)
            expected = "expected the dotted key of one of its numbers, as world.base_height_cm"
            problems.append(f"{source}: {key}: there is no such number; {expected}{f' ({hint})' if hint else ''}")
        else:
            _put(changed, places[key], value)
    return changed, problems


def _numbers(table: Any, path: _Path) -> Iterator[tuple[str, _Path]]:
    if isinstance(table, dict):
        items = cast(dict[str | int, Any], table).items()
    elif isinstance(table, list):
        items = cast(dict[str | int, Any], dict(enumerate(cast(list[Any], table)))).items()
    else:
        if isinstance(table, int | float) and not isinstance(table, bool):
            yield ".".join(map(str, path)), path
        return
    for name, value in items:
        yield from _numbers(value, (*path, name))


def _put(table: Any, path: _Path, value: float) -> None:
    for name in path[:-1]:
        table = table[name]
    # TOML tells 1000 from 1000.0, and a whole number that is replaced has to stay one.
    whole = isinstance(table[path[-1]], int) and float(value).is_integer()
    table[path[-1]] = int(value) if whole else value
