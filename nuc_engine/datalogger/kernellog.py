"""dmesglog.txt: what the kernel and its drivers said during a bout (appendix 10.4, section 3.1), read from /dev/kmsg.

A line has the engine time in ns, the level and the text, in which all but printable ASCII is escaped, as the kernel
does. The kernel stamps its messages with a clock that is not kept in step with the engine's (CLOCK_MONOTONIC) and may
be seconds off where a machine has run for days. So a stamp is laid onto the engine's clock by the least delay with
which any message of this bout was read: a time here is late by at most that, and that is how often this is looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nuc_engine.datalogger.commits import OpenBout
from nuc_engine.recording.files import KERNEL_LOG
from nuc_engine.recording.growing import Mark
from nuc_engine.recording.logs import TextLog

DEVICE = "/dev/kmsg"

MOST_BYTES = 1 << 20
"""How large the log of one bout may become; what the kernel says beyond it is counted."""

AT_ONCE = 500
"""Messages that are written in one look; the kernel keeps the others for the next."""

_RECORD_BYTES = 16_384
_MOST_BEFORE = 1_000_000
_RECORD = re.compile(rb"(\d{1,9}),(\d{1,19}),(\d{1,16}),[^;\n]*;([^\n]*)")
_LEVELS = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")
_HINT = "needs CAP_SYSLOG, or kernel.dmesg_restrict=0; `journalctl -k` tells it to whoever may read the journal"


@dataclass(frozen=True, slots=True)
class KernelMessage:
    """One message: its number since the machine was started, and when the kernel says it was."""

    number: int
    stamp_ns: int
    level: str
    text: str


def read_message(record: bytes) -> KernelMessage | None:
    """Return the message in a record of /dev/kmsg, None for what is no such record."""
    found = _RECORD.match(record)
    if found is None:
        return None
    priority, number, stamp_us, text = found.groups()
    shown = "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in text)
    return KernelMessage(int(number), int(stamp_us) * 1000, _LEVELS[int(priority) & 7], shown)


def open_kmsg() -> int:
    """Return a descriptor of the kernel's messages, from the oldest it keeps. It never waits. Raises OSError."""
    return os.open(DEVICE, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


class KernelLog:
    """Writes the log of one bout. `state` says up to which message it is; a `mark` continues another logger's file.

    Where the kernel's messages cannot be read, the file says so, and why. `now_ns` is CLOCK_MONOTONIC.
    """

    def __init__(self, folder: Path, state: OpenBout, mark: Mark | None, open_device: Callable[[], int]) -> None:
        self._state = state
        self.log = TextLog(folder / KERNEL_LOG, mark)
        self._size = self.log.mark.size
        self._fd = -1
        try:
            self._fd = open_device()
        except OSError as error:
            if state.kernel_number is not None or not self._size:
                self._unreadable(state.taken_ns, f"cannot be opened: {error.strerror} ({_HINT})")
            return
        if state.kernel_number is None:
            self._append(state.taken_ns, "begin", f"the kernel's messages from now on, from {DEVICE}")
            self._pass_by()

    def look(self, now_ns: int) -> None:
        """Write down what the kernel has said since the last look. Never waits."""
        for _ in range(AT_ONCE):
            record = self._read()
            if record is None:
                return
            message = read_message(record)
            before = self._state.kernel_number
            if message is not None and (before is None or message.number > before):
                self._take(message, now_ns)

    def end(self, now_ns: int, at_ns: int) -> None:
        """Look once more, and say at an engine time what is left out: nothing follows but `flush` and `close` of it."""
        self.look(now_ns)
        if self._state.kernel_left_out:
            text = f"{self._state.kernel_left_out} messages beyond the {MOST_BYTES} bytes of this log"
            self._append(at_ns, "left_out", text)
            self._state.kernel_left_out = 0

    def close(self) -> None:
        """Let go of the kernel's messages. May be called again."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def _pass_by(self) -> None:
        """Leave out what was said before."""
        self._state.kernel_number = -1
        for _ in range(_MOST_BEFORE):
            record = self._read()
            if record is None:
                return
            message = read_message(record)
            if message is not None:
                self._state.kernel_number = message.number

    def _take(self, message: KernelMessage, now_ns: int) -> None:
        state = self._state
        delay_ns = now_ns - message.stamp_ns
        state.kernel_delay_ns = delay_ns if state.kernel_delay_ns is None else min(state.kernel_delay_ns, delay_ns)
        at_ns = message.stamp_ns + state.kernel_delay_ns - state.begin_ns
        before, state.kernel_number = state.kernel_number, message.number
        if before is not None and 0 <= before < message.number - 1:
            count = message.number - 1 - before
            self._append(at_ns, "lost", f"{count} messages: the kernel had written over them before they were read")
        if self._size < MOST_BYTES:
            self._append(at_ns, message.level, message.text)
        else:
            state.kernel_left_out += 1

    def _unreadable(self, at_ns: int, why: str) -> None:
        self._append(at_ns, "unreadable", f"{DEVICE} {why}")
        self._state.kernel_number = None

    def _append(self, at_ns: int, what: str, text: str) -> None:
        line = f"{max(0, at_ns)} {what} {text}\n"
        self._size += len(line)
        self.log.append(line)

    def _read(self) -> bytes | None:
        """Return the next record, None when there is none now."""
        while self._fd >= 0:
            try:
                return os.read(self._fd, _RECORD_BYTES) or None
            except BlockingIOError:
                return None
            except BrokenPipeError:
                continue  # Some were written over; the number of the next one says how many.
            except OSError as error:
                self._unreadable(self._state.taken_ns, f"cannot be read any more: {error.strerror}")
                self.close()
        return None
