from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from msgspec import structs

from nuc_engine.experiments.catalogue.unloading import (
    EVALUATED,
    Predicted,
    Promoted,
    median_interval,
    pooled,
    sign_test,
    stances,
)
from nuc_engine.experiments.protocol import CriterionResult, Observation, TableRow, Trial
from tests.catalogue.seen import leg, observe, row_of, steps

PERIOD, SWING = 0.7, 0.3
FWD, ITF, ITB = (row_of(f"magnet {kind}") for kind in ("FWD", "ITF", "ITB"))


def schedule_of(row: TableRow) -> Promoted:
    """How a row's leg is disturbed."""
    return next(ask for ask in row.criterion.asks if isinstance(ask, Promoted))


def short(row: TableRow, count: int = 8) -> Promoted:
    """The same with fewer disturbances, six seconds apart."""
    return structs.replace(schedule_of(row), count=count, interval_s=6.0, calm_after_s=3.5)


SCHEDULE = short(FWD)
TIMES_S = SCHEDULE.times_s
LEVATES = Predicted("CTr", "levation")


def gains(seen: Observation, predicted: Predicted = LEVATES) -> list[float]:
    return list(SCHEDULE.gains(seen, predicted).values())


def walk(sooner_s: float = 0.0, row: TableRow = FWD, fti_deg: float = 140.0, offset_s: float = 0.0) -> Observation:
    """A leg in which FTi and CTr go over to swing 0.35 s after touch-down, and `sooner_s` earlier when disturbed.

    Stance begins 0.1 s before each disturbance, or `offset_s` later than that.
    """
    marks = [-2.0, *(time - 0.1 + offset_s for time in TIMES_S), 80.0]
    downs = [
        float(down) for a, b in pairwise(marks) for down in np.linspace(a, b, round((b - a) / PERIOD), endpoint=False)
    ]
    lift_offs = [down - SWING for down in downs]
    names = {
        "FWD": ("FT_Extension", "FT_Flexion", "CTr_DepressionRET", "CTr_LevationPRO"),
        "ITF": ("FT_Flexion", "FT_Extension", "CTr_DepressionRET", "CTr_LevationPRO"),
        "ITB": ("FT_Flexion", "FT_Extension", "CTr_LevationPRO", "CTr_DepressionRET"),
    }[row.name]
    fti: list[tuple[float, str]] = []
    ctr: list[tuple[float, str]] = []
    for down in downs:
        early = sooner_s if any(abs(down - time) < 1e-6 for time in marks) else 0.0
        for own, stance, swing in ((fti, *names[:2]), (ctr, *names[2:])):
            own += [(down, stance), (down + 0.35 - early, swing)]
    tracks = replace(leg(120.0, {"FTi": sorted(fti), "CTr": sorted(ctr)}, fti_deg), contact_n=None)
    found = steps([time for time in lift_offs if time > 0], SWING)
    return observe(row.bouts[0], {row.name: row.name}, tracks=tracks, found=found)


def judge(row: TableRow, seen: Observation, count: int = 8) -> CriterionResult:
    asks = tuple(short(row, count) if isinstance(ask, Promoted) else ask for ask in row.criterion.asks)
    return replace(row.criterion, asks=asks)({"bout": seen})


@pytest.mark.parametrize("row", [FWD, ITF, ITB], ids=lambda row: row.name)
def test_actions_that_come_earlier_are_promoted(row: TableRow) -> None:
    finding = judge(row, walk(0.2, row))
    assert finding.ok, finding.reasons
    for predicted in SCHEDULE.actions if row is FWD else short(row).actions:
        assert finding.numbers[f"{predicted.label}: disturbances that count"] == len(TIMES_S)
        assert finding.numbers[f"{predicted.label}: sooner by (s)"] == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("row", [FWD, ITF, ITB], ids=lambda row: row.name)
@pytest.mark.parametrize("sooner_s", [0.0, 0.02, -0.2])
def test_actions_that_come_as_always_or_later_are_not(sooner_s: float, row: TableRow) -> None:
    finding = judge(row, walk(sooner_s, row))
    assert finding.started
    assert not finding.ok
    assert len(finding.reasons) == 2


def test_less_than_two_evaluations_of_the_rules_is_no_gain() -> None:
    assert 0.02 < np.median(gains(walk(0.025))) < 0.05
    assert not judge(FWD, walk(0.025)).ok
    assert judge(FWD, walk(0.075)).ok


def test_three_disturbances_in_stance_are_too_few_but_no_failed_start() -> None:
    for count, enough in ((3, False), (4, True)):
        finding = judge(FWD, walk(0.2), count)
        assert (finding.started, finding.enough) == (True, enough)


