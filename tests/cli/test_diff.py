from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from nuc_engine.cli.look.diff import difference_lines
from nuc_engine.configurations.difference import (
    ConfigurationDifference,
    changeset,
    compare_models,
    compare_scripts,
    script_changeset,
)
from nuc_engine.model.changes import prepare
from nuc_engine.model.planning import build_plan
from nuc_engine.model.store import Store
from nuc_engine.model.values import initial_values
from sccils_schemas.documents import HdsoScript
from sccils_schemas.model import Model, check_script, load_model, load_script
from sccils_schemas.parser import parse
from sccils_schemas.writer import write
from tests.cli.conftest import CONFIGS, Nuc, edit


def load(folder: Path) -> Model:
    model, problems = load_model(folder)
    assert model is not None, str(problems)
    return model


def tune(roach: Path) -> None:
    """Two values and a rule, as an evening at the robot would leave them."""
    edit(
        roach / "joints.xml",
        r'<hdsoMod idNum="105" NumElts="1">120</hdsoMod>',
        '<hdsoMod idNum="105" NumElts="1">111.1</hdsoMod>',
    )
    edit(roach / "parameters.xml", r"<initial_data>25000000</initial_data>", "<initial_data>20000000</initial_data>")
    edit(roach / "joints.xml", r'boolstring="307 &gt; 105"', 'boolstring="(307 &gt; 105)|(305 &lt; 104)"')


def after(model: Model, script: HdsoScript) -> dict[str, object]:
    """Return every value of a model after a script's changesets."""
    plan = build_plan(model)
    assert check_script(script, model).ok
    store = Store(plan)
    for first in plan.initial:
        store.write(first.hdso, first.values)
    for change in prepare(script, plan, model.ids):
        for write_ in change.writes:
            store.write(write_.hdso, write_.values)
    return {hdso.name: store.values(hdso.index) for hdso in plan.hdsos}


def at_start(model: Model) -> dict[str, object]:
    plan = build_plan(model)
    return {hdso.name: values for hdso, values in zip(plan.hdsos, initial_values(plan), strict=True)}


def test_values_and_rules_are_named_with_both_sides_and_the_unit(nuc: Nuc, roach: Path) -> None:
    tune(roach)
    result = nuc("diff", "lin_roach", str(roach))
    assert result.exit_code == 1
    assert "  TC1_proDEP_FTang  120 -> 111.1 deg" in result.stdout
    assert "  statetrans_period_ns  25000000 -> 20000000 ns" in result.stdout
    assert (
        "  Enter_TC1_ProtractionDEP\n      A  FT_angle > TC1_proDEP_FTang\n"
        "      B  (FT_angle > TC1_proDEP_FTang) | (CTr_angle < TC1_retLEV_CTang)" in result.stdout
    )
    assert "structure" not in result.stdout


def test_nothing_different_is_said_and_is_status_0(nuc: Nuc, roach: Path) -> None:
    edit(
        roach / "joints.xml",
        r"The hinge about which the coxa is promoted",
        "THE hinge about which the coxa is promoted",
    )
    result = nuc("diff", "lin_roach", str(roach))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "no differences"


def test_structure_geometry_and_plant_are_named(nuc: Nuc, roach: Path) -> None:
    edit(roach / "joints.xml", r'alpha="25" fmax="18"', 'alpha="25" fmax="19"')
    edit(roach / "joints.xml", r'NumElts="4">9\.7 0', 'NumElts="4">9.9 0')
    edit(roach / "plant.toml", r"base_height_cm = [\d.]+", "base_height_cm = 9.25")
    data = json.loads(nuc("diff", "lin_roach", str(roach), "--json").stdout)
    found = {(d["section"], d["name"]): (d["a"], d["b"]) for d in data["differences"]}
    assert found["structure", "joint Thorax-Coxa1, muscle Coxa_RemotorLEV, fmax"] == ("18", "19")
    assert found["geometry", "joint Coxa-Trochanter, geometry, dh line, a cm"] == ("9.7", "9.9")
    assert found["plant", "world.base_height_cm"][1] == "9.25"
    assert len(found) == 3
    assert data["ok"] is False


