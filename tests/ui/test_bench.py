"""What the page may start around servos: fixed commands that read, of checked words; and what faults mean."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from drivers.bus import COUNTS
from drivers.errors import BusUrlError
from nuc_engine.control.faults import FAULTS
from nuc_engine.ui.bench import BenchTools, checked_url
from nuc_engine.ui.bouts import BoutPages
from nuc_engine.ui.jobs import JobQueue
from tests.ui.conftest import Page, Start


@pytest.fixture
def page(beside: Start, bouts: BoutPages) -> Page:
    return beside(BenchTools(bouts.jobs))


def ended(page: Page, what: str, **asked: object) -> dict:
    answer = page.web.post(f"/api/bench/{what}", json=asked)
    assert answer.status_code == 202, answer.text
    return page.ended(answer.json()["id"])


def test_faults_and_counts_are_told_as_the_engine_has_them(page: Page) -> None:
    told = page.web.get("/api/bench").json()
    rows = {row["name"]: row for row in told["faults"]}
    assert set(rows) == {*FAULTS, "off"}
    assert rows["motor_silent"]["does"] == {"nuc run": "torque off", "core": "torque off"}
    assert rows["motor_silent"]["once"] == "5 in a row"
    assert rows["service_lost"]["once"] == "for 3 s"
    assert all(row["hint"] for row in rows.values())
    assert told["counts"] == dict(COUNTS)
    assert {"aimotor", "dynamixel", "feetech"} <= set(told["families"])
    assert set(told["refused"]) == {"UNCONFIGURED", "FAULT", "latched"}
    assert told["statuses"]["1"] == "ok"


def test_the_doctor_is_done_though_it_finds_something_bad(page: Page) -> None:
    job = ended(page, "doctor")
    assert job["state"] == "done"
    assert {"name", "level", "found", "meaning", "remedy"} <= set(job["found"]["checks"][0])


def test_a_scan_and_the_registers_of_a_servo_are_tables(page: Page) -> None:
    job = ended(page, "scan", url="emulated:", config="lin_roach")
    assert [row["id"] for row in job["found"]["found"]] == [0, 1, 2, 3]
    job = ended(page, "registers", url="emulated:feetech", id=1)
    assert job["state"] == "done"
    assert "position_offset" in [row["register"] for row in job["found"]["registers"]]
    job = ended(page, "registers", url="emulated:", id=0)
    assert job["state"] == "failed"
    assert "wck=1" in job["text"], "why, in the command's own words"


def test_a_port_that_is_driven_is_left_alone_and_it_is_said(page: Page) -> None:
    near, far = os.openpty()
    name = os.ttyname(far)
    with closing(os.fdopen(near, "rb")), closing(os.fdopen(far, "rb")) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        job = ended(page, "scan", url=f"aimotor://{name}")
    assert job["state"] == "failed"
    assert "in use" in job["text"]


HOSTILE_URLS = (
    *(
        "",
        "x",
        "--help",
        "-y",
        "aimotor:",
        "aimotor://",
        "aimotor://dev/ttyUSB0",
        "aimotor:///",
        "aimotor:////dev/null",
    ),
    *("aimotor:///dev/null; reboot", "aimotor:///dev/null\n", "aimotor:///dev/null?baud=1&exec=2", "file:///dev/null"),
    *("aimotor:///etc/passwd", "aimotor:///dev/null/..", "aimotor:///dev/nul\0l", "http://example.org", "tcp://a:1"),
    *("NAME=aimotor:///dev/null", "emulated:../x", "emulated:nofamily", "emulated:?a=$(id)", "emulated:aimotor?x"),
    *("aimotor:///dev/null?baud=nan", "aimotor:///dev/null?baud=`id`", "a" * 600, "aimotor:///\u202edev", "\ud800"),
)


@pytest.mark.parametrize("url", HOSTILE_URLS)
def test_nothing_but_a_bus_can_be_named(page: Page, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setattr(JobQueue, "start", lambda *words: pytest.fail(f"begun: {words}"))
    for what, more in (("scan", {}), ("registers", {"id": 1})):
        body = json.dumps({"url": url, **more})
        assert page.web.post(f"/api/bench/{what}", content=body).status_code == 400


@pytest.mark.parametrize(
    "body",
    [
        b"x",
        b"[]",
        b"{}",
        b"[" * 9999,
        b'{"url": "emulated:", "id": -1}',
        b'{"url": "emulated:", "id": "1 position_offset 0"}',
        b'{"url": "emulated:", "id": 1, "register": "id", "value": 3}',
        b'{"url": "emulated:", "id": 1, "model": "--yes"}',
        b'{"url": "emulated:", "id": 1, "model": "a b"}',
        b'{"url": "emulated:", "id": 1, "model": "a\\n"}',
        b'{"url": "emulated:", "config": "../../etc"}',
        b'{"url": "emulated:", "config": "--json"}',
        b'{"url": "emulated:", "words": ["release"]}',
    ],
)
def test_nothing_else_can_be_started(page: Page, monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    monkeypatch.setattr(JobQueue, "start", lambda *words: pytest.fail(f"begun: {words}"))
    for what in ("registers", *(["scan"] if b"config" in body or len(body) < 9 else [])):
        assert page.web.post(f"/api/bench/{what}", content=body).status_code == 400
    assert page.web.post("/api/bench/move", content=body).status_code in (404, 405)


def test_who_has_no_session_starts_nothing(page: Page) -> None:
    del page.web.headers["authorization"]
    assert page.web.post("/api/bench/doctor").status_code == 401
    assert page.web.get("/api/bench").status_code == 401


def test_devices_that_are_none_are_no_bus(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").write_text("")
    for name in ("fifo", "file", "nothing", "."):
        with pytest.raises(BusUrlError, match=r"no such device|names no device"):
            checked_url(f"feetech://{tmp_path}/{name}")
    assert checked_url("feetech:///dev/null?baud=1000000") == "feetech:///dev/null?baud=1000000"
