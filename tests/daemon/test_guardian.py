"""The guardian on paper time, with emulated servos that tell what they were sent and when."""

from __future__ import annotations

import signal
from itertools import pairwise

import pytest

from drivers.aimotor.bus import AiMotorBus
from drivers.aimotor.codec import Op, RequestParser, encode_passive
from drivers.aimotor.emulation.emulator import AiMotorEmulator
from drivers.errors import PortGoneError
from drivers.inprocess import InProcessPort
from drivers.port import wire_ns
from drivers.servo import ServoAddress
from nuc_engine.control.faults import OFF
from nuc_engine.daemon.block import OWNER_CORE, OWNER_GUARDIAN, WORDS, Word
from nuc_engine.daemon.guardian import DEATH_NS, Guardian
from nuc_engine.daemon.latch import LATCH_REASONS
from nuc_engine.daemon.off_requests import Requester, pending_requesters, request_off
from nuc_engine.daemon.release import GuardedBus
from nuc_engine.daemon.watch import PERIOD_NS

MS = 1_000_000
START = 1_000 * MS
SUPERVISOR, CORE = 100, 200


class Clock:
    def __init__(self) -> None:
        self.now_ns = START
        self.dead: set[int] = set()
        self.then: list[tuple[int, object]] = []

    def wait(self, deadline_ns, filenos):
        """Let time pass; what is planned happens on the way; a dead process ends it."""
        while True:
            due = [item for item in self.then if item[0] <= deadline_ns]
            if self.dead.intersection(filenos):
                return True
            if not due:
                self.now_ns = max(self.now_ns, deadline_ns)
                return False
            first = min(due, key=lambda item: item[0])
            self.then.remove(first)
            self.now_ns = max(self.now_ns, first[0])
            first[1]()


class Processes:
    """Process numbers are their own descriptors."""

    def __init__(self, clock: Clock) -> None:
        self.clock, self.living, self.signals, self.closed = clock, {SUPERVISOR, CORE}, [], []
        self.dies_after_ns = 1 * MS
        self.on_open = lambda pid: None

    def open(self, pid):
        self.on_open(pid)
        return pid if pid in self.living else None

    def dead(self, pidfd):
        return pidfd in self.clock.dead

    def kill(self, pidfd, number):
        self.signals.append((self.clock.now_ns, pidfd, number))
        if number == signal.SIGKILL:
            self.clock.then.append((self.clock.now_ns + self.dies_after_ns, lambda: self.clock.dead.add(pidfd)))

    def close(self, pidfd):
        self.closed.append(pidfd)


class Shafts:
    def __init__(self, count):
        self.limp = [False] * count

    def advance(self, now_ns):
        pass

    def command(self, servo, goal_deg, level):
        self.limp[servo] = False

    def release(self, servo):
        self.limp[servo] = True

    def sample(self, servo):
        return 50.0, 0.0


class Tap(InProcessPort):
    """A port that keeps what was written, with the instant its last byte was on the wire; it may be unplugged."""

    __slots__ = ("baud", "free_ns", "gone", "on_write", "written")

    def __init__(self, emulator, baud):
        super().__init__(emulator, baud)
        self.baud, self.free_ns, self.gone, self.written = baud, 0, False, []
        self.on_write = lambda: None

    def check(self):
        if self.gone:
            raise PortGoneError("unplugged")

    def write(self, data, now_ns):
        self.check()
        self.on_write()
        parser, at = RequestParser(), max(now_ns, self.free_ns)
        for index, request in parser.feed(data):
            self.written.append((at + wire_ns(index + 1, self.baud), request))
        self.free_ns = at + wire_ns(len(data), self.baud)
        super().write(data, now_ns)

    def flush_input(self, now_ns):
        self.check()
        return super().flush_input(now_ns)


