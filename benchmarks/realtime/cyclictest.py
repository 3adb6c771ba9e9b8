"""cyclictest of rt-tests: how punctually this machine wakes a process that does nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from benchmarks.realtime.children import Broken, Child
from benchmarks.realtime.histogram import Histogram

HOW_TO_GET = "cyclictest is not installed (Debian, Ubuntu: `apt install rt-tests`)"
PRIORITY = 50
_LONGEST_US = 20_000
_SPIKE = re.compile(r"T: *(\d+) Spike: *(\d+): TS: *(\d+)")


def there() -> bool:
    return shutil.which("cyclictest") is not None


def measure(seconds: float, interval_us: int = 1000) -> Histogram:
    """Run it for a while, in 1 us steps; what is later than 20 ms counts as 20 ms."""
    loops = max(100, round(seconds * 1e6 / interval_us))
    words = ["cyclictest", "-q", "-m", "-p", str(PRIORITY), "-i", str(interval_us), "-l", str(loops)]
    done = subprocess.run(
        [*words, "-h", str(_LONGEST_US)], capture_output=True, text=True, timeout=10 * seconds + 30, check=False
    )
    if done.returncode:
        raise Broken(f"cyclictest: {done.stderr.strip() or done.stdout.strip()} (it needs the right to real time)")
    return read(done.stdout)


def read(text: str) -> Histogram:
    """Return the histogram of one thread."""
    counts = [(float(int(a)), int(b)) for a, b in re.findall(r"^(\d{6}) (\d+)$", text, re.MULTILINE) if int(b)]
    over = re.search(r"Histogram Overflows: *(\d+)", text)
    if over and int(over[1]):
        counts.append((float(_LONGEST_US), int(over[1])))
    return Histogram(tuple(counts))


def spikes(seconds: float, longer_us: int, output: Path) -> Child:
    """Let it note every wake-up later than this on each CPU, in a process of its own."""
    words = ["cyclictest", "-q", "-S", "-m", "-p", str(PRIORITY), "-i", "1000", "-D", str(round(seconds))]
    return Child([*words, f"--spike={longer_us}", "--spike-nodes=200000"], output)


def read_spikes(text: str) -> list[tuple[int, int]]:
    """Return (CLOCK_MONOTONIC ns of the late wake-up, ns it was late) of each spike."""
    return [(int(stamp) * 1000, int(late) * 1000) for _, late, stamp in _SPIKE.findall(text)]
