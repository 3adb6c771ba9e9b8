"""The files of a data directory: what the manifest says of them, before anything in them is looked at."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nuc_engine.verify.logs import DATA, SCRIPTS, Report
from nuc_engine.verify.record import RECORD
from nuc_engine.verify.servos import Unverifiable

MANIFEST, COLUMNS = "manifest.json", "columns.json"
ALWAYS = (*DATA, *SCRIPTS, "Infolog.txt", "Debuglog.txt", RECORD, COLUMNS)
"""What every bout leaves, however it ended."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return what a manifest says. Raises Unverifiable where it is none."""
    path = folder / MANIFEST
    try:
        manifest: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise Unverifiable(f"{path}: cannot be read ({error}); expected the data directory of a bout") from error
    kinds = {
        "files": dict,
        "counts": dict,
        "losses": dict,
        "spec": dict,
        "inputs": dict,
        "families": dict,
        "clock": str,
        "state": str,
        "configuration": str,
    }
    usual: dict[str, Any] = {"files": {}, "counts": {}, "losses": {}}
    if not isinstance(manifest, dict) or not all(
        isinstance({**usual, **manifest}.get(name), kind) for name, kind in kinds.items()
    ):
        raise Unverifiable(f"{path}: is not the manifest of a bout")
    return {**usual, **manifest}


def changed_files(folder: Path, manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the files that are not what the manifest has sums of."""
    sums: dict[str, str] = {**manifest["inputs"], **manifest["files"]}
    return tuple(sorted(name for name, expected in sums.items() if _sum(folder / Path(name).name) != expected))


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"


def compare_files(folder: Path, manifest: Mapping[str, Any], report: Report, *, torn: bool) -> None:
    """Note which files are missing that a bout leaves, or that were counted, and which have no sum."""
    counted: Mapping[str, Any] = manifest["counts"].get("records", {})
    for name in sorted({*ALWAYS, *counted}):
        if not (folder / Path(name).name).is_file():
            report.differ(name, 0, None, "file", f"{counted[name]} records" if name in counted else "a file", "none")
        # A bout that was killed has no sums at all, and one that could not write any more perhaps none.
        if name not in manifest["files"] and (manifest["files"] or not torn):
            report.differ(MANIFEST, 0, None, f"files.{name}", "its sum", "none")
    compare_witness(manifest, DATA, report)


def lines_in(path: Path) -> int:
    """Return how many whole lines a file has."""
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def compare_witness(manifest: Mapping[str, Any], logs: Sequence[str], report: Report) -> None:
    """Note what the witness of a bout says otherwise than the sums of its files do; older bouts have none."""
    witness: Mapping[str, Any] = manifest.get("witness", {})
    if not witness:
        return
    files: Mapping[str, str] = manifest["files"]
    counted = manifest["counts"].get("records", {})
    window = manifest.get("window_s") or [0.0]
    computed: dict[str, Any] = {
        "frames": sum(counted.get(name, 0) for name in logs if name in files),
        "frames_sha256": _joined({name: files[name] for name in logs if name in files}),
        "output_sha256": _joined({name: sum_ for name, sum_ in files.items() if name != "Notes.jsonl"}),
        "begin_ms": round(1000 * (window[0] or 0.0)),
        "end_ms": round(1000 * (manifest.get("engine_time_s") or 0.0)),
    }
    for name, value in computed.items():
        if witness.get(name) != value:
            report.differ(MANIFEST, 0, None, f"witness.{name}", value, witness.get(name))


def _joined(sums: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(sums, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
