"""Asks of the experiments on nerves, on tracks that are made up."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from nuc_engine.experiments.catalogue.ladders import Bears
from nuc_engine.experiments.catalogue.searching import Searches, StepsAgain, StepsBefore
from nuc_engine.experiments.catalogue.timers import PeriodBeside, SameMovement, Slows
from nuc_engine.experiments.catalogue.variations import SteppingCombinations, spread
from nuc_engine.experiments.protocol import BoutPlan, JudgedWindow, Observations

WINDOWS = (JudgedWindow("walk", 0, 9, "before", 4), JudgedWindow("air", 9, 17, "final", 2))


def seen(**bouts: Any) -> Observations:
    """Return observations of bouts, each given by label (_ for a space) and kinds of its windows, or a whole one."""
    found: dict[str, Any] = {}
    for key, own in bouts.items():
        label = key.replace("_", " ")
        plan = BoutPlan(label, "none", None, 17.0, WINDOWS)
        outcomes = {
            name: SimpleNamespace(kind=kind, cyclic=kind == "FWD", measures=SimpleNamespace(period_s=period_s))
            for name, (kind, period_s) in own["outcomes"].items()
        }
        found[label] = SimpleNamespace(plan=plan, outcomes=outcomes, leg=own.get("leg"))
    return cast(Observations, found)


def ladder(**kinds: str) -> Observations:
    """Return bouts of a ladder: a1="FWD" is bout "a, 1 s"."""
    made = seen(**{key: {"outcomes": {"air": (kind, 1.0)}} for key, kind in kinds.items()})
    return {f"{key[0]}, {key[1]} s": one for key, one in made.items()}


def test_a_leg_bears_what_it_bears_up_to_the_first_level_at_which_it_does_not_step() -> None:
    ask = Bears(levels=(1.0, 2.0, 3.0), less=("a",), more=("b",))
    found = ask.look(ladder(a1="FWD", a2="stuck", a3="FWD", b1="FWD", b2="FWD", b3="FWD"))
    assert found.numbers == {"a: bears (s)": 1.0, "b: bears (s)": 3.0}
    assert found.reasons == ()
    assert ask.look(ladder(a1="FWD", b1="FWD")).reasons == ("in 0 of 1 pairs the first bears less, expected 1 or more",)
    assert ask.look(ladder(a1="FWD", b1="stuck")).reasons[0] == "a bears 1 s, b 0, expected no less of the latter"


def leg(rates_hz: dict[str, float], shift: float = 0.0, action: int = 0) -> Any:
    """Return a leg that swings by 40 degrees: CTr a part of a cycle after ThC."""
    times_s = np.arange(0, 17, 0.005)
    roles = {"ThC": 0.0, "CTr": shift, "FTi": 0.5}
    modules = [
        SimpleNamespace(
            role=role,
            action=np.full(3, action),
            angle_deg=20
            * np.sin(
                2
                * math.pi
                * (
                    np.where(times_s < 9, 1.0, rates_hz.get(role, 0.0)) * times_s
                    + np.where(times_s < 9, 0.25 if role == "CTr" else 0.0, roles[role])
                )
            ),
        )
        for role in roles
    ]
    return SimpleNamespace(t_sensor_s=times_s, modules=modules, module={m.role: m for m in modules}.__getitem__)


@pytest.mark.parametrize(
    ("rates_hz", "shift", "told"),
    [
        ({"ThC": 1.7, "CTr": 1.7}, 0.6, ""),
        ({"ThC": 1.7, "CTr": 1.7}, 0.25, "cycles from where it is in walking"),
        ({"ThC": 1.0, "CTr": 1.0}, 0.6, "expected another by 20%"),
        ({"ThC": 1.7}, 0.6, "in the air ThC swings"),
        ({"ThC": 1.7, "CTr": 2.6}, 0.6, "expected two together"),
        ({}, 0.0, "in the air no joint swings"),
    ],
)
def test_searching_is_another_rate_and_another_phase_of_two_joints(
    rates_hz: dict[str, float], shift: float, told: str
) -> None:
    ask = Searches(walking="walk", windows=("air",))
    found = ask.look(seen(bout={"outcomes": {}, "leg": leg(rates_hz, shift)}))
    assert (told in found.reasons[0]) if told else found.reasons == ()


def test_a_leg_that_walks_before_and_is_called_the_same_again() -> None:
    both = seen(bout={"outcomes": {"walk": ("FWD", 1.0), "air": ("stuck", 1.0)}})
    assert StepsBefore().look(both).reasons == ()
    assert StepsAgain(windows=("air",)).look(both).reasons == ("air: stuck, expected FWD as before",)
    assert StepsBefore().look(seen(bout={"outcomes": {"walk": ("stuck", 1.0)}})).reasons


def test_periods_beside_each_other() -> None:
    bouts = seen(a={"outcomes": {"walk": ("FWD", 1.0), "air": ("FWD", 1.2)}}, b={"outcomes": {"walk": ("FWD", 0.9)}})
    ask = PeriodBeside(beside="a", bouts=("b",), windows=("walk",), at_least=0.95)
    assert ask.look(bouts).reasons == ("b: 0.9 of the period of a, expected 0.95 to inf",)
    assert Slows(bouts=("a",), windows=("walk", "air"), by=1.1).look(bouts).reasons == ()
    assert Slows(bouts=("a",), windows=("walk", "air"), by=1.3).look(bouts).reasons


def test_the_same_movement_is_the_same_to_the_last_bit() -> None:
    one, other, acted = leg({"ThC": 1.0}), leg({"ThC": 1.0 + 1e-9}), leg({"ThC": 1.0}, action=1)
    for second, same in ((leg({"ThC": 1.0}), True), (other, False), (acted, False)):
        found = SameMovement().look(seen(a={"outcomes": {}, "leg": one}, b={"outcomes": {}, "leg": second}))
        assert (found.reasons == ()) is same


def test_the_spread_is_the_mean_distance_from_the_median() -> None:
    assert spread(np.array([1.0, 1.0, 1.0, 1.1, 0.9])) == pytest.approx(0.04)
    assert math.isnan(spread(np.array([1.0, 1.0])))


def test_combinations_that_do_not_step_are_counted() -> None:
    bouts = seen(a={"outcomes": {"walk": ("FWD", 1.0)}}, b={"outcomes": {"walk": ("irregular", 1.0)}})
    assert SteppingCombinations(all_linear="a", fail=1).look(bouts).reasons == ()
    assert SteppingCombinations(all_linear="b", fail=2).look(bouts).reasons == (
        "b: does not step",
        "1 of the others do not step, expected 2 or more",
    )
