"""Motors in units of their own: deltas by a factor or a table, guard and approach by motor, loads with a sign."""

from __future__ import annotations

import math

import pytest

from drivers.bus import READ_ONLY
from nuc_engine.control.controls import Controls, refusal
from nuc_engine.control.executive import Executive
from nuc_engine.control.guard import Guard
from nuc_engine.control.tasks.board import Drive
from nuc_engine.control.tasks.motor_action import MotorAction
from nuc_engine.control.tasks.motor_conversion import MotorConversion
from nuc_engine.model.changes import JointControl
from nuc_engine.model.rulecheck import free_ranges
from tests.engine.models import ScriptedBus, Trace, one_joint
from tests.engine.test_tasks import Bench, act, convert

FINE = {
    "family": "dynamixel",
    "tick_deg": 0.088,
    "positions": (0, 4095),
    "goals": (0, 4095),
    "cal1": 2048.0,
    "cal2": 11.36,
}
"""A servo of 4096 positions a turn."""


def guard_of(bench):
    return Guard([None], [motor.goals for motor in bench.plan.motors])


def fine(**more):
    return Bench(motor=FINE | {"delta_ticks": 7.43} | more)


@pytest.mark.parametrize(
    ("position", "delta", "direction", "goal"),
    [
        (2000, 10.0, 1, 2074),
        (2000, 10.0, -1, 1926),
        (2000, -0.06, 1, 2000),
        (2000, -0.07, 1, 1999),
        (2000, 1000.0, 1, 4095),
        (2000, -1000.0, 1, 0),
    ],
)
def test_a_unit_of_muscle_output_is_so_many_ticks(position, delta, direction, goal):
    bench = fine(dir=direction)
    assert act(bench, position, delta=delta, guard=guard_of(bench)).goals == [(0, [goal])]


def test_a_tweak_is_in_ticks_of_the_motor():
    bench = fine()
    bench.board.tweaks[0] = 5
    assert act(bench, 2000, delta=10.0, guard=guard_of(bench)).goals == [(0, [2079])]


