"""Eight tabs of `nuc ui` beside an emulated leg that steps, against none: is the leg any worse for them?

    python -m benchmarks.ui_eight [MINUTES [PAIRS]] > benchmarks/UI_EIGHT.md      10 minutes, 3 pairs without any

Stretches alternate: one real tab with traces and seven WebSocket clients that read all; and a bare page that draws as
often in the same browser, which is load too. Told of each: records that the clients were not sent, exchanges a second,
and how late the tasks woke up, by the daemon's own numbers of each second. Needs chromium and playwright.
"""

from __future__ import annotations

import json
import os
import statistics
import struct
import sys
import tempfile
import threading
import time  # noqa: TID251  what is measured is real time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from benchmarks.ui_screens import LIVE, begin
from nuc_engine.client import Client
from tests.realtime.ui_browser import Server, Watched, browsing, server

CLIENTS = 7
HEAD = struct.Struct("<IId")
BARE = """<!doctype html><canvas width="900" height="500"></canvas><script>
const pen = document.querySelector('canvas').getContext('2d');
const draw = (now) => {
  pen.clearRect(0, 0, 900, 500);
  pen.beginPath();
  for (let x = 0; x < 900; x += 1) pen.lineTo(x, 250 + 200 * Math.sin((x + now / 5) / 40));
  pen.stroke();
  requestAnimationFrame(draw);
};
requestAnimationFrame(draw);
</script>"""
TOKEN = "nuc.api.json('token', {method: 'POST'}).then((told) => told.token)"
SESSION = "sessionStorage.getItem('nuc-session')"


@dataclass
class Reader:
    """A client that reads all and shows nothing."""

    records: int = 0
    missed: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self, origin: str, session: str) -> None:
        """Read until it is ended."""
        address = origin.replace("http:", "ws:") + "/live"
        with suppress(ConnectionClosed), connect(address, origin=origin, compression=None, max_size=None) as link:
            link.send(json.dumps({"session": session}))
            beat_s = 0.0
            while not self.ended.is_set():
                if time.monotonic() - beat_s > 1.0:
                    beat_s = time.monotonic()
                    link.send('{"beat": 1}')
                with suppress(TimeoutError):
                    message = link.recv(timeout=0.2)
                    if isinstance(message, bytes):
                        self.records += HEAD.unpack_from(message)[1]
                    elif '"topic":"missed"' in message:
                        self.missed += json.loads(message)["records"]
            return
        self.missed += not self.ended.is_set()  # it was put out


@contextmanager
def eight_tabs(started: Server, first: Watched) -> Generator[list[Reader]]:
    """Open them; the first is the real one, which was open before."""
    first.go("traces")
    readers = [Reader() for _ in range(CLIENTS)]
    session = first.page.evaluate(SESSION)
    threads = [threading.Thread(target=each.run, args=(started.origin, session)) for each in readers]
    for thread in threads:
        thread.start()
    try:
        yield readers
    finally:
        for reader in readers:
            reader.ended.set()
        for thread in threads:
            thread.join()


def stretch(client: Client, minutes: float) -> dict[str, float]:
    """Look at the daemon each second; return exchanges a second and how late its tasks were."""
    late: list[float] = []
    first = client.status().data
    begun = time.monotonic()
    while time.monotonic() - begun < 60 * minutes:
        time.sleep(1.0)
        tasks = client.status().data["tasks"].values()
        late.append(max(task["last_second"]["lateness_ns"]["p99"] for task in tasks if task.get("last_second")) / 1e3)
    last = client.status().data
    assert first["bout"] == last["bout"], "the bout ended meanwhile: a busy machine"
    seconds = time.monotonic() - begun
    cycles = last["cycle"] - first["cycle"]
    return {"per_s": cycles / seconds, "p50": statistics.median(late), "max": max(late), "cycles": cycles}


def measure(minutes: float, pairs: int) -> None:
    """Measure pairs of stretches, and print them."""
    print(
        "# A leg beside eight tabs\n\n"
        f"Made by `python -m benchmarks.ui_eight {minutes:g} {pairs}`; {os.cpu_count()} cores, load average before it "
        f"{os.getloadavg()[0]:.1f}. Alternating stretches of {minutes:g} min: one real tab with traces and {CLIENTS} "
        "clients that read all; and none, but a bare page that draws as often in the same browser. Late: of each "
        "second the 99th percentile of the task that was latest, by the daemon's own numbers.\n\n"
        "|  | exchanges a second | late, median of the seconds, us | worst second, us | records not sent to a client | "
        "records missed by the page |\n|---|---|---|---|---|---|",
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="nuc-") as place, ExitStack() as stack:
        folder = Path(place)
        started = stack.enter_context(server(folder, "--emulated", "lin_roach", "--data", str(folder / "data")))
        tab = stack.enter_context(browsing())
        watched = tab(started)
        begin(watched)
        address = watched.page.evaluate("nuc.live.welcome.daemon")
        client = stack.enter_context(Client(address, name="bench", role="watch"))
        token = watched.page.evaluate(TOKEN)
        context = watched.page.context
        bare = context.new_page()
        for _ in range(pairs):
            watched.page.goto("about:blank")
            bare.set_content(BARE)
            bare.bring_to_front()
            time.sleep(2.0)
            row("none", stretch(client, minutes), 0, 0)
            bare.goto("about:blank")
            watched.page.bring_to_front()
            watched.page.goto(f"{started.origin}/#t={token}")
            watched.until(LIVE)
            token = watched.page.evaluate(TOKEN)
            with eight_tabs(started, watched) as readers:
                time.sleep(2.0)
                missed, before = watched.page.evaluate("nuc.live.missed"), [each.records for each in readers]
                seen = stretch(client, minutes)
                time.sleep(1.0)  # what was on its way has come: with what came meanwhile they are more, never fewer
                lost = sum(each.missed for each in readers)
                short = sum(max(0, seen["cycles"] - (r.records - b)) for r, b in zip(readers, before, strict=True))
                row("eight tabs", seen, int(max(lost, short)), watched.page.evaluate("nuc.live.missed") - missed)


def row(name: str, seen: dict[str, float], lost: int, missed: int) -> None:
    print(f"| {name} | {seen['per_s']:.2f} | {seen['p50']:.0f} | {seen['max']:.0f} | {lost} | {missed} |", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    measure(float(given[0]) if given else 10.0, int(given[1]) if len(given) > 1 else 3)
