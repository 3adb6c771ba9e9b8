"""The grammar: plain messages, everything at once, and the same verdict as a RELAX NG and a DTD validator."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

import sccils_schemas
from benchmarks.documents import disagreements
from sccils_schemas import parser
from sccils_schemas.grammar import check, load_grammar
from sccils_schemas.mapping import ELEMENTS, Attribute
from sccils_schemas.problems import Problems
from sccils_schemas.xmlread import DTD_OF_ROOT, GRAMMAR_OF_ROOT, read_xml
from tests.sccils.small import NEWER, SMALL

PACKAGE = Path(sccils_schemas.__file__).parent
ROOT = PACKAGE.parent
SHIPPED = sorted(
    [*ROOT.glob("configs/*/*.xml"), *ROOT.glob("scripts/*.xml"), *SMALL.glob("*.xml"), *NEWER.glob("*.xml")]
)
DOCUMENTS = [etree.fromstring(path.read_bytes()) for path in sorted([*SMALL.glob("*.xml"), *NEWER.glob("*.xml")])]
PROPERTY = settings(max_examples=150, deadline=None, derandomize=True)

RELAX_NG = {name: etree.RelaxNG(file=str(PACKAGE / "rng" / f"{name}.rng")) for name in set(GRAMMAR_OF_ROOT.values())}
DTDS = {name: etree.DTD(str(PACKAGE / "dtd" / name)) for name in set(DTD_OF_ROOT.values())}


def problems_of(tree: etree._Element) -> Problems:
    problems = Problems()
    root = read_xml(etree.tostring(tree), "a.xml", problems)
    assert root is not None, str(problems)
    check(root, load_grammar(GRAMMAR_OF_ROOT[root.tag]), "a.xml", problems)
    return problems


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_shipped_documents_fit_every_schema(path: Path) -> None:
    tree = etree.fromstring(path.read_bytes())
    relax_ng, dtd = RELAX_NG[GRAMMAR_OF_ROOT[tree.tag]], DTDS[DTD_OF_ROOT[tree.tag]]
    assert relax_ng.validate(tree), relax_ng.error_log
    assert dtd.validate(tree), dtd.error_log
    assert not len(problems_of(tree)), str(problems_of(tree))


def test_what_is_changed_at_random_has_every_element_and_attribute_of_a_newer_version() -> None:
    found = [element for tree in DOCUMENTS for element in tree.iter() if isinstance(element.tag, str)]
    tags, attributes = {element.tag for element in found}, {(e.tag, name) for e in found for name in e.attrib}
    elements = [*ELEMENTS.values()]
    newer = [element for element in elements if element.since]
    assert {element.tag for element in newer} <= tags
    named = {(e.tag, part.name) for e in elements for part in e.parts if isinstance(part, Attribute)}
    of_newer = {
        (tag, name) for tag, name in named if tag in {e.tag for e in newer} and name not in ("fullname", "xmltype")
    }
    since = {(element.tag, name) for element in elements for name in element.attributes_since}
    assert of_newer | since <= attributes


TAGS = sorted({name for kind in RELAX_NG for name in load_grammar(kind).elements} | {"unknown"})


@st.composite
def mutated(draw: st.DrawFn) -> etree._Element:
    """One of the small documents with one or two things changed at random."""
    tree = copy.deepcopy(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 2))):
        elements = [element for element in tree.iter() if isinstance(element.tag, str)]
        target = elements[draw(st.integers(0, len(elements) - 1))]
        mutate(draw, target)
    return tree


def mutate(draw: st.DrawFn, target: etree._Element) -> None:
    parent = target.getparent()
    kinds = ["rename", "insert", "drop attribute", "rename attribute"]
    kinds += ["delete", "swap"] if parent is not None else []
    names = sorted(target.attrib)
    match draw(st.sampled_from(kinds)):
        case "rename" if parent is not None:
            target.tag = draw(st.sampled_from(TAGS))
        case "insert":
            child = etree.Element(draw(st.sampled_from(TAGS)))
            target.insert(draw(st.integers(0, len(target))), child)
        case "delete":
            parent.remove(target)
        case "swap":
            sibling = draw(st.sampled_from(list(parent)))
            at = parent.index(sibling)
            parent.remove(target)
            parent.insert(at, target)
        case "drop attribute" if names:
            del target.attrib[draw(st.sampled_from(names))]
        case "rename attribute" if names:
            name = draw(st.sampled_from(names))
            target.set(draw(st.sampled_from(["fullname", "units", "time", "bogus"])), target.attrib.pop(name))


def test_lxml_refuses_exactly_what_the_walk_finds_something_in() -> None:
    """`python -m benchmarks.fuzz` tries a hundred thousand."""
    became, differing = disagreements(range(300))
    assert differing == []
    assert min(became["accepted"], became["refused"]) > 80


def test_what_lxml_alone_refuses_is_refused_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "judge", lambda source: (7, "not allowed by the grammar: no"))
    document, problems = parser.parse(b"<hdsoscript/>", "a.xml")
    assert document is None
    assert str(problems) == "a.xml:7: error: not allowed by the grammar: no"


@PROPERTY
@given(mutated())
def test_relax_ng_and_dtd_agree_on_structure(tree: etree._Element) -> None:
    relax_ng, dtd = RELAX_NG[GRAMMAR_OF_ROOT[tree.tag]], DTDS[DTD_OF_ROOT[tree.tag]]
    if relax_ng.validate(tree) != dtd.validate(tree):
        # A DTD cannot say what a text, or an attribute without listed values, holds.
        assert dtd.validate(tree), f"{dtd.error_log}\n{etree.tostring(tree).decode()}"
        problems = problems_of(tree)
        values = (" is not allowed", "> holds ", "> is empty")
        assert all(any(part in problem.what for part in values) for problem in problems), str(problems)


PARTS = {"description", "endpoint", "dimsize", "bound", "quantum", "initial_data", "sccils_config_parameter"}
"""Elements that are a field of the one they stand in."""
HOLDERS = {"amatrix", "DHline", "dwell_time", "forceCommand", "positionCommand"}


@pytest.mark.parametrize("kind", sorted(RELAX_NG))
def test_the_table_has_what_the_grammar_has(kind: str) -> None:
    for tag, rule in load_grammar(kind).elements.items():
        if tag in PARTS | HOLDERS:
            continue
        attributes = {part.name: part for part in ELEMENTS[tag].parts if isinstance(part, Attribute)}
        theirs = {name: known for name, known in rule.attributes.items() if name != "numdims"}
        assert set(attributes) == set(theirs), tag
        for name, part in attributes.items():
            assert part.required == theirs[name].required, f"{name} of {tag}"
            default = None if part.required or part.default in (None, ()) else part.kind.write(part.default)
            assert default == theirs[name].default, f"{name} of {tag}"


def test_defaults_are_the_same_in_both_schemas() -> None:
    for kind, dtd_name in (
        ("jointlist", "sccils_joint.dtd"),
        ("hdsolist", "hdso.dtd"),
        ("hdsoscript", "hdsoscript.dtd"),
        ("commandscript", "sccils_commandscript.dtd"),
    ):
        declared = {element.name: element for element in DTDS[dtd_name].iterelements()}
        elements = load_grammar(kind).elements
        assert set(elements) <= set(declared)
        for name, rule in elements.items():
            theirs = {attribute.name: attribute for attribute in declared[name].iterattributes()}
            defaults = {a: rule.attributes[a].default for a in rule.attributes}
            assert defaults == {a: theirs[a].default_value for a in theirs}
            assert {a for a in rule.attributes if rule.attributes[a].required} == {
                a for a in theirs if theirs[a].default == "required"
            }
            listed = {a: set(rule.attributes[a].value.values) for a in rule.attributes}
            assert listed == {a: set(theirs[a].values()) for a in theirs}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("<hdsoscript>\n<hdsMod/></hdsoscript>", 2, ("unknown element <hdsMod>", "did you mean 'hdsoMod'?")),
        ("<hdsoscript>\n<HDSOMOD/></hdsoscript>", 2, ("did you mean 'hdsoMod'?",)),
        ("<hdsoscript>\n<joint/></hdsoscript>", 2, ("unknown element <joint>", "<hdsoMod> or <hdsoSpec>")),
        ("<jointlist>\n<muscle/></jointlist>", 2, ("<muscle> cannot stand in <jointlist>", "<joint>")),
        ("<jointlist>\n<jointlist/></jointlist>", 2, ("joint lists inside joint lists are not supported",)),
        ("<hdsoscript>\n\n<hdsoMod NumElts='0'/></hdsoscript>", 3, ("<hdsoMod> lacks the attribute idNum", "whole")),
        ("<hdsoscript>\n<hdsoSpec idNum='x'/></hdsoscript>", 2, ("idNum='x'", "a whole number")),
        ("<hdsoscript>\n<hdsoSpec idNum='1.0'/></hdsoscript>", 2, ("idNum='1.0'", "a whole number")),
        ("<hdsoscript>\n<hdsoSpec idNum='1' tme='3'/></hdsoscript>", 2, ("no attribute 'tme'", "did you mean 'time'?")),
        (
            "<hdsoscript>\n<hdsoSpec idNum='1' datatype='lrint'/></hdsoscript>",
            2,
            ("datatype='lrint'", "one of float, double, int, lint", "did you mean 'lint'?"),
        ),
        ("<hdsoscript>\n<hdsoSpec idNum='1'>5</hdsoSpec></hdsoscript>", 2, ("text '5' has no place in <hdsoSpec>",)),
        ("<hdsoscript>hello</hdsoscript>", 1, ("text 'hello' has no place",)),
        ("<hdsoscript>\n<hdsoSpec idNum='1'/>\n<description/></hdsoscript>", 3, ("out of place", "description, hds")),
        ("<hdsoscript xmlns='urn:x'/>", 1, ("no attribute 'xmlns'",)),
        ("<jointlist>\n<endpoint/></jointlist>", 2, ("<endpoint> lacks an element", "<joint>")),
        ("<hdsolist>\n<hdso idNum='1' name='1a' numdims='1'/></hdsolist>", 2, ("name='1a'", "a letter or underscore")),
        ("<hdsolist>\n<hdso idNum='1' name='a b' numdims='1'/></hdsolist>", 2, ("name='a b'",)),
        (f"<hdsolist>\n<hdso idNum='1' name='{'a' * 129}' numdims='1'/></hdsolist>", 2, ("too long", "128 bytes")),
        (f"<hdsoscript name='{'ä' * 65}'/>", 1, ("too long", "128 bytes")),
        ("<sccils_commandscript>\n<sccils_command_config/></sccils_commandscript>", 2, ("'sccils_config_command'?",)),
        ("<sccils_commandscript>\n<sccils_command commandtype='walk'/></sccils_commandscript>", 2, ("run, stop",)),
    ],
)
def test_messages(text: str, line: int, words: tuple[str, ...]) -> None:
    _, problems = parser.parse(text.encode(), "a.xml")
    found = [problem for problem in problems if problem.line == line and all(word in str(problem) for word in words)]
    assert found, str(problems)


def test_a_missing_element_is_named_where_it_is_missing() -> None:
    text = (
        "<jointlist>\n<joint name='a' idNum='1' parent='0'>\n<state name='b' idNum='2'>\n</state></joint></jointlist>"
    )
    problems = Problems()
    root = read_xml(text.encode(), "a.xml", problems)
    assert root is not None
    check(root, load_grammar("jointlist"), "a.xml", problems)
    assert [str(problem) for problem in problems] == [
        "a.xml:3: error: <geometry> is missing before <state> in <joint>",
        "a.xml:3: error: <state> lacks an element, expected <transition_rule>",
    ]


def test_lines_are_where_elements_start() -> None:
    root = read_xml(b"<hdsoscript>\n<hdsoSpec\n  idNum='1'\n  time='2'/>\n</hdsoscript>", "a.xml", Problems())
    assert root is not None
    assert root.children[0].line == 2
