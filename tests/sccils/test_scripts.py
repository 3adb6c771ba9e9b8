"""HDSO scripts and command scripts, alone and against a model."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from sccils_schemas.documents import CommandScript, HdsoMod, HdsoScript, HdsoSpec
from sccils_schemas.model import check_commandscript, check_script, load_any, load_script
from sccils_schemas.parser import parse, read_document
from sccils_schemas.problems import Problems
from tests.sccils.small import SMALL, small_model

MODEL = small_model()


def checked(*lines: str) -> Problems:
    """Check a script with these entries, the first on line 2."""
    text = "<hdsoscript>\n" + "\n".join(lines) + "\n</hdsoscript>"
    problems = Problems()
    document = read_document(text.encode(), "s.xml", problems)
    if isinstance(document, HdsoScript):
        problems.extend(check_script(document, MODEL))
    return problems


def mod(number: int | str, data: str, datatype: str = "float", time: str = "0", **more: str) -> str:
    count = len(data) if datatype == "char" else len(data.split())
    rest = "".join(f' {name}="{value}"' for name, value in more.items())
    text = data.replace("&", "&amp;").replace("<", "&lt;")
    which = f'idNum="{number}"' if isinstance(number, int) else f'idNum="-4" idByName="y" name="{number}"'
    return f'<hdsoMod {which} NumElts="{count}" datatype="{datatype}" time="{time}"{rest}>{text}</hdsoMod>'


def test_the_small_script_is_good() -> None:
    script, problems = load_script(SMALL / "script.xml", MODEL)
    assert script is not None
    assert not len(problems), str(problems)
    assert script.entries[2] == HdsoMod(101, 1, (0.0,), name="pro_load")
    assert script.entries[3].time_s == Decimal("1.5")
    assert script.entries[5].data == "(302 < 101)&1"
    assert script.entries[-1] == HdsoSpec(142, 3, time_s=Decimal(30))


ERRORS = {
    "unknown id": (mod(13, "3.0"), ("HDSO 13 is not declared",)),
    "unknown name": (mod("pro_lod", "1"), ("'pro_lod'", "did you mean 'pro_load'?")),
    "id by name decides": (mod("nothing", "1").replace('idNum="-4"', 'idNum="101"'), ("'nothing' is not declared",)),
    "no name": ('<hdsoMod idNum="-4" idByName="y" NumElts="1">1</hdsoMod>', ("without a name",)),
    "all": (mod(-1, "1"), ("-1", "means no HDSO", "hdsoSpec")),
    "none": (mod(-2, "1"), ("-2", "means no HDSO")),
    "invalid": (mod(-4, "1"), ("-4", "idByName='y'")),
    "a sensor": (mod(301, "1"), ("HDSO 301 (Coxa_angle) is a sensor", "only the engine")),
    "a sensor by name": (mod("engine_start_time", "1", "llint"), ("is a sensor",)),
    "a constant": (mod(191, "2"), ("HDSO 191 (one_const) is a constant", "parameters.xml")),
    "force command in position mode": (mod(203, "2"), ("a command the engine writes", "Femur is in position mode")),
    "geometry of a joint": (mod(180, "1 0 0"), ("HDSO 180 (Coxa_Amatrix) is the A-matrix of Coxa",)),
    "geometry": (mod(181, "9"), ("HDSO 181 (Coxa_DH) is the DH line of Coxa", "when a configuration is loaded")),
    "too many": (mod(101, "1 2"), ("2 values for HDSO 101", "at most 1")),
    "outside valid": (mod(121, "2.5", time="20"), ("2.5 is no value for HDSO 121", "0 to 2")),
    "inside invalid": (mod(104, "0"), ("0 is no value for HDSO 104", "outside -1 to 1")),
    "fraction for an integer": (mod(0, "2.5"), ("2.5", "type int", "whole number")),
    "nanoseconds as float": (mod(2, "16777217"), ("16777217 as float", "llint")),
    "period zero": (mod(2, "0", "llint"), ("0 is no value for HDSO 2", "at least 100000")),
    "motor speed": (mod(0, "5", "int"), ("5 is no value for HDSO 0", "0 to 4")),
    "time before the start": (mod(101, "1", time="-0.1"), ("time='-0.1'", "0 or more")),
    "time not finite": (mod(101, "1", time="inf"), ("time='inf'", "seconds")),
    "time no number": (mod(101, "1", time="soon"), ("time='soon'", "seconds")),
    "rule grammar": (mod(161, "302 >", "char"), ("column 5", "ends after '>'")),
    "rule with an unknown id": (mod(161, "302 > 5", "char"), ("HDSO 5 is not declared",)),
    "rule with an unknown name": (mod(161, "302 > pro_lod", "char"), ("did you mean 'pro_load'?",)),
    "rule too long": (mod(161, "|".join(["1"] * 16), "char"), ("31 tokens", "at most 30")),
    "rule with a vector": (mod(161, "302 > 141", "char"), ("HDSO 141", "5 elements")),
    "rule as numbers": (mod(161, "1 2", "int"), ("written as numbers", "char")),
    "rule in a circle": (mod(161, "161|302", "char"), ("circle",)),
    "text for numbers": (mod(101, "abc", "char"), ("text for HDSO 101", "numbers of type float")),
    "wmin becomes wmax": (mod(141, "0 0.8 0.01 61 61"), ("wmin and wmax of muscle 401", "become equal")),
    "parabola becomes flat": (mod(172, "0"), ("parabolic force-length function of Remotor becomes 0",)),
    "asks for too many": ('<hdsoSpec idNum="101" NumElts="2"/>', ("2 elements of HDSO 101", "at most 1")),
    "asks for nothing": ('<hdsoSpec idNum="-3"/>', ("-3", "-1 asks for every HDSO")),
    "asks for the unknown": ('<hdsoSpec idNum="13"/>', ("HDSO 13 is not declared",)),
}


@pytest.mark.parametrize(("line", "words"), ERRORS.values(), ids=ERRORS.keys())
def test_error(line: str, words: tuple[str, ...]) -> None:
    problems = checked(mod(101, "1"), line, mod(102, "1", time="20"))
    (problem,) = problems.errors
    assert (problem.file, problem.line) == ("s.xml", 3)
    assert all(word in str(problem) for word in words), str(problem)


GOOD = {
    "the position command in position mode": mod(204, "100"),
    "a rule by name, with names": mod("Enter_Protraction", "Coxa_current > pro_load", "char"),
    "a rule that uses another": mod(161, "162 | 302", "char"),
    "an integer as a float": mod(2, "25000000"),
    "the bounds themselves": mod(121, "2") + "\n" + mod(122, "0"),
    "beside an invalid range": mod(104, "1.001"),
    "suggested is not enforced": mod(101, "1.6"),
    "characters": mod(210, "hello", "char"),
    "every HDSO asked for": '<hdsoSpec idNum="-1"/>',
    "a sensor asked for": '<hdsoSpec idNum="301"/>',
    "the start of a vector": mod(141, "1 2"),
    "wmin and wmax both moved": mod(141, "0 0 0 61 62", time="3") + "\n" + mod(141, "0 0 0 63 62", time="4"),
    "an exponent as time": mod(101, "1", time="1e1"),
}


@pytest.mark.parametrize("line", GOOD.values(), ids=GOOD.keys())
def test_good(line: str) -> None:
    problems = checked(line)
    assert not len(problems), str(problems)


def test_a_name_that_differs_is_a_warning_and_the_id_decides() -> None:
    problems = checked(mod(101, "1", name="pro_angle"))
    assert problems.ok
    assert "name 'pro_angle' differs from 'pro_load', the name of HDSO 101 (idNum decides" in str(problems)


def test_times_out_of_order_are_one_warning() -> None:
    problems = checked(mod(101, "1", time="3"), mod(101, "1", time="2"), mod(101, "1", time="1"))
    assert [str(problem) for problem in problems] == [
        "s.xml:3: warning: time='2' follows '3' (entries take effect in the order of their times)"
    ]


def test_a_write_of_nothing_is_a_warning() -> None:
    assert "nothing is written" in str(checked('<hdsoMod idNum="101" NumElts="0"/>').warnings[0])


def test_circles_are_found_where_they_close_in_time() -> None:
    late = mod(161, "162", "char", time="9")
    first = mod(162, "163", "char", time="1")
    problems = checked(late, mod(163, "302", "char", time="0"), first)
    assert problems.ok, str(problems)
    spare = mod(163, "302", "char", time="0")
    problems = checked(late, spare, mod(163, "161", "char", time="12"), first)
    (problem,) = problems.errors
    assert (problem.line, "161" in problem.what, "163" in problem.what) == (4, True, True)


def test_a_circle_within_one_time_that_is_opened_again_is_none() -> None:
    problems = checked(
        mod(161, "162", "char", time="5"), mod(162, "161", "char", time="5"), mod(162, "302", "char", time="5")
    )
    assert problems.ok, str(problems)


def test_everything_is_reported_in_one_go() -> None:
    problems = checked(*[line for line, _ in ERRORS.values()])
    assert {problem.line for problem in problems.errors} == set(range(2, 2 + len(ERRORS))), str(problems)


def test_without_a_model_only_what_shows_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "s.xml"
    path.write_text(f"<hdsoscript>\n{mod(13, '1')}\n{mod(-1, '1')}\n{mod(14, '1', time='-1')}</hdsoscript>")
    document, problems = load_any(path)
    assert document is None
    assert [problem.line for problem in problems.errors] == [3, 4]


def commands(*lines: str) -> tuple[CommandScript, Problems]:
    text = "<sccils_commandscript>\n" + "\n".join(lines) + "\n</sccils_commandscript>"
    document, problems = parse(text.encode(), "c.xml")
    if isinstance(document, CommandScript):
        return document, problems
    return CommandScript(()), problems


def test_the_small_commands_are_good() -> None:
    for model in (None, MODEL):
        script, problems = load_any(SMALL / "commands.xml", model)
        assert script is not None
        assert not len(problems), str(problems)
        assert script.entries[1].parameters == ("joints.xml", "sensors.xml")
        assert script.entries[3].script.entries[0].data == (3.0,)
        assert script.entries[5].text == "done"
        assert script.entries[5].command.command_type == "stop"


EXTENDED = '<sccils_command commandtype="extended" extendedcommand="x"><hdsoscript>'
BAD_COMMANDS = {
    "extended without name": ('<sccils_command commandtype="extended"/>', "without extendedcommand"),
    "name that does not go": ('<sccils_command commandtype="run" extendedcommand="x"/>', "goes with commandtype='run'"),
    "negative start": ('<sccils_command commandtype="run" starttime="-1"/>', "starttime='-1'"),
    "log that ends first": ('<sccils_command commandtype="log" starttime="5" stoptime="5"/>', "a stop after the start"),
    "answer to a bad one": (
        '<sccils_command_response responsestatus="fail">'
        '<sccils_command commandtype="extended"/></sccils_command_response>',
        "without extendedcommand",
    ),
    "no configuration": ('<sccils_config_command configtype="start" configname=" "/>', "empty configname"),
    "port": (
        '<sccils_config_command configtype="parameter" configname="dataport">'
        "<sccils_config_parameter>70000</sccils_config_parameter></sccils_config_command>",
        "a port from 1 to 65535",
    ),
    "script with an error": (f"{EXTENDED}{mod(13, '1')}</hdsoscript></sccils_command>", "HDSO 13 is not declared"),
    "script that writes a sensor": (f"{EXTENDED}{mod(301, '1')}</hdsoscript></sccils_command>", "is a sensor"),
    "poll of the unknown": (
        '<sccils_command commandtype="log" extendedcommand="poll"><hdsoscript>'
        f"{mod(13, '3.0')}</hdsoscript></sccils_command>",
        "HDSO 13 is not declared",
    ),
}


@pytest.mark.parametrize(("line", "words"), BAD_COMMANDS.values(), ids=BAD_COMMANDS.keys())
def test_command_error(line: str, words: str) -> None:
    script, problems = commands('<sccils_command commandtype="stop"/>', line)
    problems.extend(check_commandscript(script, MODEL))
    (problem,) = problems.errors
    assert problem.line == 3
    assert words in str(problem)


def test_at_most_one_script_and_one_command() -> None:
    _, problems = commands('<sccils_command commandtype="stop"><hdsoscript/>\n<hdsoscript/></sccils_command>')
    assert "3: error: a second <hdsoscript> in one command, expected at most one" in str(problems)
    inner = '<sccils_command commandtype="stop"/>'
    _, problems = commands(f'<sccils_command_response responsestatus="fail">{inner}\n{inner}</sccils_command_response>')
    assert "3: error: a second <sccils_command> in one response" in str(problems)


def test_a_message_is_valid_without_a_model_whatever_its_ids() -> None:
    script, problems = commands(
        '<sccils_command commandtype="log" extendedcommand="poll"><hdsoscript>'
        f"{mod(13, '3.0')}</hdsoscript></sccils_command>"
    )
    problems.extend(check_commandscript(script, None))
    assert not len(problems)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('<sccils_command commandtype="run"/>', "Command"),
        ('<sccils_command_response responsestatus="success"/>', "CommandResponse"),
        ('<sccils_config_command configtype="start" configname="lin_roach"/>', "ConfigCommand"),
    ],
)
def test_a_lone_command_is_a_script_of_one(text: str, kind: str) -> None:
    document, problems = parse(text.encode())
    assert isinstance(document, CommandScript), str(problems)
    assert [type(entry).__name__ for entry in document.entries] == [kind]


def test_what_is_no_script_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.xml"
    path.write_text("<sccils_commandscript/>")
    document, problems = load_script(path, MODEL)
    assert document is None
    assert "the root element is <sccils_commandscript>, expected <hdsoscript>" in str(problems)
