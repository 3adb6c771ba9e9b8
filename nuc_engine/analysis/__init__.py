"""Reading bouts back: what a leg did, whether it stepped, and pictures of it (appendix 10.3: the toolbox).

    load         a data directory -> `Bout`; `bout`, `layout`, `tables`: its arrays, columns and files
    grid         all logs on one time base; `kinematic`: joints and foot from the angles; `printing`: a bout as text
    listing      which bouts there are below a folder
    tidy         the logs as tables, and as Parquet or CSV files (Parquet needs pyarrow)
    scriptlog    the writes a script really made, and when the engine started
    windows      which behaviour was meant when
    steps        `detect_steps`: every step with what changed in it; `phases`: swing, stance and minima
    judge        `judge`: is it stepping, and if not, what is it (`criteria`: docs/stepping.md; `behaviour`, `measures`)
    outcome      `classify`: what a leg did, not knowing what was meant (docs/outcomes.md)
    summary      what was seen in each behaviour window, as data and as text
    order        in which order a step's events come
    stepstats    steps of each window in numbers; `cycle`: the mean step; `spread`: how much steps differ, with tests
    compare      bouts side by side; `compare_figure`: their mean steps drawn
    tracks       the part of a bout the step detector needs, as plain arrays
    firing       which comparison of which entry rule let an action begin
    by_hand      what was done to a simulated leg from outside, and where the ground was by it
    figures      summary figures, joints, muscles, motors, path-state plots (`joint_figures`, `path_state`, `timeline`,
                 `lanes`, `canvas`, `palette`; need matplotlib); `path_arrays`: path-state plots of plain arrays
    movie        the leg in motion (`movie_scene`, `movie_captions`: what is shown; `movie_stage`, `movie_panel`: drawn;
                 `movie_camera`, `movie_file`: films read and written)

    from nuc_engine.analysis import load_bout, bout_stats, summarise
    print(summarise("data/mine"))
    bout = load_bout("data/mine").subset(20, 40).zeroed()
    table = bout.on_grid(0.01)

Nothing here runs an engine, and nothing needs more than numpy, except figures, Parquet files and tests of `spread`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nuc_engine.analysis.bout import Bout, Series
    from nuc_engine.analysis.compare import Comparison, compare_bouts
    from nuc_engine.analysis.cycle import MeanCycle, mean_cycle
    from nuc_engine.analysis.errors import AnalysisError, BoutError
    from nuc_engine.analysis.figures import draw_figures, draw_window
    from nuc_engine.analysis.firing import Firing, firing_of
    from nuc_engine.analysis.listing import BoutEntry, list_bouts
    from nuc_engine.analysis.load import load_bout
    from nuc_engine.analysis.outcome import Outcome, classify
    from nuc_engine.analysis.path_arrays import path_state_plot
    from nuc_engine.analysis.stepstats import WindowStats, bout_stats
    from nuc_engine.analysis.summary import Summary, WindowSummary, summarise, summarise_bout
    from nuc_engine.analysis.tidy import tidy_bout, write_csv, write_parquet
    from nuc_engine.analysis.windows import BehaviourWindow, windows_of_bout

__all__ = [
    "AnalysisError",
    "BehaviourWindow",
    "Bout",
    "BoutEntry",
    "BoutError",
    "Comparison",
    "Firing",
    "MeanCycle",
    "Outcome",
    "Series",
    "Summary",
    "WindowStats",
    "WindowSummary",
    "bout_stats",
    "classify",
    "compare_bouts",
    "draw_figures",
    "draw_window",
    "firing_of",
    "list_bouts",
    "load_bout",
    "mean_cycle",
    "path_state_plot",
    "summarise",
    "summarise_bout",
    "tidy_bout",
    "windows_of_bout",
    "write_csv",
    "write_parquet",
]

_HOMES = {
    "AnalysisError": "errors",
    "BehaviourWindow": "windows",
    "Bout": "bout",
    "BoutEntry": "listing",
    "BoutError": "errors",
    "Comparison": "compare",
    "Firing": "firing",
    "MeanCycle": "cycle",
    "Outcome": "outcome",
    "Series": "bout",
    "WindowStats": "stepstats",
    "bout_stats": "stepstats",
    "classify": "outcome",
    "compare_bouts": "compare",
    "draw_figures": "figures",
    "draw_window": "figures",
    "firing_of": "firing",
    "list_bouts": "listing",
    "load_bout": "load",
    "mean_cycle": "cycle",
    "path_state_plot": "path_arrays",
    "tidy_bout": "tidy",
    "windows_of_bout": "windows",
    "write_csv": "tidy",
    "write_parquet": "tidy",
}


def __getattr__(name: str) -> Any:
    # Loaded when asked for: judging needs no matplotlib, and the command line starts without any of it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'summary')}"), name)
