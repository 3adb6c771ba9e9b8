"""Do all configurations and scripts still give the bytes they gave? Take before a change, check after it.

    python -m benchmarks.unchanged take FILE [--seeds 3] [--duration 20]
    python -m benchmarks.unchanged check FILE

Bouts of every configuration with every script that is valid for it, on the virtual clock. The manifest (it tells wall
clock and versions) and the wording of `Infolog.txt` and `Debuglog.txt` are left out.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).parents[1]
NOT_HELD = {"manifest.json", "Infolog.txt", "Debuglog.txt"}
NUC = (sys.executable, "-m", "nuc_engine.cli")


def _fits(config: str, script: str) -> bool:
    words = (*NUC, "validate", f"scripts/{script}.xml", "--config", config)
    return subprocess.run(words, cwd=ROOT, capture_output=True, check=False).returncode == 0


def _pairs() -> list[tuple[str, str | None]]:
    configs = sorted(p.parent.name for p in (ROOT / "configs").glob("*/joints.xml"))
    scripts = sorted(p.stem for p in (ROOT / "scripts").glob("*.xml"))
    every = [(config, script) for config in configs for script in scripts]
    with ProcessPoolExecutor() as pool:
        fits = list(pool.map(_fits, *zip(*every, strict=True)))
    valid = [pair for pair, fit in zip(every, fits, strict=True) if fit]
    return [(config, None) for config in configs] + [*valid]


def _bout(duration: float, job: tuple[str, str | None, int]) -> tuple[str, dict[str, str]]:
    config, script, seed = job
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "bout")
        words = [*NUC, "run", config, "--seed", str(seed), "--duration", str(duration), "--out", str(out)]
        words += ["--script", script] if script else []
        subprocess.run(words, cwd=ROOT, capture_output=True, check=False)
        files = sorted(path for path in out.rglob("*") if path.is_file() and path.name not in NOT_HELD)
        sums = {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    return f"{config} {script or '-'} {seed}", sums


def _sums(jobs: list[tuple[str, str | None, int]], duration: float) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    with ProcessPoolExecutor() as pool:
        for name, sums in pool.map(partial(_bout, duration), jobs):
            found[name] = sums
            if sys.stderr.isatty():
                click.echo(f"\r{len(found)} of {len(jobs)}", err=True, nl=False)
    return found


@click.group()
def main() -> None:
    """Hold the bytes of all bouts against those of an earlier commit."""


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--seeds", default=3, show_default=True)
@click.option("--duration", default=20.0, show_default=True, help="Simulated seconds of each bout.")
def take(file: Path, seeds: int, duration: float) -> None:
    """Run all bouts and keep the sums of their files in FILE."""
    jobs = [(config, script, seed) for config, script in _pairs() for seed in range(seeds)]
    kept: dict[str, Any] = {"duration": duration, "bouts": _sums(jobs, duration)}
    file.write_text(json.dumps(kept, indent=1))
    click.echo(f"{len(jobs)} bouts: {file}")


@main.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True))
def check(file: Path) -> None:
    """Run the bouts of FILE again; exit status 1 and the files that differ, where any do."""
    kept = json.loads(file.read_text())
    jobs = [
        (config, None if script == "-" else script, int(seed))
        for config, script, seed in (name.split() for name in kept["bouts"])
    ]
    found = _sums(jobs, kept["duration"])
    differing = [
        f"{name}: {one}"
        for name, sums in kept["bouts"].items()
        for one in sorted(sums.keys() | found[name].keys())
        if sums.get(one) != found[name].get(one)
    ]
    for line in differing:
        click.echo(line)
    click.echo(f"{len(jobs)} bouts, {len(differing)} files differ")
    raise SystemExit(1 if differing else 0)


if __name__ == "__main__":
    main()
