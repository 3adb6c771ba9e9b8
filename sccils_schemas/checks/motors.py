"""Checking the motors of a joint list: one by one, the motors of one joint against each other, and all of them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from sccils_schemas.checks.hdso_table import sensor_refs
from sccils_schemas.checks.scope import Scope
from sccils_schemas.documents import AiMotor, HdsoMod, Joint, JointList, Motor, Servo
from sccils_schemas.lines import attribute_line
from sccils_schemas.names import counted
from sccils_schemas.reader import STAND_IN
from sccils_schemas.servos import label_of, model_of

MAX_AIMOTOR_ID = 30
"""Greatest bus id of an AI motor; 31 addresses all of them."""
MAX_ID = 253
"""Greatest bus id of any family; what a family allows is known when a bus is opened."""
MAX_TABLE_NAME = 100
MAX_CYCLE_MS = 50.0
"""The longest `cycleMin`: servos with a watchdog stop when they have heard nothing for 100 ms."""

_BUS_NAME = re.compile("[A-Za-z][A-Za-z0-9_-]*")
_TABLE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*\.json")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a motor is on the wire. Motors of other models are of other families, as far as can be seen here."""

    bus: str | None
    model: str
    serial_id: int


def check_motors(jointlist: JointList, scope: Scope) -> None:
    """Report motors that are where another is, and commands that two joints share."""
    servos = [servo for joint in jointlist.joints if not joint.endpoint for servo in joint.servos]
    serials: dict[_Place, Servo] = {}
    commands: dict[int, str] = {}
    for servo in servos:
        # The models of the AI series are one family.
        model = "" if isinstance(servo, AiMotor) else model_of(servo)
        first = serials.setdefault(_Place(servo.bus, model, servo.serial_id), servo)
        if first is not servo and servo.serial_id > STAND_IN:
            where = f" on bus {servo.bus!r}" if servo.bus else ""
            what = f"serialID {servo.serial_id} of motor {servo.id_num} ({servo.name}) is used twice{where}"
            hint = f"motor {first.id_num} ({first.name}) in line {first.line} has it"
            scope.error_at(servo.line, "serialID", what, "a bus id of its own", hint)
        for mod in (servo.force_command, servo.position_command):
            entry = None if mod is None else scope.table.get(mod.ref)
            if mod is not None and entry is not None:
                holder = commands.setdefault(entry.hdso.id_num, servo.name)
                if holder != servo.name:
                    scope.error(mod.line, f"{entry} commands {holder} and {servo.name}", "an HDSO of its own")


def check_joint_motors(joint: Joint, scope: Scope) -> None:
    """Report everything wrong with the motors of one joint, and what they do not have in common."""
    for servo in joint.servos:
        _check_servo(servo, joint, scope)
    models: dict[str, Motor] = {}
    for motor in joint.motors:
        first = models.setdefault(motor.model, motor)
        if first is not motor:
            what = f"{label_of(motor)} is given twice for joint {joint.id_num} ({joint.name})"
            scope.error(motor.line, what, "one motor of each family", f"first in line {first.line}")
    for servo in joint.servos[1:]:
        _check_alike(joint.servos[0], servo, joint, scope)


def _check_alike(first: Servo, servo: Servo, joint: Joint, scope: Scope) -> None:
    """Report what two motors of a joint must share: to rules, scripts and logs they are the same one."""
    shared = (
        ("idNum", first.id_num, servo.id_num),
        ("name", first.name, servo.name),
        ("forceCommand", _held_by(first.force_command, scope), _held_by(servo.force_command, scope)),
        ("sensorspec", _sensors_of(first, scope), _sensors_of(servo, scope)),
        ("positionCommand", _held_by(first.position_command, scope), _held_by(servo.position_command, scope)),
    )
    for what, of_first, of_this in shared:
        stands_in = isinstance(of_this, int) and what == "idNum" and min(of_this, first.id_num) <= STAND_IN
        if of_first != of_this and not stands_in:
            text = f"{label_of(servo)} of joint {joint.id_num} ({joint.name}) has {_said(what, of_this)}"
            hint = f"as {label_of(first)} in line {first.line}: all motors of a joint have it in common"
            scope.error(servo.line, text, _said(what, of_first), hint)


def _held_by(mod: HdsoMod | None, scope: Scope) -> int | str | None:
    entry = None if mod is None else scope.table.get(mod.ref)
    return entry.hdso.id_num if entry is not None else None if mod is None else mod.ref


def _sensors_of(servo: Servo, scope: Scope) -> str | None:
    entries = [scope.table.get(ref) for ref in sensor_refs(servo)]
    return " ".join(str(entry.hdso.id_num) for entry in entries if entry is not None) or None


def _said(what: str, value: int | str | None) -> str:
    return f"no {what}" if value is None else f"{what} {value}"


