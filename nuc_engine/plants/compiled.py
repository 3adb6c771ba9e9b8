"""MuJoCo as the legs use it: compiling a model, fast access to its state, and no log file."""

# MuJoCo's bindings come without a description of their functions.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray


def compile_model(xml: str) -> mujoco.MjModel:
    """Compile a model; MuJoCo versions that split constraints into islands are told not to: one leg is one island."""
    model = mujoco.MjModel.from_xml_string(xml)
    islands = getattr(mujoco.mjtDisableBit, "mjDSBL_ISLAND", None)
    if islands is not None:
        model.opt.disableflags |= int(islands)
    return model


def floats(array: NDArray[np.float64]) -> memoryview[float]:
    """Return the array's own memory; indexing it gives Python floats, several times faster than numpy scalars."""
    return array.data.cast("B").cast("d")


def keep_mujoco_from_writing_a_log() -> None:
    """MuJoCo appends its warnings to a file in the working folder unless somebody takes them; the leg counts them."""
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_leave_it_to_the_counters)


def _leave_it_to_the_counters(message: str) -> None:
    del message
