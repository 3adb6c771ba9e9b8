"""How hold composes with the dwell time, evaluation by evaluation; and that sensory entries come first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nuc_engine.control.tasks.acting import ActingTransition
from nuc_engine.model.plan import CentralPlan, Slot
from nuc_engine.model.planning import stored_values
from tests.engine.test_tasks import Bench

MS = 1_000_000
FLEXION, EXTENSION = 0, 1


class Central(Bench):
    """One joint whose extension is entered centrally while `low` is not 0; `motor_control_delay_ns` is its hold."""

    def __init__(self, dwell_ms: int = 0, *, hold: bool = False) -> None:
        super().__init__(rules=("301 < 104", "301 > 104"), dwell_ns=dwell_ms * MS)
        plan = self.plan
        helper = plan.hdso("helper").index
        self.write_rule(helper, "103")
        slot = Slot(plan.hdso("motor_control_delay_ns").index) if hold else None
        states = (plan.states[0], replace(plan.states[1], central=CentralPlan(helper, slot)))
        self.plan = replace(plan, states=states)
        self.events.clear()
        self.task = ActingTransition(self.plan, self.store, self.board, self.rulebook)
        self.board.states[0] = FLEXION
        self.set("low", 0.0)

    def write_rule(self, index: int, text: str) -> None:
        code = [int(value) for value in stored_values(self.plan.hdsos[index], text, {})]
        self.rulebook.swap(index, code, self.rulebook.decode(index, code))

    def at(self, ms: int, *, angle: float, drive: float = 0.0) -> int:
        self.set("low", drive)
        self.sense(angle)
        self.task.run(ms * MS)
        return self.board.states[0]


def test_without_a_hold_a_sensory_entry_undoes_a_central_one_at_once() -> None:
    bench = Central()
    assert bench.at(0, angle=0.0) == FLEXION
    assert bench.at(25, angle=0.0, drive=1.0) == EXTENSION
    assert bench.at(50, angle=0.0, drive=1.0) == FLEXION


def test_sensory_entries_wait_for_the_hold_and_both_for_the_dwell_time() -> None:
    bench = Central(hold=True)
    bench.set("motor_control_delay_ns", 100 * MS)
    assert bench.at(25, angle=0.0, drive=1.0) == EXTENSION
    assert [bench.at(ms, angle=0.0) for ms in (50, 100, 124)] == [EXTENSION] * 3
    assert bench.at(125, angle=0.0) == FLEXION
    longer = Central(200, hold=True)
    longer.set("motor_control_delay_ns", 100 * MS)
    assert longer.at(200, angle=0.0, drive=1.0) == EXTENSION
    assert longer.at(399, angle=0.0) == EXTENSION
    assert longer.at(400, angle=0.0) == FLEXION


def test_a_central_entry_waits_for_the_dwell_time_too() -> None:
    bench = Central(100)
    assert bench.at(99, angle=0.0, drive=1.0) == FLEXION
    assert bench.at(100, angle=0.0, drive=1.0) == EXTENSION


def test_a_hold_follows_central_entries_alone() -> None:
    bench = Central(hold=True)
    bench.set("motor_control_delay_ns", 100 * MS)
    assert bench.at(25, angle=90.0) == EXTENSION
    assert bench.at(50, angle=0.0) == FLEXION


@pytest.mark.parametrize("drive", [0.0, 1.0])
def test_sensory_first(drive: float) -> None:
    """Where a sensory event leads there already, no switch is forced."""
    bench = Central()
    assert bench.at(25, angle=90.0, drive=drive) == EXTENSION
    assert bench.events == []


def test_a_forced_switch_is_told_with_its_cycle() -> None:
    bench = Central()
    bench.board.cycle = 17
    bench.at(25, angle=0.0, drive=1.0)
    text = "knee: from flexion to extension by its central rule, cycle 17"
    assert bench.events == [(25 * MS, "forced_switch", text)]
