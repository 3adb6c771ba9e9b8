"""What kind of motor turns each shaft: as the plant describes it, else as its family's maker does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from drivers.errors import BusUrlError
from drivers.factory import find_family
from nuc_engine.model.plan import MotorPlan
from nuc_engine.plants.spec import MotorSpec


def find_kind(motor: MotorPlan, described: Mapping[str, MotorSpec]) -> MotorSpec | None:
    """Return the motor's kind, by its model's name; None where neither the plant nor the family knows the model.

    What its electronics regulate is the family's to say, whoever describes the motor.
    """
    try:
        model = find_family(motor.family).models.get(motor.model)
    except BusUrlError:
        model = None
    if (kind := described.get(motor.model)) is not None:
        return replace(kind, current_loop=True) if model is not None and model.current_loop else kind
    if model is None:
        return None
    return MotorSpec(model.no_load_rad_s, model.stall_torque_n_m, model.stall_current_a, model.current_loop)
