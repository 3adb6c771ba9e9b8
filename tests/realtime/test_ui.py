"""`nuc ui` beside a daemon: every record, torque off past everybody, tabs and daemons that vanish, strangers."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import sys
import threading
import time  # noqa: TID251  real processes live on the real clock
from contextlib import ExitStack, suppress
from itertools import groupby, pairwise
from pathlib import Path

import pytest

pytest.importorskip("websockets", reason="the extra ui is not installed")

from benchmarks.webfuzz import forget_jobs, frame, handshakes, throw, visit
from nuc_engine import BoutSpec, run_bout
from nuc_engine.analysis.load import load_bout
from tests.realtime.daemon import MS, assert_limp_within, wait_for
from tests.realtime.page import Ui
from tests.realtime.served import Served, alive, repeat_disturbed

OFF_NS = 150 * MS
"""From the page: what the daemon's own socket promises (100 ms), and a loopback connection."""

GONE_S = 1.0


@pytest.fixture
def ui(bench, request):
    """A page beside a daemon that is ready, its session open."""
    _, served = bench
    words = getattr(request, "param", ())
    page = Ui(served.output.parent, "--data", str(served.data), *words)
    page.begin()
    yield page
    page.end()
    assert "Traceback" not in page.said(), page.said()


def switches(codes: list[float]) -> list[float]:
    return [code for code, _ in groupby(codes)]


def test_every_record_arrives_and_is_what_the_data_directory_holds(bench, ui, stalls):
    _, served = bench

    def trial():
        with ui.tab() as tab, ui.tab() as other:
            refused = tab.answer("run")
            assert refused["error"]["kind"] == "no_control", "control is never implied"
            tab.ask("take_control")
            assert other.answer("set", changes=[["FT_flux_FTang", 66]])["error"]["kind"] == "no_control"
            if tab.ask("status")["latched"]:
                tab.insist("arm")
            bout = tab.insist("run")["bout"]
            time.sleep(1.0)
            done = tab.ask("set", changes=[["FT_flux_FTang", 66]])
            time.sleep(1.0)
            assert tab.ask("stop")["bout"] == bout, "it has not ended before"
            tab.until(lambda: tab.status["bout"] == 0)
            records, seen = tab.of_bout(bout), other.of_bout(bout)
            assert (tab.missed, other.missed) == (0, 0)
        assert records == seen[: len(records)], "of two tabs none is told more than the other"
        as_logged(served.await_whole(served.bouts()[-1]), records, done["cycle"])

    repeat_disturbed(stalls, trial)


def as_logged(folder: Path, records: list[dict[str, float]], edited: int) -> None:
    """Check that records are those of a data directory, and that an edit is in it that took effect in a cycle."""
    numbers = [record["cycle"] for record in records]
    assert numbers == list(range(int(numbers[0]), int(numbers[0]) + len(numbers)))
    assert numbers[0] <= edited <= numbers[-1]
    data = load_bout(folder)
    assert len(data.motor) - len(records) in (0, 1), "the last cycle may be the end of the bout"
    for joint in data.joints:
        logged = data.motor.column(joint.raw_position).tolist()
        assert [record[joint.raw_position] for record in records] == logged[: len(records)]
        assert joint.action is not None
        # What switches behind a cycle shows in the next one.
        before = data.states.t_s < data.motor.t_s[len(records) - 1]
        changes = switches(data.states.column(joint.action)[before].tolist())
        assert switches([record[joint.action] for record in records]) == changes
        assert [record[joint.angle] for record in records] == pytest.approx(
            data.sensors.column(joint.angle).tolist()[: len(records)], abs=1e-4
        )
    assert "FT_flux_FTang" in (folder / "Scriptlog.xml").read_text()


def test_torque_off_from_a_tab_that_only_watches_while_another_has_control(bench, ui, stalls):
    leg, served = bench

    def trial():
        served.run_bout()
        assert served.words()["control"] == "bench"
        with ui.button() as button:
            assert button.ready()["path"] == "socket"
            at = time.monotonic_ns()
            told = button.press("a hand in the leg")
            took_ns = time.monotonic_ns() - at
        assert_limp_within(leg, at, OFF_NS)
        assert took_ns < OFF_NS
        assert told["off"]["torque"] is False
        assert told["off"]["unconfirmed"] == []
        assert len(told["off"]["confirmed_ns"]) == 4
        assert told["off"]["latched"]

    repeat_disturbed(stalls, trial)
    wait_for(lambda: any("a hand in the leg" in told["text"] for told in served.logged("off_asked")), "why", served)


