"""Everything that is drawn of bouts and of rules: figures, path-state plots, movies, diagrams (needs matplotlib).

canvas            paper and pens of the figures
compare_figure    mean steps of several bouts in one figure
diagrams/         diagrams of a control system, as SVG
few_colors        lines on white in the colours of the figure's own pens, and tints of them for the edges
figures           the figures of a bout
flight            the figure of a flight
joint_figures     figures of one joint, one muscle or one motor over time
movie/            the leg of a bout in motion, beside a camera's film
palette           colours and line styles of the figures
path_arrays       path-state plots of plain arrays
path_state        the path of foot or joint with one line beside it per joint, in the colours
surrogate         flights of surrogates beside their teacher's
timeline          a span is shown whole where its cycles can be told apart, else in parts
torque            the figure of `nuc bus characterise`
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nuc_engine.figures.figures import draw_figures, draw_window
    from nuc_engine.figures.path_arrays import path_state_plot

__all__ = ["draw_figures", "draw_window", "path_state_plot"]


def __getattr__(name: str) -> Any:
    # Loaded when asked for: matplotlib takes half a second.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "path_arrays" if name == "path_state_plot" else "figures"
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
