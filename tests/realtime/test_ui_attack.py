"""`nuc ui` under attack: by who writes documents, by web pages, by another user of the machine, by floods."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import threading
import time  # noqa: TID251  real processes live on the real clock
from contextlib import suppress
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

pytest.importorskip("websockets", reason="the extra ui is not installed")

from benchmarks.webfuzz import handshakes
from nuc_engine.machine.locations import find_configuration, find_verdicts
from nuc_engine.recording.files import EVENT_LOG, MANIFEST_FILE, NOTES_FILE
from tests.realtime.daemon import wait_for
from tests.realtime.page import Ui
from tests.realtime.served import repeat_disturbed
from tests.realtime.test_browser import website
from tests.realtime.test_ui_browser import PAGES, REACHED
from tests.realtime.ui_browser import another, needs_browser, server

MARKUP = (
    '"><img src=x onerror=hacked=1><script>hacked=1</script><svg onload=hacked=1><base href=//evil.example>'
    "' onmouseover=hacked=1 autofocus onfocus=hacked=1 \u202e${hacked=1}{{hacked=1}}javascript:hacked=1 " + "w" * 200
)
BECAME_MARKUP = """() => globalThis.hacked !== undefined || document.querySelector(
  'img[src=x], script:not([src]), iframe, object, embed, base, form[action], meta[http-equiv], a[href^="javascript" i]'
) || [...document.querySelectorAll('*')].some((each) => [...each.attributes].some(({name}) => name.startsWith('on')))"""
WIDE = "() => document.documentElement.scrollWidth - innerWidth"
FOLDERS = (
    b"<img src=x onerror=hacked=1>",
    b"\"'onmouseover=hacked=1 x=",
    b"javascript:hacked=1",
    b"%2e%2e%2f%3cimg src=x%3e",
    b"a\nb\r\x1b[31m",
    b"\xff\xfe\xc3",
    "\u202egnp.exe #&?\\".encode(),
    b"--help",
)


@pytest.fixture(scope="module")
def hostile(serve_all, tmp_path_factory):
    """A daemon whose configuration says hostile things wherever it says what people are to read."""
    folder = tmp_path_factory.mktemp("hostile") / "hostile"
    shutil.copytree(find_configuration("lin_roach"), folder)
    said = escape(MARKUP, {'"': "&quot;"})
    for path in folder.glob("*.xml"):
        text = re.sub(r'\b(fullname|units)="[^"]*"', lambda found: f'{found[1]}="{said}"', path.read_text())
        path.write_text(
            re.sub(r"<description>.*?</description>", f"<description>{said}</description>", text, flags=re.S)
        )
    _, served = serve_all(config=str(folder))
    served.await_ready()
    return served


def write_hostile_bouts(served, whole):
    """Put beside a bout others whose names, manifests, notes, events and windows somebody else has written."""
    for number, name in enumerate(FOLDERS):
        folder = os.path.join(os.fsencode(served.data), name)  # a name that is no text
        shutil.copytree(os.fsencode(whole), folder)
        manifest = json.loads((whole / MANIFEST_FILE).read_text())
        texts = ("configuration", "script", "state", "clock", "started", "outcome", "author", "host", "version")
        manifest |= dict.fromkeys(texts[: 3 * (number % 4)], MARKUP)
        manifest["labels"] = {MARKUP: MARKUP, "__proto__": MARKUP, "constructor": "x"}
        manifest["notes"] = [{"what": "note", "text": MARKUP, "time_s": 0.1, "author": MARKUP}]
        manifest[MARKUP] = {"__proto__": {"hacked": 1}, "deep": [[[MARKUP]]], "huge": 10**300}
        with open(os.path.join(folder, os.fsencode(MANIFEST_FILE)), "w") as file:
            json.dump(manifest, file)
        with open(os.path.join(folder, os.fsencode(NOTES_FILE)), "a") as file:
            file.write(json.dumps({"time_s": 0.1, "what": MARKUP, "text": MARKUP}) + "\n")
        with open(os.path.join(folder, os.fsencode(EVENT_LOG)), "a") as file:
            file.write(f"100000000 {MARKUP}\n")
        with open(os.path.join(folder, b"<svg onload=hacked=1>.svg"), "w") as file:
            file.write('<svg xmlns="http://www.w3.org/2000/svg" onload="hacked=1"><script>hacked=1</script></svg>')


def write_hostile_verdict(data):
    """Let an experiment that was run here say hostile things."""
    published, own = find_verdicts() / "A", data / "experiments" / "A"
    shutil.copytree(published, own)
    verdict = json.loads((published / "verdict.json").read_text())
    for row in verdict["rows"]:
        row["saw"] = MARKUP
        for figure in row.get("figures") or ():
            figure["caption"] = MARKUP
        for trial in row["trials"]:
            trial["reasons"] = [MARKUP]
    (own / "verdict.json").write_text(json.dumps(verdict))
    for page in own.glob("*.md"):
        page.write_text(f"# {MARKUP}\n[x](javascript:hacked=1)\n")


def look_around(watched, where):
    """Point at and focus what a page has; nothing of it became markup, and the page can be used."""
    watched.page.evaluate(
        "() => { for (const each of document.querySelectorAll('main *')) {"
        "each.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}));"
        "each.dispatchEvent(new PointerEvent('pointerover', {bubbles: true})); each.focus?.({preventScroll: true}); } }"
    )
    watched.page.wait_for_timeout(200)
    assert not watched.page.evaluate(BECAME_MARKUP), where
    assert watched.page.evaluate(REACHED), where
    assert watched.page.evaluate(WIDE) <= 0, where
    assert watched.complaints == [], where


@needs_browser
def test_whatever_others_have_written_is_text_on_every_page(hostile, tab, tmp_path):
    hostile.run_bout()
    hostile.client.mark(MARKUP)
    wait_for(hostile.bouts, "a data directory", hostile)
    whole = hostile.finish_bout()
    write_hostile_bouts(hostile, whole)
    write_hostile_verdict(hostile.data)
    words = ("--address", f"ipc://{hostile.sockets}/command", "--data", str(hostile.data))
    with server(tmp_path, *words) as started, another(hostile, MARKUP[:60]) as other:
        hostile.insist(lambda: other.run(notes=MARKUP, labels={"who": MARKUP[:180]}))
        watched = tab(started)
        watched.await_live()
        other.mark(MARKUP)
        for where in (*PAGES, "leg/virtual", "diagrams/event-space", "diagrams/regions", "diagrams/states"):
            watched.go(where)
            watched.page.wait_for_timeout(300)
            look_around(watched, where)
        watched.go("events")
        watched.until("() => /onerror=hacked=1/.test(document.querySelector('.events').textContent)")
        watched.go("bouts")
        watched.until("most => document.querySelectorAll('.bouts a').length > most", len(FOLDERS))
        links = [each.get_attribute("href") for each in watched.page.locator(".bouts tbody a").all()]
        opened = 0
        for link in links:
            watched.go(link.removeprefix("#"))
            watched.until("() => !/^reading/.test(document.querySelector('main h2').textContent)")
            watched.page.wait_for_timeout(300)
            look_around(watched, link)
            opened += watched.page.locator(".player").count()
        assert opened >= len(FOLDERS)
        watched.go("experiments/A")
        watched.until("() => /onerror=hacked=1/.test(document.querySelector('main').textContent)")
        for summary in watched.page.locator("main summary").all():
            summary.click()
        look_around(watched, "experiments/A")
        assert watched.elsewhere() == []
        watched.page.close()
        other.stop()


ATTACK = """async ([origin, secret]) => {
  const got = [], note = (what, value) => value && got.push(`${what}: ${value}`);
  const soon = () => AbortSignal.timeout(5000), ws = origin.replace('http', 'ws');
  for (const path of ['/', '/app.js', '/api/bouts', '/api/token', '/icon.svg'])
    for (const options of [{}, {credentials: 'include'}, {headers: {Authorization: `Bearer ${secret}`}},
                           {method: 'POST', body: '{}'},
                           {method: 'POST', headers: {Authorization: `Bearer ${secret}`}}])
      await fetch(origin + path, {...options, signal: soon()}).then(async (a) => note(path, await a.text()), () => 0);
  for (const path of ['/', '/api/session', '/api/bouts']) {
    const blind = {mode: 'no-cors', method: 'POST', body: '{"token": "x"}', signal: soon()};
    const answer = await fetch(origin + path, blind).catch(() => null);
    note(`${path} no-cors`, answer && (answer.status || await answer.text()));
  }
  for (const path of ['/live', '/stop'])
    await new Promise((done) => {
      const socket = new WebSocket(ws + path);
      socket.onopen = () => { note(path, 'open'); socket.send(JSON.stringify({session: secret})); };
      socket.onmessage = ({data}) => note(path, data);
      socket.onclose = done;
    });
  const loads = (tag, props) => new Promise((done) => {
    const element = Object.assign(document.createElement(tag), props);
    element.onload = () => done(tag === 'iframe' ? element : 'loaded');
    element.onerror = () => done(null);
    setTimeout(() => done(null), 3000);
    document.body.append(element);
  });
  note('script', await loads('script', {src: `${origin}/app.js`}));
  note('module', await loads('script', {src: `${origin}/app.js`, type: 'module'}));
  note('picture', await loads('img', {src: `${origin}/icon.svg`}));
  note('style', await loads('link', {rel: 'stylesheet', href: `${origin}/style.css`}));
  const frame = await loads('iframe', {src: origin});
  try { note('frame', frame?.contentDocument?.body.textContent); } catch { /* it is of another origin */ }
  note('frame', frame && frame.contentWindow.length);
  return got;
}"""


def heard(served):
    """Return what a daemon would tell of it if anybody had asked it for something."""
    told = served.words()
    return [told[key] for key in ("mode", "control", "edits", "latches")], [one["name"] for one in told["clients"]]


@needs_browser
def test_a_page_of_another_port_gets_nothing_not_even_with_the_secret_nor_in_a_frame(served, ui, tab):
    watched = tab(ui)
    watched.await_live()
    secret = watched.page.evaluate("sessionStorage.getItem('nuc-session')")
    before = heard(served)
    with website("<!doctype html><title>harmless</title><body></body>") as (elsewhere, _):
        for there in (elsewhere, elsewhere.replace("localhost", "127.0.0.1")):
            page = watched.page.context.new_page()
            framed: list[str] = []
            page.on("framenavigated", lambda frame, framed=framed: framed.append(frame.url))
            page.goto(there)
            assert page.evaluate("sessionStorage.length") == 0
            assert page.evaluate(ATTACK, [ui.origin, secret]) == []
            assert not any(url.startswith(ui.origin) for url in framed), "the page was shown in a frame"
            with page.expect_popup() as opened:
                page.evaluate("origin => { globalThis.opened = open(origin); }", ui.origin)
            opened.value.wait_for_load_state()
            page.wait_for_timeout(300)
            assert page.evaluate("opened.closed"), "the window that was opened is out of reach"
            opened.value.close()
            page.close()
    assert heard(served) == before
    watched.await_live()
    watched.page.close()


NOBODY = 65_534
SECOND = """
import json, os, socket, sys
from pathlib import Path
page, pid, command, spare, port = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])
got = [str(os.getuid())]
def attempt(what, function):
    try:
        got.append(f"{what}: {function()!r}")
    except OSError:
        pass
