"""What was seen in a bout, and its pictures, as the commands report them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.load import load_bout
from nuc_engine.analysis.series import Span
from nuc_engine.analysis.summary import Summary, span_window, summarise_bout
from nuc_engine.analysis.windows import windows_of_bout
from nuc_engine.machine.core import cores


@dataclass(frozen=True, slots=True)
class BoutSummary:
    """A bout and what was seen in it."""

    bout: Bout
    summary: Summary

    def data(self) -> list[dict[str, Any]]:
        """Return what was seen in each window in JSON's own types."""
        return [window.data() for window in self.summary.windows]

    def lines(self) -> Iterator[str]:
        """Yield what was seen as text."""
        return self.summary.lines()

    def draw(
        self,
        folder: Path,
        *,
        alone: bool = False,
        what: Sequence[str] = ("summary", "path"),
        projections: Sequence[str] = (),
        joints: Sequence[str] = (),
        offset_cm: float | None = None,
        form: str = "png",
    ) -> tuple[Path, ...]:
        """Draw figures into a folder and return the files; `alone`: of the first window and nothing else.

        `what` is of `figures.WHAT`, `projections` of `path_state.VIEWS`, `form` of `endings.FIGURES`; `joints` are
        those whose paths are drawn (none: the foot's), with lines `offset_cm` apart.
        """
        from nuc_engine.figures.figures import WHAT, What, draw_figures, draw_window
        from nuc_engine.figures.path_state import VIEWS, Where

        windows = [(w.name, w.window.begin_s, w.window.end_s) for w in self.summary.windows]
        chosen: list[What] = [kind for kind in WHAT if what.count(kind)]
        views = [pair for name, pair in VIEWS.items() if name in projections]
        paths = [Where("" if joint == "foot" else joint, offset_cm) for joint in joints or ("foot",)]
        if alone:
            return draw_window(
                self.bout, folder, windows[0], chosen, views=views, paths=paths, form=form, processes=cores()
            )
        return draw_figures(self.bout, folder, windows, chosen, views=views, paths=paths, form=form, processes=cores())


def look(folder: Path, span: Span | None = None) -> BoutSummary:
    """Read a data directory and judge each of its windows, or only one span of time.

    Raises BoutError, and AnalysisError for a span in which nothing was recorded.
    """
    return look_at(load_bout(folder), span)


def look_at(bout: Bout, span: Span | None = None) -> BoutSummary:
    """Judge each window of a bout, or only one span of time. Raises AnalysisError as `look` does."""
    windows = windows_of_bout(bout.folder, bout.end_s)
    if span is not None:
        if span[0] >= bout.end_s:
            raise AnalysisError(
                f"{bout.folder}: nothing was recorded from {span[0]:g} s on; the bout ends at {bout.end_s:.4g} s"
            )
        windows = (span_window(windows, span),)
    return BoutSummary(bout, summarise_bout(bout, windows))
