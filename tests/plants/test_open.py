"""Opening a plant by kind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nuc_engine.machine.needs import Missing
from nuc_engine.plants import PlantSpecError, open_plant
from nuc_engine.plants.loopback import LoopbackPlant
from nuc_engine.plants.mujoco_leg import MujocoLeg
from tests.plants.leg_plans import ROACH, STICK

CONFIGS = Path(__file__).parents[2] / "configs"


def test_the_kind_decides() -> None:
    assert isinstance(open_plant(ROACH, None, "loopback", 0), LoopbackPlant)
    assert isinstance(open_plant(ROACH, CONFIGS / "null_roach" / "plant.toml", "mujoco", 0), MujocoLeg)


def test_a_leg_needs_a_description_that_fits() -> None:
    with pytest.raises(PlantSpecError, match="has no plant"):
        open_plant(ROACH, None, "mujoco", 0)
    with pytest.raises(PlantSpecError, match="Thorax-Coxa1: unknown"):
        open_plant(STICK, CONFIGS / "lin_roach" / "plant.toml", "mujoco", 0)


def test_without_mujoco_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(Missing, match=r"needs MuJoCo: .*\[sim\]"):
        open_plant(ROACH, CONFIGS / "lin_roach" / "plant.toml", "mujoco", 0)
