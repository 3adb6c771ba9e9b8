"""Which behaviour the rules of a leg mean, where its thorax-coxa joint has no actions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nuc_engine.analysis.windows import intended_behaviour
from nuc_engine.bout import prepare_bout
from nuc_engine.plan import Plan
from nuc_engine.values import initial_values


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
