"""Long scripts and large changesets: what is done for them grows as they do, counted in lines of code that are run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuc_engine.machine.locations import find_configuration
from nuc_engine.verify.course import replaced
from nuc_engine.verify.documents import read_model
from nuc_engine.verify.leg import Leg
from nuc_engine.verify.logs import Logs, Report
from nuc_engine.verify.rules import code_of, tokens_of, tree_of
from nuc_engine.verify.scripts import read_script
from nuc_engine.verify.store import Store

MOST = 2.2
"""How much more may be done for twice as much: a little for what does not divide."""


class Counted(float):
    """A number that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return float(self) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = float.__hash__


def lines_run(work: Callable[[], object]) -> int:
    """Return how many lines of Python are run, and counted numbers compared."""
    count = 0

    def trace(_: FrameType, event: str, __: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before, compared = sys.gettrace(), Counted.compared
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count + Counted.compared - compared


@pytest.fixture(scope="module")
def leg(tmp_path_factory: pytest.TempPathFactory) -> Leg:
    model = read_model(find_configuration("lin_roach"), {"": "aimotor"})
    store = Store(model.hdsos)
    for number, values in model.initial:
        store.write(number, values)
    logs = Logs(tmp_path_factory.mktemp("none"), model, "lin_roach", Report(), None, set())
    return Leg(model, store, logs, limits={}, approach_deg_s=None, weight=None)


def equal(_: Leg, size: int, __: Path) -> object:
    writes = [(109, (Counted(3.5), Counted(2.5))) for _ in range(size)]
    return lambda: replaced(writes, [False] * size)


def of_all_lengths(_: Leg, size: int, __: Path) -> object:
    # As much data in all for twice the size: lengths rise and fall, and all begin alike.
    writes = [(109, tuple(map(Counted, range(1 + k % 7)))) for k in range(size)]
    return lambda: replaced(writes, [False] * size)


def rules(leg: Leg, size: int, _: Path) -> object:
    width = leg.model.hdsos[161].width
    circle = code_of(tokens_of("162", leg.model.ids), width), code_of(tokens_of("161", leg.model.ids), width)
    writes = [(161 + k % 2, circle[k % 2]) for k in range(size)]
    return lambda: leg.write(writes)


def graduals(leg: Leg, size: int, folder: Path) -> object:
    mod = '<hdsoMod idNum="109" NumElts="1">{}</hdsoMod>'
    each = (f'<gradual time="{k}" duration="1" steps="9">{mod.format(k)}</gradual>' for k in range(size))
    path = folder / f"{size}.xml"
    path.write_text(f"<hdsoscript>{''.join(each)}</hdsoscript>")
    return lambda: read_script(path, {}, leg.model, leg.store)


def tokens(_: Leg, size: int, __: Path) -> object:
    code = code_of(tokens_of("|".join(["301"] * size), {}), 2 * size)
    return lambda: tree_of(code)


@pytest.mark.parametrize("work", [equal, of_all_lengths, rules, graduals, tokens], ids=lambda work: work.__name__)
def test_twice_as_much_takes_twice_as_long(work: Callable[..., Any], leg: Leg, tmp_path: Path) -> None:
    one, two = (lines_run(work(leg, size, tmp_path)) for size in (140, 280))
    assert 1.5 * one < two < MOST * one


VALUES = [values for size in (1, 2, 3) for values in product((0, 1), repeat=size)]


@given(st.lists(st.tuples(st.integers(1, 2), st.sampled_from(VALUES), st.booleans()), max_size=9))
def test_what_replaces_what_is_as_by_asking_every_later_write(items: list[tuple[int, tuple[int, ...], bool]]) -> None:
    writes, refused = [item[:2] for item in items], [item[2] for item in items]

    def over(place: int, later: int) -> bool:
        (number, values), (other, new) = writes[place], writes[later]
        same = number == other and not refused[place] and not refused[later]
        return same and len(new) >= len(values) and new[: len(values)] != values

    places = range(len(writes))
    expected = [any(over(place, later) for later in places[place + 1 :]) for place in places]
    assert replaced(writes, refused) == expected
