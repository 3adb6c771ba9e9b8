"""What the service may not: it reads what strangers send, and can be started again at any time.

    memory      bounded for it alone; what exceeds it costs its process, not the machine's memory or the core
    OOM killer  takes it before all others of the daemon
    real time   no scheduling class, no locked memory
    devices     no file of /dev but the harmless ones can be opened; those of the buses are closed by the fork

Linux asks for no privilege for any of it. What a kernel does not know (Landlock before 5.13) is left out.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

DATA_BYTES = 256 << 20
"""Private memory that the service may have (RLIMIT_DATA, 64 MiB of which it uses in ordinary work)."""

OOM_SCORE = 500
"""Of 1000, added to what the kernel reckons a process is worth killing for."""

HARMLESS = ("null", "zero", "full", "random", "urandom", "shm", "fd", "stdin", "stdout", "stderr")
"""What stays open in /dev."""

READ_ONLY = ("kmsg",)
"""What may still be read there, where the user may: the kernel's words, for a bout's dmesglog.txt."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_NO_NEW_PRIVS = 38
_READ_FILE, _WRITE_FILE = 1 << 2, 1 << 1
_BENEATH = 1
_OPEN_PATH = os.O_PATH | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0


def confine() -> None:
    """Give up, in this process and for good, all that the service does not need."""
    for what, wanted in ((resource.RLIMIT_DATA, DATA_BYTES), (resource.RLIMIT_RTPRIO, 0), (resource.RLIMIT_MEMLOCK, 0)):
        _, hard = resource.getrlimit(what)
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(what, (most, most))
    score = Path("/proc/self/oom_score_adj")
    with suppress(OSError, ValueError):
        score.write_text(str(max(OOM_SCORE, int(score.read_text()))))
    with suppress(OSError):
        _close_devices()


def _close_devices() -> None:
    """Let files be opened everywhere but in /dev (landlock(7), which takes lists of what may be opened)."""
    libc = ctypes.CDLL(None, use_errno=True)

    def call(number: int, *words: ctypes.c_long | ctypes.Array[ctypes.c_char] | None) -> int:
        result = int(libc.syscall(ctypes.c_long(number), *words))
        if result < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return result

    asked = ctypes.create_string_buffer(struct.pack("=Q", _READ_FILE | _WRITE_FILE), 8)
    ruleset = call(_CREATE_RULESET, asked, ctypes.c_long(8), ctypes.c_long(0))
    try:
        for path, access in _allowed():
            with suppress(OSError):  # it has gone meanwhile
                opened = os.open(path, _OPEN_PATH)
                try:
                    rule = ctypes.create_string_buffer(struct.pack("=Qi", access, opened), 12)
                    call(_ADD_RULE, ctypes.c_long(ruleset), ctypes.c_long(_BENEATH), rule, ctypes.c_long(0))
                finally:
                    os.close(opened)
        if libc.prctl(_NO_NEW_PRIVS, ctypes.c_ulong(1), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0)):
            raise OSError(ctypes.get_errno(), "no_new_privs")
        call(_RESTRICT_SELF, ctypes.c_long(ruleset), ctypes.c_long(0))
    finally:
        os.close(ruleset)


def _allowed() -> Iterable[tuple[Path, int]]:
    both = _READ_FILE | _WRITE_FILE
    yield from ((path, both) for path in Path("/").iterdir() if path.name != "dev")
    yield from ((path, both) for name in HARMLESS if (path := Path("/dev", name)).exists())
    yield from ((path, _READ_FILE) for name in READ_ONLY if (path := Path("/dev", name)).exists())
