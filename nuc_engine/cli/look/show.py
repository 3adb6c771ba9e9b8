"""`nuc show`: a model, explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nuc_engine.cli.terminal.output import faint, folded, heading, note_warnings, patch, plain, say, say_json, strong
from nuc_engine.cli.terminal.params import RUNNABLE, NucCommand, as_json, configuration, script

if TYPE_CHECKING:
    from nuc_engine.configurations.pose import Pose
    from nuc_engine.model.plan import Plan


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc show lin_roach | less", "everything about the cockroach leg, to page through"),
        ("nuc show lin_roach --script experiment_a", "and what the script changes, with the values before and after"),
        ("nuc show flight_random", "a RunConfig: its values, what its seed draws, what its log holds"),
        ("nuc show lin_roach --angles 20,2.3,90,90", "where joints and foot are at these angles"),
        ("nuc show lin_roach --angles Thorax-Coxa1=20,Coxa-Trochanter=90,Femur-Tibia=90", "the same, by name"),
    ),
    output=(
        "Text, or JSON, to stdout; warnings about the model to stderr. No files.",
        "With --angles or --script only what they ask for; add --all for the model as well.",
    ),
)
@configuration(kind=RUNNABLE)
@script("Also say what this script does to the model.")
@click.option(
    "--angles",
    metavar="A,B,..",
    help="Degrees, one per joint in order, or NAME=DEG,..: print the position of joints and foot in cm.",
)
@click.option("--all", "everything", is_flag=True, help="With --angles or --script: the model as well.")
@as_json
def command(config: str, script: str | None, angles: str | None, everything: bool, as_json: bool) -> int:
    """Print the model CONFIG: joints, motors, geometry, muscles, states and their rules, senses and parameters.

    Rules are shown by name, by id, and with the values that parameters have at the start. Of a RunConfig every value is
    shown by the key that --set and sweeps know it by.
    """
    from nuc_engine.cli.bout.episode import show_run
    from nuc_engine.machine.locations import find_run

    if (file := find_run(config)) is not None:
        if script is not None or angles is not None:
            raise click.UsageError(f"--script and --angles are for legs; {config} is a RunConfig")
        return show_run(file, as_json=as_json)
    from nuc_engine.bout.prepare import prepare_bout
    from nuc_engine.configurations.describe import describe_changes, describe_model
    from nuc_engine.configurations.describe_text import TextStyles, change_lines, model_lines, pose_lines
    from sccils_schemas.by_hand import PlantEntry
    from sccils_schemas.documents import SenseClamp, When

    prepared = prepare_bout(config, script)
    note_warnings(config, prepared.warnings)
    where = None if angles is None else _pose(angles, prepared.plan)
    by_hand = [] if prepared.script is None else [e for e in prepared.script.entries if isinstance(e, PlantEntry)]
    nerves = [] if prepared.script is None else [e for e in prepared.script.entries if isinstance(e, SenseClamp | When)]
    changes = None if script is None else describe_changes(prepared.plan, prepared.changesets, by_hand, nerves)
    whole = everything or (where is None and changes is None)
    if as_json:
        data = describe_model(prepared.model) if whole else {"name": prepared.model.name}
        more = {"script": changes, "pose": None if where is None else plain(where)}
        say_json({"ok": True, **data, **{key: value for key, value in more.items() if value is not None}})
        return 0
    ink = TextStyles(heading, strong, faint, patch)
    lines: list[str] = []
    if whole:
        lines += [*model_lines(describe_model(prepared.model), ink), ""]
    if changes is not None:
        lines += [*change_lines(changes, ink), ""]
    if where is not None:
        lines += [*pose_lines(where, ink), ""]
    say("\n".join(row for line in lines[:-1] for row in folded(line)))
    return 0


def _pose(angles: str, plan: Plan) -> Pose:
    from nuc_engine.configurations.pose import PoseError, parse_angles, pose

    try:
        return pose(plan, parse_angles(angles, plan))
    except PoseError as error:
        raise click.UsageError(f"--angles {angles}: {error}") from error
