"""How large the difference is where 002 appendix A is read otherwise: `python -m benchmarks.readings_nuc`.

Each other reading replaces one method of the oracle's equations; every shipped flight is flown with it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nuc_engine.bout.episode import load_run
from nuc_engine.machine.locations import CHECKOUT
from nuc_engine.verify.flight import FlightEquations, G, Limiter, Vector, about, program, times

CAUGHT = 1e-9
"""A scenario catches a reading when a number of its log differs by more; two right ones differ by less than 1e-12."""
POSITION = slice(1, 4)


class Mirrored(FlightEquations):
    def roll(self, left: float) -> float:
        return left / -G[2]


class FedForward(FlightEquations):
    def reference(self, t: float) -> Vector:
        reference = super().reference(t)
        self.rate = (program(self.document["reference"], t + self.dt)[6] - reference[6]) / self.dt
        return reference

    def yaw_rate(self, state: Sequence[float], reference: Sequence[float]) -> float:
        return self.rate


class LongWayRound(FlightEquations):
    def yaw_rate(self, state: Sequence[float], reference: Sequence[float]) -> float:
        return self.gains["k_yaw_per_s"] * (reference[6] - state[8])


class WantedYaw(FlightEquations):
    def mapping_yaw(self, state: Sequence[float], reference: Sequence[float]) -> float:
        return reference[6]


class DragForce(FlightEquations):
    def drag(self, velocity: float) -> float:
        return super().drag(velocity) / self.body["mass_kg"]


class PushesOnly(FlightEquations):
    def thrust(self, up: float) -> float:
        return max(0.0, super().thrust(up))


class SmallAngles(FlightEquations):
    def force(self, state: Sequence[float], control: Sequence[float]) -> Vector:
        aside = times(about(2, state[8]), [[state[7]], [-state[6]], [1.0]])
        return [row[0] * control[2] for row in aside]


class RollFirst(FlightEquations):
    def force(self, state: Sequence[float], control: Sequence[float]) -> Vector:
        turned = times(times(about(2, state[8]), about(0, state[6])), about(1, state[7]))
        return [row[2] * control[2] for row in turned]


class TiltMadeUpFor(FlightEquations):
    def force(self, state: Sequence[float], control: Sequence[float]) -> Vector:
        return [part / (math.cos(state[6]) * math.cos(state[7])) for part in super().force(state, control)]


class AtOnce(FlightEquations):
    def tilt(self, state: Sequence[float], control: Sequence[float]) -> tuple[float, float]:
        return control[0], control[1]


class VelocityFirst(FlightEquations):
    def step(self, state: Sequence[float], control: Sequence[float]) -> Vector:
        new = super().step(state, control)
        return [*(state[i] + self.dt * new[3 + i] for i in range(3)), *new[3:]]


class AttitudeFirst(FlightEquations):
    def step(self, state: Sequence[float], control: Sequence[float]) -> Vector:
        turned = super().step(state, control)[6:]
        return [*super().step([*state[:6], *turned], control)[:6], *turned]


class AddedUp(FlightEquations):
    def time(self, k: int) -> float:
        t = 0.0
        for _ in range(k):
            t += self.dt
        return t


class NextState(FlightEquations):
    def rows(self) -> list[Vector]:
        rows = super().rows()
        return [[row[0], *after[1:10], *row[10:]] for row, after in itertools.pairwise(rows)]


class TrueMass(FlightEquations):
    def thrust(self, up: float) -> float:
        return self.body["mass_kg"] * up


class NothingBefore(FlightEquations):
    def limiter(self) -> Limiter:
        limiter = super().limiter()
        limiter.hover = limiter.before = [0.0] * 4
        return limiter


@dataclass(frozen=True)
class OtherReading:
    number: str
    otherwise: str
    equations: type[FlightEquations]


READINGS = (
    OtherReading("N1", "the other sign of phi*", Mirrored),
    OtherReading("N2", "the yaw rate is the rate of the yaw reference: no error is seen", FedForward),
    OtherReading("N2", "the yaw error is not wrapped", LongWayRound),
    OtherReading("N3", "A.6 takes the yaw that is wanted", WantedYaw),
    OtherReading("N4", "c_d in kg/s: drag c_d v / m", DragForce),
    OtherReading("N5", "negative thrust is cut off at 0", PushesOnly),
    OtherReading("N6", "the force for small angles, as A.6 inverts it", SmallAngles),
    OtherReading("N6", "roll before pitch: Rz Rx Ry", RollFirst),
    OtherReading("N6", "thrust made up for tilt: T / (cos phi cos theta)", TiltMadeUpFor),
    OtherReading("N7", "the force follows phi* and theta* at once", AtOnce),
    OtherReading("N8", "position from the new velocity", VelocityFirst),
    OtherReading("N8", "attitude first, then what it pushes", AttitudeFirst),
    OtherReading("N9", "t is added up", AddedUp),
    OtherReading("N10", "rows hold the new state beside the old control", NextState),
    OtherReading("N11", "the controller knows the mass that was drawn", TrueMass),
    OtherReading("N12", "before the first control there was none", NothingBefore),
)
"""What was not taken, by the number of the reading in docs/readings_nuc.md."""


def scenarios() -> dict[str, Mapping[str, Any]]:
    """Return the resolved documents of all shipped flights."""
    folders = sorted(path.parent for path in Path(CHECKOUT / "configs").glob("flight_*/run.toml"))
    return {folder.name: load_run(folder).resolved for folder in folders}


def differences(reading: OtherReading, right: Sequence[Vector], document: Mapping[str, Any]) -> tuple[float, float]:
    """Return the largest difference of a position (m), and of any number of the log; infinite where it diverges."""
    try:
        other = reading.equations(document).rows()
    except (ValueError, OverflowError):
        return math.inf, math.inf
    pairs = list(zip(right, other, strict=False))
    return (
        max(abs(a - b) for one, two in pairs for a, b in zip(one[POSITION], two[POSITION], strict=True)),
        max(abs(a - b) for one, two in pairs for a, b in zip(one, two, strict=True)),
    )


def main() -> None:
    documents = scenarios()
    right = {name: FlightEquations(document).rows() for name, document in documents.items()}
    print("| | read otherwise | furthest apart | in | seen in |")
    print("|---|---|---|---|---|")
    for reading in READINGS:
        found = {name: differences(reading, right[name], document) for name, document in documents.items()}
        worst = max(found, key=lambda name: found[name])
        caught = sum(largest > CAUGHT for _, largest in found.values())
        apart, most = found[worst]
        told = "diverges" if math.isinf(apart) else f"{apart:.2g} m" if apart > CAUGHT else f"{most:.2g} of a number"
        print(f"| {reading.number} | {reading.otherwise} | {told} | {worst} | {caught} of {len(found)} |")


if __name__ == "__main__":
    main()
