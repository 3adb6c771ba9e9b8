"""Reading bouts back: what a leg did, whether it stepped (appendix 10.3: the toolbox).

    bout            a bout read back
    by_hand         what was done to a simulated leg from outside, and where the ground was by it
    compare         bouts side by side
    conditions      conditions 1 to 9 of docs/stepping.md, and what each behaviour asks of stance
    criteria        the numbers of docs/stepping.md and docs/outcomes.md, in one place
    cycle           joint angles, contact and actions over the normalised step cycle
    errors          what can go wrong in reading and judging bouts
    firing          what let a joint change its action
    judge           whether the leg steps in a window as it was asked to, and if not, what it does
    kinematic       where the joints and the foot of a recorded leg were, computed from its joint angles
    listing         which bouts there are below a folder (appendix 10.3, section 5.1.5)
    load            a data directory -> `Bout`
    log_columns     which column of which log is what
    measures        numbers of one window's steady part that the verdict compares with its bounds
    outcome         what a leg did in a window, whatever was meant
    phases          swing and stance out of contact and foot height, and the cycle of one joint
    scriptlog       the writes that were really made, and when the engine started
    series          one log of a bout as arrays
    spread          how much steps differ from each other, tests of it, and how much noise alone makes
    steps           when the foot leaves the ground and touches it again, and in which order
    stepstats       step statistics of a bout, window by window
    summary         what was seen in a bout
    tidy            the logs of a bout as tidy tables
    tracks          what the step detector looks at
    windows         behaviour windows of a bout

    from nuc_engine.analysis import load_bout, bout_stats, summarise
    print(summarise("data/mine"))
    bout = load_bout("data/mine").subset(20, 40).zeroed()
    table = bout.on_grid(0.01)

Nothing here runs an engine, and nothing needs more than numpy, except Parquet files and tests of `spread`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nuc_engine.analysis.bout import Bout
    from nuc_engine.analysis.compare import Comparison, compare_bouts
    from nuc_engine.analysis.cycle import MeanCycle, mean_cycle
    from nuc_engine.analysis.errors import AnalysisError, BoutError
    from nuc_engine.analysis.firing import Firing, firing_of
    from nuc_engine.analysis.listing import BoutEntry, list_bouts
    from nuc_engine.analysis.load import load_bout
    from nuc_engine.analysis.outcome import Outcome, classify
    from nuc_engine.analysis.series import Series
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
    "firing_of",
    "list_bouts",
    "load_bout",
    "mean_cycle",
    "summarise",
    "summarise_bout",
    "tidy_bout",
    "windows_of_bout",
    "write_csv",
    "write_parquet",
]

_HOMES = {
    "bout": ("Bout",),
    "compare": ("Comparison", "compare_bouts"),
    "cycle": ("MeanCycle", "mean_cycle"),
    "errors": ("AnalysisError", "BoutError"),
    "firing": ("Firing", "firing_of"),
    "listing": ("BoutEntry", "list_bouts"),
    "load": ("load_bout",),
    "outcome": ("Outcome", "classify"),
    "series": ("Series",),
    "stepstats": ("WindowStats", "bout_stats"),
    "tidy": ("tidy_bout", "write_csv", "write_parquet"),
    "windows": ("BehaviourWindow", "windows_of_bout"),
}


def __getattr__(name: str) -> Any:
    # Loaded when asked for: judging needs no matplotlib, and the command line starts without any of it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = next((module for module, names in _HOMES.items() if name in names), "summary")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
