"""What is newer than SCCILS 0.1 stands only in documents that say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest

from sccils_schemas.documents import CommandScript, Gradual, HdsoMod, HdsoScript
from sccils_schemas.mapping import ELEMENTS
from sccils_schemas.parser import parse
from sccils_schemas.problems import SccilsError
from sccils_schemas.versions import newer_names
from sccils_schemas.writer import write

SCRIPT = """<hdsoscript{version}>
  <kick time="1" force="1 0 0"
        duration="0.1"/>
  <gradual time="1" duration="2" steps="3"><hdsoMod idNum="1" NumElts="1">5</hdsoMod></gradual>
</hdsoscript>"""
HINT = '(write version="0.2" on its root)'


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let <gradual> and the duration of a kick be of 0.2."""
    newer_names.cache_clear()
    monkeypatch.setattr(ELEMENTS["gradual"], "since", "0.2")
    for tag in ("gradual", "kick"):
        monkeypatch.setattr(ELEMENTS[tag], "newest", "0.2")
    monkeypatch.setitem(ELEMENTS["kick"].attributes_since, "duration", "0.2")
    yield
    newer_names.cache_clear()


def given(version: str) -> bytes:
    return SCRIPT.format(version=version and f' version="{version}"').encode()


@pytest.mark.usefixtures("newer")
@pytest.mark.parametrize("version", ["", "0.1"])
def test_what_is_newer_is_told_all_of_it_and_where(version: str) -> None:
    document, problems = parse(given(version), "mine.xml")
    assert document is None
    assert [str(problem) for problem in problems] == [
        f"mine.xml:3: error: duration of <kick> is of SCCILS 0.2, expected a document of that version {HINT}",
        f"mine.xml:4: error: <gradual> is of SCCILS 0.2, expected a document of that version {HINT}",
    ]


@pytest.mark.usefixtures("newer")
def test_a_document_of_that_version_has_it_and_keeps_saying_so() -> None:
    document, problems = parse(given("0.2"))
    assert isinstance(document, HdsoScript), problems
    assert document.version == "0.2"
    written = write(document)
    assert b'version="0.2"' in written
    assert parse(written)[0] == document
    with pytest.raises(SccilsError, match=r"is of SCCILS 0\.2"):
        write(replace(document, version="0.1"))


@pytest.mark.usefixtures("newer")
def test_a_script_inside_a_command_says_its_own_version() -> None:
    inside = b'<sccils_command commandtype="run" starttime="0" stoptime="-1">' + given("0.2") + b"</sccils_command>"
    document, problems = parse(inside)
    assert isinstance(document, CommandScript), problems
    assert document.version == "0.1"
    assert parse(write(document))[0] == document


def test_what_has_nothing_newer_is_written_without_a_version() -> None:
    document, _ = parse(given("0.1"))
    assert document is not None
    assert b"version=" not in write(document).split(b"\n", 1)[1]
    assert write(document) == write(parse(given(""))[0])  # type: ignore[arg-type]


def test_an_unknown_version_is_refused() -> None:
    _, problems = parse(given("0.3"), "mine.xml")
    assert "mine.xml:1: error: version='0.3' of <hdsoscript> is not allowed, expected one of 0.1, 0.2" in str(problems)


def test_0_2_without_anything_new_is_read_as_it_is() -> None:
    script = HdsoScript((Gradual(Decimal(1), Decimal(2), 3, (HdsoMod(1, 1, (5.0,)),)),), version="0.2")
    assert parse(write(script))[0] == script
