"""Holding servo deltas one after the other, and what was seen of each.

A row is one delta held for a while. Where the shaft stood (held against a stop) it tells the torque of that delta;
where it turned it tells how much of it is lost to speed (`drivers.bench.fit`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Final

from drivers.bench.motion import CycleReadings, Ending, Push, StopRequested
from drivers.errors import BusError
from drivers.servo import ServoModel

SETTLED: Final = 0.5
"""Share of a row's cycles that is left out at its beginning, while torque and speed still rise."""

STANDING_DEG: Final = 1.5
"""A shaft that got no further than this in the rest of the time stood still: a stop gives way a little."""

FEWEST: Final = 4
"""Cycles of a row that anything can be said from."""

NEAR_FASTEST: Final = 0.9
"""Share of the no-load speed from which on the supply's voltage leaves next to no torque."""

GRAVITY_M_S2: Final = 9.80665


@dataclass(frozen=True, slots=True)
class TorquePoint:
    """One delta, `ticks`, held: mean and standard deviation of its torque (N m), and the shaft's speed (ticks/s).

    Torques and speeds have the sign of rising positions. `stood` says whether the shaft stood still; `true_n_m` is what
    an emulated servo really gave, None on a real one.
    """

    ticks: int
    torque_n_m: float
    spread_n_m: float
    samples: int
    speed_ticks_s: float
    stood: bool
    ending: Ending
    true_n_m: float | None = None


class Hold:
    """One delta while it is held: hands each cycle on, and can be made a `Row` of afterwards."""

    def __init__(self, push: Push, ticks: int, model: ServoModel, truth: Callable[[], float] | None = None) -> None:
        """`truth` asks an emulated servo which torque it really gives (N m)."""
        self._push, self._ticks, self._model, self._truth = push, ticks, model, truth
        self._looks: list[CycleReadings] = []
        self._true: list[float] = []

    def run(self, stop: StopRequested) -> Iterator[CycleReadings]:
        """Hold the delta. Cycles whose goal met an end of the scale do not count. Raises `BusError`, `PortError`."""
        low, high = self._model.positions
        for look in self._push.run(stop):
            if look.good and low < look.goals[0] < high:
                self._looks.append(look)
                if self._truth is not None:
                    self._true.append(self._truth())
            yield look

    def row(self) -> TorquePoint:
        """Return what was seen once it had settled. Raises `BusError` when that was too little."""
        first = round(SETTLED * len(self._looks))
        looks = self._looks[first:]
        if len(looks) < FEWEST:
            raise BusError(
                f"delta {self._ticks}: {len(looks)} readings are too few ({self._push.ending.value});"
                " hold each delta longer, allow more travel, or begin in the middle of the scale"
            )
        torques = [torque_of_load(self._model, look.loads[0], self._ticks) for look in looks]
        places = [look.positions[0] for look in looks]
        return TorquePoint(
            ticks=self._ticks,
            torque_n_m=fmean(torques),
            spread_n_m=pstdev(torques),
            samples=len(looks),
            speed_ticks_s=_speed([look.time_ns * 1e-9 for look in looks], places),
            stood=(max(places) - min(places)) * self._model.tick_deg <= STANDING_DEG,
            ending=self._push.ending,
            true_n_m=fmean(self._true[first:]) if self._true else None,
        )


def torque_of_load(model: ServoModel, load: int, ticks: int) -> float:
    """Return the torque a load reading stands for (N m); a reading without direction takes that of the delta."""
    torque = load * model.load_n_m
    return torque if model.load_signed else math.copysign(torque, ticks)


def shows_torque(model: ServoModel) -> bool:
    """Say whether the load reading follows the torque of a shaft that turns too: a duty cycle does not."""
    return "duty" not in model.load_unit


def at_voltage_limit(model: ServoModel, row: TorquePoint) -> bool:
    """Say whether a shaft with a regulated current turned nearly as fast as it can: the voltage bounds it there.

    What is missing there is no loss in proportion to the speed.
    """
    fastest_ticks_s = math.degrees(model.no_load_rad_s) / model.tick_deg
    return model.current_loop and abs(row.speed_ticks_s) >= NEAR_FASTEST * fastest_ticks_s


def torque_of_weight(grams: float, lever_cm: float) -> float:
    """Return the torque with which a lever presses on scales that show so many grams (N m)."""
    return grams * 1e-3 * GRAVITY_M_S2 * lever_cm * 1e-2


def plan_deltas(most_ticks: int, steps: int) -> tuple[int, ...]:
    """Return deltas from small to large, each in both directions. Raises `BusError` for fewer ticks than steps."""
    if not 1 <= steps <= most_ticks:
        raise BusError(
            f"{steps} deltas up to {most_ticks} ticks: expected at least one, and no more than there are ticks"
        )
    sizes = sorted({max(1, round(most_ticks * (k + 1) / steps)) for k in range(steps)})
    return tuple(sign * size for size in sizes for sign in (1, -1))


def _speed(times_s: Sequence[float], places: Sequence[int]) -> float:
    """Return the slope of the straight line nearest to the places, in ticks per second."""
    middle_s, middle = fmean(times_s), fmean(places)
    spread = math.fsum((time_s - middle_s) ** 2 for time_s in times_s)
    if spread == 0.0:
        return 0.0
    both = zip(times_s, places, strict=True)
    return math.fsum((time_s - middle_s) * (place - middle) for time_s, place in both) / spread