def test_a_thing_only_one_side_has_is_one_difference(nuc: Nuc) -> None:
    data = json.loads(nuc("diff", "lin_stickmiddle", "pc_stickmiddle", "--json").stdout)
    about = [d for d in data["differences"] if "FT_Extension2" in d["name"] and d["name"].startswith("joint")]
    assert about == [
        {"section": "structure", "name": "joint Femur-Tibia, state FT_Extension2", "a": None, "b": "there", "unit": ""}
    ]


def test_the_changeset_turns_a_into_b(nuc: Nuc, roach: Path, tmp_path: Path) -> None:
    tune(roach)
    result = nuc("diff", "lin_roach", str(roach), "--changeset", "mine.xml")
    assert "mine.xml: 3 entries" in result.stderr
    assert nuc("validate", "mine.xml", "--config", "lin_roach").exit_code == 0
    a, b = load(CONFIGS / "lin_roach"), load(roach)
    script, problems = load_script(tmp_path / "mine.xml", a)
    assert script is not None, str(problems)
    assert after(a, script) == at_start(b)
    assert after(a, script) != at_start(a)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    st.dictionaries(
        st.sampled_from(["103", "104", "105", "107", "109"]), st.floats(-100, 100, width=32), min_size=1, max_size=5
    )
)
def test_any_tuning_survives_as_a_changeset(values: dict[str, float]) -> None:
    a = load(CONFIGS / "lin_roach")
    text = '<hdsoscript name="t">' + "".join(
        f'<hdsoMod idNum="{ref}" NumElts="1">{value!r}</hdsoMod>' for ref, value in values.items()
    )
    tuning = parse((text + "</hdsoscript>").encode())[0]
    assert isinstance(tuning, HdsoScript)
    b = _with_initial_values(a, {int(ref): value for ref, value in values.items()})
    script, left_out = changeset(a, b)
    assert left_out == ()
    read_back = parse(write(script))[0]
    assert isinstance(read_back, HdsoScript)
    assert after(a, read_back) == at_start(b) == after(a, tuning)


def _with_initial_values(model: Model, values: dict[int, float]) -> Model:
    from dataclasses import replace

    joints = []
    for joint in model.jointlist.joints:
        states = []
        for state in joint.states:
            mods = tuple(
                replace(mod, data=(values[mod.id_num],)) if mod.data and mod.id_num in values else mod
                for mod in state.rule.mods
            )
            states.append(replace(state, rule=replace(state.rule, mods=mods)))
        joints.append(replace(joint, states=tuple(states)))
    return Model(model.name, replace(model.jointlist, joints=tuple(joints)), model.parameters, model.sensors)


def test_what_only_one_side_has_stands_below_its_name_where_it_is_long() -> None:
    short, long = (
        ConfigurationDifference("plant", "reason", text, None, "") for text in ("it is so", "a reason and another " * 8)
    )
    assert difference_lines(short) == ["  reason  only in A: it is so"]
    head, *told = difference_lines(long)
    assert head == "  reason  only in A"
    assert " ".join(told).split() == ["a", "reason", "and", "another"] * 8
    assert all(line.startswith("      a") and len(line) <= 78 for line in told)


def test_what_can_not_be_a_changeset_is_named_and_left_out(nuc: Nuc, roach: Path, tmp_path: Path) -> None:
    tune(roach)
    edit(roach / "joints.xml", r'alpha="25" fmax="18"', 'alpha="25" fmax="19"')
    edit(roach / "joints.xml", r'NumElts="4">9\.7 0', 'NumElts="4">9.9 0')
    edit(roach / "parameters.xml", r'(name="one_float_const".*?<initial_data>)1', r"\g<1>2")
    result = nuc("diff", "lin_roach", str(roach), "--changeset", "mine.xml", "--json")
    data = json.loads(result.stdout)
    assert data["changeset"] == "mine.xml"
    left_out = " ".join(data["not_in_changeset"])
    assert "fmax: structure is fixed" in left_out
    assert "a cm: geometry is read when a model is loaded" in left_out
    assert "one_float_const: a constant is not changed" in left_out
    assert "Not complete" in (tmp_path / "mine.xml").read_text()
    script = load_script(tmp_path / "mine.xml", load(CONFIGS / "lin_roach"))[0]
    assert script is not None
    assert len(script.entries) == 3


