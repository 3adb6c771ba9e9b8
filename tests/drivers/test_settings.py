"""What a servo is set to, looked at and changed one thing at a time, in front of the emulators of each family."""

from dataclasses import replace

import numpy as np
import pytest
from emulated import ScriptedPlant
from framed_servos import dynamixel, feetech

from drivers.aimotor import FAMILY as AIMOTOR
from drivers.aimotor import codec
from drivers.aimotor.emulator import AiMotorEmulator
from drivers.bench import VirtualPace
from drivers.bus import READ_ONLY
from drivers.dynamixel.family import FAMILY as DYNAMIXEL
from drivers.dynamixel.table import XM430_W350
from drivers.errors import BusError
from drivers.factory import bus_on_port, parse_line
from drivers.faults import LineFaults
from drivers.feetech.family import FAMILY as FEETECH
from drivers.feetech.table import STS3215
from drivers.framed.emulator_memory import Memory
from drivers.framed.registers import RegisterTable
from drivers.inprocess import InProcessPort
from drivers.servo import ServoAddress
from drivers.settings import WithSettings

BOTH = pytest.mark.parametrize(
    ("family", "build", "table"), [(DYNAMIXEL, dynamixel, XM430_W350), (FEETECH, feetech, STS3215)], ids=["dxl", "sts"]
)


def settings_of(family, host, bus_id=1, model=""):
    pace = VirtualPace()
    pace.now_ns = host.now_ns
    return family.settings(host.port, pace, {}, bus_id, model=model, assumed=False)


@pytest.fixture
def written(monkeypatch):
    """What emulated servos have set since, one (name, value) each time."""
    names = []
    put = Memory.__setitem__

    def noted(self, name, value):
        names.append((name, value))
        put(self, name, value)

    monkeypatch.setattr(Memory, "__setitem__", noted)
    return names


# --- looking ---


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


# --- setting ---

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


def test_the_lock_is_open_only_meanwhile(written):
    host = feetech(1)
    settings = settings_of(FEETECH, host)
    written.clear()
    settings.write("position_offset", 7)
    kept = [pair for pair in written if pair[0] in ("eprom_lock", "position_offset")]
    assert kept == [("eprom_lock", 0), ("position_offset", 7), ("eprom_lock", 1)]
    written.clear()
    settings.write("acceleration", 7)
    assert "eprom_lock" not in dict(written)


def test_the_lock_is_closed_again_when_the_value_does_not_take(monkeypatch):
    host = feetech(1)
    put = Memory.__setitem__
    monkeypatch.setattr(Memory, "__setitem__", lambda self, n, v: n == "resolution" or put(self, n, v))
    with pytest.raises(BusError, match="resolution of the servo with id 1 stays 1 where 4 was written"):
        settings_of(FEETECH, host).write("resolution", 4)
    assert host.emulator.servos[0].memory["eprom_lock"] == 1


