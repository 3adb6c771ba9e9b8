"""The mean step: joint angles, contact and actions over the normalised step cycle, and how far two bouts are apart.

Phase 0 is a lift-off and 1 the next one, as in docs/stepping.md; where contact was not recorded, swing is what the
actions say. Each step is stretched to the same length, so that steps of different duration can be averaged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nuc_engine.analysis.bout import Bout
from nuc_engine.analysis.criteria import DEFAULT_CRITERIA
from nuc_engine.analysis.steps import Steps
from nuc_engine.analysis.tracks import FloatArray

POINTS = 101


@dataclass(frozen=True, slots=True, eq=False)
class MeanCycle:
    """The mean of `steps` steps at `phase` (m,), from 0 to 1.

    `mean_deg` and `sd_deg` have shape (m, joints): mean joint angle, and its sample standard deviation over the steps
    (nan for a single one). `contact` (m,) is the share of steps with the foot on the ground, nan where that was not
    recorded. `touch_down` is the mean phase of touch-down.
    """

    joints: tuple[str, ...]
    steps: int
    phase: FloatArray
    mean_deg: FloatArray
    sd_deg: FloatArray
    contact: FloatArray
    touch_down: float

    def joint(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of one joint's angle, each (m,). Raises KeyError when there is none."""
        if name not in self.joints:
            raise KeyError(f"no joint {name}; there are {', '.join(self.joints)}")
        k = self.joints.index(name)
        return self.mean_deg[:, k], self.sd_deg[:, k]


@dataclass(frozen=True, slots=True)
class AngleError:
    """How far the mean cycles of a joint are apart: root mean square, and the largest difference with its phase."""

    joint: str
    rms_deg: float
    largest_deg: float
    at_phase: float


def mean_cycle(bout: Bout, steps: Steps, points: int = POINTS) -> MeanCycle | None:
    """Return the mean of some steps of a bout; None where there are none, or no joint has an angle."""
    joints = [joint for joint in bout.joints if joint.angle is not None]
    if not len(steps) or not joints or not len(bout.sensors):
        return None
    phase = np.linspace(0.0, 1.0, points)
    times = steps.lift_off_s[:, None] + phase[None, :] * steps.period_s[:, None]
    log = bout.sensors
    curves = [np.interp(times, log.t_s, log.column(joint.angle)) for joint in joints if joint.angle is not None]
    angles = np.stack(curves, axis=2)
    return MeanCycle(
        joints=tuple(joint.name for joint in joints),
        steps=len(steps),
        phase=phase,
        mean_deg=angles.mean(axis=0),
        sd_deg=angles.std(axis=0, ddof=1) if len(steps) > 1 else np.full(angles.shape[1:], np.nan),
        contact=_contact(bout, times),
        touch_down=float(np.mean(steps.swing_s / steps.period_s)),
    )


def angle_errors(one: MeanCycle, other: MeanCycle) -> tuple[AngleError, ...]:
    """Return the differences other - one of the joints that both have, in the order of the first."""
    errors: list[AngleError] = []
    for name in one.joints:
        if name not in other.joints:
            continue
        theirs = np.interp(one.phase, other.phase, other.joint(name)[0])
        difference = theirs - one.joint(name)[0]
        k = int(np.argmax(np.abs(difference)))
        # Phase 1 is phase 0 of the next step: it counts once.
        rms = float(np.sqrt(np.mean(difference[:-1] ** 2)))
        errors.append(AngleError(name, rms, float(difference[k]), float(one.phase[k])))
    return tuple(errors)


def overall_rms_deg(errors: Sequence[AngleError]) -> float:
    """Return the root mean square over all joints; nan where there are none."""
    return float(np.sqrt(np.mean([error.rms_deg**2 for error in errors]))) if errors else float("nan")


def _contact(bout: Bout, times: FloatArray) -> FloatArray:
    if bout.plant is None or not len(bout.plant):
        return np.full(times.shape[1], np.nan)
    force = np.interp(times, bout.plant.t_s, bout.plant.column("contact"))
    return (force > DEFAULT_CRITERIA.contact_n).mean(axis=0)
