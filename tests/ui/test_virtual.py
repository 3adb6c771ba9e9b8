"""Bouts on the virtual clock over HTTP: begun from what is in force, steered, looked at, left as data directories."""

from __future__ import annotations

import shlex
import struct
import time  # noqa: TID251  jobs are processes
from collections.abc import Callable
from typing import Any

import pytest

from nuc_engine.ui import virtual
from nuc_engine.ui.bouts import BoutPages
from nuc_engine.ui.jobs import HELD, MOST_APART
from nuc_engine.ui.virtual import VirtualPages
from tests.ui.conftest import PATIENCE_S, Page, Start
from tests.ui.test_scripts import ODD_NAMES, documents, held

HEAD = struct.Struct("<IId")


@pytest.fixture
def drives() -> list[bool]:
    """Whether a bout drives real servos now."""
    return [False]


@pytest.fixture
def page(beside: Start, bouts: BoutPages, drives: list[bool]) -> Page:
    return beside(VirtualPages(bouts.readers, bouts.jobs, lambda: drives[0]))


def body(**more: Any) -> dict[str, Any]:
    given = {"name": "lin_roach", "documents": documents(), "values": held(), "angles": {"Coxa-Trochanter": 30.0}}
    return {**given, "duration_s": 20.0, **more}


def begin(page: Page, **more: Any) -> Any:
    answer = page.web.post("/api/virtual", json=body(**more))
    assert answer.status_code == 202, answer.text
    return answer.json()


def steer(page: Page, number: str, **how: Any) -> int:
    return page.web.post(f"/api/virtual/{number}", json=how).status_code


def until(found: Callable[[], Any], what: str) -> Any:
    end_s = time.monotonic() + PATIENCE_S
    while not (value := found()):
        assert time.monotonic() < end_s, what
        time.sleep(0.02)
    return value


class Watcher:
    """Takes the records of one, as the page does."""

    def __init__(self, page: Page, number: str) -> None:
        self.page, self.number = page, number
        self.rows: list[dict[str, float]] = []
        self.state = ""

    def look(self) -> bool:
        """Ask once; say whether anything came."""
        answer = self.page.web.get(f"/api/virtual/{self.number}/records")
        assert answer.headers["x-nuc-missed"] == "0"
        self.state = answer.headers["x-nuc-state"]
        _, count, _ = HEAD.unpack_from(answer.content)
        names = [each["name"] for each in self.page.web.get(f"/api/virtual/{self.number}").json()["columns"]]
        numbers = struct.unpack_from(f"<{count * len(names)}d", answer.content, HEAD.size)
        width = len(names)
        self.rows += [dict(zip(names, numbers[k * width : (k + 1) * width], strict=True)) for k in range(count)]
        return count > 0

    def cycles(self) -> list[float]:
        return [row["cycle"] for row in self.rows]


def test_it_stands_until_it_is_told_goes_cycle_by_cycle_and_leaves_a_bout(page: Page) -> None:
    told = begin(page)
    number = told["id"]
    assert told["plant"]["foot_radius_mm"] > 0
    watcher = Watcher(page, number)
    until(watcher.look, "the first cycle")
    assert watcher.cycles() == [1]
    assert watcher.rows[0]["Coxa-Trochanter.state"] is not None
    assert abs(watcher.rows[0]["CTr_angle"] - 30.0) < 2.0, "it begins where the leg is"
    assert steer(page, number, step=3) == 200
    until(lambda: watcher.look() and len(watcher.rows) >= 4, "three more")
    time.sleep(0.2)
    watcher.look()
    assert watcher.cycles() == [1, 2, 3, 4]
    assert steer(page, number, speed=5) == 200
    until(lambda: watcher.look() and len(watcher.rows) > 200, "motion")
    assert watcher.cycles() == list(range(1, len(watcher.rows) + 1)), "none is missed"
    assert steer(page, number, end=True) == 200
    until(lambda: watcher.look() is False and watcher.state != "running", "its end")
    job = page.web.get(f"/api/jobs/{number}").json()
    bout = page.web.get(f"/api/bouts/{job['result']}").json()
    assert bout["manifest"]["spec"]["labels"]["kind"] == "virtual clock"
    assert bout["manifest"]["state"] == "interrupted"
    assert steer(page, number, step=1) == 409


def test_the_line_for_a_shell_begins_the_same(page: Page) -> None:
    told = begin(page, script="<hdsoscript/>", script_name="slow", seed=7)
    page.web.delete(f"/api/jobs/{told['id']}")
    words = shlex.split(told["line"])
    assert words[:5] == ["nuc", "run", "lin_roach_now", "--script", "slow.xml"]
    assert words[5:9] == ["--duration", "20.0", "--seed", "7"]
    assert "joint.Coxa-Trochanter.start_deg=30.0" in words
    assert words[-2:] == ["--steered", "cycles"]


def test_values_in_force_are_what_it_runs_with(page: Page) -> None:
    number = begin(page, values={**held(), "FT_ext_FTang": 41.0})["id"]
    try:
        until(Watcher(page, number).look, "a cycle")
        assert steer(page, number, end=True) == 200
        job = until(lambda: (told := page.web.get(f"/api/jobs/{number}").json())["result"] and told, "its end")
        files = page.web.get(f"/api/bouts/{job['result']}/files").json()["files"]
        parameters = next(file["id"] for file in files if file["name"] == "parameters.xml")
        assert "41" in page.web.get(f"/api/bouts/{job['result']}/files/{parameters}").text
    finally:
        page.web.delete(f"/api/jobs/{number}")


def test_it_stands_still_while_a_bout_drives_real_servos(page: Page, drives: list[bool]) -> None:
    drives[0] = True
    number = begin(page)["id"]
    until(lambda: page.web.get(f"/api/virtual/{number}").json()["text"] == HELD, "to be held")
    assert not Watcher(page, number).look()
    drives[0] = False
    until(Watcher(page, number).look, "a cycle, once the servos are free")


def test_there_are_only_so_many_and_other_jobs_do_not_wait_for_them(page: Page) -> None:
    for _ in range(MOST_APART):
        begin(page)
    answer = page.web.post("/api/virtual", json=body())
    assert answer.status_code == 429


def test_one_that_nobody_looks_at_any_more_ends(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual, "_LOOK_S", 0.05)
    number = begin(page)["id"]
    until(Watcher(page, number).look, "a cycle")
    monkeypatch.setattr(virtual, "ABANDONED_S", 0.1)
    until(lambda: page.web.get(f"/api/jobs/{number}").json()["result"], "its end")


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"speed": 0},
        {"speed": 1000},
        {"step": 0},
        {"step": 1, "pause": True},
        {"x": 1},
        {"speed": "1"},
        {"step": 1.5},
    ],
)
def test_what_is_no_way_to_go_on_is_refused(page: Page, how: dict[str, Any]) -> None:
    number = begin(page)["id"]
    assert steer(page, number, **how) == 400
    assert steer(page, "77", step=1) == 404


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_begin_nothing(page: Page, name: str) -> None:
    assert page.web.post("/api/virtual", json=body(name=name)).status_code in (400, 422)


@pytest.mark.parametrize(
    "wrong", [{"duration_s": 0}, {"duration_s": 1e9}, {"seed": -1}, {"documents": {}}, {"more": 1}]
)
def test_what_can_not_begin_says_why(page: Page, wrong: dict[str, Any]) -> None:
    answer = page.web.post("/api/virtual", json=body(**wrong))
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["text"]
