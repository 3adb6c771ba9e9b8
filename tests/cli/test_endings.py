"""A file's name says which format it gets; a name that says another one, or none, is refused before anything is run."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from pyarrow import parquet

from nuc_engine.cli.app import COMMANDS
from nuc_engine.cli.terminal.params import OutFile
from tests.cli.conftest import Nuc

CASES = (
    ("sweep lin_roach -v seed=1,2 -o s.xlsx", ".parquet or .csv"),
    ("sweep lin_roach -v seed=1,2 -o s", ".parquet or .csv"),
    ("tune lin_roach -v FT_flux_FTang=50:60 -c FWD -o t.toml", ".xml"),
    ("minimise experiment_a --at 20 --write t", ".xml"),
    ("diff lin_roach null_roach --changeset c.json", ".xml"),
    ("diagram lin_roach -w states -o d.png", ".svg"),
    ("movie {bout} -o m.webm", ".mp4, .mkv, .mov, .avi or .gif"),
    ("compare {bout} {bout} -f c.bmp", ".png, .svg or .pdf"),
    ("export {bout} --mcap -o x.csv", ".mcap"),
    ("export {bout} --csv -o x.csv", "folder"),
    ("export {bout} --parquet -o x.parquet", "folder"),
    ("plot {bout} -o x.png", "folder"),
    ("bus characterise emulated: --id 2 --model 1001 --out t.csv", ".json"),
    ("bus characterise emulated: --id 2 --model 1001 --figure t.svg", ".png"),
)
ANY_NAME = {
    ("tune", "study"),
    ("experiment", "to"),
    ("emulate", "byte_log"),
    ("emulate", "record"),
    ("emulate", "live"),
    ("movie", "camera"),
    ("run", "steered"),
}
"""Files of one format, which nobody opens by their names, one that is read, and one whose ending depends."""


@pytest.mark.parametrize(("line", "expected"), CASES)
def test_another_ending_is_an_error_with_the_list(
    nuc: Nuc, bout: Path, tmp_path: Path, line: str, expected: str
) -> None:
    before = sorted(tmp_path.rglob("*"))
    result = nuc(*line.format(bout=bout).split())
    assert result.exit_code == 2
    assert expected in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_every_option_that_names_a_file_to_be_written_knows_its_endings() -> None:
    checked: set[tuple[str, str]] = set()
    unchecked: set[tuple[str, str]] = set()
    for name, (module, _) in COMMANDS.items():
        for option in options_of(import_module(f"nuc_engine.cli.{module}").command):
            if (option.metavar or "").startswith("FILE"):
                (checked if isinstance(option.type, OutFile) else unchecked).add((name, option.name or ""))
    assert unchecked == ANY_NAME
    assert {("sweep", "out"), ("bus", "figure")} <= checked


def options_of(command: click.Command) -> Iterator[click.Option]:
    """Yield the options of a command and of all below it, those too that are loaded when they are used."""
    yield from (param for param in command.params if isinstance(param, click.Option))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for below in filter(None, (command.get_command(context, name) for name in command.list_commands(context))):
            yield from options_of(below)


def test_a_sweep_is_what_its_name_says_with_the_same_rows(nuc: Nuc, tmp_path: Path) -> None:
    words = ["sweep", "lin_roach", "-v", "FT_flux_FTang=50,70.5", "-d", "4", "--settle", "1", "-j", "1", "-o"]
    for name in ("s.parquet", "S.CSV"):
        assert nuc(*words, name).exit_code == 0
    assert (tmp_path / "s.parquet").read_bytes()[:4] == b"PAR1"
    rows = parquet.read_table(tmp_path / "s.parquet").to_pylist()
    with (tmp_path / "S.CSV").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in rows] == read
    assert json.loads((tmp_path / "S.CSV.json").read_text(encoding="utf-8"))["configuration"] == "lin_roach"
    assert "complete already" in nuc(*words, "S.CSV").stdout
    (tmp_path / "S.CSV.json").unlink()
    assert "not from this sweep" in nuc(*words, "S.CSV").stderr
