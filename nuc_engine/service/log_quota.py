"""How much of what clients are answered may be logged: so much of one client, and so much of all together.

Asking costs a client nothing, and a disk is what the data of the bout need first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BURST, PER_SECOND = 2000.0, 200.0
"""Entries of one client at once, and in each second on end: about 25 kB a second."""

OF_ALL = 4.0
"""What all clients may together, in shares of one."""

_ELEMENTS = 16


@dataclass(slots=True)
class LogQuota:
    """What may still be logged of a client's answers, in entries, `share` times that of one client."""

    left: float = BURST
    at_ns: int = 0
    share: float = 1.0

    def spend(self, cost: float, now_ns: int) -> bool:
        """Say whether so much may be logged now, and count it then."""
        gained = max(0, now_ns - self.at_ns) * PER_SECOND / 1e9
        self.left, self.at_ns = min(BURST * self.share, self.left + gained * self.share), now_ns
        if cost > self.left:
            return False
        self.left -= cost
        return True


def cost_of(held: Mapping[int, Sequence[Any]], said: Mapping[str, Any]) -> float:
    """Return what an answer costs: an entry for each name, and one for every 16 elements."""
    return len(held) + len(said) + sum(map(len, held.values())) / _ELEMENTS
