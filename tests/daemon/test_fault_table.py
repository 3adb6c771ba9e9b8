"""What each fault does in each process that can find it: what its row in the table says, and with another row, that."""

from __future__ import annotations

import math

import pytest

from drivers.errors import PortError
from drivers.servo import PlantFault
from nuc_engine.bout import run as bout_module
from nuc_engine.bout.run import BoutSpec, run_bout
from nuc_engine.control.executive import Executive
from nuc_engine.control.faults import FAULTS, Effect, Process
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.latch import latched
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.wire import RecordKind
from nuc_engine.model.changes import Changeset, Write
from tests.daemon.bus_rows import FORMS
from tests.daemon.cores import MS, Bench, S
from tests.daemon.test_bus_rows import BEHIND_MS, LATE_MS, driving
from tests.daemon.test_guardian import CORE, SUPERVISOR
from tests.daemon.test_guardian import Bench as GuardianBench
from tests.service.log_feed import Bench as LoggerBench
from tests.service.log_feed import bout
from tests.service.test_logger_disks import Disk

BOUT, IN_CORE, GUARDIAN, SERVICE = Process
WARN, STOP, OFF = Effect


def fail(error):
    raise error


def muscle_without_a_number(executive):
    slot = executive.plan.muscles[0].passive_stiffness.parameters[0]
    executive.store.write(slot.hdso, (math.nan,) * executive.plan.hdsos[slot.hdso].count)


def write_beyond_its_range(executive):
    write = Write(executive.plan.motor_speed, (9,))
    executive.load([Changeset(executive._clock.now_ns, (write,))])


def rules_true_together(executive):
    executive.rulebook.in_force.update(dict.fromkeys(executive.rulebook.in_force, lambda: True))


def rules_that_take_long(executive):
    next(entry for entry in executive.entries if entry.name == "state_transition").cost_ns = 30 * MS


IN_A_TASK = {
    "bad_command": muscle_without_a_number,
    "write_refused": write_beyond_its_range,
    "rule_overlap": rules_true_together,
    "overrun": rules_that_take_long,
}

IN_A_BOUT = {
    **IN_A_TASK,
    "motor_silent": lambda executive: executive._bus._port._end.unplug(2),
    "servo_refused": lambda executive: setattr(executive._bus, "refusals", ("another model",)),
    "plant_diverged": lambda executive: fail(PlantFault("BADQACC")),
    "logging_failed": lambda executive: fail(OSError(28, "no space")),
    "engine_error": lambda executive: fail(RuntimeError("the moon is full")),
}


def in_a_bout(name, folder, patch):
    """Cause a fault half a second into a bout on the virtual clock; return what became of it."""
    made, off = [], []

    class Kept(Executive):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            made.append(self)

        def torque_off(self):
            off.append(self.clock.now_ns)
            super().torque_off()

    def cause(simulated_s, _):
        if simulated_s == 0.5:
            IN_A_BOUT[name](made[0])

    patch.setattr(bout_module, "Executive", Kept)
    result = run_bout(BoutSpec("lin_roach", folder / "bout", duration_s=1, bus="loopback:"), cause)
    told = (result.folder / "Infolog.txt").read_text()
    assert name in told
    assert FAULTS[name].hint in told
    if result.state == "complete":
        return WARN
    assert result.reason.startswith(f"{name}: ")
    return OFF if off else STOP


def outage(bench):
    bench._emulator.supply(on=False)
    bench.run(0.04)
    bench._emulator.supply(on=True)


def rules_that_take_long_here(bench):
    live = bench.core.live
    compute = live.transition.run

    def take_long(now_ns):
        del live.transition.run
        compute(now_ns)
        bench.clock.now_ns = now_ns + 60 * MS

    live.transition.run = take_long
    for _ in range(200):
        bench.core.turn()


IN_THE_CORE = {
    **{name: lambda bench, cause=cause: cause(bench.core.live) for name, cause in IN_A_TASK.items()},
    "overrun": rules_that_take_long_here,
    "motor_silent": lambda bench: bench.unplug(1),
    "bus_silent": outage,
    "bus_held_up": lambda bench: setattr(bench.line.port, "behind_ns", BEHIND_MS * MS),
    "servo_refused": lambda bench: setattr(bench.bus, "refusals", ("another model",)),
    "stood_still": lambda bench: setattr(bench.clock, "now_ns", bench.clock.now_ns + 501 * MS),
    "guardian_lost": lambda bench: setattr(bench, "guardian_beats", False),
    "suspended": lambda bench: setattr(bench, "asleep_ns", S),
    "service_lost": lambda bench: (setattr(bench, "service_beats", False), bench.run(3.0)),
}
ENDS_THE_CORE = {"engine_error": RuntimeError("the moon is full"), "bus_lost": PortError("the adapter is gone")}


