"""Measure speed and memory, write benchmarks/RESULTS.md: `python -m benchmarks [--quick] [--flygym]`, or `make bench`.

Every figure is compared with another one of the same run: the machine may be shared and its speed may drift. Times are
processor time. The core as Python and, where it is there, compiled take turns, each round in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks import fly, plain
from benchmarks.parts import CONFIG, SPEC_PATH, timed
from benchmarks.stand_ins import repeat_joint
from nuc_engine.bout.run import BoutSpec, prepare_bout, run_bout
from nuc_engine.control.rulebook import Rulebook
from nuc_engine.control.tasks.board import Board
from nuc_engine.control.tasks.muscle_conversion import MuscleConversion
from nuc_engine.control.tasks.state_transition import StateTransition
from nuc_engine.machine.core import COMPILED, core
from nuc_engine.model.plan import Plan, Slot
from nuc_engine.model.store import Store

STEPS_S = 30
"""Over so long the classifier looks at the plain loop's leg."""

Round = dict[str, float]
PARTS: dict[str, Callable[[Round], float]] = {
    "physics (bare `mj_step`)": lambda r: r["bare"],
    "leg around it: exchanges, contact, true state": lambda r: r["leg"] - r["bare"],
    "bus bytes: codec, port, emulator": lambda r: r["bus"],
    "control: executive and tasks": lambda r: r["played"] - r["bus"],
    "logging, loading, sums": lambda r: r["whole"] - r["silent"],
    "remainder: what only appears with all of them together": lambda r: r["silent"] - r["leg"] - r["played"],
}


def main() -> None:
    """Measure everything and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short runs: to see that it works, not to quote")
    parser.add_argument(
        "--flygym",
        type=Path,
        nargs="?",
        const=fly.HOME,
        help="beside FlyGym, of an environment in this folder, which is made where it is not there (1.5 GB)",
    )
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("RESULTS.md"))
    arguments = parser.parse_args()
    seconds, rounds, hour = (2, 2, 60) if arguments.quick else (300, 5, 3600)
    beside = None if arguments.flygym is None else fly.environment(arguments.flygym)
    lines = [*_heading(arguments.quick), *speed(seconds, rounds, beside), *ticks(), *memory(hour)]
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


def speed(seconds: int, rounds: int, beside: Path | None) -> list[str]:
    """Return the table of simulated seconds per second, and of what a simulated second costs."""
    pure: list[Round] = []
    compiled: list[Round] = []
    flies: list[Round] = []
    sides = {"1": pure, "0": compiled} if core() == COMPILED else {"1": pure}
    for _ in range(rounds):
        for wanted, rows in sides.items():
            found = child([sys.executable, "-m", "benchmarks.parts", str(seconds)], {"NUC_PURE": wanted})
            rows.append(found)
        if beside is not None:
            flies.append(child([str(beside), "-P", fly.__file__, str(min(seconds / 10, fly.MOST_S))], {}))
    return _speed_table(pure, compiled, flies, seconds)


def child(words: Sequence[str], environment: dict[str, str]) -> Round:
    """Return what a measuring process says in its last line. Raises RuntimeError with what went wrong in it."""
    done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def _median(rows: Sequence[Round], of: Callable[[Round], float]) -> float:
    return statistics.median(map(of, rows))


def _share(rows: Sequence[Round], name: str, seconds: int) -> str:
    part = PARTS[name]
    return f"{_median(rows, part) / seconds * 1e3:.2f} | {_median(rows, lambda r: part(r) / r['whole']):.0%}"


def _speed_table(pure: list[Round], compiled: list[Round], flies: list[Round], seconds: int) -> list[str]:
    cores = {"as Python": pure, "compiled core": compiled}
    cores = {name: rows for name, rows in cores.items() if rows}
    both = [*pure, *compiled]
    kind = plain.step_kind(prepare_bout(CONFIG, None), SPEC_PATH, STEPS_S)

    def line(name: str, rows: list[Round], part: str) -> str:
        share = _median(rows, lambda r: r["bare"] / r[part])
        return f"| {name} | {seconds / _median(rows, lambda r: r[part]):.0f} | {share:.2f} |"

    lines = [
        f"## Speed: {CONFIG}, {seconds} s simulated, median of {len(pure)}",
        "",
        "| | simulated s per s | of bare physics |",
        "|---|---|---|",
        *(
            line(f"whole bout, all logs, start to finished data directory, {core}", rows, "whole")
            for core, rows in cores.items()
        ),
        line(
            f"a plain loop over `mujoco`: same rules and muscles, no bytes, logs or checks; steps: {kind}",
            both,
            "plain",
        ),
        line("bare `mj_step`, same model, same motion", both, "bare"),
    ]
    if flies:
        name = f"FlyGym {fly.VERSION}, its rule-based controller (a fly of six legs), of its own bare physics"
        share = _median(flies, lambda r: r["bare"] / r["whole"])
        lines.append(f"| {name} | {_median(flies, lambda r: r['simulated'] / r['whole']):.3g} | {share:.2f} |")
    else:
        lines += ["", "Without FlyGym: `python -m benchmarks --flygym` makes an environment for it; needs a network."]
    if not compiled:
        lines += ["", "Without the compiled core: there is none of these sources (`make fast`)."]
    lines += [
        "",
        "Each part alone, through what was heard of one bout: the bus and control hear the samples of a moving leg.",
        "",
        f"| part, ms per simulated s | {' | '.join(f'{core} | share' for core in cores)} |",
        f"|---|{'---|---|' * len(cores)}",
    ]
    lines += [f"| {name} | {' | '.join(_share(rows, name, seconds) for rows in cores.values())} |" for name in PARTS]
    return [*lines, ""]


def ticks() -> list[str]:
    """Return the cost of one state transition and muscle tick for legs of many joints."""
    plan = prepare_bout(CONFIG, None).plan
    knee = next(joint.index for joint in reversed(plan.joints) if joint.states)
    lines = ["## One state transition + muscle tick", "", "| joints | microseconds | per joint |", "|---|---|---|"]
    for joints in (4, 18, 100):
        cost = tick(repeat_joint(plan, knee, joints))
        lines.append(f"| {joints} | {cost * 1e6:.1f} | {cost * 1e6 / joints:.2f} |")
    return [*lines, ""]


def tick(plan: Plan) -> float:
    """Return the seconds of one tick of a plan whose joints all switch in it."""
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
    return min(timed(work) for _ in range(5)) / repeats


def _angle_slots(plan: Plan) -> list[Slot]:
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
