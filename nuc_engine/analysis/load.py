"""A data directory -> `Bout`: this engine's (columns.json, manifest.json) and NeuRoMod's (appendix 10.4, 3.1)."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from drivers.errors import BusUrlError
from drivers.units import S_PER_NS
from nuc_engine.analysis.bout import Bout, JointInfo
from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.log_columns import (
    OLD_JOINTLIST,
    PLANT_COLUMNS,
    joints_of,
    layout_of,
    legs_of,
    model_of,
    states_of,
)
from nuc_engine.analysis.scriptlog import ENGINE_START, ScriptLog, read_script_log
from nuc_engine.analysis.series import Series
from nuc_engine.analysis.tracks import FloatArray, IntArray
from nuc_engine.model.plan import Plan, PlanError
from nuc_engine.model.planning import build_plan
from nuc_engine.recording.files import (
    COLUMNS_FILE,
    DATA_LOGS,
    EPISODE_LOG,
    MANIFEST_FILE,
    MOTOR_LOG,
    MUSCLE_LOG,
    PLANT_LOG,
    SENSED_LOG,
    SENSOR_LOG,
    STATE_LOG,
)
from sccils_schemas.model import MODEL_FILES, Model

WHOLE_TO = 2.0**53
"""Up to here a double holds every whole number."""

Described = dict[str, list[tuple[str, str]]]
"""File name -> name and unit of each column after time."""

Columns = tuple[tuple[str, ...], tuple[str, ...]]
"""Names and units of the columns after time."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedLog:
    """One log, its columns named; `missing` where there is no such file."""

    time_ns: IntArray
    values: FloatArray
    columns: tuple[str, ...]
    units: tuple[str, ...]
    missing: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class BoutLogs:
    """All logs of a data directory by file name, with the model that gives them meaning."""

    folder: Path
    model: Model
    plan: Plan
    manifest: Mapping[str, Any]
    files: Mapping[str, LoadedLog]
    script: ScriptLog
    start_ns: int
    notes: tuple[str, ...]

    @property
    def label(self) -> str:
        """The configuration's folder name where the manifest tells it, else the joint list's own name."""
        return _label(self.manifest, self.model)


def load_bout(folder: Path | str) -> Bout:
    """Read a whole data directory, of this engine or of NeuRoMod.

    Raises BoutError, naming file and remedy, when the directory, its configuration or a log cannot be used. What is
    only missing or torn at its end is a note of the result.
    """
    logs = read_logs(Path(folder))
    return _bout(logs, joints_of(logs.plan, logs.model))


def load_body(folder: Path | str) -> tuple[Bout, tuple[Bout, ...]]:
    """Read a bout of however many legs: all joints, for who wants records alone, and again with each leg's joints only.

    What goes along a leg, as the path of its foot does, is right in the latter. Of several, which of them a simulated
    plant's foot belongs to is not told: none has it. Raises BoutError as `load_bout` does.
    """
    logs = read_logs(Path(folder))
    whole = _bout(logs, joints_of(logs.plan, logs.model, logs.plan.joints))
    legs = legs_of(logs.plan.joints)
    plant = whole.plant if len(legs) == 1 else None
    chains = (_logged(joints_of(logs.plan, logs.model, leg), whole.motor) for leg in legs)
    return whole, tuple(replace(whole, joints=chain, plant=plant) for chain in chains)


def _logged(joints: Iterable[JointInfo], motor: Series) -> tuple[JointInfo, ...]:
    """Return joints without the columns that a log does not have: what was sent is in this engine's alone."""
    return tuple(j if j.sent_raw in motor.columns else replace(j, sent_raw=None) for j in joints)


def _bout(logs: BoutLogs, joints: Iterable[JointInfo]) -> Bout:
    series = {name: _series(log, logs.start_ns) for name, log in logs.files.items()}
    return Bout(
        folder=logs.folder,
        label=logs.label,
        joints=_logged(joints, series[MOTOR_LOG]),
        states_of=states_of(logs.model, logs.plan),
        motor=series[MOTOR_LOG],
        sensors=series[SENSOR_LOG],
        states=series[STATE_LOG],
        muscles=series[MUSCLE_LOG],
        plant=series.get(PLANT_LOG),
        sensed=series.get(SENSED_LOG),
        changesets_s=logs.script.times_s,
        notes=logs.notes,
        missing=tuple(name for name, log in logs.files.items() if log.missing),
        scale=logs.model.jointlist.scale,
    )