attempt("page", page.read_bytes)
attempt("folder", lambda: os.listdir(page.parent))
attempt("replace", lambda: page.parent.joinpath("x").write_text(""))
for part in ("environ", "mem", "maps", "fd"):
    path = Path("/proc", pid, part)
    attempt(part, lambda: os.listdir(path) if part == "fd" else path.open("rb").read(10))
for folder in Path(spare).glob("nuc-ui-*"):
    attempt(folder, lambda: os.listdir(folder))
def speak():
    link = socket.socket(socket.AF_UNIX)
    link.connect(command)
attempt("daemon", speak)
def ask(request):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as link:
        link.sendall(request)
        return link.recv(65536)
own = f"Host: 127.0.0.1:{port}\\r\\nOrigin: http://127.0.0.1:{port}\\r\\n"
said = [ask(f"{line} HTTP/1.1\\r\\n{own}Content-Length: 0\\r\\n\\r\\n".encode()).split()[1].decode()
        for line in ("GET /api/bouts", "POST /api/session", "POST /api/token", "GET /")]
print(json.dumps([got, said]))
"""


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="NO SECOND USER: needs root")
def test_another_user_of_the_machine_gets_nothing(served, tmp_path):
    ui = Ui(tmp_path, "--address", f"ipc://{served.sockets}/command", "--data", str(served.data))
    try:
        ui.begin()
        assert ui.told("/api/bench/doctor", "POST")["id"]
        spare = tempfile.gettempdir()
        assert list(Path(spare).glob("nuc-ui-*"))
        words = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "/usr/bin/env", "python3"]
        words += ["-c", SECOND, str(ui.page), str(ui.pid), f"{served.sockets}/command", spare, str(ui.port)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, cwd="/")
        assert done.returncode == 0, done.stderr
        got, said = json.loads(done.stdout)
        assert got == [str(NOBODY)]
        assert said == ["401", "403", "401", "200"], "the page itself holds nothing of anybody's"
    finally:
        ui.end()


def flood(port, opening, said, ended):
    while not ended.is_set():
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=3) as link:
            if opening:
                link.sendall(opening)
                link.recv(4096)
            while not ended.is_set():
                link.sendall(said)


@pytest.mark.parametrize("kind", ["pings", "fragments", "chunks"])
def test_strangers_that_flood_do_not_hold_torque_off_up(served, tmp_path, stalls, kind):
    ui = Ui(tmp_path, "--address", f"ipc://{served.sockets}/command")
    chunked = f"POST /api/session HTTP/1.1\r\nHost: 127.0.0.1:{ui.port}\r\nTransfer-Encoding: chunked\r\n\r\n"
    opening, said = {
        "pings": (handshakes(ui.port)[0], b"\x89\x80\x01\x02\x03\x04" * 40_000),
        "fragments": (handshakes(ui.port)[0], b"\x01" + (b"\x80\x01\x02\x03\x04\x00" * 40_000)),
        "chunks": (b"", chunked.encode() + b"1\r\nx\r\n" * 40_000),
    }[kind]
    ended = threading.Event()
    threads = [threading.Thread(target=flood, args=(ui.port, opening, said, ended)) for _ in range(2)]
    try:
        ui.begin()
        with ui.button() as button:
            button.ready()
            for thread in threads:
                thread.start()

            def trial():
                took_s = []
                for _ in range(7):
                    begun = time.monotonic()
                    assert "off" in button.press()
                    took_s.append(time.monotonic() - begun)
                assert statistics.median(took_s) < 0.25

            repeat_disturbed(stalls, trial)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        ui.end()


ODD = (
    b"GET /api/bouts HTTP/1.1\r\n{own}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    b"GET /api/bouts HTTP/1.1\r\n{own}\r\n",
    b"GET /api/bouts HTTP/1.1\r\n{own}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    b"GET /api/bouts HTTP/1.1\r\n{own}Transfer-Encoding: chunked, identity\r\n\r\n",
    b"GET /api/bouts HTTP/1.1\r\n{own}Transfer-Encoding: xchunked\r\n\r\n",
    b"POST /api/session HTTP/1.1\r\n{own}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
    b"GET /api/bouts HTTP/1.1\r\n{own}Authorization : Bearer {secret}\r\n\r\n",
    b"GET /api/bouts HTTP/1.1\r\n{own}Authorization: Bearer\r\n {secret}x\r\n\r\n",
    b"GET /api/bouts HTTP/1.1\r\n{own}X: a\0b\r\n\r\n",
    b"GET /api/bouts\r\n\r\n",
    b"GET http://127.0.0.1/api/bouts HTTP/1.1\r\n{own}\r\n",
    b"GET http://evil.example/api/bouts HTTP/1.1\r\n{own}Authorization: Bearer {secret}\r\n\r\n",
    b"GET /api/bouts HTTP/1.1\r\nHost: evil.example\r\n{own}Authorization: Bearer {secret}\r\n\r\n",
    b"GET /api/bouts HTTP/1.1\r\n{own}Authorization: Bearer {secret}\r\nAuthorization: Bearer x\r\n\r\n",
    b"GET //api/bouts HTTP/1.1\r\n{own}\r\n",
    b"GET /api%2fbouts HTTP/1.1\r\n{own}\r\n",
    b"GET /%61pi/bouts HTTP/1.1\r\n{own}\r\n",
    b"GET /x/..%2fapi/bouts HTTP/1.1\r\n{own}\r\n",
    b"GET /API/bouts HTTP/1.1\r\n{own}\r\n",
    b"OPTIONS * HTTP/1.1\r\n{own}\r\n",
    b"TRACE / HTTP/1.1\r\n{own}X-Secret: x\r\n\r\n",
    b"CONNECT evil.example:80 HTTP/1.1\r\n{own}\r\n",
    b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n{own}\r\n",
    b"GET /..%c0%af..%c0%afetc/passwd HTTP/1.1\r\n{own}\r\n",
    b"GET /" + b"a" * 60_000 + b" HTTP/1.1\r\n{own}\r\n",
    b"PRI * HTTP/2.0\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"POST /api/ask/x HTTP/1.1\r\n{own}Expect: 100-continue\r\nContent-Length: 9999999999999999999999\r\n\r\n",
)


def test_odd_requests_get_nothing_and_none_hides_behind_another(ui):
    port, secret = int(ui.origin.rpartition(":")[2]), "x" * 43
    own = f"Host: 127.0.0.1:{port}\r\nConnection: close\r\n".encode()
    for request in ODD:
        said = b""
        with socket.create_connection(("127.0.0.1", port), timeout=10) as link, suppress(ConnectionError):
            link.sendall(request.replace(b"{own}", own).replace(b"{secret}", secret.encode()))
            link.shutdown(socket.SHUT_WR)
            while part := link.recv(65_536):
                said += part
        statuses = re.findall(rb"HTTP/1\.1 (\d\d\d) ", said)
        assert all(400 <= int(status) < 500 for status in statuses), (request[:80], said[:200])
        assert b"root:" not in said
        assert b"x-secret" not in said.lower()
        assert len(statuses) <= 1, (request[:80], "one request, one answer")
    wait_for(ui.answers, "an answer of the page's server", ui)


def test_no_websocket_is_compressed_and_none_takes_more_than_its_bound(served, tmp_path):
    ui = Ui(tmp_path, "--address", f"ipc://{served.sockets}/command")
    try:
        ui.begin()
        asked = b"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n"
        for opening in handshakes(ui.port):
            with socket.create_connection(("127.0.0.1", ui.port), timeout=10) as link:
                link.sendall(opening.removesuffix(b"\r\n") + asked)
                answer = link.recv(4096).lower()
            assert answer.startswith(b"http/1.1 101")
            assert b"extensions" not in answer
        with ui.tab() as tab:
            tab.link.send(json.dumps({"id": 1, "method": "get", "params": {"names": ["x" * 70_000]}}))
            wait_for(lambda: tab.closed is not None, "the end of the one that says too much", ui)
            assert tab.closed == 1009
    finally:
        ui.end()
