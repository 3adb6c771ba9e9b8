"""The latch: torque is off and stays off until `arm`, and why. In the block, for all processes."""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

from nuc_engine.control.faults import FAULTS, OFF
from nuc_engine.daemon.block import Word

LATCH_REASONS = (*FAULTS, OFF)
"""Why the torque can be latched off, in the order in which the block names it by number."""


def latched(words: Sequence[int]) -> str:
    """Return why the torque is latched off; nothing where it is not."""
    return LATCH_REASONS[words[Word.LATCH_REASON]] if words[Word.LATCHED] else ""


def latch(words: MutableSequence[int] | memoryview[int], reason: str) -> None:
    """Latch for this reason. The first fault stays the reason: further ones follow from it, and `OFF` is no fault."""
    if latched(words) in ("", OFF) and latched(words) != reason:
        words[Word.LATCH_REASON], words[Word.LATCHED] = LATCH_REASONS.index(reason), 1
        words[Word.LATCH_COUNT] += 1