def test_a_value_the_first_model_would_refuse_is_named(nuc: Nuc, roach: Path) -> None:
    edit(roach / "parameters.xml", r'(idNum="105".*?<range type="valid">\s*<bound type="upper">)170', r"\g<1>300")
    edit(
        roach / "joints.xml",
        r'<hdsoMod idNum="105" NumElts="1">120</hdsoMod>',
        '<hdsoMod idNum="105" NumElts="1">250</hdsoMod>',
    )
    result = nuc("diff", "lin_roach", str(roach), "--changeset", "mine.xml")
    assert result.exit_code == 1
    assert "TC1_proDEP_FTang: 250 is outside the valid range -170..170" in result.stderr


def test_a_changeset_of_structure_alone_is_refused(nuc: Nuc, roach: Path, tmp_path: Path) -> None:
    edit(roach / "joints.xml", r'alpha="25" fmax="18"', 'alpha="25" fmax="19"')
    result = nuc("diff", "lin_roach", str(roach), "--changeset", "mine.xml")
    assert result.exit_code == 1
    assert "fmax: structure is fixed" in result.stderr
    assert not (tmp_path / "mine.xml").exists()


def test_an_existing_file_is_replaced_only_when_forced(nuc: Nuc, roach: Path, tmp_path: Path) -> None:
    tune(roach)
    (tmp_path / "mine.xml").write_text("an evening's work")
    assert nuc("diff", "lin_roach", str(roach), "--changeset", "mine.xml").exit_code == 2
    assert (tmp_path / "mine.xml").read_text() == "an evening's work"
    assert nuc("diff", "lin_roach", str(roach), "--changeset", "mine.xml", "--force").exit_code == 1
    assert "hdsoscript" in (tmp_path / "mine.xml").read_text()


