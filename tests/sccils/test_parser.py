"""Reading documents: what NeuRoMod's files look like, what they mean, and what a model says of itself."""

from __future__ import annotations

import dataclasses
import hashlib
from decimal import Decimal
from pathlib import Path

import pytest

from sccils_schemas.documents import (
    Document,
    Hdso,
    HdsoList,
    HdsoMod,
    HdsoScript,
    JointList,
    MuscleActivation,
    PlotStyle,
    Range,
)
from sccils_schemas.model import check_model, load_any, load_model
from sccils_schemas.parser import parse
from sccils_schemas.problems import Problem, Problems, SccilsError
from tests.sccils.small import SMALL, changed, small_model

MODEL = small_model()


def script(*lines: str) -> HdsoScript:
    document, problems = parse(("<hdsoscript>" + "\n".join(lines) + "</hdsoscript>").encode())
    assert isinstance(document, HdsoScript), str(problems)
    return document


def one_hdso(text: str) -> Hdso:
    document, problems = parse(f'<hdsolist><hdso idNum="1" name="a" {text}</hdso></hdsolist>'.encode())
    assert isinstance(document, HdsoList), str(problems)
    return document.hdsos[0]


@pytest.mark.parametrize(
    "doctype",
    [
        "",
        "<!DOCTYPE hdsoscript>",
        '<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">',
        '<!DOCTYPE hdsoscript SYSTEM "/usr/local/src/romod_dtds/hdsoscript.dtd">',
        '<!DOCTYPE hdsoscript PUBLIC "hdsoscript" "http://roach.biol.cwru.edu/romod-dtds/hdsoscript.dtd">',
        '<!DOCTYPE hdsoscript SYSTEM "http://roach.biol.cwru.edu/romod-dtds/hdsoscript.dtd">',
        '<!DOCTYPE hdsoscript SYSTEM "/usr/local/src/romod_dtds/hdsoscript.dtd">\n'
        '<!-- <!DOCTYPE hdsoscript PUBLIC "hdsoscript" "http://roach.biol.cwru.edu/romod-dtds/hdsoscript.dtd"> -->',
        '<!-- <!DOCTYPE hdsoscript SYSTEM "http://example.org" -->\n<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">',
    ],
)
@pytest.mark.parametrize("declaration", ["", '<?xml version="1.0" standalone="no"?>\n', '<?xml version="1.0"?>'])
def test_historical_document_types_mean_the_built_in_grammar(doctype: str, declaration: str) -> None:
    text = f'{declaration}{doctype}\n<hdsoscript>\n<hdsoMod idNum="1" NumElts="1">2</hdsoMod></hdsoscript>'
    document, problems = parse(text.encode(), "s.xml")
    assert isinstance(document, HdsoScript), str(problems)
    assert not len(problems)
    assert document.entries == (HdsoMod(1, 1, (2.0,)),)
    assert document.entries[0].line == text.count("\n") + 1


@pytest.mark.parametrize(
    "data",
    [
        "1 2 3",
        "\n  1\n  2 3\n",
        "1,2,3",
        "1, 2 ,\n3",
        "<!-- x y 7 --> 1 2 3",
        "1 2 <!-- 7 --> 3",
        "1<!-- 7 -->2<!-- 8 -->3",
        "1 2 3 <!-- was 4 -->",
        "<![CDATA[1 2]]> 3",
        "1 2 <?editor 7?> 3",
        "+1 2. 3e0",
        "1&#32;2&#10;3",
    ],
)
def test_numbers_stand_anywhere_between_comments(data: str) -> None:
    (mod,) = script(f'<hdsoMod idNum="1" NumElts="3">{data}</hdsoMod>').entries
    assert mod.data == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("datatype", "data", "values"),
    [
        ("float", ".5 -0.25 1e-3", (0.5, -0.25, 0.001)),
        ("double", "1.7976931348623157e308 5e-324", (1.7976931348623157e308, 5e-324)),
        ("int", "-2147483648 +7 2147483647", (-(2**31), 7, 2**31 - 1)),
        ("llint", "-9223372036854775808 9223372036854775807", (-(2**63), 2**63 - 1)),
        ("uchar", "0 255", (0, 255)),
    ],
)
def test_types(datatype: str, data: str, values: tuple[float, ...]) -> None:
    (mod,) = script(f'<hdsoMod idNum="1" NumElts="{len(values)}" datatype="{datatype}">{data}</hdsoMod>').entries
    assert mod.data == values
    assert [type(value) for value in mod.data] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("count", "text", "data"),
    [
        (7, "302 < 5", "302 < 5"),
        (7, "\n   302 < 5\n ", "302 < 5"),
        (9, " 302 < 5 ", " 302 < 5 "),
        (5, "ac de", "ac de"),
        (2, "äö", "äö"),
    ],
)
def test_text_data_is_counted_in_characters(count: int, text: str, data: str) -> None:
    escaped = text.replace("<", "&lt;")
    (mod,) = script(f'<hdsoMod idNum="1" NumElts="{count}" datatype="char">{escaped}</hdsoMod>').entries
    assert mod.data == data


