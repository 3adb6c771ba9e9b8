"""Reading bouts back: what a leg did, whether it stepped, and pictures of it.

    summary     what was seen in each behaviour window, as data and as text
    load        a data directory -> `Bout`; `bout`, `layout`, `tables`: its arrays, columns and files
    scriptlog   the writes a script really made, and when the engine started
    windows     which behaviour was meant when
    steps       `detect_steps`: every step with what changed in it; `phases`: swing, stance and minima
    judge       `judge`: is it stepping, and if not, what is it (`criteria`: docs/stepping.md; `behaviour`, `measures`)
    order       in which order a step's events come
    tracks      the part of a bout the step detector needs, as plain arrays
    kinematic   foot path of a bout from its joint angles
    figures     summary figures and path-state plots (`path_state`, `lanes`, `canvas`, `palette`; need matplotlib)

    from nuc_engine.analysis import summarise
    print(summarise("data/mine"))

Nothing here runs an engine, and nothing needs more than numpy, except the figures.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nuc_engine.analysis.bout import Bout
    from nuc_engine.analysis.errors import AnalysisError, BoutError
    from nuc_engine.analysis.figures import draw_figures, draw_window
    from nuc_engine.analysis.load import load_bout
    from nuc_engine.analysis.summary import Summary, WindowSummary, summarise, summarise_bout
    from nuc_engine.analysis.windows import BehaviourWindow, windows_of_bout

__all__ = [
    "AnalysisError",
    "BehaviourWindow",
    "Bout",
    "BoutError",
    "Summary",
    "WindowSummary",
    "draw_figures",
    "draw_window",
    "load_bout",
    "summarise",
    "summarise_bout",
    "windows_of_bout",
]

_HOMES = {
    "AnalysisError": "errors",
    "BehaviourWindow": "windows",
    "Bout": "bout",
    "BoutError": "errors",
    "draw_figures": "figures",
    "draw_window": "figures",
    "load_bout": "load",
    "windows_of_bout": "windows",
}


def __getattr__(name: str) -> Any:
    # Loaded when asked for: judging needs no matplotlib, and the command line starts without any of it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'summary')}"), name)
