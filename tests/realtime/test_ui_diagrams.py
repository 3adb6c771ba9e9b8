"""The page of diagrams of `nuc ui` in a real browser: what it lights, and boundaries of regions that are dragged."""

from __future__ import annotations

import shutil
import signal

import pytest

from tests.realtime.daemon import wait_for
from tests.realtime.served import repeat_disturbed
from tests.realtime.ui_browser import another, in_a_bout, needs_axe, needs_browser, written

pytestmark = needs_browser

ACROSS, UP = "TC1_retLEV_FTang", "TC1_retLEV_CTang"
HOSTILE = "<img src=x onerror=hacked=1>"
REGIONS = "diagrams/regions/Thorax-Coxa1"
DRAWN = "() => document.querySelector('.page-diagrams .diagram svg')"
GRIP = """name => {
  const grip = document.querySelector(`[data-parameter=${name}][role=slider] .boundary-grip`);
  grip.scrollIntoView({ block: 'nearest' });
  const { x, y, width, height } = grip.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}"""
VALUE = "([name, value]) => Number(document.querySelector(`[data-parameter=${name}]`)?.dataset.value) === value"
THEN = VALUE.replace("`[data", "`.bout-diagram .diagram:not([data-old]) [data")
MOVABLE = "name => document.querySelector(`[data-parameter=${name}][role=slider]:not([aria-disabled])`)"
STALE = "() => document.body.classList.contains('stale')"
LIT = """() => {
  const { live } = nuc, values = nuc.context.desk.values;
  const of = (name) => live.index.has(name) ? live.now(name) : Math.fround(values.get(name));
  return [...document.querySelectorAll('[data-part=comparison]')].map(({ dataset }) => {
    const [left, op, right] = dataset.when.split(' ');
    const is = op === '<' ? of(left) < of(right) : of(left) > of(right);
    return [dataset.when, dataset.true, is ? 'yes' : 'no'];
  });
}"""
LIT_NOW = f"() => {{ nuc.page.frame(performance.now()); return ({LIT})(); }}"
NOW = """() => {
  nuc.page.frame(performance.now());
  const lit = [...document.querySelectorAll('[data-part=action][data-now=yes]')];
  const shown = lit.map(({ dataset }) => Number(dataset.action));
  const joints = nuc.live.model.joints.filter(({ states }) => states.length);
  const is = joints.map(({ name }) => nuc.live.now(`${name}.state`));
  return [shown.sort(), is.sort()];
}"""
TREE = [
    "svg",
    {"width": "10", "height": "10", "onload": "hacked=1", "style": "color:red", "xmlns:x": "y"},
    ["title", {}, HOSTILE],
    ["script", {}, "hacked=1"],
    ["foreignObject", {}, ["img", {"src": "x", "onerror": "hacked=1"}]],
    ["a", {"href": "javascript:hacked=1"}, ["text", {}, "x"]],
    ["use", {"href": "http://127.0.0.1:9/x.svg#y"}],
    ["image", {"href": "http://127.0.0.1:9/x.png"}],
    ["style", {}, "* { background: url(http://127.0.0.1:9/) }"],
    ["animate", {"attributeName": "href", "to": "javascript:hacked=1"}],
    ["g", {"data-part": "action", "data-when": HOSTILE, "data-action": "x", "onclick": "hacked=1", "id": "torque-off"},
        ["rect", {"fill": "url(http://127.0.0.1:9/#a)", "clip-path": "url(#window1)", "stroke": "u\\72l(//x)"}],
        ["rect", {"fill": "url(#hatch1-0)", "x": "1", "y": "1"}],
        ["text", {"x": "1"}, HOSTILE]],
    ["g", {"data-part": "state", "data-state": "1 __proto__"}],
]  # fmt: skip
BUILD = """async (tree) => {
  const { DiagramView } = await import('/diagram.js');
  const view = new DiagramView();
  document.querySelector('main').append(view.element);
  view.show({ svg: tree, thresholds: {} });
  view.light(() => null, new Set());
  view.dots(null, new Map(), 0, -1);
  await new Promise((go) => setTimeout(go, 300));
  const all = [...view.svg.querySelectorAll('*'), view.svg];
  const [drawn, first] = [view.svg.querySelector('rect[x]'), view.svg.querySelector('rect')];
  const told = {
    tags: [...new Set(all.map(({ localName }) => localName))].sort(),
    names: all.flatMap((each) => each.getAttributeNames()).filter((name) => /^on|href|src|style|^xmlns/.test(name)),
    texts: [...view.svg.querySelectorAll('text:not([class])')].map(({ textContent }) => textContent),
    label: view.svg.getAttribute('aria-label'),
    fills: [...['fill', 'clip-path', 'stroke'].map((name) => first.getAttribute(name)), drawn.getAttribute('fill')],
    ids: document.querySelectorAll('#torque-off').length,
  };
  view.element.remove();
  return told;
}"""


