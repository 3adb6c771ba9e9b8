"""Scriptlog.xml and HDSOlog.xml: whatever is logged reads back, to the same values."""

import re
import struct
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.model.changes import Applied, Write
from nuc_engine.model.plan import HdsoPlan
from nuc_engine.model.planning import stored_values
from nuc_engine.recording import recover
from nuc_engine.recording.scriptlog import HdsoScriptLog, hdso_mod
from sccils_schemas.documents import HdsoScript
from sccils_schemas.parser import parse
from tests.engine.models import one_joint

PLAN = one_joint()


@given(st.text("ab&<>'\"\n\r\t"))
def test_attributes_are_written_as_python_would(text: str) -> None:
    element = hdso_mod(replace(hdso("float"), name=text), (1.0,), 0)
    assert f" name={quoteattr(text)} NumElts" in element


def hdso(datatype: str, count: int = 1, kind: str = "parameter", dims=None) -> HdsoPlan:
    return HdsoPlan(0, 900, "thing", kind, datatype, dims or (count,), 0, count)


def read(path: Path) -> HdsoScript:
    document, problems = parse(path.read_bytes())
    assert problems.ok, str(problems)
    assert isinstance(document, HdsoScript)
    return document


def parsed(path: Path, *elements: str) -> HdsoScript:
    path.write_text(f"<hdsoscript>{''.join(elements)}</hdsoscript>", encoding="utf-8", newline="\n")
    return read(path)


def back(path: Path, described: HdsoPlan, values) -> tuple:
    (entry,) = parsed(path, hdso_mod(described, values, 0)).entries
    return stored_values(described, entry.data, {})


@pytest.mark.parametrize(
    ("datatype", "value", "text"),
    [
        ("float", 0.1, "0.1"),
        ("float", 0.10000000149011612, "0.100000001"),
        ("float", 123456.7890625, "123456.789"),
        ("float", 3.4028234663852886e38, "3.40282347e+38"),
        ("double", 0.1, "0.1"),
        ("double", 0.10000000149011612, "0.10000000149011612"),
        ("int", -7, "-7"),
        ("llint", 9007199254740993, "9007199254740993"),
        ("uchar", 200, "200"),
    ],
)
def test_numbers_have_the_digits_of_their_type(datatype, value, text):
    assert hdso_mod(hdso(datatype), (value,), 1_500_000_000) == (
        f'<hdsoMod idNum="900" name="thing" NumElts="1" datatype="{datatype}" time="1.5">{text}</hdsoMod>'
    )


@pytest.mark.parametrize(
    ("time_ns", "text"), [(0, "0"), (1, "0.000000001"), (20_000_000_000, "20"), (5 * 10**8, "0.5")]
)
def test_times_are_exact_seconds(time_ns, text):
    assert f' time="{text}">' in hdso_mod(hdso("int"), (1,), time_ns)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(value=st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_every_float_comes_back(tmp_path_factory, value):
    (entry,) = parsed(tmp_path_factory.getbasetemp() / "float.xml", hdso_mod(hdso("float"), (value,), 0)).entries
    assert struct.pack("f", entry.data[0]) == struct.pack("f", value)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.binary(min_size=1, max_size=12))
