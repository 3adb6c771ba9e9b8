"""What tasks hand to each other besides the store: the working values of one leg, as plain lists.

Everything here is written by exactly one task, named in the field's comment, and read by later ones.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from nuc_engine.model.plan import Plan

EventSink = Callable[[int, str, str], None]
"""Receives (time_ns, kind, text) of something worth a line in Infolog.txt."""


class Drive(IntEnum):
    """Where a motor's command comes from."""

    NONE = 0  # nowhere: its position is read, its last command stays in force
    MUSCLE = 1  # the servo delta of its joint's muscles
    FORCE = 2  # its force command HDSO, in ticks
    POSITION = 3  # its position command HDSO, in raw units
    LIMP = 4  # its torque is off
    TARGET = 5  # the board's target


class Board:
    """Working values of one model; lists are in the order of the plan's motors, joints and muscles."""

    def __init__(self, plan: Plan, on_event: EventSink) -> None:
        motors, muscles = len(plan.motors), len(plan.muscles)
        self.on_event = on_event
        # nuc_engine.control.controls: where each motor's command comes from, what a position target is (raw; None:
        # where the motor stands), how fast positions are approached (raw units/s; None: at once), ticks added to its
        # delta.
        self.drives = configured_drives(plan)
        self.target_raw: list[float | None] = [None] * motors
        self.rate_raw_s: list[float | None] = [None] * motors
        self.tweaks = [0] * motors
        self.approach_raw: list[float | None] = [None] * motors  # motor_action: how far the approach has come
        # Of the last complete exchange, whole: MotorAction.complete replaces these together and nothing else writes
        # them, so that whatever runs before the next completion, a next start among it, sees one cycle.
        self.cycle = 0  # completed exchanges of all motors
        self.position_raw = [0] * motors  # last good reply
        self.current_raw = [0] * motors
        self.status = [0] * motors  # ReplyStatus
        self.stamp_ns = [0] * motors  # instant of the last good reply
        self.sent_raw = [-1] * motors  # what the guard let through, -1 = position read
        self.drive_sign = [0] * motors  # sign of the raw delta in force when the current was measured (reading B19)
        self.limp = [False] * motors  # motor_action: torque off, confirmed by the servo and nothing sent since
        self.deltas = [0.0] * motors  # muscle_conversion: servo delta in ticks (eq. 6-5)
        self.velocity_rad_s = [0.0] * motors  # motor_conversion: filtered joint velocity
        self.sensed = False  # motor_conversion: every sensor has a value
        # state_transition: of the joints, then of modules without a motor.
        self.states = [joint.start_state for joint in plan.joints]
        self.states += [module.start_state for module in plan.modules]
        self.activations = [0.0] * muscles  # state_transition
        self.forces = [0.0] * muscles  # muscle_conversion
        self.lengths = [muscle.l0 for muscle in plan.muscles]  # muscle_conversion


def configured_drives(plan: Plan) -> list[Drive]:
    """Return what each motor is driven by when its joint's control mode is the configuration's (reading B20)."""
    return [Drive[plan.joints[motor.joint].control_mode.upper()] for motor in plan.motors]
