"""Experiments over HTTP: what came of them as it stands in their files, running one, and what somebody asks instead."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.experiments.catalogue import EXPERIMENTS
from nuc_engine.machine.locations import find_verdicts
from nuc_engine.ui.bouts import BoutPages
from nuc_engine.ui.experiments import ExperimentPages
from nuc_engine.ui.jobs import JobQueue
from tests.ui.conftest import Page, Start


class Drives:
    """Whether a bout drives real servos now."""

    now = False


@pytest.fixture
def drives() -> Drives:
    return Drives()


@pytest.fixture
def page(beside: Start, bouts: BoutPages, tmp_path: Path, drives: Drives) -> Page:
    return beside(ExperimentPages(bouts.readers, bouts.jobs, tmp_path / "data", lambda: drives.now))


def published(name: str) -> dict[str, Any]:
    root = find_verdicts()
    assert root is not None
    return json.loads((root / name / "verdict.json").read_text())


def test_all_are_listed_with_what_came_of_them(page: Page) -> None:
    told = page.web.get("/api/experiments").json()
    assert [each["name"] for each in told["experiments"]] == [experiment.name for experiment in EXPERIMENTS]
    for each in told["experiments"]:
        assert each["own"] is None
        if each["published"] is None:
            continue
        verdict = published(each["name"])
        assert each["published"]["seed"] == verdict["seed"]
        for row in verdict["rows"]:
            seen = each["published"]["rows"][row["name"]]
            assert (seen["word"], seen["count"], seen["of"]) == (
                row["word"],
                row["as_seen"]["count"],
                row["as_seen"]["of"],
            )
            assert seen["in_doubt"] == row.get("in_doubt", False)


def test_one_is_told_whole_with_its_figures(page: Page) -> None:
    told = page.web.get("/api/experiments/A/published").json()
    verdict = published("A")
    assert told["verdict"] == verdict
    assert told["page"].startswith("#")
    file = verdict["rows"][0]["figures"][0]["file"]
    answer = page.web.get(f"/api/experiments/A/published/{file}")
    assert (answer.headers["content-type"], answer.content[:4]) == ("image/png", b"\x89PNG")


@pytest.mark.parametrize(
    "path",
    ["A/own", "Z/published", "A/else", "..%2fA/published", "A/published/page.md", "A/published/..%2fB%2fB_paths.png"],
)
def test_what_is_not_there_can_not_be_had(page: Page, path: str) -> None:
    assert page.web.get(f"/api/experiments/{path}").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        b"x",
        b"[]",
        b'{"repeat": 0}',
        b'{"repeat": 1001}',
        b'{"seed": -1}',
        b'{"seed": "1 --bus aimotor:///dev/x"}',
        b'{"out": "/etc"}',
    ],
)
def test_nothing_else_can_be_started(page: Page, monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    monkeypatch.setattr(JobQueue, "start", lambda *words: pytest.fail(f"begun: {words}"))
    assert page.web.post("/api/experiments/A", content=body).status_code == 400
    for name in ("Z", "all", "--pages=x", "list"):
        assert page.web.post(f"/api/experiments/{name}", json={}).status_code == 404


def test_none_runs_beside_a_bout_that_drives_servos_unless_it_is_asked_for(
    page: Page, drives: Drives, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(JobQueue, "start", lambda *_, **__: None)
    drives.now = True
    assert page.web.post("/api/experiments/A", json={}).status_code == 409
    assert (
        page.web.post("/api/experiments/A", json={"beside": True}).status_code == 429
    )  # begun: the queue is full here
    drives.now = False
    assert page.web.post("/api/experiments/A", json={}).status_code == 429


HOSTILE = (
    "",
    "[]",
    "{",
    "{}",
    '{"format": 2}',
    '{"rows": 3}',
    "[" * 9999,
    '{"format": 2, "rows": [{"name": "\\ud800"}]}',
    json.dumps({**published("A"), "rows": [None]}),
    json.dumps({**published("A"), "rows": [{**published("A")["rows"][0], "as_seen": 3}]}),
)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_verdict_that_nobody_here_wrote_breaks_nothing(page: Page, tmp_path: Path, text: str) -> None:
    folder = tmp_path / "data/experiments/A"
    folder.mkdir(parents=True)
    (folder / "verdict.json").write_text(text)
    told = page.web.get("/api/experiments")
    assert told.status_code == 200
    (listed,) = [each for each in told.json()["experiments"] if each["name"] == "A"]
    assert listed["own"]["problem"]
    assert page.web.get("/api/experiments/A/own").status_code == 404


def test_what_leads_elsewhere_is_not_read(page: Page, tmp_path: Path) -> None:
    root, own = find_verdicts(), tmp_path / "data/experiments"
    assert root is not None
    own.mkdir(parents=True)
    shutil.copytree(root / "A", own / "A")
    (own / "A/verdict.json").unlink()
    os.symlink(root / "A/verdict.json", own / "A/verdict.json")
    os.symlink(root / "B", own / "B")
    assert page.web.get("/api/experiments/A/own").status_code == 404
    assert page.web.get("/api/experiments/B/own").status_code == 404
