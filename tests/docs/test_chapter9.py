"""docs/chapter9.md: every example is run, and what it says is refused is."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from nuc_engine.bout.replay import replay_bout, replay_inputs
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.cli.app import app
from nuc_engine.figures.diagrams.flow import flow_diagram
from nuc_engine.figures.diagrams.wiring import wiring_at
from nuc_engine.machine.locations import find_configuration
from nuc_engine.model.planning import build_plan
from nuc_engine.verify import Unverifiable, verify_bout
from sccils_schemas.model import load_model

PAGE = Path(__file__).resolve().parents[2] / "docs" / "chapter9.md"
TEXT = PAGE.read_text()
SECTIONS = re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
BLOCKS = {title: re.findall(r"```xml (\w+\.xml)\n(.*?)```", text, re.DOTALL) for title, text in SECTIONS}
SCRIPT = "script.xml"
MISSING = "emulated:?drop=0.02"


def made(folder: Path, pieces: list[tuple[str, str]], base: str = "lin_roach") -> Path:
    """Copy a configuration into `folder` with pieces put at the end of its documents, and a script beside them."""
    shutil.copytree(find_configuration(base), folder)
    (folder / SCRIPT).write_text("<hdsoscript>\n</hdsoscript>\n")
    for file, piece in pieces:
        path = folder / file
        text = path.read_text()
        if 'version="0.2"' not in text:
            text = re.sub(r"<(hdsolist|hdsoscript|jointlist)", r'<\1 version="0.2"', text, count=1)
        end = text.rindex("</")
        path.write_text(text[:end] + piece + text[end:])
    return folder


@pytest.mark.parametrize("title", [title for title, blocks in BLOCKS.items() if blocks])
def test_an_example_is_run_repeated_and_verified(title: str, tmp_path: Path) -> None:
    config = made(tmp_path / "lin_roach", BLOCKS[title])
    out = tmp_path / "bout"
    result = run_bout(BoutSpec(config=str(config), script=str(config / SCRIPT), duration_s=1.5, out=out))
    assert (result.state, result.refused) == ("complete", 0)
    assert replay_bout(out).identical
    assert replay_inputs(out).identical
    if "<when" in (config / SCRIPT).read_text():
        with pytest.raises(Unverifiable, match="when triggers fire is not computed"):
            verify_bout(out)
        assert " trigger when " in (out / "Infolog.txt").read_text()
    else:
        assert verify_bout(out).good


def test_every_section_has_a_picture_that_is_there() -> None:
    # Scaling has its law as a table.
    for title, text in SECTIONS:
        shown = re.findall(r"!\[.+?\]\((.+?)\)", text)
        assert bool(shown) == (title in BLOCKS and bool(BLOCKS[title])), title
        assert all((PAGE.parent / path).is_file() for path in shown)


def test_the_picture_of_signals_is_what_nuc_diagram_draws(tmp_path: Path) -> None:
    model, _ = load_model(made(tmp_path / "lin_roach", BLOCKS["Signals"]))
    assert model is not None
    assert "diagrams/chapter9_signals_flow.svg" in dict(SECTIONS)["Signals"]
    picture = (PAGE.parent / "diagrams" / "chapter9_signals_flow.svg").read_bytes()
    assert picture == flow_diagram(wiring_at(model, build_plan(model), (), 0.0, "lin_roach"))


def test_the_printed_filter_as_a_block_gives_the_bytes_of_the_load_sensor(tmp_path: Path) -> None:
    config = made(tmp_path / "lin_roach", BLOCKS["Signals"])
    run_bout(BoutSpec(config=str(config), script="experiment_a", duration_s=3, out=tmp_path / "bout", bus=MISSING))
    run_bout(BoutSpec(config="lin_roach", script="experiment_a", duration_s=3, out=tmp_path / "plain", bus=MISSING))
    columns = json.loads((tmp_path / "bout" / "columns.json").read_text())["files"]["SensData.txt"]["columns"]
    names = [column["name"] for column in columns]
    rows = [line.split() for line in (tmp_path / "bout" / "SensData.txt").read_text().splitlines()]
    at = [names.index(name) for name in ("TC1_current", "TC1_load_printed", "TC1_load_raw")]
    sensor, printed, raw = ([row[place] for row in rows] for place in at)
    assert sensor == printed
    assert len(set(raw)) > 10
    for name in ("MotorData.txt", "StateData.txt", "MuscleData.txt"):
        assert (tmp_path / "bout" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()


def test_rules_that_read_gain_1_and_delay_0_step_to_the_same_bytes(tmp_path: Path) -> None:
    chain = (
        '<signal idNum="330" name="same" type="gain" inputs="302" parameters="191"/>'
        '<signal idNum="331" name="at_once" type="delay" inputs="same" parameters="190"/>'
    )
    config = made(tmp_path / "lin_roach", [("sensors.xml", chain)])
    joints = (config / "joints.xml").read_text()
    rules = re.sub(r'boolstring="[^"]*"', lambda rule: rule[0].replace("302", "331"), joints)
    assert rules.count("331") == 4
    (config / "joints.xml").write_text(rules)
    run_bout(BoutSpec(config=str(config), duration_s=3, out=tmp_path / "bout", bus=MISSING, name="lin_roach"))
    run_bout(BoutSpec(config="lin_roach", duration_s=3, out=tmp_path / "plain", bus=MISSING))
    for name in ("MotorData.txt", "StateData.txt", "MuscleData.txt"):
        assert (tmp_path / "bout" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()


def test_every_section_of_the_chapter_is_in_the_table() -> None:
    first = [row.split("|")[1].strip() for row in TEXT.splitlines() if re.match(r"\| 9\.", row)]
    assert {re.match(r"9\.\d", section)[0] for section in first} == {f"9.{k}" for k in range(1, 9)}  # type: ignore[index]
    assert {f"9.2.2.{k}" for k in range(1, 15)} | {f"9.2.3.{k}" for k in range(1, 5)} <= set(first)


def refused(tmp_path: Path, *pieces: tuple[str, str], version: str = ' version="0.2"') -> list[str]:
    """Return the errors of lin_roach with pieces at the front of its documents, so that lines can be told."""
    folder = tmp_path / "lin_roach"
    shutil.copytree(find_configuration("lin_roach"), folder)
    for file, piece in pieces:
        path = folder / file
        text = re.sub(r"<\?.*?\?>|<!DOCTYPE.*?>", "", path.read_text()).lstrip()
        root = text[: text.index(">") + 1]
        rest = re.sub(r"^\s*<description>.*?</description>", "", text[len(root) :], flags=re.DOTALL)
        path.write_text(root.replace(">", f"{version}>") + piece + rest)
    return [str(problem).replace(f"{folder}/", "") for problem in load_model(folder)[1] if problem.severity == "error"]


TAU = '\n<hdso idNum="220" name="tau" numdims="1"><dimsize dimNr="1">1</dimsize><initial_data>{}</initial_data></hdso>'
LOW = '<signal idNum="320" name="a" type="lowpass" inputs="TC1_current" parameters="tau"/>'
RULE = (
    '\n<hdso idNum="219" name="load" numdims="1"><dimsize dimNr="1">1</dimsize><initial_data>1</initial_data></hdso>'
    '\n<hdso idNum="221" name="late" abstractType="boolstring" datatype="int" xmltype="char" numdims="2">'
    '<dimsize dimNr="1">2</dimsize><dimsize dimNr="2">30</dimsize>\n<initial_data>{}</initial_data></hdso>'
)
ONE = ("parameters.xml", TAU.format(1))


@pytest.mark.parametrize(
    ("pieces", "version"),
    [
        ((("sensors.xml", LOW), ONE), ""),
        (
            (
                (
                    "sensors.xml",
                    '<signal idNum="320" name="a" type="abs" inputs="b"/>\n'
                    '<signal idNum="321" name="b" type="abs" inputs="a"/>',
                ),
            ),
            None,
        ),
        ((("sensors.xml", '<signal idNum="320" name="a" type="abs" inputs="TC1_curent"/>'),), None),
        ((("sensors.xml", '<signal idNum="320" name="a" type="lowpass" inputs="TC1_current"/>'),), None),
        ((("sensors.xml", LOW.replace("lowpass", "iir").replace("tau", "tau tau")), ONE), None),
        ((("sensors.xml", LOW), ("parameters.xml", TAU.format(-0.1))), None),
        ((("sensors.xml", LOW.replace("lowpass", "delay")), ("parameters.xml", TAU.format(61))), None),
        ((("parameters.xml", RULE.format("TC1_current@61 &gt; load")),), None),
        ((("parameters.xml", RULE.format("TC1_current@-1 &gt; load")),), None),
        ((("parameters.xml", RULE.format("TC1_current@1 &gt; load")),), ""),
    ],
)
def test_what_is_refused_is_said_as_the_page_has_it(
    pieces: tuple[tuple[str, str], ...], version: str | None, tmp_path: Path
) -> None:
    found = refused(tmp_path, *pieces, **({} if version is None else {"version": version}))
    assert found
    assert set(found) <= set(re.findall(r"^\w+\.xml:\d+: error: .*$", TEXT, re.MULTILINE)), found


WHEN = '<when rule="{}"{}><hdsoMod idNum="109" NumElts="1">61</hdsoMod></when>'


@pytest.mark.parametrize(
    ("entry", "version"),
    [
        ('<sense time="0" sensor="101" mode="value" value="0"/>', "0.2"),
        ('<sense time="0" sensor="302" mode="value"/>', "0.2"),
        ('<sense time="0" sensor="302" mode="hold" value="1"/>', "0.2"),
        ('<sense time="0" sensor="302" mode="off"/>', "0.1"),
        (WHEN.format("302 &gt; 101", ' holds="2" until="1"'), "0.2"),
        (WHEN.format("302 &gt; 101", ' holds="-1"'), "0.2"),
        (WHEN.format("loda &gt; 101", ""), "0.2"),
        (WHEN.format("101 &gt; 102", ""), "0.2"),
    ],
)
def test_what_is_wrong_with_a_script_is_said_as_the_page_has_it(entry: str, version: str, tmp_path: Path) -> None:
    script = tmp_path / SCRIPT
    script.write_text(f'<hdsoscript version="{version}">{entry}</hdsoscript>')
    checked = CliRunner().invoke(app, ["validate", "--config", "lin_roach", str(script)])
    said = " ".join(checked.output.replace(f"{script}", SCRIPT).split())
    expected = [line for line in re.findall(r"^script\.xml:1: \w+: .*$", TEXT, re.MULTILINE) if line in said]
    assert expected, said


LEAVES = [
    "9.1", "9.2.1.1", "9.2.1.2", "9.2.2.1", "9.2.2.2", "9.2.2.3", "9.2.2.4", "9.2.2.5", "9.2.2.6", "9.2.2.7",
    "9.2.2.8", "9.2.2.9", "9.2.2.10", "9.2.2.11", "9.2.2.12", "9.2.2.13", "9.2.2.14", "9.2.3.1", "9.2.3.2", "9.2.3.3",
    "9.2.3.4", "9.2.4", "9.3.1.1", "9.3.1.2", "9.3.2.1", "9.3.2.2", "9.3.2.3", "9.3.3.1", "9.3.3.2", "9.3.4.1",
    "9.3.4.2", "9.3.5", "9.4.1.1", "9.4.1.2", "9.4.1.3", "9.4.2.1", "9.4.2.2", "9.4.3", "9.5.1.1", "9.5.1.2",
    "9.5.1.3", "9.5.1.4", "9.5.2.1", "9.5.2.2", "9.5.2.3", "9.5.2.4", "9.5.2.5", "9.5.2.6", "9.6.1", "9.6.2", "9.6.3",
    "9.6.4", "9.6.5", "9.6.6", "9.6.7", "9.7", "9.8.1", "9.8.2", "9.8.3", "9.8.4",
]  # fmt: skip
"""The sections of chapter 9 that have none below them, in order."""


def test_every_section_of_chapter_9_is_answered_once_and_in_order() -> None:
    rows = re.findall(r"^\| (9\.[0-9., ]+) \| (.+?) \| (.+?) \|$", TEXT, re.MULTILINE)
    assert [number for numbers, *_ in rows for number in numbers.split(", ")] == LEAVES
