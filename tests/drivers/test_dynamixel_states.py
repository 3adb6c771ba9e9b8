"""Emulated X servos: what stops them, and what is left of their registers after a restart."""

from dynamixel_rig import STALL_A, driven, reg
from framed_servos import MS, dynamixel

from drivers.dynamixel.emulator import ACCESS, ALERT, OVERLOAD_NS, RANGE
from drivers.framed.packet import REBOOT

# --- the bus watchdog ---


def test_silence_stops_a_servo_and_goals_are_refused_until_it_is_told_0():
    host = driven(dynamixel(1, 2))
    host.write(1, reg("goal_position"), 2000)
    host.write(1, reg("profile_velocity"), 7)
    host.write(1, reg("bus_watchdog"), 5)
    received = host.emulator.servos[0].fed_ns
    host.plant.taken()
    host.plant.put(0, ticks=1400)
    host.emulator.chatter(received + 100 * MS, received + 100 * MS)
    assert host.plant.taken() == []
    host.emulator.chatter(received + 100 * MS + 1, received + 101 * MS)
    assert host.plant.goals() == [("drive", 0, 1400)]
    assert host.plant.now_ns == received + 100 * MS
    host.now_ns = received + 150 * MS
    assert host.read(1, reg("bus_watchdog")) == -1
    assert host.read(1, reg("torque_enable")) == 1
    assert host.read(1, reg("profile_velocity")) == 0
    goals = ("goal_pwm", "goal_current", "goal_velocity", "goal_position")
    assert {host.write(1, reg(name), 1) for name in goals} == {RANGE}
    assert host.write(1, reg("bus_watchdog"), 5) == RANGE
    assert host.write(1, reg("bus_watchdog"), 0) == 0
    host.plant.taken()
    assert host.write(1, reg("goal_position"), 1800) == 0
    assert host.plant.goals() == [("drive", 0, 1800)]


def test_the_watchdog_bites_before_a_request_that_comes_too_late():
    host = driven(dynamixel(1))
    host.write(1, reg("bus_watchdog"), 1)
    host.now_ns += 100 * MS
    assert host.write(1, reg("goal_position"), 1800) == RANGE


def test_any_request_feeds_it():
    host = driven(dynamixel(1, 2))
    host.write(1, reg("bus_watchdog"), 2)
    for _ in range(10):
        assert len(host.ping(2)) == 1
    assert host.read(1, reg("bus_watchdog")) == 2
    for _ in range(3):
        host.send(b"\x00" * 8)
    assert host.read(1, reg("bus_watchdog")) == -1


def test_without_torque_nobody_watches():
    host = dynamixel(1)
    host.write(1, reg("bus_watchdog"), 1)
    host.now_ns += 500 * MS
    assert host.read(1, reg("bus_watchdog")) == 1
    host.write(1, reg("torque_enable"), 1)
    host.emulator.unplug(0)
    host.plant.taken()
    host.emulator.chatter(host.now_ns + 500 * MS, host.now_ns + 500 * MS)
    assert host.plant.taken() == []


# --- shutdown and restart ---


def test_a_shutdown_takes_the_torque_off_until_a_reboot():
    host = driven(dynamixel(1))
    host.emulator.trip(0)
    assert host.plant.goals() == [("release", 0)]
    assert host.ping(1)[0].error == ALERT
    assert host.read(1, reg("hardware_error")) == 0x20
    assert host.write(1, reg("torque_enable"), 1) == ALERT | ACCESS
    assert host.write(1, reg("goal_position"), 5) == ALERT
    (status,) = host.ask(1, REBOOT)
    assert status.error == 0
    assert host.plant.goals() == [("release", 0)]
    driven(host)
    host.emulator.trip(0)
    host.emulator.trip(0, tripped=False)
    assert host.write(1, reg("torque_enable"), 1) == 0


def test_in_a_shutdown_torque_may_be_taken_off_and_no_goal_brings_it_on():
    host = dynamixel(1)
    host.write(1, reg("drive_mode"), 8)
    host.emulator.trip(0)
    assert host.write(1, reg("torque_enable"), 0) == ALERT
    assert host.write(1, reg("goal_position"), 1200) == ALERT
    assert host.read(1, reg("torque_enable")) == 0
    assert {call[0] for call in host.plant.goals()} == {"release"}


def overloaded(host, share=0.95):
    """Read under a high current for longer than servos bear; return the hardware error."""
    host.plant.put(0, a=share * STALL_A)
    for _ in range(OVERLOAD_NS // (20 * MS) + 2):
        host.read(1, reg("present_current"))
    return host.read(1, reg("hardware_error"))


def test_current_for_too_long_shuts_down():
    assert overloaded(driven(dynamixel(1))) == overloaded(driven(dynamixel(1)), -0.95) == 0x20
    host = dynamixel(1)
    host.write(1, reg("shutdown"), 4)
    assert overloaded(driven(host)) == 0
    host = driven(dynamixel(1))
    for k in range(200):
        host.plant.put(0, a=(0.95 if k % 40 else 0.5) * STALL_A)
        host.read(1, reg("present_current"))
    assert host.read(1, reg("hardware_error")) == 0


def test_torque_does_not_come_on_in_an_overload():
    host = dynamixel(1)
    host.emulator.set_overload(0.5)
    host.plant.put(0, a=1.0)
    host.write(1, reg("torque_enable"), 1)
    assert host.read(1, reg("torque_enable")) == 0
    assert host.plant.taken()[-1] == ("release", 0)


def test_settings_outlast_the_supply_and_the_rest_does_not():
    host = dynamixel(1)
    host.write(1, reg("current_limit"), 700)
    host.write(1, reg("position_p_gain"), 5)
    host.write(1, reg("status_level"), 1)
    host.emulator.supply(on=False)
    host.emulator.supply(on=True)
    assert host.read(1, reg("current_limit")) == host.read(1, reg("goal_current")) == 700
    assert host.read(1, reg("position_p_gain")) == 800
    assert host.read(1, reg("status_level")) == 2
