"""Writing documents: what is written reads back as the same document, and as the same bytes."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from sccils_schemas.documents import Document, Hdso, HdsoList, HdsoMod, HdsoScript
from sccils_schemas.parser import parse
from sccils_schemas.problems import SccilsError
from sccils_schemas.writer import write
from tests.sccils.strategies import KINDS
from tests.sccils.test_grammar import DTDS, SHIPPED

PROPERTY = settings(
    max_examples=50,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("kind", sorted(KINDS))
@PROPERTY
@given(data=st.data())
def test_what_is_written_reads_back(kind: str, data: st.DataObject) -> None:
    document: Document = data.draw(KINDS[kind])
    written = write(document)
    again, problems = parse(written, "written.xml")
    assert again == document, f"{problems}\n{written.decode()}"
    assert write(again) == written


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_shipped_documents_survive(path: Path) -> None:
    document, problems = parse(path.read_bytes(), str(path))
    assert document is not None, str(problems)
    written = write(document)
    again, _ = parse(written)
    assert again == document
    tree = etree.fromstring(written)
    dtd = DTDS[tree.getroottree().docinfo.system_url]
    assert dtd.validate(tree), dtd.error_log


def test_how_it_looks() -> None:
    mods = (
        HdsoMod(101, 1, (0.1,), time_s=Decimal("20.50")),
        HdsoMod(-4, 2, (-0.0, 3.0), name="a&b", id_by_name=True, datatype="double"),
        HdsoMod(161, 7, "1 < 2\r\n", datatype="char"),
        HdsoMod(190),
    )
    script = HdsoScript(mods, name='say "hi"\n', description="ä < ö")
    assert write(script).decode().splitlines() == [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">',
        '<hdsoscript name="say &quot;hi&quot;&#10;">',
        "  <description>ä &lt; ö</description>",
        '  <hdsoMod idNum="101" NumElts="1" time="20.50">0.1</hdsoMod>',
        '  <hdsoMod idNum="-4" name="a&amp;b" idByName="y" NumElts="2" datatype="double">-0 3</hdsoMod>',
        '  <hdsoMod idNum="161" NumElts="7" datatype="char">1 &lt; 2&#13;',
        "</hdsoMod>",
        '  <hdsoMod idNum="190" NumElts="0"/>',
        "</hdsoscript>",
    ]
    assert parse(write(script))[0] == script


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_no_infinity_is_written(value: float) -> None:
    with pytest.raises(SccilsError, match="cannot be written"):
        write(HdsoScript((HdsoMod(1, 1, (value,)),)))


@pytest.mark.parametrize("text", ["\0", "bell\a", "\ud800", "\ufffe", "\x0b"])
def test_no_character_is_written_that_xml_can_not_hold(text: str) -> None:
    with pytest.raises(SccilsError, match="cannot stand in XML"):
        write(HdsoScript((), description=text))
    with pytest.raises(SccilsError, match="cannot stand in XML"):
        write(HdsoList((Hdso(1, "a", (1,), units=text),)))


def test_llint_keeps_all_sixty_four_bits() -> None:
    values = (2**63 - 1, -(2**63), 2**53 + 1)
    script = HdsoScript((HdsoMod(1, 3, values, datatype="llint"),))
    again = parse(write(script))[0]
    assert isinstance(again, HdsoScript)
    assert again.entries[0].data == values
