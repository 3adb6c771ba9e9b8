"""Servos of every family behind the emulator's loop, with their own bus at the other end, on a clock of paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from drivers.aimotor.codec import encode_read
from drivers.bench.release import discover, finish, read_all
from drivers.bus import READ_ONLY, Bus
from drivers.factory import bus_on_port
from drivers.port import NEVER, wire_ns
from drivers.servo import ReplyStatus
from drivers.url import LineSpec
from nuc_engine.configurations.adapt import adapt, write_adapted
from nuc_engine.emulation.bytelog import ByteLog, commands_beyond, last_drive_ns, read, torque_off_ns
from nuc_engine.emulation.commands import EmulatorCommands
from nuc_engine.emulation.leg import Leg, LegSpec
from nuc_engine.emulation.loop import EmulatorLoop
from nuc_engine.emulation.process import EmulatorPaths, EmulatorProcess
from nuc_engine.emulation.pseudo_terminal import PseudoTerminal
from nuc_engine.emulation.rawlog import LogHeader, RawEvent, RawKind, RawLog, read_records
from tests.cli.conftest import CONFIGS
from tests.emulation.world import MS, World

ROACH = str(CONFIGS / "lin_roach")
OK = [ReplyStatus.OK] * 4
MODELS = {"aimotor": "", "dynamixel": "XM430-W350", "feetech": "STS3215"}
BAUDS = {"aimotor": 115_200, "dynamixel": 1_000_000, "feetech": 1_000_000}


@pytest.fixture(scope="module")
def configs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return a configuration for each family."""
    made = {"aimotor": ROACH}
    for family, model in MODELS.items():
        if model:
            folder = tmp_path_factory.mktemp("configs") / family
            write_adapted(adapt(ROACH, model), folder)
            made[family] = str(folder)
    return made


class Host:
    """The host's end of the terminal, as a port and as a clock."""

    hold_ns = late_ns = 0

    def __init__(self, world: World, loop: EmulatorLoop) -> None:
        self.world, self.loop, self.taken = world, loop, 0

    @property
    def now_ns(self) -> int:
        return self.world.now_ns

    def wait(self, until_ns: int, filenos: object) -> None:
        while self.world.now_ns < until_ns and self.taken == len(self.world.got):
            self.loop.turn()

    def write(self, data: bytes, now_ns: int) -> None:
        self.world.script.append((self.world.now_ns, data))

    def read(self, now_ns: int) -> bytes:
        data = b"".join(data for _, data in self.world.got[self.taken :])
        self.taken = len(self.world.got)
        return data

    def flush_input(self, now_ns: int) -> int:
        return len(self.read(now_ns))

    def ready_ns(self, expected: int) -> int:
        return NEVER

    def filenos(self) -> tuple[int, ...]:
        return ()

    def close(self) -> None:
        pass


class Process:
    """An emulated leg without physics, its loop, and its family's bus on it."""

    def __init__(self, folder: Path, config: str, family: str, **options: float) -> None:
        given = {"baud": float(BAUDS[family]), **options}
        self.leg = Leg(LegSpec(config, family, given, plant="loopback"))
        self.world = World(now_ns=20 * MS)
        self.leg.begin(self.world.now_ns)
        self.path = folder / f"{family}.bytes"
        ids = tuple(servo.bus_id for servo in self.leg.servos)
        self.log = RawLog(self.path, LogHeader("leg", self.leg.baud, self.leg.start_ns, ids, family))
        self.loop = EmulatorLoop(
            self.leg.end, self.leg.plant, self.world, self.leg.line, baud=self.leg.baud, start_ns=self.leg.start_ns,
            now=self.world.now, wait=self.world.wait, ear=self.leg.family.sniffer(), log=self.log,
        )  # fmt: skip
        self.terminal = PseudoTerminal(folder / family)
        self.commands = EmulatorCommands(self.leg, self.loop, self.terminal, self.world.now)
        self.host = Host(self.world, self.loop)
        own = {name: value for name, value in options.items() if name in self.leg.family.line_options}
        spec = LineSpec(family, "", self.leg.baud, own)
        self.bus: Bus = bus_on_port(spec, self.host, self.leg.servos)

    def settle(self) -> None:
        for _ in range(100):
            read_all(self.bus, self.host)
            if self.bus.status == OK:
                return
        raise AssertionError(f"{self.bus.status} {self.bus.refusals}")

    def send(self, *goals: int) -> list[int]:
        self.bus.start(self.host.now_ns, list(goals))
        finish(self.bus, self.host)
        return self.bus.status

    def read_log(self) -> ByteLog:
        self.log.flush()
        return read(self.path)

    def driven(self) -> list[bool]:
        return [servo["driven"] >= 0 for servo in self.commands.status()["servos"]]


