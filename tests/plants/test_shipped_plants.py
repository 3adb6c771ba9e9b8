"""The legs as they are shipped."""

import math
from pathlib import Path

import pytest

from nuc_engine.bout import prepare_bout
from nuc_engine.plants import open_plant


@pytest.mark.parametrize("config", ["lin_roach", "lin_stickmiddle", "lin_stickmiddle_minimal"])
def test_a_bout_starts_with_the_foot_above_the_ground(config: str) -> None:
    plan = prepare_bout(config, None).plan
    for seed in range(1001, 1021):
        plant = open_plant(plan, Path("configs") / config / "plant.toml", "mujoco", seed)
        plant.advance(11_000_000)
        _, _, _, _, contact = plant.take_records()[0]
        assert contact == 0.0, seed


@pytest.mark.parametrize(
    ("config", "fixed", "level", "give_deg"), [("lin_stickmiddle", 0, 2, 3.0), ("lin_roach", 1, 3, 10.0)]
)
def test_a_joint_that_is_held_at_a_position_holds_still_while_the_others_step(
    config: str, fixed: int, level: int, give_deg: float
) -> None:
    # How much a joint gives is a matter of its servo at the level in force; docs/plants.md tells what was found.
    plan = prepare_bout(config, None).plan
    plant = open_plant(plan, Path("configs") / config / "plant.toml", "mujoco", 5)
    start = [plant.sample(servo)[0] for servo in range(len(plan.motors))]
    for servo, goal in enumerate(start):
        plant.command(servo, goal, level)
    away: list[float] = []
    moved = [0.0] * len(start)
    for k in range(500):
        plant.advance((1000 + 10 * k) * 1_000_000)
        for servo, goal in enumerate(start):
            if servo != fixed:
                plant.command(servo, goal + 25.0 * math.sin(math.tau * k / 100 + servo), level)
            moved[servo] = max(moved[servo], abs(plant.sample(servo)[0] - goal))
        away.append(abs(plant.sample(fixed)[0] - start[fixed]))
    assert max(away) < give_deg
    assert sum(sorted(moved)[1:]) > 30.0, "the others do move"
    records = plant.take_records()
    assert any(record[4] > 0.5 for record in records), "and the foot meets the ground"
