"""What SCCILS 0.2 adds is drawn: central lines apart from sensory ones, signals, modules without a motor, controls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nuc_engine.figures.diagrams.events import event_diagram
from nuc_engine.figures.diagrams.flow import flow_diagram
from nuc_engine.figures.diagrams.nominal import nominal
from nuc_engine.figures.diagrams.regions import region_diagram
from nuc_engine.figures.diagrams.states import nominal_diagram
from nuc_engine.figures.diagrams.wiring import Wiring, wiring_at
from nuc_engine.model.changes import Changeset, Write
from nuc_engine.model.plan import Plan
from nuc_engine.model.planning import build_plan
from sccils_schemas.model import Model, load_model
from tests.diagrams.legs import leg
from tests.diagrams.papers import read, within
from tests.verify.acting import everything
from tests.verify.variants import documents

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Model, Plan]:
    config: Path = documents(everything(), tmp_path_factory.mktemp("nerves"))[0]
    model, problems = load_model(config)
    assert model is not None, problems
    return model, build_plan(model)


@pytest.fixture
def wiring(made: tuple[Model, Plan]) -> Wiring:
    return wiring_at(*made, (), 0.0, "everything")


def parts(svg: bytes, kind: str) -> list[dict[str, str]]:
    """Return what the parts of a kind say of themselves."""
    found = [group.attrib for group in read(svg).root.iter(f"{SVG}g") if group.get("data-part") == kind]
    return [{name.removeprefix("data-"): value for name, value in told.items()} for told in found]


def test_the_drawing_is_whole_and_the_same_every_time(wiring: Wiring) -> None:
    svg = flow_diagram(wiring)
    assert svg == flow_diagram(wiring)
    sheet = read(svg)
    assert within(sheet, sheet.rectangles())
    assert sheet.texts_outside() == []
    for draw in (event_diagram, region_diagram, nominal_diagram):
        assert read(draw(wiring)).texts_outside() == []


def test_central_lines_stand_apart_from_sensory_ones(wiring: Wiring) -> None:
    svg = flow_diagram(wiring)
    assert [(told["name"], told["when"]) for told in parts(svg, "central")][:2] == [
        ("TC1_protractionDEP", "CTr_lev & CTr_linear < drive"),
        ("CTr_LevationPRO", "CTr_time > patience"),
    ]
    coupled = {(told["sense"], told["joint"]) for told in parts(svg, "coupling")}
    assert {("CTr_lev", "Thorax-Coxa1"), ("CTr_time", "Coxa-Trochanter"), ("FT_power", "Femur-Tibia")} <= coupled
    sensory = {(told["sense"], told["joint"]) for told in parts(svg, "influence")}
    assert sensory == {(told["sense"], told["joint"]) for told in parts(flow_diagram(leg("lin_roach")), "influence")}


def test_signals_modules_and_controls_are_rows_with_names(wiring: Wiring) -> None:
    svg = flow_diagram(wiring)
    assert parts(svg, "signal")[0]["name"] == "smooth"
    assert {told["name"] for told in parts(svg, "signal")} >= {"CTr_rate", "paced", "turning"}
    assert [(told["module"], told["name"]) for told in parts(svg, "module")] == [
        ("Behaviour", "Walk"),
        ("Behaviour", "Turn"),
        ("Above", "Calm"),
        ("Above", "Upset"),
    ]
    assert [told["name"] for told in parts(svg, "control")] == ["speed", "idle"]
    outputs = [told["name"] for told in parts(svg, "output")]
    assert {"FT_ext_FTang", "Enter_FT_Extension", "wants", "patience", "CTr_levationPRO_levator_activation"} <= {
        *outputs
    }
    texts = read(svg).texts()
    assert "FT_ext_FTang = 70  \u2192 Extension" in texts
    assert "wants = 1  \u2192 Walk, Turn" in texts
    assert "its time passes at the rate of CTr_rate" in texts


def test_what_follows_a_control_is_shown_where_a_script_has_led_it(made: tuple[Model, Plan]) -> None:
    plan = made[1]
    set_to = Changeset(0, (Write(plan.hdso("speed").index, (1.0,)),))
    texts = read(flow_diagram(wiring_at(*made, (set_to,), 1.0, ""))).texts()
    assert "patience = 0.2, of 0.2 to 0.45" in texts
    assert "CTr_time > 0.2" in texts


def test_global_states_go_by_what_is_sensed(wiring: Wiring) -> None:
    """Central entries come only where no sensory rule leads elsewhere: the nominal cycle is the one without them."""
    plain = leg("lin_roach")
    assert nominal(replace(wiring, label="")).cycle == nominal(plain).cycle
