"""What the page of `nuc ui` costs, in a real browser beside an emulated leg that steps, for a few minutes.

    python -m benchmarks.ui_page [MINUTES] > benchmarks/UI_PAGE.md       2 minutes without one

Age: from the end of a cycle in the core to its record in the page, and to the picture that first can show it. Beside it
that in a bare page of the same run, which reads the same records and draws as many lines of as many points, and does
nothing else: what browser and machine take by themselves. Work: of the page's own code for each picture, with twelve
traces; and of all its main thread has to do. Memory: of the tab's process, as the kernel counts it. Needs chromium and
playwright.
"""

from __future__ import annotations

import gzip
import os
import re
import statistics
import sys
import tempfile
import time  # noqa: TID251  what is measured is real time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.ui_eight import SESSION, TOKEN
from benchmarks.ui_screens import LIVE, begin
from nuc_engine.ui.server import WEB
from tests.realtime.ui_browser import Watched, browsing, server

TRACES = 12
LISTEN = """() => {
  globalThis.ages = []; globalThis.shown = []; let newest = null;
  const now = () => performance.timeOrigin + performance.now();
  nuc.live.onRecords.add((from, to) => {
    for (let record = from; record < to; record += 1) {
      newest = nuc.live.ring.at(nuc.live.timeColumn, record) * 1e3 + nuc.live.originNs / 1e6;
      ages.push(now() - newest);
    }
  });
  const frame = () => {
    if (newest !== null) shown.push(now() - newest);
    newest = null;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""
CHOOSE = """count => {
  const wanted = nuc.live.columns.map(({name}) => name).filter((name) => /(angle|current|force|state)$/.test(name));
  const layout = {'': {names: wanted.slice(0, count), windowS: 10}};
  localStorage.setItem('nuc-traces', JSON.stringify({v: 1, kept: {[nuc.live.configuration]: layout}}));
  nuc.live.dispatchEvent(new Event('layout'));
}"""

BARE_MINUTES = 5.0
BARE = """async ([session, column, size, counted]) => {
  const { readFrame } = await import('/frames.js');
  globalThis.ages = []; globalThis.shown = []; globalThis.drawn = 0;
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = size;
  document.body.replaceChildren(canvas);
  const pen = canvas.getContext('2d');
  const now = () => performance.timeOrigin + performance.now();
  const socket = new WebSocket(location.origin.replace('http:', 'ws:') + '/live');
  socket.binaryType = 'arraybuffer';
  let newest = null;
  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') return;
    const { rows, count } = readFrame(data);
    const width = rows.length / count;
    for (let row = 0; row < count; row += 1) ages.push(now() - (newest = rows[row * width + column] / 1e6));
  });
  await new Promise((opened) => socket.addEventListener('open', opened, { once: true }));
  socket.send(JSON.stringify({ session }));
  setInterval(() => socket.send('{"beat": 1}'), 1000);
  const draw = (at) => {
    if (newest !== null) shown.push(now() - newest);
    newest = null;
    drawn += 1;
    pen.clearRect(0, 0, ...size);
    const high = size[1] / counted;
    for (let lane = 0; lane < counted; lane += 1) {
      pen.beginPath();
      for (let x = 0; x < size[0]; x += 1) pen.lineTo(x, high * (lane + 0.5 + 0.4 * Math.sin((x + at / 5) / 40)));
      pen.stroke();
    }
    requestAnimationFrame(draw);
  };
  requestAnimationFrame(draw);
}"""
AREA = """() => Array.from(document.querySelectorAll('.lane'), (lane) => lane.getBoundingClientRect())
  .reduce(([, high], box) => [Math.round(box.width), high + Math.round(box.height)], [0, 0])"""

PRESSES = 20
NOTE_ANSWER = """() => {
  globalThis.answered = null;
  const button = document.getElementById('torque-off');
  let pressed = NaN;
  button.addEventListener('pointerdown', (event) => { pressed = event.timeStamp; }, { capture: true, once: true });
  nuc.stopLine.addEventListener('answered', () => {
    const confirmed = Object.values(nuc.stopLine.answer?.confirmed_ns ?? {});
    globalThis.answered = [performance.now() - pressed, Math.max(...confirmed) / 1e6];
  }, { once: true });
}"""
BEGIN = """async () => {
  const asked = (what) => nuc.live.ask(what, {}).then(() => true, () => false);
  while (nuc.live.status.mode !== 'RUNNING' && !(await asked('run'))) {
    await asked('arm');
    await new Promise((done) => setTimeout(done, 100));
  }
}"""


def share(values: Sequence[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def resident_mb(pid: int) -> float:
    """Return the memory of a process that is its own, MB."""
    found = re.search(r"^RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else float("nan")


def tab_pid(watched: Any) -> int:
    """Return the process that has the page: of all that draw pages, the one with most memory."""
    session = watched.page.context.browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    return max((each["id"] for each in processes if each["type"] == "renderer"), key=resident_mb)


def busy_ms(browser: Any) -> float:
    """Return how long the page's main thread has worked, ms: its own code, messages, layout, painting."""
    metrics = browser.send("Performance.getMetrics")["metrics"]
    return 1e3 * next(each["value"] for each in metrics if each["name"] == "TaskDuration")


