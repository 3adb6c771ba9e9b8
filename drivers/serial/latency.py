"""How long an adapter holds bytes back, and asking it not to.

An FTDI adapter hands bytes over when its latency timer ends, 16 ms as delivered; the low-latency flag of its port makes
the kernel set 1 ms. CDC-ACM, CH34x and ptys have no such timer. Nothing here is an error: what was found is told.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SYSFS: Final = Path("/sys")

_TIOCGSERIAL, _TIOCSSERIAL = 0x541E, 0x541F
_LOW_LATENCY: Final = 0x2000
# struct serial_struct: type, line, port, irq, flags, ... ; the whole is 72 bytes on 64-bit machines.
_SERIAL_BYTES: Final = 128
_FLAGS: Final = struct.Struct("=i")
_FLAGS_AT: Final = 16
_BEST_MS: Final = 1
_UNSUPPORTED: Final = frozenset({errno.ENOTTY, errno.EINVAL, errno.EOPNOTSUPP})

LATE_PTY_NS: Final = 40_000_000
LATE_ADAPTER_NS: Final = 20_000_000
"""How late a reply may come at the most, beside what a latency timer holds back: through a pseudo-terminal, whose other
end is a process that waits for a CPU, and through an adapter. Assumed: `nuc bus latency` measures it."""

Ioctl = Callable[[int, int, bytearray], object]


@dataclass(frozen=True, slots=True)
class Latency:
    """What became of asking for low latency.

    `verified`: True when reading back showed it, False when it showed the contrary, None when there is nothing to be
    read. `timer_ms` is the adapter's timer where it has one that can be seen. `remark` says what was found and, where
    something is wrong, what to do.
    """

    asked: bool
    verified: bool | None
    timer_ms: int | None
    remark: str

    @property
    def hold_ns(self) -> int:
        """How long a reply may be held back beyond the shortest timer there is."""
        return max(0, (self.timer_ms or 0) - _BEST_MS) * 1_000_000


def ask_low_latency(fd: int, path: str, *, sysfs: Path = SYSFS, ioctl: Ioctl = fcntl.ioctl) -> Latency:
    """Ask the port for low latency and read back what became of it; never raises for an adapter that cannot."""
    device = os.path.basename(os.path.realpath(path))
    flag, why = _set_flag(fd, ioctl)
    timer = sysfs / "bus" / "usb-serial" / "devices" / device / "latency_timer"
    timer_ms = _read(timer)
    if timer_ms is None:
        if flag is None:
            return Latency(True, None, None, f"{why}: no latency timer to set")
        return Latency(True, flag, None, "low latency is set" if flag else "the port did not keep the low-latency flag")
    if timer_ms > _BEST_MS and _write(timer, _BEST_MS):
        timer_ms = _read(timer)
    if timer_ms is not None and timer_ms <= _BEST_MS:
        return Latency(True, True, timer_ms, f"latency timer {timer_ms} ms")
    remark = f"latency timer {timer_ms} ms: replies are held back that long; as root: echo {_BEST_MS} > {timer}"
    return Latency(True, False, timer_ms, remark)


def _set_flag(fd: int, ioctl: Ioctl) -> tuple[bool | None, str]:
    """Set the low-latency flag; return whether it is set, None where the port has no such flag, and why."""
    settings = bytearray(_SERIAL_BYTES)
    try:
        ioctl(fd, _TIOCGSERIAL, settings)
        (flags,) = _FLAGS.unpack_from(settings, _FLAGS_AT)
        if not flags & _LOW_LATENCY:
            _FLAGS.pack_into(settings, _FLAGS_AT, flags | _LOW_LATENCY)
            ioctl(fd, _TIOCSSERIAL, settings)
            ioctl(fd, _TIOCGSERIAL, settings)
            (flags,) = _FLAGS.unpack_from(settings, _FLAGS_AT)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return None, "not supported by this port"
        return None, f"refused ({error.strerror})"
    return bool(flags & _LOW_LATENCY), ""


def _read(timer: Path) -> int | None:
    try:
        return int(timer.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _write(timer: Path, value: int) -> bool:
    try:
        timer.write_text(str(value), encoding="ascii")
    except OSError:
        return False
    return True
