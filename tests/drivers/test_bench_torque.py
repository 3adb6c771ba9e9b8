"""What torque a delta gives: measured on emulated servos, whose tables are known, and read from made-up rows."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.aimotor import FAMILY, AiMotorBus
from drivers.bench.fit import as_data, fit_rows, table_of
from drivers.bench.motion import Ending, Push
from drivers.bench.plant import BenchPlant
from drivers.bench.torque import Hold, TorquePoint, at_voltage_limit, plan_deltas, torque_of_load, torque_of_weight
from drivers.clock import VirtualPace
from drivers.errors import BusError
from drivers.inprocess import InProcessPort
from drivers.servo import LEVEL_SHARE, ServoAddress

MS = 1_000_000
MODEL = FAMILY.models["1001"]
PER_TICK = MODEL.tick_torque_n_m(MODEL.default_gain)


def row(ticks, torque, *, speed=0.0, stood=True):
    return TorquePoint(ticks, torque, 0.0, 50, speed, stood, Ending.DONE)


def measured(deltas, *, level=0, held=True, dead_deg=0.0, most=100.0):
    """Return the rows of an emulated AI-1001 at the bench."""
    servo = ServoAddress(7, "id 7", "1001")
    rows = []
    for ticks in deltas:
        plant = BenchPlant([MODEL], dead_deg=dead_deg)
        plant.hold(0, held=held)
        emulator = FAMILY.emulator("emulated:", [servo], plant, 0)
        bus = AiMotorBus(InProcessPort(emulator, emulator.baud), [servo])
        bus.set_level(level)
        push = Push(bus, VirtualPace(), ticks, 500 * MS, most, MODEL.positions, 10 * MS)
        hold = Hold(push, ticks, MODEL, lambda plant=plant: plant.motion(0).torque_n_m)
        for _ in hold.run(lambda: False):
            pass
        rows.append(hold.row())
    return rows


def test_the_model_table_is_found_again_on_an_emulated_servo():
    rows = measured(plan_deltas(60, 10))
    assert all(found.stood and found.ending is Ending.DONE for found in rows)
    # A count of the load is 18.4 mA, and a reading the whole counts below.
    for found in rows:
        assert 0 <= abs(found.true_n_m) - abs(found.torque_n_m) < MODEL.load_n_m
    fit = fit_rows(rows, resolution_n_m=MODEL.load_n_m)
    assert fit.per_tick_n_m.low <= PER_TICK <= fit.per_tick_n_m.high
    assert fit.per_tick_n_m.value == pytest.approx(PER_TICK, rel=0.03)
    assert fit.saturation_n_m == pytest.approx(MODEL.stall_torque_n_m, abs=MODEL.load_n_m)
    assert fit.dead_ticks < 1.0
    assert fit.damping_n_m_s is None


def test_a_level_and_a_dead_band_are_found():
    rows = measured(plan_deltas(30, 15), level=3, dead_deg=4.5 * MODEL.tick_deg)
    fit = fit_rows(rows)
    assert fit.dead_ticks == pytest.approx(4.5, abs=0.6)
    assert fit.saturation_n_m == pytest.approx(LEVEL_SHARE[3] * MODEL.stall_torque_n_m, abs=MODEL.load_n_m)
    ticks, torques = table_of(rows)
    assert (ticks[0], torques[0]) == (0.0, 0.0)
    assert torques[ticks.index(4.0)] == 0.0
    assert torques[-1] == pytest.approx(fit.saturation_n_m, abs=MODEL.load_n_m)


def test_what_speed_costs_is_found():
    rows = measured(plan_deltas(30, 8)) + measured(plan_deltas(16, 4), held=False)
    turning = [found for found in rows if not found.stood]
    assert len(turning) >= 6
    fit = fit_rows(rows)
    # N m per tick/s: the whole torque at the no-load speed; the shaft turns on for about 10 ms until its goal comes.
    motor = MODEL.stall_torque_n_m / (math.degrees(MODEL.no_load_rad_s) / MODEL.tick_deg)
    delay = PER_TICK * 0.010
    assert fit.damping_n_m_s is not None
    assert motor < fit.damping_n_m_s.value < motor + 2 * delay


def test_a_row_of_too_few_readings_is_none():
    with pytest.raises(BusError, match="too few"):
        measured([40], held=False, most=5.0)


def test_loads_without_direction_take_that_of_the_delta():
    assert torque_of_load(MODEL, 10, -3) == -torque_of_load(MODEL, 10, 3)
    assert torque_of_weight(100.0, 10.0) == pytest.approx(0.0980665)


def test_deltas_go_from_small_to_large_in_both_directions():
    assert plan_deltas(40, 4) == (10, -10, 20, -20, 30, -30, 40, -40)
    assert plan_deltas(3, 3) == (1, -1, 2, -2, 3, -3)
    for most, steps in ((2, 3), (5, 0)):
        with pytest.raises(BusError, match="expected at least one"):
            plan_deltas(most, steps)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    slope=st.floats(0.002, 0.05),
    dead=st.sampled_from([0.0, 3.0, 6.0]),
    limit=st.sampled_from([None, 0.5, 0.75]),
    noise=st.floats(0.0, 0.01),
    seed=st.integers(0, 1000),
)
def test_what_rows_were_made_of_is_found_again(slope, dead, limit, noise, seed):
    largest = 40
    saturation = None if limit is None else limit * slope * (largest - dead)
    chance = np.random.default_rng(seed)

    def true(ticks):
        rising = slope * max(abs(ticks) - dead, 0.0)
        return math.copysign(rising if saturation is None else min(rising, saturation), ticks)

    spread = noise * slope * largest
    rows = [row(ticks, true(ticks) + spread * chance.standard_normal()) for ticks in plan_deltas(largest, 20)]
    fit = fit_rows(rows)
    assert fit.per_tick_n_m.value == pytest.approx(slope, rel=0.02 + 6 * noise)
    assert fit.dead_ticks == pytest.approx(dead, abs=0.3 + 150 * noise)
    assert fit.dead_ticks >= 0.0
    if saturation is not None:
        assert fit.saturation_n_m == pytest.approx(saturation, rel=0.02 + 6 * noise)
    ticks, torques = table_of(rows)
    assert list(ticks) == sorted(set(ticks))
    assert list(torques) == sorted(torques)
    assert as_data(fit)["points"] == 20


def test_an_interval_covers_the_truth_about_as_often_as_it_says():
    hits = 0
    for seed in range(200):
        chance = np.random.default_rng(seed)
        fit = fit_rows([row(ticks, 0.01 * ticks + 0.01 * chance.standard_normal()) for ticks in plan_deltas(20, 10)])
        hits += fit.per_tick_n_m.low <= 0.01 <= fit.per_tick_n_m.high
    assert 160 <= hits <= 200


def test_noise_is_seldom_taken_for_a_saturation():
    found = 0
    for seed in range(200):
        chance = np.random.default_rng(seed)
        fit = fit_rows([row(ticks, 0.01 * ticks + 0.002 * chance.standard_normal()) for ticks in plan_deltas(20, 10)])
        found += fit.saturation_n_m is not None
    assert found < 50


def test_a_goal_at_the_end_of_the_scale_is_no_delta():
    servo = ServoAddress(7, "id 7", "1001")
    plant = BenchPlant([MODEL])
    plant.drive(0, 1000.0, 0.04, 1.0)
    plant.advance(2000 * MS)
    plant.release(0)
    plant.hold(0)
    emulator = FAMILY.emulator("emulated:", [servo], plant, 0)
    bus = AiMotorBus(InProcessPort(emulator, emulator.baud), [servo])
    bus.set_level(0)
    for ticks, good in ((20, False), (-20, True)):
        hold = Hold(Push(bus, VirtualPace(), ticks, 300 * MS, 50.0, MODEL.positions, 10 * MS), ticks, MODEL)
        assert list(hold.run(lambda: False))
        if good:
            assert hold.row().torque_n_m == pytest.approx(-20 * PER_TICK, abs=0.05)
        else:
            with pytest.raises(BusError, match="middle of the scale"):
                hold.row()


def test_rows_that_say_nothing_are_refused():
    with pytest.raises(BusError, match="expected at least 3"):
        fit_rows([row(ticks, 0.1, speed=50.0, stood=False) for ticks in (5, 10, 15, 20)])
    with pytest.raises(BusError, match="does not rise"):
        fit_rows([row(ticks, 0.0) for ticks in plan_deltas(20, 5)])
    with pytest.raises(BusError, match="expected at least 3"):
        fit_rows([row(5, 0.1), row(-5, -0.1), row(5, 0.1), row(10, 0.2)])


def test_a_table_averages_neighbours_in_the_wrong_order():
    rows = [row(5, 0.1), row(-5, -0.2), row(10, 0.12), row(20, 0.4), row(30, 0.4)]
    ticks, torques = table_of(rows)
    assert ticks == (0.0, 5.0, 10.0, 20.0, 30.0)
    assert torques == pytest.approx((0.0, 0.135, 0.135, 0.4, 0.4))


def test_at_the_limit_nothing_is_learnt_of_what_speed_costs():
    standing = [row(ticks, math.copysign(min(0.01 * abs(ticks), 0.2), ticks)) for ticks in plan_deltas(40, 10)]
    turning = [row(ticks, 0.01 * ticks - 0.001 * 5 * ticks, speed=5.0 * ticks, stood=False) for ticks in (4, 8, 12, 16)]
    at_limit = [row(ticks, 0.19, speed=150.0, stood=False) for ticks in (28, 32, 36, 40)]
    found = fit_rows(standing + turning + at_limit).damping_n_m_s
    assert found is not None
    assert found.value == pytest.approx(0.001)
    # The wrong way round, as when something else turns the shaft, tells nothing either.
    dragged = [row(ticks, 0.3, speed=-5.0 * ticks, stood=False) for ticks in (4, 8, 12, 16)]
    assert fit_rows(standing + dragged).damping_n_m_s is None


def test_rows_at_the_end_of_the_supplys_voltage_are_no_loss_to_speed():
    fast, slow = row(40, 0.02, speed=900.0, stood=False), row(40, 0.3, speed=300.0, stood=False)
    loop = replace(MODEL, current_loop=True, no_load_rad_s=math.radians(1000.0 * MODEL.tick_deg))
    assert at_voltage_limit(loop, fast)
    assert at_voltage_limit(loop, replace(fast, ticks=-40, speed_ticks_s=-900.0))
    assert not at_voltage_limit(loop, slow)
    assert not at_voltage_limit(loop, row(40, 1.0))
    assert not at_voltage_limit(replace(loop, current_loop=False), fast)
