"""One episode of a RunConfig (run.toml) into a data directory, and again from what stands in it.

    recorded = record_episode(EpisodeSpec("flight_helix", Path("data/helix")))

The directory has the manifest, sums and column descriptions of any other bout. `spec` in the manifest holds the
resolved document: what was replaced and drawn stands in its place.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from drivers.units import NS_PER_S
from nuc_engine.bout.replay import ReplayRefused, ReplayReport
from nuc_engine.control.faults import FAULTS
from nuc_engine.episode.document import RunConfig, RunConfigError, read_run
from nuc_engine.episode.loop import STARVED, EpisodeEnd, EpisodeStarved, run_steps
from nuc_engine.episode.system import Numbers
from nuc_engine.machine.locations import RUN_FILE, find_configuration
from nuc_engine.recording import manifest
from nuc_engine.recording.compare import FileDifference
from nuc_engine.recording.directory import make_directory
from nuc_engine.recording.files import COLUMNS_FILE, EPISODE_LOG, WEIGHTS_FILE
from nuc_engine.recording.manifest import Manifest, versions, write_manifest
from nuc_engine.recording.rows import RowLog, describe_rows, read_rows
from nuc_engine.surrogate.pilot import SYSTEMS, weights_apart, weights_back

MOST_BYTES = 1 << 18
VIRTUAL = "virtual"


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """Which episode: a configuration, by folder or name, and values that replace those of its run.toml.

    `changes` has them by dotted key, `seed` and `timing.duration_s` among them. `out` must not hold data unless
    `overwrite`. Where there is no folder, `text` is the run.toml, and `config` only what it is called.
    """

    config: str
    out: Path
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    overwrite: bool = False
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    text: bytes | None = None


class EpisodeWatch(Protocol):
    """Somebody who sees every step (`episode.loop.Watch`), and what they counted."""

    def __call__(self, k: int, state: Numbers, reference: Numbers, control: Numbers) -> None:
        """See a step. Raises KeyboardInterrupt where the episode is to end."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """What the manifest's counts are to hold too."""
        ...


@dataclass(frozen=True, slots=True)
class RecordedEpisode:
    """What became of an episode, and where its data are."""

    folder: Path
    run: RunConfig
    end: EpisodeEnd


def read_document(folder: Path) -> dict[str, Any]:
    """Return the run.toml of a folder as it stands there. Raises RunConfigError."""
    return document_of(run_text(folder / RUN_FILE))


def run_text(path: Path) -> bytes:
    """Return the bytes of a run.toml, of one that is too long its beginning. Raises RunConfigError."""
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise RunConfigError([f"cannot be read ({error.strerror}); expected a RunConfig"]) from error


def document_of(text: bytes) -> dict[str, Any]:
    """Return the content of a run.toml. Raises RunConfigError."""
    if len(text) > MOST_BYTES:
        raise RunConfigError([f"more than {MOST_BYTES:,} bytes; expected a RunConfig"])
    try:
        return tomllib.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise RunConfigError([f"{error}; expected TOML"]) from error


def load_run(folder: Path, changes: Mapping[str, Any] | None = None) -> RunConfig:
    """Return the episode of a folder's run.toml. Raises RunConfigError, every line of which names the file."""
    return _read(str(folder / RUN_FILE), lambda: run_text(folder / RUN_FILE), changes)


def _read(where: str, content: Callable[[], bytes], changes: Mapping[str, Any] | None) -> RunConfig:
    try:
        return read_run(document_of(content()), SYSTEMS, changes)
    except RunConfigError as error:
        raise RunConfigError([f"{where}: {problem}" for problem in error.problems]) from error


def open_episode(spec: EpisodeSpec) -> tuple[str, bytes, RunConfig]:
    """Return what an episode is called, its run.toml, and what that says. Raises RunConfigError or NotFound."""
    if spec.text is not None:
        given = spec.text
        return spec.config, given, _read(f"{spec.config}/{RUN_FILE}", lambda: given, spec.changes)
    source = find_configuration(spec.config)
    run = load_run(source, spec.changes)
    return source.resolve().name, (source / RUN_FILE).read_bytes(), run


