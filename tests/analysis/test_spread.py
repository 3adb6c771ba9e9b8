"""Spread of steps: known values, simulated nulls, and what the resolution alone makes of equal steps."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.spread import (
    Resolution,
    bimodality,
    compare,
    ks_p,
    noise_samples,
    probability,
    rank_sum_p,
    runs_test,
    samples_of,
    spread,
    spread_ratio,
    step_samples,
)
from nuc_engine.machine.needs import Missing
from tests.analysis.gaits import restricted_leg
from tests.analysis.synthetic import FWD, leg


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_durations_run_from_minimum_to_minimum() -> None:
    samples = step_samples(leg(FWD, 30.0), 3.0, 30.0)
    assert len(samples.duration_s) == len(samples.minima_s) - 1 == 28
    np.testing.assert_allclose(samples.duration_s, 0.9, atol=0.02)
    np.testing.assert_allclose(samples.minima_deg, 60 - 12.5, atol=0.1)


def test_differences_are_those_of_successive_minima() -> None:
    t = np.arange(0, 20, 0.005)
    depth = np.interp(np.floor(t), [0, 5, 20], [0.0, 10.0, 10.0])
    samples = samples_of(t, 30 * np.cos(2 * np.pi * t) - depth)
    np.testing.assert_allclose(samples.lift_off_difference_deg[:5], [-2.0] * 5, atol=0.1)
    np.testing.assert_allclose(samples.lift_off_difference_deg[6:], 0.0, atol=0.1)


def test_where_the_thorax_coxa_joint_is_held_the_knee_is_taken() -> None:
    np.testing.assert_allclose(step_samples(restricted_leg(), 3.0, 20.0).duration_s, 1.4, atol=0.02)


def test_spreads_of_known_samples() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    assert spread(values) == pytest.approx((2 + 1 + 0 + 1 + 7) / 5)
    assert spread(values, "iqr") == pytest.approx(2.0)
    assert spread(values, "sd") == pytest.approx(np.std(values, ddof=1))
    assert np.isnan(spread(np.array([])))


def test_the_mean_deviation_neither_jumps_by_ticks_nor_hangs_on_one_step() -> None:
    """The reasons for the choice: coarse values, and one wild step among hundreds."""
    fine = generator().normal(0, 0.5, 400)
    coarse = np.round(fine / 0.654) * 0.654
    assert spread(coarse, "iqr") in (0.0, 0.654)
    assert spread(coarse) == pytest.approx(spread(fine), rel=0.2)
    wild = np.append(fine, 40.0)
    assert spread(wild) / spread(fine) < 1.4
    assert spread(wild, "sd") / spread(fine, "sd") > 3


@pytest.mark.parametrize("true", [1.0, 0.5])
def test_the_interval_holds_the_true_ratio_as_often_as_it_says(true: float) -> None:
    rng = generator(7)
    inside = 0
    for k in range(40):
        found = spread_ratio(rng.normal(3, true, 120), rng.normal(-2, 1.0, 120), seed=k, resamples=150)
        inside += found.low <= true <= found.high
    assert inside >= 34  # 95 % of 40 is 38; with 95 %, fewer than 34 have a chance below 1 in 50


def test_equal_seeds_make_equal_intervals() -> None:
    a, b = generator().normal(size=50), generator(2).normal(size=50)
    assert spread_ratio(a, b, seed=4) == spread_ratio(a, b, seed=4)
    assert spread_ratio(a, b, seed=4) != spread_ratio(a, b, seed=5)


def test_neighbours_that_depend_on_each_other_widen_the_interval() -> None:
    """Each level is kept for nine steps: so many values tell far less than independent ones."""
    levels = np.repeat(generator(3).normal(size=30), 9)
    shuffled = generator(4).permutation(levels)
    other = generator(5).normal(size=270)
    bound, free = spread_ratio(levels, other, seed=1), spread_ratio(shuffled, other, seed=1)
    assert bound.ratio == pytest.approx(free.ratio)
    assert bound.high - bound.low > 1.5 * (free.high - free.low)


def test_samples_without_spread_have_an_infinite_ratio_or_none() -> None:
    flat, wide = np.zeros(20), generator().normal(size=20)
    assert spread_ratio(wide, flat).ratio == float("inf")
    assert spread_ratio(flat, wide).high == 0.0
    assert spread_ratio(flat, flat).ratio == 1.0
    with pytest.raises(ValueError, match="at least 2"):
        spread_ratio(np.array([1.0]), wide)


def test_runs_have_the_probabilities_of_counted_orders() -> None:
    """All orders of 4 highs and 3 lows, counted one by one."""
    counts: dict[int, int] = {}
    for order in product((0, 1), repeat=7):
        if sum(order) == 4:
            runs = 1 + sum(a != b for a, b in pairwise(order))
            counts[runs] = counts.get(runs, 0) + 1
    total = sum(counts.values())
    for runs in range(2, 8):
        assert probability(runs, 4, 3) == pytest.approx(counts.get(runs, 0) / total)


@pytest.mark.parametrize(
    ("above", "below", "few", "many"),
    [(5, 5, 2, 10), (6, 6, 3, 11), (8, 8, 4, 14), (10, 10, 6, 16), (12, 10, 7, 17), (15, 15, 10, 22), (20, 20, 14, 28)],
)
def test_runs_are_critical_where_the_printed_table_says(above: int, below: int, few: int, many: int) -> None:
    """Swed and Eisenhart (1943): so few, or so many, runs have a chance of at most 2.5 % each; one step in, more."""
    chance = {r: probability(r, above, below) for r in range(2, 2 * min(above, below) + 2)}
    assert sum(chance[r] for r in chance if r <= few) <= 0.025 < sum(chance[r] for r in chance if r <= few + 1)
    assert sum(chance[r] for r in chance if r >= many) <= 0.025 < sum(chance[r] for r in chance if r >= many - 1)


def test_drifts_and_alternation_are_not_random() -> None:
    rising, alternating = np.arange(20.0), np.tile([1.0, -1.0], 10)
    assert (runs_test(rising).runs, runs_test(alternating).runs) == (2, 20)
    assert runs_test(rising).p == runs_test(alternating).p == pytest.approx(2 * probability(2, 10, 10))
    long = runs_test(np.tile([1.0, -1.0], 100))
    assert long.p < 1e-10
    assert long.expected == 101


def test_values_at_the_centre_are_left_out() -> None:
    with_ties = np.array([1.0, 0.0, -1.0, 0.0, 0.0, 1.0, -1.0])
    assert runs_test(with_ties) == runs_test(np.array([1.0, -1.0, 1.0, -1.0]))
    assert np.isnan(runs_test(np.zeros(10)).p)
    assert np.isnan(runs_test(np.array([])).p)


def test_random_orders_are_seldom_called_otherwise() -> None:
    rng = generator(11)
    for n in (30, 200):
        assert sum(runs_test(rng.normal(size=n)).p < 0.05 for _ in range(400)) <= 36  # 20 expected


def test_differences_of_random_values_alternate() -> None:
    found = runs_test(np.diff(generator(6).normal(size=400)))
    assert found.p < 1e-4
    assert found.runs > found.expected


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 12), st.integers(1, 12))
def test_run_probabilities_are_a_distribution(above: int, below: int) -> None:
    chance = [probability(r, above, below) for r in range(2, above + below + 1)]
    assert sum(chance) == pytest.approx(1.0)
    assert min(chance) >= 0


def test_one_peak_and_two_are_told_apart() -> None:
    rng = generator(2)
    two = np.concatenate((rng.normal(0.7, 0.02, 300), rng.normal(1.0, 0.02, 300)))
    assert bimodality(rng.normal(size=5000)) == pytest.approx(1 / 3, abs=0.02)
    assert bimodality(rng.uniform(size=5000)) == pytest.approx(5 / 9, abs=0.02)
    assert bimodality(two) > 0.85
    assert np.isnan(bimodality(np.ones(10)))
    assert np.isnan(bimodality(np.array([1.0, 2.0])))


def test_tests_of_two_samples_give_known_probabilities() -> None:
    pytest.importorskip("scipy")
    a, b = np.arange(1.0, 6.0), np.arange(6.0, 11.0)
    assert ks_p(a, b) == pytest.approx(2 / 252)  # 2 of the 252 ways to take 5 of 10
    # Rank sum 15, expected 27.5, standard deviation 4.787, corrected for continuity: z = 2.507.
    assert rank_sum_p(a, b) == pytest.approx(0.01219, abs=1e-4)
    assert ks_p(a, a) == 1.0


def test_under_the_null_hypothesis_p_is_small_as_often_as_it_should_be() -> None:
    pytest.importorskip("scipy")
    rng = generator(5)
    small = np.array(
        [[p(rng.normal(size=80), rng.normal(size=90)) < 0.05 for p in (ks_p, rank_sum_p)] for _ in range(300)]
    )
    assert np.all(small.sum(axis=0) <= 28)  # 15 expected
    assert np.all(small.sum(axis=0) >= 4)


def test_a_comparison_holds_everything_as_numbers() -> None:
    pytest.importorskip("scipy")
    narrow, wide = generator(1).normal(0, 1, 400), generator(2).normal(0, 2, 300)
    found = compare(narrow, wide, seed=3)
    assert 0.3 < found.ratio.low < found.ratio.ratio < found.ratio.high < 0.7
    assert found.ks_p < 1e-6 < 0.05 < found.rank_sum_p
    numbers = found.numbers()
    assert (numbers["n 1"], numbers["n 2"]) == (400.0, 300.0)
    assert numbers["spread ratio"] == found.ratio.ratio
    assert all(isinstance(value, float) for value in numbers.values())


def test_without_scipy_the_tests_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(Missing, match=r"needs SciPy: .*\[lab\]"):
        ks_p(np.arange(4.0), np.arange(4.0))


def test_perfect_resolution_makes_no_noise() -> None:
    perfect = noise_samples(leg(FWD, 30.0), 3.0, 30.0, Resolution(tick_deg=1e-6, noise_ticks=0.0, state_period_s=0.0))
    assert spread(perfect.duration_s) < 0.006  # the sensors are read every 5 ms
    assert spread(perfect.lift_off_difference_deg) < 0.02


def test_ticks_noise_and_late_switching_each_add_to_the_level() -> None:
    tracks = leg(FWD, 30.0)
    fine = Resolution(tick_deg=0.01, noise_ticks=0.0, state_period_s=0.0)
    level = {
        name: noise_samples(tracks, 3.0, 30.0, resolution)
        for name, resolution in {
            "fine": fine,
            "noisy": replace(fine, tick_deg=0.654, noise_ticks=0.3),
            "late": replace(fine, state_period_s=0.025),
        }.items()
    }
    difference = {name: spread(samples.lift_off_difference_deg) for name, samples in level.items()}
    assert difference["noisy"] > 5 * difference["fine"]
    # Falling by 25 degrees in 0.45 s, late by up to 25 ms: up to 1.4 degrees, a difference of two such.
    assert difference["late"] == pytest.approx(25 / 0.45 * 0.025 / 3, rel=0.15)
    # Two changes of action, each late by up to 25 ms.
    assert spread(level["late"].duration_s, "sd") == pytest.approx(0.025 / np.sqrt(6), rel=0.25)


def test_the_noise_level_is_repeatable_and_needs_cycles() -> None:
    tracks = leg(FWD, 10.0)
    one, two = (noise_samples(tracks, 0.0, 10.0, seed=2, cycles=50) for _ in range(2))
    np.testing.assert_array_equal(one.minima_deg, two.minima_deg)
    with pytest.raises(AnalysisError, match="expected at least 3"):
        noise_samples(tracks, 0.0, 2.0)
