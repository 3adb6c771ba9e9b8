"""Bouts of every kind are as the equations have them: any configuration, clock, pause, servos, unrest, two by two.

Everything with everything is part of `make nightly`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nuc_engine.verify import verify_bout
from tests.verify.variants import Case, pairwise_cover, run

SECONDS = 0.6


@pytest.mark.parametrize("case", pairwise_cover(), ids=lambda case: case.name)
def test_every_record_is_as_computed(case: Case, tmp_path: Path) -> None:
    verdict = verify_bout(run(replace(case, seconds=SECONDS), tmp_path))
    assert verdict.good, verdict.differences[:5]
    assert min(verdict.records[f"{name}Data.txt"] for name in ("Motor", "Sens", "State", "Muscle")) > 10
