"""Probes: what they vary, and what they measure in made-up legs."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from nuc_engine.bout.run import prepare_bout
from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.edits import check_edits, edited, moved
from nuc_engine.experiments.protocol import BoutPlan, Probe, TableRow
from tests.catalogue.seen import NAN, every, leg, observe, outcome, row_of, steps

ROWS = [row for each in EXPERIMENTS for row in each.rows]
ALL = [pytest.param(row, probe, id=f"{row.name}-{probe.name}") for row in ROWS for probe in row.probes]
INTERIM = {"FWD": "FWD", "interim": "chattering", "after kick 1": "chattering", "after kick 2": "chattering"}


def plain(plan: BoutPlan) -> BoutPlan:
    return replace(plan, label="bout", edits={}, moved={})


@pytest.mark.parametrize(("row", "probe"), ALL)
def test_a_probe_can_be_sent_and_varies_something_in_bouts_of_its_row(row: TableRow, probe: Probe) -> None:
    again = pickle.loads(pickle.dumps(probe))
    assert [level.bouts for level in again.levels] == [level.bouts for level in probe.levels]
    assert probe.as_is in ["", *(level.label for level in probe.levels)]
    assert len({level.label for level in probe.levels}) == len(probe.levels) > 1
    assert len({repr(level.bouts) for level in probe.levels}) == len(probe.levels)
    if len(row.bouts) == 1 and row.name != "commuting":
        assert all(plain(row.bouts[0]) in map(plain, level.bouts) for level in probe.levels)


@pytest.mark.parametrize(("row", "probe"), ALL)
def test_every_edit_can_be_made_and_those_of_the_rows_own_level_change_nothing(row: TableRow, probe: Probe) -> None:
    for plan in (*probe.levels[0].bouts, *probe.levels[-1].bouts):
        if plan.edits or plan.moved:
            check_edits(plan)
    for plan in (plan for level in probe.levels if level.label == probe.as_is != "0.01" for plan in level.bouts):
        if plan.script is not None:
            script = prepare_bout(plan.config, plan.script).script
            assert script is not None
            assert moved(edited(script, plan.edits), plan.moved).entries == script.entries


def test_seeds_of_their_own_are_in_no_run_of_a_row() -> None:
    judged = [range(each.seed, each.seed + 200) for each in EXPERIMENTS]
    judged += [range(again.seed, again.seed + 2 * again.of) for row in ROWS for again in row.again]
    for probe in (probe for row in ROWS for probe in row.probes if probe.seed is not None):
        tried = range(probe.seed or 0, (probe.seed or 0) + 2 * probe.repetitions)
        assert not any(tried.start < other.stop and other.start < tried.stop for other in judged), probe.name


def test_cycles_of_an_interim_are_counted() -> None:
    (probe,) = row_of("Fb").probes
    (plan,) = probe.levels[0].bouts
    kinds = {**INTERIM, "interim": "dragging cycle", "final": "ITF"}
    assert list(probe.measure({"bout": observe(plan, kinds)}).values()) == [1, 0, 1]
    assert probe.measure({"bout": observe(plan, kinds | {"FWD": "stuck"})}) == {}


def test_walking_that_dies_is_timed_and_d_looked_at() -> None:
    (probe,) = row_of("Gc").probes
    gc, d = probe.levels[0].bouts
    died = steps(every(0.2, 16.0) + every(25.4, 45.0))
    seen = {
        "bout": observe(gc, {"FWD": "FWD", "gradual": "irregular", "late": "stuck", "final": "ITF"}, found=died),
        "D": observe(d, {**INTERIM, "final": "stuck"}),
    }
    assert list(probe.measure(seen).values()) == [pytest.approx(5.6, abs=0.4), 1, 0, 1]


def test_a_foot_that_is_dragged_is_seen() -> None:
    (probe,) = row_of("Ea").probes
    dragged = outcome("dragging cycle", resembles=("backward",), swing_share=0.02)
    seen = observe(probe.levels[0].bouts[0], {"ITF": "ITF", "early": dragged, "final": "stuck"})
    assert list(probe.measure({"bout": seen}).values()) == [0.02, 1.0, 1.0, 0.0]


def test_hops_are_counted_and_how_regular_they_are() -> None:
    (probe,) = row_of("D1 literal").probes
    plan, turn = probe.levels[0].bouts
    walks = observe(turn, {"FWD": "FWD", "ITF": "ITF", "ITB": "ITB"})
    hops = outcome("chattering", steps=5, period_mean_s=0.8, period_sd_s=0.32)
    seen = observe(plan, {**INTERIM, "interim": hops, "after kick 1": hops, "after kick 2": hops})
    assert list(probe.measure({"bout": seen, "A": walks}).values()) == pytest.approx([1.0, 5.0, 0.4, 1.0])
    regular = observe(plan, {**INTERIM, "interim": outcome("chattering", foot_steps=True)})
    assert probe.measure({"bout": regular, "A": walks})["no stepping in the interim (share)"] == 0.0


def test_rows_that_activations_decide_are_judged_by_their_own_criteria() -> None:
    (probe,) = row_of("Eb").probes
    assert row_of("Ec").probes == (probe,)
    eb, ec, d1 = probe.levels[2].bouts
    assert eb.edits[122, 30] == pytest.approx((0.33 + 0.299) / 2, abs=1e-4)
    seen = {
        "Eb": observe(eb, {"ITF": "ITF", "early": "ITF", "final": "ITB"}),
        "Ec": observe(ec, {"ITF": "ITF", "late": "stuck", "final": "ITB"}, found=steps(every(20.0, 65.0))),
        "D1": observe(d1, {**INTERIM, "interim": "ITF"}),
    }
    assert [value for name, value in probe.measure(seen).items() if name.endswith("as seen (share)")] == [1, 1, 0]
    assert probe.measure(seen | {"D1": observe(d1, {})}) == {}


@pytest.mark.parametrize(
    ("level", "last_s", "delicate"), [(0, 14.7, True), (0, 14.5, False), (0, 14.95, False), (3, 15.3, True)]
)
def test_the_moment_of_the_step_is_told_by_the_last_lift_off_before_the_change(
    level: int, last_s: float, delicate: bool
) -> None:
    (probe,) = row_of("Gb").probes
    (plan,) = probe.levels[level].bouts
    lift_offs = [*every(8.0, last_s - 0.5), last_s, *every(last_s + 0.7, 45.0)]
    seen = observe(plan, {"FWD": "FWD", "change": "irregular", "final": "ITF"}, found=steps(lift_offs))
    within, other, all_of_them, share, _ = probe.measure({"bout": seen}).values()
    assert (all_of_them, share) == (1.0, delicate)
    assert [within, other] == pytest.approx([1.0, NAN] if delicate else [NAN, 1.0], nan_ok=True)


def test_heights_are_asked_of_both_models_with_the_values_as_printed() -> None:
    (probe,) = row_of("muscles-sideways").probes
    null, pieces = probe.levels[4].bouts
    assert (null.plant, null.values) == ({"world.base_height_cm": 24.0}, {"103": 115.0, "108": 0.2})
    stands = observe(null, {"end": "stuck"}, tracks=leg(60.0, fti_deg=48.0))
    seen = {"null": stands, "piecewise constant": observe(pieces, {"end": "sideways"})}
    assert list(probe.measure(seen).values()) == [1.0, 1.0, 48.0]
