"""Counting the work of a piece of code: bytecodes executed, which no machine makes faster or slower."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def bytecodes(deed: Callable[[], object]) -> int:
    """Return how many bytecodes the project's own modules execute for a deed."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "call":
            if not frame.f_globals.get("__name__", "").startswith(("sccils_schemas", "nuc_engine")):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        deed()
    finally:
        sys.settrace(before)
    return count


def growth(deed: Callable[[int], Callable[[], object]], size: int) -> float:
    """Return how much more work the third `size` of something is than the second: 1 where work grows with size."""
    deed(size)()  # What is done once, and then kept, is done.
    one, two, three = (bytecodes(deed(times * size)) for times in (1, 2, 3))
    return (three - two) / (two - one)
