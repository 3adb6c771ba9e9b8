"""Emulated X servos: what their registers do."""

import pytest
from dynamixel_rig import STALL_A, STALL_N_M, XM, driven, reg
from framed_servos import MS, dynamixel

from drivers.dynamixel.codec import DIALECT
from drivers.dynamixel.emulator import ACCESS, ALERT, INSTRUCTION, LENGTH, LIMIT, RANGE
from drivers.dynamixel.table import DEFAULT_TURNAROUND_NS
from drivers.errors import BusError
from drivers.framed.packet import PING, READ
from drivers.port import wire_ns


@pytest.mark.parametrize(("model", "number"), [("XL330-M288", 1200), ("XL430-W250", 1060), (XM, 1020)])
def test_a_ping_says_model_and_firmware(model, number):
    (status,) = dynamixel(7, model=model).ping(7)
    assert status.params == number.to_bytes(2, "little") + b"\x34"
    assert status.error == 0


def test_the_sheets_examples_are_answered_as_printed():
    host = dynamixel(1)
    host.plant.put(0, ticks=166)
    read = bytes.fromhex("FF FF FD 00 01 07 00 02 84 00 04 00 1D 15")
    assert host.send(read) == bytes.fromhex("FF FF FD 00 01 08 00 55 00 A6 00 00 00 8C C0")
    done = bytes.fromhex("FF FF FD 00 01 04 00 55 00 A1 0C")
    assert host.send(bytes.fromhex("FF FF FD 00 01 06 00 03 0B 00 05 5C E3")) == done
    assert host.send(bytes.fromhex("FF FF FD 00 01 06 00 03 09 00 00 69 63")) == done
    assert host.send(bytes.fromhex("FF FF FD 00 01 06 00 03 40 00 01 DB 66")) == done
    assert host.send(bytes.fromhex("FF FF FD 00 01 09 00 03 74 00 00 02 00 00 CA 89")) == done
    assert host.plant.goals()[-1] == ("drive", 0, 512)
    assert host.send(bytes.fromhex("FF FF FD 00 01 06 00 03 62 00 05 68 E4")) == done
    assert host.read(1, reg("bus_watchdog")) == 5


def test_as_delivered_a_status_waits_half_a_millisecond():
    host = dynamixel(1, baud=57_600)
    host.port.write(DIALECT.instruction(1, PING), 0)
    received = wire_ns(10, 57_600)
    assert host.port.ready_ns(1) == received + 500_000 + DEFAULT_TURNAROUND_NS + wire_ns(1, 57_600)


def test_torque_on_takes_the_present_place_for_the_goal():
    host = dynamixel(1)
    host.write(1, reg("goal_position"), 300)
    assert host.plant.goals() == [("release", 0)]
    host.write(1, reg("torque_enable"), 1)
    assert host.plant.goals() == [("drive", 0, 1000)]
    host.sync_write(reg("goal_position"), {1: 300})
    assert host.plant.goals() == [("drive", 0, 300)]
    host.sync_write(reg("torque_enable"), {1: 0})
    assert host.plant.goals() == [("release", 0)]


def test_settings_can_be_written_without_torque_only():
    host = dynamixel(1)
    assert host.write(1, reg("return_delay"), 0) == 0
    driven(host)
    assert host.write(1, reg("return_delay"), 7) == ACCESS
    assert host.read(1, reg("return_delay")) == 0
    assert host.write(1, reg("position_p_gain"), 7) == 0


@pytest.mark.parametrize(
    ("address", "data", "error"),
    [
        (132, b"\0\0\0\0", ACCESS),
        (0, b"\0\0", ACCESS),
        (66, b"\0", ACCESS),
        (65, b"\1\0", ACCESS),
        (2000, b"\0", ACCESS),
        (116, b"\0\0", LENGTH),
        (64, b"\2", RANGE),
        (98, b"\x80", RANGE),
        (11, b"\2", RANGE),
        (84, b"\xff\xff", RANGE),
        (100, b"\x76\x03", RANGE),
        (116, b"\0\x10\0\0", LIMIT),
        (116, b"\xff\xff\xff\xff", LIMIT),
        (7, b"\xfd", RANGE),
    ],
)
def test_a_wrong_write_is_refused_and_changes_nothing(address, data, error):
    host = dynamixel(1)
    before = host.ask(1, READ, host.number(0, 120))[0].params
    host.plant.taken()
    assert host.write_bytes(1, address, data) == error
    assert host.ask(1, READ, host.number(0, 120))[0].params == before
    assert host.plant.taken() == []


def test_one_wrong_register_spoils_a_write_of_many():
    host = dynamixel(1)
    profiles = reg("profile_acceleration").encode(5) + reg("profile_velocity").encode(6)
    assert host.write_bytes(1, 108, profiles + reg("goal_position").encode(-1)) == LIMIT
    assert host.read(1, reg("profile_acceleration")) == 0
    assert host.write_bytes(1, 108, profiles + reg("goal_position").encode(1)) == 0
    assert host.read(1, reg("profile_velocity")) == 6


