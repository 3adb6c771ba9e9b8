"""What is read of data directories, in a process of its own: reading logs takes seconds, and the page goes on.

Every function takes a data directory and returns bytes, or JSON's own types. The last few bouts read are kept.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.errors import AnalysisError, BoutError
from nuc_engine.analysis.listing import MOST_MANIFEST_BYTES, BoutEntry, list_bouts, read_manifest
from nuc_engine.analysis.load import load_body, load_bout
from nuc_engine.analysis.log_columns import OLD_JOINTLIST
from nuc_engine.analysis.series import Series, hold, interpolate
from nuc_engine.analysis.stepstats import bout_stats
from nuc_engine.analysis.tracks import FloatArray, IntArray
from nuc_engine.analysis.windows import windows_of_bout
from nuc_engine.machine.locations import PLANT_SPEC_FILE
from nuc_engine.plants.spec import PlantSpecError
from nuc_engine.recording.files import DATA_LOGS, EVENT_LOG, MANIFEST_FILE, NOTES_FILE, PLANT_LOG
from nuc_engine.ui.scene import scene_of

MOST_LOG_BYTES = 1 << 29
"""Logs of a bout that are read at all."""

MOST_MEMORY = 4 << 30
"""Bytes that a reader may take: what such logs need."""

MOST_BOUTS = 2000
"""Bouts that are listed: the newest."""

LEAST, MOST = 4, 20_000
"""Records that may be asked for at once."""

SETTLE_S = 2.0
HEAD = struct.Struct("<IId")
_KEPT = 3
_NICE = 10
_THUMBNAIL_INCHES = (1.6, 1.2)
_EVENT_FILES = (EVENT_LOG,)
_MOST_EVENTS = 5000
_MOST_EVENT_BYTES = 4 << 20
_MOST_LABELS = 64
_LONGEST = 300
_LONGEST_REASON = 4000
_DEEPEST = 32
_SEVERAL = "steps and figures are of one leg, and this body has several"
_PLANT_NAMES = ("plant.x_cm", "plant.y_cm", "plant.z_cm", "plant.contact_n")

Told = tuple[bool, Any]


def begin() -> None:
    """Make this process one that yields to all others, and ends with the one that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform != "win32":
        os.nice(_NICE)
    if sys.platform == "linux":
        import resource

        ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY if most < 0 else min(MOST_MEMORY, most), most))


def guarded(function: Callable[..., Any], *words: Any) -> Told:
    """Return (True, result), or (False, why there is none): what a reader raises may not fit through a pipe."""
    try:
        return True, function(*words)
    except Exception as error:  # what files hold that nobody wrote by this program may break any reader
        known = isinstance(error, AnalysisError | PlantSpecError | OSError | ValueError | KeyError | ImportError)
        text = str(error)[:_LONGEST_REASON].encode("utf-8", "replace").decode()
        return False, text if known and text else f"{type(error).__name__}: {text}".removesuffix(": ")


def listed(root: Path) -> list[BoutEntry]:
    """Return the newest data directories of a folder, none where there is no such folder; texts within bounds."""
    try:
        return [_shortened(entry) for entry in list_bouts(root, MOST_BOUTS)]
    except BoutError:  # the first bout makes it
        return []


def _shortened(entry: BoutEntry) -> BoutEntry:
    texts = {name: getattr(entry, name)[:_LONGEST] for name in ("configuration", "script", "state", "clock", "started")}
    labels = {key[:_LONGEST]: text[:_LONGEST] for key, text in islice(entry.labels.items(), _MOST_LABELS)}
    notes = tuple(note[:_LONGEST] for note in entry.notes[:_MOST_LABELS])
    return replace(entry, **texts, labels=labels, notes=notes, problem=entry.problem[:_LONGEST])