def record_episode(spec: EpisodeSpec, watch: EpisodeWatch | None = None) -> RecordedEpisode:
    """Run one episode, and leave a complete data directory behind; `watch` sees every step.

    Raises RunConfigError, NotFound or DirectoryInUse before anything is written. An episode that stops early keeps what
    it has, and its manifest says why it stopped.
    """
    name, text, run = open_episode(spec)
    make_directory(spec.out, overwrite=spec.overwrite)
    told, weights = spec_record(run, spec.changes)
    inputs = {RUN_FILE: text} | ({WEIGHTS_FILE: weights} if weights else {})
    columns = json.dumps(describe_rows(run.columns), indent=2) + "\n"
    record = Manifest(
        configuration=name,
        clock=VIRTUAL,
        spec={**told, "labels": dict(spec.labels)},
        inputs={file: hashlib.sha256(content).hexdigest() for file, content in inputs.items()},
        versions=versions(),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    write_manifest(spec.out, record)
    for file, content in {**inputs, COLUMNS_FILE: columns.encode()}.items():
        (spec.out / file).write_bytes(content)
    end, rows = _run(run, spec.out, watch)
    counts = {"steps": end.steps} if end.limited is None else {"steps": end.steps, run.columns[-1]: end.limited}
    counts |= {} if run.every == 1 else {"rows_left_out": end.steps + 1 - rows}
    counts |= {} if watch is None else watch.counts
    ended = record.ended(
        spec.out,
        end.state,
        end.reason,
        stopped=datetime.now(UTC),
        engine_time_s=end.steps * run.dt_s,
        counts=counts,
        records={EPISODE_LOG: rows},
        events={},
    )
    write_manifest(spec.out, ended)
    return RecordedEpisode(spec.out, run, end)


def _run(run: RunConfig, folder: Path, watch: EpisodeWatch | None) -> tuple[EpisodeEnd, int]:
    """Return how an episode ended and how many rows its log has."""
    log = RowLog(folder)
    try:
        with log:
            end = run_steps(run, log, watch)
    except KeyboardInterrupt:
        end = EpisodeEnd("interrupted", "stopped by the operator", _steps(log, run), run.initial, None)
    except EpisodeStarved as starved:
        end = EpisodeEnd("fault", f"{STARVED}: {starved}", _steps(log, run), run.initial, None)
    except OSError as error:
        reason = f"logging_failed: {error} ({FAULTS['logging_failed'].hint})"
        end = EpisodeEnd("fault", reason, _steps(log, run), run.initial, None)
    return end, log.rows


def _steps(log: RowLog, run: RunConfig) -> int:
    """Return how many steps were made at least, by the rows that were logged."""
    return max(log.rows - 1, 0) * run.every


def spec_record(run: RunConfig, changes: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return what decided an episode, as it stands in its manifest, and the weights that this names by their sum.

    The sums are those of the documents with the weights in them.
    """
    resolved, weights = weights_apart(run.resolved, WEIGHTS_FILE)
    replaced, _ = weights_apart(changes, WEIGHTS_FILE)
    told = {
        "system": run.resolved["system"],
        "seed": run.seed,
        "duration_s": run.duration_s,
        "changes": replaced,
        "drawn": dict(run.drawn),
        "resolved": resolved,
        "sha256": run.sums(),
    }
    return told, weights


def whole_document(folder: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document of an episode's manifest with the weights that it names. Raises OSError."""
    return weights_back(document, lambda name: (folder / Path(name).name).read_bytes())


def replay_episode(folder: Path) -> ReplayReport:
    """Run the episode of a data directory again and compare every file of either, as `replay_bout` does.

    One that was interrupted, or killed, is compared as far as it went. Raises ReplayRefused for a directory that is no
    repeatable episode.
    """
    try:
        record = manifest.read_manifest(folder)
    except manifest.ManifestError as error:
        raise ReplayRefused(str(error)) from error
    changes = record.spec.get("changes")
    if not isinstance(changes, dict):
        raise ReplayRefused(f"{folder}: its manifest does not say what of {RUN_FILE} was replaced")
    try:
        changes = whole_document(folder, cast(dict[str, Any], changes))
    except OSError as error:
        raise ReplayRefused(f"{folder}: the weights cannot be read ({error.strerror})") from error
    changed = tuple(
        sorted(name for name, sum_ in {**record.inputs, **record.files}.items() if _sum(folder / name) != sum_)
    )
    now = versions()
    told = {name: (old, now.get(name, "")) for name, old in record.versions.items() if now.get(name, "") != old}
    with tempfile.TemporaryDirectory(prefix="nuc-replay-") as scratch:
        out = Path(scratch) / "episode"
        try:
            record_episode(EpisodeSpec(str(folder), out, changes))
        except RunConfigError as error:
            if {RUN_FILE, WEIGHTS_FILE} & set(changed):
                return ReplayReport(changed, told, None, ())
            raise ReplayRefused(str(error)) from error
        difference = compare_rows(folder, out, whole=_came_to_its_end(record))
    return ReplayReport(changed, told, difference, (EPISODE_LOG,))


def _came_to_its_end(record: Manifest) -> bool:
    starved = record.reason.startswith(STARVED)
    return record.state in ("complete", "fault") and not record.torn and not starved


def compare_rows(folder: Path, other: Path, *, whole: bool = True) -> FileDifference | None:
    """Return where the log of an episode first differs from another one, None where no byte does.

    Without `whole`, the first one may end before the other. Raises ReplayRefused where one cannot be read.
    """
    try:
        (names, then), (names_now, now) = read_rows(folder), read_rows(other)
    except ValueError as error:
        raise ReplayRefused(str(error)) from error
    if names != names_now:
        return FileDifference(EPISODE_LOG, 0, None, "columns", ", ".join(names), ", ".join(names_now))
    both = min(len(then), len(now))
    # As bits: -0.0 is not 0.0, and what is no number is itself.
    unequal = np.argwhere(then[:both].view(np.uint64) != now[:both].view(np.uint64))
    if len(unequal):
        row, column = map(int, unequal[0])
        values = (float(rows[row, column]).hex() for rows in (then, now))
        return FileDifference(EPISODE_LOG, row + 1, round(float(then[row, 0]) * NS_PER_S), names[column], *values)
    if len(then) > both or (whole and len(now) > both):
        return FileDifference(EPISODE_LOG, both + 1, None, "length", f"{len(then)} rows", f"{len(now)} rows")
    return None


def _sum(path: Path) -> str:
    return manifest.sha256(path) if path.is_file() else "missing"
