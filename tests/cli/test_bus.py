"""`nuc bus` on emulated servos and the virtual clock; the device is made up, the commands are not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from drivers.aimotor import AiMotorEmulator
from drivers.clock import VirtualPace
from drivers.errors import PortBusyError, PortGoneError
from drivers.inprocess import InProcessPort
from drivers.serial.latency import Latency
from drivers.servo import ServoAddress

Nuc = Callable[..., Result]
URL = "aimotor:///dev/ttyUSB0"


class Shafts:
    def __init__(self) -> None:
        self.released: list[int] = []
        self.commanded = False

    def advance(self, now_ns: int) -> None:
        pass

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        self.commanded = True

    def release(self, servo: int) -> None:
        self.released.append(servo)

    def sample(self, servo: int) -> tuple[float, float]:
        return 65.4 + 6.54 * servo, 0.2


class Device(InProcessPort):
    latency = Latency(True, True, 1, "latency timer 1 ms")


class Bench:
    """Adapters by path, each with emulated servos at a rate."""

    def __init__(self) -> None:
        self.devices: dict[str, tuple[AiMotorEmulator, Shafts]] = {}
        self.busy: set[str] = set()
        self.pace = VirtualPace()
        self.opened: list[tuple[str, int]] = []

    def plug(self, path: str, *ids: int, baud: int = 57_600) -> tuple[AiMotorEmulator, Shafts]:
        shafts = Shafts()
        emulator = AiMotorEmulator([ServoAddress(k, f"id {k}") for k in ids], shafts, baud=baud)
        shafts.released.clear()
        self.devices[path] = emulator, shafts
        return self.devices[path]

    def open_port(self, path: str, baud: int) -> Device:
        self.opened.append((path, baud))
        if path in self.busy:
            raise PortBusyError(f"{path} is in use by nuc (process 77): stop that first")
        if path not in self.devices:
            raise PortGoneError(f"{path}: no such device")
        emulator, _ = self.devices[path]
        # At another rate a servo understands nothing.
        deaf = AiMotorEmulator([ServoAddress(0, "deaf")], Shafts(), baud=baud)
        deaf.supply(on=False)
        return Device(emulator if baud == emulator.baud else deaf, baud)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench()
    monkeypatch.setattr("drivers.serial.port.open_port", bench.open_port)
    monkeypatch.setattr("nuc_engine.cli.bus.release.RealPace", lambda: bench.pace)
    monkeypatch.setattr("nuc_engine.cli.bus.lines.RealPace", lambda: bench.pace)
    return bench


def test_scan_finds_ids_positions_and_currents(nuc: Nuc, bench: Bench) -> None:
    _, shafts = bench.plug("/dev/ttyUSB0", 10, 11)
    result = nuc("bus", "scan", URL)
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()[1:]]
    assert rows == [["57600", "10", "100", "65.4", "10"], ["57600", "11", "110", "71.9", "10"]]
    assert not shafts.commanded
    assert shafts.released == []
    data = json.loads(nuc("bus", "scan", URL, "--json").stdout)
    assert data["ok"] is True
    assert data["latency"] == "latency timer 1 ms"
    assert data["found"][1] == {
        "baud": 57_600,
        "id": 11,
        "position_raw": 110,
        "current_raw": 10,
        "position_deg": 71.94,
    }


def test_scan_at_every_rate(nuc: Nuc, bench: Bench) -> None:
    bench.plug("/dev/ttyUSB0", 7, baud=230_400)
    result = nuc("bus", "scan", URL)
    assert result.exit_code == 1
    assert "nobody answered" in result.stderr
    assert "--all-rates" in result.stderr
    assert json.loads(nuc("bus", "scan", URL, "--json").stdout)["ok"] is False
    bench.opened.clear()
    result = nuc("bus", "scan", URL, "--all-rates")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].split()[:2] == ["230400", "7"]
    assert [baud for _, baud in bench.opened] == [4800, 9600, 38_400, 57_600, 115_200, 230_400, 460_800, 921_600]


def test_scan_and_ping_of_emulated_servos_need_no_device(nuc: Nuc) -> None:
    result = nuc("bus", "scan", "emulated:", "--config", "lin_roach", "--json")
    assert [row["id"] for row in json.loads(result.stdout)["found"]] == [0, 1, 2, 3]
    result = nuc("bus", "ping", "emulated:aimotor?turnaround_us=100", "--ids", "3,5-6", "--count", "4", "--json")
    servos = json.loads(result.stdout)["servos"]
    assert [(row["id"], row["exchanges"], row["median_ms"]) for row in servos] == [(k, 4, 1.141666) for k in (3, 5, 6)]


def test_ping_counts_and_times(nuc: Nuc, bench: Bench) -> None:
    emulator, _ = bench.plug("/dev/ttyUSB0", 4, 5)
    result = nuc("bus", "ping", URL, "--count", "7")
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()[1:3]] == [
        [str(k), "7", "0", "0", "1.272", "1.272", "1.272"] for k in (4, 5)
    ]
    assert "one cycle with 2 servos takes 2.543 ms" in result.stdout
    emulator.unplug(1)
    result = nuc("bus", "ping", URL, "--ids", "4,5", "--count", "7", "--json")
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert data["errors"] == ["id 5 never answered"]
    assert data["servos"][1] == {
        "id": 5,
        "exchanges": 7,
        "missed": 7,
        "implausible": 0,
        "min_ms": None,
        "median_ms": None,
        "max_ms": None,
    }
    emulator.unplug(0)
    assert nuc("bus", "ping", URL).exit_code == 1


def test_release_of_whoever_is_there(nuc: Nuc, bench: Bench) -> None:
    _, shafts = bench.plug("/dev/ttyUSB0", 10, 11)
    result = nuc("bus", "release", URL)
    assert result.exit_code == 0
    assert result.stdout == f"{URL}: torque is off, confirmed by 2 servos (ids 10, 11)\n"
    assert shafts.released == [0, 1, 0, 1]
    data = json.loads(nuc("bus", "release", URL, "--json").stdout)
    assert data == {"ok": True, "confirmed": {URL: [10, 11]}, "errors": []}


def test_release_names_who_did_not_confirm(nuc: Nuc, bench: Bench) -> None:
    emulator, shafts = bench.plug("/dev/ttyUSB0", 0, 1, 2, 3, 20)
    emulator.unplug(2)
    result = nuc("bus", "release", URL, "--config", "lin_roach")
    assert result.exit_code == 1
    assert "(id 2)" in result.stderr
    assert "(id 1)" not in result.stderr
    assert "cut the supply" in result.stderr
    # Those that have to confirm are told first, and whoever else is there too.
    assert shafts.released[1:5] == [0, 1, 3, 4]
    result = nuc("bus", "release", URL, "--ids", "1-2")
    assert result.exit_code == 1
    assert "no confirmation from id 2;" in result.stderr
    emulator.plug(2)
    shafts.released.clear()
    assert nuc("bus", "release", URL, "--ids", "2,1").exit_code == 0
    assert shafts.released == [1, 2]
    assert nuc("bus", "release", URL, "--config", "lin_roach").exit_code == 0


def test_release_of_a_bus_on_which_nobody_answers(nuc: Nuc, bench: Bench) -> None:
    emulator, _ = bench.plug("/dev/ttyUSB0", 1)
    emulator.supply(on=False)
    result = nuc("bus", "release", URL, "--json")
    assert result.exit_code == 1
    assert "nobody confirmed" in json.loads(result.stdout)["errors"][0]


def test_one_bad_port_does_not_keep_the_others_from_being_released(nuc: Nuc, bench: Bench) -> None:
    _, shafts = bench.plug("/dev/ttyUSB1", 5)
    bench.busy.add("/dev/ttyUSB0")
    result = nuc("bus", "release", URL, "aimotor:///dev/ttyUSB1", "aimotor:///dev/ttyUSB2")
    assert result.exit_code == 1
    assert "in use by nuc (process 77)" in result.stderr
    assert "ttyUSB2: no such device" in result.stderr
    assert 0 in shafts.released


def test_a_configuration_that_can_not_be_read_is_no_reason_to_leave_torque_on(
    nuc: Nuc, bench: Bench, roach: Path
) -> None:
    _, shafts = bench.plug("/dev/ttyUSB0", 5)
    for config in ("no_such_leg", str(roach)):
        (roach / "joints.xml").write_text("<jointlist")
        shafts.released.clear()
        result = nuc("bus", "release", URL, "--config", config)
        assert result.exit_code == 0
        assert "every servo on the bus is released" in result.stderr
        assert shafts.released


def test_motors_of_a_configuration_by_the_name_of_their_bus(nuc: Nuc, bench: Bench, roach: Path) -> None:
    joints = roach / "joints.xml"
    head, *motors = joints.read_text().split("<aimotor ")
    motors = [f'bus="{"left" if k < 2 else "right"}" {text}' for k, text in enumerate(motors)]
    joints.write_text("<aimotor ".join([head, *motors]))
    left, right = "aimotor:///dev/left", "aimotor:///dev/right"
    bench.plug("/dev/left", 0, 1)
    emulator, _ = bench.plug("/dev/right", 2, 3)
    assert nuc("bus", "release", f"left={left}", f"right={right}", "-c", str(roach)).exit_code == 0
    result = nuc("bus", "release", f"right={left}", f"left={right}", "-c", str(roach))
    assert result.exit_code == 1
    assert len([line for line in result.stderr.splitlines() if "no confirmation" in line]) == 2
    # Without names it is enough that everybody is somewhere.
    assert nuc("bus", "release", left, right, "-c", str(roach)).exit_code == 0
    emulator.unplug(1)
    result = nuc("bus", "release", left, right, "-c", str(roach))
    assert result.exit_code == 1
    assert "(id 3) on any bus" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scan", "feet:///dev/x"], "aimotor:///dev/"),
        (["scan", "aimotor:ttyUSB0"], "names no device"),
        (["scan", "emulated:"], "--ids or --config"),
        (["ping", URL, "--ids", "1,1"], "twice"),
        (["ping", URL, "--ids", "a"], "list of ids"),
        (["ping", URL, "--ids", "3-2"], "no id"),
        (["ping", URL, "--count", "0"], "--count"),
        (["release"], "URL"),
        (["release", "emulated:"], "end that"),
        (["release", URL, "--ids", "40"], "no id 40"),
        (["scan", URL, "--config", "no_such_leg"], "no configuration"),
    ],
)
def test_wrong_words_are_one_line_and_status_2(nuc: Nuc, bench: Bench, words: list[str], said: str) -> None:
    result = nuc("bus", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert bench.opened == []


def test_a_port_that_is_missing_is_one_line_and_status_1(nuc: Nuc, bench: Bench) -> None:
    for name in ("scan", "ping"):
        result = nuc("bus", name, URL)
        assert result.exit_code == 1
        assert result.stderr == "/dev/ttyUSB0: no such device\n"


@pytest.mark.parametrize("name", ["scan", "ping", "release"])
def test_help_of_every_command_teaches(nuc: Nuc, name: str) -> None:
    result = nuc("bus", name, "--help")
    assert result.exit_code == 0
    assert result.stdout.count(f"nuc bus {name} ") >= 2
    assert "Output:" in result.stdout


def test_release_is_quick_to_start() -> None:
    code = (
        "import sys; from nuc_engine.cli.app import app\n"
        "try: app.main(['bus', 'release', 'aimotor:///dev/no_such_port', '--config', 'lin_roach'])\n"
        "except SystemExit as end: print(end.code)\n"
        "print(*[name for name in ('numpy', 'zmq', 'structlog', 'mujoco') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout.split() == ["1"]
    assert "no such device" in done.stderr
