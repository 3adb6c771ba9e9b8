"""Experiments beside rows: what they vary, and what they measure."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.catalogue.evidence import (
    PROBE_E,
    PROBE_EA,
    PROBE_FB,
    PROBE_GC,
    PROBES,
    measure_ea,
    measure_fb,
    measure_gc,
)
from nuc_engine.experiments.catalogue.evidence_firm import PROBE_D1, PROBE_GB, measure_d1, measure_gb
from nuc_engine.experiments.catalogue.explanations import AGAIN
from nuc_engine.experiments.catalogue.parts import BOUT
from nuc_engine.experiments.edits import check_edits
from nuc_engine.experiments.protocol import BoutPlan, Probe
from tests.catalogue.seen import NAN, every, observe, outcome, steps

ROWS = {(each.name, row.name): row for each in EXPERIMENTS for row in each.rows}
ALL = [pytest.param(key, probe, id=f"{'-'.join(key)}-{probe.name}") for key, own in PROBES.items() for probe in own]


def plain(plan: BoutPlan) -> BoutPlan:
    return replace(plan, label=BOUT, edits={}, moved={}, plant={}, values={})


@pytest.mark.parametrize(("key", "probe"), ALL)
def test_a_probe_belongs_to_its_row_and_can_be_sent(key: tuple[str, str], probe: Probe) -> None:
    assert probe in ROWS[key].probes
    again = pickle.loads(pickle.dumps(probe))
    assert [level.bouts for level in again.levels] == [level.bouts for level in probe.levels]
    assert probe.as_is in ["", *(level.label for level in probe.levels)]
    assert len({level.label for level in probe.levels}) == len(probe.levels) > 1
    assert len({repr(level.bouts) for level in probe.levels}) == len(probe.levels)


@pytest.mark.parametrize(("key", "probe"), ALL)
def test_every_edit_can_be_made(key: tuple[str, str], probe: Probe) -> None:
    for level in (probe.levels[0], probe.levels[-1]):
        for plan in level.bouts:
            if plan.edits or plan.moved:
                check_edits(plan)


UNLOADING = [(name, kind) for name in ("dropout", "magnet") for kind in ("FWD", "ITF", "ITB")]
OWN = [("Fb", "Fb"), ("Gc", "Gc"), ("Ea", "Ea"), ("Eb", "Eb"), ("Ec", "Ec"), ("D1", "literal"), ("Gb", "Gb")]


@pytest.mark.parametrize("key", OWN + UNLOADING)
def test_bouts_are_those_of_the_row_but_for_what_is_varied(key: tuple[str, str]) -> None:
    (own,) = ROWS[key].bouts
    for probe in PROBES[key]:
        for level in probe.levels:
            assert plain(own) in [plain(plan) for plan in level.bouts]


@pytest.mark.parametrize("key", UNLOADING)
def test_unloading_is_asked_of_its_own_disturbance_over_a_dozen_seeds(key: tuple[str, str]) -> None:
    (probe,) = PROBES[key]
    own, *raised = probe.levels
    assert own.label == probe.as_is
    assert own.bouts == ROWS[key].bouts
    assert {plan.script for level in raised for plan in level.bouts} == {f"{key[0]}_{key[1].lower()}"}
    assert probe.repetitions >= 12


def test_the_row_s_own_level_changes_nothing() -> None:
    """Edits to the values that stand in the scripts: what comes out is what the row shows."""
    from nuc_engine.bout.run import prepare_bout
    from nuc_engine.experiments.edits import edited, moved

    for probe in (PROBE_FB, PROBE_GC, PROBE_E, PROBE_D1, PROBE_GB):
        (level,) = [level for level in probe.levels if level.label == probe.as_is]
        for plan in level.bouts:
            script = prepare_bout(plan.config, plan.script).script
            assert script is not None
            assert moved(edited(script, plan.edits), plan.moved).entries == script.entries


def test_cycles_of_an_interim_are_counted() -> None:
    (plan,) = PROBE_FB.levels[0].bouts
    kinds = {
        "FWD": "FWD",
        "interim": "dragging cycle",
        "after kick 1": "stuck",
        "after kick 2": "stuck",
        "final": "ITF",
    }
    numbers = measure_fb({BOUT: observe(plan, kinds)})
    assert numbers["parts of the interim with a cycle, of 3"] == 1
    assert numbers["no cycle in the interim (share)"] == 0
    assert numbers["ITF in the end, not kicked (share)"] == 1
    assert measure_fb({BOUT: observe(plan, kinds | {"FWD": "stuck"})}) == {}


def test_walking_that_dies_is_timed_and_d_looked_at() -> None:
    gc, d = PROBE_GC.levels[0].bouts
    died = steps(every(0.2, 16.0) + every(25.4, 45.0))
    interim = {"interim": "stuck", "after kick 1": "stuck", "after kick 2": "stuck"}
    seen = {
        BOUT: observe(gc, {"FWD": "FWD", "gradual": "irregular", "late": "stuck", "final": "ITF"}, found=died),
        "D": observe(d, {"FWD": "FWD", "final": "stuck"} | interim),
    }
    numbers = measure_gc(seen)
    assert numbers["Gc: walking dies out after (s of the gradual change)"] == pytest.approx(5.6, abs=0.4)
    assert numbers["Gc as seen (share)"] == 1
    assert numbers["D ends in ITB, not kicked (share)"] == 0


def test_a_foot_that_is_dragged_is_seen() -> None:
    (plan,) = PROBE_EA.levels[0].bouts
    dragged = outcome("dragging cycle", resembles=("backward",), swing_share=0.02)
    numbers = measure_ea({BOUT: observe(plan, {"ITF": "ITF", "early": dragged, "final": "stuck"})})
    assert list(numbers.values()) == [0.02, 1.0, 1.0, 0.0]


INTERIM = {"FWD": "FWD", "interim": "chattering", "after kick 1": "chattering", "after kick 2": "chattering"}


def test_hops_are_counted_and_how_regular_they_are() -> None:
    plan, turn = PROBE_D1.levels[0].bouts
    walks = observe(turn, {"FWD": "FWD", "ITF": "ITF", "ITB": "ITB"})
    hops = outcome("chattering", steps=5, period_mean_s=0.8, period_sd_s=0.32)
    seen = {BOUT: observe(plan, {**INTERIM, "interim": hops, "after kick 1": hops, "after kick 2": hops}), "A": walks}
    assert measure_d1(seen) == pytest.approx(
        {
            "no stepping in the interim (share)": 1.0,
            "hops of the foot per second": 5.0,
            "variation of their intervals (sd/mean)": 0.4,
            "A ends in ITB (share)": 1.0,
        }
    )
    regular = observe(plan, {**INTERIM, "interim": outcome("chattering", foot_steps=True)})
    assert measure_d1({BOUT: regular, "A": walks})["no stepping in the interim (share)"] == 0.0
    assert measure_d1({BOUT: observe(plan, INTERIM | {"FWD": "stuck"}), "A": walks}) == {}


@pytest.mark.parametrize(
    ("level", "last_s", "delicate"), [(0, 14.7, True), (0, 14.5, False), (0, 14.95, False), (3, 15.3, True)]
)
def test_the_moment_of_the_step_is_told_by_the_last_lift_off_before_the_change(
    level: int, last_s: float, delicate: bool
) -> None:
    (plan,) = PROBE_GB.levels[level].bouts
    lift_offs = [*every(8.0, last_s - 0.5), last_s, *every(last_s + 0.7, 45.0)]
    seen = observe(plan, {"FWD": "FWD", "change": "irregular", "final": "ITF"}, found=steps(lift_offs))
    numbers = measure_gb({BOUT: seen})
    assert numbers["as seen (share)"] == 1.0
    assert numbers["changed 0.1 to 0.4 s after a lift-off (share)"] == delicate
    kinds = "changed 0.1 to 0.4 s after a lift-off", "changed at another moment of the step"
    told = [numbers[f"{kind}: as seen (share)"] for kind in kinds]
    assert told == pytest.approx([1.0, NAN] if delicate else [NAN, 1.0], nan_ok=True)


def test_fresh_seeds_are_those_of_no_verdict() -> None:
    for probe in (PROBE_D1, PROBE_GB):
        assert probe.seed is not None
        tried = range(probe.seed, probe.seed + 2 * probe.repetitions)
        assert not any(
            again.seed < tried.stop and tried.start < again.seed + 2 * again.of
            for runs in AGAIN.values()
            for again in runs
        )
