"""The glossary holds the words the configurations use, each with where it comes from."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.configs.documents import ROOT, SHIPPED, shipped

WORDS = (
    "pro(DEP)", "ret(LEV)", "lev(PRO)", "dep(RET)", "FWD", "ITF", "ITB", "coxa", "trochanter", "femur", "tibia",
    "tarsus", "levation", "depression", "protraction", "retraction", "flexion", "extension", "promotion",
    "remotion", "HDSO", "hdsoMod", "boolstring", "changeset", "servo delta", "bout", "cycle", "activation",
    "force-length", "force-velocity", "passive stiffness", "dwell time", "PEP", "AEP", "path-state plot",
    "entry rule", "overlap", "dead band", "EXT2", "SCASM", "SCCILS", "module", "action", "campaniform sensilla",
    "femoral chordotonal organ", "load signal", "A-matrix", "Denavit-Hartenberg", "plant", "kick start",
    "air stepping", "stance", "swing",
)  # fmt: skip


@cache
def _text() -> str:
    return (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def _rows() -> list[list[str]]:
    rows = [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in _text().splitlines() if line[:1] == "|"]
    return [row for row in rows if not set(row[0]) <= set("-")]


@pytest.mark.parametrize("word", WORDS)
def test_word_has_an_entry_of_its_own(word: str) -> None:
    assert any(word in row[0] for row in _rows())


def test_every_term_says_where_it_comes_from() -> None:
    with_source = False
    bare = []
    for row in _rows():
        if row[0] == "term":
            with_source = row[-1] == "source"
        elif row[0] in ("name", "other spellings of one thing", "ids"):
            with_source = False
        elif with_source and not re.search(r"\bD (10\.[1-4]|[3-9](\.\d+)+)|\bhere\b", row[-1]):
            bare.append(row[0])
    assert bare == []


def test_no_term_is_explained_twice() -> None:
    terms = [row[0] for row in _rows() if len(row) == 3 and row[-1] != "source"]
    assert len(terms) > 100
    assert len(terms) == len(set(terms))


def test_table_of_ids_covers_every_hdso_of_the_shipped_configurations() -> None:
    rows = _rows()
    at = next(i for i, row in enumerate(rows) if row[0] == "ids")
    blocks = [list(map(int, re.findall(r"\d+", row[0]))) for row in rows[at + 1 :] if row[0][:1].isdigit()]
    known = {i for block in blocks for i in range(block[0], block[-1] + 1)}
    assert {h.id_num for name in SHIPPED for h in shipped(name).hdsos} <= known


def test_label_in_a_long_name_is_in_the_glossary() -> None:
    labels = {
        label
        for name in SHIPPED
        for joint in shipped(name).jointlist.joints
        for part in (joint, *joint.states)
        for label in re.findall(r"\b[a-z]{3}\([A-Z]{3}\)|\b[A-Z]{3}\d?\b", part.fullname or "")
    }
    assert {"pro(DEP)", "EXT2", "FLX"} <= labels
    assert [label for label in labels if label not in _text()] == []
