"""Which column of which log is what: by the plan the engine ran from, and by what NeuRoMod did differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nuc_engine.analysis.bout import JointInfo, StateInfo
from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.tracks import joint_role
from nuc_engine.model.plan import JointPlan, Plan
from sccils_schemas.documents import HdsoList, JointList
from sccils_schemas.documents import Joint as JointDocument
from sccils_schemas.model import MODEL_FILES, Model, check_model, load_model
from sccils_schemas.parser import read_document
from sccils_schemas.problems import Problems
from sccils_schemas.xmlread import read_file

OLD_JOINTLIST = "jointlist.xml"
CURRENT, POSITION, SENT, AGE = "current_raw", "position_raw", "sent_raw", "age_ns"
PLANT_COLUMNS = ("foot_x", "foot_y", "foot_z", "contact")


@dataclass(frozen=True, slots=True)
class LogColumns:
    """Names of the data columns (time apart) each log may have; several where programs differ (readings E2, E4).

    The first of several are the columns that every such log has to have.
    """

    motor: tuple[tuple[str, ...], ...]
    sensors: tuple[tuple[str, ...], ...]
    states: tuple[tuple[str, ...], ...]
    muscles: tuple[str, ...]


def model_of(folder: Path) -> Model:
    """Return the copy of the configuration in a data directory. Raises BoutError with everything wrong with it.

    The joint list may be called jointlist.xml, as the toolbox of appendix 10.3 has it (section 3.2).
    """
    if (folder / OLD_JOINTLIST).exists() and not (folder / MODEL_FILES[0]).exists():
        model, problems = _with_old_name(folder)
    else:
        model, problems = load_model(folder)
    if model is None:
        reasons = "\n".join(str(problem) for problem in problems.errors)
        raise BoutError(f"{folder}: the copy of the configuration cannot be used:\n{reasons}")
    return model


def _with_old_name(folder: Path) -> tuple[Model | None, Problems]:
    problems = Problems()
    names = (OLD_JOINTLIST, *MODEL_FILES[1:])
    contents = [read_file(folder / name, problems) for name in names]
    joints, parameters, sensors = (
        None if data is None else read_document(data, str(folder / name), problems)
        for name, data in zip(names, contents, strict=True)
    )
    if not (isinstance(joints, JointList) and isinstance(parameters, HdsoList) and isinstance(sensors, HdsoList)):
        if problems.ok:
            problems.error(str(folder), 0, "is no configuration", f"a joint list and two HDSO lists in {names}")
        return None, problems
    found = check_model(joints, parameters, sensors, str(folder))
    if not (problems.ok and found.ok):
        return None, problems if found.ok else found
    return Model(folder.resolve().name, joints, parameters, sensors, folder), found


def layout_of(model: Model, plan: Plan) -> LogColumns:
    """Return the columns a bout of this model has."""
    motors = [motor.name for motor in plan.motors]
    replies = tuple(f"{name}.{what}" for name in motors for what in (CURRENT, POSITION))
    return LogColumns(
        motor=(replies, (*replies, *(f"{name}.{what}" for name in motors for what in (SENT, AGE)))),
        sensors=(
            tuple(plan.hdsos[index].name for index in plan.sensor_columns),
            tuple(hdso.name for hdso in model.sensors.hdsos),
        ),
        states=(_state_columns(plan, pad=True), _state_columns(plan, pad=False)),
        muscles=tuple(f"{muscle.name}.{what}" for muscle in plan.muscles for what in ("force", "length")),
    )


def _state_columns(plan: Plan, *, pad: bool) -> tuple[str, ...]:
    """Return state and activations of every joint; with `pad`, two activations where there are fewer muscles."""
    columns: list[str] = []
    for joint in plan.joints:
        count = max(len(joint.muscles), 2) if pad else len(joint.muscles)
        columns += [f"{joint.name}.state", *(f"{joint.name}.activation[{k}]" for k in range(count))]
    return tuple(columns)


def states_of(model: Model, plan: Plan) -> tuple[StateInfo, ...]:
    """Return all actions, those of modules behind those of joints; their place is the code in StateData.txt (E3)."""
    styles = {state.id_num: state.plotstyle for joint in model.jointlist.joints for state in joint.states}
    found: list[StateInfo] = []
    for state in plan.states:
        style = styles[state.id_num]
        color = None if style is None else style.colorspec
        line = None if style is None else style.linespec
        found.append(StateInfo(state.index, state.id_num, state.name, plan.joints[state.joint].name, color, line))
    upper = ((module.name, state) for module in plan.modules for state in module.states)
    return (*found, *(StateInfo(state.index, state.id_num, state.name, name, None) for name, state in upper))


def joints_of(
    plan: Plan, model: Model | None = None, among: Sequence[JointPlan] | None = None
) -> tuple[JointInfo, ...]:
    """Return the joints along the chain, with the columns that belong to each.

    Of several joints between thorax and coxa the first with actions has the role. The model adds what only its
    documents tell. Raises BoutError when the joints are no single chain, unless it is said `among` which they are: all
    those of a body, or those of one of its legs.
    """
    documents = {} if model is None else {joint.id_num: joint for joint in model.jointlist.joints}
    chain = _chain(plan.joints) if among is None else among
    thc = next((joint for joint in chain if joint.states and joint_role(joint.name) == "ThC"), None)
    return tuple(_info(plan, joint, thc, documents.get(joint.id_num)) for joint in chain)


def _info(plan: Plan, joint: JointPlan, thc: JointPlan | None, told: JointDocument | None) -> JointInfo:
    role = joint_role(joint.name)
    motor = plan.motors[joint.motor] if joint.motor >= 0 else None
    return JointInfo(
        name=joint.name,
        role="" if role == "ThC" and joint is not thc else role,
        states=joint.states,
        muscles=tuple(plan.muscles[index].name for index in joint.muscles),
        angle=None if motor is None else plan.hdsos[motor.angle].name,
        current=None if motor is None else plan.hdsos[motor.current].name,
        raw_current=None if motor is None else f"{motor.name}.{CURRENT}",
        raw_position=None if motor is None else f"{motor.name}.{POSITION}",
        action=f"{joint.name}.state",
        activations=tuple(f"{joint.name}.activation[{k}]" for k in range(len(joint.muscles))),
        amatrix=None if joint.amatrix is None else np.array(joint.amatrix).reshape(4, 4),
        dh_line=joint.dh_line,
        id_num=joint.id_num,
        control_mode=joint.control_mode,
        motor="" if motor is None else motor.name,
        sent_raw=None if motor is None else f"{motor.name}.{SENT}",
        fullname="" if told is None else told.fullname or "",
        description="" if told is None else " ".join((told.description or "").split()),
    )


def legs_of(joints: Sequence[JointPlan]) -> tuple[tuple[JointPlan, ...], ...]:
    """Return the joints of each leg, from the body outwards: the way to each joint that none follows."""
    by_index = {joint.index: joint for joint in joints}

    def way(end: JointPlan) -> tuple[JointPlan, ...]:
        before = by_index.get(end.parent)
        return (end,) if before is None else (*way(before), end)

    inner = {joint.parent for joint in joints}
    return tuple(way(joint) for joint in joints if joint.index not in inner)


def _chain(joints: Sequence[JointPlan]) -> list[JointPlan]:
    """Return the joints from the body outwards; a leg is one chain."""
    chain: list[JointPlan] = []
    following = [joint for joint in joints if joint.parent < 0]
    while len(following) == 1:
        chain.append(following[0])
        following = [joint for joint in joints if joint.parent == chain[-1].index]
    if following or len(chain) != len(joints):
        raise BoutError("the joints are no single chain from the body to the foot; other models cannot be drawn yet")
    return chain
