"""What a bout is made of, before it runs: for its bus, with its weight carried, and with warnings that say where."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nuc_engine.bout.prepare import prepare_bout, prepare_spec
from nuc_engine.bout.spec import BoutRefused, BoutSpec
from nuc_engine.configurations.adapt import adapt, write_adapted

SCRIPT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE hdsoscript SYSTEM "hdsoscript.dtd">
<hdsoscript name="short" ScriptType="LegScript">
  <hdsoMod idNum="103" name="another" NumElts="1" datatype="float" time="0.5">-169</hdsoMod>
  <hdsoMod idNum="165" name="Enter_FT_Extension" NumElts="11" datatype="char" time="1.5">(307 &lt; 103)</hdsoMod>
</hdsoscript>
"""
"""A name that is another's, and a rule that waits for an angle no servo can turn to."""


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "somewhere.xml").write_text(SCRIPT)
    return str(tmp_path / "somewhere.xml")


def spec(**more) -> BoutSpec:
    return BoutSpec(**{"config": "lin_roach", "out": Path("nowhere"), **more})


def test_a_configuration_is_called_what_the_bout_calls_it():
    prepared = prepare_bout("lin_roach", None, "mine")
    assert (prepared.model.name, prepared.plan.name) == ("mine", "mine")
    assert prepare_spec(spec(name="mine")).plan.name == "mine"
    assert prepare_bout("lin_roach", None).plan.name == "lin_roach"


def test_warnings_of_a_script_say_the_name_it_has_in_the_data_directory(script, tmp_path):
    warnings = prepare_bout("lin_roach", script).warnings
    (warning,) = [text for text in warnings if "'another'" in text]
    assert warning.startswith("scriptfile.xml:4:")
    assert str(tmp_path) not in "\n".join(warnings)


def test_a_rule_that_can_never_come_true_is_told_with_the_time_from_which(script):
    (warning,) = [text for text in prepare_bout("lin_roach", script).warnings if "Enter_FT_Extension" in text]
    assert warning.startswith("from 1.5 s on, ")
    assert not any("Enter_FT_Extension" in text for text in prepare_bout("lin_roach", None).warnings)
    always = prepare_bout("lin_roach", None, values={"103": -169.0, "165": "(307 < 103)"}).warnings
    (warning,) = [text for text in always if "Enter_FT_Extension" in text]
    assert not warning.startswith("from")


def test_a_refused_value_is_named():
    with pytest.raises(BoutRefused) as refused:
        prepare_bout("lin_roach", None, values={"105": 1.0, "no_such": 2.0, "FT_angle": 3.0})
    lines = str(refused.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["value FT_angle", "value no_such"]


def test_a_script_is_left_out_where_it_is_not_wanted(script):
    given = spec(script=script, values={"105": 90.0})
    whole, bare = prepare_spec(given), prepare_spec(given, scripted=False)
    assert len(whole.changesets) == 3
    assert (bare.script, bare.script_path, bare.changesets) == (None, None, ())
    assert bare.plan == whole.plan


@pytest.mark.parametrize("wrong", [{"duration_s": 0.0}, {"seed": -1}, {"limits": {"no_motor": 3}}])
def test_what_no_bout_can_have_is_refused_before_it_begins(wrong):
    with pytest.raises(BoutRefused, match="expected"):
        prepare_spec(spec(**wrong))


def test_the_bus_says_which_motors_are_driven(tmp_path):
    write_adapted(adapt("lin_roach", "XL430-W250"), tmp_path / "xl")
    for bus, family in (("emulated:", "aimotor"), ("emulated:dynamixel", "dynamixel"), ("loopback:", "aimotor")):
        plan = prepare_spec(spec(config=str(tmp_path / "xl"), bus=bus)).plan
        assert {motor.family for motor in plan.motors} == {family}
    with pytest.raises(BoutRefused, match="no motor of the family feetech"):
        prepare_spec(spec(config=str(tmp_path / "xl"), bus="emulated:feetech"))


def test_the_weight_that_is_carried_is_that_of_the_plant_as_it_was_changed():
    assert prepare_spec(spec()).plan.gravity is None
    light = prepare_spec(spec(gravity_compensation=0.4)).plan.gravity
    heavy = prepare_spec(spec(gravity_compensation=0.4, plant={"world.foot_mass_g": 100.0})).plan.gravity
    assert light is not None
    assert heavy is not None
    assert light.share == heavy.share == 0.4
    assert heavy.links[-1].mass_kg > light.links[-1].mass_kg + 0.05


def test_without_masses_a_bout_whose_weight_is_carried_is_refused(tmp_path):
    folder = shutil.copytree("configs/lin_roach", tmp_path / "bare")
    (folder / "plant.toml").unlink()
    bare = {"config": str(folder), "bus": "loopback:"}
    assert prepare_spec(spec(**bare)).plan.gravity is None
    with pytest.raises(BoutRefused, match="needs the masses"):
        prepare_spec(spec(**bare, gravity_compensation=0.4))
