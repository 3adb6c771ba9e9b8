"""`nuc ui`: the workbench in the browser."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

import click

from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.leaving import interrupt, when_ended
from nuc_engine.cli.terminal.output import note
from nuc_engine.cli.terminal.params import CONFIGURATION, NucCommand
from nuc_engine.cli.terminal.person import own_name
from nuc_engine.machine.needs import need, need_linux


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc ui --emulated lin_roach", "a daemon with an emulated leg, and the page beside it"),
        ("nuc ui", "the daemon that runs on this machine"),
        ("nuc ui --bouts data", "no daemon: the data directories alone"),
        ("nuc ui --address tcp://leg:44106 --keys keys", "a leg elsewhere, with one's own key"),
        ("nuc ui --address tcp://leg:44106 --keys keys --off-by-ssh leg", "and torque off past its service"),
    ),
    output=(
        "A page on a port of this machine alone, for whoever can read the file that it names: it holds a key for one"
        " tab, which is good for a minute, and is renewed.",
        "Runs until Ctrl-C; a daemon that it started ends with it.",
    ),
)
@click.option(
    "--emulated", metavar="CONFIG", type=CONFIGURATION, default="", help="Start a daemon with an emulated leg."
)
@click.option(
    "--bouts",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="No daemon: these bouts.",
)
@click.option("--address", "-a", metavar="ADDR", default="", help="Where a daemon listens.  [default: the one here]")
@click.option("--keys", metavar="DIR", type=click.Path(path_type=Path), help="One's own keys, for a daemon elsewhere.")
@click.option(
    "--off-by-ssh",
    metavar="HOST[:FOLDER]",
    default="",
    help="Take the torque off at a daemon elsewhere over an ssh that stays open, past its service."
    "  [default: over the channel]",
)
@click.option("--name", "-n", metavar="NAME", default="", help="Who the daemon is told one is.  [default: USER@HOST]")
@click.option(
    "--data",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("data"),
    show_default=True,
    help="Where the daemon's bouts lie.",
)
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65_535), default=0, help="Of the page.  [default: a free one]"
)
@click.option("--no-browser", is_flag=True, help="Do not open the page.")
@click.option(
    "--stop-without-tab",
    metavar="S",
    type=click.FloatRange(1, 86_400),
    default=None,
    help="End a bout when the tab in control is gone, and none has taken control for so long, or this program ends."
    "  [default: it goes on]",
)
def command(
    emulated: str,
    bouts: Path | None,
    address: str,
    keys: Path | None,
    off_by_ssh: str,
    name: str,
    data: Path,
    port: int,
    no_browser: bool,
    stop_without_tab: float | None,
) -> int:
    """Watch, stop and look back in the browser: the leg, its traces, its bouts and events."""
    if sum(map(bool, (emulated, bouts, address))) > 1:
        raise click.UsageError("--emulated, --bouts and --address are three things to look at; choose one")
    if off_by_ssh and not address:
        raise click.UsageError("--off-by-ssh is for a daemon elsewhere: say where with --address")
    if emulated:
        need_linux("nuc ui --emulated", "a daemon runs there alone")
    need(starlette="nuc ui", uvicorn="nuc ui", websockets="nuc ui")
    from nuc_engine.client import ClientError, load_keys
    from nuc_engine.client.address import find_address, find_addresses
    from nuc_engine.ui.launch import WorkbenchOptions, emulated_daemon, serve
    from nuc_engine.ui.sshoff import ssh_words

    if off_by_ssh:
        try:
            ssh_words(off_by_ssh)
        except ValueError as error:
            raise click.UsageError(f"--off-by-ssh {error}") from error

    def say(line: str) -> None:
        note(f"nuc ui: {line}")

    asked = bool(address)
    try:
        with suppress(KeyboardInterrupt), when_ended(interrupt), ExitStack() as stack:
            if emulated:
                need(mujoco="an emulated leg")
                address = stack.enter_context(emulated_daemon([emulated, "--data", str(data)], say))
            elif bouts is None:
                address = address or find_address()
            way = ["--address", address] if asked or (address and len(find_addresses()) > 1) else []
            way += [] if keys is None else ["--keys", str(keys.absolute())]
            wanted = WorkbenchOptions(
                name or own_name(),
                address,
                None if keys is None else load_keys(keys, name),
                bouts or data,
                port,
                not no_browser,
                stop_without_tab,
                emulated=bool(emulated),
                way=[*way, *(["--name", name] if name and keys is not None else [])],
                off_by_ssh=off_by_ssh,
            )
            serve(wanted, say)
    except ClientError as error:
        raise CommandFailed(f"nuc ui: {error}") from error
    return 0
