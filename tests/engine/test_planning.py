"""From documents to the plan: every table of it, from a small configuration and variations of it."""

from __future__ import annotations

import pickle
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from nuc_engine.model.changes import ScriptRefused, prepare
from nuc_engine.model.plan import FunctionPlan, Plan, Slot
from nuc_engine.model.planning import PlanError, build_plan
from nuc_engine.model.store import TYPES, Store, unfit
from sccils_schemas.documents import HdsoMod, HdsoScript
from sccils_schemas.model import Model, check_script, load_model
from tests.sccils.small import SMALL, changed, small_model

CONFIGS = Path(__file__).parents[2] / "configs"
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


@pytest.fixture(scope="module")
def small() -> Plan:
    return build_plan(small_model())


def test_names_and_places_of_the_hdsos(small):
    model = small_model()
    assert small.name == "small"
    assert [(hdso.id_num, hdso.name) for hdso in small.hdsos] == [(hdso.id_num, hdso.name) for hdso in model.hdsos]
    assert [hdso.index for hdso in small.hdsos] == list(range(len(small.hdsos)))
    kinds = {number: small.hdso(number).kind for number in (101, 161, 191, 301)}
    assert kinds == {101: "parameter", 161: "boolstring", 191: "constant", 301: "sensor"}
    assert (small.hdso(180).dims, small.hdso(180).count) == ((4, 4), 16)
    end = 0
    for hdso in small.hdsos:
        width = TYPES[hdso.datatype][1]
        assert hdso.offset % width == 0
        assert end <= hdso.offset < end + width, "neither over another nor far from it"
        end = hdso.offset + width * hdso.count
    assert small.store_size % 8 == 0
    assert end <= small.store_size < end + 8


def test_units_are_kept_and_none_is_empty(vary):
    plan = build_plan(vary((P, 'name="pro_load"', 'name="pro_load" units="tick"')))
    assert (plan.hdso(101).units, plan.hdso(102).units) == ("tick", "")


def test_ranges_of_each_type(small):
    assert small.hdso(101).valid == (-20.0, 20.0), "and not its suggested range"
    assert small.hdso(104).invalid == ((-1.0, 1.0),)
    assert small.hdso(104).valid == (None, None)
    assert small.hdso(301).normal == (0.0, 255.0)
    assert small.hdso(302).normal == (None, None)
    assert small.hdso(301).valid == (None, None), "normal bounds are raw and limit no angle"


def test_several_invalid_ranges_stand_beside_a_valid_one(vary):
    opened = '<range type="invalid">'
    more = (
        '<range type="invalid"><bound type="lower">5</bound></range>\n'
        '    <range type="valid"><bound type="lower">-9</bound></range>\n    '
    )
    plan = build_plan(vary((P, opened, more + opened)))
    assert plan.hdso(104).invalid == ((5.0, None), (-1.0, 1.0))
    assert plan.hdso(104).valid == (-9.0, None)


def test_what_the_engine_can_do_narrows_what_is_declared(small, vary):
    assert small.hdso("motor_speed").valid == (0, 4)
    assert small.hdso("motor_control_delay_ns").valid == (0, None)
    assert small.hdso("statetrans_period_ns").valid == (100_000, None)
    wide = (P, '<bound type="upper">4</bound>\n      <bound type="lower">0</bound>', "{}")
    for upper, lower, narrowed in ((9, -1, (0, 4)), (3, 1, (1, 3))):
        bounds = f'<bound type="upper">{upper}</bound><bound type="lower">{lower}</bound>'
        assert build_plan(vary((*wide[:2], bounds))).hdso("motor_speed").valid == narrowed


def test_ranges_do_not_limit_the_code_of_a_rule(vary):
    dims = '<dimsize dimNr="1">2</dimsize><dimsize dimNr="2">30</dimsize>'
    plan = build_plan(vary((P, dims, dims + '<range type="valid"><bound type="upper">0</bound></range>')))
    assert plan.hdso(161).valid == (None, None)
    assert values_at_start(plan)[161][:5] == (1, 0, 1, 0, 1)


