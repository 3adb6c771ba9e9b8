"""Data directories over HTTP: which there are, whatever they are called, and nothing beside them."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import struct
import sys
import time  # noqa: TID251  jobs are processes
from pathlib import Path
from urllib.parse import quote

import pytest

from nuc_engine import BoutSpec, run_bout
from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.ui import reading
from nuc_engine.ui.bouts import BoutReaders, named, place_in, place_of
from nuc_engine.ui.jobs import MOST_WAITING, Job, JobQueue
from tests.ui.conftest import Page, Start

ODD = (
    "plain",
    "with space",
    "100%25",
    "<b onload=alert(1)>&amp;'\"",
    "nested/deeper/bout",
    "ends.",
    "q?x=1#y;z",
    "\u202egnp.tuob",
    "line\nbreak",
    "-dash",
    "records",
    os.fsdecode(b"not\xfftext"),
)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("one") / "bout"
    return run_bout(BoutSpec(config="lin_roach", script="itf", duration_s=1, out=out)).folder


@pytest.fixture
def data(one: Path, tmp_path: Path) -> Path:
    """A folder of bouts, and things beside it that are nobody's business."""
    root = tmp_path / "data"
    for name in ODD:
        shutil.copytree(one, root / name)
    shutil.copytree(one, tmp_path / "outside")
    shutil.copytree(one, root / ".hidden")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / "plain" / "link.txt").symlink_to("/etc/passwd")
    (root / "plain" / "a<b>\n\u202e.txt").write_text("<script>")
    (root / "nobout").mkdir()
    return root


@pytest.fixture
def page(beside: Start, data: Path) -> Page:
    return beside()


def listed(page: Page, query: str = "") -> dict[str, dict]:
    return {bout["id"]: bout for bout in page.web.get(f"/api/bouts{query}").json()["bouts"]}


def test_all_are_listed_and_can_be_opened_by_what_the_list_calls_them(page: Page, data: Path) -> None:
    found = listed(page)
    assert set(found) == {quote(os.fsencode(name), safe="") for name in ODD}
    for number, bout in found.items():
        assert bout["name"].isprintable()
        told = page.web.get(f"/api/bouts/{number}/files").json()
        assert "manifest.json" in [file["name"] for file in told["files"]]
    assert page.web.get("/api/bouts/records/records?most=4").headers["x-nuc-records"] == "minmax"


def test_search_takes_all_words(page: Page) -> None:
    assert len(listed(page, "?q=lin_roach")) == len(ODD)
    assert list(listed(page, "?q=ITF%20nested")) == ["nested%2Fdeeper%2Fbout"]
    assert listed(page, "?q=nothing%20of%20it") == {}
    assert len(listed(page, "?q=" + "x" * 5000)) == 0


def test_records_have_the_form_that_live_ones_have(page: Page) -> None:
    answer = page.web.get("/api/bouts/plain/records?from=0.2&to=0.8&most=20000")
    layout, count, _ = struct.unpack_from("<IId", answer.content)
    told = page.web.get("/api/bouts/plain").json()
    assert layout == 0
    assert len(answer.content) == 16 + 8 * count * len(told["columns"])
    assert answer.headers["x-nuc-records"] == "exact"
    assert told["folder"].endswith("plain")
    for query in ("from=x", "to=nan", "most=1", "most=1e9", "most=", "most=inf", "log=../joints.xml"):
        answer = page.web.get(f"/api/bouts/plain/records?{query}")
        assert answer.status_code in ((200,) if query == "most=" else (400, 422))


OUTSIDE = (
    *("..", "%2e%2e", "../outside", "..%2Foutside", "%2E%2E%2Foutside", "plain%2F..%2F..%2Foutside", "link", ".hidden"),
    *("%2Fetc", "%2F", "", "plain%00", "nobout", "plain%2F", "%2Fplain", "nested%2F%2Fdeeper%2Fbout", "plain%2F."),
    *("plain%2Fmanifest.json", "%ff%fe", "a" * 5000, "a%2F" * 2000, "nested"),
)


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_but_a_bout_can_be_named(page: Page, name: str) -> None:
    for what in ("", "/files", "/records", "/files/manifest.json"):
        answer = page.web.get(f"/api/bouts/{name}{what}")
        assert answer.status_code in (404, 405, 307, 200)
        if answer.status_code == 200:
            assert answer.url.path.rstrip("/") == "/api/bouts"


