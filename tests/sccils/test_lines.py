"""The line that is named is that of the very value, however a document is laid out."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sccils_schemas import xmlread
from sccils_schemas.documents import HdsoMod, HdsoScript
from sccils_schemas.lines import attribute_line, data_line
from sccils_schemas.model import check_script, load_any, load_model
from sccils_schemas.parser import parse, read_document
from sccils_schemas.problems import Problems
from tests.sccils.small import SMALL, changed, small_model

J, P = "joints.xml", "parameters.xml"
MODEL = small_model()
FILES = {name: (SMALL / name).read_text() for name in (J, P)}

# The wrong value stands alone on a line, between the texts before and after it.
ELSEWHERE = {
    "a number of a matrix": (
        J,
        "0 0 -1 0 <!-- a quarter",
        "0 0 x 0 <!-- a quarter",
        "0 0 x 0",
        "'x' is not of type float",
    ),
    "a number after a comment": (J, "0 1 0 10.5", "0 1 0\n1e99", "1e99", "does not fit type float"),
    "first data out of range": (P, "<initial_data>3<", "<initial_data>\n\n5\n<", "5", "5 is no value"),
    "one of several": (P, "0 128 255", "0\n128\n256", "256", "256 does not fit type uchar"),
    "a byte out of range": (
        P,
        "<initial_data>abc<",
        '<range type="valid"><bound type="upper">98</bound></range><initial_data>a\nb\nc<',
        "c<",
        "99 is no value",
    ),
    "a number a script may not write": (J, 'NumElts="1">-0.5', 'NumElts="1">\n-50\n', "-50", "-50 is no value"),
    "an attribute": (J, 'fmax="15"', '\nfmax="x"\n', 'fmax="x"', "fmax='x' of <muscle> is not allowed"),
    "an attribute of the wrong size": (J, 'Lnaught="20" r="10"', '\nLnaught="0"\nr="10"', "Lnaught", "Lnaught='0'"),
    "one of a list": (J, '"Coxa_angle, Femur_angle"', '"Coxa_angle,\nFemur;"', "Femur;", "'Femur;'"),
    "a name in a rule": (J, '"Coxa_current > ret_load"', '"Coxa_current\n>\nret_lod"', "ret_lod", "'ret_lod'"),
    "an operator in a rule": (J, "(302 &lt; 101)|", "(302 &lt; 101)\n=\n", "=", "'=' is not an operator"),
    "text where none belongs": (
        J,
        "<geometry>\n      <amatrix>",
        "<geometry>\n\noops\n      <amatrix>",
        "oops",
        "no place",
    ),
    "a size": (P, '<dimsize dimNr="1">8<', '<dimsize dimNr="1">\n8.5\n<', "8.5", "holds '8.5'"),
    "a size too large": (P, '<dimsize dimNr="1">8<', '<dimsize\ndimNr="1">2147483647<', "2147483647", "at most 65536"),
    "a bound": (P, '<bound type="upper">4<', '<bound type="upper">\n1e999<', "1e999", "bound 1e999 is too large"),
    "a bound on the wrong side": (P, '<bound type="lower">0<', '<bound type="lower">\n99<', "99", "lower bound 99"),
    "a step": (P, "-20</bound>", "-20</bound><quantum>\n-7\n</quantum>", "-7", "quantum -7"),
    "a type of list": (P, 'DataSetType="parameterList"', '\nDataSetType="odd"', 'DataSetType="odd"', "'odd' is not"),
    "a list of the other type": (
        P,
        'DataSetType="parameterList"',
        '\nDataSetType="sensorList"',
        'DataSetType="sensorList"',
        "DataSetType='sensorList'",
    ),
    "a parent": (J, 'idNum="2" parent="1"', 'idNum="2"\nparent="7"', 'parent="7"', "is no joint"),
    "the parameter that must not be 0": (J, "-0.5 1 1<", "\n0\n1 1<", "0", "divides by it"),
    "wmax": (J, "0 0.8 0.01 61 100", "0 0.8 0.01 61\n61", "61</", "both 61"),
}


@pytest.mark.parametrize(("file", "old", "new", "marker", "words"), ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_a_value_on_a_line_of_its_own(tmp_path: Path, file: str, old: str, new: str, marker: str, words: str) -> None:
    folder = changed(tmp_path, (file, old, new))
    text = (folder / file).read_text()
    begin = text.index(new)
    line = text.count("\n", 0, text.index(marker, begin)) + 1
    _, problems = load_model(folder)
    found = [problem.line for problem in problems if words in str(problem)]
    assert found == [line], str(problems)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "before", ["", "<?xml version='1.0' encoding='ISO-8859-1'?>\n", "<!-- \u00e4\u00f6\n\u00fc -->\n"]
)
def test_it_is_counted_alike_whatever_the_line_ends_and_letters(before: str, ending: str) -> None:
    text = before + '<hdsoscript\nname="\u00e9">\n<hdsoMod\nidNum="101" NumElts="1">\n\nx\n</hdsoMod></hdsoscript>'
    line = text.count("\n", 0, text.index("x\n</")) + 1
    _, problems = parse(text.replace("\n", ending).encode("latin-1" if "8859" in before else "utf-8"), "s.xml")
    assert [problem.line for problem in problems] == [line]


LAYOUT = st.lists(
    st.sampled_from((" ", "\n", "\n\n", ", ", "<!-- c -->", "<!-- c\nd -->", "\n<?p i?>\n")), min_size=1, max_size=4
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 99), LAYOUT), min_size=1, max_size=12), st.sampled_from(("", "\n", "\n  \n")))
def test_every_number_knows_its_line(numbers: Sequence[tuple[int, list[str]]], gap: str) -> None:
    text, lines = f'<hdsoscript><hdsoMod{gap} idNum="101"{gap} NumElts="{len(numbers)}"{gap}>', list[int]()
    for number, layout in numbers:
        # Commas stand between numbers, one at most.
        between = "".join(part for k, part in enumerate(layout) if part != ", " or not k)
        lines.append(text.count("\n") + 1)
        text += f"{number}{between if number is not numbers[-1][0] else ''} "
    document, problems = parse(f"{text.rstrip(', ')}</hdsoMod></hdsoscript>".encode(), "s.xml")
    if document is None:  # a comma after the last number
        assert "before or after a comma" in str(problems)
        return
    assert isinstance(document, HdsoScript)
    (mod,) = document.entries
    assert isinstance(mod, HdsoMod)
    assert [data_line(mod.line, k) for k in range(len(numbers))] == lines
    assert attribute_line(mod.line, "NumElts") == text.count("\n", 0, text.index("NumElts")) + 1


def test_what_a_program_made_has_the_line_it_was_given() -> None:
    mod = HdsoMod(101, 2, (1.0, 99.0), line=7)
    assert (attribute_line(mod.line, "time"), data_line(mod.line, 1)) == (7, 7)
    (problem,) = check_script(HdsoScript((HdsoMod(101, 1, (99.0,), line=7),)), MODEL).errors
    assert problem.line == 7


def test_a_line_is_a_number_to_whoever_wants_one() -> None:
    problems = Problems()
    document = read_document(b'<hdsoscript><hdsoMod\nidNum="101"\nNumElts="1">1</hdsoMod></hdsoscript>', "s", problems)
    assert isinstance(document, HdsoScript)
    line = document.entries[0].line
    assert (line, f"{line}", line + 1, type(line + 1)) == (1, "1", 2, int)


def test_a_document_of_a_wrong_line_is_still_checked_whole(tmp_path: Path) -> None:
    path = tmp_path / "s.xml"
    path.write_text(
        '<hdsoscript><hdsoMod idNum="101" NumElts="2">1\n2</hdsoMod>\n'
        '<hdsoMod idNum="9999" NumElts="1">1\n</hdsoMod></hdsoscript>'
    )
    lines = [problem.line for problem in load_any(path, MODEL)[1].errors]
    assert lines == [2, 3]


def test_what_is_accepted_is_read_by_lxml_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xmlread.SourceText, "read", None)
    monkeypatch.setattr(xmlread.SourceText, "layouts", None)
    model, problems = load_model(changed(tmp_path, (J, ' idNum="401"', '\nidNum="401"')))
    assert model is not None, str(problems)


def test_lines_are_right_beyond_those_that_lxml_counts() -> None:
    lines = b"<!--" + b"\n" * 70_000 + b"-->"
    document, _ = parse(b"<hdsoscript>" + lines + b'<hdsoMod\nidNum="1" NumElts="0"/></hdsoscript>')
    assert isinstance(document, HdsoScript)
    assert document.entries[0].line == 70_001


def test_what_looks_like_a_tag_of_several_lines_is_none() -> None:
    between = "<!-- <a\nb='1'> --><?p <a\nb='1'?><description><![CDATA[<a\nb='1'>]]>&lt;a\n></description>"
    document, problems = parse(
        f'<hdsoscript\nname="a > b\n">{between}<hdsoMod idNum="1" NumElts="0"/></hdsoscript>'.encode()
    )
    assert isinstance(document, HdsoScript), str(problems)
    assert (document.line, document.entries[0].line) == (1, 7)


def test_a_copy_knows_its_lines_too() -> None:
    document, _ = parse(b'<hdsoscript><hdsoMod\nidNum="101" NumElts="2">1\n2</hdsoMod></hdsoscript>')
    copy = pickle.loads(pickle.dumps(document))
    assert isinstance(copy, HdsoScript)
    line = copy.entries[0].line
    assert (line, attribute_line(line, "idNum"), data_line(line, 1)) == (1, 2, 3)
