"""Servos that shut down by themselves and say so: the leg goes limp, and the log tells which and why."""

import pytest

from nuc_engine.bout.run import open_leg, prepare_bout
from nuc_engine.configurations.adapt import adapt, write_adapted
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.latch import LATCH_REASONS
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.wire import CoreCommand, RecordKind
from nuc_engine.model.motors import families_of
from tests.daemon.cores import Bench


@pytest.mark.parametrize(
    ("model", "url"), [("XM430-W350", "emulated:dynamixel?baud=1000000"), ("STS3215", "emulated:feetech")]
)
def test_a_servo_that_shuts_down_in_a_bout_ends_it_limp_and_is_named(tmp_path, model, url):
    write_adapted(adapt("lin_roach", model), tmp_path / "leg")
    plan = prepare_bout(str(tmp_path / "leg"), None, families=families_of([("", url)])).plan
    bench = Bench(wiring=lambda _: (plan, open_leg(plan, tmp_path / "leg", url, 1)[1]))
    bench.run(0.5)
    bench.start(0.3)
    bench._emulator.trip(2)
    bench.run(0.3)
    assert bench.mode is Mode.FAULT
    assert LATCH_REASONS[bench.words[Word.LATCH_REASON]] == "servo_refused"
    events = [
        content for kind, content in bench.records() if kind is RecordKind.EVENT and content[1] == "servo_refused"
    ]
    assert events
    assert all(bench.plan.motors[2].name in event[2] and "overload" in event[2] for event in events)
    ok, why = bench.obeyed(CoreCommand.RUN, 0, -1, 2)
    assert not ok
    assert why
