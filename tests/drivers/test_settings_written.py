"""One setting of a servo is changed: under no torque, for good or until the supply goes, and read back."""

import numpy as np
import pytest
from framed_servos import dynamixel, feetech
from settings_bench import BOTH, settings_of

from drivers.bus import READ_ONLY
from drivers.dynamixel.family import FAMILY as DYNAMIXEL
from drivers.errors import BusError
from drivers.factory import bus_on_port, parse_line
from drivers.feetech.family import FAMILY as FEETECH
from drivers.framed.emulation.memory import RegisterMemory
from drivers.injection import LineFaults
from drivers.servo import ServoAddress

MENDS = [
    (DYNAMIXEL, dynamixel, "drive_mode", 9, 0),
    (DYNAMIXEL, dynamixel, "homing_offset", -300, 0),
    (DYNAMIXEL, dynamixel, "secondary_id", 9, 255),
    (FEETECH, feetech, "phase", 12 + 128, 12),
    (FEETECH, feetech, "resolution", 2, 1),
    (FEETECH, feetech, "position_offset", -85, 0),
]


@pytest.mark.parametrize(("family", "build", "name", "found", "value"), MENDS)
def test_what_keeps_a_servo_from_being_driven_is_mended_for_good(family, build, name, found, value):
    host = build(1, 2)
    memory = host.emulator.servos[0].memory
    memory.restore({name: found})
    settings = settings_of(family, host)
    assert f"expected {value}" in settings.objection(name, settings.read(name))
    settings.write(name, value)
    assert settings.objection(name, settings.read(name)) == ""
    host.emulator.brown_out(0)
    assert memory[name] == value
    assert host.emulator.servos[1].memory[name] == host.emulator.servos[1].memory.table[name].default


@pytest.mark.parametrize(("low", "high"), [(3000, 1000), (5000, 6000)])
def test_limits_that_leave_no_place_are_mended_as_the_message_says(low, high):
    host = feetech(1)
    memory = host.emulator.servos[0].memory
    memory.restore({"min_position": low, "max_position": high})
    bus = bus_on_port(parse_line("feetech:///dev/ttyACM0"), host.port, [ServoAddress(1, "knee")])
    for now_ns in range(0, 500_000_000, 10_000_000):
        bus.start(now_ns, [1000])
        bus.run_until(now_ns + 9_000_000)
    (why,) = bus.refusals
    said = [words.split() for words in why.split("`")[1::2]]
    assert [words[:3] for words in said] == [["nuc", "bus", "set"]] * 2
    host.now_ns = 600_000_000
    settings = settings_of(FEETECH, host)
    for *_, bus_id, name, value in said:
        assert bus_id == "1"
        settings.write(name, int(value))
    assert (memory["min_position"], memory["max_position"]) == (0, 4095)


@BOTH
def test_what_is_in_ram_is_forgotten_with_the_supply(family, build, table):
    host = build(1)
    name, value = ("led", 1) if family is DYNAMIXEL else ("acceleration", 50)
    settings_of(family, host).write(name, value)
    assert host.emulator.servos[0].memory[name] == value
    host.emulator.brown_out(0)
    assert host.emulator.servos[0].memory[name] == 0


@BOTH
def test_the_torque_is_off_before_anything_is_written(family, build, table, written):
    host = build(1, 2)
    for bus_id in (1, 2):
        host.write(bus_id, table["torque_enable"], 1)
    settings = settings_of(family, host)
    assert settings.torque is True
    host.plant.taken()
    written.clear()
    settings.write("min_position", 5)
    names = [name for name, _ in written]
    assert written[names.index("torque_enable")][1] == 0
    assert names.index("torque_enable") < names.index("min_position")
    assert {call[:2] for call in host.plant.taken()} == {("release", 0)}
    assert settings.torque is False
    assert host.emulator.servos[1].memory["torque_enable"] == 1


@BOTH
def test_ram_is_not_written_under_torque_either(family, build, table):
    host = build(1)
    host.write(1, table["torque_enable"], 1)
    settings_of(family, host).write("led" if family is DYNAMIXEL else "torque_limit", 1)
    assert host.emulator.servos[0].memory["torque_enable"] == 0


@BOTH
def test_nothing_is_written_after_somebody_wants_it_to_end_and_what_is_begun_is_ended(family, build, table, written):
    host = build(1)
    host.write(1, table["torque_enable"], 1)
    settings = settings_of(family, host)
    written.clear()
    assert settings.write("min_position", 3, lambda: True) is False
    assert {name for name, _ in written} <= {"torque_enable", "present_position", "realtime_tick"}
    assert host.emulator.servos[0].memory["torque_enable"] == 0
    assert settings.write("min_position", 3, lambda: any(name == "min_position" for name, _ in written)) is True
    assert host.emulator.servos[0].memory.kept()["min_position"] == 3


