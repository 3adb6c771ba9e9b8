"""What was seen in a bout: for each behaviour window the steps, their order, and the verdict; as data and as text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.conditions import behaviour_checks
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA, Behaviour
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.judge import WindowVerdict, judge
from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.measures import finite
from nuc_engine.analysis.series import Span
from nuc_engine.analysis.steps import StepEvent, Steps, detect_steps, step_order
from nuc_engine.analysis.tracks import LegTracks
from nuc_engine.analysis.windows import BehaviourWindow, span_name, windows_of_bout

WIDTH = 80
"""Columns of the text."""
_INDENT = 10
_SHOWN_REASONS = 3
_UNKNOWN_STEPPING = "stepping, but not as any behaviour known by name"


@dataclass(frozen=True, slots=True)
class WindowSummary:
    """What was seen in one window.

    `steps` counts the complete steps of the whole window; all other numbers are of the part that was judged, from
    `settle_s` of the criteria on (docs/stepping.md). `order` are the events of the mean step. `reasons` say what speaks
    against stepping, with numbers. Without a verdict, `why_not` says why there is none; numbers are NaN then.
    """

    window: BehaviourWindow
    steps: int
    order: tuple[StepEvent, ...] = ()
    verdict: WindowVerdict | None = None
    reasons: tuple[str, ...] = ()
    why_not: str = ""

    @property
    def name(self) -> str:
        """The window's name: its behaviour, or `window-k`."""
        return self.window.name

    @property
    def stepping(self) -> bool:
        """True when the leg steps as this window's rules mean it to."""
        return self.verdict is not None and self.verdict.stepping

    @property
    def kind(self) -> str:
        """What was seen, in words: the verdict's class (docs/stepping.md), or `not judged`."""
        if self.verdict is None:
            return "not judged"
        if self.window.behaviour is None and self.verdict.kind == "wrong direction":
            return _UNKNOWN_STEPPING
        return self.verdict.kind

    @property
    def judged_steps(self) -> int:
        """Complete steps of the judged part."""
        return 0 if self.verdict is None else self.verdict.measures.steps

    @property
    def period_mean_s(self) -> float:
        """Mean step period, lift-off to lift-off."""
        return math.nan if self.verdict is None else self.verdict.measures.period_mean_s

    @property
    def period_sd_s(self) -> float:
        """Sample standard deviation of the step period; NaN for fewer than two steps."""
        few = self.verdict is None or self.verdict.measures.steps < 2
        return math.nan if self.verdict is None or few else self.verdict.measures.period_sd_s

    @property
    def swing_mean_s(self) -> float:
        """Mean duration of swing."""
        return math.nan if self.verdict is None else self.verdict.measures.swing_mean_s

    @property
    def stance_mean_s(self) -> float:
        """Mean duration of stance."""
        return math.nan if self.verdict is None else self.verdict.measures.stance_mean_s

    @property
    def stride_cm(self) -> tuple[float, float, float]:
        """Median movement of the foot in stance: x forward, y left, z up."""
        return (math.nan, math.nan, math.nan) if self.verdict is None else self.verdict.measures.stride_cm

    def data(self) -> dict[str, Any]:
        """Return everything in JSON's own types; what could not be measured is None."""
        verdict = self.verdict
        return {
            "name": self.name,
            "meant": self.window.behaviour,
            "begin_s": self.window.begin_s,
            "end_s": self.window.end_s,
            "kind": None if verdict is None else self.kind,
            "stepping": self.stepping,
            "why_not_judged": self.why_not or None,
            "steps": self.steps,
            "judged_from_s": None if verdict is None else verdict.steady[0],
            "judged_steps": self.judged_steps,
            "period_mean_s": finite(self.period_mean_s),
            "period_sd_s": finite(self.period_sd_s),
            "swing_mean_s": finite(self.swing_mean_s),
            "stance_mean_s": finite(self.stance_mean_s),
            "stride_cm": [finite(value) for value in self.stride_cm],
            "order": [{"event": event.what, "phase": event.phase} for event in self.order],
            "resembles": [] if verdict is None else list(verdict.resembles),
            "reasons": list(self.reasons),
        }

    def lines(self) -> Iterator[str]:
        """Yield it as text: what it is, the order of events, and the first reasons against stepping."""
        yield from _wrapped(self.name, f"{self._head()}{'' if self.verdict else f' ({self.why_not})'}")
        if self.judged_steps:
            yield from _wrapped("", self._numbers())
        if self.order:
            yield from _wrapped("", " > ".join(event.what for event in self.order))
        # Those with numbers first: where there are no steps, most conditions only say that they cannot be measured.
        reasons = sorted(self.reasons, key=lambda reason: "not measurable" in reason or "only steps" in reason)
        for reason in reasons[:_SHOWN_REASONS]:
            yield from _wrapped("", f"- {reason}")
        if len(reasons) > _SHOWN_REASONS:
            yield from _wrapped("", f"- and {len(reasons) - _SHOWN_REASONS} more")

    def _head(self) -> str:
        others: Sequence[str] = () if self.verdict is None else self.verdict.resembles
        like = f" (as in {', '.join(others)})" if others and self.kind == "wrong direction" else ""
        plural = "" if self.steps == 1 else "s"
        return f"{self.window.begin_s:.4g} to {self.window.end_s:.4g} s: {self.kind}{like}, {self.steps} step{plural}"

    def _numbers(self) -> str:
        spread = "" if math.isnan(self.period_sd_s) else f" +- {self.period_sd_s:.2f}"
        durations = f"swing {self.swing_mean_s:.2f} s, stance {self.stance_mean_s:.2f} s"
        return f"period {self.period_mean_s:.2f}{spread} s, {durations}"


