"""Motor elements, `aimotor` and `motor`: how each is written, and what messages call it."""

from __future__ import annotations

from sccils_schemas.documents import AiMotor, Motor, Servo


def tag_of(servo: Servo) -> str:
    """Return the name of the element."""
    return "motor" if isinstance(servo, Motor) else "aimotor"


def model_of(servo: Servo) -> str:
    """Return the model a motor says it is; nothing where it does not."""
    match servo:
        case Motor():
            return servo.model
        case AiMotor():
            return servo.modelnum or ""
        case _:
            return ""


def label_of(servo: Servo) -> str:
    """Return the element with its model, for messages: `aimotor 701`, `motor XM430-W350`."""
    return f"{tag_of(servo)} {model_of(servo)}".rstrip()


def attributes_of(servo: Servo) -> dict[str, str | int | float | None]:
    """Return the attributes besides its labels in the order they are written in; None for those that are left out."""
    wiring: dict[str, str | int | float | None] = {
        "serialID": servo.serial_id,
        "dir": servo.dir,
        "angleCal1": servo.angle_cal1,
        "angleCal2": servo.angle_cal2,
    }
    if not isinstance(servo, Motor):
        modelnum = servo.modelnum if isinstance(servo, AiMotor) else None
        return {**wiring, "modelnum": modelnum, "bus": servo.bus}
    return {
        "model": servo.model,
        **wiring,
        "bus": servo.bus,
        "deltaTorque": servo.delta_torque_n_m,
        "stiffness": servo.stiffness_n_m_deg,
        "torqueLimit": servo.torque_limit_n_m,
        "currentScale": servo.current_scale,
        "currentPerSpeed": servo.current_per_speed,
        "currentDead": servo.current_dead,
        "currentSign": None if servo.current_sign == "reading" else servo.current_sign,
        "positionMin": servo.position_min,
        "positionMax": servo.position_max,
        "torqueTable": servo.torque_table,
        "cycleMin": servo.cycle_min_ms,
    }
