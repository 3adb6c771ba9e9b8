from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.systemd.units import FOLDER, settings, tool

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders to others")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """An empty machine with group dialout and our files, after systemd-sysusers."""
    for kind in ("sysusers", "tmpfiles"):
        place = tmp_path / "usr" / "lib" / f"{kind}.d"
        place.mkdir(parents=True)
        shutil.copy(FOLDER / f"nuc.{kind}", place / "nuc.conf")
    (tmp_path / "usr" / "lib" / "sysusers.d" / "basic.conf").write_text("g dialout 20\n")
    (tmp_path / "etc").mkdir()
    subprocess.run([tool("systemd-sysusers"), f"--root={tmp_path}"], check=True, capture_output=True)
    return tmp_path


def test_the_user_of_the_units_exists_and_can_not_log_in(machine: Path) -> None:
    (line,) = (machine / "etc" / "passwd").read_text().splitlines()
    name, _, _, _, _, home, shell = line.split(":")
    assert [name] == settings("nuc-engine@.service")["User"] == settings("nuc-emulator@.service")["User"]
    assert (home, shell.rpartition("/")[2]) == ("/var/lib/nuc", "nologin")


def test_it_may_use_serial_ports(machine: Path) -> None:
    groups = dict(re.findall(r"(?m)^(\w+):\w*:\d+:(.*)$", (machine / "etc" / "group").read_text()))
    assert groups["dialout"].split(",") == ["nuc"]
    assert "nuc" in groups


def test_the_folders_are_made_and_the_keys_are_for_nobody_else(machine: Path) -> None:
    words = [tool("systemd-tmpfiles"), f"--root={machine}", "--create", "nuc.conf"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    number = int((machine / "etc" / "passwd").read_text().split(":")[2])
    found = {}
    for name in ("etc/nuc", "etc/nuc/keys", "var/lib/nuc", "var/lib/nuc/configs", "var/lib/nuc/data"):
        status = (machine / name).stat()
        found[name] = (stat.S_IMODE(status.st_mode), status.st_uid)
    assert found == {
        "etc/nuc": (0o755, 0),
        "etc/nuc/keys": (0o700, number),
        "var/lib/nuc": (0o770, number),
        "var/lib/nuc/configs": (0o770, number),
        "var/lib/nuc/data": (0o770, number),
    }


def test_a_broken_line_would_be_noticed(machine: Path) -> None:
    (machine / "usr" / "lib" / "tmpfiles.d" / "nuc.conf").write_text("d /etc/nuc 0755 nobody_such nobody_such -\n")
    words = [tool("systemd-tmpfiles"), f"--root={machine}", "--create", "nuc.conf"]
    assert subprocess.run(words, capture_output=True, check=False).returncode != 0


def test_the_limits_are_those_of_the_unit() -> None:
    lines = [line.split() for line in (FOLDER / "nuc.limits").read_text().splitlines() if not line.startswith("#")]
    said = settings("nuc-engine@.service")
    assert lines == [["@nuc", "-", "rtprio", *said["LimitRTPRIO"]], ["@nuc", "-", "memlock", "unlimited"]]
    assert said["LimitMEMLOCK"] == ["infinity"]
