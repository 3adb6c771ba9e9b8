"""Ten minutes of two muscle models: each claim is found where it is true, and refused where it is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nuc_engine.analysis.spread import StepSamples, dip_p
from nuc_engine.experiments.catalogue.asks import Found
from nuc_engine.experiments.catalogue.nested import NotSo
from nuc_engine.experiments.catalogue.spreads import Compared, Narrower, SameMedian, ThinnerTails, TwoModes
from nuc_engine.experiments.catalogue.stick import Drifts
from nuc_engine.experiments.protocol import BoutPlan, JudgedWindow
from tests.analysis.synthetic import with_module
from tests.catalogue.seen import leg, observe, steps

Draw = Callable[[np.random.Generator], float]


def sample(duration_s: Draw, minimum_deg: Draw, seed: int) -> StepSamples:
    rng = np.random.default_rng(seed)
    durations = np.round(np.array([duration_s(rng) for _ in range(400)]) / 0.025) * 0.025
    return StepSamples(np.concatenate(([0.0], np.cumsum(durations))), np.array([minimum_deg(rng) for _ in range(401)]))


def normal(middle: float, sd: float) -> Draw:
    return lambda rng: float(rng.normal(middle, sd))


def two(low: float, high: float, sd: float) -> Draw:
    return lambda rng: float(rng.normal(low if rng.random() < 0.5 else high, sd))


def found(ask: Compared, linear: tuple[Draw, Draw], pieces: tuple[Draw, Draw]) -> Found:
    return ask.compared(sample(*linear, 1), sample(*pieces, 2), 0.025)


STEADY = (normal(1.4, 0.04), normal(-20.0, 1.0))
WIDE = (normal(1.4, 0.08), normal(-20.0, 2.0))


@pytest.mark.parametrize("what", ["duration_s", "lift_off_difference_deg"])
def test_narrower_is_a_spread_below_the_other_with_all_of_its_interval(what: str) -> None:
    ask = Narrower(what=what)
    assert not found(ask, STEADY, WIDE).reasons
    assert found(ask, WIDE, STEADY).reasons
    same = sample(*STEADY, 1)
    assert ask.compared(same, same, 0.025).reasons


def test_equally_wide_is_told_apart_from_not_known() -> None:
    ask = Narrower(what="duration_s")
    rng = np.random.default_rng(3)
    many = StepSamples(np.concatenate(([0.0], np.cumsum(rng.normal(1.4, 0.05, 20_000)))), np.zeros(20_001))
    few = StepSamples(many.minima_s[:40], many.minima_deg[:40])
    name = "equally wide within 10% (share)"
    assert ask.compared(many, many, 0.025).numbers[name] == 1.0
    assert ask.compared(few, few, 0.025).numbers[name] == 0.0


def test_medians_are_alike_only_where_that_is_shown() -> None:
    ask = SameMedian(margin=0.05)
    assert not found(ask, STEADY, WIDE).reasons
    assert found(ask, (normal(1.54, 0.04), STEADY[1]), STEADY).reasons  # a tenth slower
    # Nothing rejects that these are equal, and nothing shows it.
    assert found(ask, (normal(1.4, 0.9), STEADY[1]), (normal(1.4, 0.9), STEADY[1])).reasons


def test_two_modes_are_the_piecewise_constant_legs_alone() -> None:
    pytest.importorskip("diptest")
    bimodal = (two(1.2, 1.6, 0.05), STEADY[1])
    assert not found(TwoModes(), WIDE, bimodal).reasons
    assert len(found(TwoModes(), bimodal, bimodal).reasons) == 1
    assert len(found(TwoModes(), WIDE, WIDE).reasons) == 1
    assert len(found(TwoModes(), bimodal, WIDE).reasons) == 2


def test_a_grid_alone_is_no_second_mode() -> None:
    pytest.importorskip("diptest")
    values = np.round(np.random.default_rng(1).normal(1.4, 0.04, 400) / 0.025) * 0.025
    assert dip_p(values, 0.025) > 0.05
    assert dip_p(values, 0.0) < 0.05


def test_tails_are_thinner_only_where_there_are_any() -> None:
    ask = ThinnerTails(far_deg=10)
    tails = (STEADY[0], two(-20.0, -35.0, 1.0))
    assert not found(ask, STEADY, tails).reasons
    assert found(ask, tails, tails).reasons
    assert found(ask, STEADY, STEADY).reasons


def test_what_must_not_be_so_is_refused_where_it_is() -> None:
    swinging = with_module(leg(60.0), "ThC", angle_deg=np.sin(leg(60.0).t_sensor_s))
    plan = BoutPlan("b", "lin_stickmiddle", None, 60, (JudgedWindow("w", 0, 60, "final"),))
    seen = {"b": observe(plan, {}, tracks=swinging, found=steps([1.0]))}
    ceased = Drifts(windows=("w",), outer=0.6, still_s=10.0)
    never = Drifts(windows=("w",), outer=0.6, still_s=60.0)
    assert NotSo(name="ceases", criterion=(never,)).look(seen).reasons == ()
    assert NotSo(name="ceases", criterion=(ceased,)).look(seen).reasons == ("ceases: so, expected otherwise",)
