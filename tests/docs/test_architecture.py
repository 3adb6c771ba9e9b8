"""docs/architecture.md: its picture is that of the code, and what it names is there."""

from __future__ import annotations

import re
from graphlib import CycleError
from pathlib import Path

import pytest

from benchmarks import architecture

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def shape(picture: str) -> str:
    """Return a picture without how many lines packages have, which changes with every line."""
    return re.sub(r"[\d.]+k lines", "", picture)


def test_the_picture_is_that_of_the_code() -> None:
    assert shape(architecture.PICTURE.read_text(encoding="utf-8")) == shape(architecture.drawn())


def test_floors_and_arrows_of_a_small_house() -> None:
    uses = {"roof": {"hall", "cellar"}, "hall": {"cellar"}, "cellar": set[str]()}
    assert architecture.floors(uses) == {"cellar": 0, "hall": 1, "roof": 2}
    assert architecture.needed(uses) == [("hall", "cellar"), ("roof", "hall")]
    with pytest.raises(CycleError):
        architecture.floors({"a": {"b"}, "b": {"a"}})


def test_there_are_at_most_ten_floors_and_no_circle() -> None:
    assert 1 + max(architecture.floors(architecture.arrows()).values()) <= 10


def test_files_that_are_named_are_there() -> None:
    named = re.findall(r"`((?:nuc_engine|drivers|sccils_schemas)/[\w/.*]+)`", TEXT)
    assert len(named) >= 5
    assert [name for name in named if not list(ROOT.glob(name)) and not name.endswith("NAME")] == []
