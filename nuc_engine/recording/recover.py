"""Mending a data directory whose bout was cut off: by a power cut, or a daemon that was killed as a whole.

Nothing is invented: torn last lines and records are cut off (and kept in `recovered/`), the XML logs get their end, and
the manifest says that the bout is torn, with counts and sums of what is there. What is whole is not touched.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgpack

from nuc_engine.recording import inputs, manifest
from nuc_engine.recording.files import (
    DATA_LOGS,
    DEBUG_LOG,
    EVENT_LOG,
    HDSO_LOG,
    INPUT_RECORD,
    KERNEL_LOG,
    MANIFEST_FILE,
    MOTOR_LOG,
    NOTES_FILE,
    PLANT_LOG,
    SCRIPT_LOG,
    SENSED_LOG,
)
from nuc_engine.recording.lock import FolderLock, FolderLocked
from nuc_engine.recording.logs import line_ns
from nuc_engine.recording.reach import find_reach

KEPT = "recovered"
"""Folder within the data directory for what was cut off."""

TEXT_LOGS = (*DATA_LOGS, EVENT_LOG, DEBUG_LOG, PLANT_LOG, SENSED_LOG, KERNEL_LOG)
SCRIPT_LOGS = (SCRIPT_LOG, HDSO_LOG)
_END = b"</hdsoscript>\n"
_BY_HAND = rb"(?:kick|ground|height|load|disconnect|reconnect) [^\0]*/>"
_COMMENT = rb"!-- (?:refused|replaced by a later entry|answered|left out): [^\0]* -->"
_ENTRY = re.compile(rb"^  <(?:hdsoMod [^\0]*</hdsoMod>|" + _BY_HAND + rb"|" + _COMMENT + rb")$")
_HEADS = (re.compile(rb"^<\?xml .*\?>$"), re.compile(rb"^<!DOCTYPE .*>$"), re.compile(rb"^<hdsoscript .*>$"))
_MENDED = ("running", "torn")


class RecoverRefused(Exception):
    """A directory that cannot, or need not, be mended; the message says why."""


@dataclass(frozen=True, slots=True)
class Mend:
    """One thing that is to be done to a file: bytes to cut off its end, then bytes to put there."""

    file: str
    cut: int
    add: bytes = b""


@dataclass(frozen=True, slots=True)
class RecoverReport:
    """What was, or with a dry run would be, done. `state` is the manifest's afterwards; empty `mends`: nothing."""

    folder: Path
    state: str
    mends: tuple[Mend, ...]
    manifest_rewritten: bool

    @property
    def changed(self) -> bool:
        """Whether there was anything to do."""
        return bool(self.mends) or self.manifest_rewritten


LineCallback = Callable[[str], None]
"""Told of each file that is being looked at."""


def recover(folder: Path, *, dry_run: bool = False, told: LineCallback | None = None) -> RecoverReport:
    """Mend a data directory; one that is whole is left as it is, so that it may be done again.

    Raises RecoverRefused when it holds no bout, or a bout that is being written.
    """
    with _lock(folder):
        try:
            record = manifest.read_record(folder)
        except manifest.ManifestError as error:
            raise RecoverRefused(str(error)) from error
        state = str(record.get("state"))
        if state not in _MENDED and not str(record.get("reason")).startswith("logging_failed:"):
            return RecoverReport(folder, state, (), False)
        mends = tuple(_find_mends(folder, told))
        ended = _ending(record)
        if state == "torn" and not mends:
            return RecoverReport(folder, state, (), False)
        if not dry_run:
            for mend in mends:
                _apply(folder, mend)
            manifest.write_record(folder, ended | _found(folder))
        return RecoverReport(folder, str(ended["state"]), mends, True)


def _lock(folder: Path) -> FolderLock:
    if not folder.is_dir():
        raise RecoverRefused(f"{folder}: is no data directory")
    try:
        return FolderLock(folder)
    except FolderLocked as error:
        raise RecoverRefused(f"{folder}: is being written to; stop the daemon first") from error


def _find_mends(folder: Path, told: LineCallback | None) -> list[Mend]:
    found: list[Mend] = []
    for name, whole in {**_FINDERS, **_mcap_finders(folder)}.items():
        path = folder / name
        if not path.is_file():
            continue
        if told is not None:
            told(name)
        size, add = whole(path)
        if size < path.stat().st_size or add:
            found.append(Mend(name, path.stat().st_size - size, add))
    return found


def _mcap_finders(folder: Path) -> dict[str, Callable[[Path], tuple[int, bytes]]]:
    """Return how the MCAP files are mended; where nothing is installed that reads them, they stay as they are."""
    if find_spec("mcap") is None:
        return {}
    from nuc_engine.recording import mcap

    return dict.fromkeys(mcap.files_in(folder), mcap.mend)


