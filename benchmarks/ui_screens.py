"""The pictures of docs/ui.md: each page of `nuc ui` beside an emulated leg that steps.

    python -m benchmarks.ui_screens [FOLDER]     writes FOLDER/*.png, docs/ui without one; half a minute

Needs chromium and playwright. With --all every page in light and dark, wide and narrow: for who looks whether the page
can be used.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from tests.realtime.ui_browser import Watched, browsing, server

ROOT = Path(__file__).resolve().parents[1]
WIDE, NARROW = (1024, 700), (420, 800)
LIVE = "() => nuc.live.liveness(performance.now()).live && nuc.live.model && nuc.live.ring.end > 50"
RUNS = "() => document.getElementById('is-mode').textContent === 'RUNNING'"
STEPS_MS = 9000
"""How long the leg steps before it is looked at."""


def begin(watched: Watched) -> None:
    """Take control, arm where that is needed, and run."""
    page = watched.page
    watched.until(LIVE)
    watched.go("engine")
    page.get_by_role("button", name="Take control").click()
    watched.until("() => nuc.live.inControl && !document.querySelector('.form .primary').disabled")
    page.get_by_label("labels").fill("operator=rutter, surface=oiled plate")
    page.get_by_role("button", name="Run", exact=True).click()
    watched.until(RUNS)
    watched.until("() => / runs/.test(document.getElementById('said').textContent)")
    watched.page.evaluate("nuc.say('')")


def open_bout(watched: Watched) -> None:
    """Open the bout that was run before, at a moment of its inside turn."""
    watched.go("bouts")
    watched.page.get_by_role("link", name="experiment_a").click()
    watched.until("() => /record/.test(document.querySelector('.player')?.textContent ?? '')")
    watched.until("() => document.querySelectorAll('.player .lane').length > 3")
    watched.page.get_by_label("time in the bout").fill("24.5")
    watched.page.wait_for_timeout(600)


def open_script(watched: Watched) -> None:
    """Open a script, with what it changes when."""
    watched.go("scripts/script/experiment_ga")
    watched.until("() => document.querySelector('.editor-text')?.value")
    watched.page.get_by_role("tab", name="Timeline").click()
    watched.until("() => document.querySelectorAll('.timeline .lane').length")
    watched.page.wait_for_timeout(600)


def run_virtual(watched: Watched) -> None:
    """Let a leg step on the virtual clock, and stand."""
    watched.go("leg/virtual")
    page = watched.page
    page.get_by_role("button", name="Begin", exact=True).click()
    where = "document.querySelector('.virtual .readout').textContent"
    watched.until(f"() => /cycle 1\\b/.test({where})")
    page.get_by_label("speed of its clock").select_option("2")
    page.get_by_role("button", name="Go on").click()
    watched.until(f"() => Number(/cycle (\\d+)/.exec({where})[1]) > 1000")
    page.get_by_role("button", name="Stand still").click()
    page.wait_for_timeout(500)


def tour(watched: Watched) -> Iterator[str]:
    """Go to each page, one after the other; the value is what its picture is called."""
    for name in ("engine", "leg", "joints", "traces", "bouts", "experiments", "bench", "events", "values"):
        watched.go(name)
        watched.page.wait_for_timeout(4500 if name == "bouts" else 1200)
        yield name
    for kind in ("sensory-flow", "event-space", "states", "regions"):
        watched.go(f"diagrams/{kind}")
        watched.until("() => document.querySelector('.diagram svg')")
        watched.page.wait_for_timeout(1200)
        yield "diagrams" if kind == "regions" else f"diagrams_{kind}"
    run_virtual(watched)
    yield "virtual"
    watched.page.get_by_role("button", name="End", exact=True).click()
    watched.page.get_by_role("link", name="Open what it recorded").wait_for()
    open_script(watched)
    yield "scripts"
    open_bout(watched)
    yield "bout"


def keep_running(watched: Watched) -> bool:
    """Begin again, where a busy machine has ended the bout; say whether that was so."""
    if watched.page.evaluate("nuc.live.status.mode") == "RUNNING":
        return False
    for method in ("arm", "run"):
        watched.page.evaluate("method => nuc.live.ask(method)", method)
    watched.until(RUNS)
    watched.page.wait_for_timeout(STEPS_MS)
    return True


def take(watched: Watched, path: Path) -> None:
    """Take a picture, in few colours."""
    watched.page.mouse.move(1, 1)
    watched.page.screenshot(path=path)
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def make(out: Path, *, everything: bool) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="nuc-") as place:
        folder = Path(place)
        nuc = [sys.executable, "-m", "nuc_engine.cli"]
        bout = [
            "run",
            "lin_roach",
            "--script",
            "experiment_a",
            "--duration",
            "60",
            "--out",
            str(folder / "data/experiment_a"),
        ]
        subprocess.run([*nuc, *bout], check=True, cwd=ROOT, capture_output=True)
        words = ("--emulated", "lin_roach", "--data", str(folder / "data"), "--name", "rutter@bench")
        with server(folder, *words) as started, browsing() as tab:
            watched: Any = tab(started)
            begin(watched)
            watched.page.wait_for_timeout(STEPS_MS)
            for name in tour(watched):
                take(watched, out / f"{name}.png")
                while keep_running(watched):
                    take(watched, out / f"{name}.png")
            token = "nuc.api.json('token', {method: 'POST'}).then((told) => told.token)"
            looks = [(scheme, size) for scheme in ("light", "dark") for size in (WIDE, NARROW)]
            for scheme, (width, height) in looks if everything else []:
                options = {"color_scheme": scheme, "viewport": {"width": width, "height": height}}
                other = tab(started, token=watched.page.evaluate(token), **options)
                other.until(LIVE)
                other.page.wait_for_timeout(4000)
                for name in tour(other):
                    take(other, out / f"{name}_{scheme}_{width}.png")


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if not word.startswith("-")]
    make(Path(given[0]) if given else ROOT / "docs" / "ui", everything="--all" in sys.argv)
