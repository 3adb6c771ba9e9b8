"""What was seen in a bout: for each behaviour window the steps, their order, and the verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.criteria import Behaviour
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.judge import Verdict, judge
from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.order import StepEvent, step_order
from nuc_engine.analysis.steps import Steps, detect_steps
from nuc_engine.analysis.tracks import LegTracks
from nuc_engine.analysis.windows import BehaviourWindow, windows_of_bout
from nuc_engine.cli.output import WIDTH, count

_SHOWN_REASONS = 3


@dataclass(frozen=True, slots=True)
class WindowSeen:
    """One window. Without a verdict, `why_not` says why there is none."""

    window: BehaviourWindow
    steps: int
    verdict: Verdict | None
    order: tuple[StepEvent, ...]
    why_not: str = ""

    @property
    def kind(self) -> str:
        """The verdict's class, in words."""
        if self.verdict is None:
            return "not judged"
        if self.window.behaviour is None and self.verdict.kind == "wrong direction":
            return "stepping, but not as any behaviour known by name"
        return self.verdict.kind


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen in a whole bout."""

    bout: Bout
    windows: tuple[WindowSeen, ...]

    def data(self) -> list[dict[str, Any]]:
        """Return what was seen in JSON's own types."""
        return [_data(seen) for seen in self.windows]

    def lines(self) -> Iterator[str]:
        """Yield what was seen as text."""
        for note in self.bout.notes:
            yield f"{'note':<10}{note}"
        for seen in self.windows:
            yield from _lines(seen)

    def draw(self, folder: Path, *, alone: bool = False) -> tuple[Path, ...]:
        """Draw the figures into a folder and return the files; `alone`: of the first window and nothing else."""
        from nuc_engine.analysis import figures
        from nuc_engine.analysis.canvas import house_style, save_png
        from nuc_engine.analysis.path_state import behaviour_figure

        named = [(seen.window.name, seen.window.begin_s, seen.window.end_s) for seen in self.windows]
        if not alone:
            return figures.draw_figures(self.bout, folder, named)
        name, begin_s, end_s = named[0]
        span = begin_s, min(end_s, self.bout.end_s)
        with house_style():
            return (
                save_png(figures.sensor_figure(self.bout, (), span), folder / f"summary_sensors_{name}.png"),
                save_png(figures.state_figure(self.bout, (), span), folder / f"summary_states_{name}.png"),
                save_png(behaviour_figure(self.bout, (name, *span)), folder / f"pathstate_{name}.png"),
            )


def look(folder: Path, window: tuple[float, float] | None = None) -> Seen:
    """Read a data directory and judge each of its windows, or only one span of time. Raises BoutError."""
    bout = load_bout(folder)
    if window is not None and window[0] >= bout.end_s:
        raise AnalysisError(
            f"{folder}: nothing was recorded from {window[0]:g} s on; the bout ends at {bout.end_s:.4g} s"
        )
    windows = windows_of_bout(folder, bout.end_s)
    if window is not None:
        begin_s, end_s = window
        meant: Behaviour | None = next(
            (w.behaviour for w in windows if w.begin_s <= begin_s and end_s <= w.end_s), None
        )
        windows = (BehaviourWindow(f"{begin_s:g}-{end_s:g}s", meant, begin_s, end_s),)
    try:
        leg = bout.tracks()
        steps = detect_steps(leg)
    except AnalysisError as error:
        return Seen(bout, tuple(WindowSeen(w, 0, None, (), str(error)) for w in windows))
    return Seen(bout, tuple(_look(w, leg, steps) for w in windows))


def _look(window: BehaviourWindow, leg: LegTracks, steps: Steps) -> WindowSeen:
    span = (window.begin_s, window.end_s)
    within = steps.within(*span)
    try:
        verdict = judge(leg, window.behaviour or "FWD", span, steps=steps)
        if window.behaviour is None and verdict.resembles:
            verdict = judge(leg, verdict.resembles[0], span, steps=steps)
    except AnalysisError as error:
        return WindowSeen(window, len(within), None, step_order(leg, within), str(error))
    return WindowSeen(window, len(within), verdict, step_order(leg, verdict.steps))


def _lines(seen: WindowSeen) -> Iterator[str]:
    window, verdict = seen.window, seen.verdict
    head = f"{window.name:<10}{window.begin_s:.4g} to {window.end_s:.4g} s: {seen.kind}, {count(seen.steps, 'step')}"
    if verdict is None:
        yield from _wrapped(f"{head} ({seen.why_not})")
    elif not len(verdict.steps):
        yield head
    else:
        m = verdict.measures
        spread = f" +- {m.period_sd_s:.2f}" if m.steps > 1 else ""
        parts = f"swing {m.swing_mean_s:.2f} s, stance {m.stance_mean_s:.2f} s"
        yield from _wrapped(f"{head}, period {m.period_mean_s:.2f}{spread} s, {parts}")
    if seen.order:
        yield from _wrapped(f"{'':<10}" + " > ".join(event.what for event in seen.order))
    reasons: Sequence[str] = () if verdict is None else verdict.reasons
    for reason in reasons[:_SHOWN_REASONS]:
        yield from _wrapped(f"{'':<10}- {reason}")
    if len(reasons) > _SHOWN_REASONS:
        yield f"{'':<10}- and {len(reasons) - _SHOWN_REASONS} more"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=" " * 12, drop_whitespace=True, break_on_hyphens=False)


def _data(seen: WindowSeen) -> dict[str, Any]:
    window, verdict = seen.window, seen.verdict
    data: dict[str, Any] = {
        "name": window.name,
        "meant": window.behaviour,
        "begin_s": window.begin_s,
        "end_s": window.end_s,
        "kind": None if verdict is None else verdict.kind,
        "stepping": verdict is not None and verdict.stepping,
        "why_not_judged": seen.why_not or None,
        "steps": seen.steps,
        "order": [{"event": event.what, "phase": event.phase} for event in seen.order],
    }
    if verdict is not None:
        m = verdict.measures
        data |= {
            "judged_from_s": verdict.steady[0],
            "judged_steps": m.steps,
            "period_mean_s": m.period_mean_s,
            "period_sd_s": m.period_sd_s,
            "swing_mean_s": m.swing_mean_s,
            "stance_mean_s": m.stance_mean_s,
            "stride_cm": m.stride_cm,
            "resembles": verdict.resembles,
            "reasons": verdict.reasons,
        }
    return data
