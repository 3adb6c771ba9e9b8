"""AI motors that answer a torque-off with load and position, as everything else, can be armed, driven and let go of."""

import pytest

from drivers.aimotor.codec import Op
from drivers.aimotor.emulation.servos import EmulatedServos
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.wire import CoreCommand
from tests.daemon.cores import Bench, driven


@pytest.fixture
def loaded(monkeypatch):
    """Emulated servos that put a load where the manual's table repeats the position."""
    usual = EmulatedServos._obey_one

    def obey(crew, servo, request, heard_ns):
        reply = usual(crew, servo, request, heard_ns)
        return bytes((3, reply[1])) if request.op is Op.PASSIVE and reply else reply

    monkeypatch.setattr(EmulatedServos, "_obey_one", obey)


@pytest.mark.parametrize("latched", ["", "core_dead"])
def test_a_bout_runs_and_ends_on_such_servos(loaded, latched):
    bench = Bench(bus="emulated:", latched=latched)
    bench.run(0.2)
    if latched:
        assert bench.obeyed(CoreCommand.ARM) == (True, "")
    bench.start(0.3)
    assert driven(bench.bus.sent)
    assert bench.obeyed(CoreCommand.STOP, "off") == (True, "")
    assert bench.mode is Mode.STOPPED
    assert all(bench.core.live.board.limp)
