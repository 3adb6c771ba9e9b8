"""The engine works under what its units allow, and would not under what they must not forbid."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.realtime.system import CAP_IPC_LOCK, CAP_SYS_NICE
from tests.systemd import sandbox
from tests.systemd.units import allowed_calls, call_group, settings

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up capabilities"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers of system calls are those of x86-64"),
    pytest.mark.skipif(not sandbox.HEADER.exists(), reason=f"no {sandbox.HEADER}: it comes with linux-libc-dev"),
]


def rules_of(unit: str) -> dict[str, Any]:
    said = settings(unit)
    return {
        "calls": sorted(allowed_calls(said["SystemCallFilter"])),
        "families": said["RestrictAddressFamilies"][0].split(),
        "deny_write_execute": said["MemoryDenyWriteExecute"] == ["yes"],
        "restrict_realtime": said["RestrictRealtime"] == ["yes"],
        "restrict_namespaces": said["RestrictNamespaces"] == ["yes"],
        # Not every root may raise limits; these two capabilities allow the same as the unit's.
        "capabilities": [CAP_SYS_NICE, CAP_IPC_LOCK],
        "limits": {},
    }


def run(rules: dict[str, Any], folder: Path) -> dict[str, Any]:
    (folder / "rules.json").write_text(json.dumps(rules))
    words = [sys.executable, sandbox.__file__, folder / "rules.json"]
    words += [sys.executable, "-m", "tests.systemd.engine_calls", folder]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_engine_works_under_its_unit(tmp_path: Path) -> None:
    assert run(rules_of("nuc-engine@.service"), tmp_path) == {"refused": {}, "missing": []}


def test_the_emulator_works_under_its_unit(tmp_path: Path) -> None:
    found = run(rules_of("nuc-emulator@.service"), tmp_path)
    # It has no network, and needs none.
    assert set(found["refused"]) == {"channel"}
    assert found["missing"] == []


def test_without_netlink_the_channel_would_end_the_service(tmp_path: Path) -> None:
    found = run({**rules_of("nuc-engine@.service"), "families": ["AF_UNIX", "AF_INET", "AF_INET6"]}, tmp_path)
    assert set(found["refused"]) == {"channel"}


def test_with_realtime_restricted_the_engine_says_so(tmp_path: Path) -> None:
    found = run({**rules_of("nuc-engine@.service"), "restrict_realtime": True}, tmp_path)
    (missing,) = found["missing"]
    assert "RestrictRealtime=" in missing


def test_without_the_limits_of_the_unit_the_engine_says_which(tmp_path: Path) -> None:
    bare = {"limits": {"RTPRIO": 0, "MEMLOCK": 65536}, "capabilities": []}
    found = run({**rules_of("nuc-engine@.service"), **bare}, tmp_path)
    assert ["LimitMEMLOCK" in line or "LimitRTPRIO" in line for line in found["missing"]] == [True, True]


@pytest.mark.parametrize(
    ("group", "fails"), [("@memlock", "locked memory"), ("@resources", "SCHED_FIFO"), ("pidfd_open", None)]
)
def test_a_filter_that_forbids_what_the_engine_needs_is_noticed(tmp_path: Path, group: str, fails: str | None) -> None:
    rules = rules_of("nuc-engine@.service")
    rules["calls"] = sorted(set(rules["calls"]) - call_group(group))
    found = run(rules, tmp_path)
    if fails is None:
        assert "processes" in found["refused"]
    else:
        assert any(fails in line for line in found["missing"])