def test_what_the_engine_looks_up_by_name(small, vary):
    found = (small.motor_speed, small.motor_control_delay, small.statetrans_period, small.engine_start_time)
    assert [small.hdsos[index].id_num for index in found] == [0, 1, 2, 20]
    assert small.engine_stop_time == -1
    plan = build_plan(vary((S, "engine_start_time", "engine_stop_time")))
    assert (plan.engine_start_time, plan.engine_stop_time) == (-1, plan.hdso(20).index)
    assert [small.hdsos[index].id_num for index in small.sensor_columns] == [301, 302, 303, 304]


def test_joints(small):
    coxa, femur = small.joints
    assert (coxa.index, coxa.id_num, coxa.name, coxa.parent) == (0, 1, "Coxa", -1)
    assert (femur.index, femur.id_num, femur.name, femur.parent) == (1, 2, "Femur", 0)
    assert (coxa.control_mode, femur.control_mode) == ("muscle", "position")
    assert (coxa.motor, femur.motor) == (0, 1)
    assert (coxa.muscles, femur.muscles) == ((0, 1), ())
    assert (coxa.states, femur.states) == ((0, 1), ())
    assert (coxa.start_state, femur.start_state) == (0, -1)


def test_the_start_state_is_the_one_that_is_named(vary):
    plan = build_plan(vary((J, 'start_state_idNum="201"', 'start_state_idNum="202"')))
    assert plan.joints[0].start_state == 1


def test_a_joint_without_states_has_no_start_state_of_its_own(vary):
    plan = build_plan(vary((J, 'control_mode="position"', 'control_mode="position" start_state_idNum="202"')))
    assert (plan.joints[1].states, plan.joints[1].start_state) == ((), 1)


def test_geometry(small):
    coxa, femur = small.joints
    assert coxa.amatrix == (1, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0, 10.5, 0, 0, 0, 1)
    assert coxa.dh_line == (8.9, 0, 0, 0.017453292519943)
    assert femur.amatrix is None
    assert femur.dh_line == (9.7, 0, 0, 0.017453292519943)


def test_geometry_may_stand_in_the_parameters(vary):
    given = '<hdsoMod idNum="182" NumElts="4">9.7 0 0 0.017453292519943</hdsoMod>'
    name = '<hdso idNum="182" name="Femur_DH" numdims="1">\n    <dimsize dimNr="1">4</dimsize>'
    plan = build_plan(
        vary(
            (J, given, '<hdsoMod idNum="182" NumElts="0"/>'),
            (P, name, name + "<initial_data>1 2 3 4</initial_data>"),
        )
    )
    assert plan.joints[1].dh_line == (1, 2, 3, 4)


def test_motors(small):
    coxa, femur = small.motors
    assert (coxa.index, coxa.id_num, coxa.name, coxa.bus_id, coxa.joint) == (0, 601, "Coxa_motor", 0, 0)
    assert (femur.index, femur.id_num, femur.name, femur.bus_id, femur.joint) == (1, 602, "Femur_motor", 1, 1)
    assert (coxa.dir, coxa.cal1, coxa.cal2) == (1, 144.0, 1.529)
    assert (femur.dir, femur.cal1, femur.cal2) == (-1, 131.5, -1.529)
    sensors = [(small.hdsos[motor.angle].id_num, small.hdsos[motor.current].id_num) for motor in small.motors]
    assert sensors == [(301, 302), (303, 304)]
    assert (coxa.position_command, coxa.force_command) == (-1, -1)
    assert small.hdsos[femur.position_command].id_num == 204
    assert small.hdsos[femur.force_command].id_num == 203
    assert (coxa.model, femur.model) == ("", "")


def test_the_model_number_and_turns_of_a_motor(vary):
    no_turns = (
        'name="Femur_angle" numdims="1" abstractType="sensor" overflowCorrection="1"',
        'name="Femur_angle" numdims="1"',
    )
    plan = build_plan(vary((J, 'serialID="0"', 'serialID="0" modelnum="1001"'), (S, *no_turns)))
    assert [motor.model for motor in plan.motors] == ["1001", ""]
    assert [motor.overflow_correction for motor in plan.motors] == [True, False]