@pytest.mark.parametrize(
    ("family", "build", "name", "value", "said"),
    [
        (FEETECH, feetech, "unload_mask", 0, "no protection any more from heat, current, overload"),
        (FEETECH, feetech, "unload_mask", 12, "no protection any more from overload"),
        (FEETECH, feetech, "max_temperature", 71, r"less protection than as delivered (max_temperature = 70)"),
        (FEETECH, feetech, "overload_torque", 100, "less protection than as delivered"),
        (FEETECH, feetech, "min_voltage", 39, "less protection than as delivered"),
        (
            FEETECH,
            feetech,
            "min_position",
            4094,
            "not driven with min_position = 4094 and max_position = 4000, it takes",
        ),
        (FEETECH, feetech, "min_position", 4000, "max_position = 4000, it takes no position but 4000 of 0 to 4095"),
        (FEETECH, feetech, "max_torque", 0, "which leaves it no torque at all; expected"),
        (
            FEETECH,
            feetech,
            "max_torque",
            189,
            "at any level; expected 190 (torque level 4) to 1000 (less will do",
        ),
        (DYNAMIXEL, dynamixel, "shutdown", 0, "no protection any more from overheating, electrical shock, overload"),
        (DYNAMIXEL, dynamixel, "max_temperature", 81, "less protection than as delivered"),
        (DYNAMIXEL, dynamixel, "current_limit", 0, "which leaves it no torque at all; expected"),
        (DYNAMIXEL, dynamixel, "current_limit", 161, "expected 162 (torque level 4) to 1193"),
        (
            DYNAMIXEL,
            dynamixel,
            "pwm_limit",
            167,
            "not driven with pwm_limit = 167, which leaves it less torque than it is told at any level; expected 168",
        ),
    ],
)
def test_what_protects_no_longer_is_said_and_what_is_as_delivered_is_not(family, build, name, value, said):
    host = build(1)
    memory = host.emulator.servos[0].memory
    settings = settings_of(family, host)
    delivered = memory[name]
    if name == "min_position":
        memory.restore({"max_position": 4000})
        assert settings.weakens("max_position", 5, 4000) == ""
    warning = settings.weakens(name, value, delivered)
    assert said in warning
    assert value or "less will do" not in warning, "for 0 there is no less"
    assert settings.weakens(name, delivered, value) == ""


@BOTH
def test_a_protection_that_somebody_switched_on_is_missed_as_well(family, build, table):
    settings = settings_of(family, build(1))
    name = "shutdown" if family is DYNAMIXEL else "unload_mask"
    most = table[name].default
    assert "voltage" in settings.weakens(name, most, most | 1)
    assert settings.weakens(name, most | 1, most) == ""
    assert settings.weakens("led" if family is DYNAMIXEL else "acceleration", 1, 0) == ""


@BOTH
def test_what_is_read_back_decides_not_the_answer(family, build, table):
    host = build(1, rng=np.random.default_rng(5))
    settings = settings_of(family, host)
    host.emulator.set_faults(LineFaults(drop=0.08))
    for value in range(20):
        settings.write("min_position", value)
        assert host.emulator.servos[0].memory["min_position"] == value


@BOTH
def test_one_that_falls_silent_is_not_said_to_be_set(family, build, table, monkeypatch):
    host = build(1)
    settings = settings_of(family, host)
    put = RegisterMemory.__setitem__

    def die(self, name, value):
        put(self, name, value)
        if (name, value) == ("min_position", 3):
            host.emulator.unplug(0)

    monkeypatch.setattr(RegisterMemory, "__setitem__", die)
    with pytest.raises(BusError, match="whether its min_position is 3 is not known"):
        settings.write("min_position", 3)


@pytest.mark.parametrize(
    "url",
    [
        "dynamixel:///dev/ttyUSB0?baud=1000000&fast=1",
        "feetech:///dev/nuc/left?baud=115200&timeout_us=1500.5",
        "aimotor:///dev/ttyUSB0?baud=57600",
    ],
)
def test_the_url_of_a_line_is_told_again_as_it_can_be_typed(url):
    assert parse_line(url).url == url
    plain = parse_line(url.partition("?")[0])
    assert parse_line(plain.url) == plain


def test_a_refused_servo_is_named_the_command_on_its_own_line():
    host = feetech(2)
    host.emulator.servos[0].memory.restore({"position_offset": 700})
    spec = parse_line("feetech:///dev/ttyACM0?echo=0&baud=1000000")
    bus = bus_on_port(spec, host.port, [ServoAddress(2, "knee")])
    for now_ns in range(0, 200_000_000, 50_000_000):
        bus.start(now_ns, [READ_ONLY])
        bus.run_until(now_ns + 49_000_000)
    (why,) = bus.refusals
    assert "`nuc bus set 'feetech:///dev/ttyACM0?baud=1000000&echo=0' 2 position_offset 0`" in why
