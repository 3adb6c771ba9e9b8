"""The servos' end of a half-duplex wire: when they talk, and what becomes of what they say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from drivers.errors import BusError
from drivers.injection import FaultLayer, LineFaults
from drivers.inprocess import PacedLine
from drivers.port import wire_ns

_LONGEST_NOISE = 64


def _nowhere(data: bytes, start_ns: int) -> None:
    """Where replies go until a line is connected."""


class ServosWire:
    """Puts replies on the line and knows who meets whom there; `collisions` counts what was lost so.

    `jitter_ns` adds 0 to that many nanoseconds, uniformly drawn from `rng`, to each turnaround.
    """

    __slots__ = (
        "_deliver",
        "_faults",
        "_from_ns",
        "_jitter_ns",
        "_noise_ns",
        "_rng",
        "_turnaround_ns",
        "_until_ns",
        "baud",
        "collisions",
        "noisy",
    )

    def __init__(
        self,
        baud: int,
        turnaround_ns: int,
        jitter_ns: int,
        rng: np.random.Generator | None,
        faults: FaultLayer | None,
    ) -> None:
        """Start silent. Raises `BusError` for jitter without a generator."""
        if jitter_ns and rng is None:
            raise BusError("turnaround jitter needs a generator: pass rng")
        self.baud = baud
        self.collisions = 0
        # Whether somebody babbles.
        self.noisy = False
        self._turnaround_ns, self._jitter_ns, self._rng, self._faults = turnaround_ns, jitter_ns, rng, faults
        # From when and until when servos talk; until when noise was made.
        self._from_ns = self._until_ns = self._noise_ns = 0
        self._deliver: Callable[[bytes, int], None] = _nowhere

    @property
    def can_babble(self) -> bool:
        """Whether there is a generator to draw noise from."""
        return self._rng is not None

    @property
    def injected(self) -> dict[str, int]:
        """What the line's faults did so far, by kind; empty for a line that never had any."""
        return dict(self._faults.injected) if self._faults is not None else {}

    def connect(self, line: PacedLine) -> None:
        """Send into `line` from now on."""
        self._deliver = line.deliver

    def set_faults(self, faults: LineFaults) -> None:
        """Let the line fail like this from now on. Raises `BusError` without a generator."""
        if self._faults is not None:
            self._faults.faults = faults
        elif self._rng is not None:
            self._faults = FaultLayer(faults, self._rng.spawn(1)[0])
        else:
            raise BusError("faults need a generator: pass rng")

    def garbled(self, data: bytes) -> bytes:
        """Return what the line's faults leave of a message of the host."""
        return data if self._faults is None else self._faults.garble(data)

    def busy_between(self, begin_ns: int, end_ns: int) -> bool:
        """Say whether servos talk at some time between these two."""
        return begin_ns < self._until_ns and end_ns > self._from_ns

    def without_collision(self, data: bytes, start_ns: int) -> tuple[bytes, int]:
        """Return what of the host's bytes does not meet a servo's, and when it starts."""
        if not self.busy_between(start_ns, start_ns + wire_ns(len(data), self.baud)):
            return data, start_ns
        self.collisions += 1
        lost = min(len(data), -(-(self._until_ns - start_ns) // wire_ns(1, self.baud)))
        return data[lost:], start_ns + wire_ns(lost, self.baud)

    def send_status(self, message: bytes, delay_ns: int, after_ns: int, now_ns: int) -> int:
        """Send a status that leaves so long after an instant not before `now_ns`; return when it is over."""
        start_ns = after_ns + delay_ns + self._turnaround_ns + self._jitter()
        if self.noisy:
            self.collisions += 1
            return start_ns + wire_ns(len(message), self.baud)
        sent = message
        if self._faults is not None:
            start_ns += self._faults.delay_ns()
            sent = self._faults.babble() + self._faults.garble(message)
        self._deliver(sent, start_ns)
        end_ns = start_ns + wire_ns(max(len(sent), len(message)), self.baud)
        if self._until_ns <= now_ns:
            self._from_ns = start_ns
        self._until_ns = max(self._until_ns, end_ns)
        return end_ns

    def make_noise(self, now_ns: int, until_ns: int) -> None:
        """Babble from `now_ns` to `until_ns`, where nobody did yet."""
        if not self.noisy or self._rng is None:
            return
        start_ns, byte_ns = max(now_ns, self._noise_ns), wire_ns(1, self.baud)
        while start_ns < until_ns:
            count = min(-(-(until_ns - start_ns) // byte_ns), _LONGEST_NOISE)
            self._deliver(self._rng.bytes(count), start_ns)
            self._noise_ns = start_ns = start_ns + wire_ns(count, self.baud)

    def _jitter(self) -> int:
        if not self._jitter_ns or self._rng is None:
            return 0
        return int(self._rng.integers(0, self._jitter_ns, endpoint=True))