def test_a_joint_without_a_motor_takes_none_of_the_others(vary):
    still = (
        '<joint name="Hip" idNum="9" parent="1" control_mode="none"><geometry><DHline><hdsoMod idNum="182" NumElts="4">'
        "9.7 0 0 0.017453292519943</hdsoMod></DHline></geometry></joint>\n  "
    )
    femur = '<joint name="Femur" idNum="2" parent="1"'
    plan = build_plan(vary((J, femur, still + femur.replace('parent="1"', 'parent="9"'))))
    assert [(joint.name, joint.motor, joint.parent) for joint in plan.joints] == [
        ("Coxa", 0, -1),
        ("Hip", -1, 0),
        ("Femur", 1, 1),
    ]
    assert [(motor.joint, plan.hdsos[motor.angle].id_num) for motor in plan.motors] == [(0, 301), (2, 303)]


def test_muscles(small):
    promotor, remotor = small.muscles
    assert (promotor.index, promotor.id_num, promotor.name, promotor.joint) == (0, 401, "Promotor", 0)
    assert (promotor.l0, promotor.r, promotor.alpha_deg, promotor.fmax) == (20.0, 10.0, 20.0, 15.0)
    assert (remotor.index, remotor.id_num, remotor.name, remotor.joint) == (1, 402, "Remotor", 0)
    assert (remotor.l0, remotor.r, remotor.alpha_deg, remotor.fmax) == (20.0, -5.0, 25.0, 18.0)
    assert promotor.passive_stiffness == FunctionPlan("constant", slots(small, 190, 1))
    assert promotor.force_length == FunctionPlan("linear", slots(small, 171, 2))
    assert promotor.force_velocity == FunctionPlan("constant", slots(small, 191, 1))
    assert remotor.force_length == FunctionPlan("parabolic", slots(small, 172, 3))


def test_parameters_of_a_function_may_be_spread(vary):
    spread = '<hdsoMod idNum="190" NumElts="0"/><hdsoMod idNum="-4" idByName="y" name="one_const" NumElts="0"/>'
    plan = build_plan(vary((J, '<hdsoMod idNum="171" NumElts="2">2 -1.5</hdsoMod>', spread)))
    assert plan.muscles[0].force_length.parameters == slots(plan, 190, 1) + slots(plan, 191, 1)


def test_states(small):
    protraction, retraction = small.states
    assert (protraction.index, protraction.id_num, protraction.name, protraction.joint) == (0, 201, "Protraction", 0)
    assert (retraction.index, retraction.id_num, retraction.name, retraction.joint) == (1, 202, "Retraction", 0)
    assert [small.hdsos[state.rule].id_num for state in small.states] == [161, 162]
    assert [state.dwell for state in small.states] == [*slots(small, 194, 1)] * 2
    first, second = retraction.activations
    assert (first.muscle, first.function) == (0, "bilinear")
    assert first.sensors == slots(small, 301, 1) + slots(small, 303, 1)
    assert first.parameters == slots(small, 142, 10)
    assert (second.muscle, second.function, second.sensors) == (1, "constant", ())
    assert second.parameters == slots(small, 122, 1)


def test_a_state_without_dwell_time_has_none(vary):
    dwell = '<dwell_time>\n        <hdsoMod idNum="194" NumElts="0"/>\n      </dwell_time>'
    plan = build_plan(vary((J, dwell, "")))
    assert [state.dwell is None for state in plan.states] == [True, False]


THIRD = """    <muscle name="Helper" idNum="403" Lnaught="30" r="2" alpha="5" fmax="3">
      <function_spec type="constant" use="passive_stiffness"><hdsoMod idNum="190" NumElts="0"/></function_spec>
      <function_spec type="hyperbolic" use="force-length"><hdsoMod idNum="172" NumElts="0"/></function_spec>
      <function_spec type="constant" use="force-velocity"><hdsoMod idNum="191" NumElts="0"/></function_spec>
    </muscle>
    <geometry>
      <amatrix>"""
ACTIVE = '<muscle_activation muscle="403" activation_function="constant" activation_parameters="{}"/>\n      '


