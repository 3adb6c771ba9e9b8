"""Which modules a command of `nuc` loads, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RUN = """
import atexit, json, sys
told = sys.argv.pop(1)
atexit.register(lambda: open(told, "w").write(json.dumps(sorted(sys.modules))))
from nuc_engine.cli import main
main()
"""

SLOW = {"asyncio", "importlib.metadata", "logging", "ssl", "tomllib", "xml"}
"""Parts of Python that cost a good part of a second on a small machine."""


def loaded(place: Path, *words: str) -> tuple[set[str], str]:
    """Return the modules that `nuc` has loaded when it ends, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, "modules", *words], cwd=place, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return set(json.loads((place / "modules").read_text())), done.stdout + done.stderr


def foreign(modules: set[str]) -> set[str]:
    # What finds the compiled core is of the environment, not of the command.
    tops = {name.partition(".")[0] for name in modules}
    tops -= {"__main__", "nuc_engine", "compiled_core_finder", "sitecustomize"}
    # msgspec loads typing_extensions where that is installed.
    tops -= sys.stdlib_module_names | {"typing_extensions"}
    return {name for name in tops if "cython" not in name and not name.startswith("_")}
