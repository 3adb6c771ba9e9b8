"""Emulated STS3215 servos: what lasts and what does not, and what an overload leaves of the torque."""

import pytest
from feetech_rig import STALL_N_M, driven, reg
from framed_servos import MS, feetech

from drivers.feetech.codec import BACKUP, RECOVER
from drivers.feetech.emulator import RESTART_NS
from drivers.framed.packet import READ, REBOOT


def test_settings_last_only_with_the_lock_open():
    host = feetech(1)
    assert host.read(1, reg("eprom_lock")) == 1
    host.write(1, reg("position_p_gain"), 99)
    host.write(1, reg("eprom_lock"), 0)
    host.write(1, reg("position_d_gain"), 77)
    host.write(1, reg("acceleration"), 5)
    host.emulator.supply(on=False)
    host.emulator.supply(on=True)
    assert host.read(1, reg("position_p_gain")) == 32
    assert host.read(1, reg("position_d_gain")) == 77
    assert host.read(1, reg("acceleration")) == 0
    assert host.read(1, reg("eprom_lock")) == 1


def test_the_highest_torque_becomes_the_limit_at_power_up():
    host = feetech(1)
    host.write(1, reg("eprom_lock"), 0)
    host.write(1, reg("max_torque"), 400)
    assert host.read(1, reg("torque_limit")) == 1000
    host.emulator.brown_out(0)
    assert host.read(1, reg("torque_limit")) == 400


def test_settings_can_be_kept_and_gone_back_to():
    host = feetech(4)
    host.write(4, reg("position_p_gain"), 40)
    assert len(host.ask(4, RECOVER)) == 1
    assert host.read(4, reg("position_p_gain")) == 40
    host.write(4, reg("eprom_lock"), 0)
    host.write(4, reg("position_p_gain"), 50)
    assert len(host.ask(4, BACKUP)) == 1
    host.write(4, reg("position_p_gain"), 60)
    host.ask(4, RECOVER)
    assert host.read(4, reg("position_p_gain")) == 50
    # Nothing is put by while the lock is shut.
    host.write(4, reg("position_p_gain"), 70)
    host.write(4, reg("eprom_lock"), 1)
    assert len(host.ask(4, BACKUP)) == 1
    host.write(4, reg("eprom_lock"), 0)
    host.ask(4, RECOVER)
    assert host.read(4, reg("position_p_gain")) == 50
    fresh = feetech(4)
    fresh.write(4, reg("eprom_lock"), 0)
    fresh.write(4, reg("position_p_gain"), 50)
    fresh.ask(4, RECOVER)
    assert fresh.read(4, reg("position_p_gain")) == 32


def test_settings_gone_back_to_count_at_once():
    host = feetech(1)
    host.write(1, reg("eprom_lock"), 0)
    host.write(1, reg("position_p_gain"), 8)
    driven(host)
    host.ask(1, RECOVER)
    assert host.plant.taken()[-1][3] == pytest.approx(0.008 * STALL_N_M / (360 / 4096))


def test_a_restart_takes_its_time_and_is_not_answered():
    host = driven(feetech(1))
    # What has parameters is another packet, damaged.
    host.ask(1, REBOOT, b"\x38")
    assert host.plant.taken() == []
    assert host.ask(1, REBOOT, wait_ns=RESTART_NS - MS) == []
    assert host.plant.taken() == [("release", 0)]
    assert host.ping(1) == []
    assert len(host.ping(1)) == 1
    assert host.read(1, reg("torque_enable")) == 0


def test_an_overload_leaves_what_holds():
    host = driven(feetech(1))
    host.write(1, reg("goal_position"), 1099)
    assert host.plant.taken()[-1][-1] == pytest.approx(STALL_N_M)
    # 100 ticks with the factory's gain are 80 % of the drive.
    for _ in range(150):
        host.read(1, reg("present_load"))
    assert host.read(1, reg("servo_status")) == 0
    host.write(1, reg("goal_position"), 1102)
    host.plant.taken()
    begun = host.now_ns
    while not host.ask(1, READ, bytes((60, 2)))[0].error:
        assert host.now_ns - begun < 2_100 * MS
    assert host.now_ns - begun >= 2_000 * MS
    assert host.plant.taken() == [("drive", 0, 1102, pytest.approx(0.008 * STALL_N_M / (360 / 4096)), 0.2 * STALL_N_M)]
    assert host.read(1, reg("servo_status")) == 0x20
    assert host.read(1, reg("present_load")) == 200
    for value in (0, 1):
        assert host.write(1, reg("torque_enable"), value) == 0x20
    assert host.plant.taken()[-1][-1] == pytest.approx(0.2 * STALL_N_M)
    host.write(1, reg("torque_limit"), 100)
    assert host.plant.taken()[-1][-1] == pytest.approx(0.1 * STALL_N_M)
    host.emulator.brown_out(0)
    assert host.read(1, reg("servo_status")) == 0
    assert driven(host).read(1, reg("present_load")) == 0


def test_an_overload_is_one_in_either_direction():
    host = driven(feetech(1))
    host.write(1, reg("goal_position"), 898)
    for _ in range(102):
        host.read(1, reg("present_load"))
    assert host.read(1, reg("servo_status")) == 0x20
    assert host.read(1, reg("present_load")) == -200


def test_a_load_that_falls_in_between_is_no_overload():
    host = driven(feetech(1))
    for k in range(300):
        host.plant.put(0, ticks=1000 if k % 50 == 49 else 800)
        assert host.ask(1, READ, bytes((60, 2)))[0].error == 0


def test_without_its_bit_there_is_no_overload():
    host = driven(feetech(1))
    host.write(1, reg("unload_mask"), 12)
    host.plant.put(0, ticks=500)
    for _ in range(150):
        assert host.ask(1, READ, bytes((60, 2)))[0].error == 0


def test_a_tripped_servo_stays_limp_until_it_is_restarted():
    host = driven(feetech(1))
    host.emulator.trip(0)
    assert host.plant.goals() == [("release", 0)]
    assert host.write(1, reg("torque_enable"), 1) == 0x20
    host.write(1, reg("goal_position"), 5)
    assert host.read(1, reg("torque_enable")) == 0
    assert host.plant.taken() == []
    host.emulator.brown_out(0)
    assert driven(host).read(1, reg("torque_enable")) == 1


def test_a_firmware_whose_goals_turn_the_torque_on_does_so_only_while_nothing_tripped():
    host = feetech(1)
    host.emulator.servos[0].torque_by_goal = True
    host.plant.taken()
    host.write(1, reg("goal_position"), 1100)
    assert host.plant.goals() == [("drive", 0, 1100)]
    host.emulator.trip(0)
    host.plant.taken()
    host.write(1, reg("goal_position"), 1200)
    assert host.read(1, reg("torque_enable")) == 0
    assert host.plant.taken() == []
