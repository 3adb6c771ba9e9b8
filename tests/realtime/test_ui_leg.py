"""What stands beside the leg: a bout on the virtual clock that is steered, in a real browser."""

from __future__ import annotations

import pytest

from tests.realtime.ui_browser import browsing, needs_browser, server

pytestmark = needs_browser
pytest.importorskip("mujoco", reason="no emulated leg")

LIVE = "() => nuc.live.liveness(performance.now()).live && nuc.live.ring.end > 20 && nuc.live.model"
WHERE = "document.querySelector('.virtual .readout').textContent"


@pytest.fixture(scope="module")
def bench(serve_all):
    leg, served = serve_all()
    served.await_ready()
    return leg, served


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with browsing(tmp_path_factory.mktemp("browser")) as make:
        yield make


@pytest.fixture
def ui(bench, tmp_path):
    _, served = bench
    with server(tmp_path, "--address", f"ipc://{served.sockets}/command", "--data", str(served.data)) as started:
        yield started


def test_a_bout_on_the_virtual_clock_stands_steps_and_goes_slowly_and_the_daemon_knows_nothing_of_it(bench, ui, tab):
    _, served = bench
    watched = tab(ui)
    page = watched.page
    watched.until(LIVE)
    watched.go("leg")
    page.get_by_role("link", name="Virtual clock").click()
    watched.until("() => document.querySelector('.virtual')?.checkVisibility()")
    page.get_by_role("button", name="Begin", exact=True).click()
    watched.until(f"() => /cycle 1\\b/.test({WHERE})")
    page.get_by_role("button", name="1 cycle").click()
    watched.until(f"() => /cycle 2\\b/.test({WHERE})")
    page.get_by_role("button", name="10", exact=True).click()
    watched.until(f"() => /cycle 12\\b/.test({WHERE})")
    watched.page.wait_for_timeout(400)
    assert "cycle 12" in page.evaluate(WHERE), "it stands"
    page.get_by_label("speed of its clock").select_option("0.5")
    page.get_by_role("button", name="Go on").click()
    watched.until(f"() => Number(/cycle (\\d+)/.exec({WHERE})[1]) > 100")
    page.get_by_role("button", name="Stand still").click()
    assert page.locator(".virtual .lane").count() >= 4
    assert page.locator(".virtual .joint").count() >= 3
    watched.go("traces")
    watched.go("leg/virtual")
    page.get_by_role("button", name="End", exact=True).click()
    page.get_by_role("link", name="Open what it recorded").click()
    watched.until("() => document.querySelectorAll('.bout .player .lane').length > 3")
    assert "VIRTUAL CLOCK" in watched.text(".bout")
    assert served.words()["mode"] != "RUNNING"
    assert list(served.bouts()) == []
    assert watched.complaints == []
    assert watched.elsewhere() == []
