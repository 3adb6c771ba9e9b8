"""What emulated wCKs do with what they were told before: turning, watching their load, being two on one id."""

import math
from itertools import pairwise

import pytest
from emulated import MS
from hypothesis import given, settings
from hypothesis import strategies as st
from test_wck_emulator import SOON, WCK, Line

from drivers.aimotor import codec
from drivers.aimotor.emulation.memory import OVERLOAD_AFTER_NS, AiMotorMemory
from drivers.aimotor.models import ANY_WCK
from drivers.aimotor.table import TICK_A, TICK_DEG, overload_a
from drivers.errors import BusError
from drivers.port import wire_ns

HEARD_NS = wire_ns(4, 57_600)


def goals(line, servo=0):
    """Return instant and place (degrees) of each of a servo's goals since the last time, with its level."""
    found, now_ns = [], 0
    for call in line.plant.calls:
        if call[0] == "advance":
            now_ns = call[1]
        elif call[0] == "command" and call[1] == servo:
            found.append((now_ns, call[2] * TICK_DEG, call[3]))
    line.plant.calls.clear()
    return found


def test_a_wheel_leaves_its_goal_at_once_and_has_all_the_torque_there_is():
    line = Line()
    line.send(200)
    line.plant.calls.clear()
    line.now_ns += 5000 * MS
    began = line.now_ns + HEARD_NS
    line.ask(codec.encode_wheel(0, clockwise=True, speed=3))
    assert goals(line) == [(began, pytest.approx(100 * TICK_DEG), 0)]
    # From where it is and when it was told, whatever the clock says.
    line.ask(codec.encode_read(0))
    speed = -math.degrees(WCK.no_load_rad_s) * 3 / 15
    turned = goals(line)
    assert [at_ns - began for at_ns, _, _ in turned] == [k * 10 * MS for k in range(1, len(turned) + 1)]
    assert len(turned) == SOON // (10 * MS)
    for at_ns, goal_deg, level in turned:
        assert goal_deg == pytest.approx(100 * TICK_DEG + speed * (at_ns - began) * 1e-9, abs=TICK_DEG / 2)
        assert level == 0


def test_a_second_wheel_does_not_hold_the_first_one_up():
    line = Line(0, 1)
    line.ask(codec.encode_wheel(0, clockwise=False, speed=3))
    line.now_ns += 3 * MS
    line.ask(codec.encode_wheel(1, clockwise=True, speed=3))
    line.ask(codec.encode_read(0))
    first = goals(line)
    steps = [later - before for (before, _, _), (later, _, _) in pairwise(first)]
    assert set(steps) == {10 * MS}
    assert first[-1][1] > 100 * TICK_DEG + 5


def test_a_wheel_that_was_stopped_begins_anew_from_where_it_is():
    line = Line()
    line.ask(codec.encode_wheel(0, clockwise=False, speed=15))
    line.send(120)
    line.plant.angles[0] = 120 * TICK_DEG
    line.now_ns += 3000 * MS
    line.plant.calls.clear()
    line.ask(codec.encode_wheel(0, clockwise=False, speed=1))
    line.ask(codec.encode_read(0))
    found = goals(line)
    assert found[0][1] == pytest.approx(120 * TICK_DEG)
    # A fifteenth of the no-load speed for 50 ms, and no step of the time before.
    assert found[-1][1] - found[0][1] < math.degrees(WCK.no_load_rad_s) / 15 * 0.06 + TICK_DEG
    assert len(found) == 1 + SOON // (10 * MS)


def test_a_servo_whose_meter_is_stuck_still_trips_at_its_real_load():
    line = Line()
    limit = overload_a(80)
    line.plant.currents[0] = 0.2
    line.ask(codec.encode_position(0, 3, 40))
    line.emulator.stick(0)
    line.plant.currents[0] = limit + 0.01
    line.plant.calls.clear()
    while line.now_ns < 3 * OVERLOAD_AFTER_NS:
        line.ask(codec.encode_position(0, 3, 40))
    assert ("release", 0) in line.plant.commands()


def test_the_load_a_wck_is_delivered_to_stand_is_800_ma_for_half_a_second():
    assert AiMotorMemory("wCK-1413", 57_600).limit_a == pytest.approx(0.8)
    for over, tripped in ((-0.01, False), (0.01, True)):
        line = Line()
        line.plant.currents[0] = 0.8 + over
        began = line.now_ns
        line.plant.calls.clear()
        while line.now_ns <= began + 500 * MS:
            assert ("release", 0) not in line.plant.commands()
            line.ask(codec.encode_position(0, 3, 40))
        line.ask(codec.encode_position(0, 3, 40))
        assert (("release", 0) in line.plant.commands()) is tripped


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 254))
def test_a_load_of_whole_counts_is_read_as_that_many(count):
    line = Line()
    line.emulator.set_overload(100.0, 0)
    line.plant.currents[0] = count * TICK_A
    assert line.ask(codec.encode_read(0))[0] == count
    line.plant.currents[0] = (count + 0.99) * TICK_A
    assert line.ask(codec.encode_read(0))[0] == count


def test_of_two_servos_with_one_id_the_zeros_win():
    line = Line(0, 1)
    line.plant.angles = [0x6D * TICK_DEG, 0x5B * TICK_DEG]
    line.emulator.answer_as(1, 0)
    assert line.ask(codec.encode_read(0)) == bytes((10, 0x6D & 0x5B))


def test_the_first_servo_with_power_answers_a_break():
    line = Line(7, 8, 9)
    assert line.ask(codec.encode_break())[0] == 7
    line.emulator.unplug(0)
    assert line.ask(codec.encode_break())[0] == 8


def test_servos_begin_without_torque():
    assert Line(3, 4).plant.commands() == [("release", 0), ("release", 1)]


def test_ids_above_30_are_for_servos_that_know_ten_bits():
    line = Line(0, 1, models=["701", "wCK-1108"])
    line.emulator.answer_as(1, 31)
    with pytest.raises(BusError, match="expected 0 to 30"):
        line.emulator.answer_as(0, 31)
    line.emulator.answer_as(0, 30)


def test_a_wck_does_not_move_as_an_ai_motor_does_even_when_nothing_was_set_in_it():
    assert not AiMotorMemory(ANY_WCK, 57_600).as_delivered
    for model in ("701", "1001"):
        assert AiMotorMemory(model, 57_600).as_delivered


@pytest.mark.parametrize(("count", "read"), [(-5, 0), (0, 0), (254, 254), (255, 255), (256, 255)])
def test_what_stands_on_an_input_is_a_byte(count, read):
    line = Line()
    line.emulator.put_on_input(0, count)
    assert line.read(0x65)["A/D"] == read
