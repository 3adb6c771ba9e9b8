"""A flight's RunConfig to begin tests with, and runs of it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from nuc_engine.episode.document import RunConfig, read_run
from nuc_engine.episode.loop import EpisodeEnd, run_steps
from nuc_engine.flight.tables import SYSTEMS

CONFIGS = Path(__file__).parents[2] / "configs"
SHIPPED = sorted(path.parent.name for path in CONFIGS.glob("flight_*/run.toml"))
HOVER: dict[str, Any] = {
    "system": "flight",
    "timing": {"dt_s": 0.01, "duration_s": 1.0},
    "initial": {"position_m": [0.3, -0.2, 1.0], "attitude_rad": [0.1, -0.2, 0.4]},
    "dynamics": {"mass_kg": 1.3, "tau_roll_s": 0.1, "tau_pitch_s": 0.15, "drag_per_s": 0.2},
    "controller": {
        "kind": "cascade",
        "mass_kg": 1.3,
        "kp_per_s2": [4.0, 5.0, 6.0],
        "kd_per_s": [3.0, 3.5, 4.0],
        "k_yaw_per_s": 2.0,
    },
    "reference": {"kind": "hover", "position_m": [0.0, 0.0, 1.5]},
}


def document(**tables: Any) -> dict[str, Any]:
    """Return the document with some of its tables replaced; a table of dotted keys is not needed here."""
    return {**copy.deepcopy(HOVER), **tables}


def flown(doc: dict[str, Any], **changes: Any) -> tuple[RunConfig, list[tuple[float, ...]], EpisodeEnd]:
    """Return a run, its rows, and how it ended; in names of changes, `__` stands for a dot."""
    run = read_run(doc, SYSTEMS, {key.replace("__", "."): value for key, value in changes.items()})
    rows: list[tuple[float, ...]] = []
    return run, rows, run_steps(run, rows.append)
