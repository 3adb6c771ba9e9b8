"""Where a daemon's sockets are, and where clients look for them.

Each daemon has a folder of its own, NAME, under the first of these that there is:

    $RUNTIME_DIRECTORY        systemd's, which is the folder itself (/run/nuc/NAME)
    $XDG_RUNTIME_DIR/nuc      of whoever is logged in
    /run/nuc                  where it may be written
    /tmp/nuc-UID              whoever else

It is locked as long as a process of its daemon lives: what a killed one left there is taken over by the next.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

COMMAND, TELEMETRY, OFF = "command", "telemetry", "off"
"""Names of the sockets in a folder: requests and telemetry over ZeroMQ, and datagrams that take the torque off."""

EPISODES = "episodes"
"""Name of the folder of a server of episodes, and of its socket for requests: no daemon, and not found as one."""

PROBE = "probe"
"""Name of the socket in a folder where it is asked whether torque off would be heard."""

CYCLES, PLANT = "cycles", "plant"
"""Name of the file in a folder in which every cycle can be read, or of a link to it."""

LONGEST = 107
"""Bytes that the path of a Unix socket may have (unix(7))."""

_SOCKETS = (COMMAND, TELEMETRY, OFF)
_SYSTEM = Path("/run/nuc")
_TEMPORARY = Path("/tmp")  # noqa: S108  a folder of ours in it is checked
_MOST = 16


class RunDirError(Exception):
    """No folder for sockets can be had; the text says what to do."""


@dataclass(slots=True)
class RunDir:
    """One daemon's folder, and the descriptor that keeps it locked (forked processes keep it too)."""

    path: Path
    fd: int

    def remove(self) -> None:
        """Remove the folder with its sockets, and unlock it."""
        self.sweep()
        os.close(self.fd)

    def sweep(self) -> None:
        """Remove the folder with its sockets, if it is this one still: the last of a daemon's processes does that."""
        with suppress(OSError):
            _clear(self.fd)
            if os.path.samestat(os.fstat(self.fd), self.path.lstat()):
                self.path.rmdir()


def socket_path(folder: Path, name: str) -> Path:
    """Return the path of a socket in a folder. Raises RunDirError when it is too long for one."""
    path = folder / name
    if len(os.fsencode(path)) > LONGEST:
        raise RunDirError(f"{path}: too long for a socket ({LONGEST} bytes); choose a shorter $XDG_RUNTIME_DIR or name")
    return path


def take(name: str, environment: Mapping[str, str], *, system: Path = _SYSTEM, temporary: Path = _TEMPORARY) -> RunDir:
    """Make and lock the folder of a daemon called `name`; `name`-2 and so on where that is in use.

    What is left in it of a daemon that is dead is removed. Raises RunDirError.
    """
    given = environment.get("RUNTIME_DIRECTORY", "").partition(":")[0]
    if given:
        locked = _lock(Path(given))
        if locked is None:
            raise RunDirError(f"{given}: another daemon has its sockets there")
        return locked
    root = _root(environment, system, temporary)
    for number in range(1, _MOST + 1):
        folder = root / (name if number == 1 else f"{name}-{number}")
        for each in _SOCKETS:
            socket_path(folder, each)
        locked = _lock(folder)
        if locked is not None:
            return locked
    raise RunDirError(f"{root}: {_MOST} daemons called {name} have their sockets there")


def found(
    environment: Mapping[str, str],
    *,
    system: Path = _SYSTEM,
    temporary: Path = _TEMPORARY,
    sockets: Sequence[str] = _SOCKETS,
) -> list[Path]:
    """Return the folders of daemons, in the order of the list above; of dead ones too, if they left theirs.

    What has one of these `sockets` is one. None on Windows, where ZeroMQ has no such sockets.
    """
    if sys.platform == "win32":
        return []
    given = environment.get("XDG_RUNTIME_DIR", "")
    roots = [Path(given, "nuc")] if given else []
    own = temporary / f"nuc-{os.getuid()}"
    roots += [system, *([own] if _is_ours(own) else [])]
    return [folder for root in dict.fromkeys(roots) for folder in _folders(root, sockets)]


def lives(folder: Path) -> bool:
    """Say whether a daemon, or a server of episodes, listens in a folder.

    Raises PermissionError where that may not be known.
    """
    # Datagrams first: to be connected means nothing to their socket, and a client's connection to the other.
    for name, kind in ((OFF, socket.SOCK_DGRAM), (COMMAND, socket.SOCK_STREAM), (EPISODES, socket.SOCK_STREAM)):
        with socket.socket(socket.AF_UNIX, kind) as end:
            try:
                end.connect(str(folder / name))
            except PermissionError:
                raise
            except OSError:
                continue
            return True
    return False


def _folders(root: Path, sockets: Sequence[str]) -> Iterator[Path]:
    with suppress(OSError):
        for folder in sorted(root.iterdir()):
            with suppress(OSError):
                if any((folder / name).is_socket() for name in sockets):
                    yield folder


def _root(environment: Mapping[str, str], system: Path, temporary: Path) -> Path:
    given = environment.get("XDG_RUNTIME_DIR", "")
    if given:
        root = Path(given, "nuc")
    elif os.access(system if system.exists() else system.parent, os.W_OK):
        root = system
    else:
        root = temporary / f"nuc-{os.getuid()}"
    try:
        with suppress(FileExistsError):
            root.mkdir(mode=0o700)
        if root.parent == temporary and not _is_ours(root):
            raise RunDirError(f"{root} is somebody else's; set XDG_RUNTIME_DIR to a folder of your own")
    except OSError as error:
        raise RunDirError(f"{root}: {error.strerror}; set XDG_RUNTIME_DIR to a folder of your own") from error
    return root


def _is_ours(folder: Path) -> bool:
    """Say whether a folder that any user could have made is our own, and no one else's to write."""
    try:
        is_ = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(is_.st_mode) and is_.st_uid == os.getuid() and not is_.st_mode & 0o022


def _lock(folder: Path) -> RunDir | None:
    """Make and lock one folder; None when a daemon that lives has it. Raises RunDirError."""
    import fcntl  # where there are daemons

    try:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o750)
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise RunDirError(f"{folder}: {error.strerror}") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(fd), folder.stat()):
            raise FileNotFoundError(0, "removed meanwhile by the daemon that had it; try again")
        _clear(fd)
    except BlockingIOError:
        os.close(fd)
        return None
    except OSError as error:
        os.close(fd)
        raise RunDirError(f"{folder}: {error.strerror}") from error
    return RunDir(folder, fd)


def _clear(folder: int) -> None:
    """Remove what a daemon has in a folder that is held open, so that no other can have its place.

    Sockets, names of pseudo-terminals, and the files of records, which a link may lead to.
    """
    for name in os.listdir(folder):
        kind = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if name in (CYCLES, PLANT) and stat.S_ISLNK(kind):
            with suppress(FileNotFoundError):
                os.unlink(os.readlink(name, dir_fd=folder))
        if name in (CYCLES, PLANT) or stat.S_ISSOCK(kind) or stat.S_ISLNK(kind):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
