"""Values found by an optimiser: most bouts good over the seeds first, then how good they are.

The optimiser is Optuna's tree-structured Parzen estimator: it takes ranges, whole numbers and lists alike, bears with
noise, and its journal file survives whatever ends the process. The values in force are its first trial, so that what it
finds is never worse by its own measure.
"""

from __future__ import annotations

import json
import math
import sys
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import stdev
from typing import Any

from nuc_engine.batch import scratch
from nuc_engine.batch.axes import PLANT, Axis
from nuc_engine.batch.changeset import entries_at, find_hdso
from nuc_engine.batch.criterion import Criterion, Score, score_of, wilson
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.plan import SweepPlan, sort_out
from nuc_engine.batch.pool import DoneCallback, Workers
from nuc_engine.batch.task import Value
from nuc_engine.machine.locations import PLANT_SPEC_FILE
from nuc_engine.machine.needs import need
from nuc_engine.model.values import initial_values
from sccils_schemas.documents import HdsoMod, HdsoScript
from sccils_schemas.writer import write

TUNING_SEEDS, FRESH_SEEDS = "1000:1007", "1900:1919"
"""Seeds a search looks at, and others on which what was found is tried."""
VERDICT_SEEDS = 20001
"""From here on seeds are for verdicts: whatever is tuned with them says nothing any more."""

_PLAN, _SEEN, _GOOD, _MARGIN, _NOISE = "plan", "seen", "good", "margin", "noise"


@dataclass(frozen=True, slots=True)
class Tried:
    """One set of values: by axis name, bouts that were good of how many, mean margin, and what was seen how often.

    `noise` is the standard error of the margin over the seeds; NaN for one seed, and where it was not noted.
    """

    values: Mapping[str, Value]
    good: int
    bouts: int
    margin: float
    seen: Mapping[str, int]
    noise: float = math.nan

    @property
    def objective(self) -> float:
        """What is maximised: a bout more that is good counts more than any margin."""
        return (self.good + self.margin) / (self.bouts + 1)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the share of good bouts."""
        return wilson(self.good, self.bouts)


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a search found: the best, the values there were before (None where they do not lie on the axes).

    `fresh` is the best one on seeds the search did not know, `present_fresh` the values in force on these. `trials`
    counts all, `before` those of earlier calls.
    """

    best: Tried
    present: Tried | None
    fresh: Tried | None
    trials: int
    before: int
    present_fresh: Tried | None = None

    @property
    def surely_better(self) -> bool | None:
        """Whether the best is better than the values in force by more than chance; None where that was not tried.

        The intervals of the two shares of good bouts on fresh seeds are apart then. By the seeds of the search the
        best is the luckiest of many trials.
        """
        if self.fresh is None or self.present_fresh is None:
            return None
        return self.fresh.interval[0] > self.present_fresh.interval[1]


