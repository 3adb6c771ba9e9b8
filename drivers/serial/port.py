"""A serial port of this machine: a tty, opened for one process (and its children) alone.

One process may open it and others use the descriptor they inherit: a `SerialPort` is little more than the descriptor.
Reads and writes never wait, except for the time bytes need to leave. What an adapter does to the timing is in
`drivers.serial.latency`, who else holds a port in `drivers.serial.holders`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import stat
import struct
import termios
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from drivers.errors import PortBusyError, PortError, PortGoneError
from drivers.port import NEVER, wire_ns
from drivers.serial.holders import describe_holders
from drivers.serial.latency import LATE_ADAPTER_NS, LATE_PTY_NS, Latency, ask_low_latency

BY_ID: Final = Path("/dev/serial/by-id")
"""Where udev keeps names that stay with an adapter, whichever socket it is plugged into."""

_COUNT: Final = struct.Struct("i")
_GONE: Final = frozenset({errno.EIO, errno.ENODEV, errno.ENXIO, errno.EBADF})
_MISSING: Final = frozenset({errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.EIO})
_PTY_SLAVES: Final = range(136, 144)
_IFLAG, _OFLAG, _CFLAG, _LFLAG, _ISPEED, _OSPEED, _CC = range(7)
# struct termios2 of Linux: four flag words, line discipline, 19 control characters, two speeds.
_TERMIOS2: Final = struct.Struct("=4IB19s2I")
_TCGETS2, _TCSETS2 = 0x802C542A, 0x402C542B
_BOTHER, _CBAUD = 0o010000, 0o010017
_INPUT_SPEED_SHIFT: Final = 16


class SerialPort:
    """A tty as a `drivers.port.Port`; `path` is for messages, `latency` says what was found about the adapter's timing.

    Made from a descriptor that `open_port` opened, in this process or in its parent. `unsent_bytes` counts what the
    line did not take: the rest of a request is dropped then, and the servo's reply is missed.
    """

    __slots__ = ("_arrivals", "_fd", "_hung_up", "_is_pty", "baud", "latency", "path", "unsent_bytes")

    def __init__(self, fd: int, baud: int, *, path: str = "", latency: Latency | None = None) -> None:
        """Take the descriptor over: `close` closes it. Raises `PortError` when it is no tty, or a dead one."""
        self.path = path or _name_of(fd)
        try:
            os.set_blocking(fd, False)
            self._is_pty = os.major(os.fstat(fd).st_rdev) in _PTY_SLAVES
            self.latency = latency if latency is not None else ask_low_latency(fd, self.path)
        except OSError as error:
            raise _explain(self.path, error) from error
        self.baud = baud
        self.unsent_bytes = 0
        self._fd = fd
        self._hung_up = False
        # A tty that is asked whether there is input, by poll or by read, makes the asker wait for the kernel's worker
        # that hands input over, and the worker for a CPU that others may be busy on: tens of milliseconds. Told of an
        # edge (after the worker has run) and asked for a count, nobody waits.
        self._arrivals = select.epoll()
        self._arrivals.register(fd, select.EPOLLIN | select.EPOLLET)

    @property
    def fd(self) -> int:
        """The descriptor, -1 when closed; for handing it on to a child process."""
        return self._fd

    @property
    def counts(self) -> Mapping[str, int]:
        """How many bytes of requests the line did not take."""
        return {"unsent_bytes": self.unsent_bytes}

    @property
    def hold_ns(self) -> int:
        """How long the adapter may hold a reply back, as far as that is known."""
        return self.latency.hold_ns

    @property
    def late_ns(self) -> int:
        """How late a reply may come on a port of this class: a pseudo-terminal, or an adapter."""
        return LATE_PTY_NS if self._is_pty else LATE_ADAPTER_NS + self.hold_ns

    def write(self, data: bytes, now_ns: int) -> None:
        """Send `data`; waits at most for the time its bytes need on the wire. Raises `PortError`."""
        sent = self._write(data)
        if sent < len(data):
            left = data[sent:]
            with contextlib.suppress(OSError, ValueError):
                select.select((), (self._fd,), (), wire_ns(len(left), self.baud) * 1e-9)
            self.unsent_bytes += len(left) - self._write(left)

    def read(self, now_ns: int) -> bytes:
        """Return all there is, perhaps nothing. Raises `PortGoneError` when the other end hung up."""
        if self._fd < 0:
            raise PortError(f"{self.path} is closed: open the port again")
        try:
            # Before the bytes are taken: an edge that is looked at without them would make the kernel wait after all.
            for _, events in self._arrivals.poll(0):
                self._hung_up |= bool(events & (select.EPOLLHUP | select.EPOLLERR))
            count = _COUNT.unpack(fcntl.ioctl(self._fd, termios.FIONREAD, bytes(_COUNT.size)))[0]
            if count:
                return os.read(self._fd, count)
            if self._hung_up:
                os.read(self._fd, 1)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise self._lost(error) from error
        if self._hung_up:
            raise PortGoneError(f"{self.path} is gone: the device hung up; plug it in again")
        return b""

    def flush_input(self, now_ns: int) -> int:
        """Throw away all that came in; return how many bytes were there. Raises `PortGoneError`."""
        return len(self.read(now_ns))

    def flush_output(self) -> None:
        """Throw away what was written and has not left yet, as far as the device can. Raises `PortGoneError`."""
        self._flush(termios.TCOFLUSH)

    def ready_ns(self, expected: int) -> int:
        """Return `NEVER`: a real line does not say what is coming."""
        return NEVER

    def filenos(self) -> tuple[int, ...]:
        """Return the descriptor, nothing when closed."""
        return (self._arrivals.fileno(),) if self._fd >= 0 else ()

    def close(self) -> None:
        """Close the descriptor. Closing twice is allowed."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            self._arrivals.close()
            with contextlib.suppress(OSError):
                os.close(fd)

    def _write(self, data: bytes) -> int:
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise self._lost(error) from error

    def _flush(self, queue: int) -> None:
        try:
            termios.tcflush(self._fd, queue)
        except termios.error as error:
            raise self._lost(OSError(*error.args)) from error
        except ValueError as error:
            raise self._lost(OSError(errno.EBADF, "closed")) from error

    def _lost(self, error: OSError) -> PortError:
        if self._fd < 0:
            return PortError(f"{self.path} is closed: open the port again")
        if error.errno in _GONE:
            return PortGoneError(f"{self.path} is gone ({error.strerror}): plug the device in again")
        return PortError(f"{self.path}: {error.strerror or error}; check the device with `dmesg`")


