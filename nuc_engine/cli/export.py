"""`nuc export`: a bout's logs in a format other programs open."""

from __future__ import annotations

from pathlib import Path

import click

from nuc_engine.cli.errors import Refused
from nuc_engine.cli.output import count, say, say_json
from nuc_engine.cli.params import Command, as_json


@click.command(
    cls=Command,
    examples=(
        ("nuc export data/experiment_a --mcap", "data/experiment_a.mcap, for Foxglove and PlotJuggler"),
        ("nuc export data/experiment_a --mcap --out /tmp/a.mcap", "somewhere else"),
    ),
    output=("The file's name and how much is in it. Times are engine time: 0 is the start of the bout.",),
)
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--mcap", is_flag=True, required=True, help="One MCAP file: motors, sensors, states, muscles, events.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write.  [default: DIR.mcap]")
@as_json
def command(folder: Path, mcap: bool, out: Path | None, as_json: bool) -> int:
    """Write the logs of the bout in DIR as one file that other programs open. DIR is not touched.

    A file that exists is replaced.
    """
    from nuc_engine.recording.mcap_logs import McapError, export

    del mcap
    path = out or folder.resolve().with_name(folder.resolve().name + ".mcap")
    draft = path.with_name(f".{path.name}.new")
    try:
        messages = export(folder, draft)
        draft.replace(path)
    except McapError as error:
        raise Refused(str(error)) from error
    finally:
        draft.unlink(missing_ok=True)
    size = path.stat().st_size
    if as_json:
        say_json({"ok": True, "file": path, "messages": messages, "bytes": size})
    else:
        say(f"{path}: {count(messages, 'message')}, {size} bytes")
    return 0