def test_defaults_of_a_write() -> None:
    (mod,) = script('<hdsoMod idNum="1" NumElts="0"/>').entries
    assert mod == HdsoMod(1, 0, (), None, False, "float", Decimal(0))
    assert mod.ref == 1


def test_a_reference_by_name() -> None:
    (mod,) = script('<hdsoMod idNum="-4" idByName="y" name="a" NumElts="0"/>').entries
    assert mod.ref == "a"
    assert script('<hdsoMod idNum="7" idByName="n" name="a" NumElts="0"/>').entries[0].ref == 7


def test_times_are_decimal() -> None:
    (mod,) = script('<hdsoMod idNum="1" NumElts="0" time=" 0.1 "/>').entries
    assert mod.time_s == Decimal("0.1")


def test_an_hdso() -> None:
    hdso = one_hdso(
        'fullname="An A" abstractType="parameter" units="cm" datatype="llint" xmltype="double" numdims="2">'
        '<description> of\n  note </description><dimsize dimNr="1"> 2 </dimsize>'
        '<range type="valid"><bound type="lower">-1</bound><bound type="upper">9</bound></range>'
        '<dimsize dimNr="2">3</dimsize><range type="suggested"><quantum>0.5</quantum></range>'
        "<initial_data>1 2 3 4 <!-- 5 --> 6 7</initial_data>"
    )
    assert hdso == Hdso(
        1,
        "a",
        (2, 3),
        fullname="An A",
        description="of\n  note",
        abstract_type="parameter",
        units="cm",
        datatype="llint",
        xmltype="double",
        ranges=(Range("valid", -1.0, 9.0), Range("suggested", None, None, 0.5)),
        initial_data=(1, 2, 3, 4, 6, 7),
    )


def test_rules_are_text_whatever_xmltype_says() -> None:
    sizes = '<dimsize dimNr="1">2</dimsize><dimsize dimNr="2">30</dimsize>'
    rest = f'abstractType="boolstring" datatype="int" numdims="2">{sizes}'
    assert one_hdso(rest + "<initial_data> 1 &lt; 2 </initial_data>").initial_data == "1 < 2"
    assert one_hdso('xmltype="char" ' + rest + "<initial_data>1</initial_data>").initial_data == "1"


def test_a_joint_list() -> None:
    jointlist = MODEL.jointlist
    assert [(joint.name, joint.endpoint) for joint in jointlist.joints] == [
        ("Coxa", False),
        ("Femur", False),
        ("Foot", True),
    ]
    coxa, femur, foot = jointlist.joints
    assert (coxa.parent, coxa.start_state, coxa.control_mode) == (0, 201, "muscle")
    assert (femur.start_state, femur.control_mode, foot.start_state) == (-1, "position", -1)
    assert coxa.plotstyle == PlotStyle("k-")
    assert coxa.states[0].plotstyle == PlotStyle(None, (0.0, 0.5, 1.0))
    assert coxa.geometry.amatrix is not None
    assert coxa.geometry.amatrix.data == (1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 10.5, 0, 0, 0, 1)
    assert coxa.geometry.dh_line is not None
    assert coxa.geometry.dh_line.data == (8.9, 0, 0, 0.017453292519943)
    assert coxa.states[0].activations[0] == MuscleActivation(
        401, "linear", (301,), (141,), (HdsoMod(141, 5, (0, 0.8, 0.01, 61, 100)),)
    )
    assert coxa.states[1].activations[0].sensors == ("Coxa_angle", "Femur_angle")
    assert coxa.states[0].rule.boolstring == "(302 < 101)|(303 > 102)"
    assert [spec.use for spec in coxa.muscles[0].functions] == ["passive_stiffness", "force-length", "force-velocity"]
    assert coxa.motor is not None
    assert (coxa.motor.serial_id, coxa.motor.dir, coxa.motor.angle_cal2) == (0, 1, 1.529)
    assert femur.motor is not None
    assert femur.motor.dir == -1


def test_lines_do_not_count_for_equality() -> None:
    first = script('<hdsoMod idNum="1" NumElts="0"/>')
    second = script('\n\n<hdsoMod idNum="1" NumElts="0"/>')
    assert first == second
    assert first.entries[0].line != second.entries[0].line


