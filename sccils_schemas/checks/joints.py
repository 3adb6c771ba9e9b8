"""Checking a joint list: ids, names, the chain, start states, sensors of motors, sense organs, muscles.

Muscles are those of equations 6-5 and 6-6; the function types are those of sccils_joint.dtd.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sccils_schemas.checks.acting import (
    check_dynamics,
    check_efferent_delay,
    check_modules,
    check_muscle_period,
    check_soft,
)
from sccils_schemas.checks.geometry import check_geometry
from sccils_schemas.checks.hdso_table import HdsoEntry, SourcePlace, check_looks, joint_mods, motor_sensors, state_mods
from sccils_schemas.checks.motors import check_joint_motors, check_motors
from sccils_schemas.checks.scope import VALUE_KINDS, Scope
from sccils_schemas.checks.states import check_rule_holders, check_states, check_switching
from sccils_schemas.documents import (
    FunctionSpec,
    HdsoList,
    HdsoMod,
    Joint,
    JointList,
    Muscle,
    SenseOrgan,
    Servo,
    Signal,
    State,
    UpperModule,
)
from sccils_schemas.elements import USES, tag_of
from sccils_schemas.lines import attribute_line
from sccils_schemas.names import counted, id_ranges
from sccils_schemas.reader import STAND_IN

BODY = 0
"""What `parent` says for a joint on the body."""
MAX_PER_JOINT = 256
"""Most muscles, and most states, of one joint."""


def check_jointlist(jointlist: JointList, scope: Scope) -> None:
    """Report everything wrong with a joint list."""
    engine_joints = [joint for joint in jointlist.joints if not joint.endpoint]
    if not engine_joints:
        scope.error(0, "the joint list has no joint", "at least one joint outside <endpoint>")
    _check_labels(jointlist, scope)
    _check_parents(jointlist, scope)
    check_motors(jointlist, scope)
    check_muscle_period(jointlist, scope)
    muscles = {muscle.id_num: (muscle, joint) for joint in jointlist.joints for muscle in joint.muscles}
    owners = {state.id_num: joint for joint in jointlist.joints for state in joint.states}
    for joint in jointlist.joints:
        for mod in joint_mods(joint):
            _check_mod(mod, joint, scope)
        check_geometry(joint, scope)
        for muscle in joint.muscles:
            check_muscle(muscle, scope)
        if max(len(joint.muscles), len(joint.states)) > MAX_PER_JOINT:
            what = f"joint {joint.id_num} has {len(joint.muscles)} muscles and {len(joint.states)} states"
            scope.error(joint.line, what, f"at most {MAX_PER_JOINT} of each")
            continue
        check_states(joint, muscles, scope)
        check_soft(joint, scope)
        _check_control(joint, owners, scope)
        for organ in joint.sense_organs:
            _check_organ(organ, scope)
        check_joint_motors(joint, scope)
    check_modules(jointlist, scope, lambda state: _check_module_state(state, scope))
    check_rule_holders(jointlist, scope)


def _check_module_state(state: State, scope: Scope) -> None:
    for mod in state_mods(state):
        _check_mod_of(mod, scope)
    check_switching(state, scope)


def _check_mod(mod: HdsoMod, joint: Joint, scope: Scope) -> None:
    if mod is not joint.geometry.amatrix and mod is not joint.geometry.dh_line:
        _check_mod_of(mod, scope)


def _check_mod_of(mod: HdsoMod, scope: Scope) -> None:
    entry = scope.find(mod)
    if entry is not None:
        scope.check_initialiser(mod, entry)


Labelled = Joint | UpperModule | Muscle | State | SenseOrgan | Servo
_WORDS = {Joint: "joint", UpperModule: "module", Muscle: "muscle", State: "state", SenseOrgan: "sense organ"}


def _word(element: Labelled) -> str:
    return next((word for kind, word in _WORDS.items() if isinstance(element, kind)), "motor")


def _labelled(jointlist: JointList) -> Iterator[Labelled]:
    for joint in jointlist.joints:
        yield joint
        yield from joint.muscles
        yield from joint.states
        yield from joint.sense_organs
        # Its others have the same labels, which is looked at joint by joint.
        yield from joint.servos[:1]
    for module in jointlist.modules:
        yield module
        yield from module.states


def _check_labels(jointlist: JointList, scope: Scope) -> None:
    """Ids are unique among elements of one kind (reading B10), names, being XML ids, in the whole document."""
    ids: dict[tuple[str, int], int] = {}
    names: dict[str, Labelled] = {}
    looks: dict[str, str] = {}
    for element in _labelled(jointlist):
        word = _word(element)
        key = (word, element.id_num)
        if key in ids and element.id_num > STAND_IN:
            what = f"{word} id {element.id_num} is used twice"
            line = attribute_line(element.line, "idNum")
            scope.error(line, what, "an id of its own", f"first in line {ids[key]}")
        ids.setdefault(key, element.line)
        first = names.setdefault(element.name, element)
        if first is not element and element.name:
            hint = f"first for a {_word(first)} in line {first.line}"
            line = attribute_line(element.line, "name")
            scope.error(line, f"name '{element.name}' is used twice", "a name of its own", hint)
        check_looks(element.name, SourcePlace(scope.file, element.line).attribute("name"), looks, scope.problems)


def _check_parents(jointlist: JointList, scope: Scope) -> None:
    first: dict[int, Joint] = {}
    for joint in jointlist.joints:
        first.setdefault(joint.id_num, joint)
    parents = {number: joint.parent for number, joint in first.items()}
    _check_ancestors(first, parents, scope)
    hint = f"joints are {id_ranges(number for number in parents if number > STAND_IN)}"
    for joint in jointlist.joints:
        if joint.parent != BODY and joint.parent not in parents:
            what = f"parent='{joint.parent}' of joint {joint.id_num} ({joint.name}) is no joint"
            scope.error_at(joint.line, "parent", what, "a joint's idNum, or 0 for the body", hint)


def _check_ancestors(joints: Mapping[int, Joint], parents: Mapping[int, int], scope: Scope) -> None:
    """Report each circle of parents once. Every joint is walked over once: `settled` are those seen before."""
    settled: set[int] = set()
    for start in joints:
        way: dict[int, None] = {}
        number = start
        while number in parents and number not in settled and number not in way:
            way[number] = None
            number = parents[number]
        if number in way:
            ring = list(way)[list(way).index(number) :]
            turn = ring.index(min(ring))
            ring = ring[turn:] + ring[:turn]
            joint = joints[ring[0]]
            shown = [*map(str, ring[:12]), *(["..."] if len(ring) > 12 else []), str(ring[0])]
            what = f"joint {joint.id_num} ({joint.name}) is its own ancestor: {' -> '.join(shown)}"
            scope.error_at(joint.line, "parent", what, "a chain that starts at the body, parent='0'")
        settled.update(way)


def _check_control(joint: Joint, owners: Mapping[int, Joint], scope: Scope) -> None:
    label = f"joint {joint.id_num} ({joint.name})"
    if joint.endpoint:
        if joint.muscles or joint.states or joint.servos:
            hint = "take it out of <endpoint>, or take muscles, states and motor out of it"
            scope.error(joint.line, f"{label} is an endpoint and has control", "a place only", hint)
        return
    _check_start_state(joint, owners, label, scope)
    if joint.control_mode == "muscle" and joint.muscles and not joint.states:
        scope.error(joint.line, f"{label} has muscles but no state", "at least one state that drives them")
    if not joint.servos:
        if joint.muscles or joint.control_mode in ("position", "force"):
            scope.error(joint.line, f"{label} has nothing to move it", "an aimotor", "control_mode='none' needs none")
        return
    # The others are held against the first.
    servo = joint.servos[0]
    command = {"position": servo.position_command, "force": servo.force_command}
    if joint.control_mode in command and command[joint.control_mode] is None:
        what = f"{label} is in {joint.control_mode} mode and its motor has no {joint.control_mode}Command"
        scope.error(servo.line, what, f"<{joint.control_mode}Command> in its {tag_of(servo)}")


def _check_start_state(joint: Joint, owners: Mapping[int, Joint], label: str, scope: Scope) -> None:
    own = {state.id_num: state for state in joint.states}
    needed = bool(joint.states) or (joint.control_mode == "muscle" and bool(joint.muscles))
    if joint.start_state in own or (joint.start_state == -1 and not needed) or joint.start_state <= STAND_IN:
        return
    known = id_ranges(number for number in own if number > STAND_IN)
    expected = f"one of its states, {known or 'of which it has none'}"
    if joint.start_state == -1:
        scope.error(joint.line, f"{label} has no start_state_idNum", expected)
        return
    other = owners.get(joint.start_state)
    what = f"start_state_idNum='{joint.start_state}' of {label} is "
    what += f"a state of joint {other.id_num} ({other.name})" if other is not None else "no state"
    line = attribute_line(joint.line, "start_state_idNum")
    if needed:
        scope.error(line, what, expected)
    else:
        scope.warning(line, what, hint="the joint has no states, so it is of no consequence")


def check_sensor_mapping(jointlist: JointList, sensors: HdsoList, sensor_file: str, scope: Scope) -> None:
    """Report sensors that cannot serve as the motors' angles and currents (reading B12)."""
    motors = [joint.servos[0] for joint in jointlist.joints if joint.servos and not joint.endpoint]
    without = [motor for motor in motors if not motor.sensorspecs]
    pairs = motor_sensors(jointlist, sensors)
    # What the engine computes is not counted among them.
    count = sum(not isinstance(sensor, Signal) for sensor in sensors.hdsos)
    if without and len(without) < len(motors):
        what = f"motor {without[0].id_num} ({without[0].name}) has no sensorspec, others have"
        scope.error(without[0].line, what, "one for each motor, or for none")
    elif without and count < 2 * len(motors):
        what = f"{counted(count, 'sensor')} for {counted(len(motors), 'motor')}"
        expected = f"at least {2 * len(motors)}: angle and current of each motor, in the motors' order"
        scope.problems.error(sensor_file, 0, what, expected)
    elif without:
        what = f"no sensorspec: sensors {pairs[0][0]} to {pairs[-1][-1]} are taken as angle and current of "
        hint = "in the order of both files; a sensorspec in each motor says it"
        scope.warning(motors[0].line, what + counted(len(motors), "motor"), hint=hint)
    taken: dict[int, Servo] = {}
    for motor, pair in zip(motors, pairs, strict=True):
        for ref, role in zip(pair, ("angle", "current"), strict=False):
            entry = scope.table.get(ref)
            if entry is not None:
                _check_motor_sensor(entry, motor, role, taken, scope)


