"""A leg under servo delta control on a line that somebody tampers with, and what must hold whatever he does.

The servos stand where the test puts them, and say so. The tamperer takes bytes away, puts bytes in at any instant,
turns bits over, holds replies back, keeps requests from being heard. What comes of it is judged where it counts: at the
positions from which the real motor action computes the goals that go out.

In the ten-bit form only reads measure: a move is answered too, with where the shaft is or with where it is sent (which
of them nobody has established, so lines are tampered with that do the one or the other), and a torque-off in ticks of
another size.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from emulated import TURN_NS, addresses

from drivers.aimotor import AiMotorBus, codec
from drivers.aimotor.answers import encode_10bit
from drivers.aimotor.forms import TEN_BIT_STEPS
from drivers.aimotor.readings import OVERSPEED
from drivers.aimotor.table import MOST_10BIT, TICK_DEG, V_MAX_DEG_S
from drivers.inprocess import InProcessPort
from drivers.port import wire_ns
from drivers.servo import ReplyStatus, ServoAddress
from nuc_engine.bout.run import prepare_bout
from nuc_engine.control.guard import AI_POSITIONS, Guard
from nuc_engine.control.tasks.board import Board, Drive
from nuc_engine.control.tasks.motor_action import MotorAction
from nuc_engine.model.store import Store

OK = int(ReplyStatus.OK)
BAUD, FAR = 57_600, 10**15
BYTE_NS = wire_ns(1, BAUD)
COUNT = 4
DELTAS = (7.0, -9.0, 12.0, -5.0)
TICKS_PER_NS = V_MAX_DEG_S / TICK_DEG * 1e-9
START = (100, 101, 103, 102)
# Two of them differ in both bytes.
START_10BIT = (383, 384, 390, 380)


@dataclass(frozen=True)
class Tamper:
    """What is done to one exchange: whether its request is heard, which bytes of its reply are lost (bit mask), which
    bit of it is turned over (-1: none), how long it is held back, and bytes put in, with how much later than the reply
    would have begun.
    """

    deaf: bool = False
    lost: int = 0
    flip: int = -1
    late_ns: int = 0
    inserted: tuple[tuple[int, bytes], ...] = ()

    @property
    def any(self) -> bool:
        return self != Tamper()


@dataclass
class Exchange:
    """One request as the line saw it: when it began, where the servo stood, whether it was tampered with."""

    begin_ns: int
    truth: int
    tampered: bool


@dataclass
class Line:
    """Servos, and a tamperer between them and the host; `tampers` are used up one per request, `always` go on.

    `exchanges` are those in which a servo is asked where it is.
    """

    truth: list[int] = field(default_factory=lambda: list(START))
    tampers: list[Tamper] = field(default_factory=list)
    always: dict[int, Tamper] = field(default_factory=dict)
    exchanges: list[list[Exchange]] = field(default_factory=lambda: [[] for _ in range(COUNT)])
    foreign: list[int] = field(default_factory=list)
    sends: list[tuple[int, int]] = field(default_factory=list)
    free_ns: int = 0

    def connect(self, line):
        self.line = line

    def receive(self, data, now_ns):
        start_ns = max(now_ns, self.free_ns)
        self.free_ns = end_ns = start_ns + wire_ns(len(data), BAUD)
        ((_, request),) = codec.RequestParser().feed(data)
        if request.op is codec.Op.SYNC_SEND:
            self.sends += enumerate(request.payload)
            return
        k = request.bus_id
        if request.op in (codec.Op.POSITION_SEND, codec.Op.MOVE_10BIT):
            self.sends.append((k, request.value))
        tamper = self.tampers.pop(0) if self.tampers else self.always.get(k, Tamper())
        if self.measures(request.op):
            self.exchanges[k].append(Exchange(start_ns, self.truth[k], tamper.any))
        self.answer(request, tamper, end_ns + TURN_NS)

    def measures(self, op):
        return True

    def reply(self, request):
        first = self.truth[request.bus_id] if request.op is codec.Op.PASSIVE else 10
        return bytes((first, self.truth[request.bus_id]))

    def answer(self, request, tamper, start_ns):
        reply = bytearray(self.reply(request))
        if tamper.flip >= 0:
            reply[tamper.flip // 8] ^= 1 << tamper.flip % 8
        kept = bytes(byte for k, byte in enumerate(reply) if not tamper.lost >> k & 1)
        chunks = [] if tamper.deaf else [(tamper.late_ns, kept, tamper.late_ns != 0)]
        chunks += [(delay_ns, data, True) for delay_ns, data in tamper.inserted]
        for delay_ns, data, foreign in sorted(chunks, key=lambda chunk: chunk[0]):
            self.put(data, start_ns + delay_ns, foreign=foreign)

    def put(self, data, at_ns, *, foreign=True):
        """Let bytes come in; foreign ones are no answer to what was asked when they come."""
        begin_ns = max(at_ns, self.line._free_ns)
        if foreign:
            self.foreign += [begin_ns + wire_ns(k + 1, BAUD) for k in range(len(data))]
        self.line.deliver(data, at_ns)


@dataclass
class TenBitLine(Line):
    """wCKs that are moved and asked in ten bits, and answer a move with where they are."""

    truth: list[int] = field(default_factory=lambda: list(START_10BIT))

    def measures(self, op):
        return op is codec.Op.READ_10BIT

    def reply(self, request):
        truth = self.truth[request.bus_id]
        if request.op is codec.Op.PASSIVE:
            return bytes((round(truth / TEN_BIT_STEPS),)) * 2
        return encode_10bit(self.answer_to_move(request) if request.op is codec.Op.MOVE_10BIT else truth)

    def answer_to_move(self, request):
        return self.truth[request.bus_id]


class GoalLine(TenBitLine):
    """wCKs that answer a move with where they are sent."""

    def answer_to_move(self, request):
        return request.value


@cache
def plan():
    return prepare_bout("lin_roach", None).plan


class Loop:
    """A bus on such a line, the real motor action in front of it, and the judge."""

    def __init__(self, bus_class=AiMotorBus, line_class=None, *, ten_bit=False, **form):
        self.servos = (line_class or (TenBitLine if ten_bit else Line))()
        self.ten_bit = ten_bit
        self.start = tuple(self.servos.truth)
        self.ticks_per_ns = TICKS_PER_NS * (TEN_BIT_STEPS if ten_bit else 1)
        self.positions = (0, MOST_10BIT) if ten_bit else AI_POSITIONS
        self.port = InProcessPort(self.servos, BAUD)
        servos = [ServoAddress(k, f"wck{k}") for k in range(COUNT)] if ten_bit else addresses(*range(COUNT))
        self.bus = bus_class(self.port, servos, baud=BAUD, ten_bit=ten_bit, **form)
        store = Store(plan())
        for write in plan().initial:
            store.write(write.hdso, write.values)
        self.board = Board(plan(), lambda *event: None)
        self.board.drives = [Drive.MUSCLE] * COUNT
        self.board.deltas = list(DELTAS)
        self.dirs = [motor.dir for motor in plan().motors]
        guard = Guard([None] * COUNT, [self.positions] * COUNT)
        self.action = MotorAction(plan(), store, self.board, self.bus, guard)
        self.now_ns = 0
        # Per servo since the last true belief: when that was, replies believed, how far the shaft has turned.
        self.true_ns, self.believed, self.turned = [0] * COUNT, [0] * COUNT, [0] * COUNT
        self.fast = [False] * COUNT
        self.wrong_goals = self.worst = 0
        self.cycle()
        self.cycle()

    def turn(self, k, ticks):
        """Turn a shaft."""
        self.servos.truth[k] += ticks
        self.turned[k] += abs(ticks)

    def cycle(self, tampers=()):
        """Run one cycle of the engine, tampering with its exchanges, and judge it."""
        servos, board, bus = self.servos, self.board, self.bus
        servos.tampers = list(tampers)
        servos.sends.clear()
        stamps, positions = bus.stamp_ns[:], bus.position_raw[:]
        measured, status = board.position_raw[:], board.status[:]
        self.action.start(self.now_ns)
        self.now_ns = bus.run_until(FAR)
        servos.tampers = []
        self.action.complete()
        self.judge_goals(measured, status)
        self.judge_beliefs(stamps, positions)

    def let_go(self, k, story):
        """Let one servo go limp for some cycles, each with its tampers; the others are driven."""
        self.board.drives[k] = Drive.LIMP
        for tampers in story:
            self.cycle(tampers)
        self.board.drives[k] = Drive.MUSCLE

    def torque_off(self, tampers=()):
        """Take the torque off, tampering with that, and judge it."""
        self.servos.tampers = list(tampers)
        self.servos.sends.clear()
        stamps, positions = self.bus.stamp_ns[:], self.bus.position_raw[:]
        self.bus.torque_off(self.now_ns)
        self.now_ns = self.bus.run_until(FAR)
        self.servos.tampers = []
        assert self.servos.sends == []
        if self.ten_bit:
            assert (self.bus.stamp_ns, self.bus.position_raw) == (stamps, positions)
        else:
            self.judge_beliefs(stamps, positions, limp=True)

    def judge_goals(self, measured, status):
        """Goals come from what was believed of a servo, and only where the last exchange with it was good."""
        for k, goal in self.servos.sends:
            assert status[k] == OK
            assert self.board.drives[k] is Drive.MUSCLE
            low, high = self.positions
            assert goal == min(max(measured[k] + self.dirs[k] * round(DELTAS[k]), low), high)
        assert len({k for k, _ in self.servos.sends}) == len(self.servos.sends)

    def judge_beliefs(self, stamps, positions, *, limp=False):
        bus = self.bus
        for k in range(COUNT):
            # A servo that let go has confirmed that, also where its position does not count yet.
            if bus.stamp_ns[k] == stamps[k] and (bus.status[k] != OK or limp):
                assert bus.position_raw[k] == positions[k]
                continue
            # A position can be believed of a servo that did not confirm that it let go only where that is asked apart.
            assert bus.status[k] == OK or (self.ten_bit and self.board.drives[k] is Drive.LIMP)
            assert bus.stamp_ns[k] > stamps[k]
            exchanges = self.servos.exchanges[k]
            wrong = abs(bus.position_raw[k] - exchanges[-1].truth)
            if not wrong:
                self.true_ns[k], self.believed[k], self.turned[k] = bus.stamp_ns[k], 0, 0
                self.fast[k] = False
                continue
            self.wrong_goals += 1
            self.worst = max(self.worst, wrong)
            # What nobody tampered with is believed as it was said.
            assert self.tampered(k)
            self.believed[k] += 1
            reach = self.ticks_per_ns * (bus.stamp_ns[k] - self.true_ns[k]) + self.believed[k] + self.turned[k]
            if wrong > reach and not self.fast[k]:
                # A shaft may be half as fast again if two replies in a row say so.
                assert self.tampered(k, -2)
                self.fast[k] = True
            assert wrong <= reach + (OVERSPEED - 1) * self.ticks_per_ns * (bus.stamp_ns[k] - self.true_ns[k])

    def tampered(self, k, index=-1):
        """Say whether somebody had his hands in an exchange with a servo, or something foreign came during it."""
        exchanges = self.servos.exchanges[k]
        exchange = exchanges[index]
        end_ns = self.bus.stamp_ns[k] if index == -1 else exchanges[index + 1].begin_ns
        return exchange.tampered or any(exchange.begin_ns < at_ns <= end_ns for at_ns in self.servos.foreign)
