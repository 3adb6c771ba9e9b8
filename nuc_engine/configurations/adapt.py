"""A configuration for servos of another model: a copy whose joints have a motor of that model beside the one they have.

What the copy keeps is what the leg does: the middle of the new servo's range is put where the middle of the old one's
was, a degree stays a degree, and joints turn as fast as they did. A servo that is turned brakes, by its own voltage,
with stall torque over no-load speed: a stronger servo brakes more, so that a unit of muscle output has to be as many
times as much torque (its strength). Loads are brought to what the old motor's meter would show. Torques and speeds come
from plant.toml where there is one, since that is what an emulated leg is made of, else from the family's tables. Where
horns really sit, and what a servo really gives, has to be measured: the numbers are a start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from drivers.bench.budget import form_for, predict
from drivers.factory import DEFAULT_FAMILY, family_names, find_family
from drivers.servo import ServoModel
from nuc_engine.machine.locations import PLANT_SPEC_FILE, find_configuration
from nuc_engine.model.motors import AI_MODEL, AI_TICK_DEG, ai_tick_torque_n_m
from nuc_engine.model.plan import PlanError
from nuc_engine.model.planning import build_plan, companion_files
from nuc_engine.plants.spec import PlantSpec, load_spec, spec_file
from sccils_schemas.documents import CurrentSign, Hdso, HdsoList, HdsoMod, Joint, JointList, Motor, Servo
from sccils_schemas.model import MODEL_FILES, Model, check_model, load_model
from sccils_schemas.names import did_you_mean
from sccils_schemas.servos import label_of, model_of
from sccils_schemas.writer import write

_AI_POSITIONS = (0, 254)
_REACHED = 0.1
"""How far the stiffness a servo can be set to may be from the one that is wanted, as a share, without being told."""
_STRONG, _STRONGEST = 1.5, 100.0
"""Times the old torque above which it is told, and above which it is a slip."""
_UNBRAKED_STRENGTH = 4.0
"""Times the old torque with which the emulated cockroach leg steps on servos that do not brake (docs/servos.md)."""


class AdaptError(Exception):
    """A configuration that cannot be adapted; the message says why, one line per reason."""


@dataclass(frozen=True, slots=True)
class AdaptedMotor:
    """One joint's new motor.

    It is `strength` times as strong as the old one: a unit of muscle output is `delta_ticks` of its ticks, and its P
    gain becomes `gain`, which makes it as stiff as `stiffness_n_m_deg`.
    """

    joint: str
    source: str
    motor: Motor
    strength: float
    gain: int
    stiffness_n_m_deg: float
    delta_ticks: float


@dataclass(frozen=True, slots=True)
class Adapted:
    """A configuration with motors of another model: its files, and what somebody should know before it is used."""

    model: str
    family: str
    motors: tuple[AdaptedMotor, ...]
    files: tuple[tuple[str, bytes], ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Old:
    """The motor a joint has, in units.

    Its tick and positions; torque of a unit of muscle output, stiffness, and where its torque ends; stall torque over
    no-load speed (N m s); of its load reading: sensor units per N m and per deg/s, those its meter does not show, and
    whether it has the sign of the drive; and the time its bus takes for a round, or is given.
    """

    servo: Servo
    tick_deg: float
    positions: tuple[int, int]
    unit_n_m: float
    stiffness_n_m_deg: float
    limit_n_m: float
    braking: float
    load_per_n_m: float
    load_per_deg_s: float = 0.0
    load_dead: float = 0.0
    load_sign: CurrentSign = "reading"
    cycle_min_ms: float = 0.0


def adapt(config: str, model_name: str, ids: Sequence[int] | None = None, strength: float | None = None) -> Adapted:
    """Return a configuration with motors of a model; `ids` are their bus ids in the joints' order, or as they were.

    With `strength` a unit of muscle output is so many times as much torque as before, else as many times as the new
    servo's torque falls more with speed. Rounds of exchanges take at least as long as they did: what a delta that is
    held brakes is part of what a leg was tuned with.
    Raises AdaptError, NotFound or PlantSpecError.
    """
    if strength is not None and not 0.0 < strength <= _STRONGEST:
        raise AdaptError(f"strength {strength:g}; expected more than 0, and {_STRONGEST:g} at most")
    folder = find_configuration(config)
    model, problems = load_model(folder)
    if model is None:
        raise AdaptError("\n".join(map(str, problems.errors)))
    target = _find_model(model_name)
    plant = folder / PLANT_SPEC_FILE
    spec = load_spec(plant) if plant.exists() else None
    joints = [joint for joint in model.jointlist.joints if joint.servos]
    ids = _check_ids(ids, joints, target)
    motors = {
        joint.id_num: _adapted_motor(_old(joint, spec, len(joints)), joint.name, target, bus_id, strength)
        for joint, bus_id in zip(joints, ids, strict=True)
    }
    documents = _documents(model, motors, target)
    _check(documents, model, target)
    files = [(name, write(document)) for name, document in zip(MODEL_FILES, documents, strict=True)]
    # What has not changed keeps its comments and its layout.
    for at, (before, after) in enumerate(zip((model.parameters, model.sensors), documents[1:], strict=True), 1):
        if before == after:
            files[at] = (MODEL_FILES[at], (folder / MODEL_FILES[at]).read_bytes())
    if spec is not None:
        files.append((PLANT_SPEC_FILE, spec_file(plant).read_bytes()))
    files += [(name, (folder / name).read_bytes()) for name in companion_files(model)]
    found = tuple(motors.values())
    return Adapted(target.name, target.family, found, tuple(files), tuple(_warnings(found, target, spec)))


def write_adapted(adapted: Adapted, out: Path) -> None:
    """Write the files into a folder, which must be new or empty. Raises AdaptError, OSError."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise AdaptError(f"{out}: is there already; choose another name")
    out.mkdir(parents=True, exist_ok=True)
    for name, data in adapted.files:
        (out / name).write_bytes(data)


