"""What losses cost on a line that is punctual: hardly anything, and nothing stops."""

import numpy as np
import pytest
from lateline import MS, Fate, LateLoop

from nuc_engine.control.faults import FAULTS

CYCLES = 3000
POSITIONS = (100, 103, 109, 97)


@pytest.mark.parametrize("late_ns", [0, 4 * MS])
def test_with_one_reply_in_a_hundred_lost_nine_exchanges_in_ten_drive(late_ns):
    rng = np.random.default_rng(3)
    fates = [Fate(unanswered=True) if lost else Fate() for lost in rng.random(4 * CYCLES + 100) < 0.01]
    loop = LateLoop(fates, lambda k, _: POSITIONS[k], oldest_ns=30 * MS, late_ns=late_ns)
    driven, most = [0] * 4, 0
    for _ in range(CYCLES):
        before = len(loop.line.goals)
        loop.cycle()
        for goal in loop.line.goals[before:]:
            driven[goal.servo] += 1
        most = max(most, *loop.bus.misses)
    assert loop.bus.missed > 80
    assert min(driven) >= 0.9 * CYCLES
    assert most < FAULTS["motor_silent"].after
