"""Emulated STS3215: what its registers do."""

from itertools import pairwise

import pytest
from feetech_rig import STALL_N_M, driven, reg
from framed_servos import feetech

from drivers.feetech.codec import CALIBRATE, RESET
from drivers.feetech.table import MODELS, TABLES
from drivers.framed.packet import READ


def test_registers_do_not_overlap_and_defaults_are_in_range():
    for table in TABLES.values():
        rising = sorted(table.all.values(), key=lambda register: register.address)
        assert all(a.address + a.size <= b.address for a, b in pairwise(rising))
        assert all(r.low <= r.default <= r.high for r in rising if r.access != "read")
        for register in rising:
            assert register.decode(register.encode(register.default)) == register.default


@pytest.mark.parametrize(
    ("name", "value", "wire"),
    [
        ("goal_position", -1, "01 80"),
        ("goal_position", 2048, "00 08"),
        ("present_load", -1000, "e8 07"),
        ("position_offset", -2047, "ff 0f"),
        ("present_current", -2, "02 80"),
        ("present_position", 1304, "18 05"),
    ],
)
def test_negatives_are_sign_and_magnitude(name, value, wire):
    assert reg(name).encode(value) == bytes.fromhex(wire)
    assert reg(name).decode(bytes.fromhex(wire)) == value


def test_the_gain_is_that_of_the_stiffness():
    model = MODELS["STS3215"]
    assert model.gain_for(0.0) == 32
    per_tick = model.tick_torque_n_m(32)
    assert per_tick == pytest.approx(0.008 * STALL_N_M)
    assert model.gain_for(per_tick / model.tick_deg) == 32
    assert model.gain_for(1e-9) == 1
    assert model.gain_for(1e9) == 254


def test_the_makers_examples_are_answered_as_printed():
    host = feetech(1)
    host.plant.put(0, ticks=1304)
    assert host.send(bytes.fromhex("FF FF 01 02 01 FB")) == bytes.fromhex("FF FF 01 02 00 FC")
    assert host.send(bytes.fromhex("FF FF 01 04 02 38 02 BE")) == bytes.fromhex("FF FF 01 04 00 18 05 DD")
    driven(host)
    ok = bytes.fromhex("FF FF 01 02 00 FC")
    assert host.send(bytes.fromhex("FF FF 01 09 03 2A 00 08 00 00 E8 03 D5")) == ok
    assert host.plant.goals()[-1] == ("drive", 0, 2048)
    assert host.read(1, reg("goal_velocity")) == 1000
    assert host.send(bytes.fromhex("FF FF 01 02 0A F2")) == ok


def test_torque_on_takes_the_present_place_for_the_goal():
    host = feetech(1)
    host.write(1, reg("goal_position"), 300)
    assert host.plant.goals() == [("release", 0)]
    host.plant.put(0, ticks=777)
    host.write(1, reg("torque_enable"), 1)
    assert host.plant.goals() == [("drive", 0, 777)]
    host.write(1, reg("goal_position"), 300)
    assert host.plant.goals() == [("drive", 0, 300)]
    host.write(1, reg("torque_enable"), 1)
    assert host.read(1, reg("goal_position")) == 300
    host.write(1, reg("torque_enable"), 0)
    assert host.plant.goals()[-1] == ("release", 0)


def test_a_goal_with_the_torque_in_one_write_is_gone_to():
    host = feetech(1)
    host.plant.taken()
    host.write_bytes(1, 40, bytes((1, 0)) + reg("goal_position").encode(900))
    assert host.plant.goals() == [("drive", 0, 1000), ("drive", 0, 1000), ("drive", 0, 900)]


def test_gain_and_limits_are_what_the_plant_is_told():
    host = driven(feetech(1))
    host.write(1, reg("position_p_gain"), 8)
    assert host.plant.taken() == [("drive", 0, 1000, pytest.approx(0.002 * STALL_N_M / (360 / 4096)), STALL_N_M)]
    host.write(1, reg("torque_limit"), 250)
    assert host.plant.taken()[-1][-1] == pytest.approx(0.25 * STALL_N_M)
    host.write(1, reg("max_torque"), 100)
    assert host.plant.taken()[-1][-1] == pytest.approx(0.1 * STALL_N_M)