def describe(folder: Path) -> bytes:
    """Return everything but the records, as JSON: manifest, statistics, events, columns, model, plant, span."""
    from nuc_engine.analysis.load import read_logs
    from nuc_engine.configurations.describe import describe_model

    bout, legs = body(folder)
    one_leg = len(legs) == 1
    table = joined(bout)
    logs = read_logs(folder) if not bout.folder.joinpath(OLD_JOINTLIST).exists() else None
    return msgspec.json.encode(
        {
            "manifest": _manifest(folder),
            "statistics": _statistics(bout) if one_leg else {"windows": [], "problem": _SEVERAL},
            "events": sorted(events_of(folder, bout), key=lambda event: event["time_s"])[:_MOST_EVENTS],
            "columns": [{"name": "time_s", "unit": "s"}, *_columns(table)],
            "logs": {name: len(log) for name, log in _logs(bout).items()},
            "model": None if logs is None else plain(describe_model(logs.model, logs.plan)),
            "plant": scene_of(folder / PLANT_SPEC_FILE, _base_z_cm(bout)),
            "begin_s": bout.begin_s,
            "end_s": bout.end_s,
            "notes": bout.notes,
            "figures": figures_of(bout) if one_leg else [],
        }
    )


def records(folder: Path, begin_s: float, end_s: float, most: int, log: str) -> tuple[str, bytes]:
    """Return ("exact" or "minmax", a batch) of the records of [begin_s, end_s]: columns `time_s` and those described.

    More than `most` records come as pairs of rows, the least and the largest values of each of most/2 stretches, so
    that what lasted a single record is still seen; `time_s` is the stretch's first and last. `log` names one log
    (`MOTOR_LOG`, ...), whose own records these are then; "" joins all of them at the sensors' times.
    """
    bout, _ = body(folder)
    series = joined(bout) if not log else _logs(bout)[log]
    part = series.between(begin_s, end_s)
    table = np.column_stack([part.t_s, part.values])
    kind = "exact"
    if len(table) > most:
        kind, table = "minmax", least_and_largest(table, most)
    return kind, HEAD.pack(0, len(table), 0.0) + np.ascontiguousarray(table, dtype="<f8").tobytes()


def switches(folder: Path) -> bytes:
    """Return every change of each joint's action as JSON: column to [time in s, state's id, or null where it has none].

    The first is what the log begins with. All of them are there, however long the bout is.
    """
    states = body(folder)[0].states
    return msgspec.json.encode(
        {
            name: [[float(states.t_s[k]), None if np.isnan(values[k]) else int(values[k])] for k in changes(values)]
            for name, values in zip(states.columns, states.values.T, strict=True)
            if name.endswith(".state")
        }
    )


def changes(values: FloatArray) -> IntArray:
    """Return where values are others than before, the first included; no value after no value is no change."""
    before, after = values[:-1], values[1:]
    differs = (before != after) & ~(np.isnan(before) & np.isnan(after))
    return np.flatnonzero(np.concatenate([np.ones(min(1, len(values)), bool), differs]))


def seen(folder: Path) -> bytes:
    """Return what each leg was seen to do, window by window, as JSON."""
    bout, legs = body(folder)
    windows = windows_of_bout(folder, bout.end_s)
    told = [
        {"from_s": w.window.begin_s, "to_s": w.window.end_s, "name": w.window.name, "what": w.kind}
        for leg in legs
        for w in bout_stats(leg, windows, SETTLE_S)
    ]
    return msgspec.json.encode({"outcomes": told})


def thumbnail(folder: Path) -> bytes:
    """Return a small picture of each foot's path from above, as PNG. Needs matplotlib."""
    import io

    from matplotlib.figure import Figure

    _, legs = body(folder)
    figure = Figure(figsize=_THUMBNAIL_INCHES, dpi=100)
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.96))
    for path in (leg.foot_from_angles() for leg in legs):
        axes.plot(path[:, 0], path[:, 1], color="#4477aa", linewidth=0.6)
    axes.set_aspect("equal", adjustable="datalim")
    axes.axis("off")
    out = io.BytesIO()
    figure.savefig(out, format="png", transparent=True)
    return out.getvalue()


