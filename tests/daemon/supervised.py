"""A main process on paper time: children are entries in a list, ports open when they are told to."""

from __future__ import annotations

import os
import signal

from nuc_engine.daemon.block import OWNER_CORE, OWNER_GUARDIAN, Block, Word
from nuc_engine.daemon.launch import BusLine, Launch, ServeOptions
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.notify import Notifier
from nuc_engine.daemon.supervisor import TICK_NS, Supervisor
from nuc_engine.daemon.wire import unpack

MS, S = 1_000_000, 1_000_000_000


class Clock:
    def __init__(self):
        self.now_ns = 5 * S

    def wait(self, deadline_ns, filenos):
        self.now_ns = max(self.now_ns, deadline_ns)
        return False


class Child:
    def __init__(self, name, pid, program):
        self.name, self.pid, self.pidfd, self.program = name, pid, pid + 10_000, program
        self.status, self.signals, self.ended, self.buried = None, [], False, False
        self.dies_of = {signal.SIGKILL}

    def dead(self):
        return self.ended

    def send(self, number):
        self.signals.append(number)
        if number in self.dies_of:
            self.end(-number)

    def end(self, status=0):
        self.ended, self.status = True, status

    def reap(self):
        assert self.ended, f"{self.name} is waited for and lives"
        self.buried = True
        return self.status

    def exit_text(self):
        return f"{self.name} ended with {self.status}"


class Port:
    def __init__(self, name="", there=True):
        self.name, self.there, self.is_open, self.trouble, self.remark = name, there, there, "", "a port"
        self.closed = 0

    @property
    def line(self):
        return BusLine(self.name, "aimotor:///dev/x", 77 if self.is_open else -1)

    @property
    def hung_up(self):
        return self.is_open and not self.there

    def try_open(self):
        self.is_open = self.there
        return self.is_open

    def close(self):
        self.closed += 1
        self.is_open = False


class Programs:
    def core(self, launch):
        return ("core", launch)

    def guardian(self, launch, ends):
        return ("guardian", launch, ends)

    def service(self, launch):
        return ("service", launch)


class Bench:
    def __init__(
        self,
        plans,
        *,
        configuration="lin_roach",
        ports=None,
        watchdog_ns=None,
        emulators=(),
        heed=lambda now_ns: None,
        off=-1,
    ):
        self.plan, self.other = plans
        self.clock, self.children, self.said, self.notes = Clock(), [], [], []
        self.block = Block.create()
        self.words = self.block.words
        descriptors = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(4)]
        reading, self.signals = os.pipe2(os.O_NONBLOCK)
        self.open = [*descriptors, reading, self.signals]
        self.ports = ports if ports is not None else [Port()]
        self.launch = Launch(
            self.block, *descriptors, tuple(port.line for port in self.ports), ServeOptions(configuration), off=off
        )
        self.supervisor = Supervisor(
            self.launch,
            self.ports,
            Programs(),
            self.fork,
            self.clock,
            signals=reading,
            notifier=Notifier("/x", send=lambda message, address: self.notes.append(message.decode())),
            watchdog_ns=watchdog_ns,
            emulators=emulators,
            heed=heed,
            show=self.said.append,
        )
        self.beating = True

    def fork(self, name, program, *, urgent=True, close=(), death_signal=None):
        child = Child(name, 100 + len(self.children), program)
        child.urgent, child.close, child.death_signal = urgent, tuple(close), death_signal
        child.born = {
            "owner": self.words[Word.BUS_OWNER],
            "beat": self.words[Word.CORE_BEAT],
            "pid": self.words[Word.CORE_PID],
            "generation": self.words[Word.CORE_GENERATION],
        }
        self.children.append(child)
        return child

    def named(self, name):
        return [child for child in self.children if child.name == name]

    def last(self, name):
        return self.named(name)[-1]

    def tick(self, times=1):
        """Let it tick, with everybody alive doing what they do; return whether it goes on."""
        for _ in range(times):
            if self.beating:
                self.live()
            if not self.supervisor.tick():
                return False
            self.clock.now_ns += TICK_NS
        return True

    def live(self):
        words, now = self.words, self.clock.now_ns
        for word, name in ((Word.SERVICE_BEAT, "service"), (Word.GUARDIAN_BEAT, "guardian"), (Word.CORE_BEAT, "core")):
            living = [child for child in self.named(f"nuc-{name}") if not child.ended]
            if living and signal.SIGSTOP not in living[-1].signals:
                words[word] = now
                if name == "service":
                    words[Word.SERVICE_READY] = 1
                elif name == "guardian" and words[Word.BUS_OWNER] == OWNER_GUARDIAN:
                    words[Word.BUS_OWNER] = OWNER_CORE
                elif name == "core":
                    words[Word.CORE_READY] = words[Word.GUARDIAN_WATCHES] = words[Word.CORE_GENERATION]

    def up(self):
        """Bring everything up."""
        self.tick()
        self.block.write_plan(self.plan)
        self.words[Word.MODE] = Mode.CONFIGURED
        self.tick(3)
        assert self.words[Word.CORE_PID] == self.last("nuc-core").pid
        return self

    def ask_to_end(self, number=signal.SIGTERM):
        os.write(self.signals, bytes([number]))

    def events(self):
        return [tuple(unpack(content)[1:]) for _, content in self.block.rings["supervisor"].take()]

    def close(self):
        for descriptor in self.open:
            os.close(descriptor)