def _check_motor_sensor(entry: HdsoEntry, motor: Servo, role: str, taken: dict[int, Servo], scope: Scope) -> None:
    place = SourcePlace(scope.file, motor.sensorspecs[0].line) if motor.sensorspecs else entry.place
    if entry.kind != "sensor" or entry.count != 1 or entry.hdso.datatype not in ("float", "double"):
        what = f"{entry}, a {entry.kind} of type {entry.hdso.datatype} with {counted(entry.count, 'element')}, "
        what += f"stands where {motor.name} has its {role}"
        expected = "a sensor of type float with one element"
        hint = "" if motor.sensorspecs else "the first two sensors of each motor come first"
        scope.problems.error(place.file, place.line, what, expected, hint)
    first = taken.setdefault(entry.hdso.id_num, motor)
    if motor.sensorspecs and first is not motor:
        what = f"{entry} is the {role} of {motor.name} and belongs to {first.name}"
        scope.problems.error(place.file, place.line, what, "a sensor of its own")


def _check_organ(organ: SenseOrgan, scope: Scope) -> None:
    for mod in organ.mods:
        entry = scope.table.get(mod.ref)
        if entry is not None:
            scope.want_kind(entry, ("sensor",), mod.line, f"a sensor of the sense organ {organ.name}")


