"""Measure speed and memory and write benchmarks/RESULTS.md: `python -m benchmarks [--quick]`, or `make bench`.

Every figure is compared with another one of the same run: the machine may be shared and its speed may drift. Times are
processor time of this process.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from time import process_time  # noqa: TID251  benchmarks are about real time

import mujoco

from benchmarks.stand_ins import HeardPlant, SilentRecorder, StillPlant, repeat_joint
from drivers.factory import open_bus
from drivers.servo import ServoAddress
from nuc_engine.bout.run import BoutSpec, prepare_bout, run_bout
from nuc_engine.control.executive import Executive
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.muscle_conversion import MuscleConversion
from nuc_engine.control.tasks.state_transition import StateTransition
from nuc_engine.machine.locations import find_configuration
from nuc_engine.model.plan import Plan
from nuc_engine.model.store import Store
from nuc_engine.plants import open_plant

CONFIG = "lin_roach"
NS = 1_000_000_000
TURNAROUND = "emulated:aimotor?turnaround_us=230"


def main() -> None:
    """Measure everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short runs: to see that it works, not to quote")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("RESULTS.md"))
    arguments = parser.parse_args()
    seconds, rounds, hour = (5, 2, 60) if arguments.quick else (300, 5, 3600)
    lines = [*_heading(arguments.quick), *speed(seconds, rounds), *ticks(), *memory(hour)]
    arguments.out.write_text("\n".join(lines) + "\n")
    sys.stdout.write("\n".join(lines) + f"\n\nwritten to {arguments.out}\n")


def _heading(quick: bool) -> list[str]:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("mujoco", "numpy"))
    return [
        "# Measured",
        "",
        f"Made by `{'python -m benchmarks --quick' if quick else 'make bench'}`; Python {platform.python_version()}, "
        f"{libraries}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores. Processor time; "
        "compare ratios, the absolute numbers belong to that machine.",
        "",
    ]


def _timed(work: Callable[[], object]) -> float:
    gc.collect()
    begin = process_time()
    work()
    return process_time() - begin


def speed(seconds: int, rounds: int) -> list[str]:
    """Return the table of simulated seconds per second, and of what a simulated second costs."""
    prepared = prepare_bout(CONFIG, None)
    plan = prepared.plan
    spec_path = find_configuration(CONFIG) / "plant.toml"
    servos = [ServoAddress(motor.bus_id, motor.name, motor.model) for motor in plan.motors]
    goals = _goals(plan, spec_path, servos, seconds)
    rows: list[dict[str, float]] = []
    for round_number in range(rounds + 1):
        plant = open_plant(plan, spec_path, "mujoco", 0)
        row = {
            "whole": _whole_bout(seconds),
            "silent": _executive(plan, open_bus(TURNAROUND, servos, plant, seed=1), seconds),
            "bare": _bare_physics(plan, spec_path, goals),
            "still": _executive(plan, open_bus(TURNAROUND, servos, StillPlant(), seed=1), seconds),
            "bus": _bus_alone(servos, seconds),
        }
        if round_number:  # the first one warms up
            rows.append(row)
    return _speed_table(rows, seconds)


