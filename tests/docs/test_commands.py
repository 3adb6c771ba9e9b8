"""README.md and docs/: what they tell one to type is taken, what they name is there, and what is cheap is run."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from nuc_engine.cli.app import COMMANDS, app
from nuc_engine.client import Client
from tests.docs.commands import ROOT, command_lines, fenced, missing, told

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {path.name: path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]}
CHEAP = ("run", "ls", "stats", "plot", "compare", "movie", "diagram", "export", "validate", "show")
SHORT = ("--duration 60", "--duration 4"), ("duration_s=60", "duration_s=4")
"""A short bout will do here."""


@pytest.mark.parametrize("page", PAGES)
def test_every_command_line_is_taken_and_reads_what_is_there(page: str) -> None:
    """Or what a line before it makes, or what is the reader's own by its name: in capitals, my_..., data/mine.

    data/experiment_a is what `make run` leaves.
    """
    lines = [told(line) for line in command_lines(PAGES[page])]
    own = re.compile(r"my_\w+$|data/(mine|experiment_a)$" if page != "README.md" else r"(?!)")
    assert [name for name in missing(lines) if not own.search(name)] == []


def test_a_line_that_is_not_taken_and_a_file_nobody_has_would_be_seen() -> None:
    for line in ("nuc mvie DIR", "nuc movie DIR --camra x", "nuc movie DIR --views behind", "nuc ls a b c"):
        with pytest.raises(click.UsageError):
            told(line)
    film = told("nuc movie data/mine --camera bench.mp4 --out both.mp4")
    assert missing([film]) == [f"{film.text}: data/mine", f"{film.text}: bench.mp4"]
    assert missing([told("nuc run lin_roach --out data/mine"), told("nuc ls data"), told("nuc stats data/mine")]) == []


def test_the_readmes_own_lines_are_found() -> None:
    assert len(list(command_lines(README))) == README.count("\n$ nuc ") > 20


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with pictures of few pixels."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nuc_engine.figures.canvas.DPI", 20)
    return tmp_path


def shortened(text: str) -> str:
    for long, short in SHORT:
        text = text.replace(long, short)
    return text


def test_the_readmes_cheap_commands_run_in_their_order(folder: Path) -> None:
    made: set[str] = set()
    for line in map(told, command_lines(shortened(README))):
        if line.words[0] in CHEAP:
            result = CliRunner().invoke(app, line.words)
            assert result.exit_code == 0, (line.text, result.output)
            made |= {*line.writes}
    assert {"data/mine", "data/other", "both.mp4", "mean_steps.svg", "change.svg"} <= made
    assert [name for name in made if not (folder / name).exists()] == []


def test_the_readmes_programs_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client, bout = fenced(README, "python")
    exec(shortened(bout), {})
    assert "same bytes again: True" in capsys.readouterr().out
    assert (folder / "data" / "again").is_dir()
    used = (node for node in ast.walk(ast.parse(client)) if isinstance(node, ast.Attribute))
    calls = {node.attr for node in used if isinstance(node.value, ast.Name) and node.value.id == "leg"}
    assert calls
    assert [name for name in calls if not hasattr(Client, name)] == []


def test_the_table_of_commands_is_whole() -> None:
    table = README.split("## The commands", 1)[1].split("## ", 1)[0]
    assert set(re.findall(r"nuc ([a-z]+)", table)) == set(COMMANDS)


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_lead_somewhere(page: str) -> None:
    place = ROOT if page == "README.md" else ROOT / "docs"
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", PAGES[page])
    assert [link for link in links if "://" not in link and not (place / link).exists()] == []


def test_folders_configurations_and_targets_are_there() -> None:
    folders = re.findall(r"^\| `(\w+)/` \|", README, re.MULTILINE)
    assert len(folders) > 6
    assert [name for name in folders if not (ROOT / name).is_dir()] == []
    row = next(line for line in README.splitlines() if line.startswith("| `configs/`"))
    assert set(re.findall(r"`(\w+)`", row)) == {path.name for path in (ROOT / "configs").iterdir()}
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"\bmake ([a-z-]+)(?=`| {2})", README)) <= set(targets)
