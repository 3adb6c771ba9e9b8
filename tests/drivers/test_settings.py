"""What a servo is set to, looked at in front of the emulators of each family, and what is not written."""

from dataclasses import replace

import pytest
from framed_servos import dynamixel, feetech
from settings_bench import BOTH, Bench, settings_of

from drivers.bench.settings import WithSettings
from drivers.clock import VirtualPace
from drivers.dynamixel.family import FAMILY as DYNAMIXEL
from drivers.dynamixel.table import XM430_W350
from drivers.errors import BusError
from drivers.feetech.family import FAMILY as FEETECH
from drivers.framed.registers import RegisterTable
from drivers.inprocess import InProcessPort


@BOTH
def test_every_register_is_read_as_it_is_and_nothing_is_written(family, build, table, written):
    host = build(1, 2)
    memory = host.emulator.servos[0].memory
    memory.restore({"min_position": 17})
    settings = settings_of(family, host)
    written.clear()
    assert isinstance(family, WithSettings)
    assert set(settings.settings) == set(table.all)
    places = [int(setting.where) for setting in settings.settings.values()]
    assert places == sorted(places)
    values = {name: settings.read(name) for name in settings.settings}
    changing = {name for name in values if name.startswith(("present_", "realtime"))}
    assert {n: v for n, v in values.items() if n not in changing} == {
        n: v for n, v in memory.items() if n not in changing
    }
    assert values["present_position"] == 1000
    assert values["min_position"] == 17
    assert settings.torque is False
    assert {name for name, _ in written} <= {name for name in table.all if table[name].access == "read"}


@BOTH
def test_areas_and_bounds_are_those_of_the_table(family, build, table):
    settings = settings_of(family, build(1)).settings
    for name, register in table.all.items():
        setting = settings[name]
        assert setting.writable == (register.access != "read")
        assert (setting.low, setting.high, setting.size) == (register.low, register.high, register.size)
        if setting.writable:
            assert setting.kept == (register.access == "eeprom")
    assert settings["model_number"].kept
    assert not settings["present_position"].kept


@BOTH
def test_who_is_not_there_or_not_what_it_should_be_is_said(family, build, table):
    with pytest.raises(BusError, match="nobody answers to id 7"):
        settings_of(family, build(1), 7)
    host = build(1)
    host.emulator.servos[0].memory["model_number"] = 4711
    with pytest.raises(BusError, match="4711"):
        settings_of(family, host)
    if family is DYNAMIXEL:
        with pytest.raises(BusError, match="is XM430-W350, expected XL430-W250"):
            settings_of(family, build(1), model="XL430-W250")
    else:
        assert settings_of(family, build(1), model="STS3215-12V").model == "STS3215-12V"
        assert settings_of(family, build(1)).model == "STS3215 or STS3215-12V"


def test_one_that_answers_a_ping_and_nothing_else_is_told_from_one_that_is_not_there():
    host = dynamixel(1)
    host.emulator.servos[0].memory["status_level"] = 0
    with pytest.raises(BusError, match=r"answers a ping and says nothing of itself.*status_level 0"):
        settings_of(DYNAMIXEL, host)


def test_one_that_falls_silent_while_it_is_looked_at_is_said():
    host = feetech(1)
    settings = settings_of(FEETECH, host)
    host.emulator.unplug(0)
    with pytest.raises(BusError, match="no longer answers"):
        settings.read("phase")


def test_what_is_kept_so_already_is_known_where_no_lock_hides_it():
    settings = settings_of(DYNAMIXEL, dynamixel(1))
    assert settings.already("homing_offset", 5, 5)
    assert not settings.already("homing_offset", 5, 4)
    assert not settings.already("led", 1, 1)
    assert not settings_of(FEETECH, feetech(1)).already("position_p_gain", 32, 32)
    settings = Bench().settings()
    assert settings.already("overload_code", 80, 80)
    assert not settings.already("overload_code", 80, 81)
    # What a runtime command set may be read as what is kept.
    assert not settings.already("position_p_gain", 10, 10)
    assert not settings.already("position_i_gain", 0, 0)
    assert not settings.already("outputs", 0, 0)


class Deafened(InProcessPort):
    """Takes requests that hold some bytes off the line."""

    swallowed: bytes = b""

    def write(self, data, now_ns):
        if self.swallowed and self.swallowed in data:
            return
        super().write(data, now_ns)


