"""What stands around an emulated leg: the ground and the size of its foot, from its plant.toml."""

from __future__ import annotations

from pathlib import Path

from nuc_engine.plants.spec import PlantSpecError, load_spec


def scene_of(plant: Path, base_z_cm: float) -> dict[str, float] | None:
    """Return foot radius and height of the ground, in the leg's frame; None where no file tells them.

    `base_z_cm` is the height of the first A-matrix in that frame.
    """
    try:
        world = load_spec(plant).world
    except (PlantSpecError, OSError):
        return None
    return {
        "base_height_cm": world.base_height_cm,
        "foot_radius_mm": world.foot_radius_mm,
        "ground_z_cm": base_z_cm - world.base_height_cm,
    }
