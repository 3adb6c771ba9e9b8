"""The two legs of the dissertation as plans, as far as a plant looks at them: geometry and motors (appendix 10.2)."""

from __future__ import annotations

import math
from dataclasses import replace

from nuc_engine.model.plan import JointPlan, MotorPlan, Plan

DEGREE = math.pi / 180.0

ROACH_AMATRIX = (
    -0.939692620785908, 0.0, -0.342020143325669, 0.0,
    0.262002630229385, 0.642787609686539, -0.719846310392954, 0.0,
    0.219846310392954, -0.766044443118978, -0.604022773555054, 10.5,
    0.0, 0.0, 0.0, 1.0,
)  # fmt: skip
STICK_AMATRIX = (
    0.066765172417751, 0.996194698091746, 0.056022631551222, 0.0,
    -0.763129412737770, 0.087155742747658, -0.640341608768797, 0.0,
    -0.642787609686539, 0.0, 0.766044443118978, 0.0,
    0.0, 0.0, 0.0, 1.0,
)  # fmt: skip


def joint(index: int, name: str, dh: tuple[float, float, float], amatrix: tuple[float, ...] | None = None) -> JointPlan:
    return JointPlan(
        index=index,
        id_num=index + 1,
        name=name,
        parent=index - 1,
        control_mode="muscle",
        motor=index,
        muscles=(),
        states=(),
        start_state=-1,
        amatrix=amatrix,
        dh_line=(*dh, DEGREE),
    )


def motor(index: int, name: str, model: str, direction: int, cal1: float) -> MotorPlan:
    return MotorPlan(
        index=index,
        id_num=601 + index,
        name=name,
        bus_id=index,
        model=model,
        dir=direction,
        cal1=cal1,
        cal2=1.529 * direction,
        joint=index,
        angle=2 * index,
        current=2 * index + 1,
    )


def leg(name: str, joints: tuple[JointPlan, ...], motors: tuple[MotorPlan, ...]) -> Plan:
    return Plan(
        name=name,
        hdsos=(),
        joints=joints,
        motors=motors,
        muscles=(),
        states=(),
        initial=(),
        store_size=0,
        motor_speed=0,
        motor_control_delay=0,
        statetrans_period=0,
        engine_start_time=-1,
        engine_stop_time=-1,
        sensor_columns=(),
    )


ROACH = leg(
    "lin_roach",
    (
        joint(0, "Thorax-Coxa1", (1.0, 0.0, -math.pi / 2), ROACH_AMATRIX),
        joint(1, "Thorax-Coxa2", (8.9, 6.5, 0.0)),
        joint(2, "Coxa-Trochanter", (9.7, 0.0, math.pi)),
        joint(3, "Femur-Tibia", (8.5, 0.0, 0.0)),
    ),
    (
        motor(0, "Thorax-Coxa1_motor", "1001", 1, 144.0),
        motor(1, "Thorax-Coxa2_motor", "701", -1, 131.5),
        motor(2, "Coxa-Trochanter_motor", "701", 1, -12.11),
        motor(3, "Femur_Tibia_motor", "701", 1, -12.11),
    ),
)
STICK = leg(
    "lin_stickmiddle",
    (
        joint(0, "Thorax-Coxa", (2.26, 0.0, math.pi / 2), STICK_AMATRIX),
        joint(1, "Coxa-Trochanter", (19.28, 0.0, math.pi)),
        joint(2, "Femur-Tibia", (18.9, 0.0, 0.0)),
    ),
    (
        motor(0, "Thorax-Coxa_motor", "701", -1, 120.0),
        motor(1, "Coxa-Trochanter_motor", "1001", -1, 124.0),
        motor(2, "Femur_Tibia_motor", "701", 1, 11.0),
    ),
)


def single(cal1: float = 0.0, cal2: float = 1.529) -> Plan:
    """Return a leg of one joint that turns about a horizontal axis (y, to the left): a pendulum of 10 cm."""
    upright = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 30.0, 0.0, 0.0, 0.0, 1.0)
    one = replace(motor(0, "motor", "701", 1, cal1), cal2=cal2)
    return leg("pendulum", (joint(0, "Joint", (10.0, 0.0, 0.0), upright),), (one,))