def test_probes_take_nothing_off(bench, ui):
    leg, served = bench
    served.run_bout()
    with ui.button() as button:
        told = [button.ready() for _ in range(6)]
    assert all(probe["ready_ms"] < 500 for probe in told)
    assert served.words()["torque"]
    assert served.logged("off_asked") == []
    assert not any(frame.releases(leg.log().header.ids[0]) for frame in leg.log().frames[-50:])


@pytest.mark.parametrize("how", ["silent", "closed"])
def test_a_tab_that_vanishes_gives_control_back_and_the_bout_goes_on(bench, ui, how):
    _, served = bench
    with ui.tab() as tab:
        tab.ask("take_control")
        tab.insist("run")
        tab.until(lambda: tab.status.get("control") == tab.welcome["client"])
        at = time.monotonic()
        if how == "silent":
            tab.beats = False
        else:
            tab.link.close()
        wait_for(lambda: served.words()["control"] == "", "control given back", served)
        assert time.monotonic() - at < 5.0
    assert served.words()["mode"] == "RUNNING"


@pytest.mark.parametrize("ui", [("--stop-without-tab", "1")], indirect=True)
def test_a_bout_without_its_tab_ends_where_that_was_asked_for(bench, ui):
    _, served = bench
    with ui.tab() as tab:
        tab.ask("take_control")
        tab.insist("run")
    wait_for(lambda: served.words()["mode"] != "RUNNING", "the end of the bout", served)
    # The mode stands in shared memory before the service has read of the end.
    wait_for(lambda: "bout_end" in [event["name"] for event in served.client.events()], "the end told", served)
    assert [event["name"] for event in served.client.events()].count("bout_end") == 1


def test_a_daemon_that_dies_is_told_within_a_second_and_so_is_its_return(serve, tmp_path, stalls):
    leg, served = serve()
    served.await_ready()
    page = Ui(served.output.parent)
    try:
        page.begin()
        with page.tab() as tab, page.button() as button:
            tab.until(lambda: tab.records)
            button.ready()
            at = time.monotonic()
            served.kill("supervisor")
            while button.hear().get("ready_ms") is not None:
                pass
            assert time.monotonic() - at < GONE_S + 0.5
            tab.until(lambda: tab.heard_since("gone", at))
            gone = tab.heard_since("gone", at)
            assert gone is not None
            assert gone - at < GONE_S + 0.3
            assert "off_failed" in button.press()
            wait_for(lambda: not served.sockets.exists(), "the end of the folder")
            again = Served(leg, served.output.parent)
            try:
                again.await_ready()
                since = time.monotonic()
                tab.until(lambda: tab.heard_since("back", at), "word of its return")
                layout = max(tab.layouts)
                tab.until(lambda: any(number == layout for number, _ in tab.records[-5:]), "records of the new one")
                assert tab.heard_since("back", at) - since < 3.0
                assert button.ready()["path"] == "socket"
                assert tab.answer("take_control")["ok"]
            finally:
                again.close()
    finally:
        page.end()
    assert "Traceback" not in page.said(), page.said()


def test_a_service_that_is_killed_costs_no_record(bench, ui):
    _, served = bench
    with ui.tab() as tab:
        tab.until(lambda: tab.records)
        served.kill("service")
        time.sleep(1.5)
        served.await_ready()
        cycle = tab.columns().index("cycle")
        numbers = [values[cycle] for _, values in tab.records]
    assert all(b - a == 1 for a, b in pairwise(numbers))
    assert tab.missed == 0


def test_a_tab_that_does_not_take_is_ended_and_others_notice_nothing(bench, ui):
    def pages() -> int:
        return sum("(page)" in client["name"] for client in tab.status.get("clients", ()))

    with ui.tab() as tab:
        # Each is answered with far more than it is itself, and nothing of it is read.
        asked = frame(b'{"id": 1, "method": "model"}') * 20 + frame(b'{"beat": 1}')
        with socket.create_connection(("127.0.0.1", ui.port)) as link, suppress(OSError):
            link.settimeout(10)
            link.sendall(handshakes(ui.port)[0])
            assert link.recv(4096).startswith(b"HTTP/1.1 101")
            link.sendall(frame(json.dumps({"session": ui.secret}).encode()))
            tab.until(lambda: pages() == 2)
            until = time.monotonic() + 20
            while pages() == 2 and time.monotonic() < until:
                link.sendall(asked)
                time.sleep(0.05)
            tab.until(lambda: pages() == 1, "the end of the one that does not take")
        assert tab.closed is None
        cycle = tab.columns().index("cycle")
        numbers = [values[cycle] for _, values in tab.records]
        assert all(b - a == 1 for a, b in pairwise(numbers))
    assert tab.missed == 0