def test_stances_soon_after_a_disturbance_are_no_comparison() -> None:
    seen = walk(0.2)
    module = seen.leg.module("CTr")
    swing, action = module.actions[module.action_names.index("CTr_LevationPRO")], module.action.copy()
    for time in TIMES_S:
        # Kicked about, the leg levates at every touch-down for 2.5 s.
        action[(seen.leg.t_state_s > time + 0.45) & (seen.leg.t_state_s < time + 2.9)] = swing
    modules = tuple(replace(m, action=action) if m.role == "CTr" else m for m in seen.leg.modules)
    kicked = replace(seen, leg=replace(seen.leg, modules=modules))
    assert gains(kicked) == pytest.approx(gains(seen))


def test_one_action_of_two_is_not_enough() -> None:
    seen = walk(0.2)
    still = walk(0.0)
    mixed = tuple(a if a.role == "FTi" else b for a, b in zip(seen.leg.modules, still.leg.modules, strict=True))
    finding = judge(FWD, replace(seen, leg=replace(seen.leg, modules=mixed)))
    assert not finding.ok
    assert [reason.partition(":")[0] for reason in finding.reasons] == ["CTr levation"]


def test_disturbances_in_swing_do_not_count() -> None:
    finding = judge(FWD, walk(0.2, offset_s=0.25))
    assert (finding.started, finding.enough) == (True, False)
    assert finding.reasons[0].startswith("FTi flexion: 0 disturbances count")


def test_a_stance_that_the_disturbance_ends_at_once_counts() -> None:
    seen = walk(0.2)
    # The swings after the disturbed stances begin with the disturbance.
    swings = tuple(
        replace(own, lift_off_s=min((t for t in TIMES_S if 0 < own.lift_off_s - t < 0.4), default=own.lift_off_s))
        for own in seen.steps.swings
    )
    cut = replace(seen, steps=replace(seen.steps, swings=swings))
    assert gains(cut) == gains(seen)


def test_a_leg_that_did_not_step_before_does_not_count() -> None:
    seen = walk(0.2)
    time = TIMES_S[5]
    # It stood for a while and has just made one step, as after a kick.
    left = [s.lift_off_s for s in seen.steps.swings if not time - 2.3 < s.lift_off_s < time - 0.5]
    stood = replace(seen, steps=steps(left))
    assert any(one.holds(time) for one in stances(stood.leg, stood.steps))
    assert len(gains(stood)) == len(gains(seen)) - 1


def test_an_action_in_force_already_can_not_be_promoted() -> None:
    assert len(gains(walk(0.2, offset_s=-0.02))) == len(TIMES_S)
    assert gains(walk(0.2, offset_s=-0.09)) == []


def test_a_tibia_that_is_not_flexed_enough_is_not_asked_to_extend() -> None:
    assert gains(walk(0.2, ITF, fti_deg=129.0), short(ITF).actions[0]) == []
    assert len(gains(walk(0.2, ITF, fti_deg=131.0), short(ITF).actions[0])) == len(TIMES_S)
    assert not judge(ITF, walk(0.2, ITF, fti_deg=129.0)).enough


def test_an_action_that_never_comes_counts_as_a_second() -> None:
    seen = walk(0.0)
    held = [
        replace(m, action=np.where(seen.leg.t_state_s >= TIMES_S[-1] - 0.1, m.actions[1], m.action))
        if m.role == "CTr"
        else m
        for m in seen.leg.modules
    ]
    late = replace(seen, leg=replace(seen.leg, modules=tuple(held)))
    assert gains(late)[-1] == pytest.approx(0.25 - 1.0, abs=0.03)


def test_stances_are_contact_with_short_gaps_bridged() -> None:
    tracks = leg(4.0)
    force = np.zeros(len(tracks.t_foot_s))
    for begin, end in ((0.5, 1.0), (1.05, 1.4), (2.0, 2.03), (3.5, 9.0)):
        force[(tracks.t_foot_s >= begin - 1e-9) & (tracks.t_foot_s < end - 1e-9)] = 1.0
    found = stances(replace(tracks, contact_n=force), steps())
    assert [(one.begin_s, one.end_s) for one in found] == [
        pytest.approx((0.5, 1.4)),
        pytest.approx((2.0, 2.05)),
        pytest.approx((3.5, math.inf)),
    ]


def test_without_contact_stances_lie_between_swings_and_the_last_one_is_open() -> None:
    found = stances(replace(leg(), contact_n=None), steps([1.0, 2.0], 0.4))
    assert [(one.begin_s, one.end_s) for one in found] == [(1.4, 2.0), (2.4, math.inf)]


def test_a_schedule_meets_all_parts_of_a_step() -> None:
    assert short(FWD, 3).times_s == (20.0, 26.43, 32.6)
    assert short(FWD, 3).calm == ((13.0, 20.0), (23.5, 26.43), (29.93, 32.6))
    for row in (FWD, ITF, ITB):
        own = schedule_of(row)
        assert row.bouts[0].duration_s == math.ceil(own.times_s[-1] + own.interval_s)
        since_kick = np.diff(own.times_s) - 2.0
        for period in (0.40, 0.42, 0.5, 0.67, 0.69):
            assert {int(time % period / period * 4) for time in since_kick} == {0, 1, 2, 3}


