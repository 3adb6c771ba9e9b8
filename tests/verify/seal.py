"""A manifest that was changed, sealed again: whoever forges a bout forges its witness too."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

from nuc_engine.recording.manifest import Manifest, hash_files, read_record, witness_of

NAMES = {field.name for field in fields(Manifest)}


def sealed(folder: Path) -> None:
    """Let the witness in a manifest be that of what the manifest says now; a bout that did not end has none."""
    said = read_record(folder)
    said.pop("witness", None)
    if {"files", "counts"} <= said.keys() and said["state"] != "running":
        said["witness"] = witness_of(Manifest(**{name: said[name] for name in said.keys() & NAMES}))
    (folder / "manifest.json").write_text(json.dumps(said))


def resummed(folder: Path) -> None:
    """Let all sums in a manifest be those of the files as they are now, and seal it again."""
    said, sums = read_record(folder), hash_files(folder)
    said |= {"files": sums, "inputs": {name: sums[name] for name in said["inputs"]}}
    (folder / "manifest.json").write_text(json.dumps(said))
    sealed(folder)
