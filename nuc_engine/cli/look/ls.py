"""`nuc ls`: which bouts there are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import count, note, say, say_json
from nuc_engine.cli.terminal.params import NucCommand, as_json
from sccils_schemas.names import printable

if TYPE_CHECKING:
    from nuc_engine.analysis.listing import BoutEntry


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc ls", "the bouts under data/"),
        ("nuc ls data/summer --judge", "those under another folder, and what the leg did in each"),
    ),
    output=(
        "One line for each data directory: configuration, script, duration, state, seed, labels. --judge reads the logs"
        " too and adds what was seen in each behaviour window.",
        "Exit status 1 when a directory could not be read; all others are listed all the same.",
    ),
)
@click.argument(
    "folder", metavar="[DIR]", required=False, default=Path("data"), type=click.Path(file_okay=False, path_type=Path)
)
@click.option("--judge", is_flag=True, help="Say what was seen, too (reads the logs: a second or so for each bout).")
@as_json
def command(folder: Path, judge: bool, as_json: bool) -> int:
    """List the data directories below DIR (default: data), of this engine and of NeuRoMod."""
    from nuc_engine.analysis.listing import list_bouts

    entries = list_bouts(folder)
    seen: dict[Path, tuple[str, ...]] = {}
    errors = [f"{entry.folder}: {entry.problem}" for entry in entries if entry.problem]
    if judge:
        for entry in entries:
            kinds, error = _seen(entry)
            seen[entry.folder] = kinds
            errors += error
    if as_json:
        bouts = [_data(entry) | ({"seen": seen[entry.folder]} if judge else {}) for entry in entries]
        say_json({"ok": not errors, "folder": folder, "bouts": bouts, "errors": errors})
    else:
        _print(folder, entries, seen)
    for error in errors:
        note(error)
    return BAD if errors else 0


def _seen(entry: BoutEntry) -> tuple[tuple[str, ...], list[str]]:
    """Return what was seen in each window, and what kept it from being told."""
    from nuc_engine.analysis.errors import AnalysisError
    from nuc_engine.analysis.load import load_bout
    from nuc_engine.analysis.stepstats import bout_stats

    if entry.problem:
        return (), []
    try:
        windows = bout_stats(load_bout(entry.folder))
    except AnalysisError as error:
        return (), [str(error)]
    return tuple(stats.kind for stats in windows), []


def _data(entry: BoutEntry) -> dict[str, Any]:
    return {
        "folder": entry.folder,
        "kind": entry.kind,
        "configuration": entry.configuration or None,
        "script": entry.script or None,
        "duration_s": entry.duration_s,
        "state": entry.state or None,
        "seed": entry.seed,
        "clock": entry.clock or None,
        "started": entry.started or None,
        "labels": entry.labels,
        "notes": entry.notes,
        "problem": entry.problem or None,
    }


def _print(root: Path, entries: Sequence[BoutEntry], seen: dict[Path, tuple[str, ...]]) -> None:
    from nuc_engine.analysis.series import aligned

    if not entries:
        say(f"no data directories in {root}")
        return
    rows = [_row(root, entry) for entry in entries]
    head = ("bout", "configuration", "script", "s", "state", "seed", "labels")
    filled = [k for k in range(len(head)) if k < 2 or any(row[k] for row in rows)]
    lines = aligned([[row[k] for k in filled] for row in (head, *rows)])
    say(lines[0])
    for line, entry in zip(lines[1:], entries, strict=True):
        say(line)
        if seen.get(entry.folder):
            say(f"    {', '.join(seen[entry.folder])}")
        for remark in entry.notes:
            say(f"    note: {remark}")
    say(count(len(entries), "bout"))


def _row(root: Path, entry: BoutEntry) -> tuple[str, ...]:
    name = str(entry.folder.relative_to(root)) if entry.folder != root else str(root)
    # A name may hold line breaks or worse; the table has one line for each bout.
    name = printable(name)
    state = "not readable" if entry.problem else entry.state or "NeuRoMod"
    return (
        name,
        entry.configuration,
        entry.script.removesuffix(".xml"),
        "" if entry.duration_s is None else f"{entry.duration_s:.1f}",
        state,
        "" if entry.seed is None else str(entry.seed),
        " ".join(f"{key}={value}" for key, value in entry.labels.items()),
    )
