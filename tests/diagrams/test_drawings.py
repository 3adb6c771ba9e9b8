"""What the drawings show: boxes, arrows, words and highlights, not pixels."""

import numpy as np
import pytest

from nuc_engine.figures.diagrams import sheet as panel
from nuc_engine.figures.diagrams.events import compare_action, event_diagram
from nuc_engine.figures.diagrams.flow import flow_diagram
from nuc_engine.figures.diagrams.nominal import nominal
from nuc_engine.figures.diagrams.regions import region_diagram
from nuc_engine.figures.diagrams.seen import count_states
from nuc_engine.figures.diagrams.sheet import places
from nuc_engine.figures.diagrams.states import DiagramPanel, actual_diagram, nominal_diagram
from nuc_engine.figures.diagrams.svg import HIGHLIGHT
from nuc_engine.figures.diagrams.wiring import DiagramError
from tests.diagrams.legs import FWD_S, ITB_S, ITF_S, changed, leg
from tests.diagrams.papers import apart, curve_points, read, within

LEGS = [
    ("lin_roach", "experiment_a", FWD_S),
    ("lin_roach", "experiment_a", ITF_S),
    ("lin_roach", "experiment_a", ITB_S),
    ("pc_stickmiddle", None, 0.0),
    ("lin_stickmiddle", None, 0.0),
    ("lin_stickmiddle_minimal", None, 0.0),
]
DRAW = [nominal_diagram, flow_diagram, event_diagram, region_diagram]


@pytest.mark.parametrize("draw", DRAW)
@pytest.mark.parametrize(("config", "script", "at_s"), LEGS)
def test_every_diagram_of_every_leg_is_whole_and_says_what_it_is(draw, config, script, at_s):
    wiring = leg(config, script, at_s)
    svg = draw(wiring)
    sheet = read(svg)
    assert draw(wiring) == svg
    assert config in sheet.texts()[0]
    assert within(sheet, sheet.rectangles())
    assert sheet.texts_outside() == []
    assert sheet.root.find("{http://www.w3.org/2000/svg}title").text


def test_nominal_states_are_boxes_that_do_not_touch():
    for config, script, at_s in LEGS:
        wiring = leg(config, script, at_s)
        sheet = read(nominal_diagram(wiring))
        found = nominal(wiring)
        boxes = sheet.rectangles(rx="7")
        assert len(boxes) == len(found.states)
        assert apart(boxes), config
        heavy = [e for e in sheet.all_rectangles() if e.get("rx") == "7" and e.get("stroke-width") == "3"]
        assert len(heavy) == len(found.cycle)


def test_nominal_arrows_of_the_cycle_are_heavy_and_own_limits_dashed():
    wiring = leg("lin_roach")
    sheet = read(nominal_diagram(wiring))
    curves = [path for path in sheet.paths() if "Q" in path.attrib["d"]]
    found = nominal(wiring)
    between = {(t.begin, t.end) for t in found.transitions if not t.own_limit}
    own = {(t.begin, t.end) for t in found.transitions if t.own_limit}
    assert len(curves) == len(between | own)
    assert len([c for c in curves if c.get("stroke-width") == "3.6"]) == len(found.cycle)
    assert len([c for c in curves if c.get("stroke-dasharray")]) == len(own - between)


@pytest.mark.parametrize("config", ["lin_roach", "pc_stickmiddle"])
def test_words_at_an_arrow_do_not_lie_on_another_one(config):
    sheet = read(nominal_diagram(leg(config)))
    arrows = [curve_points(e.attrib["d"]) for e in sheet.paths() if "Q" in e.attrib["d"]]
    words = sheet.boxes_of("TC1_", "TC_", "CTr_", "FT_", "or ")
    assert len(arrows) > 8
    assert len(words) >= len(arrows)
    for name, (x, y, width, height) in words:
        struck = sum(any(x < u < x + width and y < v < y + height for u, v in points) for points in arrows)
        assert struck <= 1, name


def test_a_leg_without_a_cycle_is_said_to_stop():
    sheet = read(nominal_diagram(changed("lin_roach", {162: "FT_angle > TC1_proDEP_FTang"})))
    assert any("No cycle" in text and "DepressionRET" in text for text in sheet.texts())


def window(sequence, wiring, name="FWD"):
    times = np.arange(len(sequence)) * 0.1
    return DiagramPanel(name, wiring, count_states(times, sequence, len(sequence) * 0.1))


