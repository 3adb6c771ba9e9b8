"""Activation dynamics: exact between ticks, nothing where they are off, and known to the oracle."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.dynamics import Dynamics
from nuc_engine.model.plan import DynamicsPlan, Slot
from nuc_engine.model.store import Store
from nuc_engine.verify import verify_bout
from tests.engine.acting import bout, case, hdso, motor_log
from tests.engine.models import one_joint

MS = 1_000_000
EVERY_MUSCLE = (r"</muscle>", '<activation_dynamics rise="tau_rise" fall="tau_fall"/></muscle>')


def lags(rise: object, fall: object) -> tuple[str, ...]:
    return hdso(196, "tau_rise", rise), hdso(197, "tau_fall", fall)


class Follower:
    """The flexor of one joint: low (10) and high (40) of its model hold the time constants, in seconds."""

    def __init__(self, rise_s: float, fall_s: float) -> None:
        plan = one_joint()
        low, high = (Slot(plan.hdso(name).index) for name in ("low", "high"))
        object.__setattr__(plan.muscles[0], "dynamics", DynamicsPlan(low, high))
        self.store = Store(plan)
        self.store.write(low.hdso, (rise_s,))
        self.store.write(high.hdso, (fall_s,))
        self.board = Board(plan, lambda *_: None)
        self.dynamics = Dynamics(plan, self.store, self.board)

    def ask(self, at_ns: int, target: float) -> float:
        self.board.activations[0] = target
        self.dynamics.take(at_ns)
        return self.board.activations[0]


@given(
    tau_s=st.sampled_from([0.03125, 0.0625, 0.25]),
    gaps=st.lists(st.integers(1, 80 * MS), min_size=1, max_size=40),
    top=st.floats(0.01, 2.0),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_step_is_answered_as_the_equation_has_it_however_time_is_cut(
    tau_s: float, gaps: list[int], top: float
) -> None:
    muscle, now = Follower(tau_s, 2 * tau_s), 0
    assert muscle.ask(0, top) == 0.0
    for gap in gaps:
        now += gap
        assert muscle.ask(now, top) == pytest.approx(top * (1.0 - math.exp(-now * 1e-9 / tau_s)), abs=1e-9)
    level, begun = muscle.ask(now, 0.0), now
    for gap in gaps:
        now += gap
        expected = level * math.exp(-(now - begun) * 1e-9 / (2 * tau_s))
        assert muscle.ask(now, 0.0) == pytest.approx(expected, abs=1e-9)


def test_between_evaluations_the_target_stands() -> None:
    muscle = Follower(0.125, 0.125)
    muscle.ask(0, 1.0)
    for at_ms in (1, 7, 24):
        muscle.dynamics.advance(at_ms * MS)
        assert muscle.board.activations[0] == pytest.approx(1.0 - math.exp(-at_ms / 125), abs=1e-12)


def test_no_number_is_passed_on_and_recovered_from() -> None:
    muscle = Follower(0.125, 0.125)
    muscle.ask(0, 1.0)
    assert math.isnan(muscle.ask(25 * MS, math.nan))
    assert muscle.ask(50 * MS, 0.5) == 0.5


def test_one_way_at_once_the_other_in_time() -> None:
    muscle = Follower(0.0, 0.25)
    assert muscle.ask(0, 0.75) == 0.75
    muscle.ask(25 * MS, 0.0)
    assert muscle.ask(50 * MS, 0.0) == pytest.approx(0.75 * math.exp(-0.1), abs=1e-9)


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_off_is_nothing(clock: str, tmp_path: Path) -> None:
    """Time constants of 0, and none at all, give the bytes of the configuration without them."""
    without = motor_log(bout(case(), tmp_path / "without", clock))
    zero = case(EVERY_MUSCLE, hdsos=lags(0, 0))
    none = case((r"</muscle>", "<activation_dynamics/></muscle>"))
    assert motor_log(bout(zero, tmp_path / "zero", clock)) == without
    assert motor_log(bout(none, tmp_path / "none", clock)) == without


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_the_oracle_computes_them(clock: str, tmp_path: Path) -> None:
    folder = bout(case(EVERY_MUSCLE, hdsos=lags(0.04, 0.08)), tmp_path, clock)
    verdict = verify_bout(folder)
    assert verdict.good, verdict.differences[:3]
    assert motor_log(folder) != motor_log(bout(case(), tmp_path / "without", clock))
