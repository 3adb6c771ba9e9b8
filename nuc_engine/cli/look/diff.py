"""`nuc diff`: named differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nuc_engine.cli.terminal.errors import BAD, CommandFailed
from nuc_engine.cli.terminal.output import WIDTH, count, heading, note, say, say_json, wrapped
from nuc_engine.cli.terminal.params import THING, NucCommand, OutFile, as_json
from nuc_engine.machine.locations import NotFound, find_configuration, find_script
from nuc_engine.recording.files import MANIFEST_FILE, MOTOR_LOG, SCRIPT_FILE

if TYPE_CHECKING:
    from nuc_engine.configurations.difference import ConfigurationDifference
    from sccils_schemas.documents import HdsoScript
    from sccils_schemas.model import Model

_TITLES = {
    "value": "parameter values",
    "rule": "rules",
    "constant": "constants",
    "structure": "structure",
    "geometry": "geometry",
    "script": "script",
    "bout": "how the bout was run",
    "version": "versions",
    "record": "first record that differs, per file",
}

_ROOM = WIDTH - 2
"""Columns of a difference: two less, since `nuc compare` indents it."""


@dataclass(frozen=True, slots=True)
class _Thing:
    """What one side is, and the parts of it that can be compared."""

    path: Path
    kind: str
    model: Model | None = None
    script: HdsoScript | None = None
    document: Mapping[str, Any] | None = None


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc diff lin_roach my_leg", "what was tuned, by name, with both values"),
        (
            "nuc diff lin_roach my_leg --changeset scripts/mine.xml",
            "the same, kept as a script that makes my_leg's values",
        ),
        ("nuc diff flight_circle my_flight", "two RunConfigs, number by number"),
        ("nuc diff data/monday data/tuesday", "why two bouts differ, down to the first record"),
    ),
    output=(
        "Differences to stdout; with --changeset a script (hdsoscript) into FILE, and what it cannot change to stderr."
        " Descriptions, comments and layout are not compared.",
        "Exit status 0 when nothing differs, 1 when something does.",
    ),
)
@click.argument("a", metavar="A", type=THING)
@click.argument("b", metavar="B", type=THING)
@click.option(
    "--changeset",
    metavar="FILE",
    type=OutFile(["xml"]),
    help="Write the differences in values and rules as a script: A followed by it is B.",
)
@click.option("--force", is_flag=True, help="Let --changeset replace a FILE that exists.")
@as_json
def command(a: str, b: str, changeset: Path | None, force: bool, as_json: bool) -> int:
    """Compare A with B: two configurations (of a leg, or RunConfigs), two scripts, or two bouts, each a path or a name.

    A bout (data directory) can also be compared with a configuration or a script: then only that part of it is.
    """
    if changeset is not None and changeset.exists() and not force:
        raise click.UsageError(f"{changeset} exists already; choose another --changeset FILE, or add --force")
    one, other = _open(a), _open(b)
    differences, apart = _compare(one, other)
    left_out: tuple[str, ...] = ()
    if changeset is not None:
        left_out = _write_changeset(one, other, changeset)
    if as_json:
        say_json(
            {
                "ok": not differences,
                "a": {"path": one.path, "kind": one.kind},
                "b": {"path": other.path, "kind": other.kind},
                "differences": differences,
                "not_comparable": apart,
                "changeset": changeset,
                "not_in_changeset": left_out,
            }
        )
    else:
        _print(one, other, differences)
    for line in apart:
        note(f"not compared: {line}")
    for line in left_out:
        note(f"not in {changeset}: {line}")
    return BAD if differences else 0


def _compare(one: _Thing, other: _Thing) -> tuple[list[ConfigurationDifference], list[str]]:
    """Return the differences, and what only one side has, so that it is not compared."""
    from nuc_engine.configurations import difference
    from nuc_engine.machine.locations import PLANT_SPEC_FILE

    found: list[ConfigurationDifference] = []
    apart: list[str] = []
    if one.model is not None and other.model is not None:
        found += difference.compare_models(one.model, other.model)
        found += difference.compare_plants(one.path / PLANT_SPEC_FILE, other.path / PLANT_SPEC_FILE)
    if one.script is not None and other.script is not None:
        found += difference.compare_scripts(one.script, other.script)
    elif one.document is not None and other.document is not None and "RunConfig" in (one.kind, other.kind):
        found += difference.compare_documents(one.document, other.document)
    elif one.kind == other.kind == "bout" and (one.script or other.script):
        with_script = one if one.script is not None else other
        apart.append(f"the script, which only {with_script.path} has")
    if one.kind == other.kind == "bout":
        found += difference.compare_bouts(one.path, other.path)
    elif one.kind != other.kind:
        both = [name for name in ("model", "script", "document") if getattr(one, name) and getattr(other, name)]
        if not both:
            raise click.UsageError(f"a {one.kind} and a {other.kind} have nothing in common; give two of one kind")
        bout = one if one.kind == "bout" else other
        apart.append(f"versions, logs and all else of the bout {bout.path}; only its {other_kind(one, other)} was")
    return found, apart


def other_kind(one: _Thing, other: _Thing) -> str:
    """Return which part of a bout the other side is."""
    return other.kind if one.kind == "bout" else one.kind


def _write_changeset(one: _Thing, other: _Thing, file: Path) -> tuple[str, ...]:
    from nuc_engine.configurations import difference
    from sccils_schemas.writer import write

    if one.model is not None and other.model is not None:
        script, left_out = difference.changeset(one.model, other.model)
    elif one.script is not None and other.script is not None:
        script, left_out = difference.script_changeset(one.script, other.script)
    else:
        raise click.UsageError("--changeset needs two configurations, two scripts or two bouts")
    if not script.entries:
        raise CommandFailed(*left_out, f"nuc diff: nothing of this can be a changeset, so {file} was not written")
    file.write_bytes(write(script))
    note(f"{file}: {count(len(script.entries), 'entry')}".replace("entrys", "entries"))
    return left_out


def _print(one: _Thing, other: _Thing, differences: Sequence[ConfigurationDifference]) -> None:
    from nuc_engine.configurations.difference import joined

    say(f"A  {one.path} ({one.kind})")
    say(f"B  {other.path} ({other.kind})")
    for section, members in joined(differences).items():
        say()
        say(heading(section_title(section)) + f"  ({len(members)})")
        for member in members:
            for line in difference_lines(member):
                say(line)
    if not differences:
        say("no differences")


def section_title(section: str) -> str:
    """Return the heading of differences of one kind."""
    from nuc_engine.machine.locations import PLANT_SPEC_FILE

    return PLANT_SPEC_FILE if section == "plant" else _TITLES[section]


def difference_lines(difference: ConfigurationDifference) -> list[str]:
    """Return one difference as lines of text."""
    a, b = difference.a, difference.b
    unit = "" if difference.unit in ("", "dimensionless") else f" {difference.unit}"
    if b is None or a is None:
        side, value = ("A", a) if b is None else ("B", b)
        told = "" if value == "there" else f": {value}{unit}"
        line = f"  {difference.name}  only in {side}{told}"
        if len(line) <= _ROOM:
            return [line]
        return [f"  {difference.name}  only in {side}", *wrapped(f"      {value}{unit}", "      ", _ROOM)]
    line = f"  {difference.name}  {a} -> {b}{unit}"
    if len(line) > _ROOM or difference.section == "rule":
        return [f"  {difference.name}", f"      A  {a}{unit}", f"      B  {b}{unit}"]
    return [line]


def _open(text: str) -> _Thing:
    from nuc_engine.bout.episode import document_of, read_document, run_text, whole_document
    from nuc_engine.machine.locations import RUN_FILE, is_episode
    from nuc_engine.recording.manifest import read_record

    path = _locate(text)
    if path.is_dir():
        if is_episode(path):
            if (path / MANIFEST_FILE).exists():
                resolved = read_record(path)["spec"].get("resolved")
                return _Thing(path, "bout", document=resolved and whole_document(path, resolved))
            return _Thing(path, "RunConfig", document=read_document(path))
        is_bout = any((path / name).exists() for name in (MANIFEST_FILE, MOTOR_LOG))
        model = _model(path)
        script = _script(path / SCRIPT_FILE, model) if is_bout and (path / SCRIPT_FILE).exists() else None
        described = read_record(path)["spec"].get("run", {}) if (path / MANIFEST_FILE).exists() else {}
        return _Thing(path, "bout" if is_bout else "configuration", model, script, described.get("resolved"))
    if path.name == RUN_FILE:
        return _Thing(path, "RunConfig", document=document_of(run_text(path)))
    return _Thing(path, "script", None, _script(path, None))


def _locate(text: str) -> Path:
    if Path(text).exists():
        return Path(text)
    try:
        return find_configuration(text)
    except NotFound as no_configuration:
        try:
            return find_script(text)
        except NotFound:
            raise click.UsageError(f"{text!r} is neither a file nor a folder; {no_configuration}") from None


def _model(folder: Path) -> Model:
    from sccils_schemas.model import load_model

    model, problems = load_model(folder)
    if model is None:
        raise CommandFailed(*(str(problem) for problem in problems.errors))
    return model


def _script(path: Path, model: Model | None) -> HdsoScript:
    from sccils_schemas.documents import HdsoScript
    from sccils_schemas.model import load_any

    document, problems = load_any(path, model)
    errors: Sequence[Any] = problems.errors
    if document is None:
        raise CommandFailed(*(str(problem) for problem in errors))
    if not isinstance(document, HdsoScript):
        raise click.UsageError(f"{path} is no script; expected configurations, scripts or data directories")
    return document
