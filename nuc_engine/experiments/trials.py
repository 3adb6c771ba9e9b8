"""One repetition of a row: its bouts, the kicks they turn out to need, and what the criterion says of them.

A kick that is needed is given by running the same seed again with the kick in it. Until then both bouts are equal, so
it is as if the leg had been kicked in time; and no bout has to know of the decision.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.outcome import Outcome, classify
from nuc_engine.analysis.steps import detect_steps
from nuc_engine.batch.watch import Watched
from nuc_engine.bout.run import run_bout
from nuc_engine.experiments.protocol import (
    BoutPlan,
    CriterionFunction,
    CriterionResult,
    Observation,
    State,
    TableRow,
    Trial,
)
from nuc_engine.experiments.sharing import Shared, spec_of, watch

Observe = Callable[[BoutPlan, tuple[float, ...]], Observation]
"""Has a bout done, with kicks at these instants, and returns what was seen. Raises Aborted."""


class Aborted(Exception):
    """A bout that did not run to its end, or can not be looked at; the message says why."""


@dataclass(frozen=True, slots=True)
class Task:
    """One repetition to run in some process. `control` means the row's control bouts; `keep` receives their data."""

    row: TableRow
    seed: int
    control: bool = False
    keep: Path | None = None

    def __str__(self) -> str:
        return f"{self.row.name}{', control' if self.control else ''}, seed {self.seed}"

    @property
    def bouts(self) -> tuple[BoutPlan, ...]:
        """The bouts of this repetition."""
        return self.row.control.bouts if self.control else self.row.bouts

    @property
    def duration_s(self) -> float:
        """Simulated time of all its bouts, when no kick is needed."""
        return sum(plan.duration_s for plan in self.bouts)


def run_task(task: Task, bouts: Shared | None = None) -> Trial:
    """Run one repetition, with bouts it shares with others where there are some, unless its own are kept."""
    return run_trial(task.row, task.seed, task.keep, control=task.control, bouts=bouts)


def run_trial(
    row: TableRow, seed: int, keep: Path | None = None, *, control: bool = False, bouts: Shared | None = None
) -> Trial:
    """Run one repetition of a row, or of its control, on emulated legs.

    With `keep` the last data directory of each bout stays in a folder of its label there. Raises BoutRefused,
    PlantSpecError or NotFound when a bout can not even start: then the row is wrong, not the leg.
    """
    plans = row.control.bouts if control else row.bouts
    if keep is None:
        watched = bouts if bouts is not None else Shared(plans, seed)
        return judge_trial(
            plans, row.criterion, seed, lambda plan, kicks: look_at(plan, watched.watch(plan, kicks), kicks)
        )
    keep.mkdir(parents=True, exist_ok=True)
    last: dict[str, tuple[float, ...]] = {}

    def observe_bout(plan: BoutPlan, kicks_s: tuple[float, ...]) -> Observation:
        last[plan.label] = kicks_s
        return run_plan(plan, seed, keep, kicks_s)

    trial = judge_trial(plans, row.criterion, seed, observe_bout)
    if trial.state != "aborted":
        # Kicks that were tried in vain are not to be found in what is kept.
        changed = [plan for plan in plans if last[plan.label] != trial.kicked_s.get(plan.label, ())]
        run_again(changed, trial, keep)
    return trial


def run_again(plans: Sequence[BoutPlan], trial: Trial, folder: Path) -> None:
    """Run bouts of a repetition once more for their data, into `folder`/label, with the kicks that were given."""
    for plan in plans:
        run_plan(plan, trial.seed, folder, trial.kicked_s.get(plan.label, ()))


def run_plan(plan: BoutPlan, seed: int, folder: Path, kicks_s: tuple[float, ...] = ()) -> Observation:
    """Run one bout into `folder`/label and return what was seen in it. Raises Aborted, and as `run_bout` does."""
    folder.mkdir(parents=True, exist_ok=True)
    result = run_bout(spec_of(plan, seed, folder, kicks_s))
    _check_end(plan, result.state, result.reason, result.simulated_s)
    return observe(plan, result.folder, kicks_s)


def watch_plan(plan: BoutPlan, seed: int, kicks_s: tuple[float, ...] = ()) -> Observation:
    """Run one bout that nobody keeps and return the same as `run_plan`."""
    return look_at(plan, watch(plan, seed, kicks_s), kicks_s)


def look_at(plan: BoutPlan, watched: Watched, kicks_s: tuple[float, ...] = ()) -> Observation:
    """Return what was seen in a bout that nobody keeps. Raises Aborted when that can not be told."""
    _check_end(plan, watched.state, watched.reason, watched.simulated_s)
    return _observe(plan, watched.read, kicks_s)


def _check_end(plan: BoutPlan, state: str, reason: str, simulated_s: float) -> None:
    if state == "interrupted":
        raise KeyboardInterrupt
    if state != "complete":
        raise Aborted(f"{plan.label}: stopped at {simulated_s:.2f} s: {reason}")


def observe(plan: BoutPlan, folder: Path, kicks_s: tuple[float, ...] = ()) -> Observation:
    """Return what is to be seen in the data directory of a bout. Raises Aborted when that can not be told."""
    return _observe(plan, lambda: load_bout(folder), kicks_s)


