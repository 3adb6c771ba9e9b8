"""Numbers that asks find in made-up legs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from nuc_engine.analysis.outcome import SeenStep
from nuc_engine.analysis.phases import Swing
from nuc_engine.analysis.tracks import LegTracks
from nuc_engine.experiments.catalogue import gradual
from nuc_engine.experiments.catalogue.gradual import CAUGHT, counted, died_out_s, longest_pause_s
from nuc_engine.experiments.catalogue.joints import phase_of
from nuc_engine.experiments.protocol import Observation, Trial
from tests.catalogue.seen import leg, observe, outcome, row_of, steps


def in_the_air(changes: Sequence[float], lift_off_s: float = 12.0, touch_down_s: float = 20.0) -> Observation:
    """Ga with one long swing, in which ThC1 changes its action at these times."""
    names = itertools.cycle(("TC1_retractionLEV", "TC1_protractionDEP"))
    thc = list(zip([8.0, *changes], names, strict=False))
    found = replace(steps(), swings=(Swing(8.0, 8.4, 2.0), Swing(lift_off_s, touch_down_s, 2.0)))
    return observe(row_of("Ga").bouts[0], {"FWD": "FWD", "final": "ITF"}, tracks=leg(45.0, {"ThC": thc}), found=found)


@pytest.mark.parametrize(
    ("changes", "longest_s"),
    [((), 8.0), ((11.0, 13.0), 7.0), ((12.5, 13.0, 18.0, 18.5), 5.0), ((16.0,), 4.0), ((16.0, 30.0), 4.0)],
)
def test_a_leg_is_caught_in_the_air_while_thc1_keeps_its_action(changes: Sequence[float], longest_s: float) -> None:
    numbers = row_of("Ga").criterion({"bout": in_the_air(changes)}).numbers
    assert numbers[CAUGHT] == pytest.approx(longest_s, abs=0.03)
    assert numbers["longest time without a stance (s)"] == pytest.approx(8.0)


def test_what_was_before_the_change_is_not_counted() -> None:
    seen = in_the_air((), lift_off_s=6.0, touch_down_s=11.0)
    assert gradual.longest_caught_s(seen, 10.0) == pytest.approx(1.0)
    assert gradual.longest_in_air_s(seen, 10.0) == pytest.approx(1.0)


def test_those_that_are_caught_are_counted() -> None:
    trials = [Trial(k, "as seen", (), {CAUGHT: time}, {}, 0, {}) for k, time in enumerate((0.4, 4.0, 4.1, 16.0))]
    assert list(counted(trials).values()) == [2, 4]


def test_a_turn_begins_with_the_first_of_the_steps_that_last(monkeypatch: pytest.MonkeyPatch) -> None:
    def begins(*kinds: tuple[float, float, str]) -> float:
        monkeypatch.setattr(gradual, "step_kinds", lambda *_: tuple(SeenStep(*each) for each in kinds))
        return gradual.begins_s(in_the_air(()), "ITF", 10.0, 45.0)

    assert begins((10, 11, "ITF"), (11, 12, "FWD"), (12, 12.7, "ITF"), (12.7, 13.4, "ITF")) == 12
    # A step that lasts as long as a leg is caught in the air is no walking.
    assert begins((10, 22, "ITF"), (22, 22.7, "ITF")) == 22
    assert math.isnan(begins((10, 11, "ITF"), (11, 12, "")))


def test_pauses_count_both_ends_and_dying_out_is_the_last_event_before_a_long_one() -> None:
    assert longest_pause_s([2.0, 3.0], 0.0, 10.0) == 7.0
    assert longest_pause_s([], 0.0, 10.0) == 10.0
    assert longest_pause_s([-5.0, 4.0, 20.0], 0.0, 10.0) == 6.0
    assert died_out_s(np.array([1.0, 2.0, 5.0, 6.0]), 0.0, 7.0) == 2.0
    assert died_out_s(np.array([3.0]), 0.0, 4.0) == 0.0
    assert math.isnan(died_out_s(np.array([1.0, 2.0]), 0.0, 3.0))


def swinging(whole_s: float, apart_s: float, later: float) -> LegTracks:
    """A leg whose joints swing, with FTi's cycle as given and CTr's minima later by a part of it."""
    t = np.arange(0.0, 70.0, 0.01)
    turns = np.where(t < 20.0, t / whole_s, t / apart_s)
    still = leg(70.0)
    joints = {
        "FTi": 90.0 - 20.0 * np.cos(2 * np.pi * turns),
        "CTr": 50.0 - 10.0 * np.cos(2 * np.pi * (turns - later)),
    }
    modules = tuple(replace(m, angle_deg=joints.get(m.role, np.full(len(t), 5.0))) for m in still.modules)
    return replace(still, t_sensor_s=t, modules=modules)


def test_the_table_says_whether_the_joints_go_on_in_phase() -> None:
    row = row_of("disconnect")
    kinds = {"whole": outcome("sideways", cycle_s=1.0), "apart": outcome("air stepping", cycle_s=1.6)}
    numbers = row.criterion({"bout": observe(row.bouts[0], kinds, tracks=swinging(1.0, 1.6, 0.125))}).numbers
    for name, cycle_s in (("whole", 1.0), ("apart", 1.6)):
        found = [value for key, value in numbers.items() if key.startswith(name)]
        assert found == [
            pytest.approx(cycle_s, abs=0.01),
            pytest.approx(0.0, abs=0.01),
            pytest.approx(0.125, abs=0.01),
            pytest.approx(1.0, abs=0.01),
        ]


def test_a_phase_goes_round_and_events_outside_the_cycles_have_none() -> None:
    marks = np.arange(5.0)
    phase, strength = phase_of(np.array([-0.5, 0.95, 2.05, 4.2]), marks)
    assert min(phase, 1 - phase) == pytest.approx(0.0, abs=1e-9)
    assert strength == pytest.approx(np.cos(np.pi / 10))
    assert phase_of(np.array([0.0, 1.25, 2.5, 3.75]), marks)[1] == pytest.approx(0.0, abs=1e-9)
    for events, cycle in ((np.array([]), marks), (marks, np.array([1.0])), (np.array([9.0]), marks)):
        assert all(np.isnan(phase_of(events, cycle)))
