from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import click
import pytest

from nuc_engine.cli.app import COMMANDS, app
from nuc_engine.daemon.guardian import ABOVE_CORE
from nuc_engine.doctor.rights import HIGHEST
from nuc_engine.realtime import RealtimePolicy
from tests.systemd.units import FOLDER, PROGRAM, installed, settings, tool

UNITS = ("nuc-engine@.service", "nuc-emulator@.service")
DROP_IN = "nuc-engine@.service.d/emulated-leg.conf"
MOST_EXPOSURE = 30
"""Tenths: systemd-analyze counts to 100."""


def verify(*units: Path) -> subprocess.CompletedProcess[str]:
    words = [tool("systemd-analyze"), "verify", "--man=no", *map(str, units)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def exposure(unit: Path, threshold: int = 100) -> tuple[int, dict[str, bool]]:
    """Exit status against a threshold, and whether each setting is as it should be."""
    words = [
        tool("systemd-analyze"),
        "security",
        "--offline=true",
        "--json=short",
        f"--threshold={threshold}",
        str(unit),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.returncode, {entry["json_field"]: entry["set"] for entry in json.loads(done.stdout)}


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_finds_no_fault(unit: str, tmp_path: Path) -> None:
    done = verify(*installed(tmp_path, unit))
    assert (done.returncode, done.stderr) == (0, "")


def test_systemd_finds_no_fault_in_an_engine_of_an_emulated_leg(tmp_path: Path) -> None:
    done = verify(*installed(tmp_path, *UNITS, DROP_IN)[:2])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("nuc-engine@.service", "WatchdogSec=1", "WatchdogSec=soon"),
        ("nuc-engine@.service", "KillMode=control-group", "KillModus=control-group"),
        ("nuc-engine@.service", PROGRAM, "/nowhere/nuc"),
        (DROP_IN, "ExecStart=\n", ""),
    ],
)
def test_systemd_would_find_a_fault(name: str, old: str, new: str, tmp_path: Path) -> None:
    text = (FOLDER / name.rpartition("/")[2]).read_text()
    assert old in text
    copies = installed(tmp_path, *UNITS, *([DROP_IN] if name == DROP_IN else []))
    copy = tmp_path / name
    copy.write_text(text.replace(old, new))
    assert verify(*copies[:2]).stderr != ""


@pytest.mark.parametrize("unit", UNITS)
def test_exposure_is_low(unit: str, tmp_path: Path) -> None:
    (copy,) = installed(tmp_path, unit)
    assert exposure(copy, MOST_EXPOSURE)[0] == 0


@pytest.mark.parametrize("unit", UNITS)
def test_a_weaker_sandbox_would_be_noticed(unit: str, tmp_path: Path) -> None:
    (copy,) = installed(tmp_path, unit)
    copy.write_text(
        re.sub(r"(?m)^(SystemCallFilter|CapabilityBoundingSet|RestrictNamespaces)=.*\n", "", copy.read_text())
    )
    assert exposure(copy, MOST_EXPOSURE)[0] != 0


@pytest.mark.parametrize("unit", UNITS)
def test_nothing_is_given_away_but_what_the_work_needs(unit: str, tmp_path: Path) -> None:
    open_to_both = {
        "PrivateDevices",  # the bus, and the file that keeps the CPU awake
        "DeviceAllow",
        "RestrictRealtime",  # SCHED_FIFO
        "SystemCallFilter_resources",
        "RestrictAddressFamilies_AF_UNIX",  # telling systemd; local clients
        "ProcSubset",  # the share of real-time tasks
        "PrivateUsers",  # dialout must stay what it is
        "RootDirectoryOrRootImage",
        "UMask",  # data are for the group
    }
    open_to_engine = {
        "PrivateNetwork",
        "RestrictAddressFamilies_AF_INET_INET6",
        "RestrictAddressFamilies_AF_NETLINK",
        "IPAddressDeny",  # localhost alone
        "SupplementaryGroups",  # dialout
    }
    (copy,) = installed(tmp_path, unit)
    given = {name for name, good in exposure(copy)[1].items() if not good}
    assert given == open_to_both | (open_to_engine if "engine" in unit else set())


def test_the_guardian_may_reach_the_priority_it_asks_for_and_the_emulator_more() -> None:
    engine, emulator = (int(settings(unit)["LimitRTPRIO"][0]) for unit in UNITS)
    guardian = (RealtimePolicy().priority or 0) + ABOVE_CORE
    assert guardian == HIGHEST <= engine < emulator


def test_the_torque_is_taken_off_on_the_bus_that_was_driven() -> None:
    for name in (UNITS[0], "emulated-leg.conf"):
        said = settings(name)
        bus = re.search(r"aimotor://\S+", said["ExecStart"][-1])
        release = re.search(r"aimotor://\S+", said["ExecStopPost"][-1])
        assert bus is not None
        assert release is not None
        assert bus[0] == release[0]


def test_the_emulated_leg_is_where_the_engine_looks_for_it() -> None:
    served = re.search(r"--pty (\S+)", settings(UNITS[1])["ExecStart"][0])
    assert served is not None
    assert f"aimotor://{served[1]} " in settings("emulated-leg.conf")["ExecStart"][-1]


def test_strangers_find_no_port_and_cannot_use_the_machine_up() -> None:
    said = settings(UNITS[0])
    for name in (UNITS[0], "emulated-leg.conf"):
        assert "--command" not in settings(name)["ExecStart"][-1], "the socket in its own folder, for its group alone"
    assert said["OOMPolicy"] == ["continue"]
    assert int(said["TasksMax"][0]) <= 256
    assert 500_000 <= int(said["LimitRTTIME"][0]) <= 2_000_000, "microseconds"


def test_what_the_units_write_to_is_what_the_folders_are_made_for() -> None:
    made = {line.split()[1] for line in (FOLDER / "nuc.tmpfiles").read_text().splitlines() if line.startswith("d ")}
    for folder in settings(UNITS[0])["StateDirectory"][0].split():
        assert f"/var/lib/{folder}" in made


def test_the_instructions_name_every_file_and_no_other() -> None:
    text = (FOLDER.parent / "docs" / "install.md").read_text()
    listed = set(re.findall(r"(?m)^\| `([^`]+)` \| ", text.partition("## 3.")[0]))
    assert listed == {path.name for path in FOLDER.iterdir()}


def commands() -> list[str]:
    said = [settings(name) for name in (*UNITS, "emulated-leg.conf")]
    text = re.sub(r"\\\n\s*", "", (FOLDER.parent / "docs" / "install.md").read_text())
    shown = re.findall(r"(?m)^    Exec\w+=(/.*)$", text)
    return [line for one in said for line in one["ExecStart"] + one.get("ExecStopPost", []) if line] + shown


@pytest.mark.parametrize("line", commands())
def test_the_commands_of_the_units_exist_and_take_what_they_are_given(line: str) -> None:
    assert line.startswith(f"{PROGRAM} ")
    words = line.replace("%i", "lin_roach").replace("%t", "/run").replace("%S", "/var/lib").split()[1:]
    if words[0] not in COMMANDS:
        pytest.skip(f"no command {words[0]!r} yet")
    command: click.Command = app
    context = click.Context(app)
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0))
        assert found is not None
        command, context = found, click.Context(found, context)
    command.make_context(command.name, words)
