"""How sure a share is."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.batch.shares import wilson

COUNTS = st.integers(1, 400).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of)))


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    # By R's prop.test without continuity correction.
    [(20, 20, 0.8389, 1.0), (18, 20, 0.6990, 0.9721), (0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634)],
)
def test_intervals_are_wilson_s(count: int, of: int, low: float, high: float) -> None:
    assert wilson(count, of) == pytest.approx((low, high), abs=5e-5)


def test_there_is_no_interval_of_nothing() -> None:
    assert all(math.isnan(end) for end in wilson(0, 0))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(COUNTS)
def test_an_interval_holds_its_share_and_narrows_with_more_of_the_same(counts: tuple[int, int]) -> None:
    count, of = counts
    low, high = wilson(count, of)
    assert 0.0 <= low <= count / of <= high <= 1.0
    other_low, other_high = wilson(of - count, of)
    assert (1.0 - other_high, 1.0 - other_low) == pytest.approx((low, high))
    more_low, more_high = wilson(4 * count, 4 * of)
    assert more_high - more_low < high - low
