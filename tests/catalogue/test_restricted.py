from __future__ import annotations

from nuc_engine.experiments.catalogue.parts import BOUT
from nuc_engine.experiments.catalogue.restricted import EXPERIMENT_DISCONNECT, EXPERIMENT_RESTRICTED
from nuc_engine.experiments.protocol import Finding
from tests.catalogue.seen import observe, outcome

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


def test_a_leg_left_whole_is_refused() -> None:
    kinds = dict.fromkeys(("whole", "apart", "final"), outcome("sideways", cycle_s=1.0))
    assert not APART.criterion({BOUT: observe(APART.control.bouts[0], kinds)}).ok
