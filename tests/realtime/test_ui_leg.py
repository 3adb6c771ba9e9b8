"""What stands beside the leg: a bout on the virtual clock that is steered, in a real browser."""

from __future__ import annotations

from base64 import b64decode

import pytest

from tests.configs.two_legs import OTHER, write_two_legs
from tests.realtime.daemon import Leg
from tests.realtime.served import Served
from tests.realtime.ui_browser import needs_browser, server

pytestmark = needs_browser
pytest.importorskip("mujoco", reason="no emulated leg")

WHERE = "document.querySelector('.virtual .readout').textContent"


def test_a_bout_on_the_virtual_clock_stands_steps_and_goes_slowly_and_the_daemon_knows_nothing_of_it(served, ui, tab):
    watched = tab(ui)
    page = watched.page
    watched.await_live()
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


FILM = """async () => {
  const plain = document.createElement('canvas');
  plain.width = 64; plain.height = 48;
  const pen = plain.getContext('2d'), stream = plain.captureStream(30), parts = [];
  const recorder = new MediaRecorder(stream, { mimeType: 'video/webm' });
  recorder.ondataavailable = ({ data }) => parts.push(data);
  recorder.start();
  const begun = performance.now();
  while (performance.now() - begun < 2500) {
    pen.fillStyle = `rgb(${Math.floor(performance.now() / 20) % 255} 0 0)`;
    pen.fillRect(0, 0, 64, 48);
    await new Promise(requestAnimationFrame);
  }
  await new Promise((done) => { recorder.onstop = done; recorder.stop(); });
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}"""


def test_a_film_of_a_bout_goes_with_it_by_its_offset_which_is_kept(ui, served, tab, tmp_path):
    served.run_bout(3.0)
    served.finish_bout()
    watched = tab(ui)
    page = watched.page
    watched.await_live()
    film = tmp_path / "film.webm"
    film.write_bytes(b64decode(page.evaluate(FILM)))
    watched.go("bouts")
    page.locator(".bouts a").first.click()
    chosen = page.get_by_label("a video or sound file of this bout")
    watched.until("() => /every record/.test(document.querySelector('.player')?.textContent)")
    chosen.set_input_files(film)
    watched.until("() => document.querySelector('.video-beside video')?.checkVisibility()")
    page.get_by_label("time offset of the video, s").fill("0.5")
    page.get_by_label("time offset of the video, s").press("Enter")
    page.get_by_label("time in the bout").fill("1.2")
    watched.until("() => Math.abs(document.querySelector('.video-beside video').currentTime - 1.7) < 0.02")
    page.get_by_label("time in the bout").fill("0")
    page.get_by_role("button", name="▶ Play").click()
    watched.until("() => document.querySelector('.video-beside video').currentTime > 0.9")
    film_s = "document.querySelector('.video-beside video').currentTime"
    at_s = "parseFloat(document.querySelector('.player output').textContent)"
    video_s, bout_s = page.evaluate(f"[{film_s}, {at_s}]")
    assert abs(video_s - 0.5 - bout_s) < 0.3
    page.get_by_role("button", name="‖ Pause").click()
    page.get_by_label("time in the bout").fill("0.3")
    watched.until("() => Math.abs(document.querySelector('.video-beside video').currentTime - 0.8) < 0.02")
    page.evaluate("document.querySelector('.video-beside video').currentTime = 1.5")
    watched.until("() => !document.querySelector('.video-beside video').seeking")
    page.get_by_role("button", name="Line up").click()
    assert page.get_by_label("time offset of the video, s").input_value() == "1.20"
    page.reload()
    watched.until("() => document.querySelector('.video-beside')")
    assert page.get_by_label("time offset of the video, s").input_value() in ("1.2", "1.20")
    assert watched.complaints == []
    assert watched.elsewhere() == []


