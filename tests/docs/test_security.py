"""The table of threats: everybody who was thought of has a row, and every test it names is there."""

from __future__ import annotations

import re

import pytest

from tests.docs.test_faults import ROOT, defined_in

TEXT = (ROOT / "docs" / "security.md").read_text()
NAMED = re.compile(r"`(tests/[a-z_/]+\.py)::(test_[a-z0-9_]+)`")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| who "))
]


@pytest.mark.parametrize("who", ["web page", "local user", "network", "watcher", "operator", "revoked key", "cable"])
def test_everybody_who_was_thought_of_has_a_row(who: str) -> None:
    assert who in {row[0] for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[2][:30]}")
def test_every_row_says_all_and_names_tests_that_exist(row: list[str]) -> None:
    assert len(row) == 5
    assert all(row)
    named = NAMED.findall(row[4])
    assert len(named) == len(row[4].split(", ")), "nothing but names of tests"
    assert [f"{path}::{test}" for path, test in named if test not in defined_in(ROOT / path)] == []