def test_readings_are_what_the_shaft_does():
    host = driven(feetech(1))
    host.write(1, reg("goal_position"), 1020)
    host.plant.put(0, ticks=1010.4, deg_s=-20.0, a=-0.65)
    assert host.read(1, reg("present_position")) == 1010
    assert host.read(1, reg("present_velocity")) == round(-20 * 4096 / 360)
    assert host.read(1, reg("present_load")) == round(9.6 * 8)
    assert host.read(1, reg("present_current")) == -100
    assert host.read(1, reg("present_voltage")) == 74
    assert host.read(1, reg("present_temperature")) == 25
    assert host.read(1, reg("moving")) == 1
    assert host.read(1, reg("present_goal")) == 1020
    assert host.read(1, reg("model_number")) == 777
    host.write(1, reg("phase"), 8)
    assert host.read(1, reg("present_velocity")) == round(-20 * 4096 / 360 / 50)


def test_load_stops_at_the_limit_and_is_0_without_torque():
    host = driven(feetech(1))
    host.write(1, reg("torque_limit"), 300)
    host.write(1, reg("goal_position"), 0)
    host.plant.put(0, ticks=4000)
    assert host.read(1, reg("present_load")) == -300
    host.write(1, reg("torque_enable"), 0)
    assert host.read(1, reg("present_load")) == 0


def test_one_look_serves_all_readings_of_a_block():
    host = feetech(1)
    looks = []
    still = host.plant.motions[0]
    host.plant.path = lambda servo, now: looks.append(now) or still
    host.ask(1, READ, bytes((56, 15)))
    assert len(looks) == 1


def test_the_sensor_is_of_one_turn_and_has_an_offset():
    host = feetech(1)
    host.plant.put(0, ticks=-3)
    assert host.read(1, reg("present_position")) == 4093
    host.plant.put(0, ticks=1000)
    host.write(1, reg("position_offset"), -200)
    assert host.read(1, reg("present_position")) == 1200
    driven(host)
    host.write(1, reg("goal_position"), 1300)
    assert host.plant.goals()[-1] == ("drive", 0, 1100)


@pytest.mark.parametrize(("params", "position"), [(b"", 2048), (b"\x00\x04", 1024)])
def test_calibration_names_the_place(params, position):
    host = feetech(1)
    host.plant.put(0, ticks=3500)
    assert len(host.ask(1, CALIBRATE, params)) == 1
    assert host.read(1, reg("present_position")) == position
    assert -2047 <= host.read(1, reg("position_offset")) <= 2047
    host.emulator.brown_out(0)
    assert host.read(1, reg("present_position")) == 3500


def test_128_in_the_torque_switch_calibrates_to_the_middle_and_nothing_jumps():
    host = driven(feetech(1))
    host.write(1, reg("eprom_lock"), 0)
    host.write(1, reg("torque_enable"), 128)
    assert host.plant.goals()[-1] == ("drive", 0, 1000)
    assert host.read(1, reg("present_position")) == 2048
    assert host.read(1, reg("goal_position")) == 2048
    assert host.read(1, reg("torque_enable")) == 1
    host.emulator.brown_out(0)
    assert host.read(1, reg("present_position")) == 2048


def test_goals_end_at_the_limits():
    host = driven(feetech(1))
    host.write(1, reg("min_position"), 500)
    host.write(1, reg("max_position"), 3000)
    for goal, gone_to in ((100, 500), (4000, 3000), (2000, 2000)):
        host.write(1, reg("goal_position"), goal)
        assert host.plant.goals()[-1] == ("drive", 0, gone_to)
    host.write(1, reg("min_position"), 3500)
    host.write(1, reg("goal_position"), -300)
    assert host.plant.goals()[-1] == ("drive", 0, -300)
    # Equal ones leave one place, but for 0 and 0, which are none.
    for limit, gone_to in ((2500, 2500), (0, 700)):
        host.write(1, reg("min_position"), limit)
        host.write(1, reg("max_position"), limit)
        assert (host.read(1, reg("min_position")), host.read(1, reg("max_position"))) == (limit, limit)
        host.write(1, reg("goal_position"), 700)
        assert host.plant.goals()[-1] == ("drive", 0, gone_to)


