"""The compiled core beside the same Python, paired: `python -m benchmarks.cores` after `make fast`, into CORES.md.

Each measurement is a process of its own, pure and compiled alternately; processor time. Bare `mj_step` is that of the
same model through the same motion, in the same process.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

import click

ROOT = Path(__file__).parents[1]
LEGS = 5
"""Legs of four joints side by side: a body."""
BODIES = {"mujoco": "each a MuJoCo leg", "loopback": "without physics"}

CHILD = """
import json, sys, tempfile
from pathlib import Path
from benchmarks import __main__ as bench, parts
from benchmarks.bodies import make_body
from benchmarks.scaling import whole_bout
from benchmarks.stand_ins import repeat_joint
from nuc_engine.machine.core import core
seconds = int(sys.argv[1])
plan = bench.prepare_bout(parts.CONFIG, None).plan
leg = parts.heard_leg(plan, seconds)
knee = next(joint.index for joint in reversed(plan.joints) if joint.states)
parts.whole_bout(1)
found = {"core": core(), "whole": parts.whole_bout(seconds), "bare": parts.bare_physics(plan, leg)}
found |= {f"tick {n}": bench.tick(repeat_joint(plan, knee, n)) for n in (4, 18, 100)}
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    body = make_body(folder / "body", legs=LEGS)
    for kind in ("mujoco", "loopback"):
        whole_bout(body, folder / f"{kind} warms up", 1, LEGS, kind)
        found[kind] = parts.timed(lambda: whole_bout(body, folder / kind, seconds, LEGS, kind))
print(json.dumps(found))
""".replace("LEGS", str(LEGS))


def _measure(seconds: int, *, pure: bool) -> dict[str, float]:
    environment = {**os.environ, "NUC_PURE": "1" if pure else "0"}
    words = [sys.executable, "-c", CHILD, str(seconds)]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    if found.pop("core").startswith("pure") is not pure:
        raise click.ClickException("there is no compiled core of these sources: make fast")
    return found


@click.command()
@click.option("--seconds", default=300, show_default=True, help="Simulated seconds of each bout.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=Path(__file__).with_name("CORES.md"))
def main(seconds: int, rounds: int, out: Path) -> None:
    """Measure both cores and write the table."""
    pairs = [(_measure(seconds, pure=True), _measure(seconds, pure=False)) for _ in range(rounds)]
    sides = [[pair[k] for pair in pairs] for k in (0, 1)]

    def row(name: str, texts: list[str], ratio: float | None) -> str:
        return f"| {name} | {' | '.join(texts)} | {'' if ratio is None else f'{ratio:.2f}'} |"

    def gain(name: str) -> float:
        return statistics.median(pure[name] / compiled[name] for pure, compiled in pairs)

    median = statistics.median
    lines = [
        "# The compiled core beside Python",
        "",
        f"Made by `python -m benchmarks.cores --seconds {seconds} --rounds {rounds}`; Python"
        f" {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores; medians, of ratios too.",
        "",
        "| lin_roach, all logs | Python | compiled | times as fast |",
        "|---|---|---|---|",
        row(
            "simulated s per s, whole bout",
            [f"{seconds / median(r['whole'] for r in s):.0f}" for s in sides],
            gain("whole"),
        ),
        row("of bare `mj_step`", [f"{median(r['bare'] / r['whole'] for r in s):.2f}" for s in sides], None),
    ]
    for kind, words in BODIES.items():
        times = [f"{seconds / median(r[kind] for r in s):.0f}" for s in sides]
        lines.append(
            row(f"simulated s per s, whole bout of {LEGS} legs, {4 * LEGS} joints, {words}", times, gain(kind))
        )
    for joints in (4, 18, 100):
        name = f"tick {joints}"
        lines.append(
            row(f"tick of {joints} joints, us", [f"{median(r[name] for r in s) * 1e6:.1f}" for s in sides], gain(name))
        )
    out.write_text("\n".join(lines) + "\n")
    click.echo(out.read_text())


if __name__ == "__main__":
    main()
