"""A bout on the virtual clock that goes on as lines say: slower, cycle by cycle, or not at all for a while.

Lines are JSON: {"speed": 0.1} (of real time), {"pause": true}, {"step": 3} (cycles, then a pause), {"end": true}. It
begins with a pause, and ends with its input. Every cycle is written to a file as a daemon's are
(`nuc_engine.daemon.cyclering`), with the foot of the leg; once {"seen": 400} has said how many records were read, it
waits for its reader rather than write over what was not.
"""

from __future__ import annotations

import json
import mmap
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from drivers.units import NS_PER_S
from nuc_engine.daemon.cyclering import BYTES, CycleRing

SLOWEST, FASTEST = 0.001, 100.0
MOST_STEPS = 100_000
BEHIND_S = 0.1
"""What was held up for longer goes on from there: nothing is caught up with."""

AHEAD = 1024
"""Records that may wait for a reader who says what was seen: fewer than the file holds of any leg."""

Command = dict[str, Any]
END: Command = {"end": True}


class Steering:
    """One bout's. `put` takes records; `take` waits so many seconds, or without end, for the next command."""

    def __init__(
        self,
        ring: CycleRing,
        take: Callable[[float | None], Command | None],
        now_s: Callable[[], float],
    ) -> None:
        self._ring, self._take, self._now_s = ring, take, now_s
        self._speed = 0.0
        self._steps = 0
        self._from_ns, self._from_s = 0, 0.0
        self._written = 0
        self._seen: int | None = None

    def begin(self, name: str, columns: Sequence[tuple[str, str, str]]) -> None:
        """Hear what the numbers of each record are."""
        self._ring.begin(name, columns)

    def cycle(self, now_ns: int, values: Sequence[int | float]) -> None:
        """Take a record, and return when the next cycle may begin. Raises KeyboardInterrupt where it is to end."""
        self._ring.put(values)
        self._written += 1
        while not self._steps or self._ahead:
            command = self._take(self._wait_s(now_ns))
            if command is None:
                return
            self._obey(command, now_ns)
        self._steps -= 1

    def _wait_s(self, now_ns: int) -> float | None:
        if not self._speed or self._ahead:
            return None
        due_s = self._from_s + (now_ns - self._from_ns) / NS_PER_S / self._speed
        now_s = self._now_s()
        if now_s - due_s > BEHIND_S:
            self._from_ns, self._from_s = now_ns, now_s
        return max(0.0, due_s - now_s)

    @property
    def _ahead(self) -> bool:
        return self._seen is not None and self._written - self._seen >= AHEAD

    def _obey(self, command: Command, now_ns: int) -> None:
        match command:
            case {"end": True}:
                raise KeyboardInterrupt
            case {"speed": int() | float() as speed} if SLOWEST <= speed <= FASTEST:
                self._speed, self._from_ns, self._from_s = float(speed), now_ns, self._now_s()
            case {"pause": True}:
                self._speed, self._steps = 0.0, 0
            case {"seen": int(records)}:
                self._seen = records
            case {"step": int(steps)} if 0 < steps <= MOST_STEPS:
                self._speed, self._steps = 0.0, steps
            case _:  # whoever steers checks what they send
                pass


def open_ring(path: Path) -> CycleRing:
    """Return the ring in a new file. Raises OSError."""
    with path.open("xb+") as file:
        file.truncate(BYTES)
        return CycleRing(mmap.mmap(file.fileno(), BYTES))


def commands_of(lines: Iterable[str]) -> Callable[[float | None], Command | None]:
    """Return what waits for the next command; lines are read by a thread, and their end is one too."""
    heard: queue.SimpleQueue[Command] = queue.SimpleQueue()

    def hear() -> None:
        for line in lines:
            try:
                command: object = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(command, dict):
                heard.put(cast(Command, command))
        heard.put(END)

    def take(seconds: float | None) -> Command | None:
        try:
            return heard.get(timeout=seconds)
        except queue.Empty:
            return None

    threading.Thread(target=hear, daemon=True).start()
    return take