@pytest.fixture
def page(served, ui, tab):
    """A tab at the regions of one joint."""
    watched = tab(ui, viewport={"width": 1280, "height": 900})
    watched.await_live()
    watched.go(REGIONS)
    watched.until(DRAWN)
    yield watched
    assert watched.elsewhere() == []
    watched.leave(served)


def begin(served, watched):
    """Begin a bout, and let the page, at the regions of a joint, have control of it."""
    watched.begin(served, REGIONS)
    watched.until(MOVABLE, ACROSS)


def grip_of(watched, name):
    """Return where a boundary is held, in pixels; at once, since it may be drawn anew at any time."""
    return watched.page.evaluate(GRIP, name)


def drag(watched, name, by, steps=24):
    """Drag a boundary by so many pixels across and down."""
    x, y = grip_of(watched, name)
    watched.page.mouse.move(x, y)
    watched.page.mouse.down()
    for k in range(1, steps + 1):
        watched.page.mouse.move(x + by[0] * k / steps, y + by[1] * k / steps)
        watched.page.wait_for_timeout(15)
    watched.page.mouse.up()


def test_a_boundary_that_is_dragged_is_its_threshold_logged_and_undone_as_one(served, page, stalls):
    def trial():
        begin(served, page)
        for name, by in ((ACROSS, (34, 5)), (UP, (5, -34))):
            before = served.value(name)
            depth = served.words()["undo"]
            page.until(VALUE, [name, before])
            drag(page, name, by)
            page.until("name => document.getElementById('said').textContent.includes(`${name} = `)", name)
            wait_for(lambda name=name, was=before: served.value(name) > was, "the value", served)
            page.page.wait_for_timeout(300)
            value = served.value(name)
            page.until(VALUE, [name, value])
            assert value == pytest.approx(round(value)), "quantum steps"
            assert served.words()["undo"] == depth + 1, "a drag is one step of undo"
            newest = served.client.history().done[0]
            assert (newest["changes"][0]["name"], newest["changes"][0]["before"]) == (name, before)
            assert "(page)" in newest["author"]
            assert page.page.evaluate("document.activeElement.dataset.parameter") == name, (
                "it has the focus, drawn anew"
            )
            page.page.keyboard.press("ArrowUp")
            wait_for(lambda name=name, at=value: served.value(name) == at + 1, "a step", served)
            page.until(VALUE, [name, value + 1])
            page.page.get_by_role("button", name="Undo", exact=True).click()
            page.until(VALUE, [name, value])
            page.page.get_by_role("button", name="Undo", exact=True).click()
            page.until(VALUE, [name, before])
        page.give_back(served)
        writes = [value for _, value in written(served.finish_bout(), UP)]
        assert writes[-4:] == pytest.approx([value, value + 1, value, before])
        assert len(writes) > 6, "the values on the way are logged too"

    in_a_bout(stalls, served, trial)


def test_without_control_nothing_is_moved_and_a_drag_ends_where_it_is_lost(served, page, stalls):
    def trial():
        begin(served, page)
        x, y = grip_of(page, ACROSS)
        page.page.mouse.move(x, y)
        page.page.mouse.down()
        page.page.mouse.move(x + 10, y)
        with another(served) as other:
            page.until(f"name => !({MOVABLE})(name)", ACROSS)
            held = other.get([ACROSS]).values[ACROSS]
            page.page.mouse.move(x + 40, y)
            page.page.mouse.up()
            drag(page, ACROSS, (-30, 0))
            page.page.keyboard.press("ArrowLeft")
            page.page.wait_for_timeout(300)
            assert other.get([ACROSS]).values[ACROSS] == held
            assert page.page.locator(".boundary-ghost").get_attribute("visibility") == "hidden"
            # Whoever else sets it: the diagram is of that.
            theirs = 55.0 if held != 55.0 else 57.0
            other.set({ACROSS: theirs})
            page.until(VALUE, [ACROSS, theirs])
            other.set({ACROSS: 60.0})
            page.until(VALUE, [ACROSS, 60.0])

    in_a_bout(stalls, served, trial)


