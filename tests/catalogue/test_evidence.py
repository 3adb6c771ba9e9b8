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
from nuc_engine.experiments.catalogue.parts import BOUT
from nuc_engine.experiments.edits import check_edits
from nuc_engine.experiments.protocol import BoutPlan, Probe
from tests.catalogue.seen import every, observe, outcome, steps

ROWS = {(each.name, row.name): row for each in EXPERIMENTS for row in each.rows}
ALL = [pytest.param(key, probe, id=f"{'-'.join(key)}-{probe.name}") for key, own in PROBES.items() for probe in own]


def plain(plan: BoutPlan) -> BoutPlan:
    return replace(plan, label=BOUT, edits={}, plant={}, values={})


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
            if plan.edits:
                check_edits(plan)


@pytest.mark.parametrize("key", [("Fb", "Fb"), ("Gc", "Gc"), ("Ea", "Ea"), ("Eb", "Eb"), ("Ec", "Ec")])
def test_bouts_are_those_of_the_row_but_for_what_is_varied(key: tuple[str, str]) -> None:
    (own,) = ROWS[key].bouts
    for probe in PROBES[key]:
        for level in probe.levels:
            assert plain(own) in [plain(plan) for plan in level.bouts]


def test_the_row_s_own_level_changes_nothing() -> None:
    """Edits to the values that stand in the scripts: what comes out is what the row shows."""
    from nuc_engine.bout import prepare_bout
    from nuc_engine.experiments.edits import edited

    for probe in (PROBE_FB, PROBE_GC, PROBE_E):
        (level,) = [level for level in probe.levels if level.label == probe.as_is]
        for plan in level.bouts:
            script = prepare_bout(plan.config, plan.script).script
            assert script is not None
            assert edited(script, plan.edits).entries == script.entries


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