def in_the_core(name, folder, patch):
    """Cause a fault in a bout beside a leg on paper; return what became of it."""
    if name == "bus_held_up":
        bench, (line,) = driving(FORMS[0].later(LATE_MS))
        bench.line = line
    else:
        bench = Bench(on_service_loss="stop")
        bench.run(0.05)
        bench.start(0.3)
    bench.records()
    if name in ENDS_THE_CORE:
        patch.setattr(type(bench.bus.bus), "proceed", lambda *_: fail(ENDS_THE_CORE[name]))
        bench.core.work()
        assert bench.mode is Mode.FAULT
    else:
        IN_THE_CORE[name](bench)
        if name == "stood_still":
            bench.core.turn()
        bench.run(0.4)
    told = [content[2] for kind, content in bench.records() if kind is RecordKind.EVENT and content[1] == name]
    assert FAULTS[name].hint in told[0]
    if bench.mode is Mode.FAULT:
        assert latched(bench.words) == name
        return OFF
    assert not bench.words[Word.LATCHED]
    return {Mode.RUNNING: WARN, Mode.STOPPED: STOP}[bench.mode]


FOR_THE_GUARDIAN = {
    "core_dead": lambda bench: bench.clock.dead.add(CORE),
    "core_stalled": lambda bench: None,
    "supervisor_lost": lambda bench: bench.clock.dead.add(SUPERVISOR),
    "bus_lost": lambda bench: bench.words.__setitem__(Word.BUS_LOST, 1),
}


def for_the_guardian(name, folder, patch):
    bench = GuardianBench().watched()
    FOR_THE_GUARDIAN[name](bench)
    for _ in range(8):
        if bench.guardian.step() and not bench.told:
            continue
        break
    (text,) = [text for told, text in bench.told if told == name]
    assert FAULTS[name].hint in text
    assert bench.reason in ("", name)
    assert bool(bench.reason) == all(bench.shafts[0].limp)
    return OFF if bench.reason else WARN


def in_the_service(name, folder, patch):
    bench = LoggerBench(folder)
    disk, writer = Disk(patch), bench.writer()
    disk.full = True
    words = bytes(bench.block.words)
    bench.put(*bout())
    bench.run(writer)
    assert FAULTS[name].hint in bench.events(name)[0]["text"]
    assert bytes(bench.block.words) == words
    assert bench.block.rings["commands"].written == 0
    return WARN


HAPPENS = {BOUT: in_a_bout, IN_CORE: in_the_core, GUARDIAN: for_the_guardian, SERVICE: in_the_service}
ROWS = [(process, name) for name, fault in FAULTS.items() for process in fault.effects]


@pytest.mark.parametrize(("process", "name"), ROWS, ids=str)
def test_what_a_fault_does_is_what_its_row_says(process, name, tmp_path, monkeypatch):
    assert HAPPENS[process](name, tmp_path, monkeypatch) is FAULTS[name].effects[process]


@pytest.mark.parametrize(
    ("process", "name", "effect"),
    [
        *((process, name, effect) for process in (BOUT, IN_CORE) for name in IN_A_TASK for effect in (STOP, OFF)),
        *((process, name, WARN) for process in (BOUT, IN_CORE) for name in ("motor_silent", "servo_refused")),
        *((BOUT, name, OFF) for name in ("plant_diverged", "logging_failed")),
        *((BOUT, name, STOP) for name in ("motor_silent", "servo_refused", "engine_error")),
        *((IN_CORE, name, effect) for name in ("bus_silent", "bus_held_up", "suspended") for effect in (WARN, STOP)),
        *((IN_CORE, name, effect) for name in ("service_lost",) for effect in (WARN, OFF)),
        *((GUARDIAN, name, WARN) for name in FOR_THE_GUARDIAN),
    ],
)
def test_with_another_row_something_else_happens(process, name, effect, tmp_path, monkeypatch):
    monkeypatch.setitem(FAULTS[name].effects, process, effect)
    assert HAPPENS[process](name, tmp_path, monkeypatch) is effect
