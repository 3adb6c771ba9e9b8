"""How many of the faults of a line a bus could notice, and how many it did.

An emulator knows what it did to each exchange and keeps a `LineRecord`; the bus counts what it noticed. `fault_table`
puts the two side by side. What no receiver can notice is a property of the wire: replies have no checksum, and the
requests' 7-bit checksum does not cover bit 7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from drivers.aimotor.codec import HEADER, REPLY_BYTES
from drivers.bus import Bus


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


@dataclass(frozen=True, slots=True)
class FaultTable:
    """Faults of a line in numbers of exchanges; `injected` in numbers of faults, by kind.

    `detectable` exchanges could be told to be wrong, `undetectable` ones could not; of `harmless` ones the reply was a
    little late, or a byte stood beside the request.
    `missed`, `implausible` and `stray_bytes` are the bus's. `unnoticed`: detectable ones the bus has no count for. A
    fault may be counted more than once, since its remains may spoil the next exchange too.
    """

    exchanges: int
    injected: Mapping[str, int]
    detectable: int
    undetectable: int
    harmless: int
    missed: int
    implausible: int
    stray_bytes: int

    @property
    def detected(self) -> int:
        """Exchanges the bus did not believe."""
        return self.missed + self.implausible

    @property
    def unnoticed(self) -> int:
        """Detectable faults that show in no count of the bus."""
        return max(0, self.detectable - self.detected - self.stray_bytes)


def fault_table(
    record: LineRecord, injected: Mapping[str, int], bus: Bus, *, reach_ticks: int, margin_ns: int
) -> FaultTable:
    """Compare what an emulator did with what the bus noticed.

    `reach_ticks` is how far a shaft is believed to get between two replies (v_max T + 1); a position that is wrong by
    less passes. `margin_ns` is how much later than usual a reply may come before it is missed.
    """
    far = sum(count for ticks, count in record.position.items() if ticks > reach_ticks)
    too_late = sum(count for delay_ns, count in record.late.items() if delay_ns > margin_ns)
    return FaultTable(
        exchanges=record.exchanges,
        injected=dict(injected),
        detectable=record.visible + far + too_late,
        undetectable=record.current + record.command + record.position.total() - far,
        harmless=record.beside + record.late.total() - too_late,
        missed=bus.missed,
        implausible=bus.implausible,
        stray_bytes=bus.stray_bytes,
    )
