"""What is said of a fit's certainty, held against the textbook: a straight line's slope and Student's t."""

import math

import numpy as np
import pytest

from drivers.bench.fit import as_data, fit_rows, table_of
from drivers.bench.motion import Ending
from drivers.bench.torque import TorquePoint


def row(ticks, torque, *, speed=0.0, stood=True):
    return TorquePoint(ticks, torque, 0.0, 50, speed, stood, Ending.DONE)


def both_ways(ticks, torques):
    return [row(sign * tick, sign * torque) for tick, torque in zip(ticks, torques, strict=True) for sign in (1, -1)]


def line(ticks, torques):
    """Return slope, its standard error, and where the line leaves zero."""
    (slope, offset), cov = np.polyfit(ticks, torques, 1, cov=True)
    return slope, math.sqrt(cov[0, 0]), -offset / slope


@pytest.mark.parametrize(
    ("ticks", "torques", "t95"),
    [
        # Student's t for 1, 2 and 3 degrees of freedom; the printed tables have three decimals.
        ((10, 20, 30), (0.09, 0.21, 0.30), 12.706),
        ((10, 20, 30, 40), (0.09, 0.21, 0.29, 0.41), 4.303),
        ((10, 20, 30, 40, 50), (0.09, 0.21, 0.29, 0.41, 0.51), 3.182),
    ],
)
def test_the_interval_is_the_textbooks(ticks, torques, t95):
    slope, error, dead = line(ticks, torques)
    fit = fit_rows(both_ways(ticks, torques))
    assert fit.per_tick_n_m.value == pytest.approx(slope)
    assert fit.dead_ticks == pytest.approx(dead)
    assert fit.per_tick_n_m.high - slope == pytest.approx(t95 * error)
    assert slope - fit.per_tick_n_m.low == pytest.approx(t95 * error)
    assert (fit.saturation_n_m, fit.points) == (None, len(ticks))


def test_with_many_points_it_is_the_normal_distributions():
    ticks = [10 + k for k in range(40)]
    torques = [0.01 * (tick - 4) + 0.002 * (-1) ** (k // 2) for k, tick in enumerate(ticks)]
    slope, error, _ = line(ticks, torques)
    fit = fit_rows(both_ways(ticks, torques))
    assert fit.per_tick_n_m.value == pytest.approx(slope)
    assert fit.per_tick_n_m.high - slope == pytest.approx(1.96 * error)


@pytest.mark.parametrize(("offset", "t95", "parameters"), [(-0.05, 4.303, 2), (0.0001, 3.182, 1)])
def test_nothing_is_known_better_than_a_count_of_the_reading(offset, t95, parameters):
    # Four points without any noise; the second line would leave zero on the other side and goes through the origin.
    ticks = np.array([10, 20, 30, 40])
    torques = 0.01 * ticks + offset
    rows = both_ways([*map(int, ticks)], torques)
    exact, rounded = fit_rows(rows), fit_rows(rows, resolution_n_m=0.012)
    # A number that is rounded to counts lies evenly within one: its deviation is a count over the root of 12.
    spread = np.sum((ticks - ticks.mean()) ** 2) if parameters == 2 else np.sum(ticks**2)
    half = t95 * 0.012 / math.sqrt(12) / math.sqrt(spread)
    assert rounded.per_tick_n_m.high - rounded.per_tick_n_m.value == pytest.approx(half)
    assert exact.per_tick_n_m.high - exact.per_tick_n_m.value < 0.1 * half
    assert exact.dead_ticks == pytest.approx(5.0 if parameters == 2 else 0.0)


@pytest.mark.parametrize("slope", np.linspace(0.001, 0.05, 12))
@pytest.mark.parametrize("dead", [0.0, 3.0, 7.3])
def test_a_line_without_noise_has_no_saturation(slope, dead):
    ticks = range(10, 45, 5)
    fit = fit_rows(both_ways(ticks, [slope * (tick - dead) for tick in ticks]))
    assert (fit.saturation_n_m, fit.points) == (None, 7)
    assert fit.dead_ticks == pytest.approx(dead, abs=1e-6)


def test_the_residual_is_a_root_mean_square_in_newton_metres():
    ticks, torques = (10, 20, 30, 40), (0.08, 0.22, 0.28, 0.42)
    fit = fit_rows(both_ways(ticks, torques))
    misses = [fit.torque_n_m(tick) - torque for tick, torque in zip(ticks, torques, strict=True)]
    assert fit.residual_n_m == pytest.approx(math.sqrt(sum(miss * miss for miss in misses) / 4))
    assert fit.residual_n_m > 0.01


def test_three_turning_rows_are_needed_and_two_degrees_of_freedom_are_left():
    standing = both_ways((10, 20, 30, 40), (0.1, 0.2, 0.3, 0.4))
    speeds, lost = np.array([50.0, 100.0, 150.0]), np.array([0.04, 0.11, 0.16])
    turning = [
        row(40, 0.4 - float(loss), speed=float(speed), stood=False) for speed, loss in zip(speeds, lost, strict=True)
    ]
    assert fit_rows(standing + turning[:2]).damping_n_m_s is None
    found = fit_rows(standing + turning).damping_n_m_s
    assert found is not None
    slope = np.sum(speeds * lost) / np.sum(speeds**2)
    error = math.sqrt(np.sum((lost - slope * speeds) ** 2) / 2 / np.sum(speeds**2))
    assert found.value == pytest.approx(slope)
    assert found.high - found.value == pytest.approx(4.303 * error)


def test_a_table_has_no_torque_against_its_ticks():
    # Within the dead band a reading may say less than nothing.
    ticks, torques = table_of([row(2, -0.01), row(10, 0.2), row(20, 0.4)])
    assert ticks == (0.0, 2.0, 10.0, 20.0)
    assert torques == pytest.approx((0.0, 0.0, 0.2, 0.4))


def test_as_data_says_all_of_it():
    found = as_data(fit_rows(both_ways((10, 20, 30, 40), (0.1, 0.2, 0.3, 0.4))))
    assert set(found) == {
        "per_tick_n_m",
        "dead_ticks",
        "saturation_n_m",
        "damping_n_m_s",
        "residual_n_m",
        "points",
    }
    assert found["per_tick_n_m"] == pytest.approx({"value": 0.01, "low": 0.01, "high": 0.01})
    assert (found["damping_n_m_s"], found["saturation_n_m"], found["points"]) == (None, None, 4)
