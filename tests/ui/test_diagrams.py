"""Diagrams over HTTP, and what the page's own modules make of them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from nuc_engine import BoutSpec, run_bout
from nuc_engine.figures.diagrams.regions import region_diagram
from nuc_engine.ui import drawing
from nuc_engine.ui.bouts import BoutPages
from nuc_engine.ui.diagrams import DiagramPages
from tests.diagrams.legs import leg
from tests.ui.conftest import Page, Start
from tests.ui.node import needs_node, run
from tests.ui.test_scripts import documents, held

ODD = "<b onload=alert(1)>&amp;'\""
UP = "TC1_retLEV_CTang"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("one") / "bout"
    return run_bout(BoutSpec(config="lin_roach", script="experiment_a", duration_s=21, out=out)).folder


@pytest.fixture
def page(beside: Start, bouts: BoutPages, one: Path, tmp_path: Path) -> Page:
    shutil.copytree(one, tmp_path / "data" / ODD)
    return beside(DiagramPages(bouts.readers))


def asked(**more: Any) -> dict[str, Any]:
    return {"name": "lin_roach", "documents": documents(), "values": held(), "what": "regions", **more}


def parts(tree: list[Any], kind: str) -> list[dict[str, str]]:
    """Return the attributes of all parts of a kind."""
    own = [tree[1]] if tree[1].get("data-part") == kind else []
    return own + [found for each in tree[2:] if isinstance(each, list) for found in parts(each, kind)]


def texts(tree: list[Any]) -> str:
    return " ".join(each if isinstance(each, str) else texts(each) for each in tree[2:])


def test_each_kind_is_drawn_with_the_values_in_force(page: Page) -> None:
    for what in drawing.KINDS:
        answer = page.web.post("/api/diagrams", json=asked(what=what))
        assert answer.status_code == 200, answer.text
        told = answer.json()
        assert told["svg"][0] == "svg"
        assert told["thresholds"][UP] == 70.0
    moved = page.web.post("/api/diagrams", json=asked(values={**held(), UP: 65.5}, joint="Thorax-Coxa1")).json()
    assert moved["thresholds"][UP] == 65.5
    values = {each["data-parameter"]: float(each["data-value"]) for each in parts(moved["svg"], "boundary")}
    assert values == {"TC1_proDEP_FTang": 120.0, "TC1_retLEV_FTang": 60.0, UP: 65.5}
    name = next(name for name, value in held().items() if isinstance(value, str) and UP in value)
    rule = {**held(), name: f"CTr_angle < {UP}"}
    fewer = page.web.post("/api/diagrams", json=asked(values=rule, joint="Thorax-Coxa1")).json()
    assert "TC1_retLEV_FTang" not in fewer["thresholds"]


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"what": "<script>"}, 422),
        ({"what": "actual"}, 422),
        ({"joint": "<script>"}, 422),
        ({"name": "../x"}, 422),
        ({"documents": {"../x": ""}}, 422),
        ({"documents": {"joints.xml": "<jointlist", "parameters.xml": "", "sensors.xml": ""}}, 422),
        ({"values": {UP: "nan"}}, 422),
        ({"values": {UP: [{}]}}, 422),
        ({"values": {UP: []}}, 422),
        ({"values": {UP: 1e999}}, 400),
        ({"values": []}, 400),
        ({"more": 1}, 400),
    ],
)
def test_what_can_not_be_drawn_is_refused_with_a_reason(page: Page, more: dict[str, Any], status: int) -> None:
    answer = page.web.post(
        "/api/diagrams", content=json.dumps(asked(**more)), headers={"content-type": "application/json"}
    )
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["text"]


def test_a_strange_name_of_a_value_is_nobodys(page: Page) -> None:
    values = {**held(), "__proto__": 1, "<b>": 2}
    assert page.web.post("/api/diagrams", json=asked(values=values)).status_code == 200


def test_a_bouts_diagram_has_the_values_of_its_time_and_tells_how_long(page: Page) -> None:
    place = f"/api/bouts/{quote(os.fsencode(ODD), safe='')}/diagram"
    before, after = (page.web.get(place, params={"what": "event-space", "at": at}).json() for at in ("19.999", "20.5"))
    assert (before["from_s"], before["until_s"]) == (0.0, 20.0)
    assert (after["from_s"], after["until_s"]) == (20.0, None)
    assert before["thresholds"] != after["thresholds"]
    assert ODD in texts(before["svg"]), "a folder's name is a text, as it is"
    seen = page.web.get(place, params={"what": "actual", "at": "20.5"}).json()
    assert seen["from_s"] == 20.0
    assert parts(seen["svg"], "state")
    for bad in ({"what": "x"}, {"what": "states", "at": "nan"}, {}):
        assert page.web.get(place, params=bad).status_code == 400
    assert page.web.get(place, params={"what": "regions", "joint": "<b>"}).status_code == 422


@pytest.mark.parametrize("name", ["lin_roach", "pc_stickmiddle"])
def test_a_tree_is_the_drawing(name: str) -> None:
    svg = region_diagram(leg(name))

    def same(tree: list[Any], element: ElementTree.Element) -> None:
        assert (tree[0], tree[1]) == (element.tag.rpartition("}")[2], element.attrib)
        inner = [each for each in tree[2:] if isinstance(each, list)]
        assert len(inner) == len(element)
        assert "".join(each for each in tree[2:] if isinstance(each, str)).strip() == (element.text or "").strip()
        for each, other in zip(inner, element, strict=True):
            same(each, other)

    same(drawing.tree(svg), ElementTree.fromstring(svg))


# --- the page's modules ---

ALLOWED = """
import { allowed } from "{web}/diagram.js";
told(given[0].map(([name, value]) => allowed(name, value)));
"""
PLACED = """
import { placed } from "{web}/diagram.js";
told(given[0].map(([scale, from, of]) => placed(scale, from, of)));
"""
STEPPED = """
import { steppedTo } from "{web}/boundaries.js";
told(given[0].map(([knob, value, fine]) => steppedTo({ ...knob, low: knob.low ?? NaN }, value, fine)));
"""


def test_a_drawing_without_end_is_not_sent_to_the_page() -> None:
    most = drawing.MOST_BYTES - len("<svg></svg>")
    assert len(drawing.tree(b"<svg>%s</svg>" % (b"<g/>" * (most // 4)))) == most // 4 + 2
    with pytest.raises(ValueError, match="too large for the page"):
        drawing.tree(b"<svg>%s</svg>" % (b"<g/>" * (most // 4 + 1)))


@needs_node
def test_an_attribute_is_one_of_a_drawing_and_leads_nowhere() -> None:
    asked = {
        ("fill", "#fff"): "#fff",
        ("fill", "url(#hatch1-0)"): "url(#diagram-hatch1-0)",
        ("fill", "url(http://x/#a)"): None,
        ("fill", "URL(//x)"): None,
        ("fill", "u\\72l(//x)"): None,
        ("clip-path", "url(#a) url(#b)"): None,
        ("transform", "rotate(-90 1 2)"): "rotate(-90 1 2)",
        ("id", "torque-off"): "diagram-torque-off",
        ("data-when", "<b> & url(x)"): "<b> & url(x)",
        ("style", "color:red"): None,
        ("onload", "x"): None,
        ("href", "x"): None,
        ("xlink:href", "x"): None,
        ("class", "x"): None,
        ("tabindex", "0"): None,
        ("DATA-X", "x"): None,
    }
    assert run(ALLOWED, [list(pair) for pair in asked]) == list(asked.values())


@needs_node
def test_places_and_values_are_those_of_the_drawing_both_ways() -> None:
    across = [[-10.0, 190.0], [0.0, 333.33], [0.01, 476.67], [10.01, 620.0]]
    up = [[8.0, 416.0], [70.0, 290.0], [174.0, 86.0]]
    asked = [
        [across, 0.005, 0],
        [across, 405.0, 1],
        [across, -99, 0],
        [across, 999, 1],
        [up, 70, 0],
        [up, 290, 1],
        [up, 39, 0],
        [up, 353, 1],
        [up, 500, 1],
        [up, 1, 1],
    ]
    assert run(PLACED, asked) == pytest.approx([405.0, 0.005, 190.0, 10.01, 290, 70, 353, 39, 8, 174])


@needs_node
def test_a_boundary_goes_in_the_steps_of_its_threshold() -> None:
    knob = {"low": 40, "high": 110, "least": 0, "most": 180, "quantum": 1, "whole": False}
    free = {"low": None, "high": None, "least": -5, "most": 5, "quantum": 0.1, "whole": False}
    asked = [[knob, 63.4, False], [knob, 63.44, True], [knob, 500, False], [free, 0.3333, False], [free, 99, False]]
    assert run(STEPPED, asked) == [63, 63.4, 110, 0.3, 5]
