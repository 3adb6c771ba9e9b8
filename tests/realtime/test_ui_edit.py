"""Edits from the page of `nuc ui` in a real browser: what is acknowledged there is what the engine does and logs."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby

import pytest

from nuc_engine.analysis.load import load_bout
from tests.realtime.daemon import wait_for
from tests.realtime.served import repeat_disturbed
from tests.realtime.ui_browser import another, in_a_bout, needs_browser, written

pytestmark = needs_browser

LEV, DEP, ACTIVATION = "CTr_lev_TC1_load", "CTr_dep_TC1_load", "CTr_levationPRO_levator_activation"
KNOWN = "name => typeof nuc.context.desk.values.get(name) === 'number'"
COUNTED = """() => Object.fromEntries(nuc.live.model.joints.filter(({ states }) => states.length).map((joint) => {
  const shown = [...document.querySelectorAll(`[data-joint='${joint.name}'] .rule-head .fired`)];
  const counts = joint.states.map(({ code }, k) => [code, Number(shown[k].textContent.slice(1))]);
  return [joint.name, Object.fromEntries(counts.filter(([, count]) => count))];
}))"""
SHOWN = "([name, value]) => document.querySelector(`input[aria-label='${name}, typed']`)?.value === String(value)"
OPEN = "name => !document.querySelector(`input[aria-label='${name}']`).disabled"
CLOSED = "name => document.querySelector(`input[aria-label='${name}, typed']`).disabled"
TOLD = "text => document.getElementById('said').textContent.includes(text)"


@pytest.fixture
def desk(served, ui, tab):
    """The page of joints."""
    watched = tab(ui, viewport={"width": 1280, "height": 800})
    watched.await_live()
    watched.go("joints")
    watched.until(KNOWN, LEV)
    yield watched
    watched.leave(served)


def begin(served, watched):
    """Begin a bout, and let the page have control of it."""
    watched.begin(served, "joints")
    watched.until(OPEN, LEV)


def runs(served):
    assert served.words()["mode"] == "RUNNING", "the bout has ended"


def drag(watched, name, shares):
    """Drag a slider through these shares of its width."""
    slider = watched.page.get_by_label(name, exact=True)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    at = [(box["x"] + 8 + share * (box["width"] - 16), box["y"] + box["height"] / 2) for share in shares]
    watched.page.mouse.move(*at[0])
    watched.page.mouse.down()
    for place in at[1:]:
        watched.page.mouse.move(*place)
        watched.page.wait_for_timeout(15)
    watched.page.mouse.up()


def asks(watched):
    """Note from now on what the page asks the daemon for; return what tells of it: parameters by method."""
    watched.page.evaluate("""() => {
      nuc.asked = [];
      nuc.asking ??= nuc.live.ask.bind(nuc.live);
      nuc.live.ask = (method, params) => (nuc.asked.push([method, params ?? {}]), nuc.asking(method, params));
    }""")
    return lambda wanted: [params for method, params in watched.page.evaluate("nuc.asked") if method == wanted]


def refusals(watched):
    return "".join(watched.page.locator(".knob-refusal").all_inner_texts())


def told(watched, name):
    """Wait for what the footer says of an edit; return value and cycle."""
    watched.until(TOLD, f"{name} = ")
    found = re.search(rf"{name} = (\S+) since cycle (\d+)", watched.text("#said"))
    assert found is not None, watched.text("#said")
    return float(found[1]), int(found[2])


def finish(served, watched):
    """Give control back, and end the bout; return its data directory."""
    runs(served)
    watched.give_back(served)
    return served.finish_bout()


def test_a_drag_is_acknowledged_logged_and_undone_as_one(served, desk, stalls):
    def trial():
        begin(served, desk)
        before = served.value(LEV)
        depth = served.words()["undo"]
        drag(desk, LEV, [0.55 + 0.01 * k for k in range(30)])
        value, cycle = told(desk, LEV)
        assert served.value(LEV) == pytest.approx(value)
        assert served.words()["undo"] == depth + 1, "a drag is one step of undo"
        newest = served.client.history().done[0]
        assert (newest["cycle"], newest["changes"][0]["before"]) == (cycle, before)
        assert "(page)" in newest["author"]
        desk.page.get_by_role("button", name="Undo").click()
        desk.until(SHOWN, [LEV, before])
        desk.page.get_by_role("button", name="Redo").click()
        desk.until(SHOWN, [LEV, value])
        desk.page.locator(".edits summary").click()
        desk.until(
            "text => document.querySelector('.edits').textContent.includes(text)", f"{LEV}: {before:g} → {value:g}"
        )
        folder = finish(served, desk)
        writes = [value for _, value in written(folder, LEV)]
        assert writes[-3:] == pytest.approx([value, before, value])
        assert len(writes) > 5, "the values on the way are logged too"

    in_a_bout(stalls, served, trial)


def test_what_is_typed_is_held_against_its_range_and_keys_go_in_steps(served, desk):
    served.client.release_control()
    desk.take_control()
    desk.until(OPEN, DEP)
    before = served.value(DEP)
    field = desk.page.get_by_label(f"{DEP}, typed")
    field.fill("99")
    field.press("Enter")
    assert "above the largest valid value, 20" in refusals(desk)
    assert (field.get_attribute("aria-invalid"), field.input_value()) == ("true", "99"), "it stays, to be mended"
    field.press("Escape")
    assert (field.get_attribute("aria-invalid"), field.input_value()) == (None, f"{before:g}")
    asked = asks(desk)
    field.fill("0.5")
    field.press("Tab")
    assert "not sent: Enter sends" in refusals(desk)
    assert field.input_value() == f"{before:g}"
    assert asked("set") == []
    field.fill("0.25")
    field.press("Enter")
    assert told(desk, DEP)[0] == 0.25
    slider = desk.page.get_by_label(DEP, exact=True)
    slider.press("ArrowRight")
    desk.until(SHOWN, [DEP, 0.35])
    slider.press("Shift+ArrowLeft")
    desk.until(SHOWN, [DEP, 0.34])
    wait_for(lambda: served.value(DEP) == 0.34, "the value of the keys", served)
    with another(served):
        desk.until(CLOSED, DEP)


def test_another_persons_edit_shows_and_two_sets_are_kept(served, desk, stalls):
    def trial():
        begin(served, desk)
        page = desk.page
        page.get_by_role("button", name="Keep A").click()
        desk.until("() => nuc.context.desk.kept.some((each) => each.name === 'A')")
        kept = served.value(LEV)
        theirs = -1.25 if kept != -1.25 else -1.5
        with another(served) as other:
            other.set({LEV: theirs})
            desk.until(SHOWN, [LEV, theirs])
        desk.take_control()
        page.get_by_role("button", name="Keep B").click()
        desk.until("() => /1 value unlike/.test(document.querySelector('.changes').textContent)")
        page.get_by_role("button", name="Recall A").click()
        desk.until(SHOWN, [LEV, kept])
        page.get_by_role("button", name="Recall B").click()
        desk.until(SHOWN, [LEV, theirs])
        desk.go("values")
        row = page.locator(".values tr", has=page.get_by_label(f"{LEV}, typed"))
        assert "changed" in row.get_attribute("class")
        page.get_by_label("changed only").check()
        page.wait_for_timeout(500)
        assert row.is_visible()
        assert page.get_by_label(f"{ACTIVATION}, typed").is_hidden()
        desk.until("() => document.querySelector('.values tr.changed').children[4].textContent !== '–'")
        runs(served)
        page.get_by_role("button", name="Synchronize").click()
        desk.until("() => /in the HDSO log/.test(document.querySelector('.page-values').textContent)")
        folder = finish(served, desk)
        assert "Amatrix" in (folder / "HDSOlog.xml").read_text()

    in_a_bout(stalls, served, trial)


def test_what_is_tried_goes_back_by_itself_unless_it_is_kept(served, desk, stalls):
    def trial():
        begin(served, desk)
        page = desk.page
        before = served.value(DEP)
        tried = 1.75 if before != 1.75 else 1.5
        page.get_by_label("seconds to try for").fill("1.5")
        page.get_by_role("checkbox", name="try for").check()
        field = page.get_by_label(f"{DEP}, typed")
        field.fill(str(tried))
        field.press("Enter")
        wait_for(lambda: served.value(DEP) == tried, "what is tried", served)
        desk.until(CLOSED, DEP)
        desk.until("() => /back to .* in \\d/.test(document.querySelector('.page-joints').textContent)")
        desk.until(SHOWN, [DEP, before])
        assert served.value(DEP) == pytest.approx(before)
        page.get_by_label("seconds to try for").fill("60")
        desk.until(f"name => !({CLOSED})(name)", DEP)
        field.fill(str(tried))
        field.press("Enter")
        desk.until(CLOSED, DEP)
        page.locator(".knob-trial:visible").get_by_role("button", name="Keep").click()
        desk.until(TOLD, f"{DEP} stays")
        wait_for(lambda: not served.client.pending(), "the edit that is withdrawn", served)
        assert served.value(DEP) == tried
        page.get_by_role("checkbox", name="try for").uncheck()

    in_a_bout(stalls, served, trial)


def test_a_drag_that_is_tried_is_asked_for_once_and_for_no_time_not_at_all(served, desk, stalls):
    def trial():
        begin(served, desk)
        page = desk.page
        before = served.value(LEV)
        seconds = page.get_by_label("seconds to try for")
        seconds.fill("")
        page.get_by_role("checkbox", name="try for").check()
        asked = asks(desk)
        drag(desk, LEV, [0.5, 0.6, 0.7])
        assert "say for how many seconds" in refusals(desk)
        assert (asked("set"), served.value(LEV)) == ([], before)
        seconds.fill("1")
        drag(desk, LEV, [0.5 + 0.01 * k for k in range(20)])
        desk.until(CLOSED, LEV)
        desk.until(SHOWN, [LEV, before])
        assert [params["back_after_s"] for params in asked("set")] == [1], "both pointer and slider tell of the end"
        page.get_by_role("checkbox", name="try for").uncheck()

    in_a_bout(stalls, served, trial)


def test_a_drag_ends_where_control_is_lost_and_nothing_of_it_comes_later(served, desk, stalls):
    def trial():
        begin(served, desk)
        page = desk.page
        asked = asks(desk)
        box = page.get_by_label(LEV, exact=True).bounding_box()
        at = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
        page.mouse.move(*at)
        page.mouse.down()
        page.mouse.move(at[0] + 10, at[1])
        desk.until("() => nuc.asked.some(([method]) => method === 'set')")
        with another(served):
            desk.until(f"name => ({CLOSED})(name)", LEV)
            sent = len(asked("set"))
            held = served.value(LEV)
            for k in range(10):
                page.mouse.move(at[0] + 20 + k, at[1])
            page.mouse.up()
            desk.until(SHOWN, [LEV, held])
            assert len(asked("set")) == sent
        desk.take_control()
        page.wait_for_timeout(300)
        assert len(asked("set")) == sent

    in_a_bout(stalls, served, trial)


def test_what_keys_were_about_to_try_is_not_tried_once_something_else_was_asked_for(served, desk, stalls):
    def trial():
        begin(served, desk)
        page = desk.page
        served.client.take_control(force=True)
        before = served.value(DEP)
        served.client.set({DEP: before + 0.5})
        served.client.release_control()
        desk.take_control()
        desk.until(SHOWN, [DEP, before + 0.5])
        page.get_by_label("seconds to try for").fill("60")
        page.get_by_role("checkbox", name="try for").check()
        asked = asks(desk)
        page.evaluate(
            """name => {
          const range = document.querySelector(`input[aria-label='${name}']`);
          range.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
          [...document.querySelectorAll('.page-joints button')].find((each) => each.textContent === 'Undo').click();
        }""",
            DEP,
        )
        desk.until(TOLD, "undone")
        page.wait_for_timeout(1200)
        assert asked("set") == []
        desk.until(SHOWN, [DEP, before])
        assert "something else was asked for" in refusals(desk)
        page.get_by_role("checkbox", name="try for").uncheck()

    in_a_bout(stalls, served, trial)


LAG = """() => {
  const take = nuc.live.take.bind(nuc.live);
  let seed = 7;
  nuc.live.take = (message) => {
    seed = (seed * 16807) % 2147483647;
    if (message.id === undefined) take(message);
    else setTimeout(() => take(message), 300 + (seed % 2700));
  };
}"""
REFUSED = "text => [...document.querySelectorAll('.knob-refusal')].some((each) => each.textContent.includes(text))"
RESTS = "() => !document.querySelector('.knob.turned')"


def test_behind_a_slow_daemon_a_slider_shows_what_is_in_force_or_says_what_was_not_sent(served, desk, stalls):
    desk.page.evaluate(LAG)

    def trial():
        begin(served, desk)
        asked = asks(desk)
        for shares in ([0.3 + 0.01 * k for k in range(30)], [0.7 - 0.01 * k for k in range(20)]):
            drag(desk, LEV, shares)
        desk.until(RESTS)
        desk.page.wait_for_timeout(3500)
        held = served.value(LEV)
        desk.until(SHOWN, [LEV, round(held, 6)])
        last = asked("set")[-1]["changes"][0][1]
        assert last == pytest.approx(held)
        assert len(asked("set")) >= 1

    in_a_bout(stalls, served, trial)


def test_somebody_elses_edit_is_told_to_who_types_and_what_is_typed_stays(served, desk, stalls):
    def trial():
        begin(served, desk)
        field = desk.page.get_by_label(f"{DEP}, typed")
        theirs = 2.5 if field.input_value() != "2.5" else 2.25
        field.fill("3.125")
        desk.page.evaluate("change => void nuc.live.ask('set', { changes: [change] })", [DEP, theirs])
        desk.until(REFUSED, f"set it to {theirs} meanwhile")
        assert field.input_value() == "3.125"
        field.press("Escape")
        assert field.input_value() == str(theirs)

    in_a_bout(stalls, served, trial)


def test_every_change_of_action_is_counted_and_explained_as_the_log_has_it(served, ui, tab, stalls):
    watched = tab(ui, viewport={"width": 1280, "height": 800})
    watched.await_live()
    watched.go("joints")
    watched.until(KNOWN, LEV)

    def trial():
        # What switches in a bout that is under way would be counted too.
        if served.words()["mode"] == "RUNNING":
            served.client.stop()
        watched.until("() => nuc.live.now('bout') === 0")
        watched.page.get_by_role("button", name="Count anew").click()
        served.run_bout(5.0)

    repeat_disturbed(stalls, trial)
    data = load_bout(served.finish_bout())
    watched.page.wait_for_timeout(500)
    counted = watched.page.evaluate(COUNTED)
    switches = 0
    # A record for the page is made with each exchange: what switched after the last one is in the log alone.
    told = data.states.t_s <= data.motor.t_s[-1]
    for joint in data.joints:
        codes = [code for code, _ in groupby(data.states.column(joint.action)[told].tolist())][1:]
        switches += len(codes)
        assert counted.get(joint.name, {}) == {str(int(code)): times for code, times in Counter(codes).items()}
    assert switches > 10
    assert "not by what is known" not in watched.text(".joint-grid")
    causes = watched.page.locator("[data-joint='Coxa-Trochanter'] .causes li").count()
    assert causes == min(5, sum(counted["Coxa-Trochanter"].values()))
    assert watched.complaints == []
