"""Small file systems made for a test: they go with the process that made them, however that one ends.

One that stayed would be in the way of whoever clears temporary folders; a frozen one would hold them up for ever.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.realtime.ends import TIMEOUT_S

_KEEP = 'read _; fsfreeze -u "$0"; umount -l "$0"'
"""Waits for the end of its input, which comes with the end of whoever holds the other end."""


def root(*words: str) -> str:
    """Run a command of the system; return what it says. A machine that does not allow it skips the test."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


class Mount:
    """A file system in a file, mounted at `place`."""

    def __init__(self, image: Path, place: Path, options: str) -> None:
        self.place = place
        self._keeper: subprocess.Popen[bytes] | None = None
        root("mount", "-o", options, str(image), str(place))
        self._keeper = subprocess.Popen(
            ["sh", "-c", _KEEP, str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def remove(self) -> None:
        """Take it away, thawed. Twice is allowed. Raises TimeoutExpired where the system keeps it."""
        if self._keeper is not None:
            keeper, self._keeper = self._keeper, None
            try:
                keeper.communicate(timeout=TIMEOUT_S)
            except subprocess.TimeoutExpired:
                keeper.kill()
                keeper.wait()
                raise
