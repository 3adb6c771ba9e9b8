"""Blocks of signal processing against exact solutions and scipy.signal, at the intervals of a recorded bout."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, signal

from nuc_engine.control.blocks import BLOCKS, make_block
from nuc_engine.control.delay_line import LONGEST_NS, DelayLine
from nuc_engine.model.plan import SignalPlan, Slot
from nuc_engine.model.store import Store
from sccils_schemas.signals import ACTING, FORMS, LONGEST_S
from tests.engine.models import PlanMaker, one_joint

EXACT = 1e-9
RECORDED = np.cumsum(np.random.Generator(np.random.PCG64(4)).integers(3_000_000, 7_500_000, 800))
"""Times of samples in ns, as uneven as those of a line."""
WAVE = 40.0 * np.sin(RECORDED * 7e-9) + 12.0 * np.sign(np.sin(RECORDED * 31e-9))
Parameters = Sequence[float | Sequence[float]]


def run(kind: str, parameters: Parameters = (), inputs: int = 1, *, per_sample: bool = False, seed: int = 0):
    """Return a function from times and samples to a block's outputs, with its store, block and parameters' cells."""
    maker = PlanMaker()
    places = [maker.add(1 + k, f"in{k}", "sensor", "double") for k in range(inputs)]
    lists = [tuple(np.atleast_1d(value).astype(float).tolist()) for value in parameters]
    held = [maker.add(50 + k, f"p{k}", datatype="double", dims=(len(v),), value=v) for k, v in enumerate(lists)]
    output = maker.add(99, "out", "sensor", "double")
    plan = replace(one_joint(), hdsos=tuple(maker.hdsos), store_size=4096)
    store = Store(plan)
    for write in maker.initial:
        store.write(write.hdso, write.values)
    slots = tuple(tuple(Slot(at, k) for k in range(len(v))) for at, v in zip(held, lists, strict=True))
    described = SignalPlan("out", kind, Slot(output), tuple(map(Slot, places)), slots, (0,), per_sample)
    block = make_block(described, store, seed)

    def feed(times: Sequence[int], *samples: Sequence[float]) -> list[float]:
        outputs: list[float] = []
        for k, time_ns in enumerate(times):
            for place, values in zip(places, samples, strict=True):
                store.write(place, (float(values[k]),))
            first = not outputs
            outputs.append(
                block.begin(int(time_ns)) if first else block.step(int(time_ns), int(time_ns - times[k - 1]))
            )
        return outputs

    def change(which: int, *values: float) -> None:
        store.write(held[which], values)

    return feed, change


def solved(rate: Callable[[float, float, float], float], begin: float) -> list[float]:
    """Return the solution of y' = rate(x, x', y) for the wave in straight lines, by an integrator of high order."""
    found = [begin]
    for k in range(1, 60):
        span = (RECORDED[k] - RECORDED[k - 1]) * 1e-9
        slope = (WAVE[k] - WAVE[k - 1]) / span
        base = WAVE[k - 1]
        made = integrate.solve_ivp(
            lambda t, y, base=base, slope=slope: [rate(base + slope * t, slope, y[0])],
            (0.0, span), [found[-1]], method="DOP853", rtol=1e-13, atol=1e-13,
        )  # fmt: skip
        found.append(float(made.y[0, -1]))
    return found


@pytest.mark.parametrize("tau", [0.004, 0.05, 3.0])
def test_continuous_blocks_are_the_exact_solutions(tau: float) -> None:
    low = solved(lambda x, _slope, y: (x - y) / tau, WAVE[0])
    feed, _ = run("lowpass", [tau])
    assert feed(RECORDED[:60], WAVE[:60]) == pytest.approx(low, abs=EXACT)
    feed, _ = run("highpass", [tau])
    assert feed(RECORDED[:60], WAVE[:60]) == pytest.approx(WAVE[:60] - np.array(low), abs=EXACT)
    feed, _ = run("integral", [tau])
    leaky = solved(lambda x, _slope, y: x - y / tau, 0.0)
    assert feed(RECORDED[:60], WAVE[:60]) == pytest.approx(leaky, abs=EXACT)
    feed, _ = run("derivative", [tau])
    rates = solved(lambda _x, slope, y: (slope - y) / tau, 0.0)
    assert feed(RECORDED[:60], WAVE[:60]) == pytest.approx(rates, abs=EXACT * 100)


def test_an_integral_without_a_leak_and_a_derivative_without_a_filter_are_those_of_straight_lines() -> None:
    feed, _ = run("integral")
    area = integrate.cumulative_trapezoid(WAVE, RECORDED * 1e-9, initial=0.0)
    assert feed(RECORDED, WAVE) == pytest.approx(area, abs=EXACT)
    feed, _ = run("derivative")
    rates = np.diff(WAVE, prepend=WAVE[0]) / np.diff(RECORDED * 1e-9, prepend=0.0)
    assert feed(RECORDED, WAVE) == pytest.approx(rates, rel=EXACT, abs=EXACT)


def test_filters_follow_time_when_samples_come_four_times_as_often() -> None:
    coarse = np.arange(0, 10**9, 20_000_000)
    fine = np.arange(0, 10**9, 5_000_000)
    ramp, finer = coarse * 1e-9, fine * 1e-9
    for kind in ("lowpass", "highpass", "integral", "derivative"):
        feed, _ = run(kind, [0.1])
        more, _ = run(kind, [0.1])
        assert feed(coarse, ramp) == pytest.approx(more(fine, finer)[::4], abs=EXACT)


def test_a_time_constant_changes_in_flight_and_one_of_0_keeps_nothing() -> None:
    feed, change = run("lowpass", [10.0])
    change(0, 0.0)
    assert feed(RECORDED, WAVE) == WAVE.tolist()
    feed, change = run("integral", [1.0])
    change(0, 0.0)
    assert set(feed(RECORDED, WAVE)) == {0.0}


@pytest.mark.parametrize(
    ("numerator", "denominator"),
    [
        (*signal.butter(3, 0.1),),
        (*signal.ellip(4, 0.5, 40.0, 0.3),),
        ([0.05], [1.0, -0.95]),
        ([0.2, 0.2, 0.2, 0.2, 0.2], [1.0]),
        ([3.0, 1.0], [2.0, -0.4]),
    ],
)
def test_a_general_filter_is_that_of_scipy(numerator: Sequence[float], denominator: Sequence[float]) -> None:
    feed, _ = run("iir", [numerator, denominator], per_sample=True)
    rest = signal.lfilter_zi(numerator, denominator) * WAVE[0]
    expected, _ = signal.lfilter(numerator, denominator, WAVE, zi=rest)
    assert feed(RECORDED, WAVE) == pytest.approx(expected, abs=EXACT)


def test_a_general_filter_that_is_never_at_rest_begins_at_0() -> None:
    feed, _ = run("iir", [[1.0], [1.0, -1.0]], per_sample=True)
    assert feed(RECORDED, WAVE) == pytest.approx(np.cumsum(WAVE), abs=1e-6)


def test_the_printed_filter_counts_samples() -> None:
    feed, _ = run("lowpass", [0.05], per_sample=True)
    expected = [WAVE[0]]
    for x in WAVE[1:]:
        expected.append(0.05 * x + 0.95 * expected[-1])
    assert feed(RECORDED, WAVE) == expected


def test_blocks_without_time() -> None:
    other = np.cos(RECORDED * 3e-9)
    both = np.stack([WAVE, other])
    expected = {
        ("sum", ()): both.sum(0),
        ("sum", ((2.0, -3.0),)): 2.0 * WAVE - 3.0 * other,
        ("product", ()): WAVE * other,
        ("min", ()): both.min(0),
        ("max", ()): both.max(0),
    }
    for (kind, parameters), values in expected.items():
        feed, _ = run(kind, parameters, 2)
        assert feed(RECORDED, WAVE, other) == pytest.approx(values, abs=EXACT)
    single = {
        ("gain", (3.0,)): 3.0 * WAVE,
        ("gain", (3.0, 1.0)): 3.0 * WAVE + 1.0,
        ("threshold", (5.0,)): (WAVE > 5.0).astype(float),
        ("abs", ()): np.abs(WAVE),
        ("table", ((-10.0, 0.0, 20.0), (1.0, 5.0, 4.0))): np.interp(WAVE, [-10.0, 0.0, 20.0], [1.0, 5.0, 4.0]),
    }
    for (kind, parameters), values in single.items():
        feed, _ = run(kind, parameters)
        assert feed(RECORDED, WAVE) == pytest.approx(values, abs=EXACT)


def test_a_rate_is_limited_both_ways() -> None:
    step = np.where(RECORDED[300] > RECORDED, 0.0, 1.0) - np.where(RECORDED[600] > RECORDED, 0.0, 1.0)
    feed, _ = run("ratelimit", [2.0, 0.5])
    found = np.array(feed(RECORDED, step))
    rates = np.diff(found) / np.diff(RECORDED * 1e-9)
    assert rates.max() == pytest.approx(2.0)
    assert rates.min() == pytest.approx(-0.5)
    assert found[599] == 1.0


def test_a_step_arrives_at_the_first_sample_at_or_after_its_delay() -> None:
    at, delay_s = 300, 0.0305
    step = np.where(np.arange(len(RECORDED)) < at, 1.0, 2.0)
    feed, _ = run("delay", [delay_s])
    found = feed(RECORDED, step)
    first = next(k for k, time_ns in enumerate(RECORDED) if time_ns >= RECORDED[at] + 30_500_000)
    assert found == [1.0] * first + [2.0] * (len(RECORDED) - first)
    feed, _ = run("delay", [0.0])
    assert feed(RECORDED, step) == step.tolist()


def test_jitter_lets_no_sample_overtake_another_and_none_is_a_delay() -> None:
    feed, _ = run("delay", [0.03, 0.01], seed=3)
    found = np.array(feed(RECORDED, np.arange(len(RECORDED), dtype=float)))
    assert (np.diff(found) >= 0.0).all()
    late_s = (RECORDED[100:] - RECORDED[found[100:].astype(int)]) * 1e-9
    assert 0.02 < late_s.mean() < 0.05
    assert late_s.std() > 0.002
    feed, _ = run("delay", [0.03, 0.0])
    plain, _ = run("delay", [0.03])
    assert feed(RECORDED, WAVE) == plain(RECORDED, WAVE)


def test_noise_has_its_deviation_and_its_time_constant_and_is_its_own() -> None:
    times = np.arange(1, 40_001) * 5_000_000
    still = np.zeros(len(times))
    feed, _ = run("noise", [2.0])
    white = np.array(feed(times, still))
    assert white.std() == pytest.approx(2.0, rel=0.03)
    assert abs(np.corrcoef(white[1:], white[:-1])[0, 1]) < 0.02
    feed, _ = run("noise", [2.0, 0.1])
    slow = np.array(feed(times, still))
    assert slow.std() == pytest.approx(2.0, rel=0.1)
    assert np.corrcoef(slow[20:], slow[:-20])[0, 1] == pytest.approx(math.exp(-1.0), abs=0.07)
    again, _ = run("noise", [2.0])
    assert again(times, still) == white.tolist()
    other, _ = run("noise", [2.0], seed=1)
    assert other(times, still) != white.tolist()
    alone, _ = run("noise", [2.0], 0)
    assert alone(times) == white.tolist()
    nothing, _ = run("noise", [0.0])
    assert nothing(RECORDED, WAVE) == WAVE.tolist()


def test_every_type_has_a_form_and_a_block_or_is_the_load_of_a_motor() -> None:
    assert {*BLOCKS, "rawload", *ACTING} == set(FORMS)
    assert round(LONGEST_S * 1e9) == LONGEST_NS


@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from([0.0, 1.0, 2.5, -3.0])), min_size=1, max_size=120),
    st.integers(0, 60),
    st.lists(st.integers(-50, 50), max_size=20),
)
def test_a_line_says_what_was_put_in_last_before_a_time(
    puts: list[tuple[int, float]], keep: int, looks: list[int]
) -> None:
    line = DelayLine(keep)
    known: list[tuple[int, float]] = []
    now = 0
    for number, (step, value) in enumerate(puts):
        now += step
        line.put(now, value)
        known.append((now, value))
        for back in looks[number % 3 :: 3]:
            time = now - min(max(back, 0), keep)
            before = [held for at, held in known if at <= time]
            assert line.at(time) == (before[-1] if before else known[0][1])


def test_a_line_forgets_what_is_older_than_it_keeps() -> None:
    line = DelayLine()
    for k in range(200_000):
        line.put(k * 1_000_000, float(k))
    assert len(line) == 60_001
    assert line.at(0) == 139_999.0
    assert line.at(199_999_000_000 - LONGEST_NS) == 139_999.0
