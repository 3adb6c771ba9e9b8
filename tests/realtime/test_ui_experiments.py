"""Experiments in the page of `nuc ui` in a real browser: what came of them, and one that is run there."""

from __future__ import annotations

import json

import pytest

from tests.realtime.ui_browser import needs_axe, needs_browser, server

pytestmark = needs_browser

BUSY = "() => !document.querySelector('.run-experiment progress').hidden"
NOTED = """() => {
  globalThis.told = [];
  const status = document.querySelector('.run-experiment [role=status]');
  const every = { childList: true, characterData: true, subtree: true };
  new MutationObserver(() => told.push(status.textContent)).observe(status, every);
}"""
SAYS = "what => new RegExp(what).test(document.querySelector('.run-experiment [role=status]').textContent)"


@pytest.fixture
def data(tmp_path):
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def watched(tab, tmp_path, data):
    with server(tmp_path, "--bouts", str(data)) as started:
        watched = tab(started)
        watched.until("() => nuc.live.welcome")
        watched.go("experiments")
        watched.until("() => document.querySelectorAll('.experiments a').length > 5")
        yield watched
        assert watched.complaints == []
        assert watched.elsewhere() == []


def test_one_is_opened_by_keyboard_and_shows_what_stands_in_its_verdict(watched):
    page = watched.page
    link = page.get_by_role("link", name="Fb", exact=True)
    link.focus()
    page.keyboard.press("Enter")
    watched.until("() => document.querySelector('.experiment-place figure img')?.naturalWidth > 100")
    text = watched.text(".experiment-place")
    assert "100/100" in text
    assert "as seen" in text
    page.locator("summary", has_text="seed by seed").first.click()
    assert page.locator(".experiment-place tbody tr", has_text="110001").first.is_visible()
    page.get_by_role("link", name="all experiments").click()
    watched.until("() => !document.querySelector('.experiment-list').hidden")


def test_one_that_is_run_is_told_while_it_runs_and_then_judged(watched, data):
    page = watched.page
    watched.go("experiments/A")
    watched.until("() => document.querySelector('.run-experiment')")
    page.get_by_label("repetitions", exact=True).fill("3")
    page.get_by_label("first seed").fill("7")
    assert "nuc experiment A --repeat 3 --seed 7" in watched.text(".run-experiment code")
    page.get_by_role("button", name="Run", exact=True).click()
    page.evaluate(NOTED)
    watched.until(SAYS, r"A \d of \d as seen")
    watched.until("() => /tuning seeds|3 repetitions from seed 7/.test(document.querySelector('.columns').textContent)")
    (row,) = json.loads((data / "experiments/A/verdict.json").read_text())["rows"]
    assert f"A {row['as_seen']['count']} of 3 as seen" in page.evaluate("told.join()")
    assert f"{row['as_seen']['count']}/3" in page.locator(".columns .panel").nth(1).inner_text()


def test_one_that_is_cancelled_leaves_no_verdict(watched, data):
    page = watched.page
    watched.go("experiments/D1")
    watched.until("() => document.querySelector('.run-experiment')")
    page.get_by_label("repetitions", exact=True).fill("1000")
    page.get_by_role("button", name="Run", exact=True).click()
    watched.until(BUSY)
    page.get_by_role("button", name="Cancel", exact=True).click()
    watched.until(SAYS, "cancelled")
    assert not (data / "experiments/D1/verdict.json").exists()
    page.get_by_label("repetitions", exact=True).fill("1.5")
    page.get_by_role("button", name="Run", exact=True).click()
    watched.until(SAYS, "a whole number")


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_who_can_not_see_it_can_use_it(watched, scheme):
    watched.page.emulate_media(color_scheme=scheme)
    for where in ("experiments", "experiments/A"):
        watched.go(where)
        watched.until("() => document.querySelector('.experiment-place figure img, .experiments a')")
        watched.page.wait_for_timeout(500)
        assert watched.violations() == [], where
