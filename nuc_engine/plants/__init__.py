"""Plants: what the servos of an emulated leg are bolted to.

    compiled         MuJoCo as the legs use it
    errors           what can go wrong before a plant runs
    events           things that happen to an emulated leg from outside, on the plant's own clock
    fit              a plan with the geometry of a plant, as far as the two fit
    gravity          what carries a leg's own weight
    hand             what takes a leg apart and puts it together: a joint disconnected, a weight hung on
    kicks            kicks that are left to the seed
    kinds            what kind of motor turns each shaft
    loopback         servos without a world
    mjcf             a MuJoCo model (MJCF) of a leg, from a plan's geometry and a plant description
    moving_ground    the ground as a stage below the leg, which can be raised, lowered or taken away
    mujoco_leg       a MuJoCo model behind the servos
    overrides        numbers of a plant.toml replaced for one bout, by dotted keys as `world.base_height_cm`
    scripted         what a script lets be done to a leg by hand, as events of the plant
    servos           what a leg's exchanges need to know of its servos, worked out once
    shaft            between a servo's own scale and the joint it turns
    spec             what a leg is made of, and the world it stands in
    variation        what differs from one bout to the next

`open_plant` makes one. `loopback` is servos without a world, `mujoco_leg` a leg on the ground (built by `mjcf` from
the configuration's geometry and the plant.toml that `spec` reads, compiled by `compiled`, its servos' numbers worked
out by `servos`); `kinds` says what motors there are; `variation` is what a bout's seed decides,
`events` what can happen to a leg from outside (`kicks` draws those that are left to the seed, `scripted` reads
them from a script), `overrides` what replaces numbers of a plant.toml for one bout, `shaft` the calibration between
servo and joint.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

from drivers.servo import ServoPlant
from nuc_engine.machine.needs import need
from nuc_engine.model.plan import Plan
from nuc_engine.plants.errors import PlantWithoutWorldError
from nuc_engine.plants.events import PlantEvent
from nuc_engine.plants.loopback import LoopbackPlant
from nuc_engine.plants.spec import NO_OVERRIDES, PlantSpecError, load_spec

__all__ = [
    "Plant",
    "PlantKind",
    "PlantSpecError",
    "PlantWithoutWorldError",
    "open_plant",
]

PlantKind = Literal["mujoco", "loopback"]


class Plant(ServoPlant, Protocol):
    """A plant that keeps a record of what really happened to it."""

    def take_records(self) -> list[tuple[float, ...]]:
        """Return the records since the last call, oldest first: time in ns, then numbers."""
        ...

    def schedule(self, event: PlantEvent) -> PlantEvent:
        """Let something happen; return it with what the seed decides. Raises PlantWithoutWorldError where it cannot.

        ValueError where it cannot happen to this leg.
        """
        ...


def open_plant(
    plan: Plan, spec_path: Path | None, kind: PlantKind, seed: int, overrides: Mapping[str, float] = NO_OVERRIDES
) -> Plant:
    """Open a plant for the plan's motors, in their order; `seed` decides what differs from bout to bout.

    A MuJoCo leg needs the plant.toml at `spec_path`, numbers of which `overrides` replaces by their dotted keys; a
    loopback plant ignores the seed and has no numbers. Raises PlantSpecError when the description is missing, wrong or
    does not fit the plan, Missing when MuJoCo is not installed.
    """
    if kind == "loopback":
        if overrides:
            raise PlantSpecError((f"{plan.name}: a loopback plant has no plant.toml; expected no numbers to replace",))
        return LoopbackPlant(plan)
    if spec_path is None:
        raise PlantSpecError((f"{plan.name}: has no plant.toml; expected one for an emulated leg",))
    spec = load_spec(spec_path, overrides)
    need(mujoco="an emulated leg")
    from nuc_engine.plants.mujoco_leg import MujocoLeg

    return MujocoLeg(plan, spec, seed)
