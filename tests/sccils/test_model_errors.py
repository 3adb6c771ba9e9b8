"""Bad configurations: the right file, line and words for each kind of error, and all of them in one go."""

from __future__ import annotations

from pathlib import Path

import pytest

from sccils_schemas.model import load_model
from tests.sccils.bad_models import BAD_MODELS, DH_LINE_2, LINEAR, LISTS, REF_190, RULE, Bad, J, P, S, bad
from tests.sccils.small import SMALL, changed, line_of, mentions

ACT_121 = '<muscle_activation muscle="402" activation_function="constant" activation_parameters="121">'
FOLLOWING = 3
"""Most errors one mistake may lead to."""


@pytest.mark.parametrize("case", BAD_MODELS.values(), ids=BAD_MODELS.keys())
def test_error(case: Bad, tmp_path: Path) -> None:
    folder = changed(tmp_path, *case.edits)
    model, problems = load_model(folder)
    assert model is None, "accepted"
    path = folder / case.file
    line = line_of(path, case.marker) + case.marker.startswith("\n")
    assert mentions(problems, path, line, "error", case.words), f"line {line} not among:\n{problems}"
    assert problems.error_count <= FOLLOWING, str(problems)
    assert all("\n" not in str(problem) for problem in problems)


WARNINGS = {
    "name differs": bad(J, REF_190, '<hdsoMod idNum="190" name="zero" NumElts="0"/>', '"zero"', "name 'zero' differs"),
    "time in a joint list": bad(J, REF_190, REF_190[:-2] + ' time="5"/>', 'time="5"', "time='5' has no meaning"),
    "dir against slope": bad(
        J, 'dir="1"', 'dir="-1"', "Coxa_motor", "dir='-1'", "angleCal2='1.529'", "different signs"
    ),
    "start state, no states": bad(
        J, 'control_mode="position"', 'control_mode="position" start_state_idNum="201"', '"Femur"', "a state of joint 1"
    ),
    "start state, nobody's": bad(
        J, 'control_mode="position"', 'control_mode="position" start_state_idNum="299"', '"Femur"', "is no state"
    ),
    "geometry not declared": bad(J, 'idNum="182"', 'idNum="189"', 'idNum="189"', "HDSO 189", "not declared", "DH line"),
    "no DH line": bad(J, DH_LINE_2, "", 'name="Femur"', "has a motor but no DHline"),
    "sensor among parameters": bad(
        P,
        'name="gap" numdims="1"',
        'name="gap" numdims="1" abstractType="sensor"',
        '"gap"',
        "a sensor in a list of param",
    ),
    "unknown list": bad(
        P, "parameterList", "parametrList", "DataSetType", "'parametrList' is not known", "mean 'parameterList'?"
    ),
    "quantum": bad(
        P, "</bound>\n    </range>", "</bound><quantum>0</quantum></range>", "<quantum", "quantum 0", "more than 0"
    ),
    "invalid without bounds": bad(
        P,
        '<range type="invalid">\n      <bound type="upper">1</bound>\n      <bound type="lower">-1</bound>',
        '<range type="invalid">',
        'type="invalid"',
        "HDSO 104 (gap) has no bounds",
        "excludes nothing",
    ),
    "nothing to correct by": bad(S, 'type="normal"', 'type="suggested"', "Coxa_angle", "overflowCorrection"),
    "unset parameter": bad(
        J,
        'idNum="121" NumElts="1">0.05</hdsoMod>',
        'idNum="121" NumElts="0"/>',
        ACT_121,
        "no value at the start",
        "time 0",
    ),
    "unset in a rule": bad(
        J, 'idNum="101" NumElts="1">-0.5</hdsoMod>', 'idNum="101" NumElts="0"/>', RULE, "pro_load", "used by the rule"
    ),
    "partly set": bad(J, LINEAR, LINEAR.replace('"5">0 ', '"4">'), LISTS, "HDSO 141", "no value at the start"),
    "unset command": bad(
        J,
        'idNum="204" NumElts="1">128</hdsoMod>',
        'idNum="204" NumElts="0"/>',
        'idNum="204"',
        "positionCommand of motor 602",
    ),
    "initialised, not used": bad(
        J,
        'idNum="101" NumElts="1"',
        'idNum="104" NumElts="0"/><hdsoMod idNum="101" NumElts="1"',
        'idNum="104"',
        "does not use it",
    ),
    "negative fmax": bad(J, 'fmax="15"', 'fmax="-15"', "Promotor", "fmax='-15'", "negative"),
    "another DTD": bad(J, "sccils_joint.dtd", "hdso.dtd", "hdso.dtd", "'hdso.dtd'", "'sccils_joint.dtd'"),
    "finer than a nanosecond": bad(
        J, REF_190, REF_190[:-2] + ' time="0.0000000001"/>', "0.0000000001", "finer than a nanosecond"
    ),
    "default sensors": bad(J, "small", "small", "Coxa_motor", "no sensorspec", "301 to 304"),
}


