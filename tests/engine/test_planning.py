"""From documents to the plan: every table of it, from a small configuration and variations of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nuc_engine.plan import Plan, Slot
from nuc_engine.planning import build_plan
from sccils_schemas.model import Model, load_model
from tests.sccils.small import changed, small_model

J, P, S = "joints.xml", "parameters.xml", "sensors.xml"


@pytest.fixture
def vary(tmp_path: Path):
    """Return a function that gives the small configuration with (file, old, new) applied."""

    def varied(*edits: tuple[str, str, str]) -> Model:
        model, problems = load_model(changed(tmp_path, *edits))
        assert model is not None, str(problems)
        return model

    return varied


def slots(plan: Plan, number: int, count: int) -> tuple[Slot, ...]:
    return tuple(Slot(plan.hdso(number).index, element) for element in range(count))




@pytest.mark.parametrize("sensor_first", [True, False])
def test_a_sensor_among_the_initialisers_is_no_parameter(vary, sensor_first):
    listed = '<hdsoMod idNum="301" NumElts="0"/>'
    numbers = '<hdsoMod idNum="141" NumElts="5">0 0.8 0.01 61 100</hdsoMod>'
    pair = listed + numbers if sensor_first else numbers + listed
    plan = build_plan(vary((J, ' activation_parameters="141"', ""), (J, numbers, pair)))
    activation = plan.states[0].activations[0]
    assert activation.sensors == slots(plan, 301, 1)
    assert activation.parameters == slots(plan, 141, 5)


def test_a_script_is_followed_with_the_same_parameters(vary):
    from decimal import Decimal

    from sccils_schemas.documents import HdsoMod, HdsoScript
    from sccils_schemas.model import check_script

    numbers = '<hdsoMod idNum="141" NumElts="5">0 0.8 0.01 61 100</hdsoMod>'
    listed = '<hdsoMod idNum="301" NumElts="0"/>'
    model = vary((J, ' activation_parameters="141"', ""), (J, numbers, listed + numbers))
    flat = HdsoScript((HdsoMod(141, 5, (0.0, 0.0, 0.0, 61.0, 61.0), time_s=Decimal(1)),))
    assert "wmin and wmax" in str(check_script(flat, model))
