"""What SCCILS 0.2 adds, on the page of `nuc ui` in a real browser: controls, clamps, triggers, forced switches."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.test_acting import made
from tests.realtime.daemon import wait_for
from tests.realtime.ui_browser import in_a_bout, needs_axe, needs_browser, set_free

pytestmark = needs_browser

LEV = "CTr_levationPRO_levator_activation"
TOLD = "text => document.getElementById('said').textContent.includes(text)"
HELD = "([name, value]) => nuc.context.desk.values.get(name) === value"
WHEN = (
    '<hdsoscript version="0.2"><when rule="CTr_angle &gt; CTr_angle">'
    '<hdsoMod idNum="107" NumElts="1">77</hdsoMod></when></hdsoscript>'
)
RULES = """() => Object.fromEntries(nuc.live.model.joints.find((joint) => joint.name === 'Thorax-Coxa1').states
.map((state) => {
  const heads = [...document.querySelectorAll("[data-joint='Thorax-Coxa1'] .rule")];
  const head = heads.find((rule) => rule.querySelector('h3').textContent === state.name);
  return [state.rule.name, head.dataset.true === 'yes'];
}))"""
FORCED = (
    "() => [...document.querySelectorAll('.causes')].some((list) => list.textContent.includes('forced, CTr_Levation'))"
)


@pytest.fixture(scope="module")
def served(serve_all, tmp_path_factory):
    """A leg with a control, and a generator that is faster than its steps."""
    example = "Controls + Central pattern generators"
    config = made(tmp_path_factory.mktemp("config") / "acting", example, (">1.5<", ">0.2<"))
    _, served = serve_all(config=str(config))
    served.await_ready()
    return served


@pytest.fixture
def desk(served, ui, tab):
    """The page of joints."""
    watched = tab(ui, viewport={"width": 1280, "height": 800})
    watched.await_live()
    watched.go("joints")
    yield watched
    watched.leave(served)
    set_free(served)


def open_clamps(watched, sensor):
    """Open what clamps a sensor; return the form."""
    form = watched.page.locator("form.clamp", has=watched.page.get_by_label(f"Clamp {sensor}")).first
    if not form.is_visible():
        form.locator("xpath=ancestor::details[1]").locator("summary").click()
    return form


def row(watched, sensor):
    """Return what stands in a sensor's row: measured, sensed."""
    found = watched.page.locator(".senses tr", has=watched.page.get_by_role("rowheader", name=sensor, exact=True))
    return found.locator("td").all_inner_texts()[:2]


@pytest.fixture
def stored():
    """Return a name that a script may be stored under where the daemon keeps its scripts; nothing of it stays."""
    name = "as_the_control_had_it"
    yield name
    Path(__file__).parents[2].joinpath("scripts", f"{name}.xml").unlink(missing_ok=True)


def test_a_control_is_one_slider_what_follows_it_is_refused_and_undo_brings_both_back(served, desk, stalls, stored):
    def trial():
        desk.begin(served, "joints")
        panel = desk.page.get_by_role("region", name="controls")
        desk.until(HELD, [LEV, 0.85])
        field = panel.get_by_label("speed, typed")
        field.fill("0.5")
        field.press("Enter")
        desk.until(TOLD, "speed = 0.5 since cycle")
        desk.until("name => Math.abs(nuc.context.desk.values.get(name) - 0.65) < 1e-6", LEV)
        assert served.value(LEV) == pytest.approx(0.65), "the channel says what it is now, not what was written last"
        desk.until("() => document.querySelector('.controls').innerText.includes('0.65')")
        direct = desk.page.get_by_label(f"{LEV}, typed")
        desk.page.locator("details.more", has=direct).first.locator("summary").click()
        desk.until(f"() => document.querySelector('[aria-label=\"{LEV}, typed\"]').disabled")
        assert direct.is_disabled()
        assert (
            "it follows the control speed"
            in direct.locator("xpath=ancestor::*[contains(@class,'knob')][1]/..").inner_text()
        )
        refused = desk.page.evaluate(
            "name => nuc.live.ask('set', {changes: [[name, 0.5]]}).catch((error) => `${error.message} ${error.hint}`)",
            LEV,
        )
        assert "set the control" in refused
        desk.page.get_by_role("button", name="Keep A").click()
        desk.until("() => nuc.context.desk.kept.some((each) => each.name === 'A')")
        field.fill("0")
        field.press("Enter")
        desk.until("name => Math.abs(nuc.context.desk.values.get(name) - 0.45) < 1e-6", LEV)
        desk.page.get_by_role("button", name="Recall A").click()
        desk.until("name => Math.abs(nuc.context.desk.values.get(name) - 0.65) < 1e-6", LEV)
        desk.page.get_by_role("button", name="Undo").click()
        desk.until("name => Math.abs(nuc.context.desk.values.get(name) - 0.45) < 1e-6", LEV)
        desk.give_back(served)
        assert served.client.save(stored, kind="script", overwrite=True).kind == "script", "no script may write them"

    in_a_bout(stalls, served, trial)