def figure(folder: Path, kind: str) -> bytes:
    """Return a figure of a kind that `describe` lists, as PNG. Raises KeyError for another. Needs matplotlib."""
    from nuc_engine.figures.figures import What, draw_figures

    bout = loaded(folder)
    if kind not in figures_of(bout):
        raise KeyError(f"no figure {kind!r}")
    what: dict[str, What] = {"summary": "summary", "pathstate": "path", "joint": "joints", "muscle": "muscles"}
    chosen = what.get(kind.partition("_")[0], "motors")
    windows = [(window.name, window.begin_s, window.end_s) for window in windows_of_bout(folder, bout.end_s)]
    with tempfile.TemporaryDirectory() as place:
        for path in draw_figures(bout, place, windows, (chosen,)):
            if path.stem == kind:
                return path.read_bytes()
    raise KeyError(f"no figure {kind!r}")


def figures_of(bout: Bout) -> list[str]:
    """Return the kinds of figures of a bout."""
    windows = windows_of_bout(bout.folder, bout.end_s)
    found = ["summary_sensors", "summary_states", "pathstate", *(f"pathstate_{window.name}" for window in windows)]
    for joint in bout.joints:
        found += [f"joint_{joint.name}"] if joint.angle is not None or joint.muscles else []
        found += [f"muscle_{muscle}" for muscle in joint.muscles]
        found += [f"motor_{joint.motor or joint.name}"] if joint.raw_position is not None else []
    return found


def joined(bout: Bout) -> Series:
    """Return all logs as one table at the sensors' times, under the names that live records have.

    What the engine sets holds until it is set anew; what lies between an emulated plant's records is interpolated.
    """
    base = max((bout.sensors, bout.motor, bout.states), key=lambda log: (bool(len(log)), log is bout.sensors))
    times_s = base.t_s
    renamed = {
        column: f"{muscle}.activation"
        for joint in bout.joints
        for column, muscle in zip(joint.activations, joint.muscles, strict=True)
    }
    blocks, columns, units = [], list[str](), list[str]()
    for log in (bout.sensors, bout.states, bout.muscles, bout.motor):
        blocks.append(log.values if log is base else hold(log, times_s, bout.end_s))
        columns += [renamed.get(column, column) for column in log.columns]
        units += log.units
    if bout.plant is not None:
        blocks.append(interpolate(bout.plant, times_s))
        columns += _PLANT_NAMES
        units += bout.plant.units
    return Series(times_s, np.concatenate(blocks, axis=1), tuple(columns), tuple(units))


def least_and_largest(table: FloatArray, most: int) -> FloatArray:
    """Return pairs of rows, the least and the largest values of most/2 stretches of a table whose first column is time.

    What has no value in all of a stretch (nan) has none in its pair.
    """
    edges = np.linspace(0, len(table), most // 2 + 1).astype(np.int64)[:-1]
    pairs = np.empty((2 * len(edges), table.shape[1]))
    pairs[0::2], pairs[1::2] = np.fmin.reduceat(table, edges, axis=0), np.fmax.reduceat(table, edges, axis=0)
    return pairs


def events_of(folder: Path, bout: Bout) -> Iterator[dict[str, Any]]:
    """Yield what the logs of a bout tell beside its records: messages, notes and marks, and what was written."""
    for name in _EVENT_FILES:
        for line in _lines(folder / name):
            stamp, _, rest = line.partition(" ")
            kind, _, text = rest.partition(" ")
            if stamp.isdecimal():
                yield {"time_s": int(stamp) / 1e9, "name": kind, "text": text[:_LONGEST]}
    for line in _lines(folder / NOTES_FILE):
        try:
            note = json.loads(line)
            yield {"time_s": float(note["time_s"]), "name": str(note["what"]), "text": str(note["text"])[:_LONGEST]}
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    for time_s in bout.changesets_s:
        yield {"time_s": time_s, "name": "changeset", "text": ""}


def _base_z_cm(bout: Bout) -> float:
    amatrix = bout.joints[0].amatrix if bout.joints else None
    return 0.0 if amatrix is None else float(amatrix[2, 3])


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_EVENT_BYTES).decode(errors="replace").splitlines()[:_MOST_EVENTS]
    except OSError:
        return []