def test_every_run_of_bytes_comes_back(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "char.xml"
    assert back(path, hdso("char", 12), tuple(data)) == tuple(data)


@pytest.mark.parametrize("data", [b"a\r\nb", b"\t", b"\0a", b"\xff", b"\x1b[0m"])
def test_characters_xml_would_change_are_written_as_numbers(tmp_path, data):
    described = hdso("char", 30)
    assert 'datatype="int"' in hdso_mod(described, tuple(data), 0)
    assert back(tmp_path / "s.xml", described, tuple(data)) == tuple(data)


@pytest.mark.parametrize("text", ["abc", "a < b & c", " padded ", "Füße", "]]>"])
def test_characters_are_written_as_text(tmp_path, text):
    described = hdso("char", 30)
    element = hdso_mod(described, tuple(text.encode()), 0)
    assert f'NumElts="{len(text)}" datatype="char"' in element
    assert back(tmp_path / "s.xml", described, tuple(text.encode())) == tuple(text.encode())


def test_a_rule_is_text_and_a_part_of_one_is_numbers(tmp_path):
    described = PLAN.hdso("Enter_flexion")
    rule = stored_values(described, "301 < 103", {})
    assert back(tmp_path / "s.xml", described, rule) == rule
    assert ">301 &lt; 103</hdsoMod>" in hdso_mod(described, rule, 0)
    for part in (rule[:5], (1, 99, *rule[2:]), (1,)):
        element = hdso_mod(described, part, 0)
        assert f'NumElts="{len(part)}" datatype="int"' in element
        assert parsed(tmp_path / "s.xml", element).entries[0].data == part


def log(folder: Path, name: str = "roach") -> HdsoScriptLog:
    return HdsoScriptLog(folder / "Scriptlog.xml", PLAN, "Scriptlog", name)


@pytest.mark.parametrize("reason", ["a--b", "a---b", "----", "ends with -", "-", "nul \0 bell \x07 \ufffe", "-->"])
def test_whatever_the_reason_a_refused_write_is_one_comment(tmp_path, reason):
    script = log(tmp_path)
    script.applied(Applied(5, 1, Write(PLAN.hdso("low").index, (3.0,)), reason))
    script.applied(Applied(5, 1, Write(PLAN.hdso("high").index, (4.0,))))
    assert script.close() == {"Scriptlog.xml": 2}
    text = (tmp_path / "Scriptlog.xml").read_text()
    comment = re.findall(r"<!-- (refused: .*) -->", text)
    assert len(comment) == 1
    assert 'name="low"' in comment[0]
    assert "--" not in comment[0]
    assert comment[0].count("-") == reason.count("-")
    assert [(entry.name, entry.data) for entry in read(tmp_path / "Scriptlog.xml").entries] == [("high", (4.0,))]
    ET.parse(tmp_path / "Scriptlog.xml")  # a second reader's opinion of being well-formed


@pytest.mark.parametrize("name", ['say "roach"', "a<b&c", "nul\0", "\udcff", "tab\tname"])
def test_any_name_of_a_configuration_leaves_it_well_formed(tmp_path, name):
    log(tmp_path, name).close()
    # The whole name stands in the file, to a second reader too, but for characters that XML has no word for.
    told = ET.parse(tmp_path / "Scriptlog.xml").getroot().attrib["name"]
    assert told == read(tmp_path / "Scriptlog.xml").name
    assert told == re.sub("[\0\udcff]", "\ufffd", name)


def test_unused_characters_are_left_out_of_an_answer_but_written_ones_are_kept(tmp_path):
    plan = replace(PLAN, hdsos=(hdso("char", 6),))
    script = HdsoScriptLog(tmp_path / "HDSOlog.xml", plan, "HDSOlog", "roach")
    script.answer(0, 0, 0, (*b"ab", 0, 0, 0, 0))
    script.answer(1, 1, 0, (0, 0))
    script.answer(2, 2, 0, ())
    script.applied(Applied(3, 3, Write(0, (*b"ab", 0))))
    script.close()
    entries = read(tmp_path / "HDSOlog.xml").entries
    assert [(entry.data, entry.num_elts) for entry in entries] == [("ab", 2), ((), 0), ((), 0), ((97, 98, 0), 3)]


def test_a_comment_gives_the_cycle_once_for_each_moment(tmp_path):
    script = log(tmp_path)
    for time_ns, cycle in ((0, 0), (0, 0), (7, 0), (7, 1)):
        script.answer(time_ns, cycle, PLAN.hdso("low").index, (1.0,))
    script.close()
    assert re.findall(r"<!-- cycle (\d+) -->", (tmp_path / "Scriptlog.xml").read_text()) == ["0", "0", "1"]


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=60), author=st.text(max_size=20))
def test_a_remark_of_any_text_is_one_line_that_is_kept_where_a_torn_log_is_mended(tmp_path_factory, text, author):
    folder = tmp_path_factory.mktemp("log")
    script = log(folder)
    script.answer(0, 0, PLAN.hdso("low").index, (1.0,), author)
    script.answered(5, 1, text, author)
    script.left_out(text)
    script.flush()
    path = folder / "Scriptlog.xml"
    written = path.read_bytes()
    assert recover._whole_entries(path) == (len(written), b"</hdsoscript>\n")
    assert script.close() == {"Scriptlog.xml": 3}
    assert len(read(path).entries) == 1


def test_what_is_on_disk_is_always_whole_lines(tmp_path):
    path = tmp_path / "Scriptlog.xml"
    script = log(tmp_path)
    for k in range(400):  # several times what a file buffers by itself
        script.answer(k, k, PLAN.hdso("low").index, (1.0,))
        assert path.read_bytes()[-1:] in (b"", b"\n")
    script.flush()
    text = path.read_text()
    assert text.count("<hdsoMod") == 400
    assert text.endswith("</hdsoMod>\n")
    assert script.close() == script.close() == {"Scriptlog.xml": 400}
    assert path.read_text() == text + "</hdsoscript>\n"