def test_a_daemon_elsewhere_is_watched_by_its_telemetry_and_stopped_over_its_channel(bench, tmp_path_factory):
    leg, served = bench
    ui = Ui(tmp_path_factory.mktemp("elsewhere"), "--address", served.command)
    try:
        ui.begin()
        with ui.tab() as tab, ui.button() as button:
            assert not tab.welcome["every_cycle"]
            tab.ask("take_control")
            bout = tab.insist("run")["bout"]
            tab.until(lambda: len(tab.of_bout(bout)) > 50, "records")
            records = tab.of_bout(bout)
            assert all(b["cycle"] > a["cycle"] for a, b in pairwise(records[5:]))
            assert {"FT_angle", "Femur-Tibia.state", "Tibia_Flexor.activation"} <= records[-1].keys()
            assert button.ready()["path"] == "channel"
            at = time.monotonic_ns()
            assert button.press()["off"]["unconfirmed"] == []
            assert_limp_within(leg, at, 1000 * MS)
    finally:
        ui.end()
    assert "Traceback" not in ui.said(), ui.said()


def test_torque_off_elsewhere_goes_past_the_service_over_an_ssh_that_stays_open(
    bench, tmp_path_factory, monkeypatch, stalls
):
    """The service stands still: what goes over its channel would not be heard."""
    leg, served = bench
    folder = tmp_path_factory.mktemp("ssh")
    # What ssh would do at the other end, where `nuc` is on the path.
    for name, script in (
        ("ssh", 'for word; do :; done; exec sh -c "$word"'),
        ("nuc", f'exec {sys.executable} -m nuc_engine.cli "$@"'),
    ):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    ui = Ui(folder, "--address", served.command, "--off-by-ssh", f"leg:{served.sockets}")
    try:
        ui.begin()
        with ui.button() as button:
            wait_for(lambda: button.ready()["path"] == "ssh", "the log-in", ui)

            def trial():
                served.run_bout()
                os.kill(served.pids()["service"], signal.SIGSTOP)
                try:
                    at = time.monotonic_ns()
                    assert button.press()["off"]["unconfirmed"] == []
                    assert_limp_within(leg, at, OFF_NS)
                finally:
                    os.kill(served.pids()["service"], signal.SIGCONT)

            repeat_disturbed(stalls, trial)
    finally:
        ui.end()
    assert "Traceback" not in ui.said(), ui.said()


