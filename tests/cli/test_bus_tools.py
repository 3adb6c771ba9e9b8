"""The bench tools that do more than look: on emulated servos, and on ports whose other end is emulated."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from drivers.aimotor import FAMILY
from drivers.bench import VirtualPace
from drivers.bench_plant import BenchPlant
from drivers.errors import PortGoneError
from drivers.factory import find_family
from drivers.inprocess import InProcessPort
from drivers.latency import Latency
from drivers.servo import ServoAddress
from nuc_engine.cli import buslines
from nuc_engine.cli.app import app
from tests.cli.conftest import Nuc

URL = "aimotor:///dev/ttyUSB0"
WCK = "aimotor:///dev/ttyUSB0?wck=1"


class Device(InProcessPort):
    latency = Latency(True, True, 1, "latency timer 1 ms")


class Table:
    """One adapter with emulated servos on a bench; `baud` is the rate they understand."""

    def __init__(self, *ids: int, model: str = "1001", baud: int = 57_600, family: str = "aimotor") -> None:
        servos = [ServoAddress(k, f"id {k}", model) for k in ids]
        found = find_family(family)
        self.plant = BenchPlant([found.models[model]] * len(ids))
        wck = "&wck=1" if model.startswith("wCK") else ""
        self.emulator: Any = found.emulator(f"emulated:{family}?baud={baud}{wck}", servos, self.plant, 0)
        self.pace = VirtualPace()
        self.opened: list[int] = []

    def open_port(self, path: str, baud: int) -> Device:
        if path != "/dev/ttyUSB0":
            raise PortGoneError(f"{path}: no such device")
        self.opened.append(baud)
        self.emulator.baud = baud
        return Device(self.emulator, baud)


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Table]]:
    def lay(*ids: int, **how: Any) -> Table:
        table = Table(*ids, **how)
        monkeypatch.setattr("drivers.serialport.open_port", table.open_port)
        monkeypatch.setattr("nuc_engine.cli.bus_release.RealPace", lambda: table.pace)
        monkeypatch.setattr("nuc_engine.cli.buslines.RealPace", lambda: table.pace)
        return table

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    yield lay
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def data(result: Result) -> dict[str, Any]:
    return json.loads(result.stdout)


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


# burnt in


def test_set_id_on_a_wck(nuc: Nuc, table: Callable[..., Table]) -> None:
    table(1, 4, model="wCK-1111")
    result = nuc("bus", "set-id", WCK, "--id", "1", "--to", "12", "--yes")
    assert result.exit_code == 0, result.output
    assert "id 1 is id 12 now" in result.stdout
    assert f"nuc bus set-id {WCK} --id 12 --to 1" in result.stdout
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
    monkeypatch.setattr("nuc_engine.cli.bus_burn.nobody_types", lambda: False)
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

FRAMED = [("dynamixel", "XM430-W350"), ("dynamixel", "XL330-M288"), ("feetech", "STS3215")]


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


# budget


def test_budget_of_a_configuration(nuc: Nuc) -> None:
    result = nuc("bus", "budget", "lin_roach", URL, "--adapter", "none", "--turnaround-us", "230", "--json")
    assert result.exit_code == 0
    found = data(result)
    assert (found["servos"], found["bytes"], found["form"]) == (4, 24, "send")
    assert found["rate_hz"] == pytest.approx(197, abs=2)
    assert found["limit_hz"] == pytest.approx(240)
    assert any("pipeline=1" in words for words in found["advice"])
    text = nuc("bus", "budget", "18", "aimotor:///dev/ttyUSB0?baud=115200", "--adapter", "ftdi16").stdout
    assert "Most of a cycle is the adapter's." in text
    assert "latency timer at 1 ms" in text
    assert "288.000" in text


def test_budget_knows_adapters_by_their_devices(nuc: Nuc) -> None:
    for device, adapter in (("ttyUSB0", "ftdi1"), ("ttyACM0", "cdc"), ("ttyAMA0", "none"), ("nuc/left", "ftdi1")):
        assert data(nuc("bus", "budget", "4", f"aimotor:///dev/{device}", "--json"))["adapter"] == adapter


def test_budget_measures_what_a_bus_does(nuc: Nuc) -> None:
    for config in ("lin_roach", "4"):
        url = "emulated:?turnaround_us=230"
        found = data(nuc("bus", "budget", config, url, "--measure", "2", "--json"))
        (measured,) = found["measured"]
        assert measured["missed"] == 0
        assert measured["cycle_ms"] == pytest.approx(found["cycle_ms"], rel=0.001)
        assert measured["of_prediction"] == pytest.approx(1.0, rel=0.001)
        assert measured["wire_efficiency"] == pytest.approx(found["wire_ms"] / found["cycle_ms"], rel=0.001)


def test_budget_measures_every_form_as_it_is_predicted(nuc: Nuc) -> None:
    forms = (
        "aimotor?sync=1",
        "aimotor?wck=1&ten_bit=1",
        "dynamixel?single=1",
        "dynamixel?fast=1",
        "feetech?baud=115200",
    )
    held = ("dynamixel?baud=1000000&latency_ms=16", "feetech?latency_ms=1", "aimotor?latency_ms=4")
    for form in (*forms, *held):
        # A servo as delivered answers 0.5 ms late: reading does not change that.
        late = ["--turnaround-us", "540"] if form.startswith("dynamixel") else []
        found = data(nuc("bus", "budget", "4", f"emulated:{form}", "--measure", "3", "--json", *late))
        (measured,) = found["measured"]
        assert measured["of_prediction"] == pytest.approx(1.0, abs=0.02), form
    found = data(nuc("bus", "budget", "4", "emulated:dynamixel?baud=1000000", "--measure", "1", "--json"))
    assert "answer 0.5 ms late" in found["measured"][0]["hint"]
    assert found["measured"][0]["of_prediction"] < 0.5


def test_budget_of_a_bout(nuc: Nuc, bout: Path) -> None:
    result = nuc("bus", "budget", "lin_roach", "emulated:", "--bout", str(bout), "--json")
    (measured,) = data(result)["measured"]
    assert measured["cycles"] > 300
    assert 0.9 < measured["of_prediction"] < 1.1


def test_a_pause_between_cycles_is_no_fault_of_the_bus(nuc: Nuc, roach: Path) -> None:
    parameters = roach / "parameters.xml"
    text = parameters.read_text()
    at = text.index("<initial_data>", text.index("motor_control_delay_ns")) + len("<initial_data>")
    parameters.write_text(text[:at] + "4000000" + text[text.index("</initial_data>", at) :])
    assert (
        nuc("run", str(roach), "--duration", "1", "--bus", "emulated:?turnaround_us=230", "--out", "bout").exit_code
        == 0
    )
    found = data(nuc("bus", "budget", str(roach), "emulated:?turnaround_us=230", "--bout", "bout", "--json"))
    assert found["pause_ms"] == 4.0
    assert found["loop_hz"] == pytest.approx(1000 / (found["cycle_ms"] + 4.0))
    (measured,) = found["measured"]
    assert measured["cycle_ms"] == pytest.approx(found["cycle_ms"] + 4.0, rel=0.01)
    assert measured["of_prediction"] == pytest.approx(1.0, abs=0.01)
    assert measured["wire_efficiency"] == pytest.approx(found["wire_ms"] / found["cycle_ms"], abs=0.01)
    assert "motor_control_delay_ns" in nuc("bus", "budget", str(roach), "emulated:").stdout


def test_budget_of_a_bus_by_name(nuc: Nuc, roach: Path) -> None:
    joints = roach / "joints.xml"
    head, *motors = joints.read_text().split("<aimotor ")
    motors = [f'bus="{"left" if k < 1 else "right"}" {text}' for k, text in enumerate(motors)]
    joints.write_text("<aimotor ".join([head, *motors]))
    seen = data(nuc("bus", "scan", "right=emulated:", "-c", str(roach), "--json"))["found"]
    assert [row["id"] for row in seen] == [1, 2, 3]
    assert nuc("bus", "scan", "up=emulated:", "-c", str(roach)).exit_code == 2
    for name, number in (("left", 1), ("right", 3)):
        assert data(nuc("bus", "budget", str(roach), f"{name}={URL}", "--json"))["servos"] == number
        found = data(nuc("bus", "budget", str(roach), f"{name}=emulated:", "--measure", "1", "--json"))
        assert found["measured"][0]["predicted"]["servos"] == number
    result = nuc("bus", "budget", str(roach), f"middle={URL}")
    assert (result.exit_code, "there are left, right" in result.stderr) == (2, True)


# characterise


def test_characterise_finds_the_models_table(nuc: Nuc, tmp_path: Path) -> None:
    out = tmp_path / "table.json"
    result = nuc(
        "bus", "characterise", "emulated:", "--id", "2", "--model", "1001", "--free", "--hold", "0.5", "--out", str(out)
    )
    assert result.exit_code == 0, result.output
    assert "by the model's table" in result.stdout
    found = json.loads(out.read_text())
    per_tick = 0.980665 / 41.4
    assert found["fit"]["per_tick_n_m"]["low"] <= per_tick <= found["fit"]["per_tick_n_m"]["high"]
    assert found["fit"]["per_tick_n_m"]["value"] == pytest.approx(per_tick, rel=0.06)
    assert found["fit"]["saturation_n_m"] == pytest.approx(0.32 * 0.980665, rel=0.06)
    assert found["fit"]["damping_n_m_s"]["value"] > 0
    assert (found["model"], found["gain"], found["level"]) == ("1001", 10, 3)
    assert found["ticks"][0] == found["torque_n_m"][0] == 0
    assert found["torque_n_m"] == sorted(found["torque_n_m"])


def test_a_table_can_be_read_by_the_engine(nuc: Nuc, tmp_path: Path) -> None:
    from nuc_engine.torque_table import read_table

    out = tmp_path / "table.json"
    words = ["--id", "2", "--model", "701", "--hold", "0.3", "--out", str(out)]
    assert nuc("bus", "characterise", "emulated:", *words).exit_code == 0
    table = read_table(out.read_bytes(), out.name)
    assert table.model == "701"
    assert table.points[0][1] == -table.points[-1][1] < 0


@pytest.mark.parametrize(("family", "model"), FRAMED)
def test_characterise_servos_with_registers(nuc: Nuc, family: str, model: str) -> None:
    words = ["--id", "2", "--model", model, "--hold", "0.3", "--rest", "0", "--steps", "6", "--free", "--json"]
    result = nuc("bus", "characterise", f"emulated:{family}?baud=1000000", *words)
    assert result.exit_code == 0, result.output
    found = data(result)
    known = find_family(family).models[model]
    fit = found["fit"]
    assert fit["per_tick_n_m"]["value"] == pytest.approx(known.tick_torque_n_m(found["gain"]), rel=0.01)
    assert fit["saturation_n_m"] == pytest.approx(0.32 * known.stall_torque_n_m, rel=0.02)
    # A duty cycle does not tell what a turning motor gives.
    assert (fit["damping_n_m_s"] is None) == (family == "feetech")
    assert ("duty cycle" in result.stderr) == (family == "feetech")


def test_characterise_by_joint_draws(nuc: Nuc, tmp_path: Path) -> None:
    figure = tmp_path / "knee.png"
    words = ["--config", "lin_roach", "--joint", "Femur-Tibia", "--hold", "0.3", "--figure", str(figure), "--json"]
    result = nuc("bus", "characterise", "emulated:", *words, "--free")
    assert result.exit_code == 0, result.output
    assert data(result)["model"] in FAMILY.models
    assert figure.read_bytes().startswith(b"\x89PNG")
    result = nuc("bus", "characterise", "emulated:", "--config", "lin_roach", "--joint", "Knee")
    assert (result.exit_code, "Femur-Tibia" in result.stderr) == (2, True)


def test_characterise_with_scales(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["bus", "characterise", "emulated:", "--id", "2", "--model", "1001", "--hold", "0.3", "--lever-cm", "10"]
    # 100 g at 10 cm are 0.0981 N m: here a tick of delta is 20 g.
    deltas = [5, 5, 10, 10, 15, 15]
    grams = "".join(f"{20 * ticks}\n" for ticks in deltas)
    result = CliRunner().invoke(app, [*words, "--largest", "15", "--steps", "3", "--json"], input=grams)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout[result.stdout.index("{") :])
    assert found["fit"]["per_tick_n_m"]["value"] == pytest.approx(20e-3 * 9.80665 * 0.1)
    assert found["method"] == "scales under a lever of 10 cm"


def test_the_torque_is_off_between_deltas(
    nuc: Nuc, table: Callable[..., Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = table(3)
    bench.plant.hold(0)
    torques: list[float] = []
    plain = bench.plant.release

    def release(servo: int) -> None:
        torques.append(bench.plant.motion(servo).torque_n_m)
        plain(servo)

    monkeypatch.setattr(bench.plant, "release", release)
    words = ["--id", "3", "--model", "1001", "--steps", "4", "--hold", "0.2", "--yes"]
    assert nuc("bus", "characterise", URL, *words).exit_code == 0
    assert sum(torque != 0.0 for torque in torques) == 8
    # Whatever it is that goes wrong in the middle of it.
    wait = bench.pace.wait

    def broken(until_ns: int, filenos: Any) -> None:
        wait(until_ns, filenos)
        if bench.plant.motion(0).torque_n_m > 0.1:
            monkeypatch.setattr(bench.pace, "wait", wait)
            raise RuntimeError("in the middle of it")

    monkeypatch.setattr(bench.pace, "wait", broken)
    with pytest.raises(RuntimeError):
        nuc("bus", "characterise", URL, *words)
    assert bench.plant.motion(0).torque_n_m == 0.0


def test_nobody_to_hold_the_horn(nuc: Nuc, table: Callable[..., Table]) -> None:
    bench = table(3)
    result = nuc("bus", "characterise", URL, "--id", "3", "--model", "1001")
    assert result.exit_code == 2
    assert "say --yes" in result.stderr
    assert bench.plant.motion(0).torque_n_m == 0.0


def test_servos_that_tell_no_load_need_scales(nuc: Nuc) -> None:
    words = ["--id", "2", "--model", "wCK-1111-10bit"]
    result = nuc("bus", "characterise", "emulated:?ten_bit=1&wck=1", *words)
    assert (result.exit_code, "--lever-cm" in result.stderr) == (2, True)


def test_degrees_are_those_of_the_scale_the_line_counts_in(nuc: Nuc) -> None:
    for options, tick_deg in (("", 0.654), ("low_resolution=1", 1.307), ("ten_bit=1&wck=1", 0.654 * 254 / 1023)):
        url = f"emulated:?{options}" if options else "emulated:"
        (row,) = data(nuc("bus", "scan", url, "--ids", "3", "--json"))["found"]
        assert row["position_deg"] == pytest.approx(row["position_raw"] * tick_deg, abs=0.01)
        found = data(nuc("bus", "move", url, "--ids", "3", "--to", "90deg", "--level", "0", "--json"))["servos"][0]
        assert found["raw"] * tick_deg == pytest.approx(90.0, abs=4.5)


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


@pytest.mark.parametrize("name", ["monitor", "budget", "move", "force", "characterise", "set-id", "set-baud"])
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
    assert buslines.family_of("emulated:") == "aimotor"


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