@pytest.mark.parametrize("delta", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("table", [(), ((-60.0, -0.2), (0.0, 0.0), (60.0, 0.2))])
def test_a_delta_that_is_no_number_moves_nothing(delta, table):
    bench = fine(torque_table=table, delta_torque_n_m=0.01)
    guard = guard_of(bench)
    assert act(bench, 2000, delta=delta, guard=guard).goals == [(0, [READ_ONLY])]
    assert guard.interventions == [1]


def test_a_measured_table_says_how_many_ticks_and_its_end_is_counted():
    bench = fine(torque_table=((-60.0, -0.2), (-4.0, 0.0), (0.0, 0.0), (4.0, 0.0), (60.0, 0.2)), delta_torque_n_m=0.01)
    bus = ScriptedBus(lambda now, goals: [(2000, 0)])
    action = MotorAction(bench.plan, bench.store, bench.board, bus, guard_of(bench))
    bench.board.position_raw[0], bench.board.status[0] = 2000, 1
    for delta in (10.0, -10.0, 0.0, 20.0, 25.0):
        bench.board.deltas = [delta]
        action.start(0)
    # 0.1 N m: 4 + 56 / 2 ticks; beyond 0.2 N m the table ends.
    assert [goals[0] - 2000 for _, goals in bus.goals] == [32, -32, 0, 60, 60]
    assert action.scales[0] is not None
    assert action.scales[0].beyond == 1


@pytest.mark.parametrize(("end_n_m", "beyond"), [(1e-6, True), (1e6, False)])
def test_a_run_tells_how_often_its_tables_had_no_such_torque(end_n_m, beyond):
    table = ((-60.0, -end_n_m), (0.0, 0.0), (60.0, end_n_m))
    plan = one_joint(motor=FINE | {"torque_table": table, "delta_torque_n_m": 0.01})
    executive = Executive(plan, ScriptedBus(lambda now, goals: [(2000, 0)]), Trace())
    executive.run_until(200_000_000)
    (count,) = executive.beyond_tables
    assert (count > 5) is beyond
    assert beyond or count == 0
    plain = Executive(one_joint(), ScriptedBus(lambda now, goals: [(140, 0)]), Trace())
    plain.run_until(200_000_000)
    assert plain.beyond_tables == [0]


def test_a_force_command_is_in_units_of_muscle_output_too():
    bench = Bench(mode="force", motor=FINE | {"delta_ticks": 10.0})
    # The force command of the model is 7.
    assert act(bench, 2000, guard=guard_of(bench)).goals == [(0, [2070])]


def test_in_muscle_mode_the_force_command_tells_muscle_output():
    bench = fine(delta_ticks=10.0)
    act(bench, 2000, delta=-30.44, guard=guard_of(bench))
    assert bench.value(204) == 1696
    assert bench.value(203) == pytest.approx(-30.4)


@pytest.mark.parametrize(
    ("delta", "ticks", "told"), [(-10.0, -32, -10.0), (15.0, 46, 15.0), (0.0, 0, 0.0), (99.0, 60, 20.0)]
)
def test_through_a_table_too_the_force_command_tells_muscle_output(delta, ticks, told):
    # 4 + 56 / 2 ticks are 0.1 N m, ten units of 0.01 N m; beyond its end a table gives what it gives there.
    table = ((-60.0, -0.2), (-4.0, 0.0), (0.0, 0.0), (4.0, 0.0), (60.0, 0.2))
    bench = fine(torque_table=table, delta_torque_n_m=0.01)
    act(bench, 2000, delta=delta, guard=guard_of(bench))
    assert bench.value(204) == 2000 + ticks
    assert bench.value(203) == pytest.approx(told)


def test_an_ai_motors_delta_is_its_ticks():
    bench, bus = Bench(), ScriptedBus(lambda now, goals: [(100, 0)])
    assert MotorAction(bench.plan, bench.store, bench.board, bus, Guard([None])).scales == [None]


@pytest.mark.parametrize(
    ("limit", "command", "measured", "sent", "interventions"),
    [(None, 4095, 10, 4095, 0), (None, 4096, 10, 4095, 1), (50, 2060, 2000, 2050, 1), (None, -1, 10, 0, 1)],
)
def test_the_guard_knows_each_motors_positions(limit, command, measured, sent, interventions):
    guard = Guard([None, limit], [(0, 254), (0, 4095)])
    assert guard.pass_on(1, command, measured) == sent
    assert guard.interventions == [0, interventions]


def test_an_approach_leads_by_the_same_angle_on_every_servo():
    leads = []
    for motor in (None, FINE):
        bench = Bench(motor=motor)
        bench.board.drives[0] = Drive.TARGET
        start = 100 if motor is None else 2000
        bench.board.target_raw[0] = start + (150.0 if motor is None else 1900.0)
        bench.board.rate_raw_s[0] = 1.0
        bench.board.position_raw[0], bench.board.status[0] = start, 1
        bus = ScriptedBus(lambda now, goals, start=start: [(start, 0)])
        action = MotorAction(bench.plan, bench.store, bench.board, bus, guard_of(bench))
        for k in range(40_000):
            bench.board.stamp_ns[0] = k * 100_000_000
            action.start(k * 100_000_000)
        tick = bench.plan.motors[0].tick_deg
        leads.append((bus.goals[-1][1][0] - start) * tick)
    assert leads[0] == pytest.approx(20 * 0.654)
    assert leads[1] == pytest.approx(leads[0], abs=0.088)


def test_loads_with_a_sign_go_without_that_of_the_drive():
    bench = fine(load_range=(-1193, 1193), load_scale=0.5)
    conversion = MotorConversion(bench.plan, bench.store, bench.board)
    convert(bench, conversion, 2048, current=-40, sign=1)
    assert bench.value(302) == -20.0
    convert(bench, conversion, 2048, current=-40, sign=-1)
    assert bench.value(302) == -20.0


def test_loads_without_a_sign_take_that_of_the_drive_and_the_scale():
    bench = fine(load_range=(0, 1000), load_scale=0.25)
    conversion = MotorConversion(bench.plan, bench.store, bench.board)
    convert(bench, conversion, 2048, current=40, sign=-1)
    assert bench.value(302) == -10.0


def test_what_turning_costs_of_a_reading_is_made_up_for():
    bench = fine(load_range=(-1000, 1000), load_scale=0.1, load_per_deg_s=0.2)
    conversion = MotorConversion(bench.plan, bench.store, bench.board)
    for k in range(200):
        convert(bench, conversion, 2048 + 10 * k, current=300, stamp=(k + 1) * 5_000_000)
    # 10 ticks of 0.088 degrees every 5 ms are 176 degrees a second.
    assert bench.value(302) == pytest.approx(0.1 * 300 - 0.2 * 176, rel=1e-3)
    for k in range(200):
        convert(bench, conversion, 4038, current=300, stamp=(k + 201) * 5_000_000)
    assert bench.value(302) == pytest.approx(30.0, rel=1e-3)


@pytest.mark.parametrize("every_ns", [1_000_000, 5_000_000])
def test_the_speed_a_reading_is_corrected_by_follows_with_20_ms(every_ns):
    # A filter of loads that lets everything through.
    bench = fine(load_range=(-1000, 1000), load_per_deg_s=1.0, sample_ns=1)
    conversion = MotorConversion(bench.plan, bench.store, bench.board)
    ticks = every_ns // 1_000_000
    for k in range(20):
        convert(bench, conversion, 2048, stamp=(k + 1) * every_ns)
    assert bench.value(302) == 0.0
    # From now on the shaft turns by a tick of 0.088 degrees each millisecond.
    steps = 20_000_000 // every_ns
    for k in range(steps):
        convert(bench, conversion, 2048 + (k + 1) * ticks, stamp=(k + 21) * every_ns)
    left = (20_000_000 / (20_000_000 + every_ns)) ** steps
    assert bench.value(302) == pytest.approx(-88.0 * (1 - left), rel=1e-6)


@pytest.mark.parametrize(("reading", "sign", "load"), [(100, 1, 5.5), (-100, 1, 5.5), (100, -1, -5.5), (30, 1, 0.0)])
def test_a_load_as_an_ai_motor_shows_it(reading, sign, load):
    bench = fine(load_range=(-1000, 1000), load_scale=0.1, load_dead=4.5, load_with_drive=True)
    conversion = MotorConversion(bench.plan, bench.store, bench.board)
    convert(bench, conversion, 2048, current=reading, sign=sign)
    assert bench.value(302) == pytest.approx(load)


@pytest.mark.parametrize("every_ns", [1_000_000, 5_000_000, 25_000_000])
def test_a_filter_for_an_interval_is_as_slow_whatever_the_rate_of_the_bus(every_ns):
    bench = fine(load_range=(-1000, 1000), sample_ns=5_000_000)
    conversion = MotorConversion(bench.plan, bench.store, bench.board)
    convert(bench, conversion, 2048, current=0, stamp=1)
    for k in range(100_000_000 // every_ns):
        convert(bench, conversion, 2048, current=100, stamp=1 + (k + 1) * every_ns)
    assert bench.value(302) == pytest.approx(100 * (1 - 0.95**20), rel=1e-5)


def test_what_sensors_can_be_follows_from_the_motor():
    plan = fine(load_range=(-1193, 1193), load_scale=0.5).plan
    motor, ranges = plan.motors[0], free_ranges(plan)
    assert ranges[motor.angle] == pytest.approx((-2048 / 11.36, 2047 / 11.36))
    assert ranges[motor.current] == (-596.5, 596.5)
    ai = Bench().plan
    assert free_ranges(ai)[ai.motors[0].current] == (-254.0, 254.0)


@pytest.mark.parametrize(("ticks", "good"), [(4095, True), (-4095, True), (4096, False)])
def test_tweaks_are_bounded_by_the_motors_own_range(ticks, good):
    assert (refusal(JointControl("tweak", 0, ticks), fine().plan) == "") == good


def test_targets_are_where_the_servo_can_turn_to():
    plan = fine().plan
    assert refusal(JointControl("target", 0, 180.0), plan) == ""
    assert "where its servo can turn to" in refusal(JointControl("target", 0, 181.0), plan)
    bench = fine()
    controls = Controls(bench.plan, bench.board, 60.0)
    assert controls.apply(JointControl("target", 0, 10.0)) == ""
    assert bench.board.target_raw[0] == pytest.approx(2048 + 113.6)