def test_a_joint_may_have_three_muscles(vary):
    first, second = 'boolstring="(302', 'boolstring="Coxa_current'
    plan = build_plan(
        vary(
            (J, "    <geometry>\n      <amatrix>", THIRD),
            (J, f"<transition_rule {first}", ACTIVE.format(121) + f"<transition_rule {first}"),
            (J, f"<transition_rule {second}", ACTIVE.format(122) + f"<transition_rule {second}"),
        )
    )
    assert plan.joints[0].muscles == (0, 1, 2)
    assert (plan.muscles[2].name, plan.muscles[2].force_length.type) == ("Helper", "hyperbolic")
    assert [[activation.muscle for activation in state.activations] for state in plan.states] == [[0, 1, 2]] * 2
    assert [state.activations[2].parameters for state in plan.states] == [slots(plan, 121, 1), slots(plan, 122, 1)]


def test_muscles_and_states_of_later_joints_count_on(vary):
    """The muscles and states of the whole model have one order, that of the document."""
    text = (SMALL / J).read_text()
    coxa = text[text.index('  <joint name="Coxa"') : text.index('  <joint name="Femur"')]
    twin = coxa
    for old, new in TWIN:
        assert old in twin, old
        twin = twin.replace(old, new)
    more = (
        '  <hdso idNum="261" name="Rule261" numdims="2" abstractType="boolstring" datatype="int">\n'
        '    <dimsize dimNr="1">2</dimsize><dimsize dimNr="2">30</dimsize></hdso>\n'
    )
    sensors = "".join(
        f'  <hdso idNum="{n}" name="more{n}" numdims="1" abstractType="sensor"><dimsize dimNr="1">1</dimsize></hdso>\n'
        for n in (305, 306)
    )
    last = '  <hdso idNum="20" '
    plan = build_plan(
        vary(
            (J, "  <endpoint>", twin + "  <endpoint>"),
            (P, '  <hdso idNum="171"', more + more.replace("261", "262") + '  <hdso idNum="171"'),
            (S, last, sensors + last),
        )
    )
    assert [joint.muscles for joint in plan.joints] == [(0, 1), (), (2, 3)]
    assert [joint.states for joint in plan.joints] == [(0, 1), (), (2, 3)]
    assert [joint.start_state for joint in plan.joints] == [0, -1, 2]
    assert [[activation.muscle for activation in state.activations] for state in plan.states[2:]] == [[2, 3]] * 2
    assert [plan.hdsos[state.rule].id_num for state in plan.states] == [161, 162, 261, 262]


TWIN = (
    (
        'name="Coxa" idNum="1" parent="0" start_state_idNum="201"',
        'name="Twin" idNum="4" parent="2" start_state_idNum="211"',
    ),
    ('name="Promotor" idNum="401"', 'name="Promotor2" idNum="411"'),
    ('name="Remotor" idNum="402"', 'name="Remotor2" idNum="412"'),
    ('muscle="401"', 'muscle="411"'),
    ('muscle="402"', 'muscle="412"'),
    ('name="Protraction" idNum="201"', 'name="Protraction2" idNum="211"'),
    ('name="Retraction" idNum="202"', 'name="Retraction2" idNum="212"'),
    ('idNum="161"', 'idNum="261"'),
    ('idNum="162"', 'idNum="262"'),
    ('name="Coxa_CS" idNum="501"', 'name="Twin_CS" idNum="511"'),
    ('name="Coxa_motor" idNum="601" serialID="0"', 'name="Twin_motor" idNum="611" serialID="7"'),
)


def test_first_values_come_from_every_place_that_may_give_them(small):
    values = values_at_start(small)
    assert values[0] == (3,)
    assert values[190] == (0.0,)
    assert values[171] == (2, -1.5)
    assert values[101] == (-0.5,)
    assert values[103] == (0.5,), "named by name"
    assert values[121] == (0.05,)
    assert values[181][0] == 8.9
    assert values[204] == (128,)
    assert values[211] == (0, 128, 255)
    assert values[20] == (-1,)
    assert values[162][:4] == (0, 1, 0, -1), "the rule of the boolstring attribute"
    assert values[162][30:34] == (302, 4, 103, 0), "with ids in place of names"
    assert not {104, 163, 203, 301} & values.keys(), "nobody gave these a value"