@pytest.fixture(params=MODELS)
def family(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def process(tmp_path: Path, configs: dict[str, str], family: str) -> Iterator[Process]:
    made = Process(tmp_path, configs[family], family)
    yield made
    made.terminal.unplug()
    made.log.close()


def test_a_bus_finds_reads_drives_and_releases_its_servos(process: Process) -> None:
    ids = tuple(servo.bus_id for servo in process.leg.servos)
    assert discover(process.bus, process.host) == ids
    process.settle()
    before = process.bus.position_raw[:]
    for _ in range(30):
        process.send(*[at + (40 if k % 2 else -40) for k, at in enumerate(before)])
    moved = [at - was for at, was in zip(process.bus.position_raw, before, strict=True)]
    assert all(abs(by) > 10 and (by > 0) == bool(k % 2) for k, by in enumerate(moved))
    assert process.driven() == [True] * 4
    process.bus.torque_off(process.host.now_ns)
    finish(process.bus, process.host)
    assert process.bus.status == OK
    assert process.driven() == [False] * 4
    assert process.loop.replies.late == 0


def test_its_byte_log_says_what_was_driven_from_where_and_since_when_it_is_limp(process: Process, family: str) -> None:
    process.settle()
    positions = dict(zip(process.read_log().header.ids, process.bus.position_raw, strict=True))
    assert process.read_log().header.family == family
    last = {}
    for frame in process.read_log().frames:
        last |= frame.positions
    assert last == positions
    assert last_drive_ns(process.read_log()) == -1
    for _ in range(20):
        process.send(*[position + 30 for position in positions.values()])
    drove = process.host.now_ns
    log = process.read_log()
    assert drove - 20 * MS < last_drive_ns(log) <= drove
    assert commands_beyond(log, dict.fromkeys(positions, 35)) == []
    assert {beyond.bus_id for beyond in commands_beyond(log, dict.fromkeys(positions, 5))} == set(positions)
    assert set(torque_off_ns(log).values()) == {None}
    process.bus.torque_off(process.host.now_ns)
    finish(process.bus, process.host)
    log = process.read_log()
    off = torque_off_ns(log)
    assert all(instant is not None and drove <= instant <= process.host.now_ns for instant in off.values())
    assert (log.stray_bytes, log.bad_checksums, log.unasked, log.echoed, log.lost) == (0, 0, 0, 0, 0)


def test_commands_reach_servos_of_every_family(process: Process) -> None:
    process.settle()
    ids = [servo.bus_id for servo in process.leg.servos]
    for _ in range(30):
        process.send(*process.bus.position_raw)
    assert process.driven() == [True] * 4

    def tell(command: str, **parameters: object) -> None:
        process.commands.obey({"command": command, **parameters})

    tell("unplug", servo=ids[1])
    assert process.driven() == [True, False, True, True]
    read_all(process.bus, process.host)
    assert process.bus.status[1] == ReplyStatus.MISSED
    tell("plug", servo=ids[1])
    tell("brown_out", servo=ids[2])
    assert process.driven() == [True, False, False, True]
    tell("trip", servo=ids[3], on=True)
    assert process.driven() == [True, False, False, False]
    tell("supply", on=False)
    for _ in range(3):
        read_all(process.bus, process.host)
    assert process.bus.status == [ReplyStatus.MISSED] * 4
    tell("supply", on=True)
    process.settle()
    assert process.driven() == [False] * 4
    tell("faults", drop=1.0)
    read_all(process.bus, process.host)
    assert process.bus.status != OK
    tell("faults")
    process.settle()
    events = [RawEvent.SERVO_UNPLUGGED, RawEvent.SERVO_PLUGGED, RawEvent.BROWNED_OUT, RawEvent.TRIPPED]
    events += [RawEvent.SUPPLY_OFF, RawEvent.SUPPLY_ON, RawEvent.FAULTS_SET, RawEvent.FAULTS_SET]
    assert [happening.event for happening in process.read_log().events] == events
    assert process.commands.status()["injected"]["drop"] > 0


def test_a_line_that_echoes_is_one_on_both_ends(tmp_path: Path, configs: dict[str, str], family: str) -> None:
    process = Process(tmp_path, configs[family], family, echo=1.0)
    process.settle()
    for _ in range(10):
        process.send(*process.bus.position_raw)
    assert process.bus.status == OK
    log = process.read_log()
    assert process.bus.stray_bytes == 0
    sent = sum(len(record.data) for record in read_records(process.path.read_bytes()) if record.kind is RawKind.HOST)
    assert log.echoed == sent > 0
    assert log.unasked == 0
    assert process.commands.status()["echo_collisions"] == 0
    process.terminal.unplug()
    process.log.close()


def test_an_adapter_that_holds_bytes_back_makes_a_bus_slow_and_misses_nothing(
    tmp_path: Path, configs: dict[str, str], family: str
) -> None:
    process = Process(tmp_path, configs[family], family, latency_ms=16.0)
    process.settle()
    missed = process.bus.missed
    begun = process.host.now_ns
    for _ in range(5):
        read_all(process.bus, process.host)
    assert (process.bus.missed, process.bus.status) == (missed, OK)
    assert process.host.now_ns - begun >= 5 * 15 * MS
    process.terminal.unplug()
    process.log.close()


def test_a_long_request_is_heard_in_pieces_so_that_the_plant_is_not_far_ahead(
    tmp_path: Path, configs: dict[str, str]
) -> None:
    process = Process(tmp_path, configs["dynamixel"], "dynamixel", baud=57_600.0)
    process.settle()
    ahead = []
    advance = process.leg.plant.advance
    process.leg.plant.advance = lambda now_ns: (
        ahead.append(now_ns + process.leg.start_ns - process.world.now_ns),
        advance(now_ns),
    )[1]
    for _ in range(20):
        process.send(*process.bus.position_raw)
    assert process.bus.status == OK
    assert max(ahead) < 3 * MS
    log = process.read_log()
    spans = [frame.end_ns - frame.start_ns for frame in log.frames if frame.kind == "sync write" and frame.goals()]
    assert spans
    assert all(span == pytest.approx(wire_ns(34, 57_600), abs=10) for span in spans), "each byte has its own time"
    assert min(b.start_ns - a.end_ns for a, b in pairwise(log.frames)) >= -10
    process.terminal.unplug()
    process.log.close()


def test_a_configuration_for_one_family_is_no_leg_of_another(configs: dict[str, str]) -> None:
    from nuc_engine.bout.spec import BoutRefused

    with pytest.raises(BoutRefused, match="no motor of the family dynamixel"):
        Leg(LegSpec(configs["aimotor"], "dynamixel"))


def test_a_request_of_many_records_has_its_time_on_the_wire(tmp_path: Path, configs: dict[str, str]) -> None:
    process = Process(tmp_path, configs["dynamixel"], "dynamixel")
    process.settle()
    for _ in range(20):
        process.send(*process.bus.position_raw)
    frames = [frame for frame in process.read_log().frames if frame.kind == "sync write" and frame.goals()]
    assert {frame.end_ns - frame.start_ns for frame in frames} == {wire_ns(34, 1_000_000)}
    process.terminal.unplug()
    process.log.close()


def test_the_buses_of_one_leg_may_be_of_different_families(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    write_adapted(adapt(ROACH, "STS3215"), folder)
    text = (folder / "joints.xml").read_text()
    blocks = re.split(r"(?=<joint )", text)
    for k, block in enumerate(blocks[1:5]):
        # The first two joints have AI motors on the left, the other two Feetech servos on the right.
        gone = r"<motor .*?</motor>|<motor [^>]*/>" if k < 2 else r"<aimotor .*?</aimotor>|<aimotor [^>]*/>"
        kept = re.sub(gone, "", block, flags=re.DOTALL)
        blocks[k + 1] = re.sub(r'serialID="\d+"', f'serialID="{k}" bus="{"left" if k < 2 else "right"}"', kept)
    (folder / "joints.xml").write_text("".join(blocks))
    left = Leg(LegSpec(str(folder), "aimotor", plant="loopback", bus="left"))
    right = Leg(LegSpec(str(folder), "feetech", plant="loopback", bus="right"))
    assert [servo.model for servo in left.servos] == ["1001", "701"]
    assert [servo.model for servo in right.servos] == ["STS3215"] * 2


def test_the_whole_process_hears_where_requests_end(tmp_path: Path) -> None:
    world = World(now_ns=20 * MS)
    spec = LegSpec(ROACH, options={"baud": 460_800.0}, plant="loopback")
    with EmulatorProcess(Leg(spec), EmulatorPaths(tmp_path / "leg"), world.now, world.wait) as process:
        process.loop._tty = world
        world.script = [(30 * MS, encode_read(0) + encode_read(1) + encode_read(2))]
        while world.now_ns < 40 * MS:
            process.loop.turn()
        assert process.loop.exchanges == 3


def test_read_only_moves_nothing(process: Process) -> None:
    process.settle()
    at = process.bus.position_raw[:]
    for _ in range(20):
        process.send(*[READ_ONLY] * 4)
    assert process.bus.position_raw == at
    assert process.driven() == [False] * 4
