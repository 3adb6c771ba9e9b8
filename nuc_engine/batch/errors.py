"""What keeps a sweep, a tuning or a test of changesets from running."""

from __future__ import annotations


class BulkRefused(Exception):
    """It cannot be run as it was asked for; the message has one line per reason."""
