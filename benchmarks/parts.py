"""What the parts of a bout cost, each alone: one round, in a process of its own (`python -m benchmarks.parts SECONDS`).

The bout is heard once: what passes between bus and leg, and what the bus is told. Then each part is run without the
others through just that, so that bus and control work as they do while the leg moves. Processor time, as JSON.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time  # noqa: TID251  benchmarks are about real time
from typing import Any

import mujoco

from benchmarks import plain
from benchmarks.stand_ins import HeardPlant, HeardRecorder, PlayedPlant, SilentRecorder
from drivers.factory import open_bus
from drivers.servo import ServoAddress
from nuc_engine.bout.run import BoutSpec, prepare_bout, run_bout
from nuc_engine.control.executive import Executive
from nuc_engine.machine.locations import find_configuration
from nuc_engine.model.plan import Plan
from nuc_engine.plants import open_plant

CONFIG = "lin_roach"
SEED = 0
NS = 1_000_000_000
TURNAROUND = "emulated:aimotor?turnaround_us=230"
SPEC_PATH = find_configuration(CONFIG) / "plant.toml"


def timed(work: Callable[[], object]) -> float:
    """Return the processor seconds of one call."""
    gc.collect()
    begin = process_time()
    work()
    return process_time() - begin


def measure(seconds: int) -> dict[str, float]:
    """Return processor seconds by part, for so many simulated ones."""
    prepared = prepare_bout(CONFIG, None)
    plan = prepared.plan
    leg, told = HeardPlant(open_plant(plan, SPEC_PATH, "mujoco", SEED)), HeardRecorder()
    _control(plan, leg, told, seconds)
    # What was heard is not looked through for cycles while the parts run.
    gc.collect()
    gc.freeze()
    return {
        "whole": whole_bout(seconds),
        "silent": _control(plan, open_plant(plan, SPEC_PATH, "mujoco", SEED), SilentRecorder(), seconds),
        "bare": bare_physics(plan, leg),
        "leg": _leg_alone(plan, leg),
        "played": _control(plan, PlayedPlant(leg), SilentRecorder(), seconds),
        "bus": _bus_alone(plan, leg, told),
        "plain": timed(lambda: plain.run(plan, SPEC_PATH, seconds)),
    }


def whole_bout(seconds: int) -> float:
    """Return what a bout with all logs costs, from its documents to its finished data directory."""
    with tempfile.TemporaryDirectory() as folder:
        spec = BoutSpec(CONFIG, Path(folder) / "bout", duration_s=seconds)
        return timed(lambda: run_bout(spec))


def heard_leg(plan: Plan, seconds: int) -> HeardPlant:
    """Return a leg that has made a bout, with what it was told."""
    leg = HeardPlant(open_plant(plan, SPEC_PATH, "mujoco", SEED))
    _control(plan, leg, SilentRecorder(), seconds)
    return leg


def bare_physics(plan: Plan, leg: HeardPlant) -> float:
    """Return what the same model costs through the same motion, with nothing but `mj_step` between two goals."""
    plant: Any = open_plant(plan, SPEC_PATH, "mujoco", SEED)
    for motor in plan.motors:
        plant.command(motor.index, 0.0, plain.LEVEL)
    model, data = plant._model, plant._data
    scale, offset = plant._goal_scale, plant._goal_offset
    last, todo = 0, []
    for done, servo, goal_deg in leg.goals:
        todo.append((done - last, servo, goal_deg * scale[servo] + offset[servo]))
        last = done
    control = memoryview(data.ctrl)

    def work() -> None:
        for steps, servo, goal in todo:
            if steps:
                mujoco.mj_step(model, data, steps)
            control[servo] = goal

    return timed(work)


def bus_of(plan: Plan, plant: Any) -> Any:
    """Return the bus of a leg whose servos are bolted to this plant."""
    servos = [ServoAddress(motor.bus_id, motor.name, motor.model) for motor in plan.motors]
    return open_bus(TURNAROUND, servos, plant, seed=1)


def _control(plan: Plan, plant: Any, recorder: Any, seconds: int) -> float:
    executive = Executive(plan, bus_of(plan, plant), recorder)
    return timed(lambda: executive.run_until(seconds * NS))


def _leg_alone(plan: Plan, leg: HeardPlant) -> float:
    plant = open_plant(plan, SPEC_PATH, "mujoco", SEED)
    todo = [(getattr(plant, name), arguments) for name, arguments in leg.calls]

    def work() -> None:
        for method, arguments in todo:
            method(*arguments)

    return timed(work)


def _bus_alone(plan: Plan, leg: HeardPlant, told: HeardRecorder) -> float:
    bus = bus_of(plan, PlayedPlant(leg))
    bus.set_level(told.exchanges[0][1])

    def work() -> None:
        for begin_ns, _, goals in told.exchanges:
            bus.start(begin_ns, goals)
            bus.run_until(begin_ns + NS)

    # The last exchange of the bout was cut off by its end.
    told.exchanges.pop()
    return timed(work)


def main() -> None:
    """Measure once, after a second that warms up."""
    measure(1)
    sys.stdout.write(json.dumps(measure(int(sys.argv[1]))) + "\n")


if __name__ == "__main__":
    main()
