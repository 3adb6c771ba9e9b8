"""Motors on several buses: ids are unique on each of them only."""

from __future__ import annotations

import pytest

from nuc_engine.model.planning import build_plan
from sccils_schemas.model import load_model
from tests.sccils.small import changed


@pytest.mark.parametrize(
    ("first", "second", "good"), [("left", "right", True), ("left", "left", False), ("", "right", True)]
)
def test_bus_ids_are_unique_on_each_bus(tmp_path, first, second, good):
    def serial(bus):
        return f'serialID="0" bus="{bus}"' if bus else 'serialID="0"'

    edits = (("joints.xml", 'serialID="0"', serial(first)), ("joints.xml", 'serialID="1"', serial(second)))
    model, problems = load_model(changed(tmp_path / "model", *edits))
    assert (model is not None) == good, problems
    if model is not None:
        assert [motor.bus for motor in build_plan(model).motors] == [first, second]