def row(name: str, values: Sequence[float], unit: str = "ms") -> None:
    middle, late = statistics.median(values), share(values, 0.95)
    print(f"| {name}, {unit} | {middle:.1f} | {late:.1f} | {max(values):.1f} |")


def presses(watched: Any) -> tuple[Sequence[float], Sequence[float]]:
    """Press torque off; return ms until the page has the answer, and until every servo had confirmed."""
    box = watched.page.locator("#torque-off").bounding_box()
    assert box is not None
    whole_ms, bus_ms = list[float](), list[float]()
    for _ in range(PRESSES):
        watched.page.evaluate(BEGIN)
        watched.page.wait_for_timeout(500)
        watched.page.evaluate(NOTE_ANSWER)
        watched.page.mouse.move(box["x"] + 20, box["y"] + 20)
        watched.page.mouse.down()
        whole, bus = watched.page.wait_for_function("() => globalThis.answered").json_value()
        watched.page.mouse.up()
        whole_ms.append(whole)
        bus_ms.append(bus)
    return whole_ms, bus_ms


def bare_page(watched: Watched, minutes: float, size: Sequence[int]) -> tuple[Sequence[float], Sequence[float], float]:
    """Return ages in a bare page in place of the tab, with no tab meanwhile, and how many pictures a second it drew."""
    session, column = watched.page.evaluate(f"[{SESSION}, nuc.live.timeColumn]")
    watched.page.goto("about:blank")
    bare = watched.page.context.new_page()
    # Of the same server, so that it may read there; what it shows is of no account.
    bare.goto(f"{watched.origin}/frames.js")
    bare.evaluate(BARE, [session, column, size, TRACES])
    bare.wait_for_timeout(3000)
    bare.evaluate("() => { ages.length = shown.length = 0; drawn = 0; }")
    bare.wait_for_timeout(60_000 * minutes)
    ages, shown, drawn = bare.evaluate("[ages, shown, drawn]")
    bare.close()
    return ages, shown, drawn / (60 * minutes)


@dataclass
class Seen:
    """What was seen of the page: ms, but for memory, MB."""

    ages: list[float] = field(default_factory=list[float])
    shown: list[float] = field(default_factory=list[float])
    work: list[float] = field(default_factory=list[float])
    memory: list[float] = field(default_factory=list[float])
    busy_each: float = 0.0
    missed: int = 0


