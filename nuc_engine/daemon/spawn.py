"""Children of the main process: forked without exec, so that block, descriptors and modules are simply there.

The main process alone listens to those who want it to end, and ends the others in order: each child has a process group
of its own (Ctrl-C, Ctrl-Z), and does not hear the signals that systemd sends to all. So a guardian is still there when
the main process is not. Each is held by a pidfd, and its number is given back only when it is buried.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

CRASHED = 70
"""Exit status of a child that ended with an exception (EX_SOFTWARE of sysexits.h)."""

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_UNHEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

END_SIGNAL = signal.SIGUSR1
"""Signal by which the main process lets a child finish its work and end."""


@dataclass(slots=True)
class Child:
    """A process that was forked; `status` is its exit status once reaped, negative for a signal that killed it."""

    name: str
    pid: int
    pidfd: int
    status: int | None = None

    def dead(self) -> bool:
        """Say whether it has ended."""
        return self.status is not None or bool(select.select((self.pidfd,), (), (), 0)[0])

    def send(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.status is None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, number)

    def reap(self) -> int:
        """Reap it: return its exit status, after waiting for its end if needed."""
        if self.status is None:
            self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
            os.close(self.pidfd)
        return self.status

    def exit_text(self) -> str:
        """Say how it ended, in words."""
        status = self.status
        if status is None:
            return f"{self.name} runs"
        if status < 0:
            return f"{self.name} was ended by {signal.Signals(-status).name}"
        return f"{self.name} ended with status {status}"


def fork(
    name: str,
    program: Callable[[], int],
    *,
    urgent: bool = True,
    close: Sequence[int] = (),
    death_signal: int | None = None,
) -> Child:
    """Run `program` in a child called `name` (15 bytes are shown); what it returns is the exit status.

    `close` are descriptors it does not need; `death_signal` is sent to it when this process dies. One that is not
    `urgent` does not inherit real-time scheduling.
    """
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        if not urgent:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        _be_child(name, program, close, death_signal, parent)
    return Child(name, pid, os.pidfd_open(pid))


def _be_child(
    name: str, program: Callable[[], int], close: Sequence[int], death_signal: int | None, parent: int
) -> None:
    status = CRASHED
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        for number in _UNHEARD:
            signal.signal(number, signal.SIG_IGN)
        _prctl(_PR_SET_NAME, name.encode())
        for descriptor in close:
            os.close(descriptor)
        if death_signal is not None:
            _prctl(_PR_SET_PDEATHSIG, death_signal)
            if os.getppid() != parent:
                os.kill(os.getpid(), death_signal)
        status = program()
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(status)


def _prctl(what: int, value: int | bytes) -> None:
    argument = ctypes.c_char_p(value) if isinstance(value, bytes) else ctypes.c_ulong(value)
    ctypes.CDLL(None, use_errno=True).prctl(what, argument, 0, 0, 0)
