from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nuc_engine.analysis.tracks import LegTracks
from nuc_engine.experiments.catalogue.parts import BOUT
from nuc_engine.experiments.catalogue.restricted import EXPERIMENT_DISCONNECT, EXPERIMENT_RESTRICTED, phase_of
from nuc_engine.experiments.protocol import Finding
from tests.catalogue.seen import leg, observe, outcome

RAISED, HEIGHTS, STARTS = EXPERIMENT_RESTRICTED.rows
APART = EXPERIMENT_DISCONNECT.rows[0]


def test_raised_is_sideways_at_every_height() -> None:
    plan = RAISED.bouts[0]
    names = [window.name for window in plan.windows]
    assert names == ["16 cm", "18 cm", "20 cm", "22 cm", "24 cm", "26 cm"]
    assert RAISED.criterion({BOUT: observe(plan, dict.fromkeys(names, "sideways"))}).ok
    for name in names[1:]:
        finding = RAISED.criterion({BOUT: observe(plan, dict.fromkeys(names, "sideways") | {name: "stuck"})})
        assert not finding.ok
        assert finding.started
        assert finding.reasons[0].startswith(f"{name}: stuck")
    assert not RAISED.criterion({BOUT: observe(plan, dict.fromkeys(names, "sideways") | {"16 cm": "stuck"})}).started


def test_raised_out_of_reach_is_refused() -> None:
    plan = RAISED.control.bouts[0]
    kinds = {window.name: "sideways" for window in plan.windows} | {"46 cm": "air stepping"}
    assert not RAISED.criterion({BOUT: observe(plan, kinds)}).ok


def test_heights_and_starts_need_every_bout() -> None:
    for row in (HEIGHTS, STARTS):
        for bouts in (row.bouts, row.control.bouts):
            seen = {plan.label: observe(plan, {"stepping": "sideways"}) for plan in bouts}
            assert row.criterion(seen).ok
            for plan in bouts:
                finding = row.criterion(seen | {plan.label: observe(plan, {"stepping": "chattering"})})
                assert not finding.ok
                assert finding.reasons[0].startswith(f"{plan.label}: stepping: chattering")


def test_heights_are_those_printed() -> None:
    heights = [plan.plant["world.base_height_cm"] for plan in HEIGHTS.bouts]
    assert heights[0] == 16
    assert heights[-1] == 26
    assert heights == sorted(heights)
    assert len({(plan.script, tuple(plan.plant.items())) for plan in STARTS.bouts}) == 8


def apart(kind: str, cycle_s: float = float("nan"), final: str = "sideways", kicks: tuple[float, ...] = ()) -> Finding:
    kinds = {"whole": outcome("sideways", cycle_s=1.0), "apart": outcome(kind, cycle_s=cycle_s), "final": final}
    return APART.criterion({BOUT: observe(APART.bouts[0], kinds, kicks_s=kicks)})


def test_a_leg_apart_stands_or_does_something_else() -> None:
    assert apart("stuck").ok
    assert apart("chattering", 1.0).ok
    assert apart("air stepping", 0.7).ok


def test_a_pattern_that_goes_on_in_the_hand_is_refused() -> None:
    for kind in ("sideways", "air stepping", "dragging cycle"):
        finding = apart(kind, 1.1)
        assert not finding.ok
        assert "much as before" in finding.reasons[0]


def test_the_leg_has_to_step_again_and_kicks_make_it_trapped() -> None:
    assert not apart("stuck", final="stuck").ok
    assert apart("stuck").numbers["trapped until kicked (share)"] == 0
    kicked = apart("stuck", kicks=(4.0, 40.0))
    assert kicked.ok
    assert kicked.numbers["trapped until kicked (share)"] == 1
    assert kicked.numbers["kicks after the leg was put together"] == 1
    assert apart("stuck", kicks=(4.0,)).numbers["trapped until kicked (share)"] == 0


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
    kinds = {"whole": outcome("sideways", cycle_s=1.0), "apart": outcome("air stepping", cycle_s=1.6)}
    seen = observe(APART.bouts[0], kinds, tracks=swinging(1.0, 1.6, 0.125))
    numbers = APART.criterion({BOUT: seen}).numbers
    for name, cycle_s in (("whole", 1.0), ("apart", 1.6)):
        assert numbers[f"{name}: FTi cycle (s)"] == pytest.approx(cycle_s, abs=0.01)
        assert numbers[f"{name}: variation of the FTi cycle (sd/mean)"] < 0.01
        assert numbers[f"{name}: phase of the smallest CTr angle in the FTi cycle (0 to 1)"] == pytest.approx(
            0.125, abs=0.01
        )
        assert numbers[f"{name}: strength of this phase (0: none, 1: always the same)"] > 0.99


def test_a_phase_goes_round_and_events_outside_the_cycles_have_none() -> None:
    marks = np.arange(5.0)
    phase, strength = phase_of(np.array([-0.5, 0.95, 2.05, 4.2]), marks)
    assert min(phase, 1 - phase) == pytest.approx(0.0, abs=1e-9)
    assert strength == pytest.approx(np.cos(np.pi / 10))
    assert phase_of(np.array([0.0, 1.25, 2.5, 3.75]), marks)[1] == pytest.approx(0.0, abs=1e-9)
    for events, cycle in ((np.array([]), marks), (marks, np.array([1.0])), (np.array([9.0]), marks)):
        assert all(np.isnan(phase_of(events, cycle)))


def test_a_leg_left_whole_is_refused() -> None:
    kinds = dict.fromkeys(("whole", "apart", "final"), outcome("sideways", cycle_s=1.0))
    assert not APART.criterion({BOUT: observe(APART.control.bouts[0], kinds)}).ok
