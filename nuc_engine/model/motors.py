"""The motors of a model on the buses that drive them: which of a joint's motors that is, and in what units it counts.

A configuration says for each joint what servos it can be driven by, a bus what family its servos are of. `families_of`
reads that from URLs; `pick_motor` holds the two against each other; `motor_units` turns a model's data and what the
configuration wants of it into the numbers of a `MotorPlan`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from drivers.factory import DEFAULT_FAMILY, EMULATED, family_names, find_family
from drivers.servo import ServoAddress, ServoModel
from drivers.url import split_url
from nuc_engine.model.plan import MotorPlan, PlanError
from nuc_engine.model.torque_table import TorqueTable
from sccils_schemas.documents import AiMotor, Joint, Motor, Servo
from sccils_schemas.servos import label_of, model_of

LOOPBACK: Final = "loopback"

AI_TICK_DEG: Final = 0.654
"""What a unit of muscle output was on the AI motors these controllers were made on (section 6.3.2)."""

SAMPLE_NS: Final = 5_076_000
"""Between two samples of the AI motors that the load filter was printed for: 197 cycles a second (section 6.2.1.2)."""

AI_MODEL: Final = "1001"
"""The AI motor a unit of muscle output is as strong as on servos of other families, where nothing else is said."""


def family_of(url: str) -> str:
    """Return the family of the servos on a bus. Raises `BusUrlError` for what is no URL."""
    scheme, rest, _ = split_url(url)
    return (rest or DEFAULT_FAMILY) if scheme in (EMULATED, LOOPBACK) else scheme


def families_of(buses: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the family of each bus by its name, from (name, URL). Raises `BusUrlError`."""
    return {name: family_of(url) for name, url in buses}


def addresses_of(motors: Sequence[MotorPlan]) -> tuple[ServoAddress, ...]:
    """Return what a bus needs to know of these motors, in their order."""
    return tuple(ServoAddress(m.bus_id, m.name, m.model, m.stiffness_n_m_deg, m.torque_limit_n_m) for m in motors)


def pick_motor(joint: Joint, families: Mapping[str, str] | None) -> tuple[Servo, str] | None:
    """Return the motor of a joint that is driven, with its family; None for a joint that has none.

    `families` has the family of each bus by the name that motors call it by, under "" that of all others; with None it
    is the joint's first motor, whatever its family. Raises PlanError when none fits, or two do, `BusUrlError` for a
    family there is not.
    """
    if not joint.servos:
        return None
    if families is None:
        first = joint.servos[0]
        return first, _known_family(first, joint)
    fitting: list[tuple[Servo, str]] = []
    for servo in joint.servos:
        family = _on_bus(servo, families)
        if _is_of(servo, family):
            fitting.append((servo, family))
    if len(fitting) == 1:
        return fitting[0]
    has = ", ".join(label_of(servo) for servo in joint.servos)
    if fitting:
        raise PlanError(f"joint {joint.name} has several motors of the family {fitting[0][1]}: {has}; expected one")
    wanted = list(dict.fromkeys(_on_bus(servo, families) for servo in joint.servos))
    for family in wanted:
        # One that there is not says so itself.
        find_family(family)
    raise PlanError(
        f"joint {joint.name} has no motor of the family {' or '.join(wanted)}, which the bus is of, but {has}; "
        "`nuc bus adapt` writes a copy of a configuration with motors of another model"
    )


def _on_bus(servo: Servo, families: Mapping[str, str]) -> str:
    return families.get(servo.bus or "", families.get("", DEFAULT_FAMILY))


def _is_of(servo: Servo, family: str) -> bool:
    if isinstance(servo, AiMotor):
        return family == DEFAULT_FAMILY
    return model_of(servo) in find_family(family).models


def _known_family(servo: Servo, joint: Joint) -> str:
    names = (DEFAULT_FAMILY,) if isinstance(servo, AiMotor) else family_names()
    for family in names:
        if _is_of(servo, family):
            return family
    models = sorted(model for family in names for model in find_family(family).models)
    raise PlanError(f"joint {joint.name}: {label_of(servo)} is of no known family; expected one of {', '.join(models)}")


def ai_tick_torque_n_m() -> float:
    """Return the torque per tick of an AI-1001 (N m), the unit of muscle output where a motor does not say another."""
    model = find_family(DEFAULT_FAMILY).models[AI_MODEL]
    return model.tick_torque_n_m(model.default_gain)


