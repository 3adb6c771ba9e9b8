"""Bouts from axes."""

from __future__ import annotations

from nuc_engine.experiments.catalogue.grids import with_grids
from nuc_engine.experiments.protocol import BoutPlan
from nuc_engine.experiments.templates import ManyPlans, differences

SPEEDS = [{"label": "slow", "values": {"131": 0.07}}, {"label": "fast"}]
DELAYS = [{"label": "0 s"}, {"label": "0.1 s", "values": {"load_delay": 0.1}}]


def test_a_table_with_axes_is_a_bout_at_each_crossing_and_others_stay() -> None:
    table = {"bouts": [{"label": "alone"}, {"config": "a", "values": {"1": 2.0}, "axes": [SPEEDS, DELAYS]}]}
    alone, *crossed = with_grids(table)["bouts"]
    assert alone == {"label": "alone"}
    assert [(each["label"], each["values"]) for each in crossed] == [
        ("slow, 0 s", {"1": 2.0, "131": 0.07}),
        ("slow, 0.1 s", {"1": 2.0, "131": 0.07, "load_delay": 0.1}),
        ("fast, 0 s", {"1": 2.0}),
        ("fast, 0.1 s", {"1": 2.0, "load_delay": 0.1}),
    ]
    assert {each["config"] for each in crossed} == {"a"}


def test_the_label_of_a_table_comes_first_and_axes_leave_it_as_it_was() -> None:
    table = {"label": "leg", "axes": [SPEEDS]}
    assert [each["label"] for each in with_grids([table])] == ["leg, slow", "leg, fast"]
    assert table == {"label": "leg", "axes": [SPEEDS]}


def test_many_bouts_are_told_by_what_any_of_them_has() -> None:
    plans = tuple(
        BoutPlan(f"leg, {delay:g} s", "nerve_roach", None, 10.0, (), values={"load_delay": delay, "171": (0.0, 0.5)})
        for delay in (0.1, 0.2)
    )
    many = ManyPlans(plans)
    assert many.label == "2 bouts: leg, 0.1 s, 0.2 s"
    assert differences(many) == "load_delay = 0.1, 0.2; 171 = 0 0.5"
    assert differences(plans[0]) == "load_delay = 0.1, 171 = 0 0.5"
    assert many.config == "nerve_roach"