def tune(
    plan: SweepPlan,
    criterion: Criterion,
    study: Path,
    *,
    trials: int,
    fresh_seeds: Sequence[int] = (),
    jobs: int | None = None,
    draw: int = 0,
    force: bool = False,
    done: DoneCallback | None = None,
    told: Callable[[int, Tried], None] | None = None,
) -> Tuned:
    """Look for values of the plan's axes with which most of its seeds are good.

    `study` is the optimiser's file: what is in it is not run again, and `trials` counts it. `told` is called with every
    trial, `done` of finished bouts. Raises BulkRefused when the file belongs to another search, or nothing can be
    searched.
    """
    _check(plan)
    optuna = _library()
    scratch.clear_left_over()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        found = _open(optuna, study, {**plan.describe(), "criterion": str(criterion)}, draw, force)
        before = _settle(optuna, found, plan)
        distributions = {axis.name: _distribution(optuna, axis) for axis in plan.axes}
        start = _present(plan)
        tries = 1 if start is None else 2
        bouts = max(0, trials - before) * len(plan.seeds) + tries * len(fresh_seeds)
        count = _Counter(done, bouts)
        with Workers(jobs) as workers:
            at_once = -(-workers.jobs // len(plan.seeds))
            while (finished := len(_complete(optuna, found))) < trials:
                asked = [found.ask(distributions) for _ in range(min(at_once, trials - finished))]
                tried = _try_all([dict(trial.params) for trial in asked], plan, plan.seeds, criterion, workers, count)
                for trial, one in zip(asked, tried, strict=True):
                    trial.set_user_attr(_GOOD, one.good)
                    trial.set_user_attr(_MARGIN, one.margin)
                    trial.set_user_attr(_NOISE, one.noise if math.isfinite(one.noise) else None)
                    trial.set_user_attr(_SEEN, dict(one.seen))
                    found.tell(trial, one.objective)
                    if told is not None:
                        told(trial.number, one)
            best = _tried(found.best_trial, plan)
            points = [dict(best.values), *([] if start is None else [start])]
            tried = _try_all(points, plan, fresh_seeds, criterion, workers, count) if fresh_seeds else []
        first = next((trial for trial in _complete(optuna, found) if trial.number == 0), None)
        present = _tried(first, plan) if first is not None and start is not None else None
        fresh, present_fresh = (*tried, None, None)[:2]
        return Tuned(best, present, fresh, len(_complete(optuna, found)), before, present_fresh)


def tuned_script(plan: SweepPlan, tried: Tried, name: str, description: str) -> bytes:
    """Return an hdsoscript with the values that were found: at 0, or at the time of the write that was varied.

    Numbers of plant.toml are no business of a script; they stand in its description.
    """
    timed, given, plant = sort_out(dict(tried.values))
    mods = [_mod(plan, hdso, Decimal(0), value) for hdso, value in given]
    mods += [_mod(plan, hdso, time, value) for hdso, time, value in timed]
    mods.sort(key=lambda mod: mod.time_s)
    if plant:
        description += " In plant.toml: " + ", ".join(f"{key} = {value:.6g}" for key, value in plant) + "."
    return write(HdsoScript(tuple(mods), name=name, script_type="LegScript", description=description))


def _mod(plan: SweepPlan, name: str, time_s: Decimal, value: Value) -> HdsoMod:
    hdso = find_hdso(plan.plan, name)
    data = value if isinstance(value, str) else (value,)
    datatype: Any = "char" if isinstance(value, str) else hdso.datatype
    return HdsoMod(hdso.id_num, len(data), data, hdso.name, datatype=datatype, time_s=time_s)


def _try_all(
    points: Sequence[dict[str, Value]],
    plan: SweepPlan,
    seeds: Sequence[int],
    criterion: Criterion,
    workers: Workers,
    count: _Counter,
) -> list[Tried]:
    """Run every point with every seed."""
    orders = [(plan.task_of(values, seed), criterion) for values in points for seed in seeds]
    scores: dict[int, Score] = {}
    for index, score in workers.run(score_of, orders):
        scores[index] = score
        count.one_more()
    tried: list[Tried] = []
    for k, values in enumerate(points):
        own = [scores[k * len(seeds) + j] for j in range(len(seeds))]
        margins = [score.margin for score in own]
        noise = stdev(margins) / math.sqrt(len(own)) if len(own) > 1 else math.nan
        seen = Counter(score.seen for score in own)
        good = sum(score.good for score in own)
        tried.append(Tried(values, good, len(own), sum(margins) / len(own), seen, noise))
    return tried


class _Counter:
    """Counts finished bouts over several lists of them."""

    def __init__(self, done: DoneCallback | None, total: int) -> None:
        self._done, self._total, self._finished = done, total, 0

    def one_more(self) -> None:
        self._finished += 1
        if self._done is not None:
            self._done(self._finished, self._total)


def _check(plan: SweepPlan) -> None:
    reasons: list[str] = []
    if not plan.axes:
        reasons.append("nothing is varied; expected --vary NAME=FROM:TO")
    for axis in plan.axes:
        if axis.count is not None:
            reasons.append(f"--vary {axis.name}: a search takes FROM:TO or FROM:TO:log, or a list, not a grid")
        if len(axis.choices) == 1:
            reasons.append(f"--vary {axis.name}: one value only; there is nothing to look for")
    if late := [seed for seed in plan.seeds if seed >= VERDICT_SEEDS]:
        reasons.append(
            f"seed {late[0]}: seeds from {VERDICT_SEEDS} on are for verdicts; tune with others, as 1000:1019"
        )
    if reasons:
        raise BulkRefused("\n".join(reasons))


def _open(optuna: Any, path: Path, description: dict[str, Any], draw: int, force: bool) -> Any:
    """Return the study of a file, begun or gone on with."""
    if force:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    journal = optuna.storages.journal
    # Its other lock is a symbolic link, which Windows lets administrators make.
    lock = journal.JournalFileOpenLock(str(path)) if sys.platform == "win32" else None
    storage = optuna.storages.JournalStorage(journal.JournalFileBackend(str(path), lock))
    study = optuna.create_study(storage=storage, study_name="nuc tune", direction="maximize", load_if_exists=True)
    wanted = json.dumps(description)
    there = study.user_attrs.get(_PLAN)
    if there is None:
        study.set_user_attr(_PLAN, wanted)
    elif there != wanted:
        raise BulkRefused(f"{path}: holds another search; choose another file, or throw it away with --force")
    # A search that goes on must not draw again what it drew first.
    study.sampler = optuna.samplers.TPESampler(
        seed=draw + 1_000_003 * len(study.trials), multivariate=True, constant_liar=True
    )
    return study


def _settle(optuna: Any, study: Any, plan: SweepPlan) -> int:
    """Give trials that were cut off back to the search, and begin one with the present values; return what is done."""
    states = optuna.trial.TrialState
    for trial in study.get_trials(deepcopy=False, states=(states.RUNNING,)):
        study.tell(trial.number, state=states.FAIL)
        study.enqueue_trial(trial.params)
    if not study.trials and (start := _present(plan)) is not None:
        study.enqueue_trial(start)
    return len(_complete(optuna, study))


def _complete(optuna: Any, study: Any) -> list[Any]:
    return study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))


