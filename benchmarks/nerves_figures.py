"""What the examples of docs/acting.md and docs/chapter9.md do, drawn: `python -m benchmarks.nerves_figures`.

Each example is run as its page has it, beside `lin_roach` as it is where that tells more, and drawn into docs/figures.
"""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from nuc_engine.analysis.bout import Bout, Series
from nuc_engine.analysis.load import load_bout
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.figures.canvas import house_style, new_figure
from nuc_engine.figures.few_colors import save_small
from nuc_engine.figures.palette import bout_pen
from tests.docs import test_acting as acting
from tests.docs import test_chapter9 as chapter9

OUT = Path(__file__).resolve().parents[1] / "docs" / "figures"
SECONDS = 3.0
LEGEND: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.98), "ncols": 2, "fontsize": 7}
"""Above the axes: curves go everywhere."""

Line = tuple[str, Series, str]
"""Of a curve: what the legend calls it, the log, its column."""
Panel = tuple[str, Sequence[Line], bool]
"""Of an axis: its label, its curves, whether these are steps."""


def panels(title: str, with_it: Bout, plain: Bout) -> tuple[tuple[float, float], Sequence[Panel]]:
    """Return the seconds that a section's figure shows, and what in which axis."""
    current = ("as measured", with_it.sensors, "TC1_current")
    found: tuple[tuple[float, float], Sequence[Panel]]
    match title:
        case "Activation dynamics":
            name = "Thorax-Coxa1.activation[0]"
            found = (1.0, 3.0), [("remotor's activation", both(name, "states", with_it, plain), True)]
        case "Efferent delays":
            name = "Femur-Tibia.activation[0]"
            found = (1.0, 2.2), [("flexor's activation", both(name, "states", with_it, plain), True)]
        case "A period of muscles":
            name = "Femur_DepressorRET.force"
            found = (1.0, 1.6), [("depressor's force (N)", both(name, "muscles", with_it, plain), True)]
        case "Magnitude influences":
            name = "Thorax-Coxa1.activation[1]"
            lines = both(name, "states", with_it, plain)
            found = (1.0, 3.0), [("promotor's activation", lines, True), ("load at ThC1 (ticks)", [current], False)]
        case "Soft switching":
            weights = [(name, with_it.sensors, name) for name in ("FT_extending", "FT_flexing")]
            angle = [("FT_angle", with_it.sensors, "FT_angle")]
            found = (1.0, 3.0), [("weight", weights, True), ("FTi (deg)", angle, False)]
        case "Delays":
            lines = both("Coxa-Trochanter.state", "states", with_it, plain)
            found = (0.2, 1.5), [("CTr's state", lines, True), ("load at ThC1 (ticks)", [current], False)]
        case "Clamps":
            assert with_it.sensed is not None
            pairs = [
                [("as measured", with_it.sensors, name), ("as sensed", with_it.sensed, name)]
                for name in ("TC1_current", "FT_angle")
            ]
            found = (0.2, 1.2), [("load at ThC1 (ticks)", pairs[0], False), ("FTi (deg)", pairs[1], False)]
        case _:
            found = (0.0, SECONDS), [("load at ThC1 (ticks)", [current], False)]
    return found


def both(column: str, log: str, with_it: Bout, plain: Bout) -> list[Line]:
    """Return a column of both bouts."""
    return [("lin_roach", getattr(plain, log), column), ("with it", getattr(with_it, log), column)]


def draw(path: Path, span: tuple[float, float], given: Sequence[Panel], mark: Callable[[Axes], None]) -> None:
    """Draw panels one below the other."""
    with house_style():
        figure = new_figure(6.4, 0.6 + 1.4 * len(given))
        for k, (label, lines, steps) in enumerate(given):
            axes = figure.add_subplot(len(given), 1, k + 1)
            for number, (name, log, column) in enumerate(lines):
                shown = log.between(*span)
                color, dashes = bout_pen(number)
                style = "steps-post" if steps else "default"
                axes.plot(
                    shown.t_s, shown.column(column), color=color, linestyle=dashes, label=name, drawstyle=style, lw=1.0
                )
            axes.set_ylabel(label)
            axes.set_xlim(*span)
            mark(axes)
            if len(lines) > 1:
                axes.legend(**LEGEND)
            if label.endswith("state"):
                axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        figure.axes[-1].set_xlabel("s")
        save_small(figure, path)


def fired(folder: Path) -> Callable[[Axes], None]:
    """Return what marks when triggers fired, and when they acted."""
    text = (folder / "Infolog.txt").read_text(encoding="utf-8")
    found = [int(line.split()[0]) / 1e9 for line in text.splitlines() if " trigger when " in line]

    def mark(axes: Axes) -> None:
        for k, at_s in enumerate(found):
            axes.axvline(at_s, color=bout_pen(1)[0], lw=1.0, label="" if k else "fired")
        if found:
            axes.legend(**LEGEND)

    return mark


def name_of(title: str) -> str:
    """Return the name of a section's figure."""
    return re.sub(r"\W+", "_", title.lower()) + ".png"


SECTIONS = {
    **dict.fromkeys(
        ("Activation dynamics", "Efferent delays", "A period of muscles", "Magnitude influences", "Soft switching"),
        acting,
    ),
    **dict.fromkeys(("Delays", "Clamps", "Triggers"), chapter9),
}
"""Sections that have a figure of what happens; the others have a diagram."""


def main() -> int:
    """Run and draw all."""
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        run_bout(BoutSpec("lin_roach", root / "plain", duration_s=SECONDS))
        plain = load_bout(root / "plain")
        for title, page in SECTIONS.items():
            home = root / name_of(title)
            home.mkdir()
            if page is acting:
                config, script = acting.made(home / "lin_roach", title), None
            else:
                config = chapter9.made(home / "lin_roach", chapter9.BLOCKS[title])
                script = str(config / chapter9.SCRIPT)
            run_bout(BoutSpec(str(config), home / "bout", script=script, duration_s=SECONDS))
            mark = fired(home / "bout")
            draw(OUT / name_of(title), *panels(title, load_bout(home / "bout"), plain), mark)
    return 0


if __name__ == "__main__":
    sys.exit(main())
