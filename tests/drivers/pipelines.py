"""Pipelined buses for tests: in front of emulated servos, and of servos whose replies the test times."""

import numpy as np
from emulated import REPLY_NS, REQUEST_NS, TURN_NS, addresses, rig

from drivers.aimotor import AiMotorBus, codec
from drivers.aimotor.pipelined import GOOD_CYCLES
from drivers.faults import FaultLayer, LineFaults
from drivers.inprocess import InProcessPort
from drivers.port import wire_ns
from drivers.servo import ReplyStatus

OK, MISSED, IMPLAUSIBLE = ReplyStatus.OK, ReplyStatus.MISSED, ReplyStatus.IMPLAUSIBLE
BAUD, FAR = 57_600, 10**15
BYTE_NS = wire_ns(1, BAUD)
PIPELINE = {"pipeline": True}
# Four requests without a gap, and the last one's turnaround and reply.
CYCLE_NS = 4 * REQUEST_NS + TURN_NS + REPLY_NS
# Near enough to each other that a servo could have gone where its neighbour is.
TRUTH = (100, 101, 103, 102)


def cycle(bus, now_ns, goals=None):
    bus.start(now_ns, goals or [50 if status == OK else -1 for status in bus.status])
    return bus.run_until(FAR)


def warm_up(bus, now_ns=0):
    """Make as many good cycles one by one as it takes."""
    for _ in range(GOOD_CYCLES):
        now_ns = cycle(bus, now_ns)
    return now_ns


def at_bytes(bus, port, now_ns):
    """As on a real line: at the timeouts, and whenever a byte makes the descriptor readable."""
    while not bus.proceed(now_ns):
        now_ns = min(bus.wake_ns, port.ready_ns(1))
    return now_ns


def faulty_rig(seed=1, **options):
    layer = FaultLayer(LineFaults(), np.random.default_rng(seed))
    bus, emulator, plant = rig(faults=layer, bus_options=PIPELINE, **options)
    plant.angles = [raw * 0.654 for raw in (40, 90, 140, 220)]
    return bus, emulator, plant, layer


class Crowd:
    """Servos on one line whose replies the test times: `plan[n]` gives request n's (delay, bytes), None: no answer.

    Replies that overlap meet on the wire: an idle line is high, so of bits sent at once the zeros win.
    """

    def __init__(self, truth=TRUTH):
        self.truth = truth
        self.plan = {}
        self.count = 0
        self.asked = []
        self._free_ns = 0

    def connect(self, line):
        self._line = line

    def receive(self, data, now_ns):
        start_ns = max(now_ns, self._free_ns)
        self._free_ns = start_ns + wire_ns(len(data), BAUD)
        ((_, request),) = codec.RequestParser().feed(data)
        self.asked.append((start_ns, request))
        reply = bytes((10, self.truth[request.bus_id]))
        delay_ns, reply = self.plan.get(self.count, lambda reply: (0, reply))(reply)
        self.count += 1
        self._line.collide(reply, self._free_ns + TURN_NS + delay_ns)


def crowd(truth=TRUTH, wrap=lambda port: port):
    servos = Crowd(truth)
    port = InProcessPort(servos, BAUD)
    bus = AiMotorBus(wrap(port), addresses(*range(len(truth))), baud=BAUD, pipeline=True)
    return bus, servos, port
