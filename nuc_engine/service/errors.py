"""What keeps the service from being started, or going on."""

from __future__ import annotations


class ServiceError(Exception):
    """Something the service cannot be started or kept up with; the message says what."""
