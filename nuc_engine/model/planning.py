"""From a checked SCCILS model to the plan the executive runs from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from drivers.factory import DEFAULT_FAMILY
from nuc_engine.model import extensions
from nuc_engine.model.extensions import EXTENSIONS_FILE
from nuc_engine.model.motors import check_wiring, motor_units, pick_motor
from nuc_engine.model.plan import (
    ActionSignalPlan,
    ActivationPlan,
    CentralPlan,
    ControlPlan,
    DynamicsPlan,
    FunctionPlan,
    HdsoKind,
    HdsoPlan,
    InfluencePlan,
    InitialWrite,
    JointPlan,
    ModulePlan,
    MotorPlan,
    MusclePlan,
    Plan,
    PlanError,
    SignalPlan,
    Slot,
    SoftPlan,
    StatePlan,
)
from nuc_engine.model.store import TYPES, unfit
from nuc_engine.model.torque_table import TorqueTable, read_table
from sccils_schemas import rules
from sccils_schemas.checks.hdso_table import (
    acting_bounds,
    all_states,
    force_commands,
    joint_mods,
    module_mods,
    motor_sensors,
    parameter_refs,
)
from sccils_schemas.checks.writes import ENGINE_BOUNDS
from sccils_schemas.documents import (
    Delayed,
    Hdso,
    HdsoMod,
    Influence,
    Joint,
    Muscle,
    MuscleActivation,
    Operand,
    Ref,
    State,
    UpperModule,
    ref_of,
)
from sccils_schemas.model import Model
from sccils_schemas.numbers import INTEGER_RANGE
from sccils_schemas.owners import controls_of, mapped, owned, owner_text
from sccils_schemas.ranges import Bounds, both_ways, narrowed
from sccils_schemas.signals import ACTING, in_order, parameter_bounds, signals_of

__all__ = ["PlanError", "build_plan", "companion_files", "stored_values"]

_MEASURED = ("float", "double")
"""Types of the sensors that SensData.txt shows (reading E2)."""


def build_plan(
    model: Model, families: Mapping[str, str] | None = None, tables: Mapping[str, bytes] | None = None
) -> Plan:
    """Return the plan of a model that `sccils_schemas.model` has checked.

    `families` has the family of servos of each bus by its name, under "" that of the only one (see
    `nuc_engine.model.motors.families_of`): of each joint it is the motor of that family that is driven. With None it is
    the first one of each joint, for looking at a model. `tables` are the torque tables by file name; without them they
    are read from the folder of the model, as its extensions.toml is. The values are those of `initial_data`, then
    those of the joint list (reading B13). Raises PlanError for a value that cannot be, and for a joint that a bus
    cannot drive.
    """
    plan = _Planner(model, families, tables).plan()
    added = _added(model, tables)
    plan = plan if added is None else extensions.extended(plan, added)
    extensions.check_signals(plan)
    return plan


def companion_files(model: Model) -> tuple[str, ...]:
    """Return the names of the files beside its documents that a model is made of.

    The torque tables that its motors refer to, and extensions.toml where its folder has one.
    """
    added = model.folder is not None and (model.folder / EXTENSIONS_FILE).exists()
    return tuple(sorted({*_table_names(model), *([EXTENSIONS_FILE] if added else [])}))


def _table_names(model: Model) -> set[str]:
    motors = [motor for joint in model.jointlist.joints for motor in joint.motors]
    return {motor.torque_table for motor in motors if motor.torque_table}


def _added(model: Model, given: Mapping[str, bytes] | None) -> bytes | None:
    if given is not None:
        return given.get(EXTENSIONS_FILE)
    try:
        return None if model.folder is None else (model.folder / EXTENSIONS_FILE).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PlanError(f"{model.folder}/{EXTENSIONS_FILE}: cannot be read ({error.strerror})") from error


class _Planner:
    def __init__(self, model: Model, families: Mapping[str, str] | None, tables: Mapping[str, bytes] | None) -> None:
        self.model = model
        self.tables = _tables(model, tables)
        self.hdsos = _lay_out(model)
        self.index: dict[Ref, int] = {}
        for hdso in self.hdsos:
            self.index[hdso.id_num] = hdso.index
            self.index[hdso.name] = hdso.index
        joints = [joint for joint in model.jointlist.joints if not joint.endpoint]
        self.joints: Sequence[Joint] = joints
        self.joint_index = {joint.id_num: k for k, joint in enumerate(joints)}
        self.picked = {joint.id_num: pick_motor(joint, families) for joint in joints}
        muscles = [(k, muscle) for k, joint in enumerate(joints) for muscle in joint.muscles]
        self.muscles = muscles
        self.muscle_index = {muscle.id_num: k for k, (_, muscle) in enumerate(muscles)}
        states = [(k, state) for k, joint in enumerate(joints) for state in joint.states]
        self.states = states
        self.state_index = {state.id_num: k for k, (_, state) in enumerate(states)}
        self.muscles_of = _places(owner for owner, _ in muscles)
        self.states_of = _places(owner for owner, _ in states)
        upper = [state for module in model.jointlist.modules for state in module.states]
        self.state_index |= {state.id_num: k for k, state in enumerate(upper, len(states))}
        self.initial = self._initial()
        self.initial += tuple(self._followed())
        self.start: dict[int, list[int | float]] = {}
        for write in self.initial:
            self.start.setdefault(write.hdso, [])[: len(write.values)] = write.values

    def plan(self) -> Plan:
        last = max(self.hdsos, key=lambda hdso: hdso.offset)
        size = last.offset + TYPES[last.datatype][1] * last.count
        motors = self._motors()
        driven = {motor.joint: motor.index for motor in reversed(motors)}
        return Plan(
            name=self.model.name,
            hdsos=self.hdsos,
            joints=tuple(self._joint(k, joint, driven.get(k, -1)) for k, joint in enumerate(self.joints)),
            motors=motors,
            muscles=tuple(self._muscle(k, joint, muscle) for k, (joint, muscle) in enumerate(self.muscles)),
            states=tuple(self._state(k, joint, state) for k, (joint, state) in enumerate(self.states)),
            initial=self.initial,
            store_size=(size + 7) // 8 * 8,
            motor_speed=self.index["motor_speed"],
            motor_control_delay=self.index["motor_control_delay_ns"],
            statetrans_period=self.index["statetrans_period_ns"],
            engine_start_time=self.index.get("engine_start_time", -1),
            engine_stop_time=self.index.get("engine_stop_time", -1),
            modules=tuple(self._module(k, module) for k, module in enumerate(self.model.jointlist.modules)),
            signals=self._signals(motors),
            action_signals=self._action_signals(),
            controls=self._controls(),
            muscle_period=-1 if (period := self.model.jointlist.muscle_period) is None else self.index[period],
            sensor_columns=tuple(h.index for h in self.hdsos if h.kind == "sensor" and h.datatype in _MEASURED),
        )

    def _slots(self, refs: Sequence[Ref]) -> tuple[Slot, ...]:
        found = [self.hdsos[self.index[ref]] for ref in refs]
        return tuple(Slot(hdso.index, element) for hdso in found for element in range(hdso.count))

    def _motors(self) -> tuple[MotorPlan, ...]:
        sensors = motor_sensors(self.model.jointlist, self.model.sensors)
        motors: list[MotorPlan] = []
        for joint in self.joints:
            picked = self.picked[joint.id_num]
            if picked is None:
                continue
            motor, family = picked
            k = len(motors)
            angle, current = (self.index[ref] for ref in sensors[k])
            motors.append(
                MotorPlan(
                    index=k,
                    id_num=motor.id_num,
                    name=motor.name,
                    bus_id=motor.serial_id,
                    dir=motor.dir,
                    cal1=motor.angle_cal1,
                    cal2=motor.angle_cal2,
                    joint=self.joint_index[joint.id_num],
                    angle=angle,
                    current=current,
                    position_command=self._command(motor.position_command),
                    force_command=self._command(motor.force_command),
                    # Readings of other families do not wrap round: their buses keep them within the model's positions.
                    overflow_correction=self.model.hdso(self.hdsos[angle].id_num).overflow_correction != 0
                    and family == DEFAULT_FAMILY,
                    bus=motor.bus or "",
                    **motor_units(motor, family, self.tables),
                )
            )
            self._check_position_command(motors[-1])
        check_wiring(motors)
        return tuple(motors)

    def _signals(self, motors: Sequence[MotorPlan]) -> tuple[SignalPlan, ...]:
        every = tuple(range(len(motors)))
        sources = {index: (motor.index,) for motor in motors for index in (motor.angle, motor.current)}
        plans: list[SignalPlan] = []
        for signal in in_order(signals_of(self.model.sensors))[0]:
            if signal.type in ACTING:
                continue
            inputs = [self.index[ref] for ref in signal.inputs]
            sensors = [index for index in inputs if self.hdsos[index].kind == "sensor"]
            # What neither a motor nor a block gives its value may change with every exchange.
            found = dict.fromkeys(source for index in sensors for source in sources.get(index, every))
            output = self.index[signal.id_num]
            sources[output] = (len(motors) + len(plans),)
            plans.append(
                SignalPlan(
                    name=signal.name,
                    type=signal.type,
                    output=Slot(output),
                    inputs=tuple(map(Slot, inputs)),
                    parameters=tuple(self._slots([ref]) for ref in signal.parameters),
                    sources=tuple(found),
                    per_sample=signal.per_sample,
                )
            )
        return tuple(plans)

    def _action_signals(self) -> tuple[ActionSignalPlan, ...]:
        modules = self.model.jointlist.modules
        owners = [*self.joints, *modules]
        places = {
            state.name: (k, self.state_index[state.id_num]) for k, owner in enumerate(owners) for state in owner.states
        }
        places |= {owner.name: (k, -1) for k, owner in enumerate(owners)}
        return tuple(
            ActionSignalPlan(
                name=signal.name,
                type=signal.type,
                output=Slot(self.index[signal.id_num]),
                switch=places[signal.of or ""][0],
                state=places[signal.of or ""][1],
                shape=signal.shape,
                sensory=signal.counted == "sensory",
                rate=self._slot(signal.inputs[0]) if signal.inputs else None,
                parameters=self._slots(signal.parameters),
            )
            for signal in in_order(signals_of(self.model.sensors))[0]
            if signal.type in ACTING
        )

    def _controls(self) -> tuple[ControlPlan, ...]:
        return tuple(
            ControlPlan(
                control.name,
                Slot(self.index[control.id_num]),
                tuple((Slot(self.index[item.hdso], item.element), item.points) for item in control.maps),
            )
            for control in controls_of(self.model.parameters)
        )

    def _check_position_command(self, motor: MotorPlan) -> None:
        if motor.position_command < 0:
            return
        hdso = self.hdsos[motor.position_command]
        low, high = INTEGER_RANGE.get(hdso.datatype, motor.goals)
        if not low <= motor.goals[0] <= motor.goals[1] <= high:
            raise PlanError(
                f"{self.model.name}: HDSO {hdso.id_num} ({hdso.name}), the position command of {motor.name}, is a "
                f"{hdso.datatype}; expected one that holds {motor.goals[0]} to {motor.goals[1]}"
            )

    def _command(self, mod: HdsoMod | None) -> int:
        return -1 if mod is None else self.index[mod.ref]

    def _joint(self, k: int, joint: Joint, motor: int) -> JointPlan:
        states = self.states_of.get(k, ())
        start = self.state_index.get(joint.start_state, -1)
        amatrix, dh_line = self._geometry(joint.geometry.amatrix), self._geometry(joint.geometry.dh_line)
        return JointPlan(
            index=k,
            id_num=joint.id_num,
            name=joint.name,
            parent=self.joint_index.get(joint.parent, -1),
            control_mode=joint.control_mode,
            motor=motor,
            muscles=self.muscles_of.get(k, ()),
            states=states,
            # NeuRoMod lets a joint without states name another joint's as its start (reading B9).
            start_state=start if start in states or not states else states[0],
            amatrix=amatrix,
            dh_line=None if dh_line is None else (dh_line[0], dh_line[1], dh_line[2], dh_line[3]),
            soft=None
            if joint.soft is None
            else SoftPlan(tuple((self.index[width.of], Slot(self.index[width.hdso])) for width in joint.soft.widths)),
        )

    def _geometry(self, mod: HdsoMod | None) -> tuple[float, ...] | None:
        if mod is None:
            return None
        data = self.start[self.index[mod.ref]] if not mod.data or isinstance(mod.data, str) else mod.data
        return tuple(float(value) for value in data)

    def _muscle(self, k: int, joint: int, muscle: Muscle) -> MusclePlan:
        functions = {
            spec.use: FunctionPlan(spec.type, self._slots([mod.ref for mod in spec.mods])) for spec in muscle.functions
        }
        return MusclePlan(
            index=k,
            id_num=muscle.id_num,
            name=muscle.name,
            joint=joint,
            l0=muscle.l_naught,
            r=muscle.r,
            alpha_deg=muscle.alpha_deg,
            fmax=muscle.fmax,
            passive_stiffness=functions["passive_stiffness"],
            force_length=functions["force-length"],
            force_velocity=functions["force-velocity"],
            dynamics=None
            if muscle.dynamics is None
            else DynamicsPlan(self._slot(muscle.dynamics.rise), self._slot(muscle.dynamics.fall)),
            efferent_delay=self._slot(muscle.efferent_delay),
        )

    def _slot(self, ref: Ref | None) -> Slot | None:
        return None if ref is None else Slot(self.index[ref])

    def _state(self, k: int, joint: int, state: State) -> StatePlan:
        dwell, central = state.dwell_time, state.central
        return StatePlan(
            index=k,
            id_num=state.id_num,
            name=state.name,
            joint=joint,
            rule=self.index[state.rule.mods[0].ref],
            dwell=None if dwell is None else Slot(self.index[dwell.ref]),
            activations=tuple(self._activation(activation) for activation in state.activations),
            central=None if central is None else CentralPlan(self.index[central.rule], self._slot(central.hold)),
            writes=() if state.action is None else tuple(self._write(mod.ref, mod.data) for mod in state.action.mods),
        )

    def _module(self, k: int, module: UpperModule) -> ModulePlan:
        return ModulePlan(
            index=k,
            id_num=module.id_num,
            name=module.name,
            states=tuple(self._state(self.state_index[state.id_num], -1, state) for state in module.states),
            start_state=self.state_index[module.start_state],
        )

    def _activation(self, activation: MuscleActivation) -> ActivationPlan:
        parameters = parameter_refs(activation, lambda ref: self.hdsos[self.index[ref]].kind)
        return ActivationPlan(
            muscle=self.muscle_index[activation.muscle],
            function=activation.function,
            sensors=tuple(map(self._operand, activation.sensors)),
            parameters=self._slots(parameters),
            influences=tuple(self._influence(influence) for influence in activation.influences),
            bounds=self._slots(activation.bounds),
        )

    def _influence(self, influence: Influence) -> InfluencePlan:
        kind = influence.function
        function = None if kind is None else FunctionPlan(kind, self._slots(influence.parameters))
        return InfluencePlan(Slot(self.index[influence.signal]), Slot(self.index[influence.gain]), function)

    def _operand(self, operand: Operand) -> Slot:
        return Slot(self.index[ref_of(operand)], delay_us=operand.delay_us if isinstance(operand, Delayed) else 0)

    def _initial(self) -> tuple[InitialWrite, ...]:
        # initial_data first, then the joint list's hdsoMods in document order, later ones win (reading B13).
        given: list[tuple[Ref, Sequence[int | float] | str | None]]
        given = [(hdso.id_num, hdso.initial_data) for hdso in self.model.hdsos]
        joints = self.model.jointlist.joints
        rules_of_states = [state.rule for state in all_states(self.model.jointlist)]
        given += [(rule.mods[0].ref, rule.boolstring) for rule in rules_of_states]
        given += [(mod.ref, mod.data) for joint in joints for mod in self._mods(joint) if mod.ref in self.index]
        given += [(mod.ref, mod.data) for module in self.model.jointlist.modules for mod in module_mods(module)]
        return tuple(self._write(ref, data) for ref, data in given if data)

    def _mods(self, joint: Joint) -> list[HdsoMod]:
        picked = self.picked.get(joint.id_num)
        # What the joint's other motors would be sent to at the start is in their units, not in those of this one.
        return joint_mods(joint, [] if picked is None else [picked[0]])

    def _followed(self) -> list[InitialWrite]:
        """Return what follows the controls that have a value at the start."""
        held: dict[int, list[int | float]] = {}
        for write in self.initial:
            held.setdefault(write.hdso, [])[: len(write.values)] = write.values
        changed: dict[int, None] = {}
        for control in controls_of(self.model.parameters):
            if control.initial_data is None:
                continue
            value = float(held[self.index[control.id_num]][0])
            for item in control.maps:
                hdso = self.hdsos[self.index[item.hdso]]
                values = held.setdefault(hdso.index, [])
                if len(values) <= item.element:
                    what = f"HDSO {hdso.id_num} ({hdso.name}) has no value at the start and follows {control.name}"
                    raise PlanError(f"{self.model.name}: {what}; expected initial_data")
                values[item.element] = follow(hdso, item.points, value)
                changed[hdso.index] = None
        return [InitialWrite(index, tuple(held[index])) for index in changed]

    def _write(self, ref: Ref, data: Sequence[int | float] | str) -> InitialWrite:
        hdso = self.hdsos[self.index[ref]]
        values = stored_values(hdso, data, self.model.ids)
        if reason := unfit(hdso, values):
            raise PlanError(f"{self.model.name}: HDSO {hdso.id_num} ({hdso.name}): {reason}")
        return InitialWrite(hdso.index, values)


def follow(hdso: HdsoPlan, points: Sequence[float], value: float) -> int | float:
    """Return what follows a control of this value: whole numbers are rounded, halves to the even one."""
    followed = mapped(points, value)
    return round(followed) if hdso.datatype in INTEGER_RANGE else followed


def stored_values(hdso: HdsoPlan, data: Sequence[int | float] | str, ids: Mapping[str, int]) -> tuple[int | float, ...]:
    """Turn a document's data into what the store holds: rules become integer code, text bytes, whole numbers integers.

    Raises `sccils_schemas.rules.RuleError` for a rule that is not well formed.
    """
    if isinstance(data, str):
        if hdso.kind != "boolstring":
            return tuple(data.encode())
        tokens = rules.resolve_tokens(rules.tokenise(data), ids)
        flags, values = rules.encode_rule(tokens, width=hdso.dims[1])
        return (*flags, *values)
    if hdso.datatype in INTEGER_RANGE:
        # What a document sends as float may be meant for an integer (reading C9); a fraction is left for `unfit`.
        return tuple(int(value) if float(value).is_integer() else value for value in data)
    return tuple(data)


def _places(owners: Iterable[int]) -> dict[int, tuple[int, ...]]:
    """Return by owner the places at which it stands."""
    found: dict[int, list[int]] = {}
    for place, owner in enumerate(owners):
        found.setdefault(owner, []).append(place)
    return {owner: tuple(places) for owner, places in found.items()}


def _lay_out(model: Model) -> tuple[HdsoPlan, ...]:
    plans: list[HdsoPlan] = []
    offset = 0
    limits: dict[int, Bounds] = {}
    for ref, bounds in (*parameter_bounds(signals_of(model.sensors)), *acting_bounds(model.jointlist)):
        number = model.hdso(ref).id_num
        limits[number] = narrowed(limits.get(number, (None, None)), bounds)
    owners = {model.hdso(ref).id_num: owner for ref, owner, _ in owned(model.jointlist, controls_of(model.parameters))}
    pushing = {model.hdso(ref).id_num for ref in force_commands(model.jointlist)}
    for hdso in model.hdsos:
        count = math.prod(hdso.dims)
        width = TYPES[hdso.datatype][1]
        offset = (offset + width - 1) // width * width
        ranges = tuple(map(both_ways, hdso.ranges)) if hdso.id_num in pushing else hdso.ranges
        usable = narrowed(ENGINE_BOUNDS.get(hdso.name, (None, None)), limits.get(hdso.id_num, (None, None)))
        plan = _hdso(len(plans), replace(hdso, ranges=ranges), model.kind(hdso), offset, count, usable)
        plans.append(replace(plan, owner=owner_text(owners[hdso.id_num])) if hdso.id_num in owners else plan)
        offset += width * count
    return tuple(plans)


def _hdso(index: int, hdso: Hdso, kind: HdsoKind, offset: int, count: int, usable: Bounds) -> HdsoPlan:
    # The integers of a rule's code are no quantity that a range could limit.
    spans = () if kind == "boolstring" else hdso.ranges
    bounds = {span.type: (span.lower, span.upper) for span in spans}
    return HdsoPlan(
        index=index,
        id_num=hdso.id_num,
        name=hdso.name,
        kind=kind,
        datatype=hdso.datatype,
        dims=hdso.dims,
        offset=offset,
        count=count,
        units=hdso.units or "",
        valid=narrowed(bounds.get("valid", (None, None)), usable),
        invalid=tuple((span.lower, span.upper) for span in spans if span.type == "invalid" and span.bounded),
        normal=bounds.get("normal", (None, None)),
    )


def _tables(model: Model, given: Mapping[str, bytes] | None) -> dict[str, TorqueTable]:
    tables: dict[str, TorqueTable] = {}
    for name in sorted(_table_names(model)):
        try:
            if given is None and model.folder is not None:
                tables[name] = read_table((model.folder / name).read_bytes(), name)
            elif given is not None and name in given:
                tables[name] = read_table(given[name], name)
        except FileNotFoundError:
            continue  # told where a motor names it
        except OSError as error:
            raise PlanError(f"{model.folder}/{name}: cannot be read ({error.strerror})") from error
    return tables
