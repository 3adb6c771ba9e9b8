from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.batch.axes import Axis, Sampling, draw_points, parse_axis, parse_seeds, with_whole
from nuc_engine.batch.errors import BulkRefused

numbers = st.floats(-1e6, 1e6, allow_nan=False).filter(lambda x: x == 0 or abs(x) > 1e-6)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("x=0:10:3", (0.0, 5.0, 10.0)),
        ("x=10:0:3", (10.0, 5.0, 0.0)),
        ("x=1:100:3:log", (1.0, 10.0, 100.0)),
        ("x=100:1:2:log", (100.0, 1.0)),
        ("x=1,2.5,3", (1, 2.5, 3)),
        ("plant.world.friction=0.1", (0.1,)),
        ("Enter_FT_Flexion=a > b,a < b", ("a > b", "a < b")),
    ],
)
def test_values_of_a_grid(text: str, values: tuple[object, ...]) -> None:
    assert (
        parse_axis(text).values() == pytest.approx(values) if text[2].isdigit() else parse_axis(text).values() == values
    )


@pytest.mark.parametrize(
    "text",
    ["x", "x=", "=1", "x=1:1:3", "x=1:2:1", "x=1:2:2.5", "x=0:2:3:log", "x=1:2:3:lin", "x=1:2:3:4:5", "x=1,1", "x=1,,2",
     "x=a:b:3", "x=nan:1:2", "x=0:inf:2", "x=1:2:1e400"],
)  # fmt: skip
def test_what_is_no_axis_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(BulkRefused, match="expected"):
        parse_axis(text).values()


def test_a_range_without_a_number_of_values_is_no_grid() -> None:
    with pytest.raises(BulkRefused, match="FROM:TO:N"):
        draw_points([parse_axis("x=0:1")], Sampling())


@given(low=numbers, high=numbers, count=st.integers(2, 50))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_grid_has_both_ends_and_stays_within(low: float, high: float, count: int) -> None:
    if low == high:
        return
    values = parse_axis(f"x={low!r}:{high!r}:{count}").values()
    assert values[0] == low
    assert values[-1] == high
    assert all(min(low, high) <= value <= max(low, high) for value in values)  # type: ignore[operator]


@given(given=st.text(st.characters(codec="ascii"), max_size=30))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_any_text_is_an_axis_or_refused(given: str) -> None:
    try:
        axis = parse_axis(f"x={given}")
    except BulkRefused:
        return
    assert axis.choices or math.isfinite(axis.low + axis.high)


def test_whole_numbers_are_rounded_and_come_once() -> None:
    axis = with_whole(parse_axis("x=0:3:7"), True)
    assert axis.values() == (0, 1, 2, 3)
    assert all(isinstance(value, int) for value in axis.values())


def test_a_grid_is_every_combination() -> None:
    points = draw_points([parse_axis("x=1,2"), parse_axis("y=a,b,c")], Sampling())
    assert points == ((1, "a"), (1, "b"), (1, "c"), (2, "a"), (2, "b"), (2, "c"))


def test_equal_ratios_are_drawn_too() -> None:
    axis = parse_axis("x=1:100:log")
    assert [axis.at(share) for share in (0.0, 0.5, 1.0)] == pytest.approx([1.0, 10.0, 100.0])


def test_nothing_varied_is_one_point() -> None:
    assert draw_points([], Sampling("random", 5)) == ((),)


@pytest.mark.parametrize("kind", ["random", "latin"])
def test_drawn_points_are_the_same_again_and_others_with_another_seed(kind: str) -> None:
    axes = [parse_axis("x=0:1"), parse_axis("y=5:6"), parse_axis("z=a,b")]
    points = draw_points(axes, Sampling(kind, 8, seed=3))  # type: ignore[arg-type]
    assert points == draw_points(axes, Sampling(kind, 8, seed=3))  # type: ignore[arg-type]
    assert points != draw_points(axes, Sampling(kind, 8, seed=4))  # type: ignore[arg-type]
    assert all(0 <= x <= 1 and 5 <= y <= 6 and z in "ab" for x, y, z in points)  # type: ignore[operator]


def test_a_latin_hypercube_has_each_tenth_of_each_axis_once() -> None:
    points = draw_points([parse_axis("x=0:1"), parse_axis("y=0:10")], Sampling("latin", 10, seed=1))
    assert sorted(int(x * 10) for x, _ in points) == list(range(10))  # type: ignore[operator, arg-type]
    assert sorted(int(y) for _, y in points) == list(range(10))  # type: ignore[arg-type]
    drawn = draw_points([parse_axis("x=0:1"), parse_axis("y=0:10")], Sampling("random", 10, seed=1))
    assert sorted(int(x * 10) for x, _ in drawn) != list(range(10))  # type: ignore[operator, arg-type]


def test_choices_are_drawn_evenly_in_a_latin_hypercube() -> None:
    points = draw_points([Axis("z", ("a", "b"))], Sampling("latin", 10))
    assert sorted(points) == [("a",)] * 5 + [("b",)] * 5


def test_too_many_points_are_refused() -> None:
    with pytest.raises(BulkRefused, match="at most"):
        draw_points([parse_axis(f"{name}=0:1:1000") for name in "abc"], Sampling())


@pytest.mark.parametrize(("text", "seeds"), [("3", (3,)), ("3:5", (3, 4, 5)), ("7,2", (7, 2))])
def test_seeds(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "5:3", "-1", "1,1", "1:2:3", "1.5"])
def test_what_is_no_seed_is_refused(text: str) -> None:
    with pytest.raises(BulkRefused, match="expected"):
        parse_seeds(text)
