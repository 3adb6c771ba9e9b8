"""Swing and stance out of contact and foot height; minima out of an angle. Rules: docs/stepping.md."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nuc_engine.analysis.criteria import Criteria
from nuc_engine.analysis.tracks import BoolArray, FloatArray, IntArray, JointRole, LegTracks, ModuleTrack, covered_deg


@dataclass(frozen=True, slots=True)
class Swing:
    """One time the foot is in the air; `begin_known` / `end_known` are False where the record cuts it off."""

    lift_off_s: float
    touch_down_s: float
    clearance_cm: float
    begin_known: bool = True
    end_known: bool = True

    @property
    def duration_s(self) -> float:
        """Time in the air, as far as recorded."""
        return self.touch_down_s - self.lift_off_s


def runs(mask: BoolArray) -> list[tuple[int, int]]:
    """Return the half-open index ranges in which `mask` is True, in order."""
    padded = np.concatenate(([False], mask, [False])).astype(np.int8)
    edges = np.diff(padded)
    return list(zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True))


def find_swings(
    t_s: FloatArray, height_cm: FloatArray, contact_n: FloatArray, leg_length_cm: float, criteria: Criteria
) -> list[Swing]:
    """Return the swings of a record, in order, with bounces bridged and mere touches taken out.

    A stretch without contact is a swing when it is long and high enough; two swings between which the foot is not
    loaded long and strongly enough are one.
    """
    contact = contact_n > criteria.contact_n
    swings = [_swing(t_s, height_cm, begin, end) for begin, end in runs(~contact)]
    lowest = criteria.min_clearance_legs * leg_length_cm
    kept = [s for s in swings if s.duration_s >= criteria.min_swing_s and s.clearance_cm >= lowest]
    merged: list[Swing] = []
    for swing in kept:
        if merged and not _is_stance(t_s, contact_n, merged[-1].touch_down_s, swing.lift_off_s, criteria):
            merged[-1] = _join(merged[-1], swing)
        else:
            merged.append(swing)
    return merged


def mean_load(t_s: FloatArray, contact_n: FloatArray, begin_s: float, end_s: float, criteria: Criteria) -> float:
    """Return the mean normal force in N over the samples in contact from `begin_s` to `end_s`; 0 without any."""
    part = contact_n[slice(*np.searchsorted(t_s, (begin_s, end_s)))]
    loaded = part[part > criteria.contact_n]
    return float(loaded.mean()) if loaded.size else 0.0


def action_swings(t_s: FloatArray, in_stance: BoolArray, criteria: Criteria) -> list[Swing]:
    """Return the stretches outside stance, as the actions tell it: swings where contact was not recorded.

    Stretches too short for a swing, and stances too short between two swings, are spikes of the load signal, bridged
    as bounces are.
    """
    last = len(t_s) - 1
    stretches = [
        Swing(float(t_s[begin]), float(t_s[min(end, last)]), float("nan"), begin > 0, end <= last)
        for begin, end in runs(~in_stance)
    ]
    merged: list[Swing] = []
    for swing in (s for s in stretches if s.duration_s >= criteria.min_swing_s):
        if merged and swing.lift_off_s - merged[-1].touch_down_s < criteria.min_stance_s:
            merged[-1] = _join(merged[-1], swing)
        else:
            merged.append(swing)
    return merged


def runs_at_ends(action: IntArray, leading: BoolArray) -> BoolArray:
    """Return where `action` is in the run it is in when a stretch of `leading` ends; single samples are no stretch.

    What a module does when another one gives up its stance action is what it does in stance, whichever action that is.
    """
    ends = [end - 1 for begin, end in runs(leading) if end - begin > 1]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(action)) + 1, [len(action)]))
    found = np.zeros(len(action), dtype=np.bool_)
    for end in ends:
        k = int(np.searchsorted(starts, end, side="right")) - 1
        found[starts[k] : starts[k + 1]] = True
    return found


def minima(t_s: FloatArray, value: FloatArray, min_rise: float) -> FloatArray:
    """Return the times of the local minima that lie between falls and rises by at least `min_rise`.

    The lowest sample between two such turns counts, the first of equal ones; the ends of the record do not.
    """
    found: list[float] = []
    values = value.tolist()
    low, falling = 0, False
    lowest = highest = values[0] if values else 0.0
    for i, v in enumerate(values):
        if falling:
            if v < lowest:
                low, lowest = i, v
            if v - lowest >= min_rise:
                found.append(float(t_s[low]))
                falling, highest = False, v
        else:
            highest = v if v > highest else highest
            if highest - v >= min_rise:
                falling, low, lowest = True, i, v
    return np.array(found)


def angle_minima(t_s: FloatArray, angle_deg: FloatArray, criteria: Criteria) -> FloatArray:
    """Return the times of a joint angle's minima (section 7.2.2 measures step cycles between the thorax-coxa's)."""
    if angle_deg.size == 0:
        return np.array([])
    return minima(t_s, angle_deg, max(criteria.min_rise_deg, criteria.min_rise_range * covered_deg(angle_deg)))


def _swing(t_s: FloatArray, height_cm: FloatArray, begin: int, end: int) -> Swing:
    last = len(t_s) - 1
    known_ends = [height_cm[i] for i, known in ((begin, begin > 0), (end, end <= last)) if known]
    ground = max(known_ends) if known_ends else float(height_cm.min())
    return Swing(
        lift_off_s=float(t_s[begin]),
        touch_down_s=float(t_s[min(end, last)]),
        clearance_cm=float(height_cm[begin:end].max() - ground),
        begin_known=begin > 0,
        end_known=end <= last,
    )


def _join(first: Swing, second: Swing) -> Swing:
    return Swing(
        first.lift_off_s,
        second.touch_down_s,
        max(first.clearance_cm, second.clearance_cm),
        first.begin_known,
        second.end_known,
    )


def _is_stance(t_s: FloatArray, contact_n: FloatArray, begin_s: float, end_s: float, criteria: Criteria) -> bool:
    """Short or light touches are no stance; what happened in swings that did not count belongs to the stance."""
    long_enough = end_s - begin_s >= criteria.min_stance_s
    return long_enough and mean_load(t_s, contact_n, begin_s, end_s, criteria) >= criteria.min_load_n


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Cycles of one joint's angle, minimum to minimum, in a stretch of a record.

    `period_s` is their median duration and `period_cv` the coefficient of variation, `range_deg` the median angle
    covered in a cycle; NaN without cycles. `longest_gap_s` is the longest time without a minimum, ends included.
    """

    role: JointRole
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
