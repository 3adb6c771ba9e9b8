"""The workbench as who uses it meets it: screens of two sizes, help, what can be traced, a page without a daemon."""

from __future__ import annotations

import pytest

from tests.realtime.ui_browser import in_a_bout, needs_browser, server, set_free

pytestmark = needs_browser
pytest.importorskip("mujoco", reason="no emulated leg")

PAGES = (
    *("engine", "leg", "joints", "traces", "diagrams", "scripts/script/experiment_ga", "bouts", "experiments"),
    *("bench", "events", "values"),
)
FILLS = ("leg", "traces", "scripts/script/experiment_ga", "bouts", "events", "values")
"""Pages that are as high as the screen, and in which parts scroll."""

COVERED = """() => [...document.querySelectorAll('.page button, .page input, .page select')].filter((each) => {
  if (!each.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
  if (each.closest('.scroller, .scroller-x, .chart, .editor, details, .unseen')) return false;
  each.scrollIntoView({ block: 'center' });
  const box = each.getBoundingClientRect();
  const there = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return !there || !(each.contains(there) || there.contains(each));
}).map((each) => each.outerHTML.slice(0, 200))"""
"""Elements over which something else lies."""

EDIT = "(value) => nuc.live.ask('set', { changes: [['FT_ext_FTang', value]] })"


@pytest.mark.parametrize("width", [420, 1024])
def test_pages_fit_their_screen_and_nothing_lies_over_what_is_pressed(ui, tab, width):
    watched = tab(ui, viewport={"width": width, "height": 700})
    page = watched.page
    watched.await_live()
    for where in PAGES:
        watched.go(where)
        watched.until("() => document.querySelector('.page')?.checkVisibility()")
        if where.startswith("scripts"):
            watched.until("() => document.querySelector('.editor-text')?.value")
            page.get_by_role("tab", name="Timeline").click()
            watched.until("() => document.querySelectorAll('.timeline .lane').length")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, where
        assert page.evaluate(COVERED) == [], where
        if width == 1024 and where in FILLS:
            page.evaluate("document.getElementById('main').scrollTop = 0")
            high, there = page.evaluate("(({scrollHeight, clientHeight}) => [scrollHeight, clientHeight])(main)")
            assert high <= there, where
    assert watched.complaints == []


def test_a_camera_leaves_joints_below_it_to_scroll_alone(ui, tab):
    watched = tab(ui, permissions=["camera", "microphone"])
    watched.await_live()
    watched.go("leg")
    watched.page.get_by_role("button", name="Camera \u2026").click()
    watched.until("() => document.querySelector('.camera video').readyState >= 2")
    assert watched.page.evaluate("main.scrollHeight <= main.clientHeight")
    assert watched.page.evaluate("document.getElementById('joints').clientHeight") > 120


def test_help_is_read_in_full_however_long_and_covers_nothing_of_what_was_said(ui, tab):
    watched = tab(ui)
    page = watched.page
    watched.await_live()
    watched.go("joints")
    page.locator(".comparison .knob").first.hover()
    watched.until("() => document.getElementById('help').textContent.length > 150")
    page.evaluate("nuc.say('x'.repeat(400), 'bad')")
    whole, shown, left, right = page.evaluate("""() => {
      const help = document.getElementById('help'), said = document.getElementById('said');
      const [a, b] = [help, said].map((each) => each.getBoundingClientRect());
      return [help.scrollHeight, help.clientHeight, b.right, a.left];
    }""")
    assert whole <= shown
    assert left <= right
    page.locator("#said .said-text").hover()
    watched.until("() => document.getElementById('help').textContent.length === 400")


def test_a_parameter_and_how_late_a_task_is_are_traced_and_kept(served, ui, tab, stalls):
    def trial():
        watched = tab(ui)
        page = watched.page
        watched.await_live()
        watched.begin(served, "traces")
        watched.until("() => nuc.live.sampled.index.has('task.motor_action.lateness_max_us')")
        for name in ("FT_ext_FTang", "task.motor_action.lateness_max_us"):
            page.get_by_label("add a trace").fill(name)
            page.get_by_label("add a trace").press("Enter")
            page.get_by_role("group", name=name, exact=True).wait_for()
        shown = "document.querySelector('.lane[aria-label=FT_ext_FTang] .lane-value').textContent"
        for value in (85, 95):
            page.evaluate(EDIT, value)
            watched.until(f"(value) => Math.abs(parseFloat({shown}) - value) < 0.01", arg=value)
        steps = page.evaluate("""() => {
          const { ring, index } = nuc.live.sampled, column = index.get('FT_ext_FTang');
          return Array.from({ length: ring.end }, (_, n) => ring.at(column, n)).filter((v, n, all) => v !== all[n - 1]);
        }""")
        assert steps[-2:] == [85, 95]
        page.reload()
        watched.await_live()
        page.get_by_role("group", name="FT_ext_FTang", exact=True).wait_for()
        watched.leave(served)

    in_a_bout(stalls, served, trial)
    set_free(served)


def test_without_a_daemon_nothing_is_said_of_an_engine(served, tab, tmp_path):
    with server(tmp_path, "--bouts", str(served.data)) as started:
        watched = tab(started)
        watched.until("() => document.querySelector('.bouts')?.checkVisibility()")
        watched.until("() => document.body.classList.contains('no-daemon')")
        assert not watched.page.get_by_role("button", name="Take control").is_visible()
        assert not watched.page.evaluate("document.body.classList.contains('stale')")
        assert watched.text("#said") == ""
        assert watched.complaints == []
