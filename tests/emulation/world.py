"""A clock that only moves when it is read or waited on, a terminal whose host is a script, servos that answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from drivers.aimotor import FAMILY
from drivers.aimotor.emulation.emulator import AiMotorEmulator
from drivers.servo import Motion, ServoAddress
from nuc_engine.emulation.leg import WatchedPlant
from nuc_engine.emulation.line import ReplyLine
from nuc_engine.emulation.loop import EmulatorLoop
from nuc_engine.emulation.rawlog import RawLog

US, MS = 1_000, 1_000_000
TTY = 7
TURN_NS = 230 * US


class Plant:
    """Shafts that stand at tick 100; each millisecond of physics costs `cost_ns` of the clock."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.done_ns = 0
        self.cost_ns = 0
        self.calls: list[tuple[object, ...]] = []
        self.records: list[tuple[float, ...]] = []

    def advance(self, now_ns: int) -> None:
        steps = max(0, now_ns // MS - self.done_ns // MS)
        self.world.now_ns += steps * self.cost_ns
        self.done_ns = max(now_ns, self.done_ns)

    def command(self, servo: int, goal_deg: float, level: int) -> None:
        self.calls.append(("command", servo, round(goal_deg / 0.654), level))

    def drive(self, servo: int, goal_deg: float, stiffness_n_m_deg: float, limit_n_m: float) -> None:
        self.calls.append(("drive", servo, goal_deg, stiffness_n_m_deg, limit_n_m))

    def release(self, servo: int) -> None:
        self.calls.append(("release", servo))

    def sample(self, servo: int) -> tuple[float, float]:
        return 100 * 0.654, 0.0

    def motion(self, servo: int) -> Motion:
        return Motion(100 * 0.654, 0.0, 0.0, 0.0)

    def schedule(self, event: object) -> None:
        self.calls.append(("schedule", event))

    def take_records(self) -> list[tuple[float, ...]]:
        records, self.records = self.records, []
        return records


@dataclass
class World:
    """Time, and what the host does when. Reading the clock costs a microsecond, waiting oversleeps by ten."""

    now_ns: int = 0
    oversleep_ns: int = 10 * US
    script: list[tuple[int, bytes]] = field(default_factory=list)
    waiting: bytes = b""
    got: list[tuple[int, bytes]] = field(default_factory=list)
    room: int = 1 << 20
    plugged: bool = True
    waits: int = 0

    def now(self) -> int:
        self.now_ns += US
        return self.now_ns

    def wait(self, deadline_ns: int, descriptors: Sequence[int]) -> Sequence[int]:
        self.waits += 1
        self._write_what_is_due()
        if TTY in descriptors and not self.waiting and self.script and self.script[0][0] <= deadline_ns:
            self.now_ns = max(self.now_ns, self.script[0][0])
            self._write_what_is_due()
        if TTY in descriptors and self.waiting:
            return [TTY]
        if deadline_ns > self.now_ns:
            self.now_ns = deadline_ns + self.oversleep_ns
        return []

    def _write_what_is_due(self) -> None:
        while self.script and self.script[0][0] <= self.now_ns:
            self.waiting += self.script.pop(0)[1]

    def fileno(self) -> int:
        return TTY if self.plugged else -1

    def read(self, count: int) -> bytes:
        data, self.waiting = self.waiting[:count], self.waiting[count:]
        return data

    def write(self, data: bytes) -> int:
        if not self.plugged:
            return 0
        taken = data[: self.room]
        self.room -= len(taken)
        self.got.append((self.now_ns, taken))
        return len(taken)


@dataclass
class Bench:
    world: World
    plant: Plant
    loop: EmulatorLoop
    emulator: AiMotorEmulator

    def run_until(self, now_ns: int) -> None:
        while self.world.now_ns < now_ns:
            self.loop.turn()

    def host_got(self) -> list[bytes]:
        return [data for _, data in self.world.got]


def bench(
    *ids: int, baud: int = 57_600, log: RawLog | None = None, bytewise: bool = False, start_ns: int = 5 * MS
) -> Bench:
    """Return a loop over servos with these ids; plant time 0 is at 5 ms of the clock."""
    world = World(now_ns=start_ns)
    plant = Plant(world)
    servos = [ServoAddress(bus_id, f"motor{bus_id}", "701") for bus_id in ids or (0, 1)]
    line = ReplyLine(baud, start_ns, bytewise=bytewise)
    rng = np.random.default_rng(1)
    emulator = AiMotorEmulator(
        servos, WatchedPlant(plant, range(len(servos))), baud=baud, turnaround_ns=TURN_NS, rng=rng
    )
    emulator.connect(line)
    loop = EmulatorLoop(
        emulator, plant, world, line, baud=baud, start_ns=start_ns, now=world.now, wait=world.wait,
        ear=FAMILY.sniffer(), log=log,
    )  # fmt: skip
    return Bench(world, plant, loop, emulator)
