"""Nanoseconds: the one definition of what they are of a second."""

from __future__ import annotations

from typing import Final

NS_PER_S: Final = 1_000_000_000
S_PER_NS: Final = 1e-9
"""To multiply arrays with; the last bit is not that of a division by `NS_PER_S`."""
