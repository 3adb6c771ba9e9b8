"""A bound of the torque that was lost on the line: every family that says it apart from its goals must find out.

(On an AI motor the level is in every request.)
"""

import pytest

from drivers.framed.emulation.emulator import FramedEmulator
from drivers.framed.packet import SYNC_WRITE
from drivers.servo import LEVEL_SHARE
from tests.conformance.rig import COUNT, InProcess, cycle, go, middle, settle
from tests.conformance.test_inprocess import RIGS

CYCLES = 20
FRAMED = {name: rig for name, rig in RIGS.items() if "aimotor" not in rig[0]}


@pytest.mark.parametrize("rig", FRAMED.values(), ids=FRAMED.keys())
def test_a_bound_that_was_lost(rig, monkeypatch):
    rig = InProcess(*rig)
    settle(rig)
    go(rig, [middle(rig, 10)] * COUNT)
    servos = rig.emulator.servos
    # Whatever register it is: the last bits of all such requests but those of goals are turned over in the next cycles.
    goal = servos[0].memory.table["goal_position"].address
    real, lost = FramedEmulator.receive, []

    def receive(self, data, now_ns):
        parser = self._dialect.parser(status=False)
        for _, packet in parser.feed(data):
            if packet.instruction == SYNC_WRITE and packet.params[0] != goal and len(lost) < 2:
                whole = self._dialect.instruction(packet.bus_id, packet.instruction, packet.params)
                data = data.replace(whole, whole[:-1] + bytes((whole[-1] ^ 1,)))
                lost.append(packet)
        return real(self, data, now_ns)

    monkeypatch.setattr(FramedEmulator, "receive", receive)
    before = [servo.limit_share for servo in servos]
    rig.bus.set_level(4)
    for _ in range(CYCLES):
        cycle(rig, [middle(rig, 10)] * COUNT)
    assert len(lost) == 2
    assert min(before) > LEVEL_SHARE[4] + 0.05
    assert all(servo.driving for servo in servos)
    assert max(servo.limit_share for servo in servos) < LEVEL_SHARE[4] + 0.01
