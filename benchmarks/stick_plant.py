"""The search that found the stick insect's second plant, on which sideways stepping steps as printed (decision 0019).

`python -m benchmarks.stick_plant wide|near FOLDER` writes one JSON line for each plant it draws into FOLDER. *wide*
draws plants at random, beside the first one, and asks what `restricted_pc_stick` does on them, then the three
configurations that walk forward. *near* draws around the one that was chosen of these, and tells how long stance
and swing take and how far the foot goes, which 7.1.2 prints. The null configurations, which should stop, are not
looked at.
About 10 minutes each on one core. Seeds are 1000 to 1999; no verdict rests on them.
"""

from __future__ import annotations

import json
import math
import random  # noqa: TID251 - its draws are those that plant.toml came from
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from nuc_engine.analysis.outcome import Outcome, classify
from nuc_engine.analysis.steps import detect_steps
from nuc_engine.batch.watch import watch_bout
from nuc_engine.bout.run import BoutSpec
from nuc_engine.experiments.protocol import BoutPlan
from nuc_engine.experiments.sharing import prepared_of

FORWARD = ("lin_stickmiddle", "pc_stickmiddle", "lin_stickmiddle_minimal")
SIDEWAYS = "restricted_pc_stick"
WIDE, WIDE_SEED, NEAR, NEAR_SEED = 500, 11, 160, 3
CHOSEN: Mapping[str, float] = {
    "world.base_height_cm": 16.0,
    "world.friction": 0.148,
    "world.foot_mass_g": 6.90053,
    "world.contact_soft_s": 0.01379,
    "servo.saturation_ticks": 11.12741,
    "servo.torque_cap_by_level.2": 0.22256,
    "servo.damping_scale": 0.5163,
    "servo.frictionloss_n_m": 0.0063,
    "servo.dead_ticks": 0,
    "variation.current_noise_ticks": 1,
}
"""Of the seven that did all of it with six seeds, the one whose stance and swing are nearest to 0.8 s each."""
SPREAD: Mapping[str, float] = {
    "world.friction": 0.3,
    "world.foot_mass_g": 0.3,
    "world.contact_soft_s": 0.4,
    "servo.saturation_ticks": 0.3,
    "servo.torque_cap_by_level.2": 0.2,
    "servo.damping_scale": 0.25,
    "servo.frictionloss_n_m": 0.8,
}
"""How far *near* goes from it, as a logarithm."""


def main(arguments: list[str]) -> int:
    """Run one of the two searches."""
    if len(arguments) != 2 or arguments[0] not in ("wide", "near"):
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[1])
    folder.mkdir(parents=True, exist_ok=True)
    for model in ("supply", "back_emf"):
        _copy_configurations(folder / model, model)
    with (folder / f"{arguments[0]}.jsonl").open("w", encoding="utf-8") as out:
        for line in _wide(folder) if arguments[0] == "wide" else _near(folder / "supply"):
            out.write(json.dumps(line) + "\n")
            out.flush()
    return 0


def _copy_configurations(place: Path, model: str) -> None:
    for name in (SIDEWAYS, *FORWARD):
        shutil.copytree(Path("configs") / name, place / name, dirs_exist_ok=True)
    folder = place / FORWARD[0]
    text = (
        (folder / "plant_1.toml")
        .read_text(encoding="utf-8")
        .replace("timestep_us = 1000 ", "contact_soft_s = 0.02\ntimestep_us = 1000 ")
    )
    (folder / "plant.toml").write_text(
        text.replace('current_model = "supply" ', f'current_model = "{model}" '), encoding="utf-8"
    )


def _wide(folder: Path) -> Iterator[dict[str, object]]:
    draws = random.Random(WIDE_SEED)
    for _ in range(WIDE):
        plant = {
            "world.base_height_cm": 16.0,
            "world.friction": 10 ** draws.uniform(-1.2, -0.4),
            "world.foot_mass_g": draws.uniform(3, 10),
            "world.contact_soft_s": 10 ** draws.uniform(-2.3, -1.3),
            "servo.saturation_ticks": draws.uniform(10, 60),
            "servo.torque_cap_by_level.2": draws.uniform(0.15, 0.4),
            "servo.damping_scale": draws.uniform(0.3, 0.8),
            "servo.frictionloss_n_m": draws.uniform(0.005, 0.03),
            "servo.dead_ticks": draws.choice([0, 0, 1, 2, 3]),
            "variation.current_noise_ticks": draws.choice([0.3, 1, 2]),
        }
        model, seed = draws.choice(["supply", "back_emf"]), draws.randrange(1000, 2000)
        configurations = folder / model
        kinds = {SIDEWAYS: _outcome(configurations / SIDEWAYS, plant, seed, 14.0, 5.0).kind}
        if kinds[SIDEWAYS] == "sideways":
            lower = {**plant, "world.base_height_cm": 15.0}
            kinds |= {name: _outcome(configurations / name, lower, seed, 20.0, 5.0).kind for name in FORWARD}
        yield {"plant": plant, "current_model": model, "seed": seed, "kinds": kinds}


def _near(configurations: Path) -> Iterator[dict[str, object]]:
    draws = random.Random(NEAR_SEED)
    for _ in range(NEAR):
        plant = {**CHOSEN, **{key: CHOSEN[key] * math.exp(draws.uniform(-by, by)) for key, by in SPREAD.items()}}
        plant["servo.dead_ticks"] = draws.choice([0, 0, 0.5, 1])
        plant["variation.current_noise_ticks"] = draws.choice([0.5, 1, 1, 2])
        walking = {**plant, "world.base_height_cm": draws.choice([15.0, 16.0])}
        seeds = (1200, 1201, 1202)
        found = [_outcome(configurations / "pc_stickmiddle", walking, seed, 25.0, 6.0) for seed in seeds]
        did = {"pc_stickmiddle": sum(outcome.kind == "stick" for outcome in found)}
        for name, where, kind in (
            (SIDEWAYS, plant, "sideways"),
            (FORWARD[0], walking, "stick"),
            (FORWARD[2], walking, "stick"),
        ):
            kinds = [_outcome(configurations / name, where, seed, 25.0, 6.0).kind for seed in seeds]
            did[name] = kinds.count(kind)
        yield {
            "plant": walking,
            "did, of 3": did,
            "stance_s": [outcome.measures.stance_mean_s for outcome in found],
            "swing_s": [outcome.measures.swing_mean_s for outcome in found],
            "rearward_cm": [-outcome.measures.stride_cm[0] for outcome in found],
        }


def _outcome(configuration: Path, plant: Mapping[str, float], seed: int, duration_s: float, settle_s: float) -> Outcome:
    """Return what the leg does after `settle_s` seconds."""
    plan = BoutPlan("leg", str(configuration), None, duration_s, (), plant=plant)
    spec = BoutSpec(plan.config, Path("leg"), duration_s=duration_s, seed=seed, plant=plan.plant)
    leg = watch_bout(spec, prepared_of(plan)).read().tracks()
    return classify(leg, (0.0, duration_s), steps=detect_steps(leg), settle_s=settle_s)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
