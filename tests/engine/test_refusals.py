"""Servos that are not what the configuration says end a bout before anything is driven."""

from __future__ import annotations

import pytest

from nuc_engine.control.executive import Executive
from nuc_engine.control.faults import EngineFault
from tests.engine.models import ScriptedBus, Trace, one_joint

MS = 1_000_000
TEXT = "servo (bus id 3): expected an XL430-W250, found an XM430-W350"


class Particular(ScriptedBus):
    """A bus that finds out in its second cycle that a servo is another model, and reads until then."""

    def run_until(self, horizon_ns: int) -> int:
        done = super().run_until(horizon_ns)
        if len(self.goals) == 2:
            self.refusals = (TEXT,)
        return done


def test_a_refusal_is_a_fault_before_the_first_drive():
    # Without a usable measurement the engine itself only reads, as while servos are being set up.
    bus = Particular(lambda now, goals: [None], 5 * MS)
    executive = Executive(one_joint(), bus, Trace())
    with pytest.raises(EngineFault, match="found an XM430-W350") as raised:
        executive.run_until(100 * MS)
    assert raised.value.name == "servo_refused"
    assert [goals for _, goals in bus.goals] == [[-1], [-1]]


def test_without_refusals_it_runs():
    executive = Executive(one_joint(), ScriptedBus(lambda now, goals: [(140, 0)]), Trace())
    executive.run_until(100 * MS)
    assert executive.board.cycle > 10
