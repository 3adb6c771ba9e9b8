"""How the cost of whole bouts grows: `python -m benchmarks.scaling`, into SCALING.md and scaling.svg.

By joints (legs of `lin_roach` side by side, each on a line of its own in front of a MuJoCo leg of its own), by entry
rules, by channels of the sensor log, by length. A whole bout is everything from its documents to its closed logs.
Processor time; the sizes take turns in each round. The exponent of a law cost ~ size^n is fitted over all its sizes, by
least squares of the logarithms: at most 1 is linear or better.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bodies import CONFIG, LEG_JOINTS, make_body
from benchmarks.parts import NS, SPEC_PATH, bus_of, timed
from drivers.group import BusGroup
from nuc_engine.bout.run import prepare_bout, run_to
from nuc_engine.control.executive import Executive
from nuc_engine.machine.core import core
from nuc_engine.model.store import Store
from nuc_engine.plants import PlantKind, open_plant
from nuc_engine.recording.recorder import BoutRecorder

MOST = 1.05
"""An exponent up to here is told as linear: what repetitions of one size differ by is no law."""


class Legs:
    """Legs side by side as one plant of which the log has the first."""

    def __init__(self, legs: Sequence[Any]) -> None:
        self._legs = legs

    def take_records(self) -> list[tuple[float, ...]]:
        """Return what was recorded of the first leg; of the others it is let go."""
        first, *_ = [leg.take_records() for leg in self._legs]
        return first


def whole_bout(folder: Path, out: Path, seconds: float, legs: int = 1, kind: PlantKind = "mujoco") -> None:
    """Run a whole bout of a body, every sensor of it logged, and leave its logs in a new folder."""
    prepared = prepare_bout(str(folder), None)
    sensors = tuple(hdso.index for hdso in prepared.plan.hdsos if hdso.kind == "sensor")
    plan = replace(prepared.plan, sensor_columns=sensors)
    leg = prepare_bout(CONFIG, None).plan
    plants = [open_plant(leg, SPEC_PATH, kind, number) for number in range(legs)]
    buses = [bus_of(leg, plant) for plant in plants]
    slots = [(number, motor) for number in range(legs) for motor in range(LEG_JOINTS)]
    bus: Any = buses[0] if legs == 1 else BusGroup(buses, slots)
    out.mkdir()
    store = Store(plan)
    recorder = BoutRecorder(out, prepared.model, plan, store)
    executive = Executive(plan, bus, recorder, store=store)
    recorder.start(0, "side by side")
    state, reason = run_to(round(seconds * NS), executive, recorder, Legs(plants), ())  # type: ignore[arg-type]
    executive.stop()
    recorder.close()
    if state != "complete":
        raise RuntimeError(f"{folder.name}: {state}: {reason}")


@dataclass(frozen=True, slots=True)
class Law:
    """One quantity that is varied, and what makes a bout of a size of it: called with a folder, it returns the work."""

    name: str
    sizes: Sequence[int]
    made: Callable[[int, Path], Callable[[Path], None]]


def _laws(seconds: float, longest: int) -> list[Law]:
    def joints(size: int, folder: Path) -> Callable[[Path], None]:
        legs = size // LEG_JOINTS
        return partial(_run, make_body(folder, legs=legs), seconds, legs)

    def rules(size: int, folder: Path) -> Callable[[Path], None]:
        # A module may have 256 actions: two legs have modules enough for a thousand.
        return partial(_run, make_body(folder, legs=2, rules=size), seconds, 2)

    def channels(size: int, folder: Path) -> Callable[[Path], None]:
        return partial(_run, make_body(folder, sensors=size), seconds, 1)

    def length(size: int, folder: Path) -> Callable[[Path], None]:
        return partial(_run, make_body(folder), size, 1)

    lengths = [size for size in (10, 30, 100, 300, 1000, 3600) if size <= longest]
    return [
        Law("joints", (4, 8, 16, 32, 64, 100), joints),
        Law("entry rules", (12, 30, 100, 300, 1000), rules),
        Law("channels logged", (10, 30, 100, 300, 1000), channels),
        Law("length, s", lengths, length),
    ]


def _run(folder: Path, seconds: float, legs: int, out: Path) -> None:
    whole_bout(folder, out, seconds, legs)


def measure(law: Law, rounds: int) -> dict[int, list[float]]:
    """Return processor seconds by size, one of each round."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        work = {size: law.made(size, root / f"body{size}") for size in law.sizes}
        took: dict[int, list[float]] = {size: [] for size in law.sizes}
        work[law.sizes[0]](root / "first")  # warms up
        for number in range(rounds):
            for size in law.sizes:
                took[size].append(timed(partial(work[size], root / f"out{number}-{size}")))
    return took