def test_a_model_knows_its_hdsos() -> None:
    assert MODEL.name == "small"
    assert MODEL.hdso(101) is MODEL.hdso("pro_load")
    assert (MODEL.names[302], MODEL.ids["Coxa_current"]) == ("Coxa_current", 302)
    kinds = {name: MODEL.kind(MODEL.hdso(name)) for name in ("gap", "one_const", "Spare_Rule", "Coxa_angle")}
    assert kinds == {"gap": "parameter", "one_const": "constant", "Spare_Rule": "boolstring", "Coxa_angle": "sensor"}
    assert [hdso.id_num for hdso in MODEL.hdsos][-1] == 20
    with pytest.raises(KeyError):
        MODEL.hdso("nothing")
    with pytest.raises(KeyError):
        MODEL.hdso(13)


def test_a_model_knows_its_files() -> None:
    sums = {name: hashlib.sha256((SMALL / name).read_bytes()).hexdigest() for name in sorted(dict(MODEL.files))}
    assert dict(MODEL.files) == sums
    assert set(sums) == {"joints.xml", "parameters.xml", "sensors.xml"}


def test_kinds_come_from_the_list_where_an_hdso_has_none(tmp_path: Path) -> None:
    folder = changed(
        tmp_path, ("sensors.xml", ' abstractType="sensor"', ""), ("sensors.xml", ' DataSetType="sensorList"', "")
    )
    model, problems = load_model(folder)
    assert model is not None, str(problems)
    assert model.kind(model.hdso(301)) == "sensor"


def test_documents_made_in_a_program_are_checked_too() -> None:
    sources = (
        dataclasses.replace(MODEL.jointlist, source=""),
        dataclasses.replace(MODEL.parameters, source=""),
        dataclasses.replace(MODEL.sensors, source=""),
    )
    assert check_model(*sources, "mine").ok
    problems = check_model(sources[0], sources[1], HdsoList(()), "mine")
    assert {problem.file for problem in problems} == {"mine/joints.xml", "mine/sensors.xml"}
    assert "0 sensors for 2 motors" in str(problems)


@pytest.mark.parametrize(
    ("file", "kind"),
    [("joints.xml", JointList), ("parameters.xml", HdsoList), ("sensors.xml", HdsoList), ("script.xml", HdsoScript)],
)
def test_any_document_is_known_by_its_root(file: str, kind: type[Document]) -> None:
    for model in (None, MODEL):
        document, problems = load_any(SMALL / file, model)
        assert isinstance(document, kind), str(problems)
        assert not problems.errors


def test_a_single_list_is_checked_in_place_of_the_model_s_own(tmp_path: Path) -> None:
    folder = changed(
        tmp_path, ("parameters.xml", 'idNum="102"', 'idNum="112"'), ("sensors.xml", 'idNum="302"', 'idNum="312"')
    )
    assert load_any(folder / "parameters.xml")[1].ok
    for file, number in (("parameters.xml", 102), ("sensors.xml", 302)):
        document, problems = load_any(folder / file, MODEL)
        assert document is None
        assert f"HDSO {number} is not declared" in str(problems)


def test_a_single_list_alone_is_checked_as_far_as_it_goes(tmp_path: Path) -> None:
    folder = changed(
        tmp_path,
        ("parameters.xml", 'idNum="102"', 'idNum="101"'),
        ("parameters.xml", "<initial_data>3<", "<initial_data>7<"),
        ("joints.xml", 'parent="1"', 'parent="7"'),
    )
    assert load_any(folder / "parameters.xml")[1].error_count == 2
    document, problems = load_any(folder / "joints.xml")
    assert document is None
    assert [problem.what for problem in problems.errors] == ["parent='7' of joint 2 (Femur) is no joint"]


def test_an_empty_joint_list_has_no_joint(tmp_path: Path) -> None:
    path = tmp_path / "joints.xml"
    path.write_text("<jointlist/>")
    assert "the joint list has no joint" in str(load_any(path)[1])


def test_problems_read_as_one_line_and_sort_by_place() -> None:
    problems = Problems()
    problems.error("b.xml", 2, "late")
    problems.warning("a.xml", 9, "odd", "even", "turn it")
    problems.error("a.xml", 0, "the whole file")
    problems.error("b.xml", 2, "late")
    assert str(problems).splitlines() == [
        "a.xml:1: error: the whole file",
        "a.xml:9: warning: odd, expected even (turn it)",
        "b.xml:2: error: late",
    ]
    assert (len(problems), problems.error_count, problems.warning_count, problems.ok) == (3, 2, 1, False)
    error = SccilsError(problems=problems)
    assert error.problems == tuple(problems)
    assert "b.xml:2: error: late" in str(error)
    assert Problems([Problem("a", 1, "warning", "x")]).ok
