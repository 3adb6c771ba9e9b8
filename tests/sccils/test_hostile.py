"""Documents that mean harm, or are broken: one clear line each, bounded work, nothing opened."""

from __future__ import annotations

import io
import itertools
import os
import tracemalloc
from pathlib import Path

import pytest

from sccils_schemas import grammar, xmlread
from sccils_schemas.checks.hdso_table import HdsoTable
from sccils_schemas.checks.rules import all_rule_parts, find_circles
from sccils_schemas.documents import HdsoList
from sccils_schemas.model import load_any
from sccils_schemas.names import MAX_CANDIDATES, did_you_mean
from sccils_schemas.parser import parse, read_document
from sccils_schemas.problems import MAX_GUESSED, MAX_KEPT, Problems

LAUGHS = "".join(f'<!ENTITY {c} "{f"&{p};" * 10}">' for p, c in zip("abcdefghi", "bcdefghij", strict=True))
BOMB = f'<!DOCTYPE hdsoscript [<!ENTITY a "ha">{LAUGHS}]><hdsoscript name="&j;"/>'
DEEP = "<hdsoscript>" + "<description>" * 100_000


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (BOMB, 1, ("internal subset",)),
        ('<!DOCTYPE hdsoscript [\n<!ENTITY x SYSTEM "file:///etc/passwd">]><hdsoscript name="&x;"/>', 1, ("subset",)),
        ('<!DOCTYPE hdsoscript [<!ENTITY % x SYSTEM "http://127.0.0.1:1/x.dtd">%x;]><hdsoscript/>', 1, ("subset",)),
        ('\n<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd" [ ]><hdsoscript/>', 2, ("internal subset",)),
        ('<!DOCTYPE hdsoscript SYSTEM "file:///etc/passwd">\n<hdsoscript/>', 1, ("/etc/passwd", "not opened")),
        ('<!DOCTYPE hdsoscript SYSTEM "http://example.org/hdsoscript.dtd"><hdsoscript/>', 1, ("not opened",)),
        ('<!DOCTYPE hdsoscript PUBLIC "x" "../hdsoscript.dtd"><hdsoscript/>', 1, ("not opened",)),
        ("<hdsoscript>\n<description>&xxe;</description></hdsoscript>", 2, ("undefined entity", "&amp;")),
        ('<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">\n<hdsoscript\n name="a&and;b"/>', 2, ("undefined entity",)),
        ('<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">\n<hdsoscript>&x;</hdsoscript>', 2, ("undefined",)),
        (DEEP, 1, ("nested too deeply", "24")),
        ('<hdsoscript fullname="' + "\u00e4" * 4_100 + '"/>', 1, ("attribute fullname", "too long", "8192")),
        ('<hdsoscript name="' + "x" * 10_000 + '"/>', 1, ("attribute name", "too long", "8192")),
        ("<hdsoscript " + " ".join(f'a{i}="1"' for i in range(50)) + "/>", 1, ("too many attributes", "32")),
        ("<hdsoscript>\n<description>\0</description></hdsoscript>", 2, ("NUL",)),
        ("<hdsoscript>\n<description>\x07</description></hdsoscript>", 2, ("not well-formed",)),
        ("<hdsoscript><description>&#0;</description></hdsoscript>", 1, ("not well-formed",)),
        ("<hdsoscript>\n<description></hdsoscript>", 2, ("closing tag", "<description>", "line 2")),
        ("<hdsoscript>\n\n", 3, ("ends before <hdsoscript> of line 1 is closed",)),
        ("", 1, ("not well-formed",)),
        ("hello", 1, ("not well-formed",)),
        ("<hdsoscript/><hdsoscript/>", 1, ("not well-formed",)),
        ('<hdsoscript name="a" name="b"/>', 1, ("not well-formed",)),
        ("<hdsoscript/>\n<!DOCTYPE hdsoscript>", 2, ("not well-formed",)),
        ("<!DOCTYPE hdsolist><hdsoscript/>", 1, ("the DOCTYPE says 'hdsolist'",)),
        ("<!DOCTYPE hdsoscript SYSTEM '<!DOCTYPE>'><hdsoscript/>", 1, ("not well-formed",)),
        ("<html/>", 1, ("root element is <html>", "<jointlist>")),
        ('<?xml version="2.0"?><hdsoscript/>', 1, ("XML declaration not well-formed",)),
        ("<hdsoscript>\n<?a:b?></hdsoscript>", 2, ("not well-formed", "a colon")),
        ("<hdsoscript><?\u0560?></hdsoscript>", 1, ("not well-formed",)),
        ("<hdsoscript xmlns=''/>", 1, ("no attribute 'xmlns'",)),
        ('<?xml version="1.0" encoding="utf-7"?><hdsoscript/>', 1, ("utf-7", "UTF-8")),
        ('<?xml version="1.0" encoding="windows-1252"?><hdsoscript/>', 1, ("windows-1252",)),
    ],
)
def test_refused_with_one_line(text: str, line: int, words: tuple[str, ...]) -> None:
    document, problems = parse(text.encode(), "bad.xml")
    assert document is None
    (problem,) = problems.errors
    assert (problem.file, problem.line) == ("bad.xml", line)
    assert all(word in str(problem) for word in words), str(problem)
    assert "\n" not in str(problem)
    assert len(str(problem)) < 500


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"<hdsoscript>\n<description>\xff</description></hdsoscript>", 2, ("0xff", "UTF-8")),
        (b"<hdsoscript>\n\n<description>\xc3\x28</description></hdsoscript>", 3, ("0xc3",)),
        (b"<hdsoscript name='\xed\xa0\x80'/>", 1, ("0xed",)),
        ("<hdsoscript/>".encode("utf-16"), 1, ("UTF-16", "UTF-8")),
        ("<hdsoscript/>".encode("utf-16-be"), 1, ("UTF-16",)),
        (b"\x1f\x8b\x08\x00", 1, ("NUL",)),
        ('<?xml version="1.0" encoding="ascii"?><hdsoscript name="\xe9"/>'.encode(), 1, ("ASCII",)),
    ],
)
def test_refused_bytes(data: bytes, line: int, words: tuple[str, ...]) -> None:
    document, problems = parse(data, "bad.xml")
    assert document is None
    (problem,) = problems.errors
    assert problem.line == line
    assert all(word in str(problem) for word in words), str(problem)


