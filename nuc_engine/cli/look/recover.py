"""`nuc recover`: mend data directories whose bout was cut off."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import count, is_terminal, note, say, say_json
from nuc_engine.cli.terminal.params import NucCommand, as_json

if TYPE_CHECKING:
    from nuc_engine.recording.recover import RecoverReport


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc recover data/20310506_070809_lin_roach", "mend one bout after a power cut"),
        ("nuc recover data --dry-run", "say what is torn in a folder of bouts, and touch nothing"),
    ),
    output=(
        "One line for each file that was mended. What was cut off is kept in DIR/recovered.",
        "Exit status 0 when every bout is whole afterwards; 1 when one could not be mended, or is being written to.",
    ),
)
@click.argument(
    "folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@as_json
def command(folders: tuple[Path, ...], dry_run: bool, as_json: bool) -> int:
    """Mend bouts that were cut off by a power cut, or with the whole daemon.

    Torn last lines and records are cut off, XML logs get their end, and the manifest says that the bout is torn, with
    counts and sums of what is there. It may be done again; a bout that is being written is left alone. DIR may be a
    folder of bouts.
    """
    from nuc_engine.recording.recover import RecoverRefused, list_bouts, recover

    reports: list[RecoverReport] = []
    errors: list[str] = []
    for folder in [bout for given in folders for bout in list_bouts(given)]:
        try:
            reports.append(recover(folder, dry_run=dry_run, told=_progress(folder)))
        except RecoverRefused as refused:
            errors.append(str(refused))
    if is_terminal(err=True):
        click.echo("\r\x1b[K", err=True, nl=False)
    if as_json:
        say_json({"ok": not errors, "dry_run": dry_run, "bouts": [_data(r) for r in reports], "errors": errors})
    else:
        for report in reports:
            for line in _lines(report, dry_run):
                say(line)
    for error in errors:
        note(error)
    return BAD if errors else 0


def _progress(folder: Path) -> Any:
    if not is_terminal(err=True):
        return None
    return lambda name: click.echo(f"\r{folder}: {name}\x1b[K", err=True, nl=False)


def _data(report: RecoverReport) -> dict[str, Any]:
    mends = [{"file": mend.file, "cut_bytes": mend.cut, "closed": bool(mend.add)} for mend in report.mends]
    return {"folder": report.folder, "state": report.state, "changed": report.changed, "mended": mends}


def _lines(report: RecoverReport, dry_run: bool) -> Sequence[str]:
    would = "would be " if dry_run else ""
    if not report.changed:
        return [f"{report.folder}: nothing to mend ({report.state})"]
    lines = [f"{report.folder}: {would}mended, {count(len(report.mends), 'file')}; the bout is {report.state}"]
    for mend in report.mends:
        done = [f"{would}cut by {count(mend.cut, 'byte')}"] if mend.cut else []
        done += [f"{would}closed"] if mend.add else []
        lines.append(f"    {mend.file}: {' and '.join(done)}")
    return lines
