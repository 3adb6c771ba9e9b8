"""docs/nuc.md: its table of failures names tests that exist, and its table of methods is what the server takes."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import fields

from nuc_engine.messages.episodes import EPISODE_REQUESTS
from nuc_engine.service.episodes import EPISODE_METHODS
from tests.docs.test_faults import ROOT, defined_in

TEXT = (ROOT / "docs" / "nuc.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[a-z_/]+\.py)::(test_[a-z0-9_]+)`")
FAILURES = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.split("## What can fail", 1)[1].split("\n## ", 1)[0].splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| failure "))
]


@pytest.mark.parametrize("row", FAILURES, ids=lambda row: row[0])
def test_every_failure_is_told_for_both_and_names_tests_that_exist(row: list[str]) -> None:
    assert len(row) == 4
    assert all(row)
    named = NAMED.findall(row[3])
    assert len(named) == len(row[3].split(", ")), "nothing but names of tests"
    assert [f"{path}::{test}" for path, test in named if test not in defined_in(ROOT / path)] == []


def test_all_eight_are_there() -> None:
    assert [row[0] for row in FAILURES] == [
        "divergence",
        "flood of commands",
        "saturation",
        "aliasing",
        "starvation",
        "replay mismatch",
        "stale sensor",
        "link loss",
    ]


def test_the_methods_are_those_that_the_server_takes() -> None:
    rows = re.findall(r"^\| `(start|stop|status)` \| (.*?) ?\| (\w+)( C)? \|", TEXT, re.MULTILINE)
    assert [row[0] for row in rows] == ["start", "stop", "status"]
    for name, parameters, role, control in rows:
        kind = EPISODE_REQUESTS[name]
        assert re.findall(r"`(\w+)`", parameters) == [field.encode_name for field in fields(kind)]
        assert (kind.needs, kind.control) == (role, bool(control))
    others = re.search(r"^and (`hello`.*?), as of the daemon", TEXT, re.MULTILINE)
    assert others is not None
    assert {*re.findall(r"`(\w+)`", others[1]), "start", "stop", "status"} == set(EPISODE_REQUESTS)
    assert set(EPISODE_METHODS.handlers) >= set(EPISODE_REQUESTS.values())
