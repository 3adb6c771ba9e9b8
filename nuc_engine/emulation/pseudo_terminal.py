"""The pseudo-terminal a host opens in place of a serial adapter, and the name it finds it by."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import tty
from pathlib import Path
from typing import Final

from nuc_engine.emulation.errors import EmulationError

_PTS: Final = "/dev/pts/"
_COUNT: Final = struct.Struct("i")
_EDGES: Final = select.EPOLLIN | select.EPOLLET


class PseudoTerminal:
    """The servos' end of a pseudo-terminal, with a symbolic link to the host's end.

    Made raw before the first byte; one descriptor of the host's end stays open here, so that a host may close and open
    it without this end noticing. `unplug` is an adapter pulled out: the name goes, and a host that has it open sees a
    hangup.

    Bytes are waited for by their edge and taken by their count: whoever asks a terminal whether there are any waits for
    a worker of the kernel that runs when nothing else does (`drivers.serial.port` does the same at the other end).
    """

    def __init__(self, link: Path) -> None:
        """Make the terminal and its name. Raises `EmulationError` when something else has that name."""
        self.link = link
        self.name = ""
        self._master = self._slave = -1
        self._arrivals: select.epoll | None = None
        self.plug()

    @property
    def plugged(self) -> bool:
        """Whether the adapter is there."""
        return self._master >= 0

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the host has written; -1 while unplugged."""
        return -1 if self._arrivals is None else self._arrivals.fileno()

    def plug(self) -> None:
        """Make a new terminal under the same name, unless there is one."""
        if self._master >= 0:
            return
        _refuse_what_is_no_terminal(self.link)
        master, slave = os.openpty()
        try:
            tty.setraw(slave)
            os.set_blocking(master, False)
            name = os.ttyname(slave)
            _point(self.link, name)
        except BaseException:
            os.close(master)
            os.close(slave)
            raise
        self._master, self._slave, self.name = master, slave, name
        self._arrivals = select.epoll()
        self._arrivals.register(master, _EDGES)

    def unplug(self) -> None:
        """Take name and terminal away. Doing it twice is allowed."""
        if self._master < 0:
            return
        if self.link.is_symlink() and os.readlink(self.link) == self.name:
            self.link.unlink()
        if self._arrivals is not None:
            self._arrivals.close()
        os.close(self._slave)
        os.close(self._master)
        self._master, self._slave, self._arrivals = -1, -1, None

    def read(self, count: int) -> bytes:
        """Return at most `count` bytes the host has written, perhaps none."""
        if self._arrivals is None:
            return b""
        self._arrivals.poll(0)
        waiting = _COUNT.unpack(fcntl.ioctl(self._master, termios.FIONREAD, bytes(_COUNT.size)))[0]
        if not waiting:
            return b""
        if waiting > count:
            # What is left has had its edge: ask for another.
            self._arrivals.modify(self._master, _EDGES)
        try:
            return os.read(self._master, min(count, waiting))
        except BlockingIOError:
            return b""

    def write(self, data: bytes) -> int:
        """Give bytes to the host; return how many there was room for: nobody may be reading."""
        if self._master < 0:
            return 0
        try:
            return os.write(self._master, data)
        except BlockingIOError:
            return 0

    def free_if_abandoned(self) -> None:
        """Lift the exclusive mode of a host that is gone.

        A serial port forgets it when its last user closes it; a pseudo-terminal does not while this end is open. Hosts
        take a file lock as well, and that one dies with them.
        """
        if self._slave < 0 or not _is_exclusive(self._slave):
            return
        try:
            fcntl.flock(self._slave, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return
        fcntl.ioctl(self._slave, termios.TIOCNXCL)
        fcntl.flock(self._slave, fcntl.LOCK_UN)


_TIOCGEXCL: Final = 0x80045440


def _is_exclusive(descriptor: int) -> bool:
    return fcntl.ioctl(descriptor, _TIOCGEXCL, b"\0\0\0\0") != b"\0\0\0\0"


def _refuse_what_is_no_terminal(link: Path) -> None:
    if link.is_symlink():
        target = os.readlink(link)
        if not target.startswith(_PTS):
            raise EmulationError(
                f"{link} leads to {target}, which is no pseudo-terminal; choose another name for --pty"
            )
    elif link.exists():
        raise EmulationError(f"{link} is there already, no link to a pseudo-terminal; choose another name for --pty")


def _point(link: Path, target: str) -> None:
    """Make `link` lead to `target`, at once for whoever looks."""
    beside = link.with_name(f".{link.name}.{os.getpid()}")
    try:
        beside.unlink(missing_ok=True)
        beside.symlink_to(target)
        beside.replace(link)
    except OSError as error:
        raise EmulationError(
            f"{link} can not be made: {error.strerror}; its folder must exist and be writable"
        ) from error
