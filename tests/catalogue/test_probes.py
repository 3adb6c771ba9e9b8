"""Probes: what they vary, and what they measure in made-up legs."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from nuc_engine.bout.run import prepare_bout
from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.experiments.edits import check_edits, edited, moved
from nuc_engine.experiments.protocol import BoutPlan, Probe, TableRow
from tests.catalogue.seen import NAN, every, leg, observe, row_of, steps

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


def test_heights_are_asked_of_both_models_with_their_own_values() -> None:
    (probe,) = row_of("muscles-sideways").probes
    null, pieces = probe.levels[4].bouts
    assert (null.plant, null.values) == ({"world.base_height_cm": 24.0}, {})
    stands = observe(null, {"end": "stuck"}, tracks=leg(60.0, fti_deg=48.0))
    seen = {"null": stands, "piecewise constant": observe(pieces, {"end": "sideways"})}
    assert list(probe.measure(seen).values()) == [1.0, 1.0, 48.0]
