"""What can be wrong with the servos on an emulated line, as state: which are powered, which are limp, which babble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from drivers.aimotor.codec import HEADER, MAX_ID, REPLY_BYTES
from drivers.errors import BusError


class ServoFaults:
    """State of `len(bus_ids)` servos, counted from 0; all is well at first.

    `tripped` servos have gone passive by themselves and obey no position send. `limit_a` is the current in A above
    which they do so after `patience_ns`; None: as their registers say, or never. `stuck` are the angle (degrees) and
    current (A) that servos go on reporting.
    """

    __slots__ = (
        "_ids",
        "_over_since",
        "_unplugged",
        "babbling",
        "limit_a",
        "overload_after_ns",
        "powered",
        "stuck",
        "tripped",
    )

    def __init__(self, bus_ids: Sequence[int]) -> None:
        """Take the ids the servos listen to."""
        self._ids = list(bus_ids)
        self._unplugged: set[int] = set()
        self._over_since: dict[int, int] = {}
        self.stuck: dict[int, tuple[float, float]] = {}
        self.babbling: set[int] = set()
        self.tripped: set[int] = set()
        self.limit_a: float | None = None
        self.overload_after_ns = 0
        self.powered = True

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def healthy(self) -> bool:
        """Whether every servo does what it should; a line with ids twice or changed is well too."""
        bad = self._unplugged or self.stuck or self.babbling or self.tripped
        return not bad and self.powered and self.limit_a is None and len(set(self._ids)) == len(self._ids)

    @property
    def noisy(self) -> bool:
        """Whether a servo with power talks without being asked."""
        return self.powered and bool(self.babbling - self._unplugged)

    def check(self, servo: int) -> None:
        """Raise `BusError` for a servo that is none."""
        if not 0 <= servo < len(self._ids):
            raise BusError(f"no servo {servo} on this line: expected 0 to {len(self._ids) - 1}")

    def powered_servos(self) -> tuple[int, ...]:
        """Return the servos that have power."""
        return tuple(k for k in range(len(self._ids)) if self.powered and k not in self._unplugged)

    def listeners(self, bus_id: int) -> tuple[int, ...]:
        """Return the servos with power that have this id."""
        return tuple(k for k in self.powered_servos() if self._ids[k] == bus_id)

    def id_of(self, servo: int) -> int:
        """Return the id the servo listens to now."""
        return self._ids[servo]

    def rename(self, servo: int, bus_id: int, highest: int = MAX_ID) -> None:
        """Let the servo listen to another id. Raises `BusError`."""
        self.check(servo)
        if not 0 <= bus_id <= highest:
            raise BusError(f"id {bus_id} does not fit the wire: expected 0 to {highest}")
        self._ids[servo] = bus_id

    def unplug(self, servo: int, *, out: bool) -> None:
        """Take the servo off the line, or put it back, powered up afresh. Raises `BusError`."""
        self.check(servo)
        if out:
            self._unplugged.add(servo)
        else:
            self._unplugged.discard(servo)
        self.recover(servo)

    def recover(self, servo: int) -> None:
        """Let a tripped servo obey again."""
        self.tripped.discard(servo)
        self._over_since.pop(servo, None)

    def set_overload(self, limit_a: float | None, patience_ns: int) -> None:
        """Let servos trip after `patience_ns` above `limit_a`, counted anew."""
        self.limit_a, self.overload_after_ns = limit_a, patience_ns
        self._over_since.clear()

    def overloaded(self, servo: int, current_a: float, now_ns: int, limit_a: float, patience_ns: int) -> bool:
        """Take a current at `now_ns`; True when it has been above the limit for too long."""
        if current_a <= limit_a:
            self._over_since.pop(servo, None)
            return False
        return now_ns - self._over_since.setdefault(servo, now_ns) >= patience_ns


@dataclass(slots=True)
class LineRecord:
    """What an emulated line did to exchanges of one request each.

    `visible`: no reply, or one that can be seen to be none (another length, a byte of 255). `late`: a good reply, by
    how many nanoseconds it was held back. `position`: a reply that is wrong in its position only, by how many ticks.
    `current`: wrong in its current. `command`: the servo obeyed something else than what was sent, and answered.
    `beside`: bytes came beside a request that was whole, and nothing more.
    """

    exchanges: int = 0
    visible: int = 0
    current: int = 0
    command: int = 0
    beside: int = 0
    late: Counter[int] = field(default_factory=Counter[int])
    position: Counter[int] = field(default_factory=Counter[int])

    @property
    def touched(self) -> int:
        """Exchanges that anything happened to."""
        return self.visible + self.current + self.command + self.beside + self.late.total() + self.position.total()

    def note(self, *, asked: bytes, heard: bytes, meant: bytes, sent: bytes, delay_ns: int) -> None:
        """Note one exchange: its request, what was heard of it, the reply that was `meant`, what left of it, how late.

        Nothing is meant by silence.
        """
        self.exchanges += 1
        request_touched = heard != asked
        clean = len(sent) == REPLY_BYTES and HEADER not in sent
        if not clean and (request_touched or sent != meant):
            self.visible += 1
        elif clean and delay_ns:
            self.late[delay_ns] += 1
        elif clean and sent[1] != meant[1]:
            self.position[abs(sent[1] - meant[1])] += 1
        elif clean and asked not in heard:
            self.command += 1
        elif clean and request_touched and sent == meant:
            self.beside += 1
        elif clean and sent != meant:
            self.current += 1
