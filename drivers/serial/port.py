"""A serial port of this machine: a tty, opened for one process (and its children) alone.

pyserial opens the device and sets it up; what became of that is read back. From then on its descriptor is all that is
used: one process may open a port and others use the descriptor they inherit. Reads and writes never wait, except for
the time bytes need to leave. What an adapter does to the timing is in `drivers.serial.latency`, who else holds a port
in `drivers.serial.holders`.
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
# struct termios2 of Linux, whose last numbers are the speeds in bit/s; and whether a tty is exclusive.
_TERMIOS2: Final = struct.Struct("=4IB19s2I")
_TCGETS2, _TCSETS2, _TIOCGEXCL = 0x802C542A, 0x402C542B, 0x80045440

_RATE_ERROR: Final = 0.03
"""How far off the rate that was asked for an adapter may be: eight bits and a stop bit are still told apart. Assumed.
"""


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
    fd = _open(path, baud)
    try:
        _keep_others_out(fd, path)
        _let_bytes_alone(fd)
        _check_rate(fd, path, baud)
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

    A name that is a link already stays as it is: its maker wants the device to be found by it.
    """
    if os.path.islink(path):
        return path
    device = os.path.realpath(path)
    try:
        links = sorted(by_id.iterdir())
    except OSError:
        return path
    return next((str(link) for link in links if os.path.realpath(link) == device), path)


def _open(path: str, baud: int) -> int:
    """Return the descriptor of a tty that is locked, raw, and empty. Raises `PortError`."""
    import serial

    try:
        # With a time between bytes, if it is none, VMIN is 1: an empty line (EAGAIN) and one that hung up (nothing
        # read) can be told apart.
        with serial.Serial(path, baud, exclusive=True, inter_byte_timeout=0) as opened:
            opened.reset_output_buffer()
            return os.dup(opened.fileno())
    except serial.SerialException as error:
        if error.errno is None:
            raise PortError(f"{path} is no serial port: expected a tty such as /dev/ttyUSB0") from error
        raise _explain(path, error) from error
    except (termios.error, ValueError) as error:
        raise PortError(f"{path}: {baud} bit/s, raw, was refused ({error.args[-1]}); try another rate") from error


def _keep_others_out(fd: int, path: str) -> None:
    if os.major(os.fstat(fd).st_rdev) in _PTY_SLAVES:
        return
    fcntl.ioctl(fd, termios.TIOCEXCL)
    if not _COUNT.unpack(fcntl.ioctl(fd, _TIOCGEXCL, bytes(_COUNT.size)))[0]:
        raise PortError(f"{path}: the kernel does not keep other programs out; check the adapter's driver")


def _let_bytes_alone(fd: int) -> None:
    """Clear what pyserial leaves as it finds it: with BRKINT a break on the line would empty the queues."""
    _, _, control, _, *rest = _TERMIOS2.unpack(fcntl.ioctl(fd, _TCGETS2, bytes(_TERMIOS2.size)))
    fcntl.ioctl(fd, _TCSETS2, _TERMIOS2.pack(0, 0, control, 0, *rest))


def _check_rate(fd: int, path: str, baud: int) -> None:
    """See that both directions are at `baud` bit/s. Raises `PortError`, OSError."""
    speeds = _TERMIOS2.unpack(fcntl.ioctl(fd, _TCGETS2, bytes(_TERMIOS2.size)))[-2:]
    if any(abs(speed - baud) > _RATE_ERROR * baud for speed in speeds):
        raise PortError(f"{path}: {baud} bit/s was refused (it is at {speeds[-1]}); try another rate")


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
    if error.errno in (errno.EBUSY, errno.EWOULDBLOCK):
        return PortBusyError(_busy(path))
    if error.errno in (errno.EACCES, errno.EPERM):
        return PortError(f"{path}: you may not open it; {_remedy(path)}")
    return PortError(f"{path}: {os.strerror(error.errno or 0)}; expected a serial port such as /dev/ttyUSB0")


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
