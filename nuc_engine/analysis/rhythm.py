"""The cycle of one joint: how often its angle comes back to a minimum, and how regularly (docs/outcomes.md)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nuc_engine.analysis.criteria import Criteria
from nuc_engine.analysis.phases import angle_minima
from nuc_engine.analysis.tracks import LegTracks, ModuleTrack, Role


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Cycles of one joint's angle, minimum to minimum, in a stretch of a record.

    `period_s` is their median duration and `period_cv` the coefficient of variation, `range_deg` the median angle
    covered in a cycle; nan without cycles. `longest_gap_s` is the longest time without a minimum, ends included.
    """

    role: Role
    cycles: int
    period_s: float
    period_cv: float
    longest_gap_s: float
    range_deg: float


def rhythm(leg: LegTracks, module: ModuleTrack, begin_s: float, end_s: float, criteria: Criteria) -> Rhythm:
    """Measure a joint's cycles in [begin_s, end_s]; only what happens there decides what counts as a minimum."""
    inside = slice(*np.searchsorted(leg.t_sensor_s, (begin_s, end_s)))
    times, angle = leg.t_sensor_s[inside], module.angle_deg[inside]
    at = angle_minima(times, angle, criteria)
    gap = float(np.diff(np.array([begin_s, *at, end_s])).max())
    periods = np.diff(at)
    if not periods.size:
        return Rhythm(module.role, 0, float("nan"), float("nan"), gap, float("nan"))
    edges = np.searchsorted(times, at)
    covered = [np.ptp(angle[a : b + 1]) for a, b in pairwise(edges.tolist())]
    spread = float(periods.std(ddof=1)) if periods.size > 1 else 0.0
    return Rhythm(
        role=module.role,
        cycles=len(periods),
        period_s=float(np.median(periods)),
        period_cv=spread / float(periods.mean()),
        longest_gap_s=gap,
        range_deg=float(np.median(covered)),
    )


def is_periodic(found: Rhythm, least_cycles: int, longest_gap_s: float, c: Criteria) -> bool:
    """Say whether a joint repeats its movement, regularly and from beginning to end."""
    return (
        found.cycles >= least_cycles
        and found.range_deg >= c.min_excursion_deg
        and c.min_period_s <= found.period_s <= c.max_period_s
        and found.period_cv <= c.max_period_cv
        and found.longest_gap_s <= longest_gap_s
    )