def test_failing_before_is_a_failed_start() -> None:
    seen = walk(0.2)
    wrong = replace(seen, outcomes={"FWD": walk(row=ITF).outcomes["ITF"]})
    assert not judge(FWD, wrong).started


def test_the_sign_test_is_binomial() -> None:
    assert sign_test(8, 0) == pytest.approx(2 / 256)
    assert sign_test(5, 5) == 1.0
    assert sign_test(0, 0) == 1.0
    assert sign_test(9, 1) == sign_test(1, 9) == pytest.approx(2 * 11 / 1024)


NAME = "CTr levation: sooner by (s)"


def repetitions(*gains_s: tuple[float, ...]) -> list[Trial]:
    return [Trial(seed, "otherwise", (), {EVALUATED: 0.025}, {NAME: own}, 0, {}) for seed, own in enumerate(gains_s)]


def test_gains_of_all_repetitions_are_pooled() -> None:
    numbers = pooled([*repetitions((0.1, 0.2), (0.3, -0.1)), Trial(9, "otherwise", (), {}, {}, 0, {})])
    assert numbers["CTr levation: share of disturbances with a gain"] == 0.75
    assert numbers["CTr levation: median gain of all disturbances (s)"] == pytest.approx(0.15)
    assert numbers["noise level: time between evaluations of the rules (s)"] == 0.025
    assert judge(FWD, walk()).numbers[EVALUATED] == pytest.approx(0.025)
    assert pooled([Trial(1, "aborted", (), {}, {}, 0, {})]) == {}


def test_no_gain_is_no_gain() -> None:
    numbers = pooled(repetitions((0.1, 0.0), (0.3, -0.1, 4e-15)))
    assert numbers["CTr levation: share of disturbances with a gain"] == pytest.approx(0.4)


def test_a_repetition_counts_once_in_the_sign_test_however_many_disturbances_it_has() -> None:
    numbers = pooled(repetitions(*[(0.1,) * 20] * 5, (-0.1,), (-0.2, 0.1, -0.3), (0.0,), (4e-15,), (-4e-15,)))
    assert numbers["CTr levation: repetitions that are sooner in the median"] == 5
    assert numbers["CTr levation: repetitions that are later"] == 2
    assert numbers["CTr levation: sign test over repetitions, p"] == sign_test(5, 2)


def test_the_interval_of_the_median_is_over_repetitions() -> None:
    rng = np.random.default_rng(3)
    legs = [tuple(rng.normal(own, 0.001, 20).tolist()) for own in rng.normal(0.05, 0.02, 20)]
    low, high = median_interval(legs)
    # Legs differ by 0.02 s: 20 of them tell their median to about 0.005 s, 400 disturbances by themselves to 0.001.
    assert low < 0.05 < high
    assert 0.01 < high - low < 0.04
    assert median_interval([(0.1, 0.1), (0.1,)]) == (0.1, 0.1)
    numbers = pooled(repetitions(*legs))
    assert numbers["CTr levation: low end of its 95 % interval (s)"] == pytest.approx(low, abs=1e-6)
    assert numbers["CTr levation: high end of its 95 % interval (s)"] == pytest.approx(high, abs=1e-6)


def test_an_action_before_thc1_lets_go_is_told_from_one_after_it() -> None:
    seen = walk(0.2)
    assert {name.lower() for name in seen.leg.module("ThC").action_names} >= {"tc1_retractionlev"}
    for delay_s, first in ((0.6, True), (0.0, False)):
        thc = seen.leg.module("ThC")
        swing = thc.actions[[name.lower() for name in thc.action_names].index("tc1_retractionlev")]
        stance = next(code for code in thc.actions if code != swing)
        action = np.full_like(thc.action, stance)
        for time in TIMES_S:
            action[(seen.leg.t_state_s >= time + delay_s) & (seen.leg.t_state_s < time + 1.5)] = swing
        modules = tuple(replace(m, action=action) if m.role == "ThC" else m for m in seen.leg.modules)
        found = SCHEDULE.unaided(replace(seen, leg=replace(seen.leg, modules=modules)), LEVATES)
        assert set(found) == {first}


@pytest.mark.parametrize(
    ("gain_s", "told"), [(-1e-9, "sooner by 0.000 s"), (-0.02, "later by 0.020 s"), (0.04, "sooner by 0.040 s")]
)
def test_what_comes_later_is_not_said_to_come_sooner(gain_s: float, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Promoted, "gains", lambda *_: dict.fromkeys(range(4), gain_s))
    assert all(f": {told}, expected sooner by at least" in reason for reason in judge(FWD, walk(0.2)).reasons)
    monkeypatch.setattr(Promoted, "gains", lambda *_: {20.0: gain_s})
    assert "1 disturbance counts, expected at least" in judge(FWD, walk(0.2)).reasons[0]
