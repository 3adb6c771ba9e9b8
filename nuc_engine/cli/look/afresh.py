"""A bout repeated in fresh processes under other circumstances: that it is the same again is shown, not claimed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nuc_engine.machine.locations import CHECKOUT
from nuc_engine.recording.files import MANIFEST_FILE

BUSY = 2
"""How many processes do nothing but compute beside one of the repetitions."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Circumstance:
    """How one repetition differs from the bout; `same` is whether the same bytes are expected."""

    name: str
    hash_seed: int
    threads: int
    busy: int = 0
    more_seed: int = 0
    same: bool = True


@dataclass(frozen=True, slots=True)
class AfreshResult:
    """What became of one repetition: as expected or not, and what differed first."""

    name: str
    good: bool
    told: str


def circumstances(spec: Mapping[str, Any]) -> list[Circumstance]:
    """Return how the bout of a specification is repeated.

    With another seed it must differ where the seed decides anything: what a RunConfig draws, or an emulated leg. It
    must not where a RunConfig draws nothing; of a leg without a world nothing is asked.
    """
    found = [
        Circumstance("hash seed 1, one thread", 1, 1),
        Circumstance("hash seed 4242, four threads", 4242, 4),
        Circumstance(f"beside {BUSY} busy processes", 77, 2, busy=BUSY),
    ]
    if "drawn" in spec:
        found.append(Circumstance("seed + 1", 1, 1, more_seed=1, same=not spec["drawn"]))
    elif str(spec.get("bus", "")).startswith("emulated:"):
        found.append(Circumstance("seed + 1", 1, 1, more_seed=1, same=False))
    return found


def repeat_afresh(folder: Path) -> list[AfreshResult]:
    """Repeat the bout of a data directory in every circumstance. Raises OSError or ValueError without a manifest."""
    spec: Mapping[str, Any] = json.loads((folder / MANIFEST_FILE).read_bytes())["spec"]
    with tempfile.TemporaryDirectory(prefix="nuc-afresh-") as scratch:
        return [_repeat(folder, Path(scratch) / str(k), each) for k, each in enumerate(circumstances(spec))]


def _repeat(folder: Path, scratch: Path, how: Circumstance) -> AfreshResult:
    scratch.mkdir()
    copy = shutil.copytree(folder, scratch / "bout")
    if how.more_seed:
        _reseed(copy, how.more_seed)
    threads = dict.fromkeys(_THREADS, str(how.threads))
    path = os.pathsep.join(filter(None, (str(CHECKOUT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, **threads, "PYTHONHASHSEED": str(how.hash_seed), "PYTHONPATH": path}
    words = [sys.executable, "-m", "nuc_engine.cli", "replay", str(copy), "--json"]
    with _busy(how.busy):
        done = subprocess.run(words, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
        compared, difference = report["compared"], report["difference"]
    except (ValueError, KeyError):
        return AfreshResult(how.name, False, f"could not be repeated: {done.stderr.strip() or done.stdout.strip()}")
    if not compared:
        return AfreshResult(how.name, False, "nothing was compared")
    if difference is None:
        return AfreshResult(how.name, how.same, "the same bytes")
    where = f"{difference['file']}, record {difference['record']}, {difference['field']}"
    return AfreshResult(how.name, not how.same, f"differs from {where} on")


def _reseed(folder: Path, more: int) -> None:
    """Make a copy's manifest ask for another seed."""
    path = folder / MANIFEST_FILE
    record = json.loads(path.read_bytes())
    spec = record["spec"]
    spec["seed"] += more
    if "changes" in spec:
        spec["changes"]["seed"] = spec["seed"]
    path.write_text(json.dumps(record), encoding="utf-8", newline="\n")


@contextmanager
def _busy(number: int) -> Generator[None]:
    """Keep processors busy meanwhile."""
    with ExitStack() as stack:
        for _ in range(number):
            process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield
