"""The page of `nuc ui` in a real browser, beside a real daemon with an emulated leg."""

from __future__ import annotations

import csv
import json
import os
import signal
import threading
import time  # noqa: TID251  real processes live on the real clock
from contextlib import suppress
from itertools import groupby, pairwise
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

pytest.importorskip("websockets", reason="the extra ui is not installed")

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve as serve_lies

from nuc_engine.analysis.load import load_bout
from tests.realtime.daemon import MS, assert_limp_within, wait_for
from tests.realtime.served import Served, repeat_disturbed
from tests.realtime.ui_browser import (
    another,
    in_a_bout,
    monotonic_ns,
    needs_axe,
    needs_browser,
    server,
    written,
)

pytestmark = needs_browser

PAGES = (
    "engine",
    "leg",
    "joints",
    "traces",
    "diagrams",
    "scripts",
    "bouts",
    "experiments",
    "bench",
    "events",
    "values",
)
HOSTILE = "<img src=x onerror=hacked=1>"
OFF = "/confirmed by 4 of 4 servos in \\d+ ms/.test(document.getElementById('stop-answer').textContent)"
READY = "() => document.getElementById('stop-ready').textContent.startsWith('ready')"
NOT_AVAILABLE = "/STOP NOT AVAILABLE/.test(document.getElementById('stop-ready').textContent)"
STALE = "document.body.classList.contains('stale')"
HELD = """() => Object.fromEntries(nuc.live.columns.map(({name}, k) => [name, Array.from(
  {length: nuc.live.ring.end - nuc.live.ring.begin}, (_, n) => nuc.live.ring.at(k, nuc.live.ring.begin + n))]))"""
PAGES_REACHED = """() => [...document.querySelectorAll('nav a')].filter((link) => {
  const { x, y, width, height } = link.getBoundingClientRect();
  return document.elementFromPoint(x + width / 2, y + height / 2) === link;
}).map((link) => link.getAttribute('href'))"""
REACHED = """() => { const button = document.getElementById('torque-off'), box = button.getBoundingClientRect();
  const points = [[box.left + 4, box.top + 4], [box.right - 4, box.bottom - 4], [box.left + 40, box.top + 20]];
  const there = points.every(([x, y]) => button.contains(document.elementFromPoint(x, y)));
  return there && box.width >= 150 && box.height >= 44;
}"""
WITHIN_MS = 1150
"""A second, and what a page's own timers may be late."""


def begin(served):
    """Begin a bout, and let it go on as long as a busy machine does."""
    served.await_ready()
    if served.words()["mode"] == "RUNNING":
        return
    if served.words()["latched"]:
        served.insist(served.client.arm)
    served.insist(served.client.run)
    wait_for(served.bouts, "a data directory", served)


def test_every_page_opens_and_complains_of_nothing_and_asks_nobody_else(served, ui, tab):
    begin(served)
    watched = tab(ui)
    watched.await_live()
    for page in PAGES:
        watched.go(page)
        assert watched.page.locator("nav a[aria-current]").get_attribute("href") == f"#{page}"
        assert watched.page.locator("main").inner_text().strip()
    watched.go("events")
    watched.until("() => document.querySelectorAll('.events tbody tr').length > 0")
    watched.go("traces")
    watched.until("() => document.querySelectorAll('.lane').length >= 4")
    watched.until("() => document.getElementById('is-mode').textContent === nuc.live.status.mode")
    assert watched.page.evaluate("nuc.live.missed") == 0
    assert watched.page.evaluate("location.href").endswith("#traces")
    watched.page.reload()
    watched.await_live()
    assert watched.complaints == []
    assert watched.elsewhere() == []


def test_every_record_of_the_engine_comes_to_the_page(served, ui, tab):
    begin(served)
    watched = tab(ui)
    watched.await_live()
    watched.page.wait_for_timeout(2000)
    cycles = watched.page.evaluate(
        "(() => { const {ring, index} = nuc.live, k = index.get('cycle');"
        "return Array.from({length: ring.end - ring.begin}, (_, n) => ring.at(k, ring.begin + n)); })()"
    )
    assert len(cycles) > 100
    assert {b - a for a, b in pairwise(cycles)} == {1}


def test_what_the_page_shows_is_what_the_log_holds(served, ui, tab, stalls):
    """Every switch of every joint, at its time, and every angle; none lost, none invented."""
    watched = tab(ui)
    watched.await_live()
    repeat_disturbed(stalls, lambda: served.run_bout(2.0))
    watched.until("() => nuc.live.starts.has(nuc.live.bout)")  # of this bout: an earlier one may have been disturbed
    folder = served.finish_bout()
    watched.page.wait_for_timeout(300)
    held = watched.page.evaluate(HELD)
    bout = max(held["bout"])
    shown = [k for k, number in enumerate(held["bout"]) if number == bout]
    data = load_bout(folder)
    for joint in data.joints:
        angles = [held[joint.angle][k] for k in shown]
        assert angles == pytest.approx(data.sensors.column(joint.angle).tolist()[: len(angles)], abs=1e-4)
        codes = [held[f"{joint.name}.state"][k] for k in shown]
        logged = data.states.column(joint.action).tolist()
        assert [code for code, _ in groupby(codes)] == [code for code, _ in groupby(logged)]
    start = watched.page.evaluate("nuc.live.start")
    assert held["time"][shown[0]] - start == pytest.approx(data.motor.t_s[0], abs=0.015), (
        "engine time of the first record"
    )


HELD_STATES = """() => { const { ring, index, columns, start } = nuc.live, bout = index.get('bout');
  const first = Array.from({length: ring.end - ring.begin}, (_, n) => ring.begin + n);
  const of = first.filter((record) => ring.at(bout, record) === ring.at(bout, ring.end - 1));
  const whole = (name) => of.map((record) => ring.at(index.get(name), record));
  const names = columns.map(({name}) => name).filter((name) => name.endsWith('.state'));
  return { cycles: whole('cycle'), times: whole('time').map((time) => time - start),
    states: Object.fromEntries(names.map((name) => [name, whole(name)])), missed: nuc.live.missed }; }"""
EDITED = "FT_flux_FTang"


def switched(times, codes):
    """Return when which code came, the first included."""
    runs = [k for k in range(len(codes)) if not k or codes[k] != codes[k - 1]]
    return [(times[k], int(codes[k])) for k in runs]


def test_of_a_minute_with_edits_no_switch_is_lost_and_none_invented(served, ui, tab, stalls):
    """Every switch of every joint, in order, at the record after it; every edit of the page in the data, in order."""
    watched = tab(ui)
    watched.await_live()
    sent: list[float] = []
    held: dict[str, Any] = {}

    def trial():
        sent.clear()
        watched.begin(served, "joints")
        watched.until("() => nuc.live.starts.has(nuc.live.bout)")
        bout, begun = served.words()["bout"], time.monotonic()
        while time.monotonic() - begun < 60.0:
            sent.append(64.0 + len(sent) % 12 / 2)
            change = [EDITED, sent[-1]]
            watched.page.evaluate("change => nuc.live.ask('set', { changes: [change] })", change)
            watched.page.wait_for_timeout(1000)
        told = served.words()
        assert (told["mode"], told["bout"]) == ("RUNNING", bout), "the bout has ended"
        held.update(watched.page.evaluate(HELD_STATES))

    in_a_bout(stalls, served, trial)
    folder = served.bouts()[-1]
    watched.page.evaluate("nuc.live.ask('stop', {})")
    served.await_whole(folder)
    assert held["missed"] == 0
    assert {b - a for a, b in pairwise(held["cycles"])} == {1}
    assert held["times"][-1] > 59.0
    assert [value for _, value in written(folder, EDITED)] == sent
    data, switches = load_bout(folder), 0
    for joint in data.joints:
        codes = [code for code in held["states"][f"{joint.name}.state"] if code is not None]
        shown = switched(held["times"], codes)
        logged = switched(data.states.t_s, data.states.column(joint.action))
        logged = [each for each in logged if each[0] <= held["times"][-1]]
        assert [code for _, code in shown] == [code for _, code in logged][: len(shown)]
        assert len(logged) - len(shown) <= 1, "at most what came after the last record"
        late_s = [at - then for (at, _), (then, _) in zip(shown[1:], logged[1:], strict=False)]
        assert all(-0.001 < each < 0.05 for each in late_s), late_s
        switches += len(shown)
    assert switches > 100
    watched.leave(served)


def test_traces_that_are_exported_are_the_logs_to_float32(served, ui, tab, tmp_path):
    """From the page while it runs, and from the bout afterwards."""
    watched = tab(ui)
    page = watched.page
    watched.await_live()
    served.run_bout(2.0)
    watched.until("() => nuc.live.starts.has(nuc.live.bout)")
    watched.go("traces")
    watched.until("() => document.querySelectorAll('.lane').length >= 4")

    def exported():
        with page.expect_download() as got:
            page.get_by_role("button", name="CSV").click()
        got.value.save_as(tmp_path / "traces.csv")
        with (tmp_path / "traces.csv").open(newline="") as file:
            head, *rows = csv.reader(file)
        return {name.partition(" (")[0]: np.array([row[k] for row in rows], float) for k, name in enumerate(head)}

    shown = exported()
    folder = served.finish_bout()
    data = load_bout(folder)
    during = shown["time_s"] > 0.3
    assert np.count_nonzero(during) > 100
    for joint in data.joints:
        if joint.angle not in shown:
            continue
        logged, found = (
            np.asarray(v, np.float32) for v in (data.sensors.column(joint.angle), shown[joint.angle][during])
        )
        places = np.flatnonzero(logged == found[0])
        assert any(np.array_equal(logged[at : at + len(found)], found) for at in places), joint.angle
    watched.go(f"bouts/{quote(folder.relative_to(served.data).as_posix(), safe='')}")
    watched.until("() => /every record/.test(document.querySelector('.player')?.textContent)")
    whole = exported()
    for joint in data.joints:
        if joint.angle in whole:
            logged = np.asarray(data.sensors.column(joint.angle), np.float32)
            assert np.array_equal(np.asarray(whole[joint.angle], np.float32), logged)
    assert watched.complaints == []


TRIGGERED = """async () => {
  const { parseRule, truth, operandsIn } = await import('/rules.js');
  const { live } = nuc, { ring, index, timeColumn } = live;
  const text = document.querySelector('select[aria-label=trigger]').value;
  const asked = await live.ask('get', { names: [-1] });
  const hdsos = [...live.model.parameters, ...live.model.sensors];
  const isFloat = (name) => hdsos.find((hdso) => hdso.name === name)?.datatype === 'float';
  const held = (record) => (name) => index.has(name) ? ring.at(index.get(name), record) : asked.values[name];
  const at = (record) => truth(parseRule(asked.values[text]), operandsIn(held(record), isFloat));
  const shown = parseFloat(document.querySelector('.lanes-axis .lane-where').textContent) + live.start - 0.75 * 2;
  const record = ring.find(timeColumn, shown - 0.0015);
  return [ring.at(timeColumn, record) - shown, at(record - 1), at(record)];
}"""


def test_a_trigger_on_a_rule_stands_at_the_very_record_at_which_it_becomes_true(served, ui, tab):
    watched = tab(ui)
    page = watched.page
    watched.await_live()
    begin(served)
    watched.until("() => nuc.live.starts.has(nuc.live.bout)")
    watched.go("traces")
    watched.until("() => document.querySelectorAll('.lane').length >= 4")
    page.get_by_label("how much time is shown").select_option("2")
    rule = page.get_by_label("trigger").locator("option", has_text="becomes true").first.get_attribute("value")
    page.get_by_label("trigger").select_option(rule)
    where = "document.querySelector('.lanes-axis .lane-where').textContent"
    stands = f"() => {{ const now = {where}, same = now === globalThis.where; globalThis.where = now; return same; }}"
    page.wait_for_function(stands, polling=150, timeout=30_000)
    late_s, before, then = page.evaluate(TRIGGERED)
    assert abs(late_s) < 0.003
    assert (before, then) == (False, True)
    assert watched.complaints == []


def test_torque_off_is_in_sight_and_within_reach_everywhere(ui, tab):
    first = tab(ui)
    for width, height in ((1024, 700), (420, 800)):
        token = first.page.evaluate("nuc.api.json('token', {method: 'POST'}).then((told) => told.token)")
        watched = tab(ui, viewport={"width": width, "height": height}, token=token)
        watched.await_live()
        for page in PAGES:
            watched.go(page)
            watched.page.mouse.wheel(0, 2000)
            watched.page.evaluate("scrollTo(0, 1e6); document.getElementById('main').scrollTop = 1e6")
            watched.page.wait_for_timeout(200)
            assert watched.page.evaluate(REACHED), (page, width)
        watched.page.evaluate("scrollTo(0, 0)")
        assert watched.page.evaluate(PAGES_REACHED) == [f"#{page}" for page in PAGES], width


WITHOUT_HELP = """async () => {
  const { helpOf } = await import('/dom.js');
  const all = [...document.querySelectorAll('button, input, select, textarea, summary, nav a, th[scope=col]')];
  return all.filter((each) => each.checkVisibility() && !helpOf(each)).map((each) => each.outerHTML.slice(0, 200));
}"""


def test_there_is_help_on_every_element(served, ui, tab):
    served.run_bout()
    served.finish_bout()
    watched = tab(ui)
    watched.await_live()
    watched.go("bouts")
    watched.until("() => document.querySelector('.bouts a')")
    bout = watched.page.locator(".bouts a").first.get_attribute("href").removeprefix("#")
    for page in (*PAGES, "leg/virtual", "scripts/script/experiment_ga", bout):
        watched.go(page)
        watched.page.wait_for_timeout(2500 if page == bout else 500)
        assert watched.page.evaluate(WITHOUT_HELP) == [], page


@pytest.mark.parametrize("how", ["pressed", "by key"])
def test_torque_off_while_another_has_control_is_on_the_wire(served, ui, tab, stalls, how):
    watched = tab(ui)
    watched.await_live()
    watched.go("events")

    def trial():
        served.run_bout()
        assert served.words()["control"] == "bench"
        if how == "pressed":
            watched.page.locator("#torque-off").hover()
            watched.page.mouse.down()
        else:
            watched.page.locator("input[type=search]").focus()
            watched.page.keyboard.press("Control+.")
        watched.until(f"() => {OFF}")
        if how == "pressed":
            watched.page.mouse.up()
        assert_limp_within(
            served.leg, monotonic_ns(watched.page.evaluate("performance.timeOrigin + nuc.stopLine.askedAt")), 100 * MS
        )
        assert served.words()["latched"]
        assert served.words()["control"] == "bench"

    repeat_disturbed(stalls, trial)
    assert watched.complaints == []


def test_a_bout_is_run_and_ended_by_hand(served, ui, tab):
    served.client.release_control()
    watched = tab(ui)
    watched.await_live()
    watched.go("engine")
    page = watched.page
    assert page.get_by_role("button", name="Run", exact=True).is_disabled()
    page.get_by_role("button", name="Take control").click()
    watched.until("() => document.getElementById('is-control').textContent === 'you'")
    arm = page.get_by_role("button", name="Hold 1 s to arm")
    if served.words()["latched"]:
        watched.until("() => !document.querySelector('.arm').disabled")
        arm.focus()
        page.keyboard.down("Enter")
        page.wait_for_timeout(300)
        page.keyboard.up("Enter")
        assert served.words()["latched"], "a short press does not arm"

        def held():
            """A core that has just begun has not heard of every servo, and refuses: hold it again."""
            page.keyboard.down("Enter")
            page.wait_for_timeout(1300)
            page.keyboard.up("Enter")
            return not served.words()["latched"]

        wait_for(held, "arming", served)
    page.get_by_label("labels").fill(f"surface=carpet, who={HOSTILE}")
    page.get_by_label("note").fill("it's new")
    assert "--note 'it'\"'\"'s new'" in page.locator(".form .copy code").first.inner_text()
    watched.until("() => !document.querySelector('.form .primary').disabled")
    page.get_by_role("button", name="Run", exact=True).click()
    watched.until("() => document.getElementById('is-mode').textContent === 'RUNNING'")
    assert served.words()["control"] == page.evaluate("nuc.live.welcome.client")
    page.wait_for_timeout(500)
    page.get_by_role("button", name="Stop the bout").click()
    watched.until("() => document.getElementById('is-mode').textContent === 'STOPPED'")
    folder = served.bouts()[-1]
    served.await_whole(folder)
    watched.go("bouts")
    watched.until("name => document.querySelector('.bouts')?.textContent.includes(name)", folder.name)
    assert HOSTILE in watched.text(".bouts")
    page.get_by_role("link", name=folder.name).click()
    watched.until("() => document.querySelectorAll('.player .lane').length > 3")
    watched.until("() => /every record/.test(document.querySelector('.player').textContent)")
    page.get_by_label("time in the bout").fill("0.2")
    assert watched.text(".player output") == "0.200 s"
    page.get_by_role("button", name="Replay and compare").click()
    watched.until("() => /identical/.test(document.querySelector('.bout-body').textContent)")
    page.get_by_role("button", name="Make the movie").click()
    watched.until("() => document.querySelector('.bout-body a[download]')")
    watched.page.close()
    wait_for(lambda: served.words()["control"] == "", "control that is given back with the tab", served)
    assert watched.complaints == []


def test_what_others_are_called_and_say_is_text(served, ui, tab):
    watched = tab(ui)
    watched.await_live()
    with another(served, HOSTILE) as other:
        other.mark(f"{HOSTILE} again")
        watched.go("events")
        watched.until("text => document.querySelector('.events').textContent.includes(text)", f"{HOSTILE} again")
        watched.until("name => document.getElementById('is-control').textContent.includes(name)", HOSTILE)
        watched.go("engine")
        watched.until("name => document.querySelector('.page-engine').textContent.includes(name)", HOSTILE)
    assert watched.page.locator("img[src=x]").count() == 0
    assert watched.page.evaluate("globalThis.hacked") is None
    assert watched.complaints == []


