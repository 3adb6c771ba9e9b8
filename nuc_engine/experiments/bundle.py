"""One archive of all that verdicts rest on, which another machine can check offline.

It holds the configurations, plants and scripts of the verdicts, the verdicts with every seed, the criteria (the
catalogue's data), the versions of what ran, a README and the sha256 of each file. `check_bundle` compares the sums,
holds each verdict against its own repetitions and the documents it says it was judged with, and runs repetitions again
with the documents of the archive: they have to come out as its verdicts say. What no verdict rests on is not unpacked.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from pathlib import Path, PurePosixPath

from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.catalogue.load import chapter_files
from nuc_engine.experiments.protocol import BoutPlan, Experiment, TableRow, Trial
from nuc_engine.experiments.record import VERDICT_FILE, RecordError, read_verdict, row_record, trial_record
from nuc_engine.experiments.sources import file_names, pointer_paths, source_paths
from nuc_engine.experiments.trials import run_trial
from nuc_engine.experiments.verdict import EMULATED, Spread, Verdict, judge_row, standing

ENDING = ".zip"
SUMS, README, VERSIONS = "SHA256SUMS", "README.md", "versions.json"
VERDICTS, CRITERIA = "docs/experiments", "criteria"

_MOST_BYTES = 256 << 20
_ROUNDED = 1e-5
_COUNTED = ("word", "as_seen", "failed_starts", "too_few", "aborted", "kicks", "start_kicks", "outcomes")
_CONTROL_COUNTED = ("as_seen", "failed_starts", "too_few", "aborted")
"""What of a row's verdict, and of its control's, follows from the repetitions without a rounding."""
_TIME = (1980, 1, 1, 0, 0, 0)
"""Of every file in the archive, so that the same verdicts give the same bytes."""

_TEXT = """\
# A bundle of verdicts

- `docs/experiments/NAME/verdict.json`: the verdicts, with every repetition and its seed
- `configs`, `scripts`: what was run
- `criteria`: by what it was judged
- `versions.json`: with what
- `SHA256SUMS`: the sums of all of these

    nuc verify BUNDLE.zip

