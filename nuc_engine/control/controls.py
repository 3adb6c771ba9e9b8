"""What a motor is commanded by, joint modes, position targets and tweaks, and what is sensed: all can change in flight.

A configuration's `control_mode` is what a bout starts with. `Controls` changes what motor action reads from the board;
every change is an edit like a write of HDSO data: timed, acknowledged, recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from nuc_engine.control.clamps import HOLD, OFF
from nuc_engine.control.tasks.board import Board, Drive, configured_drives
from nuc_engine.model.changes import JointControl
from nuc_engine.model.plan import MotorPlan, Plan
from sccils_schemas.numbers import fits_float

JOINT_MODES = ("muscle", "force", "position", "hold", "limp")
"""What a joint can be switched to. `position` is its position command HDSO, or where it stands when it has none."""

SENSE = "sense"
CONTROLS = ("mode", "target", "rate", "tweak", SENSE)
"""Kinds of controls: joint mode; target in degrees (the joint then holds positions); rate in deg/s; tweak in raw ticks
of the motor (0.654 degrees of its shaft on an AI motor, 0.088 on most others); what is sensed of a sensor: a number,
`hold`, or `off` (`nuc_engine.control.clamps`)."""

_SLOWEST_DEG_S, _FASTEST_DEG_S = 0.1, 10_000.0


class Controls:
    """Changes what motor action does with each joint's motor; refuses what a joint cannot do."""

    def __init__(self, plan: Plan, board: Board, approach_deg_s: float | None) -> None:
        self._plan, self._board = plan, board
        self._approach = approach_deg_s
        self.sense: Callable[[int, float | str], None] | None = None
        self.configured()

    def configured(self) -> None:
        """Let every motor do what its configuration says; targets, rates and tweaks are forgotten."""
        board = self._board
        board.drives = configured_drives(self._plan)
        for motor in self._plan.motors:
            k = motor.index
            board.target_raw[k] = None
            board.approach_raw[k] = None
            board.rate_raw_s[k] = None if self._approach is None else self._approach * abs(motor.cal2)
            board.tweaks[k] = 0

    def all(self, drive: Drive) -> None:
        """Let every motor be limp, read only, or hold where it stands."""
        for k in range(len(self._plan.motors)):
            self._switch(k, drive)

    def apply(self, control: JointControl) -> str:
        """Make a control take effect; return why it cannot, or nothing."""
        refused = refusal(control, self._plan)
        if refused:
            return refused
        if control.what == SENSE:
            if self.sense is not None:
                self.sense(control.joint, control.value)
            return ""
        k, value, board = self._plan.joints[control.joint].motor, control.value, self._board
        if control.what == "tweak":
            board.tweaks[k] = round(float(value))
        elif control.what == "rate":
            board.rate_raw_s[k] = float(value) * abs(self._plan.motors[k].cal2)
        elif control.what == "target":
            motor = self._plan.motors[k]
            if board.drives[k] != Drive.TARGET:
                self._switch(k, Drive.TARGET)
            board.target_raw[k] = motor.cal1 + motor.cal2 * float(value)
        else:
            self._switch(k, self._drive(k, str(value)))
        return ""

    def _drive(self, k: int, mode: str) -> Drive:
        if mode == "position":
            return Drive.POSITION if self._plan.motors[k].position_command >= 0 else Drive.TARGET
        return {"hold": Drive.TARGET, "limp": Drive.LIMP, "muscle": Drive.MUSCLE, "force": Drive.FORCE}[mode]

    def _switch(self, k: int, drive: Drive) -> None:
        board = self._board
        board.drives[k] = drive
        # None: from the next good measurement on.
        board.target_raw[k] = board.approach_raw[k] = None


def refusal(control: JointControl, plan: Plan) -> str:
    """Say why a control cannot be made on this plan, or nothing. Values may come from anywhere."""
    if control.what not in CONTROLS:
        return f"control {control.what!r}; expected {', '.join(CONTROLS)}"
    return _unsensed(control, plan) if control.what == SENSE else _undriven(control, plan)


def _undriven(control: JointControl, plan: Plan) -> str:
    if not 0 <= control.joint < len(plan.joints) or plan.joints[control.joint].motor < 0:
        return f"joint {control.joint} has no motor"
    if control.what == "mode":
        return _unfit_mode(control.value, plan, control.joint)
    joint, value = plan.joints[control.joint], control.value
    if isinstance(value, str) or not math.isfinite(value):
        return f"{control.what} {value!r} of {joint.name}; expected a finite number"
    lowest, highest, unit = _range(control.what, plan.motors[joint.motor])
    if lowest <= value <= highest:
        return ""
    return f"{control.what} {value:g} of {joint.name}; expected {lowest:.1f} to {highest:.1f} {unit}"


def _unsensed(control: JointControl, plan: Plan) -> str:
    if not 0 <= control.joint < len(plan.hdsos):
        return f"HDSO number {control.joint} does not exist"
    hdso, value = plan.hdsos[control.joint], control.value
    felt = {index for motor in plan.motors for index in (motor.angle, motor.current)}
    felt |= {signal.output.hdso for signal in plan.signals} | {signal.output.hdso for signal in plan.action_signals}
    if hdso.index not in felt:
        return f"{hdso.name} is no sensor that is measured or computed; expected one of a motor, or a signal"
    if isinstance(value, str):
        fits = value in (OFF, HOLD)
    else:
        fits = math.isfinite(value) and (hdso.datatype != "float" or fits_float(value))
    return "" if fits else f"sense {value!r} of {hdso.name}; expected off, hold or a finite {hdso.datatype}"


def subject(control: JointControl, plan: Plan) -> tuple[int, str]:
    """Return id and name of what a control is of: a joint, or a sensor. Raises IndexError where there is none."""
    of = plan.hdsos[control.joint] if control.what == SENSE else plan.joints[control.joint]
    return of.id_num, of.name


def index_of(what: str, number: int, plan: Plan) -> int:
    """Return the index of what a control of this kind is of, by its id. Raises KeyError or StopIteration."""
    if what == SENSE:
        return plan.hdso(number).index
    return next(joint.index for joint in plan.joints if joint.id_num == number)


def _range(what: str, motor: MotorPlan) -> tuple[float, float, str]:
    if what == "tweak":
        span = motor.goals[1] - motor.goals[0]
        return -span, span, "ticks of its servo"
    if what == "rate":
        return _SLOWEST_DEG_S, _FASTEST_DEG_S, "deg/s"
    ends = sorted((raw - motor.cal1) / motor.cal2 for raw in motor.goals)
    return ends[0], ends[1], "deg, where its servo can turn to"


def _unfit_mode(mode: float | str, plan: Plan, joint: int) -> str:
    described = plan.joints[joint]
    if mode not in JOINT_MODES:
        return f"mode {mode!r} of {described.name}; expected {', '.join(JOINT_MODES)}"
    if mode == "muscle" and not described.muscles:
        return f"{described.name} has no muscles"
    if mode == "force" and plan.motors[described.motor].force_command < 0:
        return f"{described.name}'s motor has no forceCommand"
    return ""
