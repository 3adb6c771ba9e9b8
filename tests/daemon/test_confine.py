"""What a process can still do after it was confined: a process of its own tries."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.daemon.confine import DATA_BYTES, OOM_SCORE

TRY = """
import json, os, resource, sys, tempfile
from nuc_engine.daemon.confine import confine
if sys.argv[2] == "confined":
    confine()
def why(call):
    try:
        call()
    except (OSError, MemoryError) as error:
        return type(error).__name__
    return ""
def write():
    with open(sys.argv[1] + "/file", "w") as file:
        file.write("x")
print(json.dumps({
    "terminal": why(lambda: os.open("/dev/ptmx", os.O_RDWR)),
    "reading": why(lambda: os.open("/dev/ptmx", os.O_RDONLY)),
    "kernel": why(lambda: os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)),
    "to the kernel": why(lambda: os.open("/dev/kmsg", os.O_WRONLY)),
    "null": why(lambda: os.open("/dev/null", os.O_RDWR)),
    "shm": why(lambda: tempfile.TemporaryFile(dir="/dev/shm")),
    "file": why(write),
    "memory": why(lambda: bytearray(400 << 20)),
    "score": int(open("/proc/self/oom_score_adj").read()),
    "data": resource.getrlimit(resource.RLIMIT_DATA)[0],
}))
"""


def tried(folder: Path, how: str) -> dict[str, Any]:
    words = [sys.executable, "-c", TRY, str(folder), how]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


needs_landlock = pytest.mark.skipif(
    ctypes.CDLL(None).syscall(444, None, 0, 1) < 1, reason="this kernel has no Landlock (Linux 5.13)"
)


@needs_landlock
def test_devices_can_not_be_opened_any_more_and_files_can(tmp_path: Path) -> None:
    found = tried(tmp_path, "confined")
    assert (found["terminal"], found["reading"]) == ("PermissionError", "PermissionError")
    assert (found["null"], found["shm"], found["file"]) == ("", "", "")
    before = tried(tmp_path, "free")
    assert found["kernel"] == before["kernel"]  # as far as the user may read it
    assert found["to the kernel"] in ("PermissionError", before["to the kernel"] or "PermissionError")
    assert (before["terminal"], before["memory"]) == ("", "")


def test_memory_is_bounded_and_it_is_the_first_to_go(tmp_path: Path) -> None:
    found = tried(tmp_path, "confined")
    assert found["memory"] == "MemoryError"
    assert found["data"] == DATA_BYTES
    assert found["score"] >= OOM_SCORE