@BOTH
def test_one_that_answers_a_ping_and_not_a_read_is_not_said_to_lack_the_register(family, build, table):
    host = build(1)
    port = Deafened(host.emulator, 1_000_000)
    settings = family.settings(port, VirtualPace(), {}, 1, model="", assumed=False)
    register = table["max_temperature"]
    here = register.address
    port.swallowed = bytes([2, here, 0, 1, 0]) if family is DYNAMIXEL else bytes([2, here, 1])
    with pytest.raises(BusError, match="answers a ping, but did not answer when asked for its max_temperature"):
        settings.read("max_temperature")
    assert settings.read("max_voltage") is not None
    port.swallowed = b""
    assert settings.read("max_temperature") == register.default


def test_one_that_refuses_a_read_has_no_such_register(monkeypatch):
    host = dynamixel(1)
    settings = settings_of(DYNAMIXEL, host)
    # An address no servo has: it says so.
    gone = replace(XM430_W350["led"], address=2000)
    monkeypatch.setattr(RegisterTable, "__getitem__", lambda self, name: gone if name == "led" else self.all[name])
    assert settings.read("led") is None


@BOTH
def test_what_moves_a_servo_or_belongs_to_another_command_is_not_written(family, build, table, written):
    host = build(1)
    settings = settings_of(family, host)
    written.clear()
    host.plant.taken()
    refused = {name for name, s in settings.settings.items() if s.instead}
    goals = {name for name in table.all if name.startswith("goal_")}
    assert {"id", "baud_rate", "torque_enable", "goal_position", *goals} <= refused
    assert ("eprom_lock" in refused) == ("eprom_lock" in table)
    for name in refused:
        for value in (table[name].low, table[name].high):
            with pytest.raises(BusError, match="not written here"):
                settings.write(name, value)
    for name in ("present_position", "model_number", "moving"):
        with pytest.raises(BusError, match="only be read"):
            settings.write(name, 0)
    assert {name for name, _ in written} <= {"present_position", "realtime_tick", "moving"}
    assert host.plant.taken() == []


@BOTH
def test_bounds_are_kept(family, build, table):
    settings = settings_of(family, build(1))
    for name, setting in settings.settings.items():
        if setting.writable and not setting.instead:
            for value in (setting.low - 1, setting.high + 1):
                with pytest.raises(BusError, match=f"expected {setting.low} to {setting.high}"):
                    settings.write(name, value)


def test_bits_that_say_how_a_servo_is_built_stay():
    host = feetech(1)
    settings = settings_of(FEETECH, host)
    for value in (13, 12 ^ 2, 12 ^ 32, 12 ^ 64):
        with pytest.raises(BusError, match="how the servo is built"):
            settings.write("phase", value)
    for value in (4, 8, 12 + 16):
        settings.write("phase", value)
        assert host.emulator.servos[0].memory["phase"] == value


def test_what_the_servo_refuses_is_said_in_its_words():
    host = dynamixel(1)
    with pytest.raises(BusError, match="refuses operating_mode = 2: out of the register's range"):
        settings_of(DYNAMIXEL, host).write("operating_mode", 2)


def test_a_late_answer_is_not_taken_for_the_one_about_another_register():
    host = feetech(1)

    class Slow(InProcessPort):
        """Holds the first answer about `phase` back: for 150 ms, or until something else is asked."""

        held, until_ns = b"", None

        def write(self, data, now_ns):
            super().write(data, now_ns)
            if self.until_ns is None and data[4:6] == b"\x02\x12":
                self.until_ns = now_ns + 150_000_000
            elif self.until_ns:
                self.until_ns = min(self.until_ns, now_ns)

        def read(self, now_ns):
            data = super().read(now_ns)
            if self.until_ns and now_ns < self.until_ns:
                self.held += data
                return b""
            data, self.held = (self.held, b"") if self.held else (data, b"")
            return data

        def ready_ns(self, expected):
            return self.until_ns if self.held else super().ready_ns(expected)

        def flush_input(self, now_ns):
            if self.until_ns and now_ns >= self.until_ns:
                self.held = b""
            return super().flush_input(now_ns)

    port = Slow(host.emulator, 1_000_000)
    settings = FEETECH.settings(port, VirtualPace(), {}, 1, model="", assumed=False)
    assert (settings.read("phase"), settings.read("unload_mask"), port.held) == (12, 44, b"")
    assert port.until_ns
