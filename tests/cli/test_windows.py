from __future__ import annotations

import numpy as np
import pytest

from nuc_engine.analysis.steps import StepEvent, detect_steps, step_order
from nuc_engine.analysis.windows import behaviour_windows, intended_behaviour, windows_of_bout
from nuc_engine.bout.run import prepare_bout
from nuc_engine.model.changes import Changeset, Write
from nuc_engine.model.values import initial_values
from tests.analysis import synthetic


@pytest.mark.parametrize(
    ("config", "script", "expected"),
    [
        ("lin_roach", "experiment_a", [("FWD", 0, 20), ("ITF", 20, 40), ("ITB", 40, 60)]),
        ("lin_roach", "itf", [("ITF", 0, 60)]),
        ("lin_roach", "itb", [("ITB", 0, 60)]),
        ("null_roach", None, [("FWD", 0, 60)]),
        ("lin_stickmiddle", None, [("stick", 0, 60)]),
        ("pc_stickmiddle", None, [("stick", 0, 60)]),
        ("lin_stickmiddle_minimal", None, [("stick", 0, 60)]),
    ],
)
def test_what_is_meant_is_read_from_the_rules(config: str, script: str | None, expected: list) -> None:
    prepared = prepare_bout(config, script)
    windows = behaviour_windows(prepared.plan, prepared.changesets, 60.0)
    assert [(w.behaviour, w.begin_s, w.end_s) for w in windows] == expected
    assert [w.name for w in windows] == [name for name, _, _ in expected]


def test_a_change_of_values_alone_opens_no_window_and_a_late_one_none_either() -> None:
    prepared = prepare_bout("lin_roach", "experiment_a")
    plan = prepared.plan
    threshold = Changeset(10_000_000_000, (Write(plan.hdso(103).index, (61.0,)),))
    changesets = sorted([*prepared.changesets, threshold], key=lambda c: c.time_ns)
    assert [w.name for w in behaviour_windows(plan, changesets, 40.0)] == ["FWD", "ITF"]


def test_rules_that_mean_no_known_behaviour_are_called_so_and_names_stay_apart() -> None:
    prepared = prepare_bout("lin_roach", "experiment_a")
    plan = prepared.plan
    start, turn, _ = prepared.changesets
    rules = [write for write in turn.writes if plan.hdsos[write.hdso].id_num in (165, 166)]
    levate = Write(
        plan.hdso(163).index, next(w for w in prepared.changesets[2].writes if w.hdso == plan.hdso(163).index).values
    )
    back = Changeset(30_000_000_000, start.writes)
    odd = Changeset(20_000_000_000, (levate, *rules[:1]))
    windows = behaviour_windows(plan, [start, odd, back], 60.0)
    assert [w.name for w in windows] == ["FWD", "window-2", "FWD-2"]
    assert [w.behaviour for w in windows] == ["FWD", None, "FWD"]


def test_a_bouts_windows_come_from_what_its_script_really_did(finished_bout) -> None:
    windows = windows_of_bout(finished_bout, 2.0)
    assert [(w.name, w.begin_s, w.end_s) for w in windows] == [("FWD", 0.0, 1.0), ("ITF", 1.0, 2.0)]


def test_without_its_script_log_a_bout_has_one_window(bout) -> None:
    (bout / "Scriptlog.xml").unlink()
    assert [w.name for w in windows_of_bout(bout, 2.0)] == ["FWD"]


def test_the_start_decides_when_nothing_is_changed() -> None:
    plan = prepare_bout("lin_roach", None).plan
    assert intended_behaviour(plan, initial_values(plan)) == "FWD"


def test_the_events_of_a_step_come_in_their_order() -> None:
    leg = synthetic.leg(synthetic.FWD)
    steps = detect_steps(leg)
    order = step_order(leg, steps)
    assert [event.phase for event in order] == sorted(event.phase for event in order)
    assert order[0] == StepEvent("lift-off", 0.0)
    touch_down = next(event for event in order if event.what == "touch-down")
    assert touch_down.phase == pytest.approx(float(np.mean(steps.swing_s / steps.period_s)), abs=0.02)
    named = {name for module in leg.modules if module.alternates for name in module.action_names}
    assert {event.what for event in order} == {"lift-off", "touch-down", *named}
    # On paper the actions of stance begin a little before touch-down, and those of swing before lift-off.
    phases = {event.what: event.phase for event in order}
    lead = synthetic.FWD.action_lead
    for name in ("TC1_protractionDEP", "CTr_DepressionRET", "FT_Extension"):
        assert phases[name] == pytest.approx(touch_down.phase - lead, abs=0.03)
    for name in ("TC1_retractionLEV", "CTr_LevationPRO", "FT_Flexion"):
        assert phases[name] == pytest.approx(1.0 - lead, abs=0.03)


def test_chatter_at_a_threshold_does_not_hide_the_order() -> None:
    leg = synthetic.leg(synthetic.FWD)
    steps = detect_steps(leg)
    middle = (steps.touch_down_s + steps.end_s) / 2
    action = leg.module("ThC").action.copy()
    action[np.searchsorted(leg.t_state_s, middle)] = synthetic.LEV
    torn = synthetic.with_module(leg, "ThC", action=action)
    assert step_order(torn, steps) == step_order(leg, steps)


def test_no_steps_have_no_order() -> None:
    leg = synthetic.leg(synthetic.FWD)
    assert step_order(leg, detect_steps(leg).within(0.0, 0.01)) == ()
