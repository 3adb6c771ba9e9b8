"""What makes a bout a good one, and how good: by the name of an outcome, or by a function of one's own.

A function takes a `Sight` (`nuc_engine.batch.task`: tracks, steps, outcomes by window) and returns whether the bout is
a good one, alone or with how good, from 0 to 1: `return sight.steps is not None and len(sight.steps) > 9, 0.5`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from statistics import NormalDist
from typing import Any, cast, get_args

from nuc_engine.analysis.conditions import asked_of, behaviour_checks, general_checks
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA, Behaviour, OutcomeKind
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.outcome import Outcome
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.task import BoutObservation, BoutTask, see

LEVEL = 0.95
"""Coverage of the intervals of shares."""
REGULAR = 0.2
"""Part of the margin that regularity makes; conditions that hold make the rest."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """What is asked of a bout: in its window `window` this outcome, or what a function in a file says."""

    outcome: OutcomeKind | None = None
    window: str = ""
    file: Path | None = None
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.function}" if self.file is not None else f"{self.outcome} in {self.window}"


@dataclass(frozen=True, slots=True)
class Score:
    """Whether a bout is a good one, how good from 0 to 1, and what it was called."""

    good: bool
    margin: float
    seen: str


def parse_criterion(text: str, window: str) -> Criterion:
    """Return the criterion of an outcome's name or of `FILE.py:FUNCTION`. Raises BulkRefused."""
    if text in get_args(OutcomeKind):
        return Criterion(cast(OutcomeKind, text), window)
    file, colon, function = text.rpartition(":")
    if not colon or not file.endswith(".py"):
        raise BulkRefused(f"criterion {text!r}; expected {', '.join(get_args(OutcomeKind))}, or FILE.py:FUNCTION")
    criterion = Criterion(file=Path(file).resolve(), function=function)
    _load(criterion)
    return criterion


def score_of(order: tuple[BoutTask, Criterion]) -> Score:
    """Run a bout and score it. A bout that stopped early or cannot be analysed counts as a failure."""
    task, criterion = order
    sight = see(task)
    if sight.leg is None:
        return Score(False, 0.0, f"{sight.state}: {sight.reason}")
    if criterion.file is not None:
        return _by_function(sight, criterion)
    outcome = sight.outcomes.get(criterion.window)
    if outcome is None:
        return Score(False, 0.0, sight.why_not.get(criterion.window, "not judged"))
    return Score(outcome.kind == criterion.outcome, margin_of(sight, outcome, criterion), outcome.kind)


def margin_of(sight: BoutObservation, outcome: Outcome, criterion: Criterion) -> float:
    """Return how near a bout is to what is asked for, or how far within, from 0 to 1.

    The share of the conditions of docs/stepping.md that hold, and how regular the steps are. Outcomes that are no
    stepping have no conditions: 1 where it is the outcome asked for, else 0.
    """
    if criterion.outcome not in get_args(Behaviour):
        return float(outcome.kind == criterion.outcome)
    leg, steps = sight.leg, sight.steps
    if leg is None or steps is None:
        return 0.0
    c = DEFAULT_CRITERIA
    m, within = outcome.measures, steps.within(*outcome.steady)
    try:
        special = behaviour_checks(cast(Behaviour, criterion.outcome), leg, within, c)
    except AnalysisError:
        return 0.0
    checks = (*general_checks(m, asked_of(m, c), steps.contact_known, c), *special)
    regular = 0.0 if math.isnan(m.period_cv) else min(max(1.0 - m.period_cv / c.max_period_cv, 0.0), 1.0)
    return (1.0 - REGULAR) * sum(check.ok for check in checks) / len(checks) + REGULAR * regular


def _by_function(sight: BoutObservation, criterion: Criterion) -> Score:
    answer = _load(criterion)(sight)
    good, margin = cast(tuple[Any, Any], answer) if isinstance(answer, tuple) else (answer, 0.0)
    margin = float(margin)
    if not 0.0 <= margin <= 1.0:
        raise ValueError(f"{criterion}: how good is {margin}; expected 0 to 1")
    return Score(bool(good), margin, ", ".join(f"{name} {seen.kind}" for name, seen in sight.outcomes.items()))


def _load(criterion: Criterion) -> Callable[[BoutObservation], Any]:
    """Return the function of a file. Raises BulkRefused."""
    if criterion.file is None:
        raise BulkRefused("the criterion is no function")
    spec = spec_from_file_location("criterion", criterion.file)
    if spec is None or spec.loader is None or not criterion.file.is_file():
        raise BulkRefused(f"{criterion.file}: no such file; expected a Python file")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, criterion.function, None)
    if not callable(found):
        raise BulkRefused(f"{criterion.file}: has no function {criterion.function!r}")
    return found


def exact(count: int, of: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the ends of the exact binomial interval (Clopper and Pearson 1934); NaN where there is nothing to share.

    For the two or three repetitions of a robot, for which the Wilson interval is too narrow.
    """
    if of == 0:
        return math.nan, math.nan
    tail = (1 - level) / 2
    low = 0.0 if count == 0 else _where(lambda p: 1 - _at_most(count - 1, of, p) >= tail)
    high = 1.0 if count == of else _where(lambda p: _at_most(count, of, p) <= tail)
    return low, high


def _at_most(count: int, of: int, p: float) -> float:
    return sum(math.comb(of, k) * p**k * (1 - p) ** (of - k) for k in range(count + 1))


def _where(reached: Callable[[float], bool]) -> float:
    """Return the smallest probability at which something is reached, by halving."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def wilson(count: int, of: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the ends of the Wilson score interval (Wilson 1927) for a share; NaN where there is nothing to share."""
    if of == 0:
        return math.nan, math.nan
    z = NormalDist().inv_cdf((1 + level) / 2)
    p = count / of
    middle = (p + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    # At 0 and at all the ends are exact; rounding would leave them a hair beside.
    return (0.0 if count == 0 else middle - half), (1.0 if count == of else middle + half)