@pytest.mark.parametrize("case", WARNINGS.values(), ids=WARNINGS.keys())
def test_warning(case: Bad, tmp_path: Path) -> None:
    folder = changed(tmp_path, *case.edits)
    model, problems = load_model(folder)
    assert model is not None, str(problems)
    path = folder / case.file
    assert mentions(problems, path, line_of(path, case.marker), "warning", case.words), str(problems)
    assert "warning: " in str(problems.warnings[0])


def test_the_small_configuration_has_the_one_usual_warning() -> None:
    _, problems = load_model(SMALL)
    assert [problem.severity for problem in problems] == ["warning"]
    assert "no sensorspec" in str(problems)


def test_everything_is_reported_in_one_go(tmp_path: Path) -> None:
    chosen = [case for name, case in BAD_MODELS.items() if name in TOGETHER]
    assert len(chosen) == len(TOGETHER)
    folder = changed(tmp_path, *(edit for case in chosen for edit in case.edits))
    model, problems = load_model(folder)
    assert model is None
    for case in chosen:
        path = folder / case.file
        assert mentions(problems, path, line_of(path, case.marker), "error", case.words), f"{case}\n{problems}"
    places = [(problem.file, problem.line) for problem in problems]
    assert places == sorted(places)


TOGETHER = (
    "rest: unknown element",
    "muscles: no fmax",
    "ids and names: unknown name in a list",
    "rules: a number",
    "motors: dir",
    "motors: bus id out of range",
    "geometry: mirror",
    "geometry: DH scale zero",
    "counts and types: uchar too large",
    "ranges: initial_data outside",
    "ids and names: HDSO id in both lists",
)


def test_a_file_that_can_not_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    folder = changed(tmp_path, (P, "</hdsolist>", ""), (J, 'dir="1"', 'dir="2"'), (S, 'name="Coxa_angle"', ""))
    _, problems = load_model(folder)
    told = [(Path(problem.file).name, problem.what) for problem in problems.errors]
    assert (J, "dir='2' of <aimotor> is not allowed") in told
    assert (S, "<hdso> lacks the attribute name") in told
    assert any(file == P and "not well-formed" in what for file, what in told)
    assert len(told) == 3, str(problems)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    folder = changed(tmp_path)
    (folder / J).rename(folder / "jointlist.xml")
    model, problems = load_model(folder)
    assert model is None
    (problem,) = problems.errors
    assert str(problem) == f"{folder}/joints.xml:1: error: there is no such file (did you mean 'jointlist.xml'?)"
    assert load_model(tmp_path / "nowhere")[1].error_count == 1
    assert load_model(folder / P)[1].error_count == 1


def test_wrong_root_is_named(tmp_path: Path) -> None:
    folder = changed(tmp_path)
    (folder / J).write_text((folder / S).read_text())
    _, problems = load_model(folder)
    (problem,) = problems.errors
    assert "the root element is <hdsolist>, expected <jointlist>" in str(problem)


def test_relative_names_stay_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed(tmp_path, (J, 'dir="1"', 'dir="2"'))
    monkeypatch.chdir(tmp_path)
    _, problems = load_model(Path("small"))
    assert {problem.file for problem in problems} == {"small/joints.xml"}