def _find_model(name: str) -> ServoModel:
    known: list[str] = []
    for family in family_names():
        models = find_family(family).models
        if name in models:
            return models[name]
        known += models
    hint = did_you_mean(name, known) or "known are " + ", ".join(sorted(known))
    raise AdaptError(f"no model {name!r}: {hint}")


def _check_ids(ids: Sequence[int] | None, joints: Sequence[Joint], target: ServoModel) -> list[int]:
    if ids is None:
        ids = [joint.servos[0].serial_id for joint in joints]
    if len(ids) != len(joints) or len(set(ids)) != len(ids):
        names = ", ".join(joint.name for joint in joints)
        raise AdaptError(f"ids {', '.join(map(str, ids))}; expected {len(joints)} different ones, of {names}")
    allowed = {servo.bus_id for servo in find_family(target.family).every_servo()}
    if wrong := [number for number in ids if number not in allowed]:
        span = f"{min(allowed)} to {max(allowed)}"
        raise AdaptError(f"id {wrong[0]}: a {target.name} cannot have it; choose others with --ids, {span}")
    return list(ids)


def _old(joint: Joint, spec: PlantSpec | None, count: int) -> _Old:
    """Return the motor a joint, one of `count`, has: its AI motor, or else its first."""
    servo = joint.servos[0]
    return _old_motor(servo) if isinstance(servo, Motor) else _old_aimotor(servo, spec, count)


def _ai_cycle_ms(count: int) -> float:
    """Return how long a round of exchanges with so many AI motors takes, back to back at their usual rate."""
    family = find_family(DEFAULT_FAMILY)
    turnaround_ns = round(family.emulator_options["turnaround_us"] * 1000)
    form = form_for(DEFAULT_FAMILY, {})
    return predict(form, count, int(family.line_options["baud"]), turnaround_ns=turnaround_ns).cycle_ns / 1e6


def _old_aimotor(servo: Servo, spec: PlantSpec | None, count: int) -> _Old:
    table = find_family(DEFAULT_FAMILY).models
    known = table.get(model_of(servo), table[AI_MODEL])
    stall, stall_a, omega = known.stall_torque_n_m, known.stall_current_a, known.no_load_rad_s
    unit, tick_a, dead = known.tick_torque_n_m(known.default_gain), known.load_n_m / stall * stall_a, 0.0
    kind = None if spec is None else spec.motors.get(model_of(servo))
    if spec is not None and kind is not None:
        stall, stall_a, omega = kind.stall_torque_n_m, kind.stall_current_a, kind.omega0_rad_s
        unit, tick_a, dead = stall / spec.servo.saturation_ticks, spec.servo.current_tick_a, spec.servo.dead_ticks
    return _Old(
        servo,
        AI_TICK_DEG,
        _AI_POSITIONS,
        unit_n_m=unit,
        stiffness_n_m_deg=unit / AI_TICK_DEG,
        limit_n_m=stall,
        braking=stall / omega,
        load_per_n_m=stall_a / tick_a / stall,
        load_per_deg_s=stall_a / tick_a / math.degrees(omega),
        load_dead=dead,
        load_sign="drive",
        cycle_min_ms=_ai_cycle_ms(count),
    )


