"""As near to Windows as Linux gets: with this folder on PYTHONPATH, this project's modules find no POSIX.

Modules and names that Windows lacks are hidden from this project alone: Python's own library, and everybody else's,
brings what it needs for each system. What files do is changed for all: text is written with CR LF and read as cp1252
unless said otherwise, a file that is open can be neither removed nor replaced, a folder cannot be opened, and no name
holds any of <>:"|?*. Processes that are started from here inherit all that. Of the names, these are the ones a program
like this one would use; the type checker knows them all (`make types`).
"""

import builtins
import errno
import fcntl
import io
import os
import re
import select
import shutil
import signal
import socket
import stat
import sys
import time  # noqa: TID251  to hide parts of it
from pathlib import Path
from types import ModuleType

OURS = ("nuc_engine", "drivers", "sccils_schemas")
NO_MODULES = frozenset(
    ["curses", "fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"]
)
NO_NAMES = {
    "os": """EFD_CLOEXEC EFD_NONBLOCK MFD_CLOEXEC O_CLOEXEC O_DIRECTORY O_DSYNC O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC
        O_TMPFILE SCHED_FIFO SCHED_OTHER SCHED_RESET_ON_FORK chown copy_file_range eventfd eventfd_read eventfd_write
        fchmod fchown fdatasync fork fstatvfs getegid geteuid getgid getgrouplist getgroups getloadavg getpgid getuid
        killpg mkfifo nice openpty pidfd_open pipe2 posix_fallocate posix_spawn pread pwrite sched_getaffinity
        sched_param sched_setaffinity sched_setscheduler sendfile set_blocking setpgid setsid statvfs sync sysconf
        tcgetpgrp ttyname uname wait waitid writev""",
    "select": "epoll poll POLLERR POLLHUP POLLIN POLLNVAL POLLOUT POLLPRI PIPE_BUF",
    "signal": """SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGUSR1 SIGUSR2
        SIGWINCH SIG_BLOCK SIG_SETMASK SIG_UNBLOCK alarm pause pidfd_send_signal pthread_kill pthread_sigmask setitimer
        siginterrupt sigpending sigtimedwait sigwait sigwaitinfo""",
    "socket": "AF_UNIX MSG_DONTWAIT MSG_NOSIGNAL SCM_RIGHTS SOCK_CLOEXEC SOCK_NONBLOCK SO_PEERCRED recv_fds send_fds",
    "sys": "abiflags",
    "time": "CLOCK_BOOTTIME CLOCK_MONOTONIC CLOCK_REALTIME clock_getres clock_gettime clock_gettime_ns",
}
O_BINARY = 0x8000
_translated: set[object] = set()
_FORBIDDEN = re.compile(r'[<>:"|?*]')


class Elsewhere(ModuleType):
    """A module as another system has it: without some names, and with others of its own."""

    def __init__(self, real: ModuleType, **own: object) -> None:
        super().__init__(real.__name__, real.__doc__)
        hidden = frozenset(NO_NAMES.get(real.__name__, "").split())
        self.__dict__.update(own)
        self.__dict__["__getattr__"] = lambda name: _get(real, hidden, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(sys.modules[self.__name__], name, value)


def _get(real: ModuleType, hidden: frozenset[str], name: str) -> object:
    if name in hidden:
        raise AttributeError(f"module {real.__name__!r} has no attribute {name!r} on this system")
    return getattr(real, name)


def _open_descriptor(path, flags, mode=0o777):
    if os.path.isdir(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))
    descriptor = os.open(path, flags & ~O_BINARY, mode)
    (_translated.discard if flags & O_BINARY else _translated.add)(descriptor)
    return descriptor


def _untranslated(real):
    """Return a function of a descriptor that fails where line ends would be translated: opened without O_BINARY."""

    def act(descriptor, *what):
        if descriptor in _translated:
            raise ValueError("os.open without os.O_BINARY: line ends are translated, and Ctrl-Z ends the file")
        return real(descriptor, *what)

    return act


def _stat_without_modes(descriptor):
    found = os.fstat(descriptor)
    return os.stat_result((stat.S_IFMT(found.st_mode) | 0o666, *found[1:]))


