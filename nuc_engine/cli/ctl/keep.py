"""Subcommands that keep what was found: saving values, recording edits; and documents in SCCILS."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click

from nuc_engine.cli.ctl.base import CtlGroup, answer, subcommand
from nuc_engine.cli.ctl.edits import told
from nuc_engine.cli.ctl.link import Target, act, daemon, recover_control
from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import say
from nuc_engine.cli.terminal.params import as_json

_overwrite = click.option("--overwrite", is_flag=True, help="Also where there is one of that name already.")


@subcommand(
    "save",
    (
        ("save gentle_roach", "a configuration that starts with the values in force"),
        ("save gentle --as script", "an hdsoscript that sets them, on top of the configuration one started with"),
    ),
    "Where it was written, on the daemon's machine. Loading it again gives the same values, to the bit.",
)
@click.argument("name")
@click.option(
    "--as", "kind", type=click.Choice(("configuration", "script")), default="configuration", show_default=True
)
@click.option("--description", metavar="TEXT", help="What it is good for; stands in the document.")
@_overwrite
@as_json
def save(target: Target, name: str, kind: Any, description: str | None, overwrite: bool, as_json: bool) -> int:
    """Write the values in force, so that what was found at the bench is kept."""
    with daemon(target) as leg:
        data = act(leg, target, leg.save, name, kind, description, overwrite)
    return answer(as_json, data, f"saved {data.path}")


@subcommand(
    "store",
    (
        ("store my_changes.xml", "a script of yours, checked and kept beside the daemon"),
        ("store ./my_roach --overwrite", "a configuration, in place of the one of that name"),
    ),
    "Where it was written, on the daemon's machine. Needs control.",
)
@click.argument("what", metavar="FILE|FOLDER", type=click.Path(path_type=Path))
@_overwrite
@as_json
def store(target: Target, what: Path, overwrite: bool, as_json: bool) -> int:
    """Keep a script or a configuration beside the daemon, under its own name, as it is."""
    folder = what.resolve()
    text = "" if folder.is_dir() else _text(what)
    with daemon(target) as leg:
        if folder.is_dir():
            from nuc_engine.service.configuration import read_configuration

            files = read_configuration(folder.name, folder).files
            texts = {file: content.decode("utf-8", "replace") for file, content in files.items()}
            data = act(leg, target, leg.store_configuration, folder.name, texts, overwrite)
        else:
            data = act(leg, target, leg.store_script, what.stem, text, overwrite)
    return answer(as_json, data, f"stored {data.path}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"nuc ctl: {path} cannot be read: {error}") from error


@subcommand(
    "keep",
    (("keep A", "what is in force now; nuc ctl recall A brings it back"),),
    "Nothing but that it was done: values are kept as long as the daemon runs this configuration.",
)
@click.argument("name")
@as_json
def keep(target: Target, name: str, as_json: bool) -> int:
    """Keep all values in force under a name."""
    with daemon(target) as leg:
        kept = act(leg, target, leg.keep_values, name)
    return answer(as_json, {"name": kept.name, "author": kept.author}, f"kept {kept.name}")


@subcommand("kept", (("kept", "and how many of them others have now"),), "One line per name.")
@as_json
def kept_(target: Target, as_json: bool) -> int:
    """List the names under which values are kept."""
    with daemon(target) as leg:
        found = leg.kept_values()
    lines = [f"{kept.name}  by {kept.author}  unlike: {', '.join(kept.differing) or 'none'}" for kept in found]
    sets = [{"name": kept.name, "author": kept.author, "differing": kept.differing} for kept in found]
    return answer(as_json, {"kept": sets}, *(lines or ("nothing is kept",)))


@subcommand("recall", (("recall A", "undo takes all of it back"),), "What was written, and since when.")
@click.argument("name")
@as_json
def recall(target: Target, name: str, as_json: bool) -> int:
    """Bring back the values that were kept under a name, as one edit."""
    with daemon(target) as leg:
        return told(as_json, f"recalled {name}", act(leg, target, leg.recall_values, name))


@click.group(
    name="record",
    cls=CtlGroup,
    examples=(
        ("nuc ctl record start first_try", "from now on every edit is written down, with its time"),
        ("nuc ctl record stop", "and now it is a script"),
        ("nuc ctl script first_try", "which makes the same edits at the same times in another bout"),
    ),
    output=("Each of its commands says its own.",),
)
def record() -> None:
    """Turn the edits made at the bench into a timed script."""


@subcommand("start", (("record start first_try", "under this name"),), "Nothing but that it was done.")
@click.argument("name")
@as_json
def start(target: Target, name: str, as_json: bool) -> int:
    """Begin to write down every edit that takes effect, whoever makes it."""
    with daemon(target) as leg:
        return answer(as_json, act(leg, target, leg.record_start, name), f"recording edits as {name}")


@subcommand("stop", (("record stop", "and save it"),), "The hdsoscript, on the daemon's machine.")
@_overwrite
@as_json
def stop(target: Target, overwrite: bool, as_json: bool) -> int:
    """End the recording and save it as an hdsoscript."""
    with daemon(target) as leg:
        data = act(leg, target, leg.record_stop, overwrite)
    return answer(as_json, data, f"recorded {data.path}")


@subcommand(
    "sccils",
    (
        ("sccils commands.xml", "a command script from a file"),
        ("sccils - < commands.xml", "or from standard input"),
        ("sccils long.xml --wait 60", "one that is done only after its last change"),
    ),
    "The documents the daemon answers with, as they come. Exit status 1 when one says fail.",
)
@click.argument("file", metavar="FILE|-", type=click.File("r", encoding="utf-8"))
@click.option("--wait", "wait_s", metavar="S", type=click.FloatRange(0), default=10.0, show_default=True)
@as_json
def sccils(target: Target, file: Any, wait_s: float, as_json: bool) -> int:
    """Send a SCCILS document (a command script, or an hdsoscript) and print the answers."""
    from nuc_engine.client.sccils import failed

    text = file.read()
    if not text.lstrip().startswith("<"):
        raise CommandFailed(f"nuc ctl: {Path(file.name).name} is no SCCILS document: it does not begin with '<'")
    with daemon(target, alone=True) as leg:
        recover_control(leg, target)
        answers = leg.sccils(text.lstrip(), wait_s, seen=None if as_json else _say_at_once)
    bad = any(failed(document.encode()) for document in answers)
    answer(as_json, {"ok": not bad, "answers": answers})
    return int(bad)


def _say_at_once(document: str) -> None:
    say(document)
    sys.stdout.flush()


for _command in (start, stop):
    record.add_command(_command)


COMMANDS: Final = (save, store, keep, kept_, recall, record, sccils)