def test_a_server_that_stands_still_is_seen_within_a_second_and_so_is_its_return(ui, tab):
    watched = tab(ui)
    watched.await_live()
    for what in (STALE, NOT_AVAILABLE):
        watched.until(READY)
        watched.note_when(what)
        begun = time.time() * 1000
        os.kill(ui.pid, signal.SIGSTOP)
        try:
            assert watched.noted() - begun < WITHIN_MS, what
        finally:
            os.kill(ui.pid, signal.SIGCONT)
        watched.await_live()
    watched.until(READY)


def test_a_server_that_was_killed_leaves_no_stop_and_nothing_live(ui, tab):
    watched = tab(ui)
    watched.await_live()
    watched.note_when(f"{STALE} && {NOT_AVAILABLE}")
    begun = time.time() * 1000
    os.kill(ui.pid, signal.SIGKILL)
    assert watched.noted() - begun < WITHIN_MS
    watched.until("() => /NOT LIVE since \\d/.test(document.getElementById('notlive').textContent)")
    watched.page.locator("#torque-off").click()
    watched.until("() => /cut the supply/.test(document.getElementById('stop-answer').textContent)")


def test_who_takes_the_port_of_a_server_that_died_is_told_nothing_and_believed_nothing(ui, tab):
    """Any user of this machine may listen there: with a page that says ready, and off, and live."""
    watched = tab(ui)
    watched.await_live()
    watched.until(READY)
    port = int(ui.origin.rpartition(":")[2])
    os.kill(ui.pid, signal.SIGKILL)
    heard: list[str | bytes] = []

    def lie(link):
        with suppress(ConnectionClosed):
            heard.append(link.recv())
            for told in ({"topic": "welcome", "daemon": "ipc:///x/command"}, {"ready_ms": 1.0, "path": "socket"}):
                link.send(json.dumps({**told, "proof": "00" * 32}))
            for message in link:
                heard.append(message)
                link.send(json.dumps({"off": {"torque": False, "confirmed_ns": {"a": 1}, "unconfirmed": []}}))

    wait_for(lambda: ui.process.poll() is not None, "the end of the page's server")
    stranger = serve_lies(lie, "127.0.0.1", port, compression=None)
    thread = threading.Thread(target=stranger.serve_forever)
    thread.start()
    try:
        wait_for(lambda: len(heard) > 3, "the page at the stranger's")
        watched.until(f"() => {STALE} && {NOT_AVAILABLE}")
        watched.until("() => /not the server that opened it/.test(document.getElementById('notlive').textContent)")
        watched.page.locator("#torque-off").click()
        watched.until("() => /cut the supply/.test(document.getElementById('stop-answer').textContent)")
        assert {tuple(json.loads(text)) for text in heard} == {("hello", "nonce")}
        secret = watched.page.evaluate("sessionStorage.getItem('nuc-session')")
        assert secret
        assert secret not in str(heard)
    finally:
        stranger.shutdown()
        thread.join()


def test_a_daemon_that_was_killed_is_not_live_within_a_second_and_back_when_another_is_there(serve, tab, tmp_path):
    leg, served = serve()
    served.await_ready()
    with server(tmp_path, "--address", f"ipc://{served.sockets}/command") as started:
        watched = tab(started)
        watched.await_live()
        begun = time.time() * 1000
        os.kill(served.pid, signal.SIGKILL)
        # Before, a machine that stood still would have been taken for it; and what is waited for comes in either order.
        watched.note_when(STALE)
        served.close()
        assert watched.noted() - begun < WITHIN_MS
        watched.until(f"() => {NOT_AVAILABLE} && !document.getElementById('notlive').hidden")
        another = Served(leg, served.data.parent)
        try:
            another.await_ready()
            watched.await_live()
            watched.until(READY)
            watched.until("() => document.getElementById('notlive').hidden")
        finally:
            another.close()


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_can_be_used_by_all(served, ui, tab, scheme):
    begin(served)
    watched = tab(ui, color_scheme=scheme)
    watched.await_live()
    watched.go("bouts")
    watched.until("() => document.querySelector('.bouts a')")
    bout = watched.page.locator(".bouts a").last.get_attribute("href").removeprefix("#")
    for page in (*PAGES, bout):
        watched.go(page)
        watched.page.wait_for_timeout(2500 if page == bout else 500)
        assert watched.violations() == [], page
