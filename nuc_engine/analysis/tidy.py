"""The logs of a bout as tidy tables: one row per record, one named column per value, whole numbers exact.

    motors sensors states muscles [plant sensed]    one table for each log, with its exact time in ns
    unified                                   all of them on one time base, with the leg's points (when asked for)

States come twice: as the logged code (`JOINT.state`), and by name (`JOINT.action`). Units and meanings are those of
columns.json; where there is none, as in NeuRoMod's directories, the ones this engine's logs would have.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from drivers.factory import DEFAULT_FAMILY, find_family
from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.load import BoutLogs, LoadedLog, load_bout, read_integers, read_logs
from nuc_engine.machine.needs import need
from nuc_engine.model.plan import Plan
from nuc_engine.recording import manifest
from nuc_engine.recording.columns import describe_columns
from nuc_engine.recording.files import (
    COLUMNS_FILE,
    EPISODE_LOG,
    MOTOR_LOG,
    MUSCLE_LOG,
    PLANT_LOG,
    SENSED_LOG,
    SENSOR_LOG,
    STATE_LOG,
)
from nuc_engine.recording.rows import read_rows

TABLES: Mapping[str, str] = {
    MOTOR_LOG: "motors",
    SENSOR_LOG: "sensors",
    STATE_LOG: "states",
    MUSCLE_LOG: "muscles",
    PLANT_LOG: "plant",
    SENSED_LOG: "sensed",
}
TIME = "time_ns"
DICTIONARY = "columns"
"""Name of the file that says what every column of a CSV export is."""

_WHOLE = ("_raw", ".state", ".age_ns")
"""How the columns end that hold whole numbers throughout."""

Cells = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class TidyColumn:
    """One column: integers (int64), numbers (float64) or texts (object; None where there is none)."""

    name: str
    unit: str
    meaning: str
    cells: Cells


@dataclass(frozen=True, slots=True, eq=False)
class TidyTable:
    """One table; all columns have the same length. `source` is the log it was made of, "" for the unified one."""

    name: str
    source: str
    columns: tuple[TidyColumn, ...]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0].cells)

    def column(self, name: str) -> TidyColumn:
        """Return one column. Raises KeyError, with the names there are, when there is none so named."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(f"no column {name}; there are {', '.join(column.name for column in self.columns)}")


@dataclass(frozen=True, slots=True, eq=False)
class TidyBout:
    """All tables of a bout, and what is told of it: configuration, folder name, engine start, manifest."""

    folder: Path
    tables: tuple[TidyTable, ...]
    about: Mapping[str, Any]
    notes: tuple[str, ...]


def tidy_bout(folder: Path | str, grid_s: float | None = None) -> TidyBout:
    """Return the tables of a data directory; with `grid_s`, also the unified one at whole multiples of so many seconds.

    Raises BoutError when the directory cannot be read.
    """
    folder = Path(folder)
    if (folder / EPISODE_LOG).is_file():
        return _episode(folder)
    logs = read_logs(folder)
    told = _told(logs)
    told.setdefault(SENSED_LOG, told.get(SENSOR_LOG, {}))
    tables = [_table(logs, file, log, told.get(file, {})) for file, log in logs.files.items() if not log.missing]
    if grid_s is not None:
        tables.append(_unified(load_bout(folder), grid_s, told, logs.plan))
    about = {
        "configuration": logs.label,
        "bout": folder.resolve().name,
        "engine_start_ns": logs.start_ns,
        "time": "ns since engine start" if not logs.start_ns else "ns as logged; engine_start_ns is the engine's start",
        "manifest": dict(logs.manifest),
    }
    return TidyBout(folder, tuple(tables), about, logs.notes)


