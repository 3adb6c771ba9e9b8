"""`nuc bus set`: registers of servos on a bench, looked at and set."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from drivers.factory import find_family
from drivers.framed.emulation.memory import RegisterMemory
from nuc_engine.cli.app import app
from tests.cli.bench_table import FRAMED, URL, WCK, Table, data
from tests.cli.conftest import Nuc

STS = "feetech:///dev/ttyUSB0?baud=57600"
DXL = "dynamixel:///dev/ttyUSB0"
MENDS = [
    ("dynamixel", "XM430-W350", "drive_mode", 9, 0),
    ("dynamixel", "XL330-M288", "homing_offset", -1024, 0),
    ("dynamixel", "XM430-W350", "secondary_id", 2, 255),
    ("feetech", "STS3215", "phase", 12 + 128, 12),
    ("feetech", "STS3215", "resolution", 2, 1),
    ("feetech", "STS3215", "position_offset", -85, 0),
]


def memory_of(bench: Table, servo: int = 0) -> Any:
    return bench.emulator.servos[servo].memory


@pytest.mark.parametrize(("family", "model"), FRAMED)
def test_every_register_stands_in_the_table_with_its_value(
    nuc: Nuc, table: Callable[..., Table], family: str, model: str
) -> None:
    bench = table(1, 7, model=model, family=family)
    url = f"{family}:///dev/ttyUSB0?baud=57600"
    result = nuc("bus", "set", url, "7")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert model in lines[0]
    assert lines[1].split() == ["register", "at", "bytes", "area", "value", "unit"]
    rows = {line.split()[0]: line.split() for line in lines[2:]}
    assert set(rows) == set(memory_of(bench).table.all)
    assert rows["id"][1:6] == ["7" if family == "dynamixel" else "5", "1", "EEPROM", "rw*", "7"]
    assert rows["torque_enable"][3:6] == ["RAM", "rw*", "0"]
    assert rows["min_position"][3:6] == ["EEPROM", "rw", "0"]
    assert rows["present_position"][4] == "r"
    assert result.stderr == ""
    found = data(nuc("bus", "set", url, "7", "--json"))
    assert {row["register"] for row in found["registers"]} == set(rows)
    assert {row["register"]: row["value"] for row in found["registers"]}["model_number"] in (777, 1020, 1200)


@pytest.mark.parametrize(("family", "model", "name", "found", "value"), MENDS)
def test_the_message_of_a_refused_servo_is_the_command_that_mends_it(
    nuc: Nuc, table: Callable[..., Table], family: str, model: str, name: str, found: int, value: int
) -> None:
    bench = table(3, 9, model=model, family=family)
    memory_of(bench, 1).restore({name: found})
    url = f"{family}:///dev/ttyUSB0?baud=57600"
    move = ["bus", "move", url, "--ids", "9", "--by", "5deg", "--model", model]
    result = nuc(*move)
    assert result.exit_code == 1
    said = result.stderr.partition("`")[2].partition("`")[0]
    listed = nuc("bus", "set", url, "9")
    assert f"with {name} = {found} the servo is not driven, expected {value}" in listed.stderr
    result = nuc(*shlex.split(said)[1:], "--yes")
    assert result.exit_code == 0, result.output
    assert "for good" in result.stderr
    assert f"id 9: {name} is {value} now (was {found}), kept without power" in result.stdout
    assert f"nuc bus set '{url}' 9 {name} {found}" in result.stdout
    assert memory_of(bench, 1).kept()[name] == value
    result = nuc(*move)
    assert result.exit_code == 0, result.output


def test_a_word_has_to_be_typed_for_what_is_kept(table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch) -> None:
    bench = table(1, model="STS3215", family="feetech")
    words = ["bus", "set", STS, "1", "position_offset", "-85"]
    result = CliRunner().invoke(app, words)
    assert (result.exit_code, "say --yes" in result.stderr) == (2, True)
    monkeypatch.setattr("nuc_engine.cli.bus.bench.nobody_types", lambda: False)
    for typed, status in (("85\n", 1), ("\n", 1), ("-85\n", 0)):
        assert memory_of(bench)["position_offset"] == 0
        result = CliRunner().invoke(app, words, input=typed)
        assert result.exit_code == status, result.output
        assert ("nothing was changed" in result.stderr) == (status == 1)
    assert "for good" in result.stderr
    assert "the servo is not driven, expected 0" in result.stderr
    assert memory_of(bench)["position_offset"] == -85


@pytest.mark.parametrize(("family", "model"), FRAMED)
def test_what_is_forgotten_without_power_needs_no_word_unless_there_is_torque(
    nuc: Nuc, table: Callable[..., Table], family: str, model: str
) -> None:
    bench = table(1, 7, model=model, family=family)
    url = f"{family}:///dev/ttyUSB0?baud=57600"
    name = "led" if family == "dynamixel" else "acceleration"
    result = nuc("bus", "set", url, "7", name, "1")
    assert result.exit_code == 0, result.output
    assert f"{name} is 1 now (was 0), until its power goes" in result.stdout
    for servo in bench.emulator.servos:
        servo.memory["torque_enable"] = 1
    result = nuc("bus", "set", url, "7", name, "0")
    assert (result.exit_code, "its torque is on and will be taken off" in result.stderr) == (2, True)
    assert [servo.memory["torque_enable"] for servo in bench.emulator.servos] == [1, 1]
    assert memory_of(bench, 1)[name] == 1
    assert nuc("bus", "set", url, "7", name, "0", "--yes").exit_code == 0
    assert [servo.memory["torque_enable"] for servo in bench.emulator.servos] == [1, 0]
    assert memory_of(bench, 1)[name] == 0


class Raising:
    """Raises a signal in this process, once, when an emulated register is set to a value."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, name: str, value: int) -> None:
        put = RegisterMemory.__setitem__
        self.raised = 0

        def noted(memory: RegisterMemory, key: str, new: int) -> None:
            put(memory, key, new)
            if (key, new) == (name, value) and not self.raised:
                self.raised += 1
                signal.raise_signal(number)

        monkeypatch.setattr(RegisterMemory, "__setitem__", noted)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("at", [("eprom_lock", 0), ("position_offset", 7)])