def test_goals_have_limits():
    host = dynamixel(1)
    for limit, value in (("pwm_limit", 400), ("current_limit", 500), ("velocity_limit", 100)):
        assert host.write(1, reg(limit), value) == 0
        goal = reg("goal_" + limit.removesuffix("_limit"))
        assert host.write(1, goal, -value) == 0
        assert host.write(1, goal, value + 1) == LIMIT
    assert host.write(1, reg("max_position"), 3000) == 0
    assert host.write(1, reg("min_position"), 1000) == 0
    assert [host.write(1, reg("goal_position"), goal) for goal in (999, 1000, 3000, 3001)] == [LIMIT, 0, 0, LIMIT]
    assert host.write(1, reg("operating_mode"), 4) == 0
    assert [host.write(1, reg("goal_position"), goal) for goal in (-5000, 5000)] == [0, 0]


def test_reading_ends_with_the_table():
    host = dynamixel(1)
    assert host.ask(1, READ, host.number(0, 252))[0].error == 0
    for address, count in ((0, 253), (252, 1), (60_000, 4), (5, 0)):
        (status,) = host.ask(1, READ, host.number(address, count))
        assert (status.error, status.params) == (ACCESS, b"")


def test_error_numbers_are_the_protocols():
    assert (INSTRUCTION, RANGE, LENGTH, LIMIT, ACCESS, ALERT) == (2, 4, 5, 6, 7, 0x80)


@pytest.mark.parametrize(("level", "answered"), [(0, (1, 0, 0)), (1, (1, 1, 0)), (2, (1, 1, 1))])
def test_status_level(level, answered):
    host = dynamixel(1)
    host.write(1, reg("status_level"), level)
    led = host.number(65) + b"\x01"
    received = (len(host.ping(1)), len(host.ask(1, READ, host.number(132, 4))), len(host.ask(1, 3, led)))
    assert received == answered
    assert len(host.sync_read((1,), reg("led"))) == answered[1]


def test_gain_and_limits_are_what_the_plant_is_told():
    host = driven(dynamixel(1))
    host.write(1, reg("position_p_gain"), 128)
    per_deg = STALL_N_M / 885 / (360 / 4096)
    assert host.plant.taken() == [("drive", 0, 1000, pytest.approx(per_deg), pytest.approx(STALL_N_M))]
    host.write(1, reg("goal_pwm"), 177)
    assert host.plant.taken()[-1][-1] == pytest.approx(0.2 * STALL_N_M)
    host.write(1, reg("goal_current"), 100)
    assert host.plant.taken()[-1][-1] == pytest.approx(0.2 * STALL_N_M)


def test_no_goal_goes_beyond_a_limit_that_was_lowered_after_it():
    host = dynamixel(1)
    assert host.write(1, reg("pwm_limit"), 177) == 0
    assert host.read(1, reg("goal_pwm")) == 885
    assert host.write(1, reg("torque_enable"), 1) == 0
    assert host.plant.taken()[-1][-1] == pytest.approx(0.2 * STALL_N_M)


def test_in_mode_5_the_goal_current_bounds_the_torque():
    host = dynamixel(1)
    host.write(1, reg("operating_mode"), 5)
    driven(host)
    host.write(1, reg("goal_current"), 100)
    assert host.plant.taken()[-1][-1] == pytest.approx(0.269 / STALL_A * STALL_N_M)
    host.write(1, reg("goal_current"), -50)
    assert host.plant.taken()[-1][-1] == pytest.approx(0.1345 / STALL_A * STALL_N_M)


@pytest.mark.parametrize("mode", [0, 5])
def test_a_model_that_does_not_measure_current_has_no_mode_for_it(mode):
    host = dynamixel(1, model="XL430-W250")
    assert host.write(1, reg("operating_mode"), mode) == RANGE
    assert host.write(1, reg("operating_mode"), 4) == 0


@pytest.mark.parametrize("mode", [0, 1, 16])
def test_modes_without_positions_leave_the_shaft_free(mode):
    host = dynamixel(1)
    assert host.write(1, reg("operating_mode"), mode) == 0
    host.plant.taken()
    host.write(1, reg("torque_enable"), 1)
    assert host.plant.goals() == [("release", 0)]
    assert host.write(1, reg("goal_velocity"), 5) == 0
    assert host.write(1, reg("goal_position"), 5) == 0
    assert host.plant.taken() == []


def test_another_mode_puts_gains_and_goals_back():
    host = dynamixel(1)
    for name in ("position_p_gain", "profile_velocity", "goal_pwm", "goal_current"):
        assert host.write(1, reg(name), 11) == 0
    host.write(1, reg("operating_mode"), 3)
    assert host.read(1, reg("position_p_gain")) == 11
    host.write(1, reg("operating_mode"), 5)
    found = [host.read(1, reg(name)) for name in ("position_p_gain", "profile_velocity", "goal_pwm", "goal_current")]
    assert found == [800, 0, 885, 1193]