class Bench:
    """A guardian over `counts` servos per bus; `words` as everybody else leaves them for a core that drives."""

    def __init__(self, *counts, baud=57_600):
        self.words = memoryview(bytearray(8 * WORDS)).cast("q")
        self.clock = Clock()
        self.processes = Processes(self.clock)
        self.told: list[tuple[str, str]] = []
        self.ports, self.shafts, self.emulators, lines, first = [], [], [], [], 0
        self.offs = 0
        self.heeded: list[int] = []
        for b, count in enumerate(counts or (4,)):
            servos = tuple(ServoAddress(k, f"m{first + k}") for k in range(count))
            shafts = Shafts(count)
            emulator = AiMotorEmulator(servos, shafts, baud=baud)
            shafts.limp = [False] * count
            port = Tap(emulator, baud)
            volley = b"".join(encode_passive(servo.bus_id) for servo in servos)
            bus = AiMotorBus(port, servos, baud=baud)
            lines.append(
                GuardedBus(f"b{b}", baud, port, bus, tuple(range(first, first + count)), volley, self.discard(port))
            )
            first += count
            self.ports.append(port)
            self.shafts.append(shafts)
            self.emulators.append(emulator)
        self.names = [f"m{k}" for k in range(first)]
        self.guardian = Guardian(
            self.words,
            lines,
            self.clock,
            self.processes,
            lambda name, text: self.told.append((name, text)),
            heed=self.heed,
            supervisor=SUPERVISOR,
            ends=(300,),
            motors=self.names,
        )

    def discard(self, port):
        def discard():
            port.check()
            self.offs += 1

        return discard

    def heed(self, now_ns):
        self.heeded.append(now_ns)

    def core(self, generation=1, pid=CORE, beat=1):
        self.processes.living.add(pid)
        self.words[Word.CORE_GENERATION], self.words[Word.CORE_PID], self.words[Word.CORE_BEAT] = generation, pid, beat
        self.words[Word.TORQUE] = 1

    def watched(self):
        """A guardian that was born and holds a core that drives."""
        self.words[Word.BUS_OWNER] = OWNER_GUARDIAN
        assert self.guardian.take_over()
        self.core()
        self.beats(1)
        assert self.words[Word.GUARDIAN_WATCHES] == 1
        for shafts in self.shafts:
            shafts.limp = [False] * len(shafts.limp)
        for port in self.ports:
            port.written.clear()
        self.told.clear()
        return self

    def beats(self, times):
        for _ in range(times):
            self.words[Word.CORE_BEAT] += 1
            assert self.guardian.step()

    def until_act(self, limit=100, beats=False):
        acts = self.words[Word.GUARDIAN_ACTS]
        for _ in range(limit):
            self.words[Word.CORE_BEAT] += beats
            goes_on = self.guardian.step()
            if self.words[Word.GUARDIAN_ACTS] != acts or not goes_on:
                return goes_on
        raise AssertionError("the guardian did nothing")

    @property
    def reason(self):
        return LATCH_REASONS[self.words[Word.LATCH_REASON]] if self.words[Word.LATCHED] else ""

    @property
    def limp(self):
        return all(all(shafts.limp) for shafts in self.shafts)


def test_at_birth_without_a_core_the_torque_goes_off_and_nothing_is_latched():
    bench = Bench()
    bench.words[Word.BUS_OWNER] = OWNER_GUARDIAN
    assert bench.guardian.take_over()
    assert bench.limp
    assert bench.reason == ""
    assert (bench.words[Word.BUS_OWNER], bench.words[Word.UNCONFIRMED], bench.words[Word.TORQUE]) == (OWNER_CORE, 0, 0)
    # One frame's pause, then the first byte.
    assert bench.ports[0].written[0][0] - START == 2 * wire_ns(4, 57_600)


def test_a_core_that_was_forked_before_the_guardian_looked_does_not_spare_the_servos():
    bench = Bench()
    bench.words[Word.BUS_OWNER] = OWNER_GUARDIAN
    bench.core()
    assert bench.guardian.take_over()
    assert bench.limp
    assert bench.processes.signals == []
    bench.beats(1)
    assert bench.words[Word.GUARDIAN_WATCHES] == 1


