"""One mutant: what its bouts leave, how that differs from what the engine leaves, and whether `nuc verify` finds it.

Each trial is a process of its own, forked before anything of the engine is imported.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import shutil
import signal
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgpack

from benchmarks.verify.mutants import Mutant

TIMEOUT_S = 60
"""How much computing the bouts of one mutant may take, however busy the machine is."""
_TOLD = ("started", "stopped", "versions", "inputs", "files")
"""What of a manifest is no record of what the engine computed."""


@dataclass(frozen=True, slots=True)
class Found:
    """One bout that differs: in how many records, and by what `nuc verify` found it, nothing where it did not.

    `unable` says why it could not be verified at all, which is no finding; `crashed` with what error the oracle ended.
    """

    bout: str
    differing: int
    by: str = ""
    unable: str = ""
    crashed: str = ""


class Trial:
    """All bouts run with a mutant and compared with those in `kept`; without a mutant, put there. Begins at once."""

    def __init__(self, mutant: Mutant | None, kept: Path) -> None:
        context = multiprocessing.get_context("fork")
        self.mutant, self._queue = mutant, context.SimpleQueue()
        self._child = context.Process(target=_child, args=(mutant, kept, self._queue), daemon=True)
        self._child.start()

    def end(self) -> tuple[str, list[Found]]:
        """Wait for its end, and return what became of it.

        "same" (no record differs), "differs", "refused" (no bout could begin), "endless", or "error" (where a record
        differs the engine had stopped with an error of its own: no oracle is needed to see that).
        """
        self._child.join()
        if self._child.exitcode == -signal.SIGXCPU:
            return "endless", []
        if self._queue.empty():
            raise RuntimeError(f"the trial of {self.mutant} ended with status {self._child.exitcode}")
        status, found = self._queue.get()
        return status, [Found(*item) for item in found]


def trials(mutants: Iterable[Mutant], kept: Path, at_once: int) -> Iterator[Trial]:
    """Yield a trial for each mutant, in order, with the next ones under way."""
    ahead: deque[Trial] = deque()
    for mutant in mutants:
        ahead.append(Trial(mutant, kept))
        if len(ahead) == at_once:
            yield ahead.popleft()
    yield from ahead


def _child(mutant: Mutant | None, kept: Path, queue: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (TIMEOUT_S, TIMEOUT_S + 1))
    if mutant is not None:
        mutant.install()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    from benchmarks.verify.cases import MUTANT_CASES

    found: list[tuple[str, int, str, str, str]] = []
    begun = ran = 0
    for name, case in MUTANT_CASES.items():
        with tempfile.TemporaryDirectory(prefix="nuc-mutant-") as scratch:
            made = _make(case, Path(scratch), must=mutant is None)
            if made is None:
                continue
            begun += 1
            if mutant is None:
                found.append((name, 0, *_verify(made)))
                shutil.copytree(made, kept / name)
            elif differing := differences(kept / name, made):
                found.append((name, differing, *_verify(made)))
                ran += not _reason(made).startswith("engine_error")
    queue.put(("refused" if not begun else "same" if not found else "differs" if ran else "error", found))


def _make(case: Any, scratch: Path, *, must: bool) -> Path | None:
    from tests.verify.variants import run

    try:
        return run(case, scratch)
    except Exception:
        if must:
            raise
        return None  # nothing was recorded that could be verified


def _reason(folder: Path) -> str:
    return json.loads((folder / "manifest.json").read_bytes())["reason"]


def _verify(folder: Path) -> tuple[str, str, str]:
    """Return what `nuc verify` finds first, why it can compute nothing, and the error that it itself ended with."""
    from nuc_engine.verify import Unverifiable, verify_bout

    try:
        verdict = verify_bout(folder)
    except Unverifiable as error:
        return "", str(error), error.broken
    first = next(iter(verdict.differences), None)
    return "" if first is None else f"{first.file}, {first.column}", "", verdict.broken


def differences(a: Path, b: Path) -> int:
    """Return how many records of two data directories differ: lines, entries of the input record, the manifest."""
    names = {path.name for folder in (a, b) for path in folder.iterdir()} - {"manifest.json"}
    changed = sum(sum(x != y for x, y in zip_longest(*(_records(f / name) for f in (a, b)))) for name in sorted(names))
    told = [json.loads((folder / "manifest.json").read_bytes()) for folder in (a, b)]
    return changed + ({**told[0], **dict.fromkeys(_TOLD)} != {**told[1], **dict.fromkeys(_TOLD)})


def _records(path: Path) -> list[Any]:
    if not path.is_file():
        return []
    if path.suffix == ".msgpack":
        with path.open("rb") as file:
            return list(msgpack.Unpacker(file))
    return path.read_bytes().splitlines()
