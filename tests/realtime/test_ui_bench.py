"""The bench of `nuc ui` in a real browser: joints by hand, poses, doctor, a bout fetched, beside a real daemon."""

from __future__ import annotations

import tarfile

import pytest

from tests.realtime.daemon import wait_for
from tests.realtime.pty_servos import IDS, Servos
from tests.realtime.served import repeat_disturbed
from tests.realtime.ui_browser import needs_axe, needs_browser, set_free

pytestmark = needs_browser

JOINT = "Femur-Tibia"
ANGLE = f"angle of {JOINT}, degrees"
MODE = f"document.querySelector('[aria-label=\"what commands {JOINT}\"] [aria-pressed=true]')?.textContent"
PRESSED = f"(mode) => {MODE} === mode"
FREE = "() => [...document.querySelectorAll('.bench-angle input')].every((input) => !input.disabled)"
SENT = "() => nuc.live.now('Femur_Tibia_motor.sent_raw')"


@pytest.fixture
def watched(ui, tab):
    watched = tab(ui)
    watched.await_live()
    watched.go("bench")
    yield watched
    assert watched.complaints == []


def begin(watched, served):
    """Take control on the page from the test's own client, of joints that may be moved."""
    set_free(served)
    watched.take_control()
    watched.until(FREE)


def test_who_has_no_control_is_told_so_and_moves_nothing(watched):
    assert "take control" in watched.text("[aria-label=Joints] > .note")
    assert watched.page.get_by_label(ANGLE, exact=True).is_disabled()
    assert watched.page.get_by_role("button", name="All hold").is_disabled()


def test_a_joint_goes_where_its_slider_says_and_is_limp_when_told_so(served, watched, stalls):
    page = watched.page

    def trial():
        begin(watched, served)
        page.get_by_label("rate, deg/s").fill("200")
        slider = page.get_by_label(ANGLE, exact=True)
        slider.focus()
        goal = float(slider.input_value()) + 8
        for _ in range(16):
            page.keyboard.press("ArrowRight")
        watched.until(PRESSED, "hold")
        model = served.client.model()
        motor = next(joint["motor"] for joint in model["joints"] if joint["name"] == JOINT)
        raw = motor["angle_cal1"] + motor["angle_cal2"] * goal
        watched.until(f"() => Math.abs(({SENT})() - {raw}) <= 1.5")
        page.get_by_label(f"what commands {JOINT}").get_by_role("button", name="limp").click()
        watched.until(PRESSED, "limp")
        watched.until(f"() => ({SENT})() < 0")
        assert "mode Femur-Tibia limp" in watched.text("#said")

    repeat_disturbed(stalls, trial)


def test_a_pose_is_saved_and_reached_and_what_is_latched_says_how_to_go_on(served, watched, stalls):
    page = watched.page

    def trial():
        begin(watched, served)
        page.get_by_label("name", exact=True).fill("here")
        page.get_by_role("button", name="Save the pose").click()
        page.get_by_role("button", name="Go to").click()
        watched.until(PRESSED, "hold")
        assert "here" in served.client.poses()
        page.locator("#torque-off").click()
        watched.until("() => /latched: off/.test(document.querySelector('.faults').textContent)")
        assert "see that the leg may move, then arm" in watched.text(".faults")
        assert "arm" in watched.text("[aria-label=Joints] > .note"), "why nothing can be moved"
        assert page.get_by_label(ANGLE, exact=True).is_disabled()
        served.client.take_control(force=True)
        served.insist(served.client.arm)

    repeat_disturbed(stalls, trial)


LAG = """() => {
  globalThis.asked = [];
  const { live } = nuc, ask = live.ask.bind(live);
  let before = Promise.resolve();
  live.ask = (method, params) => {
    if (['joint_mode', 'pose', 'tweak'].includes(method)) asked.push([method, params]);
    // One after the other, each late, as over a slow line.
    before = before.then(() => new Promise((done) => setTimeout(done, 300 + 900 * Math.random())));
    return before.then(() => ask(method, params));
  };
}"""


def test_limp_wins_over_a_hold_under_way_though_answers_are_late(served, watched, stalls):
    page = watched.page

    def trial():
        begin(watched, served)
        page.evaluate(LAG)
        page.get_by_role("button", name="All hold").dblclick()
        page.get_by_role("button", name="All limp").click()
        watched.until("() => document.querySelectorAll('.mode-asked:not(:empty)').length > 1")
        asked = [params["mode"] for _, params in page.evaluate("asked")]
        assert asked[0] == "hold"
        assert set(asked[1:]) == {"limp"}, "nothing of the hold follows"
        limps = (
            "() => [...document.querySelectorAll('.bench-joint [aria-pressed=true]')].map((each) => each.textContent)"
        )
        watched.until(f"() => ({limps})().every((mode) => mode === 'limp')")
        watched.until("() => !document.querySelectorAll('.mode-asked:not(:empty)').length")
        page.wait_for_timeout(1500)
        assert set(page.evaluate(limps)) == {"limp"}
        page.reload()
        watched.await_live()

    repeat_disturbed(stalls, trial)