def test_a_core_is_watched_once_its_heart_beats_and_not_before():
    bench = Bench()
    bench.words[Word.BUS_OWNER] = OWNER_GUARDIAN
    bench.guardian.take_over()
    bench.core(beat=0)
    for _ in range(50):
        assert bench.guardian.step()
    assert bench.words[Word.GUARDIAN_WATCHES] == 0
    bench.beats(1)
    assert bench.words[Word.GUARDIAN_WATCHES] == 1


def test_a_core_that_was_replaced_while_its_descriptor_was_opened_is_not_taken_for_the_new_one():
    bench = Bench()
    bench.words[Word.BUS_OWNER] = OWNER_GUARDIAN
    bench.guardian.take_over()
    bench.core()

    def replace(pid):
        bench.words[Word.CORE_GENERATION], bench.words[Word.CORE_PID] = 2, 0
        bench.processes.on_open = lambda pid: None

    bench.processes.on_open = replace
    bench.guardian.step()
    assert bench.words[Word.GUARDIAN_WATCHES] == 0
    assert bench.processes.closed == [CORE]
    bench.core(generation=2, pid=201)
    bench.beats(1)
    assert bench.words[Word.GUARDIAN_WATCHES] == 2


def test_a_stalled_core_is_killed_first_and_18_servos_are_limp_within_50_ms():
    bench = Bench(18).watched()
    bench.processes.dies_after_ns = 2 * DEATH_NS
    stalled = bench.clock.now_ns
    assert bench.until_act()
    assert bench.limp
    assert bench.reason == "core_stalled"
    killed, pidfd, number = bench.processes.signals[0]
    assert (pidfd, number) == (CORE, signal.SIGKILL)
    first = [next(at for at, request in bench.ports[0].written if request.bus_id == k) for k in range(18)]
    assert killed < min(first)
    assert max(first) - stalled < 50 * MS
    assert bench.words[Word.UNCONFIRMED] == bench.words[Word.TORQUE] == 0
    assert bench.words[Word.BUS_OWNER] == OWNER_CORE


def test_one_after_the_other_they_would_not_be():
    """Why the requests go out back to back: with two servos that do not answer, asking each in turn takes too long."""
    bench = Bench(18).watched()
    for silent in (3, 4):
        bench.emulators[0].unplug(silent)
    stalled = bench.clock.now_ns
    bench.until_act()
    volley = [at for at, _ in bench.ports[0].written[:18]]
    asked = {request.bus_id: at for at, request in bench.ports[0].written[18:36]}
    assert max(volley) - stalled < 50 * MS
    assert max(asked.values()) - min(asked.values()) > 18 * wire_ns(6, 57_600)
    assert max(asked.values()) - max(volley) > 26 * MS


def test_nobody_writes_before_the_core_is_dead():
    bench = Bench().watched()
    states = []
    bench.ports[0].on_write = lambda: states.append((CORE in bench.clock.dead, bench.words[Word.BUS_OWNER]))
    bench.until_act()
    assert set(states) == {(True, OWNER_GUARDIAN)}


def test_what_waited_in_the_port_is_thrown_away_before_the_first_request():
    bench = Bench().watched()
    seen = []
    bench.offs = 0
    bench.ports[0].on_write = lambda: seen.append(bench.offs)
    bench.until_act()
    assert seen[0] == 1


@pytest.mark.parametrize(
    ("prepare", "fault"),
    [
        (lambda bench: bench.clock.dead.add(CORE), "core_dead"),
        (lambda bench: request_off(bench.words, Requester.SERVICE), OFF),
        (lambda bench: bench.words.__setitem__(Word.BUS_LOST, 1), "bus_lost"),
    ],
)
def test_every_other_reason_ends_in_the_same_release(prepare, fault):
    bench = Bench().watched()
    prepare(bench)
    bench.until_act(beats=True)
    assert bench.limp
    assert bench.reason == fault
    assert bench.words[Word.LATCH_COUNT] == 1
    assert not bench.words[Word.GUARDIAN_WATCHES]
    assert not pending_requesters(bench.words)
    assert all(bench.words[Word.LIMP_SINCE + k] > START for k in range(4))
    assert [name for name, _ in bench.told] == [fault, "torque_off"]
    # And then there is nothing more to do.
    written = len(bench.ports[0].written)
    for _ in range(50):
        assert bench.guardian.step()
    assert len(bench.ports[0].written) == written