def _plan_of(model: Model, manifest: Mapping[str, Any]) -> Plan:
    """Return the plan of the motors that were driven, as far as the manifest tells and their family is there."""
    families = manifest.get("families")
    if not isinstance(families, dict):
        return build_plan(model)
    try:
        return build_plan(model, cast(dict[str, str], families))
    except (PlanError, BusUrlError):
        return build_plan(model)


def read_logs(folder: Path) -> BoutLogs:
    """Read the logs of a data directory as they stand there, with exact times. Raises BoutError as `load_bout`."""
    if not folder.is_dir():
        raise BoutError(f"{folder}: no such directory, expected the data directory of a bout")
    if (folder / EPISODE_LOG).exists():
        raise BoutError(f"{folder}: is an episode of a RunConfig, which has no leg; see nuc plot, diff, export, verify")
    known = (*DATA_LOGS, *MODEL_FILES, OLD_JOINTLIST)
    if not any((folder / name).exists() for name in known):
        raise BoutError(f"{folder}: holds no logs and no configuration, expected the data directory of a bout")
    model = model_of(folder)
    manifest = _json(folder / MANIFEST_FILE)
    described = _described(folder / COLUMNS_FILE)
    plan = _plan_of(model, manifest)
    layout = layout_of(model, plan)
    notes: list[str] = []
    files = {
        MOTOR_LOG: _log(folder, MOTOR_LOG, layout.motor, described, notes),
        SENSOR_LOG: _log(folder, SENSOR_LOG, layout.sensors, described, notes),
        STATE_LOG: _log(folder, STATE_LOG, layout.states, described, notes),
        MUSCLE_LOG: _log(folder, MUSCLE_LOG, (layout.muscles,), described, notes),
    }
    if all(log.missing for log in files.values()):
        raise BoutError(f"{folder}: holds none of {', '.join(DATA_LOGS)}, expected the data directory of a bout")
    if (folder / PLANT_LOG).exists():
        files[PLANT_LOG] = _log(folder, PLANT_LOG, (PLANT_COLUMNS,), described, notes)
    if (folder / SENSED_LOG).exists():
        # It has the columns of what was measured, and is there only where that was not always what was sensed.
        files[SENSED_LOG] = _log(folder, SENSED_LOG, layout.sensors, _as_sensors(described), notes)
    script = read_script_log(folder, model)
    notes.extend(script.notes)
    start_ns = 0 if described or manifest else _engine_start_ns(folder, files, script, notes)
    notes.extend(_state_note(manifest))
    return BoutLogs(folder, model, plan, manifest, files, script, start_ns, tuple(notes))


def _log(
    folder: Path, name: str, layouts: Sequence[tuple[str, ...]], described: Described, notes: list[str]
) -> LoadedLog:
    """Read one log and name its columns, by columns.json where it describes them, else by the model."""
    columns, units = layouts[0], ("",) * len(layouts[0])
    if name in described:
        columns, units = _as_described(folder, name, layouts[0], described[name])
        layouts = (columns,)
    if not (folder / name).exists():
        notes.append(f"{name}: missing")
        return LoadedLog(np.zeros(0, dtype=np.int64), np.zeros((0, len(columns))), columns, units, missing=True)
    table = read_table(folder / name)
    notes.extend(table.notes)
    if not len(table.time_ns):
        notes.append(f"{name}: empty")
        return LoadedLog(table.time_ns, np.zeros((0, len(columns))), columns, units)
    width = table.values.shape[1]
    fitting = next((layout for layout in layouts if len(layout) == width), None)
    if fitting is None:
        expected = " or ".join(str(1 + n) for n in dict.fromkeys(len(layout) for layout in layouts))
        raise BoutError(f"{folder / name}: {1 + width} columns, expected {expected} for this configuration")
    return LoadedLog(table.time_ns, table.values, fitting, units if name in described else ("",) * width)


def _as_sensors(described: Described) -> Described:
    return {SENSED_LOG: described[SENSOR_LOG]} if SENSOR_LOG in described else {}


def _as_described(folder: Path, name: str, needed: Sequence[str], described: list[tuple[str, str]]) -> Columns:
    columns = tuple(column for column, _ in described)
    if missing := [column for column in needed if column not in columns]:
        raise BoutError(f"{folder / COLUMNS_FILE}: {name} lacks {', '.join(missing)} of this configuration")
    return columns, tuple(unit for _, unit in described)


def _series(log: LoadedLog, start_ns: int) -> Series:
    return Series((log.time_ns - start_ns).astype(np.float64) * S_PER_NS, log.values, log.columns, log.units)


