"""Numbers as the logs give them back: the same, to the last bit, as writing and reading them."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.recording.digits import as_logged
from nuc_engine.recording.logs import NUMBER


def bits(numbers) -> list[bytes]:
    return [struct.pack("<d", number) for number in numbers]


def written_and_read(numbers) -> list[float]:
    return [float(NUMBER % number) for number in numbers]


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.floats(allow_nan=False) | st.floats(width=32, allow_nan=False), max_size=40))
def test_any_number_comes_out_as_from_a_log(numbers) -> None:
    assert bits(as_logged(np.array(numbers, dtype=np.float64))) == bits(written_and_read(numbers))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(10**8, 10**9), st.integers(-20, 12), st.integers(-3, 3), st.booleans())
def test_so_does_what_lies_half_way_between_two_of_them(whole: int, power: int, ulps: int, below: bool) -> None:
    number = float(f"{whole}.5e{power}")
    for _ in range(abs(ulps)):
        number = math.nextafter(number, math.inf if ulps > 0 else -math.inf)
    number = -number if below else number
    assert bits(as_logged(np.array([number]))) == bits(written_and_read([number]))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(-25, 20), st.integers(-4, 4))
def test_so_do_powers_of_ten_and_their_neighbours(power: int, ulps: int) -> None:
    number = float(f"1e{power}")
    for _ in range(abs(ulps)):
        number = math.nextafter(number, math.inf if ulps > 0 else -math.inf)
    assert bits(as_logged(np.array([number]))) == bits(written_and_read([number]))


def test_a_hundred_thousand_numbers_as_a_leg_has_them() -> None:
    rng = np.random.default_rng(7)
    angles = rng.normal(90.0, 30.0, 50_000).astype(np.float32).astype(np.float64)
    forces = rng.normal(0.0, 1.0, 50_000) ** 3
    numbers = np.concatenate([angles, forces])
    assert bits(as_logged(numbers)) == bits(written_and_read(numbers))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 3)])
def test_the_shape_stays(shape: tuple[int, ...]) -> None:
    assert as_logged(np.ones(shape)).shape == shape


def test_what_is_no_number_stays_so() -> None:
    found = as_logged(np.array([math.nan, math.inf, -math.inf, 0.0, -0.0]))
    assert math.isnan(found[0])
    assert bits(found[1:]) == bits([math.inf, -math.inf, 0.0, -0.0])
