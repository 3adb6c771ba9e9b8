"""A plant description as TOML would give it, with nothing random in it, to be changed by the tests."""

from __future__ import annotations

import copy
from typing import Any

from nuc_engine.model.plan import Plan
from nuc_engine.plants.mujoco_leg import MujocoLeg
from nuc_engine.plants.spec import PlantSpec, parse_spec

DATA: dict[str, Any] = {
    "world": {"base_height_cm": 12.0, "friction": 0.1, "foot_mass_g": 4.0, "foot_radius_mm": 8.0, "timestep_us": 1000},
    "servo": {
        "tick_deg": 0.654,
        "saturation_ticks": 40.0,
        "torque_cap_by_level": [1.0, 0.8, 0.6, 0.4, 0.05],
        "damping_scale": 0.3,
        "frictionloss_n_m": 0.01,
        "armature_kg_m2": 0.001,
        "current_model": "back_emf",
        "current_tick_a": 0.0184,
        "dead_ticks": 2.0,
    },
    "motor": {
        "701": {"omega0_rad_s": 5.8, "stall_torque_n_m": 0.7, "stall_current_a": 1.0},
        "1001": {"omega0_rad_s": 5.0, "stall_torque_n_m": 1.0, "stall_current_a": 1.4},
    },
    "joint": {},
    "variation": {
        "start_pose_deg": 0.0,
        "friction_fraction": 0.0,
        "position_noise_ticks": 0.0,
        "current_noise_ticks": 0.0,
    },
}


def data(plan: Plan, start_deg: dict[str, float] | None = None, **sections: dict[str, Any]) -> dict[str, Any]:
    """Return a description that fits the plan; `sections` replace single keys of the sections they name."""
    out = copy.deepcopy(DATA)
    for joint in plan.joints:
        start = (start_deg or {}).get(joint.name, 60.0)
        out["joint"][joint.name] = {"link_mass_g": 20.0, "tip_mass_g": 40.0, "start_deg": start}
    for section, keys in sections.items():
        out[section].update(keys)
    return out


def spec(plan: Plan, start_deg: dict[str, float] | None = None, **sections: dict[str, Any]) -> PlantSpec:
    return parse_spec(data(plan, start_deg, **sections), "test.toml")


def leg(plan: Plan, seed: int = 0, start_deg: dict[str, float] | None = None, **sections: dict[str, Any]) -> MujocoLeg:
    return MujocoLeg(plan, spec(plan, start_deg, **sections), seed)