def _whole_bout(seconds: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        spec = BoutSpec(CONFIG, Path(folder) / "bout", duration_s=seconds)
        return _timed(lambda: run_bout(spec))


def _executive(plan: Plan, bus: object, seconds: int) -> float:
    executive = Executive(plan, bus, SilentRecorder())  # type: ignore[arg-type]
    return _timed(lambda: executive.run_until(seconds * NS))


def _goals(plan: Plan, spec_path: Path, servos: list[ServoAddress], seconds: int) -> list[tuple[int, int, float]]:
    """Return what a bout tells the leg: (steps before it, servo, goal in degrees)."""
    plant = HeardPlant(open_plant(plan, spec_path, "mujoco", 0))
    _executive(plan, open_bus(TURNAROUND, servos, plant, seed=1), seconds)
    goals: list[tuple[int, int, float]] = []
    last = 0
    for done, servo, goal_deg in plant.heard:
        goals.append((done - last, servo, goal_deg))
        last = done
    return goals


def _bare_physics(plan: Plan, spec_path: Path, goals: list[tuple[int, int, float]]) -> float:
    # The same model through the same motion, and nothing but mj_step between two goals.
    plant = open_plant(plan, spec_path, "mujoco", 0)
    for motor in plan.motors:
        plant.command(motor.index, 0.0, 3)
    model, data = plant._model, plant._data  # type: ignore[attr-defined]
    scale, offset = plant._goal_scale, plant._goal_offset  # type: ignore[attr-defined]
    todo = [(steps, servo, goal * scale[servo] + offset[servo]) for steps, servo, goal in goals]
    control = memoryview(data.ctrl)

    def work() -> None:
        for steps, servo, goal in todo:
            if steps:
                mujoco.mj_step(model, data, steps)
            control[servo] = goal

    return _timed(work)


def _bus_alone(servos: list[ServoAddress], seconds: int) -> float:
    bus = open_bus(TURNAROUND, servos, StillPlant(), seed=1)
    goals = [120] * len(servos)

    def work() -> None:
        now = 0
        while now < seconds * NS:
            bus.start(now, goals)
            now = bus.run_until(now + NS)

    return _timed(work)


def _speed_table(rows: list[dict[str, float]], seconds: int) -> list[str]:
    def median(of: Callable[[dict[str, float]], float]) -> float:
        return statistics.median(of(row) for row in rows)

    per_second = {
        "physics (bare mj_step)": median(lambda r: r["bare"]),
        "plant around it: exchanges, contact, true state": median(lambda r: r["silent"] - r["still"] - r["bare"]),
        "bus bytes: codec, port, emulator": median(lambda r: r["bus"]),
        "control: executive and tasks": median(lambda r: r["still"] - r["bus"]),
        "logging, loading, sums": median(lambda r: r["whole"] - r["silent"]),
    }
    whole = median(lambda r: r["whole"])
    lines = [
        f"## Speed: {CONFIG}, all logs on, {seconds} s simulated, median of {len(rows)}",
        "",
        "| | simulated s per s | of bare physics |",
        "|---|---|---|",
        f"| whole bout, start to finished data directory | {seconds / whole:.0f} | "
        f"{median(lambda r: r['bare'] / r['whole']):.2f} |",
        f"| bare `mj_step`, same model, same motion, same run | {seconds / median(lambda r: r['bare']):.0f} | 1 |",
        "",
        "| part | ms per simulated s | share |",
        "|---|---|---|",
    ]
    for name, cost in per_second.items():
        lines.append(f"| {name} | {cost / seconds * 1e3:.2f} | {cost / whole:.0%} |")
    return [*lines, ""]


def ticks() -> list[str]:
    """Return the cost of one state transition and muscle tick for legs of many joints."""
    plan = prepare_bout(CONFIG, None).plan
    knee = next(joint.index for joint in reversed(plan.joints) if joint.states)
    lines = ["## One state transition + muscle tick", "", "| joints | microseconds | per joint |", "|---|---|---|"]
    for joints in (4, 18, 100):
        cost = _tick(repeat_joint(plan, knee, joints))
        lines.append(f"| {joints} | {cost * 1e6:.1f} | {cost * 1e6 / joints:.2f} |")
    return [*lines, ""]


def _tick(plan: Plan) -> float:
    store = Store(plan)
    for write in plan.initial:
        store.write(write.hdso, write.values)
    board = Board(plan, lambda *_: None)
    board.sensed = True
    rulebook = Rulebook(plan, store)
    for state in plan.states:
        code = [int(value) for value in store.values(state.rule) or ()]
        rulebook.swap(state.rule, code, rulebook.decode(state.rule, code))
    transition, muscles = StateTransition(plan, store, board, rulebook), MuscleConversion(plan, store, board)
    # Angles swing over both thresholds, so that every joint switches every tick.
    angles = [store.locate(slot) for slot in _angle_slots(plan)]
    repeats = max(20, 20_000 // len(plan.joints))

    def work() -> None:
        for k in range(repeats):
            for view, at in angles:
                view[at] = 130.0 if k % 2 else 40.0
            transition.run(k)
            muscles.run(k)

    work()
    return min(_timed(work) for _ in range(5)) / repeats


def _angle_slots(plan: Plan) -> list:
    from nuc_engine.model.plan import Slot

    return [Slot(motor.angle) for motor in plan.motors]


def memory(seconds: int) -> list[str]:
    """Return resident memory and live blocks over a long bout with all logs on."""
    marks = [(k + 1) * seconds / 6 for k in range(6)]
    lines = [
        f"## Memory over {seconds / 60:.0f} min simulated, all logs on",
        "",
        "| after, min | resident, MiB | Python blocks |",
        "|---|---|---|",
    ]

    def note(simulated_s: float, _: float) -> None:
        if marks and simulated_s >= marks[0]:
            marks.pop(0)
            lines.append(f"| {simulated_s / 60:.0f} | {_resident_mib():.1f} | {sys.getallocatedblocks()} |")

    with tempfile.TemporaryDirectory() as folder:
        run_bout(BoutSpec(CONFIG, Path(folder) / "bout", duration_s=seconds), note)
    return lines


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
