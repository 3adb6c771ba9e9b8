"""Step statistics of a bout, window by window: durations, stride, load, joint ranges, and what the leg does.

What counts as a step, and which part of a window is looked at, is said in docs/stepping.md; what it is called, in
docs/outcomes.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.cycle import MeanCycle, mean_cycle, recorded_steps
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.measures import finite
from nuc_engine.analysis.outcome import Outcome, classify
from nuc_engine.analysis.series import Span, aligned
from nuc_engine.analysis.spread import StepSamples, spread, step_samples
from nuc_engine.analysis.steps import Steps, detect_steps
from nuc_engine.analysis.tracks import FloatArray, LegTracks
from nuc_engine.analysis.windows import BehaviourWindow, span_name, windows_of_bout

QUANTITIES: Mapping[str, tuple[str, str]] = {
    "period": ("s", "step period, lift-off to lift-off"),
    "cycle": ("s", "joint cycle, minimum to minimum of the thorax-coxa angle (FTi where that joint is only held)"),
    "swing": ("s", "swing"),
    "stance": ("s", "stance"),
    "duty_factor": ("", "stance as a share of the period"),
    "stride": ("cm", "distance of the foot in stance, over ground"),
    "stride_x": ("cm", "foot in stance, forward"),
    "stride_y": ("cm", "foot in stance, to the left"),
    "clearance": ("cm", "height of the foot in swing"),
    "load": ("N", "mean normal force in stance"),
    "lift_off_difference": ("deg", "that minimum less the one before"),
}
"""Unit and meaning of what is measured in every step."""

CUT_S = 0.5
"""A bout whose first record comes so much after the beginning of a window has been cut there."""


@dataclass(frozen=True, slots=True)
class SampleStatistics:
    """One quantity over `n` steps; NaN where there are too few (two for `sd` and `cv`). `cv` is sd / |mean|."""

    n: int
    mean: float
    sd: float
    median: float
    least: float
    largest: float

    @property
    def cv(self) -> float:
        """Coefficient of variation; NaN where the mean is 0."""
        return self.sd / abs(self.mean) if self.mean else math.nan

    def divided_by(self, unit: float) -> SampleStatistics:
        """Return the same in a unit of this size."""
        ends = (self.mean, self.sd, self.median, self.least, self.largest)
        return SampleStatistics(self.n, *(value / unit for value in ends))

    @staticmethod
    def of(values: FloatArray) -> SampleStatistics:
        """Return the sample of some values, those that are NaN left out."""
        known = values[np.isfinite(values)]
        if not known.size:
            return SampleStatistics(0, *(math.nan,) * 5)
        sd = float(known.std(ddof=1)) if known.size > 1 else math.nan
        return SampleStatistics(known.size, float(known.mean()), sd, *_order(known))

    def data(self) -> dict[str, Any]:
        """Return it in JSON's own types."""
        numbers = {"mean": self.mean, "sd": self.sd, "cv": self.cv, "median": self.median}
        ends = {"min": self.least, "max": self.largest}
        return {"n": self.n} | {key: finite(value) for key, value in (numbers | ends).items()}


@dataclass(frozen=True, slots=True)
class JointRange:
    """A joint's angle in the steady part: least and largest, and how far it goes in one step."""

    joint: str
    least_deg: float
    largest_deg: float
    per_step_deg: SampleStatistics


@dataclass(frozen=True, slots=True, eq=False)
class WindowStats:
    """One window: what is meant, what is seen, and its steps in numbers.

    All numbers are of `steady`, the part after the settling time. `samples` are of `QUANTITIES`.
    `lift_off_spread_deg` is that of section 7.2.2, see `nuc_engine.analysis.spread`. `why_not` says why there is no
    outcome. `unrecorded_steps` have a gap in the record of the joint angles: they are left out of `cycle` and of the
    joints' ranges per step.
    """

    window: BehaviourWindow
    steady: Span
    outcome: Outcome | None
    steps: int
    contact_known: bool
    samples: Mapping[str, SampleStatistics]
    lift_off_spread_deg: float
    joints: tuple[JointRange, ...]
    cycle: MeanCycle | None
    why_not: str = ""
    unrecorded_steps: int = 0

    @property
    def kind(self) -> str:
        """What the leg does: the outcome's kind, with the state it is stuck in, or `not judged`."""
        if self.outcome is None:
            return "not judged"
        state = f" in {'/'.join(self.outcome.state)}" if self.outcome.state else ""
        return f"{self.outcome.kind}{state}"

    def data(self) -> dict[str, Any]:
        """Return everything in JSON's own types; what could not be measured is None."""
        outcome = self.outcome
        return {
            "name": self.window.name,
            "meant": self.window.behaviour,
            "begin_s": self.window.begin_s,
            "end_s": self.window.end_s,
            "measured_from_s": self.steady[0],
            "outcome": None if outcome is None else outcome.kind,
            "cyclic": None if outcome is None else outcome.cyclic,
            "stuck_in": [] if outcome is None else list(outcome.state),
            "reasons": [] if outcome is None else list(outcome.reasons),
            "why_not_judged": self.why_not or None,
            "contact_recorded": self.contact_known,
            "steps": self.steps,
            "steps_unrecorded": self.unrecorded_steps,
            "lift_off_spread_deg": finite(self.lift_off_spread_deg),
            "quantities": {key: {"unit": QUANTITIES[key][0], **sample.data()} for key, sample in self.samples.items()},
            "joints": [
                {
                    "joint": joint.joint,
                    "unit": "deg",
                    "min": finite(joint.least_deg),
                    "max": finite(joint.largest_deg),
                    "per_step": joint.per_step_deg.data(),
                }
                for joint in self.joints
            ],
        }