def test_dwell_times_and_commands_are_written_too(vary):
    dwell = '<hdsoMod idNum="195" NumElts="1" datatype="llint">70</hdsoMod>'
    force = '<hdsoMod idNum="203" NumElts="1">6</hdsoMod>'
    organ = '<hdsoMod idNum="302" NumElts="1">4</hdsoMod>\n    </sense_organ>'
    plan = build_plan(
        vary(
            (J, '<hdsoMod idNum="194" NumElts="0"/>', dwell),
            (J, '<hdsoMod idNum="203" NumElts="0"/>', force),
            (J, '<hdsoMod idNum="302" NumElts="0"/>\n    </sense_organ>', organ),
        )
    )
    values = values_at_start(plan)
    assert (values[195], values[203], values[302]) == ((70,), (6,), (4,))
    assert plan.states[0].dwell == Slot(plan.hdso(195).index)


def test_the_last_write_stays_and_initial_data_come_first(vary):
    """initial_data, then rules, then the joint list in the order of the document (reading B13)."""
    end = '</range>\n  </hdso>\n  <hdso idNum="122"'
    given = '</range><initial_data>0.75</initial_data>\n  </hdso>\n  <hdso idNum="122"'
    second = 'activation_parameters="122">\n        <hdsoMod idNum="122" NumElts="1">0.25</hdsoMod>'
    again = 'activation_parameters="121">\n        <hdsoMod idNum="121" NumElts="1">1.5</hdsoMod>'
    plan = build_plan(vary((P, end, given), (J, second, again)))
    index = plan.hdso(121).index
    assert [write.values for write in plan.initial if write.hdso == index] == [(0.75,), (0.05,), (1.5,)]
    order = [plan.hdsos[write.hdso].id_num for write in plan.initial]
    last_given = max(at for at, number in enumerate(order) if number == 211)
    first_rule, first_mod = order.index(161), order.index(171)
    assert last_given < first_rule < order.index(162) < first_mod


def test_initial_data_of_a_rule_give_way_to_the_state(vary):
    dims = 'datatype="int" xmltype="char">\n    <dimsize dimNr="1">2</dimsize><dimsize dimNr="2">30</dimsize>'
    plan = build_plan(vary((P, dims, dims + "<initial_data>191</initial_data>")))
    index = plan.hdso(161).index
    codes = [write.values[30:33] for write in plan.initial if write.hdso == index]
    assert codes == [(191, 0, 0), (1, 302, 3)]


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in CONFIGS.glob("*/joints.xml")), ids=lambda path: path.name
)
def test_every_shipped_configuration_makes_a_plan_that_can_be_passed_on(folder):
    model, problems = load_model(folder)
    assert model is not None, str(problems)
    plan = build_plan(model)
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert plan.name == folder.name
    assert len(plan.motors) == sum(joint.motor is not None for joint in model.jointlist.joints)


@pytest.mark.parametrize(
    ("time_s", "time_ns"),
    [
        ("0.0000000019", 1),
        ("0.0000000009999999999999999999999999999999", 0),
        ("1", 1_000_000_000),
        ("8999999999.999999999", 8_999_999_999_999_999_999),
        ("1e-400", 0),
        ("0.3", 300_000_000),
    ],
)
def test_times_are_cut_to_nanoseconds(time_s, time_ns):
    model = small_model()
    script = HdsoScript((HdsoMod(101, 1, (1.0,), time_s=Decimal(time_s)),))
    assert [change.time_ns for change in prepare(script, build_plan(model), model.ids)] == [time_ns]


def test_what_falls_on_one_nanosecond_is_one_changeset():
    model = small_model()
    first, second = Decimal("1.0000000001"), Decimal("1.0000000002")
    moved = (HdsoMod(141, 5, (0.0, 0.0, 0.0, 61.0, 61.0), time_s=first), HdsoMod(141, 4, (0.0,) * 4, time_s=second))
    assert check_script(HdsoScript(moved), model).ok, "wmin and wmax differ again within the changeset"
    (change,) = prepare(HdsoScript(moved), build_plan(model), model.ids)
    assert len(change.writes) == 2
