"""Framed buses in front of emulated servos on the virtual clock, and what they write to the line."""

from __future__ import annotations

import pytest
from framed_servos import MS, StillPlant

from drivers.bus import READ_ONLY
from drivers.dynamixel.emulator import EMULATION as DYNAMIXEL_SERVOS
from drivers.dynamixel.layout import LAYOUT as DYNAMIXEL
from drivers.feetech.emulator import EMULATION as FEETECH_SERVOS
from drivers.feetech.layout import LAYOUT as FEETECH
from drivers.framed.bus import FramedBus
from drivers.framed.packet import READ, SYNC_READ, SYNC_WRITE, WRITE
from drivers.inprocess import InProcessPort
from drivers.servo import Motion, ReplyStatus, ServoAddress

OK, MISSED, IMPLAUSIBLE, NONE = (
    ReplyStatus.OK,
    ReplyStatus.MISSED,
    ReplyStatus.IMPLAUSIBLE,
    ReplyStatus.NONE,
)
FAR = 10**15
START = 2000
V_MAX = 1000.0
TIMEOUT_NS = 4 * MS
FAMILIES = {"dynamixel": (DYNAMIXEL, DYNAMIXEL_SERVOS), "feetech": (FEETECH, FEETECH_SERVOS)}

both = pytest.mark.parametrize("family", FAMILIES)


class Spy:
    """A port that keeps what is written: `lose` of the next writes get lost, `change` is done to the others.

    `hear` is done to what is read.
    """

    def __init__(self, port):
        self._port = port
        self.written = b""
        self.lose = 0
        self.change = self.receive = None

    def __getattr__(self, name):
        return getattr(self._port, name)

    def write(self, data, now_ns):
        self.written += data
        if self.lose:
            self.lose -= 1
        else:
            self._port.write(data if self.change is None else self.change(data), now_ns)

    def read(self, now_ns):
        data = self._port.read(now_ns)
        return data if self.receive is None else self.receive(data)


class Leg:
    """A bus, its emulator and plant, and a clock; shafts stand at `START` ticks unless told otherwise."""

    def __init__(self, family="dynamixel", ids=(1, 2, 3, 4), *, model="", baud=1_000_000, addresses=None, **options):
        self.layout, emulation = FAMILIES[family]
        self.model = self.layout.kinds[model].model if model else self.layout.first.model
        emulator_options = {name: options.pop(name) for name in ("turnaround_ns", "rng", "faults") if name in options}
        self.ids = ids
        real = [ServoAddress(bus_id, f"servo {bus_id}", self.model.name) for bus_id in ids]
        self.plant = StillPlant(len(ids), self.model.tick_deg)
        self.emulator = emulation.power_up(self.layout, real, self.plant, baud=baud, **emulator_options)
        for k in range(len(ids)):
            self.plant.put(k, ticks=START)
        self.port = Spy(InProcessPort(self.emulator, baud))
        self.addresses = addresses or real
        self.baud = baud
        self.bus = self.another(**options)
        self.now_ns = 0

    def another(self, **options):
        """Return another bus on the same port."""
        options = {"timeout_ns": TIMEOUT_NS, "v_max_deg_s": V_MAX, **options}
        return FramedBus(self.port, self.addresses, self.layout, baud=self.baud, **options)

    def cycle(self, goals=READ_ONLY):
        """Run one cycle; return the statuses."""
        self.bus.start(self.now_ns, list(goals) if isinstance(goals, (list, tuple)) else [goals] * len(self.ids))
        self.now_ns = self.bus.run_until(FAR)
        return self.bus.status[:]

    def go(self, goals, most=60):
        """Send goals until everybody has been told to drive there; return how many cycles that took."""
        goals = list(goals) if isinstance(goals, (list, tuple)) else [goals] * len(self.ids)
        for count in range(most):
            self.cycle(goals)
            if all(goal < 0 or self.driven().get(k) == goal for k, goal in enumerate(goals)):
                return count + 1
        raise AssertionError(f"{self.driven()} after {most} cycles, expected {goals}; {self.bus.refusals}")

    def driven(self):
        """Return where each servo is driven to, of those that are."""
        where = {}
        for call in self.plant.calls:
            if call[0] == "release":
                where.pop(call[1], None)
            else:
                where[call[1]] = call[2]
        return where

    def release(self):
        self.bus.torque_off(self.now_ns)
        self.now_ns = self.bus.run_until(FAR)
        return self.bus.status[:]

    def requests(self):
        """Return the packets written since the last time."""
        written, self.port.written = self.port.written, b""
        parser = self.layout.dialect.parser(status=False)
        packets = [packet for _, packet in parser.feed(written)]
        assert parser.idle
        return packets

    def writes(self):
        """Return (id, register's name, value) of the writes since the last time, in order."""
        width = self.layout.dialect.address_bytes
        found = []
        for packet in self.requests():
            address = int.from_bytes(packet.params[:width], "little")
            if packet.instruction == WRITE:
                found.append((packet.bus_id, *self._written(address, packet.params[width:])))
            elif packet.instruction == SYNC_WRITE:
                size = int.from_bytes(packet.params[width : 2 * width], "little")
                for at in range(2 * width, len(packet.params), size + 1):
                    part = packet.params[at : at + size + 1]
                    found.append((part[0], *self._written(address, part[1:])))
        return found

    def _written(self, address, data):
        kind = self.layout.kinds[self.model.name]
        register = next(r for r in kind.table.all.values() if (r.address, r.size) == (address, len(data)))
        return register.name, register.decode(data)

    def reads_only(self):
        """Whether nothing was written to a register since the last time."""
        return all(packet.instruction in (READ, SYNC_READ, 0x8A) for packet in self.requests())

    def memory(self, k):
        return self.emulator.servos[k].memory

    def turn(self, k, ticks, n_m=0.0, a=0.0):
        self.plant.motions[k] = Motion(ticks * self.model.tick_deg, 0.0, n_m, a)
