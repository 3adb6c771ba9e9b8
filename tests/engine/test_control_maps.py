"""Controls: values follow them on straight lines; one that has no value is nothing; nobody else writes what follows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.bout.run import BoutRefused, prepare_bout
from nuc_engine.model.store import refusal
from nuc_engine.model.values import initial_values
from sccils_schemas.model import load_model
from sccils_schemas.owners import mapped
from tests.engine.acting import bout, case, motor_log
from tests.verify.variants import documents

DRIVES = {126: (0.45, 0.85), 127: (0.3, 0.55), 130: (0.6, 1.0), 131: (0.08, 0.15)}
"""The agonists that step, from half drive to that of the configuration."""


def speed(initial: str = "") -> str:
    maps = "".join(f'<map hdso="{number}">0 {low} 1 {high}</map>' for number, (low, high) in DRIVES.items())
    return f'<control idNum="150" name="speed" range="0 1"{initial}>{maps}</control>'


def write(value: float, at_s: float = 0.0, number: int = 150) -> str:
    return f'<hdsoMod idNum="{number}" NumElts="1" datatype="double" time="{at_s}">{value}</hdsoMod>'


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=9, unique=True).map(sorted),
    st.randoms(use_true_random=False),
    st.floats(-2e3, 2e3),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_between_its_points_a_map_is_numpys_interpolation(places: list[float], random: object, x: float) -> None:
    values = [random.uniform(-10, 10) for _ in places]  # type: ignore[attr-defined]
    points = [number for pair in zip(places, values, strict=True) for number in pair]
    assert mapped(points, x) == pytest.approx(np.interp(x, places, values), abs=1e-9)
    assert [mapped(points, place) for place in places] == values


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_without_a_value_it_is_nothing(clock: str, tmp_path: Path) -> None:
    without = motor_log(bout(case(), tmp_path / "without", clock))
    assert motor_log(bout(case(hdsos=(speed(),)), tmp_path / "unset", clock)) == without


def test_at_the_configurations_own_values_it_is_nothing_too(tmp_path: Path) -> None:
    without = motor_log(bout(case(), tmp_path / "without"))
    assert motor_log(bout(case(hdsos=(speed(' initial="1"'),)), tmp_path / "own")) == without
    assert motor_log(bout(case(hdsos=(speed(' initial="0.5"'),)), tmp_path / "half")) != without


def test_what_follows_has_its_value_at_the_start_and_after_one_line_of_a_script(tmp_path: Path) -> None:
    config, _ = documents(case(hdsos=(speed(' initial="0.5"'),)), tmp_path)
    plan = prepare_bout(str(config), None).plan
    values = initial_values(plan)
    assert values[plan.hdso(126).index] == pytest.approx((0.65,))
    written = "".join(f'<hdsoMod idNum="{k}" NumElts="1" time="1">{low}</hdsoMod>' for k, (low, _) in DRIVES.items())
    by_hand = motor_log(bout(case(script=written), tmp_path / "by_hand"))
    assert motor_log(bout(case(hdsos=(speed(),), script=write(0.0, 1.0)), tmp_path / "by_control")) == by_hand


def test_a_direct_write_of_what_follows_is_refused(tmp_path: Path) -> None:
    given_case = case(hdsos=(speed(),), script=write(0.3, 1.0, number=126))
    reason = "written by the control speed, expected another parameter (one value has one writer"
    with pytest.raises(BoutRefused, match="written by the control speed") as refused:
        bout(given_case, tmp_path)
    assert reason in str(refused.value)
    plan = prepare_bout(str(tmp_path / "lin_roach"), None).plan
    assert "it is written by the control speed" in (refusal(plan.hdso(126), (0.3,)) or "")
    assert "outside the valid range" in (refusal(plan.hdso("speed"), (1.5,)) or "")


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ('<map hdso="126">0 1</map>', "has 2 numbers, expected two points or more"),
        ('<map hdso="126">0 1 0 2</map>', "do not rise, expected rising numbers"),
        ('<map hdso="126">0 0.5 0.5 1</map>', "reaches from 0 to 0.5, expected all of the range, 0 to 1"),
        ('<map hdso="126" element="1">0 0.5 1 1</map>', "is for element 1, expected 0 to 0"),
        ('<map hdso="302">0 0.5 1 1</map>', "is a sensor and stands as a value that follows fast"),
        ('<map hdso="2">0 100000 1 200000</map>', "neither times the engine nor is a control"),
        ('<map hdso="126">0 0.5 1 99</map>', "99 is no value for HDSO 126"),
        ('<map hdso="126">0 0 1 1</map><map hdso="126">0 0 1 1</map>', "expected one map of one value"),
    ],
)
def test_bad_maps_are_told(inside: str, words: str, tmp_path: Path) -> None:
    control = f'<control idNum="151" name="fast" range="0 1">{inside}</control>'
    config, _ = documents(case(hdsos=(control,)), tmp_path)
    model, problems = load_model(config)
    assert model is None
    assert words in str(problems)


def test_two_writers_of_one_value_are_told(tmp_path: Path) -> None:
    other = '<control idNum="151" name="fast" range="0 1"><map hdso="126">0 0 1 1</map></control>'
    config, _ = documents(case(hdsos=(speed(), other)), tmp_path)
    assert "is written by the control fast and by the control speed, expected one writer" in str(load_model(config)[1])
