"""What ten signals and ten triggers add to an exchange: CPU time of the tasks, paired with the same leg without them.

    python -m benchmarks.nerves > benchmarks/NERVES.md

Nothing is written down, so that what is measured is tasks, emulated bus and leg alone.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import tempfile
import time  # noqa: TID251  benchmarks are about real time
from pathlib import Path
from typing import Any

from nuc_engine.bout.run import set_up
from nuc_engine.bout.spec import BoutSpec
from nuc_engine.machine.core import core
from nuc_engine.machine.locations import find_configuration
from nuc_engine.model.store import Store

CONFIGURATION, SECONDS, PAIRS = "lin_roach", 8.0, 8
BLOCKS = (
    ("rawload", "TC1_current", ""), ("lowpass", "n0", "k"), ("highpass", "FT_angle", "k"),
    ("derivative", "FT_angle", "k"),
    ("sum", "n1 n2 n3", ""), ("threshold", "n4", "k"), ("delay", "CTr_angle", "k"), ("gain", "n6", "k"),
    ("integral", "n7", "k"), ("abs", "n8", ""),
)  # fmt: skip
"""Type, inputs, parameters."""
NUMBER = '<hdso idNum="990" name="k" numdims="1"><dimsize dimNr="1">1</dimsize><initial_data>0.05</initial_data></hdso>'
TRIGGER = '<when rule="(302 &gt; 109) &amp; (307 &lt; 103)"><hdsoMod idNum="101" NumElts="1">0</hdsoMod></when>'


def _nothing(*_items: object) -> None:
    """Write nothing down."""


class _Quiet:
    """A recorder that writes nothing down."""

    started = motor = sensors = states = muscles = applied = controlled = done = answer = event = staticmethod(_nothing)


def with_nerves(folder: Path) -> Path:
    """Copy the configuration into `folder`, with the signals, and a script with the triggers beside it."""
    config = Path(shutil.copytree(find_configuration(CONFIGURATION), folder / CONFIGURATION))
    signals = "".join(
        f'<signal idNum="{900 + k}" name="n{k}" type="{kind}" inputs="{inputs}" parameters="{parameters}"/>'
        for k, (kind, inputs, parameters) in enumerate(BLOCKS)
    )
    for name, more in (("sensors.xml", signals), ("parameters.xml", NUMBER)):
        text = (config / name).read_text()
        text = re.sub("<hdsolist", '<hdsolist version="0.2"', text, count=1)
        (config / name).write_text(text.replace("</hdsolist>", f"{more}</hdsolist>"))
    (config / "script.xml").write_text(f'<hdsoscript version="0.2">{TRIGGER * len(BLOCKS)}</hdsoscript>')
    return config


def measure(config: Path, script: Path | None) -> float:
    """Return CPU time per exchange in us."""
    spec = BoutSpec(
        config=str(config), script=None if script is None else str(script), duration_s=SECONDS, out=Path("unused")
    )
    ready = set_up(spec)
    quiet: Any = _Quiet()
    executive = ready.executive(quiet, Store(ready.prepared.plan))
    begun_ns = time.process_time_ns()
    executive.run_until(ready.end_ns)
    return (time.process_time_ns() - begun_ns) / 1e3 / executive.board.cycle


def main() -> None:
    """Print both, and the median difference of pairs, as a page."""
    with tempfile.TemporaryDirectory() as folder:
        config = with_nerves(Path(folder))
        pairs = [
            (measure(find_configuration(CONFIGURATION), None), measure(config, config / "script.xml"))
            for _ in range(PAIRS)
        ]
    plain, more = (statistics.median(column) for column in zip(*pairs, strict=True))
    added = statistics.median(b - a for a, b in pairs)
    print("# What nerves cost\n")
    print(
        f"Made by `python -m benchmarks.nerves`; {CONFIGURATION}, {PAIRS} pairs of {SECONDS:g} s, nothing logged; "
        f"{core()} core; load average {os.getloadavg()[0]:.1f}.\n"
    )
    print("| CPU time of an exchange, with its tasks and the emulated bus, medians | us |\n|---|---|")
    print(f"| as it is | {plain:.1f} |\n| with {len(BLOCKS)} signals and {len(BLOCKS)} triggers | {more:.1f} |")
    print(f"| more, by pairs (at most 15) | {added:.1f} |")


if __name__ == "__main__":
    main()
