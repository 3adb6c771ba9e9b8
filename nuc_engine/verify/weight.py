"""The weight of a leg: the torque at each joint that holds it, for gravity compensation (docs/servos.md)."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nuc_engine.verify.documents import Joint, Model
from nuc_engine.verify.servos import MAKES, Unverifiable

GRAVITY_M_S2 = 9.81


class Weight:
    """A share of the holding torque, in units of muscle output, for each motor whose joint has muscles.

    A link is a rod to the next joint with a point at its end, the last one with the foot. With unit vector z along an
    axis through p, masses m with centres c beyond it are held by the torque g e_up . (z x sum m (c - p)).
    """

    def __init__(self, model: Model, plant: Path, changed: Mapping[str, float], share: float) -> None:
        described = _read(plant, changed)
        self.links = [self._link(described, joint, last=joint is model.joints[-1]) for joint in model.joints]
        self.shares: list[float] = []
        for joint in model.joints:
            servo = model.motors[joint.motor].servo
            unit = servo.unit_n_m
            if not unit:
                # On an AI motor a unit is a tick, and the plant says after how many it gives all it has.
                kind = described.get("motor", {}).get(servo.model)
                stall = kind["stall_torque_n_m"] if kind else MAKES[servo.model].stall_n_m
                unit = stall / described["servo"]["saturation_ticks"]
            self.shares.append(share / math.copysign(unit, servo.dir * servo.cal2) if joint.muscles else 0.0)

    @staticmethod
    def _link(described: Mapping[str, Any], joint: Joint, *, last: bool) -> tuple[Any, Any, float, Any]:
        part = described["joint"][joint.name]
        over = part.get("override", {})
        a, d, alpha = (joint.dh_line or (0.0, 0.0, 0.0))[:3]
        a, d = over.get("a_cm", a), over.get("d_cm", d)
        alpha = math.radians(over["alpha_deg"]) if "alpha_deg" in over else alpha
        before = np.array(joint.amatrix).reshape(4, 4) if joint.amatrix else np.eye(4)
        behind = np.eye(4)
        behind[1:3, 1:3] = [[math.cos(alpha), -math.sin(alpha)], [math.sin(alpha), math.cos(alpha)]]
        behind[:3, 3] = a, 0.0, d
        at_end = part["tip_mass_g"] + (described["world"]["foot_mass_g"] if last else 0.0)
        mass = part["link_mass_g"] + at_end
        centre = np.array([a, 0.0, d]) * (part["link_mass_g"] / 2 + at_end) / mass
        return before, behind, mass * 1e-3, centre

    def units(self, angles_deg: Sequence[float]) -> list[float]:
        """Return what is added to each joint's output at these angles."""
        frame, axes, masses = np.eye(4), [], []
        for (before, behind, mass, centre), angle in zip(self.links, angles_deg, strict=True):
            frame = frame @ before
            axes.append((frame[:3, 2], frame[:3, 3]))
            turn, radians = np.eye(4), math.radians(angle)
            turn[:2, :2] = [[math.cos(radians), -math.sin(radians)], [math.sin(radians), math.cos(radians)]]
            frame = frame @ turn
            masses.append((mass, frame[:3, :3] @ centre + frame[:3, 3]))
            frame = frame @ behind
        torques: list[float] = []
        for k, (axis, origin) in enumerate(axes):
            moment = sum(mass * (centre - origin) for mass, centre in masses[k:]) * 0.01
            torques.append(GRAVITY_M_S2 * float(np.cross(axis, moment)[2]))
        return [torque * share for torque, share in zip(torques, self.shares, strict=True)]


def _read(path: Path, changed: Mapping[str, float]) -> dict[str, Any]:
    try:
        described = tomllib.loads(path.read_text(encoding="utf-8"))
        for key, value in changed.items():
            *way, last = key.split(".")
            table: Any = described
            for step in way:
                table = table[int(step)] if isinstance(table, list) else table[step]
            table[int(last) if isinstance(table, list) else last] = value
    except (OSError, ValueError, LookupError) as error:
        raise Unverifiable(f"{path.name}: the weight cannot be computed ({error})") from error
    return described