def _engine_start_ns(folder: Path, files: Mapping[str, LoadedLog], script: ScriptLog, notes: list[str]) -> int:
    """NeuRoMod's logs carry absolute time: the start it logged joins them with its scripts (reading E1)."""
    if script.engine_start_ns is not None:
        return int(script.engine_start_ns)
    sensors = files[SENSOR_LOG]
    if ENGINE_START in sensors.columns and len(sensors.time_ns):
        starts = read_integers(folder / SENSOR_LOG, 1 + sensors.columns.index(ENGINE_START))
        if starts is not None and starts[-1] > 0:
            return int(starts[-1])
    firsts = [int(log.time_ns[0]) for log in files.values() if len(log.time_ns)]
    notes.append("engine start time not logged: time counts from the first record")
    return min(firsts, default=0)


def _json(path: Path) -> dict[str, Any]:
    """Return a JSON object, {} where there is no file. Raises BoutError when it is something else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
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


def _label(manifest: Mapping[str, Any], model: Model) -> str:
    configuration: Any = manifest.get("configuration")
    name: Any = configuration.get("name") if isinstance(configuration, dict) else configuration  # pyright: ignore
    return str(name) if name else model.jointlist.name or model.name


def _state_note(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    state = manifest.get("state")
    return () if state in (None, "complete") else (f"{MANIFEST_FILE}: the bout is {state}, not complete",)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One log: `time_ns` (n,) exact, `values` (n, k) what comes after the time; `notes` say what was left out."""

    time_ns: IntArray
    values: FloatArray
    notes: tuple[str, ...] = ()


def read_table(path: Path) -> Table:
    """Return the numbers of one log.

    A last line that was cut off while being written is left out and noted; an empty file gives shapes (0,) and (0, 0).
    Raises BoutError for a missing file, for text that is no number, for lines of different length elsewhere, and for
    time that runs backwards.
    """
    whole, notes = whole_lines(path)
    if not whole.strip():
        return Table(np.zeros(0, dtype=np.int64), np.zeros((0, 0)), notes)
    try:
        table = np.loadtxt(io.BytesIO(whole), dtype=np.float64, ndmin=2, comments=None)
        time_ns = _times(whole, table)
    except ValueError as error:
        raise BoutError(f"{path}: {error}, expected the same number of numbers in every line") from error
    backwards = np.flatnonzero(np.diff(time_ns) < 0)
    if backwards.size:
        raise BoutError(f"{path}:{backwards[0] + 2}: time runs backwards, expected one record after the other")
    return Table(time_ns, table[:, 1:], notes)


def read_integers(path: Path, column: int) -> IntArray | None:
    """Return one column (0 is time) of a log to the last digit, None where it holds other numbers than whole ones.

    A double has 53 bits, a time of the day in ns 61. Raises BoutError as `read_table` does for a missing file.
    """
    whole, _ = whole_lines(path)
    try:
        return np.array([int(line.split()[column]) for line in whole.splitlines() if line.strip()], dtype=np.int64)
    except (ValueError, IndexError, OverflowError):
        return None


def whole_lines(path: Path) -> tuple[bytes, tuple[str, ...]]:
    """Return a log without a last line that lacks its end, or has fewer columns than the first; noted if so.

    Raises BoutError when the file cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BoutError(f"{path}: cannot be read ({error.strerror}), expected a log of the bout") from error
    end = data.rfind(b"\n") + 1
    whole, torn = data[:end], data[end:]
    if not torn:
        before_last = whole.rfind(b"\n", 0, max(0, end - 1)) + 1
        last, first = whole[before_last:], whole[: whole.find(b"\n") + 1]
        if len(last.split()) < len(first.split()):
            whole, torn = whole[:before_last], last
    notes = (f"{path.name}: torn last line left out",) if torn else ()
    return whole, notes


def _times(whole: bytes, table: FloatArray) -> IntArray:
    """Return the first column exactly; where it is not written in whole numbers, as exactly as a double holds it."""
    read = np.rint(table[:, 0])
    if (np.abs(read) < WHOLE_TO).all():
        # A double holds these to the last digit; reading the text once more, line by line, takes a quarter of the time.
        return read.astype(np.int64)
    try:
        return np.array([int(line.split(None, 1)[0]) for line in whole.splitlines() if line.strip()], dtype=np.int64)
    except (ValueError, OverflowError):
        if not np.isfinite(table[:, 0]).all() or np.abs(table[:, 0]).max() >= 2.0**63:
            raise ValueError("not a time") from None
        return np.rint(table[:, 0]).astype(np.int64)