def bout_stats(
    bout: Bout, windows: Sequence[BehaviourWindow] | None = None, settle_s: float = DEFAULT_CRITERIA.settle_s
) -> tuple[WindowStats, ...]:
    """Return the step statistics of each window; by default of those the script made, as far as the bout has them.

    The first `settle_s` of a window are left out. A leg that cannot be judged (no joint with actions, no angles) has
    joint ranges and says why the rest is missing.
    """
    windows = own_windows(bout) if windows is None else windows
    try:
        leg = bout.tracks()
        steps = detect_steps(leg)
    except AnalysisError as error:
        return tuple(_without_steps(bout, window, settle_s, str(error)) for window in windows)
    return tuple(_window(bout, leg, steps, window, settle_s) for window in windows)


def own_windows(bout: Bout) -> tuple[BehaviourWindow, ...]:
    """Return the windows the script made, in the times of a bout that may have been cut or shifted.

    Raises BoutError as `windows_of_bout`.
    """
    found: list[BehaviourWindow] = []
    for window in windows_of_bout(bout.folder, bout.end_s - bout.shifted_s):
        begin_s, end_s = window.begin_s + bout.shifted_s, window.end_s + bout.shifted_s
        if bout.begin_s - begin_s > CUT_S:
            begin_s = bout.begin_s
        if begin_s < end_s:
            found.append(replace(window, begin_s=begin_s, end_s=end_s))
    return tuple(found)


def _window(bout: Bout, leg: LegTracks, all_steps: Steps, window: BehaviourWindow, settle_s: float) -> WindowStats:
    steady = _steady(window, settle_s)
    steps = all_steps.within(*steady)
    outcome, why_not = None, ""
    try:
        outcome = classify(leg, (window.begin_s, window.end_s), steps=all_steps, settle_s=settle_s)
    except AnalysisError as error:
        why_not = str(error)
    minima = step_samples(leg, *steady)
    return WindowStats(
        window=window,
        steady=steady,
        outcome=outcome,
        steps=len(steps),
        contact_known=steps.contact_known,
        samples=_samples(steps, minima),
        lift_off_spread_deg=spread(minima.lift_off_difference_deg),
        joints=_ranges(bout, steady, steps),
        cycle=mean_cycle(bout, steps),
        why_not=why_not,
        unrecorded_steps=int((~recorded_steps(bout.sensors, steps)).sum()),
    )


def _without_steps(bout: Bout, window: BehaviourWindow, settle_s: float, why_not: str) -> WindowStats:
    steady = _steady(window, settle_s)
    nothing = SampleStatistics.of(np.zeros(0))
    ranges = _ranges(bout, steady, None)
    return WindowStats(
        window, steady, None, 0, False, dict.fromkeys(QUANTITIES, nothing), math.nan, ranges, None, why_not
    )


def _steady(window: BehaviourWindow, settle_s: float) -> Span:
    return min(window.begin_s + settle_s, window.end_s), window.end_s


def _samples(steps: Steps, minima: StepSamples) -> dict[str, SampleStatistics]:
    values = {
        "period": steps.period_s,
        "cycle": minima.duration_s,
        "swing": steps.swing_s,
        "stance": steps.stance_s,
        "duty_factor": steps.stance_s / steps.period_s,
        "stride": np.hypot(steps.foot_stance_cm[:, 0], steps.foot_stance_cm[:, 1]),
        "stride_x": steps.foot_stance_cm[:, 0],
        "stride_y": steps.foot_stance_cm[:, 1],
        "clearance": steps.clearance_cm,
        "load": steps.load_n,
        "lift_off_difference": minima.lift_off_difference_deg,
    }
    return {key: SampleStatistics.of(values[key]) for key in QUANTITIES}


