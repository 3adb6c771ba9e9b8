"""Which bouts there are below a folder (appendix 10.3, section 5.1.5), read from their manifests alone.

NeuRoMod left no manifest: of its directories the joint list names the configuration, and the first and last line of
the motor log tell the duration.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from pathlib import Path
from typing import Any, Literal, cast

from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.log_columns import OLD_JOINTLIST
from nuc_engine.recording.files import MANIFEST_FILE, MOTOR_LOG, SCRIPT_FILE
from sccils_schemas.model import JOINTS_FILE

MOST_MANIFEST_BYTES = 4 << 20
"""Nothing that the engine writes is as long."""

BoutFormat = Literal["nuc", "neuromod"]

_JOINTLISTS = (JOINTS_FILE, OLD_JOINTLIST)
_HEAD_BYTES, _TAIL_BYTES = 65_536, 4096
_LONGEST_S = 1e12
_NAME = re.compile(rb"<(jointlist|hdsoscript)\b[^>]*?\bname\s*=\s*[\"']([^\"']{1,200})[\"']")


@dataclass(frozen=True, slots=True)
class BoutEntry:
    """One data directory, as far as it tells without its logs being read; None and "" where it does not.

    `state` is the manifest's (running, complete, interrupted, fault, torn), "" for NeuRoMod's. `problem` says why
    nothing more is known.
    """

    folder: Path
    kind: BoutFormat
    configuration: str = ""
    script: str = ""
    duration_s: float | None = None
    state: str = ""
    seed: int | None = None
    clock: str = ""
    started: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()
    problem: str = ""


def list_bouts(root: Path | str, most: int | None = None) -> list[BoutEntry]:
    """Return the data directories that a folder is, or holds at any depth, by name; with `most` the newest of them.

    A directory whose manifest cannot be used is listed with its problem. Hidden folders, and links to folders, are
    not looked into. Raises BoutError when there is no such folder.
    """
    root = Path(root)
    if not root.is_dir():
        raise BoutError(f"{root}: no such directory, expected a data directory or a folder of them")
    folders = list(_walk(root))
    if most is not None and len(folders) > most:
        newest = set(nlargest(most, folders, key=_changed))
        folders = [folder for folder in folders if folder in newest]
    return [_entry(folder) for folder in folders]


def read_manifest(folder: Path) -> Any:
    """Return what the manifest of a data directory holds. Raises OSError, ValueError, RecursionError."""
    with (folder / MANIFEST_FILE).open("rb") as file:
        data = file.read(MOST_MANIFEST_BYTES + 1)
    if len(data) > MOST_MANIFEST_BYTES:
        raise ValueError(f"it has more than {MOST_MANIFEST_BYTES >> 20} MiB")
    return json.loads(data)


def _changed(folder: Path) -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def is_bout(folder: Path) -> bool:
    """Say whether a folder is a data directory: it has a manifest, or NeuRoMod's joint list and motor log."""
    return (folder / MANIFEST_FILE).is_file() or _is_neuromod(folder)


def _is_neuromod(folder: Path) -> bool:
    return (folder / MOTOR_LOG).is_file() and any((folder / name).is_file() for name in _JOINTLISTS)


def _walk(root: Path) -> Iterator[Path]:
    for place, folders, _ in os.walk(root):
        folder = Path(place)
        if is_bout(folder):
            folders.clear()
            yield folder
        folders[:] = sorted(name for name in folders if not name.startswith("."))


def _entry(folder: Path) -> BoutEntry:
    if not (folder / MANIFEST_FILE).is_file():
        return _old_entry(folder)
    try:
        manifest: Any = read_manifest(folder)
    except (OSError, ValueError, RecursionError) as error:
        return BoutEntry(folder, "nuc", problem=f"{MANIFEST_FILE}: cannot be read ({error})")
    if not isinstance(manifest, dict):
        return BoutEntry(folder, "nuc", problem=f"{MANIFEST_FILE}: holds no JSON object")
    found = cast(dict[str, Any], manifest)
    spec = _map(found.get("spec"))
    labels = {**_map(spec.get("labels")), **_map(found.get("labels"))}
    remark = labels.pop("note", None)
    return BoutEntry(
        folder,
        "nuc",
        configuration=_text(found.get("configuration")),
        script=_text(found.get("script")),
        duration_s=_duration(found),
        state=_text(found.get("state")),
        seed=_whole(spec.get("seed")),
        clock=_text(found.get("clock")),
        started=_text(found.get("started")),
        labels={_clean(key): _clean(str(value)) for key, value in labels.items()},
        notes=(*([] if remark is None else [_clean(str(remark))]), *_notes(found.get("notes"))),
    )


def _old_entry(folder: Path) -> BoutEntry:
    times = _ends(folder / MOTOR_LOG)
    joints = next(folder / name for name in _JOINTLISTS if (folder / name).is_file())
    return BoutEntry(
        folder,
        "neuromod",
        configuration=_name_in(joints),
        script=(_name_in(folder / SCRIPT_FILE) or SCRIPT_FILE) if (folder / SCRIPT_FILE).is_file() else "",
        duration_s=None if times is None else (times[1] - times[0]) / 1e9,
        problem="" if times is not None else f"{MOTOR_LOG}: no whole record",
    )


def _duration(manifest: Mapping[str, Any]) -> float | None:
    """Return how long the bout was: on simulated time, or on the engine's; a bout that still runs does not tell."""
    for key in ("simulated_s", "engine_time_s"):
        value = manifest.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LONGEST_S:
            return float(value)
    return None


def _map(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return _clean(value) if isinstance(value, str) else ""


def _clean(text: str) -> str:
    """Return a text without halves of characters, which JSON can name and neither files nor messages can hold."""
    return text.encode("utf-8", "replace").decode()


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63 else None


def _notes(value: Any) -> list[str]:
    """Return the texts of the daemon's notes, which come with time and author; its marks and labels stand apart."""
    if not isinstance(value, list):
        return []
    notes = [_map(note) for note in cast(list[Any], value)]
    return [_text(note.get("text")) for note in notes if note.get("what") == "note"]


def _name_in(path: Path) -> str:
    try:
        with path.open("rb") as file:
            found = _NAME.search(file.read(_HEAD_BYTES))
    except OSError:
        return ""
    return "" if found is None else found[2].decode("utf-8", "replace")


def _ends(path: Path) -> tuple[int, int] | None:
    """Return the times of a log's first and last whole line, None where there are none."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            tail = file.read()
    except OSError:
        return None
    last = tail[: tail.rfind(b"\n") + 1].splitlines()[-1:]
    try:
        return int(head.split(None, 1)[0]), int(last[0].split(None, 1)[0])
    except (IndexError, ValueError):
        return None
