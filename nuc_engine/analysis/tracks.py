"""What the step detector looks at: actions, angles, foot and contact of one leg, as plain arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.errors import AnalysisError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
JointRole = Literal["ThC", "CTr", "FTi", ""]

_ROLE_PATTERNS: tuple[tuple[JointRole, str], ...] = (
    ("ThC", r"thorax-?_?coxa|thc|tc\d*(_|$)"),
    ("CTr", r"coxa-?_?trochanter|ctr"),
    ("FTi", r"femur-?_?tibia|fti|ft(_|$)"),
)


@dataclass(frozen=True, slots=True)
class ModuleTrack:
    """One action switching module over time.

    `actions` are the codes of all its actions and `action_names` their names; `action` is the code at each state
    time (-1: none), `angle_deg` the joint angle at each sensor time. `role` is the joint's place in the leg. `load` is
    the motor's filtered current with its sign, which the rules take for the load, at each sensor time; None where it
    was not logged.
    """

    name: str
    role: JointRole
    actions: tuple[int, ...]
    action_names: tuple[str, ...]
    action: IntArray
    angle_deg: FloatArray
    load: FloatArray | None = None

    @property
    def alternates(self) -> bool:
        """True when the module has two or more actions to alternate between."""
        return len(self.actions) >= 2

    def action_name(self, code: int) -> str:
        """Return the name of one of this module's actions; an unknown code is named by its number."""
        return self.action_names[self.actions.index(code)] if code in self.actions else str(code)


@dataclass(frozen=True, slots=True)
class LegTracks:
    """One leg over time. Times are seconds since engine start, rising.

    `foot_cm` has shape (n, 3): x forward, y left, z up. `contact_n` is the ground's normal force on the foot at the
    same n times, or None where it was not recorded (then `foot_cm` comes from the joint angles). `stance_action` is
    the code of the action of stance (`find_stance_action`). `leg_length_cm` is the sum of the DH lines' link lengths.
    """

    t_state_s: FloatArray
    t_sensor_s: FloatArray
    t_foot_s: FloatArray
    modules: tuple[ModuleTrack, ...]
    foot_cm: FloatArray
    contact_n: FloatArray | None
    leg_length_cm: float
    stance_action: int

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together."""
        _same_length("state times", self.t_state_s, [(m.name, m.action) for m in self.modules])
        _same_length("sensor times", self.t_sensor_s, [(m.name, m.angle_deg) for m in self.modules])
        _same_length("sensor times", self.t_sensor_s, [(m.name, m.load) for m in self.modules if m.load is not None])
        feet: list[tuple[str, NDArray[Any]]] = [("foot position", self.foot_cm)]
        if self.contact_n is not None:
            feet.append(("contact force", self.contact_n))
        _same_length("foot times", self.t_foot_s, feet)

    def module(self, role: JointRole) -> ModuleTrack:
        """Return the module with this role. Raises AnalysisError when the leg has none."""
        for module in self.modules:
            if module.role == role:
                return module
        have = ", ".join(m.name for m in self.modules) or "no modules"
        raise AnalysisError(f"no joint of the leg is its {role} joint, expected one named so (there are: {have})")

    def find_module(self, role: JointRole) -> ModuleTrack | None:
        """Return the module with this role, None when the leg has none."""
        return next((module for module in self.modules if module.role == role), None)

    @property
    def stance_module(self) -> ModuleTrack:
        """The module whose actions tell swing from stance. Raises AnalysisError when none has the stance action."""
        for module in self.modules:
            if self.stance_action in module.actions:
                return module
        raise AnalysisError(f"no module has the action of stance, {self.stance_action}")

    @property
    def thc_acts(self) -> bool:
        """True when a thorax-coxa joint has two or more actions and moves; otherwise it is only held (section 7.1.1).

        To move is to cover `min_excursion_deg` (docs/stepping.md), from the 5th to the 95th percentile of the record.
        """
        thc = self.find_module("ThC")
        return thc is not None and thc.alternates and covered_deg(thc.angle_deg) >= DEFAULT_CRITERIA.min_excursion_deg

    @property
    def is_roach(self) -> bool:
        """True when the thorax-coxa joint presses the leg down in stance, as its action's name says (section 4.4.2)."""
        thc = self.find_module("ThC")
        return thc is not None and any(name.endswith("DEP") for name in thc.action_names)

    def as_held(self) -> LegTracks:
        """Return the same leg with FTi flexion as its stance action, as where the thorax-coxa joint is only held."""
        flexion = _flexion(self.modules)
        return self if flexion is None else replace(self, stance_action=flexion)

    @property
    def pacing_module(self) -> ModuleTrack:
        """The module whose cycles are counted: thorax-coxa, and where that is only held, femur-tibia.

        Raises AnalysisError when there is no femur-tibia module either.
        """
        return self.module("ThC") if self.thc_acts else self.module("FTi")

    @property
    def outward_y(self) -> float:
        """Direction away from the body's midline: +1 for a left leg, -1 for a right one, 0 where there is no foot."""
        if self.foot_cm.size == 0:
            return 0.0
        return float(np.sign(median(self.foot_cm[:, 1])))


