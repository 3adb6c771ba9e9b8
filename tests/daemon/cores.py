"""A core on paper: emulated servos, a clock that moves only when the core waits; guardian and service are played."""

from __future__ import annotations

import os
from dataclasses import replace

from nuc_engine.bout.run import open_leg, prepare_bout
from nuc_engine.daemon.block import OWNER_CORE, Block, Word
from nuc_engine.daemon.engine import WATCH_NS, Engine
from nuc_engine.daemon.latch import latch
from nuc_engine.daemon.launch import ServeOptions
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.wire import CoreCommand, Formats, RecordKind, pack
from nuc_engine.machine.locations import find_configuration

MS = 1_000_000
S = 1_000_000_000
START = 5 * S
"""Real clocks do not begin at 0."""


class PaperClock:
    """Moves when somebody waits, to the deadline; `on_wait` may do what other processes would do meanwhile.

    With a `cost_ns` it also moves by so much whenever it is read, as if what was done in between had taken time.
    """

    def __init__(self, start_ns: int = START) -> None:
        self._now_ns = start_ns
        self.on_wait = lambda now: None
        self.cost_ns = 0

    @property
    def now_ns(self):
        self._now_ns += self.cost_ns
        return self._now_ns

    @now_ns.setter
    def now_ns(self, now_ns):
        self._now_ns = now_ns

    def wait(self, deadline_ns, filenos):
        self._now_ns = max(self._now_ns, deadline_ns)
        self.on_wait(self._now_ns)
        return ()


class Tap:
    """A bus that writes down what is asked of it."""

    def __init__(self, bus, clock) -> None:
        self.__dict__.update(bus=bus, clock=clock, sent=[], offs=[])

    def __getattr__(self, name):
        return getattr(self.bus, name)

    def __setattr__(self, name, value):
        setattr(self.bus, name, value)

    def start(self, now_ns, goals):
        self.sent.append((now_ns, list(goals), list(self.bus.position_raw)))
        self.bus.start(now_ns, goals)

    def torque_off(self, now_ns):
        self.offs.append(now_ns)
        self.bus.torque_off(now_ns)


class Bench:
    """A core and everything around it; `records()` are those since the last call as (kind, content)."""

    def __init__(
        self, config="lin_roach", bus="loopback:", latched="", script=None, wiring=None, cycles=None, **options
    ) -> None:
        self.prepared = prepare_bout(config, script)
        self.plan = self.prepared.plan
        if wiring is None:
            self.plant, real = open_leg(self.plan, find_configuration(config), bus, 1)
        else:
            self.plan, real = wiring(self.plan)
        self.block = Block.create()
        self.block.write_plan(self.plan)
        self.words = self.block.words
        self.words[Word.CORE_GENERATION] = self.words[Word.GUARDIAN_WATCHES] = 1
        self.words[Word.BUS_OWNER] = OWNER_CORE
        if latched:
            latch(self.words, latched)
        self.clock = PaperClock()
        self.clock.on_wait = self._meanwhile
        self.bus = Tap(real, self.clock)
        self.wakes = 0
        self.asleep_ns = 0
        self.guardian_beats = self.service_beats = True
        self.formats = Formats(self.plan)
        self._requests = 0
        self.core = Engine(
            self.plan,
            self.bus,
            self.block,
            replace(ServeOptions(), **options),
            self.clock,
            wakened=os.eventfd(0, os.EFD_NONBLOCK),
            wake=self._wake,
            slept=self._slept,
            cycles=cycles,
        )

    def _meanwhile(self, now):
        if self.guardian_beats:
            self.words[Word.GUARDIAN_BEAT] = now
        if self.service_beats:
            self.words[Word.SERVICE_BEAT] = now

    def _wake(self):
        self.wakes += 1

    def _slept(self):
        slept, self.asleep_ns = self.asleep_ns, 0
        return slept

    def run(self, seconds: float) -> None:
        """Let the core work for so long; its heart must never stand still for longer than it looks after itself."""
        end = self.clock.now_ns + round(seconds * S)
        while self.clock.now_ns < end:
            beat = self.words[Word.CORE_BEAT]
            self.core.turn()
            assert not beat or self.words[Word.CORE_BEAT] - beat <= WATCH_NS

    def order(self, command: CoreCommand, *items) -> int:
        """Give a command; return its request number."""
        self._requests += 1
        assert self.core.commands.put(command, pack(self._requests, *items))
        return self._requests

    def obeyed(self, command: CoreCommand, *items):
        """Give a command and return (ok, detail) of its acknowledgement, which a missed reply may hold up."""
        request = self.order(command, *items)
        self.run(0.05)
        acks = []
        for _ in range(12):
            acks += [content for kind, content in self.records() if kind is RecordKind.ACK and content[0] == request]
            if acks:
                break
            self.run(0.05)
        (ack,) = acks
        return ack[1], ack[4]

    def start(self, seconds: float = 0.1, stop_ns: int = -1) -> None:
        """Begin a bout and let it run."""
        ok, detail = self.obeyed(CoreCommand.RUN, 0, stop_ns, 1)
        assert ok, detail
        assert self.mode is Mode.RUNNING
        self.run(seconds)

    def records(self):
        ring = self.block.rings["records"]
        return [(RecordKind(kind), self.formats.unpack(kind, content)) for kind, content in ring.take()]

    def events(self):
        return [content[1] for kind, content in self.records() if kind is RecordKind.EVENT]

    @property
    def mode(self) -> Mode:
        return Mode(self.words[Word.MODE])

    def hdso(self, ref) -> int:
        return self.plan.hdso(ref).index

    def unplug(self, servo: int) -> None:
        self._emulator.unplug(servo)

    def plug(self, servo: int) -> None:
        self._emulator.plug(servo)

    @property
    def _emulator(self):
        return self.bus.bus._port._end


def motor_of(bench, name):
    return next(joint.motor for joint in bench.plan.joints if joint.name == name)


def silence(bench, servo=1, seconds=0.2):
    bench.unplug(servo)
    bench.run(seconds)


def driven(sent):
    """Exchanges that drove anything: (time, goals, measured before)."""
    return [entry for entry in sent if any(goal >= 0 for goal in entry[1])]


__all__ = ["MS", "START", "Bench", "PaperClock", "S", "Tap", "driven", "motor_of", "silence"]