def _select_sockets(reading, writing, failing, timeout=None):
    for end in (*reading, *writing, *failing):
        if not stat.S_ISSOCK(os.fstat(end if isinstance(end, int) else end.fileno()).st_mode):
            raise OSError(10038, "An operation was attempted on something that is not a socket")
    return select.select(reading, writing, failing, timeout)


def _lock(descriptor: int, mode: int, size: int) -> None:
    """Lock bytes at the file's position, for this open file alone, or raise, as msvcrt.locking does."""
    how = fcntl.LOCK_UN if mode == 0 else fcntl.LOCK_EX | fcntl.LOCK_NB
    try:
        fcntl.flock(descriptor, how)
    except BlockingIOError as error:
        raise PermissionError(errno.EACCES, "Permission denied") from error


def _module(name: str, **content: object) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(content)
    return module


SEEN_BY_US = {
    "os": Elsewhere(
        os,
        name="nt",
        O_BINARY=O_BINARY,
        open=_open_descriptor,
        read=_untranslated(os.read),
        write=_untranslated(os.write),
        fstat=_stat_without_modes,
    ),
    "select": Elsewhere(select, select=_select_sockets),
    "signal": Elsewhere(signal, SIGBREAK=21),
    "socket": Elsewhere(socket),
    "sys": Elsewhere(sys, platform="win32"),
    "time": Elsewhere(time),
    "msvcrt": _module("msvcrt", locking=_lock, LK_UNLCK=0, LK_NBLCK=2),
}


def _import(name, globals=None, locals=None, fromlist=(), level=0):  # noqa: A002
    asking = str((globals or {}).get("__name__", ""))
    if level == 0 and asking.partition(".")[0] in OURS:
        if name.partition(".")[0] in NO_MODULES:
            raise ModuleNotFoundError(f"No module named {name!r} on this system", name=name)
        if name in SEEN_BY_US:
            return SEEN_BY_US[name]
    return _real_import(name, globals, locals, fromlist, level)


def _open(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, *further, **how):
    _translated.discard(file)  # Whatever a descriptor was, a file made of it takes bytes as they are.
    if "b" not in mode:
        encoding = "cp1252" if encoding in (None, "locale") else encoding
        newline = "\r\n" if newline is None and set(mode) & set("wxa+") else newline
    if set(mode) & set("wxa"):
        _check_name(file)
    return _real_open(file, mode, buffering, encoding, errors, newline, *further, **how)


def _check_name(path: object) -> None:
    if not isinstance(path, int) and _FORBIDDEN.search(os.fsdecode(path)):
        raise OSError(errno.EINVAL, "The filename, directory name, or volume label syntax is incorrect", str(path))


def _is_open(path: object) -> bool:
    """Say whether this process has a file open: whoever has one keeps it from being removed."""
    place = os.path.realpath(path)
    return os.path.isfile(place) and place in _open_files()


def _open_files() -> set[str]:
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:
            continue
    return found


def _guarded(real, *, last_may_exist=True, checks_last=False):
    """Return a function of paths that refuses files which are open."""

    def act(*paths, **how):
        for path in paths[:2]:
            if isinstance(path, str | bytes | os.PathLike) and "dir_fd" not in how and _is_open(path):
                raise PermissionError(
                    errno.EACCES, "The process cannot access the file because it is in use", str(path)
                )
        if not last_may_exist and os.path.lexists(paths[1]):
            raise FileExistsError(errno.EEXIST, "Cannot create a file when that file already exists", str(paths[1]))
        if checks_last:
            _check_name(paths[-1])
        return real(*paths, **how)

    return act


def _no_links(*paths, **how):
    raise OSError(1314, "A required privilege is not held by the client", str(paths[-1]))


def _make_folder(path, *how, **more):
    _check_name(path)
    return _real_mkdir(path, *how, **more)


_real_import, _real_open, _real_mkdir = builtins.__import__, io.open, os.mkdir
builtins.__import__ = _import
builtins.open = io.open = _open
os.mkdir = _make_folder
os.unlink = os.remove = _guarded(os.unlink)
os.replace = _guarded(os.replace, checks_last=True)
os.rename = _guarded(os.rename, last_may_exist=False, checks_last=True)
os.symlink = _no_links
shutil._use_fd_functions = False
sys.path.insert(0, str(Path(__file__).parents[3]))
