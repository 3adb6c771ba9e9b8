"""The bench tools that do more than look: on emulated servos, and on ports whose other end is emulated."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from nuc_engine.cli.app import app
from nuc_engine.cli.bus import bench as benches
from nuc_engine.cli.bus.lines import family_of
from tests.cli.bench_table import FRAMED, URL, WCK, Table, data
from tests.cli.conftest import Nuc

# monitor


def test_monitor_shows_what_is_there_and_drives_nothing(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(3, 9)
    bench.plant.drive(1, 100.0, 0.04, 1.0)
    result = nuc("bus", "monitor", URL, "-n", "20", "--rate", "100")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["id", "name", "raw", "degrees", "deg/s", "load", "status", "missed"]
    assert [line.split()[0] for line in lines[1:3]] == ["3", "9"]
    assert "20 readings, 1" in result.stdout
    lines = nuc("bus", "monitor", URL, "--ids", "9", "-n", "5", "--json").stdout.splitlines()
    assert len(lines) == 5
    seen = json.loads(lines[-1])["servos"]
    assert [row["id"] for row in seen] == [9]
    assert seen[0]["position_deg"] == pytest.approx(100.0, abs=1.0)
    assert seen[0]["status"] == "ok"


def test_monitor_tells_who_was_never_read(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(3, 9)
    bench.emulator.unplug(1)
    result = nuc("bus", "monitor", URL, "--ids", "3,9", "--for", "0.5")
    assert result.exit_code == 1
    assert "id 9 was never read" in result.stderr
    assert "id 3" not in result.stderr
    bench.emulator.unplug(0)
    result = nuc("bus", "monitor", URL)
    assert result.exit_code == 1
    assert "nobody answered" in result.stderr


def test_monitor_of_emulated_servos_ends_by_itself(nuc: Nuc) -> None:
    result = nuc("bus", "monitor", "emulated:", "--ids", "1", "--rate", "20", "--json")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) in range(20, 23)


# move


def test_move_to_a_place_and_limp_afterwards(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(3, 9)
    result = nuc("bus", "move", URL, "--ids", "9", "--to", "140", "--level", "1", "--json")
    assert result.exit_code == 0
    found = data(result)
    assert (found["ok"], found["ending"]) == (True, "done")
    (row,) = found["servos"]
    assert (row["id"], row["from_raw"], row["goal_raw"]) == (9, 127, 140)
    assert abs(row["raw"] - 140) <= 3
    assert bench.plant.sample(0)[0] == pytest.approx(127 * 0.654)
    assert bench.plant.motion(1).torque_n_m == 0.0
    result = nuc("bus", "move", URL, "--ids", "3,9", "--by", "-10deg", "--level", "1")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()[1:]] == ["3", "9"]


def test_move_is_slow(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(3)
    begun_ns = bench.pace.now_ns
    assert nuc("bus", "move", URL, "--ids", "3", "--by", "40deg", "--rate", "20", "--level", "1").exit_code == 0
    assert bench.pace.now_ns - begun_ns > 1.9e9


def test_move_refuses_what_it_can_not_read_or_reach(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(3, 9)
    bench.emulator.unplug(1)
    result = nuc("bus", "move", URL, "--ids", "3,9", "--to", "140")
    assert result.exit_code == 1
    assert "no believable reading from id 9" in result.stderr
    assert bench.plant.motion(0).torque_n_m == 0.0
    result = nuc("bus", "move", URL, "--ids", "3", "--to", "170deg")
    assert result.exit_code == 1
    assert "0 to 254" in result.stderr
    assert bench.plant.sample(0)[0] == pytest.approx(127 * 0.654)


def test_a_shaft_that_is_held_ends_the_move_with_the_torque_off(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(3)
    bench.plant.hold(0)
    result = nuc("bus", "move", URL, "--ids", "3", "--to", "220")
    assert result.exit_code == 1
    assert "did not follow" in result.stderr
    assert bench.plant.motion(0).torque_n_m == 0.0


def test_ctrl_c_takes_the_torque_off(nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch) -> None:
    bench = table(3)
    plain = bench.pace.wait

    def interrupted(until_ns: int, filenos: Any) -> None:
        plain(until_ns, filenos)
        if bench.pace.now_ns > 500_000_000:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(bench.pace, "wait", interrupted)
    for words in (
        ["move", "--ids", "3", "--to", "250", "--level", "0"],
        ["force", "--id", "3", "--model", "1001", "--ticks", "2", "--for", "60"],
    ):
        result = nuc("bus", words[0], URL, *words[1:])
        assert result.exit_code == 1
        assert "stopped when asked to" in result.stderr
        assert bench.plant.motion(0).torque_n_m == 0.0


# force


def test_force_holds_a_delta_and_lets_go(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(3)
    bench.plant.hold(0)
    result = nuc("bus", "force", URL, "--id", "3", "--model", "1001", "--ticks", "8", "--level", "0", "--json")
    assert result.exit_code == 0
    row = data(result)["servo"]
    assert row["delta_n_m"] == pytest.approx(8 * 0.980665 / 41.4)
    assert row["load_n_m"] == pytest.approx(row["delta_n_m"], rel=0.15)
    assert row["seconds"] == pytest.approx(2.0, abs=0.05)
    assert bench.plant.motion(0).torque_n_m == 0.0
    result = nuc("bus", "force", URL, "--id", "3", "--model", "1001", "--torque", "-0.2", "--json")
    assert data(result)["servo"]["delta_ticks"] == -8


def test_force_goes_limp_when_the_shaft_runs_away(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(3)
    result = nuc("bus", "force", URL, "--id", "3", "--model", "1001", "--ticks", "15", "--level", "0", "--most", "10")
    assert result.exit_code == 1
    assert "went further than it was allowed" in result.stderr
    assert abs(bench.plant.sample(0)[0] - 127 * 0.654) < 30.0
    assert bench.plant.motion(0).torque_n_m == 0.0


# stored


def test_set_id_on_a_wck(nuc: Nuc, table: Callable[..., Table]) -> None:
    table(1, 4, model="wCK-1111")
    result = nuc("bus", "set-id", WCK, "--id", "1", "--to", "12", "--yes")
    assert result.exit_code == 0, result.output
    assert "id 1 is id 12 now" in result.stdout
    assert f"nuc bus set-id '{WCK}' --id 12 --to 1" in result.stdout
    assert "for good" in result.stderr
    found = data(nuc("bus", "scan", URL, "--json"))["found"]
    assert [row["id"] for row in found] == [4, 12]


def test_set_id_is_refused_on_ai_motors_and_without_anybody_to_confirm(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(1, 4, model="wCK-1111")
    result = nuc("bus", "set-id", URL, "--id", "1", "--to", "12", "--yes")
    assert result.exit_code == 1
    assert "wck=1 in the URL" in result.stderr
    result = nuc("bus", "set-id", WCK, "--id", "1", "--to", "12")
    assert result.exit_code == 2
    assert "say --yes" in result.stderr
    assert [row["id"] for row in data(nuc("bus", "scan", URL, "--json"))["found"]] == [1, 4]
    bench.emulator.unplug(0)
    result = nuc("bus", "set-id", WCK, "--id", "1", "--to", "12", "--yes")
    assert (result.exit_code, "id 1 does not answer at 57600 bit/s: nothing was changed" in result.stderr) == (1, True)
    bench.emulator.plug(0)
    result = nuc("bus", "set-id", WCK, "--id", "1", "--to", "4", "--yes", "--json")
    assert result.exit_code == 1
    assert "id 4 answers already" in data(result)["errors"][0]
    for words in (["--id", "1", "--to", "1"], ["--id", "1", "--to", "99"]):
        assert nuc("bus", "set-id", WCK, *words, "--yes").exit_code == 2


def test_the_word_has_to_be_typed(table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch) -> None:
    table(1, model="wCK-1111")
    monkeypatch.setattr("nuc_engine.cli.bus.bench.nobody_types", lambda: False)
    for typed, status in (("1\n", 1), ("\n", 1), ("12\n", 0)):
        result = CliRunner().invoke(app, ["bus", "set-id", WCK, "--id", "1", "--to", "12"], input=typed)
        assert result.exit_code == status, result.output
        assert ("nothing was changed" in result.stderr) == (status == 1)


def test_set_baud_opens_the_port_anew(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(1, model="wCK-1111", baud=115_200)
    url = "aimotor:///dev/ttyUSB0?wck=1&baud=115200"
    result = nuc("bus", "set-baud", url, "--id", "1", "--to", "57600", "--yes")
    assert result.exit_code == 0, result.output
    assert bench.opened[-2:] == [115_200, 57_600]
    assert "nuc bus set-baud 'aimotor:///dev/ttyUSB0?baud=57600&wck=1' --id 1 --to 115200" in result.stdout
    assert nuc("bus", "set-baud", url, "--id", "1", "--to", "1234", "--yes").exit_code == 2
    assert nuc("bus", "set-baud", url, "--id", "1", "--to", "115200", "--yes").exit_code == 2


# servos with registers


@pytest.mark.parametrize(("family", "model"), FRAMED)
def test_scan_tells_the_models(nuc: Nuc, table: Callable[..., Table], family: str, model: str) -> None:
    table(1, 7, model=model, family=family)
    url = f"{family}:///dev/ttyUSB0?baud=57600"
    result = nuc("bus", "scan", url)
    assert result.exit_code == 0
    found = data(nuc("bus", "scan", url, "--json"))["found"]
    assert [row["id"] for row in found] == [1, 7]
    # The maker gives both voltages of the STS3215 one number.
    assert {row["model"] for row in found} == {model if family == "dynamixel" else "STS3215 or STS3215-12V"}
    assert all(row["position_deg"] == pytest.approx(180.0, abs=0.1) for row in found)


@pytest.mark.parametrize(("family", "model"), FRAMED)
def test_move_and_force_know_the_model_by_asking(
    nuc: Nuc, table: Callable[..., Table], family: str, model: str
) -> None:
    bench = table(1, 7, model=model, family=family, baud=1_000_000)
    url = f"{family}:///dev/ttyUSB0?baud=1000000"
    result = nuc("bus", "move", url, "--ids", "7", "--by", "-30deg", "--rate", "60", "--json")
    assert result.exit_code == 0, result.output
    assert bench.plant.motion(1).angle_deg == pytest.approx(150.0, abs=4.0)
    assert bench.plant.motion(0).angle_deg == pytest.approx(180.0, abs=0.1)
    assert bench.plant.motion(1).torque_n_m == 0.0
    # Half a second on its way, half a second there: nobody else was asked and waited for.
    assert bench.pace.now_ns < 1.5e9
    bench.plant.hold(1)
    known = [] if family == "dynamixel" else ["--model", model]
    result = nuc("bus", "force", url, "--id", "7", "--torque", "0.1", "--for", "0.5", "--json", *known)
    assert result.exit_code == 0, result.output
    row = data(result)["servo"]
    # To the nearest tick, which is a lot on an XM430 at the gain it is delivered with.
    assert row["delta_n_m"] == pytest.approx(0.1, abs=0.015)
    assert row["load_n_m"] == pytest.approx(row["delta_n_m"], rel=0.3)
    if not known:
        return
    result = nuc("bus", "force", url, "--id", "7", "--torque", "0.1")
    assert (result.exit_code, "says it is STS3215 or STS3215-12V" in result.stderr) == (2, True)


def test_another_model_than_was_said_is_not_driven(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(7, model="XM430-W350", family="dynamixel")
    url = "dynamixel:///dev/ttyUSB0"
    for words in (["move", "--ids", "7", "--by", "30deg"], ["force", "--id", "7", "--ticks", "30"]):
        result = nuc("bus", words[0], url, *words[1:], "--model", "XL430-W250")
        assert result.exit_code == 1, result.output
        assert "expected XL430-W250" in result.stderr
        assert bench.plant.motion(0).angle_deg == pytest.approx(180.0, abs=0.1)
    assert nuc("bus", "move", url, "--ids", "7", "--by", "30deg").exit_code == 0


@pytest.mark.parametrize(
    "words", [["move", "--ids", "7", "--by", "60deg"], ["force", "--id", "7", "--ticks", "9", "--most", "90"]]
)
def test_another_model_that_takes_a_servos_place_while_it_moves_is_not_driven(
    nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    bench = table(7, model="XM430-W350", family="dynamixel", baud=1_000_000)
    advance, memory = bench.plant.advance, bench.emulator.servos[0].memory
    torque: list[float] = []

    def swap(now_ns: int) -> None:
        advance(now_ns)
        if torque or abs(bench.plant.motion(0).angle_deg - 180.0) > 5.0:
            if not torque:
                bench.emulator.brown_out(0)
                memory["model_number"] = 1060
            torque.append(bench.plant.motion(0).torque_n_m)

    monkeypatch.setattr(bench.plant, "advance", swap)
    result = nuc("bus", words[0], "dynamixel:///dev/ttyUSB0?baud=1000000", *words[1:])
    assert result.exit_code == 1, result.output
    assert "is XL430-W250 (model number 1060), expected XM430-W350" in result.stderr
    assert len(torque) > 10
    assert set(torque) == {0.0}


def test_monitor_shows_another_model_and_says_that_it_is_one(nuc: Nuc, table: Callable[..., Table]) -> None:
    table(7, model="XM430-W350", family="dynamixel")
    url = "dynamixel:///dev/ttyUSB0"
    result = nuc("bus", "monitor", url, "--ids", "7", "-n", "5", "--model", "XL430-W250")
    assert result.exit_code == 0
    assert "is XM430-W350 (model number 1020), expected XL430-W250" in result.stderr
    assert "2048" in result.stdout
    assert "expected" not in nuc("bus", "monitor", url, "--ids", "7", "-n", "5", "--model", "XM430-W350").stderr


@pytest.mark.parametrize(
    "words", [["move", "--ids", "3", "--by", "60deg"], ["force", "--id", "3", "--ticks", "3", "--for", "5"]]
)
def test_what_can_not_be_driven_any_more_is_told_with_the_reason(
    nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    bench = table(3)
    buses: list[Any] = []
    make, advance = benches.Bench.bus, bench.plant.advance

    def remember(*given: Any) -> Any:
        buses.append(make(*given))
        return buses[-1]

    def run(now_ns: int) -> None:
        advance(now_ns)
        if abs(bench.plant.motion(0).speed_deg_s) > 1.0:
            buses[-1].refusals = ("id 3 is another one, expected a 1001",)

    monkeypatch.setattr(benches.Bench, "bus", remember)
    monkeypatch.setattr(bench.plant, "advance", run)
    result = nuc("bus", words[0], URL, "--model", "1001", *words[1:])
    assert result.exit_code == 1
    assert "can not be driven" in result.stderr
    assert "id 3 is another one, expected a 1001" in result.stderr
    assert bench.plant.motion(0).torque_n_m == 0.0
    assert abs(bench.plant.motion(0).angle_deg - 127 * 0.654) < 10.0


@pytest.mark.parametrize(("family", "model"), FRAMED)
def test_looking_changes_nothing(nuc: Nuc, table: Callable[..., Table], family: str, model: str) -> None:
    bench = table(1, 7, model=model, family=family)
    url = f"{family}:///dev/ttyUSB0?baud=57600"
    before = [dict(servo.memory) for servo in bench.emulator.servos]
    for words in (["scan"], ["ping", "--count", "5"], ["monitor", "-n", "5"]):
        assert nuc("bus", words[0], url, *words[1:]).exit_code == 0
    for servo, was in zip(bench.emulator.servos, before, strict=True):
        changed = {name for name, value in servo.memory.items() if was[name] != value}
        assert all(name.startswith("present_") or name in ("moving", "tick") for name in changed), changed


@pytest.mark.parametrize(("family", "model"), FRAMED)
def test_ids_and_rates_are_burnt_in(nuc: Nuc, table: Callable[..., Table], family: str, model: str) -> None:
    table(1, 7, model=model, family=family)
    url = f"{family}:///dev/ttyUSB0?baud=57600"
    assert nuc("bus", "set-id", url, "--id", "1", "--to", "12", "--yes").exit_code == 0
    result = nuc("bus", "set-id", url, "--id", "12", "--to", "7", "--yes")
    assert (result.exit_code, "id 7 answers already" in result.stderr) == (1, True)
    assert nuc("bus", "set-baud", url, "--id", "12", "--to", "1000000", "--yes").exit_code == 0
    rows = data(nuc("bus", "scan", url, "--all-rates", "--json"))["found"]
    assert [(row["baud"], row["id"]) for row in rows] == [(57_600, 7), (1_000_000, 12)]


@pytest.mark.parametrize(("family", "model"), FRAMED)
@pytest.mark.parametrize("baud", [57_600, 1_000_000])
def test_whoever_is_there_is_released(
    nuc: Nuc, table: Callable[..., Table], family: str, model: str, baud: int
) -> None:
    bench = table(1, 200, model=model, family=family, baud=baud)
    url = f"{family}:///dev/ttyUSB0?baud={baud}"
    assert nuc("bus", "move", url, "--ids", "200", "--by", "5deg").exit_code == 0
    for words in ([], ["--ids", "1,200"]):
        result = nuc("bus", "release", url, "--json", *words)
        assert result.exit_code == 0, result.output
        assert data(result)["confirmed"] == {url: [1, 200]}
    bench.emulator.supply(on=False)
    assert nuc("bus", "release", url).exit_code == 1


# words


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["move", URL, "--ids", "1"], "either --to or --by"),
        (["move", URL, "--ids", "1", "--to", "1.5"], "no place"),
        (["move", URL, "--to", "1"], "--ids"),
        (["force", URL, "--id", "1"], "either --ticks or --torque"),
        (["force", URL, "--id", "1", "--torque", "0.1"], "does not say which model"),
        (["force", URL, "--id", "1", "--torque", "9", "--model", "1001"], "stalls at"),
        (["force", URL, "--id", "1", "--ticks", "2", "--model", "2002"], "--model 2002"),
        (["characterise", URL], "say --id"),
        (["characterise", URL, "--joint", "x"], "--config"),
        (["budget", "0", URL], "at least one"),
        (["budget", "lin_roach", "emulated:?fats=1"], "unknown option"),
        (["monitor", "emulated:"], "--ids or --config"),
    ],
)
def test_wrong_words_are_one_line_and_status_2(
    nuc: Nuc, table: Callable[..., Table], words: list[str], said: str
) -> None:
    table(1)
    result = nuc("bus", *words)
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["monitor", "budget", "move", "force", "characterise", "set", "set-id", "set-baud"])
def test_help_of_every_command_teaches(nuc: Nuc, name: str) -> None:
    result = nuc("bus", name, "--help")
    assert result.exit_code == 0
    assert result.stdout.count(f"nuc bus {name} ") >= 2
    assert "Output:" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_the_group_names_them_all(nuc: Nuc) -> None:
    from nuc_engine.cli.bus import COMMANDS

    text = nuc("bus", "--help").stdout
    assert all(name in text for name in COMMANDS)
    assert family_of("emulated:") == "aimotor"


@pytest.mark.parametrize(
    "words",
    [
        "force emulated:dynamixel --id 1 --ticks 30 --most nan",
        "force emulated:dynamixel --id 1 --torque nan",
        "force emulated:dynamixel --id 1 --ticks 30 --for nan",
        "move emulated:dynamixel --ids 1 --by 10deg --rate nan",
        "monitor emulated:dynamixel --ids 1 --for inf",
    ],
)
def test_what_is_no_number_bounds_nothing_and_is_refused(nuc: Nuc, words: str) -> None:
    result = nuc("bus", *words.split())
    assert result.exit_code == 2
    assert "is no number to go by" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("count", [1, 2, 40])
def test_ping_times_cycles_with_servos_it_knows(nuc: Nuc, count: int) -> None:
    url = "emulated:dynamixel?baud=1000000"
    found = data(nuc("bus", "ping", url, "--ids", "0-3", "--count", str(count), "--json"))
    (measured,) = data(nuc("bus", "budget", "4", url, "--measure", "1", "--json"))["measured"]
    assert found["cycle_ms"] == pytest.approx(measured["cycle_ms"], rel=0.001)
    assert {row["exchanges"] for row in found["servos"]} == {count}