def _episode(folder: Path) -> TidyBout:
    """Return the one table of an episode of a RunConfig; its time is in seconds, as logged."""
    try:
        names, rows = read_rows(folder)
        told = manifest.read_record(folder)
    except (ValueError, manifest.ManifestError) as error:
        raise BoutError(str(error)) from error
    columns = tuple(TidyColumn(name, "", "", rows[:, k]) for k, name in enumerate(names))
    about = {"configuration": told["configuration"], "bout": folder.resolve().name, "time": "s", "manifest": told}
    return TidyBout(folder, (TidyTable("episode", EPISODE_LOG, columns),), about, ())


def write_csv(bout: TidyBout, out: Path | str) -> list[Path]:
    """Write one CSV file for each table into a folder, units in the header, and columns.csv that explains them.

    Raises OSError.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for table in bout.tables:
        head = [f"{column.name} ({column.unit})" if column.unit else column.name for column in table.columns]
        cells = [_texts(column.cells) for column in table.columns]
        files.append(_write_rows(out / f"{table.name}.csv", [head, *zip(*cells, strict=True)]))
    rows = [
        (table.name, table.source, column.name, column.unit, column.meaning)
        for table in bout.tables
        for column in table.columns
    ]
    files.append(_write_rows(out / f"{DICTIONARY}.csv", [("table", "log", "column", "unit", "meaning"), *rows]))
    return files


def write_parquet(bout: TidyBout, out: Path | str) -> list[Path]:
    """Write one Parquet file for each table into a folder: units and meanings are metadata of the columns.

    The metadata of a file (key `nuc`, JSON) say which bout it is, with the whole manifest. Raises Missing
    without PyArrow, and OSError.
    """
    need(pyarrow="a Parquet file")
    arrow, parquet = cast(Any, import_module("pyarrow")), cast(Any, import_module("pyarrow.parquet"))
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for table in bout.tables:
        fields, arrays = [], []
        for column in table.columns:
            array = arrow.array(column.cells, from_pandas=False)
            if column.cells.dtype == object:
                array = arrow.array(list(column.cells), type=arrow.string()).dictionary_encode()
            meta = {"unit": column.unit, "meaning": column.meaning}
            fields.append(arrow.field(column.name, array.type, metadata=meta))
            arrays.append(array)
        about = json.dumps({**bout.about, "table": table.name, "log": table.source})
        schema = arrow.schema(fields, metadata={"nuc": about})
        path = out / f"{table.name}.parquet"
        parquet.write_table(arrow.Table.from_arrays(arrays, schema=schema), path, compression="zstd")
        files.append(path)
    return files


def _write_rows(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return path


def _texts(cells: Cells) -> list[str]:
    """Return cells as text that gives the same values back: shortest exact form, empty where there is no value."""
    if cells.dtype.kind == "f":
        return ["" if value != value else repr(value) for value in cells.tolist()]  # noqa: PLR0124
    return ["" if value is None else str(value) for value in cells.tolist()]


ColumnDescriptions = Mapping[str, Mapping[str, Any]]
"""Column name -> what columns.json says of it."""


def _told(logs: BoutLogs) -> dict[str, ColumnDescriptions]:
    """Return what is known of the columns of each log: by the bout itself, else as this engine would describe them."""
    path = logs.folder / COLUMNS_FILE
    try:
        described: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        described = describe_columns(logs.model, logs.plan)
    except (OSError, ValueError, RecursionError) as error:
        raise BoutError(f"{path}: cannot be read ({error}), expected a JSON object") from error
    try:
        files = described.get("files") or describe_columns(logs.model, logs.plan)["files"]
        return {
            file: {str(column["name"]): dict(column) for column in entry["columns"][1:]}
            for file, entry in files.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BoutError(f'{path}: not in the expected form, {{"files": {{NAME: {{"columns": [...]}}}}}}') from error


def _table(logs: BoutLogs, file: str, log: LoadedLog, told: ColumnDescriptions) -> TidyTable:
    columns = [TidyColumn(TIME, "ns", "time of the record, as logged", log.time_ns)]
    owners = {owner.name for owner in (*logs.plan.joints, *logs.plan.modules)}
    for k, name in enumerate(log.columns):
        cells = _cells(logs.folder / file, k, name, log)
        unit, meaning = _explained(told.get(name, {}), log.units[k], name, logs.plan)
        columns.append(TidyColumn(name, unit, meaning, cells))
        if name.endswith(".state") and (owner := name.removesuffix(".state")) in owners:
            names = np.array([_state_name(logs, code) for code in cells.tolist()], dtype=object)
            columns.append(TidyColumn(f"{owner}.action", "", f"action of {owner} by name", names))
    return TidyTable(TABLES[file], file, tuple(columns))


def _cells(path: Path, k: int, name: str, log: LoadedLog) -> Cells:
    """Return one column: exact integers where it holds nothing else by what it is."""
    values = log.values[:, k]
    if name.endswith("_time"):
        exact = read_integers(path, k + 1)
        return values if exact is None else exact
    if not name.endswith(_WHOLE):
        return values
    whole = np.isfinite(values).all() and bool((values == np.rint(values)).all())
    return values.astype(np.int64) if whole else values


def _state_name(logs: BoutLogs, code: float) -> str | None:
    whole = int(code) if code == code else -1  # noqa: PLR0124
    states = logs.plan.every_state
    return states[whole].name if 0 <= whole < len(states) else None


def _explained(column: Mapping[str, Any], unit: str, name: str, plan: Plan) -> tuple[str, str]:
    more = [f"{key} {str(column[key]).replace(': ', ', ')}" for key in ("sign", "frame") if column.get(key)]
    meaning = str(column.get("meaning") or name)
    return unit or str(column.get("unit") or "") or _unit_by_use(column, plan), "; ".join([meaning, *more])


def _unit_by_use(column: Mapping[str, Any], plan: Plan) -> str:
    """Return the unit of a sensor whose configuration names none, by what the engine uses it for."""
    if "motor" not in column:
        return ""
    if "frame" in column:
        return "deg"
    motor = next((motor for motor in plan.motors if motor.name == column["motor"]), None)
    if motor is None or motor.family == DEFAULT_FAMILY:
        return "tick (18.4 mA)"
    # What a unit is, the configuration decides by its currentScale.
    unit = find_family(motor.family).models[motor.model].load_unit
    return f"{1 / motor.load_scale:.4g} counts of {unit}" if motor.load_scale not in (0.0, 1.0) else unit


def _unified(bout: Bout, grid_s: float, told: Mapping[str, ColumnDescriptions], plan: Plan) -> TidyTable:
    series = bout.on_grid(grid_s)
    known = {name: column for columns in told.values() for name, column in columns.items()}
    columns = [TidyColumn("time_s", "s", "time since engine start", series.t_s)]
    for k, name in enumerate(series.columns):
        unit, meaning = _explained(known.get(name, {}), series.units[k], name, plan)
        columns.append(TidyColumn(name, unit, meaning, series.values[:, k]))
        if name.endswith(".state"):
            codes = np.where(np.isnan(series.values[:, k]), -1, series.values[:, k]).astype(int)
            found = [bout.state(code) for code in codes.tolist()]
            names = np.array([None if state is None else state.name for state in found], dtype=object)
            columns.append(TidyColumn(f"{name.removesuffix('.state')}.action", "", "action by name", names))
    columns += _points(bout, series.t_s)
    return TidyTable("unified", "", tuple(columns))


def _points(bout: Bout, times_s: NDArray[np.float64]) -> Iterator[TidyColumn]:
    """Yield where joints and foot are by the angles and DH lines."""
    points = bout.leg_from_angles(times_s)
    names = [*(joint.name for joint in bout.joints), "foot_by_angles"]
    for k, name in enumerate(names):
        for axis, letter in enumerate("xyz"):
            meaning = f"{name}, {('forward', 'to the left', 'up')[axis]}, from joint angles and DH lines"
            yield TidyColumn(f"{name}.{letter}", "cm", meaning, points[:, k, axis])
