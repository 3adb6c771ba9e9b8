"""Requests that do not wait for replies, on a real tty in real time. How fast that is depends on the machine and is not
judged here: that what is believed is true, that every cycle ends, and that torque goes off."""

from __future__ import annotations

from pathlib import Path

from drivers.aimotor import AiMotorBus
from drivers.aimotor.table import TICK_DEG, V_MAX_DEG_S
from drivers.bench import finish
from drivers.bus import READ_ONLY
from drivers.factory import open_bus
from drivers.servo import ReplyStatus, ServoAddress
from nuc_engine.cli.buslines import RealPace
from nuc_engine.emulation.bytelog import torque_off_ns
from tests.realtime.daemon import Leg, wait_for

OK = ReplyStatus.OK
SERVOS = tuple(ServoAddress(k, f"servo {k}") for k in range(4))
GOALS = [100, 110, 120, 130]
TICKS_PER_NS = V_MAX_DEG_S / TICK_DEG * 1e-9


def test_pipelined_exchanges_over_a_tty(tmp_path: Path) -> None:
    leg = Leg(tmp_path)
    try:
        bus = open_bus(f"{leg.url}?pipeline=1&timeout_us=100000", SERVOS, None, seed=0)
        assert isinstance(bus, AiMotorBus)
        pace = RealPace()
        good = 0
        for _ in range(300):
            bus.start(pace.now_ns, [goal if s == OK else READ_ONLY for goal, s in zip(GOALS, bus.status, strict=True)])
            finish(bus, pace)
            good += bus.status == [OK] * 4
        assert good > 200
        # A loopback servo has reached its goal by now, and each has its own.
        assert all(abs(at - goal) <= 2 for at, goal in zip(bus.position_raw, GOALS, strict=True))
        leg.tell("faults", drop=0.05, insert=0.05, delay=0.05)
        for _ in range(100):
            before, stamps = bus.position_raw[:], bus.stamp_ns[:]
            bus.start(pace.now_ns, [READ_ONLY] * 4)
            finish(bus, pace)
            for k, at in enumerate(bus.position_raw):
                assert abs(at - before[k]) <= 1 + TICKS_PER_NS * (bus.stamp_ns[k] - stamps[k])
        leg.tell("faults")
        wait_for(lambda: near_goals(bus, pace), "true positions again", leg)
        bus.torque_off(pace.now_ns)
        finish(bus, pace)
        assert bus.status == [OK] * 4
        bus.close()
        wait_for(lambda: None not in torque_off_ns(leg.log()).values(), "torque-off in the byte log", leg)
    finally:
        leg.end()


def near_goals(bus: AiMotorBus, pace: RealPace) -> bool:
    """Read everybody; say whether all answer, and stand where they were sent."""
    bus.start(pace.now_ns, [READ_ONLY] * 4)
    finish(bus, pace)
    near = all(abs(at - goal) <= 2 for at, goal in zip(bus.position_raw, GOALS, strict=True))
    return near and bus.status == [OK] * 4
