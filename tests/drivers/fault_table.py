"""How many of the faults of a line a bus could notice, and how many it did.

An emulator keeps a `LineRecord` of what it did to each exchange; the bus counts what it noticed. What no receiver
can notice is a property of the wire: replies have no checksum, and the requests' 7-bit checksum does not cover bit 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from drivers.aimotor.emulation.injection import LineRecord
from drivers.bus import Bus


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
