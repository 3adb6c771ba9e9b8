"""The ports of the main process: opened once, found again under the same name after they were unplugged."""

from __future__ import annotations

import os
import select
import stat

from drivers.errors import PortError
from drivers.factory import parse_line
from drivers.serial.port import SerialPort, find_stable_name, open_port, try_open
from nuc_engine.daemon.launch import BusLine

_PSEUDO_TERMINALS = "/dev/pts/"


class BusPort:
    """One bus of the command line: what motors call it (empty: the only one), its URL, its port while it is open.

    Raises BusUrlError where the URL does not name a bus on a serial port.
    """

    def __init__(self, name: str, url: str) -> None:
        self.name, self.url = name, url
        self._spec = parse_line(url)
        self._path = find_stable_name(self._spec.path)
        self._port: SerialPort | None = None
        self._link: tuple[int, int] | None = None
        self.trouble = ""
        """Why it could not be opened the last time, empty while there is simply no device."""

    @property
    def is_open(self) -> bool:
        """Whether it is open: a device that is gone is noticed only at its next use."""
        return self._port is not None

    @property
    def hung_up(self) -> bool:
        """Whether it is open and its device says that it is gone."""
        if self._port is None:
            return False
        poll = select.poll()
        poll.register(self._port.fd, 0)
        return bool(poll.poll(0))

    @property
    def line(self) -> BusLine:
        """What the other processes are told of it; descriptor -1 while it is closed."""
        return BusLine(self.name, self.url, -1 if self._port is None else self._port.fd)

    @property
    def remark(self) -> str:
        """What was found out about the adapter's timing."""
        return "" if self._port is None else f"{self._path}: {self._port.latency.remark}"

    def open(self) -> None:
        """Open it. Raises PortError saying what to do."""
        if self._port is None:
            self._link = _terminal_link(self._path)
            self._port = open_port(self._path, self._spec.baud)
            self._path = find_stable_name(self._path)

    def try_open(self) -> bool:
        """Open it if it is there; True when it is open."""
        if self._port is None:
            self.trouble = ""
            link = _terminal_link(self._path)
            if link is not None and link == self._link:
                # What it leads to is gone, and its number may belong to another terminal by now.
                return False
            self._link = link
            try:
                self._port = try_open(self._path, self._spec.baud)
            except PortError as error:
                self.trouble = str(error)
        return self._port is not None

    def close(self) -> None:
        """Close it. Closing twice is allowed."""
        if self._port is not None:
            self._port.close()
            self._port = None


def _terminal_link(path: str) -> tuple[int, int] | None:
    """Return what tells a link to a pseudo-terminal from an older one of that name; None for anything else."""
    try:
        found = os.lstat(path)
        if not stat.S_ISLNK(found.st_mode) or not os.readlink(path).startswith(_PSEUDO_TERMINALS):
            return None
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
