"""Whether the core of this process is compiled (`make fast`, `NUC_COMPILE=1 pip install .`) or Python as it stands."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

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
