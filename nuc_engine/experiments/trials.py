"""One repetition of a row: its bouts, the kicks they turn out to need, and what the criterion says of them.

A kick that is needed is given by running the same seed again with the kick in it. Until then both bouts are equal, so
it is as if the leg had been kicked in time; and no bout has to know of the decision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.outcome import Outcome, classify
from nuc_engine.analysis.steps import detect_steps
from nuc_engine.bout import BoutSpec, run_bout
from nuc_engine.bulk.scratch import scratch_folder
from nuc_engine.experiments.protocol import BoutPlan, Criterion, Finding, Observation, Row, State, Trial
from nuc_engine.plants.events import Kick

_NS = 1_000_000_000

Kicks = Mapping[str, tuple[float, ...]]
"""Label of a bout -> instants (s) of the kicks given in it because they were needed."""

Observe = Callable[[BoutPlan, tuple[float, ...]], Observation]
"""Has a bout done, with kicks at these instants, and returns what was seen. Raises Aborted."""


class Aborted(Exception):
    """A bout that did not run to its end, or can not be looked at; the message says why."""


@dataclass(frozen=True, slots=True)
class Task:
    """One repetition to run in some process. `control` means the row's control bouts; `keep` receives their data."""

    row: Row
    seed: int
    control: bool = False
    keep: Path | None = None

    @property
    def bouts(self) -> tuple[BoutPlan, ...]:
        """The bouts of this repetition."""
        return self.row.control.bouts if self.control else self.row.bouts

    @property
    def duration_s(self) -> float:
        """Simulated time of all its bouts, when no kick is needed."""
        return sum(plan.duration_s for plan in self.bouts)


def run_task(task: Task) -> Trial:
    """Run one repetition; the form in which worker processes are asked for it."""
    return run_trial(task.row, task.seed, task.keep, control=task.control)


def run_trial(row: Row, seed: int, keep: Path | None = None, *, control: bool = False) -> Trial:
    """Run one repetition of a row, or of its control, on emulated legs.

    With `keep` the last data directory of each bout stays in a folder of its label there. Raises BoutRefused,
    PlantSpecError or NotFound when a bout can not even start: then the row is wrong, not the leg.
    """
    plans = row.control.bouts if control else row.bouts
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        return judge_trial(plans, row.criterion, seed, lambda plan, kicks: run_plan(plan, seed, keep, kicks))
    with scratch_folder() as folder:
        return judge_trial(plans, row.criterion, seed, lambda plan, kicks: run_plan(plan, seed, folder, kicks))


def rerun(row: Row, seed: int, folder: Path) -> dict[str, tuple[float, ...]]:
    """Run a repetition again for its data, into `folder`/label, and return the kicks that were given in each bout."""
    kicks: dict[str, tuple[float, ...]] = {}

    def observe_bout(plan: BoutPlan, given: tuple[float, ...]) -> Observation:
        kicks[plan.label] = given
        return run_plan(plan, seed, folder, given)

    judge_trial(row.bouts, row.criterion, seed, observe_bout)
    return kicks


def run_plan(plan: BoutPlan, seed: int, folder: Path, kicks_s: tuple[float, ...] = ()) -> Observation:
    """Run one bout into `folder`/label and return what was seen in it. Raises Aborted, and as `run_bout` does."""
    result = run_bout(
        BoutSpec(
            config=plan.config,
            out=folder / plan.label,
            script=plan.script,
            duration_s=plan.duration_s,
            seed=seed,
            overwrite=True,
            values=plan.values,
            plant=plan.plant,
            events=tuple(Kick(round(time_s * _NS)) for time_s in kicks_s),
        )
    )
    if result.state == "interrupted":
        raise KeyboardInterrupt
    if result.state != "complete":
        raise Aborted(f"{plan.label}: stopped at {result.simulated_s:.2f} s: {result.reason}")
    return observe(plan, result.folder, kicks_s)


def observe(plan: BoutPlan, folder: Path, kicks_s: tuple[float, ...] = ()) -> Observation:
    """Return what is to be seen in the data directory of a bout. Raises Aborted when that can not be told."""
    try:
        leg = load_bout(folder).tracks()
        steps = detect_steps(leg)
        outcomes = {
            window.name: classify(leg, (window.begin_s, window.end_s), steps=steps, settle_s=window.settle_s)
            for window in plan.windows
        }
    except AnalysisError as error:
        raise Aborted(f"{plan.label}: {error}") from error
    return Observation(plan, leg, steps, outcomes, kicks_s)


def judge_trial(plans: Sequence[BoutPlan], criterion: Criterion, seed: int, observe_bout: Observe) -> Trial:
    """Have the bouts of a repetition done, kick where that is needed and allowed, and return the verdict.

    First without any kick. When the behaviour before is not there, once more with a kick at `start_kick_s`. When it is
    there but the repetition is not as the dissertation saw it, again with the first of `kicks_s`, then the first two,
    and so on. Bouts of one repetition are kicked together: which of them needed it only the criterion could say.
    """
    kicks: dict[str, tuple[float, ...]] = {plan.label: () for plan in plans}
    seen: dict[str, Observation] = {}

    def look(some: Sequence[BoutPlan]) -> Finding:
        for plan in some:
            seen[plan.label] = observe_bout(plan, kicks[plan.label])
        return criterion({plan.label: seen[plan.label] for plan in plans})

    try:
        finding = look(plans)
        starters = [plan for plan in plans if plan.start_kick_s is not None]
        if not finding.started and starters:
            kicks |= {plan.label: (plan.start_kick_s,) for plan in starters if plan.start_kick_s is not None}
            finding = look(starters)
        at_start = dict(kicks)
        for count in range(1, 1 + max((len(plan.kicks_s) for plan in plans), default=0)):
            if finding.ok or not finding.started:
                break
            kickable = [plan for plan in plans if len(plan.kicks_s) >= count]
            kicks |= {plan.label: at_start[plan.label] + plan.kicks_s[:count] for plan in kickable}
            finding = look(kickable)
    except Aborted as aborted:
        return trial_of(seed, seen, str(aborted), sum(map(len, kicks.values())))
    return trial_of(seed, seen, finding)


def trial_of(seed: int, seen: Mapping[str, Observation], finding: Finding | str, kicks: int | None = None) -> Trial:
    """Return a repetition, judged, or broken off for the reason given; kicks are those of the observations."""
    counted = sum(len(one.kicks_s) for one in seen.values()) if kicks is None else kicks
    if isinstance(finding, str):
        return Trial(seed, "aborted", (finding,), {}, {}, counted, _outcomes(seen))
    return Trial(
        seed=seed,
        state=_state(finding),
        reasons=finding.reasons,
        numbers=finding.numbers,
        samples=finding.samples,
        kicks=counted,
        outcomes=_outcomes(seen),
    )


def _state(finding: Finding) -> State:
    if not finding.started:
        return "failed start"
    return "as seen" if finding.ok else "otherwise"


def _outcomes(seen: Mapping[str, Observation]) -> dict[str, dict[str, str]]:
    return {label: {name: _named(o) for name, o in seen[label].outcomes.items()} for label in seen}


def _named(outcome: Outcome) -> str:
    """Return an outcome's kind, and the global state a leg is stuck in with it."""
    return f"{outcome.kind} in {' + '.join(outcome.state)}" if outcome.state else outcome.kind