def test_actual_diagram_has_what_was_seen_and_marks_what_was_not_predicted():
    wiring = leg("lin_roach")
    cycle = list(nominal(wiring).cycle)
    surprise = (0, 2, 4)  # From the end of stance straight to protraction, levation, extension.
    sequence = cycle * 5 + [cycle[0], surprise]
    sheet = read(actual_diagram("paper_leg", [window(sequence, wiring)]))
    boxes = sheet.rectangles(rx="7")
    assert len(boxes) == 5
    assert apart(boxes)
    curves = [path for path in sheet.paths() if "Q" in path.attrib["d"]]
    assert len(curves) == 5
    unpredicted = [c for c in curves if c.get("stroke") == "#c2410c"]
    assert len(unpredicted) == 1
    assert sheet.texts().count("5") == 4  # Each passage of the cycle, five times.
    assert "1" in sheet.texts()
    widths = sorted(float(c.attrib["stroke-width"]) for c in curves)
    assert widths[0] < widths[-1] == 8.0


def test_rare_passages_are_faint_and_without_number():
    wiring = leg("lin_roach")
    cycle = list(nominal(wiring).cycle)
    sheet = read(actual_diagram("paper_leg", [window(cycle * 50 + [cycle[2], cycle[3]], wiring)]))
    curves = {c.get("stroke") for c in sheet.paths() if "Q" in c.attrib["d"]}
    assert "#c9c9cd" in curves
    assert "1" not in sheet.texts()


def test_panels_stand_below_each_other():
    one = window(list(nominal(leg("lin_roach")).cycle) * 3, leg("lin_roach"))
    turn = leg("lin_roach", "experiment_a", ITF_S)
    other = window(list(nominal(turn).cycle) * 3, turn, "ITF")
    sheet = read(actual_diagram("paper_leg", [one, other]))
    boxes = sheet.rectangles(rx="7")
    below = len(nominal(turn).cycle)
    assert len(boxes) == 4 + below
    assert apart(boxes)
    assert len([y for _, y, _, _ in boxes if y > sheet.size[1] / 2]) == below


def test_places_never_coincide():
    states = [(a, b, c) for a in range(2) for b in range(3) for c in range(2)]
    found = places(states[:5], states[5:], [(states[0], other) for other in states[5:]], (400.0, 280.0), (150.0, 63.0))
    assert apart([(x, y, 150.0, 63.0) for x, y in found.values()])
    assert len(found) == len(states)


def test_others_are_placed_so_that_arrows_do_not_lead_through_boxes():
    cycle = [(0,), (1,), (2,), (3,)]
    found = places(cycle, [(4,), (5,)], [((4,), (0,)), ((5,), (2,))], (400.0, 280.0), (150.0, 63.0))
    assert found[(4,)][1] < 0 < found[(5,)][1]  # Above the top of the ring, and below its bottom.


@pytest.mark.parametrize("seed", range(4))
def test_no_box_would_stand_better_elsewhere(seed):
    rng = np.random.default_rng(seed)
    states = [(k,) for k in range(10)]
    joined = [(states[a], states[b]) for a, b in rng.integers(0, 10, (16, 2)).tolist() if a != b]
    reach, box = (380.0, 240.0), (120.0, 50.0)
    at = dict(places(states[:4], states[4:], joined, reach, box))
    pairs = sorted({(min(a, b), max(a, b)) for a, b in joined})
    trials = [t for state in states[4:] for t in panel._moves(at, state, states[4:], panel._slots(reach), box)]
    assert min(panel._cost(trial, pairs, box) for trial in trials) >= panel._cost(at, pairs, box) - 1e-6


def test_sensory_flow_has_an_arrow_for_every_influence():
    wiring = leg("lin_roach")
    sheet = read(flow_diagram(wiring))
    heads = [p for p in sheet.paths(stroke="none") if p.attrib["d"].endswith("Z")]
    # ThC1 listens to CTr and FTi angle, CTr to the ThC1 load, FTi to the ThC1 load and to its own angle.
    assert len(heads) == 5
    assert {"TC1_current", "CTr_angle", "FT_angle"} <= set(sheet.texts())
    assert "CTr_current" not in sheet.texts()