def exponent(cost: Mapping[int, float]) -> float:
    """Return n of cost ~ size^n, over all sizes."""
    slope, _ = np.polyfit(np.log(list(cost)), np.log(list(cost.values())), 1)
    return float(slope)


def main() -> None:
    """Measure all laws, and write table and figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated in a bout whose length is not varied")
    parser.add_argument("--longest", type=int, default=3600, help="seconds of the longest bout")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("SCALING.md"))
    asked = parser.parse_args()
    found: list[tuple[str, dict[int, float]]] = []
    for law in _laws(asked.seconds, asked.longest):
        cost = {size: statistics.median(each) for size, each in measure(law, asked.rounds).items()}
        found.append((law.name, cost))
        sys.stderr.write(f"{law.name}: {cost}\n")
    picture = asked.out.with_name(f"{asked.out.stem.lower()}.svg")
    draw(found, picture)
    lines = list(_table(found, asked, picture.name))
    asked.out.write_text("\n".join(lines) + "\n")
    sys.stdout.write("\n".join(lines) + "\n")


def draw(found: Sequence[tuple[str, Mapping[int, float]]], path: Path) -> None:
    """Draw each law on logarithmic scales, beside a linear one through its last point."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.0 * len(found), 3.0), layout="constrained")
    for axes, (name, cost) in zip(figure.subplots(1, len(found)), found, strict=True):
        sizes, seconds = list(cost), list(cost.values())
        axes.loglog(sizes, seconds, "o-", color="black", markersize=4, label=f"exponent {exponent(cost):.2f}")
        axes.loglog(sizes, [seconds[-1] * size / sizes[-1] for size in sizes], ":", color="grey", label="linear")
        axes.set_xlabel(name)
        axes.legend(fontsize=8)
    figure.axes[0].set_ylabel("processor time of a whole bout, s")
    figure.savefig(path, metadata={"Date": None})


def _table(found: Sequence[tuple[str, Mapping[int, float]]], asked: argparse.Namespace, picture: str) -> Iterable[str]:
    yield "# How whole bouts grow"
    yield ""
    yield (
        f"Made by `python -m benchmarks.scaling --seconds {asked.seconds:g} --longest {asked.longest} --rounds "
        f"{asked.rounds}`: legs of {CONFIG} with all logs, {asked.seconds:g} s unless the length is varied; core: "
        f"{core().partition(' (')[0]}. Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
        ". Processor time"
        f" of whole bouts, medians of {asked.rounds}."
    )
    yield ""
    yield f"![processor time by size]({picture})"
    yield ""
    yield "| | sizes | seconds | exponent | linear or better |"
    yield "|---|---|---|---|---|"
    for name, cost in found:
        slope = exponent(cost)
        sizes, seconds = ", ".join(map(str, cost)), ", ".join(f"{each:.3g}" for each in cost.values())
        yield f"| {name} | {sizes} | {seconds} | {slope:.2f} | {'yes' if slope <= MOST else '**no**'} |"
    yield ""
    yield (
        "Joints: each four are a leg with a line and a MuJoCo leg of its own: all are exchanged with in the time of"
        " one. Rules: what is added to two legs never holds, and is evaluated all the same. Channels: columns of the"
        " sensor log, which has every sensor here; what is added is measured by nothing."
    )


if __name__ == "__main__":
    main()
