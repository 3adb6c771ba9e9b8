"""MuJoCo as the legs use it: compiling a model, fast access to its state, no log file, and no stop watch."""

# MuJoCo's bindings come without a description of their functions.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

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


def set_up_mujoco() -> None:
    """Have MuJoCo write no log and not time itself; for the whole process, and to be called as often as one likes."""
    keep_mujoco_from_writing_a_log()
    keep_mujoco_from_timing_itself()


def keep_mujoco_from_writing_a_log() -> None:
    """Without a handler MuJoCo appends warnings to a file in the working folder; this one counts them for the leg."""
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_leave_it_to_the_counters)


def keep_mujoco_from_timing_itself() -> bool:
    """Take away the clock MuJoCo's Python bindings give it, unless somebody else has set one; say whether it is gone.

    With it every step looks at the clock some twenty times, a fifth of what the step of one leg takes, for timers that
    nobody reads. The bindings can only exchange it, so it is emptied where the library has it (`mjcb_time`); a library
    that has no such place, or is not found, goes on timing itself. What is simulated is the same; `MjData.timer` stays
    at 0 in the whole process.
    """
    clock = _clock()
    if clock is None or mujoco.get_mjcb_time() is not None:
        return False
    clock.value = None
    return True


@functools.cache
def _clock() -> ctypes.c_void_p | None:
    """Return where MuJoCo's library keeps its clock, None where that is not found."""
    for path in sorted(Path(mujoco.__file__).parent.glob("*mujoco.*")):
        try:
            return ctypes.c_void_p.in_dll(ctypes.CDLL(str(path)), "mjcb_time")
        except (OSError, ValueError):
            continue
    return None


def _leave_it_to_the_counters(message: str) -> None:
    del message
