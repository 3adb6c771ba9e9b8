from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from nuc_engine.analysis.outcome import Outcome, SeenStep
from nuc_engine.analysis.phases import Swing
from nuc_engine.analysis.steps import Steps
from nuc_engine.experiments.catalogue import caught, gradual
from nuc_engine.experiments.catalogue.parts import BOUT, died_out_s, longest_pause_s
from nuc_engine.experiments.protocol import Experiment, Finding, Observation, Trial
from tests.catalogue.seen import every, leg, observe, outcome, steps


def judge(experiment: Experiment, found: Steps | None = None, control: bool = False, **kinds: str | Outcome) -> Finding:
    row = experiment.rows[0]
    plan = (row.control.bouts if control else row.bouts)[0]
    return row.criterion({BOUT: observe(plan, kinds, found=found)})


GA, GB, GC = gradual.EXPERIMENT_GA, gradual.EXPERIMENT_GB, gradual.EXPERIMENT_GC
EA, EB, EC = gradual.EXPERIMENT_EA, gradual.EXPERIMENT_EB, gradual.EXPERIMENT_EC


@pytest.mark.parametrize("experiment", [GA, GB, GC, EA, EB, EC], ids=lambda each: each.name)
def test_without_the_behaviour_before_it_is_a_failed_start(experiment: Experiment) -> None:
    before = experiment.rows[0].bouts[0].windows[0].name
    finding = judge(experiment, **{before: "stuck"})
    assert not finding.started
    assert finding.reasons[0].startswith(f"{before}: stuck")


@pytest.mark.parametrize("kind", ["irregular", "chattering", "stuck", "air stepping", "dragging cycle"])
def test_ga_begins_without_stepping_and_ends_in_itf(kind: str) -> None:
    assert judge(GA, FWD="FWD", early=kind, final="ITF").ok
    assert not judge(GA, FWD="FWD", early=kind, final="unnamed cycle").ok


@pytest.mark.parametrize("kind", ["FWD", "ITF", "backward", "unnamed cycle"])
def test_ga_is_not_seen_when_there_is_stepping_at_once(kind: str) -> None:
    assert not judge(GA, FWD="FWD", early=kind, final="ITF").ok
    assert not judge(GA, control=True, FWD="FWD", early=kind, final="ITF").ok


def in_the_air(changes: Sequence[float], lift_off_s: float = 12.0, touch_down_s: float = 20.0) -> Observation:
    """Ga with one long swing, in which ThC1 changes its action at these times."""
    names = itertools.cycle(("TC1_retractionLEV", "TC1_protractionDEP"))
    thc = list(zip([8.0, *changes], names, strict=False))
    found = replace(steps(), swings=(Swing(8.0, 8.4, 2.0), Swing(lift_off_s, touch_down_s, 2.0)))
    plan = GA.rows[0].bouts[0]
    return observe(plan, {"FWD": "FWD", "final": "ITF"}, tracks=leg(45.0, {"ThC": thc}), found=found)


@pytest.mark.parametrize(
    ("changes", "longest_s"),
    [((), 8.0), ((11.0, 13.0), 7.0), ((12.5, 13.0, 18.0, 18.5), 5.0), ((16.0,), 4.0), ((16.0, 30.0), 4.0)],
)
def test_a_leg_is_caught_in_the_air_while_thc1_keeps_its_action(changes: Sequence[float], longest_s: float) -> None:
    numbers = GA.rows[0].criterion({BOUT: in_the_air(changes)}).numbers
    assert numbers[caught.CAUGHT] == pytest.approx(longest_s, abs=0.03)
    assert numbers["longest time without a stance (s)"] == pytest.approx(8.0)


def test_what_was_before_the_change_is_not_counted() -> None:
    seen = in_the_air((), lift_off_s=6.0, touch_down_s=11.0)
    assert caught.longest_caught_s(seen, 10.0) == pytest.approx(1.0)
    assert caught.longest_in_air_s(seen, 10.0) == pytest.approx(1.0)


