"""`nuc episode watch`: an episode in the terminal, from its datagrams alone."""

from __future__ import annotations

import shutil
import socket
from contextlib import suppress

import click

from nuc_engine.cli.episode.serve import VIEWERS
from nuc_engine.cli.episode.watchview import MIN_COLUMNS, MIN_ROWS, FlightView, plain_line
from nuc_engine.cli.terminal import wallclock
from nuc_engine.cli.terminal.errors import CommandFailed
from nuc_engine.cli.terminal.output import say, takes_keys
from nuc_engine.cli.terminal.params import NucCommand
from nuc_engine.messages.snapshots import RUNNING, SnapshotError, read_snapshot

_MOST_AT_ONCE = 1000
_LONGEST = 8192
_LINE_S = 1.0
_WAIT_S = 0.05


class SnapshotReceiver:
    """Takes datagrams at an address of this machine. Raises OSError where that is taken."""

    def __init__(self, host: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        try:
            self._socket.bind((host, port))
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self._came_s = wallclock.seconds()
        self.rubbish = 0

    def take(self, view: FlightView) -> float:
        """Give a view what has come; return how old the newest is, in seconds. What is no snapshot is counted."""
        with suppress(BlockingIOError):
            for _ in range(_MOST_AT_ONCE):
                datagram = self._socket.recv(_LONGEST)
                try:
                    view.take(read_snapshot(datagram))
                except SnapshotError:
                    self.rubbish += 1
                else:
                    self._came_s = wallclock.seconds()
        return wallclock.seconds() - self._came_s

    def close(self) -> None:
        """Take no more."""
        self._socket.close()


@click.command(
    cls=NucCommand,
    examples=(
        ("nuc episode watch", "whatever the server flies, until Ctrl-C"),
        ("nuc episode watch 127.0.0.1:9999 --once | tail -1", "in lines, until an episode has ended"),
    ),
    output=(
        "A flight from above and from the side, beside its reference; other systems in numbers. Where stdout is no"
        " terminal, a line per second. It asks nothing of the server and is not known to it.",
    ),
)
@click.argument("address", metavar="[HOST:PORT]", default=VIEWERS)
@click.option("--once", is_flag=True, help="End with the episode, in lines.")
def command(address: str, once: bool) -> int:
    """Look on while a server runs an episode: at the datagrams that it sends to HOST:PORT (its --udp)."""
    from nuc_engine.service.access import read_datagram_address
    from nuc_engine.service.errors import ServiceError

    try:
        receiver = SnapshotReceiver(*read_datagram_address(address))
    except (ServiceError, OSError) as error:
        raise CommandFailed(f"nuc episode watch: {address}: {error}") from error
    try:
        size = shutil.get_terminal_size()
        if takes_keys() and not once and size.columns >= MIN_COLUMNS and size.lines >= MIN_ROWS:
            from nuc_engine.cli.episode.watchscreen import FlightScreen

            FlightScreen(receiver.take).run_whole()
        else:
            with suppress(KeyboardInterrupt):
                _tell(receiver, once=once)
    finally:
        receiver.close()
    return 0


def _tell(receiver: SnapshotReceiver, *, once: bool) -> None:
    view, said_s, told = FlightView(lambda text, _: text), 0.0, (0, 0)
    while True:
        receiver.take(view)
        newest = view.newest
        ended = newest is not None and newest.phase != RUNNING
        if newest is not None and newest.order != told and (ended or wallclock.seconds() - said_s >= _LINE_S):
            said_s, told = wallclock.seconds(), newest.order
            say(plain_line(newest))
        if ended and once:
            return
        wallclock.sleep(_WAIT_S)
