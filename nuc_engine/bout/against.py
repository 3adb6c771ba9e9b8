"""Two witnesses of the same bout, from two machines: how far they agree.

Bytes are promised for one build on one type of machine. Across machines flights are to agree to NEAR; a leg's physics
amplifies a last digit, so that its logs are compared to the first difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from drivers.units import NS_PER_S
from nuc_engine.bout.replay import ReplayRefused
from nuc_engine.recording.compare import FileDifference, compare_file
from nuc_engine.recording.files import DATA_LOGS, EPISODE_LOG, EVENT_LOG, PLANT_LOG, SCRIPT_LOG
from nuc_engine.recording.manifest import ManifestError, read_record, sha256
from nuc_engine.recording.rows import read_rows

NEAR = 1e-9
"""How far a number of a flight may be from the other machine's, as a share of it where it is larger than 1."""
_OF_LEGS = (*DATA_LOGS, PLANT_LOG, EVENT_LOG, SCRIPT_LOG)
_RUN_ALIKE = ("state", "configuration", "clock", "inputs")
_DECIDES_NOTHING = ("labels", "out", "overwrite")


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two witnesses agree: what was compared, and what stands against it.

    `changed` names files that are not what their own manifest says, `unequal` what was not run alike, `difference` the
    first record that differs, of a flight by more than NEAR. `apart` is the largest difference of a flight's numbers,
    as a share of these where they are larger than 1. `versions` are those that differ.
    """

    compared: tuple[str, ...]
    changed: tuple[str, ...]
    unequal: tuple[str, ...]
    difference: FileDifference | None
    apart: float | None
    versions: Mapping[str, tuple[str, str]]

    @property
    def good(self) -> bool:
        """Whether they agree."""
        return bool(self.compared) and not self.changed and not self.unequal and self.difference is None


def compare_witnesses(folder: Path, other: Path) -> Agreement:
    """Return how far two data directories agree. Raises ReplayRefused where one of them is none."""
    try:
        one, two = read_record(folder), read_record(other)
    except ManifestError as error:
        raise ReplayRefused(str(error)) from error
    files: dict[str, str] = {**one.get("files", {}), **two.get("files", {})}
    changed = (*_changed(folder, one), *_changed(other, two))
    unequal = [name for name in _RUN_ALIKE if one.get(name) != two.get(name)]
    specs: tuple[dict[str, Any], dict[str, Any]] = one["spec"], two["spec"]
    unequal += [f"spec.{name}" for name in _differing(*specs) if name not in _DECIDES_NOTHING]
    builds: tuple[dict[str, str], dict[str, str]] = one["versions"], two["versions"]
    versions = {name: (builds[0].get(name, "none"), builds[1].get(name, "none")) for name in _differing(*builds)}
    if EPISODE_LOG in files:
        difference, apart = _flights(folder, other)
        return Agreement((EPISODE_LOG,), changed, tuple(unequal), difference, apart, versions)
    names = tuple(name for name in _OF_LEGS if name in files)
    found = [each for name in names if (each := compare_file(folder, other, name)) is not None]
    first = min(found, key=lambda each: (each.time_ns is None, each.time_ns or 0), default=None)
    return Agreement(names, changed, tuple(unequal), first, None, versions)


def _changed(folder: Path, record: Mapping[str, Any]) -> list[str]:
    sums: dict[str, str] = {**record["inputs"], **record.get("files", {})}
    paths = {folder / Path(name).name: sum_ for name, sum_ in sums.items()}
    return [f"{path}" for path, sum_ in paths.items() if not path.is_file() or sha256(path) != sum_]


def _differing(one: Mapping[str, Any], two: Mapping[str, Any]) -> list[str]:
    return [name for name in {**one, **two} if one.get(name) != two.get(name)]


def _flights(folder: Path, other: Path) -> tuple[FileDifference | None, float]:
    """Return the first number that is not near the other one, and how far apart any two are."""
    try:
        (names, one), (others, two) = read_rows(folder), read_rows(other)
    except ValueError as error:
        raise ReplayRefused(str(error)) from error
    if names != others:
        return FileDifference(EPISODE_LOG, 0, None, "columns", ", ".join(names), ", ".join(others)), float("inf")
    both = min(len(one), len(two))
    apart = np.abs(one[:both] - two[:both]) / np.maximum(1.0, np.abs(one[:both]))
    largest = float(apart.max(initial=0.0))
    unequal = np.argwhere(~(apart <= NEAR))
    if len(unequal):
        row, column = map(int, unequal[0])
        values = (repr(float(rows[row, column])) for rows in (one, two))
        time_ns = round(float(one[row, 0]) * NS_PER_S)
        return FileDifference(EPISODE_LOG, row + 1, time_ns, names[column], *values), largest
    if len(one) != len(two):
        told = (f"{len(rows)} rows" for rows in (one, two))
        return FileDifference(EPISODE_LOG, both + 1, None, "length", *told), largest
    return None, largest
