"""`nuc export`: a bout's logs in a format other programs open."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import count, note, say, say_json, say_wrapped
from nuc_engine.cli.terminal.params import NucCommand, as_json
from nuc_engine.machine.needs import need
from nuc_engine.recording.files import EPISODE_LOG
from nuc_engine.recording.formats import ending

if TYPE_CHECKING:
    from nuc_engine.analysis.tidy import TidyBout

FORMATS = ("mcap", "parquet", "csv")


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc export data/experiment_a --parquet", "data/experiment_a_parquet: one table for each log, for pandas, R"),
        ("nuc export data/experiment_a --csv --grid 0.01", "the same as CSV, and all logs on one time base of 10 ms"),
        ("nuc export data/experiment_a --mcap --out a.mcap", "one file for Foxglove and PlotJuggler"),
    ),
    output=(
        "The names of the files and how much is in them. Tables are motors, sensors, states, muscles, plant where"
        " the leg was simulated, and sensed where a sensor was clamped; with --grid unified, too. Time is exact, in ns,"
        " as logged. Units are in the headers of CSV files, and columns.csv says what each column is; in Parquet both"
        " are metadata of the columns.",
    ),
)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--parquet", "form", flag_value="parquet", help="Parquet tables into a folder.")
@click.option("--csv", "form", flag_value="csv", help="CSV tables into a folder.")
@click.option("--mcap", "form", flag_value="mcap", help="One MCAP file: motors, sensors, states, muscles, events.")
@click.option(
    "--grid",
    metavar="S",
    type=float,
    help="One more table with everything at whole multiples of S seconds, and the leg's points in cm.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    help="File or folder to write.  [default: DIR.mcap, DIR_parquet, ...]",
)
@as_json
def command(folder: Path, form: str | None, grid: float | None, out: Path | None, as_json: bool) -> int:
    """Write the logs of the bout in DIR in a form that other programs open. DIR is not touched.

    DIR is a data directory of this engine or, for tables, of NeuRoMod; an episode has one table, with its time in
    seconds. Files that exist are replaced.
    """
    if form is None:
        raise click.UsageError(f"expected one of {', '.join(f'--{name}' for name in FORMATS)}")
    if out is not None:
        _check_name(out, form)
    if (folder / EPISODE_LOG).is_file() and (form == "mcap" or grid is not None):
        raise click.UsageError(
            f"{folder} is an episode, which is on one time base already: --parquet or --csv, no --grid"
        )
    if form == "mcap":
        if grid is not None:
            raise click.UsageError("--grid is for tables; an MCAP file keeps every message at its own time")
        need(mcap="--mcap")
        return _mcap(folder, out or _beside(folder, ".mcap"), as_json)
    if form == "parquet":
        need(pyarrow="--parquet")
    from nuc_engine.analysis.tidy import tidy_bout

    if grid is not None and not 0 < grid < float("inf"):
        raise click.UsageError(f"--grid {grid:g} is no time; expected more than 0 s, such as 0.01")
    bout = tidy_bout(folder, grid)
    target = out or _beside(folder, f"_{form}")
    files = _tables(bout, target, form)
    rows = {table.name: len(table) for table in bout.tables}
    if as_json:
        say_json({"ok": True, "folder": target, "files": files, "rows": rows, "notes": bout.notes})
    else:
        told = ", ".join(f"{name} {count(number, 'row')}" for name, number in rows.items())
        say_wrapped(f"{target}: {told}", "    ")
        for line in bout.notes:
            note(f"note: {line}")
    return 0


def _check_name(out: Path, form: str) -> None:
    """Fail for a name that says another format than is asked for, or a file where a folder comes."""
    if form == "mcap":
        ending(out, ["mcap"])
    elif out.suffix.removeprefix(".").lower() in FORMATS and not out.is_dir():
        raise click.UsageError(f"--out {out}: expected a folder, which one file for each table goes into")


def _beside(folder: Path, ending: str) -> Path:
    return folder.resolve().with_name(folder.resolve().name + ending)


def _tables(bout: TidyBout, target: Path, form: str) -> list[Path]:
    """Write the tables beside their place and move them there only when all are whole."""
    from nuc_engine.analysis.tidy import write_csv, write_parquet

    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        files = (write_csv if form == "csv" else write_parquet)(bout, draft)
        target.mkdir(exist_ok=True)
        return [path.replace(target / path.name) for path in files]
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _mcap(folder: Path, path: Path, as_json: bool) -> int:
    from nuc_engine.recording.mcap import McapError, export

    draft = path.with_name(f".{path.name}.new")
    try:
        messages = export(folder, draft)
        draft.replace(path)
    except McapError as error:
        raise CommandFailed(str(error)) from error
    finally:
        draft.unlink(missing_ok=True)
    size = path.stat().st_size
    if as_json:
        result: dict[str, Any] = {"ok": True, "file": path, "messages": messages, "bytes": size}
        say_json(result)
    else:
        say(f"{path}: {count(messages, 'message')}, {size} bytes")
    return 0
