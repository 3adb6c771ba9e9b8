"""The bus on a real tty in real time: an emulated leg in a process of its own, at the other end of a pseudo-terminal.

What is checked does not depend on how punctual the machine is: that every exchange ends, that nothing wrong is
believed, that a line that went away is noticed and comes back. The only time that is judged is that of bytes on the
wire, which nothing can beat.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from drivers.aimotor import AiMotorBus
from drivers.bench.release import discover, finish, measure, read_all
from drivers.bus import LIMP, READ_ONLY
from drivers.errors import PortGoneError
from drivers.factory import bus_on_port, open_bus, parse_line
from drivers.group import BusGroup
from drivers.port import wire_ns
from drivers.serial.port import SerialPort, open_port, try_open
from drivers.servo import ReplyStatus, ServoAddress
from nuc_engine.cli.bus.lines import RealPace
from nuc_engine.emulation.bytelog import torque_off_ns
from tests.realtime.daemon import ROOT, Leg, wait_for

OK, MISSED = ReplyStatus.OK, ReplyStatus.MISSED
SERVOS = tuple(ServoAddress(k, f"servo {k}") for k in range(4))


@pytest.fixture
def leg(tmp_path: Path) -> Iterator[Leg]:
    leg = Leg(tmp_path)
    yield leg
    leg.end()


@pytest.fixture
def bus(leg: Leg) -> Iterator[AiMotorBus]:
    # Longer than usual: a machine that stands still for 20 ms is not what is tested here.
    bus = open_bus(f"{leg.url}?timeout_us=100000", SERVOS, None, seed=0)
    assert isinstance(bus, AiMotorBus)
    yield bus
    bus.close()


def nuc(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nuc_engine.cli", "bus", *words],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )


def cycle(bus: AiMotorBus, pace: RealPace, goals: list[int]) -> int:
    """Run one cycle; return when the host began it."""
    begin_ns = pace.now_ns
    bus.start(begin_ns, goals)
    finish(bus, pace)
    return begin_ns


def test_exchanges_over_a_tty(bus: AiMotorBus) -> None:
    pace = RealPace()
    assert discover(bus, pace)[:4] == (0, 1, 2, 3)
    before = (bus.missed, bus.implausible, bus.stray_bytes)
    for _ in range(50):
        begin_ns = cycle(bus, pace, [READ_ONLY, 120, READ_ONLY, LIMP])
        assert bus.status == [OK] * 4
        assert bus.current_raw[3] == 0
        for k, stamp_ns in enumerate(bus.stamp_ns):
            assert stamp_ns - begin_ns >= (k + 1) * wire_ns(6, 57_600)
    assert (bus.missed, bus.implausible, bus.stray_bytes) == before


def test_a_servo_that_is_missing_costs_its_timeout_and_comes_back(leg: Leg) -> None:
    port = open_port(str(leg.pty), 57_600)
    bus = AiMotorBus(port, SERVOS, timeout_ns=100_000_000)
    pace = RealPace()
    read_all(bus, pace)
    leg.tell("unplug", servo=2)
    begin_ns = cycle(bus, pace, [READ_ONLY] * 4)
    assert bus.status[2] == MISSED
    assert pace.now_ns - begin_ns >= 100_000_000
    leg.tell("plug", servo=2)
    for _ in range(3):
        cycle(bus, pace, [READ_ONLY] * 4)
    assert bus.status == [OK] * 4
    bus.close()


def test_a_line_that_loses_and_garbles_bytes_is_survived_and_clean_two_cycles_later(bus: AiMotorBus, leg: Leg) -> None:
    pace = RealPace()
    read_all(bus, pace)
    truth = bus.position_raw[:]
    leg.tell("faults", drop=0.02, flip=0.05, insert=0.05, truncate=0.05, babble=0.05)
    for _ in range(40):
        cycle(bus, pace, [READ_ONLY] * 4)
    assert bus.missed + bus.implausible + bus.stray_bytes > 0
    leg.tell("faults")
    for _ in range(4):
        cycle(bus, pace, [READ_ONLY] * 4)
    assert bus.status == [OK] * 4
    assert bus.position_raw == truth


def test_a_babbling_servo_is_not_believed_and_torque_goes_off_all_the_same(bus: AiMotorBus, leg: Leg) -> None:
    pace = RealPace()
    read_all(bus, pace)
    cycle(bus, pace, [127] * 4)
    leg.tell("babble", servo=1, on=True)
    for _ in range(5):
        cycle(bus, pace, [READ_ONLY] * 4)
    assert bus.status.count(OK) == 0
    bus.torque_off(pace.now_ns)
    finish(bus, pace)
    wait_for(lambda: len(torque_off_ns(leg.log())) == 4, "torque-off in the byte log", leg)
    leg.tell("babble", servo=1, on=False)
    for _ in range(4):
        cycle(bus, pace, [READ_ONLY] * 4)
    assert bus.status == [OK] * 4


def test_an_emulator_that_stands_still_answers_late_and_nothing_of_it_is_believed(leg: Leg) -> None:
    port = open_port(str(leg.pty), 57_600)
    bus = AiMotorBus(port, SERVOS)
    pace = RealPace()
    # Far apart, so that a reply taken for another servo's would show.
    for k, goal in enumerate((60, 100, 140, 180)):
        for _ in range(60):
            goals = [READ_ONLY] * 4
            goals[k] = goal
            cycle(bus, pace, goals)
    truth = bus.position_raw[:]
    assert max(truth) - min(truth) > 60
    for stall_ms in (8, 30, 60):
        leg.tell("stall", ms=stall_ms)
        for _ in range(20):
            cycle(bus, pace, [READ_ONLY] * 4)
            for k in range(4):
                assert abs(bus.position_raw[k] - truth[k]) <= 3
    for _ in range(3):
        cycle(bus, pace, [READ_ONLY] * 4)
    assert bus.missed > 0
    bus.close()


def test_a_line_that_is_unplugged_is_gone_and_comes_back_under_its_name(leg: Leg) -> None:
    port = try_open(str(leg.pty), 57_600)
    assert port is not None
    bus = bus_on_port(parse_line(leg.url), port, SERVOS)
    pace = RealPace()
    read_all(bus, pace)
    leg.tell("unplug")
    with pytest.raises(PortGoneError, match="is gone"):
        for _ in range(5):
            read_all(bus, pace)
    bus.close()
    assert try_open(str(leg.pty), 57_600) is None
    leg.tell("plug")
    port = try_open(str(leg.pty), 57_600)
    assert port is not None
    bus = bus_on_port(parse_line(f"{leg.url}?timeout_us=100000"), port, SERVOS)
    read_all(bus, pace)
    assert bus.status == [OK] * 4
    bus.close()


def test_an_idle_bus_is_told_of_a_hangup_by_its_descriptor(bus: AiMotorBus, leg: Leg) -> None:
    pace = RealPace()
    read_all(bus, pace)
    leg.tell("unplug")
    with pytest.raises(PortGoneError):
        for _ in range(100):
            pace.wait(pace.now_ns + 100_000_000, bus.filenos())
            bus.proceed(pace.now_ns)


@pytest.fixture
def two_legs(tmp_path: Path) -> Iterator[list[Leg]]:
    legs: list[Leg] = []
    try:
        for name in ("left", "right"):
            (tmp_path / name).mkdir()
            legs.append(Leg(tmp_path / name))
        yield legs
    finally:
        for leg in legs:
            leg.end()


def test_two_ports_as_one_group(two_legs: list[Leg]) -> None:
    buses = [open_bus(f"{leg.url}?timeout_us=100000", SERVOS, None, seed=0) for leg in two_legs]
    group = BusGroup(buses, [(b, k) for k in range(4) for b in range(2)])
    pace = RealPace()
    assert len(group.filenos()) == 2
    trips = list(measure(group, pace, 20))[-1]
    assert all(trip.exchanges == 20 for trip in trips)
    assert group.status == [OK] * 8
    group.torque_off(pace.now_ns)
    finish(group, pace)
    assert group.status == [OK] * 8
    group.close()


def test_scan_ping_and_release_of_a_port(leg: Leg) -> None:
    found = json.loads(nuc("scan", leg.url, "--json").stdout)
    assert [row["id"] for row in found["found"]] == [0, 1, 2, 3]
    pinged = json.loads(nuc("ping", f"{leg.url}?timeout_us=100000", "--ids", "0,3", "--count", "20", "--json").stdout)
    assert [row["exchanges"] for row in pinged["servos"]] == [20, 20]
    assert all(row["min_ms"] >= wire_ns(6, 57_600) / 1e6 for row in pinged["servos"])
    driven = open_bus(f"{leg.url}?timeout_us=100000", SERVOS, None, seed=0)
    pace = RealPace()
    driven.start(pace.now_ns, [127] * 4)
    finish(driven, pace)
    busy = nuc("release", leg.url)
    assert busy.returncode == 1
    assert "is in use by" in busy.stderr
    driven.close()
    done = nuc("release", leg.url, "--config", "lin_roach", "--seconds", "10")
    assert done.returncode == 0, done.stderr
    assert "confirmed by 4 servos" in done.stdout
    wait_for(lambda: len(torque_off_ns(leg.log())) == 4, "torque-off in the byte log", leg)
    leg.tell("unplug", servo=1)
    failed = nuc("release", leg.url, "--config", "lin_roach", "--seconds", "0.5")
    assert failed.returncode == 1
    assert "(id 1)" in failed.stderr


def test_an_inherited_descriptor_carries_the_exchange_on(leg: Leg) -> None:
    port = open_port(str(leg.pty), 57_600)
    code = (
        "import sys\nfrom drivers.bench.release import finish, read_all\nfrom drivers.factory import bus_on_port, parse_line\n"
        "from drivers.serial.port import SerialPort\nfrom drivers.servo import ServoAddress\n"
        "from nuc_engine.cli.bus.lines import RealPace\n"
        "spec = parse_line(sys.argv[1])\nport = SerialPort(int(sys.argv[2]), spec.baud)\n"
        "bus = bus_on_port(spec, port, [ServoAddress(2, 'knee')])\nread_all(bus, RealPace())\nprint(*bus.status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, f"{leg.url}?timeout_us=100000", str(port.fd)],
        check=False,
        cwd=ROOT,
        pass_fds=[port.fd],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "1\n", done.stderr
    again = bus_on_port(parse_line(f"{leg.url}?timeout_us=100000"), SerialPort(port.fd, port.baud), SERVOS)
    read_all(again, RealPace())
    assert again.status == [OK] * 4
    again.close()
