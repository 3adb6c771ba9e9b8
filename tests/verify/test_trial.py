"""What the benchmark makes of what `nuc verify` says: an oracle that can say nothing, or dies, has found nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgpack
import pytest

from benchmarks.verify.__main__ import CRASHED, FOUND, MISSED, NOT_TOLD, UNABLE, _row
from benchmarks.verify.mutants import NOT_COMPUTED, Mutant
from benchmarks.verify.trial import Found, _verify
from nuc_engine.recording.manifest import hash_files
from tests.verify.seal import sealed
from tests.verify.variants import Case, run

MUTANT = Mutant("name", "nuc_engine/control/dispatcher.py", 1, 0, 1, "a", "b")
(FILE, BEFORE, AFTER, BOUT), *_ = NOT_COMPUTED
KNOWN = Mutant("deletion", f"nuc_engine/{FILE}", 1, 0, 1, BEFORE, AFTER)


@pytest.mark.parametrize(
    ("mutant", "found", "fate"),
    [
        (MUTANT, [Found("plain", 3, "MotorData.txt, time")], FOUND),
        (MUTANT, [Found("plain", 3, "MotorData.txt, time"), Found("daemon", 1)], MISSED),
        (MUTANT, [Found("plain", 3, unable="no head")], UNABLE),
        (MUTANT, [Found("plain", 3, unable="no head", crashed="KeyError: 7")], CRASHED),
        (MUTANT, [Found("plain", 3, "MotorData.txt, time", crashed="KeyError: 7")], CRASHED),
        (KNOWN, [Found("plain", 3, "MotorData.txt, time"), Found(BOUT, 1)], NOT_TOLD),
        (KNOWN, [Found("plain", 3), Found(BOUT, 1)], MISSED),
    ],
)
def test_a_mutant_is_found_where_every_bout_it_changes_is_and_nowhere_else(
    mutant: Mutant, found: list[Found], fate: str
) -> None:
    assert _row(1, mutant, found)[0] == fate


@pytest.mark.parametrize(
    ("place", "record", "which"),
    [
        (0, ["head", 1, 7], "unable"),
        (2, ["edit", 0, 0, 99_999, [1], "", "Ann"], "crashed"),
    ],
)
def test_an_oracle_that_can_say_nothing_or_dies_is_told_from_one_that_finds(
    place: int, record: Any, which: str, tmp_path: Path
) -> None:
    folder = run(Case("lin_roach", "real", seconds=0.1), tmp_path)
    assert _verify(folder) == ("", "", "")
    path = folder / "InputRecord.msgpack"
    with path.open("rb") as file:
        records = list(msgpack.Unpacker(file))
    records[place] = record
    path.write_bytes(b"".join(map(msgpack.packb, records)))
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"files": hash_files(folder)}))
    sealed(folder)
    by, unable, crashed = _verify(folder)
    assert not by
    assert unable
    assert bool(crashed) == (which == "crashed")