def _old_motor(servo: Motor) -> _Old:
    known = _find_model(servo.model)
    ai_n_m = ai_tick_torque_n_m()
    return _Old(
        servo,
        known.tick_deg,
        known.positions,
        unit_n_m=ai_n_m if servo.delta_torque_n_m is None else servo.delta_torque_n_m,
        stiffness_n_m_deg=ai_n_m / AI_TICK_DEG if servo.stiffness_n_m_deg is None else servo.stiffness_n_m_deg,
        limit_n_m=servo.torque_limit_n_m or known.stall_torque_n_m,
        braking=known.stall_torque_n_m / known.no_load_rad_s,
        load_per_n_m=(servo.current_scale or 1.0) / known.load_n_m if known.load_n_m > 0 else 0.0,
        load_per_deg_s=servo.current_per_speed or 0.0,
        load_dead=servo.current_dead or 0.0,
        load_sign=servo.current_sign,
        cycle_min_ms=servo.cycle_min_ms or 0.0,
    )


def _adapted_motor(old: _Old, joint: str, target: ServoModel, bus_id: int, strength: float | None) -> AdaptedMotor:
    servo, slope = old.servo, old.tick_deg / target.tick_deg
    middle, old_middle = sum(target.positions) / 2, sum(old.positions) / 2
    if strength is None:
        # Where a regulated current keeps a motor from braking, its supply's voltage still bounds it on the same line.
        strength = target.stall_torque_n_m / target.no_load_rad_s / old.braking

    def turned(raw: float) -> float:
        return middle + slope * (raw - old_middle)

    unit, stiffness = strength * old.unit_n_m, strength * old.stiffness_n_m_deg
    # Models of the tables count their load as they turn, whichever way the old servo counted its own.
    scale = abs(old.load_per_n_m) * target.load_n_m / strength
    motor = Motor(
        id_num=servo.id_num,
        name=servo.name,
        serial_id=bus_id,
        dir=servo.dir,
        angle_cal1=_short(turned(servo.angle_cal1)),
        angle_cal2=_short(slope * servo.angle_cal2),
        bus=servo.bus,
        sensorspecs=servo.sensorspecs,
        force_command=servo.force_command,
        position_command=_turned_command(servo.position_command, turned, target),
        description=(
            f"Made from {label_of(servo)}, bus id {servo.serial_id}: the middle of its range on the middle of that "
            f"one's, degrees as degrees, {strength:.2f} times as strong. Where the horn really sits has to be measured."
        ),
        model=target.name,
        delta_torque_n_m=_short(unit),
        stiffness_n_m_deg=_short(stiffness),
        torque_limit_n_m=_short(strength * old.limit_n_m),
        current_scale=_short(scale) if scale else None,
        current_per_speed=_short(old.load_per_deg_s) if old.load_per_deg_s else None,
        current_dead=_short(old.load_dead) if old.load_dead else None,
        current_sign=old.load_sign,
        position_min=max(round(turned(old.positions[0])), target.positions[0]),
        position_max=min(round(turned(old.positions[1])), target.positions[1]),
        cycle_min_ms=_short(old.cycle_min_ms) if old.cycle_min_ms else None,
    )
    gain = target.gain_for(stiffness)
    tick_n_m = target.tick_torque_n_m(gain)
    delta_ticks = unit / tick_n_m if tick_n_m > 0 else 0.0
    return AdaptedMotor(joint, label_of(servo), motor, strength, gain, tick_n_m / target.tick_deg, delta_ticks)


def _turned_command(mod: HdsoMod | None, turned: Callable[[float], float], target: ServoModel) -> HdsoMod | None:
    """Return a position command whose start value is where the joint was held before, in ticks of the new servo."""
    if mod is None or not mod.data or isinstance(mod.data, str):
        return mod
    low, high = target.positions
    data = tuple(min(max(round(turned(value)), low), high) for value in mod.data)
    return replace(mod, data=data)


