"""Magnitude influences: activation = base + sum of gain x f(signal), bounded; gain 0 is nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.control.functions import bind_activation
from nuc_engine.model.plan import ActivationPlan, FunctionPlan, InfluencePlan, Slot
from nuc_engine.model.store import Store
from nuc_engine.verify import verify_bout
from tests.engine.acting import bout, case, hdso, motor_log
from tests.engine.models import one_joint

PLAN = one_joint()
BASE, GAIN, SHAPE = (Slot(PLAN.hdso(name).index) for name in ("activation0", "high", "fl"))
OTHER = Slot(PLAN.hdso("low").index)
ANGLE, LOAD = (Slot(PLAN.hdso(name).index) for name in ("angle", "current"))
IN_STANCE = (
    r'(<hdsoMod idNum="122"[^>]*>[^<]*</hdsoMod>)',
    r'\1<influence signal="302" gain="reflex" function="rectified" parameters="felt"/>',
)


def reflex(gain: float) -> tuple[str, ...]:
    return hdso(140, "reflex", gain), hdso(141, "felt", 0.5)


def activation(*influences: InfluencePlan, bounds: tuple[Slot, ...] = (), **values: float) -> float:
    """Return the activation of base 0.25; values are by HDSO name."""
    store = Store(PLAN)
    for write in PLAN.initial:
        store.write(write.hdso, write.values)
    for name, value in {"activation0": 0.25, **values}.items():
        store.write(PLAN.hdso(name).index, (value,))
    plan = ActivationPlan(0, "constant", (), (BASE,), influences, bounds)
    return bind_activation(plan, store)()


def test_influences_add_up() -> None:
    direct = InfluencePlan(ANGLE, GAIN, None)
    above = InfluencePlan(LOAD, GAIN, FunctionPlan("rectified", (OTHER,)))
    # 0.25 + 0.125 x 2 + 0.125 x max(0, 5 - 3)
    assert activation(direct, above, angle=2.0, current=5.0, high=0.125, low=3.0) == 0.75
    assert activation(direct, above, angle=2.0, current=1.0, high=0.125, low=3.0) == 0.5


def test_the_sum_is_bounded_by_0_and_1_or_by_what_is_given() -> None:
    direct = InfluencePlan(ANGLE, GAIN, None)
    assert activation(direct, angle=100.0, high=1.0) == 1.0
    assert activation(direct, angle=-100.0, high=1.0) == 0.0
    given_bounds = (OTHER, Slot(PLAN.hdso("activation1").index))
    assert activation(direct, bounds=given_bounds, angle=100.0, high=1.0, low=0.125, activation1=0.5) == 0.5
    assert activation(direct, bounds=given_bounds, angle=-100.0, high=1.0, low=0.125, activation1=0.5) == 0.125


def test_what_lies_beyond_the_bounds_by_itself_stays_and_is_taken_no_farther() -> None:
    direct = InfluencePlan(ANGLE, GAIN, None)
    assert activation(direct, angle=0.25, high=1.0, activation0=1.5) == 1.5
    assert activation(direct, angle=-0.25, high=1.0, activation0=1.5) == 1.25


@given(st.floats(-2, 2, width=32), st.floats(-1e6, 1e6, width=32), st.floats(-1e6, 1e6, width=32))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_gain_0_is_the_base_whatever_the_signal_and_bounds_hold_for_any_gain(
    base: float, signal: float, gain: float
) -> None:
    direct = InfluencePlan(ANGLE, GAIN, None)
    assert activation(direct, angle=signal, high=0.0, activation0=base) == base
    assert min(0.0, base) <= activation(direct, angle=signal, high=gain, activation0=base) <= max(1.0, base)


def test_a_function_without_a_value_is_no_number_and_of_gain_0_nothing() -> None:
    nowhere = InfluencePlan(ANGLE, GAIN, FunctionPlan("hyperbolic", (BASE, OTHER, BASE)))
    with pytest.raises(ZeroDivisionError):
        activation(nowhere, angle=3.0, low=3.0, high=1.0)
    assert activation(nowhere, angle=3.0, low=3.0, high=0.0) == 0.25
    assert math.isnan(activation(InfluencePlan(ANGLE, GAIN, None), angle=math.inf, high=1.0))


def test_without_influences_the_activation_is_the_one_of_before() -> None:
    store = Store(PLAN)
    plan = ActivationPlan(0, "constant", (), (BASE,))
    influenced = replace(plan, influences=(InfluencePlan(ANGLE, GAIN, None),))
    # Either core names what is called.
    assert "influenced" in repr(bind_activation(influenced, store))
    assert "influenced" not in repr(bind_activation(plan, store))


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_off_is_nothing(clock: str, tmp_path: Path) -> None:
    without = motor_log(bout(case(), tmp_path / "without", clock))
    assert motor_log(bout(case(IN_STANCE, hdsos=reflex(0)), tmp_path / "off", clock)) == without
    assert motor_log(bout(case(IN_STANCE, hdsos=reflex(0.02)), tmp_path / "on", clock)) != without


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_the_oracle_computes_them(clock: str, tmp_path: Path) -> None:
    verdict = verify_bout(bout(case(IN_STANCE, hdsos=reflex(0.05)), tmp_path, clock))
    assert verdict.good, verdict.differences[:3]
