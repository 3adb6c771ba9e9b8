"""`nuc demo`: a leg in the terminal, at real speed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import click

from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import note, note_warnings, say, takes_keys
from nuc_engine.cli.terminal.params import NucCommand, configuration, script
from nuc_engine.machine.needs import need

if TYPE_CHECKING:
    from nuc_engine.cli.terminal.live import LiveLeg


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc demo", "the cockroach leg steps forward until Ctrl-C"),
        ("nuc demo lin_roach --script experiment_a", "forward; an inside turn from 20 s on; another kind from 40 s on"),
        ("nuc demo lin_stickmiddle --seconds 10", "a stick insect's leg, for ten seconds"),
    ),
    output=(
        "The leg, drawn in the terminal from the side and from above: each segment in the colour of its joint's action,"
        " the path of the foot, and strips of what each joint and the foot did last.",
        "Where stdout is no terminal, or a very small one, a line per second instead. No files.",
    ),
)
@configuration(default="lin_roach")
@script("Apply the timed changesets of this script.")
@click.option("--seconds", metavar="N", type=click.FloatRange(0, min_open=True), help="Stop after N simulated seconds.")
@click.option("--seed", metavar="N", type=click.IntRange(0), default=0, show_default=True, help="As in `nuc run`.")
def command(config: str, script: str | None, seconds: float | None, seed: int) -> int:
    """Run the emulated leg CONFIG (lin_roach by default) at real speed and watch it step, until Ctrl-C."""
    need(mujoco="an emulated leg")
    from nuc_engine.cli.terminal.legview import fits
    from nuc_engine.cli.terminal.live import LiveLeg

    leg = LiveLeg(config, script, seed)
    note_warnings(config, leg.warnings)
    size = shutil.get_terminal_size()
    end_s = float("inf") if seconds is None else seconds
    try:
        if takes_keys() and fits(size.columns, size.lines, len(leg.plan.joints)):
            from nuc_engine.cli.terminal.legscreen import LegScreen

            LegScreen(leg, _title(leg, script, seed), end_s).run_whole()
        else:
            _tell(leg, end_s)
    except KeyboardInterrupt:
        pass
    except Exception as error:
        _explain(error)
    view = leg.view()
    note(f"{view.time_s:.1f} s, {view.steps} steps")
    return 0


def _tell(leg: LiveLeg, end_s: float) -> None:
    from nuc_engine.cli.terminal.legview import plain_line
    from nuc_engine.cli.terminal.live import paced

    for left_s in paced(leg, 1.0, end_s):
        wallclock.sleep(left_s)
        say(plain_line(leg.view()))


def _title(leg: LiveLeg, script: str | None, seed: int) -> str:
    return f"{leg.model.name}{f', {script}' if script else ''}, seed {seed}"


def _explain(error: Exception) -> None:
    from drivers.servo import PlantFault
    from nuc_engine.control.faults import FAULTS, EngineFault

    if isinstance(error, PlantFault):
        raise CommandFailed(f"nuc demo: {error} ({FAULTS['plant_diverged'].hint})") from error
    if isinstance(error, EngineFault):
        raise CommandFailed(f"nuc demo: {error} ({FAULTS[error.name].hint})") from error
    raise error