def motor_units(servo: Servo, family: str, tables: Mapping[str, TorqueTable]) -> dict[str, Any]:
    """Return the fields of a `MotorPlan` that say what the motor is and in what units it counts.

    `tables` are the torque tables by file name. Raises PlanError for what does not go together.
    """
    if not isinstance(servo, Motor):
        # A tick is the unit, and nothing of the servo is set.
        return {"family": family, "model": model_of(servo)}
    model = find_family(family).models[servo.model]
    unit_n_m = servo.delta_torque_n_m if servo.delta_torque_n_m is not None else ai_tick_torque_n_m()
    stiffness = servo.stiffness_n_m_deg
    if stiffness is None:
        stiffness = ai_tick_torque_n_m() / AI_TICK_DEG
    gain = model.gain_for(stiffness)
    tick_n_m = model.tick_torque_n_m(gain)
    table = None if servo.torque_table is None else _fitting_table(servo, model, gain, tables)
    if tick_n_m <= 0.0 and table is None:
        raise PlanError(f"motor {servo.name}: of the {model.name} no torque per tick is known; expected a torqueTable")
    return {
        "family": family,
        "model": servo.model,
        "tick_deg": model.tick_deg,
        "positions": model.positions,
        "goals": _goals(servo, model),
        "delta_torque_n_m": unit_n_m,
        "delta_ticks": unit_n_m / tick_n_m if tick_n_m > 0.0 else 1.0,
        "torque_table": () if table is None else table.points,
        "load_range": model.load_range,
        "load_scale": 1.0 if servo.current_scale is None else servo.current_scale,
        "load_per_deg_s": servo.current_per_speed or 0.0,
        "load_dead": servo.current_dead or 0.0,
        "load_with_drive": servo.current_sign == "drive",
        "sample_ns": SAMPLE_NS,
        "stiffness_n_m_deg": stiffness,
        "torque_limit_n_m": servo.torque_limit_n_m or 0.0,
        "cycle_min_ns": round((servo.cycle_min_ms or 0.0) * 1e6),
    }


def _goals(servo: Motor, model: ServoModel) -> tuple[int, int]:
    """Return the lowest and the highest position a motor is sent to. Raises PlanError when its model has no such."""
    low, high = model.positions
    low_goal = low if servo.position_min is None else servo.position_min
    high_goal = high if servo.position_max is None else servo.position_max
    if not low <= low_goal < high_goal <= high:
        raise PlanError(
            f"motor {servo.name}: sent to {low_goal} to {high_goal}; a {model.name} can be sent to {low} to {high}"
        )
    return low_goal, high_goal


def _fitting_table(servo: Motor, model: ServoModel, gain: int, tables: Mapping[str, TorqueTable]) -> TorqueTable:
    name = servo.torque_table or ""
    if name not in tables:
        raise PlanError(f"motor {servo.name}: its torqueTable {name!r} is not there; expected it beside joints.xml")
    table = tables[name]
    if table.model and table.model != model.name:
        raise PlanError(f"{name}: was measured on a {table.model}; motor {servo.name} is a {model.name}")
    if table.gain is not None and table.gain != gain:
        raise PlanError(
            f"{name}: was measured at a P gain of {table.gain}; the stiffness of motor {servo.name} makes it {gain}"
        )
    return table


def check_wiring(motors: Sequence[MotorPlan]) -> None:
    """Raise PlanError where two motors are on the same bus under the same id."""
    there: dict[tuple[str, str, int], MotorPlan] = {}
    for motor in motors:
        first = there.setdefault((motor.bus, motor.family, motor.bus_id), motor)
        if first is not motor:
            raise PlanError(f"{first.name} and {motor.name} are both id {motor.bus_id} of one bus; expected two ids")


def is_driven(servo: Servo, motor: MotorPlan) -> bool:
    """Say whether this is the one of its joint's motors that a plan drives."""
    return motor.id_num == servo.id_num and motor.model == model_of(servo)


def serves(joint: Joint, family: str) -> bool:
    """Say whether a joint has a motor of a family. Raises `BusUrlError` for a family there is not."""
    return any(_is_of(servo, family) for servo in joint.servos)