FUNCTION_PARAMETERS: Mapping[str, int] = {"constant": 1, "linear": 2, "parabolic": 3, "hyperbolic": 3}
"""Numbers a function takes, in order.

constant: p0. linear: p0 x + p1. parabolic: ((x - p1)^2 + 4 p0 p2) / (4 p0). hyperbolic: p0 / (x - p1) + p2.
"""


def check_muscle(muscle: Muscle, scope: Scope) -> None:
    """Report everything wrong with one muscle."""
    label = f"muscle {muscle.id_num} ({muscle.name})"
    if muscle.l_naught <= 0:
        scope.error_at(muscle.line, "Lnaught", f"Lnaught='{muscle.l_naught:g}' of {label}", "a length of more than 0")
    if muscle.fmax < 0:
        what = f"fmax='{muscle.fmax:g}' of {label} is negative"
        scope.warning(attribute_line(muscle.line, "fmax"), what, hint="the muscle would push")
    uses = {spec.use for spec in muscle.functions}
    for use in USES:
        if use not in uses:
            expected = "one function_spec for each of its three uses"
            scope.error(muscle.line, f"{label} has no function for {use}", expected)
    check_dynamics(muscle.dynamics, label, scope)
    check_efferent_delay(muscle, label, scope)
    for spec in muscle.functions:
        if spec.use in uses:
            uses.remove(spec.use)
        else:
            scope.error_at(spec.line, "use", f"{label} has a second function for {spec.use}", "one")
        _check_function(spec, label, scope)


def _check_function(spec: FunctionSpec, label: str, scope: Scope) -> None:
    needed = FUNCTION_PARAMETERS.get(spec.type)
    if needed is None:
        expected = "one of " + ", ".join(FUNCTION_PARAMETERS)
        what = f"the {spec.use} function of {label} is of type '{spec.type}'"
        scope.error_at(spec.line, "type", what, expected)
        return
    entries = [scope.table.get(mod.ref) for mod in spec.mods]
    known: list[HdsoEntry] = []
    for mod, entry in zip(spec.mods, entries, strict=True):
        if entry is not None and scope.want_kind(entry, VALUE_KINDS, mod.line, "a parameter of a function"):
            scope.want_value(entry, mod.line, f"a parameter of {label}")
            known.append(entry)
    count = sum(entry.count for entry in known)
    if len(known) == len(entries) and count != needed:
        what = f"the {spec.use} function of {label} is {spec.type} and has {counted(count, 'parameter')}"
        scope.error(spec.line, what, f"{needed}, counting the elements of its HDSOs")
        return
    values = scope.table.elements([mod.ref for mod in spec.mods])
    if spec.type == "parabolic" and values and values[0] == 0:
        what = f"the {spec.use} function of {label} is parabolic with a first parameter of 0"
        scope.error(
            scope.value_line(spec.mods, 0, spec.line), what, "a number that is not 0", "the function divides by it"
        )
