"""Which column of which log is what: from the configuration, and from columns.json where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nuc_engine.analysis.bout import JointInfo, StateInfo
from nuc_engine.analysis.errors import BoutError
from nuc_engine.analysis.tracks import FloatArray, Role, joint_role
from sccils_schemas.documents import HdsoMod, Joint
from sccils_schemas.model import Model, load_model

CURRENT, POSITION, SENT, AGE = "current_raw", "position_raw", "sent_raw", "age_ns"


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of the data columns (time apart) each log may have; several where programs differ (readings E2, E4).

    The first of several are the columns that every such log has to have.
    """

    motor: tuple[tuple[str, ...], ...]
    sensors: tuple[tuple[str, ...], ...]
    states: tuple[tuple[str, ...], ...]
    muscles: tuple[str, ...]


PLANT_COLUMNS = ("foot_x", "foot_y", "foot_z", "contact")


def model_of(folder: Path) -> Model:
    """Return the copy of the configuration in a data directory. Raises BoutError with everything wrong with it."""
    model, problems = load_model(folder)
    if model is None:
        reasons = "\n".join(str(problem) for problem in problems.errors)
        raise BoutError(f"{folder}: the copy of the configuration cannot be used:\n{reasons}")
    return model


def engine_joints(model: Model) -> tuple[Joint, ...]:
    """Return the joints that have data columns, in document order: all but endpoints (reading B24)."""
    return tuple(joint for joint in model.jointlist.joints if not joint.endpoint)


def layout_of(model: Model) -> Layout:
    """Return the columns a bout of this model has."""
    joints = engine_joints(model)
    motors = [joint.motor.name for joint in joints if joint.motor is not None]
    floats = [hdso.name for hdso in model.sensors.hdsos if hdso.datatype == "float"]
    every = [hdso.name for hdso in model.sensors.hdsos]
    replies = tuple(f"{name}.{what}" for name in motors for what in (CURRENT, POSITION))
    return Layout(
        motor=(replies, (*replies, *(f"{name}.{what}" for name in motors for what in (SENT, AGE)))),
        sensors=(tuple(floats), tuple(every)),
        states=(_state_columns(joints, pad=True), _state_columns(joints, pad=False)),
        muscles=tuple(f"{m.name}.{what}" for joint in joints for m in joint.muscles for what in ("force", "length")),
    )


def _state_columns(joints: Sequence[Joint], *, pad: bool) -> tuple[str, ...]:
    """Return state and activations of every joint; with `pad`, two activations where there are fewer muscles."""
    columns: list[str] = []
    for joint in joints:
        count = max(len(joint.muscles), 2) if pad else len(joint.muscles)
        columns += [f"{joint.name}.state", *(f"{joint.name}.activation[{k}]" for k in range(count))]
    return tuple(columns)


def states_of(model: Model) -> tuple[StateInfo, ...]:
    """Return all actions in document order; their place is the code in StateData.txt (reading E3)."""
    found = [(joint, state) for joint in engine_joints(model) for state in joint.states]
    return tuple(
        StateInfo(
            code=code,
            id_num=state.id_num,
            name=state.name,
            joint=joint.name,
            color=None if state.plotstyle is None else state.plotstyle.colorspec,
        )
        for code, (joint, state) in enumerate(found)
    )


def joints_of(model: Model) -> tuple[JointInfo, ...]:
    """Return the joints along the chain, with the columns that belong to each.

    The first two float sensors per motor are its angle and current, in the motors' document order (reading B12). Raises
    BoutError when the joints are no single chain.
    """
    floats = [hdso.name for hdso in model.sensors.hdsos if hdso.datatype == "float"]
    codes = {(state.joint, state.name): state.code for state in states_of(model)}
    motors = [joint.motor.name for joint in engine_joints(model) if joint.motor is not None]
    thc_taken = False
    infos: list[JointInfo] = []
    for joint in _chain(engine_joints(model)):
        role = joint_role(joint.name)
        if role == "ThC" and (thc_taken or len(joint.states) == 0):
            role = ""
        thc_taken = thc_taken or role == "ThC"
        own = tuple(codes[joint.name, state.name] for state in joint.states)
        infos.append(_info(model, joint, role, own, floats, motors))
    return tuple(infos)


def _info(
    model: Model, joint: Joint, role: Role, codes: tuple[int, ...], floats: Sequence[str], motors: Sequence[str]
) -> JointInfo:
    name = None if joint.motor is None else joint.motor.name
    at = None if name is None else 2 * motors.index(name)
    dh_line = _numbers(model, joint.geometry.dh_line)
    amatrix = _numbers(model, joint.geometry.amatrix)
    return JointInfo(
        name=joint.name,
        role=role,
        states=codes,
        muscles=tuple(muscle.name for muscle in joint.muscles),
        angle=None if at is None else floats[at],
        current=None if at is None else floats[at + 1],
        raw_current=None if name is None else f"{name}.{CURRENT}",
        raw_position=None if name is None else f"{name}.{POSITION}",
        action=f"{joint.name}.state",
        activations=tuple(f"{joint.name}.activation[{k}]" for k in range(len(joint.muscles))),
        amatrix=None if amatrix is None else amatrix.reshape(4, 4),
        dh_line=None if dh_line is None else _four(dh_line),
    )


def _four(numbers: FloatArray) -> tuple[float, float, float, float]:
    a, d, alpha, scale = (float(number) for number in numbers)
    return a, d, alpha, scale


def _chain(joints: Sequence[Joint]) -> list[Joint]:
    """Return the joints from the body outwards; a leg is one chain."""
    ids = {joint.id_num for joint in joints}
    chain: list[Joint] = []
    following = [joint for joint in joints if joint.parent not in ids]
    while len(following) == 1:
        chain.append(following[0])
        following = [joint for joint in joints if joint.parent == chain[-1].id_num]
    if following or len(chain) != len(joints):
        raise BoutError("the joints are no single chain from the body to the foot; other models cannot be drawn yet")
    return chain


def _numbers(model: Model, mod: HdsoMod | None) -> FloatArray | None:
    """Return the numbers of a geometry entry: its own, or its HDSO's initial ones where it is only a reference."""
    if mod is None:
        return None
    data = mod.data
    if not data:
        declared = next((h for h in (*model.parameters.hdsos, *model.sensors.hdsos) if h.id_num == mod.id_num), None)
        data = () if declared is None or declared.initial_data is None else declared.initial_data
    if isinstance(data, str) or len(data) not in (4, 16):
        return None
    return np.array(data, dtype=np.float64)