def watch(watched: Watched, minutes: float) -> Seen:
    """Look at the page every five seconds. What was noted in it is taken out: what it holds is measured too."""
    seen, pid = Seen(), tab_pid(watched)
    devtools = watched.page.context.new_cdp_session(watched.page)
    devtools.send("Performance.enable")
    watched.page.evaluate(LISTEN)
    first = frames = watched.page.evaluate("nuc.frames")
    busy = busy_ms(devtools)
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        watched.page.wait_for_timeout(5000)
        now, frame_ms, ages, shown = watched.page.evaluate(
            "[nuc.frames, Array.from(nuc.frameMs), ages.splice(0), shown.splice(0)]"
        )
        fresh = min(now - frames, len(frame_ms))
        seen.work += [frame_ms[(now - 1 - k) % len(frame_ms)] for k in range(fresh)]
        seen.ages += ages
        seen.shown += shown
        seen.memory.append(resident_mb(pid))
        frames = now
    seen.busy_each = (busy_ms(devtools) - busy) / (watched.page.evaluate("nuc.frames") - first)
    seen.missed = watched.page.evaluate("nuc.live.missed")
    return seen


def measure(minutes: float) -> None:
    sent = [path for path in Path(WEB).rglob("*") if path.suffix in {".html", ".js", ".css", ".svg"}]
    size = sum(len(gzip.compress(path.read_bytes())) for path in sent)
    print(
        "# What the page costs\n\n"
        f"Made by `python -m benchmarks.ui_page {minutes:g}`; {os.cpu_count()} cores, load average before it "
        f"{os.getloadavg()[0]:.1f}; chromium draws without a graphics card.\n\n"
        f"The page is {size / 1e3:.0f} kB compressed, {len(sent)} files.",
        end="",
    )
    with tempfile.TemporaryDirectory(prefix="nuc-") as place:
        folder = Path(place)
        with (
            server(folder, "--emulated", "lin_roach", "--data", str(folder / "data")) as started,
            browsing() as tab,
        ):
            watched = tab(started)
            whole, connected = watched.page.evaluate(
                "[performance.getEntriesByType('navigation')[0].loadEventEnd, nuc.live.openedAt]"
            )
            print(f" The first is whole after {whole:.0f} ms, connected after {connected:.0f} ms.\n")
            begin(watched)
            watched.go("traces")
            watched.page.evaluate(CHOOSE, TRACES)
            watched.page.wait_for_timeout(3000)
            lanes = watched.page.evaluate("document.querySelectorAll('.lane').length")
            if lanes != TRACES:
                raise SystemExit(f"{lanes} traces are drawn; expected {TRACES}")
            offset_ms = (time.time_ns() - time.monotonic_ns()) / 1e6
            seen = watch(watched, minutes)
            token = watched.page.evaluate(TOKEN)
            bare_minutes = min(minutes, BARE_MINUTES)
            bare_ages, bare_shown, bare_drawn = bare_page(watched, bare_minutes, watched.page.evaluate(AREA))
            watched.page.goto(f"{started.origin}/#t={token}")
            watched.until(LIVE)
            watched.take_control()
            whole_ms, bus_ms = presses(watched)
    print("|  | p50 | p95 | most |\n|---|---|---|---|")
    row("age of a record in the page", [age - offset_ms for age in seen.ages])
    row("age in the picture that shows it", [age - offset_ms for age in seen.shown])
    row("age of a record in a bare page", [age - offset_ms for age in bare_ages])
    row("age in the picture of a bare page", [age - offset_ms for age in bare_shown])
    row(f"work for a picture, {lanes} traces", seen.work)
    row("torque off, from press to answer", whole_ms)
    row("of it until all servos confirmed", bus_ms)
    marks = [seen.memory[round(share * (len(seen.memory) - 1))] for share in (0.1, 0.25, 0.5, 0.75, 1)]
    held = ", ".join(f"{mark:.0f}" for mark in marks)
    print(
        f"\nAll that the main thread does, messages, layout and painting too: {seen.busy_each:.1f} ms for each picture"
        f" on the average. Pictures a second: {len(seen.work) / (60 * minutes):.1f}, of the bare page in its"
        f" {bare_minutes:g} min {bare_drawn:.1f}. Records missed: {seen.missed}. Memory of the tab after 10, 25, 50, 75"
        f" and 100 % of {minutes:g} min: {held} MB; it keeps 10 min of records."
    )


if __name__ == "__main__":
    measure(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)
