"""Bouts of the daemon in real time hold against the equations, whatever the machine did to them."""

from __future__ import annotations

import time  # noqa: TID251  real processes live on the real clock
from pathlib import Path

from nuc_engine.verify import verify_bout


def assert_verified(folder: Path) -> None:
    verdict = verify_bout(folder)
    assert verdict.good, (verdict.changed_files, verdict.differences[:5])
    assert verdict.records["MotorData.txt"] > 50


def test_a_bout_with_edits_controls_and_a_change_of_its_period(serve) -> None:
    _, served = serve()
    served.run_bout(0.3)
    client = served.client
    client.set({"TC1_retLEV_FTang": 61.5, "statetrans_period_ns": 20_000_000})
    client.tweak("Coxa-Trochanter", 4)
    client.joint_mode("Femur-Tibia", "hold")
    time.sleep(0.2)
    client.joint_mode("Femur-Tibia", "limp")
    client.set({"motor_control_delay_ns": 2_000_000})
    time.sleep(0.2)
    client.joint_mode("Femur-Tibia", "muscle")
    time.sleep(0.2)
    assert_verified(served.finish_bout())


def test_a_bout_on_a_noisy_line_that_ends_by_a_hand_on_the_switch(serve) -> None:
    leg, served = serve()
    served.run_bout(0.3)
    leg.tell("faults", drop=0.01)
    time.sleep(0.5)
    served.client.off()
    assert_verified(served.await_whole(served.bouts()[-1]))
