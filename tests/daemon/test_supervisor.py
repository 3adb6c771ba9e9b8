"""The main process on paper time: children are entries in a list, ports open when they are told to."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from nuc_engine.bout import prepare_bout
from nuc_engine.daemon.block import OWNER_CORE, OWNER_GUARDIAN, Block, Word
from nuc_engine.daemon.hearts import GUARDIAN_NS, SERVICE_NS
from nuc_engine.daemon.launch import BusLine, Launch, ServeOptions
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.notify import Notifier
from nuc_engine.daemon.posts import PAUSES_NS
from nuc_engine.daemon.spawn import END_SIGNAL
from nuc_engine.daemon.supervisor import CONFIRM_NS, FLUSH_NS, TICK_NS, Supervisor
from nuc_engine.daemon.wire import unpack
from nuc_engine.store import StoreError

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

    def bury(self):
        assert self.ended, f"{self.name} is waited for and lives"
        self.buried = True
        return self.status

    def how(self):
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


@pytest.fixture(scope="module")
def plans():
    return prepare_bout("lin_roach", None).plan, prepare_bout("lin_stickmiddle", None).plan


class Bench:
    def __init__(self, plans, *, configuration="lin_roach", ports=None, watchdog_ns=None, emulators=()):
        self.plan, self.other = plans
        self.clock, self.children, self.said, self.notes = Clock(), [], [], []
        self.block = Block.create()
        self.words = self.block.words
        descriptors = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(3)]
        reading, self.signals = os.pipe2(os.O_NONBLOCK)
        self.open = [*descriptors, reading, self.signals]
        self.ports = ports if ports is not None else [Port()]
        self.launch = Launch(
            self.block, *descriptors, tuple(port.line for port in self.ports), ServeOptions(configuration)
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
        os.close(self.block.fd)


@pytest.fixture
def make(plans):
    benches = []

    def make_(**options):
        benches.append(Bench(plans, **options))
        return benches[-1]

    yield make_
    for bench in benches:
        bench.close()


def test_the_service_comes_first_and_guardian_and_core_with_the_first_plan(make):
    bench = make()
    bench.tick(5)
    assert [child.name for child in bench.children] == ["nuc-service"]
    bench.block.write_plan(bench.plan)
    bench.tick()
    assert [child.name for child in bench.children] == ["nuc-service", "nuc-guardian", "nuc-core"]
    guardian, core = bench.children[1:]
    assert guardian.born["owner"] == OWNER_GUARDIAN
    assert core.born == {"owner": OWNER_GUARDIAN, "beat": 0, "pid": 0, "generation": 1}
    assert bench.words[Word.CORE_PLAN] == 1
    assert (bench.words[Word.GUARDIAN_PID], bench.words[Word.CORE_PID]) == (guardian.pid, core.pid)


def test_the_service_gets_no_port_and_dies_with_the_main_process(make):
    service = make().up().last("nuc-service")
    assert service.close == (77,)
    assert service.death_signal == END_SIGNAL
    assert not service.urgent
    assert service.program()[1].buses[0].fd == -1


def test_guardian_and_core_get_the_open_port_and_the_legs_that_must_not_outlive_them(make):
    bench = make(emulators=[("nuc-emulate", lambda: 0)]).up()
    assert bench.last("nuc-core").program()[1].buses[0].fd == 77
    assert list(bench.last("nuc-guardian").program()[2]) == [bench.last("nuc-emulate").pidfd]


def test_a_core_that_dies_is_counted_and_another_starts_at_once_then_later_and_later(make):
    bench = make().up()
    for k, pause in enumerate((0, *PAUSES_NS[1:], PAUSES_NS[-1])):
        cores = len(bench.named("nuc-core"))
        bench.last("nuc-core").end(-9)
        died = bench.clock.now_ns
        while len(bench.named("nuc-core")) == cores:
            assert bench.tick()
        assert pause <= bench.clock.now_ns - died <= pause + 2 * TICK_NS
        assert bench.words[Word.CORE_DEATHS] == k + 1
        assert bench.words[Word.CORE_GENERATION] == k + 2
        bench.tick()
    assert all(child.buried for child in bench.named("nuc-core")[:-1])


def test_a_core_that_lived_long_starts_at_once_again(make):
    bench = make().up()
    for _ in range(4):
        bench.last("nuc-core").end()
        bench.tick(600)
    before = len(bench.named("nuc-core"))
    bench.last("nuc-core").end()
    bench.tick()
    assert len(bench.named("nuc-core")) == before + 1


def test_the_number_of_a_dead_core_is_taken_back_before_it_is_buried(make):
    bench = make().up()
    core = bench.last("nuc-core")
    seen = []
    core.bury = lambda: seen.append(bench.words[Word.CORE_PID])
    core.how = lambda: ""
    core.end()
    bench.tick()
    assert seen == [0]


def test_a_guardian_is_replaced_at_once_and_leaves_a_core_that_drives_alone(make):
    bench = make().up()
    core = bench.last("nuc-core")
    for _ in range(4):
        bench.last("nuc-guardian").end(-9)
        bench.tick()
    assert len(bench.named("nuc-guardian")) == 5
    assert bench.last("nuc-guardian").born["owner"] == OWNER_CORE
    assert core.signals == []
    assert bench.words[Word.GUARDIAN_DEATHS] == 4


def test_no_core_without_a_guardian(make):
    bench = make().up()
    for _ in range(6):
        bench.last("nuc-guardian").end()
        bench.tick()
    # The guardian pauses by now.
    assert bench.last("nuc-guardian").ended
    bench.last("nuc-core").end()
    bench.tick(5)
    assert len(bench.named("nuc-core")) == 1
    bench.tick(30)
    assert [child.name for child in bench.children[-2:]] == ["nuc-guardian", "nuc-core"]


@pytest.mark.parametrize(("name", "limit_ns"), [("nuc-guardian", GUARDIAN_NS), ("nuc-service", SERVICE_NS)])
def test_whoever_shows_no_life_is_ended_and_replaced(make, name, limit_ns):
    bench = make().up()
    stalled = bench.last(name)
    stalled.signals.append(signal.SIGSTOP)
    begun = bench.clock.now_ns
    while not stalled.ended:
        assert bench.tick()
    assert limit_ns <= bench.clock.now_ns - begun <= limit_ns + 4 * TICK_NS
    bench.tick(2)
    assert bench.last(name) is not stalled


def test_a_machine_that_stood_still_makes_nobody_late(make):
    bench = make().up()
    for _ in range(4):
        bench.clock.now_ns += 60 * S
        bench.beating = False
        bench.tick()
    assert [child.signals for child in bench.children] == [[], [], []]


def test_a_new_plan_means_a_new_core_and_no_fault(make):
    bench = make().up()
    guardian, core = bench.last("nuc-guardian"), bench.last("nuc-core")
    ended = []
    guardian.send = lambda number: (ended.append("guardian"), Child.send(guardian, number))
    core.send = lambda number: (ended.append("core"), Child.send(core, number))
    bench.events()
    bench.block.write_plan(bench.plan)
    bench.tick()
    # The other way round the guardian would find a dead core.
    assert ended == ["guardian", "core"]
    assert bench.last("nuc-core") is not core
    assert bench.last("nuc-guardian").born["owner"] == OWNER_GUARDIAN
    assert bench.words[Word.CORE_DEATHS] == bench.words[Word.GUARDIAN_DEATHS] == 0
    assert bench.words[Word.GUARDIAN_WATCHES] == 0
    assert bench.events() == []


def test_a_bout_is_not_disturbed_by_a_new_plan(make):
    bench = make().up()
    bench.words[Word.MODE] = Mode.RUNNING
    bench.block.write_plan(bench.plan)
    bench.tick(100)
    assert len(bench.named("nuc-core")) == 1
    bench.words[Word.MODE] = Mode.STOPPED
    bench.tick()
    assert len(bench.named("nuc-core")) == 2


def test_a_mode_that_a_dead_core_left_behind_delays_no_plan(make):
    bench = make().up()
    bench.words[Word.MODE] = Mode.RUNNING
    for _ in range(3):
        bench.last("nuc-core").end()
        bench.tick(1)
    bench.block.write_plan(bench.plan)
    bench.tick()
    assert bench.words[Word.CORE_PLAN] == 2


@pytest.mark.parametrize("same", [True, False])
def test_values_survive_a_plan_of_the_same_layout_and_no_other(make, same):
    bench = make().up()
    store = bench.block.store(bench.plan)
    store.write(0, (1,))
    plan = bench.plan if same else bench.other
    bench.block.write_plan(plan)
    bench.tick()
    if same:
        assert bench.block.store(plan).values(0) == (1,)
    else:
        bench.block.store(plan)
        with pytest.raises(StoreError):
            bench.block.store(bench.plan)


def test_a_lost_port_is_looked_for_and_the_guardian_is_there_before_the_core(make):
    bench = make().up()
    port = bench.ports[0]
    port.there, bench.words[Word.BUS_LOST] = False, 1
    bench.last("nuc-core").end(75)
    bench.tick(3)
    # The guardian still releases what is left of the buses.
    assert port.closed == 0
    bench.last("nuc-guardian").end(1)
    bench.tick(50)
    assert port.closed == 1
    assert len(bench.named("nuc-core")) == len(bench.named("nuc-guardian")) == 1
    assert bench.words[Word.CORE_DEATHS] == bench.words[Word.GUARDIAN_DEATHS] == 0
    port.there = True
    bench.tick()
    assert bench.words[Word.BUS_LOST] == 0
    assert [child.name for child in bench.children[-2:]] == ["nuc-guardian", "nuc-core"]
    assert bench.last("nuc-guardian").born["owner"] == OWNER_GUARDIAN
    assert bench.last("nuc-guardian").program()[1].buses[0].fd == 77
    assert [name for name, _ in bench.events()] == ["bus_lost", "bus_found"]


def test_ports_that_come_later_are_waited_for(make):
    port = Port(there=False)
    bench = make(ports=[port])
    bench.block.write_plan(bench.plan)
    bench.tick(20)
    assert [child.name for child in bench.children] == ["nuc-service"]
    assert "waiting for the bus" in bench.said[-1]
    port.there = True
    bench.tick()
    assert len(bench.children) == 3


def test_one_of_two_lost_ports_is_not_enough(make):
    ports = [Port("a"), Port("b")]
    bench = make(ports=ports).up()
    bench.words[Word.BUS_LOST] = 1
    ports[0].there = False
    bench.last("nuc-core").end()
    bench.last("nuc-guardian").end()
    bench.tick(10)
    assert ports[1].is_open
    assert ports[1].closed == 0, "the name of a terminal that is there does not change, and would not be opened again"
    assert bench.words[Word.BUS_LOST] == 1
    ports[0].there = True
    bench.tick()
    assert bench.words[Word.BUS_LOST] == 0


def test_a_guardian_that_hangs_on_a_lost_bus_is_ended(make):
    bench = make().up()
    bench.words[Word.BUS_LOST] = 1
    bench.last("nuc-core").end()
    bench.tick(int(6.1 * S / TICK_NS))
    assert bench.named("nuc-guardian")[0].ended


def test_a_refused_configuration_ends_the_daemon_with_status_1(make):
    bench = make()
    bench.tick(2)
    bench.words[Word.REFUSED] = 1
    bench.tick()
    assert bench.last("nuc-service").signals == [END_SIGNAL]
    bench.last("nuc-service").end()
    assert not bench.tick()
    assert bench.supervisor.run() == 1


def test_a_service_that_cannot_start_ends_the_daemon_with_status_1(make):
    bench = make()
    bench.beating = False
    bench.tick()
    bench.last("nuc-service").end(1)
    while bench.tick():
        pass
    assert bench.supervisor.run() == 1
    assert len(bench.named("nuc-service")) == 1


def test_a_service_that_dies_later_is_replaced_and_nobody_else_notices(make):
    bench = make().up()
    bench.last("nuc-service").end(-9)
    bench.tick()
    assert len(bench.named("nuc-service")) == 2
    assert bench.words[Word.SERVICE_DEATHS] == 1
    assert len(bench.named("nuc-core")) == 1


def end_well(bench):
    """Be core, guardian and service during an ordered end; return the stages seen."""
    words, seen = bench.words, []
    while bench.tick():
        core, service = bench.last("nuc-core"), bench.last("nuc-service")
        if words[Word.OFF_REQUEST] and words[Word.TORQUE] and not core.ended:
            seen.append("off")
            words[Word.OFF_REQUEST] = words[Word.TORQUE] = 0
            words[Word.MODE] = Mode.STOPPED
        elif words[Word.SHUTDOWN] and not words[Word.TORQUE] and not core.ended:
            seen.append("core")
            core.end()
        elif END_SIGNAL in service.signals and not service.ended:
            seen.append("service")
            service.end()
    return seen


@pytest.mark.parametrize("torque", [0, 1])
def test_an_ordered_end_takes_the_torque_off_then_flushes_then_ends_the_rest(make, torque):
    bench = make().up()
    bench.words[Word.TORQUE] = torque
    bench.ask_to_end()
    assert end_well(bench) == (["off"] if torque else []) + ["core", "service"]
    assert bench.supervisor.run() == 0
    assert all(child.ended and child.buried for child in bench.children)
    assert not bench.ports[0].is_open
    assert bench.words[Word.CORE_DEATHS] == 0
    assert "STOPPING=1" in bench.notes


def test_a_bout_that_does_not_drive_yet_is_ended_with_a_request_too(make):
    bench = make().up()
    bench.words[Word.MODE] = Mode.RUNNING
    bench.ask_to_end()
    bench.tick()
    assert bench.words[Word.OFF_REQUEST]


def test_a_client_can_ask_for_the_end(make):
    bench = make().up()
    bench.words[Word.SHUTDOWN] = 1
    assert end_well(bench) == ["core", "service"]


def test_torque_that_nobody_confirms_is_waited_for_no_longer_than_3_s_and_makes_the_status_1(make):
    bench = make().up()
    bench.words[Word.TORQUE] = 1
    bench.ask_to_end()
    begun = bench.clock.now_ns
    while END_SIGNAL not in bench.last("nuc-service").signals:
        assert bench.tick()
    assert CONFIRM_NS <= bench.clock.now_ns - begun <= CONFIRM_NS + 3 * TICK_NS
    bench.last("nuc-service").end()
    assert not bench.tick()
    assert bench.supervisor.run() == 1
    assert "torque_unconfirmed" in [name for name, _ in bench.events()]


def test_a_service_that_does_not_end_is_ended(make):
    bench = make().up()
    bench.ask_to_end()
    begun = bench.clock.now_ns
    bench.last("nuc-core").end()
    while bench.tick():
        pass
    assert bench.clock.now_ns - begun <= FLUSH_NS + 5 * TICK_NS
    assert bench.last("nuc-service").signals == [END_SIGNAL, signal.SIGKILL]


def test_asked_twice_it_kills_the_core_and_still_waits_for_the_guardian(make):
    bench = make().up()
    bench.words[Word.TORQUE] = 1
    bench.ask_to_end()
    bench.tick(2)
    bench.ask_to_end(signal.SIGINT)
    bench.tick(2)
    assert bench.last("nuc-core").signals == [signal.SIGKILL]
    assert bench.last("nuc-guardian").signals == []
    bench.words[Word.TORQUE] = bench.words[Word.OFF_REQUEST] = 0
    bench.tick()
    assert bench.last("nuc-service").signals == [END_SIGNAL]


def test_a_guardian_that_dies_during_the_end_is_replaced(make):
    bench = make().up()
    bench.words[Word.TORQUE] = 1
    bench.ask_to_end()
    bench.tick()
    bench.last("nuc-guardian").end(-9)
    bench.tick(2)
    assert len(bench.named("nuc-guardian")) == 2


def test_systemd_hears_that_it_is_ready_only_when_core_and_service_are(make):
    bench = make()
    bench.tick(3)
    assert "READY=1" not in bench.notes
    bench.up()
    bench.tick()
    assert bench.notes.count("READY=1") == 1


def test_without_a_configuration_the_service_is_enough(make):
    bench = make(configuration="")
    bench.tick(3)
    assert bench.notes.count("READY=1") == 1
    assert "STATUS=no configuration yet" in bench.notes


def fed(bench, ticks):
    bench.notes.clear()
    bench.tick(ticks)
    return bench.notes.count("WATCHDOG=1")


@pytest.mark.parametrize("stalled", ["nuc-core", "nuc-guardian", None])
def test_the_watchdog_is_fed_only_while_everybody_lives(make, stalled):
    bench = make(watchdog_ns=S).up()
    assert fed(bench, 100) >= 5
    if stalled is None:
        bench.words[Word.MODE] = Mode.RUNNING
        # No task has run for longer than two seconds.
        fed(bench, 60)
    else:
        child = bench.last(stalled)
        child.signals.append(signal.SIGSTOP)
        child.dies_of = set()
        fed(bench, 30)
    assert fed(bench, 200) == 0
    # Whoever can not be killed is killed once.
    assert all(child.signals.count(signal.SIGKILL) <= 1 for child in bench.children)


def test_the_watchdog_is_fed_while_every_task_runs(make):
    bench = make(watchdog_ns=S).up()
    bench.words[Word.MODE] = Mode.RUNNING
    live = bench.live

    def running():
        live()
        for k in range(7):
            bench.words[Word.TASK_LAST + k] = bench.clock.now_ns

    bench.live = running
    assert fed(bench, 300) >= 15


def test_what_is_said_says_what_is(make):
    bench = make().up()
    bench.tick()
    bench.words[Word.MODE], bench.words[Word.BOUT] = Mode.RUNNING, 4
    bench.tick()
    bench.words[Word.MODE], bench.words[Word.LATCHED], bench.words[Word.BOUT] = Mode.FAULT, 1, 0
    bench.tick()
    assert bench.said == ["starting", "configured", "running, bout 4", "fault, latched: arm to go on"]


def test_a_start_that_waits_for_servos_says_so(make):
    bench = make()
    bench.block.write_plan(bench.plan)
    bench.live = lambda: None
    bench.words[Word.UNCONFIRMED] = 0b101
    bench.tick(60)
    assert bench.said[-1] == "starting; 2 servos have not confirmed that their torque is off"


def test_the_main_process_is_readable_in_one_sitting():
    assert len((Path(__file__).parents[2] / "nuc_engine/daemon/supervisor.py").read_text().splitlines()) <= 320