def test_readings_are_what_the_shaft_does():
    host = driven(dynamixel(1))
    host.write(1, reg("goal_position"), 1010)
    host.plant.put(0, ticks=1021, deg_s=-13.74, a=-0.269)
    assert host.read(1, reg("present_position")) == 1021
    assert host.read(1, reg("present_velocity")) == -10
    assert host.read(1, reg("present_current")) == -100
    assert host.read(1, reg("present_pwm")) == round(-11 * 800 / 128)
    assert host.read(1, reg("present_voltage")) == 120
    assert host.read(1, reg("present_temperature")) == 25
    # It moves where it is faster than the threshold.
    assert host.read(1, reg("moving")) == 0
    host.plant.put(0, ticks=1021, deg_s=-15.2)
    assert host.read(1, reg("moving")) == 1
    tick = host.read(1, reg("realtime_tick"))
    assert tick == (host.now_ns - 20 * MS) // MS


def test_the_xl430_reports_its_duty():
    host = dynamixel(1, model="XL430-W250")
    host.write(1, reg("torque_enable"), 1)
    host.plant.put(0, ticks=980)
    assert host.read(1, reg("present_load", "XL430-W250")) == round(20 * 640 / 128 / 885 * 1000)


def test_offset_and_reversal():
    host = dynamixel(1)
    assert host.write(1, reg("homing_offset"), -300) == 0
    assert host.read(1, reg("present_position")) == 700
    driven(host)
    host.write(1, reg("goal_position"), 500)
    assert host.plant.goals()[-1] == ("drive", 0, 800)
    host.write(1, reg("torque_enable"), 0)
    host.write(1, reg("homing_offset"), 0)
    assert host.write(1, reg("drive_mode"), 1) == 0
    host.plant.put(0, ticks=1000, deg_s=13.74)
    assert host.read(1, reg("present_position")) == 3095
    assert host.read(1, reg("present_velocity")) == -10
    driven(host)
    host.write(1, reg("goal_position"), 3000)
    assert host.plant.goals()[-1] == ("drive", 0, 1095)


def test_a_goal_may_turn_the_torque_on():
    host = dynamixel(1)
    host.write(1, reg("drive_mode"), 8)
    host.plant.taken()
    host.write(1, reg("goal_position"), 1200)
    assert host.plant.goals() == [("drive", 0, 1200)]
    assert host.read(1, reg("torque_enable")) == 1


def test_a_write_may_wait_for_the_action():
    host = driven(dynamixel(1))
    (status,) = host.ask(1, 4, host.number(116) + reg("goal_position").encode(1500))
    assert status.error == 0
    assert host.read(1, reg("registered_instruction")) == 1
    assert host.plant.taken() == []
    assert len(host.ask(1, 5)) == 1
    assert host.plant.goals() == [("drive", 0, 1500)]


@pytest.mark.parametrize(("model", "data"), [("XL330-M288", 208), ("XL430-W250", 224), (XM, 224)])
def test_indirect_addresses_bring_registers_together(model, data):
    host = dynamixel(1, model=model)
    (status,) = host.ask(1, READ, host.number(168, 4))
    assert status.params == host.number(data, data + 1)
    targets = [65, *range(132, 136), *range(116, 120)]
    assert host.write_bytes(1, 168, host.number(*targets)) == 0
    (status,) = host.ask(1, READ, host.number(168, 2 * len(targets)))
    assert status.params == host.number(*targets)
    host.plant.put(0, ticks=1234)
    assert host.write_bytes(1, data, b"\x01") == 0
    assert host.write_bytes(1, data + 5, reg("goal_position").encode(99)) == 0
    (status,) = host.ask(1, READ, host.number(data, 9))
    assert status.params == b"\x01" + (1234).to_bytes(4, "little") + (99).to_bytes(4, "little")
    assert host.write_bytes(1, data + 1, b"\x01") == ACCESS
    assert host.write_bytes(1, data + 5, b"\x01\x01") == LENGTH
    assert host.write_bytes(1, 169, b"\x01\x01") == ACCESS
    host.emulator.brown_out(0)
    (status,) = host.ask(1, READ, host.number(168, 4))
    assert status.params == host.number(data, data + 1)


@pytest.mark.parametrize(("model", "highest"), [("XL330-M288", 227), ("XL430-W250", 661), (XM, 661)])
def test_an_indirect_address_is_no_setting_and_not_behind_the_table(model, highest):
    host = dynamixel(1, model=model)
    for place, error in ((0, RANGE), (63, RANGE), (64, 0), (highest, 0), (highest + 1, RANGE), (5000, RANGE)):
        before = host.ask(1, READ, host.number(168, 4))[0].params
        # All of a write is done, or nothing.
        assert host.write_bytes(1, 168, host.number(65, place)) == error
        (status,) = host.ask(1, READ, host.number(168, 4))
        assert status.params == (host.number(65, place) if not error else before)


def test_each_model_has_its_rates():
    assert len(dynamixel(1, model=XM, baud=4_500_000).ping(1)) == 1
    with pytest.raises(BusError, match="4000000"):
        dynamixel(1, model="XL330-M288", baud=4_500_000)
