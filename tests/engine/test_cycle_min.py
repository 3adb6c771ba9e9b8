"""Rounds of exchanges that begin no sooner than motors say, however fast their bus is."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from nuc_engine.configurations.adapt import adapt
from nuc_engine.control.executive import Executive
from nuc_engine.model.changes import Changeset, Write
from nuc_engine.model.plan import Plan
from tests.engine.models import ScriptedBus, Trace, one_joint

MS = 1_000_000


def starts(plan: Plan, exchange_ns: int, *, pause_ns: int = 0, until_ms: int = 60) -> list[int]:
    """Return when exchanges began (ns), each of which took so long."""
    bus = ScriptedBus(lambda now_ns, goals: [(100, 0)], exchange_ns)
    executive = Executive(plan, bus, Trace())
    if pause_ns:
        index = plan.hdso("motor_control_delay_ns").index
        executive.load([Changeset(0, (Write(index, (pause_ns,)),))])
    executive.run_until(until_ms * MS)
    return [at_ns for at_ns, _ in bus.goals]


def paced(cycle_ms: float) -> Plan:
    plan = one_joint()
    return replace(plan, motors=tuple(replace(m, cycle_min_ns=round(cycle_ms * MS)) for m in plan.motors))


def gaps(begun: list[int]) -> set[int]:
    return {later - earlier for earlier, later in pairwise(begun[1:])}


def test_a_fast_bus_waits_for_the_rest_of_the_cycle():
    assert gaps(starts(paced(5), 1 * MS)) == {5 * MS}


def test_a_slow_bus_and_a_longer_pause_are_not_held_up_by_it():
    assert gaps(starts(paced(5), 7 * MS)) == {7 * MS}
    assert gaps(starts(paced(5), 1 * MS, pause_ns=9 * MS)) == {10 * MS}


def test_without_it_rounds_are_back_to_back():
    assert gaps(starts(one_joint(), 1 * MS)) == {1 * MS}


def test_measurements_are_fresh_however_long_a_cycle_is():
    bus = ScriptedBus(lambda now_ns, goals: [(100, 0)], 1 * MS)
    executive = Executive(paced(300), bus, Trace())
    executive.run_until(3000 * MS)
    assert len(bus.goals) > 5
    assert all(goals != [-1] for _, goals in bus.goals[1:])


def test_all_motors_wait_for_the_one_that_waits_longest():
    plan = paced(5)
    other = replace(plan.motors[0], index=1, cycle_min_ns=8 * MS)
    assert replace(plan, motors=(plan.motors[0], other)).cycle_min_ns == 8 * MS


@pytest.mark.parametrize(("config", "cycle_ms"), [("lin_roach", 5.1), ("lin_stickmiddle", 3.8)])
def test_adapted_motors_keep_the_rate_of_the_ai_motors_the_leg_was_tuned_on(config, cycle_ms):
    found = adapt(config, "STS3215")
    assert {round(made.motor.cycle_min_ms or 0.0, 1) for made in found.motors} == {cycle_ms}


@pytest.mark.parametrize(
    ("model", "strength", "said"),
    [
        ("XL330-M288", None, "weaker than the motors before"),
        ("XL330-M288", 4.0, "weaker than the motors before"),
        ("XM430-W350", 1.0, "regulates its motor's current"),
        ("XM430-W350", None, ""),
        ("XM430-W350", 4.0, ""),
        ("XL430-W250", 1.0, ""),
        ("STS3215", None, ""),
    ],
)
def test_what_the_emulated_leg_does_not_step_on_is_said(model, strength, said):
    warnings = [text for text in adapt("lin_roach", model, strength=strength).warnings if "does not step" in text]
    assert len(warnings) == bool(said)
    assert all(said in text for text in warnings)