def test_what_is_clamped_stands_beside_what_is_measured_on_every_page_and_the_rules_go_by_it(served, desk, stalls):
    def trial():
        desk.begin(served, "joints")
        form = open_clamps(desk, "CTr_angle")
        assert row(desk, "CTr_angle")[1] == "the same"
        form.get_by_label("sense CTr_angle as").fill("200")
        form.get_by_role("button", name="Clamp").click()
        desk.until(TOLD, "CTr_angle: sensed as 200 since cycle")
        desk.until("() => nuc.live.clamps['CTr_angle'] === 200")
        desk.page.wait_for_timeout(300)
        measured, sensed = row(desk, "CTr_angle")
        assert sensed == "CLAMPED 200.00"
        assert 0 < float(measured) < 180, "the leg is where it is"
        assert "CLAMPED: CTr_angle" in desk.text("#latchtext")
        assert served.value("CTr_angle") == 200
        told = {found["rule"]: found["true"] for found in served.client.rules("Thorax-Coxa1")}
        shown = desk.page.evaluate(RULES)
        by_angle = [name for name in told if "CTr_angle" in str(served.value(name))]
        assert by_angle, "a rule goes by it"
        assert [shown[name] for name in by_angle] == [told[name] for name in by_angle]
        desk.go("traces")
        assert "CLAMPED: CTr_angle" in desk.text("#latchtext")
        desk.go("joints")
        form.get_by_role("button", name="Hold").click()
        desk.until(TOLD, "CTr_angle: sensed as it was since cycle")
        form.get_by_role("button", name="Release").click()
        desk.until("() => nuc.live.clamps['CTr_angle'] === undefined")
        desk.until("() => !document.getElementById('latchtext').textContent")
        desk.page.get_by_role("button", name="Undo").click()
        desk.until("() => nuc.live.clamps['CTr_angle'] === 200")
        desk.page.evaluate("nuc.live.ask('stop', {})")
        desk.until("() => nuc.live.clamps['CTr_angle'] === undefined")
        # There is a leg that senses in a bout only.
        desk.until("() => document.querySelector('[aria-label=\"Clamp CTr_angle\"]').disabled")

    in_a_bout(stalls, served, trial)


def test_what_waits_for_a_rule_is_listed_with_what_it_writes_and_can_be_withdrawn(served, desk, stalls):
    def trial():
        desk.begin(served, "scripts/script/experiment_ga")
        desk.give_back(served)
        served.client.script(WHEN)
        served.client.release_control()
        desk.take_control()
        desk.page.get_by_role("tab", name="Send").click()
        waits = desk.page.locator(".waiting tbody")
        desk.until("() => document.querySelector('.waiting tbody')?.textContent.includes('when CTr_angle > CTr_angle')")
        told = " ".join(waits.inner_text().split())
        assert re.search(r"armed from .*when CTr_angle > CTr_angle: FT_ext_FTang", told)
        waits.get_by_role("button").click()
        desk.until(TOLD, "withdrawn: when CTr_angle > CTr_angle: FT_ext_FTang")
        wait_for(lambda: not served.client.pending(), "nothing that waits", served)

    in_a_bout(stalls, served, trial)


def test_a_forced_switch_is_a_cause_an_event_and_a_mark(served, desk, stalls):
    def trial():
        desk.begin(served, "joints")
        # A leg that feels no load levates for good; ThC1 then has every reason to retract, and none to protract.
        for sensor, value in (("FT_angle", "100"), ("CTr_angle", "0"), ("TC1_current", "-1")):
            form = open_clamps(desk, sensor)
            form.get_by_label(f"sense {sensor} as").fill(value)
            form.get_by_role("button", name="Clamp").click()
            desk.until(TOLD, f"{sensor}: sensed as {value} since cycle")
        desk.until(FORCED)
        head = desk.page.locator("[data-joint='Thorax-Coxa1'] .rule", has_text="or centrally")
        assert "CTr_decay < drive" in head.inner_text()
        assert desk.page.locator(".senses", has_text="CTr_decay").count() == 1, "the signal stands with its joint"
        desk.go("events")
        desk.until("() => document.getElementById('main').textContent.includes('forced_switch')")
        desk.page.evaluate("nuc.live.ask('stop', {})")

    in_a_bout(stalls, served, trial)


@needs_axe
def test_the_page_with_all_of_it_can_be_used_by_who_can_not_see_it(served, desk):
    for details in desk.page.locator("details.more").all():
        details.evaluate("element => { element.open = true; }")
    assert desk.violations() == []
