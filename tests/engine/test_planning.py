"""From documents to the plan: every table of it, from a small configuration and variations of it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from nuc_engine.changes import ScriptRefused, prepare
from nuc_engine.plan import Plan, Slot
from nuc_engine.planning import PlanError, build_plan
from nuc_engine.store import Store, unfit
from sccils_schemas.documents import HdsoMod, HdsoScript
from sccils_schemas.model import Model, check_script, load_model
from tests.sccils.small import changed, small_model

J, P, S = "joints.xml", "parameters.xml", "sensors.xml"


@pytest.fixture
def vary(tmp_path: Path):
    """Return a function that gives the small configuration with (file, old, new) applied."""

    def varied(*edits: tuple[str, str, str]) -> Model:
        model, problems = load_model(changed(tmp_path, *edits))
        assert model is not None, str(problems)
        return model

    return varied


def slots(plan: Plan, number: int, count: int) -> tuple[Slot, ...]:
    return tuple(Slot(plan.hdso(number).index, element) for element in range(count))


def values_at_start(plan: Plan) -> dict[int, tuple[int | float, ...]]:
    """Return what each HDSO, by id, holds once every initial write is made."""
    values: dict[int, tuple[int | float, ...]] = {}
    for write in plan.initial:
        number = plan.hdsos[write.hdso].id_num
        values[number] = write.values + values.get(number, ())[len(write.values) :]
    return values


@pytest.mark.parametrize("sensor_first", [True, False])
def test_a_sensor_among_the_initialisers_is_no_parameter(vary, sensor_first):
    listed = '<hdsoMod idNum="301" NumElts="0"/>'
    numbers = '<hdsoMod idNum="141" NumElts="5">0 0.8 0.01 61 100</hdsoMod>'
    pair = listed + numbers if sensor_first else numbers + listed
    plan = build_plan(vary((J, ' activation_parameters="141"', ""), (J, numbers, pair)))
    activation = plan.states[0].activations[0]
    assert activation.sensors == slots(plan, 301, 1)
    assert activation.parameters == slots(plan, 141, 5)


def test_a_script_is_followed_with_the_same_parameters(vary):
    numbers = '<hdsoMod idNum="141" NumElts="5">0 0.8 0.01 61 100</hdsoMod>'
    listed = '<hdsoMod idNum="301" NumElts="0"/>'
    model = vary((J, ' activation_parameters="141"', ""), (J, numbers, listed + numbers))
    flat = HdsoScript((HdsoMod(141, 5, (0.0, 0.0, 0.0, 61.0, 61.0), time_s=Decimal(1)),))
    assert "wmin and wmax" in str(check_script(flat, model))


DWELL = '<dwell_time>\n        <hdsoMod idNum="194" NumElts="0"/>'


def test_whole_numbers_reach_integers_as_integers(vary):
    # 50000000 is sent as float, the default type of an hdsoMod, and held by an llint.
    plan = build_plan(vary((J, DWELL, '<dwell_time>\n        <hdsoMod idNum="195" NumElts="1">50000000</hdsoMod>')))
    assert values_at_start(plan)[195] == (50_000_000,)
    store = Store(plan)
    for write in plan.initial:
        store.write(write.hdso, write.values)
    assert store.values(plan.hdso(195).index) == (50_000_000,)


def test_a_script_writes_integers_without_naming_their_type():
    model = small_model()
    plan = build_plan(model)
    script = HdsoScript((HdsoMod(0, 1, (2.0,)), HdsoMod(1, 1, (5e6,), time_s=Decimal(1))))
    assert check_script(script, model).ok
    writes = [write for change in prepare(script, plan, model.ids) for write in change.writes]
    assert [write.values for write in writes] == [(2,), (5_000_000,)]
    assert all(isinstance(value, int) for write in writes for value in write.values)
    with pytest.raises(ScriptRefused, match="not a int"):
        prepare(HdsoScript((HdsoMod(0, 1, (2.5,)),)), plan, model.ids)


def test_an_entry_that_only_names_an_hdso_writes_nothing():
    model = small_model()
    (change,) = prepare(HdsoScript((HdsoMod(101), HdsoMod(102, 1, (3.0,)))), build_plan(model), model.ids)
    assert [write.values for write in change.writes] == [(3.0,)]


def test_bytes_of_every_value_can_be_held(vary):
    plan = build_plan(vary((P, "<initial_data>abc</initial_data>", "<initial_data>\u00e4\u2028b</initial_data>")))
    assert bytes(values_at_start(plan)[210]) == "\u00e4\u2028b".encode()
    as_numbers = (P, 'datatype="char" xmltype="char"', 'datatype="char"')
    numbers = "<initial_data>0 97 128 255 1 2 3 4</initial_data>"
    plan = build_plan(vary(as_numbers, (P, "<initial_data>abc</initial_data>", numbers)))
    assert values_at_start(plan)[210] == (0, 97, 128, 255, 1, 2, 3, 4)


def test_an_empty_text_is_no_value(vary):
    plan = build_plan(vary((P, "<initial_data>abc</initial_data>", "<initial_data></initial_data>")))
    assert 210 not in values_at_start(plan)


def test_an_invalid_range_without_bounds_excludes_nothing(vary):
    opened = '<range type="invalid">'
    bounds = opened + '\n      <bound type="upper">1</bound>\n      <bound type="lower">-1</bound>'
    plan = build_plan(vary((P, bounds, opened)))
    assert plan.hdso(104).invalid == ()
    assert unfit(plan.hdso(104), (0.0,)) is None


def test_what_the_checks_would_have_refused_makes_no_plan():
    model = small_model()
    first, *rest = model.parameters.hdsos
    assert first.name == "motor_speed"
    wrong = replace(model.parameters, hdsos=(replace(first, initial_data=(5,)), *rest))
    with pytest.raises(PlanError, match="motor_speed"):
        build_plan(replace(model, parameters=wrong))


def test_geometry_of_the_endpoint_has_its_value_too(vary):
    line = '<geometry><DHline><hdsoMod idNum="183" NumElts="4">1 0 0 0.5</hdsoMod></DHline></geometry>'
    declared = '<hdso idNum="183" name="Foot_DH" numdims="1"><dimsize dimNr="1">4</dimsize></hdso>\n  <hdso idNum="190"'
    model = vary((J, "<geometry/>", line), (P, '<hdso idNum="190"', declared))
    plan = build_plan(model)
    assert values_at_start(plan)[183] == (1, 0, 0, 0.5)
    assert [joint.name for joint in plan.joints] == ["Coxa", "Femur"]


def test_geometry_given_once_serves_every_joint_that_names_it(vary):
    again = '<hdsoMod idNum="181" NumElts="0"/>'
    plan = build_plan(vary((J, '<hdsoMod idNum="182" NumElts="4">9.7 0 0 0.017453292519943</hdsoMod>', again)))
    assert plan.joints[1].dh_line == plan.joints[0].dh_line == (8.9, 0, 0, 0.017453292519943)


def test_sensors_of_either_type_are_logged(vary):
    plan = build_plan(vary((S, 'name="Femur_angle"', 'name="Femur_angle" datatype="double"')))
    assert [plan.hdsos[index].id_num for index in plan.sensor_columns] == [301, 302, 303, 304]
