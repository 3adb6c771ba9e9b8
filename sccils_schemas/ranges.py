"""Ranges of HDSOs: what their bounds leave, and how they are read for values that push (readings B15 and B20)."""

from __future__ import annotations

from dataclasses import replace

from sccils_schemas.documents import Range

Bounds = tuple[float | None, float | None]
"""Lowest and highest, inclusive; None where there is no such bound."""


def inverted(span: Range) -> bool:
    """Say whether nothing lies within a range, since its lower bound is above its upper one."""
    return span.lower is not None and span.upper is not None and span.lower > span.upper


def both_ways(span: Range) -> Range:
    """Return the range of a force command: without negative values it limits the size of the push, of either sign.

    The printed configurations give 0 to 254 for a value that the engine itself writes with a sign.
    """
    if span.type not in ("valid", "suggested") or span.lower is None or span.lower < 0 or inverted(span):
        return span
    return replace(span, lower=None if span.upper is None else -span.upper)


def narrowed(first: Bounds, second: Bounds) -> Bounds:
    """Return what lies within both."""
    lowers = [bound for bound in (first[0], second[0]) if bound is not None]
    uppers = [bound for bound in (first[1], second[1]) if bound is not None]
    return max(lowers, default=None), min(uppers, default=None)