@pytest.mark.parametrize(
    "data",
    [
        "<hdsoscript name='\xe4'/>".encode(),
        b"\xef\xbb\xbf" + "<hdsoscript name='\xe4'/>".encode(),
        b"\xef\xbb\xbf" + "<?xml version='1.0' encoding='UTF-8'?><hdsoscript name='\xe4'/>".encode(),
        b"\xef\xbb\xbf" + "<?xml version='1.0' encoding='ISO-8859-1'?><hdsoscript name='\xe4'/>".encode(),
        "<?xml version='1.0' encoding='utf8' standalone='no'?><hdsoscript name='\xe4'/>".encode(),
        "<?xml version='1.0' encoding='ISO-8859-1'?><hdsoscript name='\xe4'/>".encode("latin-1"),
    ],
)
def test_encodings_that_are_read(data: bytes) -> None:
    document, problems = parse(data)
    assert document is not None, str(problems)
    assert document.name == "\xe4"


def sparse(path: Path, size: int) -> Path:
    """Make a file that begins like a document and goes on with zeros, without writing them."""
    with path.open("wb") as file:
        file.write(b"<hdsoscript><description>")
        file.truncate(size)
    return path


def test_of_a_huge_file_no_more_than_the_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sparse(tmp_path / "huge.xml", 100 * 2**20)
    asked: list[int] = []
    opened = os.fdopen

    class Counting(io.BufferedReader):
        def read(self, size: int | None = -1) -> bytes:
            data = super().read(size)
            asked.append(len(data))
            return data

    monkeypatch.setattr(xmlread.os, "fdopen", lambda fd, mode: Counting(opened(fd, mode, buffering=0)))
    tracemalloc.start()
    try:
        document, problems = load_any(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert document is None
    assert asked == [xmlread.MAX_BYTES + 1]
    assert peak < 4 * xmlread.MAX_BYTES
    (problem,) = problems.errors
    assert (
        str(problem) == f"{path}:1: error: the document is too large, expected at most 8 MiB (nothing of it was parsed)"
    )


def test_the_largest_documents_are_bounded_by_structure() -> None:
    many = b"<hdsoscript>" + b'<hdsoSpec idNum="1"/>' * (xmlread.MAX_ELEMENTS + 10) + b"</hdsoscript>"
    document, problems = parse(many)
    assert document is None
    (problem,) = problems.errors
    assert "too many elements" in str(problem)


def test_a_large_text_is_not_quadratic() -> None:
    # Newlines make expat report text piece by piece; joined one by one they would be copied over and over.
    problems = Problems()
    text = b"<hdsoscript><description>" + b"word\n" * 1_500_000 + b"</description></hdsoscript>"
    root = xmlread.read_xml(text, "long.xml", problems)
    assert root is not None
    assert len(root.children[0].pieces) == 1
    assert len(root.children[0].text) == 7_500_000


def test_problems_are_counted_but_not_kept_without_end() -> None:
    bad = b"<hdsoscript>" + b"<x/>\n" * 3000 + b"</hdsoscript>"
    _, problems = parse(bad, "bad.xml")
    assert len(problems) == 3000
    assert len(list(problems)) == MAX_KEPT
    assert str(problems).splitlines()[-1] == "error: ... and 2000 more"


def test_what_is_no_file(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo.xml"
    os.mkfifo(fifo)
    for path, words in (
        (tmp_path / "none.xml", "no such file"),
        (tmp_path, "not a file"),
        (fifo, "not a file"),
        (Path("/dev/zero"), "not a file"),
        (tmp_path / "none" / "none.xml", "no such file"),
        (Path("a\0b"), "cannot be read"),
    ):
        document, problems = load_any(path)
        assert document is None
        (problem,) = problems.errors
        assert words in str(problem)


def test_a_misspelt_file_name_is_guessed(tmp_path: Path) -> None:
    (tmp_path / "joints.xml").write_text("<jointlist/>")
    _, problems = load_any(tmp_path / "joint.xml")
    assert "did you mean 'joints.xml'?" in str(problems)


def test_numbers_are_bounded() -> None:
    for data, words in (
        ("9" * 5000, "does not fit type int"),
        ("1e400", "not of type int"),
        (" ".join(["1"] * 70_000), "at most 65536"),
    ):
        mod = f'<hdsoMod idNum="1" NumElts="1" datatype="int">{data}</hdsoMod>'
        _, problems = parse(f"<hdsoscript>{mod}</hdsoscript>".encode())
        assert words in str(problems)
        assert all(len(str(problem)) < 300 for problem in problems)
    for size in ("999999999", "65537"):
        text = f'<hdsolist><hdso idNum="1" name="a" numdims="1"><dimsize dimNr="1">{size}</dimsize></hdso></hdsolist>'
        assert "at most 65536" in str(parse(text.encode())[1])
    assert "is out of range" in str(parse(b'<hdsoscript><hdsoSpec idNum="' + b"9" * 5000 + b'"/></hdsoscript>')[1])
    for time in ("1e999999999", "1e99", "nan", "inf", "9" * 200):
        _, problems = parse(f'<hdsoscript><hdsoSpec idNum="1" time="{time}"/></hdsoscript>'.encode())
        assert not problems.ok
        assert "seconds" in str(problems)


def test_guesses_at_what_was_meant_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(grammar, "did_you_mean", lambda word, known: calls.append(word) or "")
    _, problems = parse(b"<hdsoscript>" + b"<x/>\n" * 3000 + b"</hdsoscript>")
    assert len(problems) == 3000
    assert 0 < len(calls) <= 2 * MAX_GUESSED
    looked_at = itertools.count()
    assert did_you_mean("nothing", (f"x{next(looked_at)}" for _ in range(10**6))) == ""
    assert next(looked_at) <= MAX_CANDIDATES


def test_lists_of_references_are_bounded() -> None:
    activation = f'<muscle_activation muscle="1" activation_function="constant" activation_parameters="{"7 " * 2000}"/>'
    rule = '<transition_rule boolstring="1"><hdsoMod idNum="1" NumElts="0"/></transition_rule>'
    state = f'<state name="s" idNum="1">{activation}{rule}</state>'
    text = f'<jointlist><joint name="j" idNum="1" parent="0"><geometry/>{state}</joint></jointlist>'
    _, problems = parse(text.encode())
    (problem,) = problems.errors
    assert "activation_parameters names 2000 HDSOs, expected at most 64" in str(problem)


def test_long_chains_are_walked_once(tmp_path: Path) -> None:
    many = 2000
    joints = "".join(f'<joint name="j{i}" idNum="{i}" parent="{i + 1}"><geometry/></joint>\n' for i in range(1, many))
    path = tmp_path / "joints.xml"
    path.write_text(f'<jointlist>{joints}<joint name="last" idNum="{many}" parent="1"><geometry/></joint></jointlist>')
    _, problems = load_any(path)
    (problem,) = problems.errors
    assert "joint 1 (j1) is its own ancestor: 1 -> 2 -> " in str(problem)
    assert len(str(problem)) < 300
    rules = "".join(
        f'<hdso idNum="{i}" name="r{i}" abstractType="boolstring" datatype="int" numdims="2">'
        f'<dimsize dimNr="1">2</dimsize><dimsize dimNr="2">30</dimsize><initial_data>{i + 1}</initial_data></hdso>\n'
        for i in range(many)
    )
    problems = Problems()
    table = HdsoTable(complete=False)
    hdsolist = read_document(f"<hdsolist>{rules}</hdsolist>".encode(), "p.xml", problems)
    assert isinstance(hdsolist, HdsoList)
    table.add(hdsolist, "p.xml", "parameter")
    rules = all_rule_parts(table)
    assert find_circles(rules, rules) == []
    table.values[many - 1] = "0"
    rules = all_rule_parts(table)
    ((circle, _),) = find_circles(rules, rules)
    assert sorted(circle) == list(range(many))


def test_the_store_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "parameters.xml"
    lists = "".join(
        f'<hdso idNum="{i}" name="a{i}" numdims="1"><dimsize dimNr="1">65536</dimsize></hdso>' for i in range(17)
    )
    path.write_text(f"<hdsolist>{lists}</hdsolist>")
    assert "all HDSOs together have 1114112 elements, expected at most 1048576" in str(load_any(path)[1])
    sixteen = lists[: lists.index('<hdso idNum="16"')]
    path.write_text(f"<hdsolist>{sixteen}</hdsolist>")
    assert load_any(path)[1].ok


def test_muscles_and_states_of_a_joint_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "joints.xml"
    muscles = "".join(f'<muscle name="m{i}" idNum="{i}" Lnaught="1" r="1" alpha="1" fmax="1"/>' for i in range(257))
    path.write_text(f'<jointlist><joint name="j" idNum="1" parent="0">{muscles}<geometry/></joint></jointlist>')
    assert "joint 1 has 257 muscles and 0 states, expected at most 256 of each" in str(load_any(path)[1])
