"""The legs as they are shipped."""

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
