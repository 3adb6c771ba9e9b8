"""What one tick of a controller costs, stage by stage: of a leg on the virtual clock, or of an episode of a RunConfig.

    for budget in measure_budget("lin_roach", 100.0, 10_000, perf_counter_ns): ...

Stages are timed where one calls another, each without what it calls; the total is measured by itself, in a run of its
own without any of that. A leg's tick is a period of its state transition task, with whatever else is due in it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from drivers.units import NS_PER_S
from nuc_engine.bout.described import load_leg
from nuc_engine.bout.episode import load_run
from nuc_engine.bout.run import CHUNK_NS, BoutSpec, set_up
from nuc_engine.episode.document import RunConfig
from nuc_engine.episode.loop import run_steps
from nuc_engine.episode.system import Pilot
from nuc_engine.machine.locations import find_run
from nuc_engine.model.store import Store
from nuc_engine.recording.recorder import BoutRecorder
from nuc_engine.recording.rows import RowLog

WARM_UP = 100
"""Ticks that are run before, and not counted."""

BUS, OTHER = "bus, emulated", "dispatch"
LEG_STAGES = ("sensor read", "state", "rules", "muscles", "encode", "physics", BUS, "log", OTHER)
"""Sensor read: an exchange taken up. State: its replies as sensors' values. Rules, muscles: the tasks. Encode: guard
and goals of the next exchange. Physics: the leg. Bus: codec, wire and servos; a real leg has the codec alone."""

EPISODE_STAGES = ("reference", "control", "physics", "log", OTHER)
"""Physics: the dynamics; dispatch: the loop and its conditions to stop."""

_OF_TASK: Mapping[str, str] = {
    "motor_reply": "sensor read",
    "motor_action": "encode",
    "motor_conversion": "state",
    "state_transition": "rules",
    "muscle_conversion": "muscles",
}
Now = Callable[[], int]


@dataclass(frozen=True, slots=True)
class StageCost:
    """Microseconds of one stage in a tick: the median, what 1 % exceed, and the most."""

    stage: str
    p50_us: float
    p99_us: float
    max_us: float


@dataclass(frozen=True, slots=True)
class TickBudget:
    """What ticks cost at a rate: each stage, and the total as it was measured by itself.

    `exchanges_hz` is how often the servos were asked, by simulated time; None where there are none.
    """

    rate_hz: float
    ticks: int
    stages: tuple[StageCost, ...]
    total: StageCost
    exchanges_hz: float | None

    @property
    def allowed_us(self) -> float:
        """How long a tick may take."""
        return 1e6 / self.rate_hz

    @property
    def failing(self) -> tuple[str, ...]:
        """What does not hold at this rate."""
        parts = (("half of the ticks", self.total.p50_us), ("1 % of the ticks", self.total.p99_us))
        found = [name for name, taken_us in parts if taken_us > self.allowed_us]
        if self.exchanges_hz is not None and self.exchanges_hz < self.rate_hz:
            found.append(f"the bus, at {self.exchanges_hz:.0f} exchanges a second")
        return tuple(found)


class StageClock:
    """Time by stage, each without what it calls."""

    def __init__(self, now_ns: Now, stages: Sequence[str]) -> None:
        self._now_ns = now_ns
        self._spent = dict.fromkeys(stages, 0)
        self._stage, self._since = OTHER, now_ns()

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does the same, as part of a stage."""

        def run(*words: Any) -> Any:
            outer = self._switch(stage)
            try:
                return function(*words)
            finally:
                self._switch(outer)

        return run

    def take(self) -> list[int]:
        """Return what each stage took since the last call, in ns."""
        self._switch(self._stage)
        spent = list(self._spent.values())
        self._spent = dict.fromkeys(self._spent, 0)
        return spent

    def _switch(self, stage: str) -> str:
        now, before = self._now_ns(), self._stage
        self._spent[before] += now - self._since
        self._stage, self._since = stage, now
        return before


