"""How much kicks that are left to the seed move a standing leg: `python -m benchmarks.kicks [FIRST:LAST]`.

The first of the conditions by which they were chosen (docs/plants.md): the body is lowered by 1 cm from where the start
pose just touches the ground, all torque is on at the configuration's level, and one kick comes after 2 s. Told is the
largest change of a joint's angle within a second of it.
"""

from __future__ import annotations

import sys

import numpy as np

from drivers.units import NS_PER_S
from nuc_engine.bout.prepare import prepare_bout
from nuc_engine.machine.locations import find_configuration
from nuc_engine.plants import open_plant
from nuc_engine.plants.events import Kick

LEGS = ("lin_roach", "lin_stickmiddle")
PLANTS = ("plant_1.toml", "plant.toml")
SEEDS = "800:879"
MOVED_DEG, LOWER_CM, HIGH_CM = 15.0, 1.0, 60.0
STEP_NS = NS_PER_S // 100
AT_NS, END_NS = 2 * NS_PER_S, 3 * NS_PER_S


def largest_deg(config: str, plant_file: str, seed: int, base_cm: float) -> tuple[float, float]:
    """Return the largest change of a joint's angle after the kick, in degrees, and how high its foot stood before."""
    plan = prepare_bout(config, None).plan
    path = find_configuration(config) / plant_file
    plant = open_plant(plan, path, "mujoco", seed, {"world.base_height_cm": base_cm})
    level = next(int(write.values[0]) for write in plan.initial if plan.hdsos[write.hdso].name == "motor_speed")
    motors = range(len(plan.motors))
    for k in motors:
        plant.command(k, plant.sample(k)[0], level)
    plant.advance(AT_NS)
    foot_cm = plant.take_records()[-1][3]
    before = np.array([plant.sample(k)[0] for k in motors])
    plant.schedule(Kick(AT_NS))
    largest = 0.0
    for now_ns in range(AT_NS + STEP_NS, END_NS + 1, STEP_NS):
        plant.advance(now_ns)
        largest = max(largest, float(np.abs(np.array([plant.sample(k)[0] for k in motors]) - before).max()))
    return largest, foot_cm


def main() -> None:
    """Print a row for each leg and plant."""
    first, last = map(int, (sys.argv[1] if len(sys.argv) > 1 else SEEDS).split(":"))
    print("| leg | plant | kicks | a joint moves by 15 degrees or more | half move one by | least |")
    print("|---|---|---|---|---|---|")
    for config in LEGS:
        for plant_file in PLANTS:
            # In the air the foot hangs below the body by what is then missing to the ground.
            base_cm = HIGH_CM - largest_deg(config, plant_file, first, HIGH_CM)[1] - LOWER_CM
            found = [largest_deg(config, plant_file, seed, base_cm)[0] for seed in range(first, last + 1)]
            share = sum(each >= MOVED_DEG for each in found) / len(found)
            numbers = f"{100 * share:.0f} % | {np.median(found):.0f} degrees | {min(found):.0f} degrees"
            print(f"| {config} | {plant_file} | {len(found)} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
