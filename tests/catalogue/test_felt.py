"""What the leg feels of being unloaded, and what it does when it is told: the measures, and one short real bout."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from nuc_engine.experiments.catalogue.asks import RowCriterion
from nuc_engine.experiments.catalogue.felt import Felt, told
from nuc_engine.experiments.catalogue.nested import AsSeenShare
from nuc_engine.experiments.catalogue.unloading import Promoted, Schedule
from nuc_engine.experiments.protocol import Observation, Probe
from nuc_engine.experiments.trials import run_plan
from tests.catalogue.seen import leg, observe, row_of, steps

ROWS = [f"{name} {kind}" for name in ("dropout", "magnet") for kind in ("FWD", "ITF", "ITB")]
PERIOD, SWING = 0.7, 0.3
STANCE = PERIOD - SWING
LETS_GO_S, ACTS_S = 0.25, 0.35
NAMES = {
    "FWD": ("FT_Extension", "FT_Flexion", "CTr_DepressionRET", "CTr_LevationPRO"),
    "ITF": ("FT_Flexion", "FT_Extension", "CTr_DepressionRET", "CTr_LevationPRO"),
    "ITB": ("FT_Flexion", "FT_Extension", "CTr_LevationPRO", "CTr_DepressionRET"),
}
Edges = list[tuple[float, str]]


def probe_of(name: str) -> Probe:
    (probe,) = row_of(name).probes
    return probe


def asks_of(name: str) -> tuple:
    """What the probe of a row measures."""
    return probe_of(name).measure.__self__.asks  # type: ignore[attr-defined]


def shortened(ask: object) -> object:
    """An ask about eight disturbances only, so that a made-up leg is measured quickly."""
    if isinstance(ask, AsSeenShare):
        return structs.replace(ask, criterion=tuple(map(shortened, ask.criterion)))
    return structs.replace(ask, count=8, interval_s=6.0, calm_after_s=3.5) if isinstance(ask, Schedule) else ask


def schedule_of(kind: str) -> Felt:
    (felt,) = [ask for ask in map(shortened, asks_of(f"dropout {kind}")) if isinstance(ask, Felt)]
    return felt


def walk(
    kind: str,
    *,
    name: str = "dropout",
    into_s: tuple[float, ...] = (0.1,),
    lets_go_sooner_s: float = 0.0,
    acts_sooner_s: tuple[float, ...] = (0.0,),
    force_n: float = 2.0,
    felt: float = 5.0,
    turns_by: float = 1.0,
) -> Observation:
    """A leg disturbed `into_s` after touch-down, in turn, in which all else is as in other stances unless it is given.

    ThC1 lets go 0.25 s after touch-down and FTi and CTr go over to swing 0.1 s later. The ground bears 2 N, the leg
    feels 5 ticks until then and -5 later; CTr depresses by 100 deg/s, and FTi flexes by as much. For some time after
    a disturbance nothing is as it was: stances bear 1 N, feel 9 ticks, and end 0.05 s later.
    """
    schedule, plan = schedule_of(kind), probe_of(f"{name} {kind}").levels[0].bouts[0]
    duration_s = math.ceil(schedule.times_s[-1] + schedule.interval_s)
    into = [into_s[k % len(into_s)] for k in range(schedule.count)]
    marks = [-2.0, *(time - own for time, own in zip(schedule.times_s, into, strict=True)), duration_s + 2.0]
    downs = [
        float(down) for a, b in pairwise(marks) for down in np.linspace(a, b, round((b - a) / PERIOD), endpoint=False)
    ]
    hits = {marks[k + 1]: (own, acts_sooner_s[k % len(acts_sooner_s)]) for k, own in enumerate(into)}
    thc: Edges = []
    fti: Edges = []
    ctr: Edges = []
    t = np.arange(0.0, duration_s, 0.005)
    ground, load, turned = np.zeros(len(t)), np.full(len(t), -5.0), np.zeros(len(t))
    for down in downs:
        since, hit = t - down, hits.get(down)
        upset = hit is None and any(0 < down - time < schedule.calm_after_s for time in schedule.times_s)
        lets_go, acts = LETS_GO_S - (lets_go_sooner_s if hit else 0.0), ACTS_S + 0.05 * upset - (hit[1] if hit else 0.0)
        thc += [(down, "TC1_protractionDEP"), (down + lets_go, "TC1_retractionLEV")]
        for own, stance, swing in ((fti, *NAMES[kind][:2]), (ctr, *NAMES[kind][2:])):
            own += [(down, stance), (down + acts, swing)]
        ground[(since >= 0) & (since < STANCE)] = 1.0 if upset else 2.0
        load[(since >= 0) & (since < ACTS_S - 0.01)] = 9.0 if upset else 5.0
        turned = np.where((since >= 0) & (since < PERIOD), since * 100.0, turned)
        if hit:
            after = since >= hit[0]
            ground[after & (since < hit[0] + 0.2) & (since < STANCE)] = force_n
            load[after & (since < ACTS_S - 0.01)] = felt
            turned = np.where(after & (since < PERIOD), (hit[0] + (since - hit[0]) * turns_by) * 100.0, turned)
    tracks = leg(duration_s, {"ThC": sorted(thc), "FTi": sorted(fti), "CTr": sorted(ctr)}, 140.0)
    angles = {"CTr": 150.0 - turned, "FTi": 140.0 + turned}
    modules = tuple(
        replace(m, angle_deg=angles.get(m.role, 50.0 - turned / 100.0), load=load if m.role == "ThC" else None)
        for m in tracks.modules
    )
    tracks = replace(tracks, t_sensor_s=t, t_foot_s=t, modules=modules, contact_n=ground, foot_cm=np.zeros((len(t), 3)))
    found = steps([down - SWING for down in downs if down > SWING], SWING)
    return observe(plan, {kind: kind}, tracks=tracks, found=found)


def measured(seen: Observation, kind: str, name: str = "dropout") -> dict[str, float]:
    return dict(RowCriterion(tuple(map(shortened, asks_of(f"{name} {kind}")))).measure({"bout": seen}))


@pytest.mark.parametrize("kind", ["FWD", "ITF", "ITB"])
def test_a_leg_that_feels_nothing_of_it(kind: str) -> None:
    numbers = measured(walk(kind, force_n=0.0), kind)
    assert numbers["as seen (share)"] == 0.0
    assert numbers["before ThC1 lets go (part)"] == 0.0
    assert numbers["force of the ground: more by (N)"] == pytest.approx(-2.0)
    assert numbers["load as felt: more by (ticks)"] == 0.0
    assert numbers["ThC1 lets go: sooner by (s)"] == pytest.approx(0.0, abs=0.026)
    turns = next(value for key, value in numbers.items() if key.endswith("faster by (deg/s)"))
    assert turns == pytest.approx(0.0, abs=1e-6)


def test_what_is_felt_and_how_fast_the_joints_turn() -> None:
    forward = measured(walk("FWD", felt=7.5, turns_by=1.5), "FWD")
    assert forward["load as felt: more by (ticks)"] == 2.5
    assert forward["CTr depresses faster by (deg/s)"] == pytest.approx(50.0)
    backward = measured(walk("ITB", felt=4.0, turns_by=0.75), "ITB")
    assert backward["load as felt: more by (ticks)"] == -1.0
    assert backward["FTi flexes faster by (deg/s)"] == pytest.approx(-25.0)


def test_the_two_steps_to_an_action_are_told_apart() -> None:
    early = measured(walk("ITF", lets_go_sooner_s=0.1, acts_sooner_s=(0.1,)), "ITF")
    assert early["ThC1 lets go: sooner by (s)"] == pytest.approx(0.1, abs=0.026)
    assert early["CTr levation: sooner by (s)"] == pytest.approx(0.1, abs=0.026)
    later = measured(walk("ITF", acts_sooner_s=(0.1,)), "ITF")
    assert later["ThC1 lets go: sooner by (s)"] == pytest.approx(0.0, abs=0.026)
    assert later["CTr levation: sooner by (s)"] == pytest.approx(0.1, abs=0.026)


def test_an_action_before_thc1_lets_go_is_counted_and_as_seen() -> None:
    numbers = measured(walk("ITB", acts_sooner_s=(0.2,)), "ITB")
    assert numbers["before ThC1 lets go (part)"] == 1.0
    assert numbers["as seen (share)"] == 1.0


@pytest.mark.parametrize(("into_s", "gone"), [(0.1, 0.0), (0.3, 1.0)])
def test_disturbances_before_and_after_thc1_lets_go_are_told_apart(into_s: float, gone: float) -> None:
    numbers = measured(walk("ITF", into_s=(into_s,), acts_sooner_s=(0.025,)), "ITF")
    assert numbers["ThC1 has let go already (part)"] == gone
    there, absent = ("has let go", "still presses") if gone else ("still presses", "has let go")
    for own in schedule_of("ITF").actions:
        assert numbers[f"{own.label}, ThC1 {there}: sooner by (s)"] == numbers[f"{own.label}: sooner by (s)"]
        assert math.isnan(numbers[f"{own.label}, ThC1 {absent}: sooner by (s)"])


def test_each_kind_of_disturbance_has_its_own_gain() -> None:
    numbers = measured(walk("ITF", into_s=(0.1, 0.3), acts_sooner_s=(0.1, 0.0)), "ITF")
    assert numbers["ThC1 has let go already (part)"] == 0.5
    for own in schedule_of("ITF").actions:
        assert numbers[f"{own.label}, ThC1 still presses: sooner by (s)"] == pytest.approx(0.1, abs=0.026)
        assert numbers[f"{own.label}, ThC1 has let go: sooner by (s)"] == pytest.approx(0.0, abs=0.026)


@pytest.mark.parametrize(("into_s", "sooner_s"), [(0.1, 0.12), (0.225, -0.1)])
def test_what_is_felt_is_not_asked_when_thc1_lets_go_meanwhile(into_s: float, sooner_s: float) -> None:
    """What the leg feels is then of its own making, here or in the stances it is compared with."""
    numbers = measured(walk("FWD", into_s=(into_s,), lets_go_sooner_s=sooner_s, felt=50.0), "FWD")
    assert math.isnan(numbers["load as felt: more by (ticks)"])
    assert numbers["CTr levation: sooner by (s)"] == pytest.approx(0.0, abs=0.026)


def test_flexion_by_its_angle_comes_while_load_is_felt() -> None:
    key = "FTi flexion by its angle when undisturbed (part)"
    seen = walk("FWD")
    assert measured(seen, "FWD")[key] == 0.0
    modules = tuple(
        replace(m, load=np.full(len(seen.leg.t_sensor_s), 1.0)) if m.role == "ThC" else m for m in seen.leg.modules
    )
    assert measured(replace(seen, leg=replace(seen.leg, modules=modules)), "FWD")[key] == 1.0


def test_where_thc1_lets_go_is_told_for_itb() -> None:
    """Its angle falls by 1 deg/s here, so that letting go sooner is at a larger angle: lower."""
    numbers = measured(walk("ITB", lets_go_sooner_s=0.1), "ITB", "magnet")
    assert numbers["ThC1 when it lets go: raised by (deg)"] == pytest.approx(-0.1, abs=0.03)


def test_a_leg_that_was_told_is_asked_for_its_actions_only() -> None:
    seen = walk("ITF", acts_sooner_s=(0.2,))
    plan = probe_of("dropout ITF").levels[1].bouts[0]
    numbers = measured(replace(seen, plan=plan), "ITF")
    assert list(numbers) == [
        "as seen (share)",
        "FTi extension: sooner by (s)",
        "CTr levation: sooner by (s)",
        "before ThC1 lets go (part)",
    ]
    assert measured(replace(seen, outcomes={"ITF": replace(seen.outcomes["ITF"], kind="FWD")}), "ITF") == {}


@pytest.mark.parametrize("name", ROWS)
def test_the_leg_is_told_for_as_long_as_it_is_unloaded(name: str) -> None:
    probe = probe_of(name)
    own, raised = probe.levels
    assert (own.label, own.bouts) == (probe.as_is, row_of(name).bouts)
    (plan,) = raised.bouts
    lasts_s = 0.5 if name.startswith("dropout") else 0.4
    (schedule,) = [ask for ask in asks_of(name) if isinstance(ask, Felt)]
    (promoted,) = [ask for ask in row_of(name).criterion.asks if isinstance(ask, Promoted)]
    assert (schedule.times_s, schedule.actions) == (promoted.times_s, promoted.actions)
    assert {time for _, time in plan.edits} == {t for own in promoted.times_s for t in (own, round(own + lasts_s, 2))}
    for time in promoted.times_s:
        on = [plan.edits[number, time] for number in (101, 108, 102, 106)]
        off = [plan.edits[number, round(time + lasts_s, 2)] for number in (101, 108, 102, 106)]
        assert off == [0.0, 0.0, 0.01, 0.01]
        # Unloaded lies below loaded, as ever: the two rules of a module do not hold together.
        assert on == pytest.approx([19.9, 19.9, 19.91, 19.91])


@pytest.mark.parametrize("is_told", [False, True])
def test_a_leg_that_is_told_goes_over_to_swing_whatever_its_phase(tmp_path: Path, *, is_told: bool) -> None:
    (plan,) = probe_of("magnet FWD").levels[0].bouts
    plan = told(plan, (20.0,), 0.4) if is_told else plan
    one = run_plan(replace(plan, duration_s=21.0), 1500, tmp_path)
    during = (one.leg.t_state_s > 20.03) & (one.leg.t_state_s < 20.4)
    swing = [
        float(np.mean(np.isin(module.action[during], [module.actions[module.action_names.index(name)]])))
        for module, name in ((one.leg.module("CTr"), "CTr_LevationPRO"), (one.leg.module("FTi"), "FT_Flexion"))
    ]
    assert (min(swing) == 1.0) == is_told
    load = one.leg.module("ThC").load
    assert load is not None
    assert len(load) == len(one.leg.t_sensor_s)
    assert load.min() < 0.0 < load.max()
