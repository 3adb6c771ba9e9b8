"""Whether this process has a compiled core (`make fast`) or Python as it stands, and how many processors it may use."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

COMPILED = "compiled"
PURE = "pure Python"


def core() -> str:
    """Return `COMPILED`, or `PURE` and why where a compiled one is not used. Loads none of it."""
    found = find_spec("drivers.port")
    if found is not None and found.origin is not None and not found.origin.endswith(".py"):
        return COMPILED
    if os.environ.get("NUC_PURE") == "1":
        return f"{PURE} (NUC_PURE=1)"
    reasons = (getattr(finder, "why_pure", None) for finder in sys.meta_path)
    reason = next(filter(None, reasons), "")
    return f"{PURE} ({reason})" if reason else PURE


def core_file() -> Path | None:
    """Return the file with the machine code of the core, None where it is Python. Those of modules call it."""
    found = find_spec("nuc_core__mypyc") if core() == COMPILED else None
    return None if found is None or found.origin is None else Path(found.origin)


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
