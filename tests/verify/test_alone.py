"""The oracle stands alone: what it computes is computed by nothing of the engine."""

from __future__ import annotations

import subprocess
import sys


def test_it_loads_nothing_of_the_engine_the_drivers_or_the_language() -> None:
    code = (
        "import sys, nuc_engine.verify; "
        "print(*sorted(name for name in sys.modules if name.partition('.')[0] in "
        "('nuc_engine', 'drivers', 'sccils_schemas') and not name.startswith('nuc_engine.verify')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == ["nuc_engine"]  # the package it lies in, which loads nothing by itself