def test_those_that_are_caught_are_counted() -> None:
    trials = [Trial(k, "as seen", (), {caught.CAUGHT: time}, {}, 0, {}) for k, time in enumerate((0.4, 4.0, 4.1, 16.0))]
    assert list(caught.counted(trials).values()) == [2, 4]
    assert GA.rows[0].summary is caught.counted


def test_a_turn_begins_with_the_first_of_the_steps_that_last(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = in_the_air(())

    def begins(*kinds: tuple[float, float, str]) -> float:
        monkeypatch.setattr(caught, "step_kinds", lambda *_: tuple(SeenStep(*each) for each in kinds))
        return caught.begins_s(seen, "ITF", 10.0, 45.0)

    assert begins((10, 11, "ITF"), (11, 12, "FWD"), (12, 12.7, "ITF"), (12.7, 13.4, "ITF")) == 12
    # A step that lasts as long as a leg is caught in the air is no walking.
    assert begins((10, 22, "ITF"), (22, 22.7, "ITF")) == 22
    assert math.isnan(begins((10, 11, "ITF"), (11, 12, "")))


def test_gb_allows_a_rough_patch_of_four_seconds() -> None:
    patch = steps(every(0.2, 15.0) + every(18.5, 45.0))
    finding = judge(GB, patch, FWD="FWD", final="ITF")
    assert finding.ok
    assert 3.5 < finding.numbers["longest time without a lift-off (s)"] < 4.0
    longer = judge(GB, steps(every(0.2, 14.0) + every(18.5, 45.0)), FWD="FWD", final="ITF")
    assert not longer.ok
    assert "without a lift-off" in longer.reasons[0]
    assert not judge(GB, patch, FWD="FWD", final="FWD").ok


def test_gb_refuses_what_its_control_shows() -> None:
    for kind in ("FWD", "stuck"):
        assert not judge(GB, steps(every(0.2, 25.0)), control=True, FWD="FWD", final=kind).ok
    assert judge(GB, steps(every(0.2, 25.0)), control=True, FWD="FWD", final="ITF").ok


def test_gc_is_walking_that_dies_half_way_and_comes_back() -> None:
    finding = judge(GC, steps(every(0.2, 16.0) + every(25.4, 45.0)), FWD="FWD", late="stuck", final="ITF")
    assert finding.ok
    assert finding.numbers["walking dies out after (s of the gradual change)"] == pytest.approx(5.6, abs=0.4)


@pytest.mark.parametrize(
    ("lift_offs", "why"),
    [
        (every(0.2, 45.0), "does not die out"),
        (every(0.2, 11.9) + every(25.4, 45.0), "dies out at 1"),
        (every(0.2, 12.6) + every(25.4, 45.0), "dies out at 12.1"),
        (every(0.2, 19.7) + every(25.4, 45.0), "dies out at 1"),
        ([*every(0.2, 15.0), 18.0, 20.5, 23.0, *every(25.4, 45.0)], "after walking died out"),
    ],
)
def test_gc_is_not_seen_when_walking_lives_dies_elsewhere_or_comes_back(lift_offs: list[float], why: str) -> None:
    finding = judge(GC, steps(lift_offs), FWD="FWD", late="stuck", final="ITF")
    assert not finding.ok
    assert why in finding.reasons[0]


def test_gc_needs_a_late_part_without_stepping_and_itf_in_the_end() -> None:
    died = steps(every(0.2, 16.0) + every(25.4, 45.0))
    for late in ("unnamed cycle", "dragging cycle", "air stepping", outcome("irregular", foot_steps=True)):
        assert not judge(GC, died, FWD="FWD", late=late, final="ITF").ok
    for late in ("stuck", "chattering", "irregular"):
        assert judge(GC, died, FWD="FWD", late=late, final="ITF").ok
    assert not judge(GC, died, FWD="FWD", late="stuck", final="stuck").ok


def test_gc_refuses_walking_that_nothing_changed() -> None:
    finding = judge(GC, steps(every(0.2, 40.0)), control=True, FWD="FWD", late="FWD", final="ITF")
    assert not finding.ok


def test_ea_is_a_dragging_cycle_backward_and_itb_in_the_end() -> None:
    dragged = outcome("dragging cycle", resembles=("ITB", "backward"))
    assert judge(EA, ITF="ITF", early=dragged, final="ITB").ok
    assert not judge(EA, ITF="ITF", early=dragged, final="backward").ok
    for early in (outcome("dragging cycle", resembles=("ITF",)), "backward", "ITB", "ITF", "stuck"):
        assert not judge(EA, ITF="ITF", early=early, final="ITB").ok
    assert not judge(EA, control=True, ITF="ITF", early="ITF", final="ITB").ok


def test_eb_is_itf_until_the_rules_and_itb_after_them() -> None:
    assert judge(EB, ITF="ITF", early="ITF", final="ITB").ok
    assert not judge(EB, ITF="ITF", early="dragging cycle", final="ITB").ok
    assert not judge(EB, ITF="ITF", early="ITF", final="ITF").ok
    assert not judge(EB, control=True, ITF="ITF", early="dragging cycle", final="ITB").ok


@pytest.mark.parametrize(
    "late",
    [
        "unnamed cycle",
        "dragging cycle",
        outcome("ITF", inward_cm=3.9),
        outcome("irregular", inward_cm=3.9),
        outcome("irregular", steps=0, inward_cm=math.nan),
    ],
)
def test_ec_goes_on_but_becomes_useless(late: str | Outcome) -> None:
    assert judge(EC, steps(every(20.0, 65.0)), ITF="ITF", late=late, final="ITB").ok


def test_ec_is_not_seen_when_the_turn_stays_sound_or_stops() -> None:
    sound = judge(EC, steps(every(20.0, 65.0)), ITF="ITF", late=outcome("ITF", inward_cm=4.1), final="ITB")
    assert not sound.ok
    assert "51% of the inward travel" in sound.reasons[0]
    uneven = judge(EC, steps(every(20.0, 65.0)), ITF="ITF", late=outcome("irregular", inward_cm=4.1), final="ITB")
    assert "late: irregular, with 51% of the inward travel" in uneven.reasons[0]
    stopped = judge(EC, steps(every(20.0, 41.0) + every(45.5, 65.0)), ITF="ITF", late="stuck", final="ITB")
    assert not stopped.ok
    assert "without a ThC cycle" in stopped.reasons[0]
    assert not judge(EC, steps(every(20.0, 65.0)), ITF="ITF", late="irregular", final="ITF").ok


def test_ec_counts_cycles_of_the_joint_not_lift_offs() -> None:
    dragging = steps(lift_offs=every(20.0, 32.0), minima=every(20.0, 65.0))
    assert judge(EC, dragging, ITF="ITF", late="dragging cycle", final="ITB").ok


def test_ec_refuses_a_turn_that_nothing_changed() -> None:
    finding = judge(EC, steps(every(0.0, 60.0)), control=True, ITF="ITF", late="ITF", final="ITB")
    assert not finding.ok
    assert finding.started


def test_a_late_part_without_a_single_step_says_nothing_about_travel() -> None:
    finding = judge(EC, steps(every(20.0, 65.0)), ITF="ITF", late=outcome("ITF", inward_cm=math.nan), final="ITB")
    assert not finding.ok


def test_pauses_count_both_ends() -> None:
    assert longest_pause_s([2.0, 3.0], 0.0, 10.0) == 7.0
    assert longest_pause_s([], 0.0, 10.0) == 10.0
    assert longest_pause_s([-5.0, 4.0, 20.0], 0.0, 10.0) == 6.0


def test_dying_out_is_the_last_event_before_the_first_long_pause() -> None:
    import numpy as np

    assert died_out_s(np.array([1.0, 2.0, 5.0, 6.0]), 0.0, 7.0) == 2.0
    assert died_out_s(np.array([3.0]), 0.0, 4.0) == 0.0
    assert math.isnan(died_out_s(np.array([1.0, 2.0]), 0.0, 3.0))