def test_an_angle_is_sent_by_enter_alone_and_refused_out_of_range(served, watched, stalls):
    page = watched.page

    def trial():
        begin(watched, served)
        page.evaluate(LAG)
        typed = page.get_by_label(f"{ANGLE}, typed")
        high = typed.get_attribute("max")
        typed.fill("999")
        page.keyboard.press("Enter")
        assert f"to {high} deg: not sent" in watched.text("#said")
        typed.fill("33")
        page.keyboard.press("Tab")
        page.get_by_label("rate, deg/s").fill("-5")
        watched.until(f"() => document.querySelector('[aria-label=\"{ANGLE}\"]').disabled")
        assert "rate" in watched.text("[aria-label=Joints] > .note")
        page.get_by_label("rate, deg/s").fill("20")
        watched.until(FREE)
        assert page.evaluate("asked") == []
        goal = page.get_by_label(ANGLE, exact=True).input_value()
        typed.fill(goal)
        page.keyboard.press("Enter")
        watched.until("() => asked.length === 1")
        assert page.evaluate("asked[0][1].angles") == {JOINT: float(goal)}
        page.reload()
        watched.await_live()

    repeat_disturbed(stalls, trial)


def test_rows_and_focus_stay_when_the_daemon_tells_the_same_again(served, watched):
    page = watched.page
    begin(watched, served)
    modes = page.get_by_label(f"what commands {JOINT}")
    modes.get_by_role("button", name="limp").focus()
    page.keyboard.press("Home")
    at = "document.activeElement.textContent"
    first = page.evaluate(at)
    page.keyboard.press("ArrowLeft")
    assert page.evaluate(at) == "limp", "those that can not be pressed are passed over"
    assert first != "limp"
    stops = "group => [...group.querySelectorAll('button')].filter((each) => each.tabIndex === 0).length"
    assert modes.evaluate(stops) == 1
    page.evaluate("nuc.live.tell('layout'); nuc.live.tell('welcome');")
    page.wait_for_timeout(300)
    assert page.evaluate(at) == "limp"
    page.locator("#nav a").first.focus()
    page.evaluate("nuc.makeNav()")
    assert page.evaluate(at) == "Engine"


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_can_be_used_by_all(served, ui, tab, scheme):
    watched = tab(ui, color_scheme=scheme)
    watched.await_live()
    watched.go("bench")
    page = watched.page
    for control in (False, True):
        if control:
            begin(watched, served)
            page.wait_for_timeout(500)
        assert watched.violations() == [], control
    # Twice as large, nothing is cut off beside.
    page.set_viewport_size({"width": 640, "height": 400})
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    page.close()


def test_the_doctor_comes_to_its_end_and_a_bus_that_is_driven_is_refused(served, watched):
    page = watched.page
    page.get_by_role("button", name="Doctor").click()
    watched.until("() => document.querySelectorAll('[aria-label=checks] tbody tr').length > 5")
    url = next(iter(served.client.status().buses.values()))
    page.get_by_label("bus", exact=True).fill(url)
    page.get_by_role("button", name="Scan").click()
    watched.until("() => /in use/.test(document.querySelector('.job .note').textContent)")


def test_a_bus_that_nobody_drives_is_scanned_and_a_servos_registers_are_read(watched, tmp_path):
    page = watched.page
    servos = Servos("feetech", "STS3215", tmp_path, baud=1_000_000)
    try:
        page.get_by_label("bus", exact=True).fill(f"{servos.url}&timeout_us=15000")
        page.get_by_role("button", name="Scan").click()
        found = page.get_by_role("table", name="servos that answer").locator("tbody tr")
        found.nth(len(IDS) - 1).wait_for()
        assert found.count() == len(IDS)
        page.get_by_role("button", name="2", exact=True).click()
        registers = page.get_by_role("table", name="registers").locator("tbody tr")
        registers.nth(20).wait_for()
        assert "STS3215" in watched.text(".toolbar strong")
        assert page.get_by_label("servo", exact=True).input_value() == "2"
        kinds = {frame.kind for frame in servos.log().frames}
        assert "ping" in kinds
        assert not [kind for kind in kinds if not kind.startswith(("ping", "read", "sync read"))], "nothing was written"
    finally:
        servos.end()


def test_a_bout_of_the_daemon_is_fetched_as_it_lies_there(served, watched, tmp_path):
    page = watched.page
    if served.words()["latched"]:
        served.insist(served.client.arm)
    served.run_bout(0.5)
    folder = served.finish_bout()
    watched.go("engine")
    page.get_by_role("button", name="List bouts").click()
    watched.until("() => !document.querySelector('[aria-label=\"Fetch a bout\"] .actions button').disabled")
    with page.expect_download() as download:
        page.get_by_role("button", name="Fetch all").click()
    download.value.save_as(tmp_path / "bout.tar")
    with tarfile.open(tmp_path / "bout.tar") as tar:
        assert tar.extractfile(f"{folder.name}/StateData.txt").read() == (folder / "StateData.txt").read_bytes()
    wait_for(lambda: served.client.status().mode != "RUNNING", "the end", served)
