"""Both orders of two changesets, with a leg whose conduct follows from the values it is given, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest

from nuc_engine.batch.commute import commute, shared_names
from nuc_engine.batch.errors import BulkRefused
from nuc_engine.batch.minimise import Kinds, ScriptTrial
from nuc_engine.batch.task import BoutTask
from sccils_schemas.documents import HdsoMod, HdsoScript
from sccils_schemas.parser import parse
from sccils_schemas.writer import write
from tests.batch.test_minimise import open_trial

A, B, C = "TC1_retLEV_FTang", "TC1_retLEV_CTang", "TC1_proDEP_FTang"


def trial_of(folder: Path, *mods: tuple[str, float, int]) -> ScriptTrial:
    entries = tuple(HdsoMod(-4, 1, (value,), name, True, time_s=Decimal(time)) for name, value, time in mods)
    path = folder / "orders.xml"
    path.write_bytes(write(HdsoScript(entries, name="orders")))
    return open_trial(str(path), tuple(range(4)))


def run(tasks: Sequence[BoutTask]) -> Sequence[Kinds]:
    """Say ITF between when A was raised first, and in the end when B has its last value from 40."""
    found: list[Kinds] = []
    for task in tasks:
        assert task.inputs.script is not None
        document, _ = parse(task.inputs.script, "script")
        assert isinstance(document, HdsoScript)
        mods = [mod for mod in document.entries if isinstance(mod, HdsoMod)]
        first = {mod.name for mod in mods if mod.time_s == 20}
        last = {mod.name: mod.data[0] for mod in sorted(mods, key=lambda mod: mod.time_s)}
        final = "ITB" if last.get(B, 44) == 44 else "stuck"
        found.append({"before": "FWD", "between": "ITF" if A in first else "irregular", "final": final})
    return found


def test_changesets_that_share_nothing_commute(tmp_path: Path) -> None:
    (pair,) = commute(trial_of(tmp_path, (A, 80, 20), (C, 110, 40)), run)
    assert (pair.by_values, pair.by_outcome, pair.shared) == (True, True, ())
    assert (pair.one_s, pair.other_s) == (20, 40)
    assert pair.given.between == {"ITF": 4}
    assert pair.reverse.between == {"irregular": 4}
    assert pair.wanted == "ITB"


def test_changesets_that_write_one_thing_differently_do_not(tmp_path: Path) -> None:
    (pair,) = commute(trial_of(tmp_path, (A, 80, 20), (B, 45, 20), (B, 44, 40)), run)
    assert pair.shared == (B,)
    assert not pair.by_values
    assert not pair.by_outcome
    assert pair.reverse.final == {"stuck": 4}


def test_one_value_twice_is_not_shared(tmp_path: Path) -> None:
    trial = trial_of(tmp_path, (B, 44, 20), (B, 44, 40), (A, 1, 40))
    assert shared_names(trial, Decimal(20), Decimal(40)) == ()


def test_the_shipped_changesets_share_what_their_script_says() -> None:
    shared = shared_names(open_trial("experiment_a"), Decimal(20), Decimal(40))
    assert set(shared) == {"Enter_TC1_RetractionLEV", "TC1_retLEV_CTang"}


def test_fewer_than_two_changesets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BulkRefused, match="expected two changesets"):
        commute(trial_of(tmp_path, (A, 80, 20)), run)
