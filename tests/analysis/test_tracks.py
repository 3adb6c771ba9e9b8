from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuc_engine.analysis.tracks import median, percentile

NUMBERS = st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), min_size=1, max_size=40)


@given(NUMBERS, st.floats(0, 100) | st.sampled_from([5, 50, 95]))
def test_middle_and_shares_of_numbers_are_those_of_numpy_to_the_bit(numbers: list[float], percent: float) -> None:
    values = np.array(numbers)
    np.testing.assert_array_equal(median(values), np.median(values))
    np.testing.assert_array_equal(percentile(values, percent), np.percentile(values, percent))


def test_nothing_has_no_middle() -> None:
    assert np.isnan(median(np.array([])))
    with pytest.raises(IndexError):
        percentile(np.array([]), 50)
