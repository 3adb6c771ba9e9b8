"""The page of scripts in a real browser, beside a real daemon with an emulated leg."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nuc_engine.recording.files import SCRIPT_LOG
from tests.realtime.daemon import wait_for
from tests.realtime.ui_browser import needs_axe, needs_browser, set_free

pytestmark = needs_browser

WRONG = """<?xml version="1.0" encoding="UTF-8"?>
<hdsoscript name="tried" ScriptType="LegScript">
  <hdsoMod idNum="101" NumElts="1" time="0.3">-0.5</hdsoMod>
  <hdsoMod idNum="99999" NumElts="1" time="0.4">0.25</hdsoMod>
</hdsoscript>
"""
RIGHT = WRONG.replace("99999", "102").replace("</hdsoscript>", "") + (
    '  <gradual time="0.5" duration="0.4" steps="4"><hdsoMod idNum="103" NumElts="1">66</hdsoMod></gradual>\n'
    "</hdsoscript>\n"
)
LONG = """(area, line) => {
  area.value = `<hdsoscript>\\n${line.repeat(17000)}</hdsoscript>`;
  area.dispatchEvent(new Event('input'));
}"""
TYPE = """() => {
  const area = document.querySelector('.editor-text'), bare = document.createElement('textarea');
  bare.wrap = 'off';
  bare.value = area.value;
  bare.style.height = '300px';
  document.body.append(bare);
  const took = [area, bare].map(() => []);
  for (let k = 0; k < 20; k += 1) [area, bare].forEach((each, at) => {
    each.focus();
    each.setSelectionRange(5e5, 5e5);
    each.scrollTop;
    const began = performance.now();
    document.execCommand('insertText', false, 'x');
    each.scrollTop;
    took[at].push(performance.now() - began);
  });
  bare.remove();
  return took.map((all) => all.sort((a, b) => a - b)[10]);
}"""
CHECKED = "() => !/checking/.test(document.querySelector('.below').textContent)"
COURSE = """() => document.querySelectorAll('.changes tbody tr').length === 3
  && document.querySelectorAll('.timeline .lane').length === 3"""
WAITS = "() => /CTr_lev_TC1_load/.test(document.querySelector('.waiting').textContent)"


def in_control(served, ui, tab):
    """Return a tab at the scripts that has control."""
    set_free(served)
    watched = tab(ui)
    watched.await_live()
    watched.take_control()
    watched.go("scripts")
    watched.until("() => document.querySelectorAll('.doc-list a').length > 20")
    return watched


def begun(watched, words):
    """Begin a script with these words; return the element that holds its text."""
    watched.page.get_by_role("button", name="New script").click()
    text = watched.page.get_by_label("text of the document")
    text.fill(words)
    return text


def part(watched, name):
    watched.page.get_by_role("tab", name=name).click()


def test_a_script_is_written_mended_tried_and_sent_and_its_changes_are_in_the_data(served, ui, tab):
    pytest.importorskip("mujoco")
    watched = in_control(served, ui, tab)
    page = watched.page
    text = begun(watched, WRONG)
    watched.until("() => document.querySelector('.problem-list .error')")
    assert "line 4" in watched.text(".problem-list")
    assert watched.text(".editor-numbers .error").endswith("4")
    assert "99999" in watched.text(".editor-note.error")
    assert text.get_attribute("aria-invalid") == "true"
    page.get_by_role("button", name="line 4").click()
    assert "99999" in page.evaluate("getSelection().toString()")
    page.keyboard.press("F8")

    # The number is mended by what is offered for it.
    at = WRONG.index("99999")
    text.evaluate("(area, [from, to]) => { area.focus(); area.setSelectionRange(from, to); }", [at, at + 5])
    page.keyboard.press("Delete")
    page.keyboard.press("Control+ ")
    page.keyboard.type("102")
    assert "CTr_dep_TC1_load" in watched.text(".editor-offers [aria-selected=true]")
    page.keyboard.press("Enter")
    assert text.input_value() == WRONG.replace("99999", "102")
    watched.until("() => /nothing is wrong/.test(document.querySelector('.below').textContent)")

    text.fill(RIGHT)
    part(watched, "Timeline")
    watched.until(COURSE)
    assert "over 0.40 s in 4 steps" in watched.text(".changes")
    part(watched, "Difference")
    page.get_by_role("button", name="Values against what runs").click()
    watched.until("() => /-0.5 at 0.30 s/.test(document.querySelector('.differences').textContent)")

    part(watched, "Dry run")
    page.get_by_label("duration, s").fill("1.2")
    page.get_by_role("button", name="Dry run").click()
    watched.until("() => document.querySelector('.dry-runs a')")
    assert "RUNNING" not in served.words()["mode"]

    part(watched, "Send")
    watched.until("() => !document.querySelector('.part:not([hidden]) .primary').disabled")
    page.get_by_role("button", name="Send", exact=True).click()
    watched.until(WAITS)
    assert page.evaluate("nuc.live.welcome.author") in watched.text(".waiting")
    page.get_by_role("button", name="Withdraw all").click()
    watched.until("() => /nothing waits/.test(document.querySelector('.waiting').textContent)")
    assert list(served.client.pending()) == []
    page.get_by_role("button", name="Send", exact=True).click()
    watched.until(WAITS)
    page.evaluate("nuc.live.ask('run')")
    watched.until("() => /nothing waits/.test(document.querySelector('.waiting').textContent)")
    page.evaluate("nuc.live.ask('stop')")
    wait_for(served.bouts, "a data directory", served)
    folder = served.await_whole(served.bouts()[-1])
    log = (folder / SCRIPT_LOG).read_text(encoding="utf-8")
    for idnum in (101, 102, 103):
        assert f'idNum="{idnum}"' in log

    part(watched, "Dry run")
    page.locator(".dry-runs a").click()
    watched.until("() => document.querySelector('.dry-run') && document.querySelectorAll('.player .lane').length > 3")
    assert "DRY RUN" in watched.text(".bout")
    assert page.get_by_role("button", name="summary states").is_enabled()
    assert watched.complaints == []
    assert watched.elsewhere() == []


def test_a_document_of_a_megabyte_can_be_edited(ui, tab):
    watched = tab(ui)
    page = watched.page
    watched.await_live()
    watched.go("scripts/script/experiment_ga")
    watched.until("() => document.querySelector('.editor-text')?.value")
    line = '  <hdsoMod idNum="101" NumElts="1" time="0">0.1</hdsoMod>\n'
    text = page.get_by_label("text of the document")
    text.evaluate(LONG, line)
    watched.until(CHECKED)
    text.focus()
    ours_ms, bare_ms = page.evaluate(TYPE)
    assert ours_ms < 2 * bare_ms + 20, "a key costs what it costs in a bare text field, and little more"
    watched.until("() => document.querySelector('.problem-list .error')")
    assert page.evaluate("nuc.live.open")
    assert watched.complaints == []
    page.close()


SENDS = """() => {
  globalThis.sent = [];
  const { live } = nuc, ask = live.ask.bind(live);
  live.ask = async (method, params) => {
    if (['script', 'forget', 'store_script'].includes(method)) sent.push([method, params]);
    await new Promise((done) => setTimeout(done, globalThis.lagMs ?? 0));
    if (method === 'validate') globalThis.validated?.();
    return ask(method, params);
  };
}"""


def test_what_is_sent_is_what_is_shown_and_once(served, ui, tab):
    watched = in_control(served, ui, tab)
    page = watched.page
    text = begun(watched, RIGHT)
    part(watched, "Send")
    watched.until("() => !document.querySelector('.part:not([hidden]) .primary').disabled")
    page.evaluate(SENDS)
    send = page.get_by_role("button", name="Send", exact=True)
    send.dblclick()
    watched.until(WAITS)
    # A key that is held clicks again and again.
    send.focus()
    page.keyboard.down("Enter")
    for _ in range(8):
        page.keyboard.down("Enter")
        page.wait_for_timeout(100)
    page.keyboard.up("Enter")
    assert [method for method, _ in page.evaluate("sent")] == ["script", "script"], "one for each press"
    assert page.evaluate("sent[0][1].text") == RIGHT

    # Wrong since it was checked: refused at its line, and nothing goes out.
    page.evaluate("sent.length = 0")
    text.fill(WRONG)
    send.click()
    watched.until("() => /was not sent: line 4/.test(document.getElementById('said').textContent)")
    # Edited while it is checked: what would go out is not what is shown.
    text.fill(RIGHT)
    watched.until(CHECKED)
    page.wait_for_timeout(500)
    edit = "at.value += ' '; at.dispatchEvent(new Event('input'));"
    edit = f"const at = document.querySelector('.editor-text'); {edit}"
    page.evaluate(f"() => {{ globalThis.validated = () => {{ globalThis.validated = null; {edit} }}; }}")
    send.click()
    watched.until("() => /changed while it was checked/.test(document.getElementById('said').textContent)")
    assert page.evaluate("sent") == []

    page.get_by_role("button", name="Withdraw CTr").first.click()
    watched.until("() => /withdrawn: CTr_/.test(document.getElementById('said').textContent)")
    page.get_by_role("button", name="Withdraw all").click()
    watched.until("() => /withdrawn: .*CTr_/.test(document.getElementById('said').textContent)")
    watched.until("() => /nothing waits/.test(document.querySelector('.waiting').textContent)")
    assert watched.complaints == []
    page.close()


def test_no_text_is_lost_by_another_one_nor_by_a_reload(served, ui, tab):
    watched = in_control(served, ui, tab)
    page = watched.page
    for words in ("<!-- first -->", "<!-- second -->"):
        text = begun(watched, words)
    assert page.get_by_label("name", exact=True).input_value() == "new_script_2"
    upload = page.get_by_label("upload files")
    upload.set_input_files([{"name": "new_script.xml", "mimeType": "", "buffer": b"<!-- third -->"}])
    watched.until("() => document.querySelector('.editor-text').value.includes('third')")
    upload.set_input_files([{"name": "é <b>.xml", "mimeType": "", "buffer": b"<!-- fourth -->"}])
    watched.until("() => document.querySelector('.editor-text').value.includes('fourth')")
    watched.go("scripts/script/experiment_ga")
    watched.until("() => document.querySelector('.editor-text').value.length > 200")
    page.reload()
    watched.until("() => globalThis.nuc?.live.open && document.querySelectorAll('.doc-list a').length > 20")
    for name, words in (("new_script", "first"), ("new_script_2", "second"), ("new_script_3", "third")):
        watched.go(f"scripts/script/{name}")
        watched.until("words => document.querySelector('.editor-text')?.value.includes(words)", words)
        assert watched.page.locator(f"[data-key='script/{name}'] em").inner_text().startswith("\u25cf")
    for data, why in ((bytes(4 << 20) + b" ", "at most 4 MiB"), (b"\xff\xfe", "UTF-8")):
        upload.set_input_files([{"name": "wrong.xml", "mimeType": "", "buffer": data}])
        watched.until("why => document.getElementById('said').textContent.includes(why)", why)
    assert text.input_value() == "<!-- third -->"
    assert watched.complaints == []
    page.close()


ASKED = "() => /somebody else/.test(document.querySelector('.question:not([hidden])')?.textContent ?? '')"


@pytest.fixture
def stored():
    """Return a name that a script may be stored under where the daemon keeps its scripts; nothing of it stays."""
    name = f"shared_script_{os.getpid()}"
    yield name
    Path(__file__).parents[2].joinpath("scripts", f"{name}.xml").unlink(missing_ok=True)


def test_what_somebody_else_has_saved_meanwhile_is_not_written_over(served, ui, tab, stored):
    watched = in_control(served, ui, tab)
    page = watched.page
    page.get_by_role("button", name="New script").click()
    page.get_by_label("name", exact=True).fill(stored)
    page.get_by_label("text of the document").fill(RIGHT)
    page.get_by_role("button", name="Save", exact=True).dblclick()
    watched.until("() => /saved|live|disk/.test(document.getElementById('said').textContent)")
    assert "saved" in watched.text("#said")
    watched.until("name => location.hash === `#scripts/script/${name}`", stored)
    served.client.take_control(force=True)
    other = RIGHT.replace("66", "67")
    served.insist(lambda: served.client.store_script(stored, other, overwrite=True))
    served.client.release_control()
    watched.take_control()
    page.get_by_label("text of the document").fill(RIGHT.replace("66", "68"))
    # While nothing live comes, as on a busy machine, it is refused.
    for _ in range(10):
        watched.until("() => nuc.live.mayBegin")
        page.get_by_role("button", name="Save", exact=True).click()
        watched.until(f"() => /live/.test(document.getElementById('said').textContent) || ({ASKED})()")
        if page.evaluate(ASKED):
            break
    assert page.evaluate(ASKED)
    page.get_by_role("button", name="Cancel", exact=True).click()
    assert served.client.script_text(stored)["text"] == other
    assert watched.complaints == []
    page.close()


def test_a_dry_run_that_is_no_longer_true_says_so_and_outlasts_a_silent_server(served, ui, tab):
    pytest.importorskip("mujoco")
    watched = in_control(served, ui, tab)
    page = watched.page
    text = begun(watched, RIGHT)
    part(watched, "Dry run")
    page.get_by_label("duration, s").fill("1.2")
    page.route("**/api/jobs/*", lambda route: route.abort())
    page.get_by_role("button", name="Dry run").click()
    watched.until("() => /is not known/.test(document.querySelector('.job .note').textContent)")
    page.unroute("**/api/jobs/*")
    watched.until("() => document.querySelector('.dry-runs a')")
    assert "changed since" not in watched.text(".dry-runs")
    text.fill(RIGHT.replace("66", "60"))
    watched.until("() => /changed since: the text/.test(document.querySelector('.dry-runs').textContent)")
    text.fill(RIGHT)
    watched.until("() => !/the text/.test(document.querySelector('.dry-runs').textContent)")
    page.evaluate("nuc.live.ask('set', {changes: [[101, -0.4]]})")
    watched.until("() => /values in force/.test(document.querySelector('.dry-runs').textContent)")
    page.evaluate("nuc.live.ask('undo')")
    page.close()


def test_the_keyboard_is_never_caught_and_what_is_wrong_is_said(served, ui, tab):
    watched = in_control(served, ui, tab)
    page = watched.page
    text = begun(watched, WRONG)
    part(watched, "Timeline")
    said = ".editor > [role=status]"
    watched.until("at => /1 error.*line 4/.test(document.querySelector(at).textContent)", said)
    text.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("<")
    page.keyboard.press("Control+ ")
    while not page.locator(".editor-offers").is_visible():  # what may stand there is fetched once
        page.wait_for_timeout(200)
        page.keyboard.press("Control+ ")
    chosen = text.get_attribute("aria-activedescendant")
    page.keyboard.press("ArrowDown")
    assert text.get_attribute("aria-activedescendant") != chosen
    page.keyboard.press("Tab")
    assert not page.locator(".editor-offers").is_visible()
    assert page.evaluate("document.activeElement.className") != "editor-text"
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.className") == "editor-text"
    # Along the tabs, over the ends; one that is hidden is passed over.
    page.get_by_role("tab", name="Timeline").focus()
    for key, title in (("Home", "Problems"), ("ArrowLeft", "Send"), ("ArrowRight", "Problems"), ("End", "Send")):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.textContent").startswith(title)
    watched.go("scripts/configuration/lin_roach")
    watched.until("() => document.querySelectorAll('[role=tab][hidden]').length === 3")
    page.get_by_role("tab", name="Difference").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent").startswith("Problems")
    page.close()


def test_five_thousand_changes_are_all_there_and_hostile_names_are_text(served, ui, tab):
    watched = in_control(served, ui, tab)
    page = watched.page
    page.get_by_role("button", name="New script").click()
    hostile = "&lt;img src=x onerror=alert(1)&gt; &lt;svg onload=alert(2)&gt;"
    line = '<gradual time="%f" duration="0.5" steps="5"><hdsoMod idNum="103" NumElts="1">%d</hdsoMod></gradual>\n'
    named = f'<hdsoMod idNum="9" NumElts="50" datatype="char" time="0">{hostile}</hdsoMod>\n'
    whole = f'<hdsoscript name="x" ScriptType="LegScript">{named}' + "".join(line % (k / 10, k) for k in range(4999))
    page.get_by_label("text of the document").evaluate(
        "(area, text) => { area.value = text; area.dispatchEvent(new Event('input')); }", f"{whole}</hdsoscript>"
    )
    part(watched, "Timeline")
    watched.until("() => /1 to 500 of 5000/.test(document.querySelector('.timeline').textContent)")
    for _ in range(9):
        page.get_by_role("button", name="Later", exact=True).click()
    assert "4501 to 5000 of 5000" in watched.text(".timeline")
    assert "4998" in watched.text(".changes tbody tr:last-child")
    assert page.get_by_role("button", name="Later", exact=True).is_disabled()
    page.get_by_role("button", name="zoom in").click()
    assert page.locator(".timeline img").count() == 0
    assert watched.complaints == []
    page.close()


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_can_be_used_by_all(ui, tab, scheme):
    watched = tab(ui, color_scheme=scheme)
    page = watched.page
    watched.await_live()
    watched.go("scripts/script/experiment_ga")
    watched.until("() => document.querySelector('.editor-text')?.value")
    for name, there in (("Timeline", ".timeline .lane"), ("Difference", ".differences p"), ("Send", ".waiting p")):
        part(watched, name)
        watched.until("there => document.querySelector(there)", there)
        assert watched.violations() == [], name
    page.close()