def test_a_signal_leaves_no_lock_open_and_what_was_done_is_said(
    nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch, number: signal.Signals, at: tuple[str, int]
) -> None:
    bench = table(1, model="STS3215", family="feetech")
    raising = Raising(monkeypatch, number, *at)
    result = nuc("bus", "set", STS, "1", "position_offset", "7", "--yes", "--json")
    assert (result.exit_code, raising.raised) == (1, 1)
    (error,) = data(result)["errors"]
    assert "stopped when asked to, too late: id 1: position_offset is 7 now (was 0), kept without power" in error
    assert "said" not in data(result)
    assert (memory_of(bench)["eprom_lock"], memory_of(bench).kept()["position_offset"]) == (1, 7)


def test_a_signal_before_anything_is_written_lets_nothing_be_written(
    nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = table(1, model="STS3215", family="feetech")
    memory_of(bench)["torque_enable"] = 1
    Raising(monkeypatch, signal.SIGTERM, "torque_enable", 0)
    result = nuc("bus", "set", STS, "1", "position_offset", "7", "--yes")
    assert (result.exit_code, "its torque is off, position_offset of id 1 stays 0" in result.stderr) == (1, True)
    assert (memory_of(bench)["eprom_lock"], memory_of(bench)["position_offset"]) == (1, 0)


def test_a_lock_that_stays_open_is_said(nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch) -> None:
    table(1, model="STS3215", family="feetech")
    put = RegisterMemory.__setitem__
    monkeypatch.setattr(
        RegisterMemory, "__setitem__", lambda self, n, v: (n, v) == ("eprom_lock", 1) or put(self, n, v)
    )
    result = nuc("bus", "set", STS, "1", "position_offset", "7", "--yes")
    assert result.exit_code == 1
    assert "position_offset of id 1 is 7 now, and kept; its eprom_lock may be open still" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_an_id_or_a_rate_is_burnt_in_leaves_no_lock_open(
    nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    bench = table(1, model="STS3215", family="feetech")
    raising = Raising(monkeypatch, number, "eprom_lock", 0)
    result = nuc("bus", "set-id", STS, "--id", "1", "--to", "12", "--yes", "--json")
    assert (result.exit_code, raising.raised, memory_of(bench)["eprom_lock"]) == (1, 1, 1)
    assert "too late: id 1 is id 12 now" in data(result)["errors"][0]
    assert "said" not in data(result)
    raising = Raising(monkeypatch, number, "eprom_lock", 0)
    result = nuc("bus", "set-baud", STS, "--id", "12", "--to", "115200", "--yes", "--json")
    assert (result.exit_code, raising.raised) == (1, 1)
    assert "too late: id 12 is at 115200 bit/s now" in data(result)["errors"][0]
    assert "said" not in data(result)


def test_protection_is_not_switched_off_without_a_word(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(1, model="STS3215", family="feetech")
    for name, value, said in (
        ("unload_mask", "0", "no protection any more from heat, current, overload"),
        ("max_temperature", "90", "less protection than as delivered (max_temperature = 70)"),
        ("min_position", "4094", ""),
    ):
        before = memory_of(bench)[name]
        result = nuc("bus", "set", STS, "1", name, value)
        assert (result.exit_code, said in result.stderr, memory_of(bench)[name]) == (2, True, before)
        assert f"will be {value} (is {before}) for good; two servos of that id both change" in result.stderr
    assert "protection" not in result.stderr
    result = nuc("bus", "set", STS, "1", "overload_torque", "101", "--yes")
    assert (result.exit_code, "expected 0 to 100" in result.stderr) == (2, True)


def test_what_is_kept_so_already_is_not_written_again(
    nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = table(1, model="XM430-W350", family="dynamixel")
    memory_of(bench)["torque_enable"] = 1
    written: list[str] = []
    put = RegisterMemory.__setitem__
    monkeypatch.setattr(RegisterMemory, "__setitem__", lambda self, n, v: (written.append(n), put(self, n, v))[1])
    result = nuc("bus", "set", DXL, "1", "max_temperature", "80")
    assert (result.exit_code, "is 80 already: nothing was written" in result.stdout) == (0, True)
    assert set(written) <= {"present_position", "realtime_tick"}
    assert memory_of(bench)["torque_enable"] == 1


class Deaf:
    """A line that takes requests with some bytes in them away."""

    def __init__(self, bench: Table, monkeypatch: pytest.MonkeyPatch) -> None:
        self.swallowed: tuple[bytes, ...] = ()
        receive = bench.emulator.receive
        swallows = lambda data: any(part in data for part in self.swallowed)  # noqa: E731
        monkeypatch.setattr(
            type(bench.emulator), "receive", lambda end, data, now_ns: swallows(data) or receive(data, now_ns)
        )


def test_what_is_lost_on_the_line_is_not_what_a_servo_does_not_have(
    nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = table(3, model="STS3215", family="feetech")
    line = Deaf(bench, monkeypatch)
    line.swallowed = (bytes([2, 13, 1]),)
    for words in (["max_temperature"], ["max_temperature", "60", "--yes"]):
        result = nuc("bus", "set", STS, "3", *words)
        assert result.exit_code == 1
        assert "answers a ping, but did not answer when asked for its max_temperature" in result.stderr
    result = nuc("bus", "set", STS, "3")
    assert (result.exit_code, "asked for its max_temperature" in result.stderr) == (1, True)
    rows = {row.split()[0]: row.split() for row in result.stdout.splitlines()[2:]}
    assert (rows["max_temperature"][5], rows["max_voltage"][5]) == ("-", "140")
    assert "said" not in data(nuc("bus", "set", STS, "3", "--json"))
    bench.emulator.unplug(0)
    assert "nobody answers to id 3" in nuc("bus", "set", STS, "3").stderr


def test_one_that_falls_silent_is_not_asked_for_everything(
    nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = table(3, model="STS3215", family="feetech")
    put = RegisterMemory.read

    def once(memory: RegisterMemory, address: int, count: int) -> bytes:
        if address == 13:
            bench.emulator.unplug(0)
        return put(memory, address, count)

    monkeypatch.setattr(RegisterMemory, "read", once)
    result = nuc("bus", "set", STS, "3", "--json")
    assert result.exit_code == 1
    errors = data(result)["errors"]
    assert 1 <= len(errors) <= 3
    assert "no longer answers" in errors[-1]


def test_one_register_is_told_with_its_bounds_and_who_else_sets_it(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(1, model="STS3215", family="feetech")
    memory_of(bench).restore({"position_offset": 300})
    result = nuc("bus", "set", STS, "1", "position_offset")
    assert result.stdout.splitlines() == ["position_offset = 300  tick", "at 31, 2 bytes, EEPROM, -2047 to 2047"]
    assert "expected 0: positions are shifted" in result.stderr
    assert "sets it to 0" in nuc("bus", "set", STS, "1", "min_start_torque").stdout
    assert "nuc bus set-id" in nuc("bus", "set", STS, "1", "id").stdout
    assert "1 byte, RAM, read only" in nuc("bus", "set", STS, "1", "moving").stdout
    row = data(nuc("bus", "set", STS, "1", "position_offset", "--json"))
    assert (row["value"], row["low"], row["high"], row["area"]) == (300, -2047, 2047, "EEPROM")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["goal_position", "100"], "`nuc bus move` and `force` drive the servo"),
        (["torque_enable", "1"], "nuc bus release"),
        (["id", "3"], "nuc bus set-id"),
        (["baud_rate", "3"], "nuc bus set-baud"),
        (["present_position", "3"], "can only be read"),
        (["resolution", "0"], "expected 1 to 128"),
        (["position_offset", "5000"], "expected -2047 to 2047"),
        (["phase", "13"], "how the servo is built"),
        (["eprom_lock", "0"], "opened and closed"),
        (["positon_offset", "0"], "did you mean position_offset"),
        (["zzz"], "lists them"),
        (["resolution", "two"], "is no value"),
        (["resolution", "1", "2"], "extra argument"),
    ],
)
def test_wrong_words_are_one_line_and_status_2_and_nothing_is_written(
    nuc: Nuc, table: Callable[..., Table], words: list[str], said: str
) -> None:
    bench = table(1, model="STS3215", family="feetech")
    before = dict(memory_of(bench))
    result = nuc("bus", "set", STS, "1", *words, "--yes")
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert {n for n, v in memory_of(bench).items() if before[n] != v} <= {"present_position"}


def test_ids_and_models_that_are_none_are_wrong_words(nuc: Nuc, table: Callable[..., Table]) -> None:
    table(1, model="XM430-W350", family="dynamixel")
    for words, said in ((["253"], "ids 0 to 252"), (["1", "--model", "XL"], "--model XL")):
        result = nuc("bus", "set", DXL, *words)
        assert (result.exit_code, said in result.stderr) == (2, True)


def test_who_is_not_there_does_not_take_it_or_is_another_is_status_1(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(1, model="XM430-W350", family="dynamixel")
    for words, said in (
        (["4"], "nobody answers to id 4"),
        (["1", "--model", "XL430-W250"], "is XM430-W350, expected XL430-W250"),
        (["1", "operating_mode", "2"], "refuses operating_mode = 2: out of the register's range"),
    ):
        result = nuc("bus", "set", DXL, *words, "--yes")
        assert (result.exit_code, said in result.stderr) == (1, True), result.output
        found = data(nuc("bus", "set", DXL, *words, "--yes", "--json"))
        assert (found["ok"], said in found["errors"][0]) == (False, True)
    bench.emulator.unplug(0)
    assert nuc("bus", "set", DXL, "1", "led", "1").exit_code == 1


def test_the_way_back_is_not_told_where_there_is_none(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(1, model="XM430-W350", family="dynamixel")
    memory_of(bench)["bus_watchdog"] = -1
    said = nuc("bus", "set", DXL, "1", "bus_watchdog", "0").stdout
    assert "bus_watchdog is 0 now (was -1), until its power goes\n" in said
    assert "back again" in nuc("bus", "set", DXL, "1", "led", "1").stdout


def test_a_family_that_says_nothing_of_settings_is_said_to(
    nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table(1, model="XM430-W350", family="dynamixel")
    family = find_family("dynamixel")

    class Plain:
        """The family without what it has besides."""

        def __getattr__(self, name: str) -> Any:
            if name == "settings":
                raise AttributeError(name)
            return getattr(family, name)

    monkeypatch.setattr("drivers.factory.find_family", lambda _: Plain())
    result = nuc("bus", "set", DXL, "1")
    assert (result.exit_code, "nothing is known of what dynamixel servos can be set to" in result.stderr) == (1, True)


def test_values_are_taken_in_other_bases(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(1, model="STS3215", family="feetech")
    for text, value in (("0x1c", 28), ("0b1100", 12)):
        assert nuc("bus", "set", STS, "1", "phase", text, "--yes").exit_code == 0
        assert memory_of(bench)["phase"] == value


def test_a_wck_is_set_and_an_ai_motor_is_not(nuc: Nuc, table: Callable[..., Table]) -> None:
    table(1, 4, model="wCK-1111")
    rows = {row["register"]: row for row in data(nuc("bus", "set", WCK, "4", "--json"))["registers"]}
    assert (rows["position_p_gain"]["value"], rows["max_position"]["value"]) == (10, 254)
    result = nuc("bus", "set", WCK, "4", "max_position", "200")
    assert (result.exit_code, "its torque will be taken off" in result.stderr) == (2, True)
    result = nuc("bus", "set", WCK, "4", "max_position", "200", "--yes")
    assert result.exit_code == 0, result.output
    assert "max_position is 200 now (was 254), kept without power" in result.stdout
    assert "max_position is 200 already" in nuc("bus", "set", WCK, "4", "max_position", "200").stdout
    assert "min_position would be 201, max_position 200" in nuc("bus", "set", WCK, "4", "min_position", "201").stderr
    # Nobody can tell whether its torque is on, so that somebody has to say yes to RAM too.
    result = nuc("bus", "set", WCK, "4", "outputs", "1")
    assert (result.exit_code, "its torque will be taken off" in result.stderr) == (2, True)
    assert "for good" not in result.stderr
    assert nuc("bus", "set", WCK, "4", "outputs", "1", "--yes").exit_code == 0
    assert "min_position = 0" in nuc("bus", "set", WCK, "4", "min_position").stdout
    assert nuc("bus", "set", WCK, "4", "overload_code", "20", "--yes").exit_code == 2
    result = nuc("bus", "set", WCK, "4", "id", "20", "--yes")
    assert (result.exit_code, "nuc bus set-id" in result.stderr) == (2, True)
    result = nuc("bus", "set", URL, "4")
    assert (result.exit_code, "wck=1 in the URL" in result.stderr) == (1, True)
    result = nuc("bus", "set", URL, "4", "--assumed")
    assert (result.exit_code, "shows to be a wCK" in result.stderr) == (1, True)


def test_an_ai_motor_that_knows_none_of_the_assumed_commands_is_said_to(nuc: Nuc, table: Callable[..., Table]) -> None:
    table(1, model="1001")
    result = nuc("bus", "set", URL, "1", "--assumed")
    assert result.exit_code == 1
    assert "answers, but to none of the commands" in result.stderr


def test_units_are_wrapped_on_a_terminal_and_nowhere_else(
    nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    table(1, model="STS3215", family="feetech")
    plain = nuc("bus", "set", STS, "1").stdout
    assert "bits: 2 fine speed, 3 speed 0 is the highest, 4 turns, 7 feedback reversed" in plain
    monkeypatch.setattr("nuc_engine.cli.bus.set.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    wrapped = nuc("bus", "set", STS, "1").stdout
    assert max(map(len, wrapped.splitlines())) <= 80
    assert "".join(wrapped.split()) == "".join(plain.split())