compares the sums and runs a repetition of each row again (`--repeat N`: so many), without a network.
"""


class BundleError(Exception):
    """An archive that cannot be made or used; the message says what was expected."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """One repetition run again: `differences` name what did not come out as the bundle says, empty when all did."""

    row: str
    seed: int
    differences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BundleVerdict:
    """What became of a bundle: files that are not what their sums say, criteria that differ, repetitions run again.

    `contradictions` say what in it does not go together, whatever the sums are; `recorded` counts all repetitions of
    its verdicts, those of controls aside.
    """

    changed: tuple[str, ...]
    criteria: tuple[str, ...]
    repeated: tuple[Repeated, ...]
    contradictions: tuple[str, ...]
    recorded: int

    @property
    def good(self) -> bool:
        """Whether all files and criteria are as they were, and all repetitions came out as they had: one at least."""
        came_out = all(not each.differences for each in self.repeated)
        return bool(self.repeated) and came_out and not (self.changed or self.criteria or self.contradictions)


def write_bundle(path: Path, pages: Path) -> int:
    """Write the archive of the verdicts in a folder of pages; return how many files it holds.

    The same verdicts give the same bytes. Raises BundleError where there is no verdict, or one of a real leg, or one
    over documents or criteria that are not those of now.
    """
    files: dict[str, bytes] = {README: _TEXT.encode()}
    versions: dict[str, Mapping[str, str]] = {}
    for experiment in EXPERIMENTS:
        verdict = read_verdict(pages / experiment.name)
        if verdict is None:
            continue
        files |= _documents(verdict, experiment.rows)
        files[f"{VERDICTS}/{experiment.name}/{VERDICT_FILE}"] = (pages / experiment.name / VERDICT_FILE).read_bytes()
        versions[experiment.name] = {"commit": verdict.sources.commit, **verdict.sources.versions}
    if not versions:
        raise BundleError(f"{pages}: has no verdict; expected folders with {VERDICT_FILE}, as --pages writes them")
    files |= {f"{CRITERIA}/{source.name}": source.read_bytes() for source in chapter_files()}
    files[VERSIONS] = json.dumps(versions, indent=1).encode()
    files[SUMS] = "".join(f"{_sum(data)}  {name}\n" for name, data in sorted(files.items())).encode()
    draft = path.with_name(f"{path.name}.new")
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _TIME), data, zipfile.ZIP_DEFLATED)
    draft.replace(path)
    return len(files)


def _documents(verdict: Verdict, rows: Sequence[TableRow]) -> dict[str, bytes]:
    if verdict.bus != EMULATED:
        raise BundleError(f"{verdict.name}: was judged on {verdict.bus}, and nobody can repeat that from files")
    paths = source_paths(plan for row in rows for plan in _bouts(row))
    documents = {name: path.read_bytes() for name, path in paths.items()}
    for name, data in documents.items():
        if verdict.sources.files.get(name) != _sum(data):
            raise BundleError(f"{verdict.name}: was judged with another {name}; judge it again, or go back to it")
    pointers = pointer_paths(plan for row in rows for plan in _bouts(row))
    return documents | {name: path.read_bytes() for name, path in pointers.items()}


def check_bundle(path: Path, repetitions: int, told: Callable[[int, int], None] = lambda _, __: None) -> BundleVerdict:
    """Compare an archive with its sums, and run the first repetitions of each of its rows again with its documents.

    `told` hears how many of how many are done. Raises BundleError for what is no bundle.
    """
    files = _read(path)
    lines = files[SUMS].decode("utf-8", "replace").splitlines()
    expected = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    changed = {name for name in expected if _sum(files.get(name, b"")) != expected[name]}
    changed |= files.keys() - expected.keys() - {SUMS}
    criteria = [
        source.name for source in chapter_files() if files.get(f"{CRITERIA}/{source.name}") != source.read_bytes()
    ]
    repeated: list[Repeated] = []
    with tempfile.TemporaryDirectory(prefix="nuc-bundle-") as scratch:
        folder = Path(scratch)
        pages = {experiment.name: f"{VERDICTS}/{experiment.name}/{VERDICT_FILE}" for experiment in EXPERIMENTS}
        _unpack(folder, files, pages.values())
        judged = [(each, _verdict(folder / pages[each.name])) for each in EXPERIMENTS]
        there = [(experiment, verdict) for experiment, verdict in judged if verdict is not None]
        # As this program names them: what else a bundle would put beside a configuration is not taken up.
        rests_on = {each.name: file_names(plan for row in each.rows for plan in _bouts(row)) for each, _ in there}
        pointers = pointer_paths(plan for each, _ in there for row in each.rows for plan in _bouts(row))
        documents = {name for names in rests_on.values() for name in names} | pointers.keys()
        known = {SUMS, README, VERSIONS, *(f"{CRITERIA}/{source.name}" for source in chapter_files())}
        known |= documents | set(pages.values())
        wrong = [f"{name}: no verdict rests on it; it was left aside" for name in sorted(files.keys() - known)]
        wrong += [
            f"{name}: names another plant than here"
            for name, path in pointers.items()
            if files.get(name) != path.read_bytes()
        ]
        for experiment, verdict in there:
            wrong += [
                f"{experiment.name}: was judged with another {name}"
                for name in rests_on[experiment.name]
                if _sum(files.get(name, b"")) != verdict.sources.files.get(name)
            ]
            wrong += _unfounded(experiment, verdict)
        _unpack(folder, files | {name: path.read_bytes() for name, path in pointers.items()}, documents)
        asked = [one for experiment, verdict in there for one in _asked(experiment, verdict, repetitions)]
        with _inside(folder):
            for row, trial in asked:
                then, now = trial_record(trial), trial_record(run_trial(row, trial.seed))
                repeated.append(Repeated(row.name, trial.seed, tuple(name for name in then if then[name] != now[name])))
                told(len(repeated), len(asked))
    recorded = sum(len(row.trials) for _, verdict in there for row in verdict.rows)
    return BundleVerdict(
        tuple(sorted(changed)), tuple(sorted(criteria)), tuple(repeated), tuple(dict.fromkeys(wrong)), recorded
    )


def _verdict(path: Path) -> Verdict | None:
    try:
        return read_verdict(path.parent)
    except RecordError as error:
        raise BundleError(str(error)) from error


def _bouts(row: TableRow) -> tuple[BoutPlan, ...]:
    return (*row.bouts, *row.control.bouts)


def _asked(experiment: Experiment, verdict: Verdict, repetitions: int) -> Iterator[tuple[TableRow, Trial]]:
    for row in experiment.rows:
        seen = [each for each in verdict.rows if each.name == row.name]
        yield from ((row, trial) for each in seen for trial in each.trials[:repetitions])


def _unfounded(experiment: Experiment, verdict: Verdict) -> Iterator[str]:
    """Yield what of a verdict does not follow from the repetitions that stand in it."""
    if verdict.bus != EMULATED:
        yield f"{experiment.name}: was judged on {verdict.bus}, and nobody can repeat that from files"
    if verdict.standing != standing(verdict.repetitions, verdict.seed):
        yield f"{experiment.name}: standing is not what its seeds and repetitions say"
    rows = {row.name: row for row in experiment.rows}
    if [row.name for row in verdict.rows] != list(rows):
        yield f"{experiment.name}: has rows {', '.join(row.name for row in verdict.rows)}; expected {', '.join(rows)}"
        return
    for found in verdict.rows:
        row = f"{experiment.name}, {found.name}"
        plain = replace(rows[found.name], summary=None)
        due = judge_row(plain, found.trials, found.control.trials, verdict.repetitions)
        for side, trials in (("", found.trials), ("control, ", found.control.trials)):
            if [trial.seed for trial in trials] != list(range(verdict.seed, verdict.seed + len(trials))):
                yield f"{row}: {side}seeds are not those from {verdict.seed} on, each once"
        then, now = row_record(found), row_record(due)
        told = [(name, then[name], now[name]) for name in _COUNTED]
        told += [(f"control, {name}", then["control"][name], now["control"][name]) for name in _CONTROL_COUNTED]
        yield from (f"{row}: {name} is not what its repetitions say" for name, one, other in told if one != other)
        if not _alike(found.numbers, due.numbers):
            yield f"{row}: numbers are not those of its repetitions"


def _alike(one: Mapping[str, Spread], other: Mapping[str, Spread]) -> bool:
    """Compare numbers as far as rounding lets them: a median of rounded ones is not quite a rounded median."""
    return one.keys() == other.keys() and all(
        math.isclose(a, b, rel_tol=_ROUNDED)
        for name, spread in one.items()
        for a, b in zip(astuple(spread), astuple(other[name]), strict=True)
    )


def _read(path: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if sum(entry.file_size for entry in entries) > _MOST_BYTES:
                raise BundleError(f"{path}: has more than {_MOST_BYTES >> 20} MiB; expected a bundle")
            if any(_leads_out(entry.filename) for entry in entries):
                raise BundleError(f"{path}: has a name that leads out of it; expected a bundle")
            if twice := [name for name, number in Counter(e.filename for e in entries).items() if number > 1]:
                raise BundleError(f"{path}: has {twice[0]} more than once; expected a bundle")
            files = {entry.filename: archive.read(entry) for entry in entries}
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        raise BundleError(f"{path}: {error}; expected a bundle of `nuc experiment bundle`") from error
    if SUMS not in files:
        raise BundleError(f"{path}: has no {SUMS}; expected a bundle of `nuc experiment bundle`")
    return files


def _leads_out(name: str) -> bool:
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name


def _unpack(folder: Path, files: Mapping[str, bytes], names: Iterable[str]) -> None:
    for name in names:
        if name in files:
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(files[name])


@contextmanager
def _inside(folder: Path) -> Generator[None]:
    """Work where the archive's documents lie: configurations and scripts are looked up there first."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