def _ranges(bout: Bout, steady: Span, steps: Steps | None) -> tuple[JointRange, ...]:
    log = bout.sensors.between(*steady)
    found: list[JointRange] = []
    for joint in bout.joints:
        if joint.angle is None or not len(log):
            continue
        angle = log.column(joint.angle)
        each = np.zeros(0)
        if steps is not None:
            edges = zip(steps.lift_off_s, steps.end_s, strict=True)
            parts = [angle[slice(*np.searchsorted(log.t_s, edge))] for edge in edges]
            each = np.array([np.ptp(part) if part.size else math.nan for part in parts])
            each[~recorded_steps(bout.sensors, steps)] = math.nan
        found.append(JointRange(joint.name, float(angle.min()), float(angle.max()), SampleStatistics.of(each)))
    return tuple(found)


def in_seconds_of(stats: WindowStats, second_s: float) -> WindowStats:
    """Return the same statistics with times in seconds of this many of the leg's. Reasons stay the leg's."""
    window = stats.window
    begin_s, end_s = window.begin_s / second_s, window.end_s / second_s
    of_span = window.name == span_name(window.begin_s, window.end_s)
    name = span_name(begin_s, end_s) if of_span else window.name
    return replace(
        stats,
        window=replace(window, name=name, begin_s=begin_s, end_s=end_s),
        steady=(stats.steady[0] / second_s, stats.steady[1] / second_s),
        samples={
            key: sample.divided_by(second_s) if QUANTITIES[key][0] == "s" else sample
            for key, sample in stats.samples.items()
        },
    )


def table_lines(columns: Sequence[tuple[str, WindowStats]], width: int = 80, second: str = "s") -> Iterator[str]:
    """Yield windows side by side as text: one row for each quantity, mean +- standard deviation of the steps.

    `second` is what a second is called. In which state a leg is stuck stands below: in the table is no room for it.
    """
    labels = _labels(columns, second)
    shown = [_column(title, stats, labels) for title, stats in columns]
    room = width - 2 - max(len(label) for label in ["", *labels.values()])
    while shown:
        part = [shown.pop(0)]
        while shown and sum(2 + _broad(column) for column in [*part, shown[0]]) <= room:
            part.append(shown.pop(0))
        rows = [[label, *(column[k] for column in part)] for k, label in enumerate(["", *labels.values()])]
        yield from aligned(rows)
        if shown:
            yield ""
    yield from (f"- {title}: {stats.kind}" for title, stats in columns if _brief(stats) != stats.kind)


def _brief(stats: WindowStats) -> str:
    return stats.kind.partition(" in ")[0]


def _labels(columns: Sequence[tuple[str, WindowStats]], second: str) -> dict[str, str]:
    """Return the rows of the table, by key: what no window has is left out."""
    seen = {key for _, stats in columns for key, sample in stats.samples.items() if sample.n}
    labels = {"outcome": "what is seen", "part": f"measured ({second})", "steps": "steps"}
    for key, (own, _) in QUANTITIES.items():
        unit = second if own == "s" else own
        if key in seen and key != "lift_off_difference":
            labels[key] = f"{_SHORT.get(key, key)} ({unit})" if unit else _SHORT.get(key, key)
        if key in seen and key in _WITH_CV:
            labels[f"cv {key}"] = "  variation (CV, %)"
    if "lift_off_difference" in seen:
        labels["lift_off"] = "lift-off spread (deg)"
    for name in dict.fromkeys(joint.joint for _, stats in columns for joint in stats.joints):
        labels[f"joint {name}"] = f"{name} (deg)"
    return labels


_WITH_CV = ("period", "cycle")
_SHORT = {
    "cycle": "joint cycle",
    "duty_factor": "duty factor",
    "stride_x": "stride forward",
    "stride_y": "stride left",
    "load": "stance load",
}


def _column(title: str, stats: WindowStats, labels: Mapping[str, str]) -> list[str]:
    cells = {
        "outcome": _brief(stats),
        "part": f"{stats.steady[0]:.4g} to {stats.steady[1]:.4g}" if stats.steady[0] < stats.steady[1] else "nothing",
        "steps": str(stats.steps),
        "lift_off": _number(stats.lift_off_spread_deg),
    }
    cells |= {key: _spread(sample) for key, sample in stats.samples.items()}
    cells |= {f"cv {key}": _number(100 * stats.samples[key].cv, 1) for key in _WITH_CV}
    cells |= {f"joint {j.joint}": f"{j.least_deg:.1f} to {j.largest_deg:.1f}" for j in stats.joints}
    return [title, *(cells.get(key, "") for key in labels)]


def _broad(column: Sequence[str]) -> int:
    return max(len(cell) for cell in column)


def _spread(sample: SampleStatistics) -> str:
    if not sample.n:
        return ""
    return _number(sample.mean) if math.isnan(sample.sd) else f"{_number(sample.mean)} +- {_number(sample.sd)}"


def _number(value: float, digits: int = 3) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.{digits}f}" if abs(value) < 10 else f"{value:.1f}"


def _order(values: FloatArray) -> tuple[float, float, float]:
    return float(np.median(values)), float(values.min()), float(values.max())
