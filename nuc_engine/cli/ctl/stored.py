"""Subcommands about what lies on the daemon's disk: bouts and their files, scripts; and whether documents are good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any, Final, cast

import click

from nuc_engine.cli.ctl.base import answer, subcommand
from nuc_engine.cli.ctl.bouts import documents_of
from nuc_engine.cli.ctl.link import Target, daemon
from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import TableColumn, table
from nuc_engine.cli.terminal.params import as_json
from nuc_engine.cli.terminal.progress import Counter

if TYPE_CHECKING:
    from nuc_engine.client import Client
    from nuc_engine.messages.answers import FoundProblem, StoredFile

_GROWING = (".txt", ".msgpack")
"""Endings of files that only grow."""

_BOUTS = (
    TableColumn("bout", "<"),
    TableColumn("configuration", "<"),
    TableColumn("s", ">8", ".1f"),
    TableColumn("state", "<"),
    TableColumn("labels", "<"),
)


@subcommand("bouts", (("bouts", "what the daemon has recorded, newest first"),), "One line per bout.")
@as_json
def bouts(target: Target, as_json: bool) -> int:
    """List the bouts in the daemon's data folder."""
    with daemon(target) as leg:
        found = leg.bouts()
    rows = [
        (
            bout.name,
            bout.configuration,
            bout.duration_s,
            bout.problem or bout.state,
            " ".join(f"{key}={text}" for key, text in bout.labels.items()),
        )
        for bout in found
    ]
    return answer(as_json, {"bouts": found}, *(table(_BOUTS, rows) if rows else ["no bout was recorded"]))


@subcommand(
    "fetch",
    (
        ("fetch 20261121_150230_lin_roach", "into a folder of that name, here"),
        ("fetch 20261121_150230_lin_roach --to data/carpet_3", "into another one"),
    ),
    "The folder. What is there in part is gone on with, what is there whole is left alone (by size).",
    "How far it is goes to stderr.",
)
@click.argument("bout")
@click.option("--to", metavar="DIR", type=click.Path(file_okay=False, path_type=Path), help="[default: ./BOUT]")
@as_json
def fetch(target: Target, bout: str, to: Path | None, as_json: bool) -> int:
    """Copy the files of a bout from the daemon's data folder, wherever the daemon is."""
    folder = to or Path(PurePosixPath(bout).name)
    with daemon(target, alone=True) as leg:
        files = leg.bout_files(bout)
        paths = [_place(folder, file.name) for file in files]
        counter, fetched = Counter(), 0
        whole = sum(file.size for file in files) or 1
        try:
            for file, path in zip(files, paths, strict=True):
                for size in _fetch(leg, bout, file, path):
                    fetched += size
                    counter.bar(bout, min(1.0, fetched / whole), f"{fetched >> 10} KiB", always=False)
        except OSError as error:
            raise CommandFailed(f"nuc ctl: {error}") from error
        finally:
            counter.clear()
    data = {"folder": str(folder), "files": [file.name for file in files], "bytes": fetched}
    return answer(as_json, data, f"{len(files)} files in {folder}")


def _place(folder: Path, name: str) -> Path:
    """Return where a file of a bout goes: never outside of the folder, whatever the daemon says."""
    parts = PurePosixPath(name).parts
    odd = any(character in name for character in "\\:\0") or any(PureWindowsPath(part).is_reserved() for part in parts)
    if not parts or ".." in parts or PurePosixPath(name).is_absolute() or odd:
        raise CommandFailed(f"nuc ctl: the daemon names a file {name!r}, which is none of a bout: nothing was fetched")
    return folder.joinpath(*parts)


def _fetch(leg: Client, bout: str, file: StoredFile, path: Path) -> Iterator[int]:
    """Fetch a file that is not there whole; yield sizes of what is there then.

    One that was begun is gone on with where it only grows. The manifest is written anew as a bout goes on.
    """
    from nuc_engine.recording.files import MANIFEST_FILE

    if file.name != MANIFEST_FILE and path.is_file() and path.stat().st_size == file.size:
        yield file.size
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.part")
    there = draft.stat().st_size if draft.is_file() and path.suffix in _GROWING else 0
    if there > file.size:
        there = 0
    with draft.open("ab" if there else "wb") as out:
        yield there
        while True:
            part = leg.fetch(bout, file.name, there)
            out.write(part.data)
            there += len(part.data)
            yield len(part.data)
            if there >= part.size or not part.data:
                break
    draft.replace(path)


@subcommand("scripts", (("scripts", "what `nuc ctl script` can send by name"),), "One line per script.")
@as_json
def scripts(target: Target, as_json: bool) -> int:
    """List the hdsoscripts that lie beside the daemon."""
    with daemon(target) as leg:
        found = leg.scripts()
    width = max((len(script.name) for script in found), default=0)
    lines = [f"{script.name:<{width}}  {script.problem or script.description}".rstrip() for script in found]
    return answer(as_json, {"scripts": found}, *lines)


@subcommand(
    "validate",
    (
        ("validate my_changes.xml", "a script, against the model in force"),
        ("validate ./my_roach", "the documents in a folder of yours"),
    ),
    "One line per problem, as `nuc validate` has them. Exit status 1 when there is any error.",
)
@click.argument("what", metavar="SCRIPT|FOLDER")
@as_json
def validate(target: Target, what: str, as_json: bool) -> int:
    """Ask the daemon what is wrong with documents, which stay what they are; nothing is loaded."""
    from nuc_engine.machine.locations import find_script

    folder = Path(what).is_dir()
    documents = documents_of(Path(what)) if folder else None
    text = None if folder else find_script(what).read_text(encoding="utf-8", errors="replace")
    with daemon(target) as leg:
        found = leg.validate(text, documents)
    errors = sum(problem["severity"] == "error" for problem in found)
    answer(as_json, {"ok": not errors, "problems": found}, *(_lines(found) or ["nothing is wrong"]))
    return 1 if errors else 0


def _lines(found: Sequence[FoundProblem]) -> list[str]:
    from sccils_schemas.problems import Problem

    return [str(Problem(**cast(Any, {**problem, "file": problem["file"] or "script"}))) for problem in found]


COMMANDS: Final = (bouts, fetch, scripts, validate)