def test_eight_tabs_miss_nothing_and_what_they_see_is_young(bench, ui, stalls):
    _, served = bench

    def trial():
        served.run_bout()
        with ExitStack() as stack:
            tabs = [stack.enter_context(ui.tab()) for _ in range(8)]
            time.sleep(3)
        for tab in tabs:
            cycle = tab.columns().index("cycle")
            assert all(b[1][cycle] - a[1][cycle] == 1 for a, b in pairwise(tab.records))
            assert tab.missed == 0
        ages_s = sorted(came - whole for tab in tabs for came, whole in tab.arrived)
        assert ages_s[len(ages_s) // 2] < 0.010
        assert ages_s[len(ages_s) * 95 // 100] < 0.030

    repeat_disturbed(stalls, trial)


def test_strangers_get_nothing(ui):
    def raw(request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", ui.port), timeout=10) as link:
            link.sendall(request)
            link.shutdown(socket.SHUT_WR)
            answer = b""
            while part := link.recv(65536):
                answer += part
            return answer

    own, secret = f"127.0.0.1:{ui.port}", ui.secret
    upgrade = (
        "GET /live HTTP/1.1\r\nHost: {host}\r\n{origin}Upgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    for host, origin in (
        (own, ""),
        (own, "Origin: http://127.0.0.1:1\r\n"),
        (own, "Origin: null\r\n"),
        ("evil.example", f"Origin: http://{own}\r\n"),
        (f"evil.example:{ui.port}", f"Origin: http://evil.example:{ui.port}\r\n"),
    ):
        assert raw(upgrade.format(host=host, origin=origin).encode()).startswith(b"HTTP/1.1 403")
    assert raw(upgrade.format(host=own, origin=f"Origin: http://{own}\r\n").encode()).startswith(b"HTTP/1.1 101")
    for head in (f"Host: {own}\r\n", f"Host: evil.example\r\nAuthorization: Bearer {secret}\r\n"):
        answer = raw(f"GET /api/bouts HTTP/1.1\r\n{head}Connection: close\r\n\r\n".encode())
        assert answer.split(b" ")[1] in (b"401", b"403")
    assert (
        raw(
            f"GET /api/bouts HTTP/1.1\r\nHost: {own}\r\nCookie: session={secret}\r\nConnection: close\r\n\r\n".encode()
        )[9:12]
        == b"401"
    )
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", ui.port), timeout=5):
        pass
    status = Path(f"/proc/{ui.pid}/cmdline").read_bytes()
    assert secret.encode() not in status
    assert ui.token().encode() not in status


def test_its_redirect_file_is_for_its_owner_alone_and_its_token_is_used_once(ui):
    assert stat.S_IMODE(ui.page.stat().st_mode) == 0o600
    assert stat.S_IMODE(ui.page.parent.stat().st_mode) == 0o700
    assert ui.http("POST", "/api/session", json.dumps({"token": ui.token()}).encode())[0] == 403, "it was used"
    more = ui.told("/api/token", "POST")
    assert ui.http("POST", "/api/session", json.dumps(more).encode())[0] == 200


def test_what_is_no_request_neither_ends_it_nor_reaches_the_daemon(bench, ui):
    _, served = bench
    before = served.words()["connections"], len(served.words()["clients"])
    visit(ui.port, ui.secret)
    files = len(os.listdir(f"/proc/{ui.pid}/fd"))
    became = throw(ui.port, ui.secret, 400, seed=7)
    assert became.total() == 400
    assert "5xx" not in {answer for _, answer in became}
    assert ui.http("GET", "/api/bouts")[0] == 200
    with ui.tab() as tab:
        assert tab.ask("status")["mode"]
    forget_jobs(ui.port, ui.secret)
    wait_for(lambda: len(os.listdir(f"/proc/{ui.pid}/fd")) <= files + 4, "the end of connections", ui)
    after = served.words()
    assert (after["connections"]["turned_away"], len(after["clients"])) == (before[0]["turned_away"], before[1])


def test_with_an_emulated_leg_it_starts_a_daemon_and_ends_it(tmp_path):
    ui = Ui(tmp_path, "--emulated", "lin_roach", "--data", str(tmp_path / "data"))
    try:
        ui.begin()
        with ui.tab() as tab:
            tab.until(lambda: tab.status.get("ready"), "a daemon that is ready")
            assert max(tab.layouts.values(), key=lambda layout: layout["layout"])["configuration"] == "lin_roach"
            tab.until(lambda: any(layout["plant"] for layout in tab.layouts.values()), "the ground")
            tab.ask("take_control")
            tab.insist("run")
            time.sleep(0.5)
            tab.ask("stop")
            wait_for(lambda: ui.told("/api/bouts")["total"] == 1, "a bout")
        daemon = [int(name) for name in os.listdir("/proc") if name.isdecimal() and _parent(int(name)) == ui.pid]
        assert daemon
    finally:
        assert ui.end() == 0
    wait_for(lambda: not any(alive(pid) for pid in daemon), "the end of all that it started")
    assert not ui.page.exists()
    assert "Traceback" not in ui.said(), ui.said()


def test_it_ends_at_once_whatever_it_is_at(tmp_path):
    pytest.importorskip("matplotlib")
    run_bout(BoutSpec(config="lin_roach", script="itf", duration_s=20, out=tmp_path / "data" / "bout"))
    ui = Ui(tmp_path, "--bouts", str(tmp_path / "data"))
    ui.begin()
    answers = []
    asking = [
        threading.Thread(target=lambda path=path: answers.append(ui.http("GET", f"/api/bouts/bout/{path}")[0]))
        for path in ("thumbnail.png", "figures/summary_sensors.png", "records")
    ]
    for thread in asking:
        thread.start()
    assert ui.told("/api/bouts/bout/movie", "POST", b"{}")["state"] == "waiting"
    time.sleep(0.7)
    at = time.monotonic()
    assert ui.end() == 0
    assert time.monotonic() - at < 10.0
    for thread in asking:
        thread.join()
    assert set(answers) <= {200, 422}
    assert "Traceback" not in ui.said(), ui.said()


def test_a_killed_one_takes_its_daemon_along(tmp_path):
    ui = Ui(tmp_path, "--emulated", "lin_roach", "--data", str(tmp_path / "data"))
    children = [int(name) for name in os.listdir("/proc") if name.isdecimal() and _parent(int(name)) == ui.pid]
    ui.end(signal.SIGKILL)
    for pid in children:
        wait_for(lambda pid=pid: not alive(pid), "the end of its daemon")


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