def test_event_space_of_forward_stepping_has_the_events_of_section_4_5_3():
    texts = read(event_diagram(leg("lin_roach"))).texts()
    assert {"FT_angle high", "FT_angle low", "TC1_current high", "TC1_current low", "CTr_angle low"} <= set(texts)
    assert "CTr_angle high" not in texts
    assert texts.count("or") == 2
    assert texts.count("and") == 1
    assert "led to by Flexion" in texts


def test_event_space_of_a_turn_highlights_what_changed():
    fwd, itf, itb = (leg("lin_roach", "experiment_a", t) for t in (FWD_S, ITF_S, ITB_S))
    fresh = {a.short: compare_action(fwd, itf, a).fresh for m in itf.modules for a in m.actions}
    assert fresh == {
        "protractionDEP": {"FT_angle < 60"},
        "retractionLEV": {"FT_angle > 120", "CTr_angle < 30"},
        "LevationPRO": set(),
        "DepressionRET": set(),
        "Extension": {"TC1_current < 0", "FT_angle > 130"},
        "Flexion": {"TC1_current > 0.01", "FT_angle < 50"},
    }
    moved = next(compare_action(fwd, itf, a) for m in itf.modules for a in m.actions if a.short == "retractionLEV")
    assert moved.was == {"CTr_angle < 30": "CTr_angle < 70"}
    assert moved.gone == ("FT_angle < 60",)
    driven = {a.short: compare_action(itf, itb, a).drive for m in itb.modules for a in m.actions}
    assert driven["LevationPRO"] == ("Femur_LevatorPRO: 0.85 \u2192 0.66",)
    assert driven["Extension"] == ()


def test_nothing_is_highlighted_where_nothing_changed():
    wiring = leg("lin_roach")
    sheet = read(event_diagram(wiring, wiring))
    assert not [e for e in sheet.all_rectangles() if e.get("fill") == HIGHLIGHT]
    assert not sheet.paths(stroke=HIGHLIGHT)


def test_highlights_are_drawn_for_each_changed_event():
    sheet = read(event_diagram(leg("lin_roach", "experiment_a", ITF_S), leg("lin_roach", "experiment_a", FWD_S)))
    assert len(sheet.paths(stroke=HIGHLIGHT)) == 7


def test_regions_mark_overlaps_and_tell_them():
    sheet = read(region_diagram(leg("pc_stickmiddle"), "CTr"))
    assert len([e for e in sheet.all_rectangles() if e.get("stroke") == "#b00020"]) >= 2
    assert "both" in sheet.texts()
    clean = read(region_diagram(leg("lin_roach"), "FTi"))
    assert "Nowhere do two rules hold together." in clean.texts()
    assert not [e for e in clean.all_rectangles() if e.get("stroke") == "#b00020"]


def test_region_axes_carry_sensor_unit_and_thresholds():
    texts = read(region_diagram(leg("pc_stickmiddle"), "FTi")).texts()
    assert any(text.startswith("FT_angle (deg)") for text in texts)
    assert any(text.startswith("CTr_current") for text in texts)
    assert any("FT_ext_FTang" in text for text in texts)


def test_three_sensors_are_shown_in_planes_with_the_third_named():
    wiring = changed("lin_roach", {161: "(FT_angle > TC1_proDEP_FTang) & (TC1_current > CTr_dep_TC1_load)"})
    texts = read(region_diagram(wiring, "ThC")).texts()
    titles = [text for text in texts if text.startswith("Thorax-Coxa1, where")]
    assert len(titles) >= 3
    assert any("TC1_current" in title for title in titles)


def test_recorded_sensors_lie_over_their_plane():
    tracks = {"FT_angle": np.linspace(50, 130, 40), "TC1_current": np.linspace(-3, 3, 40)}
    with_path = read(region_diagram(leg("lin_roach"), "FTi", tracks))
    line = with_path.root.find(".//{http://www.w3.org/2000/svg}polyline")
    assert line is not None
    assert len(line.attrib["points"].split()) == 40
    assert "the sensors as recorded;" in with_path.texts()
    assert "the sensors as recorded;" not in read(region_diagram(leg("lin_roach"), "FTi")).texts()
    assert read(region_diagram(leg("lin_roach"), "FTi")).root.find(".//{http://www.w3.org/2000/svg}polyline") is None


def test_an_unknown_joint_is_named_with_those_there_are():
    with pytest.raises(DiagramError, match=r"no joint 'Knee'.*Femur-Tibia"):
        region_diagram(leg("lin_roach"), "Knee")
