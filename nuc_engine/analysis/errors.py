"""What can go wrong in reading and judging bouts."""

from __future__ import annotations


class AnalysisError(Exception):
    """Root of this package's errors: what is wrong with the data, what was expected, what to do."""


class BoutError(AnalysisError):
    """A data directory cannot be read: a file is missing, torn in the middle or of another model."""
