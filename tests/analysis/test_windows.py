"""Which behaviour the rules of a leg mean, where its thorax-coxa joint has no actions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nuc_engine.analysis.windows import behaviour_windows, intended_behaviour
from nuc_engine.bout.run import prepare_bout
from nuc_engine.model.plan import Plan
from nuc_engine.model.values import initial_values


def with_thorax(plan: Plan, **changes: Any) -> Plan:
    return replace(plan, joints=tuple(replace(j, **changes) if "horax" in j.name else j for j in plan.joints))


@pytest.mark.parametrize(
    ("config", "free", "held"), [("lin_stickmiddle", "stick", "sideways"), ("lin_roach", "FWD", None)]
)
def test_a_leg_with_a_held_thorax_coxa_joint_is_meant_to_step_sideways(
    config: str, free: str, held: str | None
) -> None:
    """If it flexes the knee under load, that is: forward stepping of the roach leg extends it."""
    plan = prepare_bout(config, None).plan
    values = initial_values(plan)
    assert intended_behaviour(plan, values) == free
    assert intended_behaviour(with_thorax(plan, states=()), values) == held
    assert intended_behaviour(with_thorax(plan, control_mode="position"), values) == held


def test_a_window_begins_where_rules_are_written_and_the_first_one_at_0() -> None:
    prepared = prepare_bout("lin_roach", "experiment_a")
    later = prepared.changesets
    times = sorted({changeset.time_ns * 1e-9 for changeset in later} - {0.0})
    windows = behaviour_windows(prepared.plan, later, times[-1] + 5.0)
    assert [window.begin_s for window in windows] == [0.0, *times]
    assert [window.end_s for window in windows] == [*times, times[-1] + 5.0]
    # What is written at 0 is the first window's.
    at_once = tuple(replace(changeset, time_ns=0) for changeset in later if changeset.time_ns)[:1]
    (only,) = behaviour_windows(prepared.plan, at_once, 9.0)
    assert (only.name, only.begin_s, only.end_s) == (windows[1].name, 0.0, 9.0)
    # And what would have been written after the end was not.
    assert behaviour_windows(prepared.plan, later, times[0]) == (replace(windows[0], end_s=times[0]),)