@pytest.mark.parametrize(
    "name",
    [
        "link.txt",
        "..%2Fplain%2Fmanifest.json",
        "%2Fetc%2Fpasswd",
        "..%2F..%2Foutside%2Fmanifest.json",
        "",
        "x%00",
    ],
)
def test_no_file_but_a_bouts_own_can_be_had(page: Page, name: str) -> None:
    answer = page.web.get(f"/api/bouts/plain/files/{name}")
    assert answer.status_code == 404
    assert b"root:" not in answer.content


def test_files_are_for_keeping_and_never_shown(page: Page, data: Path) -> None:
    files = {file["name"]: file for file in page.web.get("/api/bouts/plain/files").json()["files"]}
    assert "link.txt" not in files
    (odd,) = [file for name, file in files.items() if name.startswith("a<b>")]
    assert odd["name"].isprintable()
    answer = page.web.get(f"/api/bouts/plain/files/{odd['id']}")
    assert answer.content == b"<script>"
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment; filename*=UTF-8''a%3Cb%3E%0A")
    assert answer.headers["content-disposition"].isprintable()
    whole = page.web.get("/api/bouts/plain/files/SensData.txt")
    assert whole.content == (data / "plain" / "SensData.txt").read_bytes()


def test_a_bout_that_can_not_be_read_is_told(page: Page, data: Path) -> None:
    (data / "plain" / "joints.xml").write_text("<")
    answer = page.web.get("/api/bouts/plain")
    assert answer.status_code == 422
    assert answer.json()["error"]["kind"] == "failed"
    (data / "plain" / "manifest.json").write_text("[")
    assert listed(page)["plain"]["problem"]


def test_pictures_are_made_once(page: Page) -> None:
    pytest.importorskip("matplotlib")
    first = page.web.get("/api/bouts/plain/thumbnail.png")
    assert first.content.startswith(b"\x89PNG")
    assert first.headers["cache-control"] == "no-store"
    assert page.web.get("/api/bouts/plain/thumbnail.png").content == first.content
    for kind in ("nothing", "..%2Fx", "%00"):
        assert page.web.get(f"/api/bouts/plain/figures/{kind}.png").status_code == 422


def test_what_was_seen_is_in_the_list_from_then_on(page: Page) -> None:
    assert listed(page)["plain"]["outcomes"] is None
    seen = page.web.get("/api/bouts/plain/seen").json()["outcomes"]
    assert listed(page)["plain"]["outcomes"] == seen != []


def test_a_replay_says_its_verdict(page: Page, data: Path) -> None:
    good = page.web.post("/api/bouts/with%20space/replay")
    assert good.status_code == 202
    assert page.ended(good.json()["id"])["verdict"].startswith("identical")
    with (data / "plain" / "SensData.txt").open("a") as file:
        file.write("1 2 3\n")
    bad = page.ended(page.web.post("/api/bouts/plain/replay").json()["id"])
    assert bad["state"] == "done"
    assert "SensData.txt" in bad["verdict"]