def test_the_lock_is_closed_when_somebody_presses_ctrl_c(monkeypatch):
    host = feetech(1)
    put = Memory.__setitem__

    def interrupted(self, name, value):
        put(self, name, value)
        if (name, value) == ("position_offset", 7):
            raise KeyboardInterrupt

    settings = settings_of(FEETECH, host)
    monkeypatch.setattr(Memory, "__setitem__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        settings.write("position_offset", 7)
    assert host.emulator.servos[0].memory["eprom_lock"] == 1


def test_a_lock_that_can_not_be_closed_is_said_and_what_is_kept_too(monkeypatch):
    host = feetech(1)
    settings = settings_of(FEETECH, host)
    put = Memory.__setitem__
    monkeypatch.setattr(Memory, "__setitem__", lambda self, n, v: (n, v) == ("eprom_lock", 1) or put(self, n, v))
    with pytest.raises(BusError, match="position_offset of id 1 is 7 now, and kept; its eprom_lock may be open still"):
        settings.write("position_offset", 7)
    monkeypatch.undo()
    host = feetech(1)
    settings = settings_of(FEETECH, host)

    def die(self, name, value):
        put(self, name, value)
        if (name, value) == ("resolution", 4):
            host.emulator.unplug(0)

    monkeypatch.setattr(Memory, "__setitem__", die)
    with pytest.raises(BusError, match=r"whether its resolution is 4 is not known.*eprom_lock may be open still"):
        settings.write("resolution", 4)


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


@pytest.mark.parametrize("lost", ["id", "eprom_lock"])
def test_an_id_that_does_not_take_leaves_no_open_lock(monkeypatch, lost):
    host = feetech(1)
    memory = host.emulator.servos[0].memory
    put = Memory.__setitem__
    keeps = (lost, 9 if lost == "id" else 1)
    monkeypatch.setattr(Memory, "__setitem__", lambda self, n, v: (n, v) == keeps or put(self, n, v))
    pace = VirtualPace()
    with pytest.raises(BusError) as caught:
        FEETECH.burn_id(host.port, pace, 1, 9)
    if lost == "id":
        assert memory["eprom_lock"] == 1
        assert "may be open" not in str(caught.value)
    else:
        assert "answers to 9 now, and keeps that; its eprom_lock may be open still" in str(caught.value)


def test_an_id_burnt_in_under_ctrl_c_leaves_no_open_lock(monkeypatch):
    host = feetech(1)
    put = Memory.__setitem__

    def interrupted(self, name, value):
        put(self, name, value)
        if (name, value) == ("id", 9):
            raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "__setitem__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        FEETECH.burn_id(host.port, VirtualPace(), 1, 9)
    assert host.emulator.servos[0].memory["eprom_lock"] == 1


def test_a_rate_that_does_not_take_leaves_no_open_lock(monkeypatch):
    host = feetech(1)
    put = Memory.__setitem__
    monkeypatch.setattr(Memory, "__setitem__", lambda self, n, v: n == "baud_rate" or put(self, n, v))
    with pytest.raises(BusError, match=r"did not take 500000 bit/s$"):
        FEETECH.burn_baud(host.port, VirtualPace(), 1, 500_000)
    assert host.emulator.servos[0].memory["eprom_lock"] == 1


# --- what protects a servo ---


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
    put = Memory.__setitem__

    def die(self, name, value):
        put(self, name, value)
        if (name, value) == ("min_position", 3):
            host.emulator.unplug(0)

    monkeypatch.setattr(Memory, "__setitem__", die)
    with pytest.raises(BusError, match="whether its min_position is 3 is not known"):
        settings.write("min_position", 3)


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


# --- wCK ---


class Bench:
    def __init__(self, model="wCK-1108", faults=None, wrap=lambda end: end, **how):
        self.plant = ScriptedPlant(1)
        self.emulator = AiMotorEmulator([ServoAddress(3, "a", model)], self.plant, **how)
        self.written = []
        bench = self

        class Tapped(InProcessPort):
            def write(self, data, now_ns):
                bench.written.append(bytes(data))
                super().write(data, now_ns)

        self.port = Tapped(wrap(self.emulator), 57_600)

    def settings(self, *, wck=1.0, assumed=False, bus_id=3):
        return AIMOTOR.settings(self.port, VirtualPace(), {"wck": wck}, bus_id, model="", assumed=assumed)


WCK_DELIVERED = {
    "position_p_gain": 10, "position_d_gain": 35, "speed": 30, "acceleration": 100, "overload_code": 80,
    "min_position": 0, "max_position": 254, "position_i_gain": 0, "outputs": 0, "analogue_input": 0, "motion_steps": 0,
}  # fmt: skip


def test_a_wck_says_its_parameters():
    settings = Bench().settings()
    assert settings.model == "wCK"
    assert {name: settings.read(name) for name in settings.settings} == WCK_DELIVERED
    assert settings.torque is None


@pytest.mark.parametrize("name", [n for n in WCK_DELIVERED if n not in ("analogue_input", "motion_steps")])
def test_a_wck_is_set_and_keeps_what_is_set_together(name):
    bench = Bench()
    settings = bench.settings()
    setting = settings.settings[name]
    for value in (setting.low, setting.high, (setting.low + setting.high) // 2):
        settings.write(name, value)
        assert {n: settings.read(n) for n in settings.settings} == WCK_DELIVERED | {name: value}
    bench.emulator.supply(on=False)
    bench.emulator.supply(on=True)
    assert settings.read(name) == (value if setting.kept else 0)
    for value in (setting.low - 1, setting.high + 1):
        with pytest.raises(BusError, match="expected"):
            settings.write(name, value)


def test_a_wcks_torque_is_off_before_it_is_set():
    bench = Bench()
    bench.port.write(codec.encode_position(3, 2, 200), 0)
    settings = bench.settings()
    settings.write("speed", 7)
    frames = bench.written
    off = frames.index(codec.encode_passive(3))
    assert all(frame[2] != 0x0D for frame in frames[:off] if len(frame) == codec.SET_BYTES)
    assert bench.plant.commands()[-1] == ("release", 0)


def test_a_wck_that_does_not_confirm_its_torque_off_is_not_set():
    class Deaf(AiMotorEmulator):
        __slots__ = ()

        def receive(self, data, now_ns):
            if data != codec.encode_passive(3):
                super().receive(data, now_ns)

    bench = Bench()
    bench.port = InProcessPort(Deaf([ServoAddress(3, "a", "wCK-1108")], ScriptedPlant(1)), 57_600)
    settings = bench.settings()
    with pytest.raises(BusError, match="does not confirm that its torque is off: nothing was written"):
        settings.write("speed", 7)
    assert settings.read("speed") == 30


def test_an_answer_that_is_not_about_the_torque_is_no_torque_off():
    """A torque-off that lost a bit was a send: it is answered with two bytes too, and the torque is on."""

    class Damaging(AiMotorEmulator):
        __slots__ = ("damaged", "set_under_torque", "torque")

        def receive(self, data, now_ns):
            if data == codec.encode_passive(3) and self.damaged:
                self.damaged -= 1
                self.torque = True
                self._deliver(b"\x2a\x80", now_ns + 2_000_000)
                return
            self.torque = self.torque and data != codec.encode_passive(3)
            self.set_under_torque |= self.torque and len(data) == codec.SET_BYTES and data[2] == 0x0D
            super().receive(data, now_ns)

    for damaged in (1, 2):
        bench = Bench()
        wire = Damaging([ServoAddress(3, "a", "wCK-1108")], ScriptedPlant(1))
        wire.damaged, wire.set_under_torque, wire.torque = damaged, False, True
        bench.port = InProcessPort(wire, 57_600)
        bench.settings().write("speed", 7)
        assert (wire.damaged, wire.torque, wire.set_under_torque) == (0, False, False)


def test_a_wck_is_not_set_after_somebody_wants_it_to_end():
    bench = Bench()
    settings = bench.settings()
    assert settings.write("speed", 7, lambda: True) is False
    assert settings.read("speed") == 30
    assert codec.encode_passive(3) in bench.written
    assert settings.write("speed", 7, lambda: False) is True


def test_what_protects_a_wck_less_is_said():
    settings = Bench().settings()
    assert "less protection from overload than with 80: 1." in settings.weakens("overload_code", 120, 80)
    assert settings.weakens("overload_code", 70, 80) == ""
    settings.write("max_position", 200)
    assert "min_position would be 201, max_position 200" in settings.weakens("min_position", 201, 0)
    assert settings.weakens("min_position", 200, 0) == ""
    assert "min_position would be 0, max_position -1" in settings.weakens("max_position", -1, 200)


def test_a_wck_that_says_it_obeys_and_does_not_is_found_out():
    class Liar(AiMotorEmulator):
        __slots__ = ()

        def receive(self, data, now_ns):
            if len(data) == codec.SET_BYTES and data[2] == 0x0D:
                self._deliver(data[3:5], now_ns + 2_000_000)
            else:
                super().receive(data, now_ns)

    bench = Bench()
    bench.port = InProcessPort(Liar([ServoAddress(3, "a", "wCK-1108")], ScriptedPlant(1)), 57_600)
    with pytest.raises(BusError, match="speed of id 3 does not become 7: it says speed 30, acceleration 100"):
        bench.settings().write("speed", 7)


def test_a_wck_on_a_line_that_loses_bytes_is_set_or_said_not_to_be():
    good = 0
    for seed in range(20):
        bench = Bench(fault_rng=np.random.default_rng(seed))
        settings = bench.settings()
        bench.emulator.set_faults(LineFaults(drop=0.03))
        try:
            settings.write("max_position", 180)
        except BusError:
            continue
        good += 1
        bench.emulator.set_faults(LineFaults())
        assert settings.read("max_position") == 180
        assert settings.read("min_position") == 0
    assert good >= 15


def test_nothing_is_sent_to_ai_motors_unless_somebody_wants_to_try():
    bench = Bench("1001")
    with pytest.raises(BusError, match="say --assumed"):
        bench.settings(wck=0.0)
    assert bench.written == []
    with pytest.raises(BusError, match="does not show to be a wCK"):
        bench.settings(wck=1.0)
    settings = bench.settings(wck=0.0, assumed=True)
    assert settings.read("resolution") is None
    with pytest.raises(BusError, match="nothing was written"):
        settings.write("position_p_gain", 20)
    commands = {frame[2] for frame in bench.written if len(frame) == codec.SET_BYTES}
    assert commands <= {0xC9, 0x0C, 0x0E}


def test_a_wck_is_never_told_what_an_ai_motor_is_assumed_to_understand():
    bench = Bench("wCK-1111")
    with pytest.raises(BusError, match="say so with wck=1"):
        bench.settings(wck=0.0, assumed=True)
    assert all(frame[2] == 0xC9 for frame in bench.written if len(frame) == codec.SET_BYTES)


def test_gains_of_an_ai_motor_are_read_by_a_request_that_renames_no_wck():
    settings = Bench("1001")
    tried = settings.settings(wck=0.0, assumed=True)
    tried.read("position_p_gain")
    (frame,) = {frame for frame in settings.written if frame[2:3] == b"\x0c"}
    assert frame[3:5] == b"\x03\x03"


def test_an_ai_motor_that_has_the_assumed_commands_is_set_by_them():
    class Like(AiMotorEmulator):
        """Answers as the AI motor is assumed to."""

        __slots__ = ("kept",)

        def receive(self, data, now_ns):
            if len(data) != codec.SET_BYTES or data[2] == 0xC9:
                super().receive(data, now_ns)
                return
            if data[2] in (0x09, 0x0F, 0x11):
                self.kept[data[2]] = data[3:5]
            reads = {0x0C: 0x09, 0x10: 0x0F, 0x12: 0x11, 0x0E: 0x0E}
            self._deliver(self.kept[reads.get(data[2], data[2])], now_ns + 2_000_000)

    bench = Bench("1001")
    like = Like([ServoAddress(3, "a", "1001")], ScriptedPlant(1))
    like.kept = {0x09: b"\x0a\x23", 0x0F: b"\x50\x50", 0x11: b"\x00\xfe", 0x0E: b"\x01\x01"}
    bench.port = InProcessPort(like, 57_600)
    settings = bench.settings(wck=0.0, assumed=True)
    assert settings.read("resolution") == 1
    settings.write("position_d_gain", 50)
    settings.write("min_position", 10)
    settings.write("overload_code", 92)
    assert like.kept == {0x09: b"\x0a\x32", 0x0F: b"\x5c\x5c", 0x11: b"\x0a\xfe", 0x0E: b"\x01\x01"}