def _whole_lines(path: Path) -> tuple[int, bytes]:
    return _last(path.read_bytes(), _is_log_line), b""


def _whole_notes(path: Path) -> tuple[int, bytes]:
    return _last(path.read_bytes(), _is_note), b""


def _last(data: bytes, sound: Callable[[bytes], bool]) -> int:
    """Return the bytes up to the end of the last line that is whole and sound.

    A power cut can leave zeros at the end, where a file's new size was on disk before its bytes.
    """
    end = data.rfind(b"\n") + 1
    while end:
        begin = data.rfind(b"\n", 0, end - 1) + 1
        if sound(data[begin : end - 1]):
            break
        end = begin
    return end


def _is_log_line(line: bytes) -> bool:
    return b"\0" not in line and line_ns(line.decode("utf-8", "replace")) is not None


def _is_note(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _whole_records(path: Path) -> tuple[int, bytes]:
    """Return the bytes of the input record's leading records that are whole and of a known kind."""
    whole, motors = 0, None
    with path.open("rb") as file:
        unpacker = msgpack.Unpacker(file, use_list=True)
        try:
            for record in unpacker:
                if motors is None:
                    motors = inputs.motors_of(record)
                    if motors is None:
                        break
                elif not inputs.is_record(record, motors):
                    break
                whole = unpacker.tell()
        except (msgpack.UnpackException, ValueError):
            pass
    return whole, b""


def _whole_entries(path: Path) -> tuple[int, bytes]:
    """Return the bytes of an hdsoscript up to its last whole entry, and the end it lacks."""
    data = path.read_bytes()
    if data.endswith(b"\n" + _END):
        return len(data), b""
    size = _last(data, lambda line: bool(_ENTRY.match(line)))
    heads = data.split(b"\n", len(_HEADS))
    if len(heads) <= len(_HEADS) or not all(p.match(line) for p, line in zip(_HEADS, heads, strict=False)):
        # Without its head there is no document: an empty file says so more plainly than half a one.
        return 0, b""
    return max(size, sum(len(line) + 1 for line in heads[: len(_HEADS)])), _END


_FINDERS: Mapping[str, Callable[[Path], tuple[int, bytes]]] = MappingProxyType(
    {
        **dict.fromkeys(TEXT_LOGS, _whole_lines),
        NOTES_FILE: _whole_notes,
        INPUT_RECORD: _whole_records,
        **dict.fromkeys(SCRIPT_LOGS, _whole_entries),
    }
)


def _apply(folder: Path, mend: Mend) -> None:
    path = folder / mend.file
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END) - mend.cut
        if mend.cut:
            file.seek(size)
            _keep(folder, mend.file, file.read())
            file.truncate(size)
        file.seek(size)
        file.write(mend.add)
        file.flush()
        os.fsync(file.fileno())


def _keep(folder: Path, name: str, cut: bytes) -> None:
    place = folder / KEPT
    place.mkdir(exist_ok=True)
    number = 1
    while (place / f"{name}.{number}").exists():
        number += 1
    (place / f"{name}.{number}").write_bytes(cut)


def _ending(record: Mapping[str, Any]) -> dict[str, Any]:
    if record.get("state") != "running":
        return dict(record)
    return {**record, "state": "torn", "reason": "cut off: the machine or the daemon stopped within the bout"}


def _found(folder: Path) -> dict[str, Any]:
    """Return counts and sums of what is there."""
    records: dict[str, int] = {}
    for name in (*TEXT_LOGS, NOTES_FILE):
        if (folder / name).is_file():
            records[name] = (folder / name).read_bytes().count(b"\n")
    for name in SCRIPT_LOGS:
        if (folder / name).is_file():
            lines = (folder / name).read_bytes().split(b"\n")
            records[name] = sum(bool(_ENTRY.match(line)) for line in lines)
    if (folder / INPUT_RECORD).is_file():
        records[INPUT_RECORD] = _count(folder / INPUT_RECORD)
    reach = find_reach(folder)
    counts = {"cycles": records.get(MOTOR_LOG, 0), "records": dict(sorted(records.items()))}
    return {
        "counts": counts,
        "engine_time_s": 0.0 if reach is None else reach.last_ns / 1e9,
        "files": manifest.hash_files(folder),
    }


def list_bouts(folder: Path) -> list[Path]:
    """Return the data directories that a folder is, or holds."""
    if (folder / MANIFEST_FILE).exists() or not folder.is_dir():
        return [folder]
    found = sorted(path.parent for path in folder.glob(f"*/{MANIFEST_FILE}"))
    return found or [folder]


def _count(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in msgpack.Unpacker(file))
