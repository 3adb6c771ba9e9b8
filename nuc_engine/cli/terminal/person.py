"""Who types: the name a daemon is told, and its logs keep."""

from __future__ import annotations

import os
import platform
import sys


def own_name() -> str:
    """Return USER@HOST."""
    return f"{_user()}@{platform.node()}"


def _user() -> str:
    if sys.platform == "win32":
        return os.environ.get("USERNAME", "somebody")
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
