from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from nuc_engine.machine.locations import list_configurations
from tests.cli.conftest import CONFIGS, Nuc, edit


def test_every_shipped_configuration_and_script_is_good(nuc: Nuc) -> None:
    result = nuc("validate", *list_configurations())
    assert result.exit_code == 0
    assert result.stdout == f"{len(list_configurations())} configurations: 0 errors, 0 warnings\n"
    assert nuc("validate", "experiment_a", "itf", "itb", "--config", "lin_roach").exit_code == 0


def test_everything_wrong_is_told_in_one_go_with_file_and_line(nuc: Nuc, roach: Path) -> None:
    edit(roach / "joints.xml", r'boolstring="307 &gt; 105"', 'boolstring="307 &gt; 5555"')
    edit(roach / "sensors.xml", r'<hdso idNum="308" name="FT_current"', '<hdso idNum="308" name="TC1_angle"')
    edit(roach / "plant.toml", r"timestep_us = 1000", "timestep_us = 0")
    plant_line = (roach / "plant.toml").read_text().split("timestep_us")[0].count("\n") + 1
    result = nuc("validate", str(roach))
    assert result.exit_code == 1
    line = (roach / "joints.xml").read_text().split("5555")[0].count("\n") + 1
    assert re.search(rf"joints\.xml:{line}: .*5555", result.stdout)
    assert re.search(r"sensors\.xml:\d+: .*TC1_angle", result.stdout)
    assert re.search(rf"plant\.toml:{plant_line}: error: world\.timestep_us: 0; expected", result.stdout)
    *told, last = result.stdout.splitlines()
    words = [re.fullmatch(r"\S+:\d+: (error|warning): .*", line)[1] for line in told]
    assert last.startswith(f"1 configuration: {words.count('error')} errors, {words.count('warning')} warning")


def test_json_lists_the_same_problems(nuc: Nuc, roach: Path) -> None:
    edit(roach / "joints.xml", r'boolstring="307 &gt; 105"', 'boolstring="307 &gt; 5555"')
    result = nuc("validate", str(roach), "--json")
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert data["ok"] is False
    (checked,) = data["checked"]
    problems = checked["problems"]
    assert sum(p["severity"] == "error" for p in problems) == data["errors"]
    assert sum(p["severity"] == "warning" for p in problems) == data["warnings"]
    worst = next(p for p in problems if "5555" in p["what"])
    assert worst["file"].endswith("joints.xml")
    assert worst["line"] > 1
    assert worst["expected"]


def test_a_plant_that_does_not_fit_the_model_is_an_error(nuc: Nuc, roach: Path) -> None:
    edit(roach / "plant.toml", r"\[joint\.Femur-Tibia\]", "[joint.Femur-Tarsus]")
    result = nuc("validate", str(roach))
    assert result.exit_code == 1
    assert "joint.Femur-Tibia: missing" in result.stdout
    assert "joint.Femur-Tarsus: unknown" in result.stdout


def test_a_model_without_a_plant_is_good_but_says_what_it_lacks(nuc: Nuc, roach: Path) -> None:
    (roach / "plant.toml").unlink()
    result = nuc("validate", str(roach))
    assert result.exit_code == 0
    assert "warning: no plant.toml" in result.stdout


def test_a_rule_that_can_never_be_true_is_a_warning_at_its_line(nuc: Nuc, roach: Path) -> None:
    edit(
        roach / "joints.xml",
        r'<hdsoMod idNum="105" NumElts="1">120</hdsoMod>',
        '<hdsoMod idNum="105" NumElts="1">169.9</hdsoMod>',
    )
    assert "can never be true" not in nuc("validate", str(roach)).stdout
    edit(roach / "joints.xml", r">169\.9<", ">174.1<")
    edit(roach / "parameters.xml", r'(idNum="105".*?<range type="valid">\s*<bound type="upper">)170', r"\g<1>175")
    result = nuc("validate", str(roach))
    assert result.exit_code == 0
    line = (roach / "joints.xml").read_text().split('boolstring="307 &gt; 105"')[0].count("\n") + 1
    assert re.search(rf"joints\.xml:{line}: warning: Enter_TC1_ProtractionDEP can never be true", result.stdout)


