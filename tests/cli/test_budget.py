"""`nuc budget`: stages of a tick, the total by itself, and what fails at a rate."""

from __future__ import annotations

import json
from itertools import count

import pytest

from nuc_engine.bout.budget import EPISODE_STAGES, LEG_STAGES, StageClock, measure_budget
from tests.cli.conftest import Nuc


def test_a_stage_is_what_it_takes_without_what_it_calls() -> None:
    ticks = count(0, 10)
    clock = StageClock(lambda: next(ticks), LEG_STAGES)
    inner = clock.timed("log", lambda: None)
    outer = clock.timed("rules", lambda: (inner(), inner()))
    outer()
    # Each look at the clock is 10 later: in rules before, between and behind two calls of the log.
    assert dict(zip(LEG_STAGES, clock.take(), strict=True)) == {
        **dict.fromkeys(LEG_STAGES, 0),
        "rules": 30,
        "log": 20,
        "dispatch": 20,
    }
    with pytest.raises(ZeroDivisionError):
        clock.timed("log", lambda: 1 / 0)()
    assert clock.take()[LEG_STAGES.index("dispatch")] == 20


@pytest.mark.parametrize(("config", "stages"), [("lin_roach", LEG_STAGES), ("flight_limited", EPISODE_STAGES)])
def test_every_stage_is_told_and_a_clock_that_stands_still_fits_every_rate(
    config: str, stages: tuple[str, ...]
) -> None:
    budget = measure_budget(config, 100.0, 50, lambda: 0)
    assert tuple(cost.stage for cost in budget.stages) == stages
    assert budget.total.max_us == 0
    assert budget.failing == ()


def test_a_clock_that_runs_is_in_every_stage(nuc: Nuc) -> None:
    result = nuc("budget", "lin_roach", "--ticks", "60", "--rate", "100", "--json")
    (budget,) = json.loads(result.stdout)["budgets"]
    assert all(cost["max_us"] > 0 for cost in budget["stages"])
    assert 0 < budget["total"]["p50_us"] <= budget["total"]["p99_us"] <= budget["total"]["max_us"]
    assert budget["exchanges_hz"] > 150


def test_what_fails_is_said(nuc: Nuc) -> None:
    ticks = count(0, 5_000_000)
    slow = measure_budget("flight_hover", 1000.0, 20, lambda: next(ticks))
    assert slow.failing == ("half of the ticks", "1 % of the ticks")
    result = nuc("budget", "lin_roach", "--ticks", "50", "--rate", "1000")
    assert result.exit_code == 1
    assert "too slow for it: the bus, at 19" in result.stderr
    assert nuc("budget", "nothing").exit_code == 2