def test_a_core_that_was_at_arming_when_it_was_latched_takes_nothing_back():
    bench = Bench().watched()
    kill = bench.processes.kill

    def arms_and_dies(pidfd, number):
        bench.words[Word.LATCHED] = 0
        kill(pidfd, number)

    bench.processes.kill = arms_and_dies
    bench.until_act()
    assert bench.words[Word.LATCHED]
    assert bench.reason == "core_stalled"


def test_the_first_fault_stays_the_reason():
    bench = Bench().watched()
    bench.words[Word.LATCHED], bench.words[Word.LATCH_REASON] = 1, LATCH_REASONS.index("motor_silent")
    bench.clock.dead.add(CORE)
    bench.until_act()
    assert bench.reason == "motor_silent"
    assert bench.words[Word.LATCH_COUNT] == 0


def test_a_fault_replaces_torque_off_that_was_asked_for_as_the_reason():
    bench = Bench().watched()
    bench.words[Word.LATCHED], bench.words[Word.LATCH_REASON] = 1, LATCH_REASONS.index(OFF)
    bench.clock.dead.add(CORE)
    bench.until_act()
    assert bench.reason == "core_dead"


def test_without_a_main_process_the_torque_goes_off_the_leg_is_ended_and_the_guardian_too():
    bench = Bench().watched()
    bench.clock.dead.add(SUPERVISOR)
    assert not bench.until_act()
    assert bench.limp
    assert bench.reason == "supervisor_lost"
    assert [(pidfd, number) for _, pidfd, number in bench.processes.signals] == [
        (CORE, signal.SIGKILL),
        (300, signal.SIGTERM),
    ]


def test_a_servo_that_does_not_answer_is_asked_again_and_stays_unconfirmed_for_the_core():
    bench = Bench().watched()
    bench.emulators[0].unplug(2)
    bench.clock.dead.add(CORE)
    begun = bench.clock.now_ns
    assert bench.until_act()
    assert bench.words[Word.UNCONFIRMED] == 0b100
    assert bench.words[Word.TORQUE] == 1
    assert bench.words[Word.BUS_OWNER] == OWNER_CORE
    assert bench.told[-1][0] == "torque_unconfirmed"
    assert "m2" in bench.told[-1][1]
    assert "m1" not in bench.told[-1][1]
    assert 1_900 * MS < bench.clock.now_ns - begun < 2_200 * MS
    asked = [at for at, request in bench.ports[0].written if request.bus_id == 2]
    assert len(asked) > 20


def test_a_servo_that_answers_late_is_confirmed_when_it_does():
    bench = Bench().watched()
    bench.emulators[0].unplug(1)
    bench.clock.dead.add(CORE)
    bench.clock.then.append((bench.clock.now_ns + 500 * MS, lambda: bench.emulators[0].plug(1)))
    begun = bench.clock.now_ns
    bench.until_act()
    assert bench.words[Word.UNCONFIRMED] == 0
    assert 500 * MS < bench.clock.now_ns - begun < 700 * MS


def test_a_lost_bus_does_not_keep_the_torque_on_another():
    bench = Bench(2, 2).watched()
    bench.ports[0].gone = True
    bench.clock.dead.add(CORE)
    assert not bench.until_act()
    assert bench.shafts[0].limp == [False, False]
    assert bench.shafts[1].limp == [True, True]
    assert bench.words[Word.BUS_LOST] == 1
    assert bench.words[Word.UNCONFIRMED] == 0b0011
    # It is not the core's again: there is nobody who could have let go.
    assert bench.words[Word.BUS_OWNER] == OWNER_GUARDIAN


def test_the_heart_beats_all_the_while():
    bench = Bench(18).watched()
    bench.emulators[0].unplug(5)
    beats = []
    wait = bench.clock.wait

    def watching(deadline_ns, filenos):
        beats.append(bench.words[Word.GUARDIAN_BEAT])
        return wait(deadline_ns, filenos)

    bench.clock.wait = watching
    bench.clock.dead.add(CORE)
    bench.until_act()
    assert len(beats) > 400
    assert max(later - earlier for earlier, later in pairwise(beats)) <= 5 * MS


