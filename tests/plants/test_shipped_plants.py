"""The legs as they are shipped."""

import math
from pathlib import Path

import pytest

from nuc_engine.bout.run import prepare_bout
from nuc_engine.plants import open_plant
from nuc_engine.plants.events import BaseHeight, Kick
from nuc_engine.plants.spec import load_spec


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


@pytest.mark.parametrize(("config", "level"), [("lin_roach", 3), ("lin_stickmiddle", 2)])
def test_kicks_from_the_seed_disturb_a_standing_leg_and_throw_no_servo(config: str, level: int) -> None:
    plan = prepare_bout(config, None).plan
    moved, fastest = [], 0.0
    for seed in range(100, 120):
        plant = open_plant(plan, Path("configs") / config / "plant.toml", "mujoco", seed)
        for servo in range(len(plan.motors)):
            plant.command(servo, plant.sample(servo)[0], level)
        plant.advance(500_000_000)
        # The ground is brought up to the foot and a centimetre more.
        amatrix = plan.joints[0].amatrix
        foot_cm = (
            plant.take_records()[-1][3] - load_spec(Path("configs") / config / "plant.toml").world.foot_radius_mm / 10
        )
        plant.schedule(BaseHeight(500_000_000, (amatrix[11] if amatrix else 0.0) - foot_cm - 1.0))
        plant.advance(2_000_000_000)
        assert plant.take_records()[-1][4] > 0.1, "it stands"
        before = [plant.sample(servo)[0] for servo in range(len(plan.motors))]
        last, most = before, 0.0
        plant.schedule(Kick(2_000_000_000))
        for k in range(1, 70):
            plant.advance(2_000_000_000 + k * 10_000_000)
            now = [plant.sample(servo)[0] for servo in range(len(plan.motors))]
            fastest = max(fastest, *(abs(b - a) / 0.01 for a, b in zip(last, now, strict=True)))
            most = max(most, *(abs(b - a) for a, b in zip(before, now, strict=True)))
            last = now
        moved.append(most)
    assert sum(degrees >= 15.0 for degrees in moved) >= 18
    assert fastest < 500.0, "deg/s; the bus believes 600"
