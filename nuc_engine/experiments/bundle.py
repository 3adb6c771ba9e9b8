"""One archive of all that verdicts rest on, which another machine can check offline.

It holds the configurations, plants and scripts of the verdicts, the verdicts with every seed, the criteria (the
catalogue's data), the versions of what ran, a README and the sha256 of each file. `check_bundle` unpacks it, compares
the sums, and runs repetitions again with the documents of the archive: they have to come out as its verdicts say.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.catalogue.load import CHAPTER
from nuc_engine.experiments.protocol import TableRow, Trial
from nuc_engine.experiments.record import VERDICT_FILE, RecordError, read_verdict, trial_record
from nuc_engine.experiments.sources import source_paths
from nuc_engine.experiments.trials import run_trial
from nuc_engine.experiments.verdict import EMULATED, Verdict

ENDING = ".zip"
SUMS, README, VERSIONS = "SHA256SUMS", "README.md", "versions.json"
VERDICTS, CRITERIA = "docs/experiments", "criteria"

_MOST_BYTES = 256 << 20
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
    """What became of a bundle: files that are not what their sums say, criteria that differ, repetitions run again."""

    changed: tuple[str, ...]
    criteria: tuple[str, ...]
    repeated: tuple[Repeated, ...]

    @property
    def good(self) -> bool:
        """Whether all files and criteria are as they were, and all repetitions came out as they had: one at least."""
        came_out = all(not each.differences for each in self.repeated)
        return bool(self.repeated) and came_out and not self.changed and not self.criteria


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
    files |= {f"{CRITERIA}/{source.name}": source.read_bytes() for source in CHAPTER.glob("*.toml")}
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
    paths = source_paths(plan for row in rows for plan in (*row.bouts, *row.control.bouts))
    documents = {name: path.read_bytes() for name, path in paths.items()}
    for name, data in documents.items():
        if verdict.sources.files.get(name) != _sum(data):
            raise BundleError(f"{verdict.name}: was judged with another {name}; judge it again, or go back to it")
    return documents


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
        source.name
        for source in CHAPTER.glob("*.toml")
        if files.get(f"{CRITERIA}/{source.name}") != source.read_bytes()
    ]
    repeated: list[Repeated] = []
    with tempfile.TemporaryDirectory(prefix="nuc-bundle-") as folder, _inside(Path(folder), files):
        asked = list(_asked(repetitions))
        for row, trial in asked:
            then, now = trial_record(trial), trial_record(run_trial(row, trial.seed))
            repeated.append(Repeated(row.name, trial.seed, tuple(name for name in then if then[name] != now[name])))
            told(len(repeated), len(asked))
    return BundleVerdict(tuple(sorted(changed)), tuple(sorted(criteria)), tuple(repeated))


def _asked(repetitions: int) -> Iterator[tuple[TableRow, Trial]]:
    for experiment in EXPERIMENTS:
        try:
            verdict = read_verdict(Path(VERDICTS) / experiment.name)
        except RecordError as error:
            raise BundleError(str(error)) from error
        for row in experiment.rows if verdict is not None else ():
            seen = [each for each in verdict.rows if each.name == row.name] if verdict else []
            yield from ((row, trial) for each in seen for trial in each.trials[:repetitions])


def _read(path: Path) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if sum(entry.file_size for entry in entries) > _MOST_BYTES:
                raise BundleError(f"{path}: has more than {_MOST_BYTES >> 20} MiB; expected a bundle")
            if any(_leads_out(entry.filename) for entry in entries):
                raise BundleError(f"{path}: has a name that leads out of it; expected a bundle")
            files = {entry.filename: archive.read(entry) for entry in entries}
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise BundleError(f"{path}: {error}; expected a bundle of `nuc experiment bundle`") from error
    if SUMS not in files:
        raise BundleError(f"{path}: has no {SUMS}; expected a bundle of `nuc experiment bundle`")
    return files


def _leads_out(name: str) -> bool:
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name


@contextmanager
def _inside(folder: Path, files: Mapping[str, bytes]) -> Generator[None]:
    """Work where the archive's documents lie: configurations and scripts are looked up there first."""
    for name, data in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
