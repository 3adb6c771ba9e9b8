"""Rules that read what has no value: nothing is made up for them (readings B12, B13)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sccils_schemas.documents import HdsoScript
from sccils_schemas.model import Model, check_script, check_unscripted, load_model, load_script
from tests.sccils.small import changed, line_of, mentions, small_model
from tests.sccils.test_nesting import helper
from tests.sccils.test_scripts import mod

J, P, S = "joints.xml", "parameters.xml", "sensors.xml"
UNSET = (J, '<hdsoMod idNum="101" NumElts="1">-0.5</hdsoMod>', '<hdsoMod idNum="101" NumElts="0"/>')
RULE = 'boolstring="(302 &lt; 101)|(303 &gt; 102)"'
EXTRA = '<hdso idNum="305" name="hair" numdims="1" abstractType="sensor"><dimsize dimNr="1">1</dimsize></hdso>\n  '
EXTRA_SENSOR = (S, '<hdso idNum="20"', EXTRA + '<hdso idNum="20"')


@pytest.fixture
def unset(tmp_path: Path) -> Model:
    model, problems = load_model(changed(tmp_path, UNSET))
    assert model is not None, str(problems)
    return model


def run(folder: Path, model: Model, *lines: str) -> list[str]:
    path = folder / "s.xml"
    path.write_text("<hdsoscript>\n" + "\n".join(lines) + "\n</hdsoscript>")
    return [str(problem).removeprefix(f"{path}:") for problem in load_script(path, model)[1].errors]


def test_a_model_that_is_complete_needs_no_script() -> None:
    assert check_unscripted(small_model()).ok


def test_without_a_script_the_rule_is_named(unset: Model, tmp_path: Path) -> None:
    (problem,) = check_unscripted(unset).errors
    path = tmp_path / "small" / J
    assert (problem.file, problem.line) == (str(path), line_of(path, RULE))
    assert "HDSO 101 (pro_load), used by the rule of Protraction, has no value" in str(problem)
    assert "a write by a script at time 0" in str(problem)


def test_a_script_gives_the_value_at_time_0_or_not_at_all(unset: Model, tmp_path: Path) -> None:
    assert run(tmp_path, unset, mod(101, "1")) == []
    assert run(tmp_path, unset, mod(102, "1", time="1"), mod(101, "1", time="0")) == []
    for lines in ((mod(101, "1", time="0.001"),), (mod(102, "1"),), (mod(102, "1", time="3"),), ()):
        (error,) = run(tmp_path, unset, *lines)
        assert error.startswith("1: error: HDSO 101 (pro_load), used by the rule of Protraction, has no value"), lines


def test_a_rule_that_does_without_it_may_come_at_time_0(unset: Model, tmp_path: Path) -> None:
    assert run(tmp_path, unset, mod(161, "303 > 102", "char")) == []


def test_a_time_finer_than_a_nanosecond_is_time_0(unset: Model, tmp_path: Path) -> None:
    assert run(tmp_path, unset, mod(101, "1", time="0.0000000009")) == []


def test_a_rule_from_a_script_needs_its_operands_by_its_own_time(tmp_path: Path) -> None:
    model = small_model()
    rule = mod(163, "302 > gap", "char", "5")
    (error,) = run(tmp_path, model, rule, mod(104, "3", time="6"))
    assert error.startswith("2: error: HDSO 104 (gap), used by this rule, has no value at that time")
    assert run(tmp_path, model, rule, mod(104, "3", time="5")) == []
    assert run(tmp_path, model, rule, mod(104, "3", time="4")) == []


def test_rules_inside_rules_are_looked_through(tmp_path: Path) -> None:
    rules = helper(900, "901") + helper(901, "gap | 191") + '  <hdso idNum="171"'
    edits = ((P, '  <hdso idNum="171"', rules), (J, RULE, 'boolstring="900|(302 &lt; 101)|(303 &gt; 102)"'))
    folder = changed(tmp_path, *edits)
    model, problems = load_model(folder)
    assert model is not None
    assert "HDSO 104 (gap), used by the rule of Protraction, has no value at the start" in str(problems)
    assert "HDSO 104 (gap)" in str(check_unscripted(model))
    assert run(tmp_path, model, mod(104, "3")) == []
    assert run(tmp_path, model, mod(901, "191", "char")) == []


def test_a_rule_nobody_gave_has_no_truth(tmp_path: Path) -> None:
    folder = changed(tmp_path, (J, RULE, 'boolstring="163|(302 &lt; 101)|(303 &gt; 102)"'))
    model, _ = load_model(folder)
    assert model is not None
    assert "HDSO 163 (Spare_Rule), used by the rule of Protraction" in str(check_unscripted(model))
    assert run(tmp_path, model, mod(163, "302", "char")) == []


def test_one_hdso_is_named_once(tmp_path: Path) -> None:
    edit = (J, 'boolstring="Coxa_current > ret_load"', 'boolstring="(Coxa_current > ret_load)|(302 &gt; 101)"')
    model, _ = load_model(changed(tmp_path, UNSET, edit))
    assert model is not None
    assert check_unscripted(model).error_count == 1
    assert check_script(HdsoScript(()), model).error_count == 1


@pytest.mark.parametrize("where", ["a state's rule", "a helper's rule"])
def test_a_sensor_no_motor_feeds_stands_in_no_rule(tmp_path: Path, where: str) -> None:
    if where == "a state's rule":
        edit, file, marker = (J, "(303 &gt; 102)", "(hair &gt; 102)"), J, "hair &gt;"
    else:
        edit, file, marker = (P, '  <hdso idNum="171"', helper(900, "305") + '  <hdso idNum="171"'), P, ">305<"
    folder = changed(tmp_path, EXTRA_SENSOR, edit)
    model, problems = load_model(folder)
    assert model is None
    path = folder / file
    words = ("HDSO 305 (hair) is a sensor that no motor feeds", "angle or current of a motor")
    assert mentions(problems, path, line_of(path, marker), "error", words), str(problems)


def test_nor_in_a_rule_that_a_script_brings(tmp_path: Path) -> None:
    model, _ = load_model(changed(tmp_path, EXTRA_SENSOR))
    assert model is not None
    (error,) = run(tmp_path, model, mod(163, "305 > 101", "char", "5"))
    assert error.startswith("2: error: HDSO 305 (hair) is a sensor that no motor feeds")


def test_the_engines_times_and_given_values_do(tmp_path: Path) -> None:
    given = EXTRA.replace("</hdso>", "<initial_data>1</initial_data></hdso>")
    stop = (S, 'name="engine_start_time"', 'name="engine_stop_time"')
    edits = ((S, '<hdso idNum="20"', given + '<hdso idNum="20"'), (J, "(303 &gt; 102)", "(305 &gt; 102)"))
    assert load_model(changed(tmp_path / "given", *edits))[0] is not None
    for name, edits in (("start", ()), ("stop", (stop,))):
        folder = changed(tmp_path / name, *edits, (J, "(303 &gt; 102)", "(20 &gt; 102)"))
        assert load_model(folder)[0] is not None


def test_an_unfed_sensor_of_an_activation_is_a_warning(tmp_path: Path) -> None:
    edit = (J, 'activation_sensors="301"', 'activation_sensors="305"')
    model, problems = load_model(changed(tmp_path, EXTRA_SENSOR, edit))
    assert model is not None
    assert "HDSO 305 (hair), a sensor of the linear activation" in str(problems)
    assert "counts as 0 all the time" in str(problems)


def test_without_the_sensors_file_nothing_is_called_unfed(tmp_path: Path) -> None:
    folder = changed(tmp_path, EXTRA_SENSOR, (J, "(303 &gt; 102)", "(305 &gt; 102)"))
    (folder / S).unlink()
    assert "no motor feeds" not in str(load_model(folder)[1])