def median(values: FloatArray) -> float:
    """Return the median of numbers, NaN of none: as `np.median`, which loads all of `numpy.ma` for it."""
    ordered = np.sort(values)
    if not len(ordered) or np.isnan(ordered[-1]):
        return float("nan")
    return float((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)


def percentile(values: FloatArray, percent: float) -> float:
    """Return a percentile of numbers, between two of them in proportion: as `np.percentile`, which loads that too."""
    ordered = np.sort(values)
    if np.isnan(ordered[-1]):
        return float("nan")
    place = (len(ordered) - 1) * (percent / 100)
    at = int(place)
    low, high, part = ordered[at], ordered[min(at + 1, len(ordered) - 1)], place - at
    return float(low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part))


def joint_role(joint_name: str) -> JointRole:
    """Return the place in the leg a joint's name tells of; "" where it tells nothing.

    The joint between thorax and coxa is the first one with several actions; the caller decides between
    `Thorax-Coxa1` and `Thorax-Coxa2`.
    """
    for role, pattern in _ROLE_PATTERNS:
        if re.match(pattern, joint_name, re.IGNORECASE):
            return role
    return ""


def stance_action(module: ModuleTrack) -> int:
    """Return the code of the thorax-coxa action of stance, from the action names (docs/stepping.md).

    The action that depresses the leg (`...DEP`), and where none is named so, retraction. Raises AnalysisError when
    the names tell neither.
    """
    for pattern in (r"DEP$", r"(?i)ret"):
        for code, name in zip(module.actions, module.action_names, strict=True):
            if re.search(pattern, name):
                return code
    raise AnalysisError(
        f"{module.name}: none of the actions {', '.join(module.action_names)} is named as the stance action,"
        " expected one that ends in DEP or contains ret"
    )


def find_stance_action(modules: Sequence[ModuleTrack]) -> int:
    """Return the code of a leg's action of stance: the thorax-coxa one, or FTi flexion where that joint is only held.

    A leg that steps sideways pulls its foot in by flexing the knee (section 7.1.1). Raises AnalysisError when there is
    neither.
    """
    thc = next((m for m in modules if m.role == "ThC" and m.alternates), None)
    if thc is not None:
        return stance_action(thc)
    flexion = _flexion(modules)
    if flexion is not None:
        return flexion
    raise AnalysisError(
        "no joint between thorax and coxa with actions, and no femur-tibia joint with a flexion, expected one of them"
    )


def covered_deg(angle_deg: FloatArray) -> float:
    """Return the angle covered from the 5th to the 95th percentile; 0 where nothing was recorded."""
    if not angle_deg.size:
        return 0.0
    return percentile(angle_deg, 95) - percentile(angle_deg, 5)


def _flexion(modules: Sequence[ModuleTrack]) -> int | None:
    fti = next((m for m in modules if m.role == "FTi" and m.alternates), None)
    named = () if fti is None else zip(fti.actions, fti.action_names, strict=True)
    return next((code for code, name in named if re.search(r"(?i)fle?x", name)), None)


def _same_length(what: str, times: FloatArray, arrays: Sequence[tuple[str, NDArray[Any]]]) -> None:
    for name, array in arrays:
        if len(array) != len(times):
            raise AnalysisError(f"{name} has {len(array)} values, expected {len(times)}, one for each of the {what}")