def test_a_camera_is_on_only_while_it_is_looked_at(ui, tab):
    watched = tab(ui, permissions=["camera", "microphone"])
    page = watched.page
    watched.await_live()
    watched.go("leg")
    seen = (
        "() => { const video = document.querySelector('.camera video'); return video.videoWidth > 0 && !video.paused; }"
    )
    page.get_by_role("button", name="Camera …").click()
    watched.until(seen)
    page.evaluate("globalThis.track = document.querySelector('.camera video').srcObject.getVideoTracks()[0]")
    assert page.evaluate("track.readyState") == "live"
    page.get_by_label("sound").check()
    watched.until("() => document.querySelector('.camera video').srcObject?.getAudioTracks().length === 1")
    page.evaluate("globalThis.track = document.querySelector('.camera video').srcObject.getVideoTracks()[0]")
    watched.go("engine")
    assert page.evaluate("track.readyState") == "ended"
    watched.go("leg")
    assert not page.locator(".camera").is_visible()
    assert watched.complaints == []


DRAWN = """() => {
  const points = [], arc = CanvasRenderingContext2D.prototype.arc;
  CanvasRenderingContext2D.prototype.arc = function (x, y, radius, ...more) {
    if (this.canvas.checkVisibility()) points.push([x, y, radius]);
    return arc.call(this, x, y, radius, ...more);
  };
  return new Promise((done) => setTimeout(() => {
    CanvasRenderingContext2D.prototype.arc = arc;
    done(points.slice(-10));
  }, 500));
}"""
"""Where the last picture of the leg has feet and joints."""


def test_a_body_with_two_legs_is_drawn_with_both(tab, tmp_path):
    body = write_two_legs(tmp_path / "body")
    leg = Leg(tmp_path, str(body))
    try:
        both = Served(leg, tmp_path, config=str(body))
        try:
            both.await_ready()
            with server(tmp_path, "--address", f"ipc://{both.sockets}/command", "--data", str(both.data)) as started:
                watched = tab(started)
                watched.await_live()
                watched.go("leg")
                watched.until("() => document.querySelectorAll('.page-leg .joint').length === 8")
                feet = watched.text("#foot")
                assert feet.startswith("feet "), feet
                assert feet.count(";") == 1
                assert f"Femur-Tibia{OTHER}" in watched.text(".page-leg")
                drawn = watched.page.evaluate(DRAWN)
                assert len(drawn) == 10, "two feet, and four joints of each leg"
                places = {(round(x), round(y)) for x, y, _ in drawn}
                assert len(places) >= 8, places
                both.run_bout(1.0)
                both.finish_bout()
                watched.go("bouts")
                watched.page.locator(".bouts a").first.click()
                watched.until("() => /every record/.test(document.querySelector('.player')?.textContent)")
                assert watched.page.get_by_role("group", name=f"FT_angle{OTHER}", exact=True).is_visible()
                assert "this body has several" in watched.text("section[aria-label=steps]")
                watched.go("bouts")
                watched.until("() => [...document.querySelectorAll('.bouts img')].some((image) => image.naturalWidth)")
                assert watched.complaints == []
        finally:
            both.close()
    finally:
        leg.end()


def test_a_leg_is_drawn_as_late_as_its_camera_and_says_so(ui, tab, served):
    watched = tab(ui)
    watched.await_live()
    watched.go("leg")
    watched.page.get_by_role("button", name="Camera").click()
    watched.until("() => document.querySelector('.camera video').readyState >= 2")
    late = watched.page.get_by_label("late by, ms")
    late.fill("400")
    late.press("Tab")
    watched.until("() => /400 ms ago/.test(document.getElementById('foot').textContent)")
    late.fill("-1")
    late.press("Tab")
    assert late.get_attribute("aria-invalid") == "true"
    watched.until("() => !/ms ago/.test(document.getElementById('foot').textContent)")
    watched.page.get_by_role("button", name="Camera off").click()
    watched.page.get_by_role("button", name="Camera \u2026").click()
    watched.until("() => document.querySelector('.camera input[type=number]').value === '400'")
    assert watched.complaints == []
