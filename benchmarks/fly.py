"""FlyGym beside the project: its rule-based controller, in an environment of its own (`python -m benchmarks --flygym`).

This file is run there, without the project: `python -P benchmarks/fly.py SECONDS`. It prints JSON: processor seconds of
the whole (controller, physics, observations), and of nothing but `mj_step` of the same model given the same controls.
The controller, its weights and the body are those of FlyGym's own example (flygym/examples/locomotion), without camera.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import process_time  # noqa: TID251  benchmarks are about real time

VERSION = "1.2.1"
HOME = Path(__file__).parents[1] / "build" / "flygym"
TIMESTEP_S = 1e-4
"""That of its example."""
NEEDS = (f"flygym=={VERSION}", "networkx")
MOST_S = 0.3
"""It is far from real time: of so many simulated seconds each round is."""


def environment(home: Path) -> Path | None:
    """Return the Python of an environment with FlyGym, made where it is not there; None, and said, where it cannot be.

    It takes 1.5 GB, which come over the network.
    """
    python = home / "bin" / "python"
    done = home / "installed.txt"
    if not done.exists() or done.read_text() != str(NEEDS):
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        words = [str(python), "-m", "pip", "install", "--quiet", *NEEDS]
        if subprocess.run(words, check=False).returncode:
            sys.stderr.write(
                f"FlyGym could not be installed into {home}: expected a network, or a package index that has"
                f" {', '.join(NEEDS)}; all else is measured\n"
            )
            return None
        done.write_text(str(NEEDS))
    return python


def measure(seconds: float) -> dict[str, float]:
    """Let the fly walk, then give its model the same controls once more. Only where FlyGym is."""
    # There is no screen, and nothing is drawn.
    os.environ["MUJOCO_GL"] = "disabled"
    import mujoco
    from flygym import Fly, SingleFlySimulation  # type: ignore[import-not-found]
    from flygym.examples.locomotion import PreprogrammedSteps, RuleBasedController  # type: ignore[import-not-found]
    from flygym.examples.locomotion.rule_based_controller import (  # type: ignore[import-not-found]
        construct_rules_graph,
        run_rule_based_simulation,
    )
    from flygym.preprogrammed import all_leg_dofs  # type: ignore[import-not-found]

    weights = {"rule1": -10, "rule2_ipsi": 2.5, "rule2_contra": 1, "rule3_ipsi": 3.0, "rule3_contra": 2.0}
    steps = PreprogrammedSteps()

    class Heard(RuleBasedController):  # type: ignore[misc]
        """The controller, and what the model was given before each of its steps."""

        def step(self) -> None:
            controls.append(simulation.physics.data.ctrl.copy())
            super().step()

    fly = Fly(init_pose="stretch", actuated_joints=all_leg_dofs, control="position", enable_adhesion=True)
    simulation = SingleFlySimulation(fly=fly, cameras=[], timestep=TIMESTEP_S)
    controls: list[object] = []

    def walk(controller: type, duration_s: float) -> float:
        made = controller(TIMESTEP_S, construct_rules_graph(), weights, steps)
        begin = process_time()
        run_rule_based_simulation(simulation, made, duration_s, pbar=False)
        return process_time() - begin

    walk(RuleBasedController, 10 * TIMESTEP_S)
    whole = walk(RuleBasedController, seconds)
    walk(Heard, seconds)
    simulation.reset()
    model, data = simulation.physics.model.ptr, simulation.physics.data.ptr
    begin = process_time()
    for control in controls:
        data.ctrl[:] = control
        mujoco.mj_step(model, data)
    return {"simulated": seconds, "whole": whole, "bare": process_time() - begin}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(float(sys.argv[1]))) + "\n")
