"""Gradual changes, and what is done to a leg by hand: entries of a script, and what is wrong with them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sccils_schemas.by_hand import DisconnectEntry, GroundEntry, HeightEntry, KickEntry, LoadEntry, ReconnectEntry
from sccils_schemas.documents import CommandScript, Gradual, HdsoMod, HdsoScript
from sccils_schemas.model import check_commandscript, check_script
from sccils_schemas.parser import parse, read_document
from sccils_schemas.problems import Problems
from sccils_schemas.writer import write, write_entry
from tests.sccils.small import small_model

MODEL = small_model()
JOINT = next(joint.name for joint in MODEL.jointlist.joints if not joint.endpoint)
LOAD, RULE = '<hdsoMod idNum="101" NumElts="1">-2</hdsoMod>', "pro_angle &lt; pro_load"
ALL = f"""<hdsoscript>
<gradual time="10" duration="5" steps="4">{LOAD}<hdsoMod idNum="104" NumElts="1" datatype="int">7</hdsoMod></gradual>
<kick time="26"/>
<kick time="27.5" force="3, -1e-1 0" duration="0.1"/>
<ground time="30" present="n"/>
<height time="30" cm="20.5"/>
<load time="30" newton="-1.5" duration="2"/>
<disconnect time="40" joint="{JOINT}" duration="2"/>
<reconnect time="46" duration="2"/>
</hdsoscript>"""


def checked(*lines: str) -> Problems:
    """Check a script with these entries, the first on line 2."""
    problems = Problems()
    document = read_document(("<hdsoscript>\n" + "\n".join(lines) + "\n</hdsoscript>").encode(), "s.xml", problems)
    if isinstance(document, HdsoScript):
        problems.extend(check_script(document, MODEL))
    return problems


def test_every_element_is_read() -> None:
    script, problems = parse(ALL.encode())
    assert not len(problems), str(problems)
    assert isinstance(script, HdsoScript)
    assert script.entries == (
        Gradual(Decimal(10), Decimal(5), 4, (HdsoMod(101, 1, (-2.0,)), HdsoMod(104, 1, (7,), datatype="int"))),
        KickEntry(Decimal(26)),
        KickEntry(Decimal("27.5"), (3.0, -0.1, 0.0), Decimal("0.1")),
        GroundEntry(Decimal(30), present=False),
        HeightEntry(Decimal(30), 20.5),
        LoadEntry(Decimal(30), -1.5, Decimal(2)),
        DisconnectEntry(Decimal(40), JOINT, Decimal(2)),
        ReconnectEntry(Decimal(46), Decimal(2)),
    )
    assert [entry.line for entry in script.entries] == list(range(2, 10))
    assert parse(write(script))[0] == script


def test_a_script_with_all_of_it_is_good_on_a_model() -> None:
    script, _ = parse(ALL.replace('<hdsoMod idNum="104" NumElts="1" datatype="int">7</hdsoMod>', "").encode())
    assert isinstance(script, HdsoScript)
    assert check_script(script, MODEL).ok


def test_one_entry_is_a_line() -> None:
    assert write_entry(KickEntry(Decimal(1), (1.0, 0.0, 0.5))) == '<kick time="1" force="1 0 0.5"/>'
    assert write_entry(GroundEntry(Decimal("0.5"), present=True)) == '<ground time="0.5" present="y"/>'


ERRORS = {
    "no duration": (f'<gradual time="1" duration="0" steps="2">{LOAD}</gradual>', ("duration='0'", "more than 0")),
    "no steps": (f'<gradual time="1" duration="1" steps="0">{LOAD}</gradual>', ("steps='0'", "1 to 1000")),
    "too many": (f'<gradual time="1" duration="1" steps="1001">{LOAD}</gradual>', ("steps='1001'",)),
    "half steps": (f'<gradual time="1" duration="1" steps="2.5">{LOAD}</gradual>', ("steps='2.5'", "whole number")),
    "nothing": ('<gradual time="1" duration="1" steps="2"/>', ("lacks an element", "hdsoMod")),
    "its own time": (
        f'<gradual time="1" duration="1" steps="2">{LOAD.replace(">", " time=" + chr(34) + "3" + chr(34) + ">", 1)}'
        "</gradual>",
        ("inside <gradual> has a time",),
    ),
    "a rule": (
        f'<gradual time="1" duration="1" steps="2"><hdsoMod idNum="163" NumElts="20" datatype="char">'
        f"{RULE}</hdsoMod>"
        "</gradual>",
        ("is text", "at once"),
    ),
    "a sensor": (
        '<gradual time="1" duration="1" steps="2"><hdsoMod idNum="301" NumElts="1">1</hdsoMod></gradual>',
        ("is a sensor",),
    ),
    "unknown": (
        '<gradual time="1" duration="1" steps="2"><hdsoMod idNum="13" NumElts="1">1</hdsoMod></gradual>',
        ("13 is not declared",),
    ),
    "before the start": ('<kick time="-1"/>', ("before the start",)),
    "no time": ("<kick/>", ("lacks the attribute time",)),
    "half a force": ('<kick time="1" force="1 2"/>', ("force='1 2'", "three finite numbers")),
    "an empty word": ('<kick time="1" force="1,,2"/>', ("force='1,,2'", "three finite numbers")),
    "too strong": ('<kick time="1" force="0 0 1001"/>', ("1001 N", "at most 1000 N")),
    "too long": ('<kick time="1" duration="3601"/>', ("duration='3601'",)),
    "neither": ('<ground time="1" present="maybe"/>', ("present='maybe'", "y, n")),
    "too heavy": ('<load time="1" newton="-2000" duration="1"/>', ("-2000 N",)),
    "backwards": (f'<disconnect time="1" joint="{JOINT}" duration="-1"/>', ("duration='-1'", "0 to 3600")),
    "no such joint": (
        f'<disconnect time="1" joint="{JOINT}x" duration="1"/>',
        (f"no joint '{JOINT}x'", f"did you mean '{JOINT}'"),
    ),
    "nothing off": ('<reconnect time="1" duration="1"/>', ("nothing is taken off",)),
}


@pytest.mark.parametrize("entry", ERRORS.values(), ids=ERRORS)
def test_what_is_wrong_with_one_entry_is_said_with_its_line(entry: tuple[str, tuple[str, ...]]) -> None:
    problems = checked(entry[0])
    here = [str(problem) for problem in problems.errors if problem.line == 2]
    assert any(all(word in text for word in entry[1]) for text in here), str(problems)


def apart(*times: tuple[str, float, float]) -> str:
    joint = f'joint="{JOINT}" '
    lines = [f'<{t} time="{at}" {joint if t == "disconnect" else ""}duration="{d}"/>' for t, at, d in times]
    return str(checked(*lines))


def test_a_leg_can_be_taken_apart_and_put_together_again_and_again() -> None:
    assert apart(("disconnect", 1, 2), ("reconnect", 3, 2), ("disconnect", 5, 0), ("reconnect", 5, 1)) == ""
    assert apart(("disconnect", 1, 2)) == ""


def test_what_hands_can_not_do() -> None:
    assert "s.xml:3: error: the leg is apart already at 2 s" in apart(("disconnect", 1, 0), ("disconnect", 2, 0))
    assert "s.xml:3: error: the leg is still being taken apart at 2 s" in apart(
        ("disconnect", 1, 2), ("reconnect", 2, 0)
    )
    again = apart(("disconnect", 1, 0), ("reconnect", 2, 2), ("disconnect", 3, 0))
    assert "s.xml:4: error: the leg is apart already at 3 s" in again


def gradual(at: float, seconds: float) -> str:
    return f'<gradual time="{at}" duration="{seconds}" steps="2">{LOAD}</gradual>'


def test_one_hdso_changes_gradually_once_at_a_time() -> None:
    assert checked(gradual(1, 2), gradual(3, 1)).ok
    assert "still being so until 3 s" in str(checked(gradual(1, 2), gradual(2.5, 1)))
    write_at = LOAD.replace(">", ' time="{}">', 1)
    for time, good in ((1, True), (2, False), (3, True)):
        assert checked(gradual(1, 2), write_at.format(time)).ok is good, time


def test_a_gradual_change_is_followed_to_its_end() -> None:
    # A value that the course of a script may not reach is seen although no hdsoMod writes it at once.
    problems = checked(gradual(1, 2).replace("-2<", "1e39<"))
    assert "1e39" in str(problems)


def test_a_poll_changes_nothing() -> None:
    inner = f'<hdsoscript>\n{gradual(1, 2)}\n<kick time="1"/>\n</hdsoscript>'
    document, problems = parse(f'<sccils_command commandtype="log">{inner}</sccils_command>'.encode())
    assert isinstance(document, CommandScript), str(problems)
    problems = check_commandscript(document, MODEL)
    assert [(problem.line, problem.what) for problem in problems.errors] == [
        (2, "a poll changes something"),
        (3, "a poll changes something"),
    ]