def test_scripts_are_compared_moment_by_moment(nuc: Nuc, script: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.xml"
    other.write_text(script.read_text())
    edit(other, r'time="0.5">61', 'time="0.5">62.5')
    edit(other, r'(idNum="166".*?)time="1"', r'\1time="1.5"')
    result = nuc("diff", str(script), "other.xml")
    assert result.exit_code == 1
    assert "at 0.5 s, TC1_retLEV_FTang  61 -> 62.5" in result.stdout
    assert "at 1 s, Enter_FT_Flexion  only in A: (302 > 106)|(307 < 109)" in result.stdout
    assert "at 1.5 s, Enter_FT_Flexion  only in B: (302 > 106)|(307 < 109)" in result.stdout


def test_how_a_script_is_written_makes_no_difference(nuc: Nuc, script: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.xml"
    other.write_text(script.read_text())
    edit(
        other,
        r'NumElts="23" datatype="char" time="1">\(302 &lt; 108\)&amp;\(307 &gt; 107\)',
        'NumElts="19" datatype="char" time="1.0">(302&lt;108)&amp;(307&gt;107)',
    )
    edit(other, r'time="0.5">61', 'time="0.50">61.0')
    assert nuc("diff", str(script), "other.xml").exit_code == 0


def test_a_script_followed_by_its_changeset_does_what_the_other_does(script: Path, tmp_path: Path) -> None:
    model = load(CONFIGS / "lin_roach")
    other = tmp_path / "other.xml"
    other.write_text(script.read_text())
    edit(other, r'time="0.5">61', 'time="0.5">62.5')
    a, b = (load_script(path, model)[0] for path in (script, other))
    assert a is not None
    assert b is not None
    added, left_out = script_changeset(a, b)
    assert left_out == ()
    both = HdsoScript((*a.entries, *added.entries))
    assert compare_scripts(both, b) == []
    assert compare_scripts(a, b) != []
    _, left_out = script_changeset(b, HdsoScript(()))
    assert len(left_out) == 3


def test_bouts_are_compared_down_to_the_first_record(nuc: Nuc, bout: Path, script: Path, tmp_path: Path) -> None:
    assert (
        nuc("run", "lin_roach", "--script", str(script), "--duration", "2", "--seed", "4", "--out", "b").exit_code == 0
    )
    result = nuc("diff", str(bout), "b", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)["differences"]
    assert [d["name"] for d in found if d["section"] == "bout"] == ["spec.seed"]
    records = {d["name"].split(",")[0]: d for d in found if d["section"] == "record"}
    motor = records["MotorData.txt"]
    assert motor["name"].startswith("MotorData.txt, record 1 at 0.00")
    first = [(folder / "MotorData.txt").read_text().split("\n")[0].split() for folder in (bout, tmp_path / "b")]
    assert motor["a"] in first[0]
    assert motor["b"] in first[1]
    assert not any(d["section"] in ("value", "rule", "structure", "script", "plant") for d in found)


def test_a_bout_is_no_different_from_itself(nuc: Nuc, bout: Path) -> None:
    assert nuc("diff", str(bout), str(bout)).exit_code == 0


def test_versions_of_bouts_are_compared(nuc: Nuc, bout: Path, finished_bout: Path) -> None:
    edit(bout / "manifest.json", r'"mujoco": "[^"]*"', '"mujoco": "2.1"')
    result = nuc("diff", str(finished_bout), str(bout))
    assert result.exit_code == 1
    assert "  mujoco  " in result.stdout
    assert "-> 2.1" in result.stdout


def test_a_bout_and_a_configuration_share_the_configuration(nuc: Nuc, bout: Path, roach: Path) -> None:
    tune(roach)
    result = nuc("diff", str(bout), str(roach))
    assert result.exit_code == 1
    assert "TC1_proDEP_FTang  120 -> 111.1 deg" in result.stdout
    assert "not compared: versions, logs and all else of the bout" in result.stderr
    assert nuc("diff", str(bout), "lin_roach").exit_code == 0


def test_a_bout_and_a_script_share_the_script(nuc: Nuc, bout: Path, script: Path) -> None:
    assert nuc("diff", str(bout), str(script)).exit_code == 0
    edit(script, r'time="0.5">61', 'time="0.5">62.5')
    assert nuc("diff", str(bout), str(script)).exit_code == 1


def test_things_with_nothing_in_common_are_a_wrong_command_line(nuc: Nuc, script: Path) -> None:
    result = nuc("diff", "lin_roach", str(script))
    assert result.exit_code == 2
    assert "nothing in common" in result.stderr
    assert nuc("diff", "lin_roach", "nowhere").exit_code == 2


def test_a_broken_side_is_told_as_validate_tells_it(nuc: Nuc, roach: Path) -> None:
    edit(roach / "joints.xml", r'boolstring="307 &gt; 105"', 'boolstring="307 &gt; 5555"')
    result = nuc("diff", "lin_roach", str(roach))
    assert result.exit_code == 1
    assert "5555" in result.stderr


def test_models_that_number_their_parameters_differently_are_compared_by_name() -> None:
    roach, stick = load(CONFIGS / "lin_roach"), load(CONFIGS / "lin_stickmiddle")
    names = {d.name for d in compare_models(roach, stick) if d.section in ("value", "rule")}
    assert "FT_ext_FTang" in names
    assert "Enter_FT_Extension" in names


BY_HAND = """<hdsoscript name="{name}">
  <gradual time="1" duration="{seconds}" steps="4"><hdsoMod idNum="103" NumElts="1">60</hdsoMod></gradual>
  <kick time="2"/>
  <kick time="2" force="{force}"/>
  {more}
</hdsoscript>"""


def test_scripts_differ_in_what_is_done_gradually_and_by_hand(nuc: Nuc, tmp_path: Path) -> None:
    texts = {
        "a": BY_HAND.format(name="a", seconds=4, force="1 0 0", more='<ground time="3" present="n"/>'),
        "b": BY_HAND.format(name="b", seconds=5, force="2 0 0", more=""),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.xml").write_text(text)
    result = nuc("diff", "a.xml", "b.xml")
    out = result.stdout
    assert "at 1 s, HDSO 103 gradually" in out
    assert "60 in 4 steps over 4 s" in out
    assert "60 in 4 steps over 5 s" in out
    assert 'kick time="2" force="1 0 0"' in out
    assert "at 3 s, ground  only in A" in out
    assert out.count("at 2 s, kick") == 1
    nuc("diff", "a.xml", "b.xml", "--changeset", "more.xml")
    assert 'duration="5" steps="4"' in (tmp_path / "more.xml").read_text()
    assert 'force="2 0 0"' in (tmp_path / "more.xml").read_text()
    assert nuc("validate", "more.xml", "--config", "lin_roach").exit_code == 0