@pytest.mark.parametrize("name", ["model_number", "present_position", "servo_status"])
def test_what_can_only_be_read_stays(name):
    host = feetech(1)
    before = host.read(1, reg(name))
    assert host.write(1, reg(name), 5) == 0
    assert host.read(1, reg(name)) == before


@pytest.mark.parametrize(
    ("name", "value"), [("torque_limit", 1001), ("torque_enable", 3), ("operating_mode", 4), ("id", 255)]
)
def test_values_out_of_range_change_nothing(name, value):
    host = feetech(1)
    before = host.read(1, reg(name))
    assert host.write(1, reg(name), value) == 0
    assert host.read(1, reg(name)) == before


def test_a_new_id_counts_at_once():
    host = feetech(1)
    assert host.write(1, reg("id"), 9) == 0
    assert host.ping(1) == []
    assert len(host.ping(9)) == 1
    host.emulator.brown_out(0)
    assert len(host.ping(1)) == 1


def test_a_write_may_wait_for_the_action():
    host = driven(feetech(1, 2))
    driven(host, 2)
    for bus_id in (1, 2):
        (status,) = host.ask(bus_id, 4, bytes((42,)) + reg("goal_position").encode(1500 + bus_id))
        assert status.error == 0
    assert host.plant.taken() == []
    assert host.read(1, reg("action_pending")) == 1
    assert host.ask(254, 5) == []
    assert host.plant.goals() == [("drive", 0, 1501), ("drive", 1, 1502)]
    assert host.read(1, reg("action_pending")) == 0
    assert len(host.ask(1, 5)) == 1
    assert host.plant.taken() == []


@pytest.mark.parametrize("instruction", [0x00, 0x55, 0x8A, 0x92, RESET + 0x40])
def test_what_is_no_instruction_is_not_answered(instruction):
    assert feetech(1).ask(1, instruction) == []
    assert feetech(1).ask(1, RESET, b"\x00") == []
    assert feetech(1).ask(1, CALIBRATE, b"\x00") == []
    assert feetech(1).ask(1, READ, b"\x38") == []


@pytest.mark.parametrize(("name", "value"), [("torque_enable", 2), ("operating_mode", 1), ("operating_mode", 3)])
def test_what_is_not_modelled_leaves_the_shaft_free(name, value):
    host = feetech(1)
    if name == "operating_mode":
        host.write(1, reg(name), value)
    host.plant.taken()
    host.write(1, reg("torque_enable"), 1 if name == "operating_mode" else value)
    assert host.plant.goals() == [("release", 0)]
    host.write(1, reg("goal_position"), 5)
    assert host.plant.taken() == []


def test_addresses_without_a_register_read_as_0():
    (status,) = feetech(1).ask(1, READ, bytes((250, 4)))
    assert status.params == bytes(4)
    (status,) = feetech(1).ask(1, READ, bytes((49, 8)))
    assert status.params == bytes((3, 0, 0, 0, 0, 0, 1, 0xE8))


def test_a_byte_of_two_may_be_written_alone():
    host = feetech(1)
    host.write_bytes(1, 16, b"\x64")
    assert host.read(1, reg("max_torque")) == 0x364
    host.write_bytes(1, 24, b"\x05\x07")
    assert host.read(1, reg("min_start_torque")) == 5
    assert host.read(1, reg("integral_limit")) == 7


def test_a_read_of_more_than_a_packet_holds_is_cut():
    (status,) = feetech(1).ask(1, READ, bytes((0, 255)))
    assert len(status.params) == 253


def test_models_differ_in_their_supply():
    found = [feetech(1, model=model).read(1, reg("present_voltage")) for model in ("", "STS3215", "STS3215-12V")]
    assert found == [74, 74, 120]
