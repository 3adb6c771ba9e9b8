"""What is told of the last happenings."""

from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.wire import RecordKind
from nuc_engine.service.recent import Recent


def test_a_mode_is_told_when_it_is_another_one() -> None:
    recent = Recent(lambda: 0.0)
    for k in range(4):
        recent.take(RecordKind.EVENT, [k, "off", "torque off was asked for"])
        recent.take(RecordKind.MODE, [k, int(Mode.STOPPED), "off: torque off was asked for", 0])
    recent.take(RecordKind.MODE, [5, int(Mode.CONFIGURED), "armed", 0])
    names = [happening["name"] for happening in recent.since(0)]
    assert names == ["off", "mode", "off", "off", "off", "mode"]
