"""`nuc ui`: what it says before there is a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from nuc_engine.cli.app import app


def said(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["ui", "--no-browser", *words])
    return done.exit_code, done.output


def test_one_thing_is_looked_at(tmp_path: Path) -> None:
    status, text = said("--emulated", "lin_roach", "--bouts", str(tmp_path))
    assert status == 2
    assert "choose one" in text


def test_without_a_daemon_it_says_how_to_start_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("uvicorn")
    monkeypatch.setattr("nuc_engine.client.address.found", lambda _: [])
    status, text = said()
    assert status == 1
    assert "no daemon runs here" in text


@pytest.mark.parametrize("words", [("--port", "70000"), ("--stop-without-tab", "0"), ("--bouts", "/nowhere/at/all")])
def test_what_can_not_be_is_a_wrong_command_line(words: tuple[str, ...]) -> None:
    assert said(*words)[0] == 2


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nuc_engine.machine.needs.find_spec", lambda name: None)
    status, text = said("--bouts", ".")
    assert status == 1
    assert "Starlette" in text
    assert "[ui]" in text
