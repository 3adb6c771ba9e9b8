"""manifest.json: what makes a bout a witness of itself.

It exists from the start (`state: running`) and is replaced atomically. Wall-clock values stand here and nowhere else
in the data directory.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from nuc_engine.machine.core import core, core_file
from nuc_engine.machine.locations import CHECKOUT, PLANT_SPEC_FILE
from nuc_engine.recording.files import DATA_LOGS, EPISODE_LOG, MANIFEST_DRAFT, MANIFEST_FILE, NOTES_FILE, SCRIPT_FILE

FORMAT = 1
STATES = ("running", "complete", "interrupted", "fault", "torn")

LIBRARIES = ("numpy", "mujoco", "msgpack")
"""Libraries whose version can change a bout's bytes."""


class ManifestError(Exception):
    """A manifest that cannot be used; the message names it and says what was expected."""


def _map() -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a data directory says of its bout: on the virtual clock, or beside a leg (`clock` "real").

    `files` and `inputs` map a name to its sha256; `files` is empty while the bout runs, and after it was killed. `spec`
    has the keys and types of the bout's own specification. `families` has the family of the servos of each bus by its
    name; empty in older ones, which knew one family. `counts` are those of `nuc_engine.control.dispatcher`, and records
    by file and events by name. `extensions` is what was added to the engine and is used: distribution and version by
    kind and name. `witness` sums it up (`witness_of`) for a bout that has ended. What begins with `bout` is said of a
    daemon's bout alone.
    """

    state: str = "running"
    reason: str = ""
    configuration: str
    script: str | None = None
    clock: str
    bus: str | Mapping[str, str] = ""
    families: Mapping[str, str] = field(default_factory=_map)
    spec: Mapping[str, Any]
    inputs: Mapping[str, str]
    versions: Mapping[str, str]
    extensions: Mapping[str, str] = field(default_factory=_map)
    started: str = ""
    start_pose_deg: Mapping[str, float] | None = None
    losses: Mapping[str, Any] = field(default_factory=_map)
    stopped: str = ""
    engine_time_s: float | None = None
    counts: Mapping[str, Any] = field(default_factory=_map)
    files: Mapping[str, str] = field(default_factory=_map)
    witness: Mapping[str, Any] = field(default_factory=_map)
    bout: int | None = None
    window_s: Sequence[float | None] = ()
    script_writes: int | None = None
    written_before: int = 0
    options: Mapping[str, Any] = field(default_factory=_map)
    labels: Mapping[str, str] = field(default_factory=_map)
    notes: Sequence[Mapping[str, Any]] = ()

    @property
    def torn(self) -> bool:
        """Whether the logs may end anywhere: the bout was killed, or could not write any more."""
        return self.state in ("running", "torn") or self.reason.startswith("logging_failed:")

    def ended(
        self,
        folder: Path,
        state: str,
        reason: str,
        *,
        stopped: datetime,
        engine_time_s: float,
        counts: Mapping[str, Any],
        records: Mapping[str, int],
        events: Mapping[str, int],
    ) -> Manifest:
        """Return it as it is once the bout has ended and its files are whole."""
        told = {"records": dict(sorted(records.items())), "events": dict(sorted(events.items()))}
        ended = replace(
            self,
            state=state,
            reason=reason,
            stopped=stopped.isoformat(timespec="seconds"),
            engine_time_s=engine_time_s,
            counts={**counts, **told},
            files=hash_files(folder),
        )
        return replace(ended, witness=witness_of(ended))

    def record(self) -> dict[str, Any]:
        """Return it as it stands in the file."""
        names = [item.name for item in fields(self)]
        bout = names.index("bout")
        left_out = {*(() if self.stopped else _AT_THE_END), *(names[bout:] if self.bout is None else ())}
        if not self.extensions:
            left_out.add("extensions")
        return {"format": FORMAT, **{name: getattr(self, name) for name in names if name not in left_out}}


_AT_THE_END = ("stopped", "engine_time_s", "counts", "files", "witness")


def witness_of(record: Manifest) -> dict[str, Any]:
    """Return what a bout was and what came of it, in one table, for legs and flights alike.

    `id` is the same for each repetition of a bout: it is made of what decides it. Sums of several files are those of
    their sums, by name. `frames` are the rows of the data logs, which are not compressed; `output_sha256` is of all
    files but notes. `random` names what draws, where something has a seed. Build and platform stand in `versions`.
    """
    sums: Mapping[str, str] = record.spec.get("sha256", {})
    logs = [name for name in (EPISODE_LOG, *DATA_LOGS) if name in record.files]
    parts = {name: sum_ for name, sum_ in record.inputs.items() if name not in (PLANT_SPEC_FILE, SCRIPT_FILE)}
    decides = {key: value for key, value in record.spec.items() if key not in ("labels", "out", "overwrite")}
    configuration = sums.get("resolved") or _joined({**record.inputs, "spec": _sum_of(decides)})
    seed = record.spec.get("seed")
    return {
        "id": configuration[:16] if record.bout is None else f"{record.bout}",
        "seed": seed,
        "controller_sha256": sums.get("controller") or _joined(parts),
        "body_sha256": sums.get("dynamics") or record.inputs.get(PLANT_SPEC_FILE, ""),
        "configuration_sha256": configuration,
        "begin_ms": round(1000 * (record.window_s[0] or 0.0)) if record.window_s else 0,
        "end_ms": round(1000 * (record.engine_time_s or 0.0)),
        "frames": sum(record.counts["records"].get(name, 0) for name in logs),
        "frames_sha256": _joined({name: record.files[name] for name in logs}),
        "output_sha256": _joined({name: sum_ for name, sum_ in record.files.items() if name != NOTES_FILE}),
        "random": None if seed is None else "PCG64, SeedSequence",
    }


def _joined(sums: Mapping[str, str]) -> str:
    return _sum_of(dict(sorted(sums.items())))


def _sum_of(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def read_record(folder: Path) -> dict[str, Any]:
    """Return all that stands in a manifest. Raises ManifestError when it is missing, torn or of another format."""
    path = folder / MANIFEST_FILE
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ManifestError(
            f"{folder}: has no {MANIFEST_FILE}; expected a data directory of `nuc run` or `nuc serve`"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ManifestError(f"{path}: cannot be read ({error})") from error
    if not isinstance(record, dict) or cast(dict[str, Any], record).get("format") != FORMAT:
        raise ManifestError(f"{path}: is not a manifest of format {FORMAT}")
    return cast(dict[str, Any], record)


def read_manifest(folder: Path) -> Manifest:
    """Return what a repetition needs of a manifest, checked: texts are texts, and files are names within the directory.

    Raises ManifestError as `read_record` does, and for one that is not of this form.
    """
    found: dict[str, Any] = {"files": {}, "reason": "", "families": {}, "extensions": {}, **read_record(folder)}
    for key, (fits, expected) in _KEYS.items():
        if key not in found:
            raise ManifestError(f"{folder / MANIFEST_FILE}: lacks {key}")
        if not fits(found[key]):
            raise ManifestError(f"{folder / MANIFEST_FILE}: {key} is {str(found[key])[:80]!r}; expected {expected}")
    return Manifest(**{key: found[key] for key in _KEYS})


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_state(value: Any) -> bool:
    return isinstance(value, str) and value in STATES


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in cast(dict[str, Any], value).values())


def _is_sums(value: Any) -> bool:
    # A name that leads out of the directory would have its file read, and shown where it differs.
    return _is_texts(value) and all(name not in ("", "..") and name == Path(name).name for name in value)


_TEXT = (_is_text, "a text")
_SUMS = (_is_sums, "sums of files by their names")
_KEYS: Mapping[str, tuple[Callable[[Any], bool], str]] = MappingProxyType(
    {
        "state": (_is_state, f"one of {', '.join(STATES)}"),
        "reason": _TEXT,
        "clock": _TEXT,
        "configuration": _TEXT,
        "spec": (_is_map, "an object"),
        "inputs": _SUMS,
        "files": _SUMS,
        "versions": (_is_texts, "an object of texts"),
        "families": (_is_texts, "an object of texts"),
        "extensions": (_is_texts, "an object of texts"),
    }
)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace manifest.json, as `write_record` does."""
    write_record(folder, manifest.record())


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Replace manifest.json in one step: a reader finds the old one or the new one, never half of one.

    Where there is no room for a second one, the old one is overwritten with what matters most. Raises OSError when
    even that fails.
    """
    draft = folder / MANIFEST_DRAFT
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            json.dump(record, file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / MANIFEST_FILE)
    except OSError:
        draft.unlink(missing_ok=True)
        short = {key: value for key, value in record.items() if key not in ("files", "counts")}
        with (folder / MANIFEST_FILE).open("r+", encoding="utf-8", newline="\n") as file:
            # Shorter than what stands there, so that it needs no room on a full disk.
            json.dump(short, file, separators=(",", ":"))
            file.truncate()


def versions() -> dict[str, str]:
    """Return what was used: engine, commit where it runs from a checkout, core, Python, platform, libraries.

    Of a compiled core also the sha256, since it is made by whatever compiler there was.
    """
    installed = _installed()
    return {
        "engine": installed["nuc-engine"],
        "commit": _commit(),
        "core": core().partition(" (")[0],
        **_core_sum(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        **{name: installed[name] for name in LIBRARIES},
    }


def sha256(path: Path) -> str:
    """Return a file's sha256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_files(folder: Path) -> dict[str, str]:
    """Return name -> sha256 of every file in a data directory, figures and the manifest itself apart."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix != ".png")
    return {path.name: sha256(path) for path in files if not path.name.startswith(MANIFEST_FILE)}


@functools.cache
def _installed() -> dict[str, str]:
    """Return the versions of the engine and its libraries, read once: their metadata take a fifth of a short bout."""
    found: dict[str, str] = {}
    for name in ("nuc-engine", *LIBRARIES):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


@functools.cache
def _core_sum() -> dict[str, str]:
    """Sum up a compiled core, once: what was loaded does not change with what is compiled later."""
    file = core_file()
    return {} if file is None else {"core_sha256": sha256(file)}


@functools.cache
def _commit() -> str:
    """Return the checkout's commit; asked once, for what was loaded does not change with what is checked out later."""
    if not (CHECKOUT / ".git").exists():
        return "not a checkout"
    try:
        commit = _git("rev-parse", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return commit + (" with changes" if changed else "")


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(CHECKOUT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
