"""The cockroach leg on a noisy line, on servos of every family, into benchmarks/NOISE.md: `python -m benchmarks.noise`.

A message, request or reply, is lost once in a hundred, and has one bit turned over once in a hundred. A bout goes on
unless a servo has not answered five times in a row, or all of them were silent for as long as two cycles have requests:
the daemon takes that for a supply that failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from drivers.servo import ReplyStatus
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.configurations.adapt import adapt, write_adapted
from nuc_engine.daemon.brownout import FEWEST
from nuc_engine.machine.locations import find_configuration
from nuc_engine.recording.inputs import FILE, read_inputs

CONFIG = "lin_roach"
FAULTS = "drop=0.01&flip=0.01"
MOTORS, SILENT_CYCLES = 4, 2

CASES = (
    ("", "emulated:?"),
    ("wCK-1108", "emulated:?wck=1&"),
    ("wCK-1108-10bit", "emulated:?ten_bit=1&"),
    ("XL330-M288", "emulated:dynamixel?baud=1000000&"),
    ("XL430-W250", "emulated:dynamixel?baud=1000000&"),
    ("XL430-W250", "emulated:dynamixel?baud=1000000&fast=1&"),
    ("XL430-W250", "emulated:dynamixel?baud=1000000&single=1&"),
    ("XM430-W350", "emulated:dynamixel?baud=1000000&"),
    ("STS3215", "emulated:feetech?"),
    ("STS3215", "emulated:feetech?single=1&"),
    ("STS3215", "emulated:feetech?baud=115200&"),
)
"""Model, empty for the AI motors the leg was made with, and URL up to its faults."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One bout: how long it went on, and why no longer; cycles and replies missed; the longest runs of missed ones."""

    seconds: float
    reason: str
    cycles: int
    missed: int
    longest_of_one: int
    longest_of_all: int


def configuration(model: str, folder: Path) -> str:
    """Return the leg with servos of a model."""
    if not model:
        return CONFIG
    if not model.startswith("wCK"):
        write_adapted(adapt(CONFIG, model), folder)
        return str(folder)
    # AI motors and wCKs are one family, and a joint has one motor of each: another model number is all there is to it.
    shutil.copytree(find_configuration(CONFIG), folder)
    joints = folder / "joints.xml"
    text = joints.read_text()
    for old in ("1001", "701"):
        text = text.replace(f'modelnum="{old}"', f'modelnum="{model}"')
    joints.write_text(text)
    return str(folder)


def longest_runs(statuses: Sequence[Sequence[int]]) -> tuple[int, int]:
    """Return how often in a row one servo gave no usable reply, and how many requests in a row nobody answered."""
    one, alone = [0] * MOTORS, 0
    together = most = 0
    for status in statuses:
        for k, found in enumerate(status):
            one[k] = 0 if found == ReplyStatus.OK else one[k] + 1
            together = together + 1 if found == ReplyStatus.MISSED else 0
            most = max(most, together)
        alone = max(alone, *one)
    return alone, most


def run_case(model: str, url: str, seed: int, duration_s: float) -> Outcome:
    """Run one bout."""
    with tempfile.TemporaryDirectory() as place:
        config = configuration(model, Path(place) / "leg")
        out = Path(place) / "bout"
        result = run_bout(BoutSpec(config, out, duration_s=duration_s, seed=seed, bus=url + FAULTS))
        statuses = [record[5] for record in read_inputs(out / FILE) if record[0] == "cycle"]
    one, all_of_them = longest_runs(statuses)
    reason = "" if result.state == "complete" else result.reason.partition(":")[0]
    if not reason and all_of_them >= max(FEWEST, SILENT_CYCLES * MOTORS):
        reason = "bus_silent"
    missed = sum(found != ReplyStatus.OK for status in statuses for found in status)
    return Outcome(result.simulated_s, reason, len(statuses), missed, one, all_of_them)


def row(model: str, url: str, outcomes: Sequence[Outcome]) -> str:
    """Return a line of the table."""
    on = sum(not outcome.reason for outcome in outcomes)
    ends = ", ".join(f"{outcome.reason} after {outcome.seconds:.1f} s" for outcome in outcomes if outcome.reason)
    cycles, missed = sum(outcome.cycles for outcome in outcomes), sum(outcome.missed for outcome in outcomes)
    one, together = (
        max(getattr(outcome, name) for outcome in outcomes) for name in ("longest_of_one", "longest_of_all")
    )
    share = f"{100 * missed / (MOTORS * cycles):.1f} %"
    words = (
        model or "AI-1001, AI-701",
        f"`{url.rstrip('?&')}`",
        f"{on} of {len(outcomes)}",
        share,
        one,
        together,
        ends,
    )
    return f"| {' | '.join(map(str, words))} |"


def main() -> None:
    """Run every case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1:20", help="first:last, inclusive")
    parser.add_argument("--duration", type=float, default=60.0, help="seconds a bout")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("NOISE.md"))
    arguments = parser.parse_args()
    first, last = (int(word) for word in arguments.seeds.split(":"))
    command = f"python -m benchmarks.noise --seeds {first}:{last} --duration {arguments.duration:g}"
    lines = [
        f"`{CONFIG}`, {arguments.duration:g} s, seeds {first} to {last}, 1 % of all messages lost, and one bit turned "
        f"over in 1 % of them (`{FAULTS}`): `{command}`",
        "",
        "| servos | bus | went on | replies missed | in a row, one servo (5: end) | in a row, all (8: end) | ended |",
        "|---|---|---|---|---|---|---|",
    ]
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for model, url in CASES:
            futures = [pool.submit(run_case, model, url, seed, arguments.duration) for seed in range(first, last + 1)]
            lines.append(row(model, url, [future.result() for future in futures]))
            sys.stderr.write(lines[-1] + "\n")
    arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