def _observe(plan: BoutPlan, load: Callable[[], Bout], kicks_s: tuple[float, ...]) -> Observation:
    try:
        leg = load().tracks()
        steps = detect_steps(leg)
        outcomes = {
            window.name: classify(leg, (window.begin_s, window.end_s), steps=steps, settle_s=window.settle_s)
            for window in plan.windows
        }
    except AnalysisError as error:
        raise Aborted(f"{plan.label}: {error}") from error
    return Observation(plan, leg, steps, outcomes, kicks_s)


def judge_trial(plans: Sequence[BoutPlan], criterion: CriterionFunction, seed: int, observe_bout: Observe) -> Trial:
    """Have the bouts of a repetition done, kick where that is needed and allowed, and return the verdict.

    First without any kick. When the behaviour before is not there, once more with a kick at `start_kick_s`. When it
    is there but the repetition is not as the dissertation saw it, and that is not settled before the final part,
    again with the first of `kicks_s`, then the first two, and so on. Bouts of one repetition are kicked together:
    which of them needed it only the criterion could say. When no number of final kicks helps, the repetition stands
    as it was without them, and says so.
    """
    seen: dict[str, Observation] = {}
    try:
        finding = _look(seen, plans, criterion, observe_bout, {})
        starters = {plan.label: (plan.start_kick_s,) for plan in plans if plan.start_kick_s is not None}
        if not finding.started and starters:
            finding = _look(seen, plans, criterion, observe_bout, starters)
        return _kick(seen, plans, finding, criterion, seed, observe_bout)
    except Aborted as aborted:
        return trial_of(seed, seen, str(aborted))


def _kick(
    seen: Mapping[str, Observation],
    plans: Sequence[BoutPlan],
    finding: CriterionResult,
    criterion: CriterionFunction,
    seed: int,
    observe_bout: Observe,
) -> Trial:
    """Try final kicks where they may help; return what came of it."""
    most = max((len(plan.kicks_s) for plan in plans), default=0)
    if finding.ok or not finding.started or not finding.enough or finding.settled or not most:
        return trial_of(seed, seen, finding)
    again = dict(seen)
    in_vain: list[str] = []
    for count in range(1, 1 + most):
        kicks = {p.label: seen[p.label].kicks_s + p.kicks_s[:count] for p in plans if len(p.kicks_s) >= count}
        try:
            kicked = _look(again, plans, criterion, observe_bout, kicks)
        except Aborted as aborted:
            in_vain.append(f"after {_counted(count)}: {aborted}")
            continue
        if kicked.ok and kicked.started and kicked.enough:
            return trial_of(seed, again, kicked)
    in_vain.append(f"{'' if most == 1 else 'up to '}{_counted(most)} did not help")
    return trial_of(seed, seen, replace(finding, reasons=(*finding.reasons, *in_vain)))


def _counted(kicks: int) -> str:
    return "one kick" if kicks == 1 else f"{kicks} kicks"


def _look(
    seen: dict[str, Observation],
    plans: Sequence[BoutPlan],
    criterion: CriterionFunction,
    observe_bout: Observe,
    kicks: Mapping[str, tuple[float, ...]],
) -> CriterionResult:
    """Have bouts done that are to be kicked, or that were not done yet, and say what the criterion says then."""
    for plan in plans:
        if plan.label in kicks or plan.label not in seen:
            seen[plan.label] = observe_bout(plan, kicks.get(plan.label, ()))
    return criterion({plan.label: seen[plan.label] for plan in plans})


def trial_of(seed: int, seen: Mapping[str, Observation], finding: CriterionResult | str) -> Trial:
    """Return a repetition, judged, or broken off for the reason given; kicks are those of the observations."""
    judged = CriterionResult(False, (finding,)) if isinstance(finding, str) else finding
    kicked = {label: one.kicks_s for label, one in seen.items() if one.kicks_s}
    return Trial(
        seed=seed,
        state="aborted" if isinstance(finding, str) else _state(finding),
        reasons=judged.reasons,
        numbers=judged.numbers,
        samples=judged.samples,
        kicks=sum(map(len, kicked.values())),
        outcomes=_outcomes(seen),
        kicked_s=kicked,
        start_kicks=sum(map(_start_kicks, seen.values())),
        moved=_moved(seen),
    )


def _moved(seen: Mapping[str, Observation]) -> str:
    """Return a digest of angles, loads and actions of all bouts, with their times."""
    digest = hashlib.blake2b(digest_size=16)
    for one in seen.values():
        for module in one.leg.modules:
            for values in (module.angle_deg, module.load, module.action):
                digest.update(b"-" if values is None else values.tobytes())
        digest.update(one.leg.t_sensor_s.tobytes() + one.leg.t_state_s.tobytes())
    return digest.hexdigest()


def _start_kicks(one: Observation) -> int:
    """Return how many kicks were given to make the leg begin: those before any that may be given in the end.

    A hand is not on time, so that the instants themselves do not tell.
    """
    if one.plan.start_kick_s is None:
        return 0
    return sum(time_s < min(one.plan.kicks_s, default=math.inf) for time_s in one.kicks_s)


def _state(finding: CriterionResult) -> State:
    if not finding.started:
        return "failed start"
    if not finding.enough:
        return "too few"
    return "as seen" if finding.ok else "otherwise"


def _outcomes(seen: Mapping[str, Observation]) -> dict[str, dict[str, str]]:
    return {label: {name: _named(o) for name, o in seen[label].outcomes.items()} for label in seen}


def _named(outcome: Outcome) -> str:
    """Return an outcome's kind, and the global state a leg is stuck in with it."""
    return f"{outcome.kind} in {' + '.join(outcome.state)}" if outcome.state else outcome.kind
