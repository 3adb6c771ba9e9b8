from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.batch.criterion import Criterion, exact, parse_criterion, score_of, wilson
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.plan import SweepRequest, make_plan

OWN = """
def long_enough(sight):
    return len(sight.steps) >= 2, min(len(sight.steps) / 10, 1.0)

def too_good(sight):
    return True, 3.0
"""


@pytest.fixture(scope="module")
def order() -> tuple[object, Criterion]:
    plan = make_plan(SweepRequest("lin_roach", duration_s=12.0))
    return plan.task(0), parse_criterion("FWD", "FWD")


def test_an_outcome_is_good_where_it_is_the_one_asked_for(order: tuple[object, Criterion]) -> None:
    task, forward = order
    walks = score_of((task, forward))  # type: ignore[arg-type]
    turns = score_of((task, parse_criterion("ITB", "FWD")))  # type: ignore[arg-type]
    stuck = score_of((task, parse_criterion("stuck", "FWD")))  # type: ignore[arg-type]
    assert (walks.good, walks.seen) == (True, "FWD")
    assert not turns.good
    assert 0.8 < walks.margin <= 1.0
    assert 0.0 < turns.margin < walks.margin
    assert (stuck.good, stuck.margin) == (False, 0.0)


def test_a_function_of_ones_own(order: tuple[object, Criterion], tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    task, _ = order
    score = score_of((task, parse_criterion(f"{tmp_path / 'own.py'}:long_enough", "FWD")))  # type: ignore[arg-type]
    assert score.good
    assert 0.2 <= score.margin <= 1.0
    with pytest.raises(ValueError, match="expected 0 to 1"):
        score_of((task, parse_criterion(f"{tmp_path / 'own.py'}:too_good", "FWD")))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["forward", "own.py:nothing", "nowhere.py:f", "f", ":f"])
def test_what_is_no_criterion_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BulkRefused):
        parse_criterion(text, "FWD")


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


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(3, 3, 0.2924, 1.0), (2, 2, 0.1581, 1.0), (0, 3, 0.0, 0.7076), (1, 3, 0.0084, 0.9057), (5, 10, 0.1871, 0.8129)],
)
def test_the_exact_interval_is_that_of_the_tables(count, of, low, high):
    assert exact(count, of) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_an_exact_interval_of_nothing_is_no_interval():
    assert all(math.isnan(end) for end in exact(0, 0))
