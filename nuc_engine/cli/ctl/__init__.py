"""`nuc ctl`: everything the daemon can be asked, from the command line.

base         what all subcommands of `nuc ctl` share
bouts        subcommands that configure the daemon, run and end bouts, log, and say what a bout was about
edits        subcommands that read and change values, rules, joints and poses
keep         subcommands that keep what was found
link         from the options of `nuc ctl` to a client that is connected, and from a client's errors
names        the daemon is asked, for a tenth of a second
people       subcommands about who is there and who has control
see          state, statistics, events, streams, and the two screens
sheet        one joint on one sheet
stored       subcommands about what lies on the daemon's disk: bouts and their files, scripts, documents
tunescreen   the screen of `nuc ctl tune`
tuneview     the sheet of `nuc ctl tune` as lines of text
tuning       one joint being tuned: what is known of it, and what is asked of the daemon
watching     what keeps the table of `watch` and the daemon in step, and how events are told in a line
watchscreen  the screen of `nuc ctl watch`
watchview    what `nuc ctl watch` shows, as text
"""

from __future__ import annotations

from pathlib import Path

import click

from nuc_engine.cli.ctl import bouts, edits, keep, people, see, stored
from nuc_engine.cli.ctl.base import CtlGroup
from nuc_engine.cli.ctl.link import Target
from nuc_engine.cli.terminal.leaving import when_ended


@click.group(
    name="ctl",
    cls=CtlGroup,
    examples=(
        ("nuc ctl status", "is there a daemon, and how is it?"),
        ("nuc ctl configure lin_roach && nuc ctl run --stop 60", "a minute of stepping"),
        ("nuc ctl set CTr_lev_TC1_load=-0.2", "change a threshold meanwhile"),
        ("nuc ctl tune Coxa-Trochanter", "or turn it by hand, and see each rule become true and false"),
        ("nuc ctl save gentle_roach", "and keep what was found"),
        ("nuc ctl off", "torque off, at any time, by any client"),
        ("nuc ctl --address tcp://10.0.0.7:44106 --keys ~/.config/nuc/keys watch", "a leg elsewhere"),
    ),
    output=(
        "Results to stdout, with --json as one JSON object; complaints to stderr.",
        "Exit status 1 when the daemon refuses or does not answer; what was not answered may have taken effect.",
    ),
)
@click.option(
    "--address",
    "-a",
    metavar="ADDR",
    default="",
    help="Where the daemon listens.  [default: the one daemon that runs here]",
)
@click.option("--name", "-n", default="", help="Who you are, in the logs and for control.  [default: USER@HOST]")
@click.option(
    "--keys",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder with your key pair and the daemon's public key; see `nuc keys`.",
)
@click.option("--timeout", "timeout_s", metavar="S", type=click.FloatRange(0.01), default=2.0, show_default=True)
@click.pass_context
def command(ctx: click.Context, address: str, name: str, keys: Path | None, timeout_s: float) -> None:
    """Talk to a running daemon (`nuc serve`): configure, run, tune, log, watch."""
    # A window that is closed is a goodbye too: who is gone does not stay in the list of clients, nor in control.
    ctx.with_resource(when_ended())
    ctx.obj = Target(address, name, keys, timeout_s)


for _module in (see, bouts, edits, keep, stored, people):
    for _subcommand in _module.COMMANDS:
        command.add_command(_subcommand)
