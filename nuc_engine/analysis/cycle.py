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
from nuc_engine.analysis.series import Series
from nuc_engine.analysis.steps import Steps
from nuc_engine.analysis.tracks import BoolArray, FloatArray

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
    """Return the mean of those steps of a bout that were recorded; None where there are none, or no joint has an angle.

    Steps with a gap in the record of the angles are left out: the joints' positions in it are unknown. The same holds
    for `contact` and the record of the foot.
    """
    joints = [joint for joint in bout.joints if joint.angle is not None]
    kept = recorded_steps(bout.sensors, steps)
    if not kept.any() or not joints:
        return None
    phase = np.linspace(0.0, 1.0, points)
    times = steps.lift_off_s[kept, None] + phase[None, :] * steps.period_s[kept, None]
    log = bout.sensors
    curves = [np.interp(times, log.t_s, log.column(joint.angle)) for joint in joints if joint.angle is not None]
    angles = np.stack(curves, axis=2)
    return MeanCycle(
        joints=tuple(joint.name for joint in joints),
        steps=len(times),
        phase=phase,
        mean_deg=angles.mean(axis=0),
        sd_deg=angles.std(axis=0, ddof=1) if len(times) > 1 else np.full(angles.shape[1:], np.nan),
        contact=_contact(bout, steps, phase),
        touch_down=float(np.mean((steps.swing_s / steps.period_s)[kept])),
    )


def recorded_steps(log: Series, steps: Steps) -> BoolArray:
    """Return (n,) which steps a log was recorded throughout: without a gap, from lift-off to the next one."""
    longest_s = DEFAULT_CRITERIA.max_unrecorded_s
    marks = np.concatenate(([-np.inf], log.t_s, [np.inf]))
    gaps = np.flatnonzero(np.diff(marks) > longest_s)
    begin, end = marks[gaps], marks[gaps + 1]
    missed = np.minimum(end[None, :], steps.end_s[:, None]) - np.maximum(begin[None, :], steps.lift_off_s[:, None])
    allowed = np.minimum(longest_s, steps.period_s / 2)
    return np.all(missed <= allowed[:, None], axis=1)


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


def _contact(bout: Bout, steps: Steps, phase: FloatArray) -> FloatArray:
    kept = np.zeros(len(steps), dtype=np.bool_) if bout.plant is None else recorded_steps(bout.plant, steps)
    if bout.plant is None or not kept.any():
        return np.full(len(phase), np.nan)
    times = steps.lift_off_s[kept, None] + phase[None, :] * steps.period_s[kept, None]
    force = np.interp(times, bout.plant.t_s, bout.plant.column("contact"))
    return (force > DEFAULT_CRITERIA.contact_n).mean(axis=0)