def test_a_script_that_makes_a_rule_dead_is_warned_of_with_the_time(nuc: Nuc, script: Path) -> None:
    edit(script, r'(name="TC1_retLEV_FTang".*?)time="0.5">61<', r'name="TC1_proDEP_FTang" NumElts="1" time="0.5">170<')
    edit(script, r'idNum="103" name="TC1_proDEP_FTang"', 'idNum="105" name="TC1_proDEP_FTang"')
    edit(
        script,
        r'idNum="166".*?</hdsoMod>',
        'idNum="166" name="Enter_FT_Flexion" NumElts="23" datatype="char" time="1">'
        "(307 &lt; 107)&amp;(307 &gt; 105)</hdsoMod>",
    )
    result = nuc("validate", str(script), "--config", "lin_roach")
    assert result.exit_code == 0
    assert re.search(r"short\.xml:7: warning: from 1 s on, Enter_FT_Flexion can never be true", result.stdout)


def test_a_script_by_itself_is_checked_for_what_shows_in_it_alone(nuc: Nuc, script: Path) -> None:
    edit(script, r'idNum="103" name="TC1_retLEV_FTang"', 'idNum="7777" name="nothing"')
    assert "by itself" not in nuc("validate", "itf", "--config", "lin_roach").stderr
    alone = nuc("validate", str(script))
    assert alone.exit_code == 0
    assert "short.xml: note: script, checked by itself only; --config" in alone.stderr
    against = nuc("validate", str(script), "--config", "lin_roach")
    assert against.exit_code == 1
    assert "by itself" not in against.stderr
    assert re.search(r"short\.xml:4: .*7777", against.stdout)


def test_a_script_the_engine_would_refuse_is_an_error(nuc: Nuc, script: Path) -> None:
    edit(
        script,
        r'idNum="103" name="TC1_retLEV_FTang"(.*?)datatype="float" time="0.5">61',
        r'idNum="2" name="statetrans_period_ns"\1datatype="llint" time="0.5">5',
    )
    result = nuc("validate", str(script), "--config", "lin_roach")
    assert result.exit_code == 1
    assert re.search(r"short\.xml:4: .*statetrans_period_ns.*at least 100000", result.stdout)


def test_a_single_list_is_checked_in_place_of_the_models_own(nuc: Nuc, roach: Path) -> None:
    edit(roach / "sensors.xml", r'<hdso idNum="307" name="FT_angle"', '<hdso idNum="907" name="FT_angle"')
    assert nuc("validate", str(roach / "sensors.xml")).exit_code == 0
    result = nuc("validate", str(roach / "sensors.xml"), "--config", "lin_roach")
    assert result.exit_code == 1
    assert "307" in result.stdout


def test_a_plant_file_can_be_checked_alone(nuc: Nuc) -> None:
    assert nuc("validate", str(CONFIGS / "lin_roach" / "plant.toml")).exit_code == 0
    assert nuc("validate", str(CONFIGS / "lin_roach" / "plant.toml"), "--config", "lin_stickmiddle").exit_code == 1


def test_without_a_usable_model_documents_are_still_checked_by_themselves(nuc: Nuc, roach: Path, script: Path) -> None:
    edit(roach / "joints.xml", r'boolstring="307 &gt; 105"', 'boolstring="307 &gt; 5555"')
    result = nuc("validate", str(script), "--config", str(roach))
    assert result.exit_code == 0
    assert re.search(r"^\S+: error: 1 error, so nothing can be checked against it", result.stderr, re.MULTILINE)


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"<jointlist", b"<html/>", "müll".encode("utf-16")])
def test_what_is_no_document_is_a_line_and_status_1(nuc: Nuc, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd.xml").write_bytes(content)
    result = nuc("validate", "odd.xml")
    assert result.exit_code == 1
    assert result.stdout.startswith("odd.xml")


def test_a_path_that_is_nowhere_is_a_wrong_command_line(nuc: Nuc) -> None:
    result = nuc("validate", "lin_roach", "nowhere.xml")
    assert result.exit_code == 2
    assert "nowhere.xml" in result.stderr
