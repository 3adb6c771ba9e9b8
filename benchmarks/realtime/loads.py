"""What else the machine is given to do while something is measured."""

from __future__ import annotations

import os
import shutil
import sys
import time  # noqa: TID251  benchmarks are about real time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.realtime.children import Broken, Child

HOW_TO_GET = "stress-ng is not installed (Debian, Ubuntu: `apt install stress-ng`)"
_SETTLE_S = 0.5
_LOOP = """
import sys, time
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    sum(range(10000))
"""
_FSYNC = """
import os, sys, time
end = time.monotonic() + float(sys.argv[2])
with open(sys.argv[1], "wb") as file:
    while time.monotonic() < end:
        file.seek(0)
        file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
"""


def there() -> bool:
    return shutil.which("stress-ng") is not None


def stressors(kind: str) -> list[str]:
    """Return the options of stress-ng for `cpu`, `memory`, `disk` or `light` (some CPU and disk for hours)."""
    cores = str(os.cpu_count())
    return {
        "cpu": ["--cpu", cores],
        "memory": ["--vm", cores, "--vm-bytes", "256M", "--vm-method", "flip"],
        "disk": ["--hdd", cores, "--hdd-bytes", "64M", "--hdd-opts", "sync"],
        "light": ["--cpu", "1", "--cpu-load", "30", "--hdd", "1", "--hdd-bytes", "32M"],
    }[kind]


@contextmanager
def load(kind: str, folder: Path, most_s: float) -> Generator[None]:
    """Have a load while the context lasts, and for `most_s` at the longest, whatever becomes of this process.

    `busy`: a busy loop per CPU and a writer that calls fsync all the time, without stress-ng.
    """
    if not kind:
        yield
        return
    if kind == "busy":
        with ExitStack() as stack:
            words = [_LOOP] * (os.cpu_count() or 1) + [_FSYNC]
            for number, program in enumerate(words):
                command = [sys.executable, "-c", program, str(folder / "fsync"), str(most_s)]
                stack.enter_context(Child(command, folder / f"busy-{number}.out"))
            time.sleep(_SETTLE_S)
            yield
        return
    if not there():
        raise Broken(HOW_TO_GET)
    words = ["stress-ng", "--quiet", "--temp-path", folder, "--timeout", f"{round(most_s)}s", *stressors(kind)]
    with Child(words, folder / f"stress-{kind}.out") as child:
        time.sleep(_SETTLE_S)
        yield
        if not child.running:
            raise Broken(f"the load ended too early: {child.said()}")