class _Timed:
    """Something whose named methods are part of a stage; whatever else it has is as it was."""

    def __init__(self, of: Any, clock: StageClock, stages: Mapping[str, str]) -> None:
        self._of = of
        for name, stage in stages.items():
            setattr(self, name, clock.timed(stage, getattr(of, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)


def measure_budget(config: str, rate_hz: float, ticks: int, now_ns: Now) -> TickBudget:
    """Measure one tick of a configuration at a rate, over so many of them; `now_ns` is a clock.

    Raises what a bout, or an episode, raises that cannot begin.
    """
    if (file := find_run(config)) is not None:
        if (leg := load_leg(file)) is not None:
            return _of_leg(leg.config, rate_hz, ticks, now_ns)
        folder = file.parent
        return _of_episode(load_run(folder, _long(folder, rate_hz, ticks)), rate_hz, ticks, now_ns)
    return _of_leg(config, rate_hz, ticks, now_ns)


def _long(folder: Path, rate_hz: float, ticks: int) -> dict[str, float]:
    steps = ticks + WARM_UP
    stop = load_run(folder).resolved.get("stop", {})
    # What would end it before is out of the way.
    far = {f"stop.{key}": value for key, value in {"distance_m": 1e6, "floor_m": -1e6}.items() if key in stop}
    return {"timing.dt_s": 1 / rate_hz, "timing.duration_s": steps / rate_hz, **far}


def _of_episode(run: RunConfig, rate_hz: float, ticks: int, now_ns: Now) -> TickBudget:
    clock = StageClock(now_ns, EPISODE_STAGES)
    spent: list[list[int]] = []
    pilot = run.pilot()

    def timed_pilot() -> Pilot:
        return Pilot(clock.timed("control", pilot.law), pilot.limited)

    staged = replace(
        run, program=clock.timed("reference", run.program), step=clock.timed("physics", run.step), pilot=timed_pilot
    )
    with _log() as log:
        run_steps(staged, clock.timed("log", log), lambda *_: spent.append(clock.take()))
    moments: list[int] = []
    with _log() as log:
        run_steps(run, log, lambda *_: moments.append(now_ns()))
    total = np.diff(np.array(moments, dtype=np.int64))
    return _budget(rate_hz, ticks, EPISODE_STAGES, spent[1:], total, None)


@contextmanager
def _log() -> Generator[RowLog]:
    with tempfile.TemporaryDirectory(prefix="nuc-budget-") as folder, RowLog(Path(folder)) as log:
        yield log


def _of_leg(config: str, rate_hz: float, ticks: int, now_ns: Now) -> TickBudget:
    clock = StageClock(now_ns, LEG_STAGES)
    spent: list[list[int]] = []
    _fly_leg(config, rate_hz, ticks, clock, lambda: spent.append(clock.take()))
    moments: list[int] = []
    exchanges_hz = _fly_leg(config, rate_hz, ticks, None, lambda: moments.append(now_ns()))
    total = np.diff(np.array(moments, dtype=np.int64))
    return _budget(rate_hz, ticks, LEG_STAGES, spent[1:], total, exchanges_hz)


def _fly_leg(config: str, rate_hz: float, ticks: int, clock: StageClock | None, tick: Callable[[], None]) -> float:
    """Run a leg tick by tick, with all its logs; return how often its servos were asked in a simulated second."""
    period_ns = round(NS_PER_S / rate_hz)
    end_ns = (ticks + WARM_UP) * period_ns
    with tempfile.TemporaryDirectory(prefix="nuc-budget-") as folder:
        spec = BoutSpec(config, Path(folder), duration_s=end_ns / NS_PER_S)
        heard = (lambda plant: _Timed(plant, clock, {"advance": "physics"})) if clock is not None else None
        ready = set_up(spec, heard=heard)
        store = Store(ready.prepared.plan)
        log: Any = BoutRecorder(spec.out, ready.prepared.model, ready.prepared.plan, store)
        if clock is not None:
            log = _Timed(log, clock, dict.fromkeys(_RECORDED, "log"))
            ready = replace(ready, bus=_Timed(ready.bus, clock, {"start": BUS, "run_until": BUS}))
        executive = ready.executive(log, store)
        if clock is not None:
            for entry in executive.entries:
                entry.run = clock.timed(_OF_TASK.get(entry.name, OTHER), entry.run)
        store.write(ready.prepared.plan.statetrans_period, (period_ns,))
        for k in range(1, ticks + WARM_UP + 1):
            executive.run_until(k * period_ns)
            if k * period_ns % CHUNK_NS < period_ns:
                log.plant(ready.plant.take_records())
                log.flush()
            tick()
        cycles = executive.board.cycle
        log.close()
    return cycles * NS_PER_S / end_ns


_RECORDED = ("started", "motor", "sensors", "states", "muscles", "event", "plant", "flush")


def _budget(
    rate_hz: float,
    ticks: int,
    stages: Sequence[str],
    spent: Sequence[Sequence[int]],
    total: Any,
    exchanges_hz: float | None,
) -> TickBudget:
    columns = np.array(spent[-ticks:], dtype=np.int64).T
    costs = tuple(_cost(name, column) for name, column in zip(stages, columns, strict=True))
    return TickBudget(rate_hz, ticks, costs, _cost("total", total[-ticks:]), exchanges_hz)


def _cost(stage: str, taken_ns: Any) -> StageCost:
    p50, p99 = (float(part) / 1e3 for part in np.percentile(taken_ns, (50, 99)))
    return StageCost(stage, p50, p99, float(taken_ns.max()) / 1e3)