def test_jobs_wait_for_one_another_and_can_be_cancelled(page: Page, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    first, second = (page.web.post("/api/bouts/plain/movie", json={"speed": 0.01}).json() for _ in range(2))
    time.sleep(0.3)
    assert page.web.get(f"/api/jobs/{second['id']}").json()["state"] == "waiting"
    for job in (second, first):
        assert page.web.delete(f"/api/jobs/{job['id']}").json()["state"] == "cancelled"
        assert page.web.get(f"/api/jobs/{job['id']}/file").status_code == 404
    assert list((tmp_path / "spare").iterdir()) == []
    assert page.web.get("/api/jobs/999").status_code == 404


def test_too_many_jobs_are_refused(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    async def without_end(_: Job) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Job, "run", without_end)
    answers = [page.web.post("/api/bouts/plain/replay").status_code for _ in range(12)]
    assert answers == [202] * MOST_WAITING + [429] * (12 - MOST_WAITING)


def test_whatever_goes_wrong_in_a_job_is_told_and_the_next_has_its_turn(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(self: Job) -> bytes:
        if self.id == "1":
            raise RuntimeError("nobody thought of this")
        return b"{}"

    monkeypatch.setattr(Job, "_outcome", breaks)
    first, second = (page.web.post("/api/bouts/plain/replay").json() for _ in range(2))
    assert page.ended(first["id"])["text"] == "RuntimeError: nobody thought of this"
    assert page.ended(first["id"])["state"] == "failed"
    assert page.ended(second["id"])["state"] != "waiting"


def test_what_a_job_says_can_be_told_whatever_it_is(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    async def says(self: Job) -> bytes:
        self.text = "\udcff\x1b[2J"
        return b'{"difference": "\\ud800", "huge": ' + b"9" * 400 + b"}"

    monkeypatch.setattr(Job, "_outcome", says)
    job = page.web.post("/api/bouts/plain/replay").json()
    told = page.ended(job["id"])
    assert told["verdict"].startswith("differs")
    assert told["text"].isprintable()


def test_a_job_that_is_cancelled_while_its_files_are_written_leaves_none(tmp_path: Path) -> None:
    async def trial() -> None:
        jobs = JobQueue(tmp_path)
        job = jobs.start("dry run", "", ["--version"], files={f"x/{k}": b"x" for k in range(500)})
        assert job is not None
        while not job.folder.exists():
            await asyncio.sleep(0)
        await jobs.cancel(job)
        assert job.told()["state"] == "cancelled"
        assert list(tmp_path.iterdir()) == []
        assert jobs.find(job.id) is job

    asyncio.run(trial())


@pytest.mark.parametrize("most", [10, 1 << 20])
def test_what_a_job_says_is_bounded_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr("nuc_engine.ui.jobs._MOST_RESULT", most)

    async def trial() -> None:
        jobs = JobQueue(tmp_path)
        job = jobs.start("show", "", ["show", "lin_roach", "--json"])
        while job is not None and job.state in ("waiting", "running"):
            await asyncio.sleep(0.01)
        assert job is not None
        assert bool(job.result) is (most > 10)
        assert job.state == "done", job.text
        await jobs.close()

    asyncio.run(trial())


def test_what_ended_jobs_left_is_bounded_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(_: Job) -> bytes:
        return b"{}"

    async def trial() -> None:
        jobs = JobQueue(tmp_path)
        for number in range(1, 7):
            job = jobs.start("dry run", "", [], files={"x": b"x" * 1000})
            while job is not None and job.size == 0:
                await asyncio.sleep(0.001)
            assert len(list(tmp_path.iterdir())) <= 4, number
        assert jobs.find("1") is None
        await jobs.close()
        assert list(tmp_path.iterdir()) == []

    monkeypatch.setattr(Job, "_outcome", nothing)
    monkeypatch.setattr("nuc_engine.ui.jobs.MOST_KEPT_BYTES", 3000)
    asyncio.run(trial())


def test_a_reader_takes_no_more_memory_than_it_may() -> None:
    async def trial() -> None:
        readers = BoutReaders()
        try:
            with pytest.raises(AnalysisError, match="MemoryError"):
                await readers.ask("look", bytearray, reading.MOST_MEMORY + (1 << 30))
        finally:
            readers.close()

    asyncio.run(trial())


@pytest.mark.parametrize(
    "body", [b"x", b"[]", b'{"views": ["behind"]}', b'{"views": 3}', b'{"out": "/etc/x"}', b"[" * 9999]
)
def test_a_movie_that_can_not_be_is_refused(page: Page, body: bytes) -> None:
    assert page.web.post("/api/bouts/plain/movie", content=body).status_code == 400


def test_what_a_job_does_can_be_done_in_a_shell_but_for_what_is_here_alone(page: Page, data: Path) -> None:
    movie = page.web.post("/api/bouts/plain/movie", json={"end_s": 0.5, "views": ["side"]}).json()
    assert shlex.split(movie["line"]) == [
        *("nuc", "movie", str(data / "plain"), "--out", "movie.mp4"),
        *("--begin=0.0", "--end=0.5", "--views=side"),
    ]
    odd = quote(os.fsencode(next(name for name in ODD if " " in name)), safe="")
    replay = page.web.post(f"/api/bouts/{odd}/replay", json={}).json()
    assert shlex.split(replay["line"])[:2] == ["nuc", "replay"]
    left = Job("7", "replay", "job:3", ["replay", str(data / "3" / "bout"), "--json"], data / "7")
    assert left.line == "", "a bout that a job has left goes with this server"
    for job in (movie, replay):
        page.web.delete(f"/api/jobs/{job['id']}")


def test_a_movie_of_no_time_fails_and_says_why(page: Page) -> None:
    job = page.ended(page.web.post("/api/bouts/plain/movie", json={"begin_s": 5, "end_s": 2}).json()["id"])
    assert job["state"] == "failed"
    assert "no span" in job["text"]


def test_names_come_back_as_they_went(data: Path) -> None:
    for name in ODD:
        shown, number = named(data / name, data)
        assert shown.isprintable()
        assert place_of(number, data) == data / name == place_in(data, number)
        assert json.loads(json.dumps(shown)) == shown
    assert place_of(".", data) is None
    assert place_of(".", data / "plain") == data / "plain"
    assert sys.getfilesystemencoding() == "utf-8"
