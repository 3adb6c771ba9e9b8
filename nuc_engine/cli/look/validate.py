"""`nuc validate`: check documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nuc_engine.cli.terminal.errors import BAD
from nuc_engine.cli.terminal.output import count, note, say, say_json
from nuc_engine.cli.terminal.params import CONFIGURATION, THING, NucCommand, as_json
from nuc_engine.machine.locations import (
    NotFound,
    find_configuration,
    find_script,
    list_configurations,
    list_runs,
    list_scripts,
)

if TYPE_CHECKING:
    from nuc_engine.configurations.validation import Checked
    from sccils_schemas.model import Model


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc validate my_leg", "a configuration folder: documents, plant.toml, and what the engine would refuse"),
        ("nuc validate scripts/*.xml --config lin_roach", "scripts, against the model they are meant for"),
        ("nuc validate my_leg/sensors.xml --json", "one file by itself, for a program to read"),
    ),
    output=(
        "To stdout: one line per problem, `file:line: error: what is wrong, what was expected (hint)`, or with"
        " `warning:`, then one with counts.",
        "Notes about what could not be checked go to stderr.",
        "Exit status 1 when there is any error; warnings alone are good.",
    ),
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=THING)
@click.option(
    "--config", "-c", metavar="CONFIG", type=CONFIGURATION, help="Model that scripts, commands and lists are for."
)
@as_json
def command(paths: Sequence[str], config: str | None, as_json: bool) -> int:
    """Check configuration folders, SCCILS files, plant.toml and run.toml files; all that is wrong is told in one go.

    PATH is a folder, a file, or the name of a shipped configuration or script. What kind of document a file holds is
    seen from the file itself.
    """
    from nuc_engine.configurations.validation import as_data, check_path

    model = None if config is None else _model(config)
    found = [check_path(_locate(path), model) for path in paths]
    errors = sum(checked.problems.error_count for checked in found)
    warnings = sum(checked.problems.warning_count for checked in found)
    for checked in found:
        if checked.kind not in ("configuration", "file") and checked.against is None:
            said = f"{checked.kind}, checked by itself only; --config CONFIG checks it against a model"
            note(f"{checked.path}: note: {said}")
    if as_json:
        say_json(
            {
                "ok": errors == 0,
                "errors": errors,
                "warnings": warnings,
                "checked": [
                    {
                        "path": checked.path,
                        "kind": checked.kind,
                        "against": checked.against,
                        "problems": [as_data(problem) for problem in checked.problems],
                        "not_listed": checked.problems.dropped,
                    }
                    for checked in found
                ],
            }
        )
    else:
        _print(found, errors, warnings)
    return BAD if errors else 0


def _print(found: Sequence[Checked], errors: int, warnings: int) -> None:
    for checked in found:
        if len(checked.problems):
            say(str(checked.problems))
    kinds: dict[str, int] = {}
    for checked in found:
        kinds[checked.kind] = kinds.get(checked.kind, 0) + 1
    places = ", ".join(count(number, kind) for kind, number in kinds.items())
    say(f"{places}: {count(errors, 'error')}, {count(warnings, 'warning')}")


def _model(config: str) -> Model | None:
    from sccils_schemas.model import load_model

    folder = find_configuration(config)
    model, problems = load_model(folder)
    if model is None:
        errors = count(problems.error_count, "error")
        note(f"{folder}: error: {errors}, so nothing can be checked against it; `nuc validate {config}` lists them")
    return model


def _locate(path: str) -> Path:
    given = Path(path)
    if given.exists():
        return given
    for find in (find_configuration, find_script):
        try:
            return find(path)
        except NotFound:
            continue
    known = ", ".join([*list_configurations(), *list_runs(), *list_scripts()])
    raise click.UsageError(f"{path!r} is neither a file nor a folder, nor one of the names {known}")