def open_port(path: str, baud: int) -> SerialPort:
    """Open the tty at `path`, raw, 8N1, at `baud` bit/s, for this process alone, with the lowest latency there is.

    Alone means a lock that other programs see (`flock`) and one that the kernel enforces (TIOCEXCL). A pty gets the
    first only: its other end keeps the device alive, and with it the kernel's lock of a process that was killed.
    Raises `PortGoneError` when there is no device, `PortBusyError` when another process holds it, else `PortError`.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _explain(path, error) from error
    try:
        if not os.isatty(fd):
            raise PortError(f"{path} is no serial port: expected a tty such as /dev/ttyUSB0")
        _lock(fd, path)
        _make_raw(fd, path, baud)
        return SerialPort(fd, baud, path=path)
    except OSError as error:
        os.close(fd)
        raise _explain(path, error) from error
    except PortError:
        os.close(fd)
        raise


def try_open(path: str, baud: int) -> SerialPort | None:
    """Return the opened port, None while there is no device; cheap enough to be asked several times a second.

    Raises `PortError` for anything else that keeps the port from being opened.
    """
    try:
        return open_port(path, baud) if os.path.exists(path) else None
    except PortGoneError:
        return None


def find_stable_name(path: str, by_id: Path = BY_ID) -> str:
    """Return the name under /dev/serial/by-id of the device at `path`, else `path` itself.

    A name that is a link already stays as it is: whoever made it wants the device to be found by it.
    """
    if os.path.islink(path):
        return path
    device = os.path.realpath(path)
    try:
        links = sorted(by_id.iterdir())
    except OSError:
        return path
    return next((str(link) for link in links if os.path.realpath(link) == device), path)


def _lock(fd: int, path: str) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise PortBusyError(_busy(path)) from error
    if os.major(os.fstat(fd).st_rdev) not in _PTY_SLAVES:
        fcntl.ioctl(fd, termios.TIOCEXCL)


def _make_raw(fd: int, path: str, baud: int) -> None:
    """Set raw mode and rate before the first byte, then forget what came in before. Raises `PortError`, OSError."""
    try:
        mode = termios.tcgetattr(fd)
        mode[_IFLAG] = mode[_OFLAG] = mode[_LFLAG] = 0
        mode[_CFLAG] = termios.CS8 | termios.CREAD | termios.CLOCAL
        # With VMIN 1 an empty line (EAGAIN) and one that hung up (nothing read) can be told apart.
        mode[_CC][termios.VMIN], mode[_CC][termios.VTIME] = 1, 0
        constant = getattr(termios, f"B{baud}", None)
        mode[_ISPEED] = mode[_OSPEED] = termios.B38400 if constant is None else constant
        termios.tcsetattr(fd, termios.TCSANOW, mode)
        if constant is None:
            _set_any_rate(fd, baud)
        termios.tcflush(fd, termios.TCIOFLUSH)
    except termios.error as error:
        raise PortError(f"{path}: {baud} bit/s, raw, was refused ({error.args[-1]}); try another rate") from error


def _set_any_rate(fd: int, baud: int) -> None:
    """Set a rate that has no constant of its own (Linux: termios2 and BOTHER)."""
    flags = list(_TERMIOS2.unpack(fcntl.ioctl(fd, _TCGETS2, bytes(_TERMIOS2.size))))
    flags[_CFLAG] = flags[_CFLAG] & ~(_CBAUD | _CBAUD << _INPUT_SPEED_SHIFT) | _BOTHER | _BOTHER << _INPUT_SPEED_SHIFT
    flags[-2:] = [baud, baud]
    fcntl.ioctl(fd, _TCSETS2, _TERMIOS2.pack(*flags))


def _name_of(fd: int) -> str:
    try:
        return os.ttyname(fd)
    except OSError:
        return f"descriptor {fd}"


def _busy(path: str) -> str:
    return f"{path} is in use by {describe_holders(path) or 'another process'}: stop that first"


def _explain(path: str, error: OSError) -> PortError:
    if error.errno in _MISSING:
        return PortGoneError(f"{path}: no such device; plug the adapter in, or give the path of one that is there")
    if error.errno == errno.EBUSY:
        return PortBusyError(_busy(path))
    if error.errno in (errno.EACCES, errno.EPERM):
        return PortError(f"{path}: you may not open it; {_remedy(path)}")
    return PortError(f"{path}: {error.strerror or error}; expected a serial port such as /dev/ttyUSB0")


def _remedy(path: str) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return "check who may use it with `ls -l`"
    group = _group_name(found.st_gid)
    if found.st_mode & (stat.S_IRGRP | stat.S_IWGRP) and found.st_gid:
        return f"join its group: `sudo usermod -aG {group} $USER`, then log in again; or add a udev rule"
    return "let a udev rule give it to a group of yours, such as dialout"


def _group_name(gid: int) -> str:
    import grp

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