def _manifest(folder: Path) -> Any:
    try:
        return plain(read_manifest(folder))
    except (OSError, ValueError, RecursionError):
        return None


def plain(value: Any, depth: int = _DEEPEST) -> Any:
    """Return JSON as it can be sent on: no halves of characters, no numbers beyond doubles, nothing too deep."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return f"{value:.6e}" if abs(value) < 1 << 1000 else "a number that is too long"
    if not depth:
        return "nested too deeply"
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {plain(key): plain(each, depth - 1) for key, each in pairs}
    if isinstance(value, list):
        return [plain(each, depth - 1) for each in cast("list[Any]", value)]
    return value


def _statistics(bout: Bout) -> dict[str, Any]:
    try:
        windows = bout_stats(bout, windows_of_bout(bout.folder, bout.end_s), SETTLE_S)
    except AnalysisError as error:
        return {"settle_s": SETTLE_S, "windows": [], "problem": str(error)}
    return {"settle_s": SETTLE_S, "windows": [window.data() for window in windows]}


def _columns(table: Series) -> list[dict[str, str]]:
    return [{"name": name, "unit": unit} for name, unit in zip(table.columns, table.units, strict=True)]


def _logs(bout: Bout) -> dict[str, Series]:
    logs: dict[str, Series] = {}
    logs |= zip(DATA_LOGS, (bout.motor, bout.sensors, bout.states, bout.muscles), strict=True)
    return logs if bout.plant is None else {**logs, PLANT_LOG: bout.plant}


def loaded(folder: Path) -> Bout:
    """Return a bout of one leg; one that grew or was changed is read anew. Raises AnalysisError."""
    return _load(folder, _sizes(folder))


def body(folder: Path) -> tuple[Bout, tuple[Bout, ...]]:
    """Return a bout in the same way, of several legs too, and again with the joints of each. Raises AnalysisError."""
    return _load_body(folder, _sizes(folder))


def _sizes(folder: Path) -> object:
    sizes = tuple(
        (found.st_size, found.st_mtime_ns)
        for name in (*DATA_LOGS, PLANT_LOG, MANIFEST_FILE)
        if (found := _stat(folder / name)) is not None
    )
    if odd := [name for name in (*DATA_LOGS, PLANT_LOG, EVENT_LOG, NOTES_FILE) if _endless(folder / name)]:
        raise AnalysisError(f"{folder}: {', '.join(odd)} is no file, but a pipe or a device, which may have no end")
    if (manifest := _stat(folder / MANIFEST_FILE)) is not None and manifest.st_size > MOST_MANIFEST_BYTES:
        raise AnalysisError(f"{folder}: its manifest has more than {MOST_MANIFEST_BYTES >> 20} MiB")
    if sum(size for size, _ in sizes) > MOST_LOG_BYTES:
        raise AnalysisError(f"{folder}: more than {MOST_LOG_BYTES >> 20} MiB of logs: use nuc stats, plot, export")
    return sizes


@lru_cache(_KEPT)
def _load(folder: Path, sizes: object) -> Bout:
    del sizes
    return load_bout(folder)


@lru_cache(_KEPT)
def _load_body(folder: Path, sizes: object) -> tuple[Bout, tuple[Bout, ...]]:
    try:
        bout = _load(folder, sizes)
    except BoutError:  # of several legs, if the same does not keep it from being read at all
        return load_body(folder)
    return bout, (bout,)


def _endless(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
