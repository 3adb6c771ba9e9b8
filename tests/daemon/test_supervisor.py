"""The main process on paper time: children are entries in a list, ports open when they are told to."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from nuc_engine.daemon.block import OWNER_CORE, OWNER_GUARDIAN, Word
from nuc_engine.daemon.children import MOST_STARTS, RESTART_DELAYS_NS
from nuc_engine.daemon.heartbeats import GUARDIAN_TIMEOUT_NS, SERVICE_TIMEOUT_NS
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.spawn import END_SIGNAL
from nuc_engine.daemon.supervisor import TICK_NS
from nuc_engine.model.store import StoreError
from tests.daemon.supervised import Child, Port, S


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
    for k, pause in enumerate((0, *RESTART_DELAYS_NS[1:], RESTART_DELAYS_NS[-1])):
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
    core.reap = lambda: seen.append(bench.words[Word.CORE_PID])
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


@pytest.mark.parametrize(
    ("name", "limit_ns"), [("nuc-guardian", GUARDIAN_TIMEOUT_NS), ("nuc-service", SERVICE_TIMEOUT_NS)]
)
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


def test_the_main_process_is_readable_in_one_sitting():
    assert len((Path(__file__).parents[2] / "nuc_engine/daemon/supervisor.py").read_text().splitlines()) <= 320


def test_an_emulator_that_dies_again_and_again_before_its_bus_is_there_ends_the_daemon_and_says_how(make):
    bench = make(emulators=[("nuc-emulate", lambda: 0)], ports=[Port(there=False)])
    while bench.tick():
        for emulator in bench.named("nuc-emulate"):
            if not emulator.ended:
                emulator.end(1)
        for service in bench.named("nuc-service"):
            if END_SIGNAL in service.signals:
                service.end()
    assert len(bench.named("nuc-emulate")) == MOST_STARTS
    assert bench.supervisor.run() == 1
    why = f"nuc-emulate ended with 1, {MOST_STARTS} times in a row; it has said above why"
    assert ("shutdown", why) in bench.events()
    assert bench.said[-1] == f"ending: {why}"


def test_an_emulator_whose_bus_is_found_each_time_is_started_again_however_often_it_dies(make):
    port = Port()
    bench = make(emulators=[("nuc-emulate", lambda: 0)], ports=[port]).up()
    for _ in range(3 * MOST_STARTS):
        bench.last("nuc-emulate").end(-9)
        port.there, bench.words[Word.BUS_LOST] = False, 1
        while bench.last("nuc-emulate").ended:
            assert bench.tick()
        bench.last("nuc-core").end()
        bench.last("nuc-guardian").end()
        port.there = True
        while bench.words[Word.BUS_LOST]:
            assert bench.tick()


def test_requests_for_torque_off_are_heeded_before_all_else_in_each_tick_and_the_service_can_not_take_them(make):
    heeded = []
    bench = make(heed=heeded.append, off=55)
    before = [*bench.children]
    bench.tick(3)
    assert len(heeded) == 3
    assert not before
    service = bench.last("nuc-service")
    assert 55 in service.close
    assert service.program.args[0].off == -1