@dataclass(frozen=True, slots=True)
class Summary:
    """What was seen in a whole bout. `label` is the configuration's name; `notes` say what was missing or torn."""

    folder: Path
    label: str
    windows: tuple[WindowSummary, ...]
    notes: tuple[str, ...] = ()

    @property
    def stepping(self) -> bool:
        """True when the leg steps in every window."""
        return all(window.stepping for window in self.windows)

    def data(self) -> dict[str, Any]:
        """Return everything in JSON's own types."""
        return {
            "folder": str(self.folder),
            "configuration": self.label,
            "stepping": self.stepping,
            "windows": [window.data() for window in self.windows],
            "notes": list(self.notes),
        }

    def lines(self) -> Iterator[str]:
        """Yield it as lines of text."""
        for note in self.notes:
            yield from _wrapped("note", note)
        for window in self.windows:
            yield from window.lines()

    def __str__(self) -> str:
        return "\n".join(self.lines())


def summarise(folder: Path | str) -> Summary:
    """Read a data directory and judge each of its behaviour windows.

    Raises BoutError when the directory cannot be read; windows that cannot be judged say why.
    """
    bout = load_bout(Path(folder))
    return summarise_bout(bout, windows_of_bout(bout.folder, bout.end_s))


def summarise_bout(bout: Bout, windows: Sequence[BehaviourWindow]) -> Summary:
    """Judge the given windows of a bout."""
    try:
        leg = bout.tracks()
        steps = detect_steps(leg)
    except AnalysisError as error:
        seen = tuple(WindowSummary(window, 0, why_not=str(error)) for window in windows)
    else:
        seen = tuple(_summarise(window, leg, steps) for window in windows)
    return Summary(bout.folder, bout.label, seen, bout.notes)


def span_window(windows: Sequence[BehaviourWindow], span: Span) -> BehaviourWindow:
    """Return one span of time as a window of its own; its behaviour is that of the window it lies in, if any."""
    begin_s, end_s = span
    meant: Behaviour | None = next((w.behaviour for w in windows if w.begin_s <= begin_s and end_s <= w.end_s), None)
    return BehaviourWindow(span_name(begin_s, end_s), meant, begin_s, end_s)


def _summarise(window: BehaviourWindow, leg: LegTracks, steps: Steps) -> WindowSummary:
    span = window.begin_s, window.end_s
    within = steps.within(*span)
    try:
        verdict = judge(leg, window.behaviour or "FWD", span, steps=steps)
        if window.behaviour is None and verdict.resembles:
            verdict = judge(leg, verdict.resembles[0], span, steps=steps)
        asked = window.behaviour is not None or verdict.stepping
        reasons = verdict.reasons if asked else _general_reasons(verdict, leg)
    except AnalysisError as error:
        return WindowSummary(window, len(within), step_order(leg, within), why_not=str(error))
    return WindowSummary(window, len(within), step_order(leg, verdict.steps), verdict, reasons)


def _general_reasons(verdict: WindowVerdict, leg: LegTracks) -> tuple[str, ...]:
    """Leave out the conditions of a behaviour nobody asked for."""
    special = {check.text for check in behaviour_checks(verdict.behaviour, leg, verdict.steps, DEFAULT_CRITERIA)}
    return tuple(reason for reason in verdict.reasons if reason not in special)


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(
        f"{head:<{_INDENT}}{text}", WIDTH, subsequent_indent=" " * (_INDENT + 2), break_on_hyphens=False
    )
