"""Reading bouts back: what a leg did, whether it stepped (appendix 10.3: the toolbox).

    behaviour     what the foot, FTi and CTr have to do in stance for each behaviour
    bout          a bout read back
    by_hand       what was done to a simulated leg from outside, and where the ground was by it
    check         one condition of a verdict
    compare       bouts side by side
    conditions    conditions 1 to 9 of docs/stepping.md
    criteria      the numbers of docs/stepping.md and docs/outcomes.md, in one place
    cycle         joint angles, contact and actions over the normalised step cycle
    errors        what can go wrong in reading and judging bouts
    firing        what let a joint change its action
    grid          one table on one time base out of logs that were written at their own times
    judge         is the leg stepping in a window, does it show the behaviour asked for, and if not
    kinematic     where the joints and the foot of a recorded leg were, computed from its joint angles
    layout        which column of which log is what
    listing       which bouts there are below a folder (appendix 10.3, section 5.1.5)
    load          a data directory -> `Bout`
    measures      numbers of one window's steady part that the verdict compares with its bounds
    noise         how much steps would seem to differ if they were all alike
    order         in which order a step's events come
    outcome       the outcome of a window
    phases        Swing and stance out of contact and foot height
    printing      what a bout holds, as text
    rhythm        the cycle of one joint
    runs_test     the runs test of Wald and Wolfowitz
    scriptlog     the writes that were really made, and when the engine started
    spread        how much steps differ from each other, in duration and in place of lift-off
    steps         when the foot leaves the ground and touches it again, and what the leg does in between
    stepstats     step statistics of a bout, window by window
    summary       what was seen in a bout
    tables        reading the white-space separated logs of a data directory
    tidy          the logs of a bout as tidy tables
    tracks        what the step detector looks at
    whole         files that appear under their names only when they are whole
    windows       behaviour windows of a bout

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
    from nuc_engine.analysis.bout import Bout, Series
    from nuc_engine.analysis.compare import Comparison, compare_bouts
    from nuc_engine.analysis.cycle import MeanCycle, mean_cycle
    from nuc_engine.analysis.errors import AnalysisError, BoutError
    from nuc_engine.analysis.firing import Firing, firing_of
    from nuc_engine.analysis.listing import BoutEntry, list_bouts
    from nuc_engine.analysis.load import load_bout
    from nuc_engine.analysis.outcome import Outcome, classify
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
    "firing_of": "firing",
    "list_bouts": "listing",
    "load_bout": "load",
    "mean_cycle": "cycle",
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