def _tried(trial: Any, plan: SweepPlan) -> Tried:
    attributes = trial.user_attrs
    noise = attributes.get(_NOISE)
    return Tried(
        dict(trial.params),
        attributes[_GOOD],
        len(plan.seeds),
        attributes[_MARGIN],
        Counter(attributes[_SEEN]),
        math.nan if noise is None else noise,
    )


def _distribution(optuna: Any, axis: Axis) -> Any:
    kinds = optuna.distributions
    if axis.choices:
        return kinds.CategoricalDistribution(axis.choices)
    low, high = sorted((axis.low, axis.high))
    if axis.whole:
        return kinds.IntDistribution(round(low), round(high), log=axis.log)
    return kinds.FloatDistribution(low, high, log=axis.log)


def _present(plan: SweepPlan) -> dict[str, Value] | None:
    """Return the values in force, None where one of them does not lie on its axis."""
    found: dict[str, Value] = {}
    for axis in plan.axes:
        value = _present_value(plan, axis.name)
        if value is None or not _lies_on(axis, value):
            return None
        found[axis.name] = value
    return found


def _lies_on(axis: Axis, value: Value) -> bool:
    if axis.choices or isinstance(value, str):
        return value in axis.choices
    low, high = sorted((axis.low, axis.high))
    return low <= value <= high


def _present_value(plan: SweepPlan, name: str) -> Value | None:
    timed, given, plant = sort_out({name: 0.0})
    if plant:
        return _plant_value(plan, name.removeprefix(PLANT))
    if timed and plan.document is not None:
        hdso, time, _ = timed[0]
        written = [entry for entry in entries_at(plan.document, plan.plan, time) if entry.hdso.name == hdso]
        data = written[-1].mod.data
        return data if isinstance(data, str) else data[0]
    hdso = find_hdso(plan.plan, given[0][0])
    values = initial_values(plan.plan)[hdso.index]
    return values[0] if values is not None and len(values) == 1 else None


def _plant_value(plan: SweepPlan, key: str) -> float | None:
    table: Any = tomllib.loads(dict(plan.inputs.files)[PLANT_SPEC_FILE].decode())
    for part in key.split("."):
        table = table[int(part)] if isinstance(table, list) else table[part]
    return float(table)


def _library() -> Any:
    need(optuna="a search")
    import optuna

    return optuna
