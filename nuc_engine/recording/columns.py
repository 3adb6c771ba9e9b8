"""columns.json: what every column of the data logs means, so that no reader has to guess (readings E1 to E5)."""

from __future__ import annotations

from typing import Any

from drivers.factory import DEFAULT_FAMILY, find_family
from nuc_engine.model.plan import JointPlan, MotorPlan, Plan
from nuc_engine.recording.files import MOTOR_LOG, MUSCLE_LOG, PLANT_LOG, SENSOR_LOG, STATE_LOG
from nuc_engine.recording.logs import muscle_columns
from sccils_schemas.documents import Joint
from sccils_schemas.model import Model

FORMAT = 1

_TIME = {"name": "time", "unit": "ns", "meaning": "time since engine start, when the task ran"}


def describe_columns(model: Model, plan: Plan) -> dict[str, Any]:
    """Return the content of columns.json for a model."""
    return {
        "format": FORMAT,
        "files": {
            MOTOR_LOG: {"task": "motor_action", "columns": [_TIME, *_motor_columns(plan)]},
            SENSOR_LOG: {"task": "motor_conversion", "columns": [_TIME, *_sensor_columns(model, plan)]},
            STATE_LOG: {"task": "state_transition", "columns": [_TIME, *_state_columns(plan)]},
            MUSCLE_LOG: {"task": "muscle_conversion", "columns": [_TIME, *_muscle_columns(plan)]},
            PLANT_LOG: {"task": "emulated plant", "columns": [_TIME, *_plant_columns()]},
        },
        "states": [*(_state(model, plan, k) for k in range(len(plan.states))), *_upper_states(plan)],
        "joints": [
            {"name": joint.name, "id": joint.id_num, "states": list(joint.states), "muscles": list(joint.muscles)}
            for joint in plan.joints
        ],
    }


def _motor_columns(plan: Plan) -> list[dict[str, Any]]:
    raw, sent = [], []
    for motor in plan.motors:
        calibration = f"angle_deg = (raw - {motor.cal1:g}) / {motor.cal2:g}"
        raw += [
            _load_column(motor),
            _column(motor.name, "position_raw", _tick(motor), f"position as replied; {calibration}"),
        ]
        sent += [
            _column(motor.name, "sent_raw", _tick(motor), "position sent in this cycle; -1: position read only"),
            _column(motor.name, "age_ns", "ns", "age of the measurement when the cycle was complete"),
        ]
    return raw + sent


def _tick(motor: MotorPlan) -> str:
    return f"tick ({motor.tick_deg:.4g} deg)"


def _load_column(motor: MotorPlan) -> dict[str, Any]:
    if motor.family == DEFAULT_FAMILY:
        unit, meaning = "tick (18.4 mA)", "motor current as replied"
    else:
        model = find_family(motor.family).models[motor.model]
        unit, meaning = model.load_unit, f"load as replied; {motor.load_scale:.6g} of the current sensor"
    signed = motor.load_range[0] < 0
    sign = "that of rising raw positions" if signed else "none: a magnitude"
    return _column(motor.name, "current_raw", unit, meaning, sign=sign)


def _column(owner: str, what: str, unit: str, meaning: str, **more: Any) -> dict[str, Any]:
    return {"name": f"{owner}.{what}", "unit": unit, "meaning": meaning, **more}


def _sensor_columns(model: Model, plan: Plan) -> list[dict[str, Any]]:
    columns: list[dict[str, Any]] = []
    for index in plan.sensor_columns:
        hdso = plan.hdsos[index]
        column: dict[str, Any] = {
            "name": hdso.name,
            "hdso": hdso.id_num,
            "unit": hdso.units,
            "meaning": model.hdso(hdso.id_num).fullname or hdso.name,
        }
        for motor in plan.motors:
            if index == motor.angle:
                column |= {"frame": f"joint {plan.joints[motor.joint].name}, calibrated", "motor": motor.name}
            elif index == motor.current:
                column |= {"sign": _sensor_sign(motor), "motor": motor.name}
        columns.append(column)
    return columns


def _sensor_sign(motor: MotorPlan) -> str:
    own = motor.load_range[0] < 0 and not motor.load_with_drive
    whose = "that of the reading" if own else "sign of the commanded raw delta"
    every = f"{motor.sample_ns / 1e6:g} ms" if motor.sample_ns else "cycle"
    return f"{whose}; filtered 0.05 new + 0.95 old per {every}"


def _state_columns(plan: Plan) -> list[dict[str, Any]]:
    columns: list[dict[str, Any]] = []
    for joint in plan.joints:
        columns.append(_column(joint.name, "state", "code", _state_meaning(plan, joint)))
        for k, muscle in enumerate(muscle_columns(plan, joint.index)):
            name = plan.muscles[muscle].name if muscle >= 0 else "none"
            columns.append(_column(joint.name, f"activation[{k}]", "1", f"activation of {name}", muscle=name))
    return columns + [_column(module.name, "state", "code", "index into `states`") for module in plan.modules]


def _state_meaning(plan: Plan, joint: JointPlan) -> str:
    if joint.states:
        return "index into `states`"
    if joint.start_state < 0:
        return "-1 throughout: the joint has no states and names no start state"
    return (
        f"index into `states`, {joint.start_state} throughout: the joint has no states of its own, and its "
        f"configuration lets it start in {plan.states[joint.start_state].name}"
    )


def _muscle_columns(plan: Plan) -> list[dict[str, Any]]:
    columns: list[dict[str, Any]] = []
    for muscle in plan.muscles:
        joint = plan.joints[muscle.joint].name
        columns += [
            _column(muscle.name, "force", "unit of fmax", f"muscle force at {joint} (eq. 6-5)", muscle=muscle.id_num),
            _column(
                muscle.name, "length", "unit of Lnaught", "muscle length, l' Lnaught (eq. 6-6)", muscle=muscle.id_num
            ),
        ]
    return columns


def _plant_columns() -> list[dict[str, Any]]:
    frame = "origin of the joint list's first A-matrix; x forward, y left, z up"
    foot = [{"name": f"foot_{axis}", "unit": "cm", "meaning": "true foot position", "frame": frame} for axis in "xyz"]
    return [*foot, {"name": "contact", "unit": "N", "meaning": "true normal force of the ground on the foot"}]


def _state(model: Model, plan: Plan, code: int) -> dict[str, Any]:
    state = plan.states[code]
    joint = plan.joints[state.joint]
    return {
        "code": code,
        "id": state.id_num,
        "name": state.name,
        "joint": joint.name,
        "color": _color(next(item for item in model.jointlist.joints if item.id_num == joint.id_num), state.id_num),
    }


def _upper_states(plan: Plan) -> list[dict[str, Any]]:
    return [
        {"code": state.index, "id": state.id_num, "name": state.name, "module": module.name, "color": None}
        for module in plan.modules
        for state in module.states
    ]


def _color(joint: Joint, state_id: int) -> list[float] | None:
    style = next(state.plotstyle for state in joint.states if state.id_num == state_id)
    return None if style is None or style.colorspec is None else list(style.colorspec)
