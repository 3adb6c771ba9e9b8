"""The figure of `nuc bus characterise`: torque against servo delta, and what is lost to speed."""
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from drivers.bench.fit import Fit
from drivers.bench.torque import TorquePoint, at_voltage_limit
from drivers.servo import ServoModel
from nuc_engine.figures.canvas import house_style, new_figure, save_png
from nuc_engine.figures.palette import FAINT, INK

_BLUE, _ORANGE = (0.0, 0.45, 0.70), (0.84, 0.37, 0.0)


def draw_torque(path: Path, model: ServoModel, rows: Sequence[TorquePoint], fit: Fit, by_table_n_m: float) -> Path:
    """Draw the rows, the fit and the model's own straight line into a PNG; return its path."""
    standing = [row for row in rows if row.stood]
    turning = [row for row in rows if not row.stood]
    with house_style():
        figure = new_figure(7.0 if turning else 4.6, 3.4)
        axes = figure.subplots(1, 2 if turning else 1, squeeze=False)[0]
        most = max(abs(row.ticks) for row in rows)
        grid = [most * (k / 100 - 1) for k in range(201)]
        left = axes[0]
        left.plot(grid, [by_table_n_m * ticks for ticks in grid], color=FAINT, linestyle="--", label="model's table")
        left.plot(grid, [fit.torque_n_m(ticks) for ticks in grid], color=INK, label="fit")
        left.errorbar(
            [row.ticks for row in standing],
            [row.torque_n_m for row in standing],
            yerr=[row.spread_n_m for row in standing],
            fmt="o",
            markersize=4,
            color=_BLUE,
            label="measured, shaft held",
        )
        highest = max(abs(row.torque_n_m) for row in standing)
        left.set_ylim(-1.4 * highest, 1.4 * highest)
        left.set_xlabel(f"servo delta (ticks of {model.tick_deg:.3f} deg)")
        left.set_ylabel("torque (N m)")
        left.set_title(model.name)
        left.legend(loc="upper left")
        if turning:
            right = axes[1]
            bounded = [row for row in turning if at_voltage_limit(model, row)]
            speeds = [row.speed_ticks_s * model.tick_deg for row in turning if row not in bounded]
            lost = [fit.torque_n_m(row.ticks) - row.torque_n_m for row in turning if row not in bounded]
            right.plot(speeds, lost, "s", markersize=4, color=_ORANGE, label="measured, shaft free")
            if bounded:
                fast = [row.speed_ticks_s * model.tick_deg for row in bounded]
                none = [fit.torque_n_m(row.ticks) - row.torque_n_m for row in bounded]
                open_ = {"markerfacecolor": "none", "markeredgecolor": _ORANGE, "label": "at the supply's voltage"}
                right.plot(fast, none, "s", markersize=4, **open_)
            if fit.damping_n_m_s is not None and speeds:
                ends = [min(speeds), max(speeds)]
                slope = fit.damping_n_m_s.value / model.tick_deg
                right.plot(ends, [slope * speed for speed in ends], color=INK, label="fit")
            right.set_xlabel("speed (deg/s)")
            right.set_ylabel("torque lost to speed (N m)")
            right.legend(loc="upper left")
        return save_png(figure, path)