def _check_servo(servo: Servo, joint: Joint, scope: Scope) -> None:
    label = f"motor {servo.id_num} ({servo.name})"
    if servo.bus is not None and not _BUS_NAME.fullmatch(servo.bus):
        scope.error_at(servo.line, "bus", f"bus {servo.bus!r} of {label}", "a name of letters, digits, _ and -")
    highest = MAX_AIMOTOR_ID if isinstance(servo, AiMotor) else MAX_ID
    if servo.serial_id > STAND_IN and not 0 <= servo.serial_id <= highest:
        scope.error_at(servo.line, "serialID", f"serialID {servo.serial_id} of {label}", f"0 to {highest}")
    if servo.angle_cal2 == 0:
        hint = "an AI motor has 1.529 raw units per degree"
        if isinstance(servo, Motor):
            hint = "its model's ticks per degree, negative where it is mounted the other way round"
        scope.error_at(
            servo.line, "angleCal2", f"angleCal2 of {label} is 0", "the slope of raw position over degrees", hint
        )
    elif math.copysign(1, servo.angle_cal2) != servo.dir:
        what = f"dir='{servo.dir}' of {label} and angleCal2='{servo.angle_cal2:g}' have different signs"
        line = attribute_line(servo.line, "dir")
        scope.warning(line, what, hint="torque would push against the angle; in all known legs the signs agree")
    if servo.sensorspecs and len(sensor_refs(servo)) != 2:
        what = f"the sensorspec of {label} names {counted(len(sensor_refs(servo)), 'sensor')}"
        scope.error(servo.sensorspecs[0].line, what, "two: its angle, then its current")
    if isinstance(servo, Motor):
        _check_quantities(servo, label, scope)
    _check_commands(servo, joint, label, scope)


def _check_quantities(motor: Motor, label: str, scope: Scope) -> None:
    if not motor.model:
        scope.error_at(motor.line, "model", f"the model of {label} is empty", "a model of servo, such as XM430-W350")
    positive = (
        ("deltaTorque", motor.delta_torque_n_m, "N m per unit of muscle output"),
        ("stiffness", motor.stiffness_n_m_deg, "N m per degree"),
        ("torqueLimit", motor.torque_limit_n_m, "N m"),
    )
    for name, value, unit in positive:
        if value is not None and value <= 0:
            line = attribute_line(motor.line, name)
            scope.error(line, f"{name}='{value:g}' of {label}", f"more than 0 {unit}")
    if motor.current_scale == 0:
        hint = "negative where the servo counts its load the other way round"
        scope.error_at(
            motor.line, "currentScale", f"currentScale of {label} is 0", "units of the current sensor per count", hint
        )
    if motor.current_dead is not None and motor.current_dead < 0:
        scope.error_at(
            motor.line,
            "currentDead",
            f"currentDead='{motor.current_dead:g}' of {label}",
            "0 or more units of the sensor",
        )
    if motor.cycle_min_ms is not None and not 0 <= motor.cycle_min_ms <= MAX_CYCLE_MS:
        expected = f"0 to {MAX_CYCLE_MS:g} ms that a round of exchanges takes at least"
        scope.error_at(motor.line, "cycleMin", f"cycleMin='{motor.cycle_min_ms:g}' of {label}", expected)
    if motor.position_min is not None and motor.position_max is not None and motor.position_min >= motor.position_max:
        what = f"positionMin='{motor.position_min}' and positionMax='{motor.position_max}' of {label}"
        scope.error_at(motor.line, "positionMax", what, "the lowest and the highest raw position it is sent to")
    table = motor.torque_table
    if table is not None and (not _TABLE_NAME.fullmatch(table) or len(table) > MAX_TABLE_NAME):
        what = f"torqueTable='{table[:MAX_TABLE_NAME]}' of {label}"
        line = attribute_line(motor.line, "torqueTable")
        scope.error(line, what, "the name of a .json file beside this one, without a folder")


def _check_commands(servo: Servo, joint: Joint, label: str, scope: Scope) -> None:
    for word, mod in (("position", servo.position_command), ("force", servo.force_command)):
        entry = None if mod is None else scope.table.get(mod.ref)
        if mod is not None and entry is not None and scope.want_kind(entry, ("parameter",), mod.line, f"{word}Command"):
            scope.want_single(entry, mod.line, f"{word}Command")
            if entry.hdso.datatype == "char" or (word == "force" and entry.hdso.datatype == "uchar"):
                what = f"{entry} is of type {entry.hdso.datatype} and stands as {word}Command"
                expected = "float, double, int or llint" if word == "force" else "a type of numbers"
                scope.error(mod.line, what, expected, "a servo delta has a sign" if word == "force" else "")
            if joint.control_mode == word:
                scope.want_value(entry, mod.line, f"the {word}Command of {label}")
