"""Faults of a serial line, drawn from a seeded stream: what an emulator does to the bytes when told to."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from drivers.errors import BusUrlError

if TYPE_CHECKING:
    # Needed by emulators only, and slow to load.
    import numpy as np

_PROBABILITIES = ("drop", "flip", "insert", "truncate", "delay", "babble")


@dataclass(frozen=True, slots=True)
class LineFaults:
    """How often a line fails, as probabilities 0 to 1 per message; requests and replies are messages alike.

    `drop` loses the message, `flip` turns one bit over, `insert` adds one random byte, `truncate` loses the end,
    `delay` holds a reply back by `delay_us` microseconds, `babble` puts 1 to 4 random bytes before a reply.
    """

    drop: float = 0.0
    flip: float = 0.0
    insert: float = 0.0
    truncate: float = 0.0
    delay: float = 0.0
    babble: float = 0.0
    delay_us: float = 2000.0

    def __post_init__(self) -> None:
        """Check every number. Raises `BusUrlError` naming the one out of range."""
        for name in _PROBABILITIES:
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise BusUrlError(f"fault {name}={value} is not a probability: expected 0 to 1")
        if not 0.0 <= self.delay_us <= 1e9:
            raise BusUrlError(f"fault delay_us={self.delay_us}: expected 0 to 1e9 microseconds")

    @property
    def any(self) -> bool:
        """Whether anything can happen at all."""
        return any(getattr(self, name) > 0.0 for name in _PROBABILITIES)


FAULT_OPTIONS = tuple(field.name for field in fields(LineFaults))


class FaultLayer:
    """Does to messages what `faults` says at the time; the same calls on the same seed do the same.

    `injected` counts what was really done, by the names of the faults.
    """

    __slots__ = ("_rng", "faults", "injected")

    def __init__(self, faults: LineFaults, rng: np.random.Generator) -> None:
        """Draw from `rng`, which nothing else uses."""
        self.faults = faults
        self.injected: dict[str, int] = dict.fromkeys(_PROBABILITIES, 0)
        self._rng = rng

    def garble(self, message: bytes) -> bytes:
        """Return what is left of `message`, perhaps nothing."""
        faults, rng = self.faults, self._rng
        if not message:
            return message
        drop, flip, insert, truncate = rng.random(4)
        if drop < faults.drop:
            self.injected["drop"] += 1
            return b""
        data = bytearray(message)
        if flip < faults.flip:
            self.injected["flip"] += 1
            data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        if insert < faults.insert:
            self.injected["insert"] += 1
            data.insert(int(rng.integers(len(data) + 1)), int(rng.integers(256)))
        if truncate < faults.truncate:
            self.injected["truncate"] += 1
            del data[int(rng.integers(len(data))) :]
        return bytes(data)

    def delay_ns(self) -> int:
        """Return how much later than usual the next reply starts."""
        if self._rng.random() >= self.faults.delay:
            return 0
        self.injected["delay"] += 1
        return int(self.faults.delay_us * 1000)

    def babble(self) -> bytes:
        """Return the bytes that come before the next reply, mostly none."""
        if self._rng.random() >= self.faults.babble:
            return b""
        self.injected["babble"] += 1
        return self._rng.bytes(int(self._rng.integers(1, 5)))