def _documents(
    model: Model, motors: dict[int, AdaptedMotor], target: ServoModel
) -> tuple[JointList, HdsoList, HdsoList]:
    """Return the three documents with the motors in them, and room in position commands for what they are sent to."""
    others = find_family(target.family).models
    joints = tuple(
        joint
        if joint.id_num not in motors
        else replace(joint, motors=(*_others(joint, others), motors[joint.id_num].motor))
        for joint in model.jointlist.joints
    )
    commanded = {mod.ref for found in motors.values() if (mod := found.motor.position_command) is not None}
    parameters = tuple(
        _with_room(hdso, target) if hdso.id_num in commanded or hdso.name in commanded else hdso
        for hdso in model.parameters.hdsos
    )
    return (
        replace(model.jointlist, joints=joints),
        replace(model.parameters, hdsos=parameters),
        model.sensors,
    )


def _others(joint: Joint, of_family: Mapping[str, ServoModel]) -> tuple[Motor, ...]:
    # A family has one motor of a joint: what was of it before gives way.
    return tuple(motor for motor in joint.motors if motor.model not in of_family)


def _with_room(hdso: Hdso, target: ServoModel) -> Hdso:
    low, high = target.positions
    ranges = tuple(
        replace(
            span,
            lower=None if span.lower is None else min(span.lower, low),
            upper=None if span.upper is None else max(span.upper, high),
        )
        if span.type in ("valid", "suggested")
        else span
        for span in hdso.ranges
    )
    # A byte has no room for the positions of most servos.
    byte = hdso.datatype == "uchar" and high > 255
    return replace(hdso, ranges=ranges, datatype="int" if byte else hdso.datatype)


def _check(documents: tuple[JointList, HdsoList, HdsoList], model: Model, target: ServoModel) -> None:
    """Raise AdaptError where the configuration would be refused."""
    problems = check_model(*documents, model.name)
    if not problems.ok:
        raise AdaptError("\n".join(map(str, problems.errors)))
    made = Model(model.name, *documents, folder=model.folder)
    try:
        build_plan(made, {"": target.family})
    except PlanError as error:
        raise AdaptError(str(error)) from error


def _warnings(motors: Sequence[AdaptedMotor], target: ServoModel, spec: PlantSpec | None) -> list[str]:
    found = [
        "the calibration is nominal: see on the real leg, with the torque off, that angles are what they should be"
        " (`nuc bus monitor`), and correct angleCal1 where a horn sits elsewhere",
        f"torques of the {target.name} are from: {target.source}; `nuc bus characterise` measures them",
    ]
    if (most := max(made.strength for made in motors)) > _STRONG:
        found.append(
            f"a unit of muscle output is up to {most:.1f} times as much torque as before, since a {target.name} brakes"
            " as much more: begin on a real leg with a small --strength and at the weakest level (motor_speed 4)"
        )
    weaker = any(target.stall_torque_n_m * made.strength < (made.motor.torque_limit_n_m or 0.0) for made in motors)
    if weaker:
        found.append(
            f"a {target.name} is weaker than the motors before: a leg that was tuned for them does not step on it"
            " (the emulated cockroach leg does not, whatever the --strength)"
        )
    elif target.current_loop and min(made.strength for made in motors) < _UNBRAKED_STRENGTH:
        found.append(
            f"a {target.name} regulates its motor's current, so that its own voltage does not slow joints down:"
            f" the emulated cockroach leg steps on it with {_UNBRAKED_STRENGTH:g} times the torque of before;"
            " with as much as before it does not step"
        )
    for made in motors:
        motor, wanted = made.motor, made.motor.stiffness_n_m_deg or 0.0
        if abs(made.stiffness_n_m_deg - wanted) > _REACHED * wanted:
            found.append(
                f"{made.joint}: its loop can be made {made.stiffness_n_m_deg:.3g} N m per degree, not {wanted:.3g}"
            )
        if (motor.torque_limit_n_m or 0.0) > target.stall_torque_n_m:
            found.append(
                f"{made.joint}: a {target.name} gives {target.stall_torque_n_m:.3g} N m at most, "
                f"and {motor.torque_limit_n_m:.3g} are wanted"
            )
        if not target.load_n_m:
            found.append(f"{made.joint}: what a count of its load reading stands for is not known; rules may read it")
    if spec is None:
        found.append("there is no plant.toml: torques are those of the tables, and no emulated leg comes with it")
    return found


def _short(value: float) -> float:
    """Return a number with six significant digits: more than any of them is known to."""
    return float(f"{value:.6g}")