def test_a_late_guardian_counts_what_it_slept_through_once():
    bench = Bench().watched()
    bench.clock.now_ns += 500 * MS
    assert bench.guardian.step()
    assert bench.reason == ""
    begun = bench.clock.now_ns
    bench.until_act()
    assert bench.reason == "core_stalled"
    assert bench.processes.signals[0][0] - begun >= 3 * PERIOD_NS


def test_a_successor_watches_the_core_it_inherits():
    bench = Bench()
    bench.core()
    bench.words[Word.GUARDIAN_WATCHES] = 1
    assert bench.guardian.take_over()
    assert bench.ports[0].written == []
    bench.beats(3)
    assert bench.until_act()
    assert bench.reason == "core_stalled"


def test_a_successor_whose_core_is_dead_too_releases_and_latches():
    bench = Bench()
    bench.words[Word.CORE_GENERATION] = bench.words[Word.GUARDIAN_WATCHES] = 1
    bench.words[Word.BUS_OWNER] = OWNER_GUARDIAN
    assert bench.guardian.take_over()
    assert bench.limp
    assert bench.reason == "core_dead"


@pytest.mark.parametrize("replaced", [False, True])
def test_a_core_that_dies_before_the_successor_holds_it_is_latched(replaced):
    bench = Bench()
    bench.core()
    bench.words[Word.GUARDIAN_WATCHES] = 1
    assert bench.guardian.take_over()
    bench.words[Word.CORE_PID] = 0
    if replaced:
        bench.core(generation=2, pid=201)
    bench.until_act()
    assert bench.limp
    assert bench.reason == "core_dead"
    # The next core is watched as ever, and was not killed.
    if not replaced:
        bench.core(generation=2, pid=201)
    bench.beats(2)
    assert bench.words[Word.GUARDIAN_WATCHES] == 2
    assert bench.processes.signals == []


def test_a_core_that_was_forked_after_an_unnoticed_death_waits_until_the_successor_has_released():
    bench = Bench()
    bench.words[Word.GUARDIAN_WATCHES] = 1
    bench.core(generation=2, pid=201)
    assert bench.guardian.take_over()
    assert bench.limp
    assert bench.reason == "core_dead"
    assert bench.processes.signals == []


def test_a_successor_kills_the_core_its_predecessor_was_about_to_kill():
    bench = Bench()
    bench.core()
    bench.words[Word.GUARDIAN_WATCHES], bench.words[Word.BUS_OWNER], bench.words[Word.LATCHED] = 1, OWNER_GUARDIAN, 1
    assert bench.guardian.take_over()
    assert [(pidfd, number) for _, pidfd, number in bench.processes.signals] == [(CORE, signal.SIGKILL)]
    assert bench.limp
    assert bench.words[Word.LATCH_COUNT] == 0


def test_an_ordered_end_is_no_fault_and_does_not_keep_the_guardian_busy():
    bench = Bench().watched()
    bench.words[Word.SHUTDOWN], bench.words[Word.TORQUE] = 1, 0
    bench.clock.dead.add(CORE)
    begun = bench.clock.now_ns
    for _ in range(20):
        assert bench.guardian.step()
    assert bench.told == []
    assert bench.clock.now_ns - begun > 15 * PERIOD_NS


def test_every_frame_the_guardian_sends_takes_torque_off():
    bench = Bench(6).watched()
    bench.clock.dead.add(CORE)
    bench.until_act()
    assert {request.op for _, request in bench.ports[0].written} == {Op.PASSIVE}


def test_it_heeds_requests_at_every_wake_up_while_it_takes_the_torque_off_too():
    bench = Bench().watched()
    bench.words[Word.CORE_BEAT] += 1
    bench.until_act()
    assert max(b - a for a, b in pairwise(bench.heeded)) <= PERIOD_NS
