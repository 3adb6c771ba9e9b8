"""AI motors on a line that may be late, the engine's motor action in front of them, and the judge of what they hear.

Each request is held up on its way, its answer is, or either is lost: as much as the test says. The line keeps the order
of what passes it, as every line does. What counts is judged where it counts: when a servo hears a goal, that goal must
have been worked out from where this very servo was, not long ago.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from drivers.aimotor import AiMotorBus, codec
from drivers.inprocess import InProcessPort
from drivers.port import wire_ns
from drivers.servo import ReplyStatus, ServoAddress
from nuc_engine.bout.run import prepare_bout
from nuc_engine.control.guard import AI_POSITIONS, Guard
from nuc_engine.control.tasks.board import Board, Drive
from nuc_engine.control.tasks.motor_action import MotorAction
from nuc_engine.model.store import Store

MS, FAR, BAUD = 1_000_000, 10**15, 57_600
TURN_NS = 230_000
EXCHANGE_NS = wire_ns(6, BAUD) + TURN_NS
OK = int(ReplyStatus.OK)
DELTAS = (7, -9, 12, -5)
TICKS_PER_NS = 600 / 0.654 * 1e-9


@dataclass(frozen=True)
class Fate:
    """What becomes of one request and its answer: held up on the way there and back, or lost there or back."""

    there_ns: int = 0
    back_ns: int = 0
    lost: bool = False
    unanswered: bool = False


CYCLE_NS = 4 * EXCHANGE_NS
FINE = Fate()
LOST = (Fate(lost=True), Fate(unanswered=True))
HELD = tuple(Fate(back_ns=cycles * CYCLE_NS) for cycles in (1, 2, 3))


@dataclass
class ReceivedGoal:
    """A goal that a servo heard."""

    at_ns: int
    servo: int
    goal: int


class LateLine:
    """Servos behind such a line (a `drivers.inprocess.WireEnd`); `where(k, t)` is the raw position of servo k.

    In `holds`, from one instant to another, nothing passes in either direction.
    """

    def __init__(self, fates: Iterable[Fate], where: Callable[[int, int], int]) -> None:
        self._fates, self._where = iter(fates), where
        self.holds: list[tuple[int, int]] = []
        self._there_ns = self._back_ns = 0
        self.goals: list[ReceivedGoal] = []
        self.said: list[list[tuple[int, int]]] = [[] for _ in range(4)]
        self.asked = 0

    def connect(self, line):
        self.line = line

    def receive(self, data, now_ns):
        ((_, request),) = codec.RequestParser().feed(data)
        fate = next(self._fates, FINE)
        self.asked += 1
        wire = wire_ns(len(data), BAUD)
        received_ns = self._pass(max(now_ns + fate.there_ns, self._there_ns)) + wire
        self._there_ns = received_ns
        if fate.lost:
            return
        k = request.bus_id
        position = self._where(k, received_ns)
        if request.op is codec.Op.POSITION_SEND:
            self.goals.append(ReceivedGoal(received_ns, k, request.value))
        self.said[k].append((received_ns, position))
        if not fate.unanswered:
            self._back_ns = self._pass(max(self._back_ns, received_ns + TURN_NS + fate.back_ns))
            self.line.deliver(bytes((position if request.op is codec.Op.PASSIVE else 10, position)), self._back_ns)

    def _pass(self, at_ns):
        for begin_ns, end_ns in self.holds:
            at_ns = end_ns if begin_ns <= at_ns < end_ns else at_ns
        return at_ns


@cache
def plan():
    return prepare_bout("lin_roach", None).plan


class LateLoop:
    """A bus on such a line and the engine's motor action; `oldest_ns` is how old what a goal comes from may be."""

    def __init__(self, fates, where, *, oldest_ns, late_ns, limit=None, bus_class=AiMotorBus, warm=2):
        self.line = LateLine([*[FINE] * 4 * warm, *fates], where)
        servos = [ServoAddress(k, f"m{k}", "701") for k in range(4)]
        self.bus = bus_class(InProcessPort(self.line, BAUD), servos, baud=BAUD, late_ns=late_ns)
        store = Store(plan())
        for write in plan().initial:
            store.write(write.hdso, write.values)
        self.board = Board(plan(), lambda *event: None)
        self.board.drives = [Drive.MUSCLE] * 4
        self.board.deltas = [float(delta) for delta in DELTAS]
        self.action = MotorAction(plan(), store, self.board, self.bus, Guard([limit] * 4, [AI_POSITIONS] * 4))
        self._dirs = [motor.dir for motor in plan().motors]
        self._limit, self._oldest_ns = limit, oldest_ns
        self.now_ns, self._judged, self.driven = 0, 0, 0
        for _ in range(warm):
            self.cycle()

    def cycle(self):
        """Run one cycle of the engine and judge the goals that were heard."""
        self.action.start(self.now_ns)
        self.now_ns = self.bus.run_until(FAR)
        self.action.complete()
        for goal in self.line.goals[self._judged :]:
            self.judge(goal)
        self._judged = len(self.line.goals)

    def judge(self, goal):
        """The servo was where its goal was worked out from, not long before it heard the goal."""
        delta = DELTAS[goal.servo] * self._dirs[goal.servo]
        if self._limit is not None:
            delta = min(max(delta, -self._limit), self._limit)
        own = [at for at, position in self.line.said[goal.servo] if position + delta == goal.goal and at < goal.at_ns]
        assert own, f"{goal}: servo said {self.line.said[goal.servo][-4:]}"
        assert goal.at_ns - own[-1] <= self._oldest_ns, f"{goal}: it was there {goal.at_ns - own[-1]} ns ago"
        self.driven += 1


LATE_NS = 40 * MS
"""D of the random sequences."""

OLDEST_NS = LATE_NS + 12 * EXCHANGE_NS
"""How old what a goal comes from may be when it is heard: the goal itself may have been held up for as long as D."""

HELD_MS = 33
"""For how long the line is held up in a sequence, in all: a reply waits for all of it at the worst."""


def random_sequence(seed: int) -> LateLoop:
    """Play a line that is late, loses and is held up as a seed says, in front of shafts that turn."""
    rng = np.random.default_rng(seed)
    start, speed = rng.integers(60, 180, 4), rng.uniform(-0.6, 0.6, 4)

    def where(k, now_ns):
        phase = (start[k] + speed[k] * now_ns / MS) % 400
        return int(20 + min(phase, 400 - phase))

    slow, lossy = rng.choice([0.0, 0.1, 0.5], 2)
    fates = [
        Fate(int(there * MS), int(back * MS), lost=a < 0.05 * lossy, unanswered=b < 0.1 * lossy)
        for there, back, a, b in zip(
            *(rng.uniform(0.0, 2.0, (2, 200)) * (rng.random((2, 200)) < slow)), *rng.random((2, 200)), strict=True
        )
    ]
    loop = LateLoop(fates, where, oldest_ns=OLDEST_NS, late_ns=LATE_NS, limit=rng.choice([None, 20]))
    at_ns = loop.now_ns
    for share in rng.dirichlet([0.7] * 4)[: rng.integers(4)]:
        at_ns += int(rng.uniform(0, 12) * MS)
        loop.line.holds.append((at_ns, at_ns + int(share * HELD_MS * MS)))
        at_ns = loop.line.holds[-1][1]
    for _ in range(8):
        loop.cycle()
    return loop