def test_what_is_lit_is_what_is_true_and_the_actions_are_those_of_the_joints(served, page, stalls):
    def trial():
        begin(served, page)
        page.page.get_by_role("button", name="Event space").click()
        page.until("() => document.querySelector('[data-part=comparison][data-true]')")
        seen = set()
        for _ in range(20):
            found = page.page.evaluate(LIT_NOW)
            assert len(found) == 9
            assert [each[1] for each in found] == [each[2] for each in found], found
            seen |= {(each[0], each[1]) for each in found}
            shown, now = page.page.evaluate(NOW)
            assert shown == now
            page.page.wait_for_timeout(60)
        assert len(seen) > 9, "something has changed"
        page.until("() => document.querySelector('[data-part=action][data-flash]')")
        page.page.get_by_role("button", name="Global states").click()
        page.until("() => document.querySelector('[data-part=state][data-now=yes]')")
        page.page.get_by_role("button", name="Regions").click()
        page.until("() => document.querySelector('[data-part=plane] .dots:nth-of-type(1)')?.getAttribute('d')")
        assert page.page.locator(".dot-now").first.get_attribute("transform")

    in_a_bout(stalls, served, trial)


def test_what_is_not_live_is_greyed_and_nothing_is_moved_then(served, ui, page, stalls):
    def trial():
        begin(served, page)
        held = served.value(ACROSS)
        ui.process.send_signal(signal.SIGSTOP)
        try:
            page.until(STALE)
            assert "grayscale" in page.page.evaluate("getComputedStyle(document.querySelector('.diagram')).filter")
            page.until(f"name => !({MOVABLE})(name)", ACROSS)
            drag(page, ACROSS, (40, 0))
        finally:
            ui.process.send_signal(signal.SIGCONT)
        page.until(f"() => !({STALE})()")
        page.until("() => getComputedStyle(document.querySelector('.diagram')).filter === 'none'")
        assert served.value(ACROSS) == held

    in_a_bout(stalls, served, trial)


def test_a_diagram_is_tags_and_texts_that_are_known_and_nothing_else(page):
    told = page.page.evaluate(BUILD, TREE)
    assert set(told["tags"]) <= {"svg", "g", "rect", "text", "title", "circle", "path"}
    assert told["names"] == []
    assert told["texts"] == [HOSTILE]
    assert told["label"] == HOSTILE
    assert told["fills"] == [None, "url(#diagram-window1)", None, "url(#diagram-hatch1-0)"]
    assert told["ids"] == 1, "nothing else is called as the button is"
    assert page.page.evaluate("globalThis.hacked") is None


def test_a_bouts_diagram_goes_with_its_time_and_its_name_is_text(served, page, stalls):
    folders = []

    def record():
        served.run_bout()
        served.client.set({UP: 66.0})
        page.page.wait_for_timeout(400)
        served.client.set({UP: 70.0})
        page.page.wait_for_timeout(400)  # records with it
        assert served.words()["mode"] == "RUNNING", "the bout has ended"
        folders.append(served.finish_bout())

    repeat_disturbed(stalls, record)
    odd = folders[-1].with_name(HOSTILE)
    shutil.copytree(folders[-1], odd)
    try:
        page.go("bouts")
        page.page.get_by_role("link", name=HOSTILE).click()
        page.until("() => /record/.test(document.querySelector('.player')?.textContent ?? '')")
        page.page.locator(".bout-diagram summary").click()
        page.page.get_by_label("which diagram").select_option("regions")
        for at, value in ((0.05, 70.0), (written(odd, UP)[-1][0] - 0.2, 66.0), (99.0, 70.0)):
            page.page.get_by_label("time in the bout").fill(f"{at:.3f}")
            page.until(THEN, [UP, value])
        page.until("() => document.querySelector('.bout-diagram [data-part=action][data-now=yes]')")
        assert HOSTILE in page.page.locator(".bout-diagram svg").text_content()
        page.page.get_by_label("which diagram").select_option("actual")
        page.until("() => document.querySelector('.bout-diagram [data-part=state][data-now=yes]')")
        assert page.page.evaluate("globalThis.hacked") is None
    finally:
        shutil.rmtree(odd)
        served.client.release_control()


@needs_axe
def test_every_diagram_can_be_used_by_all(page):
    for kind in ("sensory-flow", "event-space", "regions", "states"):
        page.go(f"diagrams/{kind}")
        page.until(DRAWN)
        page.page.wait_for_timeout(400)
        assert page.violations() == [], kind
