"""A data directory -> `Bout`: this engine's (columns.json, manifest.json) and NeuRoMod's (appendix 10.4, 3.1)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nuc_engine.analysis.bout import Bout, Series
from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.layout import PLANT_COLUMNS, joints_of, layout_of, model_of, states_of
from nuc_engine.analysis.scriptlog import ScriptLog, read_script_log
from nuc_engine.analysis.tables import read_table
from nuc_engine.analysis.tracks import FloatArray
from nuc_engine.planning import build_plan
from sccils_schemas.model import Model

COLUMNS_FILE, MANIFEST_FILE, PLANT_FILE = "columns.json", "manifest.json", "PlantData.txt"
NS = 1e-9

Described = dict[str, list[tuple[str, str]]]
"""File name -> name and unit of each column after time."""


def load_bout(folder: Path) -> Bout:
    """Read a whole data directory.

    Raises BoutError, naming file and remedy, when the directory, its configuration or a log cannot be used. What is
    only missing or torn at its end is a note of the result.
    """
    if not folder.is_dir():
        raise BoutError(f"{folder}: no such directory, expected the data directory of a bout")
    model = model_of(folder)
    manifest = _json(folder / MANIFEST_FILE)
    described = _described(folder / COLUMNS_FILE)
    plan = build_plan(model)
    layout = layout_of(model, plan)
    notes: list[str] = []
    tables = {
        "MotorData.txt": _table(folder, "MotorData.txt", layout.motor, described, notes),
        "SensData.txt": _table(folder, "SensData.txt", layout.sensors, described, notes),
        "StateData.txt": _table(folder, "StateData.txt", layout.states, described, notes),
        "MuscleData.txt": _table(folder, "MuscleData.txt", (layout.muscles,), described, notes),
    }
    plant = None
    if (folder / PLANT_FILE).exists():
        plant = _table(folder, PLANT_FILE, (PLANT_COLUMNS,), described, notes)
    log = read_script_log(folder, model)
    notes.extend(log.notes)
    start_ns = 0.0 if described or manifest else _engine_start_ns(tables, log, notes)
    series = {name: _series(table, start_ns) for name, table in tables.items()}
    return Bout(
        folder=folder,
        label=_label(manifest, model),
        joints=joints_of(plan),
        states_of=states_of(model, plan),
        motor=series["MotorData.txt"],
        sensors=series["SensData.txt"],
        states=series["StateData.txt"],
        muscles=series["MuscleData.txt"],
        plant=None if plant is None else _series(plant, start_ns),
        changesets_s=log.times_s,
        notes=(*notes, *_state_note(manifest)),
    )


Table = tuple[FloatArray, tuple[str, ...], tuple[str, ...]]
"""Numbers with time first, names and units of the columns after time."""


def _table(
    folder: Path, name: str, layouts: Sequence[tuple[str, ...]], described: Described, notes: list[str]
) -> Table:
    """Read one log and name its columns, by columns.json where it describes them, else by the model."""
    numbers, torn = read_table(folder / name)
    notes.extend(torn)
    units: tuple[str, ...] = ()
    if name in described:
        needed, layouts = layouts[0], (tuple(column for column, _ in described[name]),)
        units = tuple(unit for _, unit in described[name])
        if missing := [column for column in needed if column not in layouts[0]]:
            raise BoutError(f"{folder / COLUMNS_FILE}: {name} lacks {', '.join(missing)} of this configuration")
    if not len(numbers):
        notes.append(f"{name}: empty")
        numbers = np.zeros((0, 1 + len(layouts[0])))
    width = numbers.shape[1] - 1
    columns = next((layout for layout in layouts if len(layout) == width), None)
    if columns is None:
        expected = " or ".join(str(1 + n) for n in dict.fromkeys(len(layout) for layout in layouts))
        raise BoutError(f"{folder / name}: {1 + width} columns, expected {expected} for this configuration")
    return numbers, columns, units or ("",) * width


def _series(table: Table, start_ns: float) -> Series:
    numbers, columns, units = table
    return Series((numbers[:, 0] - start_ns) * NS, numbers[:, 1:], columns, units)


def _engine_start_ns(tables: dict[str, Table], log: ScriptLog, notes: list[str]) -> float:
    """NeuRoMod's logs carry absolute time: the start it logged joins them with its scripts (reading E1)."""
    if log.engine_start_ns is not None:
        return float(log.engine_start_ns)
    firsts = [float(numbers[0, 0]) for numbers, _, _ in tables.values() if len(numbers)]
    notes.append("engine start time not logged: time counts from the first record")
    return min(firsts, default=0.0)


def _json(path: Path) -> dict[str, Any]:
    """Return a JSON object, {} where there is no file. Raises BoutError when it is something else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise BoutError(f"{path}: cannot be read ({error}), expected a JSON object") from error
    if not isinstance(content, dict):
        raise BoutError(f"{path}: holds no JSON object, expected one")
    return content  # pyright: ignore[reportUnknownVariableType]


def _described(path: Path) -> Described:
    """Return what columns.json says of each log; {} where there is no such file."""
    try:
        files = _json(path).get("files", {})
        return {
            str(name): [(str(column["name"]), str(column.get("unit", ""))) for column in entry["columns"][1:]]
            for name, entry in files.items()
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise BoutError(f'{path}: not in the expected form, {{"files": {{NAME: {{"columns": [...]}}}}}}') from error


def _label(manifest: dict[str, Any], model: Model) -> str:
    """Return the configuration's folder name where the manifest tells it, else the joint list's own name."""
    configuration: Any = manifest.get("configuration")
    name: Any = configuration.get("name") if isinstance(configuration, dict) else configuration  # pyright: ignore
    return str(name) if name else model.jointlist.name or model.name


def _state_note(manifest: dict[str, Any]) -> tuple[str, ...]:
    state = manifest.get("state")
    return () if state in (None, "complete") else (f"{MANIFEST_FILE}: the bout is {state}, not complete",)
