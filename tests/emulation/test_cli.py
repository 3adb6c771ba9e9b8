"""The command line of `nuc emulate`, as far as it does not come to serving; and the whole process put together."""

import os
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from drivers.errors import BusUrlError
from nuc_engine.cli.app import app
from nuc_engine.cli.bout import emulate
from nuc_engine.client.cycles import Cycles
from nuc_engine.daemon.cyclering import make_file
from nuc_engine.emulation import process
from nuc_engine.emulation.errors import EmulationError
from nuc_engine.emulation.leg import Leg, LegSpec
from nuc_engine.emulation.process import EmulatorPaths, EmulatorProcess
from nuc_engine.machine.rundir import PLANT
from nuc_engine.realtime import RealtimePolicy, acquire
from nuc_engine.recording.growing import GrowingFile
from tests.cli.conftest import CONFIGS
from tests.emulation.world import MS, World

ROACH = str(CONFIGS / "lin_roach")
NO_RIGHTS = RealtimePolicy(priority=None, lock_memory=False, latency_us=None, freeze_collector=False)
"""Those of `nuc emulate` would be the test process's for good."""


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "--pty"),
        (["--pty", "leg", "--fault", "drip=1"], 2, "--fault drip: expected one of drop, flip"),
        (["--pty", "leg", "--fault", "drop=often"], 2, "--fault drop=often: expected a number"),
        (["--pty", "leg", "--fault", "drop=2"], 2, "drop=2.0 is not a probability"),
        (["--pty", "leg", "--baud", "1200"], 2, "baud=1200: expected one of 4800"),
        (["--pty", "leg", "--option", "echo"], 2, "echo"),
        (["--pty", "leg", "--option", "echo=loud"], 2, "--option echo=loud: expected a number"),
        (["--pty", "leg", "--option", "eco=1"], 2, "did you mean 'echo'"),
        (["--pty", "leg", "--option", "latency_ms=300"], 2, "latency_ms=300: expected 0 to 255"),
        (
            ["--pty", "leg", "--family", "hands"],
            2,
            "unknown servo family 'hands': expected aimotor, dynamixel, feetech",
        ),
        (["--pty", "leg", "--family", "feetech"], 1, "no motor of the family feetech"),
        (["--pty", "leg", "--plant", "loopback", "--record", "x"], 2, "--record needs --plant mujoco"),
        (["--pty", "leg", "--bus", "left"], 1, "no motor of lin_roach is on bus 'left': there are none by name"),
        (["--pty", "taken"], 1, "choose another name for --pty"),
        (["--pty", "leg", "--plant", "loopback", "--control", "taken"], 1, "choose another --control"),
        (["--pty", "leg", "--plant", "loopback", "--byte-log", "no/log"], 1, "no/log"),
    ],
)
def test_what_can_not_be_served_is_a_line_and_leaves_nothing_behind(tmp_path, monkeypatch, words, status, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("data")
    monkeypatch.setattr(emulate, "acquire", lambda policy: acquire(NO_RIGHTS))
    result = CliRunner().invoke(app, ["emulate", ROACH, *words])
    assert result.exit_code == status, result.stderr
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def make(tmp_path, world, **options):
    more = {name: options.pop(name) for name in ("record", "live") if name in options}
    places = EmulatorPaths(tmp_path / "leg", tmp_path / "leg.bytes", tmp_path / "control", **more)
    spec = LegSpec(ROACH, **options)
    return EmulatorProcess(Leg(spec), places, world.now, world.wait)


def test_a_process_with_physics_records_what_the_leg_did(tmp_path):
    world = World(now_ns=123 * MS)
    with make(tmp_path, world, record=tmp_path / "PlantData.txt") as process:
        kicked = []

        def alive():
            if len(kicked) == 16:
                process.commands.obey({"command": "kick", "force_n": [0, 0, 30], "duration_ms": 50})
            if len(kicked) == 32:
                written = (tmp_path / "PlantData.txt").read_text().splitlines()
                assert 10 * MS * len(written) > kicked[-2] - start_ns
                process.commands.obey({"command": "ground", "present": False})
            if len(kicked) == 48:
                process.loop.stop()
            kicked.append(world.now_ns)

        process.alive = alive
        start_ns = process.describe()["start_ns"]
        process.run()
        assert start_ns - 123 * MS < 1 * MS
    rows = [[float(cell) for cell in line.split()] for line in (tmp_path / "PlantData.txt").read_text().splitlines()]
    times = [row[0] for row in rows]
    assert times[-1] > kicked[-1] - start_ns - 15 * MS
    assert times == [10 * MS * k for k in range(len(rows))]
    kick, dropped = (kicked[k] - start_ns for k in (16, 32))
    lifted = [row for row in rows if kick < row[0] < kick + 100 * MS and row[4] == 0]
    assert lifted, "a kick of 30 N takes the foot off the ground"
    assert any(row[4] > 0 for row in rows if row[0] < kick)
    assert all(row[4] == 0 for row in rows if row[0] > dropped + 20 * MS)
    assert {path.name for path in tmp_path.iterdir()} == {"leg.bytes", "PlantData.txt"}


def test_who_watches_sees_at_once_what_is_recorded(tmp_path):
    world, folder = World(now_ns=123 * MS), tmp_path / "run"
    folder.mkdir()
    os.close(make_file(folder, PLANT))
    with make(tmp_path, world, record=tmp_path / "PlantData.txt", live=folder / PLANT) as process:
        reader, seen, late = Cycles(folder / PLANT), [], []

        def alive():
            records = reader.read()
            seen.extend(records)
            late.extend(world.now_ns - record[0] for record in records)
            if world.now_ns > 600 * MS:
                process.loop.stop()

        process.alive = alive
        start_ns = process.describe()["start_ns"]
        process.run()
        assert reader.names == ("time", "foot_x", "foot_y", "foot_z", "contact")
        seen.extend(reader.read())
        reader.close()
    rows = [line.split() for line in (tmp_path / "PlantData.txt").read_text().splitlines()]
    assert [record[0] - start_ns for record in seen] == [int(row[0]) for row in rows]
    for record, row in zip(seen, rows, strict=True):
        assert record[1:] == pytest.approx([float(cell) for cell in row[1:]], rel=1e-6, abs=1e-6)
    assert max(late) < 65 * MS, "two rounds of chores and a record's time"


@pytest.mark.parametrize("content", [b"", b"notes of mine"])
def test_no_other_file_is_written_over_by_what_is_told_live(tmp_path, content):
    mine = tmp_path / "mine"
    mine.write_bytes(content)
    with pytest.raises(EmulationError, match="mine: not a file"), make(tmp_path, World(), live=mine):
        pass
    assert mine.read_bytes() == content


def test_the_same_seed_is_the_same_leg(tmp_path):
    def positions(name, seed):
        folder = tmp_path / name
        folder.mkdir()
        with make(folder, World(), seed=seed) as process:
            process.leg.plant.advance(10 * MS)
            return [process.leg.plant.sample(servo) for servo in range(4)]

    assert positions("a", 3) == positions("b", 3) != positions("c", 4)


def test_it_tells_how_the_last_second_was(tmp_path):
    world = World()
    sights = []
    places = EmulatorPaths(tmp_path / "leg")
    with EmulatorProcess(
        Leg(LegSpec(ROACH, plant="loopback")), places, world.now, world.wait, sights.append
    ) as process:
        world.plugged = False
        process.alive = lambda: process.loop.stop() if len(sights) == 2 else None
        process.run()
    assert [sight.exchanges_per_s for sight in sights] == [0, 0]
    assert all(0 < sight.plant_behind_ms < 5 for sight in sights)


@pytest.fixture
def two_buses(tmp_path):
    """The roach's first two motors on one bus, the others, with the same ids, on another."""
    folder = Path(shutil.copytree(ROACH, tmp_path / "two_buses"))
    number = iter(range(4))

    def rename(match):
        k = next(number)
        return f'serialID="{k % 2}" bus="{"left" if k < 2 else "right"}"'

    text, found = re.subn(r'serialID="\d+"', rename, (folder / "joints.xml").read_text())
    assert found == 4
    (folder / "joints.xml").write_text(text)
    return str(folder)


def test_the_motors_of_one_bus_are_the_right_shafts(two_buses):
    leg = Leg(LegSpec(two_buses, plant="loopback", bus="right"))
    whole = leg.plant._plant
    leg.plant.command(0, 50.0, 0)
    leg.plant.advance(1000 * MS)
    assert [round(whole.sample(k)[0]) for k in range(4)] == [83, 83, 50, 83]
    assert [leg.plant.sample(k) for k in range(2)] == [whole.sample(2), whole.sample(3)]
    assert [servo.bus_id for servo in leg.servos] == [0, 1]


def test_a_leg_on_two_buses_is_not_emulated_in_parts(two_buses):
    with pytest.raises(EmulationError, match="a leg can only be emulated whole"):
        Leg(LegSpec(two_buses, bus="left"))
    with pytest.raises(EmulationError, match="there are left, right"):
        Leg(LegSpec(two_buses, bus="middle"))
    with pytest.raises(BusUrlError, match="share bus id 0"):
        Leg(LegSpec(two_buses))


def test_a_record_that_the_disk_does_not_take_ends_and_is_counted(tmp_path, monkeypatch):
    def full(self, data):
        raise OSError("full")

    record = process._Record(tmp_path / "PlantData.txt")
    monkeypatch.setattr(process, "_MOST_KEPT", 15)
    rows = [(float(k), 0.0, 0.0, 0.0, 0.0) for k in range(10)]
    with record:
        record.append(rows)
        with monkeypatch.context() as patch:
            patch.setattr(GrowingFile, "write", full)
            record.append(rows)
        record.append(rows)
        assert record.lost == 0
        monkeypatch.setattr(GrowingFile, "write", full)
        for _ in range(3):
            record.append(rows)
        assert record.lost == 30
    assert len((tmp_path / "PlantData.txt").read_text().splitlines()) == 30
