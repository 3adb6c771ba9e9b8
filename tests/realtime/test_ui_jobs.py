"""Processes of the page's server: readers that are given up, an experiment that gives way to a bout on servos."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time  # noqa: TID251  jobs are processes
from pathlib import Path

import pytest

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.ui.bouts import BoutReaders
from nuc_engine.ui.jobs import HELD
from tests.ui.conftest import PATIENCE_S, Page, access, beside, bouts, now, start
from tests.ui.test_experiments import Drives, drives, page

__all__ = ["access", "beside", "bouts", "drives", "now", "page", "start"]


def test_one_is_run_in_the_background_and_told_as_the_command_tells_it(page: Page, tmp_path: Path) -> None:
    job = page.web.post("/api/experiments/A", json={"repeat": 2, "seed": 7}).json()
    assert page.ended(job["id"])["state"] == "done"
    own = json.loads((tmp_path / "data/experiments/A/verdict.json").read_text())
    (listed,) = [each for each in page.web.get("/api/experiments").json()["experiments"] if each["name"] == "A"]
    seen, row = listed["own"]["rows"]["A"], own["rows"][0]
    assert (seen["count"], seen["of"]) == (row["as_seen"]["count"], row["as_seen"]["of"])
    assert listed["own"]["standing"] == "tuning seeds: no verdict"
    assert page.web.get("/api/experiments/A/own").json()["verdict"] == own


def test_what_runs_stands_still_while_a_bout_drives_servos_and_goes_on_after_it(page: Page, drives: Drives) -> None:
    job = page.web.post("/api/experiments/A", json={"repeat": 60, "seed": 7}).json()

    def until(what: str) -> str:
        end = time.monotonic() + PATIENCE_S
        while what not in (told := page.web.get(f"/api/jobs/{job['id']}").json())["text"]:
            assert time.monotonic() < end, told
            time.sleep(0.05)
        return told["text"]

    until("as seen")
    drives.now = True
    until(HELD)
    time.sleep(1.5)
    assert page.web.get(f"/api/jobs/{job['id']}").json()["text"] == HELD
    drives.now = False
    until("as seen")
    drives.now = True
    until(HELD)
    assert page.web.delete(f"/api/jobs/{job['id']}").json()["state"] == "cancelled"


def test_a_reader_that_takes_too_long_or_dies_is_replaced_and_hurts_no_other() -> None:
    async def trial() -> None:
        readers = BoutReaders(longest_s=6.0)
        try:
            assert await readers.ask("look", abs, -3) == 3
            slow = asyncio.create_task(readers.ask("documents", time.sleep, 60))
            behind = asyncio.create_task(readers.ask("documents", abs, -5))
            assert await readers.ask("look", abs, -4) == 4
            with pytest.raises(AnalysisError, match="given up after 6 s"):
                await slow
            assert await behind == 5, "who waited is not hurt by the one before"
            with pytest.raises(AnalysisError, match="the reader ended"):
                await readers.ask("documents", os._exit, 3)
            os.kill(await readers.ask("documents", os.getpid), signal.SIGKILL)
            await asyncio.sleep(1.0)  # until its end is known
            assert await readers.ask("documents", abs, -7) == 7, "it ended while nobody asked"
            assert await readers.ask("documents", abs, -6) == 6
        finally:
            readers.close()

    asyncio.run(trial())
